"""`lore.notes`: search, list, write, check and index the notes of a project and of its user."""

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
from swarmlore.notes.locations import EPISODES, GLOBAL, LEARNINGS, PROJECT, NotePlace, Versions, has_notes_folder
from swarmlore.notes.rows import FILE, SOURCE, Graph, key_of, note_of, waits, with_graph
from swarmlore.notes.shared_copies import follow_copies, pairs_apart
from swarmlore.notes.sync import VERB, IndexedNotes, NoteIndex
from swarmlore.notes.write import Made, NoteGraph, Offered
from swarmlore.retrieval.candidates import UNNAMED
from swarmlore.retrieval.recall import is_episode_of
from swarmlore.store.memories import Filter
from swarmlore.workspace.files import Folder
from swarmlore.workspace.identity import client_of

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.retrieval.recall import Hits


TELEMETRY_FILE = "metrics.jsonl"
MOST_BYTES = 10_000_000
QUERY_CHARS = 500
_HARNESSES = ("claude", "codex", "copilot")


def record(root: str, env: Mapping[str, str], now: float, **facts: str | float) -> None:
    """Append one search to the telemetry file, which is rotated when full; write errors are ignored."""
    client = client_of(env)
    head: dict[str, str | float | None] = {"ts": iso(now), "harness": client if client in _HARNESSES else "other"}
    query = scrub_text(str(facts.pop("query", "")))[:QUERY_CHARS]
    line = json.dumps({**head, "query": query, **facts}, ensure_ascii=False) + "\n"
    with contextlib.suppress(SwarmloreError, OSError):
        os.makedirs(root, exist_ok=True)
        with Folder(root) as folder, folder.lock():
            if folder.size(TELEMETRY_FILE) >= MOST_BYTES:
                folder.rename(TELEMETRY_FILE, f"metrics-{now:.0f}.jsonl.bak")
            folder.append(TELEMETRY_FILE, line.encode("utf-8"), mode=0o600)


HIGH = 0.8


@frozen
class NoteFound:
    """One note: the fields of its front matter, its file, and its first memory."""

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
    also: tuple[str, ...] = ()  # paths of its copies


@frozen
class FoundNotes:
    """Result of a search, best first, with remarks (`said`) and, in mode global, community reports."""

    query: str
    mode: str
    notes: tuple[NoteFound, ...] = ()
    said: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()


@frozen
class WrittenNote:
    """A note that was written or added. `memory` is None if the gate refused it or a user forgot it before."""

    path: str
    id: str
    memory: Memory | None
    replaced: bool = False


def text_in(head: Mapping[str, Any], name: str) -> str:
    """Return a text field of a note's front matter; '' if it is missing or not a text."""
    value = head.get(name)
    return value.strip() if isinstance(value, str) else ""


def is_for_language(note: NoteFound, language: str) -> bool:
    """Return whether a note is for a programming language, by its field or a tag."""
    word = language.strip().lower()
    return not word or word == note.language.lower() or word in {tag.lower() for tag in note.tags}


def confidence_word(note: NoteFound) -> str:
    """Return the confidence of a note as a word: high, medium, low or unknown."""
    if note.memory.extra.get("confidence_label") == "unknown":
        return "unknown"
    return "high" if note.confidence >= HIGH else "medium" if note.confidence >= 0.5 else "low"


def each_once(notes: Iterable[NoteFound]) -> list[NoteFound]:
    """Merge notes with the same id, in order; the project's file is the note, its copies go into `also`."""
    same: dict[str, list[NoteFound]] = {}
    for note in notes:
        same.setdefault(note.id, []).append(note)
    sorted_by_place = (sorted(group, key=lambda note: (note.place != PROJECT, note.path)) for group in same.values())
    return [replace(first, also=tuple(other.path for other in others)) for first, *others in sorted_by_place]


def counted(words: Iterable[str]) -> dict[str, int]:
    """Count each word; sorted by word."""
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return dict(sorted(counts.items()))


