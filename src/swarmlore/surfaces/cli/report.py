"""report: what the memory did, and whether there is too much junk in it. With --check exit code 1 where a limit is not
kept."""

from __future__ import annotations

import argparse
import os

from swarmlore.domain.json_codec import plain
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import count, place

if TYPE_CHECKING:
    from swarmlore.memory.report import Report

EXAMPLES = (
    "swarmlore report",
    "swarmlore report --days 30 --html report.html",
    "swarmlore report --check",
    "swarmlore report --all-projects --json",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", type=count, default=0, metavar="N", help="look back so far; else to the beginning")
    parser.add_argument("--all-projects", action="store_true", help="every project of this memory; for a person")
    parser.add_argument("--limit", type=place, metavar="N", help="memories of each sort on the terminal (5)")
    parser.add_argument("--html", default="", metavar="FILE", help="write one file with plots for a browser")
    parser.add_argument("--yes", action="store_true", help="overwrite a file without asking")
    parser.add_argument("--check", action="store_true", help="only the limits; exit code 1 where one is not kept")


def run(desk: Desk) -> int:
    if desk.args.html:
        _may_write(desk, desk.args.html)
    with desk.open() as lore:
        found = lore.report(desk.args.days, all_projects=desk.args.all_projects)
    if desk.args.html:
        _write(desk, found)
    elif desk.args.check:
        _show_limits(desk, found)
    else:
        _show(desk, found)
    return 1 if desk.args.check and not found.kept else 0


def _show(desk: Desk, found: Report) -> None:
    from swarmlore.surfaces import render_report

    desk.show(lambda: plain(found), lambda page: render_report.report(found, page, _listed(desk)))


def _listed(desk: Desk) -> int:
    """How many memories of each sort are listed."""
    from swarmlore.surfaces.render_report import LISTED

    return LISTED if desk.args.limit is None else int(desk.args.limit)


def _show_limits(desk: Desk, found: Report) -> None:
    from swarmlore.surfaces import render_report

    desk.show(
        lambda: {"kept": found.kept, "limits": plain(found.limits)},
        lambda page: render_report.check(found, page, _listed(desk)),
    )


def _may_write(desk: Desk, path: str) -> None:
    """Ask before the work whether a file that is there may be overwritten."""
    if not desk.args.yes and desk.can_ask and os.path.isfile(path):
        desk.confirm(f"{path} is there already. Overwrite it?")
        desk.args.yes = True


def _write(desk: Desk, found: Report) -> None:
    from swarmlore.exchange.import_files import write_lines
    from swarmlore.surfaces import render_report, render_report_html

    path = desk.args.html
    write_lines(path, lambda: iter(render_report_html.lines(found)), overwrite=desk.args.yes, private=True)
    desk.show(lambda: {"file": path, "kept": found.kept}, lambda page: render_report.written(path, page))
    if desk.args.check and not desk.json:
        _show_limits(desk, found)
