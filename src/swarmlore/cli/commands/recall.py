"""recall: what is known about something, or the block an agent would be given."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from swarmlore.cli.arguments import chosen, count, items, share
from swarmlore.cli.console import Desk
from swarmlore.cli.layout import clean, one_line
from swarmlore.cli.render import memories
from swarmlore.cli.terminal import given_text
from swarmlore.domain.extraction.learned_comments import Learned
from swarmlore.domain.json_codec import plain
from swarmlore.domain.records import KINDS, MODES, PROFILES, SOURCES, TIERS
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.exchange import beads
from swarmlore.exchange.beads import label
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.workspace.project import find_project

if TYPE_CHECKING:
    from typing import Any


NOTHING = "No knowledge entries yet."
FOUND_CHARS = 200
RECENT_CHARS = 120


def found(entries: Sequence[Learned], query: str, type: str) -> str:
    """Each entry with a blank line after it, or which question found none."""
    if not entries:
        lines = [f"No knowledge entries matching '{clean(query)}'"]
        return "\n".join([*lines, f"  (filtered by type: {clean(type)})"] if type else lines)
    return "\n".join(_entry(entry, FOUND_CHARS, f" tags={','.join(entry.tags)}") for entry in entries)


def recent(entries: Sequence[Learned]) -> str:
    head = f"## Recent Knowledge ({len(entries)} entries)\n"
    return "\n".join((head, *(_entry(entry, RECENT_CHARS) for entry in entries)))


def _entry(entry: Learned, chars: int, tags: str = "") -> str:
    text = one_line(entry.content, 0)[:chars]
    about = one_line(f"source={entry.source} bead={entry.bead}{tags}", 0)
    return f"{one_line(f'{label(entry)} {entry.key}', 0)}\n  {text}\n  {about}\n"


def stats(counts: Mapping[str, int]) -> str:
    if not counts["active"]:
        return NOTHING
    names = {
        "Active entries:": "active",
        "Unique keys:": "unique",
        "Learned:": "learned",
        "Investigation:": "investigation",
        "Archived:": "archived",
    }
    return "\n".join(("## Knowledge Base Stats", *(f"  {name.ljust(15)} {counts[key]}" for name, key in names.items())))


USAGE = 'usage: swarmlore recall "keyword" [--type learned] [--all], or --recent 10, or --stats'
# What only the store knows, each with its value when nothing was said.
_OF_THE_STORE = {
    **{"kind": None, "category": None, "tag": None, "entity": None, "tier": None, "source": None, "mode": None},
    **{"phase": "", "all_projects": False, "explain": False},
    **{"block": False, "trigger": None, "session": None, "headroom": None},
}


def asked(args: argparse.Namespace, folder: str) -> bool:
    """Whether the lines of `.beads/memory/` are meant: by an option that only they have, or by profile beads."""
    others = [name for name, nothing in _OF_THE_STORE.items() if getattr(args, name) != nothing]
    if not (args.recent or args.stats or args.type is not None or args.all):
        return args.profile == "beads" and not others and beads.has_memory(find_project(folder).root)
    if others:
        option = "--" + others[0].replace("_", "-")
        raise InvalidInput(
            f"{option} does not look at LEARNED comments", "leave it out, or --recent --stats --type --all"
        )
    return True


def run_comments(desk: Desk) -> int:
    """Answer in the words of the seed; an empty memory is said before anything else."""
    root = find_project(desk.folder).root
    known = beads.read_knowledge(root, archived=desk.args.all and not desk.args.stats)
    if known.bad_lines and not desk.json:
        lines = "1 line is" if known.bad_lines == 1 else f"{known.bad_lines} lines are"
        desk.note(f"{lines} no record and left out")
    if desk.args.stats:
        return _stats(desk, known)
    if desk.args.recent:
        return _recent(desk, known)
    return _search(desk, known)


def _stats(desk: Desk, known: beads.Knowledge) -> int:
    counts = {
        "active": len(known.entries),
        "unique": len({entry.key for entry in known.entries}),
        "learned": sum(entry.type == "learned" for entry in known.entries),
        "investigation": sum(entry.type == "investigation" for entry in known.entries),
        "archived": known.archived,
        "bad_lines": known.bad_lines,
    }
    return desk.show(lambda: counts, lambda _: stats(counts))


def _recent(desk: Desk, known: beads.Knowledge) -> int:
    """The last lines as they stand, also where one replaces another."""
    type = desk.args.type
    fit = [entry for entry in known.entries if type is None or entry.type == type]
    shown = [beads.showable(entry) for entry in fit[-desk.args.recent :]]
    return desk.show(
        lambda: {"entries": [beads.document(entry) for entry in shown], "bad_lines": known.bad_lines},
        lambda _: recent(shown) if known.entries else NOTHING,
    )


def _search(desk: Desk, known: beads.Knowledge) -> int:
    query, type = given_text(desk.args.query), desk.args.type
    if not query.strip() and known.entries:
        raise SwarmloreError("there is nothing to look for", USAGE)  # exit code 1, as recall.sh has it
    fit = [entry for entry in beads.newest(known.entries) if type is None or entry.type == type]
    hits = [entry for entry in fit if beads.matches(entry, query)][: desk.args.limit]
    hits = [beads.showable(entry) for entry in hits]
    return desk.show(
        lambda: {
            "query": query,
            "entries": [beads.document(entry) for entry in hits],
            "bad_lines": known.bad_lines,
        },
        lambda _: found(hits, query, type or "") if known.entries else NOTHING,
    )


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


def run_recall(desk: Desk) -> int:
    if _may_mean_comments(desk.args) and asked(desk.args, desk.folder):
        return run_comments(desk)
    query = given_text(desk.args.query)
    if desk.args.block:
        return _block(desk, query)
    _refuse_without_block(desk.args)
    with desk.open() as lore:
        hits = lore.recall(query, desk.args.limit, mode=desk.args.mode, **_filters(desk.args))
        desk.show(
            lambda: {
                "query": query,
                "hits": plain(tuple(hits)),
                "reports": list(hits.reports),
                "notes": list(hits.notes),
            },
            lambda page: memories.found(hits, page, lambda note: lore.notes.path_of(note), explain=desk.args.explain),
        )
        if not desk.json:
            for note in hits.notes:
                desk.note(note)
    return 0


def _may_mean_comments(args: argparse.Namespace) -> bool:
    return bool(args.recent or args.stats or args.type is not None or args.all or args.profile == "beads")


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


def _block(desk: Desk, cue: str) -> int:
    args = desk.args
    with desk.open() as lore:
        block = lore.block(
            cue, trigger=args.trigger or "prompt", session=args.session or "", headroom=args.headroom,
            profile=args.profile or "",
        )  # fmt: skip
    return desk.give(block)


def _refuse_without_block(args: argparse.Namespace) -> None:
    for name in ("trigger", "session", "headroom"):
        if getattr(args, name) is not None:
            raise InvalidInput(f"--{name} says how a block is given", "add --block")
