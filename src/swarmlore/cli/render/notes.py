"""Text of `learnings`, `search-learnings`, `remember --note`, `instincts` and `context`."""

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


# learnings and remember --note

NONE = "No notes yet. To write one: swarmlore remember --note TEXT, or a page in docs/solutions"
EXCERPT = 240


def found(result: FoundNotes, page: Page) -> str:
    """Render community reports, then notes with score, key insight and path."""
    listed = "\n\n".join(_hit(note, page) for note in result.notes) or "No note fits."
    return "\n".join([*reports(result.reports, page), listed])


def _hit(note: NoteFound, page: Page) -> str:
    head = hang(f"{amount(note.score)}  ", _title(note), page, 7, "bold")
    insight = note.key_insight or one_line(note.memory.text, EXCERPT)
    about = " · ".join(part for part in (clean(note.category), clean(", ".join(note.tags)), _label(note)) if part)
    lines = [say(insight, page, 7)] if note.title else []
    return "\n".join([head, *lines, say(about, page, 7, "dim"), say(_where(note), page, 7, "dim")])


def _title(note: NoteFound) -> str:
    """Return the title of a note, or its beginning if it has none."""
    return note.title or one_line(note.memory.text, EXCERPT)


def _where(note: NoteFound) -> str:
    return note.path or f"memory {note.memory.handle}"


def _places(note: NoteFound, page: Page, indent: int) -> list[str]:
    """Render the path of a note and of each copy, one per line."""
    return [say(_where(note), page, indent, "dim"), *(say(f"also {path}", page, indent, "dim") for path in note.also)]


def _label(note: NoteFound) -> str:
    return f"confidence {note.confidence:.2g}"


def simple(notes: Iterable[NoteFound]) -> str:
    """Render a line per note with title, category and path, separated by tabs."""
    return "\n".join("\t".join(one_line(part, 0) for part in (_title(n), n.category, _where(n))) for n in notes)


def listed(notes: Sequence[NoteFound], page: Page, asked: str = "") -> str:
    """Render all notes under their categories; `asked` is the category of the filter, if any."""
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
    """Render critical patterns with key insight and path."""
    if not notes:
        return "No critical pattern: those are notes of high confidence in architecture-decisions or patterns."
    lines = []
    for note in notes:
        insight = note.key_insight or one_line(note.memory.text, EXCERPT)
        lines += [hang(page.paint("bold", "• "), note.title, page, 2), say(insight, page, 2)]
        lines += _places(note, page, 2)
    return "\n".join(lines)


def added(written: WrittenNote, page: Page) -> str:
    """Render a note file that `learnings add` copied."""
    word = "Replaced" if written.replaced else "Added"
    lines = [f"{word}: {page.paint('bold', clean(written.id))}", say(written.path, page, 2)]
    return "\n".join([*lines, *_unfound(written, page)])


def written(note: WrittenNote, page: Page) -> str:
    """Render the file that `remember --note` wrote."""
    name = f" as {page.paint('bold', clean(note.memory.handle))}" if note.memory is not None else ""
    lines = [f"Noted{name}:", say(note.path, page, 2)]
    lines.append(say("The file is the note: edit it, commit it; to take it back, remove it.", page, style="dim"))
    return "\n".join([*lines, *_unfound(note, page)])


def _unfound(note: WrittenNote, page: Page) -> list[str]:
    """Explain why a note that was written is not in the memory or not shown."""
    if note.memory is None:
        return [say("It is not in the memory: the same note was forgotten there before.", page, style="yellow")]
    if note.memory.status == "quarantined":
        return [say("The memory keeps it in quarantine: it reads like an order to an agent.", page, style="yellow")]
    return []


def reindexed(folders: Sequence[IndexedNotes], page: Page) -> str:
    """Render what reindexing changed in each folder of notes."""
    lines = []
    for in_folder in folders:
        words = [f"{in_folder.read:,} read", f"{in_folder.added:,} added"]
        words += [f"{in_folder.updated:,} changed", f"{in_folder.forgotten:,} gone"]
        words += [f"{in_folder.left_out:,} left forgotten"] if in_folder.left_out else []
        lines.append(hang(f"{in_folder.place}: ", f"{many(in_folder.notes, 'note')} in {in_folder.root}", page, 2))
        lines.append(say(", ".join(words), page, 2, "dim"))
        lines += [say(f"{path}: {why}", page, 2, "yellow") for path, why in in_folder.problems]
    return "\n".join(lines)


