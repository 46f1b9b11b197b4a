"""`lore.notes`: the notes of a project and of its user, as its callers see them."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property

from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.policy.graph import origin_of
from swarmlore.domain.records import Check, Entity, Memory, Relation
from swarmlore.errors import InvalidInput, NotAllowed, NotFound, StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.models.embedding import Progress
from swarmlore.notes import write
from swarmlore.notes.locations import EPISODES, GLOBAL, LEARNINGS, PROJECT, NotePlace, Versions, there_is
from swarmlore.notes.rows import FILE, SOURCE, Graph, key_of, note_of, waits, with_graph
from swarmlore.notes.shared_copies import follow_copies, pairs_apart
from swarmlore.notes.sync import VERB, IndexedNotes, NoteIndex
from swarmlore.notes.write import Made, NoteGraph, Offered
from swarmlore.retrieval.candidates import UNNAMED
from swarmlore.retrieval.recall import is_episode_of
from swarmlore.store.memories import Filter
from swarmlore.workspace.files import Folder
from swarmlore.workspace.project import client_of

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.retrieval.recall import Hits


TELEMETRY_FILE = "metrics.jsonl"
MOST_BYTES = 10_000_000
QUERY_CHARS = 500
_HARNESSES = ("claude", "codex", "copilot")


def record(root: str, env: Mapping[str, str], now: float, **facts: str | float) -> None:
    """Add one line; a full file is put aside first. What cannot be written is nobody's loss."""
    client = client_of(env)
    told: dict[str, str | float | None] = {"ts": iso(now), "harness": client if client in _HARNESSES else "other"}
    query = scrub_text(str(facts.pop("query", "")))[:QUERY_CHARS]
    line = json.dumps({**told, "query": query, **facts}, ensure_ascii=False) + "\n"
    with contextlib.suppress(SwarmloreError, OSError):
        os.makedirs(root, exist_ok=True)
        with Folder(root) as folder, folder.lock():
            if folder.size(TELEMETRY_FILE) >= MOST_BYTES:
                folder.rename(TELEMETRY_FILE, f"metrics-{now:.0f}.jsonl.bak")
            folder.append(TELEMETRY_FILE, line.encode("utf-8"), mode=0o600)


HIGH = 0.8


@frozen
class NoteFound:
    """One note: what its head says, where it lies, and the memory that stands for it."""

    id: str
    title: str
    category: str
    tags: tuple[str, ...]
    confidence: float
    language: str
    created: str
    key_insight: str
    place: str
    path: str
    memory: Memory
    score: float = 0.0
    also: tuple[str, ...] = ()  # where the same note lies besides


@frozen
class FoundNotes:
    """What a search found, best first, with notes on how; in mode global also reports on what belongs together."""

    query: str
    mode: str
    notes: tuple[NoteFound, ...] = ()
    said: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()


@frozen
class WrittenNote:
    """A note that was written or taken in: its path and id, the memory that stands for it (None where the gate refused
    it or somebody forgot it), and whether it took the place of another."""

    path: str
    id: str
    memory: Memory | None
    replaced: bool = False


def text_in(head: Mapping[str, Any], name: str) -> str:
    """A field of a note's head that is a text; else ''."""
    value = head.get(name)
    return value.strip() if isinstance(value, str) else ""


def speaks(note: NoteFound, language: str) -> bool:
    """Whether a note is for a language, as a field or a tag."""
    word = language.strip().lower()
    return not word or word == note.language.lower() or word in {tag.lower() for tag in note.tags}


def label_of(note: NoteFound) -> str:
    """How certain a note is, in a word."""
    if note.memory.extra.get("confidence_label") == "unknown":
        return "unknown"
    return "high" if note.confidence >= HIGH else "medium" if note.confidence >= 0.5 else "low"


def each_once(notes: Iterable[NoteFound]) -> list[NoteFound]:
    """Each note once, in its order, with the places of its copies; the project's file is the note."""
    same: dict[str, list[NoteFound]] = {}
    for note in notes:
        same.setdefault(note.id, []).append(note)
    sorted_by_place = (sorted(group, key=lambda note: (note.place != PROJECT, note.path)) for group in same.values())
    return [replace(first, also=tuple(other.path for other in others)) for first, *others in sorted_by_place]


def counted(words: Iterable[str]) -> dict[str, int]:
    """How often each word comes, by the alphabet."""
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return dict(sorted(counts.items()))


