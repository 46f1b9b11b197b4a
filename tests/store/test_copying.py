"""Copies from store to store: whole, once, and provably the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_postgres import BOB, OTHER, fill, put

from command_line import Run
from conftest import ALICE, NOW, PERSON, a_memory, an_operation
from databases import Server, server
from swarmlore.domain.language.display import without_password
from swarmlore.domain.records import Caller
from swarmlore.frozen import replace
from swarmlore.store import copy as copying
from swarmlore.store.copy import copy, pages
from swarmlore.store.memories import Filter
from swarmlore.store.store import Store
from swarmlore.store.vectors.in_database import RemoteVectors


@pytest.fixture
def db() -> Server:
    server().empty()
    return server()


def a_filled_file(tmp_path: Path) -> Store:
    """Everybody's rows, some changed, forgotten, erased and undone."""
    store = Store.open(str(tmp_path), NOW)
    made = fill(store)
    changed = put(store, a_memory("The staging database listens on port 5432"))
    act = an_operation()
    store.perform(act, lambda act: store.revise(act, changed, replace(changed, text="It listens on 6432"), "updated"))
    undo = replace(an_operation(ALICE, "undo"), undoes=act.id)
    store.perform(undo, lambda op: store.undo(op, act.id))
    gone = put(store, a_memory("A lesson that nobody needs any more"))
    store.perform(an_operation(), lambda act: store.forget(act, gone))
    erased = put(store, a_memory("A lesson that must leave no trace"))
    store.perform(an_operation(ALICE, "erase"), lambda act: store.erase(act, erased))
    assert made
    return store


def content(store: Store) -> list[str]:
    return sorted(bundle.canonical() for page in pages(store) for bundle in page)


