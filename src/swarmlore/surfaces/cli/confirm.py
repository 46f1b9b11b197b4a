"""confirm: somebody has seen for themselves that a memory holds."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.surfaces import render_life
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore confirm 3f9a2c",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")
    parser.add_argument(
        "--session", default="", metavar="ID", help="who confirms: what this session was shown does not count"
    )


def run(desk: Desk) -> int:
    with desk.open() as lore:
        told = lore.confirm(desk.args.ref, desk.args.session)
        return desk.show(
            lambda: {"memory": plain(told.memory), "counted": bool(told.operation), "reason": told.reason},
            lambda page: render_life.confirmed(told, page),
        )
