"""How a sentence is written down as a lesson."""

from __future__ import annotations

from swarmlore.rules.correction_words import compiled
from swarmlore.rules.found import MAX_CHARS


def tidy(text: str) -> str:
    """A sentence as it should stand alone: one line, a capital letter unless it opens with a name, a full stop."""
    text = " ".join(text.split()).strip(" ,;:-–—!?.…")
    text = compiled(r"^(?:it's|it is|that's) (?!called|named|spelled)(?=.*[,\s](?:not|and not)\b)", 2).sub("", text)
    text = (
        compiled(r"(?:not (?:to )?|to not )(?=\w)").sub("do not ", text, count=1)
        if text.startswith(("not ", "to not "))
        else text
    )
    text = text.removeprefix("to ").removeprefix("that ")
    if len(text) >= MAX_CHARS:
        text = _shorten(text)
    first = text.split(" ", 1)[0]
    if first.rstrip(",:").replace("'", "").isalpha() and first.islower():
        text = text[0].upper() + text[1:]
    return f"{text}." if text else ""


def _shorten(text: str) -> str:
    """Cut at the last clause that still fits, if what remains is a sentence."""
    cuts = [
        cut.start() for cut in compiled(r"[;,:] | [-–—] | because ").finditer(text) if 60 <= cut.start() < MAX_CHARS - 1
    ]
    return text[: cuts[-1]] if cuts else text
