"""Gemini CLI: `tmp/<project>/chats/session-<time>-<start of the session>.jsonl` in its folder.

A record is a message, or a change of what was said before: `$set` may replace all messages, after a compression as
well, and `$rewindTo` takes some back. A message comes again when its calls have their results, so what has an id counts
once. Sub-agents have files of their own, in a folder named after the session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from zlib import crc32

from swarmlore.clients import transcripts
from swarmlore.clients.transcripts import CONTEXT, OTHER, READ, SHELL, SUMMARY, WRITE, Reader, Turn
from swarmlore.domain.extraction.fixes import gemini_ending, without_wrapping
from swarmlore.domain.extraction.user_words import unwrap
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
_ENDED = {"success": False, "error": True}  # others were cancelled, or still run
_MOST_IDS = 20_000
_MOST_FOLDERS = 5_000


class Transcript(Reader):
    """Knows which messages and calls it has told already."""

    def __init__(self) -> None:
        super().__init__()
        self._beside = False
        self._told: dict[str, None] = {}

    def read(self, record: dict[str, Any]) -> Iterator[Turn]:
        if "sessionId" in record and "type" not in record:
            self._beside = self._beside or record.get("kind") == "subagent"
        changed = transcripts.inner(record, "$set").get("messages")
        for message in changed if isinstance(changed, list) else ():
            if isinstance(message, dict) and not self._knows(message):
                yield from self._message(message)
        yield from self._message(record)

    def _message(self, message: dict[str, Any]) -> Iterator[Turn]:
        kind, text = message.get("type"), _text(message.get("content"))
        if kind not in ("user", "gemini"):
            return
        if text and self._is_new(f"said {transcripts.text_of(message, 'id') or _said(message)}"):
            self._is_new(_said(message))
            yield self._user(text, message) if kind == "user" else self._turn("assistant", text, message, "")
        for call in transcripts.parts_of(message.get("toolCalls")):
            yield from self._called(call, message)

    def _user(self, whole: str, message: dict[str, Any]) -> Turn:
        """What was typed; results of tools stand with their calls."""
        summed_up = _SNAPSHOT in whole
        typed = "" if summed_up else unwrap(whole)
        return self._turn("user", typed or whole, message, SUMMARY if summed_up else "" if typed else CONTEXT)

    def _knows(self, message: dict[str, Any]) -> bool:
        """Whether the same was said before: a session that is resumed repeats everything under new ids."""
        return _said(message) in self._told

    def _called(self, call: dict[str, Any], message: dict[str, Any]) -> Iterator[Turn]:
        id = transcripts.short(transcripts.text_of(call, "id"))
        if call.get("status") not in ("success", "error", "cancelled") or not self._is_new(f"called {id}"):
            return
        name, given = transcripts.short(transcripts.text_of(call, "name")), transcripts.inner(call, "args")
        printed, failed = _ended(call, _TOOLS.get(name, OTHER))
        self._waiting[id] = Turn(
            "tool",
            at=transcripts.moment_of(call) or transcripts.moment_of(message),
            tool=_TOOLS.get(name, OTHER),
            tool_name=name,
            command=transcripts.command(transcripts.text_of(given, "command")),
            files=transcripts.files([path for key in _PATHS if (path := transcripts.text_of(given, key))]),
            id=id,
            sidechain=self._beside,
        )
        yield self._result(id, printed, failed, transcripts.moment_of(message), self._beside)

    def _turn(self, role: str, text: str, message: dict[str, Any], meta: str) -> Turn:
        id = transcripts.short(transcripts.text_of(message, "id"))
        return Turn(
            role, transcripts.said(text), transcripts.moment_of(message), id=id, sidechain=self._beside, meta=meta
        )

    def _is_new(self, mark: str) -> bool:
        if mark in self._told:
            return False
        self._told[mark] = None
        if len(self._told) > _MOST_IDS:
            del self._told[next(iter(self._told))]
        return True


def _said(message: dict[str, Any]) -> str:
    return f"text {crc32(_text(message.get('content')).encode('utf-8', 'replace')):08x}"


def _text(content: Any) -> str:
    """The texts of a message. Hooks add parts of their own, which are taken out with what they wrap."""
    return "\n".join(text for part in transcripts.parts_of(content) if (text := transcripts.text_of(part, "text")))


def _ended(call: dict[str, Any], tool: str) -> tuple[str, bool | None]:
    """What a call printed, and whether it failed: a command by its exit code."""
    result = call.get("result")
    answers = [transcripts.inner(part, "functionResponse", "response") for part in transcripts.parts_of(result)]
    printed = "\n".join(text for answer in answers if (text := transcripts.text_of(answer, "output", "error")))
    printed = transcripts.output(without_wrapping(printed))
    failed = _ENDED.get(str(call.get("status")))
    if tool != SHELL:
        return printed, failed
    body, code = gemini_ending(printed)
    return body, True if code else failed


def usage(record: dict[str, Any]) -> tuple[int, int | None] | None:
    """The tokens in the context after an answer; it never says how many fit."""
    if record.get("type") != "gemini":
        return None
    total = transcripts.number_of(transcripts.inner(record, "tokens"), "total")
    return (total, None) if total else None


def cut(record: dict[str, Any]) -> tuple[str, float] | None:
    """Which summary took the place of the messages, and when; None for any other record."""
    messages = transcripts.inner(record, "$set").get("messages")
    found = [message for message in (messages if isinstance(messages, list) else ()) if _is_summary(message)]
    return (_text(found[-1].get("content")), transcripts.moment_of(found[-1])) if found else None


def _is_summary(message: Any) -> bool:
    return isinstance(message, dict) and message.get("type") == "user" and _SNAPSHOT in _text(message.get("content"))


def find(session: str, home: str, env: Mapping[str, str]) -> str:
    """The transcript of a session, in whichever project it is; '' where there is none."""
    base = os.path.join(folder(home, env), "tmp")
    end = f"-{session[:8]}{SUFFIX}"
    for project in _names(base)[:_MOST_FOLDERS]:
        chats = os.path.join(base, project, "chats")
        for name in _names(chats):
            path = os.path.join(chats, name)
            if name.startswith("session-") and name.endswith(end) and _is_of(path, session):
                return path
    return ""


def _is_of(path: str, session: str) -> bool:
    """Whether the first record of a file names the session: its name holds only the beginning of that."""
    from swarmlore.clients.transcripts import open_transcript, parse

    file, _ = open_transcript(path, SUFFIX)
    if file is None:
        return False
    with file:
        record, _ = parse(file.readline(65_536))
    return record is not None and record.get("sessionId") == session


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder), reverse=True)
    except OSError:
        return []


def folder(home: str, env: Mapping[str, str]) -> str:
    """Where the client keeps everything."""
    return os.path.join(env.get("GEMINI_CLI_HOME") or home, ".gemini")
