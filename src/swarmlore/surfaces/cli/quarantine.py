"""quarantine: hide a memory from everybody."""

from __future__ import annotations

import argparse

from swarmlore.surfaces import render_life
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.documents import plain

EXAMPLES = ('swarmlore quarantine 3f9a2c "holds for the old parser only"',)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")
    parser.add_argument("reason", nargs="?", default="", metavar="REASON", help="why; it stands in the history")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        memory = lore.quarantine(desk.args.ref, desk.args.reason)
        return desk.show(lambda: {"memory": plain(memory)}, lambda page: render_life.put_aside(memory, page))
