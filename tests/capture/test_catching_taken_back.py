"""What the memory-catcher kept can be taken back: it does not live on in summaries, other projects or the queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import ALICE, NOW, quick_env
from swarmlore.capture.extract import session_body
from swarmlore.clients.transcripts import Turn
from swarmlore.domain.extraction.summaries import without
from swarmlore.domain.extraction.task_reports import TaskReport, lessons_told
from swarmlore.frozen import replace
from swarmlore.lore import Lore
from waiting_jobs import do_jobs, waiting

RULE = "No, never use npm in this repository, use pnpm: the lockfile is pnpm's"
ASKED = "add a refund endpoint to the payments service and make sure that it is idempotent, please"
CAUSE = "The root cause was that the worker reads its configuration before the secrets are mounted."


@pytest.fixture
def lore(tmp_path: Path) -> Any:
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env(), clock=lambda: NOW) as opened:
        yield opened


def end_session(lore: Lore, key: str, *more: str) -> None:
    turns = [Turn("user", ASKED), Turn("assistant", "Done."), Turn("user", RULE), Turn("assistant", CAUSE)]
    body = session_body([*turns, *(Turn("assistant", text) for text in more)], session="s1")
    lore.enqueue("extract", body, f"e{key}")
    lore.enqueue("summarise", body, f"s{key}")
    do_jobs(lore)


def texts(lore: Lore) -> str:
    return "\n".join(memory.text for memory in lore.list(limit=100))


@pytest.mark.parametrize("erase", [False, True])
def test_a_lesson_that_is_forgotten_leaves_the_summary_and_stays_out_of_the_next(lore: Lore, erase: bool) -> None:
    end_session(lore, "1")
    assert texts(lore).count("pnpm") >= 2
    (lesson,) = [memory for memory in lore.list() if not memory.raw and "pnpm" in memory.text]
    lore.forget(lesson.id, erase=erase)
    assert "pnpm" not in texts(lore)
    end_session(lore, "2", "It is there, with a test.")
    assert "pnpm" not in texts(lore)
    assert "with a test" in texts(lore) and CAUSE in texts(lore)


def test_undo_brings_both_back(lore: Lore) -> None:
    end_session(lore, "1")
    before = texts(lore)
    (lesson,) = [memory for memory in lore.list() if not memory.raw and "pnpm" in memory.text]
    lore.forget(lesson.id)
    lore.undo()
    assert sorted(texts(lore)) == sorted(before)


def test_a_heading_without_lines_goes_with_them() -> None:
    text = "Asked: add a refund endpoint to the service\nLearned:\n- Use pnpm here.\n- Never npm."
    assert without(text, ["Use pnpm here.", "Never npm."]) == "Asked: add a refund endpoint to the service"
    assert without(text, ["Never npm."]).endswith("Learned:\n- Use pnpm here.")
    assert without(text, ["something else"]) == text


def test_summaries_and_results_stay_in_their_project(tmp_path: Path) -> None:
    def opened(project: str) -> Lore:
        return Lore.open(tmp_path / "home", cwd=tmp_path, caller=replace(ALICE, project=project), env=quick_env())

    with opened("git.example/umbrella") as lore:
        end_session(lore, "1")
        lore.outcome(True, task="refund", summary="Refund endpoint of the payments service", evaluation=CAUSE)
        do_jobs(lore)
        told = "refund endpoint of the payments service"
        assert any(hit.memory.raw for hit in lore.recall(told))
        assert "refund" in lore.before_task(told).text.lower()
    with opened("git.example/other") as lore:
        mine = lore.remember("The refund endpoint of the payments service is mine alone", tier="agent").memory
        assert [hit.memory.id for hit in lore.recall(told)] == [mine.id]
        assert "session_summary" not in lore.before_task(told).text


@pytest.mark.parametrize("late", [False, True])
def test_an_outcome_that_is_taken_back_teaches_nothing(lore: Lore, late: bool) -> None:
    told = lore.outcome(True, task="t", summary="Upgrade the type checker", evaluation="Mypy 2 needs the flag --x-new.")
    if late:
        do_jobs(lore)
        assert len(lore.list()) == 2
    lore.undo(told.id)
    do_jobs(lore)
    assert lore.list() == () and waiting(lore) == {}


def told_in(evaluation: str) -> list[str]:
    return [item.text for item in lessons_told(TaskReport(success=True, evaluation=evaluation))]


def test_a_lesson_has_two_sentences_at_most() -> None:
    first, second = "The importer needs the flag --utc.", "Redis has to be at version 7."
    third = "The cache is written by the nightly job."
    assert told_in(f"{first} {second} {third}") == [f"{first} {second}", third]


def test_what_is_said_about_a_task_comes_before_what_its_transcript_teaches(lore: Lore) -> None:
    said = [
        f"User: From now on always run make step-{number} before a release.\nAssistant: Fine." for number in range(14)
    ]
    own = "Vite 9 needs the option legacy in vite.config.ts, otherwise old browsers fail."
    body = {"outcome": {"success": True, "evaluation": own, "transcript": "\n".join(said)}}
    lore.enqueue("extract", body, "k")
    do_jobs(lore)
    assert own in texts(lore)
