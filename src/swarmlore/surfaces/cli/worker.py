"""worker: do the jobs that wait, until told to stop."""

from __future__ import annotations

import argparse
import os

from swarmlore import config
from swarmlore.records import JOB_KINDS
from swarmlore.surfaces import render_mail
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.documents import plain
from swarmlore.surfaces.cli.parsing import chosen

EXAMPLES = ("swarmlore worker", "swarmlore worker --until-empty", "swarmlore worker --kind extract --kind summarise")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--until-empty", action="store_true", help="stop when nothing is due any more")
    parser.add_argument("--kind", action="append", metavar="KIND", help="only jobs of this kind; may be repeated")
    parser.add_argument(
        "--team", action="store_true", help="on a server: the jobs of every login, not only of your own"
    )


def run(desk: Desk) -> int:
    from swarmlore.worker.burst import new_owner
    from swarmlore.worker.handlers import HANDLERS
    from swarmlore.worker.running import Orders
    from swarmlore.worker.supervising import Worker

    kinds = chosen("--kind", desk.args.kind, JOB_KINDS) or tuple(HANDLERS)
    home = os.path.abspath(desk.home) if desk.home else config.home_dir(os.environ)
    settings = config.load(home, "", os.environ).worker
    orders = Orders(home, new_owner(), kinds, team=desk.args.team, until_empty=desk.args.until_empty)
    worker = Worker(orders, HANDLERS, settings)
    worker.listen_to_signals()
    tally = worker.work()
    return desk.show(lambda: plain(tally), lambda page: render_mail.worked(tally, page))
