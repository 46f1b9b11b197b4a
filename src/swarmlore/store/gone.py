"""Vectors that are no more: each deletion has a change number of its own and is told for a while, so that processes
that keep vectors in memory hear of it. A team's database keeps all of them itself and needs no word.
"""

from __future__ import annotations

import json

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.store.base import StoreBase

LAST_META = "last_change"  # the highest number that was ever given, where the vector that had it may be gone
GONE_META = "vectors_gone"
FILE_META = "vector_file"  # the file of vectors beside the store that is its own
MAKING_META = "vector_making"  # the one that is being made
MOST_TOLD = 256  # deletions; whoever was away for longer looks at all that is left


def last_change(store: StoreBase) -> int:
    """The highest change number that a vector or a deletion has."""
    return int(store.ask("last_change")[0][0])


def make_room(store: StoreBase, memory_seq: int, situation_seq: int) -> None:
    """Delete a vector whose successor comes at once; its number is not given out again, or nobody would notice."""
    if not store.engine.remote and situation_seq in _there(store, memory_seq):
        store.ask("put_meta", name=LAST_META, value=str(last_change(store)))
    _delete(store, memory_seq, situation_seq)


def drop_vectors(store: StoreBase, memory_seq: int, situation_seq: int | None = None) -> None:
    """Delete the vectors of a memory, or that of its text (0) or of one situation, and tell."""
    if store.engine.remote:
        _delete(store, memory_seq, situation_seq)
        return
    leaving = [cue for cue in _there(store, memory_seq) if situation_seq in (None, cue)]
    if not leaving:
        return
    number = last_change(store) + 1
    _delete(store, memory_seq, situation_seq)
    since, told = gone(store)
    told += [(number, memory_seq, cue) for cue in leaving]
    if len(told) > MOST_TOLD:
        since = told[-MOST_TOLD - 1][0]
    store.ask("put_meta", name=GONE_META, value=json.dumps([since, told[-MOST_TOLD:]]))
    store.ask("put_meta", name=LAST_META, value=str(number))


def _there(store: StoreBase, memory_seq: int) -> list[int]:
    return [int(row[0]) for row in store.ask("vectors_of", memory_seq=memory_seq)]


def _delete(store: StoreBase, memory_seq: int, situation_seq: int | None) -> None:
    if situation_seq is None:
        store.ask("delete_embeddings_of", memory_seq=memory_seq)
    else:
        store.ask("delete_embedding", memory_seq=memory_seq, situation_seq=situation_seq)


def gone(store: StoreBase) -> tuple[int, list[tuple[int, int, int]]]:
    """(change, [(change, memory, situation)]): all deletions after the first number, oldest first."""
    told = store.meta(GONE_META)
    if not told:
        return 0, []
    since, rows = json.loads(told)
    return int(since), [(int(change), int(memory), int(cue)) for change, memory, cue in rows]
