"""Rendering: whatever is stored, a terminal shows it and is not steered by it."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import NOW, a_memory
from swarmlore import errors
from swarmlore.cli.layout import Page, ago, clean, fold, hang, json_text, say, size, when
from swarmlore.cli.render import memories
from swarmlore.config import Value
from swarmlore.domain.language.citations import STATES
from swarmlore.domain.records import (
    AuditRow,
    Check,
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
from swarmlore.frozen import replace
from swarmlore.memory.project_names import Identity
from swarmlore.retrieval.recall import Hits
from swarmlore.store.backup import Backup

HOSTILE = "\x1b]0;title\x07\x1b[31mred\x9b2J\u202egnp.exe\r\x7f\ud800"


def memory_saying(text: str) -> Memory:
    """Every text of it is this one."""
    texts = [name for name, kind in Memory.__annotations__.items() if kind == "str"]
    values: dict[str, Any] = dict.fromkeys(texts, text)
    for name in ("tags", "entities", "supersedes"):
        values[name] = (text,)
    return Memory(
        **values,
        source_ref={text: text},
        confirmed_by=(Confirmation(text, 1.0, text),),
        situations=(Situation(text),),
        citations=(Citation(text),),
    )


def renderings(page: Page, text: str = HOSTILE, name: str = HOSTILE) -> Iterator[str]:
    """Everything with texts and names that are these."""
    memory = replace(memory_saying(text), handle=name)
    before = {"text": text, "handle": name}
    found = tuple(Cited(Citation(text), state, 1, 2, text, f"+{text}\n-{text}") for state in STATES)
    hit = Hit(memory, 1.0, (Part(name, 1.0, text),), found)
    shown = Shown(text, name, 1.0, text)
    receipt = Receipt(text, 1.0, text, text, text, text, text, (shown,), (shown,), 1, 1, text)
    backup = Backup(text, 1, 1, 1.0)
    for outcome in ("added", "linked", "confirmed", "updated", "superseded", "quarantined"):
        told = Remembered(memory, outcome, text, (text,), (text,), (text,), 1, text)
        yield memories.remembered(told, [(name, text)], page)
    yield memories.remembered_lines({"added": 1}, [(1, text)], [(2, name, text)], page)
    yield "\n".join(memories.reports([text], page))
    note = Hit(replace(memory, source="note", title=text), 1.0)
    yield memories.found(Hits([hit, note], (), (text,)), page, lambda _: text, explain=True)
    yield memories.rows([memory], page)
    yield memories.card(memory, page, found)
    yield memories.stale([Stale(memory, found)], page)
    yield memories.followed([memory], page)
    yield memories.forgotten([memory], {key: [text] for key in ("backups", "commits", "files")}, page, erased=True)
    yield memories.forgotten([memory], {}, page, erased=False)
    yield memories.history([AuditRow(text, 1.0, text, text, text, text, None, before)], page)
    yield memories.undone([memory], "op-1", page)
    yield memories.receipts([receipt], {text: text}, page)
    many = (text, text)
    yield memories.migrated(1, 1, "0" * 64, f"postgresql://{text}", page)
    yield memories.project(Identity(text, text, text, "git", many, (*many, "red"), text, many, many), page)
    yield memories.stats({"store": text, "by_kind": {name: 1}}, page)
    yield memories.checks([Check(name, "fail", text, text)], page)
    yield memories.settings([Value("a.b", text, text, text)], page)
    yield memories.setting(Value("a.b", (text,), text, text), page)
    yield memories.setting_written(Value("a.b", text, text, text), text, page)
    yield memories.backed_up(backup, page)
    yield memories.restored(backup, text, page)
    yield memories.failure(errors.NotFound(text, text), page)
    yield memories.note(text, page)
    yield json_text({text: text})


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
    public = [
        name for name, value in vars(memories).items() if value.__class__ is types.FunctionType and name[0] != "_"
    ]
    own = [name for name in public if getattr(memories, name).__module__ == memories.__name__]
    texts = [
        name for name in own if name not in ("overview", "progress", "reindexed", "more")
    ]  # they show no stored text
    assert len(texts) > 15
    assert [name for name in texts if f"memories.{name}(" not in source] == []


WORDS = "words that a person reads, and then some more of them " * 6


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("colour", [False, True])
def test_no_line_is_wider_than_the_page_and_no_word_is_cut(width: int, colour: bool) -> None:
    page = Page(width, colour=colour, now=1_800_000_000.0)
    for text in renderings(page, WORDS, "3f9a2c"):
        if text.startswith("{"):  # JSON is for programs
            continue
        folded = fold(text, page)
        bare = re.sub(r"\x1b\[\d+m", "", folded)
        assert [line for line in bare.splitlines() if len(line) > width] == []
        assert folded.split() == text.split()


def test_where_nobody_looks_lines_stay_whole() -> None:
    assert fold("  " + WORDS, Page(0)) == "  " + WORDS
    assert hang("head: ", WORDS, Page(0), 6) == "head: " + WORDS
    whole = [text for text in renderings(Page(0, now=1_800_000_000.0), WORDS, "3f9a2c") if WORDS.strip() in text]
    assert len(whole) > 15


@pytest.mark.parametrize(
    ("head", "indent", "lines"),
    [
        ("", 0, ["Snapshots are recorded with", "make snap-record"]),
        ("* ", 2, ["* Snapshots are recorded", "  with make snap-record"]),
        ("a head as long as: ", 4, ["a head as long as:", "    Snapshots are recorded", "    with make snap-record"]),
        ("short head: ", 0, ["short head: Snapshots are", "recorded with make", "snap-record"]),
    ],
)
def test_a_text_hangs_beside_its_head(head: str, indent: int, lines: list[str]) -> None:
    told = hang(head, "Snapshots are recorded with make snap-record", Page(27), indent)
    assert told.splitlines() == lines


def test_colours_take_no_room_and_a_long_word_stays_whole() -> None:
    page = Page(30, colour=True)
    painted = hang(page.paint("red", "error: "), "a path follows here", page, 7)
    assert painted == "\x1b[31merror: \x1b[0ma path follows here"
    path = "/a/path/that/is/longer/than/the/page/is/wide"
    assert say(f"see {path} there", Page(30), 2).splitlines() == ["  see", f"  {path}", "  there"]


# Lists


def a_row(**facts: Any) -> Memory:
    text = "Requests time out after 30 seconds in the gateway, retry them with a growing backoff"
    return replace(a_memory(text, created_at=NOW - 45 * 86_400.0), **facts)


def test_a_list_has_narrow_columns_and_names_what_is_unusual() -> None:
    first = a_row(handle="3f9a2c")
    odd = a_row(
        handle="8a3dab",
        tier="hive",
        kind="correction",
        created_at=NOW - 300.0,
        confirmed_by=(Confirmation("a", NOW, "bob"),),
    )
    page = Page(80, now=NOW)
    assert memories.rows([first], page) == (
        "3f9a2c  swarm  45 d  Requests time out after 30 seconds in the gateway, retry t…"
    )
    assert memories.rows([first, odd], page).splitlines()[1] == (
        "8a3dab  hive   5 min  correction: Requests time out after 30 seconds in the gat…"
    )


def test_a_status_takes_room_only_where_one_is_not_live() -> None:
    gone = a_row(handle="8a3dab", status="quarantined")
    hidden = a_row(handle="5b1cfe", forgotten_at=NOW)
    shown = memories.rows([a_row(handle="3f9a2c"), gone, hidden], Page(80, now=NOW)).splitlines()
    assert [line[:34] for line in shown] == [
        "3f9a2c  swarm  45 d               ",
        "8a3dab  swarm  45 d  quarantined  ",
        "5b1cfe  swarm  45 d  forgotten    ",
    ]
    assert [len(line) for line in shown] == [80, 80, 80]


def test_a_strategy_is_called_one() -> None:
    known = a_row(handle="9b8baa", text="file-based", kind="pattern_seed", source="outcome")
    assert memories.rows([known], Page(80, now=NOW)) == "9b8baa  swarm  45 d  strategy: file-based"
    assert "pattern_seed" not in memories.card(known, Page(80, now=NOW))


@pytest.mark.parametrize(
    ("shown", "total", "offset", "said"),
    [
        (20, 70, 0, "20 of 70. The rest: --offset 20, or --limit 100"),
        (20, 7000, 20, "21 to 40 of 7,000. The rest: --offset 40, or --limit 100"),
        (50, None, 0, "50 of more. The rest: --offset 50, or --limit 250"),
    ],
)
def test_a_list_that_stops_says_where(shown: int, total: int | None, offset: int, said: str) -> None:
    assert memories.more(shown, total, offset) == said


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
