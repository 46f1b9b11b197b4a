"""learnings ingest: what agent clients remember by themselves, as notes for every project."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.notes.project_memory.client_memory import CLIENTS
from swarmlore.surfaces import render_context
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import chosen


def ingest_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--client", action="append", metavar="NAME",
                        help="whose memories: " + ", ".join(CLIENTS) + "; repeat it, or use commas")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")


def run_ingest(desk: Desk) -> int:
    clients = chosen("--client", desk.args.client, CLIENTS)
    with desk.open() as lore, desk.progress("reading memories") as progress:
        told = lore.context.ingest(clients, dry_run=desk.args.dry_run, progress=progress)
    return desk.show(lambda: plain(told), lambda page: render_context.ingested(told, page))
