"""recall: what is known about something, or the block an agent would be given."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.domain.records import KINDS, MODES, PROFILES, SOURCES, TIERS
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import chosen, count, items, share
from swarmlore.surfaces.cli.reading import given_text

if TYPE_CHECKING:
    from typing import Any

EXAMPLES = (
    'swarmlore recall "how are snapshot tests updated"',
    "swarmlore recall --explain --limit 3 deploy to staging",
    "make test 2>&1 | tail -20 | swarmlore recall - --block --trigger error",
    "swarmlore recall --recent 10",
)


def arguments(parser: argparse.ArgumentParser) -> None:
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


def run(desk: Desk) -> int:
    if _may_mean_comments(desk.args):
        from swarmlore.surfaces.cli import comments

        if comments.asked(desk.args, desk.folder):
            return comments.run(desk)
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
            lambda page: render.found(hits, page, lambda note: lore.notes.path_of(note), explain=desk.args.explain),
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
