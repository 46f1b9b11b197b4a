"""What a rule found worth remembering, before it goes through the gate."""

from __future__ import annotations

from swarmlore.frozen import frozen

MIN_CHARS = 15
MAX_CHARS = 280
CONFIDENCES = ("low", "medium", "high")
CONFIDENCE_VALUES = {"high": 0.9, "medium": 0.6, "low": 0.3}  # the scale on which words for confidence are stored


@frozen
class Found:
    """A lesson in one or two sentences, the words it was taken from, and how sure the rule is of it."""

    text: str
    kind: str = "learning"
    confidence: str = "medium"
    excerpt: str = ""
    trust: int = 2
    entities: tuple[str, ...] = ()
    situation: str = ""
    situation_via: str = "prompt"
    place: int = 0  # among the turns of its session: of two that contradict each other the later holds
