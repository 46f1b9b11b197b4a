"""The report: what agents were given and what became of it, on both engines, in a terminal and in one file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import Run
from conftest import ALICE, BOB, LEAD, NOW, PERSON, a_memory, an_operation, quick_env
from swarmlore.cli.layout import Page, fold
from swarmlore.cli.render import report as render_report
from swarmlore.cli.render import report_html
from swarmlore.cli.render.report_html import Series, amount, bars, line
from swarmlore.config import Settings
from swarmlore.domain.policy.curation import Limits, check
from swarmlore.domain.records import Caller, Outcomes
from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.frozen import replace
from swarmlore.lore import Lore
from swarmlore.memory.report import (
    DAY_S,
    MOST,
    Counts,
    Cut,
    MemoryFigures,
    Period,
    ProjectFigures,
    Report,
    Silence,
    Standing,
    is_duplicate,
    plain_reason,
    span_of,
)
from swarmlore.store.store import Store

SNAPSHOTS = "Snapshot tests are recorded with make snap-record and never edited by hand"
PROMPT = "the snapshot tests fail, record them again"


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


Opened = Callable[[Caller], Lore]


@pytest.fixture
def opened(store: Store, clock: Clock, tmp_path: Path) -> Iterator[Opened]:
    """The same store, on each engine, for whoever asks."""

    def as_caller(caller: Caller) -> Lore:
        from swarmlore.workspace.project import find_project

        return Lore(str(tmp_path), store, caller, Settings(), find_project(str(tmp_path)), clock)

    return as_caller


def of(report: Report, id: str) -> MemoryFigures:
    return next(item for item in report.memories if item.id == id)


# Per memory


def test_a_memory_is_counted_as_shown_used_and_helpful(opened: Opened) -> None:
    lore = opened(LEAD)
    kept = lore.remember(SNAPSHOTS).memory
    block = lore.block(PROMPT, session="s")
    assert [item.memory for item in block.receipt.shown] == [kept.id]
    lore.outcome(True, session="s", applied=[kept.handle], errors=0, retries=0, duration_ms=1000)
    lore.rate(kept.handle, helpful=False)
    told = lore.report()
    figures = of(told, kept.id)
    assert (figures.shown, figures.applied, figures.helped, figures.hurt) == (1, 1, 1, 1)
    assert (figures.succeeded_after, figures.failed_after, figures.last_shown_at) == (1, 0, NOW)
    assert figures.tokens == told.counts.tokens == block.receipt.tokens > 0
    assert (told.counts.moments, told.counts.given, told.counts.shown, told.counts.used) == (1, 1, 1, 1)
    assert (told.counts.tasks_helpful, told.last_given_at) == (1, NOW)


def test_a_rating_that_was_taken_back_did_not_happen(opened: Opened, clock: Clock) -> None:
    lore = opened(LEAD)
    kept = lore.remember(SNAPSHOTS).memory
    clock.now += 1
    lore.rate(kept.handle, helpful=False)
    assert of(lore.report(), kept.id).hurt == 1
    lore.undo()
    assert of(lore.report(), kept.id).hurt == 0


def test_a_memory_is_used_once_a_session_however_often_that_is_noticed(opened: Opened) -> None:
    lore = opened(LEAD)
    kept = lore.remember(SNAPSHOTS).memory
    lore.start_session("s", client="claude", cited=[kept.handle, "ffffff"])
    lore.block(PROMPT, session="s")
    lore.outcome(True, session="s", task="one", cited=[kept.handle], errors=0, retries=0)
    lore.outcome(True, session="s", task="two", applied=[kept.handle], errors=0, retries=0)
    assert lore.report().counts.used == 1
    lore.outcome(True, session="t", applied=[kept.handle], errors=0, retries=0)
    assert lore.report().counts.used == 2


def test_the_tokens_of_a_block_are_shared_by_what_was_in_it(opened: Opened) -> None:
    lore = opened(LEAD)
    lore.remember(SNAPSHOTS)
    lore.remember("Snapshot tests of the mobile app are recorded on the emulator with make snap-mobile")
    block = lore.block("snapshot tests are recorded with make", session="s")
    assert len(block.receipt.shown) == 2
    told = lore.report()
    assert abs(sum(item.tokens for item in told.memories) - block.receipt.tokens) <= 1


def test_what_was_never_shown_is_unused_when_it_is_old(opened: Opened, clock: Clock) -> None:
    lore = opened(LEAD)
    kept = lore.remember(SNAPSHOTS).memory
    lore.block("how is the weather", session="s")
    assert of(lore.report(), kept.id).junk == ()
    clock.now += 60 * DAY_S
    told = lore.report()
    assert of(told, kept.id).junk == ("unused",)
    assert (told.standing.never_shown, told.standing.unused, told.standing.junk) == (1, 1, 1)


def test_showings_that_others_reported_count_where_their_receipts_cannot_be_seen(opened: Opened, clock: Clock) -> None:
    lore = opened(LEAD)
    kept = lore.remember(SNAPSHOTS).memory
    lore.block(PROMPT, session="s")
    lore.outcome(True, session="s", errors=0, retries=0)
    clock.now += 90 * DAY_S
    opened(BOB).block("how is the weather", session="b")
    told = of(opened(BOB).report(), kept.id)
    assert (told.shown, told.junk) == (0, ())


def test_lessons_that_say_the_same_are_found_and_different_ones_are_not(store: Store, opened: Opened) -> None:
    texts = (
        "The staging database listens on port 5432 behind the tunnel",
        "the staging database listens on port 5432, behind the tunnel",
        "The staging database listens on port 5433 behind the tunnel",
        "The staging database never listens on port 5432 behind the tunnel",
    )
    memories = [a_memory(text, LEAD) for text in texts]
    with store.operation(an_operation(LEAD)) as act:
        for memory in memories:
            store.put(act, memory)
    told = opened(LEAD).report()
    twins = {item.id: item.duplicate_of for item in told.memories if item.duplicate_of}
    assert twins == {memories[1].id: of(told, memories[0].id).handle}
    assert told.standing.duplicate == 1


@given(st.text(max_size=60), st.text(max_size=60))
def test_every_pair_of_texts_can_be_compared_and_nothing_is_the_same_as_an_empty_one(one: str, other: str) -> None:
    assert is_duplicate(one, other, 0.6) in (True, False)
    assert is_duplicate(one, "", 0.6) is False


def test_raw_material_and_what_has_ended_is_no_lesson(store: Store, opened: Opened, clock: Clock) -> None:
    kinds = (
        {"source": "transcript"},
        {"status": "archived"},
        {"forgotten_at": NOW},
        {"expires_at": NOW - 1},
        {"status": "superseded", "valid_until": NOW},
    )
    with store.operation(an_operation(LEAD)) as act:
        for number, fields in enumerate(kinds):
            store.put(act, a_memory(f"Text number {number * 7919} of its own", LEAD, **fields))
    told = opened(LEAD).report()
    assert (told.standing.lessons, told.standing.raw, told.counts.added, told.counts.ended) == (0, 1, 5, 4)
    assert [item.source for item in told.memories] == ["transcript"]


# Over time and by project


def test_growth_is_told_by_period(opened: Opened, clock: Clock) -> None:
    lore = opened(LEAD)
    first = lore.remember("The first lesson speaks of the importer").memory
    clock.now += 2 * DAY_S
    lore.remember("Another lesson speaks of the exporter")
    clock.now += DAY_S
    lore.forget(first.handle)
    told = lore.report()
    assert [period.live for period in told.periods] == [1, 1, 2, 1]
    assert [period.counts.added for period in told.periods] == [1, 0, 1, 0]
    assert [period.counts.ended for period in told.periods] == [0, 0, 0, 1]


def test_a_strategy_is_no_lesson_and_counts_a_task_only_once(opened: Opened) -> None:
    lore = opened(LEAD)
    lesson = lore.remember(SNAPSHOTS).memory
    facts: dict[str, Any] = {"strategy": "file-based", "applied": [lesson.id], "duration_ms": 1000}
    for number in range(3):
        lore.outcome(True, task=f"t{number}", errors=0, retries=0, **facts)
    lore.outcome(False, task="t3", errors=9, retries=9, strategy="feature-based")
    told = lore.report()
    assert (told.standing.lessons, told.standing.raw, told.standing.strategies) == (1, 0, 2)
    assert (told.counts.added, told.periods[-1].live) == (1, 1)
    assert (told.counts.helped, told.counts.hurt) == (3, 0)
    assert (told.counts.tasks_helpful, told.counts.tasks_harmful) == (3, 1)
    assert {item.text for item in told.memories if item.strategy} == {"file-based", "feature-based"}
    shown = render_report.report(told, Page(100, now=NOW))
    assert "live    1 lesson, 2 strategies; 1 added" in shown
    assert "file-based" not in shown
    assert "feature-based" not in shown
    assert '<span class="kind">strategy</span> file-based' in b"".join(report_html.lines(told)).decode()


def test_a_worker_counts_its_own_ratings_and_knows_what_a_memory_did(opened: Opened) -> None:
    lesson = opened(LEAD).remember(SNAPSHOTS).memory
    for who in (ALICE, BOB, BOB):
        opened(who).rate(lesson.id, helpful=True)
    mine = opened(ALICE).report()
    assert (mine.counts.helped, of(mine, lesson.id).helped) == (1, 3)
    assert opened(LEAD).report().counts.helped == 3


def test_a_report_of_a_few_days_counts_only_what_happened_in_them(opened: Opened, clock: Clock) -> None:
    lore = opened(LEAD)
    kept = lore.remember(SNAPSHOTS).memory
    lore.block(PROMPT, session="s")
    clock.now += 100 * DAY_S
    lore.block(PROMPT, session="t")
    told = lore.report(7)
    assert (told.counts.moments, told.counts.shown, told.counts.added, len(told.periods)) == (1, 1, 0, 8)
    assert of(told, kept.id).shown == 2
    assert told.periods[0].live == 1


@pytest.mark.parametrize(
    ("days", "length", "count"),
    [(0, 1, 1), (1, 1, 2), (58, 1, 59), (59, 7, 9), (365, 7, 53), (412, 7, 59), (413, 28, 15), (3650, 84, 44)],
)
def test_time_is_cut_into_days_weeks_or_more_so_that_it_can_be_drawn(days: int, length: int, count: int) -> None:
    end = 20_000 * DAY_S
    span = span_of(end - days * DAY_S, end)
    assert (span.length / DAY_S, span.count) == (length, count)


@given(st.floats(min_value=-1e11, max_value=1e11), st.floats(min_value=0, max_value=4e9))
def test_there_are_never_more_periods_than_a_plot_can_show(first: float, end: float) -> None:
    span = span_of(first, end)
    assert 1 <= span.count <= MOST + 1
    assert span.place(end) == span.count - 1
    assert span.place(first) in (0, span.count - 1)


def test_projects_stand_apart_and_only_a_person_sees_the_others(opened: Opened) -> None:
    beta = replace(PERSON, project="git.example/beta")
    opened(PERSON).remember(SNAPSHOTS)
    opened(beta).remember("Beta deploys by pushing a tag to the release remote")
    opened(beta).block("beta deploys by pushing a tag", session="s")
    opened(beta).remember("Every project keeps its secrets in the vault of its team", tier="hive")
    mine = opened(PERSON).report()
    assert {item.project for item in mine.projects} == {PERSON.project, "(hive)"}
    assert mine.counts.moments == 0
    both = opened(PERSON).report(all_projects=True)
    assert {item.project: item.standing.lessons for item in both.projects} == {
        PERSON.project: 1,
        "git.example/beta": 1,
        "(hive)": 1,
    }
    assert (both.counts.moments, both.all_projects) == (1, True)
    with pytest.raises(NotAllowed):
        opened(LEAD).report(all_projects=True)


def test_a_worker_sees_its_own_moments_and_nothing_private_of_others(opened: Opened) -> None:
    secret = opened(ALICE).remember("Alice keeps her own notes about the importer", tier="agent").memory
    opened(ALICE).block("notes about the importer", session="s")
    assert opened(ALICE).report().counts.moments == 1
    for caller in (BOB, LEAD, PERSON):
        told = opened(caller).report()
        assert secret.id not in [item.id for item in told.memories]
        assert told.counts.shown == 0
        assert secret.text not in json.dumps([item.text for item in told.memories])
    assert opened(BOB).report().counts.moments == 0


# Silences


def test_every_silence_has_a_reason_and_equal_ones_are_counted_together(opened: Opened) -> None:
    lore = opened(LEAD)
    lore.remember(SNAPSHOTS)
    lore.block("how is the weather in Lisbon", session="a")
    lore.block("who won the match", session="b")
    lore.block(PROMPT, session="c", headroom=0.01)
    lore.block(PROMPT, session="d", headroom=0.02)
    lore.block(PROMPT, session="e", trigger="error", chars_left=17)
    told = lore.report()
    found = {(item.trigger, item.reason): item.count for item in told.silences}
    assert found[("prompt", "too little headroom")] == 2
    assert found[("error", "too few characters of context left")] == 1
    assert sum(found.values()) == told.counts.moments - told.counts.given == 5
    assert all(reason for _, reason in found)


def test_what_was_found_and_cut_is_counted_with_its_reason(opened: Opened) -> None:
    lore = opened(LEAD)
    lore.remember(SNAPSHOTS)
    lore.block(PROMPT, session="s")
    lore.block(PROMPT, session="s")
    told = lore.report()
    assert [(item.reason, item.count) for item in told.cuts] == [("shown earlier in this session", 1)]
    assert (told.memories[0].cut, told.memories[0].cut_reason) == (1, "shown earlier in this session")


def test_sessions_in_which_nothing_was_ever_asked_for_are_counted(opened: Opened) -> None:
    lore = opened(LEAD)
    lore.start_session("quiet", client="claude")
    lore.start_session("asked", client="claude")
    lore.block(PROMPT, session="asked")
    told = lore.report()
    assert (told.sessions, told.sessions_without_moment) == (2, 1)


@pytest.mark.parametrize(
    ("reason", "plain"),
    [
        ("nothing relevant enough: the best reached 0.16, the bar is 0.28", "nothing relevant enough"),
        ("headroom 3.2%, 5% needed", "too little headroom"),
        ("120 characters of context left, 300 needed", "too few characters of context left"),
        ("more than 2 of 5 by one author (alice)", "more than 2 of 5 by one author"),
        ("switched off: knowledge.enabled = false", "switched off: knowledge.enabled = false"),
        ("", "no reason was recorded"),
    ],
)
def test_reasons_lose_the_figures_of_their_moment(reason: str, plain: str) -> None:
    assert plain_reason(reason) == plain


@pytest.mark.parametrize("days", [-1, float("nan"), float("inf"), 40_000, "7", None])
def test_days_must_be_a_number(lore: Lore, days: Any) -> None:
    with pytest.raises(InvalidInput):
        lore.report(days)


def test_an_empty_memory_has_a_report(opened: Opened) -> None:
    told = opened(LEAD).report()
    assert (told.standing, told.memories, told.kept, len(told.periods)) == (Standing(), (), True, 1)
    assert render_report.report(told, Page(80, now=NOW))
    assert b"</html>" in b"".join(report_html.lines(told))


# The command


def test_stale_code_is_told_by_the_command(run: Run, world: Path) -> None:
    code = world / "project" / "port.py"
    code.write_text("import os\n\nPORT = 5432\nHOST = 'db'\n", encoding="utf-8")
    run("remember", "The port of the database stands in port.py and is read at start", "--cite", "port.py:3-4")
    assert run("report", "--json").json["standing"]["stale"] == 0
    code.write_text("import sys\n\nLISTEN = 1\n", encoding="utf-8")
    told = run("report", "--json").json
    assert (told["standing"]["stale"], told["memories"][0]["code"], told["memories"][0]["junk"]) == (
        1,
        "changed",
        ["stale"],
    )
    assert sum(period["stale"] for period in told["periods"]) == 1
    assert "cited code is changed" in run("report").out


def test_the_check_fails_where_a_limit_of_the_project_is_not_kept(run: Run, world: Path) -> None:
    run("remember", "The importer reads its files with the encoding latin-1")
    handle = run("list", "--json").json["memories"][0]["handle"]
    run("rate", handle, "--harmful")
    assert run("report", "--check").code == 0  # one lesson is not judged
    (world / "project" / ".swarmlore.toml").write_text("[report]\nmin_lessons = 1\n", encoding="utf-8")
    reply = run("report", "--check")
    assert (reply.code, "over   harmful: 1 of 1 (100 %), at most 10 %" in reply.out) == (1, True)
    told = run("report", "--check", "--json")
    assert (told.code, told.json["kept"]) == (1, False)
    assert run("report").code == 0  # only a check fails
    (world / "project" / ".swarmlore.toml").write_text(
        "[report]\nmin_lessons = 1\nmax_harmful = 1.0\nmax_junk = 1.0\n", encoding="utf-8"
    )
    assert run("report", "--check").code == 0


def test_a_limit_that_is_not_kept_comes_with_what_broke_it_and_what_to_do(run: Run, world: Path) -> None:
    for name in ("importer", "exporter"):
        run("remember", f"The {name} reads its files with the encoding latin-1")
    for memory in run("list", "--json").json["memories"]:
        run("rate", memory["handle"], "--harmful")
    assert run("report", "--check").out == (
        "  –      stale, duplicate, harmful, unused, junk: not judged, fewer than 20 lessons\n"
        "  –      given: not judged, fewer than 20 moments\n"
    )
    (world / "project" / ".swarmlore.toml").write_text("[report]\nmin_lessons = 1\n", encoding="utf-8")
    lines = run("report", "--check", "--limit", "1").out.splitlines()
    at = lines.index("did harm, in its whole life")
    assert lines[at + 1].endswith("(hurt 1, helped 0, shown 0)")
    assert lines[at + 2] == "  and 1 more: --limit N, or --json"
    assert lines[-1].startswith("hint: swarmlore curate proposes what to do; ")
    assert "unused: never shown" not in lines


def test_a_report_calls_a_project_by_its_name(opened: Opened) -> None:
    lot = "0123456789abcdef" * 2
    for project in (f"shop#{lot}", "github.com/acme/api", "github.com/other/api"):
        opened(replace(PERSON, project=project)).remember("The gateway waits 30 seconds for an answer of the bank")
    told = opened(replace(PERSON, project=f"shop#{lot}")).report(all_projects=True)
    shown = render_report.report(told, Page(100, now=NOW))
    rows = [line.split()[0] for line in shown[shown.index("by project") :].splitlines()[2:5]]
    assert sorted(rows) == ["github.com/acme/api", "github.com/other/api", "shop"]
    assert lot not in shown
    mine = opened(replace(PERSON, project=f"shop#{lot}")).report()
    assert render_report.report(mine, Page(100, now=NOW)).startswith("shop, 20")
    assert "<title>Swarmlore report: shop</title>" in b"".join(report_html.lines(mine)).decode()


@pytest.mark.parametrize("width", [30, 60, 80, 120])
def test_nothing_of_a_report_is_wider_than_the_page(width: int) -> None:
    days = [
        Period(NOW - DAY_S * age, Counts(shown=10_000 + age, moments=20_000, tokens=9_999_999), 90_000)
        for age in range(46)
    ]
    projects = [
        ProjectFigures(f"github.com/acme/{name}", Standing(lessons=123_456), Counts(shown=98_765, tokens=87_654_321))
        for name in ("shop", "a-project-with-quite-a-long-name", "another-one-whose-name-is-longer-than-others")
    ]
    told = Report(
        NOW, "github.com/acme/shop", NOW - 45 * DAY_S, DAY_S, False, Standing(lessons=7), Counts(tokens=7), 3, 3, NOW
    )
    told = replace(
        told, periods=tuple(days[::-1]), projects=tuple(projects), limits=check([("unused",)] * 30, 50, 0, Limits())
    )
    told = replace(told, silences=(Silence("prompt", "a reason of very many words that goes on and on " * 3, 7),))
    page = Page(width, now=NOW)
    for text in (render_report.report(told, page), render_report.check(told, page)):
        lines = fold(text, page).splitlines()
        if width >= 80:
            assert [line for line in lines if len(line) > width] == []
        assert [line for line in lines if len(line) > 80] == [] or width == 120
    assert ("each mark a day" in render_report.report(told, page)) == (width == 120)


def test_marks_tell_their_time(opened: Opened, clock: Clock) -> None:
    lore = opened(LEAD)
    lore.remember(SNAPSHOTS)
    clock.now += 45 * DAY_S
    lore.remember("Files of the importer are kept for a week in the archive folder")
    first, last = render_report.day(NOW)[5:], render_report.day(clock.now)[5:]
    narrow = render_report.report(lore.report(), Page(80, now=clock.now))
    assert "over time, each mark the highest of 2 days\n" in narrow
    assert f"\n           {first}{' ' * 13}{last}\n" in narrow
    assert "2 in all, at most 1 in a day" in narrow
    assert "over time, each mark a day\n" in render_report.report(lore.report(), Page(120, now=clock.now))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.values: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.values += [value or "" for _, value in attrs]


def test_the_file_is_whole_and_reaches_for_nothing(run: Run, world: Path) -> None:
    run("remember", "The <b>importer</b> says \"hello\" & waits <script>alert('x')</script> for https://evil.example")
    run("remember", "Files of the importer are kept for a week in the archive folder")
    reply = run("report", "--html", "report.html")
    assert (reply.code, reply.out) == (0, "Written to report.html. Open it in a browser.\n")
    text = (world / "project" / "report.html").read_text(encoding="utf-8")
    found = Tags()
    found.feed(text)
    assert not {"script", "link", "img", "iframe", "a", "b", "object"} & {*found.names} - {"b"}
    assert found.names.count("b") == 6  # those of the tiles, none of a lesson
    assert not [value for value in found.values if "http:" in value or "https:" in value]
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text
    assert found.names.count("svg") >= 8
    assert text.count("prefers-color-scheme:dark") == 1


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_text_becomes_markup(text: str, reason: str) -> None:
    memory = MemoryFigures("id", text, text, text, "swarm", text, text, text, NOW, shown=1, tokens=5, code=text)
    told = Report(NOW, text, NOW, DAY_S, False, Standing(lessons=1), Counts(), 1, 1, NOW)
    told = replace(told, memories=(replace(memory, junk=("stale", "unused", "harmful"), helped=1),))
    told = replace(told, silences=(Silence(text, reason, 1),), cuts=(Cut(reason, 1),))
    plain, found = Tags(), Tags()
    plain.feed(b"".join(report_html.lines(_in_plain_words(told))).decode())
    found.feed(b"".join(report_html.lines(told)).decode())
    assert found.names == plain.names


def _in_plain_words(told: Report) -> Report:
    memory = told.memories[0]
    plain = replace(memory, handle="x", text="x", project="x", kind="x", source="x", status="x", code="x")
    told = replace(told, project="x", memories=(replace(plain, code="x"),))
    return replace(told, silences=(Silence("x", "x", 1),), cuts=(Cut("x", 1),))


def test_a_file_that_is_there_is_not_overwritten_unasked(run: Run, world: Path) -> None:
    target = world / "project" / "precious.html"
    target.write_text("mine", encoding="utf-8")
    reply = run("report", "--html", "precious.html")
    assert (reply.code, target.read_text(encoding="utf-8")) == (2, "mine")
    assert run("report", "--html", "precious.html", "--yes").code == 0
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert target.stat().st_mode & 0o777 == 0o600  # lessons are for their reader


def test_the_terminal_is_safe_from_what_is_stored(store: Store, opened: Opened) -> None:
    with store.operation(an_operation(LEAD)) as act:
        evil = a_memory("The cursor moves \x1b[2J up and \u202e back", LEAD, outcomes=Outcomes(shown=3))
        store.put(act, evil)
    opened(LEAD).rate(evil.id, helpful=False)
    told = opened(LEAD).report()
    shown = render_report.report(told, Page(100, now=NOW))
    page = b"".join(report_html.lines(told)).decode()
    for text in (shown, page):
        assert "\\x1b[2J" in text
        assert not re.search("[\x1b\u202e]", text)


# Plots


def test_a_plot_tells_every_value_it_draws() -> None:
    plot = bars([Series("helped", "c3", [3, 0, 5]), Series("hurt", "c4", [0, 2, 0], down=True)], ["a", "b", "c"], "x")
    assert re.findall(r"<title>(.*?)</title>", plot) == ["a: helped 3", "b: hurt 2", "c: helped 5"]
    assert re.findall(r"<title>(.*?)</title>", line(Series("live", "c1", [1, 4]), ["a", "b"], "x")) == ["a: 1", "b: 4"]


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=60))
def test_nothing_is_drawn_outside_of_a_plot(values: list[tuple[int, int]]) -> None:
    up, down = zip(*values, strict=True)
    plot = bars([Series("up", "c1", up), Series("down", "c2", down, down=True)], [str(i) for i in range(len(up))], "x")
    for x, y, width, height in re.findall(r'x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)"', plot):
        assert 45.9 <= float(x) <= 630
        assert float(x) + float(width) <= 631
        assert float(y) >= 9.9
        assert float(y) + float(height) <= 147


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (950, "950"), (1204, "1,204"), (88_100, "88.1k"), (2_400_000, "2.4M"), (2.5, "2.5")]
)
def test_amounts_are_written_as_people_read_them(value: float, text: str) -> None:
    assert amount(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 %"), (0.001, "under 1 %"), (0.5, "50 %"), (0.999, "over 99 %"), (1, "100 %")]
)
def test_shares_do_not_hide_a_little(value: float, text: str) -> None:
    assert render_report.percent(value) == text


def test_small_lines_show_where_something_was() -> None:
    assert render_report.spark([0, 1, 2, 4, 8]) == " ▂▃▅█"
    assert len(render_report.spark([1] * 100)) <= 40


def test_the_report_of_a_home_is_the_same_for_python(tmp_path: Path) -> None:
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=LEAD, env=quick_env()) as lore:
        lore.remember(SNAPSHOTS)
        assert lore.report().standing.lessons == 1
