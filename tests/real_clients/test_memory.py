"""What one session learned, the next one knows: in the same client, in every other, after a compaction, in a sub-agent."""

from __future__ import annotations

import json
import re
from secrets import token_hex
from typing import Any

import pytest

from hook_runs import content
from real_clients.blocks import blocks, fenced, fences, handles, outside
from real_clients.model import Step, never
from real_clients.runners import CLIENTS, RECALL, Client, Session
from real_clients.stories import STORIES
from real_clients.world import World, soon

NEUTRAL = "Go ahead with the next step"
UNRELATED = "Write a haiku about the sea in autumn"
NAMES = [kind.name for kind in CLIENTS]
every = pytest.mark.parametrize("name", NAMES)
with_agents = pytest.mark.parametrize("name", [kind.name for kind in CLIENTS if kind.has_sub_agents])
with_compaction = pytest.mark.parametrize("name", [kind.name for kind in CLIENTS if kind.compacts])
crossing = pytest.mark.parametrize(("learner", "reader"), [(learner, reader) for learner in NAMES for reader in NAMES])
# One way round is enough where it is the same for all: each client reads what it learned itself, and what the next did.
NEXT = tuple(zip(NAMES, [*NAMES[1:], NAMES[0]], strict=True))
ring = pytest.mark.parametrize(("learner", "reader"), [*zip(NAMES, NAMES, strict=True), *NEXT])
Told = dict[str, tuple[Session, Session]]


def receipts(world: World, session: Session, agent: str) -> list[dict[str, Any]]:
    said = world.swarmlore("receipts", "--session", session.id, "--limit", "1000", "--json", agent=agent).stdout
    return list(json.loads(said)["receipts"])


def recall(query: str) -> Step:
    return Step(tool=RECALL, args={"query": query})


@crossing
def test_the_first_request_of_the_next_session_holds_the_correction_inside_a_fence(
    learner: str, reader: str, clients: dict[str, Client], told: Told
) -> None:
    client, lesson = clients[reader], STORIES[learner].corrected
    left = client.world.processes  # as after a boot: nothing is warm
    assert soon(lambda: not left()), left()
    session = client.run(lesson.cue, Step("I see."))
    assert lesson.is_in(fenced(session.first.text))
    assert not lesson.is_in(outside(session.first.text))


@ring
def test_the_recall_tool_finds_what_the_agent_noted_down(
    learner: str, reader: str, clients: dict[str, Client], told: Told
) -> None:
    client, lesson = clients[reader], STORIES[learner].noted
    session = client.run("Look it up", recall(lesson.cue), Step("I see."))
    assert lesson.is_in(session.requests[-1].of("tool"))


@ring
def test_a_failure_that_was_fixed_once_comes_with_its_fix(
    learner: str, reader: str, clients: dict[str, Client], told: Told
) -> None:
    client, story = clients[reader], STORIES[learner]
    session = client.run(NEUTRAL, client.shell(story.program), Step("I see."))
    assert not story.fixed.is_in(session.first.text)
    assert story.fixed.is_in(fenced(session.requests[-1].text))


@with_agents
def test_a_sub_agent_is_given_what_its_task_needs(name: str, clients: dict[str, Client], told: Told) -> None:
    client, lesson = clients[name], STORIES[name].corrected
    answer = Step("Sub-agent done.", when="SUBTASK:")
    delegate = client.delegate(f"SUBTASK: {lesson.cue}")
    session = client.run(NEUTRAL, *delegate, answer, Step("Done."))
    inner = next(request for request in session.requests if request.answer and request.answer.text == answer.say)
    assert not lesson.is_in(session.first.text)
    assert lesson.is_in(fenced(inner.text))


