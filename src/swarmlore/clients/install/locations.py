"""Where a client's files are: those of a person, or those in a project; and what a client is."""

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
PARTS = {"{{BELONGS}}": "belongs.md", "{{ENDING}}": "ending.md"}  # what several of them say
SHARED = ".agents"  # a folder that several clients read: the same skill there and in their own would be one too many
ABOUT = "a skill, which is a text for the agent to read; it starts nothing"
_TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")


def shared_skills(base: str) -> tuple[File, ...]:
    """The skills in the folder that agents share, in a person's own folder or in a project."""
    return skill_files(os.path.join(base, SHARED, "skills"), SHARED, f"~/{SHARED}")


def skill_files(folder: str, tool_dir: str, home_tool_dir: str) -> tuple[File, ...]:
    """The skills below a folder of a client, with the names of its own folders in them."""
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
    """One level of installation. `root` is the project's folder, or '' for the files of a person."""

    target: Target
    env: Mapping[str, str]
    root: str = ""

    @property
    def user(self) -> str:
        """The person's own folder."""
        return user_folder(self.env)

    def unmoved(self) -> Where:
        """The same where no variable names another place."""
        return Where(self.target, {"HOME": self.user}, self.root)

    def config(self, folder: str, variable: str = "") -> str:
        """A client's folder: in the project, else where a variable says, else in the person's own."""
        if self.root:
            return os.path.join(self.root, folder)
        chosen = self.env.get(variable, "") if variable else ""
        return os.path.abspath(os.path.expanduser(chosen)) if chosen else os.path.join(self.user, folder)


@frozen
class Client:
    """An agent client: how it is found, which files it reads, and what is left for a person to do."""

    name: str
    title: str
    folder: Callable[[Where], str]
    files: Callable[[Where], tuple[File, ...]]
    to_do: Callable[[Where], tuple[str, ...]]  # until its first event has come

    def is_here(self, env: Mapping[str, str]) -> bool:
        """Whether this machine has it: its folder is there, or its program is on the path."""
        import shutil

        return os.path.isdir(self.folder(Where(Target(), env))) or bool(shutil.which(self.name, path=env.get("PATH")))


def for_person(home: str, env: Mapping[str, str], program: str) -> Where:
    """The files of the person, pointing to this program and this home."""
    home = os.path.abspath(home)
    return Where(Target(program, home, socket_path(home), spool_dir(home)), env)


def for_project(root: str, env: Mapping[str, str]) -> Where:
    """The files of a project, which name no path of this machine."""
    if os.path.realpath(root) == os.path.realpath(user_folder(env)):
        raise InvalidInput(f"{root} is your own folder, not a project", "run it in a project, or without --project")
    return Where(Target(), env, os.path.realpath(root))


def user_folder(env: Mapping[str, str]) -> str:
    return os.path.abspath(env.get("HOME") or os.path.expanduser("~"))


def find_program(argv0: str, python: str, path: str | None) -> str:
    """The absolute path of our own executable: what runs now, what is beside this Python, or what is on the path."""
    import shutil

    beside = os.path.join(os.path.dirname(python), PROGRAM)
    for candidate in (argv0, beside, beside + ".exe", shutil.which(PROGRAM, path=path) or ""):
        plain = os.path.basename(candidate).removesuffix(".exe")
        if plain == PROGRAM and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return os.path.abspath(candidate)
    hint = "install it so that its command is on the PATH: pip install swarmlore, or pipx install swarmlore"
    raise Unavailable("the command swarmlore was not found, and clients have to start it", hint)
