"""Search the store: full text, vectors and entities. Results are row numbers and scores; callers load the records."""

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

EMBEDDER_META = "embedder"  # name of the embedder whose vectors are stored
MANY_ROWS = 20_000  # a larger count is not refreshed after every write
COUNTED_S = 5.0  # how long such a count is cached
MANY_MATCHES = 1_000  # a stem in more memories is common
MOST_COMMON = 2_000  # common stems whose count is cached
COUNTED_ROWS = 5_000  # up to this many visible memories, words are counted among those only


@frozen
class CandidateRow:
    """A retrieval candidate before ranking: the stems of a memory, as in the full-text index, and its source."""

    seq: int
    partition: int
    stems: str
    source: str
    session: str
    position: int | None


class Search(History):
    """The methods of `Store` for recall candidates, vectors and pending work."""

    _counts: dict[int, tuple[int, float]]
    _common: dict[str, tuple[int, float]]

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._counts = {}
        self._common = {}

    def match_words(self, terms: Sequence[str], partitions: Sequence[int], limit: int) -> list[int]:
        """Return rows of memories that contain any of the stems, best first."""
        asked = self._word_params(terms, partitions)
        return [int(row[0]) for row in self.ask("search_words", **asked, limit=limit)] if asked else []

    def match_cues(self, terms: Sequence[str], partitions: Sequence[int], limit: int) -> list[int]:
        """Return rows of memories with a situation that contains any of the stems, best first."""
        asked = self._word_params(terms, partitions)
        rows = self.ask("search_cues", **asked, limit=limit) if asked else []
        return list(dict.fromkeys(int(row[0]) for row in rows))

    def _word_params(self, terms: Sequence[str], partitions: Sequence[int]) -> dict[str, Any]:
        """Return the parameters of a word search: lists, and for SQLite a full-text expression of quoted words, so that
        nothing a user types becomes syntax."""
        clean = [word for term in terms if (word := term.replace('"', " ").replace("\0", " ").strip())]
        if not clean or not partitions:
            return {}
        params: dict[str, Any] = {"terms": clean, "partitions": list(partitions)}
        if self.engine.remote:
            return params
        words = " OR ".join(f'"{word}"' for word in clean)
        if len(partitions) < self.ask("count_partitions")[0][0]:
            places = " OR ".join(f'"{place_word(partition)}"' for partition in partitions)
            words = f"({words}) AND (place : ({places}))"
        return {**params, "match": words}

    def document_frequencies(self, terms: Sequence[str], partitions: Sequence[int]) -> tuple[dict[str, int], int]:
        """Return in how many memories each stem occurs, and of how many: counted among the visible ones where that is
        cheap, else among all."""
        if self.engine.changed():
            self._forget_counts()
        live = self._counted(0)
        visible = sum(self._counted(partition) for partition in partitions)
        if self.engine.remote:
            rows = self.ask("document_frequency", terms=list(terms), partitions=list(partitions))
            return {str(term): int(count) for term, count in rows}, visible
        if visible >= live or visible > COUNTED_ROWS:
            return self._frequencies(terms), live
        asked = ((term, self._word_params([term], partitions)) for term in terms)
        return {term: int(self.ask("count_matches", **params)[0][0]) for term, params in asked if params}, visible

    def _frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return in how many memories each stem occurs. Counts of common stems are cached for a moment: they take
        longest and change least."""
        now = time.monotonic()
        known = {term: self._common[term] for term in terms if term in self._common}
        cached = {term: count for term, (count, at) in known.items() if now - at < COUNTED_S}
        rows = self.ask("document_frequency", terms=[term for term in terms if term not in cached], partitions=[])
        counted = {str(term): int(count) for term, count in rows}
        if len(self._common) > MOST_COMMON:
            self._common.clear()
        self._common |= {term: (count, now) for term, count in counted.items() if count > MANY_MATCHES}
        return counted | cached

    def _counted(self, partition: int) -> int:
        """Return the number of live memories of a partition, or of all (0), cached until about the next write."""
        if partition not in self._counts:
            place = {"partition": partition, "match": f'place : "{place_word(partition)}"'}
            rows = self.ask("count_place", **place) if partition else self.ask("count_live")
            self._counts[partition] = int(rows[0][0]), time.monotonic()
        return self._counts[partition][0]

    def _forget_counts(self) -> None:
        """Drop the cached counts after a write, except large recent ones: a few rows more or less change no ranking,
        and a swarm writes all the time."""
        since = time.monotonic() - COUNTED_S
        kept = {place: found for place, found in self._counts.items() if found[0] > MANY_ROWS and found[1] > since}
        self._counts = kept if 0 in kept else {}  # partition counts must fit the total

    def candidate_rows(self, seqs: Sequence[int]) -> list[CandidateRow]:
        """Return what the ranking needs of these memories: stems and source."""
        return [CandidateRow(*row) for row in self.ask("candidate_rows", seqs=list(seqs))]

    def vectors_since(self, change: int, provider: str, limit: int) -> list[tuple[Any, ...]]:
        """Return (memory, situation, partition, live, change, data, piece ids) of the next vectors after `change`."""
        return self.ask("vectors_since", change=change, provider=provider, limit=limit)

    def count_vectors(self, provider: str = "") -> int:
        """Return the number of vectors; counting those of one provider scans all of them."""
        found = self.ask("count_vectors", provider=provider) if provider else self.ask("count_all_vectors")
        return int(found[0][0])

    def vectors_in_order(self, kind: tuple[str, int], memory: int, cue: int, limit: int) -> list[tuple[Any, ...]]:
        """Return (memory, situation, partition, live, data, piece ids) of a provider's next vectors."""
        asked = {"provider": kind[0], "dimension": kind[1], "memory": memory, "cue": cue}
        return self.ask("vectors_in_order", **asked, limit=limit)

    def vector_keys(self, provider: str) -> list[tuple[int, int]]:
        """Return (memory, situation) of all vectors of a provider."""
        return [(int(memory), int(cue)) for memory, cue in self.ask("vector_keys", provider=provider)]

    def vectors_gone(self) -> tuple[int, list[tuple[int, int, int]]]:
        """Return (change, [(change, memory, situation)]): all deletions of vectors after the first number."""
        return gone(self)

    def last_change(self) -> int:
        """Return the highest change number of a vector or of a deletion."""
        return last_change(self)

    def count_changed(self, change: int, most: int) -> int:
        """Return the number of vectors changed after `change`, counted up to `most`."""
        return int(self.ask("count_changed", change=change, most=most)[0][0])

    def newest_vector(self) -> tuple[str, int] | None:
        """Return provider and dimension of the newest vector."""
        found = self.ask("newest_vector")
        return (str(found[0][0]), int(found[0][1])) if found else None

    def ask_sized(self, name: str, size: int, **params: Any) -> list[tuple[Any, ...]]:
        """Run a statement that uses the index for vectors of one dimension, which is part of the statement."""
        return self.engine.run(self._sql[name].replace("SIZE", str(int(size))), params)

    def pieces_of(self, seqs: Sequence[int], provider: str) -> dict[int, bytes]:
        """Return the packed word-piece vectors of the memories that have them."""
        found = self.ask("pieces_of", seqs=list(seqs), provider=provider)
        return {int(seq): bytes(pieces) for seq, pieces in found}

    def seqs_of_entities(self, entities: Sequence[str], partitions: Sequence[int]) -> list[int]:
        """Return rows of memories in these partitions that name one of these entities."""
        found = self.ask("seqs_of_entities", entities=list(entities), partitions=list(partitions))
        return [int(row[0]) for row in found]

    def links_of(self, caller: Caller, ids: Sequence[str]) -> list[Link]:
        """Return the links between the given memories and others."""
        return [Link(*row) for row in self.ask("links_of", ids=list(ids))]

    # Pending work

    def pending(self, work: str, limit: int) -> list[tuple[int, int, int, str]]:
        """Return (memory, situation, attempts, error) of texts that wait for `work`."""
        return [(int(a), int(b), int(c), str(d)) for a, b, c, d in self.ask("list_pending", work=work, limit=limit)]

    def waiting_of(self, id: str) -> list[tuple[int, int]]:
        """Return the (memory, situation) rows of one memory that wait for a vector."""
        return [(int(seq), int(cue)) for seq, cue in self.ask("pending_of", id=id)]

    def count_waiting(self, caller: Caller) -> dict[str, int]:
        """Return how many texts that the caller may see wait for each kind of work."""
        visible = self.visible(caller)
        if self.ask("has_other_partitions", partitions=visible):
            return {str(work): int(count) for work, count in self.ask("count_visible_pending", partitions=visible)}
        return {work: count for work, (count, _) in self.count_pending().items()}  # every partition is visible

    def count_pending(self) -> dict[str, tuple[int, int]]:
        """Return per kind of work how many texts wait and the highest number of attempts."""
        return {str(work): (int(count), int(attempts or 0)) for work, count, attempts in self.ask("count_pending")}

    def text_of(self, memory_seq: int, situation_seq: int) -> tuple[str, int, bool] | None:
        """Return (text, partition, live) of what is to be embedded, or None if it was deleted."""
        if situation_seq:
            rows = self.ask("situation_to_embed", situation_seq=situation_seq)
            return (str(rows[0][0]), int(rows[0][1]), bool(rows[0][2])) if rows else None
        rows = self.ask("text_to_embed", memory_seq=memory_seq)
        if not rows:
            return None
        title, text, partition, live = rows[0]
        return (embedded_text(str(title), str(text)), int(partition), bool(live))

    def put_vector(self, memory_seq: int, situation_seq: int, vector: dict[str, Any]) -> bool:
        """Store a vector unless its text was changed or deleted meanwhile; return whether it was stored."""
        current = self.text_of(memory_seq, situation_seq)
        self.ask("done_pending", work="embed", memory_seq=memory_seq, situation_seq=situation_seq)
        if current is None:
            return False
        if current[0] != vector["text"]:
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
        self.ask("add_embedding", **place, **values, partition=current[1], live=int(current[2]))
        if vector["pieces"] and not situation_seq:
            self.ask("put_pieces", memory_seq=memory_seq, provider=vector["provider"], data=vector["pieces"])
        return True

    def settle_later(self, memory_seq: int) -> None:
        """Queue a memory with a new vector for comparison with its neighbours, unless that was done."""
        self.ask("add_settling", memory_seq=memory_seq)

    def settled(self, memory_seq: int) -> None:
        """Mark the comparison with neighbours as done."""
        self.ask("done_pending", work="settle", memory_seq=memory_seq, situation_seq=0)

    def fail_embedding(self, memory_seq: int, situation_seq: int, error: str) -> None:
        """Count a failed embedding and keep its error."""
        self.ask("fail_pending", work="embed", memory_seq=memory_seq, situation_seq=situation_seq, error=error[:200])

    def embed_again(self, provider: str) -> int:
        """Queue texts with another provider's vector, which stays until replaced; return how many wait."""
        self.ask("queue_foreign", provider=provider)
        return self.count_pending().get("embed", (0, 0))[0]


def embedded_text(title: str, text: str) -> str:
    """Return the text that is embedded for a memory: title and text."""
    return f"{title}\n{text}" if title and not text.startswith(title) else text
