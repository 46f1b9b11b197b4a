"""A folder inside of a repository, touched with care: nothing in it can lead outside.

Neither the folder nor a file in it may be a symbolic link, and only regular files are read. A file is replaced in one
step (written beside, synced, renamed), and one lock serves the whole folder. Both hold for the folder that was opened,
whatever its name points to a moment later.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from swarmlore.errors import NotAllowed, StoreBusy, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows: whoever writes last wins, nothing is torn
    fcntl = None  # type: ignore[assignment]

LOCK_S = 10.0
SMALL_BYTES = 8 * 1024 * 1024
TEMPORARY = ".swarmlore-tmp"
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | getattr(os, "O_CLOEXEC", 0)
_ADD = _READ | os.O_WRONLY | os.O_CREAT | os.O_APPEND
_BY_HANDLE = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd


class Folder:
    """One opened folder. Raises NotAllowed where a name leads elsewhere."""

    def __init__(self, path: str, above: Folder | None = None) -> None:
        self.path = path
        if os.path.islink(path):
            raise elsewhere(path)
        here = above._here() if above else {}
        name = os.path.basename(path) if here else path
        try:
            self._fd = os.open(name, _READ | getattr(os, "O_DIRECTORY", 0), **here) if _BY_HANDLE else -1
        except NotADirectoryError:
            raise NotAllowed(f"{path} is not a folder", "move it away, then run: swarmlore init") from None
        except OSError as error:
            raise elsewhere(path) if os.path.islink(path) else unusable(path, error) from error

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def inside(self, name: str, *, make: bool = False) -> Folder | None:
        """A folder in this one, reached from here; None where there is none and none is to be made."""
        if self._stat(name) is None:
            if not make:
                return None
            try:
                os.mkdir(name if self._fd >= 0 else self._full(name), **self._here())
            except FileExistsError:
                pass  # somebody else made it meanwhile
            except OSError as error:
                raise unusable(self._full(name), error) from error
        return Folder(self._full(name), self)

    def stamp(self, *names: str) -> str:
        """A text that is another one after any of these files has changed."""
        return " ".join(self._stamp_of(name) for name in names)

    def _stamp_of(self, name: str) -> str:
        return _stamp(self._stat(name))

    def has(self, name: str) -> bool:
        """Whether anything has this name, also a link or a folder."""
        return self._stat(name) is not None

    def size(self, name: str) -> int:
        found = self._stat(name)
        return 0 if found is None else found.st_size

    def _stat(self, name: str) -> os.stat_result | None:
        try:
            if self._fd >= 0:
                return os.stat(name, dir_fd=self._fd, follow_symlinks=False)
            return os.lstat(self._full(name))
        except FileNotFoundError:
            return None

    def open(self, name: str) -> BinaryIO | None:
        """A file for reading, or None where there is none."""
        found = self._stat(name)
        if found is None:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise elsewhere(self._full(name))
        try:
            fd = os.open(name if self._fd >= 0 else self._full(name), _READ, **self._here())
        except OSError as error:
            raise unusable(self._full(name), error) from error
        if not stat.S_ISREG(os.fstat(fd).st_mode):  # it was exchanged in between
            os.close(fd)
            raise elsewhere(self._full(name))
        return os.fdopen(fd, "rb")

    def read(self, name: str) -> bytes:
        """A small file whole; one that is larger than any of ours is refused."""
        file = self.open(name)
        if file is None:
            return b""
        with file:
            content = file.read(SMALL_BYTES + 1)
        if len(content) > SMALL_BYTES:
            raise NotAllowed(f"{self._full(name)} is larger than it can be", "move it away")
        return content

    def tail(self, name: str, most: int) -> bytes:
        """The last bytes of a file."""
        file = self.open(name)
        if file is None:
            return b""
        with file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - most))
            return file.read(most)

    def append(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """Add to the end of a file, all or nothing; on disk when it returns. To be called under the lock."""
        found = self._stat(name)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise elsewhere(self._full(name))
        try:
            fd = os.open(name if self._fd >= 0 else self._full(name), _ADD, mode, **self._here())
            try:
                self._add(fd, name, data)
            finally:
                os.close(fd)
            if found is None and self._fd >= 0:
                os.fsync(self._fd)
        except OSError as error:
            raise unusable(self._full(name), error) from error

    def _add(self, fd: int, name: str, data: bytes) -> None:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):  # it was exchanged in between
            raise elsewhere(self._full(name))
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(fd, left) :]
            os.fsync(fd)
        except OSError:
            os.ftruncate(fd, before.st_size)  # half a line is no line
            raise

    def replace(self, name: str, parts: Iterable[bytes], mode: int = 0o644) -> None:
        """Put new content in place of a file, whole or not at all; it keeps its permissions."""
        found = self._stat(name)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise elsewhere(self._full(name))
        temporary = f".{name}.{os.urandom(6).hex()}{TEMPORARY}"
        try:
            self._sweep(name)
            self._write(temporary, parts, mode, found)
            self._rename(temporary, name)
        except OSError as error:
            self._drop(temporary)
            raise unusable(self._full(name), error) from error
        except BaseException:
            self._drop(temporary)
            raise

    def _write(self, name: str, parts: Iterable[bytes], mode: int, before: os.stat_result | None) -> None:
        fd = os.open(name if self._fd >= 0 else self._full(name), _MAKE, mode & 0o777, **self._here())
        with os.fdopen(fd, "wb", 1 << 20) as file:
            if before is not None and hasattr(os, "fchmod"):  # what the file had, whatever the umask is
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode) & 0o777)
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())

    def _rename(self, source: str, target: str) -> None:
        if self._fd < 0:
            os.replace(self._full(source), self._full(target))
            return
        os.rename(source, target, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        os.fsync(self._fd)

    def _sweep(self, name: str) -> None:
        """Remove what a killed writer left; the lock says that nobody else is writing."""
        for left in os.listdir(self._fd if self._fd >= 0 else self.path):
            if left.startswith(f".{name}.") and left.endswith(TEMPORARY):
                self._drop(left)

    def rename(self, name: str, to: str) -> None:
        """Give a file another name."""
        try:
            self._rename(name, to)
        except OSError as error:
            raise unusable(self._full(name), error) from error

    def remove(self, name: str) -> None:
        """Take a file away, or nothing where there is none; never a folder."""
        self._drop(name)

    def _drop(self, name: str) -> None:
        try:
            os.unlink(name if self._fd >= 0 else self._full(name), **self._here())
        except OSError:
            return  # it is gone already, or the folder is: nothing can be done about it here

    @contextmanager
    def lock(self, timeout_s: float = LOCK_S) -> Iterator[None]:
        """Nobody else of ours reads and writes here meanwhile. It dies with its process."""
        if fcntl is None or self._fd < 0:
            yield
            return
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise StoreBusy(f"another process keeps {self.path}", "try again in a moment") from None
                time.sleep(0.005)
        try:
            yield
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _here(self) -> dict[str, int]:
        return {"dir_fd": self._fd} if self._fd >= 0 else {}

    def _full(self, name: str) -> str:
        return os.path.join(self.path, name)


def stamp_of(file: BinaryIO) -> str:
    """The same for an open file; what stands for a file that is not there has no number."""
    try:
        return _stamp(os.fstat(file.fileno()))
    except OSError:
        return _stamp(None)


def _stamp(found: os.stat_result | None) -> str:
    return "-" if found is None else f"{found.st_mtime_ns}.{found.st_size}.{found.st_ino}"


def elsewhere(path: str) -> NotAllowed:
    return NotAllowed(
        f"{path} is a symbolic link or no regular file; it is neither read nor written",
        "put a real folder and real files there",
    )


def unusable(path: str, error: OSError) -> SwarmloreError:
    from swarmlore.errors import StoreError

    return StoreError(f"{path} cannot be used: {error.strerror}", "check its permissions and the free space")
