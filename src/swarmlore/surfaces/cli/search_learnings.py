"""search-learnings: notes found by reading their files. Needs neither a store nor a model nor settings."""

from __future__ import annotations

import argparse
import os

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_notes
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import count

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.notes.file_search import ScannedNote

EXAMPLES = (
    'swarmlore search-learnings "tokio panic"',
    'swarmlore search-learnings "block_on" -c debugging-sessions -t rust -f full',
    'swarmlore search-learnings "sqlx" -d ~/.learnings/documents -f json',
)
MIXED = True
FORMATS = ("full", "summary", "json")
FOLDER = os.path.join("docs", "solutions")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", metavar="QUERY", help="words to look for; any of them counts")
    parser.add_argument("-d", "--dir", metavar="PATH", help=f"the folder to search ({FOLDER})")
    parser.add_argument("-c", "--category", default="", metavar="CAT", help="only this category: a folder or a field")
    parser.add_argument(
        "-t",
        "--tag",
        action="append",
        default=[],
        metavar="TAG",
        help="only with this tag, or one that a pattern fits; repeat it",
    )
    parser.add_argument("-l", "--limit", type=count, default=10, metavar="N", help="notes at most (10)")
    parser.add_argument("-f", "--format", choices=FORMATS, default="summary", metavar="FORMAT",
                        help="full, summary (default) or json")  # fmt: skip


def run(desk: Desk) -> int:
    args = desk.args
    query = " ".join(args.query).strip()
    if not query:
        raise SwarmloreError("there is nothing to look for", 'ask something: search-learnings "QUERY"')
    folder = os.path.expanduser(args.dir) if args.dir else os.path.join(desk.folder, FOLDER)
    desk.json = desk.json or args.format == "json"
    found = _found(desk, folder, query)
    full = args.format == "full"
    return desk.show(
        lambda: [_document(note) for note in found],
        lambda page: render_notes.full(found, page) if full else render_notes.summary(found, page),
        whole=True,
    )


def _found(desk: Desk, folder: str, query: str) -> list[ScannedNote]:
    from swarmlore.notes.file_search import scan

    if not os.path.isdir(folder):
        desk.note(f"warning: there is no folder {folder}")
        return []
    args = desk.args
    return scan(folder, query, args.category, args.tag, args.limit)


def _document(note: ScannedNote) -> dict[str, Any]:
    return {
        "title": note.title,
        "category": note.category,
        "key_insight": note.key_insight,
        "tags": list(note.tags),
        "file": note.path,
        "score": note.score,
    }
