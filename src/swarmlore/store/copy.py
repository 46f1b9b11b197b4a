"""Copy everything a caller may see from one store into another (`migrate-store`), and verify the copy by a digest."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from swarmlore.domain.json_codec import memory_to_dict
from swarmlore.domain.records import TIERS, Caller, Memory
from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.store.files import make_folder
from swarmlore.store.memories import Words, to_row
from swarmlore.store.store import FILE, Store

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Row

PAGE = 200
NOWHERE = "-"  # the project for rows without one; an empty project would see nothing
SESSION = ("id", "client", "project", "agent", "started_at", "ended_at", "cwd", "extra")
RECEIPT = ("id", "at", "project", "agent", "session", "trigger", "cue", "chars", "tokens", "reason", "headroom")
OUTCOME = ("id", "at", "project", "agent", "session", "task", "success", "score", "verdict", "more")
PHASE = ("project", "number", "name", "kind", "started_at", "completed_at", "ended", "note", "by")
OPERATION = ("id", "at", "verb", "by", "project", "reason", "undoes", "undone_by")


@frozen
class Bundle:
    """A memory with its audit rows, operations, links, vectors, pieces and pending work. Situations are numbered by
    order: 0 is the text itself."""

    memory: Memory
    audit: tuple[Row, ...]
    operations: tuple[Row, ...]
    links: tuple[Row, ...]
    vectors: tuple[Row, ...]
    pieces: tuple[Row, ...]
    waiting: tuple[Row, ...]

    def of(self, name: Callable[[str], str]) -> Bundle:
        """Return the same bundle with agents renamed; on a server they are named after the login."""
        memory = self.memory
        if name(memory.owner) == memory.owner:
            return self
        return replace(
            self,
            memory=replace(memory, owner=name(memory.owner)),
            audit=tuple((*row[:4], _rename_owner(row[4], name), *row[5:7], name(str(row[7]))) for row in self.audit),
            operations=tuple((*row[:3], name(str(row[3])), *row[4:]) for row in self.operations),
        )

    def canonical(self) -> str:
        """Return the same JSON text for the same content, whatever the database."""
        content = {
            "memory": memory_to_dict(self.memory),
            "audit": self.audit,
            "operations": sorted(self.operations),
            "links": sorted(self.links),
            "vectors": [[*row[:3], *(_digest(data) for data in row[3:])] for row in sorted(self.vectors)],
            "pieces": [[row[0], _digest(row[1])] for row in self.pieces],
            "waiting": sorted(self.waiting),
        }
        return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@frozen
class Copied:
    """The result of a copy: memories written, memories that existed already, ids that differ, and the digest of all."""

    written: int
    known: int
    different: tuple[str, ...]
    digest: str


Progress = Callable[[int, int], None]


def _rename_owner(before: str | None, name: Callable[[str], str]) -> str | None:
    """Rename the owner in the JSON of a former record."""
    if before is None:
        return None
    record = json.loads(before)
    return json.dumps({**record, "owner": name(record["owner"])}, ensure_ascii=False)


def _same_name(agent: str) -> str:
    return agent


def copy(
    source: Store, target: Store, progress: Progress | None = None, name: Callable[[str], str] = _same_name
) -> Copied:
    """Copy what the source shows into the target, renaming agents by `name`; then compare both by canonical text."""
    total = int(source.ask("count_memories")[0][0])
    written = done = 0
    _copy_phases(source, target, name)
    for page in pages(source):
        bundles = [bundle.of(name) for bundle in page]
        with target.engine.writing(durable=False):
            written += _write_bundles(target, bundles)
        done += len(bundles)
        if progress:
            progress(done // 2, total)  # the comparison is the other half
    _copy_links(source, target, name)
    _copy_records(source, target, name)
    different, digest, seen = [], hashlib.sha256(), 0
    for page in pages(source):
        bundles = [bundle.of(name) for bundle in page]
        copies = _same_memories(target, [bundle.memory for bundle in bundles])
        for bundle in bundles:
            line = bundle.canonical()
            digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
            if copies.get(bundle.memory.id) != line:
                different.append(bundle.memory.id)
        seen += len(bundles)
        if progress:
            progress((total + seen + 1) // 2, total)
    target.set_meta("copied", digest.hexdigest())  # this fsync makes all earlier writes durable too
    return Copied(written, seen - written, tuple(different), digest.hexdigest())


def pages(store: Store) -> Iterator[list[Bundle]]:
    """Yield every memory that the store shows now, in pages, oldest first."""
    after = 0
    while seqs := [int(row[0]) for row in store.ask("every_seq", after=after, limit=PAGE)]:
        yield _pack(store, seqs)
        after = seqs[-1]


def _pack(store: Store, seqs: Sequence[int]) -> list[Bundle]:
    """Load these memories with everything that belongs to them."""
    memories = store.by_seqs(seqs)
    ids = [memories[seq].id for seq in seqs if seq in memories]
    audit = _grouped(store.ask("audit_of_memories", ids=ids))
    names = list(dict.fromkeys(str(row[0]) for rows in audit.values() for row in rows))
    operations = {row[0]: tuple(row) for row in store.ask("operations_named", ids=names)}
    links = _grouped(store.ask("links_from", ids=ids))
    cues = _cues(store, seqs)
    vectors = _grouped(store.ask("embeddings_of", seqs=list(seqs)))
    pieces = _grouped(store.ask("every_piece_of", seqs=list(seqs)))
    waiting = _grouped(store.ask("pending_of_rows", seqs=list(seqs)))
    partitions = _places(store)
    bundles = []
    for seq in seqs:
        if (memory := memories.get(seq)) is None:
            continue
        rows = audit.get(memory.id, ())
        positions = {cue: position for position, cue in enumerate(cues.get(seq, ()), start=1)} | {0: 0}
        bundles.append(
            Bundle(
                memory,
                tuple((*row[:-1], *partitions.get(int(row[-1]), ("", "", ""))) for row in rows),
                tuple(operations[name] for name in dict.fromkeys(row[0] for row in rows) if name in operations),
                links.get(memory.id, ()),
                tuple(_vector(store, row, positions) for row in vectors.get(seq, ()) if row[0] in positions),
                tuple((row[0], bytes(row[1])) for row in pieces.get(seq, ())),
                tuple((positions[row[0]], *row[1:]) for row in waiting.get(seq, ()) if row[0] in positions),
            )
        )
    return bundles


def _vector(store: Store, row: Row, own: dict[int, int]) -> Row:
    """Return a vector row with the situation's position instead of its row number, and the data as bytes."""
    cue, provider, dimension, data, pieces = row
    return (own[cue], provider, dimension, store.engine.vector_bytes(data), store.engine.number_bytes(pieces))


