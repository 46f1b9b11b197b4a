"""What only a server does: row-level security, roles, connections that break."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from conftest import ALICE, BOB, NOW, OTHER, PERSON, a_memory, an_operation
from databases import LOGIN, Proxy, Server, server
from swarmlore.domain.language.display import user_of, without_password
from swarmlore.domain.records import Caller, Link, Memory, Outcomes, Receipt, Rejection, Session, Shown, Situation
from swarmlore.errors import Conflict, StoreError, StoreLost
from swarmlore.frozen import replace
from swarmlore.lore import Lore
from swarmlore.memory.decide import add_link
from swarmlore.store import database
from swarmlore.store.database import Operation
from swarmlore.store.memories import Filter
from swarmlore.store.postgres import PostgresEngine
from swarmlore.store.store import Store

ENGINE_ONLY = {
    "sqlite": {
        *("vectors_since", "count_vectors", "vectors_in_order", "count_changed", "last_change", "newest_vector"),
        *("vectors_of", "vector_keys", "count_all_vectors", "clear_words", "clear_cue_words"),
    },
    "postgres": {
        *("seen_partitions", "index_vectors", "count_embedded", "count_pieces", "nearest_texts", "nearest_cues"),
        *("nearest_by_index", "search_widely", "cosines_of", "embedding_of", "newest_embedded", "has_vector_index"),
        *("words_miscounted", "correct_place"),
    },
}
FILLED = (
    *("partition", "memory", "situation", "shingle", "entity", "posting", "cue_posting", "place_size", "embedding"),
    *("piece_count", "piece", "pending", "link", "operation", "audit", "rejection", "session", "receipt"),
    "receipt_item",
)
OPEN_TABLES = {"migration", "meta", "clock", "project_alias"}


@pytest.fixture
def db() -> Server:
    server().empty()
    return server()


@pytest.fixture
def store(db: Server) -> Iterator[Store]:
    opened = Store.connect(db.url, NOW)
    yield opened
    opened.close()


def put(store: Store, memory: Memory, caller: Caller = ALICE) -> Memory:
    return store.perform(an_operation(caller, "remember"), lambda act: store.put(act, memory))


def fill(store: Store) -> dict[str, Memory]:
    """Something of everybody's in every table."""
    made = {}
    for name, caller, tier in (
        ("alice's", ALICE, "agent"),
        ("bob's", BOB, "agent"),
        ("alpha's", ALICE, "swarm"),
        ("beta's", OTHER, "swarm"),
        ("hive's", BOB, "hive"),
    ):
        cue = (Situation(f"a cue of {name}", "error", NOW),)
        text = f"The lesson that is {name} own"
        made[name] = put(
            store, a_memory(text, caller, tier=tier, situations=cue, entities=("feature:x",), key=name), caller
        )
        twin = put(store, a_memory(f"Another lesson, {name} too", caller, tier=tier), caller)
        act = an_operation(caller, "link")
        store.perform(act, lambda act, a=made[name], b=twin: add_link(store, act, Link(a.id, b.id, "related", NOW)))
        store.reject(
            caller, tier if tier != "hive" else "swarm", Rejection(f"no {name}", f"text {name}", "why", 2, NOW)
        )
        store.put_session(caller, Session("s", "cli", started_at=NOW))
        shown = (Shown(made[name].id, made[name].handle, 1.0, "fits"),)
        store.put_receipt(caller, Receipt(f"r {name}", NOW, caller.project, caller.agent, "s", "prompt", "cue", shown))
        made[name] = replace(made[name], outcomes=Outcomes(shown=1))
        give_vector(store, made[name])
    return made


def give_vector(store: Store, memory: Memory) -> None:
    import numpy as np

    data = np.full(384, 384**-0.5, np.float32).tobytes()
    for seq, cue in store.waiting_of(memory.id):
        text = store.text_of(seq, cue)
        assert text is not None
        ids = np.array([5, 7], "<u2").tobytes()
        row = {"text": text[0], "provider": "p", "dimension": 384, "data": data, "pieces": b"x", "piece_ids": ids}
        with store.engine.writing():
            assert store.put_vector(seq, cue, row)


