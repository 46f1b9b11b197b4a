"""Read and write JSON Lines, one line at a time.

Files of a repository may hold anything. No line is read into memory beyond a limit, and an invalid line is reported
with its number and the reason; the lines after it are still read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any, BinaryIO

LINE_BYTES = 1_000_000
LONG_BYTES = 16_000_000  # limit for a line with many records
HEAD_BYTES = 4_096  # kept of a line that is too long
SKIP_BYTES = 65_536
DEPTH = 32
DIGITS = 18  # of an integer: what fits into 64 bits
MARKS = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
MARK = "a conflict marker"
_BOM = b"\xef\xbb\xbf"


class BadLine(Exception):
    """Raised for a line that is not a valid record."""

    @property
    def reason(self) -> str:
        """Return why the line is invalid."""
        return str(self.args[0])


@frozen
class Line:
    """One line of a file: where it begins, where the next one does, and its bytes without the line end. Of a line
    longer than the limit only the beginning is kept, and `cut` is set."""

    number: int
    offset: int
    end: int
    raw: bytes
    cut: bool = False


def lines(file: BinaryIO, offset: int = 0, number: int = 0, cap: int = LINE_BYTES) -> Iterator[Line]:
    """Yield every line that is not blank; `offset` and `number` are those of the lines read before."""
    while raw := file.readline(cap + 2):
        number += 1
        begin, end = offset, offset + len(raw)
        text = raw.rstrip(b"\r\n")
        cut = len(text) > cap
        if cut:
            text = text[:HEAD_BYTES]
            end += 0 if raw.endswith(b"\n") else _skip(file)
        elif not begin and text.startswith(_BOM):
            text, begin = text[3:], 3
        if text.strip():
            yield Line(number, begin, end, text, cut)
        offset = end


def _skip(file: BinaryIO) -> int:
    """Read to the end of the line without keeping it; return the number of bytes."""
    skipped = 0
    while part := file.readline(SKIP_BYTES):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def parse(line: Line) -> dict[str, Any]:
    """Return the JSON object of a line; raise BadLine if it is invalid."""
    if line.cut:
        raise BadLine(f"too long ({line.end - line.offset} bytes)")
    return parse_object(line.raw)


def parse_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object in these bytes; raise BadLine for anything that cannot be kept exactly."""
    if raw[:7] in MARKS and raw[7:8] in (b"", b" "):
        raise BadLine(MARK)
    if b"\0" in raw:
        raise BadLine("holds NUL bytes")
    try:
        value = DECODER.decode(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadLine(f"not UTF-8 (byte {error.start + 1})") from None
    except RecursionError:
        raise BadLine("nested too deeply") from None
    except json.JSONDecodeError as error:
        what = error.msg.lower().removesuffix(" at").rstrip(": ")
        raise BadLine(f"not JSON: {what} at character {error.pos + 1}") from None
    except ValueError as error:
        raise BadLine(str(error)[:80]) from None
    if not isinstance(value, dict):
        raise BadLine("not a JSON object")
    if raw.count(b"[") + raw.count(b"{") > DEPTH:
        _check_depth(value, DEPTH)
    if b"\\u" in raw:
        _check_surrogates(value)
    return value


def check_value(value: Any) -> None:
    """Raise BadLine for a value that cannot be kept exactly."""
    _check_depth(value, DEPTH)
    _check_surrogates(value)


def dump(value: Any) -> bytes:
    """Return compact UTF-8 JSON without a line end; keys keep their order."""
    return _ENCODER.encode(value).encode("utf-8")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("the same key twice")
    return made


def _whole_number(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError("a number with too many digits")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise ValueError("a number that is too large")
    return value


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _check_depth(value: Any, left: int) -> None:
    if left < 0:
        raise BadLine("nested too deeply")
    if isinstance(value, dict):
        value = value.values()
    if not isinstance(value, str) and hasattr(value, "__iter__"):
        for item in value:
            _check_depth(item, left - 1)


def _check_surrogates(value: Any) -> None:
    try:
        dump(value)
    except UnicodeEncodeError:
        raise BadLine("holds half a character (a lone surrogate)") from None


DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_whole_number, parse_float=_number, parse_constant=_no_number
)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
