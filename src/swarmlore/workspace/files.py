"""A change that somebody has yet to agree to: a file's text before and after, and the difference between them."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from swarmlore.errors import InvalidInput, NotAllowed, NotFound, StoreBusy, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import BinaryIO


_NO_WAITING = getattr(os, "O_NONBLOCK", 0)  # a pipe would keep us until somebody writes to it


def opened(path: str) -> BinaryIO:
    """A regular file for reading; the caller closes it."""
    try:
        file = open(path, "rb", buffering=1 << 20, opener=_at_once)  # noqa: SIM115 - the caller closes it
    except FileNotFoundError:
        raise NotFound(f"no file {path}", "check the path") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path} is a folder", "name a file in it") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no name of a file"
        raise InvalidInput(f"{path} cannot be read: {why}", "check the path and its permissions") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise InvalidInput(f"{path} is not a regular file", "save it to a file first")
    return file


def check_other(path: str, own: str) -> None:
    """Refuse the file of the store in use. Whoever opens and closes that once more takes away the locks of this
    process, and whoever replaces it takes the memory with it."""
    try:
        same = os.path.samefile(path, own)
    except (OSError, ValueError):
        return  # one of them is no file
    if same:
        raise InvalidInput(f"{path} is the store in use", "name another file; swarmlore backup makes a copy")


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | _NO_WAITING)


@contextmanager
def whole(path: str, *, overwrite: bool = False, private: bool = False) -> Iterator[str]:
    """Gives the name of an empty file; what is in it at the end is put in place of `path`, for its owner alone where it
    is `private`."""
    if os.path.lexists(path) and not (overwrite and os.path.isfile(path)):
        if os.path.isdir(path):
            raise InvalidInput(f"{path} is a folder", "name a file in it")
        hint = "name another file, or overwrite it: --yes" if os.path.isfile(path) else "name a file"
        raise InvalidInput(f"{path} is there already", hint)
    part = f"{path}.part-{os.urandom(4).hex()}"
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666))
        yield part
        _sync(part)
        os.replace(part, path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}", "name another file") from error
    finally:
        if os.path.exists(part):
            os.unlink(part)


def _sync(path: str) -> None:
    file = os.open(path, os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
MISSING = "no such file or directory"


def open_own(path: str) -> tuple[BinaryIO | None, str]:
    """The file, or nothing and why."""
    try:
        fd = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None, MISSING
    except (OSError, ValueError) as error:  # ValueError: a name that no file system can hold
        return None, ((error.strerror if isinstance(error, OSError) else "") or "no such name").lower()
    if why := _refusal(os.fstat(fd)):
        os.close(fd)
        return None, why
    return os.fdopen(fd, "rb", 1 << 16), ""


def _refusal(found: os.stat_result) -> str:
    if not stat.S_ISREG(found.st_mode):
        return "not a regular file"
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        return "another user's file"
    return ""


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


CONTEXT = 3  # lines around a change
MOST_LINES = 1_000  # of a text that is compared line by line; of a longer one, only what is equal at both ends is told


@frozen
class Change:
    """What a file of a folder would become. `before` is '' where there is no such file yet."""

    root: str
    path: str
    before: str
    after: str

    @property
    def changes(self) -> bool:
        return self.before != self.after

    @property
    def diff(self) -> str:
        """What is shown of it: the file may hold secrets that are nobody's to see here."""
        from swarmlore.domain.security.redaction import redact

        return diff_of(self.path, redact(self.before)[0], redact(self.after)[0])


def diff_of(path: str, before: str, after: str) -> str:
    """The difference as `git apply` reads it; '' where there is none."""
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    head = [f"--- {'a/' + path if before else '/dev/null'}\n", f"+++ b/{path}\n"]
    return "".join([*head, *_hunks(old, new)])


def _lines(text: str) -> list[str]:
    """Lines with their ends; only what git takes for an end is one."""
    *whole, last = text.split("\n")
    return [line + "\n" for line in whole] + ([last] if last else [])


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for group in _groups(old, new):
        first, last = group[0], group[-1]
        yield f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@\n"
        for kind, a, b, c, d in group:
            if kind == "equal":
                yield from (_line(" ", line) for line in old[a:b])
                continue
            yield from (_line("-", line) for line in old[a:b])
            yield from (_line("+", line) for line in new[c:d])


def _groups(old: Sequence[str], new: Sequence[str]) -> list[list[tuple[str, int, int, int, int]]]:
    from difflib import SequenceMatcher

    if max(len(old), len(new)) <= MOST_LINES:
        matched = SequenceMatcher(None, old, new, autojunk=False)
        return [list(group) for group in matched.get_grouped_opcodes(CONTEXT)]
    top = _equal(zip(old, new, strict=False))
    room = min(len(old), len(new)) - top
    end = min(room, _equal(zip(reversed(old), reversed(new), strict=False)))
    a, b, c, d = top, len(old) - end, top, len(new) - end
    above, below = min(CONTEXT, top), min(CONTEXT, end)
    return [[("equal", a - above, a, c - above, c), ("replace", a, b, c, d), ("equal", b, b + below, d, d + below)]]


def _equal(pairs: Iterator[tuple[str, str]]) -> int:
    count = 0
    for one, other in pairs:
        if one != other:
            break
        count += 1
    return count


def _span(start: int, end: int) -> str:
    """Where a hunk begins and how many lines it has, as the format counts them."""
    count = end - start
    return f"{start + 1 if count else start},{count}"


def _line(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