def stats(counts: Mapping[str, Any], page: Page) -> str:
    """Render the counts of notes, entities and relations, and the problems of note files."""

    def listed(name: str) -> str:
        return ", ".join(f"{word or 'none'} {number:,}" for word, number in counts[name].items())

    rows = [
        ("notes", f"{counts['notes']:,}"),
        ("where", listed("by_place")),
        ("categories", listed("by_category")),
        ("confidence", listed("by_confidence")),
        ("episodes", f"{counts['episodes']:,}"),
        ("entities", f"{counts['entities']:,}"),
        ("relations", f"{counts['relations']:,}"),
        ("told by", listed("by_origin")),
        ("wait for the model", f"{counts['waiting_for_model']:,}" if counts["waiting_for_model"] else ""),
        ("wait for a vector", f"{counts['waiting_for_vector']:,}" if counts["waiting_for_vector"] else ""),
        ("project", counts["project_root"]),
        ("every project", counts["learnings_root"]),
    ]
    lines = table(rows, page, 0)
    lines += [
        say(f"cannot be read: {file['path']}: {file['reason']}", page, style="yellow") for file in counts["unreadable"]
    ]
    lines += [
        say(f"{one['copy']} is another text than {one['note']}", page, style="yellow") for one in counts["copies_apart"]
    ]
    return "\n".join(lines)


def about(graph: NoteGraph, page: Page) -> str:
    """Render the entities and relations of a note, and where they come from."""
    who = {"sidecar": "its sidecar", "model": clean(graph.by), "guessed": "rules, which guess"}[graph.origin]
    lines = [page.paint("bold", clean(graph.title)), say(f"told by {who}", page, 2, "dim")]
    lines += [say(graph.sidecar, page, 2, "dim")] if graph.sidecar else []
    for entity in graph.entities:
        about = f": {entity.description}" if entity.description else ""
        lines.append(hang("  ", f"{one_line(entity.name, 0)} ({one_line(entity.type, 0)}){about}", page, 4))
    for relation in graph.relations:
        names = [one_line(name, 0) for name in (relation.source, relation.kind, relation.target)]
        lines.append(hang("  ", f"{names[0]} —{names[1]}→ {names[2]}, strength {relation.strength:g}", page, 4))
    return "\n".join(lines)


# search-learnings


def summary(notes: Sequence[ScannedNote], page: Page) -> str:
    """Render scanned notes with title, key insight and path."""
    if not notes:
        return "No note fits."
    return "\n\n".join(_summary(note, page) for note in notes)


def _summary(note: ScannedNote, page: Page) -> str:
    head = f"• {page.paint('bold', one_line(note.title, 0))} [{one_line(note.category, 0)}]"
    return "\n".join([head, f"  Key: {one_line(note.key_insight, 0)}", f"  File: {one_line(note.path, 0)}"])


def full(notes: Sequence[ScannedNote], page: Page) -> str:
    """Render scanned notes like `summary`, each with its full text."""
    if not notes:
        return "No note fits."
    return "\n\n".join(f"{_summary(note, page)}\n\n{clean(note.text.rstrip())}" for note in notes)


# instincts

ADJUST = "To adjust one: swarmlore instincts review ID --reinforce, --contradict or --set 0.7"
NO_INSTINCTS = "No instincts yet. To write one down: swarmlore instincts add RULE"


def shelf(shown: Shelf, page: Page) -> str:
    """Render all instincts with their decayed confidence, highest first."""
    lines = [_line(held, page) for held in shown.held] or [NO_INSTINCTS]
    return "\n".join([*lines, *_problems(shown, page)])


def review(shown: Shelf, page: Page) -> str:
    """Render all instincts with their state: decayed, would be pruned, ready to be promoted."""
    if not shown.held:
        return shelf(shown, page)
    lines = []
    for held in shown.held:
        lines += [_line(held, page), say(_state(held), page, 6, "dim")]
    lines += ["", say(ADJUST, page, style="dim")]
    return "\n".join([*lines, *_problems(shown, page)])


