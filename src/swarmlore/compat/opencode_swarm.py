"""Migration of files of opencode-swarm: `.swarm/context.md`, `hive-knowledge.jsonl`, and lessons in `.swarm/plan.md`.

The first two are migrated once: all lessons in one transaction, then a sentinel file beside each. After a crash in
between, the next run finds every lesson known and only writes the sentinel. Plans keep growing, so they are read every
time; ids derived from the text tell which lessons are known.
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
from swarmlore.memory.swarm_files import SECTIONS, SWARM, Bullet, Moved, plan_lessons, read
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.files import Folder
from swarmlore.workspace.identity import PERSON

if TYPE_CHECKING:
    from swarmlore.config import Settings
    from swarmlore.exchange.import_files import Brought
    from swarmlore.memory.write import MemoryWriter


CONTEXT = "context.md"
SENTINEL = ".knowledge-migrated"
HIVE_FILE = "hive-knowledge.jsonl"
HIVE_SENTINEL = ".hive-knowledge-migrated"
MAX_HIVE_BYTES = 4 * 1024 * 1024
MAX_BULLETS = 5_000  # in one transaction; no architect writes a file with more
CONFIDENCE = 0.3
ELLIPSIS = "..."
# Reasons for skipping a file
DONE_BEFORE = "sentinel-exists"
NO_FILE = "no-context-file"
EMPTY = "empty-context"
HIVE_OFF = "hive-disabled"


class Migrating:
    """Migration of one project's and one user's files of opencode-swarm for one caller."""

    def __init__(
        self,
        root: str,
        store: Store,
        caller: Caller,
        settings: Settings,
        writing: MemoryWriter,
        new_id: Callable[[], str],
    ) -> None:
        self._root = root
        self._store = store
        self._caller = caller
        self._settings = settings
        self._writing = writing
        self._new_id = new_id

    def context(self, operation: Operation) -> Moved:
        """Migrate `.swarm/context.md` unless its sentinel file exists."""
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

    def plan(self, operation: Operation) -> tuple[tuple[str, ...], list[str]]:
        """Store the lessons of `.swarm/plan.md`; return the ids of new ones, and the texts that the plan retracts."""
        bullets, retracted = plan_lessons(self._root)
        act = replace(operation, reason=f"from {SWARM}/plan.md")
        if not bullets:
            return (), retracted
        _, ids = self._store.perform(act, lambda act: self._store_all(act, bullets[:MAX_BULLETS], _lesson))
        return tuple(ids), retracted

    def _store_all(
        self, act: Operation, bullets: Sequence[Bullet], draft: Callable[[Bullet, str], Draft]
    ) -> tuple[Moved, list[str]]:
        """Store lessons inside one transaction; return the counts and the ids of those that are new."""
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
        """Return the ids that were used before, with False if they may come again: undone lessons may, forgotten and
        erased ones may not."""
        rows = self._store.by_ids(self._store.visible(self._caller, ("swarm",)), ids)
        hidden = [id for id, memory in rows.items() if memory.forgotten_at is not None]
        undone = {id for id, past in self._store.pasts(hidden).items() if past.verb == "undo"}
        erased = self._store.erased_at([id for id in ids if id not in rows])
        return {**{id: id not in undone for id in rows}, **dict.fromkeys(erased, True)}

    def _store_one(self, act: Operation, draft: Draft) -> str:
        """Store one lesson; return the reason if it repeats or contradicts a known one, else an empty text."""
        from swarmlore.memory.decide import Terms, preview

        memory = self._writing.prepare(draft, act)
        if self._caller.role == PERSON:  # a file is no statement of the person who migrates it
            memory = replace(memory, owner="")
        if memory.status == "quarantined":
            self._store.put(act, memory, "quarantined", "tries to override instructions")
            return ""
        terms = Terms("knowledge", self._settings.knowledge.dedup_threshold)
        outcome, other, reason = preview(self._store, memory, act.at, terms)
        if outcome == "added":
            self._store.put(act, memory)
            return ""
        return f"{reason}: {_name(other)}" if other is not None else reason

    def hive(self, folder_path: str, bring: Callable[[str], Brought], at: float) -> Moved:
        """Migrate `hive-knowledge.jsonl` of a data folder unless its sentinel file exists; `bring` imports it."""
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
            with self._store.engine.writing():  # all chunks of the import in one transaction
                told = bring(path)
            stored = told.added + told.quarantined + told.revived
            moved = Moved(path, "", stored, told.refused, told.known, told.refusals, told.operation if stored else "")
            _write_sentinel(folder, HIVE_SENTINEL, moved, at)
            return moved


def data_dir(env: Mapping[str, str]) -> str:
    """Return the folder in which opencode-swarm keeps a user's data on this platform."""
    user = env.get("HOME") or os.path.expanduser("~")
    if sys.platform == "win32":
        base = env.get("LOCALAPPDATA") or os.path.join(user, "AppData", "Local")
        return os.path.join(base, "opencode-swarm", "Data")
    if sys.platform == "darwin":
        return os.path.join(user, "Library", "Application Support", "opencode-swarm")
    return os.path.join(env.get("XDG_DATA_HOME") or os.path.join(user, ".local", "share"), "opencode-swarm")


def _draft(bullet: Bullet, id: str) -> Draft:
    """Return the draft of a lesson in `.swarm/context.md`."""
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
    """Return the draft of a lesson in a plan; it has the standing of an imported lesson."""
    from swarmlore.domain.policy.contradiction import infer_tags

    text = _cut(bullet.text)
    place = {"file": f"{SWARM}/plan.md", "line": bullet.line}
    return Draft(text, id=id, tags=infer_tags(text), auto_generated=True, source="import", source_ref=place)


def _cut(text: str) -> str:
    """Redact and shorten a text to the length of a lesson; a secret that was cut could no longer be recognised."""
    text = scrub_text(text).strip()
    return text if len(text) <= MAX_LESSON else text[: MAX_LESSON - len(ELLIPSIS)] + ELLIPSIS


def _name(memory: Memory) -> str:
    return memory.handle or memory.id


def _write_sentinel(folder: Folder, name: str, moved: Moved, at: float) -> None:
    """Write the sentinel file in opencode-swarm's own form, so that it will not migrate the file again either."""
    fields = {
        "migrated_at": iso(at),
        "source_version": "6.16",
        "target_version": "6.17",
        "entries_migrated": moved.migrated,
        "entries_dropped": moved.dropped,
        "schema_version": 1,
        "migration_tool": "swarmlore",
    }
    folder.replace(name, [json.dumps(fields, indent=2).encode() + b"\n"])
