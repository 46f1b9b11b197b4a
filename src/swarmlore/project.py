"""Which project a folder belongs to, found by reading `.git` files: no subprocess, no network.

A project is its normalised `origin` address without user info, else its git common directory, else the folder itself.
Worktrees and clones of one repository are one project.
"""

from __future__ import annotations

import os
import re

from swarmlore.frozen import frozen

_DEFAULT_PORT = re.compile(r":(?:22|80|443|9418)$")
_SCP = re.compile(r"(?:[^@/]*@)?([^:/]+):(?!//)(.+)")
_STACKS = {
    "pyproject.toml": "python",
    "setup.py": "python",
    "requirements.txt": "python",
    "package.json": "node",
    "tsconfig.json": "typescript",
    "deno.json": "deno",
    "bun.lockb": "bun",
    "Cargo.toml": "rust",
    "go.mod": "go",
    "pom.xml": "java",
    "build.gradle": "java",
    "build.gradle.kts": "kotlin",
    "Gemfile": "ruby",
    "composer.json": "php",
    "Package.swift": "swift",
    "mix.exs": "elixir",
    "CMakeLists.txt": "cpp",
    "Dockerfile": "docker",
}


@frozen
class Project:
    id: str
    root: str

    @property
    def name(self) -> str:
        """The last part of the id, for people."""
        return self.id.rstrip("/").rsplit("/", 1)[-1]


def find_project(folder: str) -> Project:
    """The project that a folder lies in."""
    folder = os.path.realpath(folder)
    root = folder
    while True:
        git = os.path.join(root, ".git")
        if os.path.exists(git):
            return Project(_text(_identity(git, root)), root)
        parent = os.path.dirname(root)
        if parent == root:
            return Project(_text(folder), folder)
        root = parent


def _text(path: str) -> str:
    """A path as text that can be stored; bytes that are none are written as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def normalise_remote(url: str) -> str:
    """A remote's address as an identity: host and path, without scheme, user, port of the scheme and `.git`."""
    url = url.strip()
    if "://" in url:
        host, _, path = url.split("://", 1)[1].partition("/")
        host = _DEFAULT_PORT.sub("", host.rsplit("@", 1)[-1])
    elif match := _SCP.fullmatch(url):
        host, path = match.groups()
    else:
        return os.path.realpath(url)
    path = path.strip("/").removesuffix(".git").rstrip("/")
    return f"{host.lower()}/{path}" if host else "/" + path


def stacks(root: str) -> tuple[str, ...]:
    """The technologies whose manifests lie in a project's root."""
    found = {stack for name, stack in _STACKS.items() if os.path.exists(os.path.join(root, name))}
    return tuple(sorted(found))


def _identity(git: str, root: str) -> str:
    common = _common_dir(_git_dir(git))
    if not common:
        return root
    remote = _origin(os.path.join(common, "config"))
    return normalise_remote(remote) if remote else os.path.realpath(common)


def _git_dir(git: str) -> str:
    """`.git` is a folder, or a file that names one (worktrees, submodules)."""
    if os.path.isdir(git):
        return git
    line = _first_line(git)
    if not line.startswith("gitdir:"):
        return ""
    return os.path.normpath(os.path.join(os.path.dirname(git), line.removeprefix("gitdir:").strip()))


def _common_dir(git_dir: str) -> str:
    """A worktree's own git folder names the one it shares with the others."""
    if not git_dir or not os.path.isdir(git_dir):
        return ""
    named = _first_line(os.path.join(git_dir, "commondir"))
    return os.path.normpath(os.path.join(git_dir, named)) if named else git_dir


def _origin(config: str) -> str:
    section = ""
    for line in _lines(config):
        text = line.strip()
        if text.startswith("["):
            section = text.lower().replace(" ", "")
        elif section == '[remote"origin"]' and text.partition("=")[0].strip().lower() == "url":
            return text.partition("=")[2].strip().strip('"')
    return ""


def _first_line(path: str) -> str:
    lines = _lines(path)
    return lines[0].strip() if lines else ""


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(65536).splitlines()
    except OSError:
        return []
