"""What a note is about, shown by a command and written beside it when a person asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import Run
from conftest import ALICE, PERSON, quick_env
from swarmlore.domain.records import Entity, Relation
from swarmlore.errors import InvalidInput, NotAllowed, NotFound
from swarmlore.lore import Lore
from swarmlore.notes.entities_sidecar import Sidecar, parse_sidecar, write_sidecar
from swarmlore.notes.rows import Graph

NOTE = """---
title: Redis pool
category: decisions
key_insight: One pool per worker
tags: [redis]
---
The `redis_pool` is made once per worker.
"""
WRITTEN = """\
# checked on Friday
entities:
  - name: redis   # the cache
    type: technology
relationships: []
"""
MODEL = Graph(
    (Entity("redis_pool", "function", "Made once"),), (Relation("redis_pool", "redis", "requires"),), "model", "m"
)
PATH = "docs/solutions/decisions/pool.md"


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "project" / PATH
    path.parent.mkdir(parents=True)
    path.write_text(NOTE)
    return path


@pytest.fixture
def lore(tmp_path: Path, note: Path) -> Iterator[Lore]:
    """The memory of the note's project, for a person."""
    home, project = tmp_path / "home", tmp_path / "project"
    with Lore.open(home, cwd=project, caller=PERSON, env=quick_env()) as opened:
        opened.notes.refresh()
        yield opened


def beside(note: Path) -> Path:
    return note.with_name("pool.entities.yaml")


def take(lore: Lore, note: Path, graph: Graph) -> None:
    """Let the memory have what a model read in the note."""
    (row,) = lore.list(source="note")
    lore.notes.take_graph(row, graph)
    assert lore.notes.about(str(note)).origin == "model"


def test_a_note_is_named_by_its_file_its_id_or_its_memory(lore: Lore, note: Path) -> None:
    (row,) = lore.list(source="note")
    told = lore.notes.about(str(note))
    assert (told.title, told.origin, told.sidecar) == ("Redis pool", "guessed", "")
    assert told.entities[1] == Entity("redis", "technology")
    assert lore.notes.about(told.id) == lore.notes.about(row.handle) == told
    with pytest.raises(NotFound, match="no note"):
        lore.notes.about("elsewhere.md")


def test_a_guess_that_is_written_stays_a_guess(lore: Lore, note: Path) -> None:
    assert lore.notes.write_about(str(note)).origin == "guessed"
    assert parse_sidecar(beside(note).read_text()).extracted_by == "rules"


def test_what_a_model_read_is_written_under_its_name_and_is_then_written_down(lore: Lore, note: Path) -> None:
    lore.notes.write_about(str(note))
    take(lore, note, MODEL)
    told = lore.notes.write_about(str(note))
    found = parse_sidecar(beside(note).read_text())
    assert (found.extracted_by, found.document_id) == ("m", told.id)
    assert (told.origin, told.entities, told.relations) == ("sidecar", MODEL.entities, MODEL.relations)
    with pytest.raises(InvalidInput, match="says it already"):
        lore.notes.write_about(str(note))


def test_what_a_person_adds_changes_nothing_else_in_the_file(lore: Lore, note: Path) -> None:
    beside(note).write_text(WRITTEN)
    told = lore.notes.write_about(
        str(note), (Entity("pool", "tool"), Entity("redis", "tool")), (Relation("pool", "redis", "uses", "", 7),)
    )
    changed = WRITTEN.replace("type: technology", "type: tool\n  - name: pool\n    type: tool")
    relation = "relationships:\n  - source: pool\n    target: redis\n    type: uses\n    strength: 7\n"
    assert beside(note).read_text() == changed.replace("relationships: []\n", relation)
    assert told.origin == "sidecar"
    assert [one.name for one in told.entities] == ["redis", "pool"]


def test_what_a_person_adds_to_a_guess_is_no_guess(lore: Lore, note: Path) -> None:
    told = lore.notes.write_about(str(note), (Entity("pool", "tool"),))
    assert told.origin == "sidecar"
    assert Entity("pool", "tool") in told.entities
    assert Entity("redis", "technology") in told.entities


def test_a_secret_does_not_get_into_the_file(lore: Lore, note: Path) -> None:
    secret = "ghp_" + "R7kQ2mZx9TfB4wLs8VnC1pYd6HjG3aEu5oXi"
    lore.notes.write_about(str(note), (Entity("pool", "tool", f"opened with {secret}"),))
    assert secret not in beside(note).read_text()


