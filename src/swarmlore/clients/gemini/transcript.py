"""Read transcripts of Gemini CLI: `tmp/<project>/chats/session-<time>-<start of the session>.jsonl` in its folder.

A record is a message, or a change of earlier ones: `$set` may replace all messages, also after a compression, and
`$rewindTo` takes some back. A message is repeated once its calls have results, so each id counts once. Sub-agents have
files of their own, in a folder named after the session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from zlib import crc32

from swarmlore.clients import transcripts as t
from swarmlore.clients.transcripts import CONTEXT, OTHER, READ, SHELL, SUMMARY, WRITE, Reader, Turn
from swarmlore.domain.extraction.fixes import gemini_ending, without_wrapping
from swarmlore.domain.extraction.message_text import typed_text
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

SUFFIX = ".jsonl"
USAGE_MARKS = (b'"tokens"',)
CUT_MARKS = (b"<state_snapshot>",)
_TOOLS = {
    **dict.fromkeys(("run_shell_command", "shell"), SHELL),
    **dict.fromkeys(("read_file", "read_many_files", "list_directory", "glob", "grep_search"), READ),
    **dict.fromkeys(("write_file", "replace", "edit"), WRITE),
}
_PATHS = ("file_path", "absolute_path", "path")
_SNAPSHOT = "<state_snapshot>"
_ENDED = {"success": False, "error": True}  # any other status: cancelled, or still running
_MOST_IDS = 20_000
_MOST_FOLDERS = 5_000


class Transcript(Reader):
    """Turn Gemini's records into turns, and skip the messages and calls that a record repeats."""

    def __init__(self) -> None:
        super().__init__()
        self._sidechain = False
        self._seen: dict[str, None] = {}

    def read(self, record: dict[str, Any]) -> Iterator[Turn]:
        if "sessionId" in record and "type" not in record:
            self._sidechain = self._sidechain or record.get("kind") == "subagent"
        changed = t.inner(record, "$set").get("messages")
        for message in changed if isinstance(changed, list) else ():
            # A resumed session repeats everything under new ids.
            if isinstance(message, dict) and _text_key(message) not in self._seen:
                yield from self._message(message)
        yield from self._message(record)

    def _message(self, message: dict[str, Any]) -> Iterator[Turn]:
        kind, text = message.get("type"), _text(message.get("content"))
        if kind not in ("user", "gemini"):
            return
        if text and self._is_new(f"said {t.text_of(message, 'id') or _text_key(message)}"):
            self._is_new(_text_key(message))
            yield self._user(text, message) if kind == "user" else self._turn("assistant", text, message, "")
        for call in t.parts_of(message.get("toolCalls")):
            yield from self._called(call, message)

    def _user(self, text: str, message: dict[str, Any]) -> Turn:
        """Return the turn of a user message; results of tools belong to their calls."""
        summed_up = _SNAPSHOT in text
        typed = "" if summed_up else typed_text(text)
        return self._turn("user", typed or text, message, SUMMARY if summed_up else "" if typed else CONTEXT)

    def _called(self, call: dict[str, Any], message: dict[str, Any]) -> Iterator[Turn]:
        id = t.clip_name(t.text_of(call, "id"))
        if call.get("status") not in ("success", "error", "cancelled") or not self._is_new(f"called {id}"):
            return
        name, given = t.clip_name(t.text_of(call, "name")), t.inner(call, "args")
        printed, failed = _ended(call, _TOOLS.get(name, OTHER))
        self._waiting[id] = Turn(
            "tool",
            at=t.time_of(call) or t.time_of(message),
            tool=_TOOLS.get(name, OTHER),
            tool_name=name,
            command=t.clip_command(t.text_of(given, "command")),
            files=t.clean_paths([path for key in _PATHS if (path := t.text_of(given, key))]),
            id=id,
            sidechain=self._sidechain,
        )
        yield self._result(id, printed, failed, t.time_of(message), self._sidechain)

    def _turn(self, role: str, text: str, message: dict[str, Any], meta: str) -> Turn:
        id = t.clip_name(t.text_of(message, "id"))
        return Turn(role, t.clip_text(text), t.time_of(message), id=id, sidechain=self._sidechain, meta=meta)

    def _is_new(self, mark: str) -> bool:
        if mark in self._seen:
            return False
        self._seen[mark] = None
        if len(self._seen) > _MOST_IDS:
            del self._seen[next(iter(self._seen))]
        return True


def _text_key(message: dict[str, Any]) -> str:
    return f"text {crc32(_text(message.get('content')).encode('utf-8', 'replace')):08x}"


def _text(content: Any) -> str:
    """Return the texts of a message; texts that hooks wrapped are removed later."""
    return "\n".join(text for part in t.parts_of(content) if (text := t.text_of(part, "text")))


def _ended(call: dict[str, Any], tool: str) -> tuple[str, bool | None]:
    """Return the output of a call, and whether it failed: for a command by its exit code."""
    result = call.get("result")
    answers = [t.inner(part, "functionResponse", "response") for part in t.parts_of(result)]
    printed = "\n".join(text for answer in answers if (text := t.text_of(answer, "output", "error")))
    printed = t.clip_output(without_wrapping(printed))
    failed = _ENDED.get(str(call.get("status")))
    if tool != SHELL:
        return printed, failed
    body, code = gemini_ending(printed)
    return body, True if code else failed


def usage(record: dict[str, Any]) -> tuple[int, int | None] | None:
    """Return the tokens in the context after an answer; the limit is never reported."""
    if record.get("type") != "gemini":
        return None
    total = t.number_of(t.inner(record, "tokens"), "total")
    return (total, None) if total else None


def cut(record: dict[str, Any]) -> tuple[str, float] | None:
    """Return the text and the time of the summary that replaced the messages; None for any other record."""
    messages = t.inner(record, "$set").get("messages")
    found = [message for message in (messages if isinstance(messages, list) else ()) if _is_summary(message)]
    return (_text(found[-1].get("content")), t.time_of(found[-1])) if found else None


def _is_summary(message: Any) -> bool:
    return isinstance(message, dict) and message.get("type") == "user" and _SNAPSHOT in _text(message.get("content"))


def find(session: str, home: str, env: Mapping[str, str]) -> str:
    """Return the path of a session's transcript in any project, or ''."""
    base = os.path.join(folder(home, env), "tmp")
    end = f"-{session[:8]}{SUFFIX}"
    for project in t.names_in(base)[:_MOST_FOLDERS]:
        chats = os.path.join(base, project, "chats")
        for name in t.names_in(chats):
            path = os.path.join(chats, name)
            if name.startswith("session-") and name.endswith(end) and _is_of(path, session):
                return path
    return ""


def _is_of(path: str, session: str) -> bool:
    """Return whether the first record of a file names the session; the file's name has only the start of its id."""
    file, _ = t.open_transcript(path, SUFFIX)
    if file is None:
        return False
    with file:
        record, _ = t.parse(file.readline(65_536))
    return record is not None and record.get("sessionId") == session


def folder(home: str, env: Mapping[str, str]) -> str:
    """Return the client's data folder."""
    return os.path.join(env.get("GEMINI_CLI_HOME") or home, ".gemini")
