"""forget: hide a memory or a whole origin; with --erase, for good."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from swarmlore.domain.json_codec import plain
from swarmlore.domain.records import Memory
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk

if TYPE_CHECKING:
    from swarmlore.lore import Lore

EXAMPLES = ("swarmlore forget 3f9a2c", "swarmlore forget 3f9a2c --erase", "swarmlore forget --session 0190-abcd")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", nargs="?", default="", metavar="REF", help="a handle, an id, or the beginning of one")
    parser.add_argument("--session", default="", metavar="ID", help="everything from one session")
    parser.add_argument("--source", default="", metavar="NAME", help="everything from one source, such as import")
    parser.add_argument("--erase", action="store_true", help="remove every trace; this cannot be undone")
    parser.add_argument("--yes", action="store_true", help="erase without asking")


def run(desk: Desk) -> int:
    args = desk.args
    if sum(map(bool, (args.ref, args.session, args.source))) != 1:
        raise InvalidInput("name one thing to forget", "swarmlore forget REF, or --session ID, or --source NAME")
    with desk.open() as lore:
        if args.erase:
            desk.confirm(_question(lore, args))
        files = _files(lore, args.ref) if args.erase and args.ref else []  # while it is known which they are
        proposals = lore.count_proposals(args.session, erase=args.erase) if args.session else 0
        gone = _forget(lore, args)
        backups = _holding(lore.backups_holding, gone) if args.erase else []
        commits = _holding(lore.commits_holding, gone) if args.erase else []
        files = sorted({*files, *_left(lore, gone)}) if args.erase else []
        if args.erase and desk.asks_server:
            desk.note("backups and repositories on the server's machine may still hold it")
        left = {"backups": backups, "commits": commits, "files": files}
        return desk.show(
            lambda: {"forgotten": plain(gone), "erased": args.erase, "proposals": proposals, **left},
            lambda page: render.forgotten(gone, left, page, erased=args.erase, proposals=proposals),
        )


def _forget(lore: Lore, args: argparse.Namespace) -> tuple[Memory, ...]:
    if args.ref:
        return (lore.forget(args.ref, erase=args.erase),)
    return lore.forget_origin(session=args.session, source=args.source, erase=args.erase)


def _question(lore: Lore, args: argparse.Namespace) -> str:
    if args.ref:
        memory = lore.get(args.ref)
        return f"Erase {memory.handle} for good?\n  {memory.text}\n"
    return f"Erase everything from {args.session or args.source} for good?"


def _holding(look: Callable[[str], Sequence[str]], gone: Sequence[Memory]) -> list[str]:
    """Where any of them still is, as far as erasing does not reach."""
    return sorted({place for memory in gone for place in look(memory.id)})


def _files(lore: Lore, ref: str) -> tuple[str, ...]:
    """The files of a note and of its copies: what people own is theirs to change."""
    return lore.notes.files_of(lore.get(ref))


def _left(lore: Lore, gone: Sequence[Memory]) -> list[str]:
    """The notes that still say it."""
    paths = {lore.notes.path_of(memory) for memory in gone if memory.source == "note"}
    return sorted(path for path in paths if os.path.lexists(path))
