"""sweep: let memories rise and leave as their phases say."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_life, render_mail
from swarmlore.surfaces.cli.desk import Desk

if TYPE_CHECKING:
    from swarmlore.lore import Lore

EXAMPLES = ("swarmlore sweep --dry-run", "swarmlore sweep")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show what would become of which memory")
    parser.add_argument("--force", action="store_true", help="even if more than a fifth would leave")
    parser.add_argument("--defer", action="store_true", help="leave it to the worker")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        if desk.args.defer:
            return _later(desk, lore)
        swept = lore.sweep(dry_run=desk.args.dry_run, force=desk.args.force)
        return desk.show(lambda: plain(swept), lambda page: render_life.swept(swept, page))


def _later(desk: Desk, lore: Lore) -> int:
    if desk.args.dry_run or desk.args.force:
        raise InvalidInput("a sweep that is left for later is neither forced nor a trial", "leave out --defer")
    job = lore.enqueue("sweep", {}, "sweep", again=True)
    return desk.show(lambda: {"job": plain(job)}, lambda page: render_mail.queued(job, page))
