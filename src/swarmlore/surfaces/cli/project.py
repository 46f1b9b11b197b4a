"""project: which project this folder is, how that was found, and what it was called before."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = (
    "swarmlore project",
    "swarmlore project --was ~/old/place/app",
    "swarmlore project --not github.com/acme/app",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--was", default="", metavar="NAME", help="it was this folder, address or id before")
    parser.add_argument("--not", default="", dest="was_not", metavar="NAME", help="it was not: take the name away")


def run(desk: Desk) -> int:
    args = desk.args
    if args.was and args.was_not:
        raise InvalidInput("--was and --not at once", "one after the other")
    with desk.open() as lore:
        known = lore.join(args.was) if args.was else lore.part(args.was_not) if args.was_not else lore.identity()
        return desk.show(lambda: plain(known), lambda page: render.project(known, page))
