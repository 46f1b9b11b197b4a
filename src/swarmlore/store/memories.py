"""Memories in the store: put, get, revise and list rows, and update their derived indexes in the same transaction."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from swarmlore.domain.json_codec import record_fields
from swarmlore.domain.records import Caller, Citation, Confirmation, Memory, Outcomes, Situation
from swarmlore.errors import Ambiguous, Conflict, NotFound
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.store.database import Operation
from swarmlore.store.files import damaged
from swarmlore.store.graph import Graphs

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.database import StoreBase

LAST_META = "last_change"  # highest change number ever assigned; its vector may have been deleted
GONE_META = "vectors_gone"  # the log of deleted vectors
FILE_META = "vector_file"  # token of the vector file that belongs to this store
MAKING_META = "vector_making"  # token of the vector file under construction
MOST_LOGGED = 256  # deletions kept in the log; a reader further behind compares all keys


def last_change(store: StoreBase) -> int:
    """Return the highest change number of a vector or a deletion."""
    return int(store.ask("last_change")[0][0])


def make_room(store: StoreBase, memory_seq: int, situation_seq: int) -> None:
    """Delete a vector that is replaced at once. Its change number is not reused, or readers miss the change."""
    if not store.engine.remote and situation_seq in _cues_with_vectors(store, memory_seq):
        store.ask("put_meta", name=LAST_META, value=str(last_change(store)))
    _delete(store, memory_seq, situation_seq)


def drop_vectors(store: StoreBase, memory_seq: int, situation_seq: int | None = None) -> None:
    """Delete and log the vectors of a memory: all, that of its text (0), or that of one situation."""
    if store.engine.remote:
        _delete(store, memory_seq, situation_seq)
        return
    dropped = [cue for cue in _cues_with_vectors(store, memory_seq) if situation_seq in (None, cue)]
    if not dropped:
        return
    change = last_change(store) + 1
    _delete(store, memory_seq, situation_seq)
    since, deletions = gone(store)
    deletions += [(change, memory_seq, cue) for cue in dropped]
    if len(deletions) > MOST_LOGGED:
        since = deletions[-MOST_LOGGED - 1][0]
    store.ask("put_meta", name=GONE_META, value=json.dumps([since, deletions[-MOST_LOGGED:]]))
    store.ask("put_meta", name=LAST_META, value=str(change))


def _cues_with_vectors(store: StoreBase, memory_seq: int) -> list[int]:
    """Return the situation numbers of a memory that have a vector; 0 is its text."""
    return [int(row[0]) for row in store.ask("vectors_of", memory_seq=memory_seq)]


def _delete(store: StoreBase, memory_seq: int, situation_seq: int | None) -> None:
    if situation_seq is None:
        store.ask("delete_embeddings_of", memory_seq=memory_seq)
    else:
        store.ask("delete_embedding", memory_seq=memory_seq, situation_seq=situation_seq)


def gone(store: StoreBase) -> tuple[int, list[tuple[int, int, int]]]:
    """Return (change, [(change, memory, situation)]): all deletions of vectors after the first number, oldest first."""
    stored = store.meta(GONE_META)
    if not stored:
        return 0, []
    since, rows = json.loads(stored)
    return int(since), [(int(change), int(memory), int(cue)) for change, memory, cue in rows]


COLUMNS = (
    *("id", "handle", "text", "title", "kind", "category", "tier", "project", "owner", "scope", "status", "trust"),
    *("source", "key", "confidence", "created_at", "updated_at", "last_accessed_at", "access_count", "expires_at"),
    *("valid_from", "valid_until", "forgotten_at", "superseded_by", "feedback_score", "feedback_count", "version"),
)
SELECT = "SELECT seq, partition, " + ", ".join(COLUMNS) + ", more FROM memory "
_DEFAULTS = Memory(id="", text="")
_SCALARS = ("born_in_phase", "max_phases", "last_validated_at", "encounter_score", "hive_eligible", "auto_generated")
_LISTS = ("tags", "entities", "supersedes")
_RECORDS = {"confirmed_by": Confirmation, "citations": Citation}
_USUAL = tuple(
    (name, getattr(_DEFAULTS, name)) for name in (*_SCALARS, *_LISTS, *_RECORDS, "outcomes", "source_ref", "extra")
)


def to_row(memory: Memory, partition: int) -> dict[str, Any]:
    """Return the parameters of the statements `put_memory` and `replace_memory`."""
    row = {name: getattr(memory, name) for name in COLUMNS}
    row["partition"] = partition
    row["session"] = str(memory.source_ref.get("session", ""))
    position = memory.source_ref.get("position")
    row["position"] = position if isinstance(position, int) else None
    row["more"] = json.dumps(_more(memory), ensure_ascii=False, separators=(",", ":"))
    return row


def from_row(row: tuple[Any, ...], situations: tuple[Situation, ...] = ()) -> Memory:
    """Build the memory of a row selected with `SELECT`; raise StoreCorrupt for a damaged row."""
    try:
        return _memory(row, situations)
    except (ValueError, TypeError, AttributeError) as error:
        raise damaged(f"the row of memory {row[2]}") from error


def from_json(text: str) -> Any:
    """Parse the value of a JSON column; raise StoreCorrupt if it is damaged."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise damaged("a record in the store") from error


