"""status: which clients use the memory, when they last reported, and what they were given."""

from __future__ import annotations

import argparse
import os

from swarmlore.domain.json_codec import plain
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_clients
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.install import named
from swarmlore.surfaces.cli.install import offered as offered

if TYPE_CHECKING:
    from swarmlore.clients.install.status import Standing
    from swarmlore.lore import Lore

EXAMPLES = ("swarmlore status", "swarmlore status claude --json")
LOOKED_AT = 1000  # sessions and receipts


def arguments(parser: argparse.ArgumentParser) -> None:
    which = f"{', '.join(offered())}; else all of them"
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=which)


def run(desk: Desk) -> int:
    from swarmlore.clients import every_client

    names = [client.name for client in named(desk.args.clients) or every_client()]
    if desk.asks_server:
        return _of_server(desk, names)
    with desk.open() as lore:
        home, found = lore.home, [one for one in clients_of(lore) if one.client in names]
    return desk.show(
        lambda: {"home": home, "clients": plain(found)}, lambda page: render_clients.status(home, found, page)
    )


def _of_server(desk: Desk, names: list[str]) -> int:
    """The same where a server is asked: first how it stands."""
    from swarmlore.server.client.remote_lore import standing

    with desk.ask_server() as lore:
        told = standing(lore)
        known = clients_of(lore) if told["token_holds"] else []  # type: ignore[arg-type]
        home, found = lore.home, [one for one in known if one.client in names]
    return desk.show(
        lambda: {"home": home, "server": told, "clients": plain(found)},
        lambda page: render_clients.status(home, found, page, told),
    )


def clients_of(lore: Lore) -> list[Standing]:
    """How every client stands that we know of, for a person and in this project."""
    from swarmlore.clients import every_client
    from swarmlore.clients.install import manifest
    from swarmlore.clients.install.locations import for_person, for_project, user_folder
    from swarmlore.clients.install.status import activity_of, standing

    seen, sessions, receipts = lore.clients(), lore.sessions(LOOKED_AT), lore.receipts(limit=LOOKED_AT)
    home, root = lore.home, lore.project.root
    places = [for_person(home, os.environ, "")]
    if os.path.realpath(root) != os.path.realpath(user_folder(os.environ)):
        places.append(for_project(root, os.environ))
    kept = manifest.read(home)
    return [
        standing(client, places, kept, activity_of(client.name, seen.get(client.name), sessions, receipts))
        for client in every_client()
    ]
