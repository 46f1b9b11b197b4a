"""rate: one memory helped, or did harm."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.surfaces import render_learning
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore rate 3f9a2c --helpful", "swarmlore rate 3f9a2c --harmful")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--helpful", action="store_true", help="it helped: its feedback score is multiplied by 1.1")
    how.add_argument("--harmful", action="store_true", help="it misled: its feedback score is halved")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        memory = lore.rate(desk.args.ref, helpful=desk.args.helpful)
        return desk.show(
            lambda: {"memory": plain(memory), "helpful": desk.args.helpful},
            lambda page: render_learning.rated(memory, desk.args.helpful, page),
        )
