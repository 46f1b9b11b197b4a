"""Read transcripts of Codex: `sessions/Y/M/D/rollout-<time>-<session>.jsonl` in its folder.

A record wraps a `payload`. Type response_item is an item sent to or by the model; other events report how commands
ended and how full the context is. The first releases wrote items without a wrapper.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping

from swarmlore.clients import transcripts as t
from swarmlore.clients.transcripts import CONTEXT, OTHER, READ, SHELL, SUMMARY, WRITE, Reader, Turn
from swarmlore.domain.extraction.message_text import typed_text
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
_HEADED = ("Chunk ID:", "Wall time:", "Exit code:", "Process exited")  # first words of a command's answer
_EXIT = r"(?m)^(?:Process exited with code|Exit code:) (-?\d{1,9})\s*$"
_BLOCKED = "Command blocked by "
_MOST_DAYS = 1_000


class Transcript(Reader):
    """Turn Codex's records into turns; calls and results are joined by the call's id."""

    def __init__(self) -> None:
        super().__init__()
        self._sidechain = False
        self._cwd = ""

    def read(self, record: dict[str, Any]) -> Iterator[Turn]:
        wrapped = isinstance(record.get("payload"), dict)
        kind, item = (record.get("type"), t.inner(record, "payload")) if wrapped else ("response_item", record)
        if kind == "response_item":
            yield from self._item(item, record)
        elif kind == "event_msg":
            self._event(item)
        elif kind == "compacted" and (text := t.text_of(item, "message")):
            yield self._turn("user", text, record, SUMMARY)
        elif kind in ("session_meta", "turn_context"):
            self._cwd = t.text_of(item, "cwd") or self._cwd
            self._sidechain = self._sidechain or "subagent" in t.inner(item, "source")

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
            summed_up = t.inner(record, "metadata").get("compaction_output") is True
            if text := t.texts_of(item):
                yield self._turn("assistant", text, record, SUMMARY if summed_up else "")
            return
        kinds = t.inner(item, "internal_chat_message_metadata_passthrough").get("content_item_kinds")
        for place, part in enumerate(t.parts_of(item.get("content"))):
            if text := t.text_of(part, "text"):
                typed = typed_text(text) if role == "user" and _by_person(kinds, place) else ""
                yield self._turn("user", typed or text, record, "" if typed else CONTEXT)

    def _turn(self, role: str, text: str, record: dict[str, Any], meta: str) -> Turn:
        id = t.clip_name(t.text_of(t.inner(record, "payload") or record, "id"))
        return Turn(role, t.clip_text(text), t.time_of(record), id=id, sidechain=self._sidechain, meta=meta)

    def _called(self, item: dict[str, Any], record: dict[str, Any]) -> Turn:
        name = t.text_of(item, "name") or ("local_shell" if item.get("type") == "local_shell_call" else "")
        given = _arguments(item)
        tool, command = _TOOLS.get(name, OTHER), _command(given)
        patch = t.text_of(item, "input") or t.text_of(given, "input", "patch") or command
        found = re.findall(_PATCHED, patch[:_MOST_PATCH]) if "*** Begin Patch" in patch else []
        patched = [path.strip() for path in found]
        if patched:
            tool, command = WRITE, ""
        return Turn(
            "tool",
            at=t.time_of(record),
            tool=tool,
            tool_name=t.clip_name(_full_name(item, name)),
            command=t.clip_command(command),
            files=t.clean_paths([os.path.join(self._cwd, path) for path in patched or _paths(given)]),
            id=t.clip_name(t.text_of(item, "call_id", "id")),
            sidechain=self._sidechain,
        )

    def _answer(self, item: dict[str, Any], record: dict[str, Any]) -> Turn:
        id = t.clip_name(t.text_of(item, "call_id", "id"))
        known = self._waiting.get(id)
        printed, failed = _ended(item.get("output"))
        if failed is None and known is not None:
            failed = known.failed
        return self._result(id, printed, failed, t.time_of(record), self._sidechain)

    def _event(self, event: dict[str, Any]) -> None:
        """Note how a call ended, if an event reports it before the result goes to the model."""
        item = t.inner(event, "item") or event
        id = t.clip_name(t.text_of(item, "call_id", "id"))
        exit_code, status = item.get("exit_code"), item.get("status")
        if isinstance(exit_code, int):
            self._note(id, exit_code != 0)
        elif isinstance(item.get("success"), bool):
            self._note(id, not item["success"])
        elif item.get("type") in ("McpToolCall", "FileChange") and status in ("completed", "failed"):
            self._note(id, status == "failed" or t.inner(item, "result").get("isError") is True)


def _by_person(kinds: Any, place: int) -> bool:
    """Return whether a part of a user message may be typed by a person; newer releases give each part's kind."""
    kind = kinds[place] if isinstance(kinds, list) and place < len(kinds) else "unknown"
    return not isinstance(kind, str) or kind == "unknown" or kind.startswith("user.")


