"""Identify the project of a folder, and the caller: a person at a terminal, or an agent."""

from __future__ import annotations

import os

from swarmlore.domain.language.display import project_name
from swarmlore.domain.language.git_remotes import is_local, is_windows, local_path, normalise_remote
from swarmlore.frozen import frozen
from swarmlore.workspace import git

MARKER = "swarmlore-project"
SWARM = ".swarm"
LOT = 32  # hexadecimal digits of a random project id
MOST_NAME = 64
MOST_ID = 1_000  # bytes; indexes of PostgreSQL hold 2,700 in all
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
    """Project of a folder: `names` are its lasting identities, strongest first, and `id` is the first of them.

    A path is among the names only if there is nothing better, since another project may lie there tomorrow; it is then
    also in `place`. `found_by` is origin, marker, git or folder. `marker` is the path of the marker file, '' if there
    is no room for one; `mark` is the name in it, or for it; `marked` means that it exists.
    """

    id: str
    root: str
    names: tuple[str, ...]
    found_by: str
    place: str = ""
    marker: str = ""
    mark: str = ""
    marked: bool = False

    @property
    def name(self) -> str:
        """Return the last part of the id, for people."""
        return project_name(self.id)


def find_project(folder: str) -> Project:
    """Return the project that a folder belongs to."""
    folder = os.path.realpath(folder)
    root, common = git.find_repository(folder)
    return _of_repository(root, common) if common else _of_folder(root or folder)


def _of_repository(root: str, common: str) -> Project:
    marker = os.path.join(common, MARKER)
    own = _own_mark(common)
    names, place = _names(common, own, ())
    if not own and place == storable(common) and (earlier := _swarm_mark(root)):
        # Git was added after the memory. With a remote this does not count, since a clone brings files of strangers.
        return Project(earlier, root, (earlier,), "marker", "", marker, earlier)
    found_by = "git" if place == storable(common) else "marker" if names == (own,) else "origin"
    return Project(names[0], root, names, found_by, place, marker, own, bool(own))


def _of_folder(root: str) -> Project:
    place, swarm = storable(root), os.path.join(root, SWARM)
    if not os.path.isdir(swarm) or os.path.islink(swarm):
        return Project(place, root, (place,), "folder", place)
    marker = os.path.join(swarm, MARKER)
    if mark := _swarm_mark(root):
        return Project(mark, root, (mark,), "marker", "", marker, mark, True)
    return Project(place, root, (place,), "folder", place, marker)


def _names(common: str, mark: str, seen: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the names of a repository, strongest first, and which of them is only a path."""
    names, place = _remote_names(common, seen)
    if mark:
        names = tuple(dict.fromkeys((*names, mark)))
    if not names:
        place = storable(common)
        names = (place,)
    return names, place


def _remote_names(common: str, seen: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the names of a repository by its remote: the URL, or the names of the local repository it points to."""
    url = git.remote_url(common)
    if url and is_local(url) and "@" not in url.partition("/")[0]:
        path = local_path(url)
        if not is_windows(path) or os.name == "nt":
            path = os.path.join(git.home_of(common), path)
        there = git.repository_at(path)
        if there and there != common and there not in seen:
            return _names(there, _own_mark(there), (*seen, common))
        url = "" if there else path
    address = _bounded(normalise_remote(os.fsencode(url).decode("utf-8", "backslashreplace"))) if url else ""
    return ((address,) if address else ()), ""


def _own_mark(common: str) -> str:
    """Return the name in a repository's marker; '' if the marker came with a copy that became another project."""
    name, place = read_mark(os.path.join(common, MARKER))
    if not name or place in ("", storable(common)):
        return name
    if read_mark(os.path.join(place, MARKER))[0] != name:
        return name  # the repository was moved
    here, there = git.remote_url(common), git.remote_url(place)
    return "" if here and there and normalise_remote(here) != normalise_remote(there) else name


def _swarm_mark(root: str) -> str:
    swarm = os.path.join(root, SWARM)
    return "" if os.path.islink(swarm) else read_mark(os.path.join(swarm, MARKER))[0]


def read_mark(path: str) -> tuple[str, str]:
    """Return the name in a marker, and the folder it was written for; ('', '') if the marker is invalid."""
    name, _, place = git.read_text(path, follow=False).partition("\n")
    return (name, place.partition("\n")[0]) if is_mark(name) else ("", "")


def is_mark(name: str) -> bool:
    """Return whether a name is a random project id: `app#` and 32 hexadecimal digits."""
    plain, _, lot = name.partition("#")
    return (
        0 < len(plain) <= MOST_NAME
        and plain == plain_name(plain)
        and len(lot) == LOT
        and all(digit in "0123456789abcdef" for digit in lot)
    )


def plain_name(text: str) -> str:
    """Return a folder's name in characters that are safe everywhere."""
    safe = (letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in text)
    return "".join(safe)[:MOST_NAME] or "-"


def storable(path: str) -> str:
    """Return a path as text that can be stored; invalid bytes become escapes."""
    return _bounded(os.fsencode(path).decode("utf-8", "backslashreplace"))


def _bounded(name: str) -> str:
    """Shorten a name to what an index can hold: its beginning, and a hash."""
    if len(name) <= MOST_ID // 4 or len(name.encode()) <= MOST_ID:
        return name
    from hashlib import sha256

    return f"{name[: MOST_ID // 8]}…{sha256(name.encode()).hexdigest()[:LOT]}"


def known_stacks() -> tuple[str, ...]:
    """Return every name that `stacks` can return."""
    return tuple(sorted(set(_STACKS.values())))


def stacks(root: str) -> tuple[str, ...]:
    """Return the technologies whose manifests lie in a project's root."""
    found = {stack for name, stack in _STACKS.items() if os.path.exists(os.path.join(root, name))}
    return tuple(sorted(found))
