"""Text layout for terminals: width, colours, escaping of control characters, quantities, wrapping and tables."""

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
LEAST_ROOM = 20  # columns; with fewer beside an indent, lines are not wrapped


class Page:
    """The output to render for: its width (0: no wrapping), whether it takes colours, and the current time."""

    def __init__(self, width: int = 0, *, colour: bool = False, now: float | None = None) -> None:
        self.width = width
        self.colour = colour
        self.now = time.time() if now is None else now

    def paint(self, style: str, text: str) -> str:
        """Return the text in a colour or style, unchanged if the output takes none."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colour and text else text


def clean(text: object) -> str:
    """Escape characters that move the cursor, change colours or reorder a line (control, bidi, surrogate, tag)."""
    text = str(text)
    if text.isprintable():
        return text
    return "".join(_escape(char) if _unsafe(ord(char)) else char for char in text)


def _unsafe(code: int) -> bool:
    """Whether a code point could change how a terminal shows the text around it; tab and newline may stay."""
    if code < 0x20:
        return code not in (0x09, 0x0A)
    bidi = 0x200E <= code <= 0x200F or 0x2028 <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code == 0x061C
    return 0x7F <= code <= 0x9F or bidi or 0xD800 <= code <= 0xDFFF or 0xE0000 <= code <= 0xE0FFF


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def json_text(document: Any) -> str:
    """Return indented JSON with readable Unicode; characters unsafe for a terminal are escaped."""
    import json

    text = json.dumps(document, ensure_ascii=False, indent=2)
    if text.isascii() and "\x7f" not in text:
        return text + "\n"
    return "".join(json.dumps(char)[1:-1] if ord(char) > 0x7E and _unsafe(ord(char)) else char for char in text) + "\n"


# Words for quantities


def age(at: float, now: float) -> str:
    """Return an age in its largest unit, such as `5 min`."""
    seconds = max(0.0, now - at)
    if seconds < 1:
        return "now"
    for below, unit, name in _AGES:
        if seconds < below:
            return f"{int(seconds // unit)} {name}"
    return f"{int(seconds // _YEAR_S)} y"


def ago(at: float, now: float) -> str:
    """Return an age as `5 min ago`, or `now`."""
    text = age(at, now)
    return text if text == "now" else f"{text} ago"


def when(at: float, now: float) -> str:
    """Return a moment in local time, with its age if it is past."""
    try:
        stamp = time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    except (OverflowError, ValueError, OSError):
        return f"{at:.0f}"  # beyond the calendar
    return f"{stamp} ({ago(at, now)})" if at <= now else stamp


def size(count: float) -> str:
    """Return a number of bytes in its largest decimal unit, such as `1.2 MB`."""
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def amount(value: float) -> str:
    """Format a score or factor with three decimals, or in exponent form if those would all be 0."""
    return f"{value:.3f}" if not value or abs(value) >= 0.0005 else f"{value:.1e}"


def many(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun, such as `3 memories`; without a plural an s is added."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


# Lines


def hang(head: str, text: str, page: Page, indent: int, style: str = "") -> str:
    """Lay out a text with hanging indent behind a head: further lines align with the first. Words are never cut."""
    lines = clean(text).splitlines() or [""]
    if page.width and page.width - indent >= LEAST_ROOM:
        first, *rest = lines
        room = page.width - indent
        lines = _folded(first, page.width - _visible_length(head), room)
        lines += [part for line in rest for part in _folded(line, room, room)]
    painted = [page.paint(style, line) if style else line for line in lines]
    head = head if lines[0] else head.rstrip(" ")
    return "\n".join([head + painted[0], *(" " * indent + line for line in painted[1:])])


def say(text: str, page: Page, indent: int = 0, style: str = "") -> str:
    """Lay out a text in one style with every line indented alike."""
    return hang(" " * indent, text, page, indent, style)


def fold(text: str, page: Page) -> str:
    """Wrap rendered lines that are wider than the page at spaces, keeping the indent of each."""
    if not page.width:
        return text
    return "\n".join(part for line in text.split("\n") for part in _wrapped(line, page.width))


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width or _visible_length(line) <= width:
        return [line]
    indent = len(line) - len(line.lstrip(" "))
    if width - indent < LEAST_ROOM:
        return [line]
    first, *rest = _folded(line[indent:], width - indent, width - indent)
    return [" " * indent + part for part in (first, *rest)]


def _folded(line: str, first: int, room: int) -> list[str]:
    """Split a line at spaces, its first part within `first` columns and the others within `room`; cut no word."""
    if _visible_length(line) <= first:
        return [line]
    from re import findall

    lines, left = [""], first
    for word in findall(r"\s*\S+", line):
        if _visible_length(lines[-1] + word) > left and (lines[-1] or left < room):
            lines.append("")
            word, left = word.lstrip(), room
        lines[-1] += word
    return lines


def _visible_length(text: str) -> int:
    """Return the length of a text without its colour escapes."""
    if "\x1b" not in text:
        return len(text)
    from re import sub

    return len(sub(r"\x1b\[\d+m", "", text))


def one_line(text: str, room: int) -> str:
    """Collapse a text to one safe line, shortened with `…` to `room` characters; 0 means no limit."""
    line = " ".join(clean(text).split())
    return line if room <= 0 or len(line) <= room else line[: max(1, room - 1)] + "…"


def table(pairs: Iterable[tuple[str, str]], page: Page, indent: int = 2) -> list[str]:
    """Lay out names and values in two columns; pairs without a value are left out."""
    shown = [(clean(name), value) for name, value in pairs if value]
    left = max((len(name) for name, _ in shown), default=0) + 2
    return [
        hang(" " * indent + page.paint("dim", name.ljust(left)), value, page, indent + left) for name, value in shown
    ]
