"""curate: look over all lessons, and decide by number."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.surfaces import render_curating
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import count, items

EXAMPLES = ("swarmlore curate", "swarmlore curate --apply 1,3")


def arguments(parser: argparse.ArgumentParser) -> None:
    told = "carry out what was recommended; repeat, or use commas"
    parser.add_argument("--apply", action="append", type=_numbers, metavar="N", help=told)


def run(desk: Desk) -> int:
    asked = desk.args.apply
    with desk.open() as lore:
        if asked is not None:
            done = lore.apply([number for numbers in asked for number in numbers])
            return desk.show(lambda: plain(done), lambda page: render_curating.applied(done, page))
        found = lore.curate()
        return desk.show(lambda: plain(found), lambda page: render_curating.curated(found, page))


def _numbers(text: str) -> list[int]:
    return [count(part) for part in items([text])]
