"""Where a client's files are, for a person or for a project; `Client` describes one agent client."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache

from swarmlore.clients.hook.home import socket_path, spool_dir
from swarmlore.clients.install.commands import PROGRAM, Target
from swarmlore.clients.install.entries import File
from swarmlore.errors import InvalidInput, Unavailable
from swarmlore.frozen import frozen

NAMES = ("compound-docs", "instincts", "memory-catcher", "prime", "recall", "reflect", "research", "swarm")
PARTS = {"{{BELONGS}}": "belongs.md", "{{ENDING}}": "ending.md"}  # text shared by several skills
SHARED = ".agents"  # a folder that several clients read; a skill must not be in a client's own folder as well
ABOUT = "a skill, which is a text for the agent to read; it starts nothing"
_TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")


def shared_skills(base: str) -> tuple[File, ...]:
    """Return the skills in the folder that several clients share, below the user's folder or a project."""
    return skill_files(os.path.join(base, SHARED, "skills"), SHARED, f"~/{SHARED}")


def skill_files(folder: str, tool_dir: str, home_tool_dir: str) -> tuple[File, ...]:
    """Return the skills below a folder of a client, with that client's folder names in the text."""
    words = {word: _template("parts", name).rstrip() for word, name in PARTS.items()}
    words |= {"{{TOOL_DIR}}": tool_dir, "{{HOME_TOOL_DIR}}": home_tool_dir}
    return tuple(File(os.path.join(folder, name, "SKILL.md"), text=_filled(name, words), about=ABOUT) for name in NAMES)


def _filled(name: str, words: dict[str, str]) -> str:
    text = _template("skills", name, "SKILL.md")
    for word, value in words.items():
        text = text.replace(word, value)
    return text


@cache
def _template(*names: str) -> str:
    with open(os.path.join(_TEMPLATES, *names), encoding="utf-8") as file:
        return file.read()


RESTART = "Sessions that are running now have to be started again."


@frozen
class Where:
    """One level of installation: `root` is the project's folder, or '' for a person's own files."""

    target: Target
    env: Mapping[str, str]
    root: str = ""

    @property
    def user(self) -> str:
        """Return the user's home folder."""
        return user_folder(self.env)

    def unmoved(self) -> Where:
        """Return the same level as if no variable named another folder."""
        return Where(self.target, {"HOME": self.user}, self.root)

    def config(self, folder: str, variable: str = "") -> str:
        """Return a client's folder: in the project, else as a variable says, else in the user's folder."""
        if self.root:
            return os.path.join(self.root, folder)
        chosen = self.env.get(variable, "") if variable else ""
        return os.path.abspath(os.path.expanduser(chosen)) if chosen else os.path.join(self.user, folder)


@frozen
class Client:
    """An agent client: how it is found, its files, and what is left for the person to do."""

    name: str
    title: str
    folder: Callable[[Where], str]
    files: Callable[[Where], tuple[File, ...]]
    to_do: Callable[[Where], tuple[str, ...]]  # shown until the client's first event

    def is_here(self, env: Mapping[str, str]) -> bool:
        """Return whether this machine has the client: its folder exists, or its program is on the path."""
        import shutil

        return os.path.isdir(self.folder(Where(Target(), env))) or bool(shutil.which(self.name, path=env.get("PATH")))


def for_person(home: str, env: Mapping[str, str], program: str) -> Where:
    """Return the level of a person's files, which point to this program and this home."""
    home = os.path.abspath(home)
    return Where(Target(program, home, socket_path(home), spool_dir(home)), env)


def for_project(root: str, env: Mapping[str, str]) -> Where:
    """Return the level of a project's files, which name no path of this machine."""
    if os.path.realpath(root) == os.path.realpath(user_folder(env)):
        raise InvalidInput(f"{root} is your own folder, not a project", "run it in a project, or without --project")
    return Where(Target(), env, os.path.realpath(root))


def user_folder(env: Mapping[str, str]) -> str:
    """Return the user's home folder."""
    return os.path.abspath(env.get("HOME") or os.path.expanduser("~"))


def find_program(argv0: str, python: str, path: str | None) -> str:
    """Return the absolute path of our executable: the running one, the one next to this Python, or the one on the
    path."""
    import shutil

    sibling = os.path.join(os.path.dirname(python), PROGRAM)
    for candidate in (argv0, sibling, sibling + ".exe", shutil.which(PROGRAM, path=path) or ""):
        plain = os.path.basename(candidate).removesuffix(".exe")
        if plain == PROGRAM and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return os.path.abspath(candidate)
    hint = "install it so that its command is on the PATH: pip install swarmlore, or pipx install swarmlore"
    raise Unavailable("the command swarmlore was not found, and clients have to start it", hint)
