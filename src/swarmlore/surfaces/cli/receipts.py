"""receipts: what agents were given, and why or why not."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from swarmlore.domain.json_codec import plain
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import count

if TYPE_CHECKING:
    from swarmlore.domain.records import Receipt

EXAMPLES = ("swarmlore receipts", "swarmlore receipts --session 0190-abcd --limit 5")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", default="", metavar="ID", help="only from this session")
    parser.add_argument("--limit", type=count, default=20, metavar="N", help="at most so many (20)")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        found = lore.receipts(desk.args.session, desk.args.limit)
        if not found and lore.caller.role == "worker":
            desk.note("an agent sees its own receipts; a person at a terminal sees all")
        texts = {} if desk.json else lore.lesson_lines(_named(found))
    return desk.show(lambda: {"receipts": plain(found)}, lambda page: render.receipts(found, texts, page))


def _named(found: Sequence[Receipt]) -> list[str]:
    """The ids of the memories in receipts."""
    return list(dict.fromkeys(item.memory for receipt in found for item in (*receipt.shown, *receipt.cut)))
