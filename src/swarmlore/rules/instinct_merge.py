"""The rules of two files of instincts as those of one. Pure.

They are copies of one file that went different ways. A rule that both have gets the later confirmation and the higher
count, and the higher confidence where it was confirmed over there: nothing is counted twice, and doing it again changes
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.frozen import frozen, replace
from swarmlore.rules.alike import Known
from swarmlore.rules.instincts import Instinct


@frozen
class MergedRules:
    """What another file brings: rules that are missing, rules that are surer now, how many are known as they are, and
    the pairs (theirs, ours) of which only one can be followed."""

    added: tuple[Instinct, ...] = ()
    raised: tuple[Instinct, ...] = ()
    known: int = 0
    against: tuple[tuple[Instinct, Instinct], ...] = ()


def merge_rules(own: Sequence[Instinct], others: Sequence[Instinct]) -> MergedRules:
    """Take the rules of another file over, one by one."""
    held, ids = list(own), {one.id: place for place, one in enumerate(own)}
    texts = Known(one.rule for one in own)
    against: list[tuple[Instinct, Instinct]] = []
    known = 0
    for other in others:
        place = _place(other, held, ids, texts)
        if place is not None:
            held[place] = merged(held[place], other)
            known += 1
        elif opposed := texts.against(other.rule):
            against += [(other, held[place]) for place in opposed]
        else:
            texts.add(other.rule)
            held.append(other)
    raised = tuple(after for before, after in zip(own, held, strict=False) if after != before)
    return MergedRules(tuple(held[len(own) :]), raised, known, tuple(against))


def _place(other: Instinct, held: Sequence[Instinct], ids: dict[str, int], texts: Known) -> int | None:
    """Where the same rule stands. The same id with another rule is another instinct."""
    same = texts.same(other.rule)
    if same is not None:
        return same
    place = ids.get(other.id)
    return place if place is not None and held[place].rule == other.rule else None


def merged(own: Instinct, other: Instinct) -> Instinct:
    """One rule that both files have. Only where it was confirmed over there since is it surer: an old copy must not
    bring back what a contradiction took here."""
    since = other.reinforcements > own.reinforcements or (other.reinforced_at or 0.0) > (own.reinforced_at or 0.0)
    times = [at for at in (own.reinforced_at, other.reinforced_at) if at is not None]
    return replace(
        own,
        confidence=max(own.confidence, other.confidence) if since else own.confidence,
        reinforced_at=max(times, default=None),
        reinforcements=max(own.reinforcements, other.reinforcements),
        promoted=own.promoted or other.promoted,
    )
