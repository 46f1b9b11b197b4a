"""A payload as a client gave it, read leniently: what has the wrong type counts as not said."""

from __future__ import annotations

import json
import re

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, BinaryIO

MOST_PARSED = 4_000_000  # bytes; what is longer is a tool's output, and of that a hook keeps a few lines
MOST_READ = 256_000_000
_SALVAGED = (
    *("session_id", "cwd", "hook_event_name", "tool_use_id", "prompt_id", "turn_id", "tool_name"),
    *("sessionId", "toolName", "timestamp"),
)
_SALVAGE_CHARS = 65_536


class BadPayload(Exception):
    """Something that is no payload; the message says what it was."""


def read(stream: BinaryIO) -> dict[str, Any]:
    """The payload on a stream. One that is too long to parse gives what its beginning says."""
    data = stream.read(MOST_PARSED + 1)
    if len(data) > MOST_PARSED:
        _read_away(stream)
        return _salvage(data[:_SALVAGE_CHARS].decode("utf-8", "replace"))
    if not data.strip():
        raise BadPayload("the payload was empty")
    try:
        found = json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        raise BadPayload("the payload was not JSON") from None
    if not isinstance(found, dict):
        raise BadPayload("the payload was not an object")
    return found


def _read_away(stream: BinaryIO) -> None:
    """A client that still writes when its hook is gone may take that for a failure."""
    left = MOST_READ
    while left > 0 and (data := stream.read(1_000_000)):
        left -= len(data)


def _salvage(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {"payload_too_long": True}
    for name in _SALVAGED:
        if match := re.search(rf'"{name}"\s*:\s*"([^"\\\x00-\x1f]{{1,400}})"', text):
            found[name] = match[1]
    return found


def text(payload: Any, *names: str) -> str:
    """The first of these that is a text and not empty."""
    if not isinstance(payload, dict):
        return ""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def inner(payload: dict[str, Any], name: str) -> dict[str, Any]:
    value = payload.get(name)
    return value if isinstance(value, dict) else {}


def stamp(payload: dict[str, Any], *more: Any) -> str:
    """What tells an event from others where a client gives no id: its time, to the millisecond, and what it is about.

    The same time may come as a number or as a text; '' where there is none.
    """
    when = payload.get("timestamp")
    if isinstance(when, str):
        when = _milliseconds(when)
    if not isinstance(when, (int, float)) or isinstance(when, bool) or not 0 < when < 1e15:
        return ""
    from zlib import crc32

    about = json.dumps(more, sort_keys=True, default=str).encode()
    return f"{int(when)}-{crc32(about):08x}"


def _milliseconds(text: str) -> int:
    """A time in UTC as milliseconds since 1970; 0 where it is none. (`datetime` costs a hook more than this.)"""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", text, re.ASCII)
    if not found:
        return 0
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    year -= month <= 2  # a year that begins in March has its odd day at its end
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day - 719_469
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + int((found[7] or "0").ljust(3, "0")[:3])


def words_of(value: Any, most: int = 200_000) -> str:
    """The texts inside a tool's answer, whatever its shape: a text, a list of parts, an object."""
    found: list[str] = []
    left = [most]
    _gather(value, found, left, 0)
    return "\n".join(found)


def _gather(value: Any, found: list[str], left: list[int], depth: int) -> None:
    if left[0] <= 0 or depth > 8:
        return
    if isinstance(value, str):
        if value:
            found.append(value if len(value) <= left[0] else value[: left[0] // 2] + "\n" + value[-left[0] // 2 :])
            left[0] -= len(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in ("type", "id"):
                _gather(item, found, left, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _gather(item, found, left, depth + 1)
