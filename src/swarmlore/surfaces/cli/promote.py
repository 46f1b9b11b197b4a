"""promote: a lesson for every project, or a private one for the swarm."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_life
from swarmlore.surfaces.cli.desk import Desk

if TYPE_CHECKING:
    from swarmlore.lore import Lore

EXAMPLES = (
    'swarmlore promote "Pin the version of every build tool in CI"',
    "swarmlore promote --from-swarm 3f9a2c",
    "swarmlore promote --to swarm 3f9a2c",
    "swarmlore promote --list",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", default="", metavar="TEXT", help="the lesson or, with --to swarm, a handle")
    parser.add_argument("--from-swarm", default="", metavar="REF", help="a lesson of this project, by its handle")
    parser.add_argument("--to", default="hive", metavar="TIER", help="hive (default), or swarm for a private memory")
    parser.add_argument("--category", metavar="TOPIC", help="the topic of a new lesson; process if nothing is said")
    parser.add_argument("--list", action="store_true", help="show which lessons have a route to the hive")


def run(desk: Desk) -> int:
    args = desk.args
    if bool(args.text) + bool(args.from_swarm) + args.list != 1:
        said = "one thing at a time" if args.text or args.from_swarm else "say what to promote"
        raise InvalidInput(said, 'swarmlore promote "TEXT", --from-swarm REF, or --list')
    with desk.open() as lore:
        _check_no_name(lore, args)
        if args.list:
            found = lore.promotions()
            return desk.show(lambda: {"promotions": plain(found)}, lambda page: render_life.proposed(found, page))
        facts = {"category": args.category} if args.category else {}
        told = lore.promote(args.from_swarm or args.text, from_swarm=bool(args.from_swarm), to=args.to, **facts)
        return desk.show(lambda: plain(told), lambda page: render_life.promoted(told, page))


def _check_no_name(lore: Lore, args: argparse.Namespace) -> None:
    """Whoever gives the name of a memory where a text belongs does not mean a lesson of six characters."""
    if not args.text or args.to != "hive" or " " in args.text.strip():
        return
    try:
        memory = lore.get(args.text)
    except SwarmloreError:
        return
    if memory is not None:
        hint = f"swarmlore promote --from-swarm {memory.handle}"
        raise InvalidInput(f"{memory.handle} is the name of a memory", hint)
