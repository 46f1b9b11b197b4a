"""Which version of a project's note holds: checkouts of one project may have different ones.

A version is known by the bytes of a note and of its sidecar, whatever checkout they lie in. Somebody in a checkout
finds its own file. A note that this checkout does not have is found as it was taken in last, wherever that was.
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
    """A root and the folders below it that hold notes; `tier` says who sees what they say."""

    name: str
    root: str
    folders: tuple[str, ...]
    tier: str

    def path(self, relative: str) -> str:
        return os.path.join(self.root, *relative.split("/"))


def learnings_root(env: Mapping[str, str], home: str) -> str:
    """The folder of a user's notes: what the environment says, else `~/.learnings`."""
    named = next((env[name] for name in VARIABLES if env.get(name)), "")
    return os.path.abspath(os.path.expanduser(named)) if named else os.path.join(home, ".learnings")


def project_place(root: str) -> NotePlace:
    return NotePlace(PROJECT, root, (SOLUTIONS,), "swarm")


def global_place(root: str, *, private: bool) -> NotePlace:
    """The notes of a user; in a team's store they stay private."""
    return NotePlace(GLOBAL, os.path.realpath(root), (LEARNINGS, EPISODES), "agent" if private else "hive")


def checkouts(root: str) -> tuple[str, ...]:
    """The other work trees of a repository, as git knows them."""
    _, common = git.find_repository(root)
    if not common:
        return ()
    found = [os.path.dirname(common)] if os.path.basename(common) == ".git" else []
    folder = os.path.join(common, "worktrees")
    names = sorted(os.listdir(folder))[:MOST_WORKTREES] if os.path.isdir(folder) else []
    links = (git.first_line(os.path.join(folder, name, "gitdir")).strip() for name in names)
    found += [os.path.dirname(link) for link in links if os.path.isabs(link)]
    return tuple(tree for tree in dict.fromkeys(found) if tree != root)


# Which files


def there_is(place: NotePlace) -> bool:
    return any(os.path.isdir(place.path(folder)) for folder in place.folders)


def files_of(place: NotePlace) -> dict[str, str]:
    """The notes of a place, by path below its root, each with a stamp that is another one after it or its sidecar has
    changed; so many at most."""
    found: dict[str, str] = {}
    for folder in place.folders:
        if _is_real(place.root, folder):
            for relative, stamp in _walk(place, folder):
                found[relative] = stamp
                if len(found) >= MOST_FILES:
                    return found
    return found


def _is_real(root: str, folder: str) -> bool:
    """Whether a folder is there and no part of the way to it is a link."""
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
    return name.endswith(NOTES) and name.lower() != "readme.md"


def _stamp(entry: os.DirEntry[str]) -> str:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return ""
    return f"{found.st_mtime_ns}.{found.st_size}.{found.st_ino}" if stat.S_ISREG(found.st_mode) else "-"


def _joined(stamps: Mapping[str, str], name: str) -> str:
    """The stamp of a note and of what says what it is about."""
    stem = name.removesuffix(NOTES)
    beside = stamps.get(stem + SIDECARS) or stamps.get(name + SIDECARS) or ""
    return f"{stamps[name]} {beside}".rstrip()


# Reading


def read_text(path: str) -> str:
    """The text of a note or a sidecar; raises NotAllowed where it is none that may be read."""
    return decoded(path, read_bytes(path))


def read_bytes(path: str) -> bytes:
    file, why = open_own(path)
    if file is None:
        raise _refused(path, f"cannot be read: {why}")
    with file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise _refused(path, f"is larger than {MOST_BYTES // 1000} kB")
    return data


def read_both(root: str, path: str) -> tuple[bytes, bytes]:
    """A note below a root and what stands beside it about its entities; raises NotAllowed."""
    whole = os.path.join(root, *path.split("/"))
    data = read_bytes(whole)
    for beside in (whole.removesuffix(NOTES) + SIDECARS, whole + SIDECARS):
        if os.path.lexists(beside):
            return data, read_bytes(beside)
    return data, b""


def decoded(path: str, data: bytes) -> str:
    if b"\0" in data:
        raise _refused(path, "is not a text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _refused(path, "is not a text in UTF-8") from None


def _refused(path: str, why: str) -> NotAllowed:
    return NotAllowed(f"{os.path.basename(path)!a} {why}", "keep notes in text files of your own, up to 1 MB")


VERSION = "version"  # of the note, in what every memory of it says about its source
_PART = 8


def digest_of(*parts: bytes) -> str:
    """A mark of contents."""
    return sha256(b"\0".join(parts)).hexdigest()[:16]


def digest_of_both(data: bytes, beside: bytes) -> str:
    """A mark of a note and of its sidecar; its first half is of the note alone."""
    return digest_of(data) + digest_of(beside)


def version_of(digest: str) -> str:
    """The short mark that memories carry."""
    return digest[:_PART] + digest[16 : 16 + _PART]


def version_in(root: str, path: str) -> str:
    """The version of a note in a checkout; '' where it has none that can be read."""
    parts = path.split("/")
    if not path or ".." in parts or not os.path.lexists(os.path.join(root, *parts)):
        return ""
    try:
        return version_of(digest_of_both(*read_both(root, path)))
    except NotAllowed:
        return ""


def other_checkouts(root: str, seen: Iterable[str]) -> list[str]:
    """The other checkouts of a project on this machine: those that git knows, and those where notes were seen."""
    found = dict.fromkeys((*checkouts(root), *seen))
    return [other for other in found if other != root and os.path.isdir(other)]


class Versions:
    """Says of memories whether they are of the version that holds in one checkout."""

    def __init__(self, root: str, store: Store, caller: Caller) -> None:
        self._root = os.path.realpath(root)
        self._store = store
        self._caller = caller

    def holds(self, memory: Memory) -> bool:
        """Whether a memory is of the version that is to be shown here; true for all that is no project's note."""
        ref = memory.source_ref
        if memory.source != "note" or ref.get("place") != PROJECT or not ref.get(VERSION):
            return True
        own = version_in(self._root, str(ref.get("path", "")))
        if own == ref[VERSION]:
            return True
        every = self._store.of_key(self._caller, memory.key, (memory.tier,))
        return bool(ref[VERSION] == self._chosen(own, [one for one in every if one.live]))

    def only(self, memories: Iterable[Memory]) -> list[Memory]:
        """Those of many that are to be shown here; files are read only where there are several versions of a note."""
        every = list(memories)
        versions: dict[str, set[str]] = {}
        for one in every:
            versions.setdefault(one.key, set()).add(str(one.source_ref.get(VERSION, "")))
        return [one for one in every if len(versions[one.key]) == 1 or self.holds(one)]

    def _chosen(self, own: str, rows: Sequence[Memory]) -> str:
        """The version of this checkout or, where nothing is known of that, the one that was taken in last."""
        versions = [str(row.source_ref.get(VERSION, "")) for row in sorted(rows, key=lambda row: row.updated_at)]
        return own if own in versions else versions[-1] if versions else ""
