"""Real repositories, made by real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

NEUTRAL = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_ALLOW_PROTOCOL": "file",
}


def git(folder: Path, *words: str) -> str:
    """Run git in a folder, whatever the machine's own settings are; returns what it says."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *words],
        cwd=folder,
        env={**kept, **NEUTRAL},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def a_repository(path: Path, origin: str = "", *, commit: bool = False) -> Path:
    path.mkdir(parents=True)
    git(path, "init", "--quiet")
    if origin:
        git(path, "remote", "add", "origin", origin)
    if commit:
        git(path, "commit", "--quiet", "--allow-empty", "--message", "first")
    return path
