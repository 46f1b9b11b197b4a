"""reflect: lessons in a text, proposed."""

from __future__ import annotations

import argparse

from swarmlore.surfaces import render_learning
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.documents import plain
from swarmlore.surfaces.cli.reading import given_text

MAX_BYTES = 4 * 1_000_000
EXAMPLES = ("swarmlore reflect notes.txt", "pbpaste | swarmlore reflect -")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the text; - reads standard input")


def run(desk: Desk) -> int:
    name = desk.args.file
    text = given_text(["-"], None, MAX_BYTES) if name == "-" else given_text([], name, MAX_BYTES)
    with desk.open() as lore:
        proposals = lore.reflect(text)
        return desk.show(
            lambda: {"proposals": plain(proposals)}, lambda page: render_learning.proposed(proposals, page)
        )
