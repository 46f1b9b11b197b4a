"""Running hooks as a client does: a process, a payload on its input, an answer on its output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from swarmlore.hooks import spool
from swarmlore.hooks.places import socket_path, spool_dir
from waiting import wait_until

SHARED = Path(__file__).parents[2] / "shared"


def payload(event: str, session: str = "s1", **facts: object) -> dict[str, object]:
    """What Claude Code sends, in short."""
    return {"session_id": session, "hook_event_name": event, **facts}


class Hooks:
    """The hooks of one home, run in one folder."""

    def __init__(self, home: Path, folder: Path, **env: str) -> None:
        self.home = home
        self.folder = folder
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
        return [sys.executable, "-m", "swarmlore", "hook", client, event, *places]

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
        wait_until(lambda: not spool.waits(spool_dir(str(self.home))), "all events are digested", self.problems)

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
