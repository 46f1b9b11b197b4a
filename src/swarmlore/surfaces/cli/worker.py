"""worker: do the jobs that wait, until told to stop."""

from __future__ import annotations

import argparse
import os
import sys

from swarmlore import config
from swarmlore.domain.json_codec import plain
from swarmlore.domain.records import JOB_KINDS, Job
from swarmlore.surfaces import render_mail
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import chosen
from swarmlore.surfaces.page import clean

WITH_PARENT = "SWARMLORE_SERVER_PID"  # set by a server: its process, with which its worker ends
EXAMPLES = ("swarmlore worker", "swarmlore worker --until-empty", "swarmlore worker --kind extract --kind summarise")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--until-empty", action="store_true", help="stop when nothing is due any more")
    kinds = ", ".join(JOB_KINDS)
    parser.add_argument("--kind", action="append", choices=JOB_KINDS, metavar="KIND",
                        help=f"only jobs of this kind ({kinds}); may be repeated")  # fmt: skip
    parser.add_argument(
        "--team", action="store_true", help="on a server: the jobs of every login, not only of your own"
    )


def run(desk: Desk) -> int:
    from swarmlore.server.worker.child import Orders
    from swarmlore.server.worker.handlers import HANDLERS
    from swarmlore.server.worker.supervisor import Worker, new_owner

    kinds = chosen("--kind", desk.args.kind, JOB_KINDS) or tuple(HANDLERS)
    home = os.path.abspath(desk.home) if desk.home else config.home_dir(os.environ)
    settings = config.load(home, "", os.environ).worker
    stays = not desk.args.until_empty
    parent = os.environ.get(WITH_PARENT, "")
    orders = Orders(
        *(home, new_owner(), kinds, desk.args.team),
        until_empty=not stays,
        digests=not desk.args.kind,
        steps_back=parent.isdigit(),
    )
    worker = Worker(orders, HANDLERS, settings, lambda job, error: _report(desk, job, error))
    worker.listen_to_signals()
    if parent.isdigit():
        worker.stay_with(int(parent))
    if stays and sys.stderr.isatty():
        desk.note("waiting for jobs; Ctrl-C ends")
    tally = worker.work()
    with desk.open() as lore:
        left = lore.waiting_jobs()
    return desk.show(
        lambda: {**plain(tally), "waiting": left.get("waiting", 0), "dead": left.get("dead", 0)},
        lambda page: render_mail.worked(tally, left, page),
    )


def _report(desk: Desk, job: Job, error: str) -> None:
    """One line about a job: what went wrong always, what went well to somebody who watches."""
    if error:
        desk.note(f"{job.kind} {job.handle} of {job.agent or 'nobody'} was not done: {clean(error)}")
    elif sys.stderr.isatty():
        desk.note(f"{job.kind} {job.handle} of {job.agent or 'nobody'} is done")
