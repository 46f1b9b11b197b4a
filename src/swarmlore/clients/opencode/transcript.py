"""Read sessions of OpenCode: from its database `opencode.db`, or from a file written by `opencode export`.

A path into the database ends with `#<session>`. A message has parts: texts, and tool calls with their answers. Parts
that our plugin added to the context are recognised by their metadata.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping

from swarmlore.clients import transcripts as t
from swarmlore.clients.transcripts import CONTEXT, OTHER, READ, SHELL, SUMMARY, WRITE, Reader, Tally, Turn
from swarmlore.domain.extraction.message_text import typed_text, without_quotes
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.workspace.files import open_own

if TYPE_CHECKING:
    from typing import Any

SUFFIX = ".db"
EXPORT = ".json"
USAGE_MARKS: tuple[bytes, ...] = ()  # each event carries the token counts
MOST_EXPORT = 64_000_000
_SESSION = r"ses_[\w-]{4,124}"
_TOOLS = {
    "bash": SHELL,
    **dict.fromkeys(("read", "glob", "grep", "list", "lsp"), READ),
    **dict.fromkeys(("edit", "write", "multiedit", "patch", "apply_patch"), WRITE),
}
_REFUSED = ("Tool execution aborted", "The user rejected", "The user dismissed", "The user has specified a rule")
_PATCHED = r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.{1,1000})$"


class Transcript(Reader):
    """Turn OpenCode's parts into turns; a tool part has both the call and its answer."""

    def read(self, record: dict[str, Any]) -> Iterator[Turn]:
        message, part = t.inner(record, "message"), t.inner(record, "part")
        turn = _tool(part) if part.get("type") == "tool" else _message(message, part)
        if turn is not None:
            yield replace(turn, sidechain=record.get("sidechain") is True)


def records_of(path: str, most_bytes: int, tally: Tally) -> Iterator[dict[str, Any]]:
    """Yield the parts of a session, oldest first, each with its message."""
    file, _, session = path.rpartition("#")
    if path.endswith(EXPORT):
        yield from _from_export(path, tally)
    elif os.path.isabs(file) and file.endswith(SUFFIX) and re.fullmatch(_SESSION, session):
        yield from _from_database(file, session, most_bytes, tally)
    else:
        tally.refused = "not the path of a transcript"


def _from_database(path: str, session: str, most_bytes: int, tally: Tally) -> Iterator[dict[str, Any]]:
    """Yield the parts of a session from the client's database."""
    from swarmlore.errors import StoreBusy, StoreError
    from swarmlore.workspace.foreign_sqlite import opencode_session

    file, tally.refused = open_own(path)
    if file is None:
        return
    file.close()
    try:
        found = opencode_session(path, session, most_bytes)
    except StoreError as error:
        tally.refused, tally.busy = error.message, isinstance(error, StoreBusy)
        return
    if not found.complete:
        tally.skip("before the part that is read")
    for id, message, _, part in found.parts:
        tally.lines += 1
        message_data, why = t.parse(message.encode("utf-8", "replace"))
        part_data, why_not = t.parse(part.encode("utf-8", "replace")) if part else (None, "without parts")
        if message_data is None or part_data is None:
            tally.skip(why or why_not)
        else:
            yield {"message": {**message_data, "id": id}, "part": part_data, "sidechain": bool(found.parent)}


def _from_export(path: str, tally: Tally) -> Iterator[dict[str, Any]]:
    """Yield the parts of an exported session."""
    file, tally.refused = open_own(path)
    if file is None:
        return
    with file:
        data = file.read(MOST_EXPORT + 1)
    try:
        session = json.loads(data) if len(data) <= MOST_EXPORT else None
    except (ValueError, RecursionError):
        session = None
    messages = session.get("messages") if isinstance(session, dict) else None
    if not isinstance(messages, list):
        tally.refused = "no exported session"
        return
    sidechain = bool(t.text_of(t.inner(session, "info"), "parentID"))
    for message in messages:
        for part in t.parts_of(message.get("parts") if isinstance(message, dict) else None):
            tally.lines += 1
            yield {"message": t.inner(message, "info"), "part": part, "sidechain": sidechain}


def _message(message: dict[str, Any], part: dict[str, Any]) -> Turn | None:
    """Return the turn of a text part; texts that the client or a plugin wrote are context."""
    text = t.text_of(part, "text")
    if part.get("type") != "text" or not text:
        return None
    at = _moment(t.inner(message, "time"), "created")
    id = t.clip_name(t.text_of(message, "id"))
    if message.get("role") == "assistant":
        role, meta = ("user", SUMMARY) if message.get("summary") is True else ("assistant", "")
        return Turn(role, t.clip_text(text), at, id=id, meta=meta)
    if t.inner(part, "metadata").get("swarmlore") is True:
        return None
    by_client = part.get("synthetic") is True or part.get("ignored") is True
    typed = "" if by_client else typed_text(without_quotes(text))
    return Turn("user", t.clip_text(typed or text), at, id=id, meta="" if typed else CONTEXT)


def _tool(part: dict[str, Any]) -> Turn:
    name, state = t.clip_name(t.text_of(part, "tool")), t.inner(part, "state")
    given = t.inner(state, "input")
    tool = _TOOLS.get(name, OTHER)
    printed, failed = _ended(state)
    return Turn(
        "tool",
        at=_moment(t.inner(state, "time"), "start"),
        tool=tool,
        tool_name=name,
        command=t.clip_command(t.text_of(given, "command")) if tool == SHELL else "",
        files=t.clean_paths(_paths(given)),
        output="" if failed else t.clip_output(printed),
        error=t.clip_output(printed) if failed else "",
        failed=failed,
        id=t.clip_name(t.text_of(part, "callID")),
    )


def _ended(state: dict[str, Any]) -> tuple[str, bool | None]:
    """Return the output of a tool, and whether it failed: a command by its exit code, others by whether they threw."""
    status = state.get("status")
    if status == "error":
        error = t.text_of(state, "error")
        return error, None if error.startswith(_REFUSED) else True
    code = t.inner(state, "metadata").get("exit")
    bad = isinstance(code, int) and not isinstance(code, bool) and code != 0
    return t.text_of(state, "output"), bad if status == "completed" else None


def _paths(given: dict[str, Any]) -> list[str]:
    patch = t.text_of(given, "patchText", "patch")
    named = t.text_of(given, "filePath", "file_path", "path")
    return [path.strip() for path in re.findall(_PATCHED, patch)] or ([named] if named else [])


def _moment(time: dict[str, Any], name: str) -> float:
    return t.number_of(time, name) / 1000


def usage(record: dict[str, Any]) -> tuple[int, int | None] | None:
    """Return None: the transcript has no token counts."""
    return None


def find(session: str, home: str, env: Mapping[str, str]) -> str:
    """Return the path of a session in the client's database, or '' if there is no database."""
    path = os.path.join(folder(home, env), env.get("OPENCODE_DB") or "opencode.db")
    return f"{path}#{session}" if re.fullmatch(_SESSION, session) and os.path.isfile(path) else ""


def folder(home: str, env: Mapping[str, str]) -> str:
    """Return the client's data folder."""
    return os.path.join(env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share"), "opencode")
