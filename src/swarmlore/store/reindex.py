"""The indexes anew from the rows: in place, piece by piece, while others read and write.

Nothing is emptied first. Until its turn comes, a row is found as it was indexed before: searching stays useful, and
nothing is stored a second time because its like could not be seen. Each piece is a transaction that reads its rows and
writes what follows from them. What others change before that is read as they left it; what they change afterwards they
index themselves. Only a full-text index that contradicts itself is emptied, as nobody can tell what in it is right.
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


REINDEX_META = "reindex"  # why the indexes should be built anew: a migration left them behind, or this did not end
PIECE = 200  # rows of one transaction: other writers wait for it
KEYS = 20_000  # that are read at once
LOOKED_AT = 20_000  # memories whose keys are held in mind at once
GIVE_WAY_S = 0.002  # between two pieces, for a thread that waits; processes have their turn while one is worked out
END = 2**62  # above every row number, and -END below
MOST = 2**64 - 1
KINDS = {  # the tables that say of a row what it is about, and where in theirs its number stands
    "entity": ("entities", 2, ("partition", "entity", "memory_seq")),
    "mention": ("mentions", 2, ("partition", "name", "memory_seq", "said", "type", "about", "weight")),
    "relation": ("relations", 4, ("partition", "source", "target", "kind", "memory_seq", "about", "strength")),
}


@frozen
class Item:
    """A row whose turn it is, and what follows from it."""

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
    """What was done in one transaction: the rows, the last number that is done, and the rows whose keys look wrong."""

    seqs: Sequence[int]
    upto: int
    wrong: Sequence[int]


class Marks:
    """What keys each row has, as one number: equal where the keys are. An array for the rows that there are; numbers
    that come later, or that no row ever had, stand apart."""

    def __init__(self, newest: int) -> None:
        self._of = array("Q", bytes(8 * (newest + 1)))
        self._others: dict[int, int] = {}

    def add(self, keys: Iterable[Row]) -> None:
        of, others = self._of, self._others
        for partition, key, seq in keys:
            if 0 <= seq < len(of):
                of[seq] = (of[seq] + hash((partition, key))) & MOST
            else:
                others[seq] = (others.get(seq, 0) + hash((partition, key))) & MOST

    def of(self, seq: int) -> int:
        """The mark of a row, 0 where it has no keys."""
        return self._of[seq] if seq < len(self._of) else self._others.get(seq, 0)

    def drop(self, seqs: Iterable[int]) -> None:
        for seq in seqs:
            if seq < len(self._of):
                self._of[seq] = 0
            else:
                self._others.pop(seq, None)

    def left(self) -> Iterator[int]:
        """The rows that have one still."""
        return chain((seq for seq, mark in enumerate(self._of) if mark), self._others)


def marked(keys: Sequence[Values]) -> int:
    """The mark of a row that has these keys."""
    return sum(hash(key) for key in {(row["partition"], row["shingle"]) for row in keys}) & MOST


class Rebuilding(Tokens):
    """What `reindex` does to the store."""

    def reindex_words(self, progress: Progress | None = None) -> int:
        """Build full text, shingles, entities and the graph anew from the rows; returns how many rows were read."""
        done = 0
        for done, total in self.rebuild():
            if progress:
                progress(done, total)
            time.sleep(GIVE_WAY_S)
        return done

    def rebuild(self) -> Iterator[tuple[int, int]]:
        """The same in steps: after each, others may use the store. Gives how many rows are done, and of how many.

        What does not end is said to be unfinished; begun again, it ends right from whatever is there.
        """
        mark = self._begin()
        self._empty_damaged()
        done, total = 0, int(self.ask("count_memories")[0][0])
        marks, wrong = Marks(int(self.ask("newest_seq")[0][0])), set[int]()
        for keys in self._every_key():
            marks.add(keys)
            yield 0, total
        for count in self._rows_anew(marks, wrong):
            done += count
            yield done, max(done, total)
        for _ in chain(self._cues_anew(), self._keys_put_right(sorted(wrong.union(marks.left())))):
            yield done, max(done, total)
        self.look(partial(self._end, mark))
        if self.engine.remote or self.is_scrub_owed():  # rewrites a file, whole: not for nothing
            self.scrub()
        yield done, done

    def _begin(self) -> str:
        """Say that the indexes are being built; what is said is this rebuild's own."""
        mark = f"building them anew began at {iso(self.engine.now())} and has not ended"
        self.look(partial(self.set_meta, REINDEX_META, mark))
        return mark

    def _end(self, mark: str) -> None:
        is_off = self.engine.remote and self.ask("words_miscounted")
        with self.engine.writing():
            for partition, memories, words in self.ask("words_miscounted") if is_off else ():  # others may mend it too
                self.ask("correct_place", partition=partition, memories=memories, words=words)
            self.ask("clear_communities")  # found anew when they are asked for
            if self.meta(REINDEX_META) == mark:  # else another rebuild has begun, and may have emptied something
                self.ask("drop_meta", name=REINDEX_META)

    def _empty_damaged(self) -> None:
        for name in self.engine.damaged_indexes():
            with self.engine.writing():
                self.ask(f"clear_{name}")

    # Rows

    def _rows_anew(self, marks: Marks, wrong: set[int]) -> Iterator[int]:
        """Piece by piece; gives how many rows each has. Adds to `wrong` the rows that have keys they should not have,
        or were changed since the keys were read."""
        after = -END
        while after < END:
            piece = self.look(partial(self._piece, after, marks))
            marks.drop(piece.seqs)
            wrong.update(piece.wrong)
            after = piece.upto
            yield len(piece.seqs)

    def _piece(self, after: int, marks: Marks) -> Piece:
        """Everything that follows from the next rows. What that is, is worked out before others have to wait, and again
        where they were quicker. What stands under a number between the rows belongs to none."""
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
        """What follows from these rows; where they are as they were, it is known."""
        items = []
        for seq, memory in self.by_seqs(seqs).items():
            partition, item = self.partition_of(memory), known.get(seq)
            same = item is not None and (item.partition, item.memory) == (partition, memory)
            items.append(item if item is not None and same else _item(seq, partition, memory))
        return items

    def _write(self, items: Sequence[Item], span: dict[str, int]) -> None:
        live = [item for item in items if item.memory.live]
        self._renew_stems(items)
        self.ask("unindex_words_between", **span)
        self.ask_many("index_words", [word_row(item.seq, item.partition, item.words) for item in live])
        self._renew("entity", [row for item in items for row in item.entities], span)
        self._renew("mention", [row for item in items for row in item.mentions], span)
        self._renew("relation", [row for item in items for row in item.relations], span)
        self.ask("queue_missing", **span)

    def _renew_stems(self, items: Sequence[Item]) -> None:
        """Most are as they should be; a row that is not written costs little."""
        stored = {int(seq): stems for seq, stems in self.ask("stems_of", seqs=[item.seq for item in items])}
        fresh = [(item.seq, item.words.stems) for item in items]
        self.ask_many("set_stems", [{"seq": seq, "stems": stems} for seq, stems in fresh if stored.get(seq) != stems])

    def _renew_keys(self, items: Sequence[Item], marks: Marks) -> list[int]:
        """Add the keys that rows lack; returns those that may have others, which have no index by row and are looked
        for at the end."""
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
        """Replace what is stored of the memories of which it is not right."""
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

    def _cues_anew(self) -> Iterator[None]:
        after = -END
        while after < END:
            after = self.look(partial(self._cue_piece, after))
            yield

    def _cue_piece(self, after: int) -> int:
        with self.engine.writing(durable=False):
            rows = self.ask("situations_after", after=after, live=LIVE_STATUSES, limit=PIECE)
            upto = int(rows[-1][0]) if len(rows) == PIECE else END
            self.ask("unindex_cues_between", after=after, upto=upto)
            self.ask_many("index_cue", [cue_row(int(seq), int(partition), text) for seq, text, partition in rows])
            return upto

    # Keys that belong to no text

    def _keys_put_right(self, seqs: Sequence[int]) -> Iterator[None]:
        """Drop the keys that these rows should not have."""
        for start in range(0, len(seqs), LOOKED_AT):
            yield from self._drop_wrong_keys(seqs[start : start + LOOKED_AT])

    def _every_key(self) -> Iterator[list[Row]]:
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
        """Others may have changed a memory since it was read."""
        for start in range(0, len(rows), PIECE):
            page = rows[start : start + PIECE]
            with self.engine.writing(durable=False):
                right = self._right_keys(sorted({int(row[2]) for row in page}))
                self.ask_many("delete_shingle", [_key(*row) for row in page if row[:2] not in right[row[2]]])

    def _right_keys(self, seqs: Sequence[int]) -> dict[int, set[Row]]:
        right: dict[int, set[Row]] = {seq: set() for seq in seqs}
        for seq, memory in self.by_row(seqs).items():
            rows = key_rows(seq, self.partition_of(memory), memory)
            right[seq] = {(row["partition"], row["shingle"]) for row in rows}
        return right


def _item(seq: int, partition: int, memory: Memory) -> Item:
    place = (seq, partition, memory)
    keys, words = key_rows(*place), Words.of(memory)
    return (
        Item(*place, words, keys, entity_rows(*place), *graph_rows(*place))
        if memory.live
        else Item(*place, words, keys)
    )


def _key(partition: Any, shingle: Any, memory_seq: Any) -> Values:
    return {"partition": partition, "shingle": shingle, "memory_seq": memory_seq}