EVERY_S = 3.0  # between two looks on the way to something else, in one process
ON_THE_WAY_S = 1.0  # that such a look may take; what is left waits for the next
WRITER_S = 2.0  # for another writer, on the way
MODES = ("naive", "local", "global", "hybrid", "keyword")
CRITICAL = ("architecture-decisions", "patterns")
NAMED = 5  # of one kind of trouble, by a check
LISTED = 200_000  # memories that are looked at for a list
ENTITIES = "swarmlore learnings entities"
WITHOUT_VECTORS = "there are no vectors: found by words"
_looked: dict[tuple[str, str], float] = {}  # when each home looked at each project, in this process


class Notes:
    """The verbs of notes, for one caller."""

    def __init__(
        self,
        index: NoteIndex,
        acting: Callable[[], AbstractContextManager[None]],
        changing: Callable[[], AbstractContextManager[None]],
        recall: Callable[..., Hits],
        follow_up: Callable[..., None],
        now: Callable[[], float],
        home: str,
        env: Mapping[str, str],
    ) -> None:
        self._env = env
        self._index = index
        self._acting = acting
        self._changing = changing
        self._recall = recall
        self._follow_up = follow_up
        self._now = now
        self._home = home
        self._store = index.store
        self._caller = index.caller
        self._versions = Versions(index.project_place.root, index.store, index.caller)

    # In step with the files

    def follow(self) -> None:
        """On the way to something else: take in what changed, as much as a second allows, not more often than every
        few seconds, and not while another process does. Nothing fails for it."""
        mark = (self._home, self._index.project_place.root)
        if time.monotonic() - _looked.get(mark, -EVERY_S) < EVERY_S:
            return
        _looked[mark] = time.monotonic()
        with contextlib.suppress(StoreError, NotAllowed, OSError), self._store.engine.hurried(WRITER_S):
            self._look(most_s=ON_THE_WAY_S, wait_s=0.0)

    def refresh(self, progress: Progress | None = None) -> tuple[IndexedNotes, ...]:
        """Take in all notes that changed."""
        return self._look(progress=progress)

    def reindex(self, *, force: bool = True, progress: Progress | None = None) -> tuple[IndexedNotes, ...]:
        """The same for all notes, also those that look as they did."""
        return self._look(asked=True, force=force, progress=progress)

    def _look(self, *, asked: bool = False, **how: Any) -> tuple[IndexedNotes, ...]:
        with self._changing():
            told = [self._look_at(place, how) for place in self._index.places]
            new = any(one.added or one.updated for one in told)
            self._follow_up(new=new, read=asked or any(one.read for one in told))
            return tuple(told)

    def _look_at(self, place: NotePlace, how: Mapping[str, Any]) -> IndexedNotes:
        told, changes = self._index.follow(place, **how)
        if place.name == PROJECT and changes and len(self._index.places) > 1:
            follow_copies(changes, place, self._index.global_place, self._index.cache)
        return told

    def take_graph(self, memory: Memory, graph: Graph | None) -> None:
        """Keep what a language model read in a note, unless the note was changed or read meanwhile."""
        with self._changing():
            row = self._store.get(self._caller, memory.id)
            if row is None or row.extra.get(FILE) != memory.extra.get(FILE) or not waits(row):
                return
            act = self._index.operation(VERB)
            self._store.perform(act, lambda act: self._store.revise(act, row, with_graph(row, graph), "connected"))

    # New ones

    def write(self, text: str, *, everywhere: bool = False, once: bool = False, **said: Any) -> WrittenNote:
        """Write a note into `docs/solutions` of the project or, with `everywhere` and outside of any project, into the
        folder of notes for every project; with `once`, not there where its id is taken. `said` are fields of its head.
        """
        day = (iso(self._now()) or "")[:10]
        note, whole = write.compose(text, said, day)
        place = self._place(GLOBAL if everywhere or self._index.homeless else PROJECT)
        known = f"{LEARNINGS}/{note.id}.md"
        if once and place.name == GLOBAL and os.path.lexists(place.path(known)):
            return self._written(place, Made(known, note.id, replaced=True))
        self._index.check(note, place)
        made = write.write_new(place, note, whole, write.sidecar_of(note, day))
        return self._written(place, made)

    def offer(self, path: str, entities: str = "") -> Offered:
        """A file as a note that `add` would take; raises where it lacks a title, category or key insight."""
        return write.offered(os.path.abspath(path), entities, (iso(self._now()) or "")[:10])

    def holds(self, offer: Offered) -> str:
        """The path of what `add` would replace, or ''."""
        place = self._place(GLOBAL)
        known = write.place_of(place, offer)
        return place.path(known) if known and place.path(known) != os.path.realpath(offer.path) else ""

    def add(self, path: str, entities: str = "", *, force: bool = False) -> WrittenNote:
        """Take a file with its entities into the folder of notes for every project, under the note's id."""
        place, offer = self._place(GLOBAL), self.offer(path, entities)
        self._index.check(offer.note, place)
        return self._written(place, write.add(place, offer, force=force))

    def _place(self, name: str) -> NotePlace:
        if all(place.name != name for place in self._index.places):
            hint = (
                "swarmlore config shows knowledge.enabled and knowledge.hive_enabled; swarmlore doctor checks the rest"
            )
            raise NotAllowed("notes cannot be written here", hint)
        return self._index.place(name)

    def _written(self, place: NotePlace, made: Made) -> WrittenNote:
        self.refresh()
        with self._acting():
            visible = self._store.visible(self._caller, (place.tier,))
            rows = self._store.of_keys(visible, [key_of(place.name, made.path)]).values()
        first = next((row for found in rows for row in found if note_of(row) and row.forgotten_at is None), None)
        return WrittenNote(place.path(made.path), made.id, first, made.replaced)

    # What they are about

    def about(self, ref: str) -> NoteGraph:
        """What a note is about and who says so; the note by its file, its id or the handle of its memory."""
        note = self._note(ref)
        return write.told_by(note.memory, note.path)

    def write_about(self, ref: str, entities: Sequence[Entity] = (), relations: Sequence[Relation] = ()) -> NoteGraph:
        """Write that into a file beside the note, with what is added to it or said anew. A person's."""
        if self._caller.role != "person":
            raise NotAllowed("what stands beside a note is a person's to write", f"show it: {ENTITIES} {ref}")
        self.refresh()
        note = self._note(ref)
        day = (iso(self._now()) or "")[:10]
        write.write_beside(self._place(note.place), self.about(ref), day, entities, relations)
        self.refresh()
        return self.about(ref)

    def _note(self, ref: str) -> NoteFound:
        path = os.path.realpath(ref)
        every = self._every()
        fits = [note for note in every if note.path and os.path.realpath(note.path) == path]
        fits = fits or [note for note in every if ref in (note.id, note.memory.id, note.memory.handle)]
        if not fits:
            raise NotFound(f"there is no note {ref}", "name its file or its id: swarmlore learnings list")
        return min(fits, key=lambda note: (note.place != PROJECT, note.path))  # of copies the project's

    # Looking

    def search(
        self, query: str, mode: str = "naive", *, tags: Sequence[str] = (), category: str = "", limit: int = 10
    ) -> FoundNotes:
        """Notes that answer a question, each once; tags and a category count as words of it."""
        if mode not in MODES:
            raise InvalidInput(f"unknown mode: {mode}", "one of: " + ", ".join(MODES))
        if not query.strip():
            raise InvalidInput("there is nothing to look for", 'ask something: swarmlore learnings search "QUESTION"')
        began = time.monotonic()
        asked = " ".join((query.strip(), *tags, category)).strip()
        profile = "learnings" if mode == "hybrid" else "default"
        how = {"limit": limit, "profile": profile, "sources": (SOURCE,), "episodes": True, "near": True}
        hits = self._recall(asked, mode=mode, **how)
        said = hits.notes
        if not hits and set(said) - {UNNAMED} and mode not in ("keyword", "hybrid"):
            hits, said = self._recall(asked, mode="keyword", **how), (*said, WITHOUT_VECTORS)
        notes = tuple(self._found(hit.memory, hit.score) for hit in hits)
        found = FoundNotes(query, mode, notes, tuple(said), hits.reports)
        if self._index.settings.notes.telemetry:
            self._record(found, round((time.monotonic() - began) * 1000))
        return found

    def _record(self, found: FoundNotes, latency_ms: int) -> None:

        facts = {"op": "search", "query": found.query, "mode": found.mode}
        counts = {"hits": len(found.notes), "latency_ms": latency_ms}
        record(self._index.global_place.root, self._env, self._now(), **facts, **counts)

    def all(self, category: str = "") -> tuple[NoteFound, ...]:
        """Every note, by category and title; of a category, or of those that have the word in their name. A note and
        its copies are one; episodes of other projects are left out."""
        wanted = category.strip().lower()
        fits = [note for note in self._every() if wanted in note.category.lower() and self._is_of_here(note)]
        return tuple(sorted(each_once(fits), key=lambda note: (note.category, note.title.lower(), note.path)))

    def critical_patterns(self, language: str = "", domain: str = "", limit: int = 20) -> tuple[NoteFound, ...]:
        """Patterns and decisions that are certain, for a language (as a field or a tag) and a domain (in the text or a
        tag); the surest and newest first."""
        fits = [
            note
            for note in self._every(CRITICAL)
            if note.confidence >= HIGH and speaks(note, language) and self._is_about(note, domain)
        ]
        fits.sort(key=lambda note: (-note.confidence, -note.memory.created_at, note.title))
        return tuple(each_once(fits))[:limit]

    def _is_of_here(self, note: NoteFound) -> bool:
        of = note.memory.source_ref.get("episode")
        return of is None or is_episode_of(str(of), self._names())

    def _names(self) -> list[str]:
        with self._acting():
            return self._store.names_of(self._caller.project)

    def _is_about(self, note: NoteFound, domain: str) -> bool:
        word = domain.strip().lower()
        if not word or any(word in tag.lower() for tag in note.tags) or word in note.memory.text.lower():
            return True
        pieces = self._of_note(note.memory)
        return any(word in piece.text.lower() for piece in pieces if piece.live)

    def _every(self, categories: Sequence[str] = ("",)) -> list[NoteFound]:
        filters = (Filter(source=SOURCE, category=category, limit=LISTED) for category in categories)
        with self._acting():
            rows = [row for wanted in filters for row in self._store.select(self._caller, wanted)]
            firsts = self._versions.only(row for row in rows if note_of(row))
        return [self._found(row) for row in firsts]

    def _found(self, memory: Memory, score: float = 0.0) -> NoteFound:
        """The note that a memory belongs to."""
        ref = memory.source_ref
        place = str(ref.get("place", ""))
        first = memory if note_of(memory) or not memory.key else self._first(memory)
        head = note_of(first)
        return NoteFound(
            id=str(ref.get("note", "")) or memory.handle,
            title=memory.title,
            category=memory.category,
            tags=memory.tags,
            confidence=memory.confidence,
            language=text_in(head, "language"),
            created=text_in(head, "created"),
            key_insight=text_in(head, "key_insight"),
            place=place,
            path=self.path_of(memory),
            memory=memory,
            score=score,
        )

    def path_of(self, memory: Memory) -> str:
        """Where the file of a note lies that a memory belongs to, in this checkout if it is there; '' without one."""
        there = next((path for path in self._paths(memory) if os.path.lexists(path)), "")
        return there or next(self._paths(memory), "")

    def _paths(self, memory: Memory) -> Iterator[str]:
        """Where the file of a note may lie: in this checkout first, then in others."""
        ref = memory.source_ref if memory.source == SOURCE else {}
        place, path = str(ref.get("place", "")), str(ref.get("path", ""))
        if not place or not path:
            return
        own = str(ref.get("root") or self._index.place(place).root)
        yield os.path.join(own, *path.split("/"))
        if place == PROJECT:
            yield from (os.path.join(root, *path.split("/")) for root in self._others)

    @cached_property
    def _others(self) -> list[str]:
        with self._acting():
            return self._index.checkouts(self._index.project_place.root)

    def same(self, memory: Memory) -> tuple[Memory, ...]:
        """Every memory of the note that one belongs to, also hidden ones: its pieces, the versions of other checkouts,
        its copies."""
        if memory.source != SOURCE or not memory.key:
            return ()
        keys = [memory.key, *self._keys_of(str(memory.source_ref.get("note", "")))]
        with self._acting():
            found = self._store.of_keys(self._store.visible(self._caller), list(dict.fromkeys(keys)))
        return tuple(row for rows in found.values() for row in rows if row.source == SOURCE)

    def _keys_of(self, id: str) -> Iterator[str]:
        """The keys of all files that were seen with the id of a note."""
        for place in self._index.places if id else ():
            seen = self._index.cache.load(place.root).files
            yield from (key_of(place.name, path) for path, one in seen.items() if one.id == id)

    def files_of(self, memory: Memory) -> tuple[str, ...]:
        """The files that hold a note: in every checkout, and its copies."""
        paths = dict.fromkeys(path for one in (memory, *self.same(memory)) for path in self._paths(one))
        return tuple(path for path in paths if os.path.lexists(path))

    def _first(self, memory: Memory) -> Memory:
        """The first memory of the note that another one is a piece of."""
        return next((row for row in self._of_note(memory) if note_of(row) and row.live), memory)

    def _of_note(self, memory: Memory) -> list[Memory]:
        with self._acting():
            return self._store.of_key(self._caller, memory.key, (memory.tier,))

    # Counting and checking

    def stats(self) -> dict[str, Any]:
        """How many notes there are, where, of which category and how certain; entities and relations they name; files
        that cannot be read; copies that differ from their original."""
        every = self._every()
        graphs = [note.memory.extra.get("graph", {}) for note in every]
        names = {str(one.get("name", "")).lower() for graph in graphs for one in graph.get("entities", ())}
        return {
            "notes": len(every),
            "by_place": counted(note.place for note in every),
            "by_category": counted(note.category for note in every),
            "by_confidence": counted(label_of(note) for note in every),
            "episodes": sum(f"/{EPISODES}/" in note.path for note in every),
            "entities": len(names),
            "relations": sum(len(graph.get("relations", ())) for graph in graphs),
            "by_origin": counted(origin_of(graph) for graph in graphs),
            "waiting_for_model": sum(map(waits, (note.memory for note in every))) if self._is_read_by_model else 0,
            "waiting_for_vector": self._waiting(),
            "unreadable": [{"path": path, "reason": why} for path, why in self._unreadable()],
            "copies_apart": [{"note": pair.note, "copy": pair.copy} for pair in self._apart()],
            "project_root": self._index.project_place.root,
            "learnings_root": self._index.global_place.root,
        }

    @property
    def _is_read_by_model(self) -> bool:
        own = self._index.settings
        return own.writer.kind != "none" and own.notes.ask_writer

    def _waiting(self) -> int:
        with self._acting():
            return self._store.count_waiting(self._caller).get("embed", 0)

    def counts(self) -> dict[str, int]:
        """How many notes were seen in each place; nothing where there are none."""
        known = {place.name: self._index.cache.load(place.root) for place in self._known()}
        found = {name: sum(bool(seen.id) for seen in place.files.values()) for name, place in known.items()}
        return {name: count for name, count in found.items() if count}

    def checks(self) -> tuple[Check, ...]:
        """Whether every note can be read, copies say what their originals say, and the memory is in step."""
        known = self._known()
        if not known:
            return ()
        unreadable, apart = self._unreadable(), self._apart()
        found = [
            Check("notes", "warn", f"{path}: {why}", "mend the file; it is taken in with the next look")
            for path, why in unreadable[:NAMED]
        ]
        found += [
            Check("notes", "warn", f"{pair.copy} is another text than {pair.note}", "keep one of them, or rename one")
            for pair in apart[:NAMED]
        ]
        if left := len(unreadable[NAMED:]) + len(apart[NAMED:]):
            found.append(Check("notes", "warn", f"{left} more of these", "all of them: swarmlore learnings stats"))
        behind = sum(self._index.behind(place) for place in known)
        if behind:
            found.append(Check("notes", "warn", f"{behind} notes are not taken in yet", "swarmlore learnings reindex"))
        return tuple(found) or (Check("notes", "ok", f"{sum(self.counts().values())} are in step with their files"),)

    def _known(self) -> list[NotePlace]:
        return [p for p in self._index.places if there_is(p) or self._index.cache.knows(p.root)]

    def _unreadable(self) -> list[tuple[str, str]]:
        places = ((place, self._index.cache.load(place.root)) for place in self._known())
        return [
            (place.path(path), seen.problem)
            for place, known in places
            for path, seen in known.files.items()
            if seen.problem
        ]

    def _apart(self) -> tuple[Any, ...]:
        places = {place.name for place in self._known()}
        if places != {PROJECT, GLOBAL}:
            return ()
        return pairs_apart(self._index.project_place, self._index.global_place, self._index.cache)
