"""The rules of a memory's life, each by a table of values at its borders."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ALICE, NOW, OTHER, a_memory
from swarmlore.domain.policy.lifecycle import (
    READ_CHARS,
    EncounterTerms,
    Fate,
    LifeTerms,
    age_days,
    approval_reason,
    distinct_places,
    encountered,
    is_auto_promoted,
    is_evergreen,
    is_low_utility,
    is_suspicious_sweep,
    next_step,
    outcome_signal,
    over_cap,
    phases_since,
    policy_of,
    project_reference,
    promotion_reason,
    quarantined,
    renews,
    restored,
    sweep_action,
    utility,
    with_next_status,
)
from swarmlore.domain.policy.new_memory import confirm
from swarmlore.domain.records import Citation, Confirmation, Memory, Outcomes, confidence_of
from swarmlore.frozen import replace

DAY = 86_400.0
TERMS = LifeTerms()


def seen_in(*places: str) -> tuple[Confirmation, ...]:
    return tuple(Confirmation(place, NOW + at, "bob") for at, place in enumerate(places))


# Confirming


@pytest.mark.parametrize(
    ("phase", "days", "counts"),
    [
        ("", 0.0, False),  # the day it was born on
        ("", 1.0, True),
        ("phase:2", 0.0, True),  # another phase on the same day
        ("phase:1", 3.0, False),  # the phase it was born in, days later
        ("phase:2", 3.0, True),
    ],
)
def test_a_memory_is_confirmed_in_another_phase_only(phase: str, days: float, counts: bool) -> None:
    memory = a_memory(born_in_phase=1)
    after = confirm(memory, ALICE, NOW + days * DAY, phase)
    assert (after is not None) == counts
    if after is not None:
        assert after.confirmed_by[-1].where == (phase or "day:2027-01-16")
        assert after.confidence == 0.7


def test_the_same_phase_counts_once() -> None:
    once = confirm(a_memory(), ALICE, NOW, "phase:4")
    assert once is not None
    assert confirm(once, ALICE, NOW + 9 * DAY, "phase:4") is None


@pytest.mark.parametrize("status", ["archived", "quarantined", "deprecated", "superseded"])
def test_what_was_put_aside_is_never_confirmed(status: str) -> None:
    assert confirm(a_memory(status=status), ALICE, NOW + DAY) is None


@pytest.mark.parametrize(
    ("confirmations", "generated", "confidence"),
    [
        (0, True, 0.5),
        (0, False, 0.6),
        (1, True, 0.6),
        (3, True, 0.8),
        (3, False, 0.9),
        (4, False, 0.9),
        (99, True, 0.8),
    ],
)
def test_confidence_follows_confirmations(confirmations: int, generated: bool, confidence: float) -> None:
    assert confidence_of(confirmations, generated) == confidence


# Rising


@pytest.mark.parametrize(
    ("status", "places", "days", "action"),
    [
        ("candidate", ("phase:1", "phase:2"), 0, None),
        ("candidate", ("phase:1", "phase:2", "phase:2"), 0, None),  # the same phase, by somebody else
        ("candidate", ("phase:1", "phase:2", "phase:3"), 0, "established"),
        ("candidate", (), 90, None),  # age alone establishes nothing
        ("candidate", ("phase:1", "phase:2", "phase:3"), 90, "established"),  # one step a run
        ("established", ("phase:1", "phase:2"), 0, None),
        ("established", ("phase:1", "phase:2", "phase:3"), 0, "promoted"),
        ("established", (), 89.999, None),
        ("established", (), 90, "promoted"),
        ("promoted", ("phase:1", "phase:2", "phase:3"), 90, None),
        ("archived", ("phase:1", "phase:2", "phase:3"), 90, None),
        ("quarantined", ("phase:1", "phase:2", "phase:3"), 90, None),
    ],
)
def test_a_lesson_rises_one_step(status: str, places: tuple[str, ...], days: float, action: str | None) -> None:
    memory = a_memory(status=status, confirmed_by=seen_in(*places))
    fate = next_step(memory, NOW + days * DAY, TERMS)
    assert (fate and fate.action) == action


@pytest.mark.parametrize(
    "fields", [{"tier": "agent"}, {"tier": "hive"}, {"source": "transcript"}, {"forgotten_at": NOW}]
)
def test_only_shared_lessons_that_can_be_seen_rise(fields: dict[str, Any]) -> None:
    ready = seen_in("phase:1", "phase:2", "phase:3")
    assert next_step(a_memory(confirmed_by=ready), NOW, TERMS) is not None
    assert next_step(a_memory(confirmed_by=ready, **fields), NOW, TERMS) is None


@pytest.mark.parametrize(
    ("outcomes", "signal"),
    [
        (Outcomes(), 0.0),
        (Outcomes(applied=2, succeeded_after=2), 0.5),
        (Outcomes(failed_after=3), -3 / 7),
        (Outcomes(ignored=1, violated=1), -1 / 3),
        (Outcomes(contradicted=1), -0.2),
    ],
)
def test_the_signal_of_outcomes_needs_evidence(outcomes: Outcomes, signal: float) -> None:
    memory = a_memory(outcomes=outcomes, confirmed_by=seen_in("phase:1", "phase:2", "phase:3"))
    assert outcome_signal(memory) == pytest.approx(signal)
    assert (next_step(memory, NOW, TERMS) is None) == (signal <= -0.3)


def test_a_promoted_lesson_may_go_to_the_hive_and_has_no_end() -> None:
    after = with_next_status(a_memory(status="established", expires_at=NOW + 5), Fate("promoted", "old"), NOW + 9)
    assert (after.status, after.hive_eligible, after.expires_at, after.updated_at) == ("promoted", True, None, NOW + 9)
    middle = with_next_status(a_memory(expires_at=NOW + 5), Fate("established", "seen"), NOW + 9)
    assert (middle.status, middle.hive_eligible, middle.expires_at) == ("established", False, NOW + 5)


@pytest.mark.parametrize("born", [math.nan, math.inf, -math.inf, 0.0, -5.0, NOW + 1])
def test_a_time_that_is_none_is_no_age(born: float) -> None:
    assert age_days(a_memory(created_at=born), NOW) == 0.0
    assert next_step(a_memory(status="established", created_at=born), NOW, TERMS) is None
    assert promotion_reason(a_memory(created_at=born), NOW, TERMS) == ""


# Ageing


@pytest.mark.parametrize(
    ("fields", "survives"),
    [
        ({}, 10),
        ({"max_phases": 3}, 3),
        ({"max_phases": 0}, 0),
        ({"category": "todo"}, 3),
        ({"category": "todo", "max_phases": 9}, 3),
        ({"status": "established"}, 10),
    ],
)
def test_a_lesson_survives_its_phases_and_goes_with_the_next(fields: dict[str, Any], survives: int) -> None:
    memory = a_memory(**fields)
    assert sweep_action(memory, survives, TERMS) is None
    fate = sweep_action(memory, survives + 1, TERMS)
    assert fate is not None
    assert fate.action == ("removed" if memory.category == "todo" else "archived")


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "promoted"},
        {"status": "archived"},
        {"status": "quarantined"},
        {"tier": "agent"},
        {"source": "file_index"},
        {"confidence": 0.9, "outcomes": Outcomes(shown=5, succeeded_after=4, failed_after=1)},
    ],
)
def test_promoted_evergreen_private_and_raw_ones_do_not_age(fields: dict[str, Any]) -> None:
    assert sweep_action(a_memory(**fields), 1000, TERMS) is None


@pytest.mark.parametrize(
    ("confidence", "good", "bad", "shown", "evergreen"),
    [
        (0.9, 4, 1, 5, True),
        (0.9, 4, 1, 2, False),  # shown too seldom to know
        (0.89, 4, 1, 5, False),
        (0.9, 3, 1, 5, False),  # .75
        (0.9, 0, 0, 5, False),
        (math.nan, 4, 1, 5, False),
    ],
)
def test_evergreen_is_sure_and_useful(confidence: float, good: int, bad: int, shown: int, evergreen: bool) -> None:
    counted = Outcomes(shown=shown, succeeded_after=good, failed_after=bad)
    assert is_evergreen(a_memory(confidence=confidence, outcomes=counted), TERMS) is evergreen


@pytest.mark.parametrize(
    ("shown", "good", "bad", "applied", "share", "flagged"),
    [
        (2, 0, 5, 9, None, False),
        (3, 3, 7, 5, 0.3, True),
        (3, 3, 7, 4, 0.3, False),
        (3, 4, 6, 5, 0.4, False),
        (3, 0, 0, 5, None, False),
    ],
)
def test_low_utility_is_flagged(
    shown: int, good: int, bad: int, applied: int, share: float | None, flagged: bool
) -> None:
    memory = a_memory(outcomes=Outcomes(shown=shown, succeeded_after=good, failed_after=bad, applied=applied))
    assert utility(memory) == share
    assert is_low_utility(memory, TERMS) is flagged


@pytest.mark.parametrize(
    ("renewed_in", "completed", "phases"), [(0, (), 0), (0, (3, 2, 1), 3), (2, (3, 2, 1), 1), (9, (3, 2, 1), 0)]
)
def test_phases_count_from_the_last_renewal(renewed_in: int, completed: tuple[int, ...], phases: int) -> None:
    assert phases_since(renewed_in, completed) == phases


@pytest.mark.parametrize(
    ("change", "renewed"),
    [
        ({"confirmed_by": seen_in("phase:1")}, True),
        ({"text": "Bearer prefix is needed on every auth header but one"}, True),
        ({"status": "established"}, False),
        ({"tags": ("auth",)}, False),
        ({"status": "archived"}, False),
        ({"forgotten_at": NOW}, False),
    ],
)
def test_a_sighting_or_another_text_renews_a_life(change: dict[str, Any], renewed: bool) -> None:
    memory = a_memory()
    assert renews(memory, replace(memory, **change)) is renewed
    hidden = replace(memory, status="archived")
    assert renews(hidden, memory)


@pytest.mark.parametrize(
    ("leaving", "rows", "refused"),
    [(10, 50, False), (11, 50, True), (49, 49, False), (0, 1000, False), (200, 1000, False), (201, 1000, True)],
)
def test_more_than_a_fifth_of_at_least_fifty_is_too_much(leaving: int, rows: int, refused: bool) -> None:
    assert is_suspicious_sweep(leaving, rows) is refused


def test_of_too_many_the_oldest_go_and_promoted_ones_stay() -> None:
    ages = [a_memory(f"Lesson {n} about the build of the tools", created_at=NOW + n) for n in range(5)]
    ages[0] = replace(ages[0], status="promoted")
    assert over_cap(ages, 5) == []
    assert over_cap(ages, 3) == ages[1:3]
    assert over_cap(ages[:1], 0) == []  # nothing mortal is left


# Quarantine


@given(st.sampled_from(["candidate", "established", "promoted"]), st.text(max_size=900))
def test_quarantine_and_back_is_the_same_memory(status: str, reason: str) -> None:
    memory = a_memory(status=status, extra={"lane": 1})
    hidden = quarantined(memory, reason, "user", NOW + 1)
    assert hidden.status == "quarantined"
    assert hidden.extra["original_status"] == status
    said = str(hidden.extra["quarantine_reason"])
    assert len(said) <= 500
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in said)
    back = restored(hidden, str(hidden.extra["original_status"]), NOW + 2)
    assert back == replace(memory, updated_at=NOW + 2)


def test_an_unknown_former_state_counts_as_new() -> None:
    assert restored(a_memory(status="quarantined"), "nonsense", NOW).status == "candidate"


# Into the hive


@pytest.mark.parametrize(
    ("fields", "days", "route"),
    [
        ({"hive_eligible": True, "confirmed_by": seen_in("phase:1", "phase:2")}, 0, False),
        ({"hive_eligible": True, "confirmed_by": seen_in("phase:1", "phase:2", "phase:3")}, 0, True),
        ({"hive_eligible": False, "confirmed_by": seen_in("phase:1", "phase:2", "phase:3")}, 0, False),
        ({"tags": ("hive-fast-track",)}, 0, True),
        ({}, 89.99, False),
        ({}, 90, True),
        ({"outcomes": Outcomes(failed_after=3)}, 90, False),
        ({"status": "archived", "tags": ("hive-fast-track",)}, 90, False),
        ({"status": "quarantined", "tags": ("hive-fast-track",)}, 90, False),
        ({"tier": "agent", "tags": ("hive-fast-track",)}, 90, False),
        ({"tier": "hive", "tags": ("hive-fast-track",)}, 90, False),
        ({"source": "transcript", "tags": ("hive-fast-track",)}, 90, False),
    ],
)
def test_the_routes_into_the_hive(fields: dict[str, Any], days: float, route: bool) -> None:
    assert bool(promotion_reason(a_memory(**fields), NOW + days * DAY, TERMS)) is route


@pytest.mark.parametrize(
    ("chosen", "said", "profile", "policy"),
    [
        ("propose", False, "default", "propose"),
        ("propose", False, "knowledge", "auto"),
        ("propose", True, "knowledge", "propose"),
        ("never", True, "knowledge", "never"),
        ("auto", True, "default", "auto"),
    ],
)
def test_who_decides_about_the_hive(chosen: str, said: bool, profile: str, policy: str) -> None:
    assert policy_of(chosen, said, profile) == policy


def test_a_tag_asks_for_itself_unless_the_project_says_never() -> None:
    plain, tagged = a_memory(), a_memory(tags=("hive-fast-track",))
    assert [is_auto_promoted(plain, policy) for policy in ("never", "propose", "auto")] == [False, False, True]
    assert [is_auto_promoted(tagged, policy) for policy in ("never", "propose", "auto")] == [False, True, True]


@pytest.mark.parametrize(
    "text",
    [
        "Use read/write locks and/or CI/CD over TCP/IP",
        "Node.js needs a lock file, see package.json",
        "Prefer stream.Readable.from(generator) over async iterators",
        "At 12:30 the cron job of the client/server pair runs, e.g. daily",
        "Pin python 3.11.4 and run the tests first",
    ],
)
def test_a_general_lesson_names_no_project(text: str) -> None:
    assert project_reference(a_memory(text), ("shop",)) == ""


@pytest.mark.parametrize(
    "text",
    [
        "The tests in tests/unit are flaky under load",
        "See src/auth/login.py for the way to do it",
        "Read ./run.sh before the release",
        "Logs are in /var/log/shop on every machine",
        "Logs are in C:\\logs\\shop on Windows",
        "Put it under build/ and nowhere else",
        "The broker answers at 10.0.0.12 only",
        "Use localhost for the broker in development",
        "The queue is at broker:5672 in development",
        "Ask db.internal for the address",
        "Ask https://ci.example.com/jobs first",
        "Ask ops@example.com before a release",
        "The feature:auth module needs a lock",
        "Shop needs a lock around its cart",
    ],
)
def test_what_names_a_place_of_one_project_is_not_carried_unasked(text: str) -> None:
    assert project_reference(a_memory(text), ("shop",)) != ""
    assert approval_reason(a_memory(text), ("shop",), arrived=False) != ""


def test_entities_citations_and_what_came_in_through_a_file_wait_to_be_asked_for() -> None:
    text = "Pin the version of every build tool"
    assert approval_reason(a_memory(text), (), arrived=False) == ""
    assert approval_reason(a_memory(text), (), arrived=True) != ""
    assert approval_reason(a_memory(text, source="import"), (), arrived=False) != ""
    assert project_reference(a_memory(text, entities=("feature:build",))) != ""
    assert project_reference(a_memory(text, citations=(Citation("Makefile"),))) != ""


# Encounters


def in_hive(**fields: Any) -> Memory:
    return a_memory(tier="hive", confidence=0.5, auto_generated=True, **fields)


@pytest.mark.parametrize(
    ("project", "before", "after"),
    [
        (ALICE.project, 1.0, 1.1),
        (OTHER.project, 1.0, 1.05),
        (OTHER.project, 9.99, 10.0),
        (OTHER.project, -3.0, 0.1),
        (OTHER.project, math.nan, 0.1),
        (OTHER.project, math.inf, 0.1),
    ],
)
def test_an_encounter_is_worth_more_at_home_and_stays_in_its_bounds(project: str, before: float, after: float) -> None:
    met = encountered(in_hive(encounter_score=before), project, "bob", NOW + 1, EncounterTerms())
    assert met is not None
    assert met.encounter_score == pytest.approx(after)


def test_the_same_project_twice_counts_once_and_three_projects_establish() -> None:
    memory: Memory | None = in_hive()
    seen = []
    for name in ("one", "one", "two", "two", "three"):
        assert memory is not None
        met = encountered(memory, name, "bob", NOW, EncounterTerms())
        memory = met or memory
        seen.append((met is not None, memory.status, distinct_places(memory)))
    assert seen == [
        (True, "candidate", 1),
        (False, "candidate", 1),
        (True, "candidate", 2),
        (False, "candidate", 2),
        (True, "established", 3),
    ]
    assert memory is not None
    assert memory.confidence == 0.8


def test_its_own_project_is_no_confirmation() -> None:
    met = encountered(in_hive(), ALICE.project, "bob", NOW, EncounterTerms())
    assert met is not None
    assert met.confidence == 0.5


@pytest.mark.parametrize("fields", [{"status": "archived"}, {"status": "quarantined"}, {"forgotten_at": NOW}])
def test_what_was_put_aside_meets_nobody(fields: dict[str, Any]) -> None:
    assert encountered(in_hive(**fields), "other", "bob", NOW, EncounterTerms()) is None
    assert encountered(a_memory(), "other", "bob", NOW, EncounterTerms()) is None


@pytest.mark.parametrize(("text", "named"), [("a.", ""), ("x/", "it names the path"), ("a-", ""), ("@.", "")])
def test_only_the_beginning_of_a_long_lesson_is_asked_for_names(text: str, named: str) -> None:
    """The patterns are slow on long texts, so that the length they are given is what has to stay small."""
    assert project_reference(a_memory(text * 500_000)).startswith(named)
    assert project_reference(a_memory(" " * READ_CHARS + "see https://shop.example/a")) == ""
