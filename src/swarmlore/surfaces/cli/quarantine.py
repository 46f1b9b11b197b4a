"""quarantine: hide a memory from everybody, or all that say the same."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput, NotFound
from swarmlore.surfaces import render_life
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = (
    'swarmlore quarantine 3f9a2c "holds for the old parser only"',
    'swarmlore quarantine --saying "Use npm for installing"',
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", nargs="?", default="", metavar="REF", help="a handle, an id, or the beginning of one")
    parser.add_argument("reason", nargs="?", default="", metavar="REASON", help="why; it stands in the history")
    saying = "instead of REF: take back every lesson of the project and the hive that says exactly this"
    parser.add_argument("--saying", metavar="TEXT", help=saying)


def run(desk: Desk) -> int:
    if bool(desk.args.ref) == (desk.args.saying is not None):
        raise InvalidInput("name one memory, or what it says", "swarmlore quarantine REF, or --saying TEXT")
    if desk.args.saying is not None:
        return _retract(desk)
    with desk.open() as lore:
        memory = lore.quarantine(desk.args.ref, desk.args.reason)
        return desk.show(lambda: {"memory": plain(memory)}, lambda page: render_life.put_aside(memory, page))


def _retract(desk: Desk) -> int:
    with desk.open() as lore:
        memories = lore.retract(desk.args.saying)
    if not memories:
        hint = "the words must be the same, apart from case and punctuation: swarmlore recall shows what is known"
        raise NotFound("no lesson that you may change says that", hint)
    return desk.show(lambda: {"memories": plain(memories)}, lambda page: render_life.all_put_aside(memories, page))
