"""Talk to the daemon: one JSON object per line over a Unix socket, where both ends must belong to the same user.

It uses `_socket`, the C part of `socket`: the rest of that module takes a fifth of a hook's time.
"""

from __future__ import annotations

import json
import os
import sys
import time

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

try:
    import _socket
except ImportError:  # another Python than CPython
    import socket as _socket  # type: ignore[no-redef]

MOST_LINE = 8_000_000
_CHUNK = 65_536


def connect(path: str, timeout: float) -> _socket.socket | None:
    """Connect to the process that listens at a path; return None if there is none, or it belongs to another user."""
    if not hasattr(_socket, "AF_UNIX"):
        return None
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout)
        sock.connect(path)
        if peer_is_us(sock):
            return sock
    except OSError:
        pass
    sock.close()
    return None


def peer_is_us(sock: Any) -> bool:
    """Return whether the process at the other end runs as this user."""
    if hasattr(_socket, "SO_PEERCRED"):
        uid = int.from_bytes(sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)[4:8], sys.byteorder)
    elif hasattr(_socket, "LOCAL_PEERCRED"):  # macOS and the BSDs: a version, then the user
        uid = int.from_bytes(sock.getsockopt(0, _socket.LOCAL_PEERCRED, 76)[4:8], sys.byteorder)
    else:
        return False
    return bool(uid == os.getuid())


def ask(path: str, request: dict[str, Any], timeout: float) -> dict[str, Any] | None:
    """Send a request to the daemon and return its answer, or None if there is none in time."""
    deadline = time.monotonic() + timeout
    sock = connect(path, min(timeout, 0.25))
    if sock is None:
        return None
    try:
        sock.settimeout(timeout)
        sock.sendall(json.dumps(request, separators=(",", ":")).encode() + b"\n")
        return answer_on(sock, deadline)
    except (OSError, ValueError):
        return None
    finally:
        sock.close()


def answer_on(sock: _socket.socket, deadline: float) -> dict[str, Any] | None:
    """Read one line from the socket and return its JSON object, or None if none comes in time."""
    data = b""
    while not data.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or len(data) > MOST_LINE:
            return None
        sock.settimeout(left)
        chunk = sock.recv(_CHUNK)
        if not chunk:
            return None
        data += chunk
    answer = json.loads(data)
    return answer if isinstance(answer, dict) else None
