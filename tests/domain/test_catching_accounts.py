"""What is told about a task, what of it is worth keeping, and where in a session something was said: by tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swarmlore.clients.transcripts import Turn
from swarmlore.domain.extraction.lesson_text import CandidateLesson
from swarmlore.domain.extraction.session_lessons import without_overruled
from swarmlore.domain.extraction.summaries import shorten_transcript
from swarmlore.domain.extraction.task_reports import TaskReport, lessons_of_task, lessons_told, parse_report

# --- who said how it ended


@pytest.mark.parametrize(
    ("said", "success"),
    [
        ({"success": True}, True),
        ({"success": "true"}, True),
        ({"success": 1}, True),
        ({"success": False}, False),
        ({"success": "False"}, False),
        ({"success": 0}, False),
        ({"success": "perhaps"}, None),
        ({"success": None}, None),
        ({"success": 0.5}, None),
        ({}, None),
        ({"hello": "world"}, None),
        ({"failure_mode": "timeout"}, False),
        ({"failure_details": "it never came up"}, False),
        ({"success": "x", "failure_mode": "timeout"}, False),
    ],
)
def test_what_nobody_said_about_the_end_is_not_made_up(said: dict[str, Any], success: bool | None) -> None:
    assert parse_report(said).success is success


def test_a_task_that_was_done_has_no_mode_of_failure() -> None:
    assert parse_report({"success": True, "failure_mode": "timeout"}).failure_mode == ""
    assert parse_report({"success": "no", "failure_mode": "timeout"}).failure_mode == "timeout"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1, 1e300, True, "9", None])
def test_a_number_that_counts_nothing_was_not_said(number: Any) -> None:
    assert parse_report({"duration_ms": number, "error_count": number}) == TaskReport()


def test_only_tags_that_a_memory_can_have_are_read() -> None:
    given = ["a", "x" * 400, "two\nlines", "a", *(f"t{number}" for number in range(100))]
    assert parse_report({"tags": given}).tags == ("a", *(f"t{number}" for number in range(19)))


# --- evaluations


def evaluations(part: str = "") -> list[tuple[str, str]]:
    """What is said, and the words that a lesson of it has to hold; no words where it should give none."""
    text = (Path(__file__).parents[1] / "data" / "evaluations.txt").read_text(encoding="utf-8")
    parts = {block.partition("\n")[0]: block for block in text.split("## ")[1:]}
    lines = "".join(parts[part] if part else "".join(parts.values())).splitlines()
    return [
        (said, words) for line in lines if line[:2] in ("- ", "+ ") for said, _, words in [line[2:].partition(" => ")]
    ]


def understood(given: list[tuple[str, str]]) -> tuple[float, float]:
    """Precision and recall of the lessons of evaluations."""
    good = stored = 0
    for said, words in given:
        told = {"success": True, "summary": "Add session endpoint", "evaluation": said, "files": ["src/auth/a.ts"]}
        found = lessons_told(parse_report(told))
        stored += len(found)
        good += bool(words) and any(words in lesson.text for lesson in found)
    return good / max(1, stored), good / sum(bool(words) for _, words in given)


def test_evaluations_that_only_tell_what_was_done_become_no_lesson() -> None:
    given = evaluations()
    assert len(given) > 60
    assert 0.45 < sum(not words for _, words in given) / len(given) < 0.6
    precision, recall = understood(given)
    assert precision >= 0.88
    assert recall >= 0.95


def test_evaluations_that_no_rule_was_made_for_lose_no_lesson() -> None:
    precision, recall = understood(evaluations("fourth"))
    assert precision >= 0.6
    assert recall == 1.0


def test_a_summary_that_only_tells_that_errors_were_fixed_teaches_nothing() -> None:
    said = "Added the refund endpoint and fixed two type errors on the way."
    assert lessons_told(parse_report({"success": True, "error_count": 2, "summary": said})) == ()


# --- where something was said


def said(*texts: str) -> list[Turn]:
    return [turn for text in texts for turn in (Turn("user", text), Turn("assistant", "Done as you said."))]


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (
            "You need to run make gen before the tests since the stubs are not committed.",
            "From now on never run make gen before the tests, the stubs are committed.",
        ),
        (
            "Actually PRs go against develop, not main.",
            "From now on always open PRs against main, never against develop.",
        ),
        (
            "No, use yarn for the frontend packages, not npm.",
            "From now on use npm for the frontend packages, not yarn.",
        ),
    ],
)
def test_of_two_that_contradict_each_other_in_a_session_the_later_holds(first: str, last: str) -> None:
    (lesson,) = lessons_of_task(said("start", first, last), TaskReport())
    assert lesson.text.rstrip(".").lower() in last.lower()
    (again,) = lessons_of_task(said("start", last, first, last), TaskReport())
    assert again.text == lesson.text


def test_what_weighs_less_does_not_overrule_what_was_said_before() -> None:
    by_user = (3, CandidateLesson("Never run make gen before the tests, the stubs are committed.", place=1))
    by_agent = (1, CandidateLesson("Always run make gen before the tests.", place=5))
    later = (3, CandidateLesson("Always run make gen before the tests.", place=5))
    assert without_overruled([by_agent, by_user]) == [by_user]
    assert without_overruled([later, by_user]) == [later]


def file(tool: str, path: str) -> Turn:
    return Turn("tool", tool=tool, files=(path,), failed=False)


def test_a_lesson_is_about_the_files_that_were_changed_when_it_was_learned() -> None:
    read = [file("read", f"src/{name}/a.py") for name in ("auth", "search", "mailer", "catalog", "basket", "reports")]
    cause = Turn("assistant", "The root cause was that the month is counted from zero in the ledger export.")
    turns = [
        Turn("user", "Invoices are wrong for March, find out why"),
        *(*read, file("write", "src/billing/invoice.py"), cause),
        Turn("user", "Now something else: rename the button"),
        file("write", "src/shop/cart.tsx"),
        Turn("assistant", "Renamed."),
        Turn("user", "No, buttons of ours are called actions, never buttons."),
    ]
    found = {lesson.kind: lesson.entities for lesson in lessons_of_task(turns, TaskReport())}
    assert found == {"learning": ("feature:billing",), "correction": ("feature:shop",)}
    only_read = lessons_of_task([turns[0], *read, cause], TaskReport())
    assert [lesson.entities for lesson in only_read] == [("feature:auth", "feature:search")]


def test_what_a_lesson_is_about_outlives_the_cut_of_a_long_session() -> None:
    noise = [
        turn
        for number in range(300)
        for turn in (Turn("user", f"now make page {number} larger, please"), file("write", f"src/pages/p{number}.tsx"))
    ]
    cause = Turn("assistant", "The root cause was that the month is counted from zero in the ledger export.")
    stretch = [Turn("user", "Invoices are wrong, find out why"), file("write", "src/billing/invoice.py"), cause]
    kept = shorten_transcript([*noise[:300], *stretch, *noise[300:]])
    assert len(kept) < 300
    (lesson,) = lessons_of_task(kept, TaskReport())
    assert lesson.entities == ("feature:billing",)
