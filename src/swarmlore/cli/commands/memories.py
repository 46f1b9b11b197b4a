"""Commands on single memories: `get`, `list`, `forget`, `history`, `undo`, `why`, `stale`, `stats`, `confirm`, `rate`,
`quarantine` and `restore`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from swarmlore.cli.arguments import count, items, natural
from swarmlore.cli.console import Console
from swarmlore.cli.render import lifecycle, memories
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


def run_get(console: Console) -> int:
    with console.open() as lore:
        memory = lore.get(console.args.ref)
        cited = lore.cited(memory)
        return console.show(
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
    parser.add_argument("--offset", type=natural, default=0, metavar="N", help="skip the newest so many")


def run_list(console: Console) -> int:
    names = ("tier", "kind", "category", "status", "source", "session", "owner", "limit", "offset")
    wanted = {name: getattr(console.args, name) for name in names}
    wanted["tags"] = items(console.args.tag)
    with console.open() as lore:
        found = lore.list(**wanted)
        console.show(lambda: {"memories": plain(found)}, lambda page: memories.rows(found, page))
        if len(found) == console.args.limit and not console.json:
            _note_the_rest(console, lore, wanted)
    return 0


def _note_the_rest(console: Console, lore: Lore, wanted: dict[str, Any]) -> None:
    """Note on standard error how many memories follow, if the list stopped before its end."""
    shown, offset = console.args.limit, console.args.offset
    if lore.list(**{**wanted, "limit": 1, "offset": offset + shown}):
        console.note(memories.more(shown, lore.count(**wanted), offset))


FORGET_EXAMPLES = ("swarmlore forget 3f9a2c", "swarmlore forget 3f9a2c --erase", "swarmlore forget --session 0190-abcd")


def forget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", nargs="?", default="", metavar="REF", help="a handle, an id, or the beginning of one")
    parser.add_argument("--session", default="", metavar="ID", help="everything from one session")
    parser.add_argument("--source", default="", metavar="NAME", help="everything from one source, such as import")
    parser.add_argument("--erase", action="store_true", help="remove every trace; this cannot be undone")
    parser.add_argument("--yes", action="store_true", help="erase without asking")


def run_forget(console: Console) -> int:
    args = console.args
    if sum(map(bool, (args.ref, args.session, args.source))) != 1:
        raise InvalidInput("name one thing to forget", "swarmlore forget REF, or --session ID, or --source NAME")
    with console.open() as lore:
        if args.erase:
            console.confirm(_question(lore, args))
        files = lore.notes.files_of(lore.get(args.ref)) if args.erase and args.ref else ()  # unknown once it is erased
        proposals = lore.count_proposals(args.session, erase=args.erase) if args.session else 0
        gone = _forget(lore, args)
        backups = _places_of(gone, lore.backups_holding) if args.erase else []
        commits = _places_of(gone, lore.commits_holding) if args.erase else []
        left_files = sorted({*files, *_remaining_notes(lore, gone)}) if args.erase else []
        if args.erase and console.asks_server:
            console.note("backups and repositories on the server's machine may still hold it")
        left = {"backups": backups, "commits": commits, "files": left_files}
        return console.show(
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


def _places_of(gone: Sequence[Memory], places_holding: Callable[[str], Sequence[str]]) -> list[str]:
    """Return the backups or commits that still hold an erased memory; erasing does not change those."""
    return sorted({place for memory in gone for place in places_holding(memory.id)})


def _remaining_notes(lore: Lore, gone: Sequence[Memory]) -> list[str]:
    """Return the note files of erased memories that still exist; people own them, so erasing leaves them."""
    paths = {lore.notes.path_of(memory) for memory in gone if memory.source == "note"}
    return sorted(path for path in paths if os.path.lexists(path))


HISTORY_EXAMPLES = ("swarmlore history 3f9a2c",)


def history_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")


def run_history(console: Console) -> int:
    with console.open() as lore:
        changes = lore.history(console.args.ref)
        return console.show(
            lambda: {"history": [change(row) for row in changes]}, lambda page: memories.history(changes, page)
        )


UNDO_EXAMPLES = ("swarmlore undo", "swarmlore undo 0190b3c4-7d5e-7f60-8a1b-2c3d4e5f6071")


def undo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operation", nargs="?", default="", metavar="OPERATION", help="its id, as history shows it")


def run_undo(console: Console) -> int:
    with console.open() as lore:
        reverted = lore.undo(console.args.operation)
        return console.show(
            lambda: {"reverted": plain(reverted), "operation": reverted.operation},
            lambda page: memories.undone(reverted, reverted.operation, page),
        )


WHY_EXAMPLES = ("swarmlore why 3f9a2c",)


def why_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")


def run_why(console: Console) -> int:
    with console.open() as lore:
        found = lore.why(console.args.ref)
        return console.show(lambda: plain(found), lambda page: lifecycle.why(found, page))


STALE_EXAMPLES = ("swarmlore stale", "swarmlore stale --all", "swarmlore stale --follow")


def stale_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also those whose code has only moved")
    parser.add_argument("--follow", action="store_true", help="record the new lines of code that has moved")


def run_stale(console: Console) -> int:
    with console.open() as lore:
        if console.args.follow:
            followed = lore.follow()
            return console.show(lambda: {"followed": plain(followed)}, lambda page: memories.followed(followed, page))
        with console.progress("checking") as progress:
            found = lore.stale(moved=console.args.all, progress=progress)
        return console.show(lambda: {"stale": plain(found)}, lambda page: memories.stale(found, page), whole=True)


STATS_EXAMPLES = ("swarmlore stats", "swarmlore stats --json")


def stats_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the command takes only the shared options."""


