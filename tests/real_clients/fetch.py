"""The clients at pinned versions, from npm as this machine has it set up, kept in a cache between runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = "SWARMLORE_TEST_CLIENTS"  # another folder than the one in the checkout
PATIENCE_S = 300
TRIES = 3


@dataclass(frozen=True)
class Package:
    """An npm package, pinned: npm would choose an older one by the version of node, and clients change every week."""

    client: str
    name: str
    version: str

    @property
    def folder(self) -> Path:
        return cache() / f"{self.client}-{self.version}"

    @property
    def program(self) -> Path:
        return self.folder / "node_modules" / ".bin" / self.client


CLIENTS = (
    Package("claude", "@anthropic-ai/claude-code", "2.1.325"),
    Package("codex", "@openai/codex", "0.166.0"),
    Package("gemini", "@google/gemini-cli", "0.61.0"),
    Package("copilot", "@github/copilot", "1.0.102"),
    Package("opencode", "opencode-ai", "1.18.33"),
)


def cache() -> Path:
    return Path(os.environ.get(PLACE) or ROOT / ".cache" / "test-clients").absolute()


def package(client: str) -> Package:
    return next(package for package in CLIENTS if package.client == client)


def program(client: str) -> Path:
    return package(client).program


def is_there(package: Package) -> bool:
    """Whether the program runs and is of the right version: a half-done installation is none."""
    env = {**os.environ, "HOME": str(package.folder)}  # it may leave a file there, not in the user's home
    ask = [str(package.program), "--version"]
    try:
        said = subprocess.run(ask, env=env, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.returncode == 0 and package.version in [word.rstrip(".") for word in said.stdout.split()]


def fetch(package: Package) -> None:
    """Install a client beside its place and move it there when it is whole: runs at the same time do no harm."""
    cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache(), prefix=".new-") as made:
        _install(package, made)
        if is_there(package):  # another run was quicker
            return
        shutil.rmtree(package.folder, ignore_errors=True)
        os.rename(made, package.folder)
        os.mkdir(made)  # for the end of the `with`
    if not is_there(package):
        raise RuntimeError(f"{package.name}@{package.version} was installed, but does not run")


def _install(package: Package, folder: str) -> None:
    """Ask a registry more than once: half a gigabyte does not always come at the first try."""
    words = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=5", "--prefix", folder]
    for left in reversed(range(TRIES)):
        try:
            subprocess.run([*words, f"{package.name}@{package.version}"], check=True, timeout=PATIENCE_S)
        except subprocess.SubprocessError:
            if not left:
                raise
        else:
            return
