"""Writes of many callers in groups: each fails alone, none is answered before it is durable."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import wait
from contextlib import nullcontext
from pathlib import Path

import pytest

from conftest import ALICE, a_memory, an_operation, quick_env
from swarmlore.domain.records import Memory
from swarmlore.errors import Conflict, StoreBusy, StoreFull, SwarmloreError
from swarmlore.lore import Lore
from swarmlore.server import group_commit
from swarmlore.server.group_commit import GroupCommit
from swarmlore.server.service import _atomically
from swarmlore.store.memories import Filter
from swarmlore.store.store import Store


def put(store: Store, memory: Memory) -> str:
    with store.operation(an_operation(ALICE, "remember")) as operation:
        return store.put(operation, memory).id


def texts(store: Store) -> set[str]:
    return {memory.text for memory in store.select(ALICE, Filter())}


def test_acts_of_a_group_are_there_together(open_store: Callable[[], Store]) -> None:
    store, other = open_store(), open_store()
    with store.together():
        put(store, a_memory("Ports below 1024 need a capability"))
        put(store, a_memory("The linter reads pyproject only"))
        assert texts(other) == set()
    assert texts(other) == {"Ports below 1024 need a capability", "The linter reads pyproject only"}


def test_an_act_that_fails_is_undone_alone(store: Store) -> None:
    first = a_memory("Ports below 1024 need a capability")
    with store.together():
        put(store, first)
        with pytest.raises(Conflict):
            put_two(store, a_memory("Half of an act"), a_memory("The same id again", id=first.id))
        put(store, a_memory("The linter reads pyproject only"))
    assert texts(store) == {"Ports below 1024 need a capability", "The linter reads pyproject only"}


def put_two(store: Store, one: Memory, two: Memory) -> None:
    with store.operation(an_operation(ALICE, "remember")) as operation:
        store.put(operation, one)
        store.put(operation, two)


def test_a_group_that_fails_leaves_nothing_and_the_store_goes_on(store: Store) -> None:
    with pytest.raises(ValueError, match="gone"), store.together():
        put(store, a_memory("Ports below 1024 need a capability", owner="alice", tier="agent"))
        raise ValueError("gone")
    assert texts(store) == set()
    put(store, a_memory("Ports below 1024 need a capability", owner="alice", tier="agent"))
    assert texts(store) == {"Ports below 1024 need a capability"}


def test_what_follows_an_act_follows_its_group_and_once(store: Store) -> None:
    seen: list[int] = []
    store.afterwards("files", lambda: seen.append(1))
    with store.together():
        store.afterwards("files", lambda: seen.append(2))
        store.afterwards("files", lambda: seen.append(3))
        assert seen == [1]
    assert seen == [1, 3]


def test_nothing_follows_a_group_that_failed(store: Store) -> None:
    seen: list[int] = []
    with pytest.raises(ValueError), store.together():
        store.afterwards("files", lambda: seen.append(1))
        raise ValueError
    store.afterwards("files", lambda: seen.append(2))
    assert seen == [2]


def test_many_threads_write_and_each_is_told_its_own(open_store: Callable[[], Store]) -> None:
    store, other = open_store(), open_store()
    writer = GroupCommit(store, nullcontext)
    told: dict[int, str] = {}

    def one(number: int) -> None:
        told[number] = writer.submit(lambda: put(store, a_memory(f"Lesson number {number} of many"))).result(120)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close(10)
    found = {memory.id: memory.text for memory in other.select(ALICE, Filter(limit=100))}
    assert {number: found[id] for number, id in told.items()} == {n: f"Lesson number {n} of many" for n in range(60)}


def test_turns_that_wait_share_one_wait_for_the_disk(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path), 0.0)
    begun, go = threading.Event(), threading.Event()
    groups: list[int] = []
    writer = GroupCommit(store, lambda: _noted(groups))

    def slow() -> None:
        begun.set()
        go.wait(120)

    first = writer.submit(slow)
    begun.wait(120)
    rest = [writer.submit(lambda n=n: put(store, a_memory(f"Lesson number {n}"))) for n in range(10)]
    go.set()
    wait([first, *rest], 10)
    writer.close(10)
    assert len(groups) <= 2
    assert len(texts(store)) == 10
    store.close()


def _noted(groups: list[int]) -> nullcontext[None]:
    groups.append(1)
    return nullcontext()


def test_one_that_fails_is_told_so_and_the_others_are_not(store: Store) -> None:
    writer = GroupCommit(store, nullcontext)

    def broken() -> None:
        raise SwarmloreError("no", "never")

    good, bad = writer.submit(lambda: put(store, a_memory())), writer.submit(broken)
    assert good.result(120)
    with pytest.raises(SwarmloreError, match="no"):
        bad.result(120)
    writer.close(10)
    with pytest.raises(SwarmloreError, match="ending"):
        writer.submit(broken)


def test_a_named_write_in_a_group_that_was_given_up_is_told_like_the_others(tmp_path: Path) -> None:
    with Lore.open(tmp_path / "home", cwd=tmp_path, env=quick_env()) as lore:
        writer = GroupCommit(lore.store, lore.acting)
        begun, go = threading.Event(), threading.Event()

        def give_up() -> None:
            begun.set()
            go.wait(120)
            lore.store.engine.run("ROLLBACK")  # as SQLite does where the disk is full

        writer.submit(give_up)
        assert begun.wait(120)
        named = writer.submit(
            lambda: _atomically(lore, lambda own: own.remember("A lesson that finds no room", defer=True))
        )
        go.set()
        with pytest.raises(StoreFull):
            named.result(120)
        writer.close(10)


def test_a_turn_that_was_cancelled_before_it_came_is_not_done(store: Store) -> None:
    begun, go = threading.Event(), threading.Event()
    writer = GroupCommit(store, nullcontext)

    def slow() -> None:
        begun.set()
        go.wait(120)

    writer.submit(slow)
    begun.wait(120)
    late = writer.submit(lambda: put(store, a_memory()))
    assert late.cancel()
    go.set()
    writer.close(10)
    assert texts(store) == set()


def test_too_many_waiting_writes_are_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MOST_WAITING", 3)
    begun, go = threading.Event(), threading.Event()
    writer = GroupCommit(store, nullcontext)

    def slow() -> None:
        begun.set()
        go.wait(120)

    writer.submit(slow)
    begun.wait(120)
    waiting = [writer.submit(lambda: None) for _ in range(3)]
    with pytest.raises(StoreBusy, match="too many"):
        writer.submit(lambda: None)
    go.set()
    wait(waiting, 10)
    writer.close(10)


WRITER = """
import sys
from contextlib import nullcontext
sys.path.insert(0, sys.argv[2])
from conftest import a_memory, an_operation, ALICE
from swarmlore.server.group_commit import GroupCommit
from swarmlore.store.store import Store
store = Store.open(sys.argv[1], 0.0)
writer = GroupCommit(store, nullcontext)
def put(number):
    with store.operation(an_operation(ALICE, "remember")) as operation:
        store.put(operation, a_memory(f"Lesson number {number}", id=f"m{number}"))
    return number
def told(future):
    sys.stdout.write(f"{future.result()}\\n")
    sys.stdout.flush()
number = 0
while True:
    future = writer.submit(lambda n=number: put(n))
    future.add_done_callback(told)
    number += 1
    if number % 40 == 0:
        future.result()
"""


def test_what_was_told_survives_a_kill(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    words = [sys.executable, "-c", WRITER, str(home), str(Path(__file__).parents[1])]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline().strip() for _ in range(100)]
    process.send_signal(signal.SIGKILL)
    told += process.stdout.read().split()[:-1]
    process.stdout.close()
    process.wait()
    store = Store.open(str(home), 0.0)
    kept = {memory.id for memory in store.select(ALICE, Filter(limit=100_000))}
    store.close()
    assert {f"m{number}" for number in told} <= kept
