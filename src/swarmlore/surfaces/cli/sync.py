"""sync: bring the shared files and the memory in step."""

from __future__ import annotations

import argparse

from swarmlore.surfaces import render_files
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore sync", "swarmlore sync --json")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing of its own."""


def run(desk: Desk) -> int:
    with desk.open() as lore:
        done = lore.sync()
    return desk.show(
        lambda: {"files": [{"file": path, **(render_files.document(told) or {})} for path, told in done.items()]},
        lambda page: render_files.synced(done, page),
    )
