"""Command `recall`: search memories, print the block an agent would be given, or list LEARNED comments on beads."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from swarmlore.cli.arguments import chosen, count, items, share
from swarmlore.cli.console import Console
from swarmlore.cli.layout import clean, one_line
from swarmlore.cli.render import memories
from swarmlore.cli.terminal import given_text
from swarmlore.domain.extraction.learned_comments import BeadLesson
from swarmlore.domain.json_codec import plain
from swarmlore.domain.records import KINDS, MODES, PROFILES, SOURCES, TIERS
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.exchange.beads import label
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.workspace.project import find_project

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.exchange import beads


RECALL_EXAMPLES = (
    'swarmlore recall "how are snapshot tests updated"',
    "swarmlore recall --explain --limit 3 deploy to staging",
    "make test 2>&1 | tail -20 | swarmlore recall - --block --trigger error",
    "swarmlore recall --recent 10",
)


def recall_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", metavar="QUERY", help="the question; - reads standard input")
    parser.add_argument("--limit", type=count, metavar="N", help="hits at most")
    parser.add_argument("--explain", action="store_true", help="show how each score came about")
    how = parser.add_argument_group("how to look")
    how.add_argument("--profile", choices=PROFILES, metavar="NAME", help="whose rules rank: " + ", ".join(PROFILES))
    how.add_argument("--mode", choices=MODES, metavar="MODE", help="which engines look: " + ", ".join(MODES))
    how.add_argument("--phase", default="", metavar="TEXT", help="the phase at work, for profile knowledge")
    how.add_argument("--all-projects", action="store_true", help="every project's shared ones; for a person only")
    what = parser.add_argument_group("what to keep (repeat, or separate by commas)")
    what.add_argument("--kind", action="append", metavar="KIND", help="only these kinds")
    what.add_argument("--category", action="append", metavar="TOPIC", help="only these categories")
    what.add_argument("--tag", action="append", metavar="TAG", help="only with these tags")
    what.add_argument("--entity", action="append", metavar="TYPE:SLUG", help="only about these")
    what.add_argument("--tier", action="append", metavar="TIER", help="only these tiers: " + ", ".join(TIERS))
    what.add_argument("--source", action="append", metavar="SOURCE", help="only from these sources")
    learned = parser.add_argument_group("LEARNED comments on beads, from .beads/memory")
    learned.add_argument("--recent", type=count, metavar="N", help="the last N of them")
    learned.add_argument("--stats", action="store_true", help="count them")
    learned.add_argument("--type", metavar="TYPE", help="look at those of this type: learned, investigation")
    learned.add_argument("--all", action="store_true", help="look at the archived ones too")
    block = parser.add_argument_group("as an agent gets it")
    block.add_argument("--block", action="store_true", help="print the block an agent would be given, or nothing")
    block.add_argument("--trigger", metavar="MOMENT", help="the moment, such as prompt (default), error or file")
    block.add_argument("--session", metavar="ID", help="the agent's session: it is shown nothing twice")
    block.add_argument("--headroom", type=share, metavar="SHARE", help="free share of its context, as 0.35 or 35%%")


def run_recall(console: Console) -> int:
    if _means_comments(console.args, console):
        return _run_comments(console)
    query = given_text(console.args.query)
    if console.args.block:
        return _block(console, query)
    _refuse_without_block(console.args)
    with console.open() as lore:
        hits = lore.recall(query, console.args.limit, mode=console.args.mode, **_filters(console.args))
        console.show(
            lambda: {
                "query": query,
                "hits": plain(tuple(hits)),
                "reports": list(hits.reports),
                "notes": list(hits.notes),
            },
            lambda page: memories.found(
                hits, page, lambda note: lore.notes.path_of(note), explain=console.args.explain
            ),
        )
        if not console.json:
            for note in hits.notes:
                console.note(note)
    return 0


def _filters(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "kinds": chosen("--kind", args.kind, KINDS),
        "categories": items(args.category),
        "tags": items(args.tag),
        "entities": items(args.entity),
        "tiers": chosen("--tier", args.tier, TIERS),
        "sources": chosen("--source", args.source, SOURCES),
        "phase": args.phase,
        "all_projects": args.all_projects,
    }


def _block(console: Console, cue: str) -> int:
    args = console.args
    with console.open() as lore:
        block = lore.block(
            cue, trigger=args.trigger or "prompt", session=args.session or "", headroom=args.headroom,
            profile=args.profile or "",
        )  # fmt: skip
    return console.give(block)


def _refuse_without_block(args: argparse.Namespace) -> None:
    for name in ("trigger", "session", "headroom"):
        if getattr(args, name) is not None:
            raise InvalidInput(f"--{name} says how a block is given", "add --block")


# LEARNED comments on beads, from .beads/memory

_NOTHING = "No knowledge entries yet."
_FOUND_CHARS = 200
_RECENT_CHARS = 120


def _found_text(entries: Sequence[BeadLesson], query: str, type: str) -> str:
    """Render the comments that match a query, with a blank line after each."""
    if not entries:
        head = f"No knowledge entries matching '{clean(query)}'"
        return f"{head}\n  (filtered by type: {clean(type)})" if type else head
    return "\n".join(_entry(entry, _FOUND_CHARS, f" tags={','.join(entry.tags)}") for entry in entries)


def _recent_text(entries: Sequence[BeadLesson]) -> str:
    head = f"## Recent Knowledge ({len(entries)} entries)\n"
    return "\n".join((head, *(_entry(entry, _RECENT_CHARS) for entry in entries)))


def _entry(entry: BeadLesson, chars: int, tags: str = "") -> str:
    text = one_line(entry.content, 0)[:chars]
    about = one_line(f"source={entry.source} bead={entry.bead}{tags}", 0)
    return f"{one_line(f'{label(entry)} {entry.key}', 0)}\n  {text}\n  {about}\n"


def _stats_text(counts: Mapping[str, int]) -> str:
    if not counts["active"]:
        return _NOTHING
    names = {
        "Active entries:": "active",
        "Unique keys:": "unique",
        "Learned:": "learned",
        "Investigation:": "investigation",
        "Archived:": "archived",
    }
    return "\n".join(("## Knowledge Base Stats", *(f"  {name.ljust(15)} {counts[key]}" for name, key in names.items())))


_USAGE = 'usage: swarmlore recall "keyword" [--type learned] [--all], or --recent 10, or --stats'
# Options that only apply to the store, each with its default.
_STORE_OPTIONS = {
    **{"kind": None, "category": None, "tag": None, "entity": None, "tier": None, "source": None, "mode": None},
    **{"phase": "", "all_projects": False, "explain": False},
    **{"block": False, "trigger": None, "session": None, "headroom": None},
}


def _means_comments(args: argparse.Namespace, console: Console) -> bool:
    """Whether `.beads/memory/` is searched: because of an option that only it has, or because of profile beads."""
    from swarmlore.exchange import beads

    store_options = [name for name, default in _STORE_OPTIONS.items() if getattr(args, name) != default]
    if not (args.recent or args.stats or args.type is not None or args.all):
        if args.profile != "beads" or store_options:
            return False
        return beads.has_memory(find_project(console.folder).root)
    if store_options:
        option = "--" + store_options[0].replace("_", "-")
        raise InvalidInput(
            f"{option} does not look at LEARNED comments", "leave it out, or --recent --stats --type --all"
        )
    return True


def _run_comments(console: Console) -> int:
    """Answer from the LEARNED comments on beads, in the wording of `recall.sh`."""
    from swarmlore.exchange import beads

    root = find_project(console.folder).root
    known = beads.read_knowledge(root, archived=console.args.all and not console.args.stats)
    if known.bad_lines and not console.json:
        lines = "1 line is" if known.bad_lines == 1 else f"{known.bad_lines} lines are"
        console.note(f"{lines} no record and left out")
    if console.args.stats:
        return _stats(console, known)
    if console.args.recent:
        return _recent(console, known)
    return _search(console, known)


def _stats(console: Console, known: beads.Knowledge) -> int:
    counts = {
        "active": len(known.entries),
        "unique": len({entry.key for entry in known.entries}),
        "learned": sum(entry.type == "learned" for entry in known.entries),
        "investigation": sum(entry.type == "investigation" for entry in known.entries),
        "archived": known.archived,
        "bad_lines": known.bad_lines,
    }
    return console.show(lambda: counts, lambda _: _stats_text(counts))


def _recent(console: Console, known: beads.Knowledge) -> int:
    """Show the last comments in file order, including those that a later one replaces."""
    from swarmlore.exchange import beads

    type = console.args.type
    fit = [entry for entry in known.entries if type is None or entry.type == type]
    shown = [beads.showable(entry) for entry in fit[-console.args.recent :]]
    return console.show(
        lambda: {"entries": [beads.document(entry) for entry in shown], "bad_lines": known.bad_lines},
        lambda _: _recent_text(shown) if known.entries else _NOTHING,
    )


def _search(console: Console, known: beads.Knowledge) -> int:
    from swarmlore.exchange import beads

    query, type = given_text(console.args.query), console.args.type
    if not query.strip() and known.entries:
        raise SwarmloreError("there is nothing to look for", _USAGE)  # exit code 1, as recall.sh returns
    fit = [entry for entry in beads.newest(known.entries) if type is None or entry.type == type]
    hits = [entry for entry in fit if beads.matches(entry, query)][: console.args.limit]
    hits = [beads.showable(entry) for entry in hits]
    return console.show(
        lambda: {
            "query": query,
            "entries": [beads.document(entry) for entry in hits],
            "bad_lines": known.bad_lines,
        },
        lambda _: _found_text(hits, query, type or "") if known.entries else _NOTHING,
    )
