"""Clones of one project, each with a home of its own, that exchange only the files of their ledger."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from conftest import ALICE, NOW, quick_env
from swarmlore.domain.records import Caller
from swarmlore.lore import Lore

FILES = ("knowledge.jsonl", "knowledge-quarantined.jsonl")


class Clock:
    """A clock that goes on by a second whenever it is looked at."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


class Clone:
    """A working copy and the memory of whoever works in it."""

    def __init__(self, folder: Path, clock: Any = None, caller: Caller = ALICE, init: bool = True) -> None:
        self.root = folder / "work"
        self.home = folder / "home"
        self.root.mkdir(parents=True, exist_ok=True)
        self.clock = clock or Clock()
        self.caller = caller
        if init:
            with self.open() as lore:
                lore.init()

    def open(self, **env: str) -> Lore:
        return Lore.open(self.home, cwd=self.root, caller=self.caller, env=quick_env(**env), clock=self.clock)

    @property
    def file(self) -> Path:
        return self.root / ".swarm" / "knowledge.jsonl"

    def content(self) -> dict[str, bytes]:
        found = {name: self.root / ".swarm" / name for name in FILES}
        return {name: path.read_bytes() for name, path in found.items() if path.exists()}

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.file.read_bytes().splitlines()] if self.file.exists() else []

    def write(self, *lines: bytes | dict[str, Any]) -> None:
        made = [json.dumps(line).encode() if isinstance(line, dict) else line for line in lines]
        self.file.write_bytes(b"".join(line + b"\n" for line in made))

    def sync(self) -> Any:
        with self.open() as lore:
            return next(iter(lore.sync().values()))

    def remember(self, text: str, **facts: Any) -> str:
        with self.open() as lore:
            return str(lore.remember(text, **facts).memory.id)

    def git(self, *words: str, check: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        return git(self.root, *words, check=check, **env)


def git(root: Path, *words: str, check: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *who, *words], cwd=root, capture_output=True, text=True, env={**kept, **env}, check=False, timeout=60
    )
    assert not check or done.returncode == 0, done.stderr
    return done
