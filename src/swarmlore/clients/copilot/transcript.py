"""Copilot CLI: `session-state/<session>/events.jsonl` in its folder.

A record is an event: `type`, `data`, and for a sub-agent's `agentId`. A message has what was typed, and beside it what
the model was given; a tool is told of when it begins and when it has ended.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from swarmlore.clients import transcripts
from swarmlore.clients.transcripts import CONTEXT, OTHER, READ, SHELL, SUMMARY, WRITE, Reader, Turn
from swarmlore.domain.extraction.fixes import copilot_ending
from swarmlore.domain.extraction.user_words import unwrap
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
    """Joins the beginning and the end of a call by its id."""

    def read(self, record: dict[str, Any]) -> Iterator[Turn]:
        kind, data = record.get("type"), transcripts.inner(record, "data")
        if kind == "user.message":
            yield from _said_by_a_person(data, record)
        elif kind == "assistant.message":
            if text := transcripts.text_of(data, "content"):
                yield _turn("assistant", text, record, "")
        elif kind == "tool.execution_start":
            yield from self._call(_begun(data, record))
        elif kind == "tool.execution_complete":
            yield self._ended(data, record)
        elif kind == "session.compaction_complete" and (text := transcripts.text_of(data, "summaryContent")):
            yield _turn("user", text, record, SUMMARY)

    def _ended(self, data: dict[str, Any], record: dict[str, Any]) -> Turn:
        id = transcripts.short(transcripts.text_of(data, "toolCallId"))
        printed, code = copilot_ending(_printed(data))
        return self._result(id, printed, _failed(data, code), transcripts.moment_of(record), _beside(record))


def _said_by_a_person(data: dict[str, Any], record: dict[str, Any]) -> Iterator[Turn]:
    """A message without a source was typed, or is an agent's to its sub-agent; others are the client's own words."""
    whole = transcripts.text_of(data, "content")
    source = transcripts.text_of(data, "source")
    by_client = data.get("isAutopilotContinuation") is True or not (
        source in ("", "user") or source.startswith("agent-")
    )
    typed = "" if by_client else unwrap(whole)
    if whole:
        yield _turn("user", typed or whole, record, "" if typed else CONTEXT)


def _begun(data: dict[str, Any], record: dict[str, Any]) -> Turn:
    name, given = transcripts.short(transcripts.text_of(data, "toolName")), transcripts.inner(data, "arguments")
    return Turn(
        "tool",
        at=transcripts.moment_of(record),
        tool=_TOOLS.get(name, OTHER),
        tool_name=name,
        command=transcripts.command(transcripts.text_of(given, "command")),
        files=transcripts.files([path for key in ("path", "file_path") if (path := transcripts.text_of(given, key))]),
        id=transcripts.short(transcripts.text_of(data, "toolCallId")),
        sidechain=_beside(record),
    )


def _printed(data: dict[str, Any]) -> str:
    """What a tool printed, without what hooks added to it."""
    result = transcripts.inner(data, "result")
    printed = transcripts.text_of(result, "content", "detailedContent") or transcripts.text_of(
        transcripts.inner(data, "error"), "message"
    )
    added = re.search(_HOOKED, printed)
    return printed[: added.start()] if added else printed


def _failed(data: dict[str, Any], code: int | None) -> bool | None:
    told = transcripts.inner(data, "shellExecution").get("exitCode")
    if isinstance(told, int) and not isinstance(told, bool):
        return told != 0
    if code is not None:
        return code != 0
    if transcripts.text_of(transcripts.inner(data, "error"), "code") in ("denied", "rejected"):
        return None  # it did not run
    success = data.get("success")
    return not success if isinstance(success, bool) else None


def _turn(role: str, text: str, record: dict[str, Any], meta: str) -> Turn:
    id = transcripts.short(transcripts.text_of(record, "id"))
    return Turn(
        role, transcripts.said(text), transcripts.moment_of(record), id=id, sidechain=_beside(record), meta=meta
    )


def _beside(record: dict[str, Any]) -> bool:
    return bool(
        transcripts.text_of(record, "agentId")
        or transcripts.text_of(transcripts.inner(record, "data"), "parentToolCallId")
    )


def usage(record: dict[str, Any]) -> tuple[int, int | None] | None:
    """The tokens in the context of the main conversation and how many fit, as the client counted them."""
    data = transcripts.inner(record, "data")
    if record.get("type") == "session.compaction_complete":
        after = transcripts.number_of(data, "postCompactionTokens")
        return (after, transcripts.number_of(data, "tokenLimit") or None) if after else None
    spent = transcripts.inner(data, "usage")
    if record.get("type") != "session.usage_record" or _beside(record):
        return None
    used = sum(transcripts.number_of(spent, name) for name in ("inputTokens", "outputTokens"))
    return (used, transcripts.number_of(spent, "maxPromptTokens") or None) if used else None


def cut(record: dict[str, Any]) -> tuple[str, float] | None:
    """Which summary took the place of the context, and when; None for any other record."""
    done = (
        record.get("type") == "session.compaction_complete" and transcripts.inner(record, "data").get("success") is True
    )
    return (transcripts.text_of(record, "id"), transcripts.moment_of(record)) if done and not _beside(record) else None


def find(session: str, home: str, env: Mapping[str, str]) -> str:
    """The transcript of a session; '' where there is none."""
    path = os.path.join(folder(home, env), "session-state", session, _FILE)
    return path if os.path.isfile(path) else ""


def folder(home: str, env: Mapping[str, str]) -> str:
    """Where the client keeps everything."""
    return env.get("COPILOT_HOME") or os.path.join(home, ".copilot")
