"""backup: a checked copy of the store, made while it is in use."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore backup", "swarmlore backup /mnt/disk/lore.db")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="else a dated file in the home's backups")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        made = lore.backup(desk.args.path)
        return desk.show(lambda: plain(made), lambda page: render.backed_up(made, page))
