"""Whether a rule that is to be added to a file contradicts one of its lines, or says what one says already. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.extraction.lesson_text import Found
from swarmlore.domain.extraction.session_lessons import corrects
from swarmlore.domain.extraction.user_words import LONGEST_SENTENCE, split_sentences
from swarmlore.domain.language.similarity import content_words, jaccard_bigram, normalize
from swarmlore.domain.policy.contradiction import contradicts, differences
from swarmlore.frozen import frozen

SAME = 0.6
MAX_CHARS = 1_000  # a longer text is no rule, and comparing it word by word is slow
MOST_COMPARED = 20  # of those that share a word with a text: each comparison takes its time


def says_the_same(rule: str, other: str) -> bool:
    """The words of one, and nothing that matters differs."""
    from swarmlore.domain.policy.contradiction import contradicts, differences

    if jaccard_bigram(rule, other) < SAME or contradicts(rule, other):
        return False
    return not differences(rule, other)


def speaks_against(rule: str, other: str) -> bool:
    """Whether only one of the two can be followed."""
    from swarmlore.domain.policy.contradiction import contradicts, differences, same_subject

    if contradicts(rule, other):
        return True
    told = differences(rule, other)
    if not told or not same_subject(rule, other):
        return False
    return jaccard_bigram(rule, other) >= SAME or any(reason.startswith("opposed: ") for reason in told)


class Known:
    """Texts that are there already, asked whether they have a new one. Only those that share a word are compared."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts: list[str] = []
        self._exact: dict[str, int] = {}
        self._words: dict[str, list[int]] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        place = len(self._texts)
        self._texts.append(text)
        self._exact.setdefault(normalize(text), place)
        if len(text) <= MAX_CHARS:
            for word in content_words(text):
                self._words.setdefault(word, []).append(place)

    def same(self, text: str) -> int | None:
        """The place of the first one that says the same."""
        exact = self._exact.get(normalize(text))
        if exact is not None:
            return exact
        return next((place for place in self._near(text) if says_the_same(text, self._texts[place])), None)

    def against(self, text: str) -> list[int]:
        """The places of those that speak against it."""
        return [place for place in self._near(text) if speaks_against(text, self._texts[place])]

    def _near(self, text: str) -> list[int]:
        """The places of those that share the most words with it, in their order."""
        if len(text) > MAX_CHARS:
            return []
        shared = Counter(place for word in content_words(text) for place in self._words.get(word, ()))
        return sorted(place for place, _ in shared.most_common(MOST_COMPARED))


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