def _memory(row: tuple[Any, ...], situations: tuple[Situation, ...]) -> Memory:
    values = dict(zip(COLUMNS, row[2:-1], strict=True))
    more = json.loads(row[-1])
    for name in _LISTS:
        more[name] = tuple(more.get(name, ()))
    for name, kind in _RECORDS.items():
        more[name] = tuple(kind(**item) for item in more.get(name, ()))
    if "outcomes" in more:
        more["outcomes"] = Outcomes(**more["outcomes"])
    return Memory(**values, **more, situations=situations)


def text_key(text: str) -> int:
    """Return a checksum of a text, equal for texts that differ only in case and white space. Collisions are possible,
    so compare the texts of rows found by it. It lies above 32 bits, where no shingle is."""
    data = " ".join(text.lower().split()).encode("utf-8", "replace")
    return (zlib.crc32(data) | 1 << 31) << 31 | zlib.crc32(data[::-1]) >> 1


def handle_of(id: str, length: int) -> str:
    """Return the last `length` characters of an id, which in a UUID are random; hash any other id first."""
    tail = id.replace("-", "")
    if len(tail) != 32 or not all(char in "0123456789abcdef" for char in tail):
        from hashlib import blake2b

        tail = blake2b(id.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return tail[-length:]


def place_word(partition: int) -> str:
    """Encode a partition as a word of the full-text index; the checksum keeps it from colliding with a real word."""
    return f"zq{partition}x{zlib.crc32(str(partition).encode()):08x}"


def _more(memory: Memory) -> dict[str, Any]:
    """Return the fields without a column of their own, for the JSON column `more`; defaults are left out."""
    more = {name: value for name, usual in _USUAL if (value := getattr(memory, name)) != usual}
    for name in more.keys() & _RECORDS.keys():
        more[name] = [record_fields(item) for item in more[name]]
    if "outcomes" in more:
        more["outcomes"] = record_fields(memory.outcomes)
    for name in more.keys() & {"source_ref", "extra"}:
        more[name] = dict(more[name])
    return more


MIN_HANDLE = 6
MIN_PREFIX = 4
SITUATIONS_KEPT = 8
NEIGHBOURS = 12
PAGE = 500  # rows loaded at once
THOROUGH = 1_000  # newest rows that a thorough search for near-duplicates compares
MOST_OF_KEY = 4_000
FEW_SHINGLES = 5  # a text with more shingles must share two with a neighbour, beyond MANY_SHINGLES three
MANY_SHINGLES = 12
STEMS_KEPT = 4_000  # characters of a long text's stems that scoring uses
_ALL = 2**62
SHINGLE_LOOK = 20  # newest rows compared per shared shingle: a phrase in more rows says little


@frozen
class Filter:
    """The conditions of `Store.select`. An empty value means any; status '' means live, 'any' everything, 'forgotten'
    the hidden memories; `path` is a file the memory came from; `without` is a source to leave out."""

    tier: str = ""
    tiers: tuple[str, ...] = ()
    kind: str = ""
    category: str = ""
    source: str = ""
    sources: tuple[str, ...] = ()
    session: str = ""
    owner: str = ""
    path: str = ""
    status: str = ""
    without: str = ""
    tags: tuple[str, ...] = ()
    limit: int = 20
    offset: int = 0

    @property
    def every_tier(self) -> tuple[str, ...]:
        """Return the tiers of `tier` and `tiers` together."""
        return (*self.tiers, self.tier) if self.tier else self.tiers

    @property
    def every_source(self) -> tuple[str, ...]:
        """Return the sources of `source` and `sources` together."""
        return (*self.sources, self.source) if self.source else self.sources


FILTERED = ("kind", "category", "session", "owner", "path", "status", "without")


@frozen
class Words:
    """The stemmed words of a memory, as the full-text index and the scoring use them."""

    title: str
    body: str
    tags: str

    @classmethod
    def of(cls, memory: Memory) -> Words:
        """Stem the title, text, tags and entities of a memory."""
        from swarmlore.domain.language.tokenizer import index_text  # imported here: reading does not need it

        title = index_text(memory.title) if memory.title else ""
        about = (*memory.tags, *memory.entities)
        return cls(title, index_text(memory.text), index_text(" ".join(about)) if about else "")

    @property
    def stems(self) -> str:
        """Return all stems as one text for scoring; a long body is cut to `STEMS_KEPT` characters."""
        return f"{self.title} {self.tags} {self.body[:STEMS_KEPT]}".strip()


class Memories(Graphs):
    """Put, get, revise and list memories; every read takes the caller and returns what that caller may see."""

    def put(self, operation: Operation, memory: Memory, action: str = "added", reason: str = "") -> Memory:
        """Store a new memory with its indexes, audit row and a new handle; raise Conflict if the id is taken."""
        memory = replace(memory, handle=self.free_handle(memory.id), situations=_newest(memory.situations))
        partition = self.partition_of(memory)
        words = Words.of(memory)
        added = self.ask("put_memory", **to_row(memory, partition), stems=words.stems)
        if not added:
            raise Conflict("that id is taken", "give another one, or none")
        seq = int(added[0][0])
        for situation in memory.situations:
            self._add_situation(seq, partition, situation, memory.live)
        self._index(seq, partition, memory, words)
        self.note("add_pending", memory_seq=seq, situation_seq=0, work="embed")
        self.audit(operation, memory, action, None, reason)
        return memory

    def index_copy(self, seq: int, partition: int, memory: Memory, words: Words) -> None:
        """Index a row that was copied from another store, with its situations. The copy brings its own pending work."""
        for situation in memory.situations:
            self._add_situation(seq, partition, situation, memory.live)
        if memory.situations:
            self.ask("drop_pending_of", memory_seq=seq)
        self._index(seq, partition, memory, words)

    def revise(self, operation: Operation, before: Memory, after: Memory, action: str, reason: str = "") -> Memory:
        """Replace a memory by its next version and record the former version in the audit row."""
        from swarmlore.domain.policy.lifecycle import renews  # imported here: reading does not need it

        after = replace(after, version=before.version + 1, situations=_newest(after.situations))
        partition = self.partition_of(after)
        seq, old_partition = self._row_of(before)
        self._unindex(seq, old_partition, before)
        words = Words.of(after)
        row = to_row(after, partition)
        del row["handle"]  # it never changes
        self.ask("replace_memory", **row, stems=words.stems)
        if after.situations != before.situations:
            self._replace_situations(seq, after.situations)
        self._reindex_cues(seq, partition, after.live)
        self._index(seq, partition, after, words)
        same_text = (before.text, before.title) == (after.text, after.title)
        self._renew_vector(seq, partition, after, same_text=same_text)
        if renews(before, after):
            self.ask("renew_memory", seq=seq)
        self.audit(operation, after, action, before, reason)
        return after

    def _row_of(self, memory: Memory) -> tuple[int, int]:
        """Return the row number and partition of a memory. Raise NotFound or Conflict if another process removed or
        changed it since it was read."""
        found = self.ask("row_of", id=memory.id)
        if not found:
            raise NotFound(f"memory {memory.handle} is not there any more", "look it up with: swarmlore list")
        seq, partition, version = found[0]
        if version != memory.version:
            raise Conflict(f"memory {memory.handle} was changed meanwhile", f"see it: swarmlore get {memory.handle}")
        return int(seq), int(partition)

    def get(self, caller: Caller, id: str) -> Memory | None:
        """Return the memory with this id if it exists and the caller may see it."""
        where = "WHERE id = :id AND partition IN (:list:partitions)"
        rows = self.engine.run(SELECT + where, {"id": id, "partitions": self.visible(caller)})
        return from_row(rows[0], self.situations_of([int(rows[0][0])]).get(int(rows[0][0]), ())) if rows else None

    def resolve(self, caller: Caller, ref: str) -> Memory:
        """Return the one visible memory named by an id, a handle or a unique prefix; raise NotFound or Ambiguous."""
        memory = self.get(caller, ref)
        if memory is None:
            memory = self.get(caller, self._expand(caller, ref.strip()))
        if memory is None:
            raise NotFound(f"no memory {ref!r}", "look it up with: swarmlore list")
        return memory

    def _expand(self, caller: Caller, ref: str) -> str:
        """Return the id for a handle or a unique id prefix, '' if none; raise Ambiguous if several match."""
        partitions = self.visible(caller)
        exact = self.ask("id_of_handle", handle=ref.lower(), partitions=partitions)
        if len(exact) == 1:
            return str(exact[0][0])
        if len(ref) < MIN_PREFIX:
            return ""
        span = {"low": ref, "high": ref + "\U0010ffff", "low_handle": ref.lower(), "high_handle": ref.lower() + "g"}
        found = [str(row[0]) for row in self.ask("ids_with_prefix", **span, partitions=partitions, limit=6)]
        if len(found) > 1:
            raise Ambiguous(f"{ref!r} fits {len(found)} memories or more", "give more characters", tuple(found))
        return found[0] if found else ""

    def touch(self, id: str, now: float) -> None:
        """Count one access of a memory. A counter is not audited and not worth an fsync."""
        with self.engine.writing(durable=False):
            self.ask("touch_memory", id=id, now=now)

    def select(self, caller: Caller, filter: Filter) -> list[Memory]:
        """Return the visible memories that match a filter, newest first; rows before the offset are skipped without
        loading them where no tags are asked for."""
        selected: list[Memory] = []
        skip, below = filter.offset, _ALL
        page = min(filter.limit, PAGE) if not filter.tags and not skip else PAGE
        while len(selected) < filter.limit:
            seqs = self._newest(caller, filter, page, below)
            skipped = min(skip, len(seqs)) if not filter.tags else 0
            batch = self.by_seqs(seqs[skipped:])
            matching = [batch[seq] for seq in seqs[skipped:] if set(filter.tags) <= set(batch[seq].tags)]
            selected += matching[skip - skipped :]
            skip = max(0, skip - skipped - len(matching))
            if len(seqs) < page:
                break
            below = seqs[-1]
        return selected[: filter.limit]

    def _newest(self, caller: Caller, filter: Filter, limit: int, below: int) -> list[int]:
        """Return the newest row numbers below a given one that match a filter, over all visible partitions."""
        asked = {**_conditions(filter), "limit": limit, "below": below}
        seqs = [
            row[0]
            for partition in self.visible(caller, filter.every_tier)
            for row in self.ask("list_memories", **asked, partition=partition)
        ]
        return sorted(seqs, reverse=True)[:limit]

    def count_selected(self, caller: Caller, filter: Filter) -> int:
        """Count the memories that `select` would return without a limit, ignoring the tags; scans every row."""
        count_sql = "SELECT count(*) FROM (" + self._sql["list_memories"] + "\n) AS listed"  # it may end with a comment
        asked = {**_conditions(filter), "limit": _ALL, "below": _ALL}
        partitions = self.visible(caller, filter.every_tier)
        return sum(int(self.engine.run(count_sql, {**asked, "partition": partition})[0][0]) for partition in partitions)

    def by_seqs(self, seqs: Sequence[int]) -> dict[int, Memory]:
        """Return memories by their row numbers; the numbers must come from a query that already checked visibility."""
        if not seqs:
            return {}
        found = self.engine.run(SELECT + "WHERE seq IN (:list:seqs)", {"seqs": list(seqs)})
        situations = self.situations_of([int(row[0]) for row in found])
        return {int(row[0]): from_row(row, situations.get(int(row[0]), ())) for row in found}

    def neighbours(self, partition: int, text: str, key: str = "", *, thorough: bool = False) -> dict[int, Memory]:
        """Return live memories of one partition that share the key, the text or enough words with a new one, best
        first.

        With `thorough`, the newest memories are added whatever their words; otherwise those that share less than half
        of their content words are left out.
        """
        found = self.like(partition, text, key, thorough=thorough)
        return {seq: memory for seq, memory in found.items() if memory.live}

    def like(self, partition: int, text: str, key: str = "", *, thorough: bool = False) -> dict[int, Memory]:
        """Return the same as `neighbours`, plus quarantined memories that have exactly this text or key."""
        equal, alike = self._rows_by_shingles(partition, text)
        if key:
            equal += [int(row[0]) for row in self.ask("seqs_of_key", partition=partition, key=key)]
        if thorough:  # the profile `knowledge` keeps a few hundred lessons; any of them may be a duplicate
            newest = [int(row[0]) for row in self.ask("newest_of", partition=partition, limit=THOROUGH)]
            best = list(dict.fromkeys((*equal, *newest)))
        else:
            alike = self._sharing_words(text, [seq for seq in alike if seq not in equal])
            best = list(dict.fromkeys((*equal, *alike)))[:NEIGHBOURS]
        found = self.by_seqs(best)
        return {seq: found[seq] for seq in best if seq in found and (found[seq].live or seq in equal)}

    def _rows_by_shingles(self, partition: int, text: str) -> tuple[list[int], list[int]]:
        """Return (rows with the same text, oldest first; rows that share shingles with it, most shared first). A longer
        text must share more shingles, as one alone says less."""
        keys = shingles(text)
        asked = json.dumps((text_key(text), *keys))
        found = self.ask("memories_of_shingles", partition=partition, shingles=asked, look=SHINGLE_LOOK)
        equal = sorted(map(int, found[0][0].split(","))) if found[0][0] else []
        shared = Counter(",".join(listed for (listed,) in found[1:] if listed).split(","))
        least = 1 + (len(keys) > FEW_SHINGLES) + (len(keys) > MANY_SHINGLES)
        enough = [(count, int(seq)) for seq, count in shared.items() if count >= least and seq]
        return equal, [seq for _, seq in sorted(enough, reverse=True)[:NEIGHBOURS]]

    def _sharing_words(self, text: str, seqs: Sequence[int]) -> list[int]:
        """Keep the rows that share at least half of the content words of the shorter text."""
        from swarmlore.domain.language.similarity import content_words

        if not seqs:
            return []
        mine = content_words(text)
        texts = {int(seq): str(other) for seq, other in self.ask("texts_of", seqs=list(seqs))}
        words = {seq: content_words(texts[seq]) for seq in seqs if seq in texts}
        return [seq for seq, others in words.items() if 2 * len(mine & others) >= min(len(mine), len(others))]

    def ids_of_session(self, caller: Caller, session: str, *, hidden: bool = False) -> list[str]:
        """Return the ids of the visible memories of a session; with `hidden`, forgotten ones too."""
        found = self.ask("ids_of_session", session=session, hidden=int(hidden), partitions=self.visible(caller))
        return [str(row[0]) for row in found]

    def ids_of_source(self, caller: Caller, source: str, *, hidden: bool = False) -> list[str]:
        """Return the ids of the visible memories from a source; with `hidden`, forgotten ones too."""
        found = self.ask("ids_of_source", source=source, hidden=int(hidden), partitions=self.visible(caller))
        return [str(row[0]) for row in found]

    def ids_derived_from(self, caller: Caller, ids: Sequence[str], *, hidden: bool = False) -> list[str]:
        """Return the ids of the visible memories derived from these; with `hidden`, forgotten ones too."""
        found = self.ask("ids_derived_from", ids=list(ids), hidden=int(hidden), partitions=self.visible(caller))
        return [str(row[0]) for row in found]

    def of_key(self, caller: Caller, key: str, tiers: Sequence[str] = ()) -> list[Memory]:
        """Return the newest visible memories with a key, forgotten ones included, oldest first."""
        found = (self.ask("seqs_of_key", partition=partition, key=key) for partition in self.visible(caller, tiers))
        seqs = sorted(int(row[0]) for rows in found for row in rows)[-MOST_OF_KEY:]
        memories = self.by_seqs(seqs)
        return [memories[seq] for seq in seqs if seq in memories]

    def of_keys(self, partitions: Sequence[int], keys: Sequence[str]) -> dict[str, list[Memory]]:
        """Return the memories of some partitions by key, forgotten ones included, oldest first."""
        asked = self.ask("seqs_of_keys", partitions=list(partitions), keys=list(keys)) if partitions and keys else []
        memories = self.by_seqs([int(seq) for seq, _ in asked])
        found: dict[str, list[Memory]] = {}
        for seq, key in asked:
            if int(seq) in memories:
                found.setdefault(str(key), []).append(memories[int(seq)])
        return found

    def citing(self, caller: Caller) -> Iterator[Memory]:
        """Yield live visible memories that cite code, oldest first."""
        asked = {"partitions": self.visible(caller), "limit": PAGE}
        after = 0
        while seqs := [int(row[0]) for row in self.ask("citing_memories", **asked, after=after)]:
            found = self.by_seqs(seqs)
            yield from (found[seq] for seq in seqs if seq in found and found[seq].live and found[seq].citations)
            after = seqs[-1]

    def about(self, caller: Caller, entities: Sequence[str]) -> list[Memory]:
        """Return live visible memories that name an entity, newest first; `file:<path>` is a cited file."""
        if not entities:
            return []
        found = self.ask("seqs_of_entities", partitions=self.visible(caller), entities=list(entities))
        memories = self.by_seqs(sorted((int(row[0]) for row in found), reverse=True)[:PAGE])
        return sorted((m for m in memories.values() if m.live), key=lambda m: m.created_at, reverse=True)

    def known_entities(self, caller: Caller) -> list[str]:
        """Return every entity that a visible memory names."""
        return [str(row[0]) for row in self.ask("entities_known", partitions=self.visible(caller))]

    def situations_of(self, seqs: Sequence[int]) -> dict[int, tuple[Situation, ...]]:
        """Return the situations of each of these memories, leaving out memories that have none."""
        found: dict[int, tuple[Situation, ...]] = {}
        for seq, text, via, at, _ in self.ask("situations_of", seqs=list(seqs)):
            found[seq] = (*found.get(seq, ()), Situation(text, via, at))
        return found

    def free_handle(self, id: str) -> str:
        """Return the shortest suffix of an id that is not the handle of another memory."""
        for length in range(MIN_HANDLE, 33):
            handle = handle_of(id, length)
            if not self.ask("handle_taken", handle=handle):
                return handle
        return id  # 128 equal bits: the id itself is taken too, and the insert fails

    def _index(self, seq: int, partition: int, memory: Memory, words: Words) -> None:
        """Index a memory: shingles always; full text, entities and graph only while it is live."""
        if keys := _keys(memory):
            self.note("add_shingles", partition=partition, memory_seq=seq, shingles=json.dumps(sorted(keys)))
        if memory.live:
            self.note("index_words", **word_row(seq, partition, words))
            self.ask_many("add_entity", entity_rows(seq, partition, memory))
            self.index_graph(seq, partition, memory)

    def _renew_vector(self, seq: int, partition: int, memory: Memory, *, same_text: bool) -> None:
        """Queue a new vector if the text changed; otherwise keep it and update state and partition."""
        if same_text:
            self.ask("turn_embeddings", seqs=[seq], live=int(memory.live), partition=partition)
        else:
            drop_vectors(self, seq, 0)
            self.ask("delete_pieces", memory_seq=seq)
            self.ask("add_pending", memory_seq=seq, situation_seq=0, work="embed")

    def _unindex(self, seq: int, partition: int, memory: Memory) -> None:
        self.ask("unindex_words", seqs=[seq])
        self.ask_many("delete_shingle", shingle_rows(seq, partition, memory))
        self.ask("delete_entities_of", seqs=[seq])
        self.unindex_graph([seq])

    def _add_situation(self, seq: int, partition: int, situation: Situation, live: bool) -> None:
        values = {"memory_seq": seq, "via": situation.via, "text": situation.text, "at": situation.at}
        cue = int(self.ask("add_situation", **values)[0][0])
        if live:
            self.ask("index_cue", **cue_row(cue, partition, situation.text))
        self.ask("add_pending", memory_seq=seq, situation_seq=cue, work="embed")

    def _replace_situations(self, seq: int, wanted: Iterable[Situation]) -> None:
        """Keep rows and vectors of situations that stay, delete the others, and add the new ones."""
        new = list(wanted)
        for _, text, via, at, cue in self.ask("situations_of", seqs=[seq]):
            situation = Situation(text, via, at)
            if situation in new:
                new.remove(situation)
                continue
            self.ask("unindex_cue", seqs=[cue])
            drop_vectors(self, seq, cue)
            self.ask("done_pending", work="embed", memory_seq=seq, situation_seq=cue)
            self.ask("delete_situation", seq=cue)
        for situation in new:
            self._add_situation(seq, 0, situation, live=False)

    def _reindex_cues(self, seq: int, partition: int, live: bool) -> None:
        for _, text, _, _, cue in self.ask("situations_of", seqs=[seq]):
            self.ask("unindex_cue", seqs=[cue])
            if live:
                self.ask("index_cue", **cue_row(cue, partition, text))


def index_text(text: str) -> str:
    """Stem a text for the full-text index; imported on use, as reading does not need it."""
    from swarmlore.domain.language.tokenizer import index_text as analyse

    return analyse(text)


@lru_cache(maxsize=16)  # a text is compared with its neighbours and then stored: computed once
def shingles(text: str) -> tuple[int, ...]:
    """Return the shingles of a text, cached."""
    from swarmlore.domain.language.similarity import shingles as cut

    return cut(text)


def _place(partition: int) -> dict[str, Any]:
    """Return a partition for both engines' full-text indexes: as a word for SQLite, as a number for PostgreSQL."""
    return {"place": place_word(partition), "partition": partition}


def _conditions(filter: Filter) -> dict[str, Any]:
    """Return the parameters of the statement `list_memories`; tiers are applied by choosing partitions."""
    sources = filter.every_source
    values: dict[str, Any] = {name: getattr(filter, name) for name in FILTERED}
    return values | {"sources": sources, "any_source": int(not sources)}


def _newest(situations: tuple[Situation, ...]) -> tuple[Situation, ...]:
    return tuple(sorted(situations, key=lambda situation: situation.at))[-SITUATIONS_KEPT:]


def word_row(seq: int, partition: int, words: Words) -> dict[str, Any]:
    """Return the row of a memory in the full-text index."""
    return {"seq": seq, **_place(partition), "title": words.title, "body": words.body, "tags": words.tags}


def cue_row(cue: int, partition: int, text: str) -> dict[str, Any]:
    """Return the row of a situation in the full-text index."""
    return {"seq": cue, "body": index_text(text), **_place(partition)}


def entity_rows(seq: int, partition: int, memory: Memory) -> list[dict[str, Any]]:
    """Return the entity rows of a memory; a cited file counts as the entity `file:<path>`."""
    names = (*memory.entities, *dict.fromkeys(f"file:{citation.path}" for citation in memory.citations))
    return [{"partition": partition, "entity": name, "memory_seq": seq} for name in names]


def key_rows(seq: int, partition: int, memory: Memory) -> list[dict[str, Any]]:
    """Return the shingle rows that a memory has in its current state."""
    return _shingle_rows(seq, partition, _keys(memory))


def shingle_rows(seq: int, partition: int, memory: Memory) -> list[dict[str, Any]]:
    """Return every shingle row a memory can have in any state, including its text key."""
    return _shingle_rows(seq, partition, _every_key(memory))


def _shingle_rows(seq: int, partition: int, keys: Iterable[int]) -> list[dict[str, Any]]:
    return [{"partition": partition, "shingle": key, "memory_seq": seq} for key in keys]


def _keys(memory: Memory) -> set[int]:
    """Return the index keys of a memory in its state. A quarantined one keeps its text key, to block duplicates."""
    if memory.live:
        return _every_key(memory)
    quarantined = memory.status == "quarantined" and memory.forgotten_at is None
    return {text_key(memory.text)} if quarantined else set()


def _every_key(memory: Memory) -> set[int]:
    """Return the text key of a memory and, unless it is raw, its shingles."""
    return {text_key(memory.text), *(() if memory.raw else shingles(memory.text))}
