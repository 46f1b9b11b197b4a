"""What an agent explains: by its signs, by what was reported, and by what worked afterwards."""

from __future__ import annotations

import pytest

from hostile import SCANNERS
from swarmlore.clients.transcripts import Turn
from swarmlore.domain.extraction.agent_findings import find_findings
from swarmlore.domain.extraction.corrections import ENOUGH, denies, explanation_points, is_report, is_tentative
from swarmlore.domain.extraction.task_reports import TaskReport, lessons_of_task


def tool(command: str, error: str = "") -> Turn:
    return Turn("tool", tool="shell", command=command, error=error, failed=bool(error))


def kept(*turns: Turn) -> list[str]:
    return [lesson.text for lesson in lessons_of_task(turns, TaskReport())]


EDIT = Turn("tool", tool="write", files=("src/a.py",), failed=False)
WORKS = tool("pytest -q")
CAUSE = "The scaler is fitted on the whole data set before it is split, which lets it see the validation part."


@pytest.mark.parametrize(
    ("sentence", "explains"),
    [
        ("The Go runtime doesn't know about the cgroup limit, so the heap may grow to twice the live set.", True),
        ("`.iterator()` silently ignores `prefetch_related` unless a `chunk_size` is passed.", True),
        ("Two copies of React end up in the bundle: `ui` lists it under `dependencies`.", True),
        ("The clock of their server is ahead of ours, therefore `nbf` lies in the future.", True),
        ("Erasing takes up to 2 s while the watchdog expires after 1 s.", True),
        ("The footer has a fixed height.", False),
        ("The toggle is in the corner now.", False),
        ("Lookups take 10 ms now.", False),
    ],
)
def test_an_explanation_shows_by_several_signs(sentence: str, explains: bool) -> None:
    assert (explanation_points(sentence) >= ENOUGH) is explains


@pytest.mark.parametrize(
    ("prompt", "report"),
    [
        ("validation accuracy is 99.8 % which is hard to believe", True),
        ("the player stutters a little when the camera follows him", True),
        ("changes to the templates are not picked up in the container", True),
        ("add pagination to the audit log endpoint", False),
        ("can you make the sidebar collapsible", False),
        ("the header should be blue and sticky", False),
        ("what does the --frozen flag of uv do?", False),
        ("summarise docs/adr/0012.md in two sentences", False),
        ("thanks, that was annoying for months", False),
    ],
)
def test_a_report_tells_how_something_behaves(prompt: str, report: bool) -> None:
    assert is_report(prompt) is report


def test_what_explains_a_report_is_proven_by_an_edit_and_a_command_that_works() -> None:
    asked, said = Turn("user", "validation accuracy is 99.8 % which is hard to believe"), Turn("assistant", CAUSE)
    assert kept(asked, said, EDIT, WORKS) == [CAUSE]
    assert kept(asked, said) == []
    assert kept(asked, said, EDIT, tool("pytest -q", "AssertionError: assert 1 == 2")) == []
    assert kept(Turn("user", "add a scaler to the training"), said, EDIT, WORKS) == []


@pytest.mark.parametrize(
    "denial",
    [
        "It isn't them, I checked with their support.",
        "can't be, I see it with curl as well",
        "That cannot be it, the cache is off.",
        "no, that's not it",
        "I doubt that, it happens without the proxy too",
    ],
)
def test_the_cause_that_is_found_after_a_first_one_was_denied_is_kept(denial: str) -> None:
    first = Turn("assistant", "The partner API is slow, because their rate limiter holds requests back.")
    second = Turn("assistant", "With ndots:5 the name is tried with each search domain first, so a lookup times out.")
    asked = Turn("user", "Requests to api.partner.com take 5 s every now and then.")
    assert denies(denial) or denial.startswith("no,")
    assert kept(asked, first, Turn("user", denial), second, EDIT, WORKS) == [second.text]


@pytest.mark.parametrize(
    "said", ["it isn't crashing any more", "that's not bad, thanks", "ok", "now add a test for it"]
)
def test_a_contented_user_denies_nothing(said: str) -> None:
    assert not denies(said)


def test_a_denial_of_something_else_leaves_a_proven_cause() -> None:
    asked = Turn("user", "terraform init fails in CI but works on my mac")
    said = Turn("assistant", "The lock file only has the hash for darwin, because it was made on a Mac. Shall I apply?")
    assert len(kept(asked, said, Turn("user", "God no."))) == 1
    assert kept(asked, Turn("assistant", said.text.removesuffix(" Shall I apply?")), Turn("user", "no, wrong")) == []


@pytest.mark.parametrize(
    ("text", "tentative"),
    [
        ("48,211 queries: the prefetch does not take effect. Let me see why.", True),
        ("The adapter retries 3 times. I'll check whether POST is included.", True),
        ("The adapter retries every method. I'll change it.", False),
    ],
)
def test_who_goes_on_looking_has_not_explained_yet(text: str, tentative: bool) -> None:
    assert is_tentative(text) is tentative


def test_what_was_seen_gives_way_to_what_was_found() -> None:
    asked = Turn("user", "the product export takes 4 minutes, it used to take 20s")
    seen = Turn("assistant", "48,211 queries: the prefetch of the variants does not take effect. Let me see why.")
    found = Turn("assistant", "Found it: `.iterator()` ignores `prefetch_related` unless a `chunk_size` is passed.")
    assert kept(asked, seen, tool("python x.py"), found, EDIT, WORKS) == [found.text.removeprefix("Found it: ")]


@pytest.mark.parametrize(
    "said",
    [
        "The Go runtime doesn't know about the cgroup limit.",
        "The workers don't see the new config, because they were started before.",
        "RCC_CSR shows IWDGRSTF, i.e. the independent watchdog caused the reset.",
        "RSS stays above the limit, so the kernel kills it.",
    ],
)
def test_manners_of_speaking_do_not_hide_an_explanation(said: str) -> None:
    assert [told.way for told in find_findings(said, overcame=True)] == ["explained"]


@pytest.mark.parametrize(
    "said",
    [
        "I changed the handler because it needs a lock.",
        "We could use a queue, so that it does not block.",
        "Does the server require --tls?",
        "It may be the cache, because the header is missing.",
    ],
)
def test_work_plans_questions_and_guesses_are_none(said: str) -> None:
    assert find_findings(said, overcame=True) == []


@pytest.mark.parametrize(
    "said",
    [
        "By the way, nothing tests the down migrations.",
        "There's no alert on the length of the import queue.",
        "No test covers a slot in the repeated hour.",
        "Partial refunds are not covered by any test.",
    ],
)
def test_what_is_missing_may_be_said_in_several_ways(said: str) -> None:
    assert [told.way for told in find_findings(said, overcame=False)] == ["missing"]


@pytest.mark.parametrize("piece", SCANNERS["explanations"].pieces)
def test_a_megabyte_of_connectives_explains_nothing(piece: str) -> None:
    text = SCANNERS["explanations"].text(piece, 1_000_000)
    assert kept(Turn("user", text), Turn("assistant", text), EDIT, WORKS, Turn("user", text)) == []
