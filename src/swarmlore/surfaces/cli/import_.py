"""import: take in a file of lessons or of another program's memories, from where an interrupted import stopped."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import UNITS, plain
from swarmlore.surfaces import render_files
from swarmlore.surfaces.cli.desk import Desk

FORMATS = (
    "auto",
    "knowledge",
    "shared",
    "legacy-hive",
    "retractions",
    "lane",
    "lane-db",
    "agent-swarm",
    "mcp-memory",
    "mem0",
    "notes",
    "instincts",
    "memory-md",
    "auto-memory",
)
FOREIGN_UNITS = {"lane-db": "row", "agent-swarm": "row", "mem0": "record"}
EXAMPLES = (
    "swarmlore import .swarm/knowledge.jsonl",
    "swarmlore import ~/.local/share/opencode-swarm/shared-learnings.jsonl",
    "swarmlore import old.jsonl --format legacy-hive",
    "swarmlore import ../other/docs/solutions",
    "swarmlore import ~/.config/swarm-tools/swarm.db",
    "swarmlore import agent-swarm.sqlite --format agent-swarm",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="lines of JSON, one record each; or notes, instincts, a memory file, a folder of them; or the memories of "
        "another program: lines, a JSON document or an SQLite file",
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="auto", metavar="FORMAT", help="one of: " + ", ".join(FORMATS)
    )


def run(desk: Desk) -> int:
    from swarmlore.notes.project_memory.transfer import kind_of

    with desk.open() as lore, desk.progress("importing") as progress:
        try:
            brought = lore.import_file(desk.args.file, desk.args.format, progress)
        except KeyboardInterrupt:
            desk.note("stopped; the same command goes on from here")
            raise
    document = {
        **plain(brought),
        "resumed_at": brought.resumed_at,  # the number of a line, and no time
        "refusals": [{"line": line, "reason": why} for line, why in brought.refusals],
        "hidden_by": [{"operation": operation, "count": count} for operation, count in brought.hidden_by],
    }
    kind = brought.format or kind_of(desk.args.file, desk.args.format)
    unit = {**UNITS, **FOREIGN_UNITS}.get(kind, "line")
    return desk.show(lambda: document, lambda page: render_files.brought(brought, page, unit))
