"""What the memory-catcher adds to what is known, in which order, and what comes of it before a task."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import ALICE, NOW, quick_env
from hook_runs import Hooks
from swarmlore.capture.extract import session_body
from swarmlore.clients.transcripts import Turn
from swarmlore.domain.records import Caller, Memory
from swarmlore.lore import Lore
from waiting import wait_until
from waiting_jobs import do_jobs

KNOWN = "The importer needs the flag --utc in every nightly run."
AGAIN = "The root cause was that the importer needs the flag --utc in every nightly run."
ASKED = "Imports are off by one hour, find out why"
WHY = "The provider sandbox times out unless the refund carries an idempotency key. "


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lore]:
    """A worker's memory on either engine, whose clock stands still."""
    env = quick_env()
    if request.param == "postgres":
        from databases import server

        server().empty()
        env["SWARMLORE_STORE_URL"] = server().url
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=env, clock=lambda: NOW) as lore:
        yield lore


def leave(lore: Lore, *said: tuple[str, str], kind: str = "extract", session: str = "s1", **facts: Any) -> None:
    turns = [Turn(role, text) for role, text in said]
    body = session_body(turns, client="claude", session=session, **facts)
    lore.enqueue(kind, body, f"{kind}:{session}:{len(said)}:{facts.get('at', 0)}")
    do_jobs(lore)


def lessons(lore: Lore, status: str = "") -> list[Memory]:
    return [memory for memory in lore.list(limit=100, status=status) if not memory.raw]


# --- order


def test_lessons_are_stored_in_the_order_in_which_they_were_said(lore: Lore) -> None:
    first = "You need to run make gen before the tests since the stubs are not committed."
    last = "From now on always open PRs against main, never against develop."
    leave(lore, ("user", "start it"), ("assistant", "Done."), ("user", first), ("assistant", "Done."), ("user", last))
    found = sorted(lessons(lore), key=lambda lesson: lesson.created_at)
    assert ["make gen" in lesson.text for lesson in found] == [True, False]


def test_the_best_are_chosen_where_there_is_room_for_few(lore: Lore) -> None:
    for part in range(3):
        names = [f"{name}{part}" for name in "abc"]
        leave(lore, *(("user", f"No, the {name} service listens on port 9{ord(name[0])}{part}") for name in names),
              session="s1", at=part)  # fmt: skip
    told = "The root cause was that the worker reads its settings before the secrets are mounted."
    rule = ("user", "No, use pnpm here, never npm: the lockfile is pnpm's")
    leave(lore, ("user", "go on"), ("assistant", told), rule, at=9)
    found = lessons(lore)
    assert len(found) == 10
    assert any("pnpm" in lesson.text for lesson in found)
    assert not any("secrets" in lesson.text for lesson in found)


# --- what is known


def as_bob(lore: Lore) -> Lore:
    return lore.acting_as(Caller(ALICE.project, "bob", "worker"), lore.project.root)


def test_what_is_known_is_confirmed_and_not_rewritten(memory: Lore) -> None:
    known = as_bob(memory).remember(KNOWN).memory
    leave(memory, ("user", ASKED), ("assistant", AGAIN))
    (lesson,) = lessons(memory, "any")
    assert (lesson.id, lesson.text, lesson.owner, lesson.source) == (known.id, KNOWN, "bob", "manual")
    assert [situation.text for situation in lesson.situations] == [ASKED]


@pytest.mark.parametrize("trust", [1, 2, 3])
def test_what_is_known_is_not_stored_again_whoever_is_trusted_more(lore: Lore, trust: int) -> None:
    person = lore.acting_as(Caller(ALICE.project, "carol", "person", 3), lore.project.root)
    person.remember(KNOWN, trust=trust)
    lore.send(["memory-catcher"], "memory-catcher-extract", f"User: {ASKED}\nAssistant: {AGAIN}")
    do_jobs(lore)
    assert [lesson.text for lesson in lessons(lore, "any")] == [KNOWN]


def test_an_agent_that_repeats_what_it_was_shown_confirms_nothing(lore: Lore) -> None:
    known = lore.remember(KNOWN).memory
    assert lore.before_task("nightly run of the importer with --utc", session="s1").receipt.shown
    leave(lore, ("user", ASKED), ("assistant", AGAIN))
    (lesson,) = lessons(lore, "any")
    assert (lesson.text, lesson.confirmed_by, lesson.version) == (KNOWN, (), known.version)


def test_what_says_more_stands_beside_what_is_anothers(lore: Lore) -> None:
    as_bob(lore).remember(KNOWN)
    leave(lore, ("user", ASKED), ("assistant", AGAIN[:-1] + " since March."))
    texts = {lesson.text for lesson in lessons(lore)}
    assert KNOWN in texts
    assert all(lesson.text == KNOWN for lesson in lessons(lore) if lesson.owner == "bob")


# --- how long it took


