"""uninstall: the files of agent clients as they were, or at least without our entries."""

from __future__ import annotations

import argparse

from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.install import PROJECT as PROJECT
from swarmlore.surfaces.cli.install import carry_out, chosen, home_of, place
from swarmlore.surfaces.cli.install import offered as offered

EXAMPLES = ("swarmlore uninstall", "swarmlore uninstall codex --dry-run", "swarmlore uninstall --project")


def arguments(parser: argparse.ArgumentParser) -> None:
    which = f"{', '.join(offered())}; else all that are installed"
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=which)
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    parser.add_argument("--yes", action="store_true", help="go on without asking")


def run(desk: Desk) -> int:
    from swarmlore.clients import every_client
    from swarmlore.clients.install import manifest
    from swarmlore.clients.install.plan import plan_uninstall
    from swarmlore.clients.install.status import is_installed

    clients, where = chosen(desk), place(desk)
    kept = manifest.read(home_of(desk))
    if not clients:
        clients = tuple(client for client in every_client() if is_installed(client, where, kept))
    return carry_out(desk, plan_uninstall(where, clients, kept), kept, "Take this out?", ())
