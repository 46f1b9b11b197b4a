"""Commits whose message speaks of a question: why something is as it is often stands only there."""

from __future__ import annotations

from swarmlore.research.question import Weights
from swarmlore.research.records import Finding
from swarmlore.workspace.git import messages

LEAST = 0.4
TEXT_CHARS = 300


def search_history(root: str, weights: Weights, limit: int) -> tuple[Finding, ...]:
    """The commits that fit best, newest first where they fit alike."""
    found = []
    for age, (commit, day, subject, body) in enumerate(messages(root)):
        covers = weights.coverage(f"{subject}\n{body}")
        if covers >= LEAST:
            text = f"{subject} — {' '.join(body.split())}" if body.strip() else subject
            rank = covers - age / 1_000_000
            found.append(Finding(text[:TEXT_CHARS], "history", f"commit {commit}", how=day, rank=rank))
    return tuple(sorted(found, key=lambda item: -item.rank)[:limit])
