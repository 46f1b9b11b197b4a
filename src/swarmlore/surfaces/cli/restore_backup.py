"""restore-backup: a backup in place of the store; what was there is kept."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.lore import Lore
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore restore-backup lore-20250102T030405Z.db",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file that backup wrote")
    parser.add_argument("--yes", action="store_true", help="without asking")


def run(desk: Desk) -> int:
    desk.confirm(f"Replace the store by {desk.args.path}? What is there now is kept in a file of its own.")
    restored, kept = Lore.restore_backup(desk.args.path, desk.home)
    return desk.show(
        lambda: {"restored": plain(restored), "kept": kept}, lambda page: render.restored(restored, kept, page)
    )
