"""A short text read as a statement: the tokens that matter, each with the word that turns it ("not", "before", "from").

"Use pnpm, not npm" becomes use · pnpm · not|npm, and so does "Instead of npm, use pnpm", in another order. Two texts
with the same tokens in the same order say the same; `rules.difference` judges the rest.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from swarmlore.text import vocabulary as words
from swarmlore.text.pieces import OPERATORS, Piece, counts, number_of, written_words
from swarmlore.text.stem import stem

_NAME_WITH_NUMBER = re.compile(r"[A-Za-z]+-?\d+[A-Za-z]*")
_HUMP = re.compile(r"[a-z][A-Z]")

_NAMING = frozenset(("called", "named", "spelled", "titled"))
_STATES = frozenset(("is", "are", "was", "were", "be", "been", "being"))
_IRREGULAR = "run set built kept written sent done made put read held lost given taken found chosen"
_PARTICIPLES = frozenset(_IRREGULAR.split())
_DUTY = frozenset(("must", "should", "always", "ought"))
_CHANCE = frozenset(("may", "might", "could", "can", "optionally", "sometimes"))
_PREFERENCE = frozenset(("prefer", "prefers", "preferred", "favor", "favour", "choose", "chose"))
_OPENING_FILLERS = {**dict.fromkeys(_STATES, "is"), "and": "and", "plus": "and", "also": "and"}
_LIMITS = {"over": ">", "above": ">", "beyond": ">", "under": "<", "below": "<", "till": "until"}
_OPENING_SIGNS = {"->": "to", "=>": "to", "=": "is"}
_COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!=", "~="))


class Token(NamedTuple):
    """One word, number or identifier that matters, as it is compared and as it was written."""

    word: str
    kind: str = "word"
    """word, name, number, code or operator"""
    bound: str = ""
    opener: str = ""
    """The small word or the break ("," or "^" for the beginning) before it."""
    written: str = ""
    quoted: bool = False

    @property
    def key(self) -> str:
        """What has to be equal."""
        return f"{self.bound}|{self.word}" if self.bound else self.word

    @property
    def weighty(self) -> bool:
        """Whether it is more than wording: to add or lose it changes what is said."""
        return self.kind != "word" or bool(self.bound) or self.word in words.WEIGHTY


class Statement(NamedTuple):
    """What a short text says, token by token."""

    tokens: tuple[Token, ...]
    words: frozenset[str]
    """All words, those without weight too."""
    verb: str = ""
    verb_at: int = 0
    """How many tokens stand before the first verb; 0 where it comes first or none is known."""
    modality: str = ""
    passive: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(token.key for token in self.tokens)


@lru_cache(maxsize=1024)
def read(text: str) -> Statement:
    """The statement that a short text makes. Never fails; what it does not know it takes as it is written."""
    return _Reader().read(written_words(text))


class _Reader:
    """Walks over the pieces once; small words wait until the word that they turn comes."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.words: set[str] = set()
        self.denied = False
        self.binder = ""
        self.opener = "^"
        self.exact = False
        self.verb = ""
        self.verb_at = 0
        self.passive = False
        self.state = False

    def read(self, pieces: list[Piece]) -> Statement:
        for piece, following in zip(pieces, [*pieces[1:], Piece("")], strict=False):
            if piece.text:
                self._take(piece, following)
            if piece.breaks:
                self._close()
        self._close()
        duty, chance = bool(self.words & _DUTY), bool(self.words & _CHANCE)
        modality = ("must" if duty else "may") if duty != chance else ""
        return Statement(tuple(self.tokens), frozenset(self.words), self.verb, self.verb_at, modality, self.passive)

    def _take(self, piece: Piece, following: Piece) -> None:
        lower = piece.text.lower()
        plain = "" if _is_a_name(piece) else lower
        self.words.add(lower)
        self._notice_verb(lower, following.text.lower())
        if lower in words.NEGATORS:
            # "No, use x" denies what was said before and not x.
            self.denied ^= not (lower == "no" and piece.breaks)
        elif stem(lower) == "avoid" or (lower == "stop" and following.text.endswith("ing")):
            self._avoid(following)
        elif plain in words.BINDERS or (plain == "to" and self._prefers(following)):
            self._bind(plain, counts([following], 0))
        elif plain in ("on", "off") and self._switches(plain):
            pass
        elif plain in words.OPENERS:
            self._open(plain, counts([following], 0))
        elif plain in words.FILLERS:
            self.exact = False
            self.opener = _OPENING_FILLERS.get(plain, self.opener)
        elif piece.text in _COMPARISONS:
            self.binder = f"{self.binder} {piece.text}".strip()
        elif piece.text in _OPENING_SIGNS:
            self.opener = _OPENING_SIGNS[piece.text]
        else:
            self._add(_token(piece, self.exact))
            self.exact = lower in _NAMING

    def _avoid(self, following: Piece) -> None:
        """`avoid x` says `do not use x`; `avoid committing x` says `do not commit x`."""
        self.denied = not self.denied
        if following.text and not following.text.lower().endswith("ing"):
            self._add(Token("use", written="avoid"))

    def _bind(self, word: str, counts: bool) -> None:
        # "prefer x over y" says "x, not y", and so does "prefer x to y".
        if word == "to" or (word == "over" and self.words & _PREFERENCE):
            self.denied = not self.denied
        else:
            self.binder = f"{self.binder} {_LIMITS.get(word, word) if counts else word}".strip()
        self.opener = word

    def _open(self, word: str, counts: bool) -> None:
        # "since 3.11" says "3.11 or newer".
        if word == "since" and counts:
            self.binder = f"{self.binder} >=".strip()
        self.opener = word

    def _prefers(self, following: Piece) -> bool:
        """Whether `to` comes between two things of which the first is preferred."""
        preferred = self.tokens and self.tokens[-1].word != "prefer" and self.words & {"prefer", "prefers"}
        return bool(preferred) and stem(following.text.lower()) not in words.VERBS

    def _switches(self, word: str) -> bool:
        """`turn the cache off` says `disable the cache`."""
        for place, token in enumerate(self.tokens[-4:], start=max(0, len(self.tokens) - 4)):
            if token.word in ("turn", "switch"):
                bound = token.bound if word == "on" else _denied(token.bound)
                self.tokens[place] = token._replace(word=words.canonical("enable"), bound=bound)
                return True
        return False

    def _add(self, token: Token) -> None:
        denied = self.denied
        if token.word in words.LIGHT and not denied:
            # "before every commit" is before the commit.
            self.tokens.append(token._replace(opener=self.opener))
            return
        if token.word in words.DENIED and token.kind == "word":
            token, denied = token._replace(word=words.DENIED[token.word]), not denied
        bound = " ".join(filter(None, (self.binder, "not" if denied else "")))
        self.tokens.append(token._replace(bound=bound, opener=self.opener))
        self.denied, self.binder, self.opener = False, "", ""

    def _close(self) -> None:
        """At a break a waiting word belongs to what came before: "x must not be.", "read-only", "the day before"."""
        if self.denied and self.tokens:
            self.tokens[-1] = self.tokens[-1]._replace(bound=_denied(self.tokens[-1].bound))
        elif self.denied:
            self.tokens.append(Token("not", "operator"))
        elif self.binder and self.tokens:
            self.tokens[-1] = self.tokens[-1]._replace(bound=f"{self.tokens[-1].bound} {self.binder}".strip())
        self.denied, self.binder, self.opener, self.exact = False, "", ",", False

    def _notice_verb(self, lower: str, following: str) -> None:
        """The first verb, and whether something is done to the subject instead of by it."""
        if self.state and (lower.endswith("ed") or lower in _PARTICIPLES):
            self.passive = True
        self.state = lower in _STATES or (self.state and lower in ("not", "always", "never", "only"))
        if self.verb:
            return
        base = stem(lower)
        # "docker run needs x": a bare form is the verb only at the beginning and after a plural.
        agrees = base != lower.removesuffix("e") or not self.tokens or self.tokens[-1].written.endswith("s")
        if lower in _STATES or lower in _DUTY or lower in _CHANCE or (agrees and base in words.VERBS):
            self.verb = f"{base} the" if following in ("the", "our") else base
            self.verb_at = len(self.tokens)


