"""The indexes built anew: in place and in pieces, beside others who write, killed, and from whatever was there."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from conftest import ALICE, NOW, Open, a_memory, an_operation, quick_env
from swarmlore.domain.records import Citation, Memory, Situation
from swarmlore.frozen import replace
from swarmlore.lore import Lore
from swarmlore.store import reindex
from swarmlore.store.history import SCRUB_META
from swarmlore.store.memories import Filter
from swarmlore.store.reindex import REINDEX_META
from swarmlore.store.store import Store

Rebuilder = Callable[..., subprocess.Popen[str]]
TABLES = {
    "sqlite": ("shingle", "entity", "mention", "relation", "temp.word", "temp.cue_word"),
    "postgres": ("shingle", "entity", "mention", "relation", "posting", "cue_posting"),
}
CHILD = """
import sys
from swarmlore.domain.records import Caller
from swarmlore.store.store import Store
where, times = sys.argv[1], int(sys.argv[2])
store = Store.connect(where, 1.0) if "://" in where else Store.open(where, 1.0)
store.act_for(Caller("git.example/alpha", "alice", "worker", 2))
for _ in range(times):
    store.reindex_words(lambda done, total: print(done, total, flush=True))
store.close()
"""


def derived(store: Store) -> dict[str, Any]:
    """Everything that follows from the rows, as it is stored."""
    store.act_for(ALICE)
    if store.engine.name == "sqlite":
        for name, index in (("word", "words"), ("cue_word", "cue_words")):
            store.engine.script(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{name} USING fts5vocab(main, '{index}', 'instance')"
            )
    found: dict[str, Any] = {
        name: sorted(map(repr, store.engine.run(f"SELECT * FROM {name}"))) for name in TABLES[store.engine.name]
    }
    if store.engine.name == "postgres":
        sizes = "SELECT partition, memories, words FROM place_size WHERE memories <> 0 OR words <> 0 ORDER BY partition"
        found["place_size"] = store.engine.run(sizes)
    found["stems"] = store.engine.run("SELECT seq, stems FROM memory ORDER BY seq")
    return found


def wipe(store: Store) -> None:
    """Take away all that is derived."""
    with store.engine.writing():
        for name in ("shingle", "entity", "mention", "relation"):
            store.engine.run(f"DELETE FROM {name}")
        for name in (
            ("words", "cue_words") if store.engine.name == "sqlite" else ("posting", "cue_posting", "place_size")
        ):
            store.engine.run(f"DELETE FROM {name}")
        store.engine.run("UPDATE memory SET stems = ''")


def fresh(store: Store) -> dict[str, Any]:
    """What a rebuild makes of nothing but the rows."""
    wipe(store)
    store.reindex_words()
    return derived(store)


def graph(*names: str) -> dict[str, Any]:
    relations = [{"source": names[0], "target": other, "type": "uses"} for other in names[1:]]
    return {"graph": {"entities": [{"name": name} for name in names], "relations": relations}}


def told(number: int, **more: Any) -> Memory:
    situations = (Situation(f"the build {number} fails on redis", "error", NOW),) if number % 3 == 0 else ()
    return a_memory(
        f"Lesson {number}: run `make step{number}` before Redis is restarted by worker {number % 5}",
        **{"situations": situations, "tags": ("ops", f"t{number % 4}"), "entities": (f"feature:f{number % 6}",)} | more,
    )


def varied(store: Store, count: int = 24) -> list[Memory]:
    """Memories of all sorts, in every state."""
    with store.operation(an_operation()) as act:
        memories = [store.put(act, told(number)) for number in range(count)]
        memories.append(store.put(act, told(count, tier="agent", extra=graph("redis", "docker", "celery"))))
        memories.append(store.put(act, told(count + 1, citations=(Citation("src/app.py", 1, 2),))))
        memories.append(store.put(act, told(count + 2, status="quarantined")))
        memories.append(store.put(act, told(count + 3, source="note", title="A note on Kafka")))
    with store.operation(an_operation()) as act:
        store.forget(act, memories[0])
        store.erase(act, memories[1])
        store.revise(act, memories[2], replace(memories[2], text="Now it says `something_else` of Kafka"), "changed")
        store.revise(act, memories[3], replace(memories[3], tier="agent"), "changed")
        store.revise(act, memories[5], replace(memories[5], status="archived"), "archived")
    return memories


# Right, from whatever was there


def test_a_rebuild_changes_nothing_that_was_right(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindex, "PIECE", 7)
    varied(store)
    before = derived(store)
    assert all(before.values())
    assert store.reindex_words() == 27
    assert derived(store) == before
    assert fresh(store) == before


def test_a_rebuild_mends_what_is_missing_too_much_or_of_another_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reindex, "PIECE", 7)
    monkeypatch.setattr(reindex, "KEYS", 50)
    monkeypatch.setattr(reindex, "LOOKED_AT", 3)
    varied(store)
    before = derived(store)
    place = store.visible(ALICE)[0]
    live = store.select(ALICE, Filter(limit=50))
    seqs = {m.id: int(store.ask("seq_of", id=m.id)[0][0]) for m in live}
    some = list(seqs.values())
    with store.engine.writing():
        for seq in (*some[:6], -3, 4_000, 2**60):  # rows that are there, and rows that are not
            store.ask("add_shingle", partition=place, shingle=77, memory_seq=seq)
            store.ask("add_entity", partition=place, entity="feature:gone", memory_seq=seq)
            junk = {"partition": place, "memory_seq": seq, "about": ""}
            store.ask("add_mention", **junk, name="junk", said="junk", type="concept", weight=1.0)
            store.ask("add_relation", **junk, source="junk", target="trash", kind="is", strength=1.0)
        words = {"place": "zq", "partition": place, "title": "", "tags": "", "body": "junk words"}
        for seq in (4_000, 2**60):
            store.ask("index_words", seq=seq, **words)
        store.ask("unindex_words", seqs=some[3:5])
        store.ask("delete_mentions_of", seqs=some[7:9])
        store.ask("delete_shingles_of", partitions=store.visible(ALICE), seqs=some[8:12])
        store.ask("set_stems", seq=some[2], stems="of another time")
        if store.engine.name == "sqlite":
            store.ask("index_cue", seq=9_999, body="junk", place="zq")
        else:
            store.ask("correct_place", partition=place, memories=3, words=-5)
    assert derived(store) != before
    store.reindex_words()
    assert derived(store) == before


def test_a_damaged_index_is_told_and_healed(tmp_path: Path) -> None:
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        varied(lore.store, 60)
        before = derived(lore.store)
        assert lore.store.engine.check() == []
        lore.store.engine.run("DELETE FROM words_data WHERE id > 10")
        (found,) = [check for check in lore.doctor() if check.name == "integrity"]
        assert (found.state, found.hint) == ("fail", "swarmlore reindex")
        lore.reindex()
        assert lore.store.engine.check() == []
        assert derived(lore.store) == before
        assert lore.recall("redis restarted")


# Others beside it


def test_after_each_step_another_process_may_write(
    open_store: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reindex, "PIECE", 5)
    monkeypatch.setattr(reindex, "KEYS", 60)
    one, other = open_store(), open_store()
    varied(one)
    one.act_for(ALICE)
    count = 0
    for count, (done, total) in enumerate(one.rebuild()):
        assert done <= total
        with other.engine.hurried(1.0), other.operation(an_operation()) as act:
            other.put(act, told(1_000 + count))
        one.act_for(ALICE)
    assert count > 8
    assert derived(one) == fresh(one)


@pytest.mark.parametrize("seed", range(4))
def test_what_others_change_between_two_steps_is_right_at_the_end(
    open_store: Callable[[], Store], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(reindex, "PIECE", 4)
    monkeypatch.setattr(reindex, "KEYS", 100)
    rng = random.Random(seed)
    one, other = open_store(), open_store()
    varied(one)
    with one.engine.writing():  # keys of another time, which nobody who changes a memory knows of
        for number in range(3, 20):
            for key in range(rng.randrange(1, 25)):
                place = one.engine.run("SELECT partition FROM memory WHERE seq = :seq", {"seq": number})
                one.ask("add_shingle", partition=place[0][0] if place else 1, shingle=key, memory_seq=number)
    one.act_for(ALICE)
    for _ in one.rebuild():
        change(other, rng)
        one.act_for(ALICE)
    assert derived(one) == fresh(one)
    assert one.meta(REINDEX_META) == ""


@pytest.mark.parametrize("seed", range(3))
def test_what_others_change_while_a_piece_is_worked_out_is_right_at_the_end(
    open_store: Callable[[], Store], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(reindex, "PIECE", 6)
    rng = random.Random(seed)
    one, other = open_store(), open_store()
    varied(one)
    changes = 0
    work_out = reindex._item

    def while_others_write(*facts: Any) -> reindex.Item:
        nonlocal changes
        item = work_out(*facts)
        if not one.engine.inside and rng.random() < 0.5:
            change(other, rng)
            changes += 1
        return item

    one.act_for(ALICE)
    with monkeypatch.context() as patched:
        patched.setattr(reindex, "_item", while_others_write)
        one.reindex_words()
    assert changes > 5
    assert derived(one) == fresh(one)


def change(store: Store, rng: random.Random) -> None:
    """One memory comes, changes, moves, is forgotten or erased."""
    what = rng.randrange(6)
    with store.operation(an_operation()) as act:
        memory = rng.choice(store.select(ALICE, Filter(status="any", limit=100)))
        if what == 0:
            store.put(act, told(rng.randrange(10_000)))
        elif what == 1:
            more = {"text": f"Changed {rng.random()}: see `other_{what}` with Docker", "situations": ()}
            store.revise(act, memory, replace(memory, **more), "changed")
        elif what == 2:
            store.revise(act, memory, replace(memory, tier="agent" if memory.tier == "swarm" else "swarm"), "changed")
        elif what == 3 and memory.live:
            store.forget(act, memory)
        elif what == 4:
            store.revise(act, memory, replace(memory, status="quarantined"), "quarantined")
        elif what == 5:
            store.erase(act, memory)


@pytest.fixture
def rebuilder(engine_name: str, tmp_path: Path) -> Iterator[Rebuilder]:
    """Another process that builds the indexes anew, so many times."""
    started: list[subprocess.Popen[str]] = []

    def start(times: int, folder: str = "") -> subprocess.Popen[str]:
        where = str(tmp_path / folder)
        if engine_name == "postgres":
            from databases import server

            where = server().url
        command = [sys.executable, "-c", CHILD, where, str(times)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def filled(store: Store, count: int) -> None:
    with store.operation(an_operation()) as act:
        for number in range(count):
            store.put(act, told(number))


def test_a_writer_beside_a_rebuild_waits_for_one_piece_only(store: Store, rebuilder: Rebuilder) -> None:
    filled(store, 800)
    process, writes, rng = rebuilder(2), 0, random.Random(1)
    assert process.stdout is not None
    process.stdout.readline()
    while process.poll() is None:
        threading.Event().wait(0.01)
        change(store, rng)
        writes += 1
    assert process.returncode == 0
    assert writes > 5
    done = [int(line.split()[0]) for line in process.stdout]
    assert max(after - before for before, after in pairwise(done)) <= reindex.PIECE
    assert derived(store) == fresh(store)


def test_a_killed_rebuild_loses_nothing_and_says_so(open_as: Open, rebuilder: Rebuilder) -> None:
    lore = open_as(ALICE)
    filled(lore.store, 800)
    before = derived(lore.store)
    process = rebuilder(1, "home")
    assert process.stdout is not None
    while int(process.stdout.readline().split()[0]) < 400:
        pass
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert derived(lore.store) == before  # in place: each row is found as before, or as it is found anew
    (found,) = [check for check in lore.doctor() if check.name == "indexes"]
    assert (found.state, found.hint) == ("warn", "swarmlore reindex")
    assert "has not ended" in found.message
    assert lore.reindex()["rows"] == 800
    assert derived(lore.store) == before
    assert not [check for check in lore.doctor() if check.name == "indexes"]


def test_other_threads_use_the_same_memory_meanwhile(open_as: Open) -> None:
    lore = open_as(ALICE)
    filled(lore.store, 800)
    steps: list[tuple[int, int]] = []
    work = threading.Thread(target=lambda: lore.reindex(indexing=lambda *step: steps.append(step)))
    work.start()
    uses = 0
    while work.is_alive():
        assert lore.recall("redis restarted", limit=1)
        lore.remember(f"Thread note {uses} says that the tide of {uses * 7919} is high", defer=True)
        uses += 1
    work.join()
    assert uses > 3
    assert max(after - before for (before, _), (after, _) in pairwise(steps)) <= reindex.PIECE
    assert steps[0][0] < steps[-1][0] == steps[-1][1]


# What was erased


def test_the_file_is_rewritten_only_where_something_was_erased(tmp_path: Path) -> None:
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        kept = lore.remember("Snapshot tests are recorded with make snap-record").memory
        lore.reindex()
        assert not lore.store.is_scrub_owed()
        assert lore.store.meta(SCRUB_META) == ""
        gone = lore.remember("The zebracrossing of the harbour is repainted").memory
        lore.forget(gone.id, erase=True)
        assert not lore.store.is_scrub_owed()
        with lore.store.engine.writing():  # as a former version left it
            lore.store.ask("drop_meta", name=SCRUB_META)
        assert lore.store.is_scrub_owed()
        lore.reindex()
        assert not lore.store.is_scrub_owed()
        assert [memory.id for memory in lore.list()] == [kept.id]


def test_progress_is_told_piece_by_piece(tmp_path: Path) -> None:
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        filled(lore.store, 450)
        steps: list[tuple[int, int]] = []
        counts = lore.reindex(None, lambda *step: steps.append(step))
    assert counts["rows"] == 450
    assert (200, 450) in steps
    assert steps[-1] == (450, 450)
