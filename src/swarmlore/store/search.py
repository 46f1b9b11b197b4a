"""Finding rows: full text, vectors, entities. Numbers and scores come out; records are loaded by whoever needs them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from swarmlore.domain.records import Caller, Link
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.history import History
from swarmlore.store.memories import gone, last_change, make_room, place_word

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Engine

EMBEDDER_META = "embedder"  # whose vectors are stored
MANY_ROWS = 20_000  # so many are not counted anew after every write
COUNTED_S = 5.0
MANY_MATCHES = 1_000  # a stem that so many memories hold is common
MOST_COMMON = 2_000  # stems whose count is kept
COUNTED_ROWS = 5_000  # up to here words are counted among the visible memories only


@frozen
class CandidateRow:
    """A memory before anybody knows whether it will be shown: its words as the full-text index was given them, and
    where it comes from."""

    seq: int
    partition: int
    stems: str
    source: str
    session: str
    position: int | None


class Search(History):
    """Candidates for recall, and the vectors behind them."""

    _counts: dict[int, tuple[int, float]]
    _common: dict[str, tuple[int, float]]

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._counts = {}
        self._common = {}

    def match_words(self, terms: Sequence[str], partitions: Sequence[int], limit: int) -> list[int]:
        """Rows of memories that hold any of the stems, best first."""
        asked = self._asked(terms, partitions)
        return [int(row[0]) for row in self.ask("search_words", **asked, limit=limit)] if asked else []

    def match_cues(self, terms: Sequence[str], partitions: Sequence[int], limit: int) -> list[int]:
        """Rows of memories one of whose situations holds any of the stems, best first."""
        asked = self._asked(terms, partitions)
        rows = self.ask("search_cues", **asked, limit=limit) if asked else []
        return list(dict.fromkeys(int(row[0]) for row in rows))

    def _asked(self, terms: Sequence[str], partitions: Sequence[int]) -> dict[str, Any]:
        """What to look for and where: as lists, and as a full-text expression of quoted words, so that nothing a user
        types becomes syntax."""
        clean = [word for term in terms if (word := term.replace('"', " ").replace("\0", " ").strip())]
        if not clean or not partitions:
            return {}
        asked: dict[str, Any] = {"terms": clean, "partitions": list(partitions)}
        if self.engine.remote:
            return asked
        words = " OR ".join(f'"{word}"' for word in clean)
        if len(partitions) < self.ask("count_partitions")[0][0]:
            places = " OR ".join(f'"{place_word(partition)}"' for partition in partitions)
            words = f"({words}) AND (place : ({places}))"
        return {**asked, "match": words}

    def document_frequencies(self, terms: Sequence[str], partitions: Sequence[int]) -> tuple[dict[str, int], int]:
        """In how many memories each stem occurs, and of how many: the visible ones where that is cheap, else all."""
        if self.engine.changed():
            self._forget_counts()
        live = self._counted(0)
        mine = sum(self._counted(partition) for partition in partitions)
        if self.engine.remote:
            rows = self.ask("document_frequency", terms=list(terms), partitions=list(partitions))
            return {str(term): int(count) for term, count in rows}, mine
        if mine >= live or mine > COUNTED_ROWS:
            return self._frequencies(terms), live
        asked = ((term, self._asked([term], partitions)) for term in terms)
        return {term: int(self.ask("count_matches", **one)[0][0]) for term, one in asked if one}, mine

    def _frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many memories each stem occurs. To count a common one takes longest and changes least: it is kept a
        little."""
        now = time.monotonic()
        known = {term: self._common[term] for term in terms if term in self._common}
        found = {term: count for term, (count, at) in known.items() if now - at < COUNTED_S}
        rows = self.ask("document_frequency", terms=[term for term in terms if term not in found], partitions=[])
        counted = {str(term): int(count) for term, count in rows}
        if len(self._common) > MOST_COMMON:
            self._common.clear()
        self._common |= {term: (count, now) for term, count in counted.items() if count > MANY_MATCHES}
        return counted | found

    def _counted(self, partition: int) -> int:
        """How many live memories a partition has, or all (0); kept until somebody writes, where they are many a little
        longer."""
        if partition not in self._counts:
            place = {"partition": partition, "match": f'place : "{place_word(partition)}"'}
            rows = self.ask("count_place", **place) if partition else self.ask("count_live")
            self._counts[partition] = int(rows[0][0]), time.monotonic()
        return self._counts[partition][0]

    def _forget_counts(self) -> None:
        """Somebody has written. Among many, a few more or less change no ranking, and a swarm writes all the time."""
        since = time.monotonic() - COUNTED_S
        kept = {place: found for place, found in self._counts.items() if found[0] > MANY_ROWS and found[1] > since}
        self._counts = kept if 0 in kept else {}  # the parts are compared with all

    def candidate_rows(self, seqs: Sequence[int]) -> list[CandidateRow]:
        """What a question is held against, of memories that may answer it."""
        return [CandidateRow(*row) for row in self.ask("candidate_rows", seqs=list(seqs))]

    def vectors_since(self, change: int, provider: str, limit: int) -> list[tuple[Any, ...]]:
        """(memory, situation, partition, live, change, data, piece ids) of the next vectors after `change`."""
        return self.ask("vectors_since", change=change, provider=provider, limit=limit)

    def count_vectors(self, provider: str = "") -> int:
        """How many vectors there are; of one provider only, that takes a look at each of them."""
        found = self.ask("count_vectors", provider=provider) if provider else self.ask("count_all_vectors")
        return int(found[0][0])

    def vectors_in_order(self, kind: tuple[str, int], memory: int, cue: int, limit: int) -> list[tuple[Any, ...]]:
        """(memory, situation, partition, live, data, piece ids) of the next vectors of a provider and size, by row."""
        asked = {"provider": kind[0], "dimension": kind[1], "memory": memory, "cue": cue}
        return self.ask("vectors_in_order", **asked, limit=limit)

    def vector_keys(self, provider: str) -> list[tuple[int, int]]:
        """(memory, situation) of all vectors of a provider."""
        return [(int(memory), int(cue)) for memory, cue in self.ask("vector_keys", provider=provider)]

    def vectors_gone(self) -> tuple[int, list[tuple[int, int, int]]]:
        """(change, [(change, memory, situation)]): all deletions of vectors after the first number."""
        return gone(self)

    def last_change(self) -> int:
        """The highest change number of a vector or of a deletion."""
        return last_change(self)

    def count_changed(self, change: int, most: int) -> int:
        """How many vectors changed after `change`; counted up to `most`."""
        return int(self.ask("count_changed", change=change, most=most)[0][0])

    def newest_vector(self) -> tuple[str, int] | None:
        """Provider and size of the vector that was made last."""
        found = self.ask("newest_vector")
        return (str(found[0][0]), int(found[0][1])) if found else None

    def ask_sized(self, name: str, size: int, **params: Any) -> list[tuple[Any, ...]]:
        """Run a statement that an index of vectors of one size answers; the size is part of the statement."""
        return self.engine.run(self._sql[name].replace("SIZE", str(int(size))), params)

    def pieces_of(self, seqs: Sequence[int], provider: str) -> dict[int, bytes]:
        """The packed word-piece vectors of memories that have them."""
        found = self.ask("pieces_of", seqs=list(seqs), provider=provider)
        return {int(seq): bytes(pieces) for seq, pieces in found}

    def seqs_of_entities(self, entities: Sequence[str], partitions: Sequence[int]) -> list[int]:
        found = self.ask("seqs_of_entities", entities=list(entities), partitions=list(partitions))
        return [int(row[0]) for row in found]

    def links_of(self, caller: Caller, ids: Sequence[str]) -> list[Link]:
        """Links between the given memories and others."""
        return [Link(*row) for row in self.ask("links_of", ids=list(ids))]

    # Vectors and the work that waits for them

    def pending(self, work: str, limit: int) -> list[tuple[int, int, int, str]]:
        """(memory, situation, attempts, error) of texts that wait for `work`."""
        return [(int(a), int(b), int(c), str(d)) for a, b, c, d in self.ask("list_pending", work=work, limit=limit)]

    def waiting_of(self, id: str) -> list[tuple[int, int]]:
        """(memory, situation) rows of one memory that wait for a vector."""
        return [(int(seq), int(cue)) for seq, cue in self.ask("pending_of", id=id)]

    def count_waiting(self, caller: Caller) -> dict[str, int]:
        """How many texts that the caller may see wait for each kind of work."""
        visible = self.visible(caller)
        if self.ask("has_other_partitions", partitions=visible):
            return {str(work): int(count) for work, count in self.ask("count_visible_pending", partitions=visible)}
        return {work: count for work, (count, _) in self.count_pending().items()}  # nobody to hide anything from

    def count_pending(self) -> dict[str, tuple[int, int]]:
        """How many texts wait for each kind of work, and the most attempts any of them has seen."""
        return {str(work): (int(count), int(attempts or 0)) for work, count, attempts in self.ask("count_pending")}

    def text_of(self, memory_seq: int, situation_seq: int) -> tuple[str, int, bool] | None:
        """(text, partition, live) of what is to be embedded, or None if it is gone."""
        if situation_seq:
            rows = self.ask("situation_to_embed", situation_seq=situation_seq)
            return (str(rows[0][0]), int(rows[0][1]), bool(rows[0][2])) if rows else None
        rows = self.ask("text_to_embed", memory_seq=memory_seq)
        if not rows:
            return None
        title, text, partition, live = rows[0]
        return (embedded_text(str(title), str(text)), int(partition), bool(live))

    def put_vector(self, memory_seq: int, situation_seq: int, vector: dict[str, Any]) -> bool:
        """Store a vector unless its text changed or went away meanwhile; tells whether it did."""
        now = self.text_of(memory_seq, situation_seq)
        self.ask("done_pending", work="embed", memory_seq=memory_seq, situation_seq=situation_seq)
        if now is None:
            return False
        if now[0] != vector["text"]:
            self.ask("add_pending", memory_seq=memory_seq, situation_seq=situation_seq, work="embed")
            return False
        place = {"memory_seq": memory_seq, "situation_seq": situation_seq}
        make_room(self, memory_seq, situation_seq)
        values = {
            "provider": vector["provider"],
            "dimension": vector["dimension"],
            "data": self.engine.vector(vector["data"]),
            "piece_ids": self.engine.numbers(vector["piece_ids"]),
        }
        self.ask("add_embedding", **place, **values, partition=now[1], live=int(now[2]))
        if vector["pieces"] and not situation_seq:
            self.ask("put_pieces", memory_seq=memory_seq, provider=vector["provider"], data=vector["pieces"])
        return True

    def settle_later(self, memory_seq: int) -> None:
        """Note that a fresh vector still has to be compared with its neighbours, unless that was done elsewhere."""
        self.ask("add_settling", memory_seq=memory_seq)

    def settled(self, memory_seq: int) -> None:
        self.ask("done_pending", work="settle", memory_seq=memory_seq, situation_seq=0)

    def fail_embedding(self, memory_seq: int, situation_seq: int, error: str) -> None:
        self.ask("fail_pending", work="embed", memory_seq=memory_seq, situation_seq=situation_seq, error=error[:200])

    def embed_again(self, provider: str) -> int:
        """Queue every text whose vector comes from another provider; the old vectors stay until replaced."""
        self.ask("queue_foreign", provider=provider)
        return self.count_pending().get("embed", (0, 0))[0]


def embedded_text(title: str, text: str) -> str:
    """What stands for a memory in vector space."""
    return f"{title}\n{text}" if title and not text.startswith(title) else text
