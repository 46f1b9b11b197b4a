"""What a person answers to proposals: which of them are approved, rejected, or to be worded anew."""

from __future__ import annotations

import re
from collections.abc import Sequence

from swarmlore.domain.records import Proposal
from swarmlore.frozen import frozen

APPROVE, REJECT, MODIFY = "approve", "reject", "modify"
_VERBS = {"y": APPROVE, "yes": APPROVE, "n": REJECT, "no": REJECT, "m": MODIFY, "modify": MODIFY, "edit": MODIFY}
_GROUPS = {
    "all": (),
    "all-behavioral": ("behavioral",),
    "all-behavioural": ("behavioral",),
    "all-knowledge": ("knowledge", "skill"),
}
_NAME = re.compile(r"([bkmis]?)([0-9]{1,6})(?:-([bkmis]?)([0-9]{1,6}))?")
MOST_CHARS = 2_000
MOST_LABELS = 12  # that are listed where something else was named
HOW = "Y all, N none, modify, 1,3 or 1-3, k2, all-knowledge, all-behavioral"


@frozen
class Answer:
    """A decision, and the ids of the proposals that it is about."""

    verb: str
    ids: tuple[str, ...]


def read_answer(text: str, shown: Sequence[Proposal]) -> Answer | None:
    """What an answer decides about the proposals that were shown; None where it is none: nothing is guessed."""
    said = text[: MOST_CHARS + 1].strip().lower()
    if not said or len(said) > MOST_CHARS or not shown:
        return None
    first, _, rest = said.partition(" ")
    if (verb := _VERBS.get(first)) and not rest.strip():
        return Answer(verb, tuple(item.id for item in shown))
    ids = _named(rest if verb else said, shown)
    return Answer(verb or APPROVE, ids) if ids else None


def no_answer(text: str, shown: Sequence[Proposal]) -> str:
    """Why something is no answer to what was shown, and what could be named."""
    names = ", ".join(f"{item.number} ({item.label})" for item in shown[:MOST_LABELS])
    more = ", …" if len(shown) > MOST_LABELS else ""
    return f"{text.strip()[:60]!r} decides nothing; open: {names}{more}"


def _named(words: str, shown: Sequence[Proposal]) -> tuple[str, ...]:
    """The proposals that numbers, labels, ranges and groups name, in their order; () where one names none."""
    chosen: set[str] = set()
    for word in filter(None, re.split(r"[,;\s]+", re.sub(r"\s*-\s*(?=\w)", "-", words))):
        found = _of(word, shown)
        if not found:
            return ()
        chosen |= found
    return tuple(item.id for item in shown if item.id in chosen)


def _of(word: str, shown: Sequence[Proposal]) -> set[str]:
    if word in _GROUPS:
        return {item.id for item in shown if not _GROUPS[word] or item.route in _GROUPS[word]}
    named = _NAME.fullmatch(word)
    if named is None:
        return set()
    letter, first, other, last = named[1], int(named[2]), named[3], int(named[4] or named[2])
    if last < first or (other and other != letter):
        return set()
    places = {_place(item, letter): item.id for item in shown if _place(item, letter)}
    # Both ends have to be there: a slip of the finger must not choose less than was meant.
    if first not in places or last not in places:
        return set()
    return {id for number, id in places.items() if first <= number <= last}


def _place(item: Proposal, letter: str) -> int:
    if not letter:
        return item.number
    return int(item.label[1:]) if item.label[:1] == letter and item.label[1:].isdigit() else 0
