"""A page of prose in parts, each with its line and the heading above it: paragraphs, items, rows of tables, code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from swarmlore.frozen import frozen, replace

MOST_JOINED = 1_500  # characters of one part
MOST_TITLE = 120
_RULE = re.compile(r"={3,}|-{3,}|~{3,}|\^{3,}")
_NO_PROSE = re.compile(r"\s*(?:[#>|=*_-]{3,}|!?\[!?\[|<|\[!|!\[|[-=]+\s*$|\||:?-{3,})")
_ROW = re.compile(r"\s*\|(?![\s:|-]*$)")
_ITEM = re.compile(r"\s{0,8}(?:[-*+]|\d{1,2}[.)])\s+(.*)")


@frozen
class Part:
    """A paragraph (`prose`), an item of a list, a row of a table, a line of code; `top`: before the second heading."""

    line: int
    text: str
    heading: str
    kind: str
    top: bool = False


def parts_of(text: str) -> Iterator[Part]:
    """The parts of a page in their order; lines that go on are joined."""
    heading, fenced, headings = "", "", 0
    open_part: Part | None = None
    lines = text.splitlines()
    first = _body(lines)
    for number, line in enumerate(lines[first:], start=first + 1):
        bare = line.strip()
        title = "" if fenced else _heading(line) or _underlined(lines, number, open_part)
        fence = bare[:3] in ("```", "~~~") and (not fenced or bare.startswith(fenced))
        if fence or title or not bare or fenced or _NO_PROSE.match(line):
            if open_part is not None and open_part.kind != "past":
                yield open_part
            # Behind an item that is followed by nothing, an indented line still belongs to it.
            item = not bare and open_part is not None and open_part.kind == "item"
            open_part = replace(open_part, kind="past") if item and open_part is not None else None
            if fence:
                fenced = "" if fenced else bare[:3]
            elif title:
                heading, headings = title, headings + 1
            elif fenced and bare:
                yield Part(number, line, heading, "code", headings < 2)
            elif _ROW.match(line):
                yield Part(number, " · ".join(cell.strip() for cell in bare.strip("|").split("|")), heading, "row")
            continue
        former, open_part = open_part, _joined(open_part, number, line, heading, headings < 2)
        if former is not None and former.kind != "past" and open_part.line != former.line:
            yield former
    if open_part is not None and open_part.kind != "past":
        yield open_part


def _body(lines: list[str]) -> int:
    """How many lines of frontmatter a page begins with."""
    if lines[:1] != ["---"]:
        return 0
    return next((number for number, line in enumerate(lines[1:60], start=2) if line.rstrip() == "---"), 0)


def _joined(part: Part | None, number: int, line: str, heading: str, top: bool) -> Part:
    """The part that a line belongs to: a new one, or the one before with the line added."""
    item = _ITEM.match(line)
    if item:
        return Part(number, item[1].strip(), heading, "item", top)
    indented = line.startswith(("    ", "\t"))
    if part is not None and part.kind in ("prose", "item"):
        return replace(part, text=f"{part.text} {line.strip()}"[:MOST_JOINED])
    if part is not None and part.kind == "past" and indented:
        return part
    return Part(number, line.strip(), heading, "code" if indented else "prose", top)


def _underlined(lines: list[str], number: int, open_part: Part | None) -> str:
    """A line that is a heading by the rule below it, as in reStructuredText and in some Markdown; number counts from
    one, so it is the index of the next line."""
    bare = lines[number - 1].strip()
    if number >= len(lines) or len(bare) > MOST_TITLE or not bare[:1].isalnum() or lines[number - 1][:1].isspace():
        return ""
    alone = open_part is None or open_part.kind == "past"
    return bare if alone and _RULE.fullmatch(lines[number].rstrip()[: 2 * MOST_TITLE]) else ""


def _heading(line: str) -> str:
    found = re.match(r"#{1,6}\s+(.{1,200})", line)
    return found[1].strip("# ") if found else ""
