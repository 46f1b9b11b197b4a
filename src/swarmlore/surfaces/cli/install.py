"""install: our entries in the files of agent clients, shown before they are written."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import suppress

from swarmlore.domain.language.display import choices_hint
from swarmlore.errors import InvalidInput, NotFound
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.server.mcp.tools import NAMES as SETS
from swarmlore.surfaces import render_clients
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import chosen as known

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from swarmlore.clients.install.locations import Client, Where
    from swarmlore.clients.install.plan import Plan

EXAMPLES = ("swarmlore install", "swarmlore install claude codex --dry-run", "swarmlore install claude --project")
PROJECT: dict[str, Any] = {
    "nargs": "?",
    "const": "",
    "metavar": "PATH",
    "help": "the files of this project, or of the one at PATH, instead of your own",
}


def offered() -> tuple[str, ...]:
    """The words that a shell completes."""
    from swarmlore.clients import NAMES

    return NAMES


def arguments(parser: argparse.ArgumentParser) -> None:
    which = f"{', '.join(offered())}; else those that are found here"
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=which)
    sets = f"which tools the server offers, instead of our own: {', '.join(SETS)}; may be repeated"
    parser.add_argument("--tools", action="append", metavar="SET", help=sets)
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    parser.add_argument("--yes", action="store_true", help="go on without asking")


def run(desk: Desk) -> int:
    import swarmlore
    from swarmlore.clients import NAMES, clients_here
    from swarmlore.clients.install import manifest
    from swarmlore.clients.install.locations import find_program
    from swarmlore.clients.install.plan import plan_install
    from swarmlore.clients.install.status import two_memories

    clients = chosen(desk)
    where = place(desk, find_program(sys.argv[0], sys.executable, os.environ.get("PATH")))
    where = replace(where, target=replace(where.target, tools=known("--tools", desk.args.tools, SETS)))
    if not clients:
        clients = clients_here(os.environ)
        if not clients:
            others = ", ".join(NAMES[1:])
            raise NotFound("no client was found on this machine", f"name it: swarmlore install {NAMES[0]}, or {others}")
        desk.note("found here: " + ", ".join(client.title for client in clients))
    kept = manifest.read(home_of(desk))
    plan = plan_install(where, clients, kept, swarmlore.__version__, round(time.time(), 3))
    twice = [text for client in clients for text in two_memories(client, where)]
    plan = replace(plan, notes=(*plan.notes, *twice))
    left = [text for client in clients if client.name in plan.clients for text in client.to_do(where)]
    return carry_out(desk, plan, kept, "Write this?", list(dict.fromkeys(left)))


def carry_out(desk: Desk, plan: Plan, kept: Sequence[Any], question: str, to_do: Sequence[str]) -> int:
    """Show what would change, ask, and do it."""
    doing = bool(plan.changes) and not desk.args.dry_run
    if not desk.json:
        desk.show(dict, lambda page: render_clients.planned(plan, page, every_line=desk.args.dry_run), whole=True)
        for text in render_clients.left_out(plan):
            desk.note(f"left out: {text}")
    if doing:
        if not desk.args.yes:
            desk.note("--dry-run shows every line")
        desk.confirm(question)
    if doing or (plan.kept != tuple(kept) and not desk.args.dry_run):  # else what the list says is no longer true
        apply_plan(plan, home_of(desk), kept)
    desk.show(
        lambda: render_clients.document(plan, to_do, done=doing),
        lambda page: render_clients.carried_out(plan, to_do, page, done=doing),
    )
    return max((error.exit_code for _, error in plan.refused), default=0)


def apply_plan(plan: Plan, home: str, kept: Sequence[Any]) -> None:
    from swarmlore.clients.install.plan import apply
    from swarmlore.lore.opening import make_home

    was_there = os.path.lexists(home)
    make_home(home)
    try:
        apply(plan, home, kept)
    finally:
        if plan.takes_out and not was_there:  # its lock was needed, and nothing is kept in it
            with suppress(OSError):
                os.rmdir(home)


def chosen(desk: Desk) -> tuple[Client, ...]:
    """The clients that were named; `--project claude` names one too, because a project is hardly called so."""
    from swarmlore.clients import NAMES

    names = list(desk.args.clients)
    if desk.args.project in NAMES:
        names.append(desk.args.project)
        desk.args.project = ""
    return named(names)


def named(names: Sequence[str]) -> tuple[Client, ...]:
    """The clients of these names, in our order."""
    from swarmlore.clients import NAMES, client_called

    for name in names:
        if name not in NAMES:
            raise InvalidInput(f"unknown client: {name}", choices_hint(name, NAMES))
    return tuple(client_called(name) for name in NAMES if name in names)


def place(desk: Desk, program: str = "") -> Where:
    """The files of the project where `--project` was said, else those of the person."""
    from swarmlore.clients.install.locations import for_person, for_project
    from swarmlore.workspace.project import find_project

    if desk.args.project is not None:
        return for_project(find_project(desk.folder).root, os.environ)
    return for_person(home_of(desk), os.environ, program)


def home_of(desk: Desk) -> str:
    from swarmlore.config import home_dir

    return os.path.abspath(desk.home or home_dir(os.environ))
