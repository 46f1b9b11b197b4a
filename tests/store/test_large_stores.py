"""Stores that are too large for all of their rows at once."""

from __future__ import annotations

import json
from itertools import product

import pytest

from conftest import ALICE, NOW, Open
from swarmlore.cli.layout import Page
from swarmlore.cli.render import report as render_report
from swarmlore.domain.records import Draft
from swarmlore.frozen import replace
from swarmlore.memory import report
from swarmlore.memory.report import MemoryFigures
from swarmlore.server.http import routes
from swarmlore.store import memories


def test_a_page_far_down_is_found_without_reading_what_stands_above_it(
    open_as: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    lore = open_as(ALICE)
    rows = [
        {"id": f"i{n}", "lesson": f"Lesson {n} of a long list", "tags": ["even" if n % 2 == 0 else "odd"]}
        for n in range(130)
    ]
    lore.import_lines(json.dumps(row).encode() for row in rows)
    monkeypatch.setattr(memories, "PAGE", 20)
    every = [memory.id for memory in lore.list(limit=1000)]
    even = [id for id in every if int(id[1:]) % 2 == 0]
    assert len(every) == 130
    for offset, limit in product((0, 1, 19, 20, 21, 64, 65, 129, 130, 999), (1, 2, 20, 21, 500)):
        assert [m.id for m in lore.list(limit=limit, offset=offset)] == every[offset : offset + limit]
        assert [m.id for m in lore.list(limit=limit, offset=offset, tags=("even",))] == even[offset : offset + limit]
    read: list[int] = []
    by_seqs = lore.store.by_seqs
    monkeypatch.setattr(lore.store, "by_seqs", lambda seqs: read.extend(seqs) or by_seqs(seqs))
    assert len(lore.list(limit=3, offset=100)) == 3
    assert len(read) <= 20


def test_pairs_that_share_most_are_kept_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [[1, 2], [1, 2], [1, 2], *([n, n + 1] for n in range(10, 60, 2)), [2**31, 2**31 + 1], [2**31, 2**31 + 1]]
    everything = range(2**32)
    assert sorted(report._candidates(groups, everything)) == [(1, 2), (2**31, 2**31 + 1)]
    monkeypatch.setattr(report, "MOST_HELD", 8)
    assert sorted(report._candidates(groups, everything)) == [(1, 2), (2**31, 2**31 + 1)]


def test_a_report_names_some_of_very_many_and_counts_all(open_as: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    lore = open_as(ALICE)
    day = 86_400.0
    drafts = [
        Draft(f"Lesson {n} of a long list says {n * 7}", id=f"i{n}", created_at=NOW - n * day) for n in range(120)
    ]
    lore.remember_many([*drafts, Draft("Lesson 70 of a long list says 490", id="twin", tier="agent")])
    lore.rate("i60", helpful=True)
    whole, count = lore.report(), len(lore.list(limit=1_000))
    assert (len(whole.memories), whole.memories_left_out) == (count, 0)
    monkeypatch.setattr(report, "MOST_NAMED", 10)
    some = lore.report()
    assert replace(some, memories=(), memories_left_out=0) == replace(whole, memories=(), memories_left_out=0)
    newest = [memory.id for memory in whole.memories if memory.id != "i60"][:9]
    assert [memory.id for memory in some.memories] == [*newest, "i60"]
    assert some.memories_left_out == count - 10
    assert set(some.memories) <= set(whole.memories)


def test_a_report_names_the_unused_that_wait_longest(open_as: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST_NAMED", 3)
    monkeypatch.setattr(report, "OLDEST_NAMED", 2)
    lore = open_as(ALICE)
    lore.remember_many(
        Draft(f"Lesson {n} of a long list says {n * 7}", id=f"i{n}", created_at=NOW - n * 86_400.0) for n in range(100)
    )
    lore.block("what does the long list say")
    found = lore.report()
    assert [memory.id for memory in found.memories][-2:] == ["i98", "i99"]
    assert (len(found.memories), found.memories_left_out) == (5, found.standing.lessons - 5)
    assert found.standing.unused > 30
    assert f"and {found.standing.unused - 1} more" in render_report.report(found, Page(), 1)


def test_an_answer_names_memories_with_something_to_tell_first(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = [MemoryFigures(f"q{n}", "", "", "", "", "", "", "", float(n)) for n in range(5)]
    shown = MemoryFigures("shown", "", "", "", "", "", "", "", 0.0, shown=3)
    assert routes._most_active([*quiet, shown]) == (*quiet, shown)
    monkeypatch.setattr(routes, "MOST_REPORTED", 3)
    assert [item.id for item in routes._most_active([*quiet, shown])] == ["shown", "q0", "q1"]
