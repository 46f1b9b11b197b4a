"""The command line in tests: `run` in this process, `process` in one of its own; both in a world of their own."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from swarmlore.main import main

AGENT_VARIABLES = ("CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "OPENCODE", "GEMINI_CLI", "COPILOT_CLI")


@dataclass
class Reply:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Reply]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a project of their own, without vectors and without whatever the outer environment says."""
    of_ours = ("SWARMLORE_AGENT", "SWARMLORE_PROJECT", "SWARMLORE_ROLE", "LEARNINGS_HOME", "GLOBAL_LEARNINGS_PATH")
    for name in (*AGENT_VARIABLES, "NO_COLOR", "COLUMNS", *of_ours):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SWARMLORE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SWARMLORE_EMBEDDER_KIND", "none")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "user").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


@pytest.fixture
def run(world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def call(*words: str, stdin: bytes = b"") -> Reply:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(words)
        out, err = capsys.readouterr()
        return Reply(code, out, err)

    return call


def process(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The same program as a process of its own."""
    return subprocess.run(command(words), capture_output=True, text=True, timeout=60, check=False, **options)


def command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-c", "import sys; from swarmlore.main import main; sys.exit(main())", *words]
