"""The vector index: exact, approximate, by partition, and in step with the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from conftest import ALICE, BOB, a_memory, an_operation
from swarmlore.domain.records import Situation
from swarmlore.frozen import replace
from swarmlore.store.store import Store
from swarmlore.store.vectors.in_database import RemoteVectors
from swarmlore.store.vectors.local import VectorIndex

DIMENSION = 64


def unit(seed: int) -> np.ndarray:
    row = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    return row / np.linalg.norm(row)


def put(store: Store, text: str, vector: np.ndarray, **fields: object) -> int:
    with store.operation(an_operation()) as operation:
        memory = store.put(operation, a_memory(text, **fields))
    seq = int(store.ask("seq_of", id=memory.id)[0][0])
    give(store, seq, 0, text, vector)
    return seq


def give(store: Store, seq: int, cue: int, text: str, vector: np.ndarray, pieces: Sequence[int] = (3,)) -> None:
    row = {
        "text": text,
        "provider": "p",
        "dimension": DIMENSION,
        "data": vector.tobytes(),
        "pieces": b"",
        "piece_ids": np.array(pieces, "<u2").tobytes(),
    }
    with store.engine.writing():
        assert store.put_vector(seq, cue, row)


def open_index(store: Store) -> VectorIndex | RemoteVectors:
    """Vectors in memory over a file, in the database over a server."""
    if store.engine.remote:
        return RemoteVectors(store, "p", DIMENSION)
    index = VectorIndex("p", DIMENSION, 1000)
    index.refresh(store)
    return index


def test_the_nearest_come_first_and_only_what_is_visible(store: Store) -> None:
    seqs = [put(store, f"Lesson number {n} of the index", unit(n)) for n in range(20)]
    private = put(store, "A private lesson of alice", unit(3), tier="agent")
    index = open_index(store)
    texts, cues = index.nearest(unit(3), store.visible(ALICE), 3)
    assert {texts[0][0], texts[1][0]} == {seqs[3], private}
    assert texts[0][1] == pytest.approx(1.0, abs=1e-5)
    assert cues == []
    assert private not in dict(index.nearest(unit(3), store.visible(BOB), 20)[0])


def test_writes_of_others_forgetting_and_coming_back_are_noticed(store: Store) -> None:
    index = open_index(store)
    assert index.nearest(unit(1), store.visible(ALICE), 3) == ([], [])
    seq = put(store, "A lesson that comes and goes", unit(1))
    index.refresh(store)
    assert [row for row, _ in index.nearest(unit(1), store.visible(ALICE), 3)[0]] == [seq]
    memory = store.by_seqs([seq])[seq]
    with store.operation(an_operation()) as operation:
        hidden = store.forget(operation, memory)
    index.refresh(store)
    assert index.nearest(unit(1), store.visible(ALICE), 3)[0] == []
    with store.operation(an_operation()) as operation:
        store.revise(operation, hidden, replace(hidden, forgotten_at=None), "restored")
    index.refresh(store)
    assert [row for row, _ in index.nearest(unit(1), store.visible(ALICE), 3)[0]] == [seq]


def test_a_changed_text_loses_its_vector_until_it_has_a_new_one(store: Store) -> None:
    seq = put(store, "The first wording of a lesson", unit(1))
    memory = store.by_seqs([seq])[seq]
    with store.operation(an_operation()) as operation:
        store.revise(operation, memory, replace(memory, text="The second wording of a lesson"), "updated")
    assert len(open_index(store)) == 0
    assert [row[0] for row in store.pending("embed", 5)] == [seq]
    stale = {
        "text": "The first wording of a lesson",
        "provider": "p",
        "dimension": DIMENSION,
        "data": unit(1).tobytes(),
        "pieces": b"",
        "piece_ids": b"",
    }
    with store.engine.writing():
        assert not store.put_vector(seq, 0, stale)
    assert len(open_index(store)) == 0


def test_situations_answer_beside_the_text(store: Store) -> None:
    seq = put(
        store,
        "Snapshots are recorded with make snap-record",
        unit(1),
        situations=(Situation("update the images", "prompt", 1.0),),
    )
    cue = next(row[1] for row in store.pending("embed", 5) if row[1])
    give(store, seq, cue, "update the images", unit(2))
    index = open_index(store)
    assert index.nearest(unit(2), store.visible(ALICE), 3)[1][0][0] == seq
    assert index.cue_cosines(unit(2), [seq])[seq] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_all_vectors_of_a_memory_come_back_with_it_wherever_a_page_of_them_ends(store: Store) -> None:
    cues = tuple(Situation(f"the build breaks in way {n}", "prompt", float(n)) for n in range(3))
    seq = put(store, "Snapshot tests are recorded with make snap-record", unit(1), situations=cues)
    for number, (_, text, _, _, cue) in enumerate(store.ask("situations_of", seqs=[seq])):
        give(store, seq, int(cue), text, unit(10 + number))
    memory = store.by_seqs([seq])[seq]
    for state in (replace(memory, status="archived"), memory):
        with store.operation(an_operation()) as operation:
            memory = store.revise(operation, memory, replace(state, version=memory.version), "turned", "")
    last, found = 0, []
    while page := store.vectors_since(last, "p", 1):
        last = page[-1][4]
        found += [(row[1], row[3]) for row in page]
    assert len(found) == 4
    assert all(live for _, live in found)


def test_pieces_are_counted_among_what_is_visible(store: Store) -> None:
    for number, ids in enumerate(([5, 7], [5], [5, 9])):
        seq = put(store, f"Lesson number {number} with pieces", unit(number))
        give(store, seq, 0, f"Lesson number {number} with pieces", unit(number), ids)
    private = put(store, "A private lesson of alice", unit(9), tier="agent")
    give(store, private, 0, "A private lesson of alice", unit(9), [7])
    index = open_index(store)
    asked = np.array([5, 7, 9])
    for caller, counts, size in ((ALICE, [3, 2, 1], 4), (BOB, [3, 1, 1], 3)):
        frequencies, total = index.piece_frequencies(store.visible(caller), asked)
        assert (frequencies[asked].tolist(), total) == (counts, size)
    with store.operation(an_operation()) as operation:
        store.forget(operation, store.by_seqs([private])[private])
    index.refresh(store)
    assert index.piece_frequencies(store.visible(ALICE), asked)[0][asked].tolist() == [3, 1, 1]


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_pieces_of_many_memories_are_counted_anew_when_a_hundredth_changed(store: Store) -> None:
    for number in range(150):
        put(store, f"Lesson number {number} of many", unit(number))
    index, visible = open_index(store), store.visible(ALICE)
    assert index.piece_frequencies(visible, [3])[1] == 150
    for number, expected in ((150, 150), (151, 152)):
        put(store, f"Lesson number {number} of many", unit(number))
        index.refresh(store)
        assert index.piece_frequencies(visible, [3])[1] == expected


def test_similar_texts_of_one_partition_are_found_by_their_cosine(store: Store) -> None:
    near = unit(1) + 0.1 * unit(2)
    first = put(store, "The first of two similar lessons", unit(1))
    second = put(store, "The second of two similar lessons", near / np.linalg.norm(near))
    put(store, "A lesson of its own", unit(50))
    index = open_index(store)
    place = index.partition_of(first)
    assert place is not None
    (found,) = index.similar(np.stack([unit(1)]), place, 0.8)
    assert [row for row, _ in found] == [first, second]
    vector = index.vector(second)
    assert vector is not None
    assert vector == pytest.approx(near / np.linalg.norm(near), abs=1e-6)


@pytest.mark.parametrize("engine_name", ["postgres"], indirect=True)
def test_the_index_of_the_database_finds_nearly_what_an_exact_search_finds(store: Store) -> None:
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((600, DIMENSION)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    with store.engine.writing():
        for number, row in enumerate(rows):
            put(store, f"Lesson number {number} of many", row, tier="agent" if number % 3 else "swarm")
    store.ask("index_vectors", size=DIMENSION)
    index, by_index = open_index(store), RemoteVectors(store, "p", DIMENSION, 10)
    for caller in (ALICE, BOB):
        visible = store.visible(caller)
        exact = [{seq for seq, _ in index.nearest(row, visible, 5)[0]} for row in rows[:40]]
        quick = [{seq for seq, _ in by_index.nearest(row, visible, 5)[0]} for row in rows[:40]]
        assert np.mean([len(one & other) / 5 for one, other in zip(exact, quick, strict=True)]) > 0.95


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_the_coarse_pass_finds_nearly_what_the_exact_one_finds(store: Store) -> None:
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((40, DIMENSION)).astype(np.float32)
    rows = centres[rng.integers(40, size=800)] + 0.6 * rng.standard_normal((800, DIMENSION)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for number, row in enumerate(rows):
        put(store, f"Lesson number {number} of many", row)
    exact, coarse = VectorIndex("p", DIMENSION, 10_000), VectorIndex("p", DIMENSION, 100)
    exact.refresh(store)
    coarse.refresh(store)
    visible, found = store.visible(ALICE), []
    for row in rows[:40]:
        wanted = {seq for seq, _ in exact.nearest(row, visible, 5)[0]}
        found.append(len(wanted & {seq for seq, _ in coarse.nearest(row, visible, 5)[0]}) / 5)
    assert np.mean(found) > 0.95
