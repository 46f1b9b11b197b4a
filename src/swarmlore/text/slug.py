"""Short names made from texts."""

from __future__ import annotations

import re
from zlib import crc32

_OTHER = re.compile(r"[^a-z0-9]+")
KEY_CHARS = 60


def slug(text: str) -> str:
    """Lower case, every run of other characters than a-z and 0-9 as one hyphen, none at the ends."""
    return _OTHER.sub("-", text.lower()).strip("-")


def short_slug(text: str, most: int) -> str:
    """The slug of a text within so many characters, cut between two words where it has more than one."""
    whole = slug(text[: 8 * most])
    if len(whole) <= most:
        return whole
    head, _, cut = whole[: most + 1].rpartition("-")
    return head if head else cut[:most]


def learned_key(text: str, type: str = "learned") -> str:
    """The key of a LEARNED comment: later comments with the same key replace earlier ones."""
    start = text.strip()[:KEY_CHARS]
    name = slug(start)
    # Where most letters are outside a-z, unrelated lessons would get the same slug, and one would replace the other.
    if sum(letter.isalnum() for letter in start) > 2 * sum(letter != "-" for letter in name):
        name = f"{name}-{crc32(start.encode(errors='surrogatepass')):08x}".lstrip("-")
    return f"{type}-{name}"
