"""What was said and done in a session, from the file in which a client keeps it.

    for turn in read_transcript("claude", path):
        print(turn.role, turn.text or turn.command, turn.failed)

A transcript is written by a client that changes every week, about work in a repository that anybody may have written.
So it is read leniently and in constant memory, nothing in it is believed or run, and reading never fails: a file that
cannot be read has no turns. A client is one module: `Transcript`, `SUFFIX`, `USAGE_MARKS`, `usage`, `find`, `folder`,
and `records_of` where a session is not kept as a file of lines.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from importlib import import_module

from swarmlore.domain.extraction.lesson_text import excerpt, path
from swarmlore.domain.policy.fence import strip_blocks
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.security.redaction import redact
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.workspace.files import MISSING, open_own
from swarmlore.workspace.jsonl import lines

if TYPE_CHECKING:
    from typing import Any, BinaryIO


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


LINE_BYTES = 4_000_000  # a longer record holds a picture or a file
_SKIP_BYTES = 65_536


class Tally:
    """Counts what a reader met: lines, those it could not use and why, and why it read nothing at all.

    `busy` says that another time it may be read, `missing` that there is no such file.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.skipped: dict[str, int] = {}
        self.refused = ""
        self.busy = False

    @property
    def missing(self) -> bool:
        return self.refused == MISSING

    def skip(self, why: str) -> None:
        self.skipped[why] = self.skipped.get(why, 0) + 1


def open_transcript(path: str, suffix: str) -> tuple[BinaryIO | None, str]:
    """The file, or nothing and why; the path may come from a payload."""
    if not os.path.isabs(path) or not path.endswith(suffix):
        return None, "not the path of a transcript"
    return open_own(path)


def records(file: BinaryIO, most_bytes: int, tally: Tally) -> Iterator[dict[str, Any]]:
    """Every record in the last so many bytes of a file, one at a time; what is none is counted."""
    size = os.fstat(file.fileno()).st_size
    begin = max(0, size - most_bytes)
    if begin:
        tally.skip("before the part that is read")
        begin = _next_line(file, begin)
    for line in lines(file, offset=begin, cap=LINE_BYTES):
        if line.offset >= size:  # somebody writes faster than we read
            return
        tally.lines += 1
        record, why = (None, "too long") if line.cut else parse(line.raw)
        if record is None:
            tally.skip(why)
        else:
            yield record


def _next_line(file: BinaryIO, begin: int) -> int:
    """Go to the first line that begins after a place, without keeping what is before it."""
    file.seek(begin - 1)
    while (part := file.readline(_SKIP_BYTES)) and not part.endswith(b"\n"):
        pass
    return file.tell()


def parse(raw: bytes) -> tuple[dict[str, Any] | None, str]:
    """The JSON object of a line, or nothing and why."""
    if b"\0" in raw:
        return None, "binary"
    try:
        value = json.loads(raw.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None, "not JSON"
    return (value, "") if isinstance(value, dict) else (None, "not an object")


def tail(file: BinaryIO, most_bytes: int) -> tuple[list[bytes], bool]:
    """The last lines of a file, last first, and whether these are all; one that is not whole is left out."""
    begin = max(0, os.fstat(file.fileno()).st_size - most_bytes)
    file.seek(begin)
    found = file.read(most_bytes).split(b"\n")
    return (found[:0:-1], False) if begin else (found[::-1], True)


MAX_CHARS = 1_000_000
# Who speaks, where a text says so at the beginning of a line.
_SPEAKERS = r"user|human|person|me|assistant|agent|ai|claude|codex|model"
_TOOLS = (
    r"tool(?:[ _-]?(?:use|call|result|output|response))?|system|(?:std)?out(?:put)?|stderr|results?|bash|shell|terminal"
    r"|console|function(?:[ _-]?(?:call|result|output))?|command|observation|environment"
)
_MARK = r"^[ \t>*_#]{{0,8}}({})(?:[ \t]?[(\[][^\n()\[\]]{{0,60}}[)\]])?[ *_]{{0,4}}:[ *_]{{0,4}}"
_PEOPLE = ("user", "human", "person", "me")


def names_speakers(text: str) -> bool:
    """Whether a text says who speaks in it."""
    return bool(_marks(_SPEAKERS, text[:MAX_CHARS]))


def turns_of(text: str) -> list[Turn]:
    """A text as turns of a conversation, without what tools said in it; where nobody is named, both a person and an
    agent may have said it."""
    text = scrub_text(strip_blocks(text))
    if not _marks(_SPEAKERS, text):
        return [Turn("user", text), Turn("assistant", text)]
    marks = _marks(f"{_SPEAKERS}|{_TOOLS}", text)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    said = [(mark[1].lower(), text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    spoken = [(who, words) for who, words in said if words and re.fullmatch(_SPEAKERS, who)]
    return [Turn("user" if who in _PEOPLE else "assistant", words) for who, words in spoken]


def _marks(who: str, text: str) -> list[re.Match[str]]:
    """Where somebody begins to speak. What is quoted inside of a turn, in a block of code or behind `>`, is no turn."""
    found = list(re.finditer(_MARK.format(who), text, re.IGNORECASE | re.MULTILINE))
    if not found:
        return found
    quoted = ">" in found[0][0]
    blocks = _blocks(text)
    return [mark for mark in found if (quoted or ">" not in mark[0]) and not _is_in(mark.start(), blocks)]


def _blocks(text: str) -> list[tuple[int, int]]:
    """Blocks of code, from fence to fence; none where one of them has no end, as then nobody knows which it is."""
    fences = [mark.start() for mark in re.finditer(r"^[ \t]{0,3}(?:```|~~~)", text, re.MULTILINE)]
    return list(zip(fences[::2], fences[1::2], strict=True)) if len(fences) % 2 == 0 else []


def _is_in(place: int, blocks: list[tuple[int, int]]) -> bool:
    at = bisect_right(blocks, (place, place))
    return at > 0 and place < blocks[at - 1][1]


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
    return import_module(f"swarmlore.clients.{client}.transcript") if client in CLIENTS else None


def turns_in(body: Mapping[str, Any]) -> list[Turn]:
    """The turns of a job; a transcript in plain text where it came by mail."""
    listed = body.get("turns")
    if isinstance(listed, list):
        return [turn for item in listed if (turn := _turn(item)) is not None]
    text = text_in(body, "text") or text_in(mapping_in(body, "outcome"), "transcript")
    if not text:
        return []
    from swarmlore.domain.extraction import summaries

    return summaries.cut(turns_of(text), summaries.MOST_CHARS)


def _turn(item: Any) -> Turn | None:
    if not isinstance(item, Mapping) or item.get("role") not in ("user", "assistant", "tool"):
        return None
    texts: dict[str, Any] = {name: text_in(item, name) for name in ("role", "text", "tool", "command", "error")}
    files = item.get("files")
    paths = tuple(path for path in files if isinstance(path, str)) if isinstance(files, list) else ()
    failed = item.get("failed")
    return Turn(**texts, files=paths, failed=failed if isinstance(failed, bool) else None)


def text_in(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def mapping_in(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = values.get(name)
    return value if isinstance(value, Mapping) else {}
