"""Find note files and their versions: folders of project and user, stamps, safe reading, digests, other checkouts.

A version of a note is identified by the bytes of note and sidecar, in whichever checkout it is. A caller in a checkout
sees its own file's version. A note that this checkout lacks is shown as indexed last.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import NotAllowed
from swarmlore.frozen import frozen
from swarmlore.store.store import Store
from swarmlore.workspace import git
from swarmlore.workspace.files import open_own

VARIABLES = ("LEARNINGS_HOME", "GLOBAL_LEARNINGS_PATH")
PROJECT, GLOBAL = "project", "global"
SOLUTIONS = "docs/solutions"
LEARNINGS, EPISODES = "documents/learnings", "documents/episodes"
NOTES, SIDECARS = ".md", ".entities.yaml"
MOST_BYTES = 1_000_000  # of one note
MOST_FILES = 50_000  # of one place
MOST_DEPTH = 12
MOST_WORKTREES = 200


@frozen
class NotePlace:
    """A root with the folders below it that hold notes; `tier` is that of their memories."""

    name: str
    root: str
    folders: tuple[str, ...]
    tier: str

    def path(self, relative: str) -> str:
        """Return the absolute path of a relative one."""
        return os.path.join(self.root, *relative.split("/"))


def learnings_root(env: Mapping[str, str], home: str) -> str:
    """Return the user's notes folder: from the environment, else `~/.learnings`."""
    named = next((env[name] for name in VARIABLES if env.get(name)), "")
    return os.path.abspath(os.path.expanduser(named)) if named else os.path.join(home, ".learnings")


def project_place(root: str) -> NotePlace:
    """Return the notes folder of a project."""
    return NotePlace(PROJECT, root, (SOLUTIONS,), "swarm")


def global_place(root: str, *, private: bool) -> NotePlace:
    """Return the notes folders of a user; in a team store they are private."""
    return NotePlace(GLOBAL, os.path.realpath(root), (LEARNINGS, EPISODES), "agent" if private else "hive")


def checkouts(root: str) -> tuple[str, ...]:
    """Return the other worktrees of a repository that git lists."""
    _, common = git.find_repository(root)
    if not common:
        return ()
    found = [os.path.dirname(common)] if os.path.basename(common) == ".git" else []
    folder = os.path.join(common, "worktrees")
    names = sorted(os.listdir(folder))[:MOST_WORKTREES] if os.path.isdir(folder) else []
    links = (git.first_line(os.path.join(folder, name, "gitdir")).strip() for name in names)
    found += [os.path.dirname(link) for link in links if os.path.isabs(link)]
    return tuple(tree for tree in dict.fromkeys(found) if tree != root)


def has_notes_folder(place: NotePlace) -> bool:
    """Return whether a place has any notes folder."""
    return any(os.path.isdir(place.path(folder)) for folder in place.folders)


def files_of(place: NotePlace) -> dict[str, str]:
    """Return a place's notes by path, at most 50,000, each with a stamp that changes with note or sidecar."""
    found: dict[str, str] = {}
    for folder in place.folders:
        if _is_real(place.root, folder):
            for relative, stamp in _walk(place, folder):
                found[relative] = stamp
                if len(found) >= MOST_FILES:
                    return found
    return found


def _is_real(root: str, folder: str) -> bool:
    """Return whether a folder exists and no part of its path below the root is a link."""
    path = root
    for part in folder.split("/"):
        path = os.path.join(path, part)
        if os.path.islink(path):
            return False
    return os.path.isdir(path)


def _walk(place: NotePlace, top: str) -> Iterator[tuple[str, str]]:
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        stamps, notes = {}, []
        for entry in _entries(place.path(folder)):
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if folder.count("/") - top.count("/") < MOST_DEPTH:
                    waiting.append(f"{folder}/{entry.name}")
            elif is_note(entry.name):
                notes.append(entry.name)
                stamps[entry.name] = _stamp(entry)
            elif entry.name.endswith(SIDECARS):
                stamps[entry.name] = _stamp(entry)
        for name in sorted(notes):
            yield f"{folder}/{name}", _joined(stamps, name)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.name.isprintable()]
    except OSError:
        return []


def is_note(name: str) -> bool:
    """Return whether a file name is that of a note: `.md`, but not a README."""
    return name.endswith(NOTES) and name.lower() != "readme.md"


def _stamp(entry: os.DirEntry[str]) -> str:
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return ""
    return f"{facts.st_mtime_ns}.{facts.st_size}.{facts.st_ino}" if stat.S_ISREG(facts.st_mode) else "-"


