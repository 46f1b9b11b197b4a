"""Spans of a file, recognised again by digests: where they were, or somewhere else in the file.

A span is known by its mark, four digests in one text: its first line (to look for), all its lines (to be sure), and the
nearest lines with something in them on both sides (to tell copies apart). White space at the ends of lines and the
kind of line break do not count. No text is kept.
"""

from __future__ import annotations

import re
from hashlib import blake2b

from swarmlore.frozen import frozen

DIGEST = 8  # bytes of a line's digest
CONTEXT = 2  # bytes kept of a neighbour's
NEIGHBOURS = 3  # on each side
REACH = 9  # lines in which they are looked for
MOST_COPIES = 2_000  # places that are looked at in a file of equal lines
DISTINCT = 15  # characters from which a span without its old neighbours is still taken for the same one
_SIDE = NEIGHBOURS * CONTEXT


class Lines:
    """A file's lines. Digests are made when they are asked for: a span that is where it was needs few of them."""

    def __init__(self, data: bytes) -> None:
        self._lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        if not self._lines[-1]:
            self._lines.pop()
        self._all = b""

    def __len__(self) -> int:
        return len(self._lines)

    def text(self, first: int, last: int) -> list[bytes]:
        """Some lines without what does not count; numbers start at 1."""
        return [line.rstrip() for line in self._lines[first - 1 : last]]

    def digests(self, first: int, last: int) -> bytes:
        """The digests of some lines, one after the other."""
        if self._all:
            return self._all[(first - 1) * DIGEST : last * DIGEST]
        return b"".join([blake2b(line, digest_size=DIGEST).digest() for line in self.text(first, last)])

    def all_digests(self) -> bytes:
        self._all = self._all or self.digests(1, len(self))
        return self._all

    def count_characters(self, first: int, last: int) -> int:
        """How much there is to see in some lines."""
        return sum(len(line.strip()) for line in self._lines[first - 1 : last])


@frozen
class Found:
    """Where a span is now. `same` is False where it is somewhere else than it was."""

    first: int
    last: int
    same: bool


def mark_span(lines: Lines, first: int, last: int) -> str:
    """The mark of some lines, or of the whole file where `first` is 0; '' where there are no such lines."""
    if not first:
        return f"{bytes(DIGEST).hex()}-{_body(lines.all_digests())}-{bytes(2 * _SIDE).hex()}"
    if not 1 <= first <= last <= len(lines):
        return ""
    span = lines.digests(first, last)
    return f"{span[:DIGEST].hex()}-{_body(span)}-{_around(lines, first, last).hex()}"


def is_mark(text: str) -> bool:
    """Whether a text is a mark of ours; citations from elsewhere may carry other hashes."""
    return re.fullmatch(r"[0-9a-f]{16}-[0-9a-f]{32}-[0-9a-f]{24}", text) is not None


def find_span(lines: Lines, mark: str, first: int, last: int) -> Found | None:
    """Where a marked span is now: at its old place, else at the likeliest other one, else nowhere."""
    anchor, body, around = mark.split("-")
    if not first:
        return Found(0, 0, same=True) if _body(lines.all_digests()) == body else None
    count, context = last - first + 1, bytes.fromhex(around)
    here = _is_at(lines, first, count, body)
    if here and (_is_distinct(lines, first, last) or _shared(_around(lines, first, last), context)):
        return Found(first, last, same=True)
    places = [at for at in _starts(lines, bytes.fromhex(anchor)) if _is_at(lines, at, count, body)]
    shared = {at: _shared(_around(lines, at, at + count - 1), context) for at in places}
    best = min(places, key=lambda at: (-shared[at], abs(at - first)), default=0)
    if not best or not (here or shared[best] or _is_distinct(lines, best, best + count - 1)):
        return None  # a brace or a bare return is everywhere: without its neighbours it is another one
    return Found(best, best + count - 1, same=best == first)


def _body(digests: bytes) -> str:
    return blake2b(digests, digest_size=16).hexdigest()


def _is_at(lines: Lines, first: int, count: int, body: str) -> bool:
    span = lines.digests(first, first - 1 + count)
    return len(span) == count * DIGEST and _body(span) == body


def _is_distinct(lines: Lines, first: int, last: int) -> bool:
    return lines.count_characters(first, last) >= DISTINCT


def _starts(lines: Lines, anchor: bytes) -> list[int]:
    """The lines that equal the first one of a span."""
    found: list[int] = []
    digests = lines.all_digests()
    at = digests.find(anchor)
    while at >= 0 and len(found) < MOST_COPIES:
        if at % DIGEST == 0:
            found.append(at // DIGEST + 1)
        at = digests.find(anchor, at + 1)
    return found


def _around(lines: Lines, first: int, last: int) -> bytes:
    """The beginnings of the digests of the nearest lines with something in them, before and after a span."""
    before = range(first - 1, max(0, first - 1 - REACH), -1)
    after = range(last + 1, min(len(lines), last + REACH) + 1)
    return _nearest(lines, before) + _nearest(lines, after)


def _nearest(lines: Lines, numbers: range) -> bytes:
    """One side's neighbours, the nearest first; nobody is nought."""
    filled = [number for number in numbers if lines.count_characters(number, number)][:NEIGHBOURS]
    return b"".join(lines.digests(number, number)[:CONTEXT] for number in filled).ljust(_SIDE, b"\0")


def _shared(one: bytes, other: bytes) -> int:
    """How many neighbours are the same, on each side up to the first that is not."""
    return _run(one[:_SIDE], other[:_SIDE]) + _run(one[_SIDE:], other[_SIDE:])


def _run(one: bytes, other: bytes) -> int:
    for place in range(0, _SIDE, CONTEXT):
        mine = one[place : place + CONTEXT]
        if mine != other[place : place + CONTEXT] or not any(mine):
            return place // CONTEXT
    return NEIGHBOURS