def tables(db: Server) -> list[str]:
    return [name for (name,) in db.admin("SELECT tablename FROM pg_tables WHERE schemaname = 'swarmlore' ORDER BY 1")]


# Names and roles


def test_both_engines_answer_to_the_same_names():
    names = {engine: set(database.load(engine)) - ENGINE_ONLY[engine] for engine in ("sqlite", "postgres")}
    assert names["sqlite"] == names["postgres"]


def test_no_statement_stands_under_the_name_of_another():
    for path in sorted(Path(database.SQL_DIR).glob("*.sql")):
        text = path.read_text(encoding="utf-8")
        assert len(database.parse(text)) == text.count("-- name: "), path.name


def test_the_program_works_as_a_role_that_owns_nothing_and_is_bound(db: Server, store: Store):
    facts = store.engine.facts()
    assert (facts["role"], facts["role_bound"], facts["role_owns"]) == ("swarmlore_app", True, False)
    (row,) = db.admin("SELECT rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname = %s", (LOGIN,))
    assert row == (False, False, False)
    assert store.engine.check() == []


def test_every_table_with_content_is_under_forced_row_level_security(db: Server):
    forced = db.admin(
        "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'swarmlore' "
        "AND relkind = 'r' AND relrowsecurity AND relforcerowsecurity"
    )
    assert {name for (name,) in forced} == set(tables(db)) - OPEN_TABLES


# Sight


def count_all(engine: PostgresEngine, names: list[str]) -> dict[str, int]:
    """A query builder that forgets its predicate."""
    return {name: int(engine.run(f"SELECT count(*) FROM {name}")[0][0]) for name in names}


def test_without_a_caller_nothing_is_visible_in_any_table(db: Server, store: Store):
    fill(store)
    names = [name for name in tables(db) if name not in OPEN_TABLES]
    total = {name: db.admin(f"SELECT count(*) FROM {name}")[0][0] for name in names}
    assert all(total[name] for name in FILLED), total
    for nobody in (Caller(), Caller("", "alice", "person", 3), Caller("", "", "lead")):
        store.engine.act_for(nobody, ["git.example/alpha"])
        assert count_all(store.engine, names) == dict.fromkeys(names, 0)
    fresh = PostgresEngine(db.url)
    assert count_all(fresh, names) == dict.fromkeys(names, 0)
    fresh.close()


@pytest.mark.parametrize("caller", [ALICE, BOB, OTHER, PERSON, Caller("git.example/alpha")])
def test_a_query_that_forgets_its_predicate_gets_no_foreign_row(store: Store, caller: Caller):
    made = fill(store)
    mine = {
        name
        for name, memory in made.items()
        if memory.tier == "hive"
        or (memory.tier == "swarm" and memory.project == caller.project)
        or (memory.tier == "agent" and memory.owner == caller.agent)
    }
    store.act_for(caller)
    foreign = [made[name] for name in made.keys() - mine]
    seen = {row[0] for row in store.engine.run("SELECT id FROM memory")}
    assert seen >= {made[name].id for name in mine}
    assert not seen & {memory.id for memory in foreign}
    seqs = {row[0] for row in store.engine.run("SELECT seq FROM memory")}
    for table in ("situation", "shingle", "entity", "posting", "cue_posting", "embedding", "piece", "pending"):
        found = {row[0] for row in store.engine.run(f"SELECT memory_seq FROM {table}")}
        assert found <= seqs, table
    for table in ("audit", "rejection", "shingle", "place_size", "piece_count"):
        places = {row[0] for row in store.engine.run(f"SELECT partition FROM {table}")}
        assert places <= {row[0] for row in store.engine.run("SELECT id FROM partition")}, table


