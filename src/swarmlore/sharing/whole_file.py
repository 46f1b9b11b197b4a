"""Files that are written whole or not at all, and files that are read only if they are files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from swarmlore.errors import InvalidInput, NotFound
from swarmlore.frozen import TYPE_CHECKING

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
