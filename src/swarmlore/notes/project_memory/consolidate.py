"""Merge what was learned in other worktrees of a repository into its main one.

A worktree has its own `.agents/MEMORY.md` and `.agents/instincts.yaml`, and Claude Code keeps notes per folder, which
nobody reads once the worktree is removed. What the main worktree lacks is planned as additions; contradictions are
reported, nothing is deleted. A person approves the plan.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from swarmlore.clients.claude import transcript
from swarmlore.domain.policy.fence import strip_blocks
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.notes import memory_files
from swarmlore.notes.instincts import FILE as INSTINCTS
from swarmlore.notes.instincts import FOLDER, Instincts, Merged, parse
from swarmlore.notes.project_memory import memory_md
from swarmlore.notes.project_memory.client_memory import folder_of_slug, head_of, slugs
from swarmlore.notes.project_memory.memory_file import (
    MAX_BYTES,
    PATH,
    ForeignEntry,
    ProjectMemory,
    lines_of,
    merge_entries,
)
from swarmlore.workspace import git
from swarmlore.workspace.files import Change, Folder

if TYPE_CHECKING:
    from swarmlore.domain.pages.instincts import Instinct


MOST_ENTRIES = 1_000  # entries that are read from all other worktrees
MOST_FILES = 200
_KEPT_INSIDE = (".worktrees", ".claude/worktrees")


@frozen
class Tree:
    """Another worktree: its folder, whether it exists, and Claude Code's folder name (slug) for it."""

    root: str
    there: bool
    slug: str


@frozen
class Addition:
    """One addition: its source worktree, target file and text. `kind` is entry, instinct or memory."""

    kind: str
    source: str
    path: str
    text: str
    section: str = ""


@frozen
class Contradiction:
    """Text that was left out because it contradicts a line of the main worktree."""

    source: str
    text: str
    path: str
    line: int
    other: str


