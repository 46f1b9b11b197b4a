"""Where hooks, the warm process and the commands of one home meet: a socket and a folder of waiting events."""

from __future__ import annotations

import os

# The kernel holds a socket's path in 108 bytes (104 on macOS), the end mark included.
MOST_SOCKET_BYTES = 100


def spool_dir(home: str) -> str:
    """The folder in which events wait that no warm process took."""
    return os.path.join(home, "spool")


def outbox_dir(home: str) -> str:
    """The folder in which events wait that a server on another machine is to have."""
    return os.path.join(home, "outbox")


def socket_path(home: str) -> str:
    """Where the warm process of a home listens: there or, if that path is too long, in the user's run folder."""
    own = os.path.join(home, "warm.sock")
    if len(os.fsencode(own)) <= MOST_SOCKET_BYTES or not hasattr(os, "getuid"):  # Windows has no such sockets
        return own
    import zlib

    name = os.fsencode(os.path.abspath(home))
    mark = f"{zlib.crc32(name):08x}{zlib.adler32(name):08x}"
    return os.path.join(_run_folder(), f"{mark}.sock")


def _run_folder() -> str:
    """A folder that only this user can write: the session's, else one of our own under the temporary folder.

    Not by the environment: a client may start its servers with another one than its hooks, and both must meet.
    """
    given = f"/run/user/{os.getuid()}"
    if os.path.isdir(given):
        return os.path.join(given, "swarmlore")
    return f"/tmp/swarmlore-{os.getuid()}"  # made with mode 0700 and checked before use
