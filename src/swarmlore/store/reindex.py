"""Rebuild the indexes from the rows: in place, piece by piece, while other processes read and write.

Nothing is emptied first. A row stays findable as it was indexed until its turn, so search stays useful and
near-duplicates are still recognised. Each piece is one transaction that reads its rows and writes their index entries;
later changes by others index themselves. Only a full-text index that contradicts itself is emptied, as its correct
entries cannot be told apart.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from swarmlore.domain.json_codec import iso
from swarmlore.domain.records import LIVE_STATUSES, Memory
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.graph import graph_rows
from swarmlore.store.memories import Words, cue_row, entity_rows, key_rows, word_row
from swarmlore.store.tokens import Tokens

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Row

    Progress = Callable[[int, int], None]
    Values = dict[str, Any]

REINDEX_META = "reindex"  # why a rebuild is due: a migration made the indexes stale, or a rebuild was interrupted
PIECE = 200  # rows per transaction: other writers wait for it
KEYS = 20_000  # index keys read at once
LOOKED_AT = 20_000  # memories whose keys are compared at once
GIVE_WAY_S = 0.002  # pause between two pieces for waiting threads; other processes write while a piece is computed
END = 2**62  # above every row number, and -END below
MASK = 2**64 - 1
KINDS = {  # the tables derived from a memory: name, position of `memory_seq` in the columns, columns
    "entity": ("entities", 2, ("partition", "entity", "memory_seq")),
    "mention": ("mentions", 2, ("partition", "name", "memory_seq", "said", "type", "about", "weight")),
    "relation": ("relations", 4, ("partition", "source", "target", "kind", "memory_seq", "about", "strength")),
}


@frozen
class Item:
    """A memory to be reindexed and its index entries."""

    seq: int
    partition: int
    memory: Memory
    words: Words
    keys: Sequence[Values] = ()
    entities: Sequence[Values] = ()
    mentions: Sequence[Values] = ()
    relations: Sequence[Values] = ()


@frozen
class Piece:
    """The result of one transaction: its rows, the last number done, and the rows that seem to have wrong keys."""

    seqs: Sequence[int]
    upto: int
    wrong: Sequence[int]


class Marks:
    """A hash of the index keys of each row, to detect differences. An array holds the row numbers that existed at the
    start, a dict all others."""

    def __init__(self, newest: int) -> None:
        self._of = array("Q", bytes(8 * (newest + 1)))
        self._others: dict[int, int] = {}

    def add(self, keys: Iterable[Row]) -> None:
        """Add index keys to the hashes of their rows."""
        of, others = self._of, self._others
        for partition, key, seq in keys:
            if 0 <= seq < len(of):
                of[seq] = (of[seq] + hash((partition, key))) & MASK
            else:
                others[seq] = (others.get(seq, 0) + hash((partition, key))) & MASK

    def of(self, seq: int) -> int:
        """Return the hash of a row's keys, 0 if it has none."""
        return self._of[seq] if seq < len(self._of) else self._others.get(seq, 0)

    def drop(self, seqs: Iterable[int]) -> None:
        """Clear the hashes of rows that were checked."""
        for seq in seqs:
            if seq < len(self._of):
                self._of[seq] = 0
            else:
                self._others.pop(seq, None)

    def left(self) -> Iterator[int]:
        """Yield the rows whose hash was not cleared."""
        return chain((seq for seq, mark in enumerate(self._of) if mark), self._others)


def marked(keys: Sequence[Values]) -> int:
    """Return the hash of a row with these keys, comparable to `Marks.of`."""
    return sum(hash(key) for key in {(row["partition"], row["shingle"]) for row in keys}) & MASK


