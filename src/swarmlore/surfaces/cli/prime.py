"""prime: what to know before beginning."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput
from swarmlore.surfaces import render_prime
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.reading import given_text

EXAMPLES = ("swarmlore prime", "swarmlore prime snapshot tests", 'swarmlore prime --task "add a refund endpoint"')


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="*", metavar="TOPIC", help="what the work is about; - reads standard input")
    parser.add_argument("--task", metavar="TEXT", help="print the block that an agent is given before this task")


def run(desk: Desk) -> int:
    from swarmlore.capture.beads import session_text

    if desk.args.task is not None:
        return _before_task(desk)
    topic = given_text(desk.args.topic)
    with desk.open() as lore:
        primed = lore.prime(topic)
        comments = session_text(lore.project.root)
    return desk.show(
        lambda: {**plain(primed), "comments": comments}, lambda page: render_prime.primed(primed, comments, page)
    )


def _before_task(desk: Desk) -> int:
    if desk.args.topic:
        raise InvalidInput("both a topic and a task were given", "give one of them; a task of several words in quotes")
    task = given_text([desk.args.task])
    if not task.strip():
        raise InvalidInput("the task is empty", "say what is to be done: swarmlore prime --task TEXT")
    with desk.open() as lore:
        return desk.give(lore.before_task(task))
