"""export: write the project's lessons, or those of the hive, to a file or to standard output."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from swarmlore.domain.json_codec import UNITS
from swarmlore.surfaces import render_files
from swarmlore.surfaces.cli.desk import Desk

FORMATS = (
    *("knowledge", "shared", "notes", "instincts", "memory-md", "auto-memory"),
    *("lane", "lane-db", "agent-swarm", "mcp-memory", "mem0"),
)
FOLDERS = ("notes", "auto-memory")
EXAMPLES = (
    "swarmlore export lessons.jsonl",
    "swarmlore export --format shared > hive.jsonl",
    "swarmlore export --format notes ./notes",
    "swarmlore export --format instincts instincts.yaml",
    "swarmlore export --format lane .hive/memories.jsonl",
    "swarmlore export --format agent-swarm memory.sqlite --private",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="", metavar="FILE",
                        help="else, or with -, standard output; for notes and auto-memory a folder")  # fmt: skip
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="knowledge",
        metavar="FORMAT",
        help="knowledge (this project, default), shared (the hive), notes, instincts, memory-md or auto-memory; for "
        "other programs lane, lane-db, agent-swarm, mcp-memory or mem0",
    )
    parser.add_argument("--private", action="store_true", help="with your own private memories (agent-swarm only)")
    parser.add_argument("--yes", action="store_true", help="overwrite without asking")


def run(desk: Desk) -> int:
    path, format = desk.args.file, desk.args.format
    with desk.open() as lore:
        if path in ("", "-"):
            return _print(desk, lore.export_lines(format, private=desk.args.private))
        overwrite = desk.args.yes
        if not overwrite and desk.can_ask and _is_taken(path, format):
            desk.confirm(f"{path} is there already. Overwrite it?")
            overwrite = True
        count = lore.export_file(path, format, overwrite=overwrite, private=desk.args.private)
    return desk.show(
        lambda: {"file": path, "count": count},
        lambda page: render_files.exported(path, count, page, UNITS.get(format, "")),
    )


def _is_taken(path: str, format: str) -> bool:
    if format in FOLDERS:
        return os.path.isdir(path) and bool(os.listdir(path))
    return os.path.isfile(path)


def _print(desk: Desk, lines: Iterator[bytes]) -> int:
    if desk.json:
        return desk.show(lambda: {"lines": [line.decode() for line in lines]}, lambda _: "")
    for line in lines:
        sys.stdout.buffer.write(line)
    return 0
