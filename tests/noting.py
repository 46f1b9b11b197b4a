"""A project with notes and its user, on both engines; and files as people write them: for tests of notes and of what
is always in an agent's context."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import NOW, engine_env, quick_env
from repositories import git
from swarmlore.domain.records import Caller, Memory
from swarmlore.lore import Lore
from swarmlore.notes import notes

HEAD = """---
title: "{title}"
category: {category}
tags: [rust, tokio]
symptoms:
  - "nested runtime panic on block_on"
root_cause: "Calling block_on inside an async context"
key_insight: "Wrap it in spawn_blocking"
created: "2026-03-16"
confidence: high
language: rust
---
"""
BODY = "\n## Problem\nThe handler starts a second runtime, and tokio refuses that.\n"


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "user"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "docs" / "solutions" / "debugging-sessions").mkdir(parents=True)
    git(folder, "init", "--quiet")
    return folder


@pytest.fixture
def env(engine_name: str, tmp_path: Path) -> dict[str, str]:
    return {**engine_env(engine_name), "HOME": str(tmp_path / "user"), "SWARMLORE_AGENT": "alice"}


@pytest.fixture
def open_lore(env: dict[str, str], tmp_path: Path, project: Path) -> Iterator[Callable[..., Lore]]:
    opened: list[Lore] = []

    def open_(cwd: Path = project, **more: str) -> Lore:
        opened.append(Lore.open(tmp_path / "home", cwd=cwd, env={**env, **more}))
        return opened[-1]

    yield open_
    for lore in opened:
        lore.close()


@pytest.fixture
def notes_lore(open_lore: Callable[..., Lore]) -> Lore:
    return open_lore()


@pytest.fixture
def look_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two looks of one test are nearer to each other than those of a process that stays."""
    monkeypatch.setattr(notes, "EVERY_S", 0.0)


def write(folder: Path, name: str = "debugging-sessions/tokio.md", title: str = "tokio runtime panic", body: str = BODY,
          category: str = "debugging-sessions", place: str = "docs/solutions") -> Path:  # fmt: skip
    path = folder / place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD.format(title=title, category=category) + body, encoding="utf-8")
    return path


def rows(lore: Lore, **more: Any) -> list[Memory]:
    return sorted(lore.list(source="note", limit=1000, **more), key=lambda row: (row.key, row.source_ref["chunk"]))


def titles(lore: Lore) -> list[str]:
    return sorted({row.title for row in rows(lore)})


def opened(tmp_path: Path, folder: Path, caller: Caller) -> Lore:
    """A memory of its own for a folder, whose user has a home beside it."""
    env = quick_env(HOME=str(tmp_path / "user"))
    return Lore.open(tmp_path / "home", cwd=folder, caller=caller, env=env, clock=lambda: NOW)


def put(folder: Path, name: str, text: str | bytes) -> Path:
    """A file below a folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
