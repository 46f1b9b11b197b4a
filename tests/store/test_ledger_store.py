"""Ledgers and imports over every engine of the store."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ALICE, BOB, LEAD, NOW, OTHER, a_memory, an_operation, new_id
from swarmlore.config import Settings
from swarmlore.domain.language.similarity import normalize
from swarmlore.domain.records import Caller, Rejection
from swarmlore.exchange.import_files import Importer, export_lines
from swarmlore.exchange.ledger import Ledger
from swarmlore.exchange.ledger_files import Place
from swarmlore.memory.quarantine import Retraction, matching
from swarmlore.store.database import Operation
from swarmlore.store.ledgers import ImportState, KnownLine, LedgerState
from swarmlore.store.store import Store

PNPM = "Use pnpm here, the lockfile of npm is not read"
PORT = "The database of the tests listens on port 5433"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / ".swarm"
    folder.mkdir()
    return Place("here", str(folder), "knowledge", "swarm", "alpha")


def ledger(store: Store, place: Place, caller: Caller = ALICE) -> Ledger:
    ticks = itertools.count(1)

    def operation(who: Caller, verb: str) -> Operation:
        return Operation(new_id(), NOW + 1000 + next(ticks), who, verb)

    return Ledger(store, caller, Settings(), place, operation)


def lines(place: Place) -> list[dict[str, object]]:
    return [json.loads(line) for line in (Path(place.folder) / place.main).read_bytes().splitlines()]


def test_what_is_known_of_a_ledger_comes_back(store: Store) -> None:
    store.act_for(ALICE)
    assert store.ledger_state("here") is None
    store.put_ledger_state("here", ALICE.project, LedgerState(7, "stamp", "", NOW))
    store.put_ledger_state("here", ALICE.project, LedgerState(8, "stamp 2", "a problem", NOW))
    with store.engine.writing():
        store.put_ledger_lines("here", ALICE.project, [KnownLine("a", "h1", 1.0), KnownLine("b", "h2", 2.0, "{}")])
        store.put_ledger_lines("here", ALICE.project, [KnownLine("a", "h3", 1.5)])
    assert store.ledger_state("here") == LedgerState(8, "stamp 2", "a problem", NOW)
    assert store.ledger_lines("here") == {"a": KnownLine("a", "h3", 1.5), "b": KnownLine("b", "h2", 2.0, "{}")}
    store.drop_ledger("here")
    assert (store.ledger_state("here"), store.ledger_lines("here")) == (None, {})


def test_how_far_an_import_has_come_comes_back(store: Store) -> None:
    with store.operation(an_operation()):
        store.put_import(ALICE, "file", ImportState(10, 2, {"added": 1}), NOW)
        store.put_import(ALICE, "file", ImportState(20, 4, {"added": 3}), NOW)
    found = store.import_state(ALICE, "file")
    assert (found.position, found.line, found.counts) == (20, 4, {"added": 3}) if found else False
    store.drop_import(ALICE, "file")
    assert store.import_state(ALICE, "file") is None


def test_memories_come_by_birth_and_id(store: Store) -> None:
    born = [(3.0, "c"), (1.0, "b"), (1.0, "a"), (2.0, "d")]
    with store.operation(an_operation()) as operation:
        for at, id in born:
            store.put(operation, a_memory(f"Text of {id} at {at}", id=id, created_at=at))
    found = store.in_order(store.visible(ALICE, ("swarm",)))
    assert [memory.id for memory in found] == [id for _, id in sorted(born)]


def test_memories_by_their_ids_are_those_of_the_asked_partitions(store: Store) -> None:
    with store.operation(an_operation(BOB)) as operation:
        private = store.put(operation, a_memory(PORT, BOB, tier="agent"))
        shared = store.put(operation, a_memory(PNPM, BOB))
    ids = [private.id, shared.id]
    assert store.by_ids(store.visible(ALICE), ids) == {shared.id: shared}
    assert set(store.by_ids(store.visible(BOB), ids)) == set(ids)


def test_a_retraction_that_names_what_is_private_to_another_is_nothing(store: Store) -> None:
    with store.operation(an_operation(BOB)) as operation:
        private = store.put(operation, a_memory(PORT, BOB, tier="agent"))
    told = Retraction(PORT, normalize(PORT), NOW, "user", (private.id,), ())
    assert matching(store, LEAD, told) == []


@pytest.mark.parametrize("field", ["owner", "key", "superseded_by", "unheard_of"])
def test_a_line_with_a_character_that_no_server_can_hold_is_set_aside(store: Store, place: Place, field: str) -> None:
    rows = [{"id": "x1", "lesson": PNPM, field: "a\0b"}, {"id": "x2", "lesson": PORT}]
    (Path(place.folder) / place.main).write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = ledger(store, place).sync()
    assert [(item.line, item.reason) for item in report.set_aside] == [(1, "holds NUL characters")]
    assert report.added == 1


def test_a_refused_text_is_listed_whatever_its_characters(store: Store) -> None:
    store.reject(ALICE, "swarm", Rejection("r1", "a\0b", "no\0", 2, NOW))
    (listed,) = store.rejections(ALICE)
    assert (listed.text, listed.reason) == ("a\ufffdb", "no\ufffd")


def test_an_id_of_others_is_refused_whatever_the_engine_lets_one_see(store: Store, place: Place) -> None:
    with store.operation(an_operation(OTHER)) as operation:
        theirs = store.put(operation, a_memory(PNPM, OTHER))
    with store.operation(an_operation(BOB)) as operation:
        private = store.put(operation, a_memory(PORT, BOB, tier="agent"))
    attack = [{"id": id, "lesson": "Words that were put there by somebody"} for id in (theirs.id, private.id)]
    (Path(place.folder) / place.main).write_text("".join(json.dumps(row) + "\n" for row in attack))
    report = ledger(store, place).sync()
    assert [item.line for item in report.set_aside] == [1, 2]
    assert store.get(OTHER, theirs.id) == theirs
    assert store.get(BOB, private.id) == private


def test_a_ledger_is_kept_in_step_both_ways(store: Store, place: Place) -> None:
    with store.operation(an_operation()) as operation:
        mine = store.put(operation, a_memory(PNPM))
        erased = store.put(operation, a_memory("A text that will be erased in a moment"))
    book = ledger(store, place)
    assert book.sync().lines == 2
    path = Path(place.folder) / place.main
    path.write_bytes(path.read_bytes() + json.dumps({"id": "x1", "lesson": PORT, "trust": 3}).encode() + b"\n")
    assert book.follow() is not None
    arrived = store.get(ALICE, "x1")
    assert arrived is not None
    assert (arrived.text, arrived.trust) == (PORT, 1)
    with store.operation(an_operation(at=NOW + 50)) as operation:
        store.forget(operation, mine)
        store.erase(operation, erased)
    assert book.follow(changed=True) is not None
    by_id = {str(line["id"]): line for line in lines(place)}
    assert set(by_id) == {mine.id, erased.id, "x1"}
    assert "lesson" not in by_id[mine.id]
    assert set(by_id[erased.id]) == {"id", "status", "deleted_at", "erased"}
    assert book.follow(changed=True) is None
    assert not book.sync().written


def test_rows_that_came_in_are_not_settled_again(store: Store, place: Place) -> None:
    (Path(place.folder) / place.main).write_text(json.dumps({"id": "x1", "lesson": PORT}) + "\n")
    ledger(store, place).sync()
    with store.operation(an_operation()) as operation:
        own = store.put(operation, a_memory(PNPM))
        for id in ("x1", own.id):
            store.settle_later(int(store.ask("seq_of", id=id)[0][0]))
    assert [row[0] for row in store.pending("settle", 9)] == [int(store.ask("seq_of", id=own.id)[0][0])]


def test_an_import_and_an_export_give_the_same_bytes(
    store: Store, tmp_path: Path, open_store: Callable[[], Store]
) -> None:
    rows = [{"id": f"r{n}", "lesson": f"Service {n * 31} listens on port {n + 2000}", "trust": 2} for n in range(450)]
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({**row, "created_at": "2026-01-01T00:00:00.000Z"}) + "\n" for row in rows))
    importing = Importer(store, ALICE, Settings(), "alpha")
    assert importing.run(str(path), "knowledge", an_operation()).added == 450
    told = b"".join(export_lines(store, ALICE, "alpha", "knowledge"))
    path.write_bytes(told)
    again = importing.run(str(path), "knowledge", an_operation())
    assert (again.added, again.known) == (0, 450)
    assert b"".join(export_lines(open_store(), ALICE, "alpha", "knowledge")) == told
    assert b"".join(export_lines(store, OTHER, "beta", "knowledge")) == b""
