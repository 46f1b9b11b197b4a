"""Codex: `sessions/Y/M/D/rollout-<time>-<session>.jsonl` in its folder.

A record wraps a `payload`. Items that went to or came from the model are of type response_item; events beside them tell
how commands ended and how full the context is. The first releases wrote the items without a wrapping.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping

from swarmlore.clients import transcripts
from swarmlore.clients.transcripts import CONTEXT, OTHER, READ, SHELL, SUMMARY, WRITE, Reader, Turn
from swarmlore.domain.extraction.user_words import unwrap
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


SUFFIX = ".jsonl"
USAGE_MARKS = (b'"token_count"',)
_TOOLS = {
    **dict.fromkeys(("exec_command", "shell", "shell_command", "local_shell", "container.exec", "Bash"), SHELL),
    **dict.fromkeys(("read_file", "view_image", "list_dir", "grep_files"), READ),
    "apply_patch": WRITE,
}
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_PATCHED = r"(?m)^\*\*\* (?:Add File|Update File|Delete File|Move to): (.{1,1000})$"
_MOST_PATCH = 1_000_000
_HEADED = ("Chunk ID:", "Wall time:", "Exit code:", "Process exited")  # how the answer of a command begins
_EXIT = r"(?m)^(?:Process exited with code|Exit code:) (-?\d{1,9})\s*$"
_BLOCKED = "Command blocked by "
_MOST_DAYS = 1_000


class Transcript(Reader):
    """Joins calls and results by the id of the call, and knows the folder they were made in."""

    def __init__(self) -> None:
        super().__init__()
        self._beside = False
        self._cwd = ""

    def read(self, record: dict[str, Any]) -> Iterator[Turn]:
        wrapped = isinstance(record.get("payload"), dict)
        kind, item = (
            (record.get("type"), transcripts.inner(record, "payload")) if wrapped else ("response_item", record)
        )
        if kind == "response_item":
            yield from self._item(item, record)
        elif kind == "event_msg":
            self._event(item)
        elif kind == "compacted" and (text := transcripts.text_of(item, "message")):
            yield self._turn("user", text, record, SUMMARY)
        elif kind in ("session_meta", "turn_context"):
            self._cwd = transcripts.text_of(item, "cwd") or self._cwd
            self._beside = self._beside or "subagent" in transcripts.inner(item, "source")

    def _item(self, item: dict[str, Any], record: dict[str, Any]) -> Iterator[Turn]:
        kind = item.get("type")
        if kind == "message":
            yield from self._message(item, record)
        elif kind in _CALLS:
            yield from self._call(self._called(item, record))
        elif kind in _OUTPUTS:
            yield self._answer(item, record)

    def _message(self, item: dict[str, Any], record: dict[str, Any]) -> Iterator[Turn]:
        role = item.get("role")
        if role == "assistant":
            summed_up = transcripts.inner(record, "metadata").get("compaction_output") is True
            if text := transcripts.texts_of(item):
                yield self._turn("assistant", text, record, SUMMARY if summed_up else "")
            return
        kinds = transcripts.inner(item, "internal_chat_message_metadata_passthrough").get("content_item_kinds")
        for place, part in enumerate(transcripts.parts_of(item.get("content"))):
            if whole := transcripts.text_of(part, "text"):
                typed = unwrap(whole) if role == "user" and _by_a_person(kinds, place) else ""
                yield self._turn("user", typed or whole, record, "" if typed else CONTEXT)

    def _turn(self, role: str, text: str, record: dict[str, Any], meta: str) -> Turn:
        id = transcripts.short(transcripts.text_of(transcripts.inner(record, "payload") or record, "id"))
        return Turn(
            role, transcripts.said(text), transcripts.moment_of(record), id=id, sidechain=self._beside, meta=meta
        )

    def _called(self, item: dict[str, Any], record: dict[str, Any]) -> Turn:
        name = transcripts.text_of(item, "name") or ("local_shell" if item.get("type") == "local_shell_call" else "")
        given = _given(item)
        tool, command = _TOOLS.get(name, OTHER), _command(given)
        patch = transcripts.text_of(item, "input") or transcripts.text_of(given, "input", "patch") or command
        patched = _patched(patch) if "*** Begin Patch" in patch else []
        if patched:
            tool, command = WRITE, ""
        return Turn(
            "tool",
            at=transcripts.moment_of(record),
            tool=tool,
            tool_name=transcripts.short(_full_name(item, name)),
            command=transcripts.command(command),
            files=transcripts.files([os.path.join(self._cwd, path) for path in patched or _paths(given)]),
            id=transcripts.short(transcripts.text_of(item, "call_id", "id")),
            sidechain=self._beside,
        )

    def _answer(self, item: dict[str, Any], record: dict[str, Any]) -> Turn:
        id = transcripts.short(transcripts.text_of(item, "call_id", "id"))
        known = self._waiting.get(id)
        printed, failed = _ended(item.get("output"))
        if failed is None and known is not None:
            failed = known.failed
        return self._result(id, printed, failed, transcripts.moment_of(record), self._beside)

    def _event(self, event: dict[str, Any]) -> None:
        """How a call ended, where an event says it before the model is told."""
        item = transcripts.inner(event, "item") or event
        id = transcripts.short(transcripts.text_of(item, "call_id", "id"))
        exit_code, status = item.get("exit_code"), item.get("status")
        if isinstance(exit_code, int):
            self._note(id, exit_code != 0)
        elif isinstance(item.get("success"), bool):
            self._note(id, not item["success"])
        elif item.get("type") in ("McpToolCall", "FileChange") and status in ("completed", "failed"):
            self._note(id, status == "failed" or transcripts.inner(item, "result").get("isError") is True)


def _by_a_person(kinds: Any, place: int) -> bool:
    """Whether a part of a user's message may be theirs; newer releases say what each part is."""
    kind = kinds[place] if isinstance(kinds, list) and place < len(kinds) else "unknown"
    return not isinstance(kind, str) or kind == "unknown" or kind.startswith("user.")


