from __future__ import annotations

import pytest

from swarmlore.domain.policy.gate import check_structure
from swarmlore.domain.records import (
    CATEGORIES,
    KINDS,
    STATUSES,
    TIERS,
    Draft,
    confidence_of,
    count_sentences,
    extraction_confidence,
)
from swarmlore.errors import InvalidInput, Rejected
from swarmlore.frozen import replace

GOOD = Draft("Pin the base image by digest", category="tooling", scope="stack:docker", confidence=0.5)


def reason_of(draft: Draft, *, lesson: bool = True) -> str:
    with pytest.raises(Rejected) as caught:
        check_structure(draft, lesson=lesson)
    assert caught.value.layer == 1
    assert caught.value.hint
    return caught.value.reason


@pytest.mark.parametrize("length", [15, 280])
def test_lessons_of_15_to_280_characters_pass(length):
    check_structure(replace(GOOD, text="x" * length), lesson=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "lesson too short (min 15 chars)"),
        ("x" * 14, "lesson too short (min 15 chars)"),
        ("  " + "x" * 14 + "  ", "lesson too short (min 15 chars)"),
        (None, "lesson too short (min 15 chars)"),
        ("x" * 281, "lesson too long (max 280 chars)"),
    ],
)
def test_other_lengths_are_refused_word_for_word(text, reason):
    assert reason_of(replace(GOOD, text=text)) == reason


def test_spaces_around_a_lesson_do_not_count():
    check_structure(replace(GOOD, text=" " * 20 + "x" * 280 + "\n"), lesson=True)


def test_a_lesson_that_is_too_long_hears_of_notes():
    with pytest.raises(Rejected, match="too long") as caught:
        check_structure(replace(GOOD, text="x" * 300), lesson=True)
    assert "remember --note" in caught.value.hint


@pytest.mark.parametrize("length", [1, 281, 65_536])
def test_long_forms_may_be_short_or_long(length):
    check_structure(replace(GOOD, text="x" * length), lesson=False)


@pytest.mark.parametrize(("text", "reason"), [(" \n", "text is empty"), ("x" * 65_537, "text too long")])
def test_long_forms_are_neither_empty_nor_above_64_kb(text, reason):
    assert reason_of(replace(GOOD, text=text), lesson=False).startswith(reason)


@pytest.mark.parametrize("category", [None, *CATEGORIES])
def test_known_categories_pass(category):
    check_structure(replace(GOOD, category=category), lesson=True)


@pytest.mark.parametrize("category", ["magic", "", "Process"])
def test_an_unknown_category_is_refused_by_its_name(category):
    assert reason_of(replace(GOOD, category=category)) == f"invalid category: {category}"


def test_notes_name_their_categories_freely():
    check_structure(replace(GOOD, category="debugging-sessions", source="note"), lesson=False)
    assert reason_of(replace(GOOD, category="\x07", source="note"), lesson=False).startswith("invalid category")


@pytest.mark.parametrize("scope", [None, "global", "stack:python", "stack:a_B-9", "stack:" + "x" * 64])
def test_scopes_are_global_or_a_stack(scope):
    check_structure(replace(GOOD, scope=scope), lesson=True)


@pytest.mark.parametrize(
    "scope", ["", "Global", "stack:", "stack:a b", "stack:" + "x" * 65, "global\n", "project:x", 7]
)
def test_other_scopes_are_refused(scope):
    assert reason_of(replace(GOOD, scope=scope)) == "invalid scope: must be 'global' or 'stack:<name>'"


@pytest.mark.parametrize("confidence", [None, 0, 0.0, 0.5, 1, 1.0])
def test_confidence_runs_from_0_to_1(confidence):
    check_structure(replace(GOOD, confidence=confidence), lesson=True)


@pytest.mark.parametrize("confidence", [-0.01, 1.01, float("nan"), float("inf"), float("-inf"), 85])
def test_confidence_outside_of_its_range_is_refused(confidence):
    assert reason_of(replace(GOOD, confidence=confidence)) == "confidence out of range [0.0, 1.0]"


