"""One turn of a session, in one form for all clients, and what every reader of a client's records needs."""

from __future__ import annotations

from collections.abc import Iterator

from swarmlore.domain.extraction.lesson_text import excerpt, path
from swarmlore.domain.security.redaction import redact
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any

SHELL, READ, WRITE, OTHER = "shell", "read", "write", "other"
SUMMARY = "summary"  # what a compaction left of a conversation
CONTEXT = "context"  # what a client, a hook or a file put into it

# What is kept of each text: so many characters of its beginning and of its end. Errors stand at the end.
_TEXT = (12_000, 4_000)
_COMMAND = (6_000, 2_000)
_OUTPUT = (2_000, 6_000)
_SHORT = 400
_PATH = 4_096
_MOST_FILES = 20
_MOST_WAITING = 200
_MOST_PARTS = 1_000


@frozen
class Turn:
    """What was said, or one use of a tool with its result. Texts are redacted and cut.

    role is user, assistant or tool. In a `sidechain` (a sub-agent's conversation) the user is another agent. `meta`
    says why a turn belongs to nobody: `summary` or `context`. `failed` is None where a tool did not run or nobody said
    how it ended; what a failed one printed is its `error`, else it is `output`.
    """

    role: str
    text: str = ""
    at: float = 0.0
    tool: str = ""
    tool_name: str = ""
    command: str = ""
    files: tuple[str, ...] = ()
    output: str = ""
    error: str = ""
    failed: bool | None = None
    id: str = ""
    sidechain: bool = False
    meta: str = ""


class Reader:
    """Records of one transcript in, turns out. Calls of tools wait for their results; only so many wait at once."""

    def __init__(self) -> None:
        self._waiting: dict[str, Turn] = {}

    def read(self, record: dict[str, Any]) -> Iterator[Turn]:
        """The turns that are complete with this record; a record of another kind gives none."""
        raise NotImplementedError

    def rest(self) -> Iterator[Turn]:
        """Calls that never got a result."""
        yield from self._waiting.values()
        self._waiting.clear()

    def _call(self, turn: Turn) -> Iterator[Turn]:
        if not turn.id:
            yield turn
            return
        if turn.id in self._waiting or len(self._waiting) >= _MOST_WAITING:
            oldest = turn.id if turn.id in self._waiting else next(iter(self._waiting))
            yield self._waiting.pop(oldest)
        self._waiting[turn.id] = turn

    def _note(self, id: str, failed: bool | None) -> None:
        """Something beside the result said how a call ended."""
        if id in self._waiting:
            self._waiting[id] = replace(self._waiting[id], failed=failed)

    def _result(self, id: str, printed: str, failed: bool | None, at: float, sidechain: bool) -> Turn:
        """The call with its result; a result without a call stands alone."""
        call = self._waiting.pop(id, None) or Turn("tool", at=at, tool=OTHER, id=id, sidechain=sidechain)
        printed = output(printed)
        if failed:
            return replace(call, error=printed, failed=True)
        return replace(call, output=printed, failed=failed)


# --- texts, as they may leave a reader


def said(value: str) -> str:
    return excerpt(value, *_TEXT).strip()


def command(value: str) -> str:
    return excerpt(value, *_COMMAND).strip()


def output(value: str) -> str:
    """What a tool printed, without what hooks added to it."""
    from swarmlore.domain.extraction.user_words import without_elements

    return excerpt(without_elements(value), *_OUTPUT).strip()


def files(paths: list[str]) -> tuple[str, ...]:
    """Paths that can be ones, each once."""
    sound = (name for name in paths[:_MOST_PARTS] if 0 < len(name) <= _PATH and "\0" not in name)
    return tuple(dict.fromkeys(map(path, sound)))[:_MOST_FILES]


def short(value: str) -> str:
    """A name or an id."""
    return redact(_storable(value[:_SHORT]))[0]


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text.replace("\0", "")


# --- values of a record, whatever it holds


def text_of(record: Any, *names: str) -> str:
    """The first of these that is a text and not empty."""
    if isinstance(record, dict):
        for name in names:
            value = record.get(name)
            if isinstance(value, str) and value:
                return value
    return ""


def inner(record: Any, *names: str) -> dict[str, Any]:
    """The object under a path of names; an empty one where there is none."""
    for name in names:
        record = record.get(name) if isinstance(record, dict) else None
    return record if isinstance(record, dict) else {}


def parts_of(content: Any) -> list[dict[str, Any]]:
    """The parts of a message: a text alone is one part."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content[:_MOST_PARTS] if isinstance(part, dict)] if isinstance(content, list) else []


def texts_of(content: Any) -> str:
    """The texts in a message or in a tool's answer."""
    if isinstance(content, dict):
        content = content.get("content")
    return "\n".join(text for part in parts_of(content) if (text := text_of(part, "text")))


def number_of(record: Any, name: str) -> int:
    """A count; 0 where there is none."""
    value = record.get(name) if isinstance(record, dict) else None
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15
    return int(value) if usable else 0  # type: ignore[arg-type]  # `usable` says that it is a number


def moment_of(record: dict[str, Any]) -> float:
    """When a record was written, in seconds; 0 where it does not say."""
    from swarmlore.domain.json_codec import from_iso

    try:
        return max(from_iso(text_of(record, "timestamp")), 0.0)
    except (ValueError, OverflowError):
        return 0.0
