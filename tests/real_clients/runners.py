"""The clients as a user runs them without a screen: a prompt in, a session out."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from real_clients.fetch import package, program
from real_clients.model import Request, Step
from real_clients.world import World

PATIENCE_S = 90
AGENT_ID = r'"agent_id":"([^"]+)"'
RECALL = r"swarmlore[_-]{1,2}recall$"  # every client puts its own words before the name of a tool
SUMMARY = "<analysis>short</analysis><summary>The form was talked about.</summary>"


@dataclass(frozen=True)
class Session:
    """What became of one run."""

    id: str
    code: int
    out: str
    err: str
    requests: tuple[Request, ...]

    @property
    def first(self) -> Request:
        """The first request that a person's prompt led to; titles and the like offer no tools."""
        return next(request for request in self.requests if request.offers)


class Client:
    """One client in one world. `run` fails where the script was not followed to its end."""

    name = ""
    has_sub_agents = True  # and tells their hooks of them
    wrapped = True  # npm installs a script that starts the program, and may not pass on a signal
    compacts = True  # where nobody sits before a screen

    def __init__(self, world: World) -> None:
        self.world = world

    def run(self, prompt: str, *steps: Step, resume: str = "", options: Sequence[str] = ()) -> Session:
        self.world.model.play(steps)
        code, out, err = self._wait(self.start(prompt, resume=resume, options=options))
        model = self.world.model
        session = Session(self.session_of(out), code, out, err, tuple(model.requests))
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
        own = f"/proc/{running.pid}/task/{running.pid}/children"
        return [running.pid, *(map(int, Path(own).read_text().split()) if self.wrapped else ())]

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

    def use(self, skill: str, words: str, *steps: Step) -> Session:
        """A person calls a skill by its name, with some words behind it."""
        raise NotImplementedError

    def compact(self, begun: Session, about: str) -> Session:
        """The next run of a session about something, whose context is cut to a summary before its first request."""
        raise NotImplementedError


class Claude(Client):
    name = "claude"
    wrapped = False

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

    def use(self, skill: str, words: str, *steps: Step) -> Session:
        return self.run(f"/{skill} {words}", *steps)

    def compact(self, begun: Session, about: str) -> Session:
        self.run("/compact", Step(SUMMARY, when="Do NOT call any tools"), resume=begun.id)
        return self.run("Go on", Step("Going on."), resume=begun.id)


class Codex(Client):
    name = "codex"
    waits = True  # for the server: else its tools now and then miss the first request, and a script cannot go on

    def words(self, prompt: str, resume: str, options: Sequence[str]) -> list[str]:
        # A person trusts the hooks once, on the client's screen; there is no screen here. With plugins each run would
        # wait four seconds for a server that it cannot reach.
        begin = ["exec", "--json", "--dangerously-bypass-hook-trust", "--disable", "plugins", *options]
        if self.waits and "[mcp_servers.swarmlore]" in (self.world.home / ".codex" / "config.toml").read_text():
            begin += ["-c", "mcp_servers.swarmlore.required=true"]
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

    def use(self, skill: str, words: str, *steps: Step) -> Session:
        return self.run(f"${skill} {words}", *steps)

    def compact(self, begun: Session, about: str) -> Session:
        limit = ("-c", "model_auto_compact_token_limit=1000")
        summary = Step(SUMMARY, when="(?i)summary")
        return self.run("Go on", summary, Step("Going on."), resume=begun.id, options=limit)


