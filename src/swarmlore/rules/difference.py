"""What two statements do not have in common, judged word by word.

An embedding calls port 5432 and port 5433 the same. Here every number, identifier, negation, opposing word and their
order counts; so does any other word that was replaced, unless both are known to mean the same. Where nothing is left,
the two texts say the same thing.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from swarmlore.text import vocabulary
from swarmlore.text.statement import Statement, Token, read

MAX_CHARS = 4000
"""Longer texts are compared as they are written."""
MAX_WORDING = 1
"""So many ordinary words may go without a loss."""
MAX_VALUE = 2
"""A value that was replaced has at most so many words; more is another thought."""
NOWHERE = -1
"""The place of words that do not stand in the same place in both texts."""
_ALIKE = {
    **dict.fromkeys(("if", "when", "whenever", "while", "where"), "if"),
    **dict.fromkeys(("in", "on", "at", "within"), "in"),
    **dict.fromkeys(("because", "since", "as"), "because"),
}


class Slot(NamedTuple):
    """A place where the new text has other words than the old one. `kind`: opposed, value, name or thought."""

    kind: str
    old: tuple[Token, ...]
    new: tuple[Token, ...]
    old_at: int
    new_at: int

    def __str__(self) -> str:
        return f"{self.kind}: {_shown(self.old) or '…'} → {_shown(self.new) or '…'}"


class Difference(NamedTuple):
    """All that differs from the old to the new text."""

    slots: tuple[Slot, ...] = ()
    added: tuple[Token, ...] = ()
    removed: tuple[Token, ...] = ()
    order: str = ""
    modality: str = ""
    spelling: str = ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """What forbids to call the two texts the same."""
        found = [str(slot) for slot in self.slots]
        found += [f"added: {token.written}" for token in self.added if token.weighty]
        found += [f"missing: {token.written}" for token in self.removed if token.weighty]
        found += filter(None, (self.order, self.modality, self.spelling))
        return tuple(found)

    @property
    def drops(self) -> bool:
        """Whether the new text leaves out more than a little wording."""
        return len(self.removed) > MAX_WORDING or any(token.weighty for token in self.removed)

    @property
    def corrects(self) -> bool:
        """Whether the new text puts something else in the place of what the old one said."""
        return bool(self.order or self.modality or self.spelling) or any(slot.kind != "thought" for slot in self.slots)

    @property
    def opposes(self) -> bool:
        """Whether the new text says the opposite somewhere."""
        return bool(self.modality) or any(slot.kind == "opposed" for slot in self.slots)


_UNKNOWN = Difference((Slot("thought", (), (), NOWHERE, NOWHERE),))


def _shown(tokens: tuple[Token, ...]) -> str:
    return " ".join(f"{token.bound} {token.written or token.word}".strip() for token in tokens)


@lru_cache(maxsize=512)
def compare(new: str, old: str) -> Difference:
    """Everything that differs between two short texts and is more than wording."""
    if max(len(new), len(old)) > MAX_CHARS:
        return Difference() if new.split() == old.split() else _UNKNOWN
    here, there = read(new), read(old)
    slots, added, removed = _align(here, there)
    slots += _pair_up(added, removed)
    slots += _turned(here, there, added, removed)
    if added and removed:
        kind = "name" if len(added) == len(removed) == 1 and added[0].kind == removed[0].kind else "thought"
        slots.append(Slot(kind, tuple(removed), tuple(added), NOWHERE, NOWHERE))
        added, removed = [], []
    order = _order(here, there)
    return Difference(tuple(slots), tuple(added), tuple(removed), order, _modality(here, there), _spelling(here, there))


def _align(here: Statement, there: Statement) -> tuple[list[Slot], list[Token], list[Token]]:
    """Places with other words, words only the new text has, words only the old one has."""
    if here.keys == there.keys:
        return [], [], []
    from difflib import SequenceMatcher  # only for texts that differ

    extra, lost = Counter(here.keys) - Counter(there.keys), Counter(there.keys) - Counter(here.keys)
    slots: list[Slot] = []
    added: list[Token] = []
    removed: list[Token] = []
    for _, old_from, old_to, new_from, new_to in SequenceMatcher(None, there.keys, here.keys, False).get_opcodes():
        old = _taken(there.tokens[old_from:old_to], lost)
        new = _taken(here.tokens[new_from:new_to], extra)
        if not any(map(_is_light, old)) or not any(map(_is_light, new)):
            old = [token for token in old if not _is_light(token)]
            new = [token for token in new if not _is_light(token)]
        if old and new:
            slots.append(Slot(_kind_of(old, new), tuple(old), tuple(new), old_from, new_from))
        else:
            added += new
            removed += old
    return slots, added, removed


def _is_light(token: Token) -> bool:
    """all, any, some: they matter only where one stands for another."""
    return token.word in vocabulary.LIGHT and not token.bound


def _taken(tokens: tuple[Token, ...], wanted: Counter[str]) -> list[Token]:
    """Those tokens that the other text lacks; each is taken once."""
    found = []
    for token in tokens:
        if wanted[token.key] > 0:
            wanted[token.key] -= 1
            found.append(token)
    return found


def _kind_of(old: list[Token], new: list[Token]) -> str:
    if any(_opposed(a, b) for a in old for b in new):
        return "opposed"
    kinds, others = {token.kind for token in old}, {token.kind for token in new}
    if not {"number", "code"}.isdisjoint(kinds & others):
        return "value"
    if (kinds != {"word"} and others != {"word"}) or max(len(old), len(new)) <= MAX_VALUE:
        return "name"
    return "thought"


def _opposed(a: Token, b: Token) -> bool:
    return (a.word == b.word and a.bound != b.bound) or b.word in vocabulary.OPPOSITES.get(a.word, ())


def _pair_up(added: list[Token], removed: list[Token]) -> list[Slot]:
    """Pairs of one added and one missing word that belong together although they stand in different places."""
    slots = []
    for new in tuple(added):
        for old in removed:
            if _opposed(old, new) or (new.kind == old.kind and new.kind in ("number", "code")):
                slots.append(Slot(_kind_of([old], [new]), (old,), (new,), NOWHERE, NOWHERE))
                added.remove(new)
                removed.remove(old)
                break
    return slots


def _turned(here: Statement, there: Statement, added: list[Token], removed: list[Token]) -> list[Slot]:
    """Words whose opposite is a small word of the other text: "turn it on", "turn it off"."""
    slots = []
    for tokens, own, other in ((added, here, there), (removed, there, here)):
        for token in tuple(tokens):
            opposites = vocabulary.OPPOSITES.get(token.word)
            if opposites and not opposites.isdisjoint(map(vocabulary.canonical, other.words - own.words)):
                new = tokens is added
                slots.append(Slot("opposed", () if new else (token,), (token,) if new else (), NOWHERE, NOWHERE))
                tokens.remove(token)
    return slots


def _modality(here: Statement, there: Statement) -> str:
    """must against may; where one text leaves it open, nothing is said against the other."""
    if here.modality and there.modality and here.modality != there.modality:
        return f"opposed: {there.modality} → {here.modality}"
    return ""


def _spelling(here: Statement, there: Statement) -> str:
    """Quoted words that both texts have, in different letters: `Foo` and `foo`."""
    quoted = {token.key: token.written for token in there.tokens if token.quoted}
    for token in here.tokens:
        if token.quoted and quoted.get(token.key, token.written) != token.written:
            return f"spelling: {quoted[token.key]} → {token.written}"
    return ""


def _order(here: Statement, there: Statement) -> str:
    """The words that both texts have, in another order, unless only phrases such as "in CI" or "before x" moved."""
    common = Counter(here.keys) & Counter(there.keys)
    new = [token for token in _taken(here.tokens, common.copy()) if not _is_light(token)]
    old = [token for token in _taken(there.tokens, common.copy()) if not _is_light(token)]
    if [token.key for token in new] == [token.key for token in old]:
        return ""
    runs = _runs(new, old)
    groups: dict[str, list[int]] = {}
    for run in runs:
        place, before = run[0]
        groups.setdefault(_opener(new[place], old[before]), []).append(before)
    if all(places == sorted(places) for places in groups.values()):
        return ""
    # "Do not commit x" and "x must not be committed": who does it is marked by "by".
    if len(runs) <= 3 and here.passive != there.passive:
        return ""
    return f"order: {_shown(tuple(old))} → {_shown(tuple(new))}"


def _runs(new: list[Token], old: list[Token]) -> list[list[tuple[int, int]]]:
    """The new words as runs of neighbours in the old text; each word as its two places."""
    free = {place: token.key for place, token in enumerate(old)}
    runs: list[list[tuple[int, int]]] = []
    after = -1
    for place, token in enumerate(new):
        if free.get(after) != token.key:
            places = [there for there, key in free.items() if key == token.key]
            after = next((there for there in places if old[there].opener == token.opener), places[0])
            runs.append([])
        runs[-1].append((place, after))
        del free[after]
        after += 1
    return runs


def _opener(new: Token, old: Token) -> str:
    """What opens a phrase that may stand anywhere in its sentence; '' where none begins here.

    Phrases with the same opening keep their order: "a on x, b on y" is not "a on y, b on x".
    """
    if new.bound:
        return new.bound
    kind = _ALIKE.get(new.opener, new.opener)
    return kind if new.opener in vocabulary.OPENERS and kind == _ALIKE.get(old.opener, old.opener) else ""
