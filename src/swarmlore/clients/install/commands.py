"""The calls that clients make: how a hook and a server are started, and how such a call is recognised again."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Sequence
from functools import cache

from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


PROGRAM = "swarmlore"
SERVER = "swarmlore"  # the name of the entry, and of the tools behind it
_OPTIONS = ("--home", "--socket", "--spool")
_PARTING = {";", "&", "|", "||", "&&", "|&", ";;", "(", ")"}  # what stands between two commands of a shell
# In a repository the same line runs on machines where this program is not installed: there it does nothing.
_IF_THERE = f"command -v {PROGRAM} >/dev/null 2>&1"
_OR_NOT = " || true"
# What a failing hook does to a client, and one fails where the program is gone or is killed. The others go on.
_STOPPED = {"gemini": "Gemini CLI answers no prompt", "copilot": "Copilot CLI refuses to view and edit files"}


@frozen
class Target:
    """What entries point to: a program and a home of this machine, or with neither whatever a machine has."""

    program: str = ""
    home: str = ""
    socket: str = ""
    spool: str = ""
    tools: tuple[str, ...] = ()  # the sets of tools that a server offers; none means the usual one


@frozen
class Call:
    """An entry as it was found: the program it starts and the home that it names."""

    program: str
    home: str = ""


def hook_line(client: str, event: str, target: Target) -> str:
    """The shell line of one hook."""
    if not target.program:
        return f"{_IF_THERE} && {PROGRAM} hook {client} {event} || true"
    words = [target.program, "hook", client, event, "--home", target.home]
    return unfailing(client, shlex.join([*words, "--socket", target.socket, "--spool", target.spool]))[0]


def unfailing(client: str, line: str) -> tuple[str, str]:
    """The line of a hook so that it cannot stop the client, and what it did before."""
    stopped = "" if line.endswith(_OR_NOT) else _STOPPED.get(client, "")
    return (f"{line}{_OR_NOT}", stopped) if stopped else (line, "")


def server(client: str, target: Target) -> dict[str, Any]:
    """Program and arguments of the MCP server."""
    tools = ["--tools", ",".join(target.tools)] if target.tools else []
    if not target.program:
        start = f"if {_IF_THERE}; then exec {' '.join([PROGRAM, 'mcp', '--client', client, *tools])}; fi"
        return {"command": "sh", "args": ["-c", start]}
    return {"command": target.program, "args": ["mcp", "--client", client, "--home", target.home, *tools]}


def lines_command(client: str, target: Target) -> list[str]:
    """The words that start one process for all hooks of a client that runs."""
    if not target.program:
        return [PROGRAM, "hook", client, "--lines"]
    places = ["--home", target.home, "--socket", target.socket, "--spool", target.spool]
    return [target.program, "hook", client, "--lines", *places]


def hook_call(line: object, client: str) -> Call | None:
    """What a hook's line starts, if that is our hook for this client and nothing besides: a line with other commands in
    it is somebody's own."""
    words, guard = _words(line), _words(f"{_IF_THERE} &&")
    words = words[len(guard) :] if words[: len(guard)] == guard else words
    words = words[:-2] if words[-2:] == _OR_NOT.split() else words
    return None if _PARTING & set(_without_values(words)) else words_call(words, client)


def words_call(words: Sequence[str], client: str) -> Call | None:
    """The same of a command that is split into words already."""
    for at in range(len(words) - 2):
        if _is_program(str(words[at])) and list(words[at + 1 : at + 3]) == ["hook", client]:
            return Call(str(words[at]), _option(words[at + 3 :], "--home"))
    return None


def server_call(entry: object) -> Call | None:
    """What an entry of a server starts, if that is ours."""
    if not isinstance(entry, dict):
        return None
    return _server_call(entry)


def _server_call(entry: Mapping[str, Any]) -> Call | None:
    args, command = entry.get("args"), entry.get("command", "")
    begun = command if isinstance(command, list) else [command]  # of some clients one list with everything in it
    words = [str(word) for word in (*begun, *(args if isinstance(args, list) else ()))]
    if words[1:2] == ["-c"] and len(words) == 3:
        words = _words(words[2])
    for at in range(len(words) - 1):
        if _is_program(words[at]) and words[at + 1] == "mcp":
            return Call(words[at], _option(words[at + 2 :], "--home"))
    return None


def _words(line: object) -> list[str]:
    if not isinstance(line, str):
        return []
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # quotes that do not close
        return []


def _is_program(word: str) -> bool:
    return os.path.basename(word.replace("\\", "/")).removesuffix(".exe") == PROGRAM


def _without_values(words: Sequence[str]) -> list[str]:
    """The words but those that follow our options: a path may be called like anything."""
    return [word for before, word in zip(("", *words), words, strict=False) if before not in _OPTIONS]


def _option(words: Sequence[str], name: str) -> str:
    after = words[words.index(name) + 1 :] if name in words else ()
    return str(after[0]) if after else ""


SEAL = "// unchanged: "


def sealed(text: str) -> str:
    """The script with its digest."""
    return f"{text}{SEAL}{_digest(text)}\n"


def sealed_call(content: bytes | None, client: str) -> Call | None:
    """What a script of ours starts; None for one that is not ours, or not any more."""
    text = _text(content)
    body, _, seal = text.rpartition(SEAL)
    found = _command().search(body)
    if found is None or seal.strip() != _digest(body):
        return None
    try:
        words = json.loads(found[1])
    except ValueError:
        return None
    return words_call(words, client) if isinstance(words, list) else None


def same_script(content: bytes | None, text: str) -> bool:
    """Whether both say the same, whatever they start."""
    return _digest(_text(content)) == _digest(text)


def _text(content: bytes | None) -> str:
    """As it was written: git may have given it other line ends."""
    return (content or b"").decode("utf-8", "replace").replace("\r\n", "\n")


def _digest(text: str) -> str:
    from hashlib import sha256

    return sha256(_command().sub("", text, count=1).encode()).hexdigest()


@cache
def _command() -> re.Pattern[str]:
    return re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)
