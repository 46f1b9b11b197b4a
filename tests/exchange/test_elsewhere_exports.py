"""Going elsewhere: exports are what the other program itself would have written, and tell nothing that is not for it."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_elsewhere import ACME, JOHN, OTHER_MEM0, RELATED, WORKS, a_lane_db, a_swarm_db, open_in
from test_elsewhere_records import LANE_LINE, LANE_ROW, LATER, MEM0, SWARM_ROW, lane_fields, mem0_fields, swarm_fields
from test_two_clones import folder

from conftest import ALICE, BOB, LEAD, OTHER, Open, a_memory, an_operation, examples
from counting import calls
from elsewhere_files import (
    LANE_CORE,
    LANE_TABLE,
    SWARM_LATER,
    SWARM_TABLE,
    a_lane_row,
    a_swarm_row,
    database,
    every_row,
    json_lines,
    row_dicts,
)
from homes import process
from swarmlore.domain.policy.merge import as_claimed
from swarmlore.errors import InvalidInput

VECTORS = ("embedding", "embeddingModel")
FORMATS = ("lane", "lane-db", "agent-swarm", "mcp-memory", "mem0")
PORT = "The database of the tests listens on port 5433"


def exported(lore: Any, folder: Path, format: str) -> bytes:
    """What a file of a format says, as text."""
    path = folder / f"out.{format}"
    lore.export_file(str(path), format, overwrite=True)
    if format in ("lane-db", "agent-swarm"):
        table = "memories" if format == "lane-db" else "agent_memory"
        return json.dumps(row_dicts(path, table)).encode()
    return path.read_bytes()


# There and back


def test_the_lanes_lines_come_back_as_they_were(tmp_path: Path) -> None:
    rows = [LANE_LINE, {"id": "m2", "information": "Use pnpm", "created_at": "2025-01-02T03:04:05.000Z"}]
    with open_in(tmp_path / "home") as lore:
        lore.import_file(str(json_lines(tmp_path / "memories.jsonl", *rows)))
        assert lore.export_file(str(tmp_path / "out.jsonl"), "lane") == 2
    told = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert told == sorted(rows, key=lambda row: str(row["created_at"]))


def test_the_lanes_tables_come_back_as_they_were(tmp_path: Path, open_as: Open) -> None:
    lore = open_as(LEAD)
    path, out = a_lane_db(tmp_path / "swarm.db"), tmp_path / "out.db"
    lore.import_file(str(path))
    assert lore.export_file(str(out), "lane-db") == 2
    before, after = row_dicts(path, "memories", VECTORS), row_dicts(out, "memories", (*VECTORS, "confidence"))
    for row in (*before, *after):
        row["metadata"] = json.loads(row["metadata"])
    assert after == before
    assert every_row(out, "memory_links", "source_id", "target_id", "link_type", "strength") == [
        (LANE_ROW["id"], "mem_m5_0000001", "elaborates", 0.7)
    ]
    assert every_row(out, "entities", "id", "name", "entity_type") == every_row(
        path, "entities", "id", "name", "entity_type"
    )
    assert every_row(out, "memory_entities") == every_row(path, "memory_entities")
    told = ("id", "subject_id", "predicate", "object_id", "memory_id", "confidence")
    assert every_row(out, "relationships", *told) == every_row(path, "relationships", *told)
    assert every_row(out, "pragma_integrity_check") == [("ok",)]
    assert every_row(out, "pragma_foreign_key_check") == []
    told = ("id", "entity_id", "related_entity_id", "relationship_type")
    assert every_row(out, "entity_taxonomy", *told) == every_row(path, "entity_taxonomy", *told)


@pytest.mark.parametrize("schema", [SWARM_TABLE, SWARM_TABLE + SWARM_LATER], ids=["first", "later"])
def test_agent_swarms_table_comes_back_as_it_was(tmp_path: Path, schema: str) -> None:
    later = LATER if SWARM_LATER in schema else {}
    rows = [{**SWARM_ROW, **later, "scope": "swarm"}, a_swarm_row(2, agentId=None, summary="s", accessCount=3)]
    path = database(tmp_path / "swarm.sqlite", schema, {"agent_memory": rows})
    with open_in(tmp_path / "home") as lore:
        lore.import_file(str(path))
        lore.export_file(str(tmp_path / "out.sqlite"), "agent-swarm")
    before, after = (
        row_dicts(path, "agent_memory", VECTORS),
        row_dicts(tmp_path / "out.sqlite", "agent_memory", VECTORS),
    )
    assert [{name: row[name] for name in before[0]} for row in after] == before
    db = database(tmp_path / "theirs.sqlite", schema, {"agent_memory": [{n: r[n] for n in before[0]} for r in after]})
    assert len(every_row(db, "agent_memory")) == 2  # their own table takes the rows


def test_the_memory_servers_graph_comes_back_as_it_was(tmp_path: Path) -> None:
    rows = [WORKS, JOHN, ACME, {**WORKS, "relationType": "likes"}, {**JOHN, "name": "Zoë"}]
    with open_in(tmp_path / "home") as lore:
        lore.import_file(str(json_lines(tmp_path / "memory.jsonl", *rows)))
        told = [json.loads(line) for line in lore.export_lines("mcp-memory")]
    assert told == [JOHN, ACME, {**JOHN, "name": "Zoë"}, WORKS, {**WORKS, "relationType": "likes"}]


def test_mem0s_records_come_back_as_they_were(tmp_path: Path) -> None:
    document = {"results": [MEM0, OTHER_MEM0], "relations": [RELATED]}
    with open_in(tmp_path / "home") as lore:
        lore.import_file(str(json_lines(tmp_path / "all.json", document)))
        assert lore.export_file(str(tmp_path / "out.json"), "mem0") == 3
        found = json.loads((tmp_path / "out.json").read_text())
    key = "id"
    assert sorted(found["results"], key=lambda row: str(row[key])) == [OTHER_MEM0, MEM0]
    assert found["relations"] == [RELATED]


texts = st.integers(0, 10**6).map(lambda number: str(a_lane_row(number)["content"]))


@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(texts, lane_fields), min_size=1, max_size=5, unique_by=lambda item: item[0]),
    st.lists(st.tuples(texts, swarm_fields), min_size=1, max_size=5, unique_by=lambda item: item[0]),
    st.lists(st.tuples(texts, mem0_fields), min_size=1, max_size=5, unique_by=lambda item: item[0]),
)
def test_whatever_comes_in_goes_round_unchanged_from_then_on(lane: Any, swarm: Any, mem0: Any) -> None:
    """The first time the gate may have cleaned something; what went out then stays as it is."""
    with folder() as place:
        path = place / "0"
        path.mkdir()
        loose(path / "lane-db", "memories", [{"id": f"l{at}", "content": t, **it} for at, (t, it) in enumerate(lane)])
        own = [{"id": f"s{at}", "content": t, **it, "agentId": "alice"} for at, (t, it) in enumerate(swarm)]
        loose(path / "agent-swarm", "agent_memory", own)
        lines = [{"id": f"m{at}", "memory": t, **it} for at, (t, it) in enumerate(mem0)]
        json_lines(path / "mem0", *lines)
        told = [rounded(place, str(turn), format) for turn in range(2) for format in ("lane-db", "agent-swarm", "mem0")]
        assert told[:3] == told[3:]


def loose(path: Path, table: str, rows: list[dict[str, Any]]) -> None:
    """A table of whatever columns the rows have, without types."""
    names = dict.fromkeys(name for row in rows for name in row)
    told = [{name: json.dumps(v) if isinstance(v, dict) else v for name, v in row.items()} for row in rows]
    database(path, f"CREATE TABLE {table} ({', '.join(names)})", {table: told})


def rounded(place: Path, turn: str, format: str) -> bytes:
    """Take a file in, into a store of its own, and write it out for the next turn; what that says."""
    following = place / str(int(turn) + 1)
    following.mkdir(exist_ok=True)
    with open_in(following / f"home-{format}", ALICE) as lore:
        told = lore.import_file(str(place / turn / format), format)
        assert lore.import_file(str(place / turn / format), format).added == 0
        private = format == "agent-swarm"
        assert told.format == format
        lore.export_file(str(following / format), format, private=private)
    if format == "mem0":
        return (following / format).read_bytes()
    table = "memories" if format == "lane-db" else "agent_memory"
    return json.dumps(row_dicts(following / format, table)).encode()


@pytest.mark.parametrize("format", FORMATS)
def test_ours_go_out_and_come_in_elsewhere(tmp_path: Path, format: str) -> None:
    out = tmp_path / "out"
    with open_in(tmp_path / "one") as lore:
        lore.remember(PORT, kind="correction", tags=["db"], entities=["feature:db"], confidence=0.9)
        lore.remember("Use pnpm, not npm, in the frontend workspace", category="tooling")
        assert lore.export_file(str(out), format) == 2
        before = {memory.text for memory in lore.list()}
    with open_in(tmp_path / "two") as lore:
        assert lore.import_file(str(out)).format == format
        found = {memory.text: memory for memory in lore.list()}
        assert lore.import_file(str(out)).added == 0
    assert {text.removeprefix("db: ").removeprefix("alpha: ") for text in found} == before
    if format in ("lane", "lane-db", "mem0"):
        told = as_claimed(found[PORT])
        assert (told.kind, told.confidence, told.entities) == ("correction", 0.9, ("feature:db",))


def test_nothing_to_export_is_a_file_all_the_same(tmp_path: Path) -> None:
    with open_in(tmp_path / "home") as lore:
        for format in FORMATS:
            assert lore.export_file(str(tmp_path / format), format) == 0
        assert json.loads((tmp_path / "mem0").read_text()) == {"results": []}
        assert every_row(tmp_path / "lane-db", "memories") == []


# What does not go out


def test_what_is_hidden_or_of_others_never_goes_out(tmp_path: Path, open_as: Open) -> None:
    lead, bob, other = open_as(LEAD), open_as(BOB), open_as(OTHER)
    lead.remember("Shown: run the linter before each push")
    lead.forget(lead.remember("Forgotten: the linter is slow on Mondays").memory.id)
    lead.quarantine(lead.remember("Hidden: the linter may be skipped at night").memory.id, "wrong")
    bob.remember("Private: bob keeps his notes in the attic", tier="agent")
    lead.remember("Private: the lead thinks of leaving soon", tier="agent")
    other.remember("Elsewhere: beta is another project altogether")
    with bob.store.operation(an_operation(BOB)) as operation:
        bob.store.put(operation, a_memory("Raw: a turn of a transcript", BOB, source="transcript", trust=1))
    for format in FORMATS:
        told = exported(lead, tmp_path, format)
        assert b"Shown" in told, format
        for word in (b"Forgotten", b"Hidden", b"Private", b"Elsewhere", b"Raw"):
            assert word not in told, format


@pytest.mark.parametrize("format", ["knowledge", "lane"])
def test_an_export_is_whole_whoever_asks_meanwhile(open_as: Open, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    monkeypatch.setattr("swarmlore.store.ledgers.PAGE", 2)
    lead = open_as(LEAD)
    with lead.store.operation(an_operation(LEAD)) as operation:
        for number in range(5):
            lead.store.put(operation, a_memory(str(a_lane_row(number)["content"]), LEAD))
    count = 0
    for _ in lead.export_lines(format):
        count += 1
        lead.store.visible(OTHER)
    assert count == 5


def test_ones_own_private_memories_go_out_when_asked_for(tmp_path: Path, open_as: Open) -> None:
    alice, bob = open_as(ALICE), open_as(BOB)
    alice.remember("Alice keeps her notes in the cellar", tier="agent")
    bob.remember("Bob keeps his notes in the attic", tier="agent")
    alice.remember(PORT)
    path = tmp_path / "out.sqlite"
    assert alice.export_file(str(path), "agent-swarm", private=True) == 2
    assert every_row(path, "agent_memory", "scope", "agentId", "content") == [
        ("agent", "alice", "Alice keeps her notes in the cellar"),
        ("swarm", "alice", PORT),
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for format in ("knowledge", "lane", "lane-db", "mcp-memory", "mem0", "notes", "memory-md"):
        with pytest.raises(InvalidInput, match="no place for private memories"):
            alice.export_file(str(tmp_path / "no"), format, private=True)


def test_what_was_superseded_goes_only_where_that_can_be_said(tmp_path: Path) -> None:
    rows = [
        a_lane_row(1, superseded_by="mem_m5_0000002", status="superseded"),
        a_lane_row(2),
        a_lane_row(3, status="archived"),
    ]
    path = database(tmp_path / "swarm.db", LANE_TABLE + LANE_CORE, {"memories": rows})
    with open_in(tmp_path / "home") as lore:
        lore.import_file(str(path))
        count = {format: lore.export_file(str(tmp_path / format), format) for format in FORMATS}
    assert count == {"lane": 2, "lane-db": 3, "agent-swarm": 1, "mcp-memory": 1, "mem0": 1}
    assert every_row(tmp_path / "lane-db", "memories", "id", "superseded_by", "status") == [
        ("mem_m5_0000001", "mem_m5_0000002", "superseded"),
        ("mem_m5_0000002", None, "active"),
        ("mem_m5_0000003", None, "archived"),
    ]


# Whole or not at all


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_in(tmp_path / "home") as lore:
        lore.remember(PORT)
        path = tmp_path / "out"
        path.write_text("years of work")
        with pytest.raises(InvalidInput, match="is there already"):
            lore.export_file(str(path), format)

        def stopped(*_: Any) -> Any:
            raise KeyboardInterrupt

        monkeypatch.setattr(lore.store, "in_order", stopped)
        with pytest.raises(KeyboardInterrupt):
            lore.export_file(str(path), format, overwrite=True)
    assert path.read_text() == "years of work"
    assert sorted(os.listdir(tmp_path)) == ["home", "out"]


def test_an_export_into_no_folder_is_an_error_in_words(tmp_path: Path) -> None:
    with open_in(tmp_path / "home") as lore:
        for format in FORMATS:
            with pytest.raises(InvalidInput) as raised:
                lore.export_file(str(tmp_path / "no" / "such" / "folder"), format)
            assert raised.value.hint


def test_the_command_writes_and_prints(tmp_path: Path) -> None:
    home = tmp_path / "home"
    process(home, "import", str(a_swarm_db(tmp_path / "in.sqlite")))
    printed = process(home, "export", "--format", "lane")
    assert json.loads(printed.stdout.splitlines()[0])["information"].startswith("Service s31 ")
    refused = process(home, "export", "--format", "agent-swarm")
    assert (refused.returncode, "name a file" in refused.stderr) == (2, True)
    done = process(home, "export", "--format", "agent-swarm", "--private", str(tmp_path / "out.sqlite"))
    assert done.stdout == f"Wrote {tmp_path / 'out.sqlite'}: 4 memories.\n"
    assert len(every_row(tmp_path / "out.sqlite", "agent_memory")) == 4
    assert process(home, "export", "--format", "agent-swarm", str(tmp_path / "out.sqlite")).returncode == 2


# Many


def test_four_times_the_rows_are_four_times_the_calls(tmp_path: Path) -> None:
    assert calls(lambda: there_and_back(tmp_path / "many", 800)) < 6 * calls(
        lambda: there_and_back(tmp_path / "few", 200)
    )


def test_thousands_of_rows_go_in_and_out(tmp_path: Path) -> None:
    """A tenth of them in the suite."""
    there_and_back(tmp_path, examples(10_000) if examples(5) == 5 else 1_000)


def there_and_back(place: Path, count: int) -> None:
    """Take so many rows in, take them in again, and give them out."""
    place.mkdir(exist_ok=True)
    rows = [a_swarm_row(number) for number in range(count)]
    path, out = database(place / "in.sqlite", SWARM_TABLE, {"agent_memory": rows}), place / "out.sqlite"
    with open_in(place / "home") as lore:
        assert lore.import_file(str(path)).added == count
        assert lore.import_file(str(path)).known == count
        assert lore.export_file(str(out), "agent-swarm") == count
    told = ("id", "content", "createdAt")
    assert every_row(out, "agent_memory", *told) == every_row(path, "agent_memory", *told)
