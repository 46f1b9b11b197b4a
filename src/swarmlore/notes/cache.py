"""What was seen of the notes of a place: how each file looked when it was taken in, and who is taking them in now.

It is kept beside the store, one file per place, and may be lost at any time: the notes tell it again. Only that a file
was there once is known from nowhere else. Its first line says whose it is and in which layout notes were stored then;
after another layout came, every note is read again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256

from swarmlore.errors import NotAllowed, StoreBusy
from swarmlore.frozen import TYPE_CHECKING, field, frozen, replace
from swarmlore.workspace.files import Folder, open_own

if TYPE_CHECKING:
    from typing import Any

try:
    import fcntl
except ImportError:  # Windows: two may do the same work, each change still is one transaction
    fcntl = None  # type: ignore[assignment]

_LOCKS = fcntl is not None
FOLDER = "notes"
LAYOUT = 2  # of the memories that notes become: with another number, all of them are read anew
OUTDATED = "outdated"  # the stamp of a file that was stored in another layout
HEAD_BYTES = 65_536
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


class Cache:
    """The files of a home that hold what was seen."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(os.path.realpath(home), FOLDER)

    @property
    def there(self) -> bool:
        """Whether anything was ever seen."""
        return os.path.isdir(self._path)

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

    def roots_of(self, names: Iterable[str]) -> list[str]:
        """The roots of every place of a project that was seen on this machine, also of those that are gone."""
        wanted = set(names)
        listed = sorted(os.listdir(self._path)) if os.path.isdir(self._path) else []
        heads = (self._head(name) for name in listed if name.endswith(".json"))
        return [str(head.get("root")) for head in heads if head.get("project") in wanted]

    def _head(self, name: str) -> Mapping[str, Any]:
        """Whose a file is, without reading all of it."""
        file, _ = open_own(os.path.join(self._path, name))
        if file is None:
            return {}
        with file:
            line = file.readline(HEAD_BYTES)
        try:
            told = json.loads(line) if line.endswith(b"\n") else _told(self._text(name))
        except (ValueError, TypeError):
            return {}
        return told if isinstance(told, dict) else {}

    def _text(self, name: str) -> str:
        with Folder(self._path) as folder:
            return folder.read(name).decode("ascii", "replace")

    def _read(self, name: str) -> Place | None:
        if not os.path.isdir(self._path):
            return None
        try:
            told = _told(self._text(name))
            files = {str(path): Seen(*map(str, facts[:4])) for path, facts in told["files"].items()}
            apart = {str(one): str(other) for one, other in told["apart"].items()}
        except (ValueError, TypeError, KeyError, AttributeError, NotAllowed):
            return None
        if told.get("layout") != LAYOUT:  # they were there, and have to be read once more
            files = {path: replace(seen, stamp=OUTDATED) for path, seen in files.items()}
        return Place(str(told.get("root")), str(told.get("project")), files, apart)

    def save(self, place: Place) -> None:
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        head = {"layout": LAYOUT, "root": place.root, "project": place.project}
        files = {path: [seen.stamp, seen.digest, seen.id, seen.problem] for path, seen in place.files.items()}
        lines = (head, {"files": files, "apart": dict(place.apart)})
        data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode("ascii")
        with Folder(self._path) as folder:
            folder.replace(_name(place.root), [data], mode=0o600)

    def drop(self, root: str) -> None:
        """Nothing is known any more of a place that is gone."""
        with Folder(self._path) as folder:
            folder.remove(_name(root))

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


def _told(text: str) -> dict[str, Any]:
    """What a file says, in its two lines or, from before there was a layout, in one."""
    found: dict[str, Any] = {}
    for line in text.splitlines():
        found |= json.loads(line)
    return found


def _name(root: str) -> str:
    return f"{sha256(os.fsencode(root)).hexdigest()[:24]}.json"
