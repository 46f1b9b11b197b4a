"""One file whose path came from outside, opened with care: what lies there may be anything.

Only a regular file of this user's, never one behind a symbolic link, and never one that could make us wait.
"""

from __future__ import annotations

import os
import stat

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

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