def _session(path: Path, seconds: int) -> None:
    lines = [("user", "install it"), ("user", "No, use pnpm here, never npm: the lockfile is pnpm's")]
    stamps = ("2026-01-01T10:00:00.000Z", f"2026-01-01T10:{seconds // 60:02}:{seconds % 60:02}.000Z")
    records = [
        {"type": role, "timestamp": at, "message": {"role": role, "content": text}}
        for (role, text), at in zip(lines, stamps, strict=True)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize(("seconds", "sure"), [(360, 0.85), (20, 0.95), (0, 0.85)])
def test_a_session_of_which_only_the_end_was_seen_took_as_long_as_its_records_say(
    tmp_path: Path, seconds: int, sure: float
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    _session(tmp_path / "s1.jsonl", seconds)
    hooks = Hooks(tmp_path / "home", project)
    hooks.run("SessionEnd", {"session_id": "s1", "transcript_path": str(tmp_path / "s1.jsonl")})
    found = wait_until(
        lambda: _confidences(tmp_path / "home", project), "a lesson is kept", hooks.problems, pause_s=0.2
    )
    assert found == [sure]


def _confidences(home: Path, project: Path) -> list[float]:
    with Lore.open(home, cwd=project, env=quick_env(SWARMLORE_ROLE="lead")) as lore:
        return [memory.confidence for memory in lessons(lore)]


# --- summaries


def test_an_older_summary_does_not_replace_a_newer_one(memory: Lore) -> None:
    asked = ("user", "add a refund endpoint to the payments service and make sure that it is idempotent, please")
    cause = ("assistant", "The root cause was that the worker reads its configuration before the secrets are mounted.")
    leave(memory, asked, cause, ("assistant", "Second part."), kind="summarise", at=NOW + 60)
    leave(memory, asked, cause, ("assistant", "First part."), kind="summarise", at=NOW)
    (summary,) = memory.list(source="session_summary")
    assert summary.text.endswith("Second part.")
    leave(memory, asked, cause, ("assistant", "Third part."), kind="summarise", at=NOW + 90)
    (summary,) = memory.list(source="session_summary")
    assert summary.text.endswith("Third part.")


def test_a_scheduled_session_teaches_nothing(lore: Lore) -> None:
    said = ("user", "No, use pnpm here, never npm: the lockfile is pnpm's")
    leave(lore, ("user", "[scheduled task] install the dependencies"), said)
    assert lessons(lore) == []


# --- before a task


def test_before_a_task_stands_why_a_similar_one_failed(lore: Lore) -> None:
    told = {"success": False, "task": "b1", "summary": "Add a refund endpoint to the payments service"}
    lore.enqueue("extract", {"outcome": {**told, "failure_details": WHY + "We tried three other clients. " * 12}}, "k")
    do_jobs(lore)
    block = lore.before_task("add a refund endpoint to the payments service")
    line = next(line for line in block.text.splitlines() if line.startswith("- ["))
    assert "«Failed task: Add a refund endpoint to the payments service: The provider sandbox times out" in line
    assert line.count("We tried three other clients") == 7
    assert "…» (from alice" in line


def test_a_long_result_is_shown_with_how_it_begins(lore: Lore) -> None:
    told = {
        "success": True,
        "task": "b1",
        "summary": "Compared three queues for the export job. " + "It took a day. " * 40,
    }
    lore.enqueue("extract", {"outcome": told}, "k")
    do_jobs(lore)
    text = lore.before_task("compare queues for the export job").text
    assert ": Compared three queues for the export job. It took a day." in text
    assert len(text) < 800


def test_profile_swarm_shows_unasked_only_what_is_similar_enough(tmp_path: Path) -> None:
    env = {**quick_env(), "SWARMLORE_RECALL_PROFILE": "swarm", "SWARMLORE_EMBEDDER_KIND": "minilm"}
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=env) as lore:
        lore.remember("The refund endpoint of the payments service needs an idempotency key in every request.")
        lore.remember("Bananas are yellow and monkeys like them in the zoo of Berlin.")
        fits = lore.before_task("add a refund endpoint to the payments service")
        assert ["Bananas" in fits.text, "idempotency" in fits.text] == [False, True]
        nothing = lore.before_task("write a poem about the sea")
        assert (nothing.text, nothing.receipt.shown) == ("", ())
        assert nothing.receipt.reason.startswith("nothing similar enough")
        assert len(lore.recall("write a poem about the sea")) == 2  # whoever asks is answered


def test_profile_swarm_shows_nothing_unasked_without_vectors(tmp_path: Path) -> None:
    env = quick_env(SWARMLORE_RECALL_PROFILE="swarm")
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=env) as lore:
        lore.remember("Bananas are yellow and monkeys like them in the zoo of Berlin.")
        block = lore.before_task("write a poem about the sea")
        assert (block.text, block.receipt.reason) == ("", "there are no vectors, so nobody knows what is similar")
        assert len(lore.recall("write a poem about the sea")) == 1
