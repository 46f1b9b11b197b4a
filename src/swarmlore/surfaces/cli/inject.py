"""inject: what a lead teaches an agent, and with it the whole swarm."""

from __future__ import annotations

import argparse

from swarmlore.domain.extraction.lesson_text import CATEGORIES
from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput
from swarmlore.surfaces import render_life
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import items
from swarmlore.surfaces.cli.reading import given_text

EXAMPLES = (
    'swarmlore inject --agent w1 --category best-practice "Run make e2e-seed first"',
    "swarmlore inject --agent w1 --category mistake-pattern - < lesson.txt",
)
MIXED = True


def arguments(parser: argparse.ArgumentParser) -> None:
    words = ", ".join(CATEGORIES)
    parser.add_argument("text", nargs="*", metavar="TEXT", help="what to teach; - reads standard input")
    parser.add_argument(
        "--agent", required=True, metavar="ID", help="the agent that is taught; all of the swarm see it"
    )
    parser.add_argument("--category", required=True, choices=CATEGORIES, metavar="TOPIC", help=f"one of: {words}")
    parser.add_argument("--tag", action="append", metavar="TAG", help="repeat it, or separate tags by commas")


def run(desk: Desk) -> int:
    args = desk.args
    text = given_text(args.text)
    if not text.strip():
        raise InvalidInput("there is nothing to teach", 'swarmlore inject --agent ID --category TOPIC "TEXT"')
    with desk.open() as lore:
        told = lore.inject(args.agent, text, args.category, tags=items(args.tag))
        return desk.show(lambda: plain(told), lambda page: render_life.injected(told, page))
