"""Read transcripts of Claude Code: `projects/<folder as a name>/<session>.jsonl`; sub-agents have files of their own.

A record of type user holds a prompt, tool results, or a text of the client in the user's name. One of type assistant
holds one part of an answer, with the tokens of the request.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from swarmlore.clients import transcripts as t
from swarmlore.clients.transcripts import CONTEXT, OTHER, READ, SHELL, SUMMARY, WRITE, Reader, Turn
from swarmlore.domain.extraction.message_text import typed_text
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

SUFFIX = ".jsonl"
USAGE_MARKS = (b'"usage"', b'"compact_boundary"')
_TOOLS = {
    **dict.fromkeys(("Bash", "BashOutput", "PowerShell"), SHELL),
    **dict.fromkeys(("Read", "NotebookRead", "Glob", "Grep", "LS"), READ),
    **dict.fromkeys(("Write", "Edit", "MultiEdit", "NotebookEdit"), WRITE),
}
_PATHS = ("file_path", "notebook_path", "path")
_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_REFUSED = "The user doesn't want to proceed with this tool use"
_MOST_FOLDERS = 5_000


class Transcript(Reader):
    """Turn Claude Code's records into turns; calls and results are joined by the call's id."""

    def read(self, record: dict[str, Any]) -> Iterator[Turn]:
        kind = record.get("type")
        if kind == "user":
            yield from self._user(record)
        elif kind == "assistant":
            yield from self._assistant(record)
        elif kind == "attachment":
            yield from self._attachment(record)

    def _user(self, record: dict[str, Any]) -> Iterator[Turn]:
        meta = SUMMARY if record.get("isCompactSummary") else CONTEXT if record.get("isMeta") else ""
        for part in t.parts_of(t.inner(record, "message").get("content")):
            if part.get("type") == "tool_result":
                yield self._answer(part, record)
            elif text := t.text_of(part, "text"):
                typed = "" if meta else typed_text(text)
                yield _turn("user", typed or text, record, "" if typed else meta or CONTEXT)

    def _attachment(self, record: dict[str, Any]) -> Iterator[Turn]:
        """Return the text that a hook added to the context, or the prompt typed while the agent was busy."""
        attachment = t.inner(record, "attachment")
        if attachment.get("type") == "hook_additional_context":
            content = attachment.get("content")
            given = content if isinstance(content, list) else [content]
            yield _turn("user", "\n".join(text for text in given if isinstance(text, str)), record, CONTEXT)
        elif attachment.get("type") == "queued_command" and attachment.get("commandMode", "prompt") == "prompt":
            yield _turn("user", typed_text(t.text_of(attachment, "prompt")), record, "")

    def _answer(self, part: dict[str, Any], record: dict[str, Any]) -> Turn:
        id = t.clip_name(t.text_of(part, "tool_use_id"))
        printed = t.texts_of(part).removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
        failed: bool | None = part.get("is_error") is True
        interrupted = t.inner(record, "toolUseResult").get("interrupted") is True
        if "toolDenialKind" in record or interrupted or printed.startswith(_REFUSED):
            failed = None  # the tool was denied or interrupted
        return self._result(id, printed, failed, t.time_of(record), _is_sidechain(record))

    def _assistant(self, record: dict[str, Any]) -> Iterator[Turn]:
        message = t.inner(record, "message")
        by_client = record.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>"
        for part in t.parts_of(message.get("content")):
            if part.get("type") == "tool_use":
                yield from self._call(_call(part, record))
            elif part.get("type") == "text" and (text := t.text_of(part, "text")):
                yield _turn("assistant", text, record, CONTEXT if by_client else "")


def _turn(role: str, text: str, record: dict[str, Any], meta: str) -> Turn:
    id = t.clip_name(t.text_of(record, "uuid"))
    return Turn(role, t.clip_text(text), t.time_of(record), id=id, sidechain=_is_sidechain(record), meta=meta)


def _call(part: dict[str, Any], record: dict[str, Any]) -> Turn:
    name, given = t.clip_name(t.text_of(part, "name")), t.inner(part, "input")
    return Turn(
        "tool",
        at=t.time_of(record),
        tool=_TOOLS.get(name, OTHER),
        tool_name=name,
        command=t.clip_command(t.text_of(given, "command")),
        files=t.clean_paths([path for key in _PATHS if (path := t.text_of(given, key))]),
        id=t.clip_name(t.text_of(part, "id")),
        sidechain=_is_sidechain(record),
    )


def _is_sidechain(record: dict[str, Any]) -> bool:
    return record.get("isSidechain") is True


def usage(record: dict[str, Any]) -> tuple[int, int | None] | None:
    """Return the tokens in the context after a record of the main conversation; the limit is never reported."""
    if record.get("type") == "system" and record.get("subtype") == "compact_boundary":
        after = t.number_of(t.inner(record, "compactMetadata"), "postTokens")
        return (after, None) if after else None
    if record.get("type") != "assistant" or _is_sidechain(record):
        return None
    spent = t.inner(record, "message", "usage")
    total = sum(t.number_of(spent, name) for name in _TOKENS)
    return (total, None) if total else None


def find(session: str, home: str, env: Mapping[str, str]) -> str:
    """Return the path of a session's transcript in any project, or ''."""
    projects = os.path.join(folder(home, env), "projects")
    try:
        names = sorted(os.listdir(projects))[:_MOST_FOLDERS]
    except OSError:
        return ""
    paths = (os.path.join(projects, name, session + SUFFIX) for name in names)
    return next((path for path in paths if os.path.isfile(path)), "")


def folder(home: str, env: Mapping[str, str]) -> str:
    """Return the client's data folder."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
