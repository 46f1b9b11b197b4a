"""Safe access to files: open without following links, replace atomically, lock a folder, and diff texts."""

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

_NON_BLOCKING = getattr(os, "O_NONBLOCK", 0)  # opening a pipe would block


def _open_non_blocking(path: str, flags: int) -> int:
    return os.open(path, flags | _NON_BLOCKING)


def opened(path: str) -> BinaryIO:
    """Open a regular file for reading; the caller closes it."""
    try:
        file = open(path, "rb", buffering=1 << 20, opener=_open_non_blocking)  # noqa: SIM115 - the caller closes it
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


def refuse_store_file(path: str, own: str) -> None:
    """Refuse the database file of the store in use. Closing another descriptor of it drops this process's locks, and
    replacing it would lose the memory."""
    try:
        same = os.path.samefile(path, own)
    except (OSError, ValueError):
        return  # one of them does not exist
    if same:
        raise InvalidInput(f"{path} is the store in use", "name another file; swarmlore backup makes a copy")


@contextmanager
def replace_file(path: str, *, overwrite: bool = False, private: bool = False) -> Iterator[str]:
    """Context manager: yield the name of an empty temporary file that replaces `path` at the end. With `private`,
    only the owner may read it."""
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


_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
MISSING = "no such file or directory"


def open_own(path: str) -> tuple[BinaryIO | None, str]:
    """Open a regular file of this user without following a link; return None and the reason if it is refused."""
    try:
        fd = os.open(path, _READ)
    except FileNotFoundError:
        return None, MISSING
    except (OSError, ValueError) as error:  # ValueError: an invalid name
        return None, ((error.strerror if isinstance(error, OSError) else "") or "no such name").lower()
    if why := _refusal(os.fstat(fd)):
        os.close(fd)
        return None, why
    return os.fdopen(fd, "rb", 1 << 16), ""


def _refusal(facts: os.stat_result) -> str:
    """Return why an opened file is not accepted, or ''."""
    if not stat.S_ISREG(facts.st_mode):
        return "not a regular file"
    if hasattr(os, "geteuid") and facts.st_uid != os.geteuid():
        return "another user's file"
    return ""


try:
    import fcntl
except ImportError:  # Windows: without a lock the last writer wins, but no file is torn
    fcntl = None  # type: ignore[assignment]

LOCK_S = 10.0
SMALL_BYTES = 8 * 1024 * 1024
TEMPORARY = ".swarmlore-tmp"
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | getattr(os, "O_CLOEXEC", 0)
_ADD = _READ | os.O_WRONLY | os.O_CREAT | os.O_APPEND
_BY_HANDLE = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd


class Folder:
    """One folder, held open by its descriptor; access through it cannot be redirected by links. Raise NotAllowed if
    a name leads elsewhere."""

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
        """Close the folder."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def inside(self, name: str, *, make: bool = False) -> Folder | None:
        """Open a folder in this one; None if it does not exist and `make` is false."""
        if self._stat(name) is None:
            if not make:
                return None
            try:
                os.mkdir(self._name(name), **self._here())
            except FileExistsError:
                pass  # another process created it meanwhile
            except OSError as error:
                raise unusable(self._full(name), error) from error
        return Folder(self._full(name), self)

    def stamp(self, *names: str) -> str:
        """Return a text that changes whenever one of these files changes."""
        return " ".join(_stamp(self._stat(name)) for name in names)

    def has(self, name: str) -> bool:
        """Return whether the name exists, also as a link or a folder."""
        return self._stat(name) is not None

    def size(self, name: str) -> int:
        """Return the size of a file in bytes, 0 if there is none."""
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
        """Open a file for reading; None if it does not exist."""
        found = self._stat(name)
        if found is None:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise elsewhere(self._full(name))
        try:
            fd = os.open(self._name(name), _READ, **self._here())
        except OSError as error:
            raise unusable(self._full(name), error) from error
        if not stat.S_ISREG(os.fstat(fd).st_mode):  # it was replaced in between
            os.close(fd)
            raise elsewhere(self._full(name))
        return os.fdopen(fd, "rb")

    def read(self, name: str) -> bytes:
        """Return the content of a small file; raise NotAllowed if it is larger than SMALL_BYTES."""
        file = self.open(name)
        if file is None:
            return b""
        with file:
            content = file.read(SMALL_BYTES + 1)
        if len(content) > SMALL_BYTES:
            raise NotAllowed(f"{self._full(name)} is larger than it can be", "move it away")
        return content

    def tail(self, name: str, most: int) -> bytes:
        """Return the last bytes of a file."""
        file = self.open(name)
        if file is None:
            return b""
        with file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - most))
            return file.read(most)

    def append(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """Append to a file, all or nothing, and flush it to disk. The caller holds the lock."""
        found = self._stat(name)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise elsewhere(self._full(name))
        try:
            fd = os.open(self._name(name), _ADD, mode, **self._here())
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
        if not stat.S_ISREG(before.st_mode):  # it was replaced in between
            raise elsewhere(self._full(name))
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(fd, left) :]
            os.fsync(fd)
        except OSError:
            os.ftruncate(fd, before.st_size)  # do not leave a partial line
            raise

    def replace(self, name: str, parts: Iterable[bytes], mode: int = 0o644) -> None:
        """Replace a file's content atomically; an existing file keeps its permissions."""
        found = self._stat(name)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise elsewhere(self._full(name))
        temporary = f".{name}.{os.urandom(6).hex()}{TEMPORARY}"
        try:
            self._sweep(name)
            self._write(temporary, parts, mode, found)
            self._rename(temporary, name)
        except OSError as error:
            self.remove(temporary)
            raise unusable(self._full(name), error) from error
        except BaseException:
            self.remove(temporary)
            raise

    def _write(self, name: str, parts: Iterable[bytes], mode: int, before: os.stat_result | None) -> None:
        fd = os.open(self._name(name), _MAKE, mode & 0o777, **self._here())
        with os.fdopen(fd, "wb", 1 << 20) as file:
            if before is not None and hasattr(os, "fchmod"):  # keep the mode, whatever the umask is
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
        """Remove temporary files of a killed writer; the lock guarantees that no other writer is active."""
        for left in os.listdir(self._fd if self._fd >= 0 else self.path):
            if left.startswith(f".{name}.") and left.endswith(TEMPORARY):
                self.remove(left)

    def rename(self, name: str, to: str) -> None:
        """Rename a file."""
        try:
            self._rename(name, to)
        except OSError as error:
            raise unusable(self._full(name), error) from error

    def remove(self, name: str) -> None:
        """Delete a file if it exists; never a folder."""
        try:
            os.unlink(self._name(name), **self._here())
        except OSError:
            return  # the file or the folder is gone already, or nothing can be done about it here

    @contextmanager
    def lock(self, timeout_s: float = LOCK_S) -> Iterator[None]:
        """Context manager: exclusive lock on the folder between our processes, released when the process ends."""
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

    def _name(self, name: str) -> str:
        return name if self._fd >= 0 else self._full(name)

    def _full(self, name: str) -> str:
        return os.path.join(self.path, name)