def _joined(stamps: Mapping[str, str], name: str) -> str:
    """Return the combined stamp of a note and its sidecar."""
    stem = name.removesuffix(NOTES)
    sidecar = stamps.get(stem + SIDECARS) or stamps.get(name + SIDECARS) or ""
    return f"{stamps[name]} {sidecar}".rstrip()


def read_text(path: str) -> str:
    """Return the text of a note or sidecar; raise NotAllowed if it is unsafe, too large or not UTF-8."""
    return decoded(path, read_bytes(path))


def read_bytes(path: str) -> bytes:
    """Return the bytes of a file; raise NotAllowed if it is unsafe or larger than 1 MB."""
    file, why = open_own(path)
    if file is None:
        raise _refused(path, f"cannot be read: {why}")
    with file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise _refused(path, f"is larger than {MOST_BYTES // 1000} kB")
    return data


def read_both(root: str, path: str) -> tuple[bytes, bytes]:
    """Return the bytes of a note below a root and of its sidecar (b'' without one); raise NotAllowed."""
    full = os.path.join(root, *path.split("/"))
    data = read_bytes(full)
    for sidecar in (full.removesuffix(NOTES) + SIDECARS, full + SIDECARS):
        if os.path.lexists(sidecar):
            return data, read_bytes(sidecar)
    return data, b""


def decoded(path: str, data: bytes) -> str:
    """Decode a file; raise NotAllowed if it is not UTF-8 text."""
    if b"\0" in data:
        raise _refused(path, "is not a text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _refused(path, "is not a text in UTF-8") from None


def _refused(path: str, why: str) -> NotAllowed:
    return NotAllowed(f"{os.path.basename(path)!a} {why}", "keep notes in text files of your own, up to 1 MB")


VERSION = "version"  # key of the note's version in `source_ref` of its memories
_PART = 8


def digest_of(*parts: bytes) -> str:
    """Return a digest of 16 hexadecimal digits."""
    return sha256(b"\0".join(parts)).hexdigest()[:16]


def digest_of_both(data: bytes, beside: bytes) -> str:
    """Return the digest of a note followed by that of its sidecar."""
    return digest_of(data) + digest_of(beside)


def version_of(digest: str) -> str:
    """Return the short version id that memories carry."""
    return digest[:_PART] + digest[16 : 16 + _PART]


def version_in(root: str, path: str) -> str:
    """Return the version of a note in a checkout; '' if it is missing or unreadable."""
    parts = path.split("/")
    if not path or ".." in parts or not os.path.lexists(os.path.join(root, *parts)):
        return ""
    try:
        return version_of(digest_of_both(*read_both(root, path)))
    except NotAllowed:
        return ""


def other_checkouts(root: str, seen: Iterable[str]) -> list[str]:
    """Return the other checkouts of a project on this machine: worktrees that git lists, and roots that were synced."""
    found = dict.fromkeys((*checkouts(root), *seen))
    return [other for other in found if other != root and os.path.isdir(other)]


class Versions:
    """Decides which version of a note's memories is visible in one checkout."""

    def __init__(self, root: str, store: Store, caller: Caller) -> None:
        self._root = os.path.realpath(root)
        self._store = store
        self._caller = caller

    def holds(self, memory: Memory) -> bool:
        """Return whether a memory belongs to the version visible here; True for memories of other sources."""
        ref = memory.source_ref
        if memory.source != "note" or ref.get("place") != PROJECT or not ref.get(VERSION):
            return True
        own = version_in(self._root, str(ref.get("path", "")))
        if own == ref[VERSION]:
            return True
        rows = self._store.of_key(self._caller, memory.key, (memory.tier,))
        return bool(ref[VERSION] == self._chosen(own, [one for one in rows if one.live]))

    def only(self, memories: Iterable[Memory]) -> list[Memory]:
        """Keep the memories visible here; files are only read for notes with several versions."""
        listed = list(memories)
        versions: dict[str, set[str]] = {}
        for one in listed:
            versions.setdefault(one.key, set()).add(str(one.source_ref.get(VERSION, "")))
        return [one for one in listed if len(versions[one.key]) == 1 or self.holds(one)]

    def _chosen(self, own: str, rows: Sequence[Memory]) -> str:
        """Return the version of this checkout; if it is not indexed, the one indexed last."""
        versions = [str(row.source_ref.get(VERSION, "")) for row in sorted(rows, key=lambda row: row.updated_at)]
        return own if own in versions else versions[-1] if versions else ""
