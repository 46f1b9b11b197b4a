"""Notes kept in step with their files: whoever changed one, by hand, with git or with another tool.

The files are the truth. A look (`look.py`) compares how they look now with how they looked last time, reads those that
differ and carries out the difference. One process at a time takes in the notes of a place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from swarmlore import note_places
from swarmlore.config import Settings
from swarmlore.domain.records import Caller
from swarmlore.formats.notes import Note
from swarmlore.memory.write import Writing
from swarmlore.models.embedding import Progress
from swarmlore.note_places import PROJECT, NotePlace
from swarmlore.note_versions import other_checkouts
from swarmlore.notes import rows as note_rows
from swarmlore.notes.cache import LOCK_S, Cache, Place
from swarmlore.notes.look import VERB, Change, Glance, IndexedNotes, Look, problems_of
from swarmlore.notes.rows import Spot
from swarmlore.store.database import Operation
from swarmlore.store.store import Store


class NoteIndex:
    """Takes in notes for one caller."""

    def __init__(
        self,
        home: str,
        store: Store,
        caller: Caller,
        settings: Settings,
        writing: Writing,
        operation: Callable[[str], Operation],
        root: str,
        env: Mapping[str, str],
    ) -> None:
        self.cache = Cache(home)
        self.store = store
        self.caller = caller
        self.writing = writing
        self.operation = operation
        self.settings = settings
        user = env.get("HOME") or os.path.expanduser("~")
        self.homeless = os.path.realpath(root) == os.path.realpath(user)  # no project: a user's own folder
        self.project_place = note_places.project_place(os.path.realpath(root))
        learnings = note_places.learnings_root(env, user)
        self.global_place = note_places.global_place(learnings, private=store.engine.remote)

    @property
    def places(self) -> tuple[NotePlace, ...]:
        """Where this caller's notes lie; the project's come first, for copies follow them."""
        knowledge = self.settings.knowledge
        if not knowledge.enabled or self.store.engine.readonly:
            return ()
        shared = self.global_place.tier == "hive" and not knowledge.hive_enabled
        nobody = self.global_place.tier == "agent" and not self.caller.agent
        return (self.project_place,) if shared or nobody else (self.project_place, self.global_place)

    def place(self, name: str) -> NotePlace:
        return self.project_place if name == PROJECT else self.global_place

    def check(self, note: Note, place: NotePlace) -> None:
        """Raise what the gate has against a note that is to be written to a place."""
        note_rows.check(note, Spot(place.name, "", place.tier, ""), self.writing, self.operation(VERB))

    def behind(self, place: NotePlace) -> int:
        """How many notes are not as they were when they were last looked at."""
        return self._glance(place).behind

    def _glance(self, place: NotePlace) -> Glance:
        if not note_places.there_is(place) and not self.cache.knows(place.root):
            return Glance("", Place(place.root, ""), {})
        return Glance(self.cache.stamp(place.root), self.cache.load(place.root), note_places.files_of(place))

    def follow(
        self,
        place: NotePlace,
        *,
        force: bool = False,
        most_s: float | None = None,
        wait_s: float = LOCK_S,
        progress: Progress | None = None,
    ) -> tuple[IndexedNotes, tuple[Change, ...]]:
        """Bring the memories of a place in step with its notes; with `most_s` as many of them as that takes, and with
        `force` also those that look as they did."""
        glance, lost = self._glance(place), self._lost_roots(place)
        known = glance.known.files
        if not lost and (not (glance.files or known) or (not force and not glance.behind)):
            notes = sum(bool(seen.id) for seen in known.values())
            return IndexedNotes(place.name, place.root, notes, problems=problems_of(known)), ()
        with self.cache.holding(place.root, wait_s):
            if self.cache.stamp(place.root) != glance.stamp:  # somebody was faster
                glance = self._glance(place)
            look = Look(self, place, glance, force)
            look.run(most_s, progress, lost)
            return look.told(), tuple(look.changes)

    def checkouts(self, root: str) -> list[str]:
        """The other checkouts of the project."""
        return other_checkouts(root, self._seen_roots())

    def _lost_roots(self, place: NotePlace) -> list[str]:
        """The checkouts of the project where notes were seen and that are not there any more."""
        if place.name != PROJECT:
            return []
        return [root for root in self._seen_roots() if not os.path.isdir(root)]

    def _seen_roots(self) -> list[str]:
        return self.cache.roots_of(self.store.names_of(self.caller.project)) if self.cache.there else []