def test_a_link_beside_a_note_leads_nowhere(lore: Lore, note: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("keep")
    beside(note).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotAllowed):
        lore.notes.write_about(str(note), (Entity("pool", "tool"),))
    assert (tmp_path / "elsewhere").read_text() == "keep"


def test_an_agent_writes_nothing_beside_a_note(lore: Lore, note: Path) -> None:
    agent = lore.acting_as(ALICE, str(note.parent))
    with pytest.raises(NotAllowed, match="a person's"):
        agent.notes.write_about(str(note))
    assert not beside(note).exists()


@pytest.mark.parametrize(
    ("sidecar", "guess"),
    [
        (Sidecar(entities=(Entity("a"),), extracted_by="rules"), True),
        (Sidecar(relations=(Relation("a", "b", strength=3),), extracted_by="rules"), True),
        (Sidecar(relations=(Relation("a", "b", strength=3),)), True),  # as former versions wrote it
        (Sidecar(entities=(Entity("a"),)), False),
        (Sidecar(entities=(Entity("a", "tool", "ours"),), extracted_by="rules"), False),
        (Sidecar(relations=(Relation("a", "b", strength=4),), extracted_by="rules"), False),
        (Sidecar(relations=(Relation("a", "b", strength=3),), extracted_by="a person"), False),
    ],
)
def test_a_file_of_rules_is_a_guess_until_somebody_says_more(sidecar: Sidecar, guess: bool) -> None:
    assert parse_sidecar(write_sidecar(sidecar)).is_guess == guess


# The command


@pytest.fixture
def file(world: Path) -> Path:
    path = world / "project" / PATH
    path.parent.mkdir(parents=True)
    path.write_text(NOTE)
    return path


def test_the_command_shows_what_a_note_is_about(run: Run, file: Path) -> None:
    told = run("learnings", "entities", PATH)
    assert told.code == 0
    assert told.out.splitlines()[:2] == ["Redis pool", "  told by rules, which guess"]
    found = run("learnings", "entities", PATH, "--json").json
    assert (found["origin"], found["sidecar"]) == ("guessed", "")
    assert {"name": "redis", "type": "technology", "description": ""} in found["entities"]


def test_the_command_says_it_as_graphrag_reads_it(run: Run, file: Path) -> None:
    beside(file).write_text(
        "entities: [{name: redis, type: technology, description: cache}]\n"
        "relationships: [{source: pool, target: redis, type: uses, strength: 9}]\n"
    )
    told = (
        '("entity"<|>"redis"<|>"technology"<|>"cache")\n##\n("relationship"<|>"pool"<|>"redis"<|>""<|>9)<|COMPLETE|>\n'
    )
    assert run("learnings", "entities", PATH, "--graphrag").out == told


def test_what_graphrag_reads_is_added_as_a_sidecar(run: Run, file: Path, world: Path) -> None:
    (world / "told.txt").write_text('("entity"<|>"redis"<|>"technology"<|>"cache")<|COMPLETE|>')
    added = run("learnings", "add", PATH, "--entities", str(world / "told.txt"), "--json")
    copy = Path(added.json["path"]).with_suffix(".entities.yaml")
    assert parse_sidecar(copy.read_text()).entities == (Entity("redis", "technology", "cache"),)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name one note"),
        (("elsewhere.md",), "no note elsewhere.md"),
        ((PATH, "--write"), "a person's"),
        ((PATH, "--entity", "|tool"), "cannot be read"),
        ((PATH, "--entity", "a|b|c|d"), "cannot be read"),
        ((PATH, "--relation", "a|uses"), "cannot be read"),
        ((PATH, "--relation", "a|uses|b|11"), "the strength '11'"),
    ],
)
def test_the_command_says_what_it_cannot_do(run: Run, file: Path, words: tuple[str, ...], said: str) -> None:
    told = run("learnings", "entities", *words)
    assert told.code != 0
    assert said in told.err
    assert not beside(file).exists()


def test_its_options_belong_to_no_other_verb(run: Run, file: Path) -> None:
    assert "--graphrag does not belong to list" in run("learnings", "list", "--graphrag").err