def run_stats(console: Console) -> int:
    with console.open() as lore:
        counts = lore.stats()
        return console.show(lambda: counts, lambda page: memories.stats(counts, page))


CONFIRM_EXAMPLES = ("swarmlore confirm 3f9a2c",)


def confirm_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")
    parser.add_argument(
        "--session", default="", metavar="ID", help="who confirms: what this session was shown does not count"
    )


def run_confirm(console: Console) -> int:
    with console.open() as lore:
        told = lore.confirm(console.args.ref, console.args.session)
        return console.show(
            lambda: {"memory": plain(told.memory), "counted": bool(told.operation), "reason": told.reason},
            lambda page: lifecycle.confirmed(told, page),
        )


RATE_EXAMPLES = ("swarmlore rate 3f9a2c --helpful", "swarmlore rate 3f9a2c --harmful")


def rate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--helpful", action="store_true", help="it helped: its feedback score is multiplied by 1.1")
    how.add_argument("--harmful", action="store_true", help="it misled: its feedback score is halved")


def run_rate(console: Console) -> int:
    with console.open() as lore:
        memory = lore.rate(console.args.ref, helpful=console.args.helpful)
        return console.show(
            lambda: {"memory": plain(memory), "helpful": console.args.helpful},
            lambda page: lifecycle.rated(memory, console.args.helpful, page),
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


def run_quarantine(console: Console) -> int:
    if bool(console.args.ref) == (console.args.saying is not None):
        raise InvalidInput("name one memory, or what it says", "swarmlore quarantine REF, or --saying TEXT")
    if console.args.saying is not None:
        return _retract(console)
    with console.open() as lore:
        memory = lore.quarantine(console.args.ref, console.args.reason)
        return console.show(lambda: {"memory": plain(memory)}, lambda page: lifecycle.quarantined(memory, page))


def _retract(console: Console) -> int:
    with console.open() as lore:
        retracted = lore.retract(console.args.saying)
    if not retracted:
        hint = "the words must be the same, apart from case and punctuation: swarmlore recall shows what is known"
        raise NotFound("no lesson that you may change says that", hint)
    return console.show(lambda: {"memories": plain(retracted)}, lambda page: lifecycle.all_quarantined(retracted, page))


RESTORE_EXAMPLES = ("swarmlore restore 3f9a2c",)


def restore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a handle, an id, or the beginning of one")


def run_restore(console: Console) -> int:
    with console.open() as lore:
        memory = lore.restore(console.args.ref)
        return console.show(lambda: {"memory": plain(memory)}, lambda page: lifecycle.restored(memory, page))
