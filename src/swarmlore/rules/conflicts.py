"""Whether a rule that is to be added to a file contradicts one of its lines, or says what one says already. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from swarmlore.frozen import frozen
from swarmlore.rules.correction_words import compiled
from swarmlore.rules.found import Found
from swarmlore.rules.meaning import contradicts, differences
from swarmlore.rules.placing import corrects
from swarmlore.text.prose import LONGEST_SENTENCE, split_sentences
from swarmlore.text.similarity import content_words, jaccard_bigram, normalize

MOST_LINES = 5_000
_SAME = 0.6
_OTHERWISE = "says something else about the same thing"
_REVERSED = "the same words, and another meaning"
_MARKS = r"^[\s>]*(?:[-*•+]|\d{1,3}[.)]|#{1,6})?\s*(?:\[[ xX]\]\s+)?"


@frozen
class Conflict:
    """A line that cannot be followed together with a rule: what it says, its number from 1, and why not."""

    line: str
    number: int
    reason: str


def conflict_with(rule: str, text: str) -> Conflict | None:
    """The first line of a file's text that a rule contradicts."""
    return next(_conflicts(rule, text), None)


def conflicts_with(rule: str, text: str) -> tuple[Conflict, ...]:
    """All lines of a file's text that a rule contradicts."""
    return tuple(_conflicts(rule, text))


def says_already(rule: str, text: str) -> int:
    """The number of the line that says the same as a rule; 0 where none does."""
    wanted, words = normalize(rule), content_words(rule)
    for number, _, sentence in _sentences(text):
        if normalize(sentence) == wanted:
            return number
        if not words.isdisjoint(content_words(sentence)) and _is_same(rule, sentence):
            return number
    return 0


def _conflicts(rule: str, text: str) -> Iterator[Conflict]:
    words = content_words(rule[:LONGEST_SENTENCE])
    told = 0
    for number, line, sentence in _sentences(text):
        if number == told or words.isdisjoint(content_words(sentence)):
            continue
        if reason := _reason(rule[:LONGEST_SENTENCE], sentence):
            told = number
            yield Conflict(line, number, reason)


def _reason(rule: str, sentence: str) -> str:
    """Why the two cannot both be followed. They share a word, so they may speak of the same thing."""
    if reason := contradicts(rule, sentence, shared_entity=True):
        return reason
    if content_words(rule) == content_words(sentence) and differences(rule, sentence):
        return _REVERSED
    return _OTHERWISE if corrects(Found(rule), Found(sentence)) else ""


def _is_same(rule: str, sentence: str) -> bool:
    alike = jaccard_bigram(rule, sentence) >= _SAME or content_words(rule) == content_words(sentence)
    return alike and not differences(rule, sentence)


def _sentences(text: str) -> Iterator[tuple[int, str, str]]:
    """Number, line and sentence of what a text states; what stands in fenced code states nothing."""
    fence = ""
    for number, line in enumerate(text.splitlines()[:MOST_LINES], start=1):
        mark = compiled(r"\s{0,12}(`{3,}|~{3,})").match(line)
        if mark:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif not fence and line.strip():
            bare = compiled(_MARKS).sub("", line[: 4 * LONGEST_SENTENCE]).replace("**", "")
            for sentence in split_sentences(bare):
                yield number, line.strip(), sentence