@frozen
class Consolidation:
    """Plan of a consolidation: file changes and additions, number of known items, and what was left out as
    contradicting, without room or refused."""

    main: str
    trees: tuple[Tree, ...] = ()
    changes: tuple[Change, ...] = ()
    additions: tuple[Addition, ...] = ()
    opposed: tuple[Contradiction, ...] = ()
    known: int = 0
    no_room: tuple[Addition, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    written: bool = False


class Consolidator:
    """Consolidates the worktrees of one repository, for one caller."""

    def __init__(
        self,
        root: str,
        home: str,
        env: Mapping[str, str],
        folders: Iterable[str],
        memory: Callable[[str], ProjectMemory],
        instincts: Callable[[str], Instincts],
        *,
        by_person: bool,
    ) -> None:
        self._main = main_of(root)
        self._home = home
        self._env = env
        self._folders = tuple(folders)  # where sessions of this project ran
        self._memory = memory(self._main)
        self._instincts = instincts(self._main)
        self._by_person = by_person

    def plan(self) -> Consolidation:
        """Plan the additions to the main worktree. Nothing is changed."""
        trees = self.trees()
        work = _Work(self._main)
        self._entries(work, trees)
        merged = self._rules(work, trees)
        self._notes(work, trees)
        changes = tuple(change for change in (*work.changes, merged.change) if change.changes)
        return Consolidation(
            self._main,
            tuple(trees),
            changes,
            tuple(work.additions),
            tuple(work.opposed),
            work.known,
            tuple(work.no_room),
            tuple(work.refused),
        )

    def apply(self) -> Consolidation:
        """Apply the plan file by file; files that changed meanwhile stay. Applying it again changes nothing."""
        if not self._by_person:
            raise NotAllowed("files of a project are a person's to change", "show it: swarmlore reflect --consolidate")
        plan = self.plan()
        for change in plan.changes:
            if change.path == PATH:
                self._memory.write(change)
            elif change.path == f"{FOLDER}/{INSTINCTS}":
                self._instincts.merge(self._foreign_rules(plan.trees))
            else:
                _write_note(change)
        return replace(plan, written=bool(plan.changes))

    def trees(self) -> list[Tree]:
        """Return the other worktrees: those git lists, removed ones with past sessions, and removed ones inside the
        main worktree that left only Claude Code notes."""
        _, common = git.find_repository(self._main)
        roots = [root for root in git.worktrees(common) if root != self._main] if common else []
        roots += [folder for folder in self._folders if folder not in roots and self._was_worktree(folder)]
        named = {memory_files.slug_of(root): root for root in roots}
        starts = tuple(memory_files.slug_of(f"{self._main}/{inside}/") for inside in _KEPT_INSIDE)
        for slug in slugs(self._home, self._env):
            if slug.startswith(starts) and slug not in named:
                named[slug] = ""
        return [Tree(root, bool(root) and os.path.isdir(root), slug) for slug, root in named.items()]

    def _was_worktree(self, folder: str) -> bool:
        """Return whether a folder with a past session of this project is a removed worktree."""
        inside = folder == self._main or folder.startswith(os.path.join(self._main, ""))
        kept = any(f"/{name}/" in folder for name in _KEPT_INSIDE)
        return os.path.isabs(folder) and (kept or not inside) and not os.path.lexists(folder)

    def _entries(self, work: _Work, trees: Sequence[Tree]) -> None:
        merged = merge_entries(self._memory.read() or "", islice(self._foreign_entries(work, trees), MOST_ENTRIES))
        work.changes.append(Change(self._main, PATH, merged.before, merged.after))
        work.additions += map(_brought, merged.added)
        work.no_room += map(_brought, merged.no_room)
        work.opposed += [
            Contradiction(entry.source, entry.text, line.path, line.line, line.text) for entry, line in merged.against
        ]
        work.refused += [(f"{entry.source}: {entry.text}", why) for entry, why in merged.refused]
        work.known += merged.known

    def _foreign_entries(self, work: _Work, trees: Sequence[Tree]) -> Iterator[ForeignEntry]:
        for tree in trees:
            text = work.read(tree, memory_md.FILE)
            try:
                yield from (ForeignEntry(tree.root, line.section, line.text) for line in lines_of(PATH, text))
            except InvalidInput as problem:
                work.refused.append((f"{tree.root}/{PATH}", problem.message))

    def _rules(self, work: _Work, trees: Sequence[Tree]) -> Merged:
        merged = self._instincts.plan_merge(self._foreign_rules(trees, work))
        path = f"{FOLDER}/{INSTINCTS}"
        work.additions += [Addition("instinct", "", path, one.rule) for one in (*merged.added, *merged.raised)]
        work.opposed += [Contradiction("", one.rule, path, 0, other.rule) for one, other in merged.against]
        work.refused += merged.refused
        work.known += merged.known - len(merged.raised)
        return merged

    def _foreign_rules(self, trees: Sequence[Tree], work: _Work | None = None) -> list[Instinct]:
        work = work or _Work(self._main)
        found: list[Instinct] = []
        for tree in trees:
            try:
                sheet = parse(work.read(tree, INSTINCTS))
                found += sheet.instincts
                work.refused += [(f"{tree.root}/{FOLDER}/{INSTINCTS}:{line}", why) for line, why in sheet.problems]
            except InvalidInput as problem:
                work.refused.append((f"{tree.root}/{FOLDER}/{INSTINCTS}", problem.message))
        return found

    def _notes(self, work: _Work, trees: Sequence[Tree]) -> None:
        """Add what Claude Code noted about the other worktrees to its notes about the main one."""
        root, below = transcript.folder(self._home, self._env), f"projects/{memory_files.slug_of(self._main)}/memory"
        texts: dict[str, tuple[str, str]] = {}
        folders = ((tree, folder_of_slug(tree.slug, self._home, self._env)) for tree in trees)
        sources = ((tree, path) for tree, folder in folders for path in sorted(memory_files.notes_in(folder)))
        for tree, path in islice(sources, MOST_FILES):
            name = os.path.basename(path)
            text = work.note(path)
            if text is None:
                continue
            own = work.note(os.path.join(root, below, name), missing="") or ""
            before, now = texts.get(name) or (own, own)
            after, fresh = with_missing(now, text)
            work.known += not fresh
            work.additions += [Addition("memory", tree.root or tree.slug, name, part) for part in fresh]
            texts[name] = (before, after)
        work.changes += [Change(root, f"{below}/{name}", *pair) for name, pair in texts.items()]


class _Work:
    """Findings collected while planning."""

    def __init__(self, main: str) -> None:
        self._main = main
        self.changes: list[Change] = []
        self.additions: list[Addition] = []
        self.opposed: list[Contradiction] = []
        self.no_room: list[Addition] = []
        self.refused: list[tuple[str, str]] = []
        self.known = 0

    def read(self, tree: Tree, name: str) -> str:
        """Return a file in `.agents` of another worktree; '' if it is missing or unreadable, which is reported."""
        if not tree.there:
            return ""
        try:
            with Folder(tree.root) as root:
                folder = root.inside(FOLDER)
                if folder is None:
                    return ""
                with folder:
                    return _small(folder, name)
        except (SwarmloreError, UnicodeDecodeError) as problem:
            why = problem.message if isinstance(problem, SwarmloreError) else "it is not UTF-8 text"
            self.refused.append((f"{tree.root}/{FOLDER}/{name}", why))
            return ""

    def note(self, path: str, missing: str | None = None) -> str | None:
        """Return a client's note without secrets and our own context blocks; None if it is unreadable."""
        if missing is not None and not os.path.lexists(path):
            return missing
        try:
            return strip_blocks(scrub_text(memory_files.read_note(path)))
        except NotAllowed as problem:
            self.refused.append((path, problem.message))
            return None


def _brought(entry: ForeignEntry) -> Addition:
    return Addition("entry", entry.source, PATH, entry.text, entry.section)


def main_of(root: str) -> str:
    """Return the main worktree of a folder's repository; the folder itself without one."""
    _, common = git.find_repository(root)
    return os.path.dirname(common) if common and os.path.basename(common) == ".git" else root


def with_missing(text: str, other: str) -> tuple[str, list[str]]:
    """Return a note with the parts of another note that it lacks appended, and these parts."""
    if not text.strip():
        return other, [part for part in _parts(other) if part][:MOST_FILES]
    # Compare with the front matter too: an appended `---` could close one and so move parts into it.
    has = {_plain(part) for part in (*_parts(text), *_parts(head_of(text)[1]))}
    fresh = [part for part in _parts(head_of(other)[1]) if _plain(part) and _plain(part) not in has]
    fresh = [part for place, part in enumerate(fresh) if not part.startswith("#") or _is_followed(fresh, place)]
    if not fresh:
        return text, []
    # Without an empty line two paragraphs would be parsed as one the next time.
    joined = "".join(("\n" if _stands_alone(part) else "\n\n") + part for part in fresh).lstrip("\n")
    return text.rstrip("\n") + "\n\n" + joined + "\n", fresh


def _parts(text: str) -> list[str]:
    """Split a text into list items, headings and paragraphs."""
    parts: list[str] = []
    in_paragraph = False
    for line in text.split("\n"):
        if not line.strip():
            in_paragraph = False
            continue
        alone = _stands_alone(line)
        if in_paragraph and not alone:
            parts[-1] += "\n" + line
        else:
            parts.append(line)
        in_paragraph = not line.startswith("#")
    return parts


def _stands_alone(line: str) -> bool:
    return line.startswith(("- ", "* ", "+ ", "#"))


def _is_followed(parts: Sequence[str], place: int) -> bool:
    """Return whether a heading is followed by new content."""
    return place + 1 < len(parts) and not parts[place + 1].startswith("#")


def _plain(part: str) -> str:
    return " ".join(part.lower().split())


def _small(folder: Folder, name: str) -> str:
    if folder.size(name) > MAX_BYTES:
        raise InvalidInput(f"it is larger than {MAX_BYTES // 1024} KB", "shorten it by hand")
    return folder.read(name).decode("utf-8")


def _write_note(change: Change) -> None:
    """Append the planned text to a client's note, byte for byte; raise Conflict if it changed meanwhile."""
    where, name = os.path.split(os.path.join(change.root, change.path))
    os.makedirs(where, mode=0o700, exist_ok=True)
    with Folder(os.path.realpath(where)) as folder, folder.lock():
        content = folder.read(name)
        before = strip_blocks(scrub_text(content.decode("utf-8", "replace")))
        if before == change.after:
            return
        if before != change.before:
            raise Conflict(f"{where}/{name} was changed meanwhile", "look again, then decide")
        fresh = change.after[len(change.before.rstrip("\n")) :].encode()
        folder.replace(name, [content.rstrip(b"\n"), fresh], mode=0o600)