def test_the_first_broken_rule_is_named():
    broken = Draft("short", category="magic", scope="no", confidence=9)
    reasons = []
    for repaired in ({"text": "x" * 20}, {"category": "other"}, {"scope": "global"}, {"confidence": 1}):
        reasons.append(reason_of(broken))
        broken = replace(broken, **repaired)
    check_structure(broken, lesson=True)
    assert [reason.split(" ")[1] for reason in reasons] == ["too", "category:", "scope:", "out"]


@pytest.mark.parametrize(
    ("field", "value", "hint"),
    [
        ("kind", "fact", KINDS[0]),
        ("tier", "team", TIERS[0]),
        ("status", "open", STATUSES[0]),
        ("source", "dream", "manual"),
        ("id", "has space", "letters"),
        ("id", "x" * 129, "letters"),
        ("tags", ("x",) * 21, "20"),
        ("tags", ("",), "printable"),
        ("tags", ("x" * 65,), "64"),
        ("tags", ("a\nb",), "printable"),
        ("tags", "ab", "each tag"),
        ("entities", ("feature:Auth",), "slug"),
        ("entities", ("team:x",), "project"),
        ("entities", ("auth",), "type:slug"),
        ("entities", ("feature:a\n",), "slug"),
        ("ttl_s", 0, "seconds"),
        ("ttl_s", float("nan"), "seconds"),
        ("ttl_s", 10**400, "seconds"),
        ("ttl_s", "7d", "seconds"),
        ("created_at", float("inf"), "UTC"),
        ("confidence", "high", "number"),
        ("confidence", True, "number"),
        ("trust", 4, "3"),
        ("trust", True, "3"),
    ],
)
def test_fields_nobody_can_read_are_invalid_and_the_hint_says_what_is_possible(field, value, hint):
    with pytest.raises(InvalidInput) as caught:
        check_structure(replace(GOOD, **{field: value}), lesson=True)
    assert hint in caught.value.hint


def test_everything_a_door_may_say_passes():
    full = Draft(
        "Pin the base image by digest",
        kind="decision",
        tags=("docker", "x" * 64),
        entities=("feature:auth-api", "person:ana"),
        tier="hive",
        ttl_s=60,
        status="active",
        id="mem_1:a.b-C",
        created_at=1_700_000_000.5,
        trust=0,
    )
    check_structure(full, lesson=True)


@pytest.mark.parametrize(
    ("confirmations", "auto", "expected"),
    [
        (0, True, 0.5),
        (0, False, 0.6),
        (1, True, 0.6),
        (2, False, 0.8),
        (3, True, 0.8),
        (3, False, 0.9),
        (9, False, 0.9),
    ],
)
def test_confidence_grows_with_the_first_three_confirmations(confirmations, auto, expected):
    assert confidence_of(confirmations, auto) == expected


TWO = "Used 5min refresh buffer to prevent race conditions. Build initially failed with 2 TS errors, fixed by types."
THREE = f"{TWO} See src/auth/v1.2/schema.ts!"


@pytest.mark.parametrize(
    ("kind", "duration_s", "evaluation", "expected"),
    [
        ("correction", 180, TWO, 0.85),
        ("correction", 29.9, TWO, 0.95),
        ("correction", 30, TWO, 0.85),
        ("correction", 10, THREE, 1.0),
        ("learning", None, "", 0.7),
        ("learning", None, THREE, 0.85),
        ("commitment", None, "", 0.85),
        ("decision", 5, "", 0.9),
        ("gap", None, "", 0.8),
        ("insight", None, "", 0.75),
        ("insight", 5, THREE, 1.0),
        ("workflow_note", 5, "ok", 0.8),
        ("learning", float("nan"), "", 0.7),
    ],
)
def test_extracted_memories_start_with_a_confidence_by_kind_speed_and_evidence(kind, duration_s, evaluation, expected):
    assert extraction_confidence(kind, duration_s, evaluation) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("...", 0),
        ("One", 1),
        ("Uses v1.2 of a.py, e.g. here. Done", 2),
        ("Why? Because! Fine.", 3),
        ("- one\n- two\n- three", 3),
    ],
)
def test_dots_inside_names_end_no_sentence(text, count):
    assert count_sentences(text) == count
