"""Command `remember`: store a lesson, one lesson per line, or a note."""

from __future__ import annotations

import argparse

from swarmlore.cli.arguments import duration, items, number
from swarmlore.cli.console import Console
from swarmlore.cli.render import memories, notes
from swarmlore.cli.terminal import MAX_LINES_BYTES, given_text
from swarmlore.domain.json_codec import plain
from swarmlore.domain.records import KINDS, PROFILES, TIERS, Draft, Remembered
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore


REMEMBER_EXAMPLES = (
    'swarmlore remember "Snapshots are made by make snap-record" --tag testing',
    'swarmlore remember "Tokens are refreshed in time" --cite src/auth.py:40-52',
    "git log -1 --format=%s | swarmlore remember - --kind decision",
    "swarmlore remember --file lessons.txt --each-line --category tooling",
)

NO_PAGE = "kept in the memory, without a page: pages are written by a person at a terminal, and are never private"
_NOT_IN_NOTES = ("kind", "entity", "cite", "scope", "ttl", "key")


def remember_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="*", metavar="TEXT", help="what to remember; - reads standard input")
    parser.add_argument("--file", metavar="PATH", help="read the text from a file")
    parser.add_argument("--each-line", action="store_true", help="one memory per line that is not empty")
    parser.add_argument(
        "--note", action="store_true", help="keep a text whole; at a terminal as a page in docs/solutions"
    )
    about = parser.add_argument_group("about it")
    about.add_argument("--kind", choices=KINDS, metavar="KIND", help="what it is: " + ", ".join(KINDS))
    about.add_argument("--category", metavar="TOPIC", help="its topic, such as testing, tooling or security")
    about.add_argument("--tag", action="append", metavar="TAG", help="repeat it, or separate tags by commas")
    about.add_argument("--entity", action="append", metavar="TYPE:SLUG", help="what it is about, as feature:login")
    about.add_argument("--title", default="", metavar="TEXT", help="a headline")
    about.add_argument("--situation", default="", metavar="TEXT", help="the prompt or error in which it was needed")
    about.add_argument("--cite", action="append", metavar="PATH[:A-B]", help="code it speaks of; repeat for more")
    about.add_argument("--confidence", type=number, metavar="0..1", help="how sure this is")
    where = parser.add_argument_group("where and how long")
    where.add_argument("--tier", choices=TIERS, metavar="TIER", help="who sees it: agent, swarm (default) or hive")
    where.add_argument("--scope", metavar="SCOPE", help="where it applies: global (default) or stack:NAME")
    where.add_argument("--ttl", type=duration, metavar="TIME", help="forget it after 30m, 12h, 7d, 2w or seconds")
    where.add_argument("--key", default="", metavar="KEY", help="replaces what was remembered under the same key")
    where.add_argument("--session", default="", metavar="ID", help="the session in which it was learned")
    where.add_argument("--profile", choices=PROFILES, metavar="NAME", help="whose rules apply: " + ", ".join(PROFILES))
    where.add_argument("--defer", action="store_true", help="store now, compute the vector later")


def run_remember(console: Console) -> int:
    if console.args.each_line:
        return _remember_lines(console)
    text = given_text(console.args.text, console.args.file)
    if not text.strip():
        raise InvalidInput("there is no text to remember", 'say it: swarmlore remember "TEXT"')
    with console.open() as lore:
        if console.args.note and lore.caller.role == "person" and console.args.tier != "agent":
            return _write_note(console, lore, text)
        result = lore.remember(text, defer=console.args.defer, session=console.args.session, **_facts(console.args))
        former = _replaced(lore, result)
        if console.args.note and not console.json:
            console.note(NO_PAGE)
        return console.show(
            lambda: {**plain(result), "replaced": [{"handle": handle, "text": text} for handle, text in former]},
            lambda page: memories.remembered(result, former, page),
        )


def _write_note(console: Console, lore: Lore, text: str) -> int:
    """Write the text as a note file, which a person can review and commit."""
    args = console.args
    for option in _NOT_IN_NOTES:
        if getattr(args, option):
            raise InvalidInput(f"--{option} does not belong to a note", "leave it out, or leave out --note")
    told = lore.notes.write(
        text,
        everywhere=args.tier == "hive",
        title=args.title,
        category=args.category or "",
        tags=items(args.tag),
        confidence=args.confidence,
        symptoms=(args.situation,) if args.situation else (),
    )
    if not args.defer:
        lore.catch_up()
    memory = plain(told.memory) if told.memory is not None else None
    return console.show(
        lambda: {"path": told.path, "id": told.id, "memory": memory},
        lambda page: notes.written(told, page),
    )


def _remember_lines(console: Console) -> int:
    lines = given_text(console.args.text, console.args.file, MAX_LINES_BYTES).splitlines()
    numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
    if not numbers:
        raise InvalidInput("there is no line to remember", "give lines through - or --file PATH")
    facts = _facts(console.args)
    drafts = (Draft(text=lines[number - 1], **facts) for number in numbers)
    with console.open() as lore, console.progress("remembering") as progress:
        try:
            told = lore.remember_many(drafts, lambda done, _: progress(done, len(numbers)))
        except KeyboardInterrupt:
            console.note("stopped; what was stored until now stays. To take it back: swarmlore undo")
            raise
        former = {place: _before(lore, id) for place, id in told.replaced}
    refused = [(numbers[place - 1], why) for place, why in told.rejected]
    replaced = [(numbers[place - 1], *before) for place, before in former.items() if before]
    return console.show(
        lambda: {
            "stored": told.stored,
            "outcomes": told.outcomes,
            "rejected": [{"line": line, "reason": why} for line, why in refused],
            "replaced": [{"line": line, "handle": handle, "text": text} for line, handle, text in replaced],
            "operation": told.operation,
        },
        lambda page: memories.remembered_lines(told.outcomes, refused, replaced, page),
    )


def _facts(args: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of a draft that were given on the command line."""
    fields = {
        "kind": args.kind,
        "category": args.category,
        "tags": items(args.tag),
        "entities": items(args.entity),
        "title": args.title,
        "situation": args.situation,
        "citations": tuple(args.cite or ()),
        "confidence": args.confidence,
        "tier": args.tier,
        "scope": args.scope,
        "ttl_s": args.ttl,
        "key": args.key,
        "source_ref": {"session": args.session} if args.session else None,
        "source": "note" if args.note else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _replaced(lore: Lore, result: Remembered) -> list[tuple[str, str]]:
    """Return handle and text of each memory that the new one updated or superseded, from the history."""
    if result.outcome not in ("updated", "superseded"):
        return []
    return [before for id in result.related if (before := _before(lore, id))]


def _before(lore: Lore, id: str) -> tuple[str, str] | None:
    """Return handle and text of a memory before its last change."""
    before = lore.history(id)[-1].before
    return (str(before["handle"]), str(before["text"])) if before else None
