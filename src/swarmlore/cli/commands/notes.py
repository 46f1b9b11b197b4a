"""search-learnings: notes found by reading their files. Needs neither a store nor a model nor settings."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from swarmlore.cli.arguments import chosen, count, items
from swarmlore.cli.console import Desk
from swarmlore.cli.render import notes
from swarmlore.cli.render import notes as render_notes
from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.notes.project_memory.client_memory import CLIENTS

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Entity, Relation
    from swarmlore.lore import Lore
    from swarmlore.notes.file_search import ScannedNote
    from swarmlore.notes.notes import FoundNotes, NoteFound
    from swarmlore.notes.write import NoteGraph


PARTED = "|"
ENTITY, RELATION = "NAME|TYPE|DESCRIPTION", "SOURCE|TYPE|TARGET|STRENGTH"


def entities_arguments(parser: Any) -> None:
    parser.add_argument("--write", action="store_true", help="write it into <note>.entities.yaml, at a terminal")
    parser.add_argument(
        "--entity",
        action="append",
        metavar="A|TYPE|TEXT",
        help="add or change one there: its name, type and description; may be repeated",
    )
    parser.add_argument(
        "--relation", action="append", metavar="A|TYPE|B|N", help="the same for a relation: from, type, to, strength"
    )
    parser.add_argument("--graphrag", action="store_true", help="show it as GraphRAG reads it")


def run_entities(desk: Desk, lore: Lore) -> int:
    args = desk.args
    if len(args.words) != 1:
        raise InvalidInput("name one note", "swarmlore learnings entities docs/solutions/CATEGORY/NOTE.md")
    (ref,) = args.words
    entities, relations = tuple(map(_entity, args.entity or ())), tuple(map(_relation, args.relation or ()))
    if args.write or entities or relations:
        told = lore.notes.write_about(ref, entities, relations)
    else:
        told = lore.notes.about(ref)
    if args.graphrag:
        return _as_graphrag(desk, told)
    return desk.show(lambda: _entities_document(told), lambda page: notes.about(told, page))


def _as_graphrag(desk: Desk, told: NoteGraph) -> int:
    from swarmlore.notes.entities_sidecar import to_graphrag

    text = to_graphrag(told.as_sidecar("", "") if told.entities or told.relations else None)
    return desk.show(lambda: {"graphrag": text}, lambda _: text, whole=True)


def _entities_document(told: NoteGraph) -> dict[str, Any]:
    names = ("id", "title", "path", "origin", "by", "sidecar")
    entities = [{"name": one.name, "type": one.type, "description": one.description} for one in told.entities]
    relations = [
        {"source": r.source, "target": r.target, "type": r.kind, "description": r.description, "strength": r.strength}
        for r in told.relations
    ]
    return {**{name: getattr(told, name) for name in names}, "entities": entities, "relationships": relations}


def _parts(text: str, least: int, form: str) -> list[str]:
    parts = [" ".join(part.split()) for part in text.split(PARTED)]
    most = form.count(PARTED) + 1
    if not least <= len(parts) <= most or not all(parts[:least]):
        raise InvalidInput(f"{text!r} cannot be read", f"write it as {form!r}; what stands last may be left out")
    return parts + [""] * (most - len(parts))


def _entity(text: str) -> Entity:
    from swarmlore.domain.language.concepts import type_of
    from swarmlore.domain.records import Entity

    name, type, description = _parts(text, 1, ENTITY)
    return Entity(name, type or type_of(name), description)


def _relation(text: str) -> Relation:
    from swarmlore.domain.records import Relation

    source, kind, target, strength = _parts(text, 3, RELATION)
    try:
        number = float(strength or 5)
    except ValueError:
        number = 0.0
    if not 1 <= number <= 10:
        raise InvalidInput(f"the strength {strength!r} is none", "from 1 to 10")
    return Relation(source, target, kind, "", number)


def ingest_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--client", action="append", metavar="NAME",
                        help="whose memories: " + ", ".join(CLIENTS) + "; repeat it, or use commas")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")


def run_ingest(desk: Desk) -> int:
    clients = chosen("--client", desk.args.client, CLIENTS)
    with desk.open() as lore, desk.progress("reading memories") as progress:
        told = lore.context.ingest(clients, dry_run=desk.args.dry_run, progress=progress)
    return desk.show(lambda: plain(told), lambda page: notes.ingested(told, page))


LEARNINGS_EXAMPLES = (
    'swarmlore learnings search "tokio panic" --mode local',
    "swarmlore learnings add ./doc.md --entities ./doc.entities.yaml",
    "swarmlore learnings critical-patterns --language rust",
    "swarmlore learnings list --category debugging",
    "swarmlore learnings reindex --force",
    "swarmlore learnings entities docs/solutions/debugging-sessions/tokio.md",
)
LEARNINGS_MIXED = True
MODES = ("naive", "local", "global", "hybrid", "keyword")
LEARNINGS_FORMATS = ("rich", "json", "simple")


def learnings_arguments(parser: argparse.ArgumentParser) -> None:
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
    shape.add_argument("--format", choices=LEARNINGS_FORMATS, metavar="FORMAT", help="rich (default), json or simple")
    new = parser.add_argument_group("add and reindex")
    new.add_argument("--entities", metavar="PATH", help="add: what the note is about, as YAML")
    new.add_argument(
        "--force", action="store_true", help="add: replace the same note; reindex: read unchanged ones too"
    )
    which = parser.add_argument_group("critical-patterns")
    which.add_argument("--language", metavar="NAME", help="only for this language, as a field or a tag")
    which.add_argument("--domain", metavar="WORD", help="only with this word in the text or in a tag")
    entities_arguments(parser.add_argument_group("entities"))
    ingest_arguments(parser.add_argument_group("ingest"))  # type: ignore[arg-type]  # a group adds arguments too


def run_learnings(desk: Desk) -> int:
    verb = desk.args.verb
    _check_options(desk.args, verb)
    if desk.args.format == "json":
        desk.json = True
    if verb == "ingest":
        return run_ingest(desk)
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


SEARCH_LEARNINGS_EXAMPLES = (
    'swarmlore search-learnings "tokio panic"',
    'swarmlore search-learnings "block_on" -c debugging-sessions -t rust -f full',
    'swarmlore search-learnings "sqlx" -d ~/.learnings/documents -f json',
)
SEARCH_LEARNINGS_MIXED = True
SEARCH_LEARNINGS_FORMATS = ("full", "summary", "json")
FOLDER = os.path.join("docs", "solutions")


def search_learnings_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", metavar="QUERY", help="words to look for; any of them counts")
    parser.add_argument("-d", "--dir", metavar="PATH", help=f"the folder to search ({FOLDER})")
    parser.add_argument("-c", "--category", default="", metavar="CAT", help="only this category: a folder or a field")
    parser.add_argument(
        "-t",
        "--tag",
        action="append",
        default=[],
        metavar="TAG",
        help="only with this tag, or one that a pattern fits; repeat it",
    )
    parser.add_argument("-l", "--limit", type=count, default=10, metavar="N", help="notes at most (10)")
    parser.add_argument("-f", "--format", choices=SEARCH_LEARNINGS_FORMATS, default="summary", metavar="FORMAT",
                        help="full, summary (default) or json")  # fmt: skip


def run_search_learnings(desk: Desk) -> int:
    args = desk.args
    query = " ".join(args.query).strip()
    if not query:
        raise SwarmloreError("there is nothing to look for", 'ask something: search-learnings "QUERY"')
    folder = os.path.expanduser(args.dir) if args.dir else os.path.join(desk.folder, FOLDER)
    desk.json = desk.json or args.format == "json"
    found = _found(desk, folder, query)
    full = args.format == "full"
    return desk.show(
        lambda: [_found_document(note) for note in found],
        lambda page: notes.full(found, page) if full else notes.summary(found, page),
        whole=True,
    )


def _found(desk: Desk, folder: str, query: str) -> list[ScannedNote]:
    from swarmlore.notes.file_search import scan

    if not os.path.isdir(folder):
        desk.note(f"warning: there is no folder {folder}")
        return []
    args = desk.args
    return scan(folder, query, args.category, args.tag, args.limit)


def _found_document(note: ScannedNote) -> dict[str, Any]:
    return {
        "title": note.title,
        "category": note.category,
        "key_insight": note.key_insight,
        "tags": list(note.tags),
        "file": note.path,
        "score": note.score,
    }
