"""list: memories, newest first."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.domain.records import KINDS, LISTED_STATUSES, SOURCES, TIERS
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import count, items, place

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore

EXAMPLES = (
    "swarmlore list --tag testing",
    "swarmlore list --status forgotten",
    "swarmlore list --limit 100 --offset 100 --json",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tier", choices=TIERS, default="", metavar="TIER", help="one of: " + ", ".join(TIERS))
    parser.add_argument("--kind", choices=KINDS, default="", metavar="KIND", help="one of: " + ", ".join(KINDS))
    parser.add_argument("--category", default="", metavar="TOPIC", help="only this category")
    parser.add_argument("--tag", action="append", metavar="TAG", help="with all of these; repeat, or use commas")
    parser.add_argument("--status", choices=LISTED_STATUSES, default="", metavar="STATUS",
                        help="what is live when not given; one of: " + ", ".join(LISTED_STATUSES))  # fmt: skip
    parser.add_argument("--source", choices=SOURCES, default="", metavar="SOURCE", help="only from this source")
    parser.add_argument("--session", default="", metavar="ID", help="only from this session")
    parser.add_argument("--owner", default="", metavar="AGENT", help="only by this agent")
    parser.add_argument("--limit", type=count, default=20, metavar="N", help="at most so many (20)")
    parser.add_argument("--offset", type=place, default=0, metavar="N", help="skip the newest so many")


def run(desk: Desk) -> int:
    names = ("tier", "kind", "category", "status", "source", "session", "owner", "limit", "offset")
    wanted = {name: getattr(desk.args, name) for name in names}
    wanted["tags"] = items(desk.args.tag)
    with desk.open() as lore:
        memories = lore.list(**wanted)
        desk.show(lambda: {"memories": plain(memories)}, lambda page: render.rows(memories, page))
        if len(memories) == desk.args.limit and not desk.json:
            _say_what_is_left(desk, lore, wanted)
    return 0


def _say_what_is_left(desk: Desk, lore: Lore, wanted: dict[str, Any]) -> None:
    """A list that stops before the end says so, beside the answer."""
    shown, offset = desk.args.limit, desk.args.offset
    if lore.list(**{**wanted, "limit": 1, "offset": offset + shown}):
        desk.note(render.more(shown, lore.count(**wanted), offset))
