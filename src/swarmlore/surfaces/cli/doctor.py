"""doctor: is everything healthy? Exit code 1 where a check fails; a warning is no failure."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator

from swarmlore.domain.json_codec import plain
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.memory.doctor import Check
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk

if TYPE_CHECKING:
    from swarmlore.lore import Lore

EXAMPLES = ("swarmlore doctor", "swarmlore doctor --fix")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="mend entries that stop a client once swarmlore is gone")


def run(desk: Desk) -> int:
    mended = _mend(desk) if desk.args.fix else ()
    checks = (*mended, *(_of_server(desk) if desk.asks_server else _of_home(desk)))
    failed = any(check.state == "fail" for check in checks)
    desk.show(lambda: {"healthy": not failed, "checks": plain(checks)}, lambda page: render.checks(checks, page))
    return 1 if failed else 0


def _mend(desk: Desk) -> tuple[Check, ...]:
    """Mend what an earlier release wrote into the files of clients, as `install` does."""
    import swarmlore
    from swarmlore.clients import every_client
    from swarmlore.clients.install import manifest
    from swarmlore.clients.install.locations import for_person
    from swarmlore.clients.install.plan import plan_install
    from swarmlore.surfaces.cli.install import apply_plan, home_of

    home = home_of(desk)
    kept = manifest.read(home)
    clients, now = every_client(), round(time.time(), 3)
    plan = plan_install(for_person(home, os.environ, ""), clients, kept, swarmlore.__version__, now, mend=True)
    if plan.changes:
        apply_plan(plan, home, kept)
    return tuple(Check("client", "ok", note) for note in plan.notes)


def _of_home(desk: Desk) -> tuple[Check, ...]:
    with desk.open() as lore:
        return (*lore.doctor(), *_clients(lore))


def _of_server(desk: Desk) -> tuple[Check, ...]:
    """The way to the server, and what this machine has to do with it; the server's own health is for its machine."""
    from swarmlore.server.client.remote_lore import checks, standing

    with desk.ask_server() as lore:
        told = standing(lore)
        found = tuple(checks(lore, told, time.time()))
        return (*found, *_clients(lore)) if told["token_holds"] else found  # type: ignore[arg-type]


def _clients(lore: Lore) -> Iterator[Check]:
    """Whether the hooks that were installed can reach us."""
    from swarmlore.surfaces.cli.status import clients_of

    left: dict[str, list[str]] = {}  # what is to be done, and for which clients
    for found in clients_of(lore):
        unread = any(level.problems for level in found.levels)  # what is in the way of seeing whether it is installed
        if (found.installed or unread) and found.to_do:
            left.setdefault(found.to_do[0], []).append(found.title)
        elif found.installed:
            yield Check("client", "ok", f"{found.title}: installed")
        elif found.found:
            yield Check("client", "ok", f"{found.title}: not installed; swarmlore install {found.client} does that")
    for said, titles in left.items():
        whose = "" if titles[0] in said else f"{', '.join(titles)}: "
        yield Check("client", "warn", whose + said, "swarmlore status tells more")