def test_a_foreign_row_cannot_be_changed_deleted_or_made(store: Store):
    made = fill(store)
    store.act_for(OTHER)
    for sql in (
        "UPDATE memory SET text = 'stolen' WHERE id = :id",
        "DELETE FROM memory WHERE id = :id",
        "UPDATE audit SET before = NULL WHERE memory = :id",
        "DELETE FROM link WHERE source = :id",
    ):
        with store.engine.writing():
            store.engine.run(sql, {"id": made["alpha's"].id})
    with pytest.raises(StoreError), store.engine.writing():
        store.engine.run("INSERT INTO partition (tier, project, owner) VALUES ('agent', 'git.example/beta', 'bob')")
    store.act_for(ALICE)
    assert store.get(ALICE, made["alpha's"].id) == made["alpha's"]
    assert len(store.history(ALICE, made["alpha's"].id)) == 1


def test_sight_ends_with_its_transaction(db: Server, store: Store):
    fill(store)
    store.act_for(ALICE)
    with store.engine.reading():
        assert store.engine.run("SELECT count(*) FROM memory")[0][0]
        with psycopg.connect(db.url) as other:
            other.execute("SET ROLE swarmlore_app")
            assert other.execute("SELECT count(*) FROM swarmlore.memory").fetchone() == (0,)
    with store.engine._pool.connection() as raw:
        assert raw.execute("SELECT count(*) FROM swarmlore.memory").fetchone() == (0,)


