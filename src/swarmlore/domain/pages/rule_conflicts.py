"""Compare a new rule with the rules of a file: tell whether one contradicts it or already says the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.extraction.lesson_text import CandidateLesson
from swarmlore.domain.extraction.message_text import LONGEST_SENTENCE, split_sentences
from swarmlore.domain.extraction.session_lessons import contradicts_lesson
from swarmlore.domain.language.similarity import content_words, jaccard_bigram, normalize
from swarmlore.domain.policy.contradiction import contradicts, differences, same_subject
from swarmlore.frozen import frozen

SAME = 0.6
MAX_CHARS = 1_000  # a longer text is no rule, and comparing it word by word is slow
MOST_COMPARED = 20  # texts compared per query: each comparison is slow


def is_same_rule(rule: str, other: str) -> bool:
    """Tell whether two rules share most of their words and differ in nothing that matters."""
    if jaccard_bigram(rule, other) < SAME or contradicts(rule, other):
        return False
    return not differences(rule, other)


def contradicts_rule(rule: str, other: str) -> bool:
    """Tell whether only one of two rules can be followed."""
    if contradicts(rule, other):
        return True
    reasons = differences(rule, other)
    if not reasons or not same_subject(rule, other):
        return False
    return jaccard_bigram(rule, other) >= SAME or any(reason.startswith("opposed: ") for reason in reasons)


class RuleIndex:
    """An index of texts for duplicates and contradictions; only texts that share a word are compared."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts: list[str] = []
        self._exact: dict[str, int] = {}
        self._words: dict[str, list[int]] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Add a text to the index."""
        place = len(self._texts)
        self._texts.append(text)
        self._exact.setdefault(normalize(text), place)
        if len(text) <= MAX_CHARS:
            for word in content_words(text):
                self._words.setdefault(word, []).append(place)

    def same(self, text: str) -> int | None:
        """Return the index of the first text that says the same, or None."""
        exact = self._exact.get(normalize(text))
        if exact is not None:
            return exact
        return next((place for place in self._near(text) if is_same_rule(text, self._texts[place])), None)

    def against(self, text: str) -> list[int]:
        """Return the indices of the texts that contradict this one."""
        return [place for place in self._near(text) if contradicts_rule(text, self._texts[place])]

    def _near(self, text: str) -> list[int]:
        """Return the indices of the texts that share the most words with this one, in ascending order."""
        if len(text) > MAX_CHARS:
            return []
        shared = Counter(place for word in content_words(text) for place in self._words.get(word, ()))
        return sorted(place for place, _ in shared.most_common(MOST_COMPARED))


MOST_LINES = 5_000
_OTHERWISE = "says something else about the same thing"
_REVERSED = "the same words, and another meaning"
_MARKS = r"^[\s>]*(?:[-*•+]|\d{1,3}[.)]|#{1,6})?\s*(?:\[[ xX]\]\s+)?"


@frozen
class Conflict:
    """A line that cannot be followed together with a rule: its text, its number from 1, and the reason."""

    line: str
    number: int
    reason: str


def conflict_with(rule: str, text: str) -> Conflict | None:
    """Return the first line of a file's text that contradicts a rule, or None."""
    return next(_conflicts(rule, text), None)


def conflicts_with(rule: str, text: str) -> tuple[Conflict, ...]:
    """Return all lines of a file's text that contradict a rule."""
    return tuple(_conflicts(rule, text))


def says_already(rule: str, text: str) -> int:
    """Return the number of the line that says the same as a rule; 0 if there is none."""
    wanted, words = normalize(rule), content_words(rule)
    for number, _, sentence in _sentences(text):
        if normalize(sentence) == wanted:
            return number
        if not words.isdisjoint(content_words(sentence)) and _is_same(rule, sentence):
            return number
    return 0


def _conflicts(rule: str, text: str) -> Iterator[Conflict]:
    """Yield the lines of a text that contradict a rule, each once."""
    words = content_words(rule[:LONGEST_SENTENCE])
    last_number = 0
    for number, line, sentence in _sentences(text):
        if number == last_number or words.isdisjoint(content_words(sentence)):
            continue
        if reason := _reason(rule[:LONGEST_SENTENCE], sentence):
            last_number = number
            yield Conflict(line, number, reason)


def _reason(rule: str, sentence: str) -> str:
    """Return why two texts that share a word cannot both be followed, or ""."""
    if reason := contradicts(rule, sentence, shared_entity=True):
        return reason
    if content_words(rule) == content_words(sentence) and differences(rule, sentence):
        return _REVERSED
    return _OTHERWISE if contradicts_lesson(CandidateLesson(rule), CandidateLesson(sentence)) else ""


def _is_same(rule: str, sentence: str) -> bool:
    """Tell whether two sentences have about the same words and no difference that matters."""
    alike = jaccard_bigram(rule, sentence) >= SAME or content_words(rule) == content_words(sentence)
    return alike and not differences(rule, sentence)


def _sentences(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line number, line and sentence of a text, without fenced code."""
    fence = ""
    for number, line in enumerate(text.splitlines()[:MOST_LINES], start=1):
        mark = compiled(r"\s{0,12}(`{3,}|~{3,})").match(line)
        if mark:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif not fence and line.strip():
            bare = compiled(_MARKS).sub("", line[: 4 * LONGEST_SENTENCE]).replace("**", "")
            for sentence in split_sentences(bare):
                yield number, line.strip(), sentence
