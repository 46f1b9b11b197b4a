"""What `instincts` shows to people."""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.page import Page, clean, hang, many

if TYPE_CHECKING:
    from swarmlore.instincts import Added, Held, NoteProposal, Shelf
    from swarmlore.records import Remembered

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
        lines += [_line(held, page), "      " + page.paint("dim", _state(held))]
    lines += [
        "",
        page.paint("dim", "To adjust one: swarmlore instincts review ID --reinforce, --contradict or --set 0.7"),
    ]
    return "\n".join([*lines, *_problems(shown, page)])


def adjusted(held: Held, page: Page) -> str:
    return "\n".join([_line(held, page), "      " + page.paint("dim", _state(held))])


def added(told: Added, page: Page) -> str:
    word = "Added" if told.outcome == "added" else "Known already, so reinforced"
    lines = [f"{word}: {page.paint('bold', clean(told.held.instinct.id))}, confidence {told.held.confidence:.2f}."]
    lines += [
        hang("Speaks against ", f"{one.instinct.id} ({one.confidence:.2f} now): {one.instinct.rule}", page, 2)
        for one in told.contradicted
    ]
    if told.redacted:
        lines.append(page.paint("yellow", f"Taken out before it was written: {', '.join(map(clean, told.redacted))}."))
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
        lines += [
            "    " + page.paint("dim", clean(about)),
            *(f"    {clean(line)}" for line in note.text.splitlines()),
            "",
        ]
    hint = "Nothing is stored. To keep one as a note for every project: swarmlore instincts promote ID --yes"
    return "\n".join([*lines, page.paint("dim", hint)])


def promoted(note: NoteProposal, told: Remembered, page: Page) -> str:
    handle = page.paint("bold", clean(told.memory.handle))
    return f"Kept as note {handle}; {clean(note.instinct.id)} is marked as promoted."


def _line(held: Held, page: Page) -> str:
    one = held.instinct
    head = f"{held.confidence:.2f}  {page.paint('bold', clean(one.id))}  "
    scope = f" ({one.scope}{', ' + one.category if one.category else ''}{', promoted' if one.promoted else ''})"
    return hang(head, one.rule + scope, page, 6)


def _state(held: Held) -> str:
    one = held.instinct
    words = [f"confirmed {many(one.reinforcements, 'time')}", f"last {many(held.idle_days, 'day')} ago"]
    if held.confidence < one.confidence:
        words.append(f"{one.confidence:g} is written, {held.confidence:g} is left")
    words += ["would be pruned"] * held.prunable + ["ready to be promoted"] * held.promotable
    return " · ".join(words)


def _problems(shown: Shelf, page: Page) -> list[str]:
    return [
        page.paint("yellow", f"{clean(shown.path)}, line {line}: {clean(why)}; left as it is")
        for line, why in shown.problems
    ]
