"""restore: bring a memory back from quarantine or the archive."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.surfaces import render_life
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore restore 3f9a2c",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        memory = lore.restore(desk.args.ref)
        return desk.show(lambda: {"memory": plain(memory)}, lambda page: render_life.restored(memory, page))
