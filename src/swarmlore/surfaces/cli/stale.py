"""stale: memories whose cited code has changed or is gone."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore stale", "swarmlore stale --all", "swarmlore stale --follow")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also those whose code has only moved")
    parser.add_argument("--follow", action="store_true", help="record the new lines of code that has moved")


def run(desk: Desk) -> int:
    from swarmlore.surfaces import cited

    with desk.open() as lore:
        if desk.args.follow:
            followed = lore.follow()
            return desk.show(lambda: {"followed": plain(followed)}, lambda page: cited.followed(followed, page))
        with desk.progress("checking") as progress:
            found = lore.stale(moved=desk.args.all, progress=progress)
        return desk.show(lambda: {"stale": plain(found)}, lambda page: cited.stale(found, page), whole=True)
