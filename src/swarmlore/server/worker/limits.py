"""What keeps a child process in its bounds: it dies with its parent, and takes no more memory than it may."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Let the system kill this process when its parent ends, where it can do that."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the system knew
        os._exit(1)


def limit_memory(megabytes: int) -> None:
    """Refuse what goes beyond; and leave no image of the memory behind, which may hold anything."""
    try:
        import resource
    except ImportError:  # Windows: the watch over the process has to do
        return
    for kind, wanted in ((resource.RLIMIT_DATA, megabytes * 2**20), (resource.RLIMIT_CORE, 0)):
        _, most = resource.getrlimit(kind)
        bound = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (bound, most))


def megabytes_of(pid: int) -> float:
    """What a process takes of the memory, 0 where the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
