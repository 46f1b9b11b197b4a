"""Writes of many callers in one transaction of a team's database: whatever breaks under it, each is done once."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from conftest import ALICE, BOB, NOW, OTHER, a_memory, an_operation, quick_env
from databases import Proxy, server
from swarmlore.domain.records import Caller, Token
from swarmlore.errors import Conflict, InvalidInput, StoreLost
from swarmlore.server import group_commit
from swarmlore.server.group_commit import GroupCommit
from swarmlore.server.service import Backend
from swarmlore.store.memories import Filter
from swarmlore.store.store import Store


@pytest.fixture
def store(proxy: Proxy) -> Iterator[Store]:
    made = Store.connect(proxy.url, NOW)
    yield made
    made.close()


@pytest.fixture
def writer(store: Store) -> Iterator[GroupCommit]:
    made = GroupCommit(store, nullcontext)
    yield made
    made.close(10)


def put(store: Store, text: str, caller: Caller = ALICE, **facts: Any) -> str:
    with store.operation(an_operation(caller, "remember")) as operation:
        return store.put(operation, a_memory(text, caller, **facts)).id


def texts(store: Store, caller: Caller = ALICE) -> list[str]:
    return sorted(memory.text for memory in store.select(caller, Filter()))


def group(writer: GroupCommit, *works: Callable[[], Any]) -> list[Future[Any]]:
    """GroupCommit that wait together, while another one is at it."""
    begun, go = threading.Event(), threading.Event()
    writer.submit(lambda: begun.set() or go.wait(120))
    assert begun.wait(120)
    futures = [writer.submit(work) for work in works]
    go.set()
    return futures


def number_of_writes() -> int:
    return int(server().admin("SELECT writes FROM clock")[0][0])


def test_a_group_is_one_transaction(store: Store, writer: GroupCommit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "GROUP_S", 10.0)  # however slow the machine is
    put(store, "A lesson before all others")
    before = number_of_writes()
    works = [lambda number=number: put(store, f"Lesson number {number}") for number in range(5)]
    for future in group(writer, *works):
        assert future.result(120)
    assert number_of_writes() <= before + 2  # one may be what they waited for
    assert len(texts(store)) == 6


def test_a_group_whose_commit_was_not_answered_is_not_done_again(
    proxy: Proxy, store: Store, writer: GroupCommit
) -> None:
    """Whoever comes last in the group does not even see what the others wrote."""
    works = [lambda: put(store, "A lesson of alpha"), lambda: texts(store, OTHER)]
    begun = writer.submit(lambda: None)
    assert begun.result(120) is None
    futures = group(writer, lambda: setattr(proxy, "cut_after", b"COMMIT"), *works)
    id = futures[1].result(120)
    assert (proxy.cuts, futures[2].result(1)) == (1, [])
    assert [memory.id for memory in store.select(ALICE, Filter())] == [id]
    assert server().admin("SELECT count(*) FROM audit") == [(1,)]


@pytest.mark.parametrize("where", [b"SAVEPOINT act", b"INSERT INTO audit", b"UPDATE clock"])
def test_a_group_whose_line_breaks_is_done_again_and_once(
    proxy: Proxy, store: Store, writer: GroupCommit, where: bytes
) -> None:
    def cut() -> None:
        if not proxy.cuts:
            proxy.cut_after = where

    works = [lambda number=number: put(store, f"Lesson number {number}") for number in range(4)]
    futures = group(writer, works[0], cut, *works[1:])
    ids = [future.result(120) for future in futures if future is not futures[1]]
    assert proxy.cuts == 1
    assert sorted(ids) == sorted(memory.id for memory in store.select(ALICE, Filter()))
    assert server().admin("SELECT count(*) FROM audit") == [(4,)]


def test_a_value_that_no_index_takes_is_refused_alone_and_at_once(store: Store, writer: GroupCommit) -> None:
    key = secrets.token_hex(4_500)  # nothing to compress
    wrong, right = group(
        writer, lambda: put(store, "A lesson with a long key", key=key), lambda: put(store, "A lesson beside it")
    )
    with pytest.raises(InvalidInput, match="too long for an index"):
        wrong.result(120)
    assert right.result(120)
    assert texts(store) == ["A lesson beside it"]


def test_a_write_that_ends_the_transaction_fails_alone(store: Store, writer: GroupCommit) -> None:
    def careless() -> str:
        id = put(store, "A lesson of whoever does not look")
        with suppress(Exception):
            store.engine.run("SELECT 1 / 0")
        return id

    first, wrong, last = group(
        writer, lambda: put(store, "A lesson before it"), careless, lambda: put(store, "A lesson after it")
    )
    with pytest.raises(StoreLost, match="nothing was changed"):
        wrong.result(120)
    assert first.result(120) and last.result(10)
    assert texts(store) == ["A lesson after it", "A lesson before it"]


def test_a_question_that_ends_the_transaction_is_told_so_and_the_others_are_done(
    store: Store, writer: GroupCommit
) -> None:
    def wrong() -> None:
        store.engine.run("SELECT 1 / 0")

    first, failed, last = group(writer, lambda: put(store, "The first"), wrong, lambda: put(store, "The last"))
    with pytest.raises(InvalidInput):
        failed.result(120)
    assert {first.result(120), last.result(20)} == {memory.id for memory in store.select(ALICE, Filter())}
    assert texts(store) == ["The first", "The last"]


def test_turns_of_one_group_see_what_their_callers_may_see(store: Store, writer: GroupCommit) -> None:
    def everything(caller: Caller) -> list[str]:
        store.act_for(caller)
        return [str(text) for (text,) in store.engine.run("SELECT text FROM memory ORDER BY text")]

    def put_private() -> str:
        return put(store, "Private to alice", ALICE, tier="agent")

    looks = [lambda caller=caller: everything(caller) for caller in (ALICE, BOB, OTHER)]
    _, _, *seen = group(writer, put_private, lambda: put(store, "Of the swarm"), *looks)
    found = [one.result(120) for one in seen]  # the third is alice in another project
    assert found == [["Of the swarm", "Private to alice"], ["Of the swarm"], ["Private to alice"]]


def test_where_the_database_is_away_everybody_who_waits_is_told(
    proxy: Proxy, store: Store, writer: GroupCommit
) -> None:
    assert writer.submit(lambda: put(store, "A lesson")).result(120)
    store.leaving.set()
    futures = group(writer, proxy.close, lambda: put(store, "Another one"), lambda: put(store, "A third"))
    for future in futures:
        with pytest.raises(StoreLost):
            future.result(120)
    assert [text for (text,) in server().admin("SELECT text FROM memory")] == ["A lesson"]


# What is sent with the next statement


def test_what_is_noted_is_seen_by_the_next_question_and_stays(store: Store) -> None:
    with store.engine.writing():
        store.note("put_meta", name="colour", value="blue")
        assert store.meta("colour") == "blue"
        store.note("put_meta", name="colour", value="green")
    assert store.meta("colour") == "green"


def test_what_is_noted_and_fails_is_undone_with_its_act_alone(store: Store) -> None:
    insert = "INSERT INTO meta (name, value) VALUES (:name, :value)"
    with store.together():
        put(store, "The first")
        with pytest.raises(Conflict), store.operation(an_operation()) as operation:
            store.put(operation, a_memory("Half of an act"))
            for _ in range(2):
                store.engine.note(insert, {"name": "colour", "value": "blue"})
        put(store, "The last")
    assert (texts(store), store.meta("colour")) == (["The first", "The last"], "")


def test_an_act_that_is_given_up_before_anything_was_sent_leaves_the_others(store: Store) -> None:
    with store.together():
        with pytest.raises(ValueError), store.operation(an_operation()):
            store.note("put_meta", name="colour", value="blue")
            raise ValueError
        put(store, "The last")
    assert (texts(store), store.meta("colour")) == (["The last"], "")


def test_only_what_others_write_makes_known_places_doubtful(proxy: Proxy, store: Store) -> None:
    def known() -> int:
        with store.engine.writing():
            return store.engine.data_version()

    before = known()
    put(store, "A lesson")
    assert known() == known() == before
    other = Store.connect(proxy.url, NOW)
    put(other, "A lesson of another")
    other.close()
    assert known() != before


# Through the hall


def test_what_many_callers_remember_at_once_shares_transactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "GROUP_S", 10.0)  # however slow the machine is
    server().empty()
    hall = Backend(str(tmp_path / "home"), {**quick_env(), "SWARMLORE_STORE_URL": server().url})
    try:
        tokens = [Token(f"000000000{number}", ALICE.project, f"agent-{number}", "worker") for number in range(4)]
        for token in tokens:
            hall.write(token, lambda lore: lore.count(), brief=True).result(120)
        before = number_of_writes()
        futures = [
            hall.write(tokens[number % 4], lambda lore, text=text: lore.remember(text, defer=True), brief=True)
            for number, text in enumerate(LESSONS)
        ]
        owners = [future.result(120).memory.owner for future in futures]
        assert owners == [f"agent-{number % 4}" for number in range(len(LESSONS))]
        assert number_of_writes() - before < len(LESSONS) // 2
    finally:
        hall.close(5)


LESSONS = [
    f"Always run {tool} with {option} before {moment}, or the {what} breaks"
    for tool, option in (("ruff", "--fix"), ("mypy", "--strict"), ("pytest", "-x"), ("make", "-j4"))
    for moment, what in (("a commit", "build"), ("a release", "wheel"), ("a merge", "changelog"), ("a push", "mirror"))
]
