"""What learning shows to people: ratings, ends of tasks, proposals, and what to begin with."""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.records import Hit, Memory, Outcome, Proposal
from swarmlore.surfaces.page import Page, clean, hang, many, say
from swarmlore.text.names import project_name

if TYPE_CHECKING:
    from swarmlore.prime import Primed
    from swarmlore.rules.patterns import Criterion

_COLOURS = {"helpful": "green", "neutral": "dim", "harmful": "red"}
_FATES = {
    "confirmed": "known as {}",
    "updated": "would add to {}",
    "superseded": "would replace {}",
    "linked": "touches {}",
    "rejected": "would be refused: {}",
    "quarantined": "would be kept in quarantine: {}",
}


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


def primed(begin: Primed, comments: str, page: Page) -> str:
    """The memories to begin with, then the newest comments on beads."""
    lines = [page.paint("bold", clean(project_name(begin.project)))]
    lines.append(f"stack: {', '.join(map(clean, begin.stacks))}" if begin.stacks else "no known stack")
    heads = (
        ("about this" if begin.topic else "worth knowing", begin.relevant),
        ("how to go about it", begin.approaches),
        ("learned lately", begin.recent),
    )
    told = [(head, hits) for head, hits in heads if hits]
    for head, hits in told:
        lines += ["", page.paint("bold", head), *(_line(hit, page) for hit in hits)]
    if comments:
        lines += ["", *map(clean, comments.splitlines())]
    return "\n".join(lines if told or comments else [*lines, "Nothing is remembered yet."])


def _line(hit: Hit, page: Page) -> str:
    from swarmlore.rules.block import lesson_line
    from swarmlore.rules.freshness import CHANGED, is_stale

    memory = hit.memory
    head = f"  {page.paint('bold', clean(memory.handle))}  "
    changed = f" ({CHANGED})" if is_stale(hit.cited) else ""
    return hang(head, lesson_line(memory) + changed, page, len(memory.handle) + 4)


def proposed(proposals: Sequence[Proposal], page: Page) -> str:
    """Lessons by number, each with what would become of it."""
    if not proposals:
        return "No lesson was found."
    lines = []
    for number, item in enumerate(proposals, start=1):
        lines.append(hang(f"{number}  ".rjust(4), item.text, page, 4))
        fate = _FATES.get(item.outcome, "").format(clean(item.known_as or item.reason))
        about = f"{item.kind} · {item.confidence} confidence" + (f" · {fate}" if fate else "")
        lines.append(say(about, page, 4, "dim"))
    return "\n".join([*lines, page.paint("dim", "Nothing is stored. To keep one: swarmlore remember TEXT")])
