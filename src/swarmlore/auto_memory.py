"""What agent clients remember by themselves: which files they keep it in, and which folder each is about.

| client | files |
|---|---|
| Claude Code | `projects/<a folder's path as a name>/memory/*.md` of its own folder |
| Codex | `memories/*.md` and `memories/rollout_summaries/*.md` |
| Copilot | `AGENTS.md` |
| Gemini | `GEMINI.md` |
| OpenCode | `AGENTS.md` of its settings |
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from swarmlore import memory_files
from swarmlore.clients.claude import transcript as claude
from swarmlore.clients.codex import transcript as codex
from swarmlore.clients.copilot import transcript as copilot
from swarmlore.clients.gemini import transcript as gemini
from swarmlore.frozen import frozen
from swarmlore.workspace.files import open_own

GEMINI = "GEMINI.md"
MOST_FOLDERS = 2_000
_HEAD_BYTES = 65_536
_MOST_TRANSCRIPTS = 5
_MARKS = ("/.worktrees/", "/.claude/worktrees/")  # folders in which work trees of a repository are kept inside of it


@frozen
class Kept:
    """A file of a client. `slug` is the folder it is about, as the client names it, and `name` the file's own name."""

    path: str
    client: str
    slug: str = ""

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def stem(self) -> str:
        """The file's name for people; one that a client has for everything is named after the client."""
        name = os.path.splitext(self.name)[0]
        return f"{self.client} memories" if name in ("AGENTS", "GEMINI") else name

    @property
    def source(self) -> str:
        """A name for the file that is the same on every machine of its user."""
        return "/".join(part for part in (self.client, self.slug, self.name) if part)


def kept_by(clients: Sequence[str], home: str, env: Mapping[str, str]) -> Iterator[Kept]:
    """Every file that these clients keep, in a stable order."""
    for client in clients:
        for path, slug in _FILES[client](home, env):
            yield Kept(path, client, slug)


def kept_in(folder: str) -> Iterator[Kept]:
    """The files of one folder that a client filled, wherever it lies now."""
    parent, last = os.path.split(os.path.realpath(folder))
    slug = os.path.basename(parent) if last == memory_files.FOLDER else last
    for path in sorted(memory_files.notes_in(folder)):
        yield Kept(path, "claude", slug)


def kept_as(path: str, home: str, env: Mapping[str, str]) -> Kept:
    """One file that a client filled: as that client's where it lies in its place, else as one that was copied."""
    own = os.path.realpath(path)
    kept = next((kept for kept in kept_by(CLIENTS, home, env) if os.path.realpath(kept.path) == own), None)
    client = "gemini" if os.path.basename(own) == GEMINI else "claude"
    slug = os.path.basename(os.path.dirname(own)) if client == "claude" else ""
    return kept or Kept(own, client, slug)


def slugs(home: str, env: Mapping[str, str]) -> list[str]:
    """The folders for which Claude Code keeps something, as it names them."""
    try:
        return sorted(os.listdir(os.path.join(claude.folder(home, env), "projects")))[:MOST_FOLDERS]
    except OSError:
        return []


def folder_of_slug(slug: str, home: str, env: Mapping[str, str]) -> str:
    """Where Claude Code keeps notes about a folder."""
    return os.path.join(claude.folder(home, env), "projects", slug, memory_files.FOLDER)


def _of_claude(home: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for slug in slugs(home, env):
        for path in sorted(memory_files.notes_in(folder_of_slug(slug, home, env))):
            yield path, slug


def _of_codex(home: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    memories = os.path.join(codex.folder(home, env), "memories")
    for folder in (memories, os.path.join(memories, memory_files.SUMMARIES)):
        for path in sorted(memory_files.notes_in(folder)):
            if os.path.basename(path) != memory_files.MERGED:
                yield path, ""


def _of_copilot(home: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from _one(os.path.join(copilot.folder(home, env), "AGENTS.md"))


def _of_gemini(home: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from _one(os.path.join(gemini.folder(home, env), GEMINI))


def _of_opencode(home: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    settings = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    yield from _one(os.path.join(settings, "opencode", "AGENTS.md"))


def _one(path: str) -> Iterator[tuple[str, str]]:
    if os.path.lexists(path):
        yield path, ""


_FILES: dict[str, Callable[[str, Mapping[str, str]], Iterator[tuple[str, str]]]] = {
    "claude": _of_claude,
    "codex": _of_codex,
    "copilot": _of_copilot,
    "gemini": _of_gemini,
    "opencode": _of_opencode,
}
CLIENTS = tuple(_FILES)


# Which folder


def subject_of(kept: Kept) -> str:
    """The folder that a file is about, or '' where nothing tells."""
    if kept.client == "codex":
        return memory_files.folder_in(kept.path)
    if kept.client != "claude":
        return ""
    folder = os.path.dirname(os.path.dirname(kept.path))
    return folder_told_in(folder, kept.slug)


def folder_told_in(folder: str, slug: str) -> str:
    """The folder that transcripts beside the notes were made in; its name does not tell which hyphen was a slash."""
    try:
        names = sorted((name for name in os.listdir(folder) if name.endswith(claude.SUFFIX)), reverse=True)
    except OSError:
        return ""
    for name in names[:_MOST_TRANSCRIPTS]:
        for told in _folders_in(os.path.join(folder, name)):
            if memory_files.slug_of(told) == slug:
                return told
    return ""


def _folders_in(path: str) -> Iterator[str]:
    file, _ = open_own(path)
    if file is None:
        return
    with file:
        lines = file.read(_HEAD_BYTES).split(b"\n")[:-1]
    for line in lines:
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(told, dict) and isinstance(told.get("cwd"), str):
            yield told["cwd"]


def without_worktree(folder: str) -> str:
    """The repository's folder, where a path leads to a work tree that is kept inside of it."""
    for mark in _MARKS:
        root, found, _ = folder.partition(mark)
        if found:
            return root
    return folder
