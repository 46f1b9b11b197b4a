"""recall over LEARNED comments: the lines of `.beads/memory/`, asked and answered as recall.sh does."""

from __future__ import annotations

import argparse

from swarmlore.capture import beads
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.surfaces import render_beads
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.reading import given_text
from swarmlore.workspace.project import find_project

USAGE = 'usage: swarmlore recall "keyword" [--type learned] [--all], or --recent 10, or --stats'
# What only the store knows, each with its value when nothing was said.
_OF_THE_STORE = {
    **{"kind": None, "category": None, "tag": None, "entity": None, "tier": None, "source": None, "mode": None},
    **{"phase": "", "all_projects": False, "explain": False},
    **{"block": False, "trigger": None, "session": None, "headroom": None},
}


def asked(args: argparse.Namespace, folder: str) -> bool:
    """Whether the lines of `.beads/memory/` are meant: by an option that only they have, or by profile beads."""
    others = [name for name, nothing in _OF_THE_STORE.items() if getattr(args, name) != nothing]
    if not (args.recent or args.stats or args.type is not None or args.all):
        return args.profile == "beads" and not others and beads.has_memory(find_project(folder).root)
    if others:
        option = "--" + others[0].replace("_", "-")
        raise InvalidInput(
            f"{option} does not look at LEARNED comments", "leave it out, or --recent --stats --type --all"
        )
    return True


def run(desk: Desk) -> int:
    """Answer in the words of the seed; an empty memory is said before anything else."""
    root = find_project(desk.folder).root
    known = beads.read_knowledge(root, archived=desk.args.all and not desk.args.stats)
    if known.bad_lines and not desk.json:
        lines = "1 line is" if known.bad_lines == 1 else f"{known.bad_lines} lines are"
        desk.note(f"{lines} no record and left out")
    if desk.args.stats:
        return _stats(desk, known)
    if desk.args.recent:
        return _recent(desk, known)
    return _search(desk, known)


def _stats(desk: Desk, known: beads.Knowledge) -> int:
    counts = {
        "active": len(known.entries),
        "unique": len({entry.key for entry in known.entries}),
        "learned": sum(entry.type == "learned" for entry in known.entries),
        "investigation": sum(entry.type == "investigation" for entry in known.entries),
        "archived": known.archived,
        "bad_lines": known.bad_lines,
    }
    return desk.show(lambda: counts, lambda _: render_beads.stats(counts))


def _recent(desk: Desk, known: beads.Knowledge) -> int:
    """The last lines as they stand, also where one replaces another."""
    type = desk.args.type
    fit = [entry for entry in known.entries if type is None or entry.type == type]
    shown = [beads.showable(entry) for entry in fit[-desk.args.recent :]]
    return desk.show(
        lambda: {"entries": [beads.document(entry) for entry in shown], "bad_lines": known.bad_lines},
        lambda _: render_beads.recent(shown) if known.entries else render_beads.NOTHING,
    )


def _search(desk: Desk, known: beads.Knowledge) -> int:
    query, type = given_text(desk.args.query), desk.args.type
    if not query.strip() and known.entries:
        raise SwarmloreError("there is nothing to look for", USAGE)  # exit code 1, as recall.sh has it
    fit = [entry for entry in beads.newest(known.entries) if type is None or entry.type == type]
    found = [entry for entry in fit if beads.matches(entry, query)][: desk.args.limit]
    found = [beads.showable(entry) for entry in found]
    return desk.show(
        lambda: {
            "query": query,
            "entries": [beads.document(entry) for entry in found],
            "bad_lines": known.bad_lines,
        },
        lambda _: render_beads.found(found, query, type or "") if known.entries else render_beads.NOTHING,
    )
