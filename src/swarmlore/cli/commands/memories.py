"""restore: bring a memory back from quarantine or the archive."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from swarmlore.cli.arguments import count, items, place
from swarmlore.cli.console import Desk
from swarmlore.cli.render import lifecycle, memories
from swarmlore.cli.render import memories as render
from swarmlore.domain.json_codec import change, plain
from swarmlore.domain.records import KINDS, LISTED_STATUSES, SOURCES, TIERS, Memory
from swarmlore.errors import InvalidInput, NotFound
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore


GET_EXAMPLES = ("swarmlore get 3f9a2c", "swarmlore get 3f9a2c --json")


def get_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")


def run_get(desk: Desk) -> int:
    with desk.open() as lore:
        memory = lore.get(desk.args.ref)
        cited = lore.cited(memory)
        return desk.show(
            lambda: {**plain(memory), "cited": plain(cited)}, lambda page: memories.card(memory, page, cited)
        )


LIST_EXAMPLES = (
    "swarmlore list --tag testing",
    "swarmlore list --status forgotten",
    "swarmlore list --limit 100 --offset 100 --json",
)


def list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tier", choices=TIERS, default="", metavar="TIER", help="one of: " + ", ".join(TIERS))
    parser.add_argument("--kind", choices=KINDS, default="", metavar="KIND", help="one of: " + ", ".join(KINDS))
    parser.add_argument("--category", default="", metavar="TOPIC", help="only this category")
    parser.add_argument("--tag", action="append", metavar="TAG", help="with all of these; repeat, or use commas")
    parser.add_argument("--status", choices=LISTED_STATUSES, default="", metavar="STATUS",
                        help="what is live when not given; one of: " + ", ".join(LISTED_STATUSES))  # fmt: skip
    parser.add_argument("--source", choices=SOURCES, default="", metavar="SOURCE", help="only from this source")
    parser.add_argument("--session", default="", metavar="ID", help="only from this session")
    parser.add_argument("--owner", default="", metavar="AGENT", help="only by this agent")
    parser.add_argument("--limit", type=count, default=20, metavar="N", help="at most so many (20)")
    parser.add_argument("--offset", type=place, default=0, metavar="N", help="skip the newest so many")


def run_list(desk: Desk) -> int:
    names = ("tier", "kind", "category", "status", "source", "session", "owner", "limit", "offset")
    wanted = {name: getattr(desk.args, name) for name in names}
    wanted["tags"] = items(desk.args.tag)
    with desk.open() as lore:
        memories = lore.list(**wanted)
        desk.show(lambda: {"memories": plain(memories)}, lambda page: render.rows(memories, page))
        if len(memories) == desk.args.limit and not desk.json:
            _say_what_is_left(desk, lore, wanted)
    return 0


def _say_what_is_left(desk: Desk, lore: Lore, wanted: dict[str, Any]) -> None:
    """A list that stops before the end says so, beside the answer."""
    shown, offset = desk.args.limit, desk.args.offset
    if lore.list(**{**wanted, "limit": 1, "offset": offset + shown}):
        desk.note(render.more(shown, lore.count(**wanted), offset))


FORGET_EXAMPLES = ("swarmlore forget 3f9a2c", "swarmlore forget 3f9a2c --erase", "swarmlore forget --session 0190-abcd")


def forget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", nargs="?", default="", metavar="REF", help="a handle, an id, or the beginning of one")
    parser.add_argument("--session", default="", metavar="ID", help="everything from one session")
    parser.add_argument("--source", default="", metavar="NAME", help="everything from one source, such as import")
    parser.add_argument("--erase", action="store_true", help="remove every trace; this cannot be undone")
    parser.add_argument("--yes", action="store_true", help="erase without asking")


def run_forget(desk: Desk) -> int:
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
            lambda page: memories.forgotten(gone, left, page, erased=args.erase, proposals=proposals),
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


HISTORY_EXAMPLES = ("swarmlore history 3f9a2c",)


def history_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")


def run_history(desk: Desk) -> int:
    with desk.open() as lore:
        changes = lore.history(desk.args.ref)
        return desk.show(
            lambda: {"history": [change(row) for row in changes]}, lambda page: memories.history(changes, page)
        )


UNDO_EXAMPLES = ("swarmlore undo", "swarmlore undo 0190b3c4-7d5e-7f60-8a1b-2c3d4e5f6071")


def undo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operation", nargs="?", default="", metavar="OPERATION", help="its id, as history shows it")


def run_undo(desk: Desk) -> int:
    with desk.open() as lore:
        reverted = lore.undo(desk.args.operation)
        return desk.show(
            lambda: {"reverted": plain(reverted), "operation": reverted.operation},
            lambda page: memories.undone(reverted, reverted.operation, page),
        )


WHY_EXAMPLES = ("swarmlore why 3f9a2c",)


def why_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")


def run_why(desk: Desk) -> int:
    with desk.open() as lore:
        found = lore.why(desk.args.ref)
        return desk.show(lambda: plain(found), lambda page: lifecycle.why(found, page))


STALE_EXAMPLES = ("swarmlore stale", "swarmlore stale --all", "swarmlore stale --follow")


def stale_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also those whose code has only moved")
    parser.add_argument("--follow", action="store_true", help="record the new lines of code that has moved")


def run_stale(desk: Desk) -> int:
    from swarmlore.cli.render import memories

    with desk.open() as lore:
        if desk.args.follow:
            followed = lore.follow()
            return desk.show(lambda: {"followed": plain(followed)}, lambda page: memories.followed(followed, page))
        with desk.progress("checking") as progress:
            found = lore.stale(moved=desk.args.all, progress=progress)
        return desk.show(lambda: {"stale": plain(found)}, lambda page: memories.stale(found, page), whole=True)


STATS_EXAMPLES = ("swarmlore stats", "swarmlore stats --json")


def stats_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing of its own."""