EVERY_S = 3.0  # least time between two syncs in passing, in one process
ON_THE_WAY_S = 1.0  # time limit of a sync in passing; the next one continues
WRITER_S = 2.0  # longest wait for another writer in a sync in passing
MODES = ("naive", "local", "global", "hybrid", "keyword")
CRITICAL = ("architecture-decisions", "patterns")
NAMED = 5  # problems of one kind that a check names
LISTED = 200_000  # most memories that are read for a list
ENTITIES = "swarmlore learnings entities"
WITHOUT_VECTORS = "there are no vectors: found by words"
_synced_at: dict[tuple[str, str], float] = {}  # time of the last sync by home and project, in this process


class Notes:
    """Search, write and index notes for one caller."""

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

    # Indexing

    def follow(self) -> None:
        """Index changed notes in passing: for 1 s, every 3 s at most, not while another process does; ignore
        failures."""
        key = (self._home, self._index.project_place.root)
        if time.monotonic() - _synced_at.get(key, -EVERY_S) < EVERY_S:
            return
        _synced_at[key] = time.monotonic()
        with contextlib.suppress(StoreError, NotAllowed, OSError), self._store.engine.hurried(WRITER_S):
            self._sync(most_s=ON_THE_WAY_S, wait_s=0.0)

    def refresh(self, progress: Progress | None = None) -> tuple[IndexedNotes, ...]:
        """Index all notes that changed."""
        return self._sync(progress=progress)

    def reindex(self, *, force: bool = True, progress: Progress | None = None) -> tuple[IndexedNotes, ...]:
        """Index all notes, by default also unchanged ones."""
        return self._sync(asked=True, force=force, progress=progress)

    def _sync(self, *, asked: bool = False, **options: Any) -> tuple[IndexedNotes, ...]:
        with self._changing():
            results = [self._sync_place(place, options) for place in self._index.places]
            new = any(result.added or result.updated for result in results)
            self._follow_up(new=new, read=asked or any(result.read for result in results))
            return tuple(results)

    def _sync_place(self, place: NotePlace, options: Mapping[str, Any]) -> IndexedNotes:
        result, changes = self._index.follow(place, **options)
        if place.name == PROJECT and changes and len(self._index.places) > 1:
            follow_copies(changes, place, self._index.global_place, self._index.cache)
        return result

    def take_graph(self, memory: Memory, graph: Graph | None) -> None:
        """Store the graph that an LLM extracted from a note, unless the note changed or was read meanwhile."""
        with self._changing():
            row = self._store.get(self._caller, memory.id)
            if row is None or row.extra.get(FILE) != memory.extra.get(FILE) or not waits(row):
                return
            act = self._index.operation(VERB)
            self._store.perform(act, lambda act: self._store.revise(act, row, with_graph(row, graph), "connected"))

    # Writing

    def write(self, text: str, *, everywhere: bool = False, once: bool = False, **said: Any) -> WrittenNote:
        """Write a note into `docs/solutions` of the project or, with `everywhere` or outside of any project, into the
        user's notes folder. With `once`, keep an existing note of the same id. `said` are front matter fields."""
        day = (iso(self._now()) or "")[:10]
        note, content = write.compose(text, said, day)
        place = self._place(GLOBAL if everywhere or self._index.homeless else PROJECT)
        existing = f"{LEARNINGS}/{note.id}.md"
        if once and place.name == GLOBAL and os.path.lexists(place.path(existing)):
            return self._written(place, Made(existing, note.id, replaced=True))
        self._index.check(note, place)
        made = write.write_new(place, note, content, write.sidecar_of(note, day))
        return self._written(place, made)

    def offer(self, path: str, entities: str = "") -> Offered:
        """Read a file as a note for `add`; raise if it lacks a title, category or key insight."""
        return write.offered(os.path.abspath(path), entities, (iso(self._now()) or "")[:10])

    def holds(self, offer: Offered) -> str:
        """Return the path of the note that `add` would replace; '' if there is none."""
        place = self._place(GLOBAL)
        known = write.place_of(place, offer)
        return place.path(known) if known and place.path(known) != os.path.realpath(offer.path) else ""

    def add(self, path: str, entities: str = "", *, force: bool = False) -> WrittenNote:
        """Copy a file and its entities into the user's notes folder, named by the note's id."""
        place, offer = self._place(GLOBAL), self.offer(path, entities)
        self._index.check(offer.note, place)
        return self._written(place, write.add(place, offer, force=force))

    def _place(self, name: str) -> NotePlace:
        if all(place.name != name for place in self._index.places):
            switches = "knowledge.enabled and knowledge.hive_enabled"
            hint = f"swarmlore config shows {switches}; swarmlore doctor checks the rest"
            raise NotAllowed("notes cannot be written here", hint)
        return self._index.place(name)

    def _written(self, place: NotePlace, made: Made) -> WrittenNote:
        self.refresh()
        with self._acting():
            visible = self._store.visible(self._caller, (place.tier,))
            rows = self._store.of_keys(visible, [key_of(place.name, made.path)]).values()
        memory = next((row for found in rows for row in found if note_of(row) and row.forgotten_at is None), None)
        return WrittenNote(place.path(made.path), made.id, memory, made.replaced)

    # Entities and relations

    def about(self, ref: str) -> NoteGraph:
        """Return a note's graph and its origin; `ref` is the note's file or id, or the handle of its memory."""
        note = self._note(ref)
        return write.graph_of_memory(note.memory, note.path)

    def write_about(self, ref: str, entities: Sequence[Entity] = (), relations: Sequence[Relation] = ()) -> NoteGraph:
        """Write a note's graph into its sidecar, with added or changed entities and relations. Only a person may."""
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
        return min(fits, key=lambda note: (note.place != PROJECT, note.path))  # prefer the project's file to its copies

    # Searching

    def search(
        self, query: str, mode: str = "naive", *, tags: Sequence[str] = (), category: str = "", limit: int = 10
    ) -> FoundNotes:
        """Search notes; each note is returned once. Tags and category are added to the query as words."""
        if mode not in MODES:
            raise InvalidInput(f"unknown mode: {mode}", "one of: " + ", ".join(MODES))
        if not query.strip():
            raise InvalidInput("there is nothing to look for", 'ask something: swarmlore learnings search "QUESTION"')
        began = time.monotonic()
        words = " ".join((query.strip(), *tags, category)).strip()
        profile = "learnings" if mode == "hybrid" else "default"
        options = {"limit": limit, "profile": profile, "sources": (SOURCE,), "episodes": True, "near": True}
        hits = self._recall(words, mode=mode, **options)
        remarks = hits.notes
        if not hits and set(remarks) - {UNNAMED} and mode not in ("keyword", "hybrid"):
            hits, remarks = self._recall(words, mode="keyword", **options), (*remarks, WITHOUT_VECTORS)
        notes = tuple(self._found(hit.memory, hit.score) for hit in hits)
        found = FoundNotes(query, mode, notes, tuple(remarks), hits.reports)
        if self._index.settings.notes.telemetry:
            self._record(found, round((time.monotonic() - began) * 1000))
        return found

    def _record(self, found: FoundNotes, latency_ms: int) -> None:
        facts = {"op": "search", "query": found.query, "mode": found.mode}
        counts = {"hits": len(found.notes), "latency_ms": latency_ms}
        record(self._index.global_place.root, self._env, self._now(), **facts, **counts)

    def all(self, category: str = "") -> tuple[NoteFound, ...]:
        """Return every note by category and title, without other projects' episodes. `category` may be part of a
        name."""
        wanted = category.strip().lower()
        fits = [note for note in self._every() if wanted in note.category.lower() and self._is_of_project(note)]
        return tuple(sorted(each_once(fits), key=lambda note: (note.category, note.title.lower(), note.path)))

    def critical_patterns(self, language: str = "", domain: str = "", limit: int = 20) -> tuple[NoteFound, ...]:
        """Return patterns and decisions of high confidence, for a language (field or tag) and a domain (text or tag);
        highest confidence and newest first."""
        fits = [
            note
            for note in self._every(CRITICAL)
            if note.confidence >= HIGH and is_for_language(note, language) and self._is_about(note, domain)
        ]
        fits.sort(key=lambda note: (-note.confidence, -note.memory.created_at, note.title))
        return tuple(each_once(fits))[:limit]

    def _is_of_project(self, note: NoteFound) -> bool:
        project = note.memory.source_ref.get("episode")
        if project is None:
            return True
        with self._acting():
            return is_episode_of(str(project), self._store.names_of(self._caller.project))

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
        """Return the note that a memory belongs to."""
        ref = memory.source_ref
        place = str(ref.get("place", ""))
        rows = [] if note_of(memory) or not memory.key else self._of_note(memory)
        head = note_of(next((row for row in rows if note_of(row) and row.live), memory))
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
        """Return the file of the note that a memory belongs to, in this checkout if it exists there; '' without one."""
        existing = next((path for path in self._paths(memory) if os.path.lexists(path)), "")
        return existing or next(self._paths(memory), "")

    def _paths(self, memory: Memory) -> Iterator[str]:
        """Yield the possible paths of a note's file: in this checkout first, then in others."""
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
        """Return all memories of the same note, also hidden ones: pieces, versions of other checkouts, copies."""
        if memory.source != SOURCE or not memory.key:
            return ()
        keys = [memory.key, *self._keys_of(str(memory.source_ref.get("note", "")))]
        with self._acting():
            found = self._store.of_keys(self._store.visible(self._caller), list(dict.fromkeys(keys)))
        return tuple(row for rows in found.values() for row in rows if row.source == SOURCE)

    def _keys_of(self, id: str) -> Iterator[str]:
        """Yield the keys of all files that were indexed with this note id."""
        for place in self._index.places if id else ():
            seen = self._index.cache.load(place.root).files
            yield from (key_of(place.name, path) for path, entry in seen.items() if entry.id == id)

    def files_of(self, memory: Memory) -> tuple[str, ...]:
        """Return the existing files of a note: in every checkout, and its copies."""
        paths = dict.fromkeys(path for row in (memory, *self.same(memory)) for path in self._paths(row))
        return tuple(path for path in paths if os.path.lexists(path))

    def _of_note(self, memory: Memory) -> list[Memory]:
        with self._acting():
            return self._store.of_key(self._caller, memory.key, (memory.tier,))

    # Counting and checking

    def stats(self) -> dict[str, Any]:
        """Count notes by place, category, confidence and graph origin, entities and relations; list unreadable files
        and copies that differ from their original."""
        every = self._every()
        graphs = [note.memory.extra.get("graph", {}) for note in every]
        names = {str(one.get("name", "")).lower() for graph in graphs for one in graph.get("entities", ())}
        with self._acting():
            waiting = self._store.count_waiting(self._caller).get("embed", 0)
        return {
            "notes": len(every),
            "by_place": counted(note.place for note in every),
            "by_category": counted(note.category for note in every),
            "by_confidence": counted(confidence_word(note) for note in every),
            "episodes": sum(f"/{EPISODES}/" in note.path for note in every),
            "entities": len(names),
            "relations": sum(len(graph.get("relations", ())) for graph in graphs),
            "by_origin": counted(origin_of(graph) for graph in graphs),
            "waiting_for_model": sum(map(waits, (note.memory for note in every))) if self._is_read_by_model else 0,
            "waiting_for_vector": waiting,
            "unreadable": [{"path": path, "reason": why} for path, why in self._unreadable()],
            "copies_apart": [{"note": pair.note, "copy": pair.copy} for pair in self._apart()],
            "project_root": self._index.project_place.root,
            "learnings_root": self._index.global_place.root,
        }

    @property
    def _is_read_by_model(self) -> bool:
        own = self._index.settings
        return own.writer.kind != "none" and own.notes.ask_writer

    def counts(self) -> dict[str, int]:
        """Return the number of indexed notes per place; places without notes are left out."""
        known = {place.name: self._index.cache.load(place.root) for place in self._known()}
        found = {name: sum(bool(seen.id) for seen in place.files.values()) for name, place in known.items()}
        return {name: count for name, count in found.items() if count}

    def checks(self) -> tuple[Check, ...]:
        """Check for `doctor` that every note is readable, copies match their originals, and the index is up to date."""
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
        return [p for p in self._index.places if has_notes_folder(p) or self._index.cache.knows(p.root)]

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
