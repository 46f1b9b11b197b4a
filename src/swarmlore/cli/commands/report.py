"""visualize: the graph of what memories mention, as one file for a browser."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from swarmlore.cli.arguments import count, place
from swarmlore.cli.console import Desk
from swarmlore.cli.render import memories
from swarmlore.domain.json_codec import plain
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.domain.records import Receipt
    from swarmlore.memory.report import Report


REPORT_EXAMPLES = (
    "swarmlore report",
    "swarmlore report --days 30 --html report.html",
    "swarmlore report --check",
    "swarmlore report --all-projects --json",
)


def report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", type=count, default=0, metavar="N", help="look back so far; else to the beginning")
    parser.add_argument("--all-projects", action="store_true", help="every project of this memory; for a person")
    parser.add_argument("--limit", type=place, metavar="N", help="memories of each sort on the terminal (5)")
    parser.add_argument("--html", default="", metavar="FILE", help="write one file with plots for a browser")
    parser.add_argument("--yes", action="store_true", help="overwrite a file without asking")
    parser.add_argument("--check", action="store_true", help="only the limits; exit code 1 where one is not kept")


def run_report(desk: Desk) -> int:
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
    from swarmlore.cli.render import report

    desk.show(lambda: plain(found), lambda page: report.report(found, page, _listed(desk)))


def _listed(desk: Desk) -> int:
    """How many memories of each sort are listed."""
    from swarmlore.cli.render.report import LISTED

    return LISTED if desk.args.limit is None else int(desk.args.limit)


def _show_limits(desk: Desk, found: Report) -> None:
    from swarmlore.cli.render import report

    desk.show(
        lambda: {"kept": found.kept, "limits": plain(found.limits)},
        lambda page: report.check(found, page, _listed(desk)),
    )


def _may_write(desk: Desk, path: str) -> None:
    """Ask before the work whether a file that is there may be overwritten."""
    if not desk.args.yes and desk.can_ask and os.path.isfile(path):
        desk.confirm(f"{path} is there already. Overwrite it?")
        desk.args.yes = True


def _write(desk: Desk, found: Report) -> None:
    from swarmlore.cli.render import report, report_html
    from swarmlore.exchange.import_files import write_lines

    path = desk.args.html
    write_lines(path, lambda: iter(report_html.lines(found)), overwrite=desk.args.yes, private=True)
    desk.show(lambda: {"file": path, "kept": found.kept}, lambda page: report.written(path, page))
    if desk.args.check and not desk.json:
        _show_limits(desk, found)


RECEIPTS_EXAMPLES = ("swarmlore receipts", "swarmlore receipts --session 0190-abcd --limit 5")


def receipts_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", default="", metavar="ID", help="only from this session")
    parser.add_argument("--limit", type=count, default=20, metavar="N", help="at most so many (20)")


def run_receipts(desk: Desk) -> int:
    with desk.open() as lore:
        found = lore.receipts(desk.args.session, desk.args.limit)
        if not found and lore.caller.role == "worker":
            desk.note("an agent sees its own receipts; a person at a terminal sees all")
        texts = {} if desk.json else lore.lesson_lines(_named(found))
    return desk.show(lambda: {"receipts": plain(found)}, lambda page: memories.receipts(found, texts, page))


def _named(found: Sequence[Receipt]) -> list[str]:
    """The ids of the memories in receipts."""
    return list(dict.fromkeys(item.memory for receipt in found for item in (*receipt.shown, *receipt.cut)))


VISUALIZE_EXAMPLES = ("swarmlore visualize", "swarmlore visualize --output graph.html --open")
FILE = "swarmlore-graph.html"


def visualize_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", default="", metavar="FILE", help=f"where to write it ({FILE})")
    parser.add_argument("--open", action="store_true", help="show it in the browser")
    parser.add_argument("--yes", action="store_true", help="overwrite a file without asking")


def run_visualize(desk: Desk) -> int:
    path = desk.args.output or FILE
    ours = not desk.args.output  # the usual file is made anew each time
    if not (ours or desk.args.yes) and desk.can_ask and os.path.isfile(path):
        desk.confirm(f"{path} is there already. Overwrite it?")
        desk.args.yes = True
    return write(desk, path, overwrite=ours or desk.args.yes)


def write(desk: Desk, path: str, *, overwrite: bool) -> int:
    """Write the file and say so."""
    from swarmlore.cli.render import graph
    from swarmlore.domain.language.display import project_name
    from swarmlore.exchange.import_files import write_lines

    with desk.open() as lore:
        shown = lore.graph.picture()
        about = project_name(lore.caller.project) or "this memory"
    write_lines(path, lambda: graph.lines(shown, about), overwrite=overwrite, private=True)
    counts = {"entities": len(shown.nodes), "connections": len(shown.lines), "memories": len(shown.notes)}
    desk.show(lambda: {"file": path, **counts}, lambda page: graph.written(path, counts, page))
    if desk.args.open:
        _open(desk, path)
    return 0


def _open(desk: Desk, path: str) -> None:
    import pathlib
    import webbrowser

    if not webbrowser.open(pathlib.Path(path).resolve().as_uri()):
        desk.note(f"no browser was found; open {path} yourself")
