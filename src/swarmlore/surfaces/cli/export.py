"""export: write the project's lessons, or those of the hive, to a file or to standard output."""

from __future__ import annotations

import argparse
import sys

from swarmlore.surfaces import render_files
from swarmlore.surfaces.cli.desk import Desk

FORMATS = ("knowledge", "shared")
EXAMPLES = ("swarmlore export lessons.jsonl", "swarmlore export --format shared > hive.jsonl")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="", metavar="FILE", help="else standard output")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="knowledge",
        metavar="FORMAT",
        help="knowledge (this project, default) or shared (the hive)",
    )


def run(desk: Desk) -> int:
    with desk.open() as lore:
        if not desk.args.file and not desk.json:
            for line in lore.export_lines(desk.args.format):
                sys.stdout.buffer.write(line)
            return 0
        if not desk.args.file:
            lines = [line.decode() for line in lore.export_lines(desk.args.format)]
            return desk.show(lambda: {"lines": lines}, lambda _: "")
        count = lore.export_file(desk.args.file, desk.args.format)
    return desk.show(
        lambda: {"file": desk.args.file, "count": count},
        lambda page: render_files.exported(desk.args.file, count, page),
    )
