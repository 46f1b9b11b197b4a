"""What is like a note that there is: more text for it, a new note that names it, or a note of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import servers
from reflecting import NOTE, World, answer
from repositories import NEUTRAL
from swarmlore.domain.records import Proposal
from swarmlore.lore import Lore
from swarmlore.notes.note_format import parse_note
from swarmlore.notes.reflect.propose import news_for

PATH = "docs/solutions/deployment-fixes/workers-need-the-secrets-mounted-before-they-start.md"
OTHER = {
    **NOTE,
    "title": "Candidate for a comparison",
    "text": "Compose mounts them late.",
    "key_insight": "A candidate that says it in words of its own.",
}


class Vectors:
    """A server whose vector for a candidate has a given cosine to that of every other text."""

    def __init__(self) -> None:
        self.cosine = 1.0

    def __call__(self, handler: servers.Handler, body: Any) -> None:
        told = [body["input"]] if isinstance(body["input"], str) else body["input"]
        sine = (1 - self.cosine**2) ** 0.5
        made = [[self.cosine, sine] if "andidate" in text else [1.0, 0.0] for text in told]
        data = [{"index": place, "embedding": vector} for place, vector in enumerate(made)]
        handler.say(200, json.dumps({"data": data, "model": "m"}).encode())


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name, value in NEUTRAL.items():
        monkeypatch.setenv(name, value)
    made = World(tmp_path, {})
    yield made
    made.close()


@pytest.fixture
def vectors(world: World) -> Iterator[tuple[World, Vectors]]:
    told = Vectors()
    with servers.running(told) as server:
        more = {"KIND": "openai", "MODEL": "m", "BASE_URL": f"{server.url}/v1"}
        world.env |= {f"SWARMLORE_EMBEDDER_{name}": value for name, value in more.items()}
        yield world, told


@pytest.mark.parametrize(
    ("cosine", "action"),
    [(0.99, "update"), (0.85, "update"), (0.8499, "link"), (0.7, "link"), (0.6, "link"), (0.5999, "new"), (0.1, "new")],
)
def test_the_bounds_of_vectors_are_as_written(vectors: tuple[World, Vectors], cosine: float, action: str) -> None:
    world, told = vectors
    lore = world.open()
    lore.reflect(items=[NOTE])
    answer(lore, "Y")
    told.cosine = cosine
    [made] = lore.reflect(items=[OTHER]).proposals
    assert (made.action, made.similar) == (action, "" if action == "new" else PATH)


def test_two_of_one_title_that_are_partly_alike_are_one_note(vectors: tuple[World, Vectors]) -> None:
    world, told = vectors
    lore = world.open()
    lore.reflect(items=[NOTE])
    answer(lore, "Y")
    told.cosine = 0.7
    [made] = lore.reflect(items=[{**OTHER, "title": NOTE["title"]}]).proposals
    assert (made.action, made.similar) == ("update", PATH)


@pytest.mark.parametrize(
    ("title", "insight", "action"),
    [
        (
            "Workers need secrets mounted before starting",
            "Before the worker starts, wait for the secrets mount.",
            "update",
        ),
        ("Cron jobs need the secrets mounted too", "Cron has to wait for the mount of the secrets as well.", "link"),
        ("Dates are kept in UTC", "Convert to the local zone only when a date is shown.", "new"),
    ],
)
def test_the_usual_embedder_tells_the_same_from_the_near(world: World, title: str, insight: str, action: str) -> None:
    lore = world.open()
    lore.reflect(items=[NOTE])
    answer(lore, "Y")
    [made] = lore.reflect(items=[{**NOTE, "title": title, "key_insight": insight, "text": "It comes late."}]).proposals
    assert made.action == action


def updated(lore: Lore, *texts: str) -> list[Proposal]:
    given = [{**NOTE, "title": f"{NOTE['title']} up", "text": text} for text in texts]
    return list(lore.reflect(items=given).proposals)


def test_only_what_a_note_does_not_say_is_added_to_it_and_its_copy_follows(world_of: World) -> None:
    lore = world_of.open()
    lore.reflect(items=[NOTE])
    answer(lore, "Y")
    [made] = updated(lore, f"{NOTE['text']} Compose mounts them late.")
    assert made.action == "update"
    assert [edit.text for edit in made.edits] == ["### Solution\n\nCompose mounts them late."]
    answer(lore, "Y")
    own = (world_of.project / PATH).read_text()
    [copy] = (world_of.learnings / "documents" / "learnings").glob("*.md")
    assert copy.read_text() == own
    assert own.count(str(NOTE["text"])) == 1
    assert parse_note(own).body.endswith("## Update 2027-01-15\n\n### Solution\n\nCompose mounts them late.\n")


def test_a_note_that_says_all_of_it_is_left_alone(world_of: World) -> None:
    lore = world_of.open()
    lore.reflect(items=[NOTE])
    answer(lore, "Y")
    made = lore.reflect(items=[{**NOTE, "title": f"{NOTE['title']} up"}])
    assert (made.proposals, made.known) == ((), 1)


@pytest.mark.parametrize(
    ("body", "news"),
    [
        ("## Problem\n\nIt panics.\n\n## Solution\n\nAwait it.\n", ""),
        ("## Problem\n\nIt panics at night.\n", "### Problem\n\nIt panics at night."),
        ("## Solution\n\nAwait it. Then restart the pool.\n", "### Solution\n\nThen restart the pool."),
        ("## Solution\n\nawait it\n\n## Context\n\nLearned in shop: a person said it.\n", ""),
        ("## Problem\n\nThis error came up:\n\n```text\nboom at 12\n```\n\nIt panics.\n", ""),
        ("## Problem\n\nThis error came up:\n\n```text\nother\n\n# no heading\n```\n", "### Problem\n\nThis error came up:\n\n```text\nother\n\n# no heading\n```"),
        ("Never await it.\n", "Never await it."),
        ("", ""),
    ],
)  # fmt: skip
def test_what_is_new_for_a_note(body: str, news: str) -> None:
    note = "---\ntitle: A\n---\n\n## Problem\n\nIt panics.\n\n```text\nboom at 12\n```\n\n## Solution\n\nAwait it.\n"
    assert news_for(body, note) == news


def test_another_fix_for_a_cause_that_is_known_is_more_text_for_its_note(world_of: World) -> None:
    cause = "Assistant: The root cause was that the pool keeps connections longer than the firewall allows."
    lore = world_of.open()
    lore.reflect(f"{cause} Fixed by setting pool_recycle to 280 seconds.")
    answer(lore, "Y")
    assert not lore.reflect(f"{cause} Fixed by setting pool_recycle to 280 seconds.").proposals
    [made] = lore.reflect(f"{cause} Setting pool_pre_ping to true solved it for the report job.").proposals
    assert (made.action, made.edits[0].text) == (
        "update",
        "### Solution\n\nSetting pool_pre_ping to true solved it for the report job.",
    )
