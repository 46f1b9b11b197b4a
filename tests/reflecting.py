"""A project in a repository, its user, and learnings to propose: for tests of reflecting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import NOW, PERSON, engine_env
from repositories import NEUTRAL, a_repository, git
from swarmlore.domain.records import Caller, Proposal
from swarmlore.lore import Lore

RULE = {"route": "behavioral", "text": "Run the whole test suite before each commit", "level": "high"}
NOTE = {
    "route": "knowledge",
    "title": "Workers need the secrets mounted before they start",
    "text": "Wait for the mount of the secrets in entrypoint.sh before the worker starts.",
    "category": "deployment-fixes",
    "tags": ["docker", "secrets"],
    "symptoms": ["KeyError: DATABASE_URL"],
    "root_cause": "The worker reads its configuration before the secrets are mounted.",
    "key_insight": "Wait for the mount of the secrets before the worker starts.",
    "level": "high",
    "entities": [{"name": "entrypoint.sh", "type": "tool", "description": "starts the worker"}],
    "relationships": [{"source": "entrypoint.sh", "target": "KeyError", "type": "solves", "strength": 8}],
}
LINE = {
    "route": "memory",
    "text": "An account is what the customer calls a workspace",
    "section": "Architecture & Patterns",
}
MICRO = {"route": "instinct", "text": "Always use uv here instead of pip", "category": "tooling"}
SKILL = {"route": "skill", "name": "mount-secrets", "title": "Mount secrets first", "text": "When a worker misses its secrets.", "steps": ["Look at the mount", "Wait for it"]}  # fmt: skip
ALL = [RULE, NOTE, LINE, MICRO, SKILL]

Opened = Callable[..., Lore]


class World:
    """One project and its user."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder = folder
        self.project = a_repository(folder / "project", commit=True)
        self.user = folder / "user"
        self.user.mkdir()
        self.env = {**env, "HOME": str(self.user)}
        self._opened: list[Lore] = []

    def open(self, caller: Caller = PERSON, **more: str) -> Lore:
        env = {**self.env, **more}
        lore = Lore.open(self.folder / "home", cwd=self.project, caller=caller, env=env, clock=lambda: NOW)
        self._opened.append(lore)
        return lore

    def close(self) -> None:
        for lore in self._opened:
            lore.close()

    @property
    def learnings(self) -> Path:
        return self.user / ".learnings"

    def write(self, path: str, text: str, *, commit: bool = True) -> Path:
        full = self.project / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8")
        if commit:
            git(self.project, "add", "--", path)
            git(self.project, "commit", "-q", "-m", f"add {path}")
        return full

    def commits(self) -> int:
        return int(git(self.project, "rev-list", "--count", "HEAD"))


@pytest.fixture
def world_of(engine_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The same on either engine."""
    for name, value in NEUTRAL.items():
        monkeypatch.setenv(name, value)
    made = World(tmp_path, engine_env(engine_name))
    yield made
    made.close()


def labels(proposals: tuple[Proposal, ...] | list[Proposal]) -> list[str]:
    return [item.label for item in proposals]


def states(lore: Lore) -> dict[str, str]:
    with lore.acting():
        found = lore.store.proposals(lore.caller)
    return {item.label: item.state for item in reversed(found)}


def answer(lore: Lore, said: str, **which: Any) -> Any:
    reflections = lore.reflections
    return reflections.answer(said, reflections.open(low=True, **which))
