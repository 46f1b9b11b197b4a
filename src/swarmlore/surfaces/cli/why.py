"""why: where a memory comes from, what it did, why it ranks as it does."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.surfaces import render_curating
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore why 3f9a2c",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        found = lore.why(desk.args.ref)
        return desk.show(lambda: plain(found), lambda page: render_curating.why(found, page))
