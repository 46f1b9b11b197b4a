"""The formulas of the five described systems and the bounded priors, by tables of values worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.domain.policy.ranking import (
    PriorWeights,
    SwarmRanking,
    beads_matches,
    beads_rank,
    default_priors,
    field_score,
    fuse,
    intent_kinds,
    knowledge_score,
    lane_score,
    learnings_score,
    phase_categories,
    preferred,
    rank_knowledge,
    recency_decay,
    swarm_score,
    utility,
)
from swarmlore.domain.records import KINDS, SOURCES, Hit, Memory, Outcomes
from swarmlore.frozen import replace

NOW = 1_760_000_000.0
DAY = 86_400.0
HOUR = 3_600.0


def a_memory(**changes: Any) -> Memory:
    return replace(Memory(id="m1", text="Bearer prefix is needed on every auth header", created_at=NOW), **changes)


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-9)


# --- decay


@pytest.mark.parametrize(
    ("age_days", "half_life", "expected"),
    [
        (0, 90, 1.0),
        (-5, 90, 1.0),
        (30, 90, 0.7937005259840998),
        (90, 90, 0.5),
        (180, 90, 0.25),
        (270, 90, 0.125),
        (14, 14, 0.5),
        (28, 14, 0.25),
        (7, 14, 0.7071067811865476),
        (3, 0, 0.125),
        (2, -4, 0.25),
    ],
)
def test_a_weight_halves_every_half_life(age_days: float, half_life: float, expected: float) -> None:
    assert recency_decay(1.0, age_days, half_life) == near(expected)
    assert recency_decay(0.8, age_days, half_life) == near(0.8 * expected)


# --- lane


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("what mistake did we make", {"correction", "gap"}),
        ("Wrong port again", {"correction", "gap"}),
        ("TypeErrors in the build", {"correction", "gap"}),
        ("why we DECIDED on sqlite", {"decision"}),
        ("the choice of driver", {"decision"}),
        ("who chose this", {"decision"}),
        ("what do we usually do", {"pattern_seed", "commitment"}),
        ("a habit of mine", {"pattern_seed", "commitment"}),
        ("what we realized", {"learning", "insight"}),
        ("learned from the wrong pattern", {"learning", "insight", "correction", "gap", "pattern_seed", "commitment"}),
        ("how do I run the tests", set()),
        ("", set()),
    ],
)
def test_a_question_asks_for_kinds_by_its_words(query: str, kinds: set[str]) -> None:
    assert intent_kinds(query) == kinds


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("correction", 0.85),
        ("decision", 0.85),
        ("commitment", 0.85),
        ("insight", 0.595),
        ("learning", 0.595),
        ("confidence", 0.595),
        ("pattern_seed", 0.34),
        ("cross_agent", 0.34),
        ("workflow_note", 0.34),
        ("gap", 0.34),
        ("something else", 0.425),
    ],
)
def test_lane_weighs_the_kind(kind: str, expected: float) -> None:
    assert lane_score(a_memory(kind=kind), 0.85, "auth header", NOW).score == near(expected)


@pytest.mark.parametrize(
    ("changes", "cosine", "query", "expected"),
    [
        ({"kind": "correction"}, 0.8, "which mistake", 0.92),
        ({"kind": "gap"}, 0.5, "an error", 0.23),
        ({"kind": "decision"}, 0.8, "which mistake", 0.8),
        ({"kind": "correction", "created_at": NOW - 90 * DAY}, 0.8, "auth", 0.4),
        ({"kind": "correction", "created_at": NOW - 180 * DAY, "last_validated_at": NOW - 90 * DAY}, 0.8, "auth", 0.4),
        ({"kind": "correction", "created_at": NOW + 9 * DAY}, 0.8, "auth", 0.8),
        ({"kind": "correction", "feedback_score": 1.21}, 0.5, "auth", 0.605),
        ({"kind": "correction", "feedback_score": 0.5}, 0.5, "auth", 0.25),
        ({"kind": "learning", "created_at": NOW - 30 * DAY}, 0.6, "we learned", 0.6 * 0.7 * 0.7937005259840998 * 1.15),
        ({"kind": "correction"}, 0.3, "auth", 0.3),
        ({"kind": "correction"}, 0.2999, "auth", 0.0),
        ({"kind": "correction"}, -0.4, "auth", 0.0),
    ],
)
def test_lane_multiplies_cosine_kind_decay_intent_and_feedback(
    changes: dict[str, Any], cosine: float, query: str, expected: float
) -> None:
    scored = lane_score(a_memory(**changes), cosine, query, NOW)
    assert scored.score == near(expected)
    if expected:
        assert math.prod(part.value for part in scored.parts) == near(expected)


def test_lane_takes_another_minimum_similarity() -> None:
    assert lane_score(a_memory(kind="decision"), 0.15, "auth", NOW, min_similarity=0.1).score == near(0.15)


def test_lane_filters_strictly_by_entity() -> None:
    memory = a_memory(kind="correction", entities=("feature:auth", "project:web"))
    asked = frozenset({"feature:auth", "feature:billing"})
    assert lane_score(memory, 0.8, "auth", NOW, entities=asked).score == near(0.8)
    assert lane_score(memory, 0.8, "auth", NOW, entities=frozenset({"feature:billing"})).score == 0.0
    assert lane_score(a_memory(), 0.8, "auth", NOW, entities=asked).score == 0.0


# --- swarm


@pytest.mark.parametrize(
    ("age_days", "access", "hours_ago", "expected"),
    [
        (0, 0, 1, 1.0),
        (-2, 0, 1, 1.0),
        (14, 0, 1, 0.5),
        (30, 0, 1, 0.2264309160659767),
        (0, 1, 1, 1.1),
        (0, 5, 1, 1.5),
        (0, 10, 1, 1.5),
        (0, 100, 1, 1.5),
        (0, 1, 49, 1.05),
        (0, 5, 49, 1.25),
        (0, 100, 49, 1.25),
        (0, 5, 48, 1.5),
        (0, 5, 48.001, 1.25),
        (0, 5, -3, 1.5),
        (0, -4, 1, 1.0),
        (14, 5, 1, 0.75),
    ],
)
def test_swarm_multiplies_similarity_decay_and_access(
    age_days: float, access: int, hours_ago: float, expected: float
) -> None:
    memory = a_memory(created_at=NOW - age_days * DAY, access_count=access, last_accessed_at=NOW - hours_ago * HOUR)
    assert swarm_score(memory, 1.0, NOW, SwarmRanking()).score == near(expected)
    assert swarm_score(memory, 0.6, NOW).score == near(0.6 * expected)


def test_swarm_counts_an_unknown_access_time_as_long_ago() -> None:
    assert swarm_score(a_memory(access_count=5), 1.0, NOW).score == near(1.25)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (SwarmRanking(half_life_days=7), 0.25 * 1.5),
        (SwarmRanking(access_boost_max=2.0), 0.5 * 1.8),
        (SwarmRanking(access_boost_max=1.0), 0.5),
        (SwarmRanking(access_boost_max=0.5), 0.5),
        (SwarmRanking(access_recency_hours=1), 0.5 * 1.25),
        (SwarmRanking(half_life_days=0), 0.5**14 * 1.5),
    ],
)
def test_swarm_follows_its_settings(settings: SwarmRanking, expected: float) -> None:
    memory = a_memory(created_at=NOW - 14 * DAY, access_count=8, last_accessed_at=NOW - 2 * HOUR)
    assert swarm_score(memory, 1.0, NOW, settings).score == near(expected)


# --- knowledge


@pytest.mark.parametrize(
    ("phase", "categories"),
    [
        ("Phase 3: Testing [IN PROGRESS]", ("testing", "debugging")),
        ("QA round", ("testing", "debugging")),
        ("Validation of the build", ("testing", "debugging")),
        ("Implementation", ("tooling", "architecture", "debugging")),
        ("Write the code", ("tooling", "architecture", "debugging")),
        ("Integration", ("integration", "tooling", "performance")),
        ("Set up CI/CD", ("integration", "tooling", "performance")),
        ("Publishing", ("integration", "tooling", "performance")),
        ("Design", ("architecture", "process")),
        ("Requirements", ("architecture", "process")),
        ("Optimise the hot path", ("performance", "architecture", "process")),
        ("Refactoring", ("performance", "architecture", "process")),
        ("Security audit", ("security", "testing")),
        ("Compliance", ("security", "testing")),
        ("Bootstrap", ("tooling", "other")),
        ("Configuration", ("tooling", "other")),
        ("README and changelog", ("process", "tooling")),
        ("Phase 0", ("process", "tooling")),
        ("Circle of acidic contests", ("process", "tooling")),
    ],
)
def test_a_phase_has_its_categories(phase: str, categories: tuple[str, ...]) -> None:
    assert phase_categories(phase) == categories


@pytest.mark.parametrize(
    ("changes", "phase", "terms", "expected"),
    [
        # category .4, confidence .35, tags .25
        ({"category": "testing", "confidence": 0.8}, "Testing", (), 0.4 + 0.28 + 0.125),
        ({"category": "process", "confidence": 0.8}, "Testing", (), 0.2 + 0.28 + 0.125),
        ({"category": "process", "confidence": 0.8}, "Design", (), 0.4 + 0.28 + 0.125),
        ({"category": "security", "confidence": 0.8}, "Testing", (), 0.0 + 0.28 + 0.125),
        ({"category": "security", "confidence": 0.8}, "", (), 0.2 + 0.28 + 0.125),
        ({"category": "security", "confidence": 0.8}, "  ", (), 0.2 + 0.28 + 0.125),
        ({"category": "other", "confidence": 0.5, "tags": ("node", "streams")}, "", ("node",), 0.2 + 0.175 + 0.125),
        ({"category": "other", "confidence": 0.5, "tags": ("node", "streams")}, "", (), 0.2 + 0.175),
        ({"category": "other", "confidence": 0.5, "tags": ("Node",)}, "", ("node",), 0.2 + 0.175 + 0.25),
        ({"category": "other", "confidence": 0.5, "tags": ("typescript",)}, "", ("script",), 0.2 + 0.175 + 0.25),
        ({"category": "other", "confidence": 0.5, "tags": ("go",)}, "", ("mongo",), 0.2 + 0.175),
        ({"tier": "hive", "project": "web", "confidence": 0.5}, "", (), 0.2 + 0.175 + 0.125 + 0.05),
        ({"tier": "hive", "project": "shop", "confidence": 0.5}, "", (), 0.2 + 0.175 + 0.125),
        ({"tier": "swarm", "project": "shop", "confidence": 0.5}, "", (), 0.2 + 0.175 + 0.125),
        ({"tier": "hive", "category": "testing", "confidence": 1.0, "tags": ("qa",)}, "QA", ("qa",), 1.0),
        ({"category": "security", "confidence": 0.0, "tags": ("x",)}, "Testing", (), 0.0),
    ],
)
def test_knowledge_adds_category_confidence_tags_and_tier(
    changes: dict[str, Any], phase: str, terms: tuple[str, ...], expected: float
) -> None:
    scored = knowledge_score(a_memory(**changes), phase, frozenset(terms), "shop")
    assert scored.score == near(expected)


def test_knowledge_puts_the_newer_first_within_a_thousandth() -> None:
    old = Hit(a_memory(id="old", created_at=NOW - DAY), 0.5004)
    new = Hit(a_memory(id="new", created_at=NOW), 0.5)
    best = Hit(a_memory(id="best", created_at=NOW - 9 * DAY), 0.6)
    assert rank_knowledge([old, new, best]) == [best, new, old]
    assert rank_knowledge([new, replace(old, score=0.502)]) == [replace(old, score=0.502), new]


# --- learnings


def test_fusing_adds_reciprocal_ranks() -> None:
    assert fuse(["a", "b"], ["b", "c"]) == {
        "a": near(1 / 61),
        "b": near(1 / 62 + 1 / 61),
        "c": near(1 / 62),
    }
    assert fuse(["a"], k=0) == {"a": 1.0}
    assert fuse() == {}


@pytest.mark.parametrize(
    ("changes", "tags", "expected"),
    [
        ({"confidence": 1.0}, (), 1.0),
        ({"confidence": 0.8}, (), 1.0),
        ({"confidence": 0.79}, (), 0.7),
        ({"confidence": 0.5}, (), 0.7),
        ({"confidence": 0.49}, (), 0.4),
        ({"confidence": 0.6, "extra": {"confidence_label": "unknown"}}, (), 0.5),
        ({"confidence": 0.9, "created_at": NOW - 90 * DAY}, (), 0.36787944117144233),
        ({"confidence": 0.9, "created_at": NOW - 30 * DAY}, (), 0.7165313105737893),
        ({"confidence": 0.9, "created_at": NOW + 30 * DAY}, (), 1.0),
        ({"confidence": 0.9, "tags": ("rust", "Tokio", "async")}, ("tokio", "rust", "sql"), 1.2),
        ({"confidence": 0.6, "tags": ("rust",), "created_at": NOW - 90 * DAY}, ("rust",), 0.2832671697020106),
    ],
)
def test_learnings_multiply_rank_confidence_age_and_tags(
    changes: dict[str, Any], tags: tuple[str, ...], expected: float
) -> None:
    memory = a_memory(**changes)
    assert learnings_score(memory, 1.0, frozenset(tags), NOW).score == near(expected)
    assert learnings_score(memory, 1 / 61, frozenset(tags), NOW).score == near(expected / 61)


NOTE = {
    "title": "tokio runtime panic",
    "symptoms": ["nested runtime panic on block_on"],
    "key_insight": "Never block inside an async context",
    "tags": ["rust", "tokio"],
    "content": "Spawn a thread for the blocking call instead.",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tokio panic", 220),
        ("TOKIO", 140),
        ("block", 160),
        ("panic on", 180),
        ("thread", 20),
        ("rust tokio block_on nested async thread", 300),
        ("io", 0),
        ("kubernetes", 0),
        ("", 0),
    ],
)
def test_a_field_counts_once_when_a_word_of_the_query_is_in_it(query: str, expected: int) -> None:
    assert field_score(query, **NOTE) == expected


def test_small_words_of_a_query_are_not_searched_for() -> None:
    assert round(field_score("how to fix the panic", **NOTE)) == 180
    assert field_score("the", **NOTE) == 20


def test_words_found_nowhere_only_break_ties() -> None:
    whole, half = field_score("tokio panic", **NOTE), field_score("tokio panic kubernetes helm", **NOTE)
    assert half == near(220 - 0.245)
    assert half < whole
    assert round(half) == round(whole) == 220


# --- beads


def test_beads_search_the_text_by_every_word_in_any_case() -> None:
    memory = a_memory(text="TaskGroup requires @Sendable closures", tags=("learned",), key="learned-taskgroup")
    assert beads_matches(memory, "sendable")
    assert beads_matches(memory, "closures taskgroup")
    assert beads_matches(memory, "")
    assert not beads_matches(memory, "learned")
    assert not beads_matches(memory, "sendable actors")
    assert not beads_matches(memory, "task.*closures")


def test_beads_list_the_newest_first_and_each_key_once() -> None:
    old = a_memory(id="1", key="k", text="The api is slow", created_at=NOW - 9)
    new = a_memory(id="2", key="k", text="The api is slow on Mondays", created_at=NOW - 5)
    other = a_memory(id="3", key="j", text="Mock the api", created_at=NOW - 1)
    loose = [a_memory(id=str(n), key="", text="No key, api", created_at=NOW - 100) for n in (4, 5)]
    assert beads_rank([new, other, old, *loose], "API") == [other, new, *loose]
    assert beads_rank([old, replace(old, id="6")], "") == [replace(old, id="6")]
    assert beads_rank([], "api") == []


# --- priors of the default profile


def test_a_memory_without_evidence_is_not_moved() -> None:
    scored = default_priors(a_memory(), NOW)
    assert scored.score == 1.0
    assert scored.parts == ()


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        ({"kind": "correction"}, "kind", 1.02),
        ({"kind": "gap"}, "kind", 0.98),
        ({"kind": "correction", "source": "transcript"}, "kind", 0.98),
        ({"confidence": 1.0}, "confidence", 1.04),
        ({"confidence": 0.7}, "confidence", 1.016),
        ({"confidence": 0.0}, "confidence", 0.96),
        ({"feedback_score": 2.0}, "feedback", 1.08),
        ({"feedback_score": 1.1, "feedback_count": 1}, "feedback", 1 + 0.08 * math.log2(1.1)),
        ({"feedback_score": 0.5, "feedback_count": 1}, "feedback", 0.92),
        ({"feedback_score": 0.001}, "feedback", 0.92),
        ({"feedback_score": 0.0}, "feedback", 0.92),
        ({"feedback_score": 50.0}, "feedback", 1.08),
        ({"outcomes": Outcomes(shown=3, succeeded_after=3)}, "utility", 1.08),
        ({"outcomes": Outcomes(shown=4, succeeded_after=1, failed_after=3)}, "utility", 0.96),
        ({"outcomes": Outcomes(shown=9, failed_after=9)}, "utility", 0.92),
        ({"created_at": NOW - 180 * DAY}, "recency", 0.9925),
        ({"created_at": NOW - 9000 * DAY}, "recency", 0.985),
        ({"access_count": 5}, "access", 1.01),
        ({"access_count": 10_000}, "access", 1.02),
    ],
)
def test_each_fact_moves_a_score_by_its_bounded_factor(changes: dict[str, Any], name: str, expected: float) -> None:
    scored = default_priors(a_memory(**changes), NOW)
    assert [part.name for part in scored.parts] == [name]
    assert scored.score == scored.parts[0].value == pytest.approx(expected, abs=1e-4)


def test_changed_code_ranks_a_memory_down_and_says_so() -> None:
    scored = default_priors(a_memory(), NOW, stale=True)
    assert (scored.score, [part.note for part in scored.parts]) == (0.9, ["cited code has changed"])


def test_utility_needs_three_showings_and_an_ending() -> None:
    assert utility(a_memory(outcomes=Outcomes(shown=2, succeeded_after=2))) is None
    assert utility(a_memory(outcomes=Outcomes(shown=3))) is None
    assert utility(a_memory(outcomes=Outcomes(shown=3, succeeded_after=1, failed_after=1))) == 0.5


@pytest.mark.parametrize("kind", ["correction", "decision", "commitment"])
@pytest.mark.parametrize(
    "chatter",
    [{"source": "transcript"}, {"source": "session_summary", "confidence": 0.6}, {"kind": "workflow_note"}, {}],
)
def test_what_was_decided_a_year_ago_beats_the_chatter_of_yesterday(kind: str, chatter: dict[str, Any]) -> None:
    old = default_priors(a_memory(kind=kind, created_at=NOW - 365 * DAY), NOW)
    young = default_priors(a_memory(created_at=NOW - DAY, access_count=1, **chatter), NOW)
    assert old.score > young.score


@given(
    memory=st.builds(
        Memory,
        id=st.just("m"),
        text=st.just("t"),
        kind=st.sampled_from(KINDS),
        source=st.sampled_from(SOURCES),
        confidence=st.floats(0, 1),
        feedback_score=st.floats(0, 1e9),
        created_at=st.floats(0, 2 * NOW),
        access_count=st.integers(-3, 10**9),
        outcomes=st.builds(
            Outcomes,
            shown=st.integers(0, 99),
            succeeded_after=st.integers(0, 99),
            failed_after=st.integers(0, 99),
        ),
    ),
    weights=st.builds(PriorWeights, kind=st.floats(0, 1), feedback=st.floats(0, 1), utility=st.floats(0, 1)),
    stale=st.booleans(),
)
def test_priors_together_move_a_score_by_thirty_percent_at_most(
    memory: Memory, weights: PriorWeights, stale: bool
) -> None:
    scored = default_priors(memory, NOW, weights=weights, stale=stale)
    assert 0.7 <= scored.score <= 1.3
    assert all(part.value != 1.0 for part in scored.parts)


def test_of_two_contradicting_memories_the_higher_trust_is_preferred() -> None:
    person = a_memory(id="p", trust=3, confidence=0.3, created_at=NOW - 99 * DAY)
    agent = a_memory(id="a", trust=2, confidence=1.0)
    assert preferred(agent, person) == preferred(person, agent) == person
    assert preferred(agent, replace(agent, id="b", confidence=0.9)) == agent
    newer = replace(agent, id="b", created_at=NOW + 1)
    assert preferred(newer, agent) == preferred(agent, newer) == newer
