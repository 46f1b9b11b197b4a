"""trust: a person's agreement to exchange memories with the files of a repository."""

from __future__ import annotations

import argparse
import os

from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_files
from swarmlore.surfaces.cli.desk import Desk

if TYPE_CHECKING:
    from swarmlore.lore import Lore

EXAMPLES = ("swarmlore trust", "swarmlore trust ~/work/shop", "swarmlore trust --no", "swarmlore trust --hive")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="a folder of the project; else this one")
    parser.add_argument("--no", action="store_true", help="take the agreement back; memories and files stay")
    parser.add_argument("--hive", action="store_true", help="the hive's file shared-learnings.jsonl in the home")
    parser.add_argument("--yes", action="store_true", help="agree without being asked")


def run(desk: Desk) -> int:
    if desk.args.path:
        path = os.path.expanduser(desk.args.path)
        if not os.path.isdir(path):
            raise InvalidInput(f"{path} is not a folder", "name a folder of the project")
        desk.args.project = path
    with desk.open() as lore:
        on = not desk.args.no
        if on:
            agree(desk, lore)
        done = lore.trust(on=on, hive=desk.args.hive)
        root = lore.home if desk.args.hive else lore.project.root
    return desk.show(
        lambda: {
            "root": root,
            "trusted": on,
            "changed": done.changed,
            "synced": render_files.document(done.synced),
            "driver": done.driver,
        },
        lambda page: render_files.trusted(root, page, done, on=on),
    )


def agree(desk: Desk, lore: Lore) -> None:
    """A person at a terminal agrees by typing the command; anybody else has to say so."""
    if lore.caller.role != "person":
        desk.confirm(f"Exchange memories with the files of {lore.project.root}?")
