"""import: take in a file of lessons, from where an interrupted import of it stopped."""

from __future__ import annotations

import argparse

from swarmlore.surfaces import render_files
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.documents import UNITS, plain

FORMATS = (
    "auto",
    "knowledge",
    "shared",
    "legacy-hive",
    "retractions",
    "notes",
    "instincts",
    "memory-md",
    "auto-memory",
)
EXAMPLES = (
    "swarmlore import .swarm/knowledge.jsonl",
    "swarmlore import ~/.local/share/opencode-swarm/shared-learnings.jsonl",
    "swarmlore import old.jsonl --format legacy-hive",
    "swarmlore import ../other/docs/solutions",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="lines of JSON, one record each; or notes, instincts, a memory file, a folder of them",
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="auto", metavar="FORMAT", help="one of: " + ", ".join(FORMATS)
    )


def run(desk: Desk) -> int:
    from swarmlore.bringing import kind_of

    with desk.open() as lore, desk.progress("importing") as progress:
        try:
            brought = lore.import_file(desk.args.file, desk.args.format, progress)
        except KeyboardInterrupt:
            desk.note("stopped; the same command goes on from here")
            raise
    document = {
        **plain(brought),
        "refusals": [{"line": line, "reason": why} for line, why in brought.refusals],
        "hidden_by": [{"operation": operation, "count": count} for operation, count in brought.hidden_by],
    }
    unit = UNITS.get(kind_of(desk.args.file, desk.args.format), "line")
    return desk.show(lambda: document, lambda page: render_files.brought(brought, page, unit))
