"""Lines of a ledger: what is written is read back whole, what others wrote is kept, what is no record is named."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import NOW
from swarmlore.domain.policy.merge import Version, published
from swarmlore.domain.records import (
    CATEGORIES,
    KINDS,
    LESSON_SOURCES,
    STATUSES,
    Citation,
    Confirmation,
    Memory,
    Situation,
)
from swarmlore.exchange.knowledge_format import derived_id, from_object, to_line, to_object
from swarmlore.workspace.jsonl import BadLine, dump, lines, parse, parse_object

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
names = st.text("abcdefghij_", min_size=1, max_size=10)
times = st.integers(1, 4_000_000_000_000).map(lambda ms: ms / 1000)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
odd_names = st.sampled_from(["status", "id", "lesson", "extra", "tags", "trust", "source_project", "deleted_at"])
places = st.one_of(
    words, st.integers(0, 99).map("phase:{}".format), st.builds("phase:{}@{}".format, st.integers(0, 9), words)
)
sightings = st.builds(Confirmation, places, st.one_of(st.just(0.0), times), st.one_of(st.just(""), words))
citations = st.builds(Citation, words, st.integers(0, 99), st.integers(0, 99), names, names)
situations = st.builds(Situation, words, names, times)

IDS = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9_.:-]{0,20}\Z")


def some(strategy: Any) -> Any:
    return st.lists(strategy, max_size=3).map(tuple)


@st.composite
def memories(draw: Any, tiers: tuple[str, ...] = ("swarm", "hive"), ids: Any = IDS) -> Memory:
    """Any memory that may be told to others, with counters that may not."""
    return Memory(
        id=draw(ids),
        text=draw(words.map(str.strip).filter(bool)),
        title=draw(words),
        kind=draw(st.sampled_from(KINDS)),
        category=draw(st.sampled_from(CATEGORIES)),
        tags=draw(some(words)),
        entities=draw(some(names)),
        tier=draw(st.sampled_from(tiers)),
        project=draw(words),
        owner=draw(words),
        status=draw(st.sampled_from(STATUSES)),
        trust=draw(st.integers(0, 3)),
        source=draw(st.sampled_from(LESSON_SOURCES)),
        source_ref=draw(st.dictionaries(names, values, max_size=2)),
        key=draw(st.one_of(st.just(""), words)),
        confidence=draw(st.floats(0, 1)),
        created_at=draw(times),
        updated_at=draw(times),
        expires_at=draw(st.none() | times),
        valid_from=draw(st.none() | times),
        valid_until=draw(st.none() | times),
        forgotten_at=draw(st.none() | st.none() | times),
        access_count=draw(st.integers(0, 9)),
        supersedes=draw(some(words)),
        superseded_by=draw(st.one_of(st.just(""), words)),
        born_in_phase=draw(st.integers(0, 9)),
        max_phases=draw(st.none() | st.integers(0, 99)),
        confirmed_by=draw(some(sightings)),
        encounter_score=draw(st.floats(0, 10)),
        hive_eligible=draw(st.booleans()),
        auto_generated=draw(st.booleans()),
        citations=draw(some(citations)),
        situations=draw(some(situations)),
        feedback_score=draw(st.floats(0, 9)),
        extra=draw(st.dictionaries(st.one_of(names, odd_names), values, max_size=3)),
    )


def version_of(line: bytes, tier: str = "swarm") -> Version:
    return from_object(parse_object(line), tier)


@given(memories())
def test_a_version_comes_back_as_it_was_written(memory: Memory) -> None:
    version = published(memory, "a-project", situations=True)
    again = version_of(to_line(version), memory.tier)
    assert to_line(again) == to_line(version)
    if "retrieval_outcomes" not in memory.extra and "schema_version" not in memory.extra:
        assert again == version


@given(memories())
def test_told_again_a_version_says_the_same(memory: Memory) -> None:
    version = published(memory, "a-project", situations=True)
    if not version.gone:
        assert published(version.memory, "another", situations=True) == version


@given(memories(), st.integers(1, 9))
def test_counters_are_never_told(memory: Memory, count: int) -> None:
    from swarmlore.domain.records import Outcomes
    from swarmlore.frozen import replace

    used = replace(
        memory,
        access_count=memory.access_count + count,
        last_accessed_at=NOW,
        feedback_score=0.1,
        feedback_count=count,
        last_validated_at=NOW,
        outcomes=Outcomes(shown=count),
        handle="abcdef",
        version=count,
    )
    assert to_line(published(used)) == to_line(published(memory))


# What others wrote

THEIRS: dict[str, Any] = {
    "id": "0b0f2a8e-3f4e-4f0e-9a51-6f1f7f0c9a01",
    "tier": "swarm",
    "lesson": "Run vitest with --pool=forks, because worker threads break the sqlite binding",
    "category": "testing",
    "tags": ["testing", "vitest"],
    "scope": "stack:node",
    "confidence": 0.8,
    "status": "established",
    "confirmed_by": [
        {"phase_number": 1, "confirmed_at": "2026-02-01T10:00:00.000Z", "project_name": "shop"},
        {"phase_number": 2, "confirmed_at": "2026-02-02T10:00:00.000Z", "project_name": "shop"},
    ],
    "retrieval_outcomes": {
        "applied_count": 4,
        "succeeded_after_count": 3,
        "failed_after_count": 1,
        "last_applied_at": "2026-02-03T10:00:00.000Z",
        "shown_count": 7,
        "acknowledged_count": 2,
        "applied_explicit_count": 2,
        "ignored_count": 1,
        "violated_count": 1,
        "contradicted_count": 0,
        "succeeded_after_shown_count": 3,
        "failed_after_shown_count": 1,
        "partial_after_shown_count": 1,
        "violation_timestamps": ["2026-02-03T11:00:00.000Z"],
    },
    "schema_version": 2,
    "created_at": "2026-02-01T09:00:00.000Z",
    "updated_at": "2026-02-02T10:00:00.000Z",
    "hive_eligible": True,
    "auto_generated": False,
    "phases_alive": 2,
    "max_phases": 10,
    "project_name": "shop",
    "triggers": ["vitest"],
    "required_actions": ["use forks"],
    "forbidden_actions": ["use threads"],
    "applies_to_agents": ["coder"],
    "applies_to_tools": ["bash"],
    "verification_checks": ["vitest passes"],
    "verification_predicate": "exit == 0",
    "source_refs": ["a.ts:1"],
    "source_knowledge_ids": ["x"],
    "generated_skill_slug": "vitest-forks",
    "generated_skill_path": ".swarm/skills/vitest-forks",
    "directive_priority": "high",
    "enforcement_mode": "warn",
    "escalation_history": [{"at": "2026-02-02T10:00:00.000Z", "to": "high"}],
    "last_applied_at": "2026-02-03T10:00:00.000Z",
    "last_acknowledged_at": "2026-02-03T10:00:00.000Z",
}
HIVE = {
    **{name: value for name, value in THEIRS.items() if name not in ("project_name", "tier", "confirmed_by")},
    "tier": "hive",
    "source_project": "shop",
    "encounter_score": 1.3,
    "encounter_count": 4,
    "confirmed_by": [
        {"project_name": "blog", "confirmed_at": "2026-02-01T10:00:00.000Z"},
        {"project_name": "wiki", "confirmed_at": "2026-02-01T11:00:00.000Z", "phase_number": 3},
    ],
}
QUARANTINED = {
    **THEIRS,
    "status": "quarantined",
    "original_status": "established",
    "quarantine_reason": "wrong since v5",
    "quarantined_at": "2026-02-02T10:00:00.000Z",
    "reported_by": "architect",
}


@pytest.mark.parametrize("theirs", [THEIRS, HIVE, QUARANTINED], ids=["swarm", "hive", "quarantined"])
def test_every_field_of_a_foreign_record_is_written_back(theirs: dict[str, Any]) -> None:
    written = to_object(from_object(theirs))
    assert {name: written.get(name) for name in theirs} == theirs
    assert set(written) - set(theirs) == {"trust", "source"}
    assert to_line(from_object(written)) == dump(written)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("active", "candidate"),
        ("candidate", "candidate"),
        ("promoted", "promoted"),
        ("archived", "archived"),
        ("quarantined_unactionable", "quarantined"),
        ("newly-invented", "candidate"),
        (7, "candidate"),
    ],
)
def test_every_status_is_taken(said: Any, status: str) -> None:
    version = from_object({**THEIRS, "status": said})
    assert version.memory.status == status
    if said not in (status, "active"):
        assert to_object(version)["extra"]["status"] == said


def test_what_only_we_call_hidden_is_hidden_from_others_too() -> None:
    written = to_object(from_object({**THEIRS, "status": "archived", "swarmlore_status": "superseded"}))
    assert (written["status"], written["swarmlore_status"]) == ("archived", "superseded")


@pytest.mark.parametrize(
    ("field", "value", "attribute", "read"),
    [
        ("tags", "not a list", "tags", ()),
        ("tags", ["a", 7], "tags", ()),
        ("category", "no-such-topic", "category", "other"),
        ("confidence", "high", "confidence", 0.5),
        ("created_at", "yesterday", "created_at", 0.0),
        ("confirmed_by", None, "confirmed_by", ()),
        ("max_phases", -1, "max_phases", None),
        ("hive_eligible", "yes", "hive_eligible", False),
        ("id", {"odd": 1}, "id", derived_id("swarm", THEIRS["lesson"])),
        ("trust", "all of it", "trust", 1),
        ("source", "nowhere", "source", "import"),
    ],
)
def test_a_value_of_the_wrong_type_is_kept_beside_the_default(
    field: str, value: Any, attribute: str, read: Any
) -> None:
    version = from_object({**THEIRS, field: value})
    assert getattr(version.memory, attribute) == read
    written = to_object(version)
    assert written["extra"] == {field: value}
    assert to_object(from_object(written)) == written


def test_the_example_of_the_oldest_form_is_read() -> None:
    """As the description of the system prints it: words as confirmations, a list of outcomes, an id of its own."""
    example = {
        "id": "lesson-abc123",
        "tier": "swarm",
        "lesson": "Prefer stream.Readable.from(generator) over async iterators for backpressure.",
        "category": "pattern",
        "tags": ["node", "streams"],
        "scope": "global",
        "confidence": 0.9,
        "status": "active",
        "confirmed_by": ["..."],
        "retrieval_outcomes": [],
        "phases_alive": 0,
        "max_phases": 10,
    }
    version = from_object(example)
    assert (version.memory.id, version.memory.status) == ("lesson-abc123", "candidate")
    written = to_object(version)
    kept = {name: written[name] for name in example if name != "status"}
    assert kept == {name: value for name, value in example.items() if name != "status"}


def test_a_record_without_an_id_has_the_same_one_each_time() -> None:
    bare = {"lesson": "Use pnpm, the lockfile is its own"}
    assert from_object(bare).memory.id == from_object({"lesson": "use  PNPM, the lockfile is its own"}).memory.id
    assert from_object(bare).memory.id != from_object(bare, "hive").memory.id


def test_a_line_claims_at_most_a_persons_trust() -> None:
    assert from_object({**THEIRS, "trust": 7}).memory.trust == 3
    assert from_object(THEIRS).memory.trust == 1


# Lines that are no records

BAD = {
    "NUL": b'{"lesson":"a\0b"}',
    "not UTF-8": b'{"lesson":"\xff\xfe"}',
    "surrogate": b'{"lesson":"\\ud800 half"}',
    "conflict": b"<<<<<<< HEAD",
    "nested": b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nested a little": b'{"x":' + b"[" * 40 + b"]" * 40 + b"}",
    "many digits": b'{"x":' + b"9" * 5000 + b"}",
    "beyond 64 bits": b'{"x":18446744073709551616}',
    "NaN": b'{"confidence":NaN}',
    "infinite": b'{"confidence":1e999}',
    "twice": b'{"id":"a","id":"b"}',
    "a list": b"[1,2]",
    "a number": b"7",
    "cut": b'{"id":"a","lesson":"cut of',
    "empty key object": b"{",
}


@pytest.mark.parametrize("raw", BAD.values(), ids=BAD.keys())
def test_a_line_that_is_no_record_is_named_and_the_next_is_read(raw: bytes) -> None:
    found = list(lines(io.BytesIO(b'{"id":"1"}\n' + raw + b'\n\r\n{"id":"2"}\r\n')))
    assert [line.number for line in found] == [1, 2, 4]
    with pytest.raises(BadLine):
        parse(found[1])
    assert parse(found[2]) == {"id": "2"}


def test_a_line_of_a_gigabyte_is_passed_by_without_being_kept() -> None:
    import tracemalloc

    class Endless(io.RawIOBase):
        """A file whose second line has a billion bytes."""

        def __init__(self) -> None:
            self.parts = iter([b'{"id":"1"}\n', *[b"x" * 1_000_000] * 1000, b'\n{"id":"2"}\n'])
            self.left = b""

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            self.left = self.left or next(self.parts, b"")
            count = min(len(buffer), len(self.left))
            buffer[:count], self.left = self.left[:count], self.left[count:]
            return count

    tracemalloc.start()
    found = list(lines(io.BufferedReader(Endless(), 65_536)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(line.number, line.cut) for line in found] == [(1, False), (2, True), (3, False)]
    assert found[1].end - found[1].offset == 1_000_000_001
    assert peak < 10_000_000


@given(st.lists(st.binary(max_size=30), max_size=8))
def test_where_a_line_begins_and_ends_is_where_it_stands(parts: list[bytes]) -> None:
    data = b"\n".join(parts)
    for line in lines(io.BytesIO(data)):
        assert data[line.offset :].startswith(line.raw)
        assert line.end == len(data) or data[line.end - 1 : line.end] == b"\n"
        again = list(lines(io.BytesIO(data[line.end :]), line.end, line.number))
        assert again == [other for other in lines(io.BytesIO(data)) if other.offset >= line.end]


anything = st.dictionaries(st.one_of(st.sampled_from([*THEIRS, *HIVE, "deleted_at", "trust", "extra", "citations"]), names),
                           st.one_of(values, st.floats(-9, 9), st.sampled_from(["2026-01-01T00:00:00Z", "9999-12-31"])))  # fmt: skip


@given(anything, st.one_of(st.just("A lesson of some length"), values))
def test_any_object_is_either_refused_or_read_and_then_stable(obj: dict[str, Any], lesson: Any) -> None:
    try:
        version = from_object({**obj, "lesson": lesson})
    except BadLine:
        return
    line = to_line(version)
    again = version_of(line, version.memory.tier)
    assert to_line(again) == line
    assert version.memory.trust <= 2