class Rebuilding(Tokens):
    """The reindex methods of `Store`."""

    def reindex_words(self, progress: Progress | None = None) -> int:
        """Rebuild full text, shingles, entities and the graph from the rows; return how many rows were read."""
        done = 0
        for done, total in self.rebuild():
            if progress:
                progress(done, total)
            time.sleep(GIVE_WAY_S)
        return done

    def rebuild(self) -> Iterator[tuple[int, int]]:
        """Rebuild in steps and yield (rows done, rows in all) after each; between steps others may use the store.

        An interrupted rebuild is recorded as unfinished; a new one is correct from any state.
        """
        mark = self._begin()
        self._empty_damaged()
        done, total = 0, int(self.ask("count_memories")[0][0])
        marks, wrong = Marks(int(self.ask("newest_seq")[0][0])), set[int]()
        for keys in self._every_key():
            marks.add(keys)
            yield 0, total
        for count in self._reindex_rows(marks, wrong):
            done += count
            yield done, max(done, total)
        for _ in chain(self._reindex_cues_all(), self._remove_wrong_keys(sorted(wrong.union(marks.left())))):
            yield done, max(done, total)
        self.look(partial(self._end, mark))
        if self.engine.remote or self.is_scrub_owed():  # SQLite rewrites the whole file: only after an erasure
            self.scrub()
        yield done, done

    def _begin(self) -> str:
        """Record that a rebuild has begun; return the note, which identifies this rebuild."""
        mark = f"building them anew began at {iso(self.engine.now())} and has not ended"
        self.look(partial(self.set_meta, REINDEX_META, mark))
        return mark

    def _end(self, mark: str) -> None:
        """Correct word counts, drop the communities and remove the note of this rebuild."""
        is_off = self.engine.remote and self.ask("words_miscounted")
        with self.engine.writing():
            # Asked again under the lock: another process may have corrected them.
            for partition, memories, words in self.ask("words_miscounted") if is_off else ():
                self.ask("correct_place", partition=partition, memories=memories, words=words)
            self.ask("clear_communities")  # recomputed on demand
            if self.meta(REINDEX_META) == mark:  # else another rebuild has begun
                self.ask("drop_meta", name=REINDEX_META)

    def _empty_damaged(self) -> None:
        """Empty the full-text indexes that contradict themselves."""
        for name in self.engine.damaged_indexes():
            with self.engine.writing():
                self.ask(f"clear_{name}")

    # Rows

    def _reindex_rows(self, marks: Marks, wrong: set[int]) -> Iterator[int]:
        """Reindex all memories piece by piece; yield the number of rows of each. Collect in `wrong` the rows with
        surplus keys, or changed since the keys were read."""
        after = -END
        while after < END:
            piece = self.look(partial(self._reindex_piece, after, marks))
            marks.drop(piece.seqs)
            wrong.update(piece.wrong)
            after = piece.upto
            yield len(piece.seqs)

    def _reindex_piece(self, after: int, marks: Marks) -> Piece:
        """Reindex the next rows in one transaction. Entries are computed before the lock is taken, and again if others
        wrote meanwhile. Entries with numbers between the rows belong to no memory and are removed."""
        self._check_partitions()
        seen = self.engine.data_version()
        seqs = self._next_seqs(after)
        items = self._items(seqs, {})
        with self.engine.writing(durable=False):
            self._check_partitions()
            if self.engine.data_version() != seen or len(seqs) < PIECE:
                seqs = self._next_seqs(after)
                items = self._items(seqs, {item.seq: item for item in items})
            upto = seqs[-1] if len(seqs) == PIECE else END
            self._write(items, {"after": after, "upto": upto})
            return Piece(seqs, upto, self._renew_keys(items, marks))

    def _next_seqs(self, after: int) -> list[int]:
        return [int(row[0]) for row in self.ask("every_seq", after=after, limit=PIECE)]

    def _items(self, seqs: Sequence[int], known: Mapping[int, Item]) -> list[Item]:
        """Return the index entries of these rows; entries of unchanged rows are reused from `known`."""
        items = []
        for seq, memory in self.by_seqs(seqs).items():
            partition, item = self.partition_of(memory), known.get(seq)
            same = item is not None and (item.partition, item.memory) == (partition, memory)
            items.append(item if item is not None and same else _item(seq, partition, memory))
        return items

    def _write(self, items: Sequence[Item], span: dict[str, int]) -> None:
        """Write the index entries of some rows in place of those in the span of their numbers."""
        live = [item for item in items if item.memory.live]
        self._renew_stems(items)
        self.ask("unindex_words_between", **span)
        self.ask_many("index_words", [word_row(item.seq, item.partition, item.words) for item in live])
        self._renew("entity", [row for item in items for row in item.entities], span)
        self._renew("mention", [row for item in items for row in item.mentions], span)
        self._renew("relation", [row for item in items for row in item.relations], span)
        self.ask("queue_missing", **span)

    def _renew_stems(self, items: Sequence[Item]) -> None:
        """Update the stems that differ; most are correct, and a row that is not written costs little."""
        stored = {int(seq): stems for seq, stems in self.ask("stems_of", seqs=[item.seq for item in items])}
        fresh = [(item.seq, item.words.stems) for item in items]
        self.ask_many("set_stems", [{"seq": seq, "stems": stems} for seq, stems in fresh if stored.get(seq) != stems])

    def _renew_keys(self, items: Sequence[Item], marks: Marks) -> list[int]:
        """Add missing keys; return rows with possible surplus keys, which only a full scan can find."""
        wrong: list[int] = []
        missing: list[Values] = []
        for item in items:
            before = marks.of(item.seq)
            if before != marked(item.keys):
                missing += item.keys
                wrong += [item.seq] if before else []
        self.ask_many("add_shingle", missing)
        return wrong

    def _renew(self, kind: str, rows: Sequence[Values], span: dict[str, int]) -> None:
        """Replace the entries of one derived table for the memories where they differ."""
        table, place, columns = KINDS[kind]
        wanted: dict[Row, Row] = {}
        for row in rows:
            values = tuple(row[name] for name in columns)
            wanted.setdefault(values[: max(place + 1, 3)], values)
        wrong = {
            row[place] for row in {tuple(row) for row in self.ask(f"{table}_between", **span)} ^ {*wanted.values()}
        }
        if wrong:
            self.ask(f"delete_{table}_of", seqs=sorted(wrong))
            fresh = [values for values in wanted.values() if values[place] in wrong]
            self.ask_many(f"add_{kind}", [dict(zip(columns, values, strict=True)) for values in fresh])

    # Situations

    def _reindex_cues_all(self) -> Iterator[None]:
        """Rebuild the full-text index of situations."""
        after = -END
        while after < END:
            after = self.look(partial(self._reindex_cue_piece, after))
            yield

    def _reindex_cue_piece(self, after: int) -> int:
        with self.engine.writing(durable=False):
            rows = self.ask("situations_after", after=after, live=LIVE_STATUSES, limit=PIECE)
            upto = int(rows[-1][0]) if len(rows) == PIECE else END
            self.ask("unindex_cues_between", after=after, upto=upto)
            self.ask_many("index_cue", [cue_row(int(seq), int(partition), text) for seq, text, partition in rows])
            return upto

    # Surplus keys

    def _remove_wrong_keys(self, seqs: Sequence[int]) -> Iterator[None]:
        """Delete the keys that these rows should not have."""
        for start in range(0, len(seqs), LOOKED_AT):
            yield from self._drop_wrong_keys(seqs[start : start + LOOKED_AT])

    def _every_key(self) -> Iterator[list[Row]]:
        """Yield all stored keys in pages."""
        last: Row = (-END, -END, -END)
        while rows := self.ask("keys_after", **_key(*last), limit=KEYS):
            yield rows
            last = rows[-1]

    def _drop_wrong_keys(self, seqs: Sequence[int]) -> Iterator[None]:
        right = self._right_keys(seqs)
        for rows in self._every_key():
            if wrong := [row for row in rows if row[2] in right and row[:2] not in right[row[2]]]:
                self.look(partial(self._drop_if_wrong, wrong))
            yield

    def _drop_if_wrong(self, rows: Sequence[Row]) -> None:
        """Delete keys that are still wrong; others may have changed a memory since it was read."""
        for start in range(0, len(rows), PIECE):
            page = rows[start : start + PIECE]
            with self.engine.writing(durable=False):
                right = self._right_keys(sorted({int(row[2]) for row in page}))
                self.ask_many("delete_shingle", [_key(*row) for row in page if row[:2] not in right[row[2]]])

    def _right_keys(self, seqs: Sequence[int]) -> dict[int, set[Row]]:
        """Return the correct keys of these rows."""
        right: dict[int, set[Row]] = {seq: set() for seq in seqs}
        for seq, memory in self.by_row(seqs).items():
            rows = key_rows(seq, self.partition_of(memory), memory)
            right[seq] = {(row["partition"], row["shingle"]) for row in rows}
        return right


def _item(seq: int, partition: int, memory: Memory) -> Item:
    """Compute the index entries of a memory."""
    place = (seq, partition, memory)
    keys, words = key_rows(*place), Words.of(memory)
    return (
        Item(*place, words, keys, entity_rows(*place), *graph_rows(*place))
        if memory.live
        else Item(*place, words, keys)
    )


def _key(partition: Any, shingle: Any, memory_seq: Any) -> Values:
    return {"partition": partition, "shingle": shingle, "memory_seq": memory_seq}
