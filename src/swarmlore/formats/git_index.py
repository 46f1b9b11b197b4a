"""The list of files that git keeps in `.git/index`, read without git.

Versions 2, 3 and 4 are understood. The file may be anything: what does not fit ends the reading, and nothing is
believed but the order of the format. Links and submodules are left out, as are entries of an unfinished merge but one.
"""

from __future__ import annotations

from collections.abc import Iterator

_HEAD = 12
_FIXED = 62  # bytes before the name of an entry
_REGULAR = 0o100000
_EXTENDED = 0x4000


class Unreadable(Exception):
    """The bytes are no index that we understand."""


def paths_in(data: bytes, most: int) -> list[str]:
    """The regular files of an index in its order, at most so many; raises Unreadable."""
    if len(data) < _HEAD or data[:4] != b"DIRC":
        raise Unreadable("no index")
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if version not in (2, 3, 4):
        raise Unreadable(f"version {version}")
    found: dict[str, None] = {}
    entries = _packed(data, count) if version == 4 else _plain(data, count)
    for mode, name in entries:
        if mode & 0o170000 == _REGULAR:
            found[name.decode("utf-8", "surrogateescape")] = None
            if len(found) >= most:
                break
    return list(found)


def _plain(data: bytes, count: int) -> Iterator[tuple[int, bytes]]:
    at = _HEAD
    for _ in range(count):
        start = _name_at(data, at)
        end = data.find(b"\0", start)
        if end < 0:
            raise Unreadable("cut off")
        yield int.from_bytes(data[at + 24 : at + 28], "big"), data[start:end]
        at += (end - at) // 8 * 8 + 8  # padded with one to eight NULs


def _packed(data: bytes, count: int) -> Iterator[tuple[int, bytes]]:
    """Version 4: each name says how much of the former one it drops, and what it adds."""
    at, name = _HEAD, b""
    for _ in range(count):
        dropped, start = _number(data, _name_at(data, at))
        end = data.find(b"\0", start)
        if end < 0 or dropped > len(name):
            raise Unreadable("cut off")
        name = name[: len(name) - dropped] + data[start:end]
        yield int.from_bytes(data[at + 24 : at + 28], "big"), name
        at = end + 1


def _name_at(data: bytes, at: int) -> int:
    flags = int.from_bytes(data[at + 60 : at + 62], "big")
    return at + _FIXED + (2 if flags & _EXTENDED else 0)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, as git writes offsets, and where it ends."""
    value = -1
    for place in range(at, min(at + 5, len(data))):
        value = (value + 1) << 7 | data[place] & 0x7F
        if not data[place] & 0x80:
            return value, place + 1
    raise Unreadable("cut off")
