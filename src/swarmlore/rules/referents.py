"""What "it" and "that" stand for in a correction, found in what the agent had said right before."""

from __future__ import annotations

from swarmlore.rules.correction_words import compiled
from swarmlore.text.prose import split_sentences

_READ_CHARS = 4_000  # the end of a long answer is what a person replies to
_LONGEST_POINTER = 200
_TOKEN = r"`[^`\n]{1,80}`|[\w./@:-]{1,80}"
_IT = (
    rf"(?:it's|it is|that's|that is|its)?\s*(?:in |at |on |called |under )?(?P<new>{_TOKEN})(?:,? (?:and )?not (?:in"
    rf" |at |on )?(?P<old>{_TOKEN}))?"
)
_INSTEAD = (
    rf"(?:don't|do not|dont|stop|no) (?:do(?:ing)? )?(?:that|this|it)\s*[,;.:–—-]+\s*(?:use|run) (?P<new>{_TOKEN})"
)


def resolve(text: str, said_before: str, rejected: bool) -> str:
    """The correction as a sentence of its own; empty where what it points at is not said exactly once."""
    if not said_before or len(text) > _LONGEST_POINTER:
        return ""
    said = [part for line in said_before[-_READ_CHARS:].splitlines() for part in split_sentences(line)]
    if found := compiled(_INSTEAD, 2).fullmatch(text.strip()):
        done = {span for part in said if _is_first_person(part) for span in compiled(r"`[^`\n]{2,80}`").findall(part)}
        return f"Use {found['new']}, not {done.pop()}" if len(done) == 1 else ""
    found = compiled(_IT, 2).fullmatch(text.strip())
    if found is None or not _is_value(found["new"]) or not (rejected or found["old"]):
        return ""
    return _replace(said, found["new"], found["old"] or "")


def _replace(said: list[str], new: str, old: str) -> str:
    """What was said, with the value put right."""
    fits = {
        (part, token)
        for part in said
        for token in compiled(_TOKEN).findall(part)
        if _fits(token.rstrip(".:"), new, old)
    }
    if len(fits) != 1:
        return ""
    part, token = fits.pop()
    token = token.rstrip(".:")
    part = compiled(r",? (?:so|and|but|then) (?:i|we|let me)\b.*", 2).sub("", part).rstrip(" .!,")
    return f"{part.replace(token, new, 1)}, not {token}" if token in part and not _is_first_person(part) else ""


def _fits(token: str, new: str, old: str) -> bool:
    if old:
        return token.strip("`") == old.strip("`")
    return token != new and _is_value(token) and _sort(token) == _sort(new)


def _is_value(token: str) -> bool:
    return _sort(token) != "word"


def _sort(token: str) -> str:
    if token.startswith("`"):
        return "code"
    if token.replace(".", "").isdigit():
        return "number"
    return "path" if "/" in token else "name" if compiled(r"\w[_.@-]\w|\d").search(token) else "word"


def _is_first_person(part: str) -> bool:
    return compiled(r"(?:now |ok(?:ay)?,? )?(?:i|i'll|i've|i'm|let me|we|running)\b", 2).match(part) is not None
