"""Files in which agents keep notes of their own: which folders are watched, and how such a file is read.

- `…/personal/memory/` belongs to the agent that writes there, `…/shared/memory/` to everybody in the project.
- Claude Code keeps notes per repository, in `projects/<its path as a name>/memory/` of its own folder. They belong to
  that repository's project; in another one they are private.
- Codex keeps notes about everything in `memories/` of its own folder: private. Its summaries of single sessions name
  the folder they are about, and belong to the project of that folder or to none.

A path may come from a payload and a file from a repository, so nothing may lead out of such a folder: the real path
counts, and no symbolic link, device or other user's file is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from swarmlore.clients.claude import transcript as claude
from swarmlore.clients.codex import transcript as codex
from swarmlore.errors import NotAllowed
from swarmlore.frozen import frozen
from swarmlore.workspace import git
from swarmlore.workspace.files import open_own

MOST_BYTES = 1_000_000
MOST_FILES = 500  # of one folder
PRIVATE, SHARED = "agent", "swarm"
CLIENTS = ("claude", "codex")
_NAMED = {"personal": PRIVATE, "shared": SHARED}
FOLDER = "memory"
_NOTES = ".md"
MERGED = "raw_memories.md"  # the same once more, before Codex has sorted it
SUMMARIES = "rollout_summaries"
_HEAD_BYTES = 4_096
_MOST_SLUG = 200


@frozen
class Watched:
    """A file in a watched folder: its real path, who may see what it says, and whose own notes it is part of."""

    path: str
    tier: str
    client: str = ""


def watched(path: str, client: str, home: str, env: Mapping[str, str], roots: Sequence[str] = ()) -> Watched | None:
    """What a file is to the memory, or None where its folder is not watched.

    `client` is who asks, `home` and `env` are its user's, `roots` are the folders of the project.
    """
    if not os.path.isabs(path) or "\0" in path or os.path.basename(path).startswith("."):
        return None
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    found = _of_claude(real, home, env, roots) or _of_codex(real, client, home, env, roots)
    return found or _of_named_folder(real)


def _of_claude(real: str, home: str, env: Mapping[str, str], roots: Sequence[str]) -> Watched | None:
    projects = os.path.join(claude.folder(home, env), "projects")
    slug, inside, rest = _below(real, projects).partition(os.sep + FOLDER + os.sep)
    if not inside or os.sep in slug or not rest.endswith(_NOTES):
        return None
    own = any(_is_slug_of(slug, root) for root in roots)
    return Watched(real, SHARED if own else PRIVATE, "claude")


def _of_codex(real: str, client: str, home: str, env: Mapping[str, str], roots: Sequence[str]) -> Watched | None:
    name = _below(real, os.path.join(codex.folder(home, env), "memories"))
    folder, _, last = name.rpartition(os.sep)
    if not name.endswith(_NOTES) or last == MERGED or folder not in ("", SUMMARIES):
        return None
    if folder == SUMMARIES and roots:
        return Watched(real, SHARED, "codex") if _is_within(folder_in(real), roots) else None
    return Watched(real, PRIVATE, "codex") if client == "codex" else None


def _of_named_folder(real: str) -> Watched | None:
    parts = os.path.dirname(real).split(os.sep)
    tiers = [_NAMED[first] for first, second in pairwise(parts) if second == FOLDER and first in _NAMED]
    return Watched(real, tiers[-1]) if tiers else None


def _below(path: str, folder: str) -> str:
    """The rest of a path inside of a folder, or ''."""
    base = os.path.join(os.path.realpath(folder), "")
    return path[len(base) :] if path.startswith(base) else ""


def _is_slug_of(slug: str, root: str) -> bool:
    whole = slug_of(root)
    if len(whole) <= _MOST_SLUG:
        return slug == whole
    return slug.startswith(whole[:_MOST_SLUG] + "-")  # what follows is a hash of the client's own


def slug_of(root: str) -> str:
    """A path as Claude Code makes a name of it."""
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in root)


def _is_within(folder: str, roots: Sequence[str]) -> bool:
    return bool(folder) and any(folder == root or folder.startswith(os.path.join(root, "")) for root in roots)


def folder_in(path: str) -> str:
    """The folder that a summary of a session says it is about."""
    try:
        head = read_note(path, _HEAD_BYTES, cut=True)
    except NotAllowed:
        return ""
    lines = head.split("\n")[:20]
    return next((line[4:].strip() for line in lines if line.startswith("cwd:")), "")


def roots_of(root: str) -> tuple[str, ...]:
    """The folders that stand for a project: its own and, of a worktree, that of the repository."""
    _, common = git.find_repository(root)
    main = os.path.dirname(common) if os.path.basename(common) == ".git" else ""
    return tuple(dict.fromkeys(folder for folder in (root, main) if folder))


def own_folders(client: str, home: str, env: Mapping[str, str], roots: Sequence[str]) -> Iterator[str]:
    """The folders in which clients keep notes that concern a project; Codex's are all looked at, for Codex."""
    projects = os.path.join(claude.folder(home, env), "projects")
    for root in roots:
        slug = slug_of(root)
        if len(slug) <= _MOST_SLUG:
            yield os.path.join(projects, slug, FOLDER)
    memories = os.path.join(codex.folder(home, env), "memories")
    yield os.path.join(memories, SUMMARIES)
    if client == "codex":
        yield memories


def notes_in(folder: str) -> list[str]:
    """The files of a folder, newest first, so many at most."""
    try:
        with os.scandir(folder) as entries:
            found = [
                (entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in entries if _is_note(entry)
            ]
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)[:MOST_FILES]]


def _is_note(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(_NOTES) and entry.is_file(follow_symlinks=False)


def stamp_of(path: str) -> str:
    """A text that is another one after the file has changed; '' where there is none."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return ""
    return f"{found.st_mtime_ns}.{found.st_size}.{found.st_ino}"


def read_note(path: str, most_bytes: int = MOST_BYTES, *, cut: bool = False) -> str:
    """The text of a file; raises NotAllowed where it is none that may be read. With `cut`, only its beginning."""
    file, why = open_own(path)
    if file is None:
        raise _refused(path, f"cannot be read: {why}")
    with file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes and not cut:
        raise _refused(path, f"is larger than {most_bytes // 1000} kB")
    if b"\0" in data:
        raise _refused(path, "is not a text")
    try:
        return data.decode("utf-8", "replace" if cut else "strict").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise _refused(path, "is not a text in UTF-8") from None


def _refused(path: str, why: str) -> NotAllowed:
    return NotAllowed(f"{path!a} {why}", "keep notes in small text files of your own")
