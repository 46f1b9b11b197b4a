"""research: one question to all that is known here, and one report."""

from __future__ import annotations

import argparse
import os

from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import place
from swarmlore.surfaces.cli.reading import given_text

if TYPE_CHECKING:
    from swarmlore.research.report import Report

EXAMPLES = (
    'swarmlore research "how are secrets redacted?"',
    'swarmlore research --no-save "where are lock files read?"',
    'swarmlore research --web --output report.md "why does block_on panic?"',
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", nargs="+", metavar="QUESTION", help="what to find out; - reads standard input")
    parser.add_argument("--web", action="store_true", help="ask the web too, by the command research.web_command")
    parser.add_argument("--output", default="", metavar="FILE", help="write the report there instead of research/")
    parser.add_argument("--save", action="store_true", help="keep the report even where nothing answers")
    parser.add_argument("--no-save", action="store_true", help="only show the report")
    parser.add_argument("--limit", type=place, default=8, metavar="N", help="findings of each source (8)")


def run(desk: Desk) -> int:
    from swarmlore.surfaces import render_research

    output = desk.args.output
    given = [name for name in ("output", "save", "no_save") if getattr(desk.args, name)]
    if len(given) > 1:
        named = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise InvalidInput(f"{named} were given together", "give one of them")
    if output and os.path.lexists(output):
        raise InvalidInput(f"{output} is there already", "name another file")
    question = given_text(desk.args.question)
    keep = False if output or desk.args.no_save else desk.args.save or None
    with desk.open() as lore:
        with desk.progress("researching") as progress:
            report = lore.research(question, limit=desk.args.limit, web=desk.args.web, save=keep, progress=progress)
        if output:
            report = _write(report, output)
    return desk.show(lambda: plain(report), lambda page: render_research.report(report, page))


def _write(report: Report, path: str) -> Report:
    from swarmlore.exchange.import_files import write_lines
    from swarmlore.research.report import page

    text = page(report).encode("utf-8", "backslashreplace")
    write_lines(path, lambda: iter([text]))
    return replace(report, file=path)
