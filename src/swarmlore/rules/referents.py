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


# "pathlib not os.path", typed in haste.
_NOT_THAT = r"(?:use )?(?P<new>[\w./@`-]{2,40}(?: [\w./@`-]{2,30})?),? (?:and )?not (?P<old>[\w./@`-]{2,40})"
# What changes from one place to the next: where something stands, its colour, its number.
_PLAIN = frozenset(
    "left right top bottom up down red blue green black white grey gray yellow first second third last next big small"
    " bigger smaller bold italic here there now yes it that this these those them one two me you dark light wide narrow"
    " above below good bad true false all some done sure why yet so is are was but and or the a an".split()
)
# What a file may be that nobody should have touched.
_THAT_FILE = (
    r"(?:that's|that is|this is|that file is|this file is|that one is|that one's) (?=(?:an? |our |the "
    r"|auto-?)?(?:generated|vendored"
    r"|third[- ]party|legacy|deprecated|frozen|shared|protected|read-only|owned|managed|copied|synced|overwritten"
    r"|checked in)\b)"
)
_PATH = r"`?(?:[\w@.-]{1,60}/){1,10}[\w.-]{1,80}\.\w{1,8}`?"


def resolve(text: str, said_before: str, rejected: bool) -> str:
    """The correction as a sentence of its own; empty where what it points at is not said exactly once."""
    if not said_before or len(text) > _LONGEST_POINTER:
        return ""
    said = [part for line in said_before[-_READ_CHARS:].splitlines() for part in split_sentences(line)]
    if found := compiled(_INSTEAD, 2).fullmatch(text.strip()):
        done = {span for part in said if _is_first_person(part) for span in compiled(r"`[^`\n]{2,80}`").findall(part)}
        return f"Use {found['new']}, not {done.pop()}" if len(done) == 1 else ""
    that = compiled(_NOT_THAT, 2).fullmatch(text.strip())
    if that and (named := _names_both(that["new"], that["old"], said)):
        return named
    found = compiled(_IT, 2).fullmatch(text.strip())
    if found is None or not _is_value(found["new"]) or not (rejected or found["old"]):
        return ""
    return _replace(said, found["new"], found["old"] or "")


def name_subject(text: str, said_before: str) -> str:
    """A statement that opens with "that's a …", with the one file that the agent had spoken of in its place."""
    found = compiled(_THAT_FILE, 2).match(text)
    if found is None:
        return text
    paths = {token.strip("`") for token in compiled(_PATH).findall(said_before[-_READ_CHARS:])}
    return f"{paths.pop()} is {text[found.end() :]}" if len(paths) == 1 else text


def _names_both(new: str, old: str, said: list[str]) -> str:
    """The order to use one thing and not the other, where the agent had spoken of the other and neither is a number."""
    words = [word.strip("`").lower() for word in (*new.split(), old)]
    spoken = {token.strip("`").rstrip(".:").lower() for part in said for token in compiled(_TOKEN).findall(part)}
    plain = any(word in _PLAIN or _sort(word) == "number" for word in words)
    return "" if plain or words[-1] not in spoken else f"Use {new}, not {old}"


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
