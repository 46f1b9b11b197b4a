"""status: which clients use the memory, when they last reported, and what they were given."""

from __future__ import annotations

import argparse
import os

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_clients
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.documents import plain

if TYPE_CHECKING:
    from swarmlore.installing.standing import Standing
    from swarmlore.lore import Lore

EXAMPLES = ("swarmlore status", "swarmlore status --json")
LOOKED_AT = 1000  # sessions and receipts


def arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing of its own."""


def run(desk: Desk) -> int:
    with desk.open() as lore:
        home, found = lore.home, clients_of(lore)
    return desk.show(
        lambda: {"home": home, "clients": plain(found)}, lambda page: render_clients.status(home, found, page)
    )


def clients_of(lore: Lore) -> list[Standing]:
    """How every client stands that we know of, for a person and in this project."""
    from swarmlore.installing import ledger
    from swarmlore.installing.clients import every_client
    from swarmlore.installing.standing import activity_of, standing
    from swarmlore.installing.where import for_person, for_project, user_folder

    seen, sessions, receipts = lore.clients(), lore.sessions(LOOKED_AT), lore.receipts(limit=LOOKED_AT)
    home, root = lore.home, lore.project.root
    places = [for_person(home, os.environ, "")]
    if os.path.realpath(root) != os.path.realpath(user_folder(os.environ)):
        places.append(for_project(root, os.environ))
    kept = ledger.read(home)
    return [
        standing(client, places, kept, activity_of(client.name, seen.get(client.name), sessions, receipts))
        for client in every_client()
    ]
