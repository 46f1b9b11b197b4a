"""Rendering: whatever is stored, a terminal shows it and is not steered by it."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swarmlore import errors
from swarmlore.backups import Backup
from swarmlore.belonging import Identity
from swarmlore.config import Value
from swarmlore.doctor import Check
from swarmlore.records import (
    AuditRow,
    Citation,
    Cited,
    Confirmation,
    Hit,
    Memory,
    Part,
    Receipt,
    Remembered,
    Shown,
    Situation,
    Stale,
)
from swarmlore.rules.freshness import STATES
from swarmlore.surfaces import cited, render
from swarmlore.surfaces.page import Page, ago, clean, json_text, size, when

HOSTILE = "\x1b]0;title\x07\x1b[31mred\x9b2J\u202egnp.exe\r\x7f\ud800"


def hostile_memory() -> Memory:
    """Every text of it is hostile."""
    texts = [name for name, kind in Memory.__annotations__.items() if kind == "str"]
    values: dict[str, Any] = dict.fromkeys(texts, HOSTILE)
    for name in ("tags", "entities", "supersedes"):
        values[name] = (HOSTILE,)
    return Memory(
        **values,
        source_ref={HOSTILE: HOSTILE},
        confirmed_by=(Confirmation(HOSTILE, 1.0, HOSTILE),),
        situations=(Situation(HOSTILE),),
        citations=(Citation(HOSTILE),),
    )


def renderings(page: Page) -> Iterator[str]:
    memory = hostile_memory()
    before = {"text": HOSTILE, "handle": HOSTILE}
    found = tuple(Cited(Citation(HOSTILE), state, 1, 2, HOSTILE, f"+{HOSTILE}\n-{HOSTILE}") for state in STATES)
    hit = Hit(memory, 1.0, (Part(HOSTILE, 1.0, HOSTILE),), found)
    shown = Shown(HOSTILE, HOSTILE, 1.0, HOSTILE)
    receipt = Receipt(HOSTILE, 1.0, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, (shown,), (shown,), 1, 1, HOSTILE)
    backup = Backup(HOSTILE, 1, 1, 1.0)
    for outcome in ("added", "linked", "confirmed", "updated", "superseded", "quarantined"):
        told = Remembered(memory, outcome, HOSTILE, (HOSTILE,), (HOSTILE,), (HOSTILE,), 1, HOSTILE)
        yield render.remembered(told, [(HOSTILE, HOSTILE)], page)
    yield render.remembered_lines({"added": 1}, [(1, HOSTILE)], [(2, HOSTILE, HOSTILE)], page)
    yield render.hits([hit], page, explain=True)
    yield render.rows([memory], page)
    yield render.card(memory, page, found)
    yield cited.stale([Stale(memory, found)], page)
    yield cited.followed([memory], page)
    yield render.forgotten([memory], [HOSTILE], [HOSTILE], page, erased=True)
    yield render.forgotten([memory], [], [], page, erased=False)
    yield render.history([AuditRow(HOSTILE, 1.0, HOSTILE, HOSTILE, HOSTILE, HOSTILE, None, before)], page)
    yield render.undone([memory], "op-1", page)
    yield render.receipts([receipt], {HOSTILE: HOSTILE}, page)
    many = (HOSTILE, HOSTILE)
    yield render.migrated(1, 1, "0" * 64, f"postgresql://{HOSTILE}", page)
    yield render.project(Identity(HOSTILE, HOSTILE, HOSTILE, "git", many, (*many, "red"), HOSTILE, many, many), page)
    yield render.stats({"store": HOSTILE, "by_kind": {HOSTILE: 1}}, page)
    yield render.checks([Check(HOSTILE, "fail", HOSTILE, HOSTILE)], page)
    yield render.settings([Value("a.b", HOSTILE, HOSTILE, HOSTILE)], page)
    yield render.setting(Value("a.b", (HOSTILE,), HOSTILE, HOSTILE), page)
    yield render.setting_written(Value("a.b", HOSTILE, HOSTILE, HOSTILE), HOSTILE, page)
    yield render.backed_up(backup, page)
    yield render.restored(backup, HOSTILE, page)
    yield render.failure(errors.NotFound(HOSTILE, HOSTILE), page)
    yield render.note(HOSTILE, page)
    yield json_text({HOSTILE: HOSTILE})


@pytest.mark.parametrize("width", [0, 40, 100])
def test_no_stored_text_reaches_a_terminal_as_it_is(width: int) -> None:
    for text in renderings(Page(width, now=1_800_000_000.0)):
        assert "red" in text
        assert not [char for char in text if char != "\n" and char != "\t" and not char.isprintable()], text


def test_colour_is_the_only_escape_that_is_written() -> None:
    for text in renderings(Page(100, colour=True, now=1_800_000_000.0)):
        bare = re.sub(r"\x1b\[(?:0|1|2|31|32|33|36)m", "", text)
        assert not [char for char in bare if char != "\n" and not char.isprintable()], bare


def test_every_renderer_is_tried_with_hostile_text() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    public = [name for name, value in vars(render).items() if value.__class__ is types.FunctionType and name[0] != "_"]
    own = [name for name in public if getattr(render, name).__module__ == render.__name__]
    texts = [name for name in own if name not in ("overview", "progress", "reindexed")]  # these show no stored text
    assert len(texts) > 15
    assert [name for name in texts if f"render.{name}(" not in source] == []


def test_emoji_and_foreign_scripts_pass_whole() -> None:
    text = "Ключ 鍵 مفتاح 👩‍💻 naïve\tcolumn\nline"
    assert clean(text) == text
    assert json.loads(json_text({"text": text}))["text"] == text
    assert "鍵" in json_text({"text": text})


def test_json_stays_json_with_odd_characters() -> None:
    assert json.loads(json_text({"a": HOSTILE})) == {"a": HOSTILE}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "now"), (-5, "now"), (59, "59 s ago"), (60, "1 min ago"), (7200, "2 h ago"), (86_400 * 3, "3 d ago"),
     (86_400 * 61, "2 mo ago"), (86_400 * 800, "2 y ago")],
)  # fmt: skip
def test_ages(seconds: float, words: str) -> None:
    assert ago(1e9, 1e9 + seconds) == words


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (229_400, "229.4 KB"), (5e9, "5.0 GB")]
)
def test_sizes(count: float, words: str) -> None:
    assert size(count) == words


def test_times_beyond_the_calendar_are_shown_as_numbers() -> None:
    assert when(1e30, 0.0) == f"{1e30:.0f}"
