"""A question as what is looked for: its terms, the needles by which a file is found to hold one, the names in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import log

from swarmlore.domain.language.tokenizer import STOP_WORDS, split_words, stem_word
from swarmlore.frozen import frozen

MOST_TERMS = 16
MOST_NAMES = 8
LEAST_NEEDLE = 3
# Words of asking that say nothing about what is asked for.
_ASKING = frozenset(
    "work works use uses used using happen happens mean means want wants make makes made find explain describe tell "
    "show question best better good right wrong correct currently exactly actually project code codebase repository "
    "repo handle handled handles many long kind sort part place able often frequently large big times".split()
)
SAME = {"attempt": "retri", "tri": "retri"}
# What a file may say instead of a needle.
ALSO = {b"retr": (b"attempt",), b"attempt": (b"retr",)}
_NAME = re.compile(r"`([^`\n]{2,80})`|\b([A-Za-z_][\w]*(?:(?:\.|::|->)[A-Za-z_]\w*)*)(\(\))?")


@frozen
class Question:
    """`terms` are stems in order of appearance; `needles` are what any form of a term begins with, in small letters;
    `names` are identifiers as they were written."""

    text: str
    terms: tuple[str, ...]
    needles: tuple[bytes, ...]
    names: tuple[str, ...] = ()


def read_question(text: str) -> Question:
    """What a question looks for. Words of asking count only where there is nothing else."""
    words = [word for word in split_words(text) if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())]
    telling = [word for word in words if word not in _ASKING] or words
    kept: dict[str, bytes] = {}
    for word in telling:
        if len(kept) < MOST_TERMS:
            kept.setdefault(root(word), _needle(word))
    return Question(text, tuple(kept), tuple(kept.values()), _names(text))


def _needle(word: str) -> bytes:
    """What all forms of a word begin with: `memories` and `memory` share memor."""
    root = stem_word(word)
    same = next((at for at, (a, b) in enumerate(zip(word, root, strict=False)) if a != b), min(len(word), len(root)))
    begin = root[:same]
    if begin.endswith("i") and len(begin) > LEAST_NEEDLE:
        begin = begin[:-1]
    return (begin if len(begin) >= LEAST_NEEDLE else word).encode()


def _names(text: str) -> tuple[str, ...]:
    """Identifiers: what stands in back-ticks, is called, or is written as no other word is."""
    found: dict[str, None] = {}
    for quoted, word, called in _NAME.findall(text):
        name = quoted.strip().removesuffix("()") or word
        inner = any(part.isupper() for part in name[1:]) and not name.isupper()
        if quoted or called or "_" in name.strip("_") or inner or "::" in name:
            found[re.split(r"\.|::|->", name)[-1]] = None
    return tuple(list(found)[:MOST_NAMES])


class Weights:
    """How much a term tells: the more files hold it, the less."""

    def __init__(self, question: Question, holding: Sequence[int], files: int) -> None:
        self.terms = question.terms
        self.asked = question.text
        self._weight = {
            term: log(1 + (files + 1) / (count + 0.5)) for term, count in zip(question.terms, holding, strict=True)
        }
        self.whole = sum(self._weight.values()) or 1.0
        known = [self._weight[term] for term, count in zip(question.terms, holding, strict=True) if count]
        self._known = sum(known) or self.whole

    def of(self, terms: Sequence[str] | set[str]) -> float:
        return sum(self._weight.get(term, 0.0) for term in terms)

    def coverage(self, text: str, title: str = "") -> float:
        """How much of the question a text holds, 0 to 1; what only its title holds counts half."""
        said = stems(text) & self._weight.keys()
        above = (stems(title) & self._weight.keys()) - said
        return (self.of(said) + self.of(above) / 2) / self.whole

    def held(self, text: str, title: str = "") -> float:
        """The same of those words that any file holds: what stands nowhere cannot be asked of one sentence."""
        return self.coverage(text, title) * self.whole / self._known

    def missing(self, texts: Sequence[str]) -> list[str]:
        said = set().union(*map(stems, texts)) if texts else set()
        return [term for term in self.terms if term not in said]


def stems(text: str) -> set[str]:
    return {root(word) for word in split_words(text[:4_000])}


def root(word: str) -> str:
    """The stem of a word; of some that mean the same in code and in docs, the one stem."""
    found = stem_word(word)
    return SAME.get(found, found)