@with_agents
def test_a_sub_agent_is_given_what_its_session_was_given(name: str, clients: dict[str, Client], told: Told) -> None:
    client, lesson = clients[name], STORIES[name].corrected
    answer = Step("Sub-agent done.", when="SUBTASK:")
    session = client.run(lesson.cue, *client.delegate(f"SUBTASK: {lesson.cue}"), answer, Step("Done."))
    inner = next(request for request in session.requests if request.answer and request.answer.text == answer.say)
    assert lesson.is_in(fenced(session.first.text))
    assert lesson.is_in(fenced(inner.text))


@with_compaction
def test_after_a_compaction_it_is_brought_back(name: str, clients: dict[str, Client], told: Told) -> None:
    client, lesson = clients[name], STORIES[name].corrected
    begun = client.run(lesson.cue, Step("I see.", tokens=5000))
    before, after = begun.requests[-1], client.compact(begun, lesson.cue).first
    assert lesson.is_in(fenced(before.text))
    assert not fences(before.text) & fences(after.text)  # what was given before is gone
    assert lesson.is_in(fenced(after.text))
    assert not handles_twice(after.text)


def handles_twice(text: str) -> set[str]:
    found = [handle for block in blocks(text) for handle in re.findall(r"^- \[(\w+)\]", block, re.MULTILINE)]
    return {handle for handle in found if found.count(handle) > 1}


@every
def test_an_unrelated_prompt_gets_nothing_and_a_receipt_says_so(
    name: str, clients: dict[str, Client], told: Told, world: World
) -> None:
    client = clients[name]
    session = client.run(UNRELATED, Step("Waves."))
    given = receipts(world, session, name)
    for_prompt = [receipt for receipt in given if receipt["trigger"] == "prompt"]
    assert [receipt["shown"] for receipt in for_prompt] == [[]]
    assert for_prompt[0]["reason"]
    at_start = {item["handle"] for receipt in given if receipt not in for_prompt for item in receipt["shown"]}
    assert handles(session.first.text) == at_start


@pytest.mark.parametrize(("learner", "reader"), NEXT)
def test_a_client_goes_on_when_the_one_that_was_there_first_is_killed(
    learner: str, reader: str, clients: dict[str, Client], told: Told, world: World
) -> None:
    """The first one's server holds the memory of both until then."""
    first, second, lesson = clients[learner], clients[reader], STORIES[learner].noted
    world.model.play([never("Think it over")])
    running = first.start("Think it over")
    assert soon(lambda: world.model.held == 1)
    kill = second.shell(f"kill -9 {' '.join(map(str, first.pids(running)))}")
    session = second.run("Look it up", recall(lesson.cue), kill, recall(lesson.cue), Step("I see."))
    running.communicate(timeout=60)
    said = [result.text for result in session.requests[-1].said if result.role == "tool"]
    assert [lesson.is_in(text) for text in (said[0], said[-1])] == [True, True]


@every
def test_a_secret_that_a_client_saw_is_nowhere_in_the_memory(
    name: str, clients: dict[str, Client], told: Told, world: World
) -> None:
    client, secret = clients[name], f"ghp_{token_hex(18)}"
    command = client.shell(f'bd comment SHOP-13 "LEARNED: log in to the registry with {secret}"')
    client.run(f"No, always use the token {secret} for the registry", command, Step(f"I use {secret}."))
    world.swarmlore("stats")  # takes in whatever is still waiting
    files = [path for path in world.lore.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if secret.encode() in content(path)] == []


@every
def test_every_block_that_reached_a_model_has_its_receipt(
    name: str, clients: dict[str, Client], told: Told, world: World
) -> None:
    client = clients[name]
    session = client.run(STORIES[name].corrected.cue, client.shell("echo ok"), Step("I see."))
    shown = {item["handle"] for receipt in receipts(world, session, name) for item in receipt["shown"]}
    assert handles(session.requests[-1].text) == shown != set()


def test_what_was_injected_is_never_learned_again(told: Told, world: World) -> None:
    listed = json.loads(world.swarmlore("list", "--limit", "500", "--json").stdout)
    texts = [memory["text"] for memory in listed["memories"]]
    assert texts
    assert [text for text in texts if "swarmlore notes" in text or "=== end" in text] == []
