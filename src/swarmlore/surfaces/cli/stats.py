"""stats: counts of what is stored."""

from __future__ import annotations

import argparse

from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore stats", "swarmlore stats --json")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing of its own."""


def run(desk: Desk) -> int:
    with desk.open() as lore:
        counts = lore.stats()
        return desk.show(lambda: counts, lambda page: render.stats(counts, page))
