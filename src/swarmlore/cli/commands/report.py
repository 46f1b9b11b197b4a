"""Commands `report`, `receipts` and `visualize`: figures about the memory, what agents were given, and the graph."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from swarmlore.cli.arguments import count, natural
from swarmlore.cli.console import Console
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
    parser.add_argument("--limit", type=natural, metavar="N", help="memories of each sort on the terminal (5)")
    parser.add_argument("--html", default="", metavar="FILE", help="write one file with plots for a browser")
    parser.add_argument("--yes", action="store_true", help="overwrite a file without asking")
    parser.add_argument("--check", action="store_true", help="only the limits; exit code 1 where one is not kept")


def run_report(console: Console) -> int:
    if console.args.html:
        _may_write(console, console.args.html)
    with console.open() as lore:
        figures = lore.report(console.args.days, all_projects=console.args.all_projects)
    if console.args.html:
        _write(console, figures)
    elif console.args.check:
        _show_limits(console, figures)
    else:
        _show(console, figures)
    return 1 if console.args.check and not figures.kept else 0


def _show(console: Console, figures: Report) -> None:
    from swarmlore.cli.render import report

    console.show(lambda: plain(figures), lambda page: report.report(figures, page, _listed(console)))


def _listed(console: Console) -> int:
    """Return how many memories of each group the report lists on the terminal."""
    from swarmlore.cli.render.report import LISTED

    return LISTED if console.args.limit is None else int(console.args.limit)


def _show_limits(console: Console, figures: Report) -> None:
    from swarmlore.cli.render import report

    console.show(
        lambda: {"kept": figures.kept, "limits": plain(figures.limits)},
        lambda page: report.check(figures, page, _listed(console)),
    )


def _may_write(console: Console, path: str) -> None:
    """Ask whether an existing file may be overwritten; called before the slow work begins."""
    if not console.args.yes and console.can_ask and os.path.isfile(path):
        console.confirm(f"{path} is there already. Overwrite it?")
        console.args.yes = True


def _write(console: Console, figures: Report) -> None:
    from swarmlore.cli.render import report, report_html
    from swarmlore.exchange.import_files import write_lines

    path = console.args.html
    write_lines(path, lambda: iter(report_html.lines(figures)), overwrite=console.args.yes, private=True)
    console.show(lambda: {"file": path, "kept": figures.kept}, lambda page: report.written(path, page))
    if console.args.check and not console.json:
        _show_limits(console, figures)


RECEIPTS_EXAMPLES = ("swarmlore receipts", "swarmlore receipts --session 0190-abcd --limit 5")


def receipts_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", default="", metavar="ID", help="only from this session")
    parser.add_argument("--limit", type=count, default=20, metavar="N", help="at most so many (20)")


def run_receipts(console: Console) -> int:
    with console.open() as lore:
        receipts = lore.receipts(console.args.session, console.args.limit)
        if not receipts and lore.caller.role == "worker":
            console.note("an agent sees its own receipts; a person at a terminal sees all")
        texts = {} if console.json else lore.lesson_lines(_memory_ids(receipts))
    return console.show(lambda: {"receipts": plain(receipts)}, lambda page: memories.receipts(receipts, texts, page))


def _memory_ids(receipts: Sequence[Receipt]) -> list[str]:
    """Return the distinct ids of the memories in receipts."""
    return list(dict.fromkeys(item.memory for receipt in receipts for item in (*receipt.shown, *receipt.cut)))


VISUALIZE_EXAMPLES = ("swarmlore visualize", "swarmlore visualize --output graph.html --open")
FILE = "swarmlore-graph.html"


def visualize_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", default="", metavar="FILE", help=f"where to write it ({FILE})")
    parser.add_argument("--open", action="store_true", help="show it in the browser")
    parser.add_argument("--yes", action="store_true", help="overwrite a file without asking")


def run_visualize(console: Console) -> int:
    path = console.args.output or FILE
    is_default = not console.args.output  # the default file is overwritten each time
    if not is_default:
        _may_write(console, path)
    return _write_graph(console, path, overwrite=is_default or console.args.yes)


def _write_graph(console: Console, path: str, *, overwrite: bool) -> int:
    from swarmlore.cli.render import graph
    from swarmlore.domain.language.display import project_name
    from swarmlore.exchange.import_files import write_lines

    with console.open() as lore:
        picture = lore.graph.picture()
        about = project_name(lore.caller.project) or "this memory"
    write_lines(path, lambda: graph.lines(picture, about), overwrite=overwrite, private=True)
    counts = {"entities": len(picture.nodes), "connections": len(picture.lines), "memories": len(picture.notes)}
    console.show(lambda: {"file": path, **counts}, lambda page: graph.written(path, counts, page))
    if console.args.open:
        _open(console, path)
    return 0


def _open(console: Console, path: str) -> None:
    import pathlib
    import webbrowser

    if not webbrowser.open(pathlib.Path(path).resolve().as_uri()):
        console.note(f"no browser was found; open {path} yourself")
