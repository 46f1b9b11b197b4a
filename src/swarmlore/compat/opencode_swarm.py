"""From files of opencode-swarm: `.swarm/context.md`, where it kept lessons first, its first hive file, and the lessons
that a plan names.

The two old files are taken over once: all of their lessons in one transaction, then a sentinel beside each. After a
kill in between the next run finds every lesson known and writes the sentinel only. A plan goes on being written, so it
is read again and again, and each of its lessons is known by its words.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.gate import MAX_LESSON, scrub_text
from swarmlore.domain.records import Caller, Draft, Memory
from swarmlore.errors import InvalidInput, Rejected
from swarmlore.exchange.knowledge_format import derived_id
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.memory.swarm_files import SECTIONS, SWARM, Bullet, Moved, looked_back, read
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.files import Folder
from swarmlore.workspace.project import PERSON

if TYPE_CHECKING:
    from swarmlore.config import Settings
    from swarmlore.exchange.import_files import Brought
    from swarmlore.memory.write import Writing


CONTEXT = "context.md"
SENTINEL = ".knowledge-migrated"
HIVE_FILE = "hive-knowledge.jsonl"
HIVE_SENTINEL = ".hive-knowledge-migrated"
MAX_HIVE_BYTES = 4 * 1024 * 1024
MAX_BULLETS = 5_000  # of one transaction; a file with more was not written by an architect
CONFIDENCE = 0.3
ELLIPSIS = "..."
# Why nothing was done
DONE_BEFORE = "sentinel-exists"
NO_FILE = "no-context-file"
EMPTY = "empty-context"
HIVE_OFF = "hive-disabled"


class Migrating:
    """The old files of one project and of one user, for one caller."""

    def __init__(
        self, root: str, store: Store, caller: Caller, settings: Settings, writing: Writing, new_id: Callable[[], str]
    ) -> None:
        self._root = root
        self._store = store
        self._caller = caller
        self._settings = settings
        self._writing = writing
        self._new_id = new_id

    # The project's notes

    def context(self, operation: Operation) -> Moved:
        """Take over `.swarm/context.md`, once."""
        path = os.path.join(self._root, SWARM, CONTEXT)
        with Folder(self._root) as root:
            folder = root.inside(SWARM)
            if folder is None:
                return Moved(path, NO_FILE)
            with folder, folder.lock():
                return self._take_over(folder, path, operation)

    def _take_over(self, folder: Folder, path: str, operation: Operation) -> Moved:
        if folder.stamp(SENTINEL) != "-":
            return Moved(path, DONE_BEFORE)
        if folder.stamp(CONTEXT) == "-":
            return Moved(path, NO_FILE)
        text = folder.read(CONTEXT).decode("utf-8", "replace")
        if not text.strip():
            return Moved(path, EMPTY)
        bullets = read(text)
        if len(bullets) > MAX_BULLETS:
            raise InvalidInput(f"{path} has {len(bullets)} bullets, more than {MAX_BULLETS}", "split it")
        act = replace(operation, reason=f"from {SWARM}/{CONTEXT}")
        moved, _ = self._store.perform(act, lambda act: self._store_all(act, bullets, _draft))
        moved = replace(moved, path=path)
        _write_sentinel(folder, SENTINEL, moved, operation.at)
        return moved

    # The project's plan

    def plan(self, operation: Operation) -> tuple[tuple[str, ...], list[str]]:
        """Take in what `.swarm/plan.md` says was learned; the ids of what is new, and the texts it takes back."""
        bullets, taken_back = looked_back(self._root)
        act = replace(operation, reason=f"from {SWARM}/plan.md")
        work = lambda act: self._store_all(act, bullets[:MAX_BULLETS], _lesson)  # noqa: E731 - used once, here
        _, ids = self._store.perform(act, work) if bullets else (None, ())
        return tuple(ids), taken_back

    def _store_all(
        self, act: Operation, bullets: Sequence[Bullet], draft: Callable[[Bullet, str], Draft]
    ) -> tuple[Moved, list[str]]:
        """All lessons, inside one transaction: what became of them, and the ids of those that are new."""
        ids = [derived_id(f"swarm\n{self._caller.project}", _cut(bullet.text)) for bullet in bullets]
        taken = self._taken(ids)
        drops: list[tuple[int, str]] = []
        known, stored = 0, list[str]()
        for bullet, id in zip(bullets, ids, strict=True):
            if taken.get(id):
                known += 1
                continue
            new = self._new_id() if id in taken else id
            try:
                why = self._store_one(act, draft(bullet, new))
            except (Rejected, InvalidInput) as refusal:
                why = refusal.message
            if why:
                drops.append((bullet.line, why))
            else:
                stored.append(new)
        return Moved("", "", len(stored), len(drops), known, tuple(drops), act.id if stored else ""), stored

    def _taken(self, ids: Sequence[str]) -> dict[str, bool]:
        """Which of these ids were used before, and whether they still count: what an undo took back may come again,
        what somebody forgot or erased may not."""
        rows = self._store.by_ids(self._store.visible(self._caller, ("swarm",)), ids)
        hidden = [id for id, memory in rows.items() if memory.forgotten_at is not None]
        undone = {id for id, past in self._store.pasts(hidden).items() if past.verb == "undo"}
        erased = self._store.erased_at([id for id in ids if id not in rows])
        return {**{id: id not in undone for id in rows}, **dict.fromkeys(erased, True)}

    def _store_one(self, act: Operation, draft: Draft) -> str:
        """Store one lesson; returns why not, where it says what is known or the opposite of it."""
        from swarmlore.memory.decide import Terms, foresee

        memory = self._writing.prepare(draft, act)
        if self._caller.role == PERSON:  # the words of a file are not a person's
            memory = replace(memory, owner="")
        if memory.status == "quarantined":
            self._store.put(act, memory, "quarantined", "tries to override instructions")
            return ""
        terms = Terms("knowledge", self._settings.knowledge.dedup_threshold)
        outcome, other, reason = foresee(self._store, memory, act.at, terms)
        if outcome == "added":
            self._store.put(act, memory)
            return ""
        return f"{reason}: {_name(other)}" if other is not None else reason

    # The user's old hive file

    def hive(self, folder_path: str, bring: Callable[[str], Brought], at: float) -> Moved:
        """Take over `hive-knowledge.jsonl` of a data folder, once; `bring` imports it."""
        path = os.path.join(folder_path, HIVE_FILE)
        if not os.path.isdir(folder_path):
            return Moved(path, NO_FILE)
        with Folder(folder_path) as folder, folder.lock():
            if folder.stamp(HIVE_SENTINEL) != "-":
                return Moved(path, DONE_BEFORE)
            if folder.stamp(HIVE_FILE) == "-":
                return Moved(path, NO_FILE)
            if folder.size(HIVE_FILE) > MAX_HIVE_BYTES:
                raise InvalidInput(f"{path} is large", f"swarmlore import {path} --format legacy-hive")
            if not self._settings.knowledge.hive_enabled:
                return Moved(path, HIVE_OFF)
            with self._store.engine.writing():  # the chunks of an import, as one
                told = bring(path)
            stored = told.added + told.quarantined + told.revived
            moved = Moved(path, "", stored, told.refused, told.known, told.refusals, told.operation if stored else "")
            _write_sentinel(folder, HIVE_SENTINEL, moved, at)
            return moved


def data_dir(env: Mapping[str, str]) -> str:
    """Where opencode-swarm keeps what belongs to a user."""
    user = env.get("HOME") or os.path.expanduser("~")
    if sys.platform == "win32":
        base = env.get("LOCALAPPDATA") or os.path.join(user, "AppData", "Local")
        return os.path.join(base, "opencode-swarm", "Data")
    if sys.platform == "darwin":
        return os.path.join(user, "Library", "Application Support", "opencode-swarm")
    return os.path.join(env.get("XDG_DATA_HOME") or os.path.join(user, ".local", "share"), "opencode-swarm")


def _draft(bullet: Bullet, id: str) -> Draft:
    from swarmlore.domain.policy.contradiction import infer_tags

    text = _cut(bullet.text)
    return Draft(
        text,
        id=id,
        kind="decision" if bullet.section == "decisions" else None,
        category=SECTIONS[bullet.section],
        tags=(*infer_tags(text), f"migration:{bullet.section}"),
        confidence=CONFIDENCE,
        auto_generated=True,
        source="migration",
        source_ref={"file": f"{SWARM}/{CONTEXT}", "line": bullet.line},
    )


def _lesson(bullet: Bullet, id: str) -> Draft:
    """A lesson of a plan: nobody said it to us, so it begins as one that was found."""
    from swarmlore.domain.policy.contradiction import infer_tags

    text = _cut(bullet.text)
    place = {"file": f"{SWARM}/plan.md", "line": bullet.line}
    return Draft(text, id=id, tags=infer_tags(text), auto_generated=True, source="import", source_ref=place)


def _cut(text: str) -> str:
    """A text that fits a lesson. Secrets go first: half of one would not be known as one any more."""
    text = scrub_text(text).strip()
    return text if len(text) <= MAX_LESSON else text[: MAX_LESSON - len(ELLIPSIS)] + ELLIPSIS


def _name(memory: Memory) -> str:
    return memory.handle or memory.id


def _write_sentinel(folder: Folder, name: str, moved: Moved, at: float) -> None:
    """In the form of opencode-swarm, which will not take the same file over again."""
    said = {
        "migrated_at": iso(at),
        "source_version": "6.16",
        "target_version": "6.17",
        "entries_migrated": moved.migrated,
        "entries_dropped": moved.dropped,
        "schema_version": 1,
        "migration_tool": "swarmlore",
    }
    folder.replace(name, [json.dumps(said, indent=2).encode() + b"\n"])
