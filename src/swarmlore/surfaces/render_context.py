"""What people read about the memory file of a project and about what clients remember."""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.page import Page, clean, hang, many, say

if TYPE_CHECKING:
    from swarmlore.notes.project_memory.ingest import Ingested, Taken
    from swarmlore.notes.project_memory.memory_file import Checked, Line, NoteDraft, Planned, Shown
    from swarmlore.workspace.files import Change

NONE = 'There is no .agents/MEMORY.md yet. To begin one: swarmlore context add "TEXT" --section NAME'
PERSON = "Nothing was written: a person adds it, with the same command at a terminal."
UNNAMED = "No CLAUDE.md or AGENTS.md names it, so no agent reads it: swarmlore context reference"
LISTED = 20
_MARKS = {"+": "green", "-": "red", "@": "cyan"}


def shown(told: Shown, page: Page) -> str:
    """The entries by section, and how much room is left."""
    if not told.there:
        return NONE
    lines = [f"{page.paint('bold', clean(told.path))}: {told.lines} of {told.most} lines"]
    section = None
    for entry in told.entries:
        if entry.section != section:
            section = entry.section
            lines += ["", page.paint("bold", clean(section))]
        lines.append(hang(f"{entry.line:>5}  ", entry.text, page, 7))
    return "\n".join([*lines, *_unnamed(told.named_in, page)])


def _unnamed(named_in: Sequence[str], page: Page) -> list[str]:
    return [] if named_in else ["", say(UNNAMED, page, style="yellow")]


def planned(told: Planned, page: Page) -> str:
    """What became of an entry, or would."""
    lines: list[str] = []
    if told.outcome == "known":
        lines = ["Nothing to add, it is known:", *(_where(line, page) for line in told.known)]
    elif told.outcome == "full":
        lines = [f"There is no room: {clean(told.change.path)} may have 200 lines. Nothing was added."]
        lines += _drafts(told.drafts, page)
    elif told.written:
        lines = [f"Added to {clean(told.change.path)}, {page.paint('bold', clean(told.section))}."]
    else:
        lines = [diff(told.change.diff, page), PERSON]
    if told.against and told.outcome != "known":
        lines += [page.paint("yellow", "It speaks against:"), *(_where(line, page) for line in told.against)]
    if told.redacted:
        lines.append(say(f"Taken out before it was written: {', '.join(told.redacted)}.", page, style="yellow"))
    return "\n".join(lines)


def checked(told: Checked, page: Page) -> str:
    """What a person should look at."""
    if not told.there:
        return NONE
    lines = [f"{page.paint('bold', clean(told.path))}: {told.lines} of {told.most} lines"]
    if told.lines > told.most:
        lines += _drafts(told.drafts, page)
    for word, pairs in (("Said twice:", told.twice), ("Only one of these can be followed:", told.against)):
        for one, other in pairs[:LISTED]:
            lines += [page.paint("yellow", word), _where(one, page), _where(other, page)]
    if told.secrets:
        lines.append(say(f"It holds secrets: {', '.join(told.secrets)}. Take them out.", page, style="red"))
    if told.sound:
        lines.append("Nothing to mend.")
    return "\n".join([*lines, *_unnamed(told.named_in, page)])


def _drafts(drafts: Sequence[NoteDraft], page: Page) -> list[str]:
    if not drafts:
        return []
    lines = ["These entries could become notes. Write one, then put the line below it in the place of its entries:"]
    for draft in drafts:
        lines += ["", *(_where(entry, page) for entry in draft.entries[:LISTED])]
        lines += [f"  and {len(draft.entries) - LISTED} more"] if len(draft.entries) > LISTED else []
        lines += [diff(draft.change.diff, page), say(draft.pointer, page, 2)]
    return lines


def reference(changes: Sequence[Change], page: Page, *, written: bool) -> str:
    if not changes:
        return "It is named already."
    if written:
        return "Added to " + ", ".join(clean(change.path) for change in changes) + "."
    return "\n".join([*(diff(change.diff, page) for change in changes), PERSON])


def diff(text: str, page: Page) -> str:
    """A difference, with its marks in colour."""
    lines = clean(text).rstrip("\n").split("\n")
    return "\n".join(page.paint(_MARKS[line[:1]], line) if line[:1] in _MARKS else line for line in lines)


def _where(line: Line, page: Page) -> str:
    place = f"{line.path}:{line.line}" if line.line else line.path
    return hang(f"  {page.paint('bold', clean(place))}  ", line.text, page, 4)


# What clients remember


def ingested(told: Ingested, page: Page) -> str:
    """What became of the files, by outcome."""
    if not told.files:
        return "No client remembers anything here."
    words = {
        "added": "would be added" if told.dry_run else "added",
        "updated": "would be updated" if told.dry_run else "updated",
        "known": "known",
        "left": "left as they are",
        "skipped": "with nothing to learn",
        "refused": "refused",
    }
    counts = [f"{told.count(name)} {word}" for name, word in words.items() if told.count(name)]
    lines = [f"{many(len(told.files), 'memory file')}: {', '.join(counts)}"]
    if told.dry_run or told.count("added") + told.count("updated"):
        lines.append(f"Notes in {page.paint('bold', clean(told.folder))}/documents/learnings")
    some = [one for one in told.files if one.outcome not in ("known", "skipped")]
    lines += [_taken(one, page) for one in some[:LISTED]]
    if len(some) > LISTED:
        lines.append(f"  and {len(some) - LISTED} more; --json lists all")
    if redacted := sum(one.redacted for one in told.files if one.outcome in ("added", "updated")):
        lines.append(page.paint("yellow", f"  secrets were redacted in {many(redacted, 'file')}"))
    return "\n".join(lines)


def _taken(one: Taken, page: Page) -> str:
    head = f"  {page.paint('bold', one.outcome)}  "
    about = f"{one.title} ({one.learning_type}, {one.project})" if one.title else one.source
    return hang(head, f"{about}{': ' + one.why if one.why else ''}", page, 4)
