"""The folders that proposals add to, touched with care: the project, the learnings of the user, the user's agents.

A repository is not trusted: no symbolic link is followed, and nothing is written but under these folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.formats.folder import Folder
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.records import Edit
from swarmlore.reflect.scanning import home_of

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT, LEARNINGS, HOME = "project", "learnings", "home"
MOST_BYTES = 1_000_000  # of a file that is added to
# Where clients look for agents of their own, under the project and under the user's home; the first that exists counts.
AGENT_FILES = (
    (PROJECT, ".claude/agents/{}.md"),
    (PROJECT, ".github/agents/{}.agent.md"),
    (PROJECT, ".github/agents/{}.md"),
    (PROJECT, ".opencode/agents/{}.md"),
    (PROJECT, ".opencode/agent/{}.md"),
    (PROJECT, ".gemini/agents/{}.md"),
    (PROJECT, ".codex/agents/{}.md"),
    (HOME, ".claude/agents/{}.md"),
    (HOME, ".copilot/agents/{}.agent.md"),
    (HOME, ".copilot/agents/{}.md"),
    (HOME, ".config/opencode/agents/{}.md"),
    (HOME, ".config/opencode/agent/{}.md"),
    (HOME, ".gemini/agents/{}.md"),
    (HOME, ".codex/agents/{}.md"),
)
_HOME_FOLDERS = tuple(path.partition("{}")[0] for place, path in AGENT_FILES if place == HOME)
# What a client reads in every session of a project, best first.
INSTRUCTIONS = {"claude": ("CLAUDE.md", "AGENTS.md"), "gemini": ("GEMINI.md", "AGENTS.md", "CLAUDE.md")}
ANY_CLIENT = ("AGENTS.md", "CLAUDE.md")
SKILLS = ".agents/skills/{}/SKILL.md"


class Places:
    """Where the files of one project and of its user are."""

    def __init__(self, project: str, learnings: str, home: str) -> None:
        self._roots = {PROJECT: project, LEARNINGS: learnings, HOME: home}

    @classmethod
    def of(cls, project: str, env: Mapping[str, str]) -> Places:
        from swarmlore.note_places import learnings_root

        home = home_of(env)
        return cls(project, learnings_root(env, home), home)

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

    def agent_file(self, name: str) -> tuple[str, str] | None:
        """Where the file of a named agent lies."""
        if not name or name.startswith(".") or any(char in name for char in "/\\\0") or len(name) > 100:
            return None
        listed = ((place, pattern.format(name)) for place, pattern in AGENT_FILES)
        return next((spot for spot in listed if self.exists(*spot)), None)

    def agents(self) -> list[str]:
        """The names of agents that have a file."""
        found: set[str] = set()
        for place, pattern in AGENT_FILES:
            folder, _, ending = pattern.partition("{}")
            try:
                names = os.listdir(os.path.join(self._roots[place], folder))
            except OSError:
                continue
            found |= {name.removesuffix(ending) for name in names[:1000] if name.endswith(ending)}
        return sorted({name.removesuffix(".agent") for name in found})

    def instructions(self, client: str) -> str:
        """The file that a client reads in every session of the project: one that exists, else AGENTS.md."""
        names = INSTRUCTIONS.get(client, ANY_CLIENT)
        return next((name for name in names if self.exists(PROJECT, name)), "AGENTS.md")


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
    if place == HOME and not path.startswith(_HOME_FOLDERS):
        raise NotAllowed(f"{path} is no place of an agent's file", "name an agent of yours")
    if any(part in ("", ".", "..", ".git") or "\0" in part or "\\" in part for part in parts):
        raise NotAllowed(f"{path!a} leads elsewhere", "name a file inside of the project")
    return parts
