"""Read the transcripts of agent clients as turns: what was said and done in a session.

    for turn in read_transcript("claude", path):
        print(turn.role, turn.text or turn.command, turn.failed)

Clients change their formats every week, and a transcript may quote anything. So reading is lenient, takes constant
memory, trusts and runs nothing, and never fails: an unreadable file has no turns. Each client has one module with
`Transcript`, `SUFFIX`, `USAGE_MARKS`, `usage`, `find`, `folder`, and `records_of` if a session is not a file of lines.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from importlib import import_module

from swarmlore.clients import CLIENTS
from swarmlore.domain.extraction.excerpts import excerpt, redacted_path
from swarmlore.domain.policy.fence import strip_blocks
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.security.redaction import redact
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.workspace.files import MISSING, open_own
from swarmlore.workspace.jsonl import lines

if TYPE_CHECKING:
    from typing import Any, BinaryIO

SHELL, READ, WRITE, OTHER = "shell", "read", "write", "other"
SUMMARY = "summary"  # `meta` of a compaction's summary
CONTEXT = "context"  # `meta` of a text that a client, a hook or a file added

# Characters kept of the beginning and of the end of each text. Errors stand at the end.
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
    """A message, or a tool call with its result. Texts are redacted and cut.

    `role` is user, assistant or tool. In a `sidechain` (a sub-agent's conversation) the user is another agent. `meta`
    marks a text that nobody said: `summary` or `context`. `failed` is None if a tool did not run or its result is
    unknown. A failed tool's text is its `error`, any other's its `output`.
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
    """Turn the records of one transcript into turns; tool calls wait for their results, up to a limit."""

    def __init__(self) -> None:
        self._waiting: dict[str, Turn] = {}

    def read(self, record: dict[str, Any]) -> Iterator[Turn]:
        """Return the turns that this record completes; a record of another kind completes none."""
        raise NotImplementedError

    def rest(self) -> Iterator[Turn]:
        """Return the calls that never got a result."""
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
        """Note how a call ended, as reported by a record other than its result."""
        if id in self._waiting:
            self._waiting[id] = replace(self._waiting[id], failed=failed)

    def _result(self, id: str, printed: str, failed: bool | None, at: float, sidechain: bool) -> Turn:
        """Return the call with its result; a result without a call becomes a turn of its own."""
        call = self._waiting.pop(id, None) or Turn("tool", at=at, tool=OTHER, id=id, sidechain=sidechain)
        printed = clip_output(printed)
        if failed:
            return replace(call, error=printed, failed=True)
        return replace(call, output=printed, failed=failed)


def clip_text(value: str) -> str:
    """Cut and redact a message."""
    return excerpt(value, *_TEXT).strip()


def clip_command(value: str) -> str:
    """Cut and redact a command."""
    return excerpt(value, *_COMMAND).strip()


def clip_output(value: str) -> str:
    """Cut and redact the output of a tool, without the elements that hooks added to it."""
    from swarmlore.domain.extraction.message_text import without_elements

    return excerpt(without_elements(value), *_OUTPUT).strip()


def clean_paths(paths: list[str]) -> tuple[str, ...]:
    """Return the valid ones of these paths, redacted, each once."""
    sound = (name for name in paths[:_MOST_PARTS] if 0 < len(name) <= _PATH and "\0" not in name)
    return tuple(dict.fromkeys(map(redacted_path, sound)))[:_MOST_FILES]


def clip_name(value: str) -> str:
    """Cut and redact a name or an id."""
    return redact(_storable(value[:_SHORT]))[0]


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text.replace("\0", "")


def text_of(record: Any, *names: str) -> str:
    """Return the first of these fields that is a non-empty text, or ''."""
    if isinstance(record, dict):
        for name in names:
            value = record.get(name)
            if isinstance(value, str) and value:
                return value
    return ""


def inner(record: Any, *names: str) -> dict[str, Any]:
    """Return the object under a path of names, or an empty one."""
    for name in names:
        record = record.get(name) if isinstance(record, dict) else None
    return record if isinstance(record, dict) else {}


def parts_of(content: Any) -> list[dict[str, Any]]:
    """Return the parts of a message; a plain text is one part."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content[:_MOST_PARTS] if isinstance(part, dict)] if isinstance(content, list) else []


def texts_of(content: Any) -> str:
    """Return the texts of a message or of a tool's answer, joined by line breaks."""
    if isinstance(content, dict):
        content = content.get("content")
    return "\n".join(text for part in parts_of(content) if (text := text_of(part, "text")))


def number_of(record: Any, name: str) -> int:
    """Return a field that is a count, or 0."""
    value = record.get(name) if isinstance(record, dict) else None
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15
    return int(value) if usable else 0  # type: ignore[arg-type]  # `usable` checked the type


def time_of(record: dict[str, Any]) -> float:
    """Return when a record was written, in seconds; 0 if it does not say."""
    from swarmlore.domain.json_codec import from_iso

    try:
        return max(from_iso(text_of(record, "timestamp")), 0.0)
    except (ValueError, OverflowError):
        return 0.0


LINE_BYTES = 4_000_000  # a longer record contains a picture or a file
_SKIP_BYTES = 65_536


class Tally:
    """Count the records of a transcript and those skipped, by reason, and keep why nothing could be read. `refused`
    is that reason. `busy` means that a retry may succeed, `missing` that there is no such file."""

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
    """Open a transcript; return None and the reason if it is refused. The path may come from a payload."""
    if not os.path.isabs(path) or not path.endswith(suffix):
        return None, "not the path of a transcript"
    return open_own(path)


def records(file: BinaryIO, most_bytes: int, tally: Tally) -> Iterator[dict[str, Any]]:
    """Yield each record in the last `most_bytes` of a file; count the lines that are no records."""
    size = os.fstat(file.fileno()).st_size
    begin = max(0, size - most_bytes)
    if begin:
        tally.skip("before the part that is read")
        begin = _next_line(file, begin)
    for line in lines(file, offset=begin, cap=LINE_BYTES):
        if line.offset >= size:  # the client writes faster than we read
            return
        tally.lines += 1
        record, why = (None, "too long") if line.cut else parse(line.raw)
        if record is None:
            tally.skip(why)
        else:
            yield record


def names_in(folder: str) -> list[str]:
    """Return the names in a folder in descending order; [] if it cannot be read."""
    try:
        return sorted(os.listdir(folder), reverse=True)
    except OSError:
        return []


def _next_line(file: BinaryIO, begin: int) -> int:
    """Seek to the first line that begins at or after an offset, reading in bounded pieces."""
    file.seek(begin - 1)
    while (part := file.readline(_SKIP_BYTES)) and not part.endswith(b"\n"):
        pass
    return file.tell()


def parse(raw: bytes) -> tuple[dict[str, Any] | None, str]:
    """Parse the JSON object of a line; return None and the reason if it is none."""
    if b"\0" in raw:
        return None, "binary"
    try:
        value = json.loads(raw.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None, "not JSON"
    return (value, "") if isinstance(value, dict) else (None, "not an object")


def tail(file: BinaryIO, most_bytes: int) -> tuple[list[bytes], bool]:
    """Return the last complete lines of a file, newest first, and whether these are all its lines."""
    begin = max(0, os.fstat(file.fileno()).st_size - most_bytes)
    file.seek(begin)
    lines = file.read(most_bytes).split(b"\n")
    return (lines[:0:-1], False) if begin else (lines[::-1], True)


MAX_CHARS = 1_000_000
# Names of speakers at the beginning of a line of a plain text transcript.
_SPEAKERS = r"user|human|person|me|assistant|agent|ai|claude|codex|model"
_TOOLS = (
    r"tool(?:[ _-]?(?:use|call|result|output|response))?|system|(?:std)?out(?:put)?|stderr|results?|bash|shell|terminal"
    r"|console|function(?:[ _-]?(?:call|result|output))?|command|observation|environment"
)
_MARK = r"^[ \t>*_#]{{0,8}}({})(?:[ \t]?[(\[][^\n()\[\]]{{0,60}}[)\]])?[ *_]{{0,4}}:[ *_]{{0,4}}"
_PEOPLE = ("user", "human", "person", "me")


def names_speakers(text: str) -> bool:
    """Return whether a text has lines that name a speaker, such as `User:`."""
    return bool(_marks(_SPEAKERS, text[:MAX_CHARS]))


def turns_of_text(text: str) -> list[Turn]:
    """Split a plain text into turns, without those of tools; a text that names no speaker may be either role's."""
    text = scrub_text(strip_blocks(text))
    if not _marks(_SPEAKERS, text):
        return [Turn("user", text), Turn("assistant", text)]
    marks = _marks(f"{_SPEAKERS}|{_TOOLS}", text)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    pieces = [(mark[1].lower(), text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    spoken = [(who, words) for who, words in pieces if words and re.fullmatch(_SPEAKERS, who)]
    return [Turn("user" if who in _PEOPLE else "assistant", words) for who, words in spoken]


def _marks(who: str, text: str) -> list[re.Match[str]]:
    """Find the places where a speaker's turn begins; ignore quotes inside a turn (code blocks, lines after `>`)."""
    marks = list(re.finditer(_MARK.format(who), text, re.IGNORECASE | re.MULTILINE))
    if not marks:
        return marks
    quoted = ">" in marks[0][0]
    blocks = _blocks(text)
    return [mark for mark in marks if (quoted or ">" not in mark[0]) and not _is_in(mark.start(), blocks)]


def _blocks(text: str) -> list[tuple[int, int]]:
    """Return the spans of fenced code blocks; none if a fence is not closed, as the pairs are ambiguous then."""
    fences = [mark.start() for mark in re.finditer(r"^[ \t]{0,3}(?:```|~~~)", text, re.MULTILINE)]
    return list(zip(fences[::2], fences[1::2], strict=True)) if len(fences) % 2 == 0 else []


def _is_in(place: int, blocks: list[tuple[int, int]]) -> bool:
    at = bisect_right(blocks, (place, place))
    return at > 0 and place < blocks[at - 1][1]


__all__ = ["CLIENTS", "Tally", "Turn", "compacted_at", "context_used", "find_transcript", "read_transcript"]
MOST_BYTES = 32_000_000  # read from the end: a few seconds of work, and the latest lessons stand there
_TAILS = (262_144, 4_000_000)  # bytes searched for the last token counts; the first size mostly suffices
_MOST_SESSION = 128


def read_transcript(
    client: str, path: str, most_bytes: int = MOST_BYTES, *, meta: bool = False, tally: Tally | None = None
) -> Iterator[Turn]:
    """Yield the turns of a session in order, a tool call when its result is known; of a large file only the end.
    Summaries of compactions, and texts that hooks and clients added, are included only with `meta`."""
    tally = Tally() if tally is None else tally
    module = _module(client)
    if module is None:
        tally.refused = "no reader for this client"
        return
    reader = module.Transcript()
    for record in _records(module, path, most_bytes, tally):
        for turn in reader.read(record):
            # A message may be empty without its injected parts.
            if (turn.role == "tool" or turn.text) and (meta or not turn.meta):
                yield turn
    yield from reader.rest()


def _records(module: Any, path: str, most_bytes: int, tally: Tally) -> Iterator[dict[str, Any]]:
    """Yield the records of a session: lines of a file, or from the client module's own `records_of`."""
    if hasattr(module, "records_of"):
        yield from module.records_of(path, most_bytes, tally)
        return
    file, tally.refused = open_transcript(path, module.SUFFIX)
    if file is not None:
        with file:
            yield from records(file, most_bytes, tally)


def context_used(client: str, path: str) -> tuple[int, int | None] | None:
    """Return the tokens in a session's context after its last answer, and the limit if the client reports it."""
    module = _module(client)
    file, _ = open_transcript(path, module.SUFFIX) if module is not None else (None, "")
    if module is None or file is None:
        return None
    with file:
        for most in _TAILS:
            lines, complete = tail(file, most)
            found = _last_usage(module, lines)
            if found or complete:
                return found
    return None


def _last_usage(module: Any, lines: list[bytes]) -> tuple[int, int | None] | None:
    """Return the token counts of the newest line that has any."""
    for line in lines:
        if any(mark in line for mark in module.USAGE_MARKS):
            record, _ = parse(line)
            found: tuple[int, int | None] | None = module.usage(record) if record is not None else None
            if found:
                return found
    return None


def compacted_at(client: str, path: str) -> float:
    """Return when a session's context was last compacted, for clients whose hooks do not report it; else 0."""
    module = _module(client)
    marks = getattr(module, "CUT_MARKS", ())
    file, _ = open_transcript(path, module.SUFFIX) if marks else (None, "")
    if file is None:
        return 0.0
    with file:
        lines, _ = tail(file, _TAILS[-1])
    found = [parse(line)[0] for line in lines if any(mark in line for mark in marks)]
    cuts = [cut for record in found if record is not None and (cut := module.cut(record))]
    return min((when for mark, when in cuts if mark == cuts[0][0]), default=0.0)  # a resumed session repeats the record


def find_transcript(client: str, session: str, home: str, env: Mapping[str, str] | None = None) -> str:
    """Return the path of a session's transcript for the user with this home folder, or ''."""
    module = _module(client)
    plain = session.replace("-", "").replace("_", "")
    if module is None or not (plain.isascii() and plain.isalnum()) or len(session) > _MOST_SESSION:
        return ""
    path: str = module.find(session, os.path.abspath(home), env or {})
    return path


def _module(client: str) -> Any:
    return import_module(f"swarmlore.clients.{client}.transcript") if client in CLIENTS else None


def turns_of_job(body: Mapping[str, Any]) -> list[Turn]:
    """Return the turns in a job's body; a transcript that came by mail is plain text."""
    listed = body.get("turns")
    if isinstance(listed, list):
        return [turn for item in listed if (turn := _turn(item)) is not None]
    text = text_in(body, "text") or text_in(mapping_in(body, "outcome"), "transcript")
    if not text:
        return []
    from swarmlore.domain.extraction import summaries

    return summaries.shorten_transcript(turns_of_text(text), summaries.MOST_CHARS)


def _turn(item: Any) -> Turn | None:
    if not isinstance(item, Mapping) or item.get("role") not in ("user", "assistant", "tool"):
        return None
    texts: dict[str, Any] = {name: text_in(item, name) for name in ("role", "text", "tool", "command", "error")}
    files = item.get("files")
    paths = tuple(path for path in files if isinstance(path, str)) if isinstance(files, list) else ()
    failed = item.get("failed")
    return Turn(**texts, files=paths, failed=failed if isinstance(failed, bool) else None)


def text_in(values: Mapping[str, Any], name: str) -> str:
    """Return a value that is a text, or ''."""
    value = values.get(name)
    return value if isinstance(value, str) else ""


def mapping_in(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a value that is an object, or an empty one."""
    value = values.get(name)
    return value if isinstance(value, Mapping) else {}
