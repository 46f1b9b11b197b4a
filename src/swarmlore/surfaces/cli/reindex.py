"""reindex: the search indexes anew, from the rows."""

from __future__ import annotations

import argparse

from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore reindex",)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing of its own."""


def run(desk: Desk) -> int:
    with desk.open() as lore:
        with desk.progress("indexing") as indexing, desk.progress("embedding") as embedding:
            counts = lore.reindex(embedding, indexing)
        return desk.show(lambda: counts, lambda page: render.reindexed(counts, page))
