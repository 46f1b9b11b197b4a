"""What was seen of the notes of a place: how each file looked when it was taken in, and who is taking them in now.

It is kept beside the store, one file per place, and may be lost at any time: the notes tell it again. Only that a file
was there once is known from nowhere else.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256

from swarmlore.errors import NotAllowed, StoreBusy
from swarmlore.formats.folder import Folder
from swarmlore.frozen import field, frozen

try:
    import fcntl
except ImportError:  # Windows: two may do the same work, each change still is one transaction
    fcntl = None  # type: ignore[assignment]

_LOCKS = fcntl is not None
FOLDER = "notes"
LOCK_S = 300.0
_LOOK_S = 0.05


@frozen
class Seen:
    """A file as it was taken in. Without an id it is no note; `problem` says why it could not be read."""

    stamp: str
    digest: str = ""
    id: str = ""
    problem: str = ""


@frozen
class Place:
    """All that was seen of one place; `apart` are copies that somebody changed, by the note they were made from."""

    root: str
    project: str
    files: Mapping[str, Seen] = field(default_factory=dict)
    apart: Mapping[str, str] = field(default_factory=dict)


def digest_of(*parts: bytes) -> str:
    """A mark of contents."""
    return sha256(b"\0".join(parts)).hexdigest()[:16]


class Cache:
    """The files of a home that hold what was seen."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(os.path.realpath(home), FOLDER)

    def knows(self, root: str) -> bool:
        return os.path.exists(os.path.join(self._path, _name(root)))

    def stamp(self, root: str) -> str:
        """A text that is another one after somebody has saved what was seen."""
        try:
            found = os.stat(os.path.join(self._path, _name(root)))
        except OSError:
            return ""
        return f"{found.st_mtime_ns}.{found.st_ino}"

    def load(self, root: str) -> Place:
        """What was seen below a root; nothing where it cannot be read."""
        return self._read(_name(root)) or Place(root, "")

    def of_project(self, names: Iterator[str] | tuple[str, ...]) -> list[Place]:
        """Every place of a project that was seen on this machine."""
        wanted = set(names)
        listed = sorted(os.listdir(self._path)) if os.path.isdir(self._path) else []
        found = (self._read(name) for name in listed if name.endswith(".json"))
        return [place for place in found if place is not None and place.project in wanted]

    def _read(self, name: str) -> Place | None:
        if not os.path.isdir(self._path):
            return None
        try:
            with Folder(self._path) as folder:
                told = json.loads(folder.read(name))
            files = {str(path): Seen(*map(str, facts[:4])) for path, facts in told["files"].items()}
            apart = {str(one): str(other) for one, other in told["apart"].items()}
            return Place(str(told["root"]), str(told["project"]), files, apart)
        except (ValueError, TypeError, KeyError, AttributeError, NotAllowed):
            return None

    def save(self, place: Place) -> None:
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        files = {path: [seen.stamp, seen.digest, seen.id, seen.problem] for path, seen in place.files.items()}
        told = {"root": place.root, "project": place.project, "files": files, "apart": dict(place.apart)}
        data = json.dumps(told, separators=(",", ":")).encode("ascii")
        with Folder(self._path) as folder:
            folder.replace(_name(place.root), [data], mode=0o600)

    @contextmanager
    def holding(self, root: str, timeout_s: float = LOCK_S) -> Iterator[None]:
        """Nobody else takes in the notes of a place meanwhile; raises StoreBusy and says who does. It dies with its
        process."""
        if not _LOCKS:
            yield
            return
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        path = os.path.join(self._path, _name(root).replace(".json", ".lock"))
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            _wait(fd, root, timeout_s)
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()} {time.time():.0f}".encode(), 0)
            yield
        finally:
            os.close(fd)


def _wait(fd: int, root: str, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() >= deadline:
                raise _busy(fd, root) from None
            time.sleep(_LOOK_S)


def _busy(fd: int, root: str) -> StoreBusy:
    pid, _, since = os.pread(fd, 64, 0).decode("ascii", "replace").partition(" ")
    told = f" for {max(0, time.time() - float(since)):.0f} s" if since.isdigit() else ""
    who = f"process {pid}" if pid.isdigit() else "another process"
    return StoreBusy(f"{who} has been indexing the notes in {root}{told}", "wait for it, or end it, and try again")


def _name(root: str) -> str:
    return f"{sha256(os.fsencode(root)).hexdigest()[:24]}.json"
