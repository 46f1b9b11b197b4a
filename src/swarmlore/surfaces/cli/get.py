"""get: one memory in full."""

from __future__ import annotations

import argparse

from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.documents import plain

EXAMPLES = ("swarmlore get 3f9a2c", "swarmlore get 3f9a2c --json")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        memory = lore.get(desk.args.ref)
        cited = lore.cited(memory)
        return desk.show(
            lambda: {**plain(memory), "cited": plain(cited)}, lambda page: render.card(memory, page, cited)
        )
