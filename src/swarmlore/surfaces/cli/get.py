"""get: one memory in full."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk

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
