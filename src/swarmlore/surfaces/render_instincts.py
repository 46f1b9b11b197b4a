"""What `instincts` shows to people."""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.page import Page, clean, hang, many, say

if TYPE_CHECKING:
    from swarmlore.notes.instincts import Added, Held, KeptNote, NoteProposal, Shelf

ADJUST = "To adjust one: swarmlore instincts review ID --reinforce, --contradict or --set 0.7"
NONE = "No instincts yet. To write one down: swarmlore instincts add RULE"


def shelf(shown: Shelf, page: Page) -> str:
    """Every instinct, surest first, each with what it is worth today."""
    lines = [_line(held, page) for held in shown.held] or [NONE]
    return "\n".join([*lines, *_problems(shown, page)])


def review(shown: Shelf, page: Page) -> str:
    """The same with what is due: which fade, which would be pruned, which could be promoted."""
    if not shown.held:
        return shelf(shown, page)
    lines = []
    for held in shown.held:
        lines += [_line(held, page), say(_state(held), page, 6, "dim")]
    lines += ["", say(ADJUST, page, style="dim")]
    return "\n".join([*lines, *_problems(shown, page)])


def adjusted(held: Held, page: Page) -> str:
    return "\n".join([_line(held, page), say(_state(held), page, 6, "dim")])


def one(held: Held, page: Page) -> str:
    """One instinct with what is due, and how to adjust it."""
    return "\n".join([adjusted(held, page), say(ADJUST, page, style="dim")])


def added(told: Added, page: Page, made: str = "") -> str:
    """What became of a rule; `made` is the file that had to be made for it."""
    word = "Added" if told.outcome == "added" else "Known already, so reinforced"
    lines = [f"{word}: {page.paint('bold', clean(told.held.instinct.id))}, confidence {told.held.confidence:.2f}."]
    lines += [
        hang("Speaks against ", f"{one.instinct.id} ({one.confidence:.2f} now): {one.instinct.rule}", page, 2)
        for one in told.contradicted
    ]
    if made:
        lines.append(f"It stands in {clean(made)}, which is new: commit it, so that others have it too.")
    if told.redacted:
        lines.append(say(f"Taken out before it was written: {', '.join(told.redacted)}.", page, style="yellow"))
    return "\n".join(lines)


def pruned(gone: Sequence[Held], page: Page, *, dry_run: bool) -> str:
    if not gone:
        return "Nothing to prune."
    head = f"{'Would remove' if dry_run else 'Removed'} {many(len(gone), 'instinct')}:"
    return "\n".join([head, *(_line(held, page) for held in gone)])


def proposed(notes: Sequence[NoteProposal], page: Page) -> str:
    if not notes:
        return "No instinct is ready: a universal one with a confidence of 0.8 or more becomes a note."
    lines = []
    for note in notes:
        lines.append(hang(page.paint("bold", f"{clean(note.instinct.id)}  "), note.title, page, 2))
        about = f"{note.category} · {', '.join(note.tags)} · confidence {note.confidence:.2f}"
        lines += [say(about, page, 4, "dim"), say(note.text, page, 4), ""]
    hint = "Nothing is stored. To keep one as a note for every project: swarmlore instincts promote ID --yes"
    return "\n".join([*lines, say(hint, page, style="dim")])


def promoted(note: NoteProposal, told: KeptNote, page: Page) -> str:
    where = page.paint("bold", clean(told.path))
    word = "Kept as" if told.outcome == "added" else "Known as"
    return f"{word} {where}; {clean(note.instinct.id)} is marked as promoted."


def _line(held: Held, page: Page) -> str:
    one = held.instinct
    head = f"{held.confidence:.2f}  {page.paint('bold', clean(one.id))}  "
    scope = f" ({one.scope}{', ' + one.category if one.category else ''}{', promoted' if one.promoted else ''})"
    return hang(head, one.rule + scope, page, 6)


def _state(held: Held) -> str:
    one = held.instinct
    last = f"{many(held.idle_days, 'day')} ago" if held.idle_days else "today"
    # Saying it for the first time is counted in the file as well, and is no confirmation.
    times = one.reinforcements - 1
    words = [f"confirmed {many(times, 'time')}", f"last {last}"] if times > 0 else ["not confirmed yet", last]
    if held.confidence < one.confidence:
        words.append(f"{one.confidence:g} is written, {held.confidence:g} is left")
    words += ["would be pruned"] * held.prunable + ["ready to be promoted"] * held.promotable
    return " · ".join(words)


def _problems(shown: Shelf, page: Page) -> list[str]:
    return [
        say(f"{shown.path}, line {line}: {why}; left as it is", page, style="yellow") for line, why in shown.problems
    ]
