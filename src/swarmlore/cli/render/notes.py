"""What people read about the memory file of a project and about what clients remember."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from swarmlore.cli.layout import Page, amount, clean, hang, many, one_line, say, table
from swarmlore.cli.render.memories import reports
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.notes.file_search import ScannedNote
    from swarmlore.notes.instincts import Added, Held, KeptNote, NoteProposal, Shelf
    from swarmlore.notes.notes import FoundNotes, NoteFound, WrittenNote
    from swarmlore.notes.project_memory.ingest import Ingested, Taken
    from swarmlore.notes.project_memory.memory_file import Checked, Line, NoteDraft, Planned, Shown
    from swarmlore.notes.sync import IndexedNotes
    from swarmlore.notes.write import NoteGraph
    from swarmlore.workspace.files import Change


NONE = "No notes yet. To write one: swarmlore remember --note TEXT, or a page in docs/solutions"
EXCERPT = 240


def found(told: FoundNotes, page: Page) -> str:
    """Reports on what belongs together, then hits with their score, what they come down to, and where they lie."""
    listed = "\n\n".join(_hit(note, page) for note in told.notes) or "No note fits."
    return "\n".join([*reports(told.reports, page), listed])


def _hit(note: NoteFound, page: Page) -> str:
    head = hang(f"{amount(note.score)}  ", _title(note), page, 7, "bold")
    said = note.key_insight or one_line(note.memory.text, EXCERPT)
    about = " · ".join(part for part in (clean(note.category), clean(", ".join(note.tags)), _label(note)) if part)
    lines = [say(said, page, 7)] if note.title else []
    return "\n".join([head, *lines, say(about, page, 7, "dim"), say(_where(note), page, 7, "dim")])


def _title(note: NoteFound) -> str:
    """What a note is called; one that was kept without a title is called by how it begins."""
    return note.title or one_line(note.memory.text, EXCERPT)


def _where(note: NoteFound) -> str:
    return note.path or f"memory {note.memory.handle}"


def _places(note: NoteFound, page: Page, indent: int) -> list[str]:
    """Where a note lies, and where its copies do, each on a line."""
    return [say(_where(note), page, indent, "dim"), *(say(f"also {path}", page, indent, "dim") for path in note.also)]


def _label(note: NoteFound) -> str:
    return f"confidence {note.confidence:.2g}"


def simple(notes: Iterable[NoteFound]) -> str:
    """One line each: title, category, path, parted by tabs."""
    return "\n".join("\t".join(one_line(part, 0) for part in (_title(n), n.category, _where(n))) for n in notes)


def listed(notes: Sequence[NoteFound], page: Page, asked: str = "") -> str:
    """Every note under its category; `asked` is the only category that was wanted."""
    if not notes:
        return f"No note is of category {clean(asked)}. To see all: swarmlore learnings list" if asked else NONE
    lines: list[str] = []
    category = None
    for note in notes:
        if note.category != category:
            category = note.category
            lines += [*([""] if lines else []), page.paint("bold", clean(category))]
        lines += [hang("  ", note.title, page, 4), *_places(note, page, 4)]
    return "\n".join([*lines, "", many(len(notes), "note")])


def patterns(notes: Sequence[NoteFound], page: Page) -> str:
    if not notes:
        return "No critical pattern: those are notes of high confidence in architecture-decisions or patterns."
    lines = []
    for note in notes:
        said = note.key_insight or one_line(note.memory.text, EXCERPT)
        lines += [hang(page.paint("bold", "• "), note.title, page, 2), say(said, page, 2)]
        lines += _places(note, page, 2)
    return "\n".join(lines)


def added(written: WrittenNote, page: Page) -> str:
    word = "Replaced" if written.replaced else "Added"
    lines = [f"{word}: {page.paint('bold', clean(written.id))}", say(written.path, page, 2)]
    return "\n".join([*lines, *_unfound(written, page)])


def written(told: WrittenNote, page: Page) -> str:
    """Where a note was written that somebody wanted kept."""
    name = f" as {page.paint('bold', clean(told.memory.handle))}" if told.memory is not None else ""
    lines = [f"Noted{name}:", say(told.path, page, 2)]
    lines.append(say("The file is the note: edit it, commit it; to take it back, remove it.", page, style="dim"))
    return "\n".join([*lines, *_unfound(told, page)])


def _unfound(told: WrittenNote, page: Page) -> list[str]:
    """Why a note that is written may not be found."""
    if told.memory is None:
        return [say("It is not in the memory: the same note was forgotten there before.", page, style="yellow")]
    if told.memory.status == "quarantined":
        return [say("The memory keeps it in quarantine: it reads like an order to an agent.", page, style="yellow")]
    return []


def reindexed(told: Sequence[IndexedNotes], page: Page) -> str:
    lines = []
    for one in told:
        words = [f"{one.read:,} read", f"{one.added:,} added", f"{one.updated:,} changed", f"{one.forgotten:,} gone"]
        words += [f"{one.left_out:,} left forgotten"] if one.left_out else []
        lines.append(hang(f"{one.place}: ", f"{many(one.notes, 'note')} in {one.root}", page, 2))
        lines.append(say(", ".join(words), page, 2, "dim"))
        lines += [say(f"{path}: {why}", page, 2, "yellow") for path, why in one.problems]
    return "\n".join(lines)


def stats(counts: Mapping[str, Any], page: Page) -> str:
    def told(name: str) -> str:
        return ", ".join(f"{word or 'none'} {number:,}" for word, number in counts[name].items())

    rows = [
        ("notes", f"{counts['notes']:,}"),
        ("where", told("by_place")),
        ("categories", told("by_category")),
        ("confidence", told("by_confidence")),
        ("episodes", f"{counts['episodes']:,}"),
        ("entities", f"{counts['entities']:,}"),
        ("relations", f"{counts['relations']:,}"),
        ("told by", told("by_origin")),
        ("wait for the model", f"{counts['waiting_for_model']:,}" if counts["waiting_for_model"] else ""),
        ("wait for a vector", f"{counts['waiting_for_vector']:,}" if counts["waiting_for_vector"] else ""),
        ("project", counts["project_root"]),
        ("every project", counts["learnings_root"]),
    ]
    lines = table(rows, page, 0)
    lines += [
        say(f"cannot be read: {one['path']}: {one['reason']}", page, style="yellow") for one in counts["unreadable"]
    ]
    lines += [
        say(f"{one['copy']} is another text than {one['note']}", page, style="yellow") for one in counts["copies_apart"]
    ]
    return "\n".join(lines)


def about(told: NoteGraph, page: Page) -> str:
    """What a note is about, who says so, and where that is written."""
    who = {"sidecar": "its sidecar", "model": clean(told.by), "guessed": "rules, which guess"}[told.origin]
    lines = [page.paint("bold", clean(told.title)), say(f"told by {who}", page, 2, "dim")]
    lines += [say(told.sidecar, page, 2, "dim")] if told.sidecar else []
    for entity in told.entities:
        about = f": {entity.description}" if entity.description else ""
        lines.append(hang("  ", f"{one_line(entity.name, 0)} ({one_line(entity.type, 0)}){about}", page, 4))
    for one in told.relations:
        said = f"{one_line(one.source, 0)} —{one_line(one.kind, 0)}→ {one_line(one.target, 0)}"
        lines.append(hang("  ", f"{said}, strength {one.strength:g}", page, 4))
    return "\n".join(lines)


# search-learnings


def summary(notes: Sequence[ScannedNote], page: Page) -> str:
    if not notes:
        return "No note fits."
    return "\n\n".join(_summary(note, page) for note in notes)


def _summary(note: ScannedNote, page: Page) -> str:
    head = f"• {page.paint('bold', one_line(note.title, 0))} [{one_line(note.category, 0)}]"
    return "\n".join([head, f"  Key: {one_line(note.key_insight, 0)}", f"  File: {one_line(note.path, 0)}"])


def full(notes: Sequence[ScannedNote], page: Page) -> str:
    """The same with the whole text of each note."""
    if not notes:
        return "No note fits."
    return "\n\n".join(f"{_summary(note, page)}\n\n{clean(note.text.rstrip())}" for note in notes)


ADJUST = "To adjust one: swarmlore instincts review ID --reinforce, --contradict or --set 0.7"
NO_INSTINCTS = "No instincts yet. To write one down: swarmlore instincts add RULE"


def shelf(shown: Shelf, page: Page) -> str:
    """Every instinct, surest first, each with what it is worth today."""
    lines = [_line(held, page) for held in shown.held] or [NO_INSTINCTS]
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


def added_instinct(told: Added, page: Page, made: str = "") -> str:
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


NO_CONTEXT = 'There is no .agents/MEMORY.md yet. To begin one: swarmlore context add "TEXT" --section NAME'
PERSON = "Nothing was written: a person adds it, with the same command at a terminal."
UNNAMED = "No CLAUDE.md or AGENTS.md names it, so no agent reads it: swarmlore context reference"
LISTED = 20
_MARKS = {"+": "green", "-": "red", "@": "cyan"}


def shown(told: Shown, page: Page) -> str:
    """The entries by section, and how much room is left."""
    if not told.there:
        return NO_CONTEXT
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
        lines = ["Nothing to add, it is known:", *(_where_in_file(line, page) for line in told.known)]
    elif told.outcome == "full":
        lines = [f"There is no room: {clean(told.change.path)} may have 200 lines. Nothing was added."]
        lines += _drafts(told.drafts, page)
    elif told.written:
        lines = [f"Added to {clean(told.change.path)}, {page.paint('bold', clean(told.section))}."]
    else:
        lines = [diff(told.change.diff, page), PERSON]
    if told.against and told.outcome != "known":
        lines += [page.paint("yellow", "It speaks against:"), *(_where_in_file(line, page) for line in told.against)]
    if told.redacted:
        lines.append(say(f"Taken out before it was written: {', '.join(told.redacted)}.", page, style="yellow"))
    return "\n".join(lines)


def checked(told: Checked, page: Page) -> str:
    """What a person should look at."""
    if not told.there:
        return NO_CONTEXT
    lines = [f"{page.paint('bold', clean(told.path))}: {told.lines} of {told.most} lines"]
    if told.lines > told.most:
        lines += _drafts(told.drafts, page)
    for word, pairs in (("Said twice:", told.twice), ("Only one of these can be followed:", told.against)):
        for one, other in pairs[:LISTED]:
            lines += [page.paint("yellow", word), _where_in_file(one, page), _where_in_file(other, page)]
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
        lines += ["", *(_where_in_file(entry, page) for entry in draft.entries[:LISTED])]
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


def _where_in_file(line: Line, page: Page) -> str:
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
