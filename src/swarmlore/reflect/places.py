"""The folders that proposals add to, touched with care: the project, the learnings of the user, the user's agents.

A repository is not trusted: no symbolic link is followed, and nothing is written but under these folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from swarmlore.domain.records import Edit
from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.reflect import agents
from swarmlore.reflect.scanning import home_of
from swarmlore.workspace.files import Folder

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT, LEARNINGS, HOME = "project", "learnings", "home"
MOST_BYTES = 1_000_000  # of a file that is added to
# What a client reads in every session of a project, best first: the first that exists, else the first of all.
INSTRUCTIONS = {
    "claude": ("CLAUDE.md", "AGENTS.md"),
    "gemini": ("GEMINI.md", "AGENTS.md", "CLAUDE.md"),
    "copilot": ("AGENTS.md", ".github/copilot-instructions.md", "CLAUDE.md"),
}
ANY_CLIENT = ("AGENTS.md", "CLAUDE.md")
_USUAL = (".claude", ".copilot", ".config/opencode", ".gemini", ".codex")
SKILLS = ".agents/skills/{}/SKILL.md"


class Places:
    """Where the files of one project and of its user are."""

    def __init__(self, project: str, learnings: str, home: str, clients: Mapping[str, str] | None = None) -> None:
        own = clients if clients is not None else agents.own_folders({}, home)
        self._roots = {PROJECT: project, LEARNINGS: learnings, HOME: home, **own}

    @classmethod
    def of(cls, project: str, env: Mapping[str, str]) -> Places:
        from swarmlore.note_places import learnings_root

        home = home_of(env)
        return cls(project, learnings_root(env, home), home, agents.own_folders(env, home))

    def root(self, place: str) -> str:
        return self._roots[place]

    def full(self, edit: Edit) -> str:
        return os.path.join(self._roots[edit.place], *edit.path.split("/"))

    def shown(self, edit: Edit) -> str:
        """A path as people write it."""
        if edit.place == PROJECT:
            return edit.path
        full, home = self.full(edit), self._roots[HOME].rstrip("/")
        return "~" + full.removeprefix(home) if full.startswith(home + "/") else full

    def read(self, place: str, path: str) -> str | None:
        """The text of a file, or None where there is none; refuses what leads elsewhere, is too large or no text."""
        with self._folder(place, path) as (folder, name):
            if folder is None:
                return None
            return text_in(folder, name)

    def exists(self, place: str, path: str) -> bool:
        """Whether there is a real file that can be added to."""
        try:
            return self.read(place, path) is not None
        except (NotAllowed, InvalidInput):
            return False

    @contextmanager
    def changing(self, edit: Edit) -> Iterator[tuple[Folder, str]]:
        """The folder of a file, made where it is missing and locked, and the file's name there."""
        if edit.place == LEARNINGS:
            os.makedirs(self._roots[LEARNINGS], mode=0o700, exist_ok=True)
        with self._folder(edit.place, edit.path, make=True) as (folder, name):
            assert folder is not None  # it was made
            with folder.lock():
                yield folder, name

    @contextmanager
    def _folder(self, place: str, path: str, *, make: bool = False) -> Iterator[tuple[Folder | None, str]]:
        *above, name = _parts(place, path)
        with ExitStack() as opened:
            root = self._roots[place]
            if not os.path.isdir(root):
                yield None, name
                return
            folder = opened.enter_context(Folder(os.path.realpath(root)))
            for part in above:
                inner = folder.inside(part, make=make)
                if inner is None:
                    yield None, name
                    return
                folder = opened.enter_context(inner)
            yield folder, name

    def agent_file(self, name: str, client: str = "") -> tuple[str, str] | None:
        """Where the file of a named agent lies."""
        return agents.agent_file(self, name, client)

    def agents(self) -> list[str]:
        """The names of agents that have a file."""
        return agents.agents(self)

    def instructions(self, client: str) -> str:
        """The file that a client reads in every session of the project: one that exists, else its own."""
        names = INSTRUCTIONS.get(client, ANY_CLIENT)
        return next((name for name in names if self.exists(PROJECT, name)), names[0])


def text_in(folder: Folder, name: str) -> str | None:
    """The text of a file in a folder; None where there is none."""
    file = folder.open(name)
    if file is None:
        return None
    with file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"{folder.path}/{name} is larger than {MOST_BYTES // 1000} KB", "make it shorter")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(f"{folder.path}/{name} is not UTF-8 text", "convert it: iconv -t UTF-8") from None


def _parts(place: str, path: str) -> list[str]:
    """The names on the way to a file; one that leads out of its place is refused."""
    parts = path.split("/")
    if place not in (PROJECT, LEARNINGS) and not _is_agents(place, path):
        raise NotAllowed(f"{path} is no place of an agent's file", "name an agent of yours")
    if any(part in ("", ".", "..", ".git") or "\0" in part or "\\" in part for part in parts):
        raise NotAllowed(f"{path!a} leads elsewhere", "name a file inside of the project")
    return parts


def _is_agents(place: str, path: str) -> bool:
    """Whether a path in the user's home, or in a client's folder there, is one of an agent's file."""
    if place != HOME:
        return agents.is_place(path)
    return any(path.startswith(f"{folder}/agents/") for folder in _USUAL)