def test_sight_belongs_to_its_thread(store: Store):
    """Two callers at once over one pool: neither sees what only the other may."""
    made = fill(store)
    wrong: list[str] = []

    def look(caller: Caller, name: str, hidden: str) -> None:
        for _ in range(30):
            store.engine.act_for(caller, [caller.project])
            ids = {row[0] for row in store.engine.run("SELECT id FROM memory")}
            if made[name].id not in ids or made[hidden].id in ids:
                wrong.append(name)

    people = [(ALICE, "alice's", "bob's"), (BOB, "bob's", "alice's"), (OTHER, "beta's", "alpha's")]
    threads = [threading.Thread(target=look, args=one) for one in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_id_that_somebody_else_has_is_taken_and_the_transaction_goes_on(store: Store):
    hidden = put(store, a_memory("A private lesson of bob", BOB, tier="agent"), BOB)
    with store.operation(an_operation(ALICE)) as operation:
        with pytest.raises(Conflict, match="taken"):
            store.put(operation, a_memory("Mine", ALICE, id=hidden.id))
        store.put(operation, a_memory("Another one of alice"))
    assert [memory.text for memory in store.select(ALICE, Filter())] == ["Another one of alice"]
    assert store.get(BOB, hidden.id) == hidden


def test_two_agents_may_have_the_same_handle_without_learning_of_each_other(store: Store):
    tail = "0000-7000-8000-0000000abcde"
    one = put(store, a_memory("A private lesson of bob", BOB, tier="agent", id=f"01a31850-{tail}"), BOB)
    two = put(store, a_memory("A private lesson of alice", ALICE, tier="agent", id=f"01a31851-{tail}"), ALICE)
    assert one.handle == two.handle
    assert store.resolve(BOB, one.handle).id == one.id
    assert store.resolve(ALICE, two.handle).id == two.id


# Connections


@contextmanager
def proxied() -> Iterator[tuple[Proxy, Store]]:
    proxy = Proxy(server())
    store = Store.connect(proxy.url, NOW)
    try:
        yield proxy, store
    finally:
        store.close()
        proxy.close()


def test_a_read_survives_a_line_that_was_cut(db: Server):
    with proxied() as (proxy, store):
        memory = put(store, a_memory())
        for _ in range(3):
            proxy.cut()
            assert store.get(ALICE, memory.id) == memory


def test_a_commit_whose_answer_was_lost_is_not_done_again(db: Server):
    with proxied() as (proxy, store):
        for number in range(5):
            proxy.cut_after = b"COMMIT"
            put(store, a_memory(f"Lesson number {number} of the lost answers"))
        assert proxy.cuts == 5
        assert len(store.select(ALICE, Filter())) == 5
        assert db.admin("SELECT count(*) FROM audit") == [(5,)]


def test_an_act_that_is_cut_before_its_commit_is_done_again_and_once(db: Server):
    with proxied() as (proxy, store):
        for number in range(5):
            proxy.cut_after = b"INSERT INTO audit"
            put(store, a_memory(f"Lesson number {number} of the cut lines"))
        assert proxy.cuts == 5
        assert len(store.select(ALICE, Filter())) == 5
        assert db.admin("SELECT count(*) FROM audit") == [(5,)]


def test_a_cut_inside_a_plain_transaction_changes_nothing_and_says_so(db: Server):
    with proxied() as (proxy, store):
        with pytest.raises(StoreLost, match="nothing was changed"), store.operation(an_operation()) as operation:
            store.put(operation, a_memory())
            proxy.cut()
            store.put(operation, a_memory("Another one, after the cut"))
        assert store.select(ALICE, Filter()) == []


def test_backends_that_are_terminated_lose_nothing(db: Server, store: Store):
    stop = threading.Event()
    texts: list[str] = []

    def terminate() -> None:
        """Again and again, each time when something was stored since the last time: slow machines get on as well."""
        before = -1
        while not stop.wait(0.1):
            if len(texts) > before:
                before = len(texts)
                db.terminate()

    killer = threading.Thread(target=terminate)
    killer.start()
    try:
        for number in range(40):
            text = put(store, a_memory(f"Lesson number {number} under fire")).text
            texts.append(text)  # the other thread counts them
    finally:
        stop.set()
        killer.join()
    assert sorted(memory.text for memory in store.select(ALICE, Filter(limit=100))) == sorted(texts)
    assert db.admin("SELECT count(*), count(DISTINCT memory) FROM audit") == [(40, 40)]


def test_a_transaction_that_a_dead_server_never_wrote_down_was_not_committed(db: Server, store: Store):
    put(store, a_memory("A lesson that is there"))
    assert isinstance(store.engine, PostgresEngine)
    (newest,) = db.admin("SELECT pg_current_xact_id()::TEXT")[0]
    assert store.engine._was_committed(str(int(newest) + 1_000)) is False


def test_a_number_that_a_dead_server_gave_to_another_transaction_is_no_commit(db: Server, store: Store):
    """A server that dies forgets transactions it had not written down, and gives their numbers out again."""
    other, act = Store.connect(db.url, NOW), an_operation(ALICE, "remember")
    put(other, a_memory("A lesson from before"))
    engine = store.engine
    assert isinstance(engine, PostgresEngine)
    found: list[Any] = []
    with pytest.raises(StoreLost), store.operation(act):
        store.put(act, a_memory("A lesson that was never kept"))
        found += [engine.run("SELECT pg_current_xact_id()::TEXT")[0][0], engine._turn.proof]
        db.away("immediate", 0.0)
    other.perform(an_operation(ALICE, "remember"), lambda act: other.put(act, a_memory("A lesson of another")))
    other.close()
    assert engine._was_committed(*found) is False
    with store.operation(act):
        store.put(act, a_memory("A lesson that is kept now"))
        kept = [engine.run("SELECT pg_current_xact_id()::TEXT")[0][0], engine._turn.proof]
    assert engine._was_committed(*kept) is True


def test_a_server_that_is_restarted_is_waited_for(db: Server, store: Store):
    before = put(store, a_memory("A lesson from before the restart"))
    restarting = threading.Timer(0.1, db.restart, ("immediate",))
    restarting.start()
    texts = [put(store, a_memory(f"Lesson number {n} during the restart")).text for n in range(60)]
    restarting.join()
    kept = [memory.text for memory in store.select(ALICE, Filter(limit=100))]
    assert sorted(kept) == sorted([*texts, before.text])


def write_some(url: str, name: str, count: int) -> None:
    store = Store.connect(url, NOW)
    caller = Caller(ALICE.project, name)
    for number in range(count):
        act = Operation(f"{name}-{number}", NOW, caller, "remember")
        memory = a_memory(f"Lesson {number} of {name}", caller, id=f"{name}-{number}")
        store.perform(act, lambda act, memory=memory: store.put(act, memory))
    store.close()


def test_writers_in_several_processes_keep_everything(db: Server, store: Store):
    names = ("ann", "ben", "cleo", "dan")
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=write_some, args=(db.url, name, 25)) for name in names]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * 4
    assert len(store.select(ALICE, Filter(limit=1000))) == 100