def _grouped(rows: Sequence[Row]) -> dict[Any, tuple[Row, ...]]:
    """Group rows by their first column."""
    found: dict[Any, tuple[Row, ...]] = {}
    for first, *rest in rows:
        found[first] = (*found.get(first, ()), tuple(rest))
    return found


def _cues(store: Store, seqs: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return the row numbers of the situations of each memory, in order."""
    found: dict[int, tuple[int, ...]] = {}
    for seq, _, _, _, cue in store.ask("situations_of", seqs=list(seqs)):
        found[int(seq)] = (*found.get(int(seq), ()), int(cue))
    return found


def _places(store: Store) -> dict[int, tuple[str, str, str]]:
    """Return (tier, project, owner) of every partition by its number."""
    return {int(id): (tier, project, owner) for id, tier, project, owner in store.ask("every_partition")}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _as(store: Store, project: str, agent: str) -> None:
    """Act as a row's owner: a database with row-level security accepts the row from no other agent."""
    store.act_for(Caller(project or NOWHERE, agent, "lead"))


def _write_bundles(store: Store, bundles: Sequence[Bundle]) -> int:
    """Write memories with everything that belongs to them, in order; return how many were new."""
    written = 0
    for _, run in groupby(bundles, key=lambda bundle: (bundle.memory.project, bundle.memory.owner)):
        own = list(run)
        _as(store, own[0].memory.project, own[0].memory.owner)
        known = {str(row[0]) for row in store.ask("known_ids", ids=[bundle.memory.id for bundle in own])}
        written += sum(_write_bundle(store, bundle) for bundle in own if bundle.memory.id not in known)
    return written


def _write_bundle(store: Store, bundle: Bundle) -> bool:
    """Write one memory with indexes, history and vectors; False if its id is taken by a row we cannot see."""
    memory = bundle.memory
    partition = store.partition_of(memory)
    words = Words.of(memory)
    taken = store.ask("handle_taken", handle=memory.handle)
    handle = {"handle": store.free_handle(memory.id)} if taken else {}
    added = store.ask("put_memory", **{**to_row(memory, partition), **handle}, stems=words.stems)
    if not added:
        return False  # the row of another caller, which we may not see
    seq = int(added[0][0])
    store.index_copy(seq, partition, memory, words)
    _write_history(store, bundle)
    _write_vectors(store, bundle, seq, partition)
    return True


def _copy_phases(source: Store, target: Store, name: Callable[[str], str]) -> None:
    """Copy the phases before the memories, whose age counts phases: in the target all start at age 0."""
    with target.engine.writing(durable=False):
        for row in source.ask("every_phase"):
            phase = dict(zip(PHASE, row, strict=True))
            _as(target, phase["project"], name(phase["by"]))
            if not target.ask("has_phase", **{part: phase[part] for part in ("project", "name", "started_at")}):
                target.ask("put_phase", **{**phase, "by": name(phase["by"])})


def _copy_links(source: Store, target: Store, name: Callable[[str], str]) -> None:
    """Copy the links after the memories, as both ends must exist."""
    for bundles in pages(source):
        ends = [id for bundle in bundles for link in bundle.links for id in (bundle.memory.id, str(link[0]))]
        places = {row[0]: row[1:] for row in source.ask("places_of_ids", ids=ends)} if ends else {}
        with target.engine.writing(durable=False):
            for bundle in bundles:
                for link in bundle.links:
                    _write_link(target, bundle.memory.id, link, places, name)


def _write_link(store: Store, id: str, link: Row, places: dict[Any, Row], name: Callable[[str], str]) -> None:
    """Write one link, acting as the owner of its more private end."""
    other, kind, at, strength, operation = link
    if id not in places or other not in places:
        return  # one end was erased, or is not visible to the caller who copies
    # The owner of the more private end sees both ends.
    _, project, owner = min(places[id], places[other], key=lambda place: TIERS.index(place[0]))
    _as(store, str(project), name(str(owner)))
    store.ask("add_link", source=id, target=other, kind=kind, at=at, strength=strength, operation=operation)


def _write_history(store: Store, bundle: Bundle) -> None:
    """Write the operations and audit rows of a memory, each as its author."""
    for row in bundle.operations:
        _as(store, str(row[4]), str(row[3]))
        store.ask("put_operation", **dict(zip(OPERATION, row, strict=True)))
    _as(store, bundle.memory.project, bundle.memory.owner)  # audit rows belong to the memory's owner
    for operation, action, reason, version, before, *place in bundle.audit:
        change = {"action": action, "reason": reason, "version": version, "before": before}
        partition = store.partition_at(tuple(place))
        store.ask("add_audit", operation=operation, memory=bundle.memory.id, partition=partition, **change)


def _write_vectors(store: Store, bundle: Bundle, seq: int, partition: int) -> None:
    """Write the vectors, pieces and pending work of a memory."""
    cues = (0, *_cues(store, [seq]).get(seq, ())) if bundle.memory.situations else (0,)
    for place, provider, dimension, data, pieces in bundle.vectors:
        key = {"memory_seq": seq, "situation_seq": cues[place], "partition": partition, "live": int(bundle.memory.live)}
        vector = {"data": store.engine.vector(data), "piece_ids": store.engine.numbers(pieces)}
        store.ask("add_embedding", **key, provider=provider, dimension=dimension, **vector)
    for provider, data in bundle.pieces:
        store.ask("put_pieces", memory_seq=seq, provider=provider, data=data)
    for place, work, attempts, error in bundle.waiting:
        values = {"memory_seq": seq, "situation_seq": cues[place], "work": work}
        store.ask("put_pending", **values, attempts=attempts, error=error)


def _same_memories(store: Store, memories: Sequence[Memory]) -> dict[str, str]:
    """Return the canonical text of these memories in another store, read with the visibility of their owners."""
    found: dict[str, str] = {}
    by_owner: dict[tuple[str, str], list[str]] = {}
    for memory in memories:
        by_owner.setdefault((memory.project, memory.owner), []).append(memory.id)
    for (project, owner), ids in by_owner.items():
        _as(store, project, owner)
        seqs = [int(row[0]) for row in store.ask("rows_with_ids", ids=ids)]
        found.update({bundle.memory.id: bundle.canonical() for bundle in _pack(store, seqs)})
    return found


def _copy_records(source: Store, target: Store, name: Callable[[str], str]) -> None:
    """Copy project aliases, sessions, receipts, outcomes and rejections; rows that exist stay as they are."""
    places = _places(source)
    with target.engine.writing(durable=False):
        for alias, project, at in source.ask("every_alias"):
            target.ask("put_alias", alias=alias, project=project, at=at)
        for row in source.ask("every_session"):
            session = dict(zip(SESSION, row, strict=True))
            session["agent"] = name(session["agent"])
            _as(target, session["project"], session["agent"])
            target.ask("put_session", **session)
        for seq, *values in source.ask("every_receipt"):
            receipt = dict(zip(RECEIPT, values, strict=True))
            _write_receipt(source, target, int(seq), {**receipt, "agent": name(receipt["agent"])})
        for row in source.ask("every_outcome"):
            outcome = dict(zip(OUTCOME, row, strict=True))
            outcome["agent"] = name(outcome["agent"])
            _as(target, outcome["project"], outcome["agent"])
            target.ask("add_outcome", **outcome)
        for id, partition, text, reason, layer, at in source.ask("every_rejection"):
            if place := places.get(int(partition)):
                place = (place[0], place[1], name(place[2]))
                _as(target, place[1], place[2])
                refused = {"id": id, "text": text, "reason": reason, "layer": layer, "at": at}
                target.ask("put_rejection", partition=target.partition_at(place), **refused)


def _write_receipt(source: Store, target: Store, seq: int, values: dict[str, Any]) -> None:
    """Copy one receipt with its items unless the target has it."""
    _as(target, values["project"], values["agent"])
    if target.ask("has_receipt", id=values["id"]):
        return
    fresh = target.ask("add_receipt", **values)[0][0]
    for place, memory, handle, score, cut, why in source.ask("items_of_receipt", receipt_seq=seq):
        item = {"place": place, "memory": memory, "handle": handle, "score": score, "cut": cut, "why": why}
        target.ask("add_receipt_item", receipt_seq=fresh, **item)


SERVER = ("postgresql://", "postgres://")
FILE_PREFIX = "sqlite:"


def move(source: Store, caller: Caller, target: str, now: float, progress: Progress | None = None) -> Copied:
    """Copy the store into a server's store or into that of a folder; the source does not change."""
    if not caller.leads:
        raise NotAllowed("a whole store is copied by a person or a lead", "run it at a terminal of your own")
    other = _open(target, now)
    try:
        if _is_same(source, other):
            raise InvalidInput("that is the store in use", "name another one")
        name = _names(source.engine.user, other.engine.user)
        copied = []
        for agent in _own_agents(source, caller):
            source.act_for(agent, wide=agent.role == "person")
            copied.append(copy(source, other, progress, name))
        return copied[0] if len(copied) == 1 else _together(copied)
    finally:
        source.act_for(caller)
        other.close()


def _own_agents(source: Store, caller: Caller) -> list[Caller]:
    """Return the callers to copy as: on a server also the other agents of the login, for their private rows."""
    if not source.engine.remote:
        return [caller]
    source.act_for(caller, wide=caller.role == "person")
    own = f"{source.engine.user}/"
    others = {str(row[0]) for row in source.ask("every_agent") if str(row[0]).startswith(own)} - {caller.agent}
    return [caller, *(replace(caller, agent=agent) for agent in sorted(others))]


def _names(source: str, target: str) -> Callable[[str], str]:
    """Return a function that renames agents: on a server they carry the login, as `ada/claude`, in a file not."""

    def name(agent: str) -> str:
        plain = agent.removeprefix(f"{source}/") if source else agent
        return f"{target}/{plain}" if target and plain and plain == agent.removeprefix(f"{target}/") else plain

    return name


def _together(copied: Sequence[Copied]) -> Copied:
    """Combine the results of several passes; each saw the shared rows and the private rows of one agent."""
    different = tuple(dict.fromkeys(id for each in copied for id in each.different))
    return replace(copied[0], written=sum(each.written for each in copied), different=different)


def _open(target: str, now: float) -> Store:
    if target.startswith(SERVER):
        return Store.connect(target, now)
    folder = os.path.abspath(os.path.expanduser(target.removeprefix(FILE_PREFIX)))
    if not target or os.path.isfile(folder):
        raise InvalidInput("name where to: postgresql://… or a folder", "swarmlore migrate-store ~/lore-copy")
    make_folder(folder)
    return Store.open(folder, now)


def _is_same(one: Store, other: Store) -> bool:
    paths = [str(store.engine.facts()["path"]) for store in (one, other)]
    if one.engine.remote or other.engine.remote:
        return paths[0] == paths[1]
    return os.path.samefile(*(os.path.join(os.path.dirname(path), FILE) for path in paths))