def _arguments(item: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call; those of a function are JSON in a text."""
    if item.get("type") == "local_shell_call":
        return t.inner(item, "action")
    text = t.text_of(item, "arguments")
    try:
        given = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _command(given: dict[str, Any]) -> str:
    """Return a shell command without the shell that wraps it."""
    words = given.get("command")
    if isinstance(words, list):
        listed = [word for word in words if isinstance(word, str)]
        return listed[2] if len(listed) == 3 and listed[1] in ("-lc", "-c") else " ".join(listed)
    return t.text_of(given, "cmd", "command")


def _paths(given: dict[str, Any]) -> list[str]:
    return [path for key in ("file_path", "path") if (path := t.text_of(given, key))]


def _full_name(item: dict[str, Any], name: str) -> str:
    server = t.text_of(item, "namespace")
    return f"{server}__{name}" if server.startswith("mcp__") else name


def _ended(answer: Any) -> tuple[str, bool | None]:
    """Return the output of a call, and whether it failed if the answer tells."""
    if isinstance(answer, dict):
        success = answer.get("success")
        failed = not success if isinstance(success, bool) else None
        return t.texts_of(answer) or t.text_of(answer, "content"), failed
    printed = answer if isinstance(answer, str) else t.texts_of(answer)
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
        answer = json.loads(printed)
    except (ValueError, RecursionError):
        return printed, None
    code = t.inner(answer, "metadata").get("exit_code")
    return t.text_of(answer, "output"), code != 0 if isinstance(code, int) else None


def usage(record: dict[str, Any]) -> tuple[int, int | None] | None:
    """Return the tokens in the context and the limit, as the client counted them."""
    event = t.inner(record, "payload")
    info = t.inner(event, "info")
    if event.get("type") != "token_count" or not info:
        return None
    used = t.number_of(t.inner(info, "last_token_usage"), "total_tokens")
    return (used, t.number_of(info, "model_context_window") or None) if used else None


def find(session: str, home: str, env: Mapping[str, str]) -> str:
    """Return the path of a session's transcript, newest days first, or ''."""
    end = f"-{session}{SUFFIX}"
    for day in _days(os.path.join(folder(home, env), "sessions")):
        for name in t.names_in(day):
            if name.startswith("rollout-") and name.endswith(end):
                return os.path.join(day, name)
    return ""


def _days(sessions: str) -> Iterator[str]:
    left = _MOST_DAYS
    for year in t.names_in(sessions):
        for month in t.names_in(os.path.join(sessions, year)):
            for day in t.names_in(os.path.join(sessions, year, month)):
                if left <= 0:
                    return
                left -= 1
                yield os.path.join(sessions, year, month, day)


def folder(home: str, env: Mapping[str, str]) -> str:
    """Return the client's data folder."""
    return env.get("CODEX_HOME") or os.path.join(home, ".codex")