class Gemini(Client):
    name = "gemini"
    has_sub_agents = False  # its own are called as tools, of which the hooks of a session are told

    def words(self, prompt: str, resume: str, options: Sequence[str]) -> list[str]:
        again = ["--resume", resume] if resume else []
        form = ["--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust", "-m", "gemini-2.5-pro"]
        return [*form, *again, *options, "-p", prompt]

    def env(self) -> dict[str, str]:
        return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": self.world.model.url, "NO_BROWSER": "1"}

    def session_of(self, out: str) -> str:
        return _first(r'"session_id":"([^"]+)"', out)

    def shell(self, command: str, **more: Any) -> Step:
        return Step(tool="^run_shell_command$", args={"command": command, "description": "run it"}, **more)

    def use(self, skill: str, words: str, *steps: Step) -> Session:
        """It knows the name as a command only on its screen; there it does the same."""
        return self.run(f"Use the skill {skill}: {words}", Step(tool="^activate_skill$", args={"name": skill}), *steps)

    def compact(self, begun: Session, about: str) -> Session:
        """It sums up the older part of what is long enough, between two requests, when the model says it is full."""
        long = [" ".join(f"word{number}" for number in range(start, start + 2000)) for start in (0, 5000)]
        self.run(f"Think about {long[0]}", Step(f"I thought about {long[1]}"), resume=begun.id)
        snapshot = "<state_snapshot>The form was talked about.</state_snapshot>"
        summary = (Step(snapshot, when="generate the updated <state_snap"), Step(snapshot, when="Critically evaluate"))
        full = self.shell("echo ok", tokens=900_000)
        self.run(about, full, *summary, Step("Done."), resume=begun.id)
        return self.run("Go on", Step("Going on."), resume=begun.id)


class Copilot(Client):
    name = "copilot"

    def words(self, prompt: str, resume: str, options: Sequence[str]) -> list[str]:
        again = ["--resume", resume] if resume else []
        return [*again, *options, "--allow-all-tools", "--output-format", "json", "-p", prompt]

    def env(self) -> dict[str, str]:
        return {
            "COPILOT_HOME": str(self.world.home / ".copilot"),
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": f"{self.world.model.url}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "scripted",
            "XDG_CACHE_HOME": str(package("copilot").folder / ".cache"),  # it unpacks itself there, 235 MB
        }

    def session_of(self, out: str) -> str:
        return _first(r'"sessionId":"([^"]+)"', out)

    def shell(self, command: str, **more: Any) -> Step:
        return Step(tool="^bash$", args={"command": command, "description": "run it"}, **more)

    def delegate(self, task: str) -> list[Step]:
        args = {"description": "a task", "prompt": task, "agent_type": "general-purpose", "name": "helper"}
        return [Step(tool="^task$", args=args)]

    def use(self, skill: str, words: str, *steps: Step) -> Session:
        return self.run(f"/{skill} {words}", Step(tool="^skill$", args={"skill": skill}), *steps)

    def compact(self, begun: Session, about: str) -> Session:
        self.run("/compact", resume=begun.id)
        return self.run("Go on", Step("Going on."), resume=begun.id)


class OpenCode(Client):
    name = "opencode"
    wrapped = False
    fits = 0  # tokens in the context, where another number than in its settings

    def words(self, prompt: str, resume: str, options: Sequence[str]) -> list[str]:
        return ["run", "--format", "json", *(["--session", resume] if resume else []), *options, prompt]

    def env(self) -> dict[str, str]:
        quiet = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        model = {"tool_call": True, "limit": {"context": self.fits, "output": 500}}
        changed = {"provider": {"scripted": {"models": {"scripted": model}}}} if self.fits else {}
        return {
            **{f"OPENCODE_DISABLE_{what}": "1" for what in quiet},
            **({"OPENCODE_CONFIG_CONTENT": json.dumps(changed)} if changed else {}),
        }

    def session_of(self, out: str) -> str:
        return _first(r'"sessionID":"([^"]+)"', out)

    def shell(self, command: str, **more: Any) -> Step:
        return Step(tool="^bash$", args={"command": command, "description": "run it"}, **more)

    def delegate(self, task: str) -> list[Step]:
        return [Step(tool="^task$", args={"description": "a task", "prompt": task, "subagent_type": "general"})]

    def use(self, skill: str, words: str, *steps: Step) -> Session:
        return self.run(words, *steps, options=("--command", skill))

    def compact(self, begun: Session, about: str) -> Session:
        """It compacts by itself where the last answer did not fit any more."""
        self.fits = 4000
        try:
            summary = Step(SUMMARY, when="(?i)summary")
            return self.run("Go on", summary, Step("Going on."), resume=begun.id)
        finally:
            self.fits = 0


CLIENTS: tuple[type[Client], ...] = (Claude, Codex, Gemini, Copilot, OpenCode)


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""
