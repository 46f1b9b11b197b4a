"""sweep: let memories rise and leave as their phases say."""

from __future__ import annotations

import argparse

from swarmlore.surfaces import render_life
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.documents import plain

EXAMPLES = ("swarmlore sweep --dry-run", "swarmlore sweep")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show what would become of which memory")
    parser.add_argument("--force", action="store_true", help="even if more than a fifth would leave")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        swept = lore.sweep(dry_run=desk.args.dry_run, force=desk.args.force)
        return desk.show(lambda: plain(swept), lambda page: render_life.swept(swept, page))
