"""undo: take back an operation, whole."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore undo", "swarmlore undo 0190b3c4-7d5e-7f60-8a1b-2c3d4e5f6071")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operation", nargs="?", default="", metavar="OPERATION", help="its id, as history shows it")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        reverted = lore.undo(desk.args.operation)
        return desk.show(
            lambda: {"reverted": plain(reverted), "operation": reverted.operation},
            lambda page: render.undone(reverted, reverted.operation, page),
        )
