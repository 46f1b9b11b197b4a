"""Whether two rules of one sentence say the same, or speak against each other. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from swarmlore.text.similarity import content_words, jaccard_bigram, normalize

SAME = 0.6
MAX_CHARS = 1_000  # a longer text is no rule, and comparing it word by word is slow
MOST_COMPARED = 20  # of those that share a word with a text: each comparison takes its time


def says_the_same(rule: str, other: str) -> bool:
    """The words of one, and nothing that matters differs."""
    from swarmlore.rules.meaning import contradicts, differences

    if jaccard_bigram(rule, other) < SAME or contradicts(rule, other):
        return False
    return not differences(rule, other)


def speaks_against(rule: str, other: str) -> bool:
    """Whether only one of the two can be followed."""
    from swarmlore.rules.meaning import contradicts, differences, same_subject

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
