"""Running hooks as a client does: a process, a payload on its input, an answer on its output."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from swarmlore.clients.hook import main, spool
from swarmlore.clients.hook.home import socket_path, spool_dir
from swarmlore.server import hook_fallback
from swarmlore.server.client import outbox
from waiting import PATIENCE_S, wait_until


def payload(event: str, session: str = "s1", **facts: object) -> dict[str, object]:
    """What Claude Code sends, in short."""
    return {"session_id": session, "hook_event_name": event, **facts}


# A hook with limits of time of its own: on a busy machine it shall say the same as on an idle one.
PROGRAM = """
import os, sys
from swarmlore.clients.hook import main as entry
from swarmlore.server import hook_fallback
entry.CAPTURE_WAIT_S, entry.ANSWER_WAIT_S, entry.LIMIT_S = {capture_s}, {answer_s}, {limit_s}
hook_fallback.WAIT_S, hook_fallback.DIGEST_S = {writer_s}, {digest_s}
if os.environ.get("SWARMLORE_URL"):
    from swarmlore.server.client import outbox
    outbox.ANSWER_S, outbox.SLOW_S, outbox.DEAF_S = {server_s}, {slow_s}, {deaf_s}
from swarmlore.main import main
sys.exit(main())
"""
USUAL = {
    "capture_s": main.CAPTURE_WAIT_S,
    "answer_s": main.ANSWER_WAIT_S,
    "limit_s": main.LIMIT_S,
    "writer_s": hook_fallback.WAIT_S,
    "digest_s": hook_fallback.DIGEST_S,
    "server_s": outbox.ANSWER_S,
    "slow_s": outbox.SLOW_S,
    "deaf_s": outbox.DEAF_S,
}
PATIENT = dict.fromkeys(USUAL, PATIENCE_S)
# Waits as usual for others, is not ended where itself it is slow, and remembers for long who let it wait.
IN_TIME = {**USUAL, "limit_s": PATIENCE_S, "deaf_s": 600.0}


class Hooks:
    """The hooks of one home, run in one folder."""

    def __init__(self, home: Path, folder: Path, **env: str) -> None:
        self.home = home
        self.folder = folder
        self.limits = PATIENT
        self.env = {**os.environ, "SWARMLORE_EMBEDDER_KIND": "none", "COLUMNS": "", **env}  # lines stay whole

    def run(self, event: str, data: object, client: str = "claude") -> str:
        """The answer of a hook; it must succeed and say nothing else."""
        given = {"cwd": str(self.folder), **data} if isinstance(data, dict) else data
        raw = given if isinstance(given, bytes) else json.dumps(given).encode()
        done = subprocess.run(
            self.command(client, event), input=raw, capture_output=True, env=self.env, cwd=self.folder, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        assert done.stderr == b""
        return done.stdout.decode()

    def command(self, client: str, event: str) -> list[str]:
        home = str(self.home)
        places = ["--home", home, "--socket", socket_path(home), "--spool", spool_dir(home)]
        return [sys.executable, "-c", PROGRAM.format(**self.limits), "hook", client, event, *places]

    def context(self, event: str, data: object, client: str = "claude") -> str:
        """The context that a hook adds, or ''."""
        answer = self.run(event, data, client)
        if not answer:
            return ""
        told = json.loads(answer)
        assert set(told) <= {"hookSpecificOutput", "systemMessage"}
        if "hookSpecificOutput" not in told:
            return ""
        assert told["hookSpecificOutput"]["hookEventName"] == event
        return str(told["hookSpecificOutput"]["additionalContext"])

    def wait_until_digested(self) -> None:
        """Until nothing waits any more."""
        wait_until(lambda: not spool.has_events(spool_dir(str(self.home))), "all events are digested", self.problems)

    def spooled(self) -> list[dict[str, object]]:
        path = Path(spool_dir(str(self.home))) / "events.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def problems(self) -> list[dict[str, object]]:
        path = Path(spool_dir(str(self.home))) / "problems.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def content(path: Path) -> bytes:
    """What a file holds; one that is gone by now, as the side files of a store that was closed, holds nothing."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def connections(listener: socket.socket) -> int:
    """How many came to a listener that takes none."""
    listener.setblocking(False)
    count = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            count += 1
    return count
