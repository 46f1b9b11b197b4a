"""Claude Code and Codex as a user runs them without a screen: a prompt in, a session out."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clients.fetch import program
from clients.model import Request, Step
from clients.world import World

PATIENCE_S = 90
AGENT_ID = r'"agent_id":"([^"]+)"'


@dataclass(frozen=True)
class Session:
    """What became of one run."""

    id: str
    code: int
    out: str
    err: str
    requests: tuple[Request, ...]
    duration_s: float

    @property
    def first(self) -> Request:
        """The first request that a person's prompt led to; titles and the like offer no tools."""
        return next(request for request in self.requests if request.offers)


class Client:
    """One client in one world. `run` fails where the script was not followed to its end."""

    name = ""

    def __init__(self, world: World) -> None:
        self.world = world

    def run(self, prompt: str, *steps: Step, resume: str = "", options: Sequence[str] = ()) -> Session:
        self.world.model.play(steps)
        begun = time.monotonic()
        code, out, err = self._wait(self.start(prompt, resume=resume, options=options))
        model = self.world.model
        session = Session(self.session_of(out), code, out, err, tuple(model.requests), time.monotonic() - begun)
        assert code == 0, f"{self.name} ended with {code}: {err[-2000:]} {out[-2000:]}"
        assert not model.faults, model.faults
        assert not model.left, f"not asked for: {model.left}; asked: {[r.newest[-200:] for r in session.requests]}"
        return session

    def start(self, prompt: str, *, resume: str = "", options: Sequence[str] = ()) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [program(self.name), *self.words(prompt, resume, options)],
            cwd=self.world.project,
            env={**self.world.env, **self.env()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _wait(self, process: subprocess.Popen[str]) -> tuple[int, str, str]:
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            out, err = process.communicate()
            err += f"\nkilled after {PATIENCE_S} s"
        return process.returncode, out, err

    def pids(self, running: subprocess.Popen[str]) -> list[int]:
        """The processes that are the client itself, without what it started."""
        return [running.pid]

    def words(self, prompt: str, resume: str, options: Sequence[str]) -> list[str]:
        raise NotImplementedError

    def env(self) -> dict[str, str]:
        raise NotImplementedError

    def session_of(self, out: str) -> str:
        raise NotImplementedError

    def shell(self, command: str, **more: Any) -> Step:
        """The model runs a command."""
        raise NotImplementedError

    def delegate(self, task: str) -> list[Step]:
        """The model gives a task to an agent of its own and lets it finish."""
        raise NotImplementedError


class Claude(Client):
    name = "claude"

    def words(self, prompt: str, resume: str, options: Sequence[str]) -> list[str]:
        again = ["--resume", resume] if resume else []
        form = ["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
        return ["-p", prompt, *form, *again, *options]

    def env(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.world.model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",  # it would not let a root user skip permissions otherwise
        }

    def session_of(self, out: str) -> str:
        return _first(r'"session_id":"([^"]+)"', out)

    def shell(self, command: str, **more: Any) -> Step:
        return Step(tool="^Bash$", args={"command": command, "description": "run it"}, **more)

    def delegate(self, task: str) -> list[Step]:
        """It works in the background; its end comes as one more prompt."""
        args = {"description": "a task", "prompt": task, "subagent_type": "general-purpose"}
        return [Step(tool="^(Task|Agent)$", args=args)]


class Codex(Client):
    name = "codex"

    def pids(self, running: subprocess.Popen[str]) -> list[int]:
        """What npm installs is a script that starts the program and passes on every signal but SIGKILL."""
        own = f"/proc/{running.pid}/task/{running.pid}/children"
        return [running.pid, *map(int, Path(own).read_text().split())]

    def words(self, prompt: str, resume: str, options: Sequence[str]) -> list[str]:
        # A person trusts the hooks once, on the client's screen; there is no screen here. With plugins each run would
        # wait four seconds for a server that it cannot reach.
        begin = ["exec", "--json", "--dangerously-bypass-hook-trust", "--disable", "plugins", *options]
        return [*begin, *(["resume", resume] if resume else []), prompt]

    def env(self) -> dict[str, str]:
        return {"CODEX_HOME": str(self.world.home / ".codex"), "SCRIPTED_KEY": "none"}

    def session_of(self, out: str) -> str:
        return _first(r'"thread_id":"([^"]+)"', out)

    def shell(self, command: str, **more: Any) -> Step:
        return Step(tool="^exec_command$", args={"cmd": command}, **more)

    def delegate(self, task: str) -> list[Step]:
        """Whoever does not wait for it ends it."""
        return [
            Step(tool="__spawn_agent$", args={"message": task}),
            Step(tool="__wait_agent$", args=lambda request: {"targets": [_first(AGENT_ID, request.text)]}),
        ]


CLIENTS = (Claude, Codex)


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""
