"""What is looked at, answered or written more than once: nothing is doubled, and nothing that was decided is undone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import PERSON, quick_env
from reflecting import NOTE, RULE, World, answer, states
from repositories import NEUTRAL, git
from swarmlore.cli.layout import Page
from swarmlore.cli.render.memories import forgotten
from swarmlore.errors import Conflict
from swarmlore.notes.reflect.git_commit import Commit, commit

CAUSE = "The root cause was a missing index on the orders table. Fixed by adding the index in a migration."


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    for name, value in NEUTRAL.items():
        monkeypatch.setenv(name, value)
    return World(tmp_path, quick_env())


def transcript(world: World, *said: tuple[str, str]) -> str:
    """A session of one client, a minute between two turns."""
    path = world.folder / "6f1c.jsonl"
    lines = [
        {"type": role, "timestamp": f"2027-01-15T07:{minute:02}:00Z", "message": {"role": role, "content": text}}
        for minute, (role, text) in enumerate(said)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_of_a_session_that_went_on_only_what_is_new_is_looked_at(world: World) -> None:
    lore = world.open(PERSON)
    begun = (("user", "the orders page is slow"), ("assistant", CAUSE))
    first = lore.reflect("x", path=transcript(world, *begun))
    more = lore.reflect("x", path=transcript(world, *begun, ("user", "Never push to main without a review.")))
    assert [item.route for item in first.proposals] == ["knowledge"]
    assert [(item.route, item.text) for item in more.proposals] == [
        ("behavioral", "Never push to main without a review.")
    ]
    assert (sum(more.signals.values()), more.again) == (1, True)
    assert "missing index" not in (world.learnings / more.episode).read_text()
    metrics = lore.reflections.status()["metrics"]
    assert (metrics.sessions, metrics.signals) == (1, sum(first.signals.values()) + 1)


@pytest.mark.parametrize("text", [f"Assistant: {CAUSE}", f"User: {CAUSE}"])
def test_a_text_given_twice_is_no_bug_that_comes_again(world: World, text: str) -> None:
    lore = world.open(PERSON)
    assert lore.reflect(text).proposals
    assert lore.reflect(text).proposals == ()


def test_a_look_for_one_agent_leaves_the_session_to_be_reflected_on(world: World) -> None:
    world.write(".claude/agents/reviewer.md", "# Reviewer\n")
    lore = world.open(PERSON)
    path = transcript(world, ("user", "the orders page is slow"), ("assistant", CAUSE))
    assert lore.reflect("x", path=path, agent="reviewer").proposals == ()
    assert [item.route for item in lore.reflect("x", path=path).proposals] == ["knowledge"]


def test_what_was_decided_while_it_was_in_the_editor_stays_decided(world: World) -> None:
    lore = world.open(PERSON)
    lore.reflect(items=[RULE])
    [shown] = lore.reflections.open()
    answer(world.open(PERSON), "Y")
    with pytest.raises(Conflict, match="decided meanwhile"):
        lore.reflections.reword(shown, "Run make test")
    assert states(lore) == {"b1": "applied"}


def test_what_could_not_be_written_at_first_is_committed_later(world: World) -> None:
    both = {"AGENTS.md": lambda text: text or "- a rule\n", "MEMORY.md": lambda text: text or "- a line\n"}
    first = commit(
        str(world.project), Commit({"AGENTS.md": both["AGENTS.md"]}, "one\n\nSwarmlore-Approval: a1\n", "a1")
    )
    wanted = Commit(both, "more\n\nSwarmlore-Approval: a1\n", "a1")
    second = commit(str(world.project), wanted)
    assert second != first
    assert git(world.project, "show", "--name-only", "--format=", "HEAD") == "MEMORY.md"
    git(world.project, "revert", "--no-edit", second)
    assert commit(str(world.project), wanted) == second  # what a person took back is not made again


def test_the_commit_of_notes_holds_their_episode_and_names_its_own_files(world: World) -> None:
    lore = world.open(PERSON)
    made = lore.reflect(f"User: the orders page is slow\nAssistant: {CAUSE}\n")
    answer(lore, "Y")
    changed = git(world.learnings, "show", "--name-only", "--format=", "HEAD").splitlines()
    message = git(world.learnings, "log", "-1", "--format=%B")
    assert made.episode in changed
    assert f"- {made.episode}" in message
    assert "docs/solutions" not in message
    assert "- documents/learnings/" in message
    assert "documents/" not in git(world.project, "log", "-1", "--format=%B")


def test_rules_alone_make_no_commit_in_the_learnings(world: World) -> None:
    lore = world.open(PERSON)
    lore.reflect(items=[RULE])
    answer(lore, "Y")
    assert not (world.learnings / ".git").exists()
    lore.reflect(items=[NOTE])
    answer(lore, "Y")
    assert (world.learnings / ".git").exists()


def test_erasing_a_session_takes_its_episode_from_the_disk_and_the_index(world: World) -> None:
    lore = world.open(PERSON)
    path = transcript(
        world, ("user", "the zebrafish page is slow"), ("assistant", CAUSE.replace("orders", "zebrafish"))
    )
    made = lore.reflect("x", path=path)
    assert (world.learnings / made.episode).exists()
    lore.forget_origin(session=made.session, erase=True)
    lore.close()
    for folder in (world.folder / "home", world.learnings):
        assert not [path for path in folder.rglob("*") if path.is_file() and b"zebrafish" in path.read_bytes()]


def test_what_goes_with_a_forgotten_session_is_told(world: World) -> None:
    page = Page(width=80, colour=False)
    assert forgotten((), {}, page, erased=True) == "There was nothing to forget."
    assert forgotten((), {}, page, erased=True, proposals=2) == "Erased 2 proposals for good."
    assert forgotten((), {}, page, erased=False, proposals=1) == "Forgot 1 proposal. swarmlore undo brings it back."
    lore = world.open(PERSON)
    lore.reflect(items=[RULE, NOTE], session="s1")
    answer(lore, "b1")
    assert (lore.reflections.count_of("s1", erase=False), lore.reflections.count_of("s1", erase=True)) == (1, 2)