def run_stats(desk: Desk) -> int:
    with desk.open() as lore:
        counts = lore.stats()
        return desk.show(lambda: counts, lambda page: memories.stats(counts, page))


CONFIRM_EXAMPLES = ("swarmlore confirm 3f9a2c",)


def confirm_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")
    parser.add_argument(
        "--session", default="", metavar="ID", help="who confirms: what this session was shown does not count"
    )


def run_confirm(desk: Desk) -> int:
    with desk.open() as lore:
        told = lore.confirm(desk.args.ref, desk.args.session)
        return desk.show(
            lambda: {"memory": plain(told.memory), "counted": bool(told.operation), "reason": told.reason},
            lambda page: lifecycle.confirmed(told, page),
        )


RATE_EXAMPLES = ("swarmlore rate 3f9a2c --helpful", "swarmlore rate 3f9a2c --harmful")


def rate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--helpful", action="store_true", help="it helped: its feedback score is multiplied by 1.1")
    how.add_argument("--harmful", action="store_true", help="it misled: its feedback score is halved")


def run_rate(desk: Desk) -> int:
    with desk.open() as lore:
        memory = lore.rate(desk.args.ref, helpful=desk.args.helpful)
        return desk.show(
            lambda: {"memory": plain(memory), "helpful": desk.args.helpful},
            lambda page: lifecycle.rated(memory, desk.args.helpful, page),
        )


QUARANTINE_EXAMPLES = (
    'swarmlore quarantine 3f9a2c "holds for the old parser only"',
    'swarmlore quarantine --saying "Use npm for installing"',
)


def quarantine_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", nargs="?", default="", metavar="REF", help="a handle, an id, or the beginning of one")
    parser.add_argument("reason", nargs="?", default="", metavar="REASON", help="why; it stands in the history")
    saying = "instead of REF: take back every lesson of the project and the hive that says exactly this"
    parser.add_argument("--saying", metavar="TEXT", help=saying)


def run_quarantine(desk: Desk) -> int:
    if bool(desk.args.ref) == (desk.args.saying is not None):
        raise InvalidInput("name one memory, or what it says", "swarmlore quarantine REF, or --saying TEXT")
    if desk.args.saying is not None:
        return _retract(desk)
    with desk.open() as lore:
        memory = lore.quarantine(desk.args.ref, desk.args.reason)
        return desk.show(lambda: {"memory": plain(memory)}, lambda page: lifecycle.put_aside(memory, page))


def _retract(desk: Desk) -> int:
    with desk.open() as lore:
        memories = lore.retract(desk.args.saying)
    if not memories:
        hint = "the words must be the same, apart from case and punctuation: swarmlore recall shows what is known"
        raise NotFound("no lesson that you may change says that", hint)
    return desk.show(lambda: {"memories": plain(memories)}, lambda page: lifecycle.all_put_aside(memories, page))


RESTORE_EXAMPLES = ("swarmlore restore 3f9a2c",)


def restore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")


def run_restore(desk: Desk) -> int:
    with desk.open() as lore:
        memory = lore.restore(desk.args.ref)
        return desk.show(lambda: {"memory": plain(memory)}, lambda page: lifecycle.restored(memory, page))
