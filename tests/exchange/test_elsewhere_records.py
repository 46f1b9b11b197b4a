"""Records of other memory programs: what each field becomes, and that nothing is lost on the way there and back."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import NOW, a_memory, examples
from swarmlore.compat import agent_swarm, foreign_values, lane, mcp_memory, mem0
from swarmlore.compat.foreign_import import Document
from swarmlore.compat.lane import EntityRows
from swarmlore.domain.json_codec import iso
from swarmlore.domain.records import KINDS, Memory
from swarmlore.frozen import replace
from swarmlore.workspace.jsonl import BadLine

TEXT = "OAuth login requires JWT tokens with a refresh buffer of five minutes"
METADATA = {
    "lane_version": "1.0.0",
    "memory_type": "correction",
    "entity_slugs": ["feature:auth", "project:shop"],
    "entities": ["feature:auth"],
    "confidence_score": 85,
    "decay_factor": 0.8,
    "source_chunk": "…and then the build failed",
    "feedback_score": 1.21,
    "feedback_count": 2,
    "supersedes": ["mem_old_1"],
    "times_observed": 3,
    "first_observed_at": "2025-01-01T00:00:00.000Z",
    "last_accessed_at": "2025-02-01T00:00:00.000Z",
    "access_count": 4,
}
LANE_LINE = {
    "id": "mem_m5g2k1_abc1234",
    "information": TEXT,
    "created_at": "2025-01-02T03:04:05.678Z",
    "metadata": METADATA,
    "tags": "oauth,jwt,refresh,race-conditions",
    "confidence": 0.85,
}
LANE_ROW = {
    "id": "mem_m5g2k1_abc1234",
    "content": TEXT,
    "metadata": json.dumps(METADATA),
    "collection": "default",
    "tags": '["oauth", "jwt"]',
    "decay_factor": 0.8,
    "valid_from": "2025-01-02T00:00:00.000Z",
    "valid_until": None,
    "superseded_by": None,
    "auto_tags": '["auth"]',
    "keywords": "oauth jwt",
    "created_at": "2025-01-02 03:04:05",
    "updated_at": "2025-01-03T00:00:00Z",
    "access_count": "7",
    "last_accessed": "2025-02-03T00:00:00.000Z",
    "category": "preference",
    "status": "active",
}
SWARM_ROW = {
    "id": "5f0e7d0c-7a55-4b0e-9d43-0a3f6d1f9c11",
    "agentId": "worker-1",
    "scope": "agent",
    "name": "auth-header-fix",
    "content": "The API requires Bearer prefix on all auth headers.",
    "summary": None,
    "source": "file_index",
    "sourceTaskId": "task-9",
    "sourcePath": "/workspace/personal/memory/auth-header-fix.md",
    "chunkIndex": 1,
    "totalChunks": 3,
    "tags": '["best-practice","auth"]',
    "createdAt": "2025-05-01T10:00:00.000Z",
    "accessedAt": "2025-05-02T10:00:00.000Z",
    "expiresAt": "2025-05-31T10:00:00.000Z",
    "accessCount": 5,
}
LATER = {
    "alpha": 2.0,
    "beta": 1.5,
    "key": "auth/header",
    "contentHash": "abc",
    "version": 4,
    "updatedAt": "2025-05-03T10:00:00.000Z",
    "contextKey": "task:9",
}
MEM0 = {
    "id": "f4cbdb08-7062-4f3e-8eb2-9f5c80dfe64c",
    "memory": "Alex prefers pytest over unittest",
    "hash": "0123456789abcdef0123456789abcdef",
    "metadata": {"category": "testing", "source": "chat", "confidence": 0.8},
    "user_id": "alex",
    "agent_id": "coder",
    "run_id": "run-7",
    "categories": ["preferences", "testing"],
    "created_at": "2024-07-01T12:00:00-07:00",
    "updated_at": "2024-07-02T12:00:00Z",
    "expiration_date": "2030-01-01",
}


# Values


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("2025-01-02T03:04:05.678Z", 1735787045.678),
        ("2025-01-02 03:04:05", 1735787045.0),
        ("2025-01-02T05:04:05+02:00", 1735787045.0),
        ("2025-01-02", 1735776000.0),
        (1735787045, 1735787045.0),
        (1735787045678, 1735787045.678),
        (1735787045678000, 1735787045.678),
        ("1735787045678", 1735787045.678),
        (0, 0.0),
        ("(datetime('now'))", None),
        ("", None),
        ("yesterday", None),
        (True, None),
        (None, None),
        ([], None),
        (10**30, None),
        (math.nan, None),
    ],
)
def test_times_are_read_in_every_spelling(value: Any, meant: float | None) -> None:
    assert foreign_values.moment(value) == meant


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("oauth, jwt,,refresh ", ("oauth", "jwt", "refresh")),
        ('["oauth","jwt"]', ("oauth", "jwt")),
        (["oauth", "jwt", "oauth", 7, ""], ("oauth", "jwt")),
        ("[not json", ("[not json",)),
        (None, ()),
        (7, ()),
        ("x" * 65, ()),
        (",".join(map(str, range(30))), tuple(map(str, range(20)))),
    ],
)
def test_tags_are_a_list_or_a_text_with_commas(value: Any, meant: tuple[str, ...]) -> None:
    assert foreign_values.tags(value) == meant


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({"metadata": {"confidence_score": 85}}, 0.85),
        ({"metadata": {"confidence_score": 100}, "confidence": 0.1}, 1.0),
        ({"metadata": {"confidence_score": 0}}, 0.0),
        ({"metadata": {"confidence_score": 1}}, 0.01),
        ({"metadata": {"confidence_score": 250}}, 1.0),
        ({"metadata": {"confidence_score": -3}}, 0.0),
        ({"metadata": {"confidence_score": "87.5"}}, 0.875),
        ({"metadata": {"confidence_score": "high"}, "confidence": 0.9}, 0.9),
        ({"confidence": 0.33}, 0.33),
        ({"confidence": 40}, 0.4),
        ({}, 0.7),
    ],
)
def test_the_lanes_confidence_of_a_hundred_becomes_one_of_one(fields: dict[str, Any], meant: float) -> None:
    assert lane.from_line({"information": TEXT, **fields}).confidence == pytest.approx(meant)


@given(st.integers(0, 100))
def test_a_confidence_goes_out_as_it_came(score: int) -> None:
    memory = lane.from_line({"id": "a", "information": TEXT, "metadata": {"confidence_score": score}})
    assert lane.to_line(memory)["metadata"] == {"confidence_score": score}
    assert lane.to_line(a_memory(confidence=score / 100))["metadata"]["confidence_score"] == score


@pytest.mark.parametrize("kind", [*KINDS, "mood", None, 7])
def test_the_ten_kinds_are_the_types_of_the_lane(kind: Any) -> None:
    row = {"id": "a", "content": TEXT, "metadata": json.dumps({"memory_type": kind})}
    memory = lane.from_row(row)
    assert memory.kind == (kind if kind in KINDS else "learning")
    assert json.loads(lane.to_row(memory)["metadata"]) == {"memory_type": kind}


# Into a memory


def test_a_line_of_the_lane_becomes_a_memory() -> None:
    memory = lane.from_line(LANE_LINE)
    assert replace(memory, extra={}) == Memory(
        id="mem_m5g2k1_abc1234",
        text=TEXT,
        kind="correction",
        tags=("jwt", "oauth", "race-conditions", "refresh"),
        entities=("feature:auth", "project:shop"),
        trust=1,
        source="import",
        confidence=0.85,
        created_at=1735787045.678,
        updated_at=1735787045.678,
        last_accessed_at=1738368000.0,
        access_count=4,
        feedback_score=1.21,
        feedback_count=2,
        supersedes=("mem_old_1",),
    )


def test_a_row_of_the_lane_becomes_a_memory() -> None:
    memory = lane.from_row(LANE_ROW)
    assert (memory.access_count, memory.category, memory.status) == (7, "preference", "candidate")
    assert (memory.created_at, memory.updated_at) == (1735787045.0, 1735862400.0)
    assert (memory.valid_from, memory.last_accessed_at) == (1735776000.0, 1738540800.0)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"status": "active"}, "candidate"),
        ({"status": None}, "candidate"),
        ({"status": "superseded"}, "superseded"),
        ({"superseded_by": "mem_b"}, "superseded"),
        ({"superseded_by": "not an id"}, "candidate"),
        ({"status": "archived"}, "archived"),
        ({"status": "odd"}, "candidate"),
    ],
)
def test_what_was_superseded_comes_so(fields: dict[str, Any], status: str) -> None:
    assert lane.from_row({"id": "a", "content": TEXT, **fields}).status == status


def test_a_row_of_agent_swarm_becomes_a_memory() -> None:
    memory = agent_swarm.from_row({**SWARM_ROW, **LATER})
    assert replace(memory, extra={}) == Memory(
        id=SWARM_ROW["id"],
        text=SWARM_ROW["content"],
        title="auth-header-fix",
        category="best-practice",
        tags=("auth", "best-practice"),
        tier="agent",
        owner="worker-1",
        trust=1,
        source="file_index",
        source_ref={
            "task": "task-9",
            "path": "/workspace/personal/memory/auth-header-fix.md",
            "chunk": 1,
            "chunks": 3,
        },
        created_at=1746093600.0,
        updated_at=1746266400.0,
        last_accessed_at=1746180000.0,
        access_count=5,
        expires_at=1748685600.0,
    )


def test_nulls_of_agent_swarm_are_nothing() -> None:
    row = dict.fromkeys((*SWARM_ROW, *LATER)) | {"id": "a", "scope": "swarm", "content": TEXT, "source": "manual"}
    memory = agent_swarm.from_row(row)
    assert (memory.owner, memory.title, memory.tags, memory.expires_at, memory.access_count) == ("", "", (), None, 0)
    assert memory.source_ref == {}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"content": " "}, "no content"),
        ({"content": None}, "no content"),
        ({"content": 7}, "no content"),
        ({"scope": "world"}, "unknown scope: world"),
        ({"agentId": None}, "a private memory without an agentId"),
    ],
)
def test_a_row_that_is_no_memory_says_why(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(BadLine) as raised:
        agent_swarm.from_row({**SWARM_ROW, **fields})
    assert raised.value.reason == why


def test_a_record_of_mem0_becomes_a_memory() -> None:
    memory = mem0.from_object(MEM0)
    assert replace(memory, extra={}) == Memory(
        id=MEM0["id"],
        text="Alex prefers pytest over unittest",
        category="testing",
        tags=("preferences", "testing"),
        owner="coder",
        trust=1,
        source="import",
        source_ref={"session": "run-7"},
        confidence=0.8,
        created_at=1719860400.0,
        updated_at=1719921600.0,
        expires_at=1893456000.0,
    )


def test_the_graph_of_a_record_of_mem0_comes_with_it() -> None:
    entities = [{"id": "e1", "name": "Alex", "type": "person"}, {"id": "e2", "name": "Lisbon", "type": "location"}]
    relations = [{"source": "e1", "target": "e2", "relationship": "lives_in"}]
    memory = mem0.from_object({**MEM0, "entities": entities, "relations": relations})
    assert memory.extra["graph"]["relations"] == [{"source": "Alex", "target": "Lisbon", "type": "lives_in"}]
    assert mem0.to_object(memory) == {**MEM0, "entities": entities, "relations": relations}


def test_observations_and_relations_become_sentences_that_stand_alone() -> None:
    entity = {"type": "entity", "name": "John_Smith", "entityType": "person", "observations": ["Speaks Spanish"]}
    bare = {"type": "entity", "name": "Acme", "entityType": "company", "observations": []}
    relation = {"type": "relation", "from": "John_Smith", "to": "Acme", "relationType": "works_at"}
    told = [memory.text for obj in (entity, bare, relation) for memory in mcp_memory.from_object(obj)]
    assert told == ["John_Smith: Speaks Spanish", "Acme is of the type company", "John_Smith works at Acme"]
    (named,) = mcp_memory.from_object({**entity, "observations": ["John_Smith speaks Spanish"]})
    assert named.text == "John_Smith speaks Spanish"


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        ({"type": "thing"}, "neither an entity nor a relation"),
        ({"type": "entity", "name": "", "entityType": "x"}, "no name"),
        ({"type": "entity", "name": "a", "entityType": "x", "observations": "b"}, "observations are no list of texts"),
        ({"type": "relation", "from": "a", "to": 7, "relationType": "x"}, "no to"),
    ],
)
def test_a_line_of_the_graph_that_is_none_says_why(obj: dict[str, Any], why: str) -> None:
    with pytest.raises(BadLine) as raised:
        mcp_memory.from_object(obj)
    assert raised.value.reason == why


# There and back

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)
scalars = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | words
)
nested = scalars | st.lists(scalars, max_size=3) | st.dictionaries(words, scalars, max_size=3)
times = st.sampled_from(["2025-01-02T03:04:05.678Z", "2025-01-02 03:04:05", 1735787045, "soon", None])
metadata = st.fixed_dictionaries(
    {},
    optional={
        "lane_version": words,
        "memory_type": st.sampled_from(KINDS) | scalars,
        "entity_slugs": st.lists(st.sampled_from(["feature:auth", "Feature:X", "odd"]) | words, max_size=3) | scalars,
        "confidence_score": st.integers(-5, 105) | scalars,
        "feedback_score": st.floats(0, 50) | scalars,
        "feedback_count": st.integers(0, 9) | scalars,
        "valid_until": times,
        "superseded_by": st.sampled_from(["mem_b", "no id", None]),
        "supersedes": st.lists(words, max_size=2) | scalars,
        "access_count": st.integers(0, 9) | scalars,
        "tags": st.lists(words, max_size=3) | scalars,
        "whatever": nested,
    },
)
columns = {
    "tags": st.sampled_from(["a,b", '["b","a"]', "[]", "", None]) | scalars,
    "decay_factor": scalars,
    "collection": words,
    "valid_from": times,
    "valid_until": times,
    "superseded_by": st.sampled_from(["mem_b", None]),
    "auto_tags": scalars,
    "keywords": scalars,
    "updated_at": times,
    "access_count": st.sampled_from(["3", 3, "x", None]),
    "last_accessed": times,
    "category": st.sampled_from(["testing", "milestone", None]),
    "status": st.sampled_from(["active", "superseded", "archived", "odd", None]),
    "confidence": scalars,
    "unheard_of": scalars,
}


lane_fields = st.fixed_dictionaries({"metadata": metadata | words | st.none(), "created_at": times}, optional=columns)


@settings(max_examples=examples(150))
@given(lane_fields)
def test_a_row_of_the_lane_goes_round_unchanged(fields: dict[str, Any]) -> None:
    told = fields["metadata"]
    row = {"id": "mem_a", "content": TEXT, **fields, "metadata": json.dumps(told) if isinstance(told, dict) else told}
    back = lane.to_row(lane.from_row(row))
    needed = {name for name in ("created_at", "updated_at") if row.get(name) is None}
    assert _without(_read(back), needed) == _without(_read(row), needed)
    assert all(back[name] is not None for name in needed)


@settings(max_examples=examples(150))
@given(
    st.fixed_dictionaries(
        {"created_at": times}, optional={"metadata": metadata | scalars, "tags": scalars, "more": nested}
    )
)
def test_a_line_of_the_lane_goes_round_unchanged(fields: dict[str, Any]) -> None:
    line = {"id": "mem_a", "information": TEXT, **fields}
    back = lane.to_line(lane.from_line(line))
    assert _read(back) == _read(line)


swarm_fields = st.fixed_dictionaries(
    {"scope": st.sampled_from(["agent", "swarm"]), "agentId": st.sampled_from(["w1", "w2"])},
    optional={
        "name": words.map(lambda word: word.strip() or "n"),
        "summary": words | st.none(),
        "source": st.sampled_from(agent_swarm.SOURCES),
        "sourceTaskId": words | st.none(),
        "sourcePath": words | st.none(),
        "chunkIndex": st.integers(0, 5) | st.none(),
        "totalChunks": st.integers(0, 5) | st.none(),
        "tags": st.sampled_from(["[]", '["b","a"]', "a,b", None]),
        "createdAt": times,
        "accessedAt": times,
        "expiresAt": times,
        "accessCount": st.integers(0, 9) | st.none(),
        **{name: scalars for name in LATER if name != "updatedAt"},
        "updatedAt": times,
        "another": scalars,
    },
)


@settings(max_examples=examples(150))
@given(swarm_fields)
def test_a_row_of_agent_swarm_goes_round_unchanged(fields: dict[str, Any]) -> None:
    row = {"id": "a1", "content": TEXT, **fields}
    back = agent_swarm.to_row(agent_swarm.from_row(row))
    needed = {name for name in ("name", "source", "createdAt", "accessedAt") if row.get(name) is None}
    assert _without(back, needed) == _without(row, needed) | {"embedding": None, "embeddingModel": None}
    assert all(back[name] is not None for name in needed)


mem0_fields = st.fixed_dictionaries(
    {},
    optional={
        "hash": words,
        "metadata": st.dictionaries(words.filter(bool), nested, max_size=4) | st.none(),
        "user_id": words | st.none(),
        "agent_id": words | st.none(),
        "run_id": words | st.none(),
        "app_id": words | st.none(),
        "categories": st.lists(words, max_size=3) | st.none(),
        "created_at": times,
        "updated_at": times,
        "expiration_date": st.sampled_from(["2030-01-01", "2030-01-01T10:00:00Z", None]),
        "score": st.floats(0, 1),
        "immutable": st.booleans(),
        "structured_attributes": nested,
    },
)


@settings(max_examples=examples(150))
@given(mem0_fields)
def test_a_record_of_mem0_goes_round_unchanged(fields: dict[str, Any]) -> None:
    record = {"id": "m1", "memory": TEXT, **fields}
    back = mem0.to_object(mem0.from_object(record))
    if not record.get("metadata"):  # none, and none in it, are the same
        back.pop("metadata", None)
        record.pop("metadata", None)
    assert back == record


names = words.map(lambda word: word.strip() or "x")
entities = st.lists(
    st.tuples(names, names, st.lists(names, max_size=3, unique_by=lambda word: " ".join(word.split()))),
    max_size=4,
    unique_by=lambda entity: " ".join(entity[0].split()),
)


@settings(max_examples=examples(150))
@given(entities, st.lists(st.tuples(names, names, names), max_size=3, unique=True))
def test_a_graph_goes_round_unchanged(said: list[Any], related: list[Any]) -> None:
    objects = [{"type": "entity", "name": n, "entityType": t, "observations": o} for n, t, o in said]
    objects += [{"type": "relation", "from": a, "to": b, "relationType": k} for a, b, k in related]
    memories = [memory for number, obj in enumerate(objects) for memory in mcp_memory.from_object(obj, number)]
    assert list(mcp_memory.to_objects(reversed(memories), "shop")) == objects


@settings(max_examples=examples(150))
@given(
    st.builds(
        a_memory,
        st.just(TEXT),
        id=st.just("x1"),
        kind=st.sampled_from(KINDS),
        category=st.sampled_from(["other", "testing"]),
        tags=st.sampled_from([(), ("a", "b")]),
        entities=st.sampled_from([(), ("feature:auth",)]),
        confidence=st.floats(0, 1).map(lambda x: round(x, 3)),
        created_at=st.integers(0, 2**31).map(float),
        access_count=st.integers(0, 99),
        feedback_score=st.floats(0, 9),
        feedback_count=st.integers(0, 9),
        valid_until=st.none() | st.integers(1, 2**31).map(float),
        expires_at=st.none() | st.integers(1, 2**31).map(float),
        last_accessed_at=st.none() | st.integers(1, 2**31).map(float),
    )
)
def test_a_memory_of_ours_comes_back_from_every_program(memory: Memory) -> None:
    same = ("id", "text", "tags", "created_at", "updated_at")
    lanes = (*same, "kind", "entities", "confidence", "access_count", "feedback_score", "feedback_count", "valid_until")
    for back, told in (
        (lane.from_line(lane.to_line(memory)), tuple(name for name in lanes if name != "updated_at")),
        (lane.from_row(lane.to_row(memory)), (*lanes, "category", "last_accessed_at")),
        (agent_swarm.from_row(agent_swarm.to_row(memory)), (*same, "owner", "tier", "expires_at", "access_count")),
        (mem0.from_object(mem0.to_object(memory)), (*same, "kind", "category", "entities", "confidence", "expires_at")),
    ):
        assert {name: getattr(back, name) for name in told} == {name: getattr(memory, name) for name in told}


def _without(row: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _read(row: dict[str, Any]) -> dict[str, Any]:
    """A record with its metadata read: spaces in JSON say nothing."""
    told = row.get("metadata")
    if isinstance(told, str):
        try:
            told = json.loads(told)
        except ValueError:
            return row
        return {**row, "metadata": told if isinstance(told, dict) and told else None}
    return {**row, "metadata": told or None} if isinstance(told, dict) or "metadata" not in row else row


# What was changed here goes out changed


def test_what_was_changed_here_goes_out_changed_and_the_rest_as_it_was() -> None:
    memory = replace(lane.from_row(LANE_ROW), confidence=0.5, updated_at=NOW, kind="gap")
    row = lane.to_row(memory)
    told = json.loads(row["metadata"])
    assert (told["confidence_score"], told["memory_type"], told["source_chunk"]) == (
        50,
        "gap",
        METADATA["source_chunk"],
    )
    assert (row["updated_at"], row["created_at"], row["collection"]) == (iso(NOW), "2025-01-02 03:04:05", "default")


def test_what_was_said_of_a_text_does_not_go_with_another() -> None:
    memory = agent_swarm.from_row({**SWARM_ROW, **LATER, "summary": "Bearer"})
    same, other = agent_swarm.to_row(memory), agent_swarm.to_row(replace(memory, text="Use the prefix Bearer"))
    assert (same["contentHash"], same["summary"], same["key"]) == ("abc", "Bearer", "auth/header")
    assert (other.get("contentHash"), other["summary"], other["key"]) == (None, None, "auth/header")
    changed = mem0.to_object(replace(mem0.from_object(MEM0), text="Alex prefers nose over unittest"))
    assert changed["hash"] != MEM0["hash"]


def test_what_came_in_one_form_of_the_lane_goes_out_in_the_other() -> None:
    row = lane.to_row(lane.from_line(LANE_LINE))
    assert (row["content"], row["created_at"], row["access_count"]) == (TEXT, "2025-01-02T03:04:05.678Z", "4")
    assert json.loads(row["metadata"])["source_chunk"] == METADATA["source_chunk"]
    line = lane.to_line(lane.from_row(LANE_ROW))
    assert (line["information"], line["tags"]) == (TEXT, "jwt,oauth")
    assert line["metadata"]["decay_factor"] == 0.8


def test_a_reworded_observation_goes_out_reworded_and_a_reworded_relation_as_one() -> None:
    entity = {"type": "entity", "name": "db", "entityType": "service", "observations": ["listens on port 5432"]}
    relation = {"type": "relation", "from": "db", "to": "api", "relationType": "serves"}
    (seen,), (related,) = mcp_memory.from_object(entity), mcp_memory.from_object(relation, 1)
    told = list(mcp_memory.to_objects([replace(seen, text="db: listens on port 5433"), related], "shop"))
    assert told[0]["observations"] == ["db: listens on port 5433"]
    told = list(mcp_memory.to_objects([replace(related, text="db serves the api only")], "shop"))
    assert told[0] == {
        "type": "entity",
        "name": "shop",
        "entityType": "project",
        "observations": ["db serves the api only"],
    }
    assert told[1:] == [
        {"type": "entity", "name": "db", "entityType": "concept", "observations": []},
        {"type": "entity", "name": "api", "entityType": "concept", "observations": []},
        relation,
    ]


def test_entities_go_out_under_the_ids_they_came_with() -> None:
    graph = {
        "entities": [{"name": "OAuth", "type": "technology", "id": "e1", "role": "subject", "pref_label": "OAuth 2"}],
        "relations": [
            {"source": "OAuth", "target": "JWT", "type": "uses", "id": "r1", "source_id": "e1", "confidence": 0.9}
        ],
    }
    made = EntityRows()
    rows = list(made.of(a_memory(id="m1", extra={"graph": graph})))
    assert [table for table, _ in rows] == ["entities", "memory_entities", "entities", "relationships"]
    assert (rows[0][1]["id"], rows[0][1]["pref_label"]) == ("e1", "OAuth 2")
    assert rows[1][1] == {"memory_id": "m1", "entity_id": "e1", "role": "subject"}
    assert (rows[3][1]["id"], rows[3][1]["subject_id"], rows[3][1]["confidence"]) == ("r1", "e1", 0.9)
    other = {"entities": [{"name": "OAuth", "type": "technology"}, {"name": "Vue", "type": "technology", "id": "e1"}]}
    again = [row for _, row in made.of(a_memory(id="m2", extra={"graph": other}))]
    assert (again[0]["entity_id"], again[1]["name"]) == ("e1", "Vue")
    assert again[1]["id"] == again[2]["entity_id"] != "e1"


# Documents


def records(text: str | bytes, *lists: str) -> list[Any]:
    data = text if isinstance(text, bytes) else text.encode()
    found: list[Any] = []
    try:
        for name, value in Document(io.BytesIO(data)).records(lists):
            found.append((name, value.reason if isinstance(value, BadLine) else value))
    except BadLine as problem:
        found.append(problem.reason)
    return found


@settings(max_examples=examples(150))
@given(st.lists(nested, max_size=5), st.sampled_from([None, 1]), st.sampled_from([0, 65_530, 65_536, 90_000]))
def test_a_document_gives_its_records_however_it_is_cut(items: list[Any], indent: int | None, pad: int) -> None:
    document = json.dumps({"note": "x" * pad, "results": items, "count": len(items)}, indent=indent)
    assert records(document, "results") == [("results", item) for item in items]
    assert records(" " * pad + json.dumps(items, ensure_ascii=False)) == [("", item) for item in items]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["not JSON: neither a list nor an object"]),
        ("7", ["not JSON: neither a list nor an object"]),
        ("[1, 2", [("", 1), ("", 2), "not JSON: it ends too early"]),
        ("[1] 2", [("", 1), "more text behind the end of the document"]),
        ("[1, nope, 3]", [("", 1), "not JSON from here on: expecting value"]),
        ('[{"a":1,"a":2}, 3]', [("", "the same key twice"), ("", 3)]),
        ('["\\ud800", 3]', [("", "holds half a character (a lone surrogate)"), ("", 3)]),
        ("[" * 40 + "]" * 40, [("", "nested too deeply")]),
        ("[" * 100_000, ["nested too deeply"]),
        ('{"a" 1}', ["not JSON from here on: a colon is missing"]),
        (b"[1, \xff]", [("", 1), "not UTF-8 from here on"]),
    ],
)
def test_a_document_that_is_none_says_from_where(text: str | bytes, found: list[Any]) -> None:
    assert records(text) == found


def test_a_value_that_never_ends_is_given_up() -> None:
    assert records('["' + "x" * 3_000_000) == ["a value that is too long, or not JSON from here on"]
