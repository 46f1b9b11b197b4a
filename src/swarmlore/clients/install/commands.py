"""Build the commands by which clients start our hooks and our server, and recognise them in their files."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Sequence

from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any

PROGRAM = "swarmlore"
SERVER = "swarmlore"  # name of the MCP server's entry, and prefix of its tools
_OPTIONS = ("--home", "--socket", "--spool")
_PARTING = {";", "&", "|", "||", "&&", "|&", ";;", "(", ")"}  # tokens that separate two commands of a shell
# In a repository the same line also runs on machines without this program: there it must do nothing.
_IF_THERE = f"command -v {PROGRAM} >/dev/null 2>&1"
_OR_NOT = " || true"
# What a failing hook does to a client; hooks fail if the program is gone or killed. Other clients carry on.
_STOPPED = {"gemini": "Gemini CLI answers no prompt", "copilot": "Copilot CLI refuses to view and edit files"}


@frozen
class Target:
    """Program and home that entries point to; empty for entries that use whatever a machine has."""

    program: str = ""
    home: str = ""
    socket: str = ""
    spool: str = ""
    tools: tuple[str, ...] = ()  # tool sets of the server; empty for the default one


@frozen
class Call:
    """Entry found in a file: the program it starts, and the home it names."""

    program: str
    home: str = ""


def hook_line(client: str, event: str, target: Target) -> str:
    """Return the shell command of one hook."""
    if not target.program:
        return f"{_IF_THERE} && {PROGRAM} hook {client} {event} || true"
    words = [target.program, "hook", client, event, "--home", target.home]
    return unfailing(client, shlex.join([*words, "--socket", target.socket, "--spool", target.spool]))[0]


def unfailing(client: str, line: str) -> tuple[str, str]:
    """Return a hook's command so that its failure cannot stop the client, and what the old command did ('' if
    nothing)."""
    stopped = "" if line.endswith(_OR_NOT) else _STOPPED.get(client, "")
    return (f"{line}{_OR_NOT}", stopped) if stopped else (line, "")


def server(client: str, target: Target) -> dict[str, Any]:
    """Return the program and the arguments of the MCP server."""
    tools = ["--tools", ",".join(target.tools)] if target.tools else []
    if not target.program:
        start = f"if {_IF_THERE}; then exec {' '.join([PROGRAM, 'mcp', '--client', client, *tools])}; fi"
        return {"command": "sh", "args": ["-c", start]}
    return {"command": target.program, "args": ["mcp", "--client", client, "--home", target.home, *tools]}


def lines_command(client: str, target: Target) -> list[str]:
    """Return the command that starts one process for all hooks of a running client."""
    if not target.program:
        return [PROGRAM, "hook", client, "--lines"]
    places = ["--home", target.home, "--socket", target.socket, "--spool", target.spool]
    return [target.program, "hook", client, "--lines", *places]


def hook_call(line: object, client: str) -> Call | None:
    """Parse our hook for this client from a shell command; None if the command is another or does more."""
    words, guard = _words(line), _words(f"{_IF_THERE} &&")
    words = words[len(guard) :] if words[: len(guard)] == guard else words
    words = words[:-2] if words[-2:] == _OR_NOT.split() else words
    return None if _PARTING & set(_without_values(words)) else words_call(words, client)


def words_call(words: Sequence[str], client: str) -> Call | None:
    """Parse our hook for this client from a command split into words."""
    for at in range(len(words) - 2):
        if _is_program(str(words[at])) and list(words[at + 1 : at + 3]) == ["hook", client]:
            return Call(str(words[at]), _option(words[at + 3 :], "--home"))
    return None


def server_call(entry: object) -> Call | None:
    """Parse our server from an MCP entry; None if it is another server."""
    if not isinstance(entry, dict):
        return None
    args, command = entry.get("args"), entry.get("command", "")
    begun = command if isinstance(command, list) else [command]  # some clients use one list for command and arguments
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
    except ValueError:  # unclosed quotes
        return []


def _is_program(word: str) -> bool:
    return os.path.basename(word.replace("\\", "/")).removesuffix(".exe") == PROGRAM


def _without_values(words: Sequence[str]) -> list[str]:
    """Return the words without the values of our options: a path may look like a shell token."""
    return [word for before, word in zip(("", *words), words, strict=False) if before not in _OPTIONS]


def _option(words: Sequence[str], name: str) -> str:
    after = words[words.index(name) + 1 :] if name in words else ()
    return str(after[0]) if after else ""


SEAL = "// unchanged: "
_COMMAND = r"(?m)^const COMMAND = (\[.*\])$"


def sealed(text: str) -> str:
    """Return a script with its checksum in the last line."""
    return f"{text}{SEAL}{_digest(text)}\n"


def sealed_call(content: bytes | None, client: str) -> Call | None:
    """Parse the command in a script of ours; None if the script is foreign or was changed."""
    text = _text(content)
    body, _, seal = text.rpartition(SEAL)
    found = re.search(_COMMAND, body)
    if found is None or seal.strip() != _digest(body):
        return None
    try:
        words = json.loads(found[1])
    except ValueError:
        return None
    return words_call(words, client) if isinstance(words, list) else None


def same_script(content: bytes | None, text: str) -> bool:
    """Return whether both scripts are the same apart from the command they start."""
    return _digest(_text(content)) == _digest(text)


def _text(content: bytes | None) -> str:
    """Return the script as it was written; git may have changed its line ends."""
    return (content or b"").decode("utf-8", "replace").replace("\r\n", "\n")


def _digest(text: str) -> str:
    from hashlib import sha256

    return sha256(re.sub(_COMMAND, "", text, count=1).encode()).hexdigest()
