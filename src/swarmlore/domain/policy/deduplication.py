"""What becomes of a new text beside what is already known: add, confirm, update, supersede, link or reject.

Contradiction and difference are judged before sameness, at every similarity. Nothing is decided destructively: DELETE
means that the old memory is superseded, UPDATE keeps its id and its former text in the history.
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
"""Cosine from which two texts without a difference are the same."""
CLOSE = 0.85
"""Cosine from which the new text changes the old one instead of standing beside it."""
CONTRADICTION = "lesson contradicts an existing lesson with shared tags"
_NEAR_WORDS = 0.5
"""Share of content words below which two texts are not compared word by word unless they are close."""

# Where several neighbours call for different operations, the first of these wins.
_RANKS = ("NOOP", "REJECT", "DELETE", "contradicts", "UPDATE", "elaborates", "ADD")


@frozen
class Neighbour:
    """A memory that may be about the same thing; `similarity` is a cosine, or Jaccard where no vector exists yet."""

    id: str
    text: str
    similarity: float
    trust: int
    shared_entity: bool = False


@frozen
class Decision:
    """One of ADD, NOOP, UPDATE, DELETE (supersede), LINK (add and link) and REJECT, with its reason."""

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
    """What to do with a new text, by rule alone. `measure` is what the neighbours' similarity is: cosine or jaccard."""
    best = Decision("ADD", reason="nothing like it is known")
    for neighbour in sorted(neighbours, key=lambda each: -each.similarity):
        if not lesson:
            decision = _decide_raw(text, neighbour)
        elif profile == "knowledge":
            decision = _decide_by_words(text, neighbour, dedup_threshold)
        else:
            close = CLOSE if measure == "cosine" else dedup_threshold
            decision = _decide_lesson(text, trust, neighbour, close, measure)
        if decision.rank < best.rank:
            best = decision
    return best


def _decide_raw(text: str, neighbour: Neighbour) -> Decision:
    """Raw material is the same only where it is identical."""
    if text == neighbour.text:
        return Decision("NOOP", neighbour.id, reason="identical")
    return Decision("ADD")


def _decide_by_words(text: str, neighbour: Neighbour, threshold: float) -> Decision:
    """Profile knowledge: word pairs alone decide, and a contradiction is refused."""
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
    """Equal words, and no sign between them that matters."""
    return normalize(text) == normalize(other) and not compare(text, other).reasons


def _decide_lesson(text: str, trust: int, neighbour: Neighbour, close: float, measure: str) -> Decision:
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
    """Whether two texts that are not close share enough words to be worth a comparison."""
    words, others = content_words(text), content_words(other)
    return bool(words) and len(words & others) >= _NEAR_WORDS * min(len(words), len(others))


def _is_correction(difference: Difference, near: bool) -> bool:
    """Whether the new text takes something back. Texts that are not close must agree in all the rest."""
    if near:
        return difference.corrects
    if difference.opposes:
        return True
    if difference.added or difference.removed or len(difference.slots) > 1:
        return False
    return difference.slots[0].kind == "value" if difference.slots else bool(difference.order)


def _correct(trust: int, neighbour: Neighbour, same: bool, reason: str) -> Decision:
    """Supersede what is about the same thing and not trusted more; else keep both and show them for review."""
    if same and trust >= neighbour.trust:
        return Decision("DELETE", neighbour.id, reason=reason)
    return Decision("LINK", neighbour.id, reason=reason, link="contradicts")


def _merge(text: str, trust: int, neighbour: Neighbour, difference: Difference) -> Decision:
    """UPDATE where one text can stand for both; else the new one is added, with a link where it says more."""
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
    """One text that says what both say, or '' where none fits: the new one if it covers the old, else both joined."""
    if not difference.slots and not difference.removed:
        return new
    if not difference.slots and not difference.added:
        # Nothing new is said. A value that is missing may have been left out on purpose.
        return "" if difference.reasons else old
    joined = f"{old.rstrip().rstrip('.;')}; {new.strip()}"
    return joined if len(joined) <= MAX_LESSON else ""


def parse_decision(
    answer: Mapping[str, Any], neighbours: Sequence[Neighbour], *, text: str, trust: int
) -> Decision | None:
    """A language model's decision as far as it may be followed; None means that the rule decides.

    A model calls opposites the same as readily as an embedding does, so it may not confirm or merge over a difference,
    nor replace what is trusted more. The text of an UPDATE still has to pass the gate.
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
    if operation == "NOOP":
        return decision if _agrees(text, neighbour) else None
    if operation == "DELETE":
        return _may_replace(decision, text, trust, neighbour)
    return _may_update(decision, answer.get("text"), text, trust, neighbour) if operation == "UPDATE" else None


def _agrees(text: str, neighbour: Neighbour) -> bool:
    against = contradicts(text, neighbour.text, shared_entity=neighbour.shared_entity)
    return not against and not compare(text, neighbour.text).reasons


def _may_replace(decision: Decision, text: str, trust: int, neighbour: Neighbour) -> Decision | None:
    against = contradicts(text, neighbour.text, shared_entity=neighbour.shared_entity)
    if not against and not same_subject(text, neighbour.text):
        return None
    return decision if trust >= neighbour.trust else replace(decision, operation="LINK", link="contradicts")


def _may_update(decision: Decision, merged: Any, text: str, trust: int, neighbour: Neighbour) -> Decision | None:
    """Only if the merged text keeps everything that matters in the new text, and the two texts are compatible."""
    if not isinstance(merged, str) or not MIN_LESSON <= len(merged.strip()) <= MAX_LESSON or trust < neighbour.trust:
        return None
    against = contradicts(text, neighbour.text, shared_entity=neighbour.shared_entity)
    if against or compare(text, neighbour.text).corrects:
        return None
    for part in (text, neighbour.text):
        kept = compare(merged, part)
        if kept.corrects or kept.drops:
            return None
    return replace(decision, text=merged.strip())
