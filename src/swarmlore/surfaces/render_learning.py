"""What learning shows to people: ratings and ends of tasks."""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.domain.records import Memory, Outcome
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.page import Page, clean, many

if TYPE_CHECKING:
    from swarmlore.domain.policy.outcomes import Criterion

_COLOURS = {"helpful": "green", "neutral": "dim", "harmful": "red"}


def rated(memory: Memory, helpful: bool, page: Page) -> str:
    word = page.paint("green", "helped") if helpful else page.paint("red", "did harm")
    score = f"rated {many(memory.feedback_count, 'time')}, feedback score {memory.feedback_score:.3g}"
    lines = [f"{page.paint('bold', clean(memory.handle))} {word}: {score}."]
    return "\n".join([*lines, page.paint("dim", "To take it back: swarmlore undo")])


def recorded(outcome: Outcome, criteria: Sequence[Criterion], page: Page) -> str:
    """The verdict, whom it was credited to, and what its criteria are worth by now."""
    verdict = page.paint(_COLOURS[outcome.verdict], outcome.verdict)
    lines = [f"{'Done' if outcome.success else 'Failed'}: {verdict}, score {outcome.score:.2f}."]
    used = {*outcome.cited, *outcome.applied}
    shown = many(len(outcome.shown), "memory was", "memories were")
    if outcome.told_before:
        lines.append("This task was told before: its memories have had their credit, and nothing changed.")
    elif outcome.verdict == "neutral":
        lines.append("Neutral: no memory changed. Errors and retries count: --errors N --retries N")
    elif outcome.shown or used:
        lines.append(f"{shown} shown for it, {len(used)} used.")
    else:
        lines.append(
            "No memory is known to have been shown for it, so none was credited; --session or --applied would tell"
        )
    if weights := [f"{clean(item.name)} {item.weight:.2f}{_given_up(item)}" for item in criteria]:
        lines.append("Weight of its criteria: " + ", ".join(weights))
    return "\n".join([*lines, page.paint("dim", f"To take it back: swarmlore undo {clean(outcome.id)}")])


def _given_up(criterion: Criterion) -> str:
    return " (misleads too often)" if criterion.deprecated else ""