def _given(item: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call; a function's are JSON in a text."""
    if item.get("type") == "local_shell_call":
        return transcripts.inner(item, "action")
    text = transcripts.text_of(item, "arguments")
    try:
        given = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _command(given: dict[str, Any]) -> str:
    """The command of a shell; without the shell that it was wrapped into."""
    words = given.get("command")
    if isinstance(words, list):
        listed = [word for word in words if isinstance(word, str)]
        return listed[2] if len(listed) == 3 and listed[1] in ("-lc", "-c") else " ".join(listed)
    return transcripts.text_of(given, "cmd", "command")


def _patched(patch: str) -> list[str]:
    return [path.strip() for path in re.findall(_PATCHED, patch[:_MOST_PATCH])]


def _paths(given: dict[str, Any]) -> list[str]:
    return [path for key in ("file_path", "path") if (path := transcripts.text_of(given, key))]


def _full_name(item: dict[str, Any], name: str) -> str:
    server = transcripts.text_of(item, "namespace")
    return f"{server}__{name}" if server.startswith("mcp__") else name


def _ended(answer: Any) -> tuple[str, bool | None]:
    """What a call printed, and whether it failed where the answer says so."""
    if isinstance(answer, dict):
        success = answer.get("success")
        return transcripts.texts_of(answer) or transcripts.text_of(answer, "content"), _not(success)
    printed = answer if isinstance(answer, str) else transcripts.texts_of(answer)
    if printed.startswith('{"output"'):
        return _ended_in_json(printed)
    if printed.startswith(_BLOCKED):
        return printed, None
    head, mark, body = printed.partition("\nOutput:\n")
    if not mark or not head.startswith(_HEADED):
        return printed, None
    ended = re.search(_EXIT, head)
    return body, ended[1] != "0" if ended else None


def _ended_in_json(printed: str) -> tuple[str, bool | None]:
    try:
        told = json.loads(printed)
    except (ValueError, RecursionError):
        return printed, None
    code = transcripts.inner(told, "metadata").get("exit_code")
    return transcripts.text_of(told, "output"), code != 0 if isinstance(code, int) else None


def _not(success: Any) -> bool | None:
    return not success if isinstance(success, bool) else None


def usage(record: dict[str, Any]) -> tuple[int, int | None] | None:
    """The tokens in the context and how many fit, as the client counted them."""
    event = transcripts.inner(record, "payload")
    info = transcripts.inner(event, "info")
    if event.get("type") != "token_count" or not info:
        return None
    used = transcripts.number_of(transcripts.inner(info, "last_token_usage"), "total_tokens")
    return (used, transcripts.number_of(info, "model_context_window") or None) if used else None


def find(session: str, home: str, env: Mapping[str, str]) -> str:
    """The transcript of a session, newest days first; '' where there is none."""
    end = f"-{session}{SUFFIX}"
    for day in _days(os.path.join(folder(home, env), "sessions")):
        for name in _names(day):
            if name.startswith("rollout-") and name.endswith(end):
                return os.path.join(day, name)
    return ""


def _days(sessions: str) -> Iterator[str]:
    left = _MOST_DAYS
    for year in _names(sessions):
        for month in _names(os.path.join(sessions, year)):
            for day in _names(os.path.join(sessions, year, month)):
                if left <= 0:
                    return
                left -= 1
                yield os.path.join(sessions, year, month, day)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder), reverse=True)
    except OSError:
        return []


def folder(home: str, env: Mapping[str, str]) -> str:
    """Where the client keeps everything."""
    return env.get("CODEX_HOME") or os.path.join(home, ".codex")
