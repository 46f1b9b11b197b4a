"""Memories in and out of the store, with their derived indexes kept in the same transaction."""

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
    """The parameters of `put_memory` and `replace_memory`."""
    row = {name: getattr(memory, name) for name in COLUMNS}
    row["partition"] = partition
    row["session"] = str(memory.source_ref.get("session", ""))
    row["position"] = _position(memory)
    row["more"] = json.dumps(_more(memory), ensure_ascii=False, separators=(",", ":"))
    return row


def from_row(row: tuple[Any, ...], situations: tuple[Situation, ...] = ()) -> Memory:
    """The memory of a row selected with `SELECT`."""
    try:
        return _memory(row, situations)
    except (ValueError, TypeError, AttributeError) as error:
        raise damaged(f"the row of memory {row[2]}") from error


def from_json(text: str) -> Any:
    """A JSON column's value."""
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
    """Equal for texts that differ only in case and white space. A checksum, not a proof: who finds a row by it compares
    the texts. Above 32 bits, where no shingle is."""
    data = " ".join(text.lower().split()).encode("utf-8", "replace")
    return (zlib.crc32(data) | 1 << 31) << 31 | zlib.crc32(data[::-1]) >> 1


def handle_of(id: str, length: int) -> str:
    """The end of a UUID is random; an id from elsewhere is hashed first."""
    tail = id.replace("-", "")
    if len(tail) != 32 or not all(char in "0123456789abcdef" for char in tail):
        from hashlib import blake2b

        tail = blake2b(id.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return tail[-length:]


def place_word(partition: int) -> str:
    """A partition as a word of the full-text index; the checksum keeps it from meeting a real word."""
    return f"zq{partition}x{zlib.crc32(str(partition).encode()):08x}"


def _position(memory: Memory) -> int | None:
    position = memory.source_ref.get("position")
    return position if isinstance(position, int) else None


def _more(memory: Memory) -> dict[str, Any]:
    """What has no column of its own; defaults are left out."""
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
PAGE = 500
THOROUGH = 1_000
MOST_OF_KEY = 4_000
FEW_SHINGLES = 5
MANY_SHINGLES = 12
STEMS_KEPT = 4_000  # characters of a long text's words that scoring looks at
_ALL = 2**62
SHINGLE_LOOK = 20  # newest rows looked at per shared shingle: a phrase in more of them says little


@frozen
class Filter:
    """What `list` keeps. Empty means any; status '' means live, 'any' everything, 'forgotten' the hidden ones;
    `tiers` and `sources` are several; `path` is a file that it came from; `without` is a source that is left out."""

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
        """Those that are asked for, one or several."""
        return (*self.tiers, self.tier) if self.tier else self.tiers

    @property
    def every_source(self) -> tuple[str, ...]:
        return (*self.sources, self.source) if self.source else self.sources


FILTERED = ("kind", "category", "session", "owner", "path", "status", "without")


@frozen
class Words:
    """A memory as the full-text index and the scoring see it."""

    title: str
    body: str
    tags: str

    @classmethod
    def of(cls, memory: Memory) -> Words:
        from swarmlore.domain.language.tokenizer import index_text  # reading does not need it

        title = index_text(memory.title) if memory.title else ""
        about = (*memory.tags, *memory.entities)
        return cls(title, index_text(memory.text), index_text(" ".join(about)) if about else "")

    @property
    def stems(self) -> str:
        return f"{self.title} {self.tags} {self.body[:STEMS_KEPT]}".strip()


class Memories(Graphs):
    """Put, get, replace and list memories; every read takes the caller."""

    def put(self, operation: Operation, memory: Memory, action: str = "added", reason: str = "") -> Memory:
        """Store a new memory with its indexes and its audit row; the handle is chosen here."""
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
        """Index a row that was copied from another store, with its situations; what waits for it is copied as well."""
        for situation in memory.situations:
            self._add_situation(seq, partition, situation, memory.live)
        if memory.situations:
            self.ask("drop_pending_of", memory_seq=seq)
        self._index(seq, partition, memory, words)

    def revise(self, operation: Operation, before: Memory, after: Memory, action: str, reason: str = "") -> Memory:
        """Replace a memory by its next version; the former one goes to the history."""
        after = replace(after, version=before.version + 1, situations=_newest(after.situations))
        partition = self.partition_of(after)
        seq, old_partition = self._row_of(before)
        self._unindex(seq, old_partition, before)
        words = Words.of(after)
        self.ask("replace_memory", **_without_handle(to_row(after, partition)), stems=words.stems)
        if after.situations != before.situations:
            self._replace_situations(seq, after.situations)
        self._reindex_cues(seq, partition, after.live)
        self._index(seq, partition, after, words)
        self._renew_vector(seq, partition, after, same_text=_reads_alike(before, after))
        if _renews(before, after):
            self.ask("renew_memory", seq=seq)
        self.audit(operation, after, action, before, reason)
        return after

    def _row_of(self, memory: Memory) -> tuple[int, int]:
        """The row and partition of a memory that is still as it was read; another process may have been faster."""
        found = self.ask("row_of", id=memory.id)
        if not found:
            raise NotFound(f"memory {memory.handle} is not there any more", "look it up with: swarmlore list")
        seq, partition, version = found[0]
        if version != memory.version:
            raise Conflict(f"memory {memory.handle} was changed meanwhile", f"see it: swarmlore get {memory.handle}")
        return int(seq), int(partition)

    def get(self, caller: Caller, id: str) -> Memory | None:
        """The memory, if it is there and the caller may see it."""
        found = self._load("WHERE id = :id AND partition IN (:list:partitions)", caller, id=id)
        return found[0] if found else None

    def resolve(self, caller: Caller, ref: str) -> Memory:
        """The one visible memory that an id, a handle or a unique prefix names."""
        memory = self.get(caller, ref)
        if memory is None:
            memory = self.get(caller, self._expand(caller, ref.strip()))
        if memory is None:
            raise NotFound(f"no memory {ref!r}", "look it up with: swarmlore list")
        return memory

    def _expand(self, caller: Caller, ref: str) -> str:
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
        """Count one access. A counter: not audited, and not worth waiting for the disk."""
        with self.engine.writing(durable=False):
            self.ask("touch_memory", id=id, now=now)

    def select(self, caller: Caller, filter: Filter) -> list[Memory]:
        """Visible memories, newest arrivals first; those before the offset are passed over without being read."""
        found: list[Memory] = []
        left, below = filter.offset, _ALL
        page = min(filter.limit, PAGE) if not filter.tags and not left else PAGE
        while len(found) < filter.limit:
            seqs = self._newest(caller, filter, page, below)
            passed = min(left, len(seqs)) if not filter.tags else 0
            batch = self.by_seqs(seqs[passed:])
            fits = [batch[seq] for seq in seqs[passed:] if set(filter.tags) <= set(batch[seq].tags)]
            found += fits[left - passed :]
            left = max(0, left - passed - len(fits))
            if len(seqs) < page:
                break
            below = seqs[-1]
        return found[: filter.limit]

    def _newest(self, caller: Caller, filter: Filter, limit: int, below: int) -> list[int]:
        """The newest rows before a given one, over all partitions the caller sees."""
        asked = {**_conditions(filter), "limit": limit, "below": below}
        rows_ = [
            row[0]
            for partition in self.visible(caller, filter.every_tier)
            for row in self.ask("list_memories", **asked, partition=partition)
        ]
        return sorted(rows_, reverse=True)[:limit]

    def count_selected(self, caller: Caller, filter: Filter) -> int:
        """How many `select` has without a limit, whatever their tags are; looks at every row."""
        counted = "SELECT count(*) FROM (" + self._sql["list_memories"] + "\n) AS listed"  # it may end with a remark
        asked = {**_conditions(filter), "limit": _ALL, "below": _ALL}
        places = self.visible(caller, filter.every_tier)
        return sum(int(self.engine.run(counted, {**asked, "partition": place})[0][0]) for place in places)

    def by_seqs(self, seqs: Sequence[int]) -> dict[int, Memory]:
        """Memories by their row numbers; the caller's sight was applied when the numbers were found."""
        if not seqs:
            return {}
        found = self.engine.run(SELECT + "WHERE seq IN (:list:seqs)", {"seqs": list(seqs)})
        situations = self.situations_of([int(row[0]) for row in found])
        return {int(row[0]): from_row(row, situations.get(int(row[0]), ())) for row in found}

    def neighbours(self, partition: int, text: str, key: str = "", *, thorough: bool = False) -> dict[int, Memory]:
        """Live memories of one partition that share a key, the text or enough of its words, best first.

        Thorough, all of the newest ones; else those that share less than half of their content words are left out.
        """
        found = self.like(partition, text, key, thorough=thorough)
        return {seq: memory for seq, memory in found.items() if memory.live}

    def like(self, partition: int, text: str, key: str = "", *, thorough: bool = False) -> dict[int, Memory]:
        """The same, with those of this text that are in quarantine."""
        equal, alike = self._rows_by_shingles(partition, text)
        if key:
            equal += [int(row[0]) for row in self.ask("seqs_of_key", partition=partition, key=key)]
        if thorough:  # profile knowledge keeps a few hundred lessons and may refuse a text for any of them
            newest = [int(row[0]) for row in self.ask("newest_of", partition=partition, limit=THOROUGH)]
            best = list(dict.fromkeys((*equal, *newest)))
        else:
            alike = self._of_the_same_words(text, [seq for seq in alike if seq not in equal])
            best = list(dict.fromkeys((*equal, *alike)))[:NEIGHBOURS]
        found = self.by_seqs(best)
        return {seq: found[seq] for seq in best if seq in found and (found[seq].live or seq in equal)}

    def _rows_by_shingles(self, partition: int, text: str) -> tuple[list[int], list[int]]:
        """Rows of the same text, oldest first, and rows that share shingles with it, most first; the longer the text,
        the less one shingle alone says."""
        keys = shingles(text)
        asked = json.dumps((text_key(text), *keys))
        found = self.ask("memories_of_shingles", partition=partition, shingles=asked, look=SHINGLE_LOOK)
        equal = sorted(map(int, found[0][0].split(","))) if found[0][0] else []
        shared = Counter(",".join(listed for (listed,) in found[1:] if listed).split(","))
        least = 1 + (len(keys) > FEW_SHINGLES) + (len(keys) > MANY_SHINGLES)
        enough = [(count, int(seq)) for seq, count in shared.items() if count >= least and seq]
        return equal, [seq for _, seq in sorted(enough, reverse=True)[:NEIGHBOURS]]

    def _of_the_same_words(self, text: str, seqs: Sequence[int]) -> list[int]:
        from swarmlore.domain.language.similarity import content_words

        if not seqs:
            return []
        mine = content_words(text)
        texts = {int(seq): str(other) for seq, other in self.ask("texts_of", seqs=list(seqs))}
        words = {seq: content_words(texts[seq]) for seq in seqs if seq in texts}
        return [seq for seq, others in words.items() if 2 * len(mine & others) >= min(len(mine), len(others))]

    def ids_of_session(self, caller: Caller, session: str, *, hidden: bool = False) -> list[str]:
        found = self.ask("ids_of_session", session=session, hidden=int(hidden), partitions=self.visible(caller))
        return [str(row[0]) for row in found]

    def ids_of_source(self, caller: Caller, source: str, *, hidden: bool = False) -> list[str]:
        found = self.ask("ids_of_source", source=source, hidden=int(hidden), partitions=self.visible(caller))
        return [str(row[0]) for row in found]

    def ids_derived_from(self, caller: Caller, ids: Sequence[str], *, hidden: bool = False) -> list[str]:
        found = self.ask("ids_derived_from", ids=list(ids), hidden=int(hidden), partitions=self.visible(caller))
        return [str(row[0]) for row in found]

    def of_key(self, caller: Caller, key: str, tiers: Sequence[str] = ()) -> list[Memory]:
        """The newest visible memories of a key, hidden ones too, oldest first."""
        found = (self.ask("seqs_of_key", partition=place, key=key) for place in self.visible(caller, tiers))
        seqs = sorted(int(row[0]) for rows_ in found for row in rows_)[-MOST_OF_KEY:]
        memories = self.by_seqs(seqs)
        return [memories[seq] for seq in seqs if seq in memories]

    def of_keys(self, partitions: Sequence[int], keys: Sequence[str]) -> dict[str, list[Memory]]:
        """The memories of some keys, hidden ones too, oldest first."""
        asked = self.ask("seqs_of_keys", partitions=list(partitions), keys=list(keys)) if partitions and keys else []
        memories = self.by_seqs([int(seq) for seq, _ in asked])
        found: dict[str, list[Memory]] = {}
        for seq, key in asked:
            if int(seq) in memories:
                found.setdefault(str(key), []).append(memories[int(seq)])
        return found

    def citing(self, caller: Caller) -> Iterator[Memory]:
        """Live visible memories that cite code, oldest first."""
        asked = {"partitions": self.visible(caller), "limit": PAGE}
        after = 0
        while seqs := [int(row[0]) for row in self.ask("citing_memories", **asked, after=after)]:
            found = self.by_seqs(seqs)
            yield from (found[seq] for seq in seqs if seq in found and found[seq].live and found[seq].citations)
            after = seqs[-1]

    def about(self, caller: Caller, entities: Sequence[str]) -> list[Memory]:
        """Live visible memories that name one of these entities, newest first; `file:<path>` for a cited file."""
        if not entities:
            return []
        found = self.ask("seqs_of_entities", partitions=self.visible(caller), entities=list(entities))
        memories = self.by_seqs(sorted((int(row[0]) for row in found), reverse=True)[:PAGE])
        return sorted((m for m in memories.values() if m.live), key=lambda m: m.created_at, reverse=True)

    def known_entities(self, caller: Caller) -> list[str]:
        return [str(row[0]) for row in self.ask("entities_known", partitions=self.visible(caller))]

    def _load(self, where: str, caller: Caller, **params: object) -> list[Memory]:
        found = self.engine.run(SELECT + where, {**params, "partitions": self.visible(caller)})
        situations = self.situations_of([int(row[0]) for row in found])
        return [from_row(row, situations.get(int(row[0]), ())) for row in found]

    def situations_of(self, seqs: Sequence[int]) -> dict[int, tuple[Situation, ...]]:
        """The situations in which memories were needed, of those that have any."""
        found: dict[int, tuple[Situation, ...]] = {}
        for seq, text, via, at, _ in self.ask("situations_of", seqs=list(seqs)):
            found[seq] = (*found.get(seq, ()), Situation(text, via, at))
        return found

    def free_handle(self, id: str) -> str:
        """The shortest end of an id that names nothing else here."""
        for length in range(MIN_HANDLE, 33):
            handle = handle_of(id, length)
            if not self.ask("handle_taken", handle=handle):
                return handle
        return id  # 128 equal bits: the id itself is taken too, and the insert will say so

    def _index(self, seq: int, partition: int, memory: Memory, words: Words) -> None:
        """Full text, shingles, entities and the graph follow the row; what is not live is not found."""
        self._add_shingles(seq, partition, _keys(memory))
        if memory.live:
            self.note("index_words", **word_row(seq, partition, words))
            self.ask_many("add_entity", entity_rows(seq, partition, memory))
            self.index_graph(seq, partition, memory)

    def _add_shingles(self, seq: int, partition: int, keys: set[int]) -> None:
        if keys:
            self.note("add_shingles", partition=partition, memory_seq=seq, shingles=json.dumps(sorted(keys)))

    def _renew_vector(self, seq: int, partition: int, memory: Memory, *, same_text: bool) -> None:
        """A vector goes with its text; where only the state changed it stays and follows."""
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
        """Keep the rows (and vectors) of situations that stay, drop the others, add the new ones."""
        left = list(wanted)
        for _, text, via, at, cue in self.ask("situations_of", seqs=[seq]):
            situation = Situation(text, via, at)
            if situation in left:
                left.remove(situation)
                continue
            self.ask("unindex_cue", seqs=[cue])
            drop_vectors(self, seq, cue)
            self.ask("done_pending", work="embed", memory_seq=seq, situation_seq=cue)
            self.ask("delete_situation", seq=cue)
        for situation in left:
            self._add_situation(seq, 0, situation, live=False)

    def _reindex_cues(self, seq: int, partition: int, live: bool) -> None:
        for _, text, _, _, cue in self.ask("situations_of", seqs=[seq]):
            self.ask("unindex_cue", seqs=[cue])
            if live:
                self.ask("index_cue", **cue_row(cue, partition, text))


def index_text(text: str) -> str:
    """The words of a text for the full-text index; imported on use, reading does not need it."""
    from swarmlore.domain.language.tokenizer import index_text as analyse

    return analyse(text)


@lru_cache(maxsize=16)  # a text is compared with its neighbours, then stored
def shingles(text: str) -> tuple[int, ...]:
    from swarmlore.domain.language.similarity import shingles as cut

    return cut(text)


def _place(partition: int) -> dict[str, Any]:
    """A partition as each engine's index of words wants it: as a word, or as it is."""
    return {"place": place_word(partition), "partition": partition}


def _conditions(filter: Filter) -> dict[str, Any]:
    """What the statement that lists memories asks of them; their tiers say where it is asked."""
    sources = filter.every_source
    asked: dict[str, Any] = {name: getattr(filter, name) for name in FILTERED}
    return asked | {"sources": sources, "any_source": int(not sources)}


def _newest(situations: tuple[Situation, ...]) -> tuple[Situation, ...]:
    return tuple(sorted(situations, key=lambda situation: situation.at))[-SITUATIONS_KEPT:]


def _renews(before: Memory, after: Memory) -> bool:
    from swarmlore.domain.policy.lifecycle import renews  # reading does not need it

    return renews(before, after)


def _reads_alike(before: Memory, after: Memory) -> bool:
    return (before.text, before.title) == (after.text, after.title)


def _without_handle(row: dict[str, object]) -> dict[str, object]:
    del row["handle"]
    return row


def word_row(seq: int, partition: int, words: Words) -> dict[str, Any]:
    return {"seq": seq, **_place(partition), "title": words.title, "body": words.body, "tags": words.tags}


def cue_row(cue: int, partition: int, text: str) -> dict[str, Any]:
    return {"seq": cue, "body": index_text(text), **_place(partition)}


def entity_rows(seq: int, partition: int, memory: Memory) -> list[dict[str, Any]]:
    names = (*memory.entities, *dict.fromkeys(f"file:{citation.path}" for citation in memory.citations))
    return [{"partition": partition, "entity": name, "memory_seq": seq} for name in names]


def key_rows(seq: int, partition: int, memory: Memory) -> list[dict[str, Any]]:
    """The rows of the keys that a memory has in the state it is in."""
    return _shingle_rows(seq, partition, _keys(memory))


def shingle_rows(seq: int, partition: int, memory: Memory) -> list[dict[str, Any]]:
    """The rows of every key under which a memory can meet its like."""
    return _shingle_rows(seq, partition, _every_key(memory))


def _shingle_rows(seq: int, partition: int, keys: Iterable[int]) -> list[dict[str, Any]]:
    return [{"partition": partition, "shingle": key, "memory_seq": seq} for key in keys]


def _keys(memory: Memory) -> set[int]:
    """What is in quarantine is known by its text still, so that it does not come back by being said again."""
    if memory.live:
        return _every_key(memory)
    quarantined = memory.status == "quarantined" and memory.forgotten_at is None
    return {text_key(memory.text)} if quarantined else set()


def _every_key(memory: Memory) -> set[int]:
    return {text_key(memory.text), *(() if memory.raw else shingles(memory.text))}
