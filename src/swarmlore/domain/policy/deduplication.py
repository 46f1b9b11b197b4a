"""Deduplication: decide whether a new text is added, rejected, or confirms, updates or supersedes a stored one.

Contradictions and differences are checked before similarity, however high it is. No decision destroys data: DELETE
supersedes the old memory, UPDATE keeps its id, and its former text in the history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swarmlore.domain.language.similarity import content_words, jaccard_bigram, normalize
from swarmlore.domain.policy.contradiction import Difference, compare, contradicts, same_subject
from swarmlore.domain.policy.gate import MAX_LESSON, MIN_LESSON
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any

SAME = 0.95
"""Cosine at or above which two texts without a difference are duplicates."""
CLOSE = 0.85
"""Cosine at or above which the new text updates the old one instead of being added."""
CONTRADICTION = "lesson contradicts an existing lesson with shared tags"
_NEAR_WORDS = 0.5
"""Least share of common content words for comparing two texts that are not close."""

# If several neighbours lead to different operations, the first of these wins.
_RANKS = ("NOOP", "REJECT", "DELETE", "contradicts", "UPDATE", "elaborates", "ADD")


@frozen
class Neighbour:
    """A stored memory similar to the new text; `similarity` is a cosine, or Jaccard where no vector exists yet."""

    id: str
    text: str
    similarity: float
    trust: int
    shared_entity: bool = False


@frozen
class Decision:
    """One of ADD, NOOP, UPDATE, DELETE (supersede), LINK (add and link) or REJECT, with its reason."""

    operation: str
    target: str = ""
    text: str = ""
    reason: str = ""
    link: str = ""

    @property
    def rank(self) -> int:
        return _RANKS.index(self.link if self.operation == "LINK" else self.operation)


def decide(
    text: str,
    trust: int,
    neighbours: Sequence[Neighbour],
    *,
    profile: str,
    measure: str,
    lesson: bool = True,
    dedup_threshold: float = 0.6,
) -> Decision:
    """Decide by rules what to do with a new text. `measure` says what `similarity` is: cosine or jaccard."""
    best = Decision("ADD", reason="nothing like it is known")
    for neighbour in sorted(neighbours, key=lambda each: -each.similarity):
        if not lesson:  # raw material is a duplicate only if identical
            decision = Decision("NOOP", neighbour.id, reason="identical") if text == neighbour.text else Decision("ADD")
        elif profile == "knowledge":
            decision = _decide_by_words(text, neighbour, dedup_threshold)
        else:
            close = CLOSE if measure == "cosine" else dedup_threshold
            decision = _decide_lesson(text, trust, neighbour, close, measure)
        if decision.rank < best.rank:
            best = decision
    return best


def _decide_by_words(text: str, neighbour: Neighbour, threshold: float) -> Decision:
    """Decide for profile knowledge: by word pairs alone; a contradiction is rejected."""
    if _is_equal(text, neighbour.text):
        return Decision("NOOP", neighbour.id, reason="the same words")
    against = contradicts(text, neighbour.text, shared_entity=neighbour.shared_entity)
    if against:
        return Decision("REJECT", neighbour.id, reason=CONTRADICTION)
    if jaccard_bigram(text, neighbour.text) < threshold:
        return Decision("ADD")
    reasons = compare(text, neighbour.text).reasons
    if reasons:
        return Decision("ADD", reason=f"differs: {reasons[0]}")
    return Decision("NOOP", neighbour.id, reason="a near-duplicate")


def _is_equal(text: str, other: str) -> bool:
    """Return whether two texts have equal words and no punctuation that changes the meaning."""
    return normalize(text) == normalize(other) and not compare(text, other).reasons


def _decide_lesson(text: str, trust: int, neighbour: Neighbour, close: float, measure: str) -> Decision:
    """Decide for a lesson: equal words, a contradiction or correction, a near-duplicate, or something new."""
    if _is_equal(text, neighbour.text):
        return Decision("NOOP", neighbour.id, reason="the same words")
    against = contradicts(text, neighbour.text, shared_entity=neighbour.shared_entity)
    near = neighbour.similarity >= close
    if not against and not near and not _may_correct(text, neighbour.text):
        return Decision("ADD")
    difference = compare(text, neighbour.text)
    same = same_subject(text, neighbour.text)
    if against or (same and _is_correction(difference, near)):
        return _correct(trust, neighbour, same, against or difference.reasons[0])
    if not near:
        return Decision("ADD")
    if measure == "cosine" and neighbour.similarity >= SAME and not difference.reasons and not difference.added:
        return Decision("NOOP", neighbour.id, reason="says the same")
    return _merge(text, trust, neighbour, difference)


def _may_correct(text: str, other: str) -> bool:
    """Return whether two texts that are not close share enough words to be compared."""
    words, others = content_words(text), content_words(other)
    return bool(words) and len(words & others) >= _NEAR_WORDS * min(len(words), len(others))


def _is_correction(difference: Difference, near: bool) -> bool:
    """Return whether the new text corrects the old one. Texts that are not close must agree in everything else."""
    if near:
        return difference.corrects
    if difference.opposes:
        return True
    if difference.added or difference.removed or len(difference.slots) > 1:
        return False
    return difference.slots[0].kind == "value" if difference.slots else bool(difference.order)


def _correct(trust: int, neighbour: Neighbour, same: bool, reason: str) -> Decision:
    """Supersede an old lesson on the same subject that is not trusted more; otherwise keep both, linked for review."""
    if same and trust >= neighbour.trust:
        return Decision("DELETE", neighbour.id, reason=reason)
    return Decision("LINK", neighbour.id, reason=reason, link="contradicts")


def _merge(text: str, trust: int, neighbour: Neighbour, difference: Difference) -> Decision:
    """Update if one text can replace both; otherwise add the new one, with a link if it says more."""
    if difference.corrects:
        return Decision("ADD", reason=f"about something else: {difference.reasons[0]}")
    merged = merge_texts(text, neighbour.text, difference)
    if trust < neighbour.trust:
        # A text of lower trust confirms one of higher trust, but does not rewrite it.
        merged = "" if difference.reasons or difference.added else neighbour.text
    if merged:
        return Decision("UPDATE", neighbour.id, merged, reason="says it again with more or other words")
    return Decision("LINK", neighbour.id, reason="says more about it", link="elaborates")


def merge_texts(new: str, old: str, difference: Difference) -> str:
    """Return one text for two: the new one if it covers the old, else both joined, or '' if neither fits."""
    if not difference.slots and not difference.removed:
        return new
    if not difference.slots and not difference.added:
        # Nothing new is said. A missing value may have been left out on purpose.
        return "" if difference.reasons else old
    joined = f"{old.rstrip().rstrip('.;')}; {new.strip()}"
    return joined if len(joined) <= MAX_LESSON else ""


def parse_decision(
    answer: Mapping[str, Any], neighbours: Sequence[Neighbour], *, text: str, trust: int
) -> Decision | None:
    """Return an LLM's decision if it may be followed; None means that the rules decide.

    An LLM takes opposites for duplicates as readily as an embedding does. So it may not confirm or merge despite a
    difference, nor replace a memory of higher trust. The text of an UPDATE must still pass the gate.
    """
    operation = answer.get("operation")
    reason = str(answer.get("reason") or "")[:MAX_LESSON]
    known = {neighbour.id: neighbour for neighbour in neighbours}
    if operation == "ADD":
        again = any(_is_equal(text, neighbour.text) for neighbour in neighbours)
        return None if again else Decision("ADD", reason=reason)
    target = answer.get("target")
    if not isinstance(target, str) or target not in known:
        return None
    neighbour = known[target]
    decision = Decision(str(operation), target, reason=reason)
    against = contradicts(text, neighbour.text, shared_entity=neighbour.shared_entity)
    if operation == "NOOP":
        return None if against or compare(text, neighbour.text).reasons else decision
    if operation == "DELETE" and (against or same_subject(text, neighbour.text)):
        return decision if trust >= neighbour.trust else replace(decision, operation="LINK", link="contradicts")
    if operation == "UPDATE" and not against:
        return _may_update(decision, answer.get("text"), text, trust, neighbour)
    return None


def _may_update(decision: Decision, merged: Any, text: str, trust: int, neighbour: Neighbour) -> Decision | None:
    """Return the UPDATE if the merged text keeps all that matters in both compatible texts, else None."""
    if not isinstance(merged, str) or not MIN_LESSON <= len(merged.strip()) <= MAX_LESSON or trust < neighbour.trust:
        return None
    if compare(text, neighbour.text).corrects:
        return None
    kept = [compare(merged, part) for part in (text, neighbour.text)]
    return None if any(part.corrects or part.drops for part in kept) else replace(decision, text=merged.strip())