def stamp_of(file: BinaryIO) -> str:
    """Return the stamp of an open file, as `Folder.stamp` does."""
    try:
        return _stamp(os.fstat(file.fileno()))
    except OSError:
        return _stamp(None)


def _stamp(found: os.stat_result | None) -> str:
    return "-" if found is None else f"{found.st_mtime_ns}.{found.st_size}.{found.st_ino}"


def elsewhere(path: str) -> NotAllowed:
    """Return the error for a path that is a symbolic link or no regular file."""
    return NotAllowed(
        f"{path} is a symbolic link or no regular file; it is neither read nor written",
        "put a real folder and real files there",
    )


def unusable(path: str, error: OSError) -> SwarmloreError:
    """Return the error for a path that cannot be read or written."""
    from swarmlore.errors import StoreError

    return StoreError(f"{path} cannot be used: {error.strerror}", "check its permissions and the free space")


CONTEXT = 3  # lines around a change
MOST_LINES = 1_000  # longer texts are not compared line by line: one hunk covers all between their equal ends


@frozen
class Change:
    """Proposed content of a file; `before` is '' if the file does not exist yet."""

    root: str
    path: str
    before: str
    after: str

    @property
    def changes(self) -> bool:
        """Return whether the content differs."""
        return self.before != self.after

    @property
    def diff(self) -> str:
        """Return the diff with secrets redacted."""
        from swarmlore.domain.security.redaction import redact

        return diff_of(self.path, redact(self.before)[0], redact(self.after)[0])


def diff_of(path: str, before: str, after: str) -> str:
    """Return a diff that `git apply` reads; '' if the texts are equal."""
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    head = [f"--- {'a/' + path if before else '/dev/null'}\n", f"+++ b/{path}\n"]
    return "".join([*head, *_hunks(old, new)])


def _lines(text: str) -> list[str]:
    """Split a text into lines with their ends; only `\\n` ends a line, as for git."""
    *complete, last = text.split("\n")
    return [line + "\n" for line in complete] + ([last] if last else [])


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
    top = _count_equal(zip(old, new, strict=False))
    room = min(len(old), len(new)) - top
    end = min(room, _count_equal(zip(reversed(old), reversed(new), strict=False)))
    a, b, c, d = top, len(old) - end, top, len(new) - end
    above, below = min(CONTEXT, top), min(CONTEXT, end)
    return [[("equal", a - above, a, c - above, c), ("replace", a, b, c, d), ("equal", b, b + below, d, d + below)]]


def _count_equal(pairs: Iterator[tuple[str, str]]) -> int:
    """Count the equal pairs at the beginning."""
    from itertools import takewhile

    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _span(start: int, end: int) -> str:
    """Return the start and the length of a hunk in diff notation."""
    count = end - start
    return f"{start + 1 if count else start},{count}"


def _line(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
