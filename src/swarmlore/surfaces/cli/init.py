"""init: share a project's lessons through files in its repository."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.surfaces import render_files
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.trust import agree

EXAMPLES = ("swarmlore init", "swarmlore init --dry-run")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")
    parser.add_argument("--yes", action="store_true", help="agree without being asked")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        if not desk.args.dry_run:
            agree(desk, lore)
        founded = lore.init(dry_run=desk.args.dry_run)
    return desk.show(
        lambda: {"root": founded.root, "steps": plain(founded.steps), "synced": render_files.document(founded.synced)},
        lambda page: render_files.founded(founded, page),
    )
