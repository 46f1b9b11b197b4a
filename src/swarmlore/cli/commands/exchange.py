"""Commands `trust`, `init`, `sync`, `import`, `export` and `merge-driver`: exchange of memories through files."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from swarmlore.cli.console import Console
from swarmlore.cli.render import files
from swarmlore.domain.json_codec import UNITS, plain
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.lore import Lore


TRUST_EXAMPLES = ("swarmlore trust", "swarmlore trust ~/work/shop", "swarmlore trust --no", "swarmlore trust --hive")


def trust_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="a folder of the project; else this one")
    parser.add_argument("--no", action="store_true", help="take the agreement back; memories and files stay")
    parser.add_argument("--hive", action="store_true", help="the hive's file shared-learnings.jsonl in the home")
    parser.add_argument("--yes", action="store_true", help="agree without being asked")


def run_trust(console: Console) -> int:
    if console.args.path:
        path = os.path.expanduser(console.args.path)
        if not os.path.isdir(path):
            raise InvalidInput(f"{path} is not a folder", "name a folder of the project")
        console.args.project = path
    with console.open() as lore:
        on = not console.args.no
        if on:
            _confirm_trust(console, lore)
        done = lore.trust(on=on, hive=console.args.hive)
        root = lore.home if console.args.hive else lore.project.root
    return console.show(
        lambda: {
            "root": root,
            "trusted": on,
            "changed": done.changed,
            "synced": files.document(done.synced),
            "driver": done.driver,
        },
        lambda page: files.trusted(root, page, done, on=on),
    )


def _confirm_trust(console: Console, lore: Lore) -> None:
    """Ask whether to trust the repository; a person at a terminal agrees by typing the command."""
    if lore.caller.role != "person":
        console.confirm(f"Exchange memories with the files of {lore.project.root}?")


INIT_EXAMPLES = ("swarmlore init", "swarmlore init --dry-run")


def init_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")
    parser.add_argument("--yes", action="store_true", help="agree without being asked")


def run_init(console: Console) -> int:
    with console.open() as lore:
        if not console.args.dry_run:
            _confirm_trust(console, lore)
        founded = lore.init(dry_run=console.args.dry_run)
    return console.show(
        lambda: {"root": founded.root, "steps": plain(founded.steps), "synced": files.document(founded.synced)},
        lambda page: files.founded(founded, page),
    )


SYNC_EXAMPLES = ("swarmlore sync", "swarmlore sync --json")


def sync_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the command takes only the shared options."""


def run_sync(console: Console) -> int:
    with console.open() as lore:
        done = lore.sync()
    return console.show(
        lambda: {"files": [{"file": path, **(files.document(synced) or {})} for path, synced in done.items()]},
        lambda page: files.synced(done, page),
    )


IMPORT_FORMATS = (
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
IMPORT_EXAMPLES = (
    "swarmlore import .swarm/knowledge.jsonl",
    "swarmlore import ~/.local/share/opencode-swarm/shared-learnings.jsonl",
    "swarmlore import old.jsonl --format legacy-hive",
    "swarmlore import ../other/docs/solutions",
    "swarmlore import ~/.config/swarm-tools/swarm.db",
    "swarmlore import agent-swarm.sqlite --format agent-swarm",
)


def import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="lines of JSON, one record each; or notes, instincts, a memory file, a folder of them; or the memories of "
        "another program: lines, a JSON document or an SQLite file",
    )
    parser.add_argument(
        "--format",
        choices=IMPORT_FORMATS,
        default="auto",
        metavar="FORMAT",
        help="one of: " + ", ".join(IMPORT_FORMATS),
    )


def run_import(console: Console) -> int:
    from swarmlore.notes.project_memory.transfer import kind_of

    with console.open() as lore, console.progress("importing") as progress:
        try:
            brought = lore.import_file(console.args.file, console.args.format, progress)
        except KeyboardInterrupt:
            console.note("stopped; the same command goes on from here")
            raise
    document = {
        **plain(brought),
        "resumed_at": brought.resumed_at,  # a line number, which `plain` would take for a time
        "refusals": [{"line": line, "reason": why} for line, why in brought.refusals],
        "hidden_by": [{"operation": operation, "count": count} for operation, count in brought.hidden_by],
    }
    kind = brought.format or kind_of(console.args.file, console.args.format)
    unit = {**UNITS, **FOREIGN_UNITS}.get(kind, "line")
    return console.show(lambda: document, lambda page: files.brought(brought, page, unit))


EXPORT_FORMATS = (
    *("knowledge", "shared", "notes", "instincts", "memory-md", "auto-memory"),
    *("lane", "lane-db", "agent-swarm", "mcp-memory", "mem0"),
)
FOLDERS = ("notes", "auto-memory")
EXPORT_EXAMPLES = (
    "swarmlore export lessons.jsonl",
    "swarmlore export --format shared > hive.jsonl",
    "swarmlore export --format notes ./notes",
    "swarmlore export --format instincts instincts.yaml",
    "swarmlore export --format lane .hive/memories.jsonl",
    "swarmlore export --format agent-swarm memory.sqlite --private",
)


def export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="", metavar="FILE",
                        help="else, or with -, standard output; for notes and auto-memory a folder")  # fmt: skip
    parser.add_argument(
        "--format",
        choices=EXPORT_FORMATS,
        default="knowledge",
        metavar="FORMAT",
        help="knowledge (this project, default), shared (the hive), notes, instincts, memory-md or auto-memory; for "
        "other programs lane, lane-db, agent-swarm, mcp-memory or mem0",
    )
    parser.add_argument("--private", action="store_true", help="with your own private memories (agent-swarm only)")
    parser.add_argument("--yes", action="store_true", help="overwrite without asking")


def run_export(console: Console) -> int:
    path, format = console.args.file, console.args.format
    with console.open() as lore:
        if path in ("", "-"):
            return _print(console, lore.export_lines(format, private=console.args.private))
        overwrite = console.args.yes
        if not overwrite and console.can_ask and _exists(path, format):
            console.confirm(f"{path} is there already. Overwrite it?")
            overwrite = True
        count = lore.export_file(path, format, overwrite=overwrite, private=console.args.private)
    return console.show(
        lambda: {"file": path, "count": count},
        lambda page: files.exported(path, count, page, UNITS.get(format, "")),
    )


def _exists(path: str, format: str) -> bool:
    """Whether an export would overwrite something: a file, or for folder formats a folder that is not empty."""
    if format in FOLDERS:
        return os.path.isdir(path) and bool(os.listdir(path))
    return os.path.isfile(path)


def _print(console: Console, lines: Iterator[bytes]) -> int:
    if console.json:
        return console.show(lambda: {"lines": [line.decode() for line in lines]}, lambda _: "")
    for line in lines:
        sys.stdout.buffer.write(line)
    return 0


MERGE_DRIVER_EXAMPLES = ("swarmlore merge-driver base ours theirs .swarm/knowledge.jsonl",)


def merge_driver_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("base", metavar="BASE", help="the common ancestor; not needed, but git gives it")
    parser.add_argument("ours", metavar="OURS", help="our version; the result is written there")
    parser.add_argument("theirs", metavar="THEIRS", help="the other version")
    parser.add_argument("name", metavar="NAME", nargs="?", default="", help="the file's name in the repository")


def run_merge_driver(console: Console) -> int:
    from swarmlore.exchange.merge_driver import merge_files

    count = merge_files(console.args.ours, console.args.theirs, console.args.name)
    return console.show(lambda: {"lines": count}, lambda _: "")
