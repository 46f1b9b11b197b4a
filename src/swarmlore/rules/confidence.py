"""How sure a memory is of itself, on the one scale from 0 to 1."""

from __future__ import annotations

import re

KIND_BOOST = {"correction": 15, "commitment": 15, "decision": 10, "gap": 10, "insight": 5}
QUICK_S = 30
EVIDENCE_SENTENCES = 2

_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx)\.", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?]+(?=[\s\"')\]]|$)|\n+")


def confidence_of(confirmations: int, auto_generated: bool) -> float:
    """0.5, a tenth for each of the first three confirmations, and a tenth for what was not generated."""
    # Whole tenths, so that 0.5 + 0.1 + 0.1 + 0.1 is 0.8 and nothing near it.
    return min(10, 5 + min(max(confirmations, 0), 3) + (not auto_generated)) / 10


def extraction_confidence(kind: str, duration_s: float | None, evaluation: str) -> float:
    """70, more for some kinds, for quick work and for an evaluation of more than two sentences; as a share of 100."""
    score = 70 + KIND_BOOST.get(kind, 0)
    if duration_s is not None and 0 <= duration_s < QUICK_S:
        score += 10
    if count_sentences(evaluation) > EVIDENCE_SENTENCES:
        score += 15
    return min(100, score) / 100


def count_sentences(text: str) -> int:
    """Sentences or lines with at least one word in them; dots inside names and numbers end nothing."""
    parts = _SENTENCE_END.split(_ABBREVIATION.sub(" ", text))
    return sum(any(letter.isalnum() for letter in part) for part in parts)
