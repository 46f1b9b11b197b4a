"""Chunks: split a long text at headings, paragraphs and sentences into pieces of 50 to 2,000 characters.

Headings of the first three levels come first: each piece begins with the path to it (`Deploying > Rollback`), so that
it can be understood alone. A section that is too long is cut between paragraphs, lines, sentences or words, and each
piece begins a little before the last one ended. One that is too short goes with its neighbour. Nothing is lost but
heading marks and invisible white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST = 2_000
LEAST = 50
OVERLAP = 100
_REACH = 60  # least overlap: above LEAST, even after white space is trimmed from the piece
_TITLE = 80  # a longer heading counts as a paragraph
_LEVELS = 3
_BREAKS = ("\n\n", "\n", ". ", " ")
_BLANK = " \t\n"


def chunks(text: str) -> tuple[str, ...]:
    """Split a text into chunks of 50 to 2,000 characters; none if the whole text is shorter."""
    text = _tidy(text)
    if len(text) < LEAST:
        return ()
    made: list[str] = []
    small = ""  # short sections held until a neighbour comes
    for path, body in _sections(text):
        head = " > ".join(path) + "\n\n" if path else ""
        lead = f"{small}\n\n" if small else ""
        whole = (lead + head + body).strip(_BLANK)
        if len(whole) < LEAST:
            small = whole
            continue
        made += [whole] if len(whole) <= MOST else _cut(lead, head, body)
        small = ""
    return tuple(_with_rest(made, small))


def _tidy(text: str) -> str:
    """Normalise line breaks and remove surplus blank lines and spaces."""
    lines = (line.rstrip(" \t") for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip(_BLANK))
    return re.sub(r"[ \t]{9,}", " " * 8, text)


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Return each heading's own text with the path of titles; a heading without text only appears in paths."""
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    for level, title, line in _lines(text):
        if not level:
            lines.append(line)
            continue
        body = "\n".join(lines).strip(_BLANK)
        if body or (path and level <= path[-1][0]):
            yield tuple(name for _, name in path), body
        lines = []
        while path and path[-1][0] >= level:
            path.pop()
        path.append((level, title))
    yield tuple(name for _, name in path), "\n".join(lines).strip(_BLANK)


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Return each line with the level and title of its heading; (0, '') for other lines and inside code fences."""
    fence = ""
    for line in text.split("\n"):
        mark = line.lstrip(" ")[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        level, title = (0, "") if fence else _heading(line)
        yield level, title, line


def _heading(line: str) -> tuple[int, str]:
    level = len(line) - len(line.lstrip("#"))
    title = line[level:].strip(_BLANK)
    if 1 <= level <= _LEVELS and line[level : level + 1] in (" ", "\t") and 0 < len(title) <= _TITLE:
        return level, title
    return 0, ""


def _cut(lead: str, head: str, body: str) -> Iterator[str]:
    """Split a body that is too long into pieces that each begin with `head`; `lead` goes before the first."""
    opening, at = lead + head, 0
    while len(opening) + len(body) - at > MOST:
        end = _end(body, at, at + MOST - len(opening))
        yield (opening + body[at:end]).strip(_BLANK)
        opening, at = head, _begin(body, end)
    yield (opening + body[at:]).strip(_BLANK)


def _end(body: str, begin: int, limit: int) -> int:
    """Return the best end of a piece: the strongest break in the second half of its room."""
    for mark in _BREAKS:
        found = body.rfind(mark, (begin + limit) // 2, limit)
        if found >= 0:
            return found + len(mark)
    return limit


def _begin(body: str, end: int) -> int:
    """Return the begin of the next piece: at a word, shortly before the end of the last one."""
    places = (body.find(mark, end - OVERLAP, end - _REACH) for mark in (" ", "\n"))
    return min((place + 1 for place in places if place >= 0), default=end - OVERLAP)


def _with_rest(made: list[str], small: str) -> list[str]:
    """Append text that is too short to the last piece, or to the end of it if that piece is full."""
    if not small:
        return made
    if not made:
        return []
    if len(made[-1]) + 2 + len(small) <= MOST:
        return [*made[:-1], f"{made[-1]}\n\n{small}"]
    return [*made, f"{made[-1][-OVERLAP:].strip(_BLANK)}\n\n{small}"]
