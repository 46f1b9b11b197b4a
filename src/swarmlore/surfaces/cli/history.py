"""history: what happened to a memory."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import change
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore history 3f9a2c",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        changes = lore.history(desk.args.ref)
        return desk.show(
            lambda: {"history": [change(row) for row in changes]}, lambda page: render.history(changes, page)
        )
