"""Claude Code: `projects/<folder as a name>/<session>.jsonl` in its folder, sub-agents in files of their own.

A record of type user holds what was typed, or results of tools, or what the client says in the user's name; one of type
assistant holds one part of an answer, with the tokens that the request took.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from swarmlore.clients import transcripts
from swarmlore.clients.transcripts import CONTEXT, OTHER, READ, SHELL, SUMMARY, WRITE, Reader, Turn
from swarmlore.domain.extraction.user_words import unwrap
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
    """Joins parts of answers and results by the id of the call."""

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
        for part in transcripts.parts_of(transcripts.inner(record, "message").get("content")):
            if part.get("type") == "tool_result":
                yield self._answer(part, record)
            elif whole := transcripts.text_of(part, "text"):
                typed = "" if meta else unwrap(whole)
                yield _turn("user", typed or whole, record, "" if typed else meta or CONTEXT)

    def _attachment(self, record: dict[str, Any]) -> Iterator[Turn]:
        """What a hook put into the context, or what was typed while the agent was busy."""
        attachment = transcripts.inner(record, "attachment")
        if attachment.get("type") == "hook_additional_context":
            content = attachment.get("content")
            given = content if isinstance(content, list) else [content]
            yield _turn("user", "\n".join(text for text in given if isinstance(text, str)), record, CONTEXT)
        elif attachment.get("type") == "queued_command" and attachment.get("commandMode", "prompt") == "prompt":
            yield _turn("user", unwrap(transcripts.text_of(attachment, "prompt")), record, "")

    def _answer(self, part: dict[str, Any], record: dict[str, Any]) -> Turn:
        id = transcripts.short(transcripts.text_of(part, "tool_use_id"))
        printed = transcripts.texts_of(part).removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
        failed: bool | None = part.get("is_error") is True
        interrupted = transcripts.inner(record, "toolUseResult").get("interrupted") is True
        if "toolDenialKind" in record or interrupted or printed.startswith(_REFUSED):
            failed = None  # it did not run, or not to its end
        return self._result(id, printed, failed, transcripts.moment_of(record), _beside(record))

    def _assistant(self, record: dict[str, Any]) -> Iterator[Turn]:
        message = transcripts.inner(record, "message")
        made_up = record.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>"
        for part in transcripts.parts_of(message.get("content")):
            if part.get("type") == "tool_use":
                yield from self._call(_call(part, record))
            elif part.get("type") == "text" and (text := transcripts.text_of(part, "text")):
                yield _turn("assistant", text, record, CONTEXT if made_up else "")


def _turn(role: str, text: str, record: dict[str, Any], meta: str) -> Turn:
    id = transcripts.short(transcripts.text_of(record, "uuid"))
    return Turn(
        role, transcripts.said(text), transcripts.moment_of(record), id=id, sidechain=_beside(record), meta=meta
    )


def _call(part: dict[str, Any], record: dict[str, Any]) -> Turn:
    name, given = transcripts.short(transcripts.text_of(part, "name")), transcripts.inner(part, "input")
    return Turn(
        "tool",
        at=transcripts.moment_of(record),
        tool=_TOOLS.get(name, OTHER),
        tool_name=name,
        command=transcripts.command(transcripts.text_of(given, "command")),
        files=transcripts.files([path for key in _PATHS if (path := transcripts.text_of(given, key))]),
        id=transcripts.short(transcripts.text_of(part, "id")),
        sidechain=_beside(record),
    )


def _beside(record: dict[str, Any]) -> bool:
    return record.get("isSidechain") is True


def usage(record: dict[str, Any]) -> tuple[int, int | None] | None:
    """The tokens in the context after a record of the main conversation; it never says how many fit."""
    if record.get("type") == "system" and record.get("subtype") == "compact_boundary":
        after = transcripts.number_of(transcripts.inner(record, "compactMetadata"), "postTokens")
        return (after, None) if after else None
    if record.get("type") != "assistant" or _beside(record):
        return None
    spent = transcripts.inner(record, "message", "usage")
    total = sum(transcripts.number_of(spent, name) for name in _TOKENS)
    return (total, None) if total else None


def find(session: str, home: str, env: Mapping[str, str]) -> str:
    """The transcript of a session, in whichever project it is; '' where there is none."""
    projects = os.path.join(folder(home, env), "projects")
    try:
        names = sorted(os.listdir(projects))[:_MOST_FOLDERS]
    except OSError:
        return ""
    paths = (os.path.join(projects, name, session + SUFFIX) for name in names)
    return next((path for path in paths if os.path.isfile(path)), "")


def folder(home: str, env: Mapping[str, str]) -> str:
    """Where the client keeps everything."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
