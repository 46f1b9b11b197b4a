"""The written words of a short text: no punctuation, contractions and phrases resolved, numbers with their unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from swarmlore.text import vocabulary as words
from swarmlore.text.stem import stem

MAX_DIGITS = 12
OPERATORS = re.compile(r"(<=|>=|==|!=|~=|->|=>|&&|\|\||<|>|=)")
_NUMBER = re.compile(r"([-+]?)v?(\d[\d,_]*(?:\.\d+)*|\.\d+)([A-Za-zµ%]*)\+?")
_THOUSANDS = re.compile(r"\d{1,3}(?:[,_]\d{3})+")
_COMPOUND = re.compile(r"(?=.*[a-z])[A-Za-z]+(?:-[A-Za-z]+)+")
_COUNTED = re.compile(r"(\d+(?:\.\d+)?)-([A-Za-z]+)")
_SHORTENED = re.compile(r"[a-z]+'(?:s|re|ll|ve|d|m)")
_ABOUT = re.compile(r"~\d+[A-Za-z%]*")
_SPELLING = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": " - ", "…": " ", "→": " -> ",
                           "≥": ">=", "≤": "<=", "≠": "!=", "\u00a0": " "})  # fmt: skip
_OPENING = "([{\"'`"
_CLOSING = ")]}\"'`,;:.!?"
_BREAKS = frozenset(",;:.!?)")
_QUOTES = frozenset("\"'`")

# First parts that turn the word they stand before; "non-blocking" is one word and not "blocking" with something added.
_TURNING_PARTS = "non un no anti pre post re de dis in im multi sub co semi over under mis cross auto inter"
_TURNING = frozenset(_TURNING_PARTS.split())


class Piece(NamedTuple):
    """One written word; `breaks` says that a comma or the like follows."""

    text: str
    quoted: bool = False
    breaks: bool = False
    first: bool = False
    solid: bool = False
    """Part of a hyphenated word: the "in" of "opt-in" is no small word."""


def written_words(text: str) -> list[Piece]:
    """The words of a text in order, ready to be read."""
    return _join_units(_replace_phrases(list(_pieces(text))))


def _pieces(text: str) -> Iterator[Piece]:
    """The written words, without the punctuation around them."""
    first, quoted = True, False
    for chunk in text.translate(_SPELLING).split():
        core, breaks, opens, closes = _strip(chunk)
        quoted = quoted or opens
        if core.strip("-*•#&/\\.") or core == "&&":
            yield from _split(core, quoted, breaks, first)
            first = chunk[-1] in ".!?"
        elif not first:
            yield Piece("", breaks=True)
        quoted = quoted and not closes


def _strip(chunk: str) -> tuple[str, bool, bool, bool]:
    """The core of a chunk; whether a break follows; whether quotes open and close."""
    core = chunk.lstrip(_OPENING)
    opens = any(sign in _QUOTES for sign in chunk[: len(chunk) - len(core)])
    end = len(core)
    while end and core[end - 1] in _CLOSING and not (core[end - 1] in ")]}" and _is_call(core[:end])):
        end -= 1
    tail, core = core[end:], core[:end].removesuffix("()")
    return core, not _BREAKS.isdisjoint(tail), opens, any(sign in _QUOTES for sign in tail)


def _is_call(core: str) -> bool:
    return any(sign in core for sign in "([{")


def _split(core: str, quoted: bool, breaks: bool, first: bool) -> Iterator[Piece]:
    """Operators, lists without spaces and ordinary hyphenated words fall apart; identifiers stay whole."""
    parts, solid = [core.removeprefix("~") if _ABOUT.fullmatch(core) else core], False
    if "://" not in core and OPERATORS.search(core):
        parts = [part for part in OPERATORS.split(core) if part]
    elif "," in core and not _NUMBER.fullmatch(core):
        parts = [part for part in core.split(",") if part]
    elif _COMPOUND.fullmatch(core) and stem(core.lower()) not in words.SAME:
        parts, solid = _compound(core), True
    elif core[-1] == "+" and _NUMBER.fullmatch(core):
        parts = [">=", core[:-1]]
    elif counted := _COUNTED.fullmatch(core):
        parts = list(counted.groups()) if counted[2] in words.UNITS else [core]
    for place, part in enumerate(parts):
        yield Piece(part, quoted, breaks and place == len(parts) - 1, first and place == 0, solid)


def _compound(core: str) -> list[str]:
    parts = core.split("-")
    if parts[0].lower() in _TURNING:
        return ["".join(parts[:2]), *parts[2:]]
    return parts


def _replace_phrases(pieces: list[Piece]) -> list[Piece]:
    """Several words that stand for one, contractions and word operators, replaced."""
    expanded = [part for piece in pieces for part in _expand(piece)]
    result: list[Piece] = []
    place = 0
    while place < len(expanded):
        length, replacement = _phrase_at(expanded, place)
        if length:
            last = expanded[place + length - 1]
            result += [Piece(word, first=expanded[place].first) for word in replacement]
            if last.breaks:
                result.append(Piece("", breaks=True))
        else:
            result.append(expanded[place])
        place += length or 1
    return result


def _expand(piece: Piece) -> list[Piece]:
    """`don't` and `dont` as two words; `it's` and `the team's` without their tail."""
    lower = piece.text.lower()
    if lower.endswith("n't"):
        verb = words.CONTRACTIONS.get(lower.replace("'", ""), lower[:-3])
    elif lower in words.CONTRACTIONS:
        verb = words.CONTRACTIONS[lower]
    elif lower == "cannot":
        verb = "can"
    elif _SHORTENED.fullmatch(lower):
        return [piece._replace(text=piece.text.split("'")[0])]
    else:
        return [piece]
    return [Piece(verb, first=piece.first), Piece("not", breaks=piece.breaks)]


def _phrase_at(pieces: list[Piece], place: int) -> tuple[int, tuple[str, ...]]:
    for source, target in words.PHRASES.get(pieces[place].text.lower(), {}).items():
        here = pieces[place : place + len(source)]
        if len(here) == len(source) and all(
            piece.text.lower() == word and not piece.quoted for piece, word in zip(here, source, strict=True)
        ):
            # "at least" is an operator only before a number.
            if target and target[0] in ("<", ">", "<=", ">=") and not counts(pieces, place + len(source)):
                continue
            return len(source), target
    return 0, ()


def counts(pieces: list[Piece], place: int) -> bool:
    """Whether a number stands at this place."""
    text = pieces[place].text.lower() if place < len(pieces) else ""
    return text in words.COUNTS or bool(_NUMBER.fullmatch(text))


def _join_units(pieces: list[Piece]) -> list[Piece]:
    """`30 seconds` as one piece, `18 or newer` as an operator and its number."""
    result: list[Piece] = []
    for piece in pieces:
        last = result[-1] if result else None
        if last and not last.breaks and piece.text in words.UNITS and counts([last], 0):
            number = words.COUNTS.get(last.text.lower(), last.text)
            if number[-1].isdigit():
                result[-1] = piece._replace(text=number + piece.text, first=last.first)
                continue
        if piece.text.lower() in ("newer", "later", "higher", "above", "up") and _is_or_after_number(result):
            result[-2:] = [Piece(">="), result[-2]._replace(breaks=piece.breaks)]
            continue
        result.append(piece)
    return result


def _is_or_after_number(pieces: list[Piece]) -> bool:
    return len(pieces) > 1 and pieces[-1].text.lower() in ("or", "and") and bool(_NUMBER.fullmatch(pieces[-2].text))


def number_of(text: str) -> str:
    """A number as it is compared, in one unit: `1 min` and `60s` are equal, `3.1` and `3.10` are not."""
    if text in words.COUNTS:
        return words.COUNTS[text]
    found = _NUMBER.fullmatch(text)
    if not found:
        return ""
    sign, digits, unit = found.groups()
    if "," in digits or "_" in digits:
        if not _THOUSANDS.fullmatch(digits):
            return ""
        digits = digits.replace(",", "").replace("_", "")
    digits = "0" + digits if digits[0] == "." else digits
    if unit:
        # More digits than a float keeps would make different numbers equal.
        if unit not in words.UNITS or digits.count(".") > 1 or len(digits) > MAX_DIGITS:
            return ""
        dimension, size = words.UNITS[unit]
        digits = f"{float(digits) * size:.15g}{dimension}"
    return sign.replace("+", "") + digits
