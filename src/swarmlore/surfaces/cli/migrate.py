"""migrate: take over what opencode-swarm kept before it had files of lessons."""

from __future__ import annotations

import argparse
import os

from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_swarm
from swarmlore.surfaces.cli.desk import Desk

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.migrating import Migrated, Moved

EXAMPLES = ("swarmlore migrate", "swarmlore migrate ~/work/shop")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="a folder of the project; else this one")


def run(desk: Desk) -> int:
    return migrate(desk, desk.args.path)


def migrate(desk: Desk, path: str) -> int:
    """Migrate the project of a folder and tell what became of it; done before is no failure."""
    if path:
        folder = os.path.expanduser(path)
        if not os.path.isdir(folder):
            raise InvalidInput(f"{path} is not a folder", "name a folder of the project")
        desk.args.project = folder
    with desk.open() as lore:
        told = lore.migrate()
    return desk.show(lambda: _document(told), lambda page: render_swarm.migrated(told, page))


def _document(told: Migrated) -> dict[str, Any]:
    return {"context": _moved(told.context), "hive": _moved(told.hive)}


def _moved(moved: Moved) -> dict[str, Any]:
    return {**plain(moved), "drops": [{"line": line, "reason": why} for line, why in moved.drops]}