def adjusted(held: Held, page: Page) -> str:
    """Render one instinct with its state."""
    return "\n".join([_line(held, page), say(_state(held), page, 6, "dim")])


def one(held: Held, page: Page) -> str:
    """Render one instinct with its state and how to adjust it."""
    return "\n".join([adjusted(held, page), say(ADJUST, page, style="dim")])


def added_instinct(result: Added, page: Page, made: str = "") -> str:
    """Render the result of adding a rule; `made` is the file if it was created for it."""
    word = "Added" if result.outcome == "added" else "Known already, so reinforced"
    lines = [f"{word}: {page.paint('bold', clean(result.held.instinct.id))}, confidence {result.held.confidence:.2f}."]
    lines += [
        hang("Speaks against ", f"{other.instinct.id} ({other.confidence:.2f} now): {other.instinct.rule}", page, 2)
        for other in result.contradicted
    ]
    if made:
        lines.append(f"It stands in {clean(made)}, which is new: commit it, so that others have it too.")
    if result.redacted:
        lines.append(say(f"Taken out before it was written: {', '.join(result.redacted)}.", page, style="yellow"))
    return "\n".join(lines)


def pruned(gone: Sequence[Held], page: Page, *, dry_run: bool) -> str:
    """Render the instincts that were or would be removed."""
    if not gone:
        return "Nothing to prune."
    head = f"{'Would remove' if dry_run else 'Removed'} {many(len(gone), 'instinct')}:"
    return "\n".join([head, *(_line(held, page) for held in gone)])


def proposed(notes: Sequence[NoteProposal], page: Page) -> str:
    """Render the instincts that are ready to become notes."""
    if not notes:
        return "No instinct is ready: a universal one with a confidence of 0.8 or more becomes a note."
    lines = []
    for note in notes:
        lines.append(hang(page.paint("bold", f"{clean(note.instinct.id)}  "), note.title, page, 2))
        about = f"{note.category} · {', '.join(note.tags)} · confidence {note.confidence:.2f}"
        lines += [say(about, page, 4, "dim"), say(note.text, page, 4), ""]
    hint = "Nothing is stored. To keep one as a note for every project: swarmlore instincts promote ID --yes"
    return "\n".join([*lines, say(hint, page, style="dim")])


def promoted(note: NoteProposal, result: KeptNote, page: Page) -> str:
    where = page.paint("bold", clean(result.path))
    word = "Kept as" if result.outcome == "added" else "Known as"
    return f"{word} {where}; {clean(note.instinct.id)} is marked as promoted."


def _line(held: Held, page: Page) -> str:
    instinct = held.instinct
    head = f"{held.confidence:.2f}  {page.paint('bold', clean(instinct.id))}  "
    category = f", {instinct.category}" if instinct.category else ""
    about = f" ({instinct.scope}{category}{', promoted' if instinct.promoted else ''})"
    return hang(head, instinct.rule + about, page, 6)


def _state(held: Held) -> str:
    one = held.instinct
    last = f"{many(held.idle_days, 'day')} ago" if held.idle_days else "today"
    # The file counts the first statement of a rule too, which is no confirmation.
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


# context

NO_CONTEXT = 'There is no .agents/MEMORY.md yet. To begin one: swarmlore context add "TEXT" --section NAME'
PERSON = "Nothing was written: a person adds it, with the same command at a terminal."
UNNAMED = "No CLAUDE.md or AGENTS.md names it, so no agent reads it: swarmlore context reference"
LISTED = 20
_MARKS = {"+": "green", "-": "red", "@": "cyan"}


def shown(result: Shown, page: Page) -> str:
    """Render the entries of the memory file by section, and how many of its lines are used."""
    if not result.there:
        return NO_CONTEXT
    lines = [f"{page.paint('bold', clean(result.path))}: {result.lines} of {result.most} lines"]
    section = None
    for entry in result.entries:
        if entry.section != section:
            section = entry.section
            lines += ["", page.paint("bold", clean(section))]
        lines.append(hang(f"{entry.line:>5}  ", entry.text, page, 7))
    return "\n".join([*lines, *_unnamed(result.named_in, page)])


def _unnamed(named_in: Sequence[str], page: Page) -> list[str]:
    return [] if named_in else ["", say(UNNAMED, page, style="yellow")]


