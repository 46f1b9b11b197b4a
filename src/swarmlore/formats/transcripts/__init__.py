"""What was said and done in a session, from the file in which a client keeps it.

    for turn in read_transcript("claude", path):
        print(turn.role, turn.text or turn.command, turn.failed)

A transcript is written by a client that changes every week, about work in a repository that anybody may have written.
So it is read leniently and in constant memory, nothing in it is believed or run, and reading never fails: a file that
cannot be read has no turns. A client is one module: `Transcript`, `SUFFIX`, `USAGE_MARKS`, `usage`, `find`, `folder`,
and `records_of` where a session is not kept as a file of lines.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib import import_module

from swarmlore.formats.transcripts.opening import Tally, open_transcript, parse, records, tail
from swarmlore.formats.transcripts.turns import Turn
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__all__ = ["CLIENTS", "Tally", "Turn", "context_used", "cut_at", "find_transcript", "read_transcript"]

CLIENTS = ("claude", "codex", "gemini", "copilot", "opencode")
MOST_BYTES = 32_000_000  # a few seconds of reading; the end of a session is what was learned last
_TAILS = (262_144, 4_000_000)  # bytes looked at for the last figures: mostly few are enough
_MOST_SESSION = 128


def read_transcript(
    client: str, path: str, most_bytes: int = MOST_BYTES, *, meta: bool = False, tally: Tally | None = None
) -> Iterator[Turn]:
    """The turns of a session in their order, a tool's when its result is there. Of a longer file, its last part.

    Summaries of compactions and what hooks and clients added are left out, unless `meta` asks for them.
    """
    tally = Tally() if tally is None else tally
    module = _module(client)
    if module is None:
        tally.refused = "no reader for this client"
        return
    reader = module.Transcript()
    for record in _records(module, path, most_bytes, tally):
        yield from (turn for turn in reader.read(record) if _counts(turn) and (meta or not turn.meta))
    yield from reader.rest()


def _records(module: Any, path: str, most_bytes: int, tally: Tally) -> Iterator[dict[str, Any]]:
    """The records of a session: from a file of lines, or however else its client keeps them."""
    if hasattr(module, "records_of"):
        yield from module.records_of(path, most_bytes, tally)
        return
    file, tally.refused = open_transcript(path, module.SUFFIX)
    if file is not None:
        with file:
            yield from records(file, most_bytes, tally)


def _counts(turn: Turn) -> bool:
    return turn.role == "tool" or bool(turn.text)  # nothing may be left of a message without what was injected


def context_used(client: str, path: str) -> tuple[int, int | None] | None:
    """The tokens in a session's context after its last answer, and how many fit where the client says it."""
    module = _module(client)
    file, _ = open_transcript(path, module.SUFFIX) if module is not None else (None, "")
    if module is None or file is None:
        return None
    with file:
        for most in _TAILS:
            lines, whole = tail(file, most)
            found = _last_usage(module, lines)
            if found or whole:
                return found
    return None


def _last_usage(module: Any, lines: list[bytes]) -> tuple[int, int | None] | None:
    for line in lines:
        if any(mark in line for mark in module.USAGE_MARKS):
            record, _ = parse(line)
            found: tuple[int, int | None] | None = module.usage(record) if record is not None else None
            if found:
                return found
    return None


def cut_at(client: str, path: str) -> float:
    """When a session's context was last replaced by a summary, for clients whose hooks do not tell; else 0."""
    module = _module(client)
    marks = getattr(module, "CUT_MARKS", ())
    file, _ = open_transcript(path, module.SUFFIX) if marks else (None, "")
    if file is None:
        return 0.0
    with file:
        lines, _ = tail(file, _TAILS[-1])
    found = [parse(line)[0] for line in lines if any(mark in line for mark in marks)]
    cuts = [cut for record in found if record is not None and (cut := module.cut(record))]
    return min((when for mark, when in cuts if mark == cuts[0][0]), default=0.0)  # a resumed session repeats it


def find_transcript(client: str, session: str, home: str, env: Mapping[str, str] | None = None) -> str:
    """Where a client keeps the transcript of a session, for the user whose home this is; '' where it does not."""
    module = _module(client)
    plain = session.replace("-", "").replace("_", "")
    if module is None or not (plain.isascii() and plain.isalnum()) or len(session) > _MOST_SESSION:
        return ""
    found: str = module.find(session, os.path.abspath(home), env or {})
    return found


def _module(client: str) -> Any:
    return import_module(f"{__name__}.{client}") if client in CLIENTS else None
