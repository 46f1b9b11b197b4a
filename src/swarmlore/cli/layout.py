"""Paper and pens: widths, colours, safe text, words for quantities, lines and tables."""

from __future__ import annotations

import time
from collections.abc import Iterable

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_AGES = (
    (60, 1, "s"),
    (3600, 60, "min"),
    (86_400, 3600, "h"),
    (86_400 * 60, 86_400, "d"),
    (86_400 * 730, 2_629_746, "mo"),
)
_YEAR_S = 31_556_952
LEAST_ROOM = 20  # characters beside an indent; where there are fewer, lines stay whole


class Page:
    """What is written on: how wide (0: no wrapping), with colour or without, and what time it is."""

    def __init__(self, width: int = 0, *, colour: bool = False, now: float | None = None) -> None:
        self.width = width
        self.colour = colour
        self.now = time.time() if now is None else now

    def paint(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colour and text else text


def clean(text: object) -> str:
    """Text that cannot move a cursor, change a colour or reorder a line: such characters are shown as escapes."""
    text = str(text)
    if text.isprintable():
        return text
    return "".join(_escape(char) if _unsafe(ord(char)) else char for char in text)


def _unsafe(code: int) -> bool:
    if code < 0x20:
        return code not in (0x09, 0x0A)
    bidi = 0x200E <= code <= 0x200F or 0x2028 <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code == 0x061C
    return 0x7F <= code <= 0x9F or bidi or 0xD800 <= code <= 0xDFFF or 0xE0000 <= code <= 0xE0FFF


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def json_text(document: Any) -> str:
    """JSON that people can read and that is as safe to look at as every other text."""
    import json

    text = json.dumps(document, ensure_ascii=False, indent=2)
    if text.isascii() and "\x7f" not in text:
        return text + "\n"
    return "".join(json.dumps(char)[1:-1] if ord(char) > 0x7E and _unsafe(ord(char)) else char for char in text) + "\n"


# Words for quantities


def age(at: float, now: float) -> str:
    """How old, in the largest unit that fits."""
    seconds = max(0.0, now - at)
    if seconds < 1:
        return "now"
    for below, unit, name in _AGES:
        if seconds < below:
            return f"{int(seconds // unit)} {name}"
    return f"{int(seconds // _YEAR_S)} y"


def ago(at: float, now: float) -> str:
    """How long since."""
    told = age(at, now)
    return told if told == "now" else f"{told} ago"


def when(at: float, now: float) -> str:
    """A moment in local time, with its distance."""
    try:
        stamp = time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    except (OverflowError, ValueError, OSError):
        return f"{at:.0f}"  # beyond the calendar
    return f"{stamp} ({ago(at, now)})" if at <= now else stamp


def size(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def amount(value: float) -> str:
    """A score or factor: three decimals, more only where they would all be nought."""
    return f"{value:.3f}" if not value or abs(value) >= 0.0005 else f"{value:.1e}"


def many(count: int, one: str, more: str = "") -> str:
    return f"{count:,} {one if count == 1 else more or one + 's'}"


# Lines


def hang(head: str, text: str, page: Page, indent: int, style: str = "") -> str:
    """A head, and beside it a text in one style whose further lines stand under its first; words (paths, commands) are
    never cut."""
    lines = clean(text).splitlines() or [""]
    if page.width and page.width - indent >= LEAST_ROOM:
        first, *rest = lines
        room = page.width - indent
        lines = _folded(first, page.width - _seen(head), room)
        lines += [part for line in rest for part in _folded(line, room, room)]
    painted = [page.paint(style, line) if style else line for line in lines]
    head = head if lines[0] else head.rstrip(" ")
    return "\n".join([head + painted[0], *(" " * indent + line for line in painted[1:])])


def say(text: str, page: Page, indent: int = 0, style: str = "") -> str:
    """A text in one style, every line of it as far from the edge."""
    return hang(" " * indent, text, page, indent, style)


def fold(text: str, page: Page) -> str:
    """Lines as they were rendered, those that are wider than the page cut at spaces; the rest stands as far from the
    edge as its beginning."""
    if not page.width:
        return text
    return "\n".join(part for line in text.split("\n") for part in _fitting(line, page.width))


def _fitting(line: str, width: int) -> list[str]:
    if len(line) <= width or _seen(line) <= width:
        return [line]
    indent = len(line) - len(line.lstrip(" "))
    if width - indent < LEAST_ROOM:
        return [line]
    first, *rest = _folded(line[indent:], width - indent, width - indent)
    return [" " * indent + part for part in (first, *rest)]


def _folded(line: str, first: int, room: int) -> list[str]:
    """A line cut at spaces, its first part no longer than `first` and the others than `room`; no word is cut."""
    if _seen(line) <= first:
        return [line]
    from re import findall

    lines, left = [""], first
    for word in findall(r"\s*\S+", line):
        if _seen(lines[-1] + word) > left and (lines[-1] or left < room):
            lines.append("")
            word, left = word.lstrip(), room
        lines[-1] += word
    return lines


def _seen(text: str) -> int:
    """How many characters of a text are seen: those of colours are not."""
    if "\x1b" not in text:
        return len(text)
    from re import sub

    return len(sub(r"\x1b\[\d+m", "", text))


def one_line(text: str, room: int) -> str:
    line = " ".join(clean(text).split())
    return line if room <= 0 or len(line) <= room else line[: max(1, room - 1)] + "…"


def table(pairs: Iterable[tuple[str, str]], page: Page, indent: int = 2) -> list[str]:
    """Names and values in two columns; empty values are left out."""
    shown = [(clean(name), value) for name, value in pairs if value]
    left = max((len(name) for name, _ in shown), default=0) + 2
    return [
        hang(" " * indent + page.paint("dim", name.ljust(left)), value, page, indent + left) for name, value in shown
    ]
