"""The file of vectors beside a large store: found, followed, never trusted, and made anew when it is broken."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_vectors import DIMENSION, give, put, unit

from conftest import ALICE, BOB, NOW, an_operation
from swarmlore.config import RecallSettings
from swarmlore.domain.records import Situation
from swarmlore.errors import StoreCorrupt
from swarmlore.frozen import replace
from swarmlore.models.embedding import Embedding
from swarmlore.store.store import Store
from swarmlore.store.vectors import approximate, path_of, remove, unfinished
from swarmlore.store.vectors.file_builder import build, find
from swarmlore.store.vectors.file_state import is_due, known
from swarmlore.store.vectors.local import VectorIndex
from swarmlore.store.vectors.mapped_file import is_there, load
from waiting import wait_until

ROWS = 400
OWN = RecallSettings(exact_rows=100)


def rows_like_texts(many: int, seed: int = 7) -> np.ndarray:
    """Vectors in clusters, as those of texts are."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((20, DIMENSION)).astype(np.float32)
    rows = centres[rng.integers(20, size=many)] + 0.6 * rng.standard_normal((many, DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with many vectors, two thirds of them of private notes of alice, and no file of them yet."""
    home = tmp_path_factory.mktemp("filled")
    store = Store.open(str(home), NOW)
    with store.engine.writing():
        for number, row in enumerate(rows_like_texts(ROWS)):
            put(store, f"Lesson number {number} of many", row, tier="agent" if number % 3 else "swarm")
    store.close()
    return home


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Iterator[Store]:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    opened = Store.open(str(tmp_path), NOW)
    yield opened
    opened.close()


@pytest.fixture
def seqs(store: Store) -> list[int]:
    return [seq for seq, _ in store.vector_keys("p")]


def opened(store: Store, home: Path, exact_rows: int = 100) -> VectorIndex:
    _, kept, why = find(store, str(home), "p")
    assert kept is not None, why
    index = VectorIndex("p", DIMENSION, exact_rows, kept)
    index.refresh(store)
    return index


def plain(store: Store) -> VectorIndex:
    index = VectorIndex("p", DIMENSION, 10**9)
    index.refresh(store)
    return index


def same_answers(one: VectorIndex, other: VectorIndex, store: Store, queries: np.ndarray) -> float:
    """Which share of the first 30 both find, for callers who see all and who see a third."""
    shares = []
    for caller in (ALICE, BOB):
        visible = store.visible(caller)
        for query in queries:
            wanted = [row for row, _ in one.nearest(query, visible, 30)[0]]
            found = [row for row, _ in other.nearest(query, visible, 30)[0]]
            assert len(found) == len(wanted)
            shares.append(len({*wanted} & {*found}) / len(wanted))
    return float(np.mean(shares))


def test_a_search_through_the_file_finds_what_an_exact_one_finds(store: Store, seqs: list[int], tmp_path: Path) -> None:
    assert build(store, str(tmp_path)) == ROWS
    index, exact = opened(store, tmp_path), plain(store)
    assert index.kept is not None and index.kept.near is not None
    assert same_answers(exact, index, store, rows_like_texts(30, 9)) >= 0.95
    row = seqs[5]
    assert index.cosines(unit(3), seqs[:9]) == pytest.approx(exact.cosines(unit(3), seqs[:9]), abs=1e-6)
    assert index.vector(row) == pytest.approx(exact.vector(row))
    assert index.partition_of(row) == exact.partition_of(row)
    assert len(index) == len(exact) == ROWS
    visible = store.visible(ALICE)
    assert index.piece_frequencies(visible, [3])[1] == exact.piece_frequencies(visible, [3])[1] == ROWS
    query, place = exact.vector(row), exact.partition_of(row)
    assert query is not None and place is not None
    assert index.similar(query[None], place, 0.85) == [
        [(found, pytest.approx(cosine, abs=1e-5)) for found, cosine in exact.similar(query[None], place, 0.85)[0]]
    ]


def test_whoever_sees_few_is_not_given_fewer_and_nothing_of_others(
    store: Store, seqs: list[int], tmp_path: Path
) -> None:
    near = rows_like_texts(1, 7)[0]  # all around it there are private notes of alice
    build(store, str(tmp_path))
    for exact_rows in (0, 50, 10**9):
        index = opened(store, tmp_path, exact_rows)
        texts, _ = index.nearest(near, store.visible(BOB), 150)
        public = {seq for number, seq in enumerate(seqs) if number % 3 == 0}
        assert {row for row, _ in texts} == public, "134 of 400, and all of them"
        assert index.nearest(near, [], 10) == ([], [])


def test_what_is_written_after_the_file_is_found_beside_it(store: Store, seqs: list[int], tmp_path: Path) -> None:
    build(store, str(tmp_path))
    index = opened(store, tmp_path)
    fresh = put(store, "A lesson that came later", unit(77), situations=(Situation("in a pinch", "prompt", 1.0),))
    cue = next(row[1] for row in store.pending("embed", 5) if row[1])
    give(store, fresh, cue, "in a pinch", unit(78))
    gone = store.by_seqs([seqs[0]])[seqs[0]]
    with store.operation(an_operation()) as operation:
        store.forget(operation, gone)
    moved = store.by_seqs([seqs[1]])[seqs[1]]
    with store.operation(an_operation()) as operation:
        store.revise(operation, moved, replace(moved, tier="swarm"), "promoted")
    for follows in (index, opened(store, tmp_path)):
        follows.refresh(store)
        assert follows.nearest(unit(77), store.visible(ALICE), 3)[0][0] == (fresh, pytest.approx(1.0, abs=1e-5))
        assert follows.nearest(unit(78), store.visible(ALICE), 3)[1][0][0] == fresh
        assert follows.cue_cosines(unit(78), [fresh]) == {fresh: pytest.approx(1.0, abs=1e-5)}
        everything = dict(follows.nearest(unit(1), store.visible(BOB), ROWS)[0])
        assert seqs[0] not in everything and seqs[1] in everything
        assert same_answers(plain(store), follows, store, rows_like_texts(10, 9)) >= 0.95
        assert len(follows) == ROWS + 2, "what only turned has one place still"


def test_situations_of_the_file_are_found_with_their_memories(store: Store, seqs: list[int], tmp_path: Path) -> None:
    situated = put(store, "A lesson with a situation", unit(70), situations=(Situation("in a pinch", "prompt", 1.0),))
    cue = next(row[1] for row in store.pending("embed", 5) if row[1])
    give(store, situated, cue, "in a pinch", unit(71))
    alone = put(store, "A lesson after it", unit(72))
    build(store, str(tmp_path))
    index, absent = opened(store, tmp_path), 10**9
    rows = [absent, alone, situated, *seqs[:3], 0]
    assert index.kept is not None and len(index.kept) == ROWS + 3
    assert set(index.cosines(unit(1), rows)) == {*rows} - {absent, 0}
    assert index.cue_cosines(unit(71), rows) == {situated: pytest.approx(1.0, abs=1e-5)}
    with store.operation(an_operation()) as operation:
        memory = store.by_seqs([situated])[situated]
        store.revise(operation, memory, replace(memory, situations=()), "no longer")
    index.refresh(store)
    assert index.cue_cosines(unit(71), rows) == {}


def test_a_text_that_changed_is_found_by_its_new_vector_only(store: Store, seqs: list[int], tmp_path: Path) -> None:
    build(store, str(tmp_path))
    index = opened(store, tmp_path)
    memory = store.by_seqs([seqs[3]])[seqs[3]]
    with store.operation(an_operation()) as operation:
        store.revise(operation, memory, replace(memory, text="Another wording of a lesson"), "updated")
    index.refresh(store)
    assert index.vector(seqs[3]) is None
    assert seqs[3] not in dict(index.nearest(unit(1), store.visible(ALICE), ROWS)[0])
    give(store, seqs[3], 0, "Another wording of a lesson", unit(99))
    for follows in (index, opened(store, tmp_path)):
        follows.refresh(store)
        assert follows.nearest(unit(99), store.visible(ALICE), 1)[0] == [(seqs[3], pytest.approx(1.0, abs=1e-5))]


def test_a_cache_hears_of_every_vector_that_comes_and_goes(tmp_path: Path) -> None:
    """The last vector goes, and the next one must not get its number: nobody would look at it."""
    store = Store.open(str(tmp_path), NOW)
    index = plain(store)
    first = put(store, "The first wording of a lesson", unit(1))
    index.refresh(store)
    for number in range(2, 5):
        memory = store.by_seqs([first])[first]
        with store.operation(an_operation()) as operation:
            store.revise(operation, memory, replace(memory, text=f"Wording number {number} of a lesson"), "updated")
        index.refresh(store)
        assert index.nearest(unit(1), store.visible(ALICE), 3)[0] == []
        give(store, first, 0, f"Wording number {number} of a lesson", unit(number))
        give(store, first, 0, f"Wording number {number} of a lesson", unit(10 * number))  # and once more
        index.refresh(store)
        assert index.nearest(unit(10 * number), store.visible(ALICE), 3)[0] == [(first, pytest.approx(1, abs=1e-5))]
    store.close()


def test_a_vector_of_another_size_under_the_same_name_spoils_nothing(
    store: Store, seqs: list[int], tmp_path: Path
) -> None:
    store.engine.run("UPDATE embedding SET dimension = 3, data = x'0000803f' WHERE memory_seq = 9")
    assert build(store, str(tmp_path)) == ROWS - 1
    for index in (opened(store, tmp_path), plain(store)):
        assert index.vector(9) is None
        assert len(index.nearest(unit(1), store.visible(ALICE), ROWS)[0]) == ROWS - 1


def test_whoever_was_away_for_many_deletions_looks_at_what_is_left(store: Store, seqs: list[int]) -> None:
    index = plain(store)
    with store.operation(an_operation()) as operation:
        for seq in seqs[:300]:
            store.erase(operation, store.by_seqs([seq])[seq])
    index.refresh(store)
    assert {row for row, _ in index.nearest(unit(1), store.visible(ALICE), ROWS)[0]} == {*seqs[300:]}


def test_an_erased_text_leaves_no_file_behind_and_none_that_was_being_made(
    store: Store, seqs: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(store, str(tmp_path))
    index = opened(store, tmp_path)

    def erase() -> None:
        with store.operation(an_operation()) as operation:
            store.erase(operation, store.by_seqs([seqs[7]])[seqs[7]])
        remove(str(tmp_path))

    def shortened(*asked: Any) -> np.ndarray:
        erase()
        return approximate.shortened(*asked)

    monkeypatch.setattr("swarmlore.store.vectors.file_builder.shortened", shortened)
    assert build(store, str(tmp_path)) == 0
    assert known(store).token == ""
    assert not [name for name in os.listdir(tmp_path) if name.startswith("vectors.idx")]
    index.refresh(store)
    assert seqs[7] not in dict(index.nearest(unit(1), store.visible(ALICE), ROWS)[0])
    monkeypatch.undo()
    assert build(store, str(tmp_path)) == ROWS - 1


DAMAGE = {
    "cut in the middle": lambda data: data[: len(data) // 2],
    "cut at its end": lambda data: data[:-1],
    "empty": lambda data: b"",
    "one bit of a vector": lambda data: _flipped(data, _part(data, "matrix") + 100),
    "one bit of the index": lambda data: _flipped(data, _part(data, "near") + 100),
    "its last bytes": lambda data: data[:-40] + bytes(40),
    "another file": lambda data: b"swarmlore vectors 1\n" + bytes(len(data)),
    "a bit of what it says": lambda data: _flipped(data, -60),
}


def _part(data: bytes, name: str) -> int:
    """Where a part of a file begins, as its end tells."""
    size = int.from_bytes(data[-12:-4], "little")
    return int(json.loads(data[-12 - size : -12])["parts"][name][0])


def _flipped(data: bytes, at: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_not_used_and_a_new_one_is_made(
    store: Store, seqs: list[int], tmp_path: Path, damage: str
) -> None:
    build(store, str(tmp_path))
    assert not is_due(store, str(tmp_path), OWN)
    path = Path(path_of(str(tmp_path)))
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(StoreCorrupt, match=r"vectors\.idx"):
        load(str(tmp_path), known(store).token)
    assert find(store, str(tmp_path), "p")[1] is None
    assert is_due(store, str(tmp_path), OWN)
    assert build(store, str(tmp_path)) == ROWS
    assert same_answers(plain(store), opened(store, tmp_path), store, rows_like_texts(5, 9)) >= 0.95


def test_a_file_is_of_one_store_one_embedder_and_one_size(store: Store, seqs: list[int], tmp_path: Path) -> None:
    build(store, str(tmp_path))
    assert find(store, str(tmp_path), "another embedder")[1] is None
    assert not is_there(str(tmp_path), "another store")
    link = tmp_path / "elsewhere"
    os.rename(path_of(str(tmp_path)), link)
    os.symlink(link, path_of(str(tmp_path)))
    assert find(store, str(tmp_path), "p")[1] is None, "what lies behind a link is nobody's"
    assert os.stat(link).st_mode & 0o777 == 0o600


def test_a_file_that_is_cut_while_it_is_searched_is_left(store: Store, seqs: list[int], tmp_path: Path) -> None:
    build(store, str(tmp_path))
    embedding = Embedding(store, None, OWN, str(tmp_path))  # type: ignore[arg-type]  # nothing is embedded here
    embedding._embedder, embedding._opened = Named(), True  # type: ignore[assignment]
    first = embedding.index()
    assert isinstance(first, VectorIndex) and first.kept is not None
    os.truncate(path_of(str(tmp_path)), 4096)
    second = embedding.index()
    assert isinstance(second, VectorIndex) and second.kept is None
    assert "vectors.idx" in embedding.file_problem
    assert len(second.nearest(unit(1), store.visible(ALICE), 30)[0]) == 30
    build(store, str(tmp_path))
    third = embedding.index()
    assert isinstance(third, VectorIndex) and third.kept is not None


class Named:
    """What an index asks of an embedder."""

    name, dimension = "p", DIMENSION


def test_a_new_file_is_due_when_there_are_many_and_again_when_many_came(
    store: Store, seqs: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = str(tmp_path)
    assert not is_due(store, home, replace(OWN, exact_rows=ROWS))
    assert not is_due(store, home, replace(OWN, approximate=False))
    assert is_due(store, home, OWN)
    build(store, home)
    assert not is_due(store, home, OWN)
    monkeypatch.setattr("swarmlore.store.vectors.file_state.TAIL", 30)
    with store.engine.writing():
        for number in range(31):
            put(store, f"Lesson number {number} after the file", unit(1000 + number))
    assert is_due(store, home, OWN)
    build(store, home)
    assert not is_due(store, home, OWN)
    os.unlink(path_of(home))
    assert is_due(store, home, OWN)


def test_without_the_library_nothing_is_made_and_a_coarse_pass_has_to_do(
    store: Store, seqs: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(store, str(tmp_path))
    for module in ("approximate", "file_state"):
        monkeypatch.setattr(f"swarmlore.store.vectors.{module}.library", lambda: None, raising=False)
    index = opened(store, tmp_path)
    assert index.kept is not None and index.kept.near is None
    assert same_answers(plain(store), index, store, rows_like_texts(5, 9)) >= 0.95
    os.unlink(path_of(str(tmp_path)))
    assert not is_due(store, str(tmp_path), OWN)


KILLED = """
import sys, time
from swarmlore.store.store import Store
from swarmlore.store.vectors import file_builder, mapped_file
store = Store.open(sys.argv[1], 0.0)
if sys.argv[2] == "codes":
    file_builder.shortened = lambda *asked: time.sleep(60)
else:
    mapped_file.VectorFileWriter.take_place = lambda self: time.sleep(60)
print("ready", flush=True)
file_builder.build(store, sys.argv[1])
"""


@pytest.mark.parametrize("moment", ["codes", "place"])
def test_a_builder_that_is_killed_leaves_the_store_and_the_former_file_as_they_were(
    store: Store, seqs: list[int], tmp_path: Path, moment: str
) -> None:
    build(store, str(tmp_path))
    before = known(store)
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), moment], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    least = ROWS * DIMENSION * 4 if moment == "place" else 0  # then all of it is written
    wait_until(lambda: any(os.path.getsize(path) >= least for path in unfinished(str(tmp_path))), "it is written")
    assert build(store, str(tmp_path)) == 0 if moment == "codes" else True, "one at a time"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert known(store) == before
    assert same_answers(plain(store), opened(store, tmp_path), store, rows_like_texts(5, 9)) >= 0.95
    assert build(store, str(tmp_path)) == ROWS
    assert unfinished(str(tmp_path)) == []


def test_a_restored_store_does_not_use_the_file_of_another_state(store: Store, seqs: list[int], tmp_path: Path) -> None:
    from swarmlore.store.backup import back_up, restore

    home = str(tmp_path)
    build(store, home)
    index = opened(store, tmp_path)
    backup = back_up(store, home)
    late = put(store, "A lesson that is not in the backup", unit(55))
    index.refresh(store)
    store.close()
    restore(home, backup, NOW)
    again = Store.open(home, NOW)
    try:
        assert known(again).token == ""
        index.refresh(again)
        assert late not in dict(index.nearest(unit(55), again.visible(ALICE), ROWS)[0])
        assert same_answers(plain(again), index, again, rows_like_texts(5, 9)) >= 0.95
    finally:
        again.close()
