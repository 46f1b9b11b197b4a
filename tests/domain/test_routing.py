"""Where a lesson belongs, and what a whole session gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.domain.extraction.session_lessons import Lesson, count_by_level, extract_lessons, lesson_from
from swarmlore.domain.extraction.signals import LEVELS, scan
from swarmlore.domain.pages.routing import ROUTES, SECTIONS, Context, route


def said(text: str, speaker: str = "user") -> Lesson:
    (signal,) = scan(text, speaker)
    return lesson_from(signal)


def turn(role: str, text: str = "", **facts: Any) -> SimpleNamespace:
    empty = {"tool": "", "command": "", "files": (), "output": "", "error": "", "failed": None}
    return SimpleNamespace(role=role, text=text, **{**empty, **facts})


@pytest.mark.parametrize(
    ("text", "speaker", "targets"),
    [
        ("Always run the tests before committing.", "user", ("behavioral",)),
        ("Stop adding comments to every line.", "user", ("behavioral",)),
        ("Could you please not add docstrings to private functions?", "user", ("behavioral",)),
        ("Don't assume anything, ask me.", "user", ("behavioral",)),
        ("Bitte niemals direkt auf main pushen.", "user", ("behavioral",)),
        ("N'utilise jamais de variables globales.", "user", ("behavioral",)),
        ("Die Ursache war ein fehlender Index auf der Tabelle events.", "user", ("knowledge",)),
        ("No, use pnpm, not npm.", "user", ("instinct",)),
        ("Never run `terraform apply` by hand.", "user", ("instinct",)),
        ("The root cause was a lock that nobody released.", "assistant", ("knowledge",)),
        ("Turns out the vendor sends local time.", "user", ("knowledge",)),
        ("We chose SQLite over Postgres because an install is one file.", "user", ("knowledge",)),
        ("We decided to use SQLite.", "user", ("memory",)),
        ("The docs say it is idempotent, but it writes twice.", "assistant", ("knowledge",)),
        ("A refund must not exceed the payment of the customer.", "user", ("memory",)),
        ("That script only works on Linux.", "user", ("memory",)),
        ("It looks like the billing service keeps its own schema.", "assistant", ("memory",)),
        ("Maybe a queue is better.", "user", ("memory",)),
        ("This seems to be a timing problem.", "assistant", ("review",)),
        ("Perfect!", "user", ("none",)),
        ("That's wrong.", "user", ("none",)),
        ("I already told you.", "user", ("none",)),
    ],
)
def test_a_lesson_goes_where_its_words_belong(text: str, speaker: str, targets: tuple[str, ...]) -> None:
    found = route(said(text, speaker))
    assert found.targets == targets
    assert found.reason


@pytest.mark.parametrize(
    ("seen", "targets"), [(1, ("knowledge",)), (2, ("knowledge", "skill")), (7, ("knowledge", "skill"))]
)
def test_a_fix_for_what_comes_up_again_is_a_skill_too(seen: int, targets: tuple[str, ...]) -> None:
    lesson = said("Fixed by pinning setuptools below 70.", "assistant")
    assert route(lesson, Context(seen=seen)).targets == targets


def test_a_cause_without_a_fix_is_no_skill_however_often_it_came_up() -> None:
    assert route(said("The root cause was a stale lock.", "assistant"), Context(seen=9)).targets == ("knowledge",)


def test_a_guess_that_names_something_of_the_project_belongs_to_it() -> None:
    guess = said("It seems to be slow in quarkhopper.", "assistant")
    assert route(guess).target == "review"
    assert route(guess, Context(names=("quarkhopper",))).target == "memory"


@pytest.mark.parametrize(
    ("text", "speaker", "section"),
    [
        ("A tenant is always a whole company.", "user", "Architecture & Patterns"),
        ("The search service appears to keep its own schema.", "assistant", "Architecture & Patterns"),
        ("The release branch is cut every second Tuesday.", "user", "Build & Deploy"),
        ("The test fixtures package needs Docker installed.", "assistant", "Testing"),
        ("The converter requires Graphviz to be installed.", "user", "Environment & Config"),
        ("The signing helper only works once.", "user", "Gotchas & Workarounds"),
    ],
)
def test_an_entry_of_memory_md_has_its_section(text: str, speaker: str, section: str) -> None:
    lesson = said(text, speaker)
    found = route(lesson)
    assert (found.target, found.section) == ("memory", section)


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("Always use pnpm.", "project"),
        ("In Python always use pathlib, never os.path.", "domain"),
        ("Always use pnpm in every project.", "universal"),
    ],
)
def test_a_rule_reaches_as_far_as_it_says(text: str, scope: str) -> None:
    assert route(said(text)).scope == scope


# --- a whole session

SESSION = [
    turn("user", "Please add the refund endpoint"),
    turn("tool", tool="shell", command="npm test", error="npm error Missing script: test", failed=True),
    turn("tool", tool="shell", command="pnpm test", failed=False),
    turn("assistant", "The root cause was that the script lives in the workspace root. Fixed by moving it into the package."),
    turn("user", "Perfect! But never use floats for money, prices are in cents. Maybe add a note later."),
]  # fmt: skip


def test_a_session_is_one_list_of_lessons_strongest_first_and_each_once() -> None:
    lessons = extract_lessons(SESSION)
    texts = [lesson.text for lesson in lessons]
    assert len(texts) == len(set(texts))
    assert [LEVELS.index(lesson.level) for lesson in lessons] == sorted(LEVELS.index(item.level) for item in lessons)
    assert {lesson.text: (lesson.level, lesson.speaker) for lesson in lessons} == {
        "The root cause was that the script lives in the workspace root.": ("high", "assistant"),
        "`npm test` fails here with npm error Missing script: test; `pnpm test` works.": ("high", "tool"),
        "Never use floats for money, prices are in cents.": ("high", "user"),
        "Perfect.": ("medium", "user"),
        "Maybe add a note later.": ("low", "user"),
    }
    assert count_by_level(lessons) == {"high": 3, "medium": 1, "low": 1}


def test_a_cause_and_its_fix_told_in_one_breath_are_one_lesson() -> None:
    (cause,) = [lesson for lesson in extract_lessons(SESSION) if lesson.way == "cause"]
    assert cause.fix == "Fixed by moving it into the package."


def test_what_a_person_calls_wrong_right_afterwards_was_not_learned() -> None:
    session = [
        turn("user", "Add a cache"),
        turn("assistant", "I went with Redis over a dict because it is shared."),
        turn("user", "No, that's wrong, we have no Redis here."),
    ]
    assert not any(lesson.speaker == "assistant" for lesson in extract_lessons(session))
    assert any(lesson.speaker == "assistant" for lesson in extract_lessons(session[:2]))


def test_two_rules_in_one_sentence_are_two_lessons() -> None:
    session = [turn("user", "Never use floats for money, and stop adding comments to every line.")]
    assert [(lesson.text, lesson.category) for lesson in extract_lessons(session)] == [
        ("Never use floats for money.", "Domain"),
        ("Stop adding comments to every line.", "Code Style"),
    ]


def test_a_lesson_knows_what_was_asked_for_before() -> None:
    assert all(lesson.situation for lesson in extract_lessons(SESSION))


words = st.text(max_size=60) | st.sampled_from(
    ["No, use pnpm, not npm", "the fix was `x`", "root cause was y", "Perfect", "maybe z", "error: x"]
)
turns = st.builds(
    lambda role, text, command, failed: turn(role, text, tool="shell" if role == "tool" else "", command=command, failed=failed),
    st.sampled_from(["user", "assistant", "tool"]), words, words, st.sampled_from([None, True, False]),
)  # fmt: skip


@given(st.lists(turns, max_size=10), st.integers(0, 5))
def test_whatever_was_said_has_a_route_with_a_reason(session: list[SimpleNamespace], seen: int) -> None:
    for lesson in extract_lessons(session):
        found = route(lesson, Context(seen=seen))
        assert set(found.targets) <= set(ROUTES)
        assert found.reason
        assert (found.section in SECTIONS) == (found.target == "memory")
