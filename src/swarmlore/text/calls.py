"""A shell command as a call: what is set up for it, through what it is run, the program, its options and operands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from swarmlore.frozen import frozen, replace
from swarmlore.text.shell import commands

COMMAND_CHARS = 2_000  # longer ones are scripts
MOST_WORDS = 60
LONGEST_WORD = 120

# Programs that only prepare or accompany the call that matters.
_SETTING_UP = frozenset(
    "cd pushd export source . set unset echo true sleep mkdir printf pwd clear ulimit umask".split()
)
# Programs that run another one, alone or with a second word.
_RUNNERS = frozenset("sudo npx bunx uvx xvfb-run nohup time nice doas".split())
_RUNNING = frozenset(
    (
        *(
            "uv run",
            "poetry run",
            "pipenv run",
            "pdm run",
            "hatch run",
            "rye run",
            "pixi run",
            "bundle exec",
            "pnpm exec",
        ),
        *("pnpm dlx", "yarn exec", "npm exec", "mise exec", "direnv exec"),
    )
)
_PYTHONS = ("python", "python3", "py")


@frozen
class Call:
    """One command of a line. `before` are the commands that set it up, each as its words."""

    program: str
    options: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    runner: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    before: tuple[tuple[str, ...], ...] = ()

    @property
    def shown(self) -> str:
        """The call as it can be typed, without its surroundings."""
        return show_words(self.words)


def read_call(command: str) -> Call | None:
    """The call that a command line is about; nothing for scripts and for lines that only set something up."""
    if len(command) > COMMAND_CHARS:
        return None
    before: list[tuple[str, ...]] = []
    for found in commands(command):
        if not found.words or len(found.words) > MOST_WORDS:
            continue
        call = _call(found.words)
        if call and call.program not in _SETTING_UP:
            return replace(call, before=tuple(before))
        before.append(found.words)
    return None


def call_like(command: str, other: Call) -> Call | None:
    """The call of a line that does what another one did: the same program with the same first operand."""
    if len(command) > COMMAND_CHARS:
        return None
    before: list[tuple[str, ...]] = []
    for found in commands(command):
        if not found.words or len(found.words) > MOST_WORDS:
            continue
        call = _call(found.words)
        if call and call.program == other.program and call.operands[:1] == other.operands[:1]:
            return replace(call, before=tuple(before))
        before.append(found.words)
    return None


def set_up(command: str) -> tuple[str, ...]:
    """The words of the first command of a line that does more than move to another folder or speak."""
    if len(command) > COMMAND_CHARS:
        return ()
    if exported := re.fullmatch(r"\s*export (\w{1,60})=[\"']?(\$\([^()`\n]{1,80}\))[\"']?\s*", command):
        return "export", f"{exported[1]}={exported[2]}"  # its value is a command too, but not the one that matters
    every = [found.words for found in commands(command) if found.words and len(found.words) <= MOST_WORDS]
    return next((words for words in every if words[0] not in ("cd", "pushd", "echo", "true", "sleep", "set")), ())


def show_words(words: Sequence[str]) -> str:
    """Words as a command line on one line; empty where they cannot be shown."""
    if any(not word.isprintable() or "`" in word or len(word) > LONGEST_WORD for word in words):
        return ""
    return " ".join(word if word and " " not in word else _quoted(word) for word in words)


def _quoted(word: str) -> str:
    name, sign, value = word.partition("=")
    if word.startswith("$("):
        return f'"{word}"'  # quoted otherwise it would not be replaced
    if sign and name.replace("-", "").isidentifier():
        return f"{name}={_quoted(value)}"
    return f'"{word}"' if "'" in word else f"'{word}'"


def _call(words: tuple[str, ...]) -> Call | None:
    at = 0
    while at < len(words) and is_setting(words[at]):
        at += 1
    settings, rest = words[:at], words[at:]
    runner: tuple[str, ...] = ()
    while size := _runner_size(rest):
        runner, rest = runner + rest[:size], rest[size:]
        while rest and is_setting(rest[0]):
            settings, rest = (*settings, rest[0]), rest[1:]
    if not rest:
        return None
    options = tuple(word for word in rest[1:] if word.startswith("-"))
    operands = tuple(word for word in rest[1:] if not word.startswith("-"))
    return Call(rest[0], options, operands, settings, runner, words)


def _runner_size(words: Sequence[str]) -> int:
    """How many words only run the rest."""
    if len(words) > 2 and words[0].rpartition("/")[2] in _PYTHONS and words[1] == "-m":
        return 2
    if tuple(words[:2]) == ("uv", "pip"):
        return 1
    if len(words) > 2 and " ".join(words[:2]) in _RUNNING:
        return 2
    return 1 if len(words) > 1 and words[0] in _RUNNERS else 0


def is_setting(word: str) -> bool:
    """Whether it sets a variable: NAME=value."""
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()
