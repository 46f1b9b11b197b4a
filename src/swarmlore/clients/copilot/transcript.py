"""Read transcripts of Copilot CLI: `session-state/<session>/events.jsonl` in its folder.

A record is an event: `type`, `data`, and `agentId` for a sub-agent. A message has the typed text next to the text that
the model was given; a tool call has one record for its start and one for its end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from swarmlore.clients import transcripts as t
from swarmlore.clients.transcripts import CONTEXT, OTHER, READ, SHELL, SUMMARY, WRITE, Reader, Turn
from swarmlore.domain.extraction.fixes import copilot_ending
from swarmlore.domain.extraction.message_text import typed_text
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

SUFFIX = ".jsonl"
USAGE_MARKS = (b'"session.usage_record"', b'"session.compaction_complete"')
CUT_MARKS = (b'"session.compaction_complete"',)
_TOOLS = {
    **dict.fromkeys(("bash", "powershell", "local_shell"), SHELL),
    **dict.fromkeys(("view", "grep", "glob", "rg"), READ),
    **dict.fromkeys(("create", "edit", "str_replace", "str_replace_editor", "apply_patch", "insert"), WRITE),
}
_FILE = "events.jsonl"
_HOOKED = r'\n\nTool "[^"\n]{1,200}" (?:succeeded|failed)\. Additional guidance from \w{1,40} hooks:\n'


class Transcript(Reader):
    """Turn Copilot's events into turns; the start and the end of a call are joined by its id."""

    def read(self, record: dict[str, Any]) -> Iterator[Turn]:
        kind, data = record.get("type"), t.inner(record, "data")
        if kind == "user.message":
            yield from _user_message(data, record)
        elif kind == "assistant.message":
            if text := t.text_of(data, "content"):
                yield _turn("assistant", text, record, "")
        elif kind == "tool.execution_start":
            yield from self._call(_begun(data, record))
        elif kind == "tool.execution_complete":
            yield self._ended(data, record)
        elif kind == "session.compaction_complete" and (text := t.text_of(data, "summaryContent")):
            yield _turn("user", text, record, SUMMARY)

    def _ended(self, data: dict[str, Any], record: dict[str, Any]) -> Turn:
        id = t.clip_name(t.text_of(data, "toolCallId"))
        printed, code = copilot_ending(_printed(data))
        return self._result(id, printed, _failed(data, code), t.time_of(record), _is_sidechain(record))


def _user_message(data: dict[str, Any], record: dict[str, Any]) -> Iterator[Turn]:
    """Return the turn of a user message. One without a source was typed, or sent by an agent to its sub-agent;
    others are the client's own texts."""
    text = t.text_of(data, "content")
    source = t.text_of(data, "source")
    by_client = data.get("isAutopilotContinuation") is True or not (
        source in ("", "user") or source.startswith("agent-")
    )
    typed = "" if by_client else typed_text(text)
    if text:
        yield _turn("user", typed or text, record, "" if typed else CONTEXT)


def _begun(data: dict[str, Any], record: dict[str, Any]) -> Turn:
    name, given = t.clip_name(t.text_of(data, "toolName")), t.inner(data, "arguments")
    return Turn(
        "tool",
        at=t.time_of(record),
        tool=_TOOLS.get(name, OTHER),
        tool_name=name,
        command=t.clip_command(t.text_of(given, "command")),
        files=t.clean_paths([path for key in ("path", "file_path") if (path := t.text_of(given, key))]),
        id=t.clip_name(t.text_of(data, "toolCallId")),
        sidechain=_is_sidechain(record),
    )


def _printed(data: dict[str, Any]) -> str:
    """Return the output of a tool, without the guidance that hooks added."""
    result = t.inner(data, "result")
    printed = t.text_of(result, "content", "detailedContent") or t.text_of(t.inner(data, "error"), "message")
    added = re.search(_HOOKED, printed)
    return printed[: added.start()] if added else printed


def _failed(data: dict[str, Any], code: int | None) -> bool | None:
    exit_code = t.inner(data, "shellExecution").get("exitCode")
    if isinstance(exit_code, int) and not isinstance(exit_code, bool):
        return exit_code != 0
    if code is not None:
        return code != 0
    if t.text_of(t.inner(data, "error"), "code") in ("denied", "rejected"):
        return None  # the tool did not run
    success = data.get("success")
    return not success if isinstance(success, bool) else None


def _turn(role: str, text: str, record: dict[str, Any], meta: str) -> Turn:
    id = t.clip_name(t.text_of(record, "id"))
    return Turn(role, t.clip_text(text), t.time_of(record), id=id, sidechain=_is_sidechain(record), meta=meta)


def _is_sidechain(record: dict[str, Any]) -> bool:
    return bool(t.text_of(record, "agentId") or t.text_of(t.inner(record, "data"), "parentToolCallId"))


def usage(record: dict[str, Any]) -> tuple[int, int | None] | None:
    """Return the tokens in the context of the main conversation and the limit, as the client counted them."""
    data = t.inner(record, "data")
    if record.get("type") == "session.compaction_complete":
        after = t.number_of(data, "postCompactionTokens")
        return (after, t.number_of(data, "tokenLimit") or None) if after else None
    spent = t.inner(data, "usage")
    if record.get("type") != "session.usage_record" or _is_sidechain(record):
        return None
    used = sum(t.number_of(spent, name) for name in ("inputTokens", "outputTokens"))
    return (used, t.number_of(spent, "maxPromptTokens") or None) if used else None


def cut(record: dict[str, Any]) -> tuple[str, float] | None:
    """Return the id and the time of a compaction; None for any other record."""
    done = record.get("type") == "session.compaction_complete" and t.inner(record, "data").get("success") is True
    return (t.text_of(record, "id"), t.time_of(record)) if done and not _is_sidechain(record) else None


def find(session: str, home: str, env: Mapping[str, str]) -> str:
    """Return the path of a session's transcript, or ''."""
    path = os.path.join(folder(home, env), "session-state", session, _FILE)
    return path if os.path.isfile(path) else ""


def folder(home: str, env: Mapping[str, str]) -> str:
    """Return the client's data folder."""
    return env.get("COPILOT_HOME") or os.path.join(home, ".copilot")
