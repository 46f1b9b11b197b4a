"""OpenCode: one database for all sessions, `opencode.db` in its folder, or a session as `opencode export` writes it.

Such a path has the session behind a #. A message has parts: texts, and tools with what they answered. Parts of ours,
which brought notes into the context, are known by their mark.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping

from swarmlore.clients import transcripts
from swarmlore.clients.transcripts import CONTEXT, OTHER, READ, SHELL, SUMMARY, WRITE, Reader, Tally, Turn, parse
from swarmlore.domain.extraction.user_words import unquoted, unwrap
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.workspace.files import open_own

if TYPE_CHECKING:
    from typing import Any


SUFFIX = ".db"
EXPORT = ".json"
USAGE_MARKS: tuple[bytes, ...] = ()  # its figures come with each event
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
    """A part is complete in itself: a tool's has its call and its answer."""

    def read(self, record: dict[str, Any]) -> Iterator[Turn]:
        message, part = transcripts.inner(record, "message"), transcripts.inner(record, "part")
        made = _tool(part) if part.get("type") == "tool" else _said(message, part)
        if made is not None:
            yield replace(made, sidechain=record.get("sidechain") is True)


def records_of(path: str, most_bytes: int, tally: Tally) -> Iterator[dict[str, Any]]:
    """The parts of a session, oldest first, each with its message."""
    file, _, session = path.rpartition("#")
    if path.endswith(EXPORT):
        yield from _exported(path, tally)
    elif os.path.isabs(file) and file.endswith(SUFFIX) and re.fullmatch(_SESSION, session):
        yield from _kept(file, session, most_bytes, tally)
    else:
        tally.refused = "not the path of a transcript"


def _kept(path: str, session: str, most_bytes: int, tally: Tally) -> Iterator[dict[str, Any]]:
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
    if not found.whole:
        tally.skip("before the part that is read")
    for id, message, _, part in found.parts:
        tally.lines += 1
        about, why = parse(message.encode("utf-8", "replace"))
        held, why_not = parse(part.encode("utf-8", "replace")) if part else (None, "without parts")
        if about is None or held is None:
            tally.skip(why or why_not)
        else:
            yield {"message": {**about, "id": id}, "part": held, "sidechain": bool(found.parent)}


def _exported(path: str, tally: Tally) -> Iterator[dict[str, Any]]:
    file, tally.refused = open_own(path)
    if file is None:
        return
    with file:
        data = file.read(MOST_EXPORT + 1)
    try:
        held = json.loads(data) if len(data) <= MOST_EXPORT else None
    except (ValueError, RecursionError):
        held = None
    messages = held.get("messages") if isinstance(held, dict) else None
    if not isinstance(messages, list):
        tally.refused = "no exported session"
        return
    beside = bool(transcripts.text_of(transcripts.inner(held, "info"), "parentID"))
    for message in messages:
        for part in transcripts.parts_of(message.get("parts") if isinstance(message, dict) else None):
            tally.lines += 1
            yield {"message": transcripts.inner(message, "info"), "part": part, "sidechain": beside}


def _said(message: dict[str, Any], part: dict[str, Any]) -> Turn | None:
    """A text of a person or of the agent; what the client or a plugin wrote is context."""
    text = transcripts.text_of(part, "text")
    if part.get("type") != "text" or not text:
        return None
    at = _moment(transcripts.inner(message, "time"), "created")
    id = transcripts.short(transcripts.text_of(message, "id"))
    if message.get("role") == "assistant":
        summed_up = message.get("summary") is True
        return Turn(
            "user" if summed_up else "assistant", transcripts.said(text), at, id=id, meta=SUMMARY if summed_up else ""
        )
    if transcripts.inner(part, "metadata").get("swarmlore") is True:
        return None
    made_up = part.get("synthetic") is True or part.get("ignored") is True
    typed = "" if made_up else unwrap(unquoted(text))
    return Turn("user", transcripts.said(typed or text), at, id=id, meta="" if typed else CONTEXT)


def _tool(part: dict[str, Any]) -> Turn:
    name, state = transcripts.short(transcripts.text_of(part, "tool")), transcripts.inner(part, "state")
    given = transcripts.inner(state, "input")
    tool = _TOOLS.get(name, OTHER)
    printed, failed = _ended(state)
    return Turn(
        "tool",
        at=_moment(transcripts.inner(state, "time"), "start"),
        tool=tool,
        tool_name=name,
        command=transcripts.command(transcripts.text_of(given, "command")) if tool == SHELL else "",
        files=transcripts.files(_paths(given)),
        output="" if failed else transcripts.output(printed),
        error=transcripts.output(printed) if failed else "",
        failed=failed,
        id=transcripts.short(transcripts.text_of(part, "callID")),
    )


def _ended(state: dict[str, Any]) -> tuple[str, bool | None]:
    """What a tool printed, and whether it failed: a command by its exit code, any other by whether it threw."""
    status = state.get("status")
    if status == "error":
        error = transcripts.text_of(state, "error")
        return error, None if error.startswith(_REFUSED) else True
    code = transcripts.inner(state, "metadata").get("exit")
    bad = isinstance(code, int) and not isinstance(code, bool) and code != 0
    return transcripts.text_of(state, "output"), bad if status == "completed" else None


def _paths(given: dict[str, Any]) -> list[str]:
    patch = transcripts.text_of(given, "patchText", "patch")
    named = transcripts.text_of(given, "filePath", "file_path", "path")
    return [path.strip() for path in re.findall(_PATCHED, patch)] or ([named] if named else [])


def _moment(time: dict[str, Any], name: str) -> float:
    return transcripts.number_of(time, name) / 1000


def usage(record: dict[str, Any]) -> tuple[int, int | None] | None:
    return None


def find(session: str, home: str, env: Mapping[str, str]) -> str:
    """Where a session would be; '' where there is no database."""
    path = os.path.join(folder(home, env), env.get("OPENCODE_DB") or "opencode.db")
    return f"{path}#{session}" if re.fullmatch(_SESSION, session) and os.path.isfile(path) else ""


def folder(home: str, env: Mapping[str, str]) -> str:
    """Where the client keeps everything."""
    return os.path.join(env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share"), "opencode")
