"""Ids that sort by time. Pure: the clock and the randomness come in."""

from __future__ import annotations

import re

# With a letter or digit: `.` and `..` are folders wherever an id becomes the name of a file.
_FOREIGN = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9_.:-]{1,128}")
ID_HINT = "use up to 128 letters, digits, and _ . : -, at least one of them a letter or digit"


def uuid7(at: float, random: bytes) -> str:
    """A UUIDv7 from seconds since the epoch and ten random bytes."""
    value = int.from_bytes(max(0, round(at * 1000)).to_bytes(6, "big") + random[:10].ljust(10, b"\0"), "big")
    value = value & ~(0xF << 76) | 0x7 << 76  # version 7
    value = value & ~(0x3 << 62) | 0x2 << 62  # variant of RFC 9562
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def is_id(text: str) -> bool:
    """Whether a foreign id may be kept as it is."""
    return _FOREIGN.fullmatch(text) is not None
