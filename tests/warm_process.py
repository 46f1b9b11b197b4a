"""A warm process for tests: the memory of a home behind its socket, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from swarmlore.clients.hook import socket
from swarmlore.clients.hook.home import socket_path
from waiting import PATIENCE_S, wait_until

_PROGRAM = """
import sys
from swarmlore.server import daemon as shared
from swarmlore.server.daemon_lock import acquire
from swarmlore.server.daemon import DaemonMemory
from swarmlore.server.daemon import DaemonServer

shared.ANSWER_S = 60.0  # a busy machine answers as well, only later
home, folder = sys.argv[1:]
memory = DaemonMemory(home, folder, "python", {})
place = acquire(home)
if place is None:
    sys.exit("another process is warm")
server = DaemonServer(place, lambda: memory)
server.start()
sys.stdin.read()
server.close()
memory.close()
"""


def start_warm(home: Path, folder: Path, **env: str) -> subprocess.Popen[bytes]:
    """Start one and wait until it answers."""
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(home), str(folder)],
        stdin=subprocess.PIPE,
        env={**os.environ, "SWARMLORE_EMBEDDER_KIND": "none", **env},
    )

    def answers() -> bool:
        assert process.poll() is None, "the warm process ended"
        return socket.ask(socket_path(str(home)), {"op": "ping"}, 1.0) is not None

    wait_until(answers, "the warm process answers")
    return process


@contextmanager
def warm(home: Path, folder: Path, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    process = start_warm(home, folder, **env)
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """As its client would: by closing its input."""
    if process.stdin:
        process.stdin.close()
    process.wait(PATIENCE_S)
