"""JSON with comments, as some clients read it: comments and a comma before a closing bracket are looked through.

What is looked through becomes spaces, so that every place in the text is where it was.
"""

from __future__ import annotations

import re
from functools import cache


def blanked(text: str) -> str:
    """The text as plain JSON of the same length."""
    return _last_comma().sub(lambda found: found[0] if found[1] is None else " " + found[2], uncommented(text))


def uncommented(text: str) -> str:
    """The text without comments, of the same length; a comma before a closing bracket stays."""
    return _pieces().sub(_blank, text) if "/" in text else text


def _blank(found: re.Match[str]) -> str:
    piece = found[0]
    stays = piece.startswith('"') or (piece.startswith("/*") and found[1] is None)
    return piece if stays else re.sub(r"[^\r\n]", " ", piece)


@cache
def _pieces() -> re.Pattern[str]:
    """A string, which stays, or a comment; one that never ends is none. Each matches in any case, else every quote
    and every slash of a broken file would be followed to its end."""
    return re.compile(r'"(?:[^"\\]|\\[\s\S])*(?:"|\\?\Z)|//[^\r\n]*|/\*[\s\S]*?(?:(\*/)|\Z)')


@cache
def _last_comma() -> re.Pattern[str]:
    """A string, which stays, or a comma with nothing behind it but a closing bracket."""
    return re.compile(r'"(?:[^"\\]|\\[\s\S])*(?:"|\\?\Z)|(,)(\s*[}\]])')