def test_a_file_goes_to_a_server_and_back_without_a_difference(db: Server, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    source = a_filled_file(tmp_path / "one")
    team = Store.connect(db.url, NOW)
    copied = copy(source, team)
    assert (copied.written, copied.known, copied.different) == (len(content(source)), 0, ())
    for caller in (ALICE, BOB, OTHER, PERSON):
        there = {memory.id: memory for memory in team.select(caller, Filter(status="any", limit=100))}
        here = {memory.id: memory for memory in source.select(caller, Filter(status="any", limit=100))}
        assert there == here
        assert [row.action for id in here for row in team.history(caller, id)] == [
            row.action for id in here for row in source.history(caller, id)
        ]
        assert team.receipts(caller) == source.receipts(caller)
        assert team.sessions(caller) == source.sessions(caller)
        assert team.rejections(caller) == source.rejections(caller)
    # Back comes what the one who asks may see: what is shared, and their own.
    back = Store.open(str(tmp_path / "two"), NOW)
    person = Caller(ALICE.project, "alice", "person", 3)
    team.act_for(person, wide=True)
    again = copy(team, back)
    assert again.different == ()
    private = [m.id for m in source.select(BOB, Filter(tier="agent", limit=100)) if m.owner == "bob"]
    assert private
    assert content(back) == [line for line in content(source) if not any(f'"id":"{id}"' in line for id in private)]
    for store in (source, team, back):
        store.close()


def test_a_copy_that_was_interrupted_goes_on_and_a_second_one_adds_nothing(
    db: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = a_filled_file(tmp_path)
    team = Store.connect(db.url, NOW)
    monkeypatch.setattr(copying, "PAGE", 3)

    def stop(done: int, _: int) -> None:
        if done >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy(source, team, stop)
    total = len(content(source))
    resumed = copy(source, team)
    assert (resumed.written, resumed.known, resumed.different) == (total - 6, 6, ())
    third = copy(source, team)
    assert (third.written, third.known, third.different) == (0, total, ())
    assert db.admin("SELECT count(*), count(DISTINCT id) FROM memory") == [(total, total)]
    assert third.digest == resumed.digest
    source.close()
    team.close()


def test_a_difference_is_noticed(db: Server, tmp_path: Path) -> None:
    source = a_filled_file(tmp_path)
    team = Store.connect(db.url, NOW)
    copy(source, team)
    some = source.select(ALICE, Filter(limit=1))[0]
    db.admin("UPDATE memory SET text = 'something else' WHERE id = %s", (some.id,))
    assert copy(source, team).different == (some.id,)
    source.close()
    team.close()


def test_vectors_and_words_work_after_the_copy(db: Server, tmp_path: Path) -> None:
    source = a_filled_file(tmp_path)
    team = Store.connect(db.url, NOW)
    copy(source, team)
    assert team.match_words(["lesson"], team.visible(ALICE), 50)
    texts, cues = RemoteVectors(team, "p", 384).nearest(np.full(384, 384**-0.5, "float32"), team.visible(ALICE), 10)
    assert (len(texts), len(cues)) == (3, 3)
    source.close()
    team.close()


def test_an_agent_does_not_take_a_whole_store_away(db: Server, run: Run) -> None:
    assert run("migrate-store", db.url).code == 5


def test_a_person_moves_to_a_server_with_two_commands(db: Server, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "Snapshot tests are recorded with make snap-record, never by hand")
    monkeypatch.setenv("SWARMLORE_ROLE", "lead")
    reply = run("migrate-store", db.url, "--json")
    assert (reply.json["written"], reply.json["known"], reply.json["different"]) == (1, 0, [])
    assert "swarmlore config store" in run("migrate-store", db.url).out
    assert run("config", "store", db.url).code == 0
    assert run("list", "--json").json["memories"][0]["text"].startswith("Snapshot")
    assert run("stats", "--json").json["store"].startswith("postgresql://")
    checks = {check["name"]: check["state"] for check in run("doctor", "--json").json["checks"]}
    assert checks["role"] == checks["pgvector"] == checks["postgresql"] == "ok"
    assert run("backup").code == 2
    assert "server's store is in use" in run("restore-backup", "copy.db", "--yes").err
    assert run("config", "store", "").code == 0
    assert run("stats", "--json").json["live"] == 1


def test_an_address_that_does_not_work_is_not_kept(run: Run) -> None:
    reply = run("config", "store", "postgresql://ada:s3cr3t@127.0.0.1:9/none")
    assert reply.code == 8
    assert "s3cr3t" not in reply.out + reply.err
    assert "nothing answers there" in reply.err
    assert run("config", "store", "mysql://x").code == 9
    assert run("config", "store.url", "--json").json["value"] == ""


def test_what_was_private_here_is_private_there_and_comes_back(
    db: Server, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SWARMLORE_ROLE", "lead")
    notes = {
        "claude": "Only claude knows that the staging box is called heron",
        "codex": "Only codex knows the hawk box",
    }
    for agent, note in notes.items():
        monkeypatch.setenv("SWARMLORE_AGENT", agent)
        run("remember", note, "--tier", "agent")
    reply = run("migrate-store", db.url, "--json")
    assert (reply.json["written"], reply.json["different"]) == (2, [])
    run("config", "store", db.url)
    for agent, note in notes.items():
        monkeypatch.setenv("SWARMLORE_AGENT", agent)
        assert [memory["text"] for memory in run("list", "--json").json["memories"]] == [note]
    run("remember", "Codex learned this one on the server", "--tier", "agent")
    monkeypatch.setenv("SWARMLORE_AGENT", "claude")
    back = run("migrate-store", str(tmp_path / "back"), "--json")
    assert (back.json["written"], back.json["different"]) == (3, [])
    run("config", "store", "")
    monkeypatch.setenv("SWARMLORE_HOME", str(tmp_path / "back"))
    monkeypatch.setenv("SWARMLORE_AGENT", "codex")
    assert len(run("list", "--json").json["memories"]) == 2
    assert run("undo").code == 0, "an act of one's own can be undone after the move"


@pytest.mark.parametrize(
    "login",
    ["ada:p@ss:s3cr3t/rd", "ada:p@ss-s3cr3t/1", "ada:p#s3cr3t", "ada:p%s3cr3t", "ada:s3cr3t/x", "ada:s3cr3t@s3cr3t"],
)
def test_a_password_that_was_not_encoded_is_never_shown(run: Run, login: str) -> None:
    for words in (("config", "store"), ("migrate-store",)):
        reply = run(*words, f"postgresql://{login}@localhost:9/team")
        assert reply.code in (5, 8, 9)
        assert "s3cr3t" not in reply.out + reply.err
        assert "ss" not in reply.err.partition("hint")[0].replace("address", "").replace("password", "")


def test_every_parameter_that_may_hold_a_secret_is_masked() -> None:
    url = "postgresql://ada@/team?host=/x&password=s3cr3t&sslpassword=s3cr3t&sslkey=s3cr3t&passfile=s3cr3t"
    assert "s3cr3t" not in without_password(url)
    assert "host=/x" in without_password(url)