# Opening


def test_an_address_is_shown_without_its_password():
    for url in (
        "postgresql://ada:s3cr3t@db/x",
        "postgresql://ada:s3c@r3t@db/x?a=b",
        "host=db user=ada password=s3cr3t",
    ):
        assert "s3c" not in without_password(url)
        assert user_of(url) == "ada"
    assert without_password("postgresql://ada@db/x") == "postgresql://ada@db/x"


def test_a_server_that_is_not_there_is_named_without_the_password(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("swarmlore.store.postgres.CONNECT_S", 1.0)
    with pytest.raises(StoreError, match="cannot be reached") as failure:
        Store.connect("postgresql://ada:s3cr3t@127.0.0.1:9/none", NOW)
    assert "s3cr3t" not in failure.value.message + failure.value.hint


def test_a_role_without_rights_is_told_what_to_ask_for(db: Server):
    db.admin("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN")
    with pytest.raises(StoreError) as failure:
        Store.connect(db.url.replace(f"{LOGIN}:", "stranger:"), NOW)
    assert "GRANT swarmlore_app TO" in failure.value.hint


def test_a_newer_schema_is_refused(db: Server):
    db.admin("INSERT INTO migration (version, name, applied_at) VALUES (9999, 'later', 0)")
    try:
        with pytest.raises(StoreError, match="9999"):
            Store.connect(db.url, NOW)
    finally:
        db.admin("DELETE FROM migration WHERE version = 9999")


def test_a_lore_over_a_server_remembers_recalls_and_forgets(db: Server, tmp_path):
    env = {"SWARMLORE_STORE_URL": db.url, "SWARMLORE_PROJECT": "git.example/alpha", "SWARMLORE_AGENT": "claude"}
    with Lore.open(tmp_path, cwd=tmp_path, env=env) as lore:
        assert lore.caller.agent == f"{LOGIN}/claude"
        lore.remember("Snapshot tests are recorded with make snap-record, never by hand")
        lore.remember("The billing service reads its port from BILLING_PORT in config/env.py")
        lore.remember("Only I know that the staging box is called heron", tier="agent")
        told = lore.remember("The billing service reads its port from PORT_BILLING in config/env.py")
        hits = lore.recall("how do I update the reference images of the snapshots?")
        assert hits[0].memory.text.startswith("Snapshot tests")
        assert [part.name for part in hits[0].explanation if part.name == "pieces"]
        assert "snap-record" in lore.block("update the snapshot images").text
        assert told.outcome == "superseded"
        lore.undo()
        assert lore.recall("what is the staging box called")[0].memory.tier == "agent"
        assert all(check.state != "fail" for check in lore.doctor()), lore.doctor()
        assert lore.stats()["live"] == 3
        lore.forget(hits[0].memory.handle, erase=True)
        assert not lore.recall("snapshot reference images", mode="keyword")
    with Lore.open(tmp_path, cwd=tmp_path, env={**env, "SWARMLORE_AGENT": "codex"}) as other:
        assert all(hit.memory.tier != "agent" for hit in other.recall("what is the staging box called", limit=50))
