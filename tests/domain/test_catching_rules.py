"""The memory-catcher's rules: kinds and confidence by tables, the cut by what it keeps, summaries by what they leave out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counting import calls
from swarmlore.clients.transcripts import Turn
from swarmlore.domain.extraction.agent_findings import find_findings
from swarmlore.domain.extraction.corrections import is_trouble
from swarmlore.domain.extraction.summaries import (
    MOST_CHARS,
    MOST_TOKENS,
    is_unattended,
    says_nothing,
    shorten_transcript,
    summary_of,
    task_result,
    usable_summary,
)
from swarmlore.domain.extraction.task_reports import TaskReport, confidence, lessons_of_task, lessons_told, parse_report
from swarmlore.domain.policy.context_block import estimate_tokens
from swarmlore.domain.records import KINDS

OAUTH = {
    "bead_id": "cell-abc123",
    "agent_name": "BlueLake",
    "summary": "OAuth login flow implemented with JWT",
    "evaluation": "Used 5min refresh buffer to prevent race conditions. "
    "Build initially failed with 2 TS errors, fixed by adding types.",
    "files_touched": ["src/auth/service.ts", "src/auth/schema.ts"],
    "error_count": 2,
    "retry_count": 0,
    "success": True,
    "duration_ms": 180_000,
}


def tool(command: str, error: str = "", **facts: Any) -> Turn:
    return Turn("tool", tool="shell", command=command, error=error, failed=bool(error), **facts)


# --- what is told about a task


def test_the_example_of_the_seed_is_one_correction_of_85() -> None:
    account = parse_report(OAUTH)
    (lesson,) = lessons_told(account)
    assert lesson.text == f"{OAUTH['summary']}: {OAUTH['evaluation']}"
    assert (lesson.kind, lesson.entities, confidence(lesson, account)) == ("correction", ("feature:auth",), 0.85)


@pytest.mark.parametrize(
    ("evaluation", "facts", "kind", "sure"),
    [
        ("Added the missing types, then it built", {"error_count": 1}, "correction", 0.85),
        ("Added the missing types, then it built", {"error_count": 1, "success": False}, "gap", 0.8),
        ("Chose SQLite over PostgreSQL", {"files_touched": ["config/db.ts"]}, "decision", 0.8),
        ("Chose SQLite over PostgreSQL", {"files_touched": ["src/app/setup.py"]}, "decision", 0.8),
        ("Unexpectedly async/await performs 3x better", {}, "insight", 0.75),
        ("Discovered that the API caps pages at 100", {}, "insight", 0.75),
        ("Always run tests before committing", {}, "commitment", 0.85),
        ("Prefer the batch endpoint for imports", {}, "commitment", 0.85),
        ("Native Git worktree support is missing", {}, "gap", 0.8),
        ("The parser is lacking a limit on depth", {}, "gap", 0.8),
        ("Tokens are refreshed 5 minutes before they expire", {}, "learning", 0.7),
        # in the order of the seed: errors, then files, then words
        ("Always unexpectedly missing", {"error_count": 1, "files_touched": ["config/a.ts"]}, "correction", 0.85),
        ("Always unexpectedly missing", {"files_touched": ["config/a.ts"]}, "decision", 0.8),
        ("Always pin unexpectedly moving tags", {}, "insight", 0.75),
        # quick work, and an evaluation of more than two sentences
        ("Tokens are refreshed 5 minutes before they expire", {"duration_ms": 29_999}, "learning", 0.8),
        ("Tokens are refreshed 5 minutes before they expire", {"duration_ms": 30_000}, "learning", 0.7),
        ("Tokens expire after 5 min. They are refreshed before. The clock is UTC.", {}, "learning", 0.85),
        (
            "Types were added. It builds with 2 flags. So it runs.",
            {"error_count": 1, "duration_ms": 9},
            "correction",
            1.0,
        ),
    ],
)
def test_kind_and_confidence_follow_from_errors_files_words_time_and_evidence(
    evaluation: str, facts: dict[str, Any], kind: str, sure: float
) -> None:
    account = parse_report({"success": True, "evaluation": evaluation, **facts})
    lessons = lessons_told(account)
    assert [(lesson.kind, confidence(lesson, account)) for lesson in lessons] == [(kind, sure)]


@pytest.mark.parametrize(
    "evaluation",
    [
        "",
        "Done.",
        "All tests pass.",
        "Everything went well. No issues.",
        "As expected",
        "Is this right?",
        "It works now.",
    ],
)
def test_what_is_said_of_every_task_teaches_nothing(evaluation: str) -> None:
    assert lessons_told(parse_report({"success": True, "summary": "Added a page", "evaluation": evaluation})) == ()


def test_sentences_of_different_kinds_are_lessons_of_their_own() -> None:
    said = "Prefer the batch endpoint. Discovered that the API caps pages at 100. Always pass a cursor."
    found = lessons_told(parse_report({"success": True, "summary": "Sync", "evaluation": said}))
    assert [lesson.kind for lesson in found] == ["commitment", "insight", "commitment"]


def test_how_a_task_recovered_may_stand_in_its_summary() -> None:
    (lesson,) = lessons_told(
        parse_report({"success": True, "error_count": 3, "summary": "Pinned numpy below 2 for torch"})
    )
    assert (lesson.text, lesson.kind) == ("Pinned numpy below 2 for torch.", "correction")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*OAUTH, "files", "tags", "task", "taskType", "persistMemory", "x"]), JSON))
def test_a_report_of_any_shape_is_read_as_far_as_it_says_something(values: dict[str, Any]) -> None:
    account = parse_report(values)
    assert account.success in (True, False, None)
    assert all(isinstance(path, str) and path for path in account.files)
    assert account.duration_ms is None or account.duration_ms >= 0
    for lesson in lessons_of_task([], account):
        assert lesson.kind in KINDS and 15 <= len(lesson.text) <= 280
        assert 0.7 <= confidence(lesson, account) <= 1.0
    task_result(account)


# --- what an agent finds out


@pytest.mark.parametrize(
    ("said", "overcame", "ways"),
    [
        ("The root cause was that the cache key lacks the locale.", False, ["named"]),
        ("- **Root cause**: the ingress limits request bodies to 1 MB, so it answered 413.", False, ["named"]),
        ("It turns out the refund table has no index on `order_id`.", False, ["named"]),
        ("The staging redis only accepts TLS connections, so redis-cli needs --tls.", True, ["explained"]),
        ("The staging redis only accepts TLS connections, so redis-cli needs --tls.", False, []),
        ("The staging redis probably only accepts TLS connections.", True, []),
        ("There is no integration test against the sandbox for refunds.", False, ["missing"]),
        ("I added the flag because the server requires it.", True, []),
        ("You must always call it like that.", True, []),
        ("The first try timed out at the registry, because of the network.", True, []),
        ("Does the server require --tls?", True, []),
        ('The docs say "you must never call this twice in one request".', True, []),
    ],
)
def test_a_finding_is_named_proven_or_about_what_is_missing(said: str, overcame: bool, ways: list[str]) -> None:
    assert [told.way for told in find_findings(said, overcame)] == ways


@pytest.mark.parametrize(
    ("prompt", "trouble"),
    [
        ("the importer crashes on empty files", True),
        ("find out why emails are sent twice", True),
        ("CI takes 18 minutes, why?", True),
        ("add a dark mode toggle", False),
        ("is the cache key wrong?", False),
        ("how does the flag client fail?", False),
    ],
)
def test_trouble_is_what_somebody_reports_not_what_they_ask_about(prompt: str, trouble: bool) -> None:
    assert is_trouble(prompt) is trouble


def test_an_explanation_that_the_user_rejects_is_none() -> None:
    asked = Turn("user", "the totals are sometimes one cent off, find out why")
    said = Turn("assistant", "`total()` rounds the sum of floats once, so a cent can get lost.")
    accepted, rejected = Turn("user", "ok, thanks"), Turn("user", "no, that's not it")
    assert [lesson.text for lesson in lessons_of_task([asked, said, accepted], TaskReport())] == [said.text]
    assert lessons_of_task([asked, said, rejected], TaskReport()) == ()


# --- the cut


def long_session(turns: int) -> list[Turn]:
    """Much talk; in the middle a correction, a failure that is overcome, and a finding."""
    noise = [
        made
        for number in range(turns)
        for made in (
            Turn("user", f"now look at page {number} and make its heading a little larger, like on the others"),
            tool(f"cat src/pages/p{number}.tsx", files=(f"src/pages/p{number}.tsx",)),
            Turn(
                "assistant",
                f"The heading of page {number} is larger. " + "It looks like the others on that page. " * 20,
            ),
        )
    ]
    telling_turns = [
        Turn("user", "No, use pnpm here, never npm: the lockfile is pnpm's"),
        tool("redis-cli dbsize", "Error: Server closed the connection"),
        tool("redis-cli --tls dbsize"),
        Turn("assistant", "The root cause was that the worker reads its settings before the secrets are mounted."),
    ]
    middle = len(noise) // 2
    return [*noise[:middle], *telling_turns, *noise[middle:]]


def test_a_long_session_keeps_its_beginning_its_end_and_what_tells_in_between() -> None:
    whole = long_session(400)
    kept = shorten_transcript(whole)
    assert estimate_tokens(sum(len(turn.text) + len(turn.command) + len(turn.error) for turn in kept)) <= MOST_TOKENS
    assert kept[0].text == whole[0].text
    assert kept[-1].text[:20] == whole[-1].text[:20]
    assert {lesson.text for lesson in lessons_of_task(kept, TaskReport())} == {
        "Use pnpm here, never npm: the lockfile is pnpm's.",
        "`redis-cli dbsize` fails here with Error: Server closed the connection; `redis-cli --tls dbsize` works.",
        "The root cause was that the worker reads its settings before the secrets are mounted.",
    }


def test_a_short_session_is_not_cut() -> None:
    whole = long_session(2)
    assert [turn.text for turn in shorten_transcript(whole)] == [turn.text for turn in whole]


def test_what_nobody_in_the_conversation_said_is_cut_first() -> None:
    own = Turn("user", "add a page")
    assert shorten_transcript([Turn("user", "context", meta="context"), own, Turn("user", "task", sidechain=True)]) == [
        own
    ]


TURNS = st.builds(
    Turn,
    role=st.sampled_from(["user", "assistant", "tool"]),
    text=st.text(max_size=3_000),
    tool=st.sampled_from(["", "shell", "write"]),
    command=st.text(max_size=600),
    error=st.text(max_size=900),
    failed=st.sampled_from([None, True, False]),
    files=st.lists(st.text(max_size=30), max_size=8).map(tuple),
)


@given(st.lists(TURNS, max_size=40), st.integers(200, MOST_CHARS))
def test_a_cut_is_within_its_limit_and_in_order(turns: list[Turn], most: int) -> None:
    kept = shorten_transcript(turns, most)
    assert len(kept) <= len(turns)
    whole = shorten_transcript(turns, 10**9)
    places = iter(whole)
    assert all(any(_is_of(turn, other) for other in places) for turn in kept)
    if len(kept) < len(whole):
        assert sum(len(turn.text) + len(turn.command) + len(turn.error) for turn in kept) <= most


def _is_of(turn: Turn, whole: Turn) -> bool:
    """Whether it is the same turn, maybe with a shorter text."""
    same = all(getattr(turn, name) == getattr(whole, name) for name in ("role", "command", "error"))
    return same and whole.text.startswith(turn.text.partition("\n…\n")[0])


def test_the_first_prompt_and_the_last_answer_are_kept_however_long_they_are() -> None:
    brief = Turn("user", "Move the refunds to the new ledger. " + "It has many tables. " * 95 + "Mind the currency.")
    end = Turn("assistant", "The ledger is there. " + "The root cause was that the cache key lacks the locale. " * 200)
    kept = shorten_transcript([brief, *long_session(400), end])
    assert kept[0].text.startswith("Move the refunds to the new ledger.")
    assert kept[0].text.endswith("Mind the currency.")
    assert kept[-1].text.startswith("The ledger is there.")
    assert estimate_tokens(sum(len(turn.text) + len(turn.command) + len(turn.error) for turn in kept)) <= MOST_TOKENS


def test_one_long_answer_full_of_findings_does_not_remove_itself() -> None:
    said = " ".join(f"The root cause of case {n} was that table t{n} has no index on order_{n}." for n in range(400))
    (kept,) = shorten_transcript([Turn("assistant", said)])
    assert "case 0 was" in kept.text
    assert "case 399 was" in kept.text
    assert len(kept.text) < 4_000


def test_cutting_a_long_session_takes_calls_in_proportion_to_its_turns() -> None:
    few, many = long_session(300), long_session(1_200)
    shorten_transcript(few)
    assert calls(lambda: shorten_transcript(many)) < 6 * calls(lambda: shorten_transcript(few))


# --- summaries and results


def test_a_summary_tells_what_was_asked_changed_tried_and_learned() -> None:
    turns = [
        Turn("user", "add a refund endpoint to the payments service, and make sure that it is idempotent"),
        Turn("tool", tool="write", files=("src/payments/refund.py",)),
        tool("pytest tests/payments", "E   KeyError: 'amount'"),
        Turn("assistant", "The endpoint is there; the test of partial refunds still fails."),
    ]
    assert summary_of(turns, []) == (
        "Asked: add a refund endpoint to the payments service, and make sure that it is idempotent\n"
        "Changed: src/payments/refund.py\n"
        "Did not work: `pytest tests/payments`: KeyError: 'amount'\n"
        "Ended with: The endpoint is there; the test of partial refunds still fails."
    )


@pytest.mark.parametrize(
    "turns",
    [
        [Turn("user", "hi"), Turn("assistant", "Hello!")],
        [Turn("user", "how does the flag client decide where it is?" * 3), Turn("assistant", "By FLAG_ENV." * 9)],
        [Turn("user", "[heartbeat] " + "check the queue. " * 9), Turn("tool", tool="write", files=("a.py",))],
    ],
)
def test_sessions_from_which_nothing_came_have_no_summary(turns: list[Turn]) -> None:
    assert summary_of(turns, []) == ""


@pytest.mark.parametrize("text", ["", "Nothing.", "There were no significant learnings in this session, sorry."])
def test_a_model_may_say_that_there_is_nothing_to_know(text: str) -> None:
    assert says_nothing(text)


def test_the_same_words_inside_a_summary_do_not_make_it_nothing() -> None:
    last = "There were no significant learnings in the first run, but the theme has to be installed before the docs."
    turns = [Turn("user", "build the docs with the new theme"), Turn("assistant", f"{last} It is now.")]
    told = summary_of([*turns, Turn("tool", tool="write", files=("docs/conf.py",))], [])
    assert told.endswith(f"Ended with: {last} It is now.")
    assert not says_nothing(told)
    assert usable_summary("x" * 20) == ""


@pytest.mark.parametrize(
    ("prompt", "facts", "unattended"),
    [
        ("Heartbeat", {}, True),
        ("[scheduled task] clean up old branches", {}, True),
        ("Read HEARTBEAT.md if it exists", {}, True),
        ("[cron:4f2 nightly] rotate the logs", {}, True),
        ("Scheduled task\n\nrotate the logs", {}, True),
        ("You are running as a scheduled job. Rotate the logs.", {}, True),
        ("This is an automated scheduled run", {}, True),
        ("rotate the logs", {"taskType": "heartbeat"}, True),
        ("rotate the logs", {"tags": ["scheduled"]}, True),
        ("rotate the logs", {"taskType": "heartbeat", "persistMemory": True}, False),
        ("fix the heartbeat test", {}, False),
        ("the cron job fails since monday", {}, False),
        ("Monitoring: set up grafana dashboards for checkout", {}, False),
        ("Watchdog - the STM32 resets, find out why", {}, False),
        ("Keep-alive: fix websocket pings", {}, False),
        ("Polling, not webhooks: rewrite the importer", {}, False),
        ("Schedule: add a page for it", {}, False),
        ("cron: rotate the logs", {}, False),
        ("rotate the logs", {"tags": ["monitoring", "watchdog", "polling"]}, False),
        ("Watchdog", {"taskType": "monitoring"}, False),
        ("add a schedule to the calendar", {}, False),
    ],
)
def test_runs_of_schedulers_and_heartbeats_are_left_out(prompt: str, facts: dict[str, Any], unattended: bool) -> None:
    assert is_unattended(prompt, parse_report(facts)) is unattended


def test_a_result_has_the_form_of_its_system() -> None:
    done = parse_report({"task": "bd-7", "summary": "Added the refund endpoint with a key", "success": True})
    assert task_result(done) == "Task: bd-7\n\nOutput:\nAdded the refund endpoint with a key"
    failed = parse_report({**OAUTH, "success": False, "failure_details": "The callback URL is not registered"})
    assert task_result(failed).startswith(
        "Task: cell-abc123 OAuth login flow implemented with JWT\n\nFailure reason:\nThe"
    )
    assert "This task failed" in task_result(failed)
    assert task_result(parse_report({"task": "bd-7", "summary": "ok", "success": True})) == ""