def planned(result: Planned, page: Page) -> str:
    """Render the result of adding an entry, or its diff if it was not written."""
    lines: list[str] = []
    if result.outcome == "known":
        lines = ["Nothing to add, it is known:", *(_where_in_file(line, page) for line in result.known)]
    elif result.outcome == "full":
        lines = [f"There is no room: {clean(result.change.path)} may have 200 lines. Nothing was added."]
        lines += _drafts(result.drafts, page)
    elif result.written:
        lines = [f"Added to {clean(result.change.path)}, {page.paint('bold', clean(result.section))}."]
    else:
        lines = [diff(result.change.diff, page), PERSON]
    if result.against and result.outcome != "known":
        lines += [page.paint("yellow", "It speaks against:"), *(_where_in_file(line, page) for line in result.against)]
    if result.redacted:
        lines.append(say(f"Taken out before it was written: {', '.join(result.redacted)}.", page, style="yellow"))
    return "\n".join(lines)


def checked(result: Checked, page: Page) -> str:
    """Render the problems of the memory file: too long, said twice, contradictions, secrets."""
    if not result.there:
        return NO_CONTEXT
    lines = [f"{page.paint('bold', clean(result.path))}: {result.lines} of {result.most} lines"]
    if result.lines > result.most:
        lines += _drafts(result.drafts, page)
    for word, pairs in (("Said twice:", result.twice), ("Only one of these can be followed:", result.against)):
        for first, other in pairs[:LISTED]:
            lines += [page.paint("yellow", word), _where_in_file(first, page), _where_in_file(other, page)]
    if result.secrets:
        lines.append(say(f"It holds secrets: {', '.join(result.secrets)}. Take them out.", page, style="red"))
    if result.sound:
        lines.append("Nothing to mend.")
    return "\n".join([*lines, *_unnamed(result.named_in, page)])


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
    """Render the lines that name the memory file in CLAUDE.md or AGENTS.md."""
    if not changes:
        return "It is named already."
    if written:
        return "Added to " + ", ".join(clean(change.path) for change in changes) + "."
    return "\n".join([*(diff(change.diff, page) for change in changes), PERSON])


def diff(text: str, page: Page) -> str:
    """Colour the lines of a diff."""
    lines = clean(text).rstrip("\n").split("\n")
    return "\n".join(page.paint(_MARKS[line[:1]], line) if line[:1] in _MARKS else line for line in lines)


def _where_in_file(line: Line, page: Page) -> str:
    place = f"{line.path}:{line.line}" if line.line else line.path
    return hang(f"  {page.paint('bold', clean(place))}  ", line.text, page, 4)


# learnings ingest


def ingested(result: Ingested, page: Page) -> str:
    """Render the result of `learnings ingest` by outcome."""
    if not result.files:
        return "No client remembers anything here."
    words = {
        "added": "would be added" if result.dry_run else "added",
        "updated": "would be updated" if result.dry_run else "updated",
        "known": "known",
        "left": "left as they are",
        "skipped": "with nothing to learn",
        "refused": "refused",
    }
    counts = [f"{result.count(name)} {word}" for name, word in words.items() if result.count(name)]
    lines = [f"{many(len(result.files), 'memory file')}: {', '.join(counts)}"]
    if result.dry_run or result.count("added") + result.count("updated"):
        lines.append(f"Notes in {page.paint('bold', clean(result.folder))}/documents/learnings")
    some = [file for file in result.files if file.outcome not in ("known", "skipped")]
    lines += [_taken(file, page) for file in some[:LISTED]]
    if len(some) > LISTED:
        lines.append(f"  and {len(some) - LISTED} more; --json lists all")
    if redacted := sum(file.redacted for file in result.files if file.outcome in ("added", "updated")):
        lines.append(page.paint("yellow", f"  secrets were redacted in {many(redacted, 'file')}"))
    return "\n".join(lines)


def _taken(file: Taken, page: Page) -> str:
    head = f"  {page.paint('bold', file.outcome)}  "
    about = f"{file.title} ({file.learning_type}, {file.project})" if file.title else file.source
    return hang(head, f"{about}{': ' + file.why if file.why else ''}", page, 4)
