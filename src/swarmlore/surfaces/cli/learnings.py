"""learnings: notes, as the tool of that name has them: search, add, reindex, stats, critical-patterns, list; and what
they are about."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_notes
from swarmlore.surfaces.cli import ingest
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.note_entities import entities_arguments, run_entities
from swarmlore.surfaces.cli.parsing import count, items

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.notes.notes import FoundNotes, NoteFound

EXAMPLES = (
    'swarmlore learnings search "tokio panic" --mode local',
    "swarmlore learnings add ./doc.md --entities ./doc.entities.yaml",
    "swarmlore learnings critical-patterns --language rust",
    "swarmlore learnings list --category debugging",
    "swarmlore learnings reindex --force",
    "swarmlore learnings entities docs/solutions/debugging-sessions/tokio.md",
)
MIXED = True
MODES = ("naive", "local", "global", "hybrid", "keyword")
FORMATS = ("rich", "json", "simple")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=tuple(_VERBS), metavar="VERB", help="one of: " + ", ".join(_VERBS))
    parser.add_argument("words", nargs="*", metavar="WORD", help="what to look for, or the file of a note")
    look = parser.add_argument_group("search")
    look.add_argument(
        "--mode", choices=MODES, metavar="MODE", help="naive (by meaning, default), " + ", ".join(MODES[1:])
    )
    look.add_argument("--tags", action="append", metavar="TAG", help="words that count as tags; repeat, or use commas")
    look.add_argument("--limit", type=count, metavar="N", help="notes at most (10; of critical-patterns 20)")
    shape = parser.add_argument_group("search, critical-patterns and list")
    shape.add_argument("--category", metavar="TOPIC", help="search: a word more; list: the category or a part of it")
    shape.add_argument("--format", choices=FORMATS, metavar="FORMAT", help="rich (default), json or simple")
    new = parser.add_argument_group("add and reindex")
    new.add_argument("--entities", metavar="PATH", help="add: what the note is about, as YAML")
    new.add_argument(
        "--force", action="store_true", help="add: replace the same note; reindex: read unchanged ones too"
    )
    which = parser.add_argument_group("critical-patterns")
    which.add_argument("--language", metavar="NAME", help="only for this language, as a field or a tag")
    which.add_argument("--domain", metavar="WORD", help="only with this word in the text or in a tag")
    entities_arguments(parser.add_argument_group("entities"))
    ingest.ingest_arguments(parser.add_argument_group("ingest"))  # type: ignore[arg-type]  # a group adds arguments too


def run(desk: Desk) -> int:
    verb = desk.args.verb
    _check_options(desk.args, verb)
    if desk.args.format == "json":
        desk.json = True
    if verb == "ingest":
        return ingest.run_ingest(desk)
    with desk.open() as lore:
        return _VERBS[verb](desk, lore)


def _check_options(args: argparse.Namespace, verb: str) -> None:
    """An option of another verb would be silently without effect."""
    for option, verbs in _OPTIONS.items():
        if getattr(args, option) not in (None, False) and verb not in verbs:
            flag = "--" + option.replace("_", "-")
            raise InvalidInput(f"{flag} does not belong to {verb}", f"it belongs to {' and '.join(verbs)}")
    if args.words and verb not in ("search", "add", "entities"):
        raise InvalidInput(f"{verb} takes no words", f"swarmlore learnings {verb}")


def _refresh(desk: Desk, lore: Lore) -> None:
    """The notes as they are now; where that fails, those that are known answer."""
    try:
        with desk.progress("reading notes") as progress:
            lore.notes.refresh(progress)
    except SwarmloreError as error:
        desk.note(f"notes could not be taken in: {error.message}")


def _search(desk: Desk, lore: Lore) -> int:
    args = desk.args
    query = " ".join(args.words)
    mode = args.mode or MODES[0]
    if not query.strip():
        raise InvalidInput("there is nothing to look for", 'ask something: swarmlore learnings search "QUESTION"')
    _refresh(desk, lore)
    try:
        found = lore.notes.search(
            query, mode, tags=items(args.tags), category=args.category or "", limit=args.limit or 10
        )
    except SwarmloreError as error:
        if not desk.json:
            raise
        failed: dict[str, Any] = {"query": query, "mode": mode, "results": [], "error": error.message}
        desk.show(lambda: failed, lambda _: "")
        return error.exit_code
    simple = args.format == "simple"
    desk.show(
        lambda: _answer(found),
        lambda page: render_notes.simple(found.notes) if simple else render_notes.found(found, page),
        whole=simple,
    )
    if not desk.json:
        for said in found.said:
            desk.note(said)
    return 0


def _answer(found: FoundNotes) -> dict[str, Any]:
    """What programs read; `context` is the text of all reports and results, one after the other."""
    document: dict[str, Any] = {"query": found.query, "mode": found.mode}
    sides = {"reports": list(found.reports), "notes": list(found.said)}
    results = [{**_document(note), "score": note.score, "text": note.memory.text} for note in found.notes]
    heads = (f"# {note.title}\n" if note.title else "" for note in found.notes)
    texts = (head + note.memory.text for head, note in zip(heads, found.notes, strict=True))
    message = {} if results else {"message": "no note fits"}
    return {**document, "context": "\n\n".join([*found.reports, *texts]), "results": results, **message, **sides}


def _document(note: NoteFound) -> dict[str, Any]:
    names = ("id", "title", "category", "confidence", "language", "created", "key_insight", "place", "path")
    lists = {"tags": list(note.tags), "also": list(note.also)}
    return {**{name: getattr(note, name) for name in names}, **lists, "handle": note.memory.handle}


def _add(desk: Desk, lore: Lore) -> int:
    args = desk.args
    if len(args.words) != 1:
        raise InvalidInput("name one file", "swarmlore learnings add ./doc.md")
    path, entities = args.words[0], args.entities or ""
    for name in (path, entities):
        if name and not os.path.exists(name):
            raise InvalidInput(f"there is no file {name}", "check the path")
    notes = lore.notes
    known = notes.holds(notes.offer(path, entities))
    if known and not args.force and desk.can_ask:
        args.yes = False
        desk.confirm(f"{known} is there already. Replace it?")
        args.force = True
    written = notes.add(path, entities, force=args.force)
    document = {"id": written.id, "path": written.path, "replaced": written.replaced, "indexed": bool(written.memory)}
    return desk.show(lambda: document, lambda page: render_notes.added(written, page))


def _reindex(desk: Desk, lore: Lore) -> int:
    with desk.progress("reading notes") as progress:
        told = lore.notes.reindex(force=desk.args.force, progress=progress)
    names = ("root", "notes", "read", "added", "updated", "kept", "forgotten", "left_out")
    document = {
        one.place: {name: getattr(one, name) for name in names}
        | {"problems": [{"path": path, "reason": why} for path, why in one.problems]}
        for one in told
    }
    return desk.show(lambda: document, lambda page: render_notes.reindexed(told, page))


def _stats(desk: Desk, lore: Lore) -> int:
    _refresh(desk, lore)
    counts = lore.notes.stats()
    return desk.show(lambda: counts, lambda page: render_notes.stats(counts, page))


def _critical(desk: Desk, lore: Lore) -> int:
    args = desk.args
    _refresh(desk, lore)
    found = lore.notes.critical_patterns(args.language or "", args.domain or "", limit=args.limit or 20)
    simple = args.format == "simple"
    return desk.show(
        lambda: {"patterns": [{**_document(note), "text": note.memory.text} for note in found]},
        lambda page: render_notes.simple(found) if simple else render_notes.patterns(found, page),
        whole=simple,
    )


def _list(desk: Desk, lore: Lore) -> int:
    _refresh(desk, lore)
    category = desk.args.category or ""
    found = lore.notes.all(category)
    simple = desk.args.format == "simple"
    return desk.show(
        lambda: {"documents": [_document(note) for note in found]},
        lambda page: render_notes.simple(found) if simple else render_notes.listed(found, page, category),
        whole=simple,
    )


def _handed_on(desk: Desk, lore: Lore) -> int:
    raise AssertionError  # these open what they need by themselves


def _entities(desk: Desk, lore: Lore) -> int:
    _refresh(desk, lore)
    return run_entities(desk, lore)


_VERBS: dict[str, Callable[[Desk, Any], int]] = {
    "search": _search,
    "add": _add,
    "reindex": _reindex,
    "stats": _stats,
    "critical-patterns": _critical,
    "visualize": _handed_on,
    "list": _list,
    "ingest": _handed_on,
    "entities": _entities,
}
_OPTIONS = {
    **dict.fromkeys(("mode", "tags"), ("search",)),
    "limit": ("search", "critical-patterns"),
    "category": ("search", "list"),
    "format": ("search", "critical-patterns", "list"),
    **dict.fromkeys(("write", "entity", "relation", "graphrag"), ("entities",)),
    "entities": ("add",),
    "force": ("add", "reindex"),
    **dict.fromkeys(("language", "domain"), ("critical-patterns",)),
    **dict.fromkeys(("client", "dry_run"), ("ingest",)),
}