def _denied(bound: str) -> str:
    return bound.removesuffix("not").strip() if bound.endswith("not") else f"{bound} not".strip()


def _is_a_name(piece: Piece) -> bool:
    """Small words that are more: the method GET, the region US, module A, the "in" of "opt-in"; not "only"."""
    if piece.solid:
        return piece.text != "only"
    return piece.text in ("GET", "LET", "US", "IT") or (piece.text in ("A", "I") and not piece.first)


def _token(piece: Piece, exact: bool) -> Token:
    text, lower = piece.text, piece.text.lower()
    if number := number_of(lower if lower in words.COUNTS else text):
        return Token(number, "number", written=text)
    if OPERATORS.fullmatch(text) or (len(text) == 1 and not text.isalnum()):
        return Token(text, "operator", written=text)
    if not exact and stem(lower) in words.SAME:
        return Token(words.canonical(lower), written=text, quoted=piece.quoted)
    if text.isalpha() and not (_HUMP.search(text) and text[0].islower()):
        kind = "name" if not piece.first and not text.islower() else "word"
        word = lower if exact or _HUMP.search(text) else words.canonical(lower)
        return Token(word, kind, written=text, quoted=piece.quoted)
    return Token(_code(text, piece.first), "code", written=text, quoted=piece.quoted)


def _code(text: str, first: bool) -> str:
    """An identifier as it is compared: case counts, but not at the start of a sentence and not in `UTF-8` and `S3`."""
    if _NAME_WITH_NUMBER.fullmatch(text) or (first and text[1:].islower()):
        return text.lower()
    return text[1:] if text[0] == "$" and text[1:].isupper() else text
