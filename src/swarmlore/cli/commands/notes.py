"""Commands on files that people edit: `instincts`, `learnings` (notes) and `search-learnings`, which scans files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from swarmlore.cli.arguments import chosen, count, items, number, refuse_options_of_others
from swarmlore.cli.console import Console
from swarmlore.cli.render import notes as render_instincts
from swarmlore.cli.render import notes as render_notes
from swarmlore.domain.json_codec import plain
from swarmlore.domain.pages.instincts import CATEGORIES, ORIGINS, SCOPES
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.notes.project_memory.client_memory import CLIENTS

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Entity, Relation
    from swarmlore.lore import Lore
    from swarmlore.notes.file_search import ScannedNote
    from swarmlore.notes.instincts import Held, Instincts, Shelf
    from swarmlore.notes.notes import FoundNotes, NoteFound
    from swarmlore.notes.write import NoteGraph


INSTINCTS_EXAMPLES = (
    "swarmlore instincts",
    'swarmlore instincts add "Use pnpm instead of npm here" --how correction',
    "swarmlore instincts review a1b2c3 --reinforce",
    "swarmlore instincts promote",
    "swarmlore instincts prune --stale",
)
INSTINCTS_MIXED = True


def instincts_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", nargs="?", default="show", choices=tuple(_INSTINCT_VERBS), metavar="VERB",
                        help="one of: " + ", ".join(_INSTINCT_VERBS))  # fmt: skip
    parser.add_argument("words", nargs="*", metavar="WORD", help="the rule to add, or the id of an instinct")
    about = parser.add_argument_group("add")
    about.add_argument("--scope", choices=SCOPES, metavar="SCOPE", help="where it holds: " + ", ".join(SCOPES))
    about.add_argument("--category", metavar="WORD", help="its topic, such as " + ", ".join(CATEGORIES))
    about.add_argument("--source", metavar="TEXT", help="what it was learned from")
    about.add_argument("--how", choices=tuple(ORIGINS), metavar="HOW",
                       help="how it was learned, and with that how sure it is: " + ", ".join(ORIGINS))  # fmt: skip
    about.add_argument("--tag", action="append", metavar="TAG", help="repeat it, or separate tags by commas")
    adjust = parser.add_argument_group("review")
    adjust.add_argument("--reinforce", action="store_true", help="it was confirmed")
    adjust.add_argument("--contradict", action="store_true", help="something spoke against it")
    adjust.add_argument("--set", type=number, metavar="0..1", help="how sure it is, as of today")
    away = parser.add_argument_group("prune and promote")
    away.add_argument("--stale", action="store_true", help="prune also what nobody confirmed for 90 days")
    away.add_argument("--dry-run", action="store_true", help="show what would be pruned, and do nothing")
    away.add_argument("--yes", action="store_true", help="prune without being asked; keep the note of a promotion")


def run_instincts(console: Console) -> int:
    verb = console.args.verb
    refuse_options_of_others(console.args, verb, _INSTINCT_OPTIONS)
    if console.args.words and verb in ("show", "prune"):
        raise InvalidInput(f"{verb} takes no words", f"swarmlore instincts {verb}")
    with console.open() as lore:
        return _INSTINCT_VERBS[verb](console, lore.instincts)


def _show(console: Console, instincts: Instincts) -> int:
    shelf = instincts.show()
    return console.show(lambda: _shelf(shelf), lambda page: render_instincts.shelf(shelf, page))


def _add_instinct(console: Console, instincts: Instincts) -> int:
    args = console.args
    rule = " ".join(args.words)
    if not rule.strip():
        raise InvalidInput("there is no rule", 'say it: swarmlore instincts add "RULE"')
    facts = {"scope": args.scope, "category": args.category, "source": args.source, "origin": args.how}
    path = instincts.show().path
    made = "" if os.path.exists(path) else os.path.relpath(path, console.folder)
    told = instincts.add(
        rule, **{name: value for name, value in facts.items() if value is not None}, tags=items(args.tag)
    )
    document = {**plain(told), "held": _held(told.held), "contradicted": [_held(other) for other in told.contradicted]}
    return console.show(lambda: document, lambda page: render_instincts.added_instinct(told, page, made))


def _review(console: Console, instincts: Instincts) -> int:
    args = console.args
    changes: list[Callable[[str], Held]] = []
    changes += [instincts.reinforce] if args.reinforce else []
    changes += [instincts.contradict] if args.contradict else []
    changes += [lambda ref: instincts.rate(ref, args.set)] if args.set is not None else []
    if not changes and not args.words:
        shelf = instincts.show()
        return console.show(lambda: _shelf(shelf), lambda page: render_instincts.review(shelf, page))
    if not changes and len(args.words) == 1:
        found = instincts.find(args.words[0])
        return console.show(lambda: _held(found), lambda page: render_instincts.one(found, page))
    if len(changes) != 1 or len(args.words) != 1:
        hint = "swarmlore instincts review ID with one of --reinforce, --contradict, --set 0.7"
        raise InvalidInput("one instinct and one change at a time", hint)
    held = changes[0](args.words[0])
    return console.show(lambda: _held(held), lambda page: render_instincts.adjusted(held, page))


def _promote(console: Console, instincts: Instincts) -> int:
    args = console.args
    if not args.words and not args.yes:
        notes = instincts.proposals()
        return console.show(lambda: {"proposals": plain(notes)}, lambda page: render_instincts.proposed(notes, page))
    if len(args.words) != 1:
        raise InvalidInput("promote one instinct at a time", "swarmlore instincts promote ID")
    meant = instincts.proposal(args.words[0])  # raises, before anyone is asked, if it is unknown or not ready
    console.confirm(f"Keep {meant.instinct.id} as a note for every project?\n  {meant.title}\n  {meant.text}\n")
    note, told = instincts.promote(meant.instinct.id)
    document = {"note": plain(note), "memory": plain(told.memory), "outcome": told.outcome, "path": told.path}
    return console.show(lambda: document, lambda page: render_instincts.promoted(note, told, page))


def _prune(console: Console, instincts: Instincts) -> int:
    args = console.args
    gone = instincts.prune(stale=args.stale, dry_run=True)
    if gone and not args.dry_run:
        names = "".join(f"\n  {held.instinct.id}  {held.instinct.rule}" for held in gone)
        console.confirm(f"Remove these?{names}\n")
        gone = instincts.prune(stale=args.stale)
    return console.show(
        lambda: {"pruned": [_held(held) for held in gone], "dry_run": args.dry_run},
        lambda page: render_instincts.pruned(gone, page, dry_run=args.dry_run),
    )


def _shelf(shelf: Shelf) -> dict[str, Any]:
    problems = [{"line": line, "reason": why} for line, why in shelf.problems]
    return {"path": shelf.path, "instincts": [_held(held) for held in shelf.held], "problems": problems}


def _held(held: Held) -> dict[str, Any]:
    """Return an instinct as a JSON object; `confidence` is the decayed value, `written` the value in the file."""
    fields: dict[str, Any] = {**plain(held.instinct), "written": held.instinct.confidence}
    return {**fields, **{name: value for name, value in plain(held).items() if name != "instinct"}}


_INSTINCT_VERBS: dict[str, Callable[[Console, Any], int]] = {
    "show": _show,
    "add": _add_instinct,
    "review": _review,
    "promote": _promote,
    "prune": _prune,
}
_INSTINCT_OPTIONS = {
    **dict.fromkeys(("scope", "category", "source", "how", "tag"), ("add",)),
    **dict.fromkeys(("reinforce", "contradict", "set"), ("review",)),
    **dict.fromkeys(("stale", "dry_run"), ("prune",)),
    "yes": ("prune", "promote"),
}


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


def run_learnings(console: Console) -> int:
    verb = console.args.verb
    refuse_options_of_others(console.args, verb, _OPTIONS)
    if console.args.words and verb not in ("search", "add", "entities"):
        raise InvalidInput(f"{verb} takes no words", f"swarmlore learnings {verb}")
    if console.args.format == "json":
        console.json = True
    if verb == "ingest":
        return run_ingest(console)
    with console.open() as lore:
        return _VERBS[verb](console, lore)


def _refresh(console: Console, lore: Lore) -> None:
    """Index changed note files; if that fails, note it and go on with what is indexed."""
    try:
        with console.progress("reading notes") as progress:
            lore.notes.refresh(progress)
    except SwarmloreError as error:
        console.note(f"notes could not be taken in: {error.message}")


def _search(console: Console, lore: Lore) -> int:
    args = console.args
    query = " ".join(args.words)
    mode = args.mode or MODES[0]
    if not query.strip():
        raise InvalidInput("there is nothing to look for", 'ask something: swarmlore learnings search "QUESTION"')
    _refresh(console, lore)
    try:
        found = lore.notes.search(
            query, mode, tags=items(args.tags), category=args.category or "", limit=args.limit or 10
        )
    except SwarmloreError as error:
        if not console.json:
            raise
        failed: dict[str, Any] = {"query": query, "mode": mode, "results": [], "error": error.message}
        console.show(lambda: failed, lambda _: "")
        return error.exit_code
    simple = args.format == "simple"
    console.show(
        lambda: _answer(found),
        lambda page: render_notes.simple(found.notes) if simple else render_notes.found(found, page),
        whole=simple,
    )
    if not console.json:
        for remark in found.said:
            console.note(remark)
    return 0


def _answer(found: FoundNotes) -> dict[str, Any]:
    """Return search results as JSON; `context` holds the text of all reports and results, one after the other."""
    document: dict[str, Any] = {"query": found.query, "mode": found.mode}
    extras = {"reports": list(found.reports), "notes": list(found.said)}
    results = [{**_document(note), "score": note.score, "text": note.memory.text} for note in found.notes]
    heads = (f"# {note.title}\n" if note.title else "" for note in found.notes)
    texts = (head + note.memory.text for head, note in zip(heads, found.notes, strict=True))
    message = {} if results else {"message": "no note fits"}
    return {**document, "context": "\n\n".join([*found.reports, *texts]), "results": results, **message, **extras}


def _document(note: NoteFound) -> dict[str, Any]:
    names = ("id", "title", "category", "confidence", "language", "created", "key_insight", "place", "path")
    lists = {"tags": list(note.tags), "also": list(note.also)}
    return {**{name: getattr(note, name) for name in names}, **lists, "handle": note.memory.handle}


def _add(console: Console, lore: Lore) -> int:
    args = console.args
    if len(args.words) != 1:
        raise InvalidInput("name one file", "swarmlore learnings add ./doc.md")
    path, entities = args.words[0], args.entities or ""
    for name in (path, entities):
        if name and not os.path.exists(name):
            raise InvalidInput(f"there is no file {name}", "check the path")
    notes = lore.notes
    known = notes.holds(notes.offer(path, entities))
    if known and not args.force and console.can_ask:
        args.yes = False
        console.confirm(f"{known} is there already. Replace it?")
        args.force = True
    written = notes.add(path, entities, force=args.force)
    document = {"id": written.id, "path": written.path, "replaced": written.replaced, "indexed": bool(written.memory)}
    return console.show(lambda: document, lambda page: render_notes.added(written, page))


def _reindex(console: Console, lore: Lore) -> int:
    with console.progress("reading notes") as progress:
        results = lore.notes.reindex(force=console.args.force, progress=progress)
    names = ("root", "notes", "read", "added", "updated", "kept", "forgotten", "left_out")
    document = {
        folder.place: {name: getattr(folder, name) for name in names}
        | {"problems": [{"path": path, "reason": why} for path, why in folder.problems]}
        for folder in results
    }
    return console.show(lambda: document, lambda page: render_notes.reindexed(results, page))


def _stats(console: Console, lore: Lore) -> int:
    _refresh(console, lore)
    counts = lore.notes.stats()
    return console.show(lambda: counts, lambda page: render_notes.stats(counts, page))


def _critical(console: Console, lore: Lore) -> int:
    args = console.args
    _refresh(console, lore)
    found = lore.notes.critical_patterns(args.language or "", args.domain or "", limit=args.limit or 20)
    simple = args.format == "simple"
    return console.show(
        lambda: {"patterns": [{**_document(note), "text": note.memory.text} for note in found]},
        lambda page: render_notes.simple(found) if simple else render_notes.patterns(found, page),
        whole=simple,
    )


def _list(console: Console, lore: Lore) -> int:
    _refresh(console, lore)
    category = console.args.category or ""
    found = lore.notes.all(category)
    simple = console.args.format == "simple"
    return console.show(
        lambda: {"documents": [_document(note) for note in found]},
        lambda page: render_notes.simple(found) if simple else render_notes.listed(found, page, category),
        whole=simple,
    )


def _never_called(console: Console, lore: Lore) -> int:
    raise AssertionError  # `visualize` is an alias, and `ingest` opens the store itself


# learnings entities

_SEPARATOR = "|"
_ENTITY_FORM, _RELATION_FORM = "NAME|TYPE|DESCRIPTION", "SOURCE|TYPE|TARGET|STRENGTH"


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


def _entities(console: Console, lore: Lore) -> int:
    """Show or write the entities and relations of a note."""
    _refresh(console, lore)
    args = console.args
    if len(args.words) != 1:
        raise InvalidInput("name one note", "swarmlore learnings entities docs/solutions/CATEGORY/NOTE.md")
    (ref,) = args.words
    entities, relations = tuple(map(_entity, args.entity or ())), tuple(map(_relation, args.relation or ()))
    if args.write or entities or relations:
        graph = lore.notes.write_about(ref, entities, relations)
    else:
        graph = lore.notes.about(ref)
    if args.graphrag:
        return _as_graphrag(console, graph)
    return console.show(lambda: _entities_document(graph), lambda page: render_notes.about(graph, page))


def _as_graphrag(console: Console, graph: NoteGraph) -> int:
    from swarmlore.notes.entities_sidecar import to_graphrag

    text = to_graphrag(graph.as_sidecar("", "") if graph.entities or graph.relations else None)
    return console.show(lambda: {"graphrag": text}, lambda _: text, whole=True)


def _entities_document(graph: NoteGraph) -> dict[str, Any]:
    names = ("id", "title", "path", "origin", "by", "sidecar")
    entities = [{"name": e.name, "type": e.type, "description": e.description} for e in graph.entities]
    relations = [
        {"source": r.source, "target": r.target, "type": r.kind, "description": r.description, "strength": r.strength}
        for r in graph.relations
    ]
    return {**{name: getattr(graph, name) for name in names}, "entities": entities, "relationships": relations}


def _parts(text: str, least: int, form: str) -> list[str]:
    """Split the value of --entity or --relation by its form; missing parts after the first `least` are empty."""
    parts = [" ".join(part.split()) for part in text.split(_SEPARATOR)]
    most = form.count(_SEPARATOR) + 1
    if not least <= len(parts) <= most or not all(parts[:least]):
        raise InvalidInput(f"{text!r} cannot be read", f"write it as {form!r}; what stands last may be left out")
    return parts + [""] * (most - len(parts))


def _entity(text: str) -> Entity:
    from swarmlore.domain.language.concepts import type_of
    from swarmlore.domain.records import Entity

    name, type, description = _parts(text, 1, _ENTITY_FORM)
    return Entity(name, type or type_of(name), description)


def _relation(text: str) -> Relation:
    from swarmlore.domain.records import Relation

    source, kind, target, strength = _parts(text, 3, _RELATION_FORM)
    try:
        number = float(strength or 5)
    except ValueError:
        number = 0.0
    if not 1 <= number <= 10:
        raise InvalidInput(f"the strength {strength!r} is none", "from 1 to 10")
    return Relation(source, target, kind, "", number)


# learnings ingest


def ingest_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--client", action="append", metavar="NAME",
                        help="whose memories: " + ", ".join(CLIENTS) + "; repeat it, or use commas")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")


def run_ingest(console: Console) -> int:
    clients = chosen("--client", console.args.client, CLIENTS)
    with console.open() as lore, console.progress("reading memories") as progress:
        result = lore.context.ingest(clients, dry_run=console.args.dry_run, progress=progress)
    return console.show(lambda: plain(result), lambda page: render_notes.ingested(result, page))


_VERBS: dict[str, Callable[[Console, Any], int]] = {
    "search": _search,
    "add": _add,
    "reindex": _reindex,
    "stats": _stats,
    "critical-patterns": _critical,
    "visualize": _never_called,
    "list": _list,
    "ingest": _never_called,
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


# search-learnings

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


def run_search_learnings(console: Console) -> int:
    args = console.args
    query = " ".join(args.query).strip()
    if not query:
        raise SwarmloreError("there is nothing to look for", 'ask something: search-learnings "QUERY"')
    folder = os.path.expanduser(args.dir) if args.dir else os.path.join(console.folder, FOLDER)
    console.json = console.json or args.format == "json"
    found = _found(console, folder, query)
    full = args.format == "full"
    return console.show(
        lambda: [_found_document(note) for note in found],
        lambda page: render_notes.full(found, page) if full else render_notes.summary(found, page),
        whole=True,
    )


def _found(console: Console, folder: str, query: str) -> list[ScannedNote]:
    from swarmlore.notes.file_search import scan

    if not os.path.isdir(folder):
        console.note(f"warning: there is no folder {folder}")
        return []
    args = console.args
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
