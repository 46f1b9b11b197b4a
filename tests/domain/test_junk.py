"""What is wrong with a lesson, and when too much is wrong, by tables of values at the borders."""

from __future__ import annotations

import pytest

from swarmlore.domain.policy.curation import DAY_S, LEAST_MOMENTS, WORDS, JunkEvidence, Limits, check, junk


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (JunkEvidence(), ()),
        (JunkEvidence(code="unchanged"), ()),
        (JunkEvidence(code="moved"), ()),
        (JunkEvidence(code="unchecked"), ()),
        (JunkEvidence(code="changed"), ("stale",)),
        (JunkEvidence(code="gone"), ("stale",)),
        (JunkEvidence(twin="3f9a2c"), ("duplicate",)),
        (JunkEvidence(helped=1, hurt=1), ()),
        (JunkEvidence(helped=1, hurt=2), ("harmful",)),
        (JunkEvidence(hurt=1), ("harmful",)),
        (JunkEvidence(age_s=60 * DAY_S - 1), ()),
        (JunkEvidence(age_s=60 * DAY_S), ("unused",)),
        (JunkEvidence(age_s=60 * DAY_S, shown=1), ()),
        (JunkEvidence("gone", "3f9a2c", 0, 1, 0, 99 * DAY_S), WORDS),
    ],
)
def test_what_is_wrong_with_a_lesson(evidence: JunkEvidence, words: tuple[str, ...]) -> None:
    assert junk(evidence, unused_after_days=60, watched=True) == words


def test_nothing_is_unused_where_nobody_was_ever_asked_for_a_block() -> None:
    assert junk(JunkEvidence(age_s=1e9), unused_after_days=60, watched=False) == ()


@pytest.mark.parametrize(
    ("stale", "of", "kept"),
    [(25, 100, True), (26, 100, False), (5, 20, True), (6, 20, False), (19, 19, True), (0, 0, True)],
)
def test_a_share_may_reach_its_limit_and_not_pass_it(stale: int, of: int, kept: bool) -> None:
    found = [("stale",)] * stale + [()] * (of - stale)
    told = {limit.name: limit for limit in check(found, 0, 0, Limits())}
    assert (told["stale"].kept, told["stale"].count, told["stale"].of) == (kept, stale, of)


def test_few_lessons_are_not_judged_and_that_is_said() -> None:
    told = check([("stale",)] * 19, 0, 0, Limits())[0]
    assert told.kept
    assert told.note == "fewer than 20 lessons are not judged"


def test_a_lesson_with_several_faults_is_one_piece_of_junk() -> None:
    told = {limit.name: limit for limit in check([("stale", "unused")] * 17 + [()] * 3, 0, 0, Limits())}
    assert (told["junk"].count, told["junk"].kept) == (17, False)
    assert [limit.setting for limit in told.values()] == [
        *("report.max_stale", "report.max_duplicates", "report.max_harmful", "report.max_unused"),
        *("report.max_junk", "report.min_given"),
    ]


@pytest.mark.parametrize(
    ("moments", "given", "kept"),
    [(LEAST_MOMENTS - 1, 0, True), (LEAST_MOMENTS, 0, False), (100, 1, True), (101, 1, False), (0, 0, True)],
)
def test_agents_that_are_given_nothing_are_noticed(moments: int, given: int, kept: bool) -> None:
    assert check([], moments, given, Limits())[-1].kept is kept


def test_a_limit_of_one_accepts_everything() -> None:
    everything = Limits(max_stale=1, max_duplicates=1, max_harmful=1, max_unused=1, max_junk=1, min_given=0)
    assert all(limit.kept for limit in check([WORDS] * 50, 500, 0, everything))
