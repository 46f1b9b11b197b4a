"""Fixtures: one machine with all clients, the product installed in it, and the first sessions of each client."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from real_clients.fetch import CLIENTS as PACKAGES
from real_clients.fetch import is_there
from real_clients.model import listening
from real_clients.runners import CLIENTS, Client, Session
from real_clients.stories import OTHER_LESSONS, STORIES
from real_clients.world import World

NAMES = tuple(kind.name for kind in CLIENTS)
INSTALL = ("install", *NAMES, "--yes")
UNINSTALL = ("uninstall", *NAMES, "--yes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """No client may run where it could reach the network: only `make test-clients` closes it."""
    reason = reason_to_skip()
    for item in items if reason else ():
        item.add_marker(pytest.mark.skip(reason=reason))


def reason_to_skip() -> str:
    if {name for _, name in socket.if_nameindex()} != {"lo"}:
        return "the network is open; run make test-clients"
    absent = [package.name for package in PACKAGES if not is_there(package)]
    return f"not installed: {absent}; run make test-clients" if absent else ""


NewWorld = Callable[[], World]


@pytest.fixture(scope="session")
def new_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewWorld]:
    """Makes machines on which nothing has happened yet."""
    with ExitStack() as stack:

        def make() -> World:
            root = tmp_path_factory.mktemp("world")
            return World(root, stack.enter_context(listening(root / "requests.jsonl")))

        yield make


@pytest.fixture(scope="session")
def world(new_world: NewWorld) -> World:
    """The machine of most tests: nothing was done to it but the installation."""
    made = new_world()
    made.swarmlore(*INSTALL)
    return made


@pytest.fixture(scope="session")
def clients(world: World) -> dict[str, Client]:
    return {kind.name: kind(world) for kind in CLIENTS}


@pytest.fixture(scope="session")
def told(world: World, clients: dict[str, Client]) -> dict[str, tuple[Session, Session]]:
    """Session one of each client: corrected, noted down, failed and fixed. Then others add what they know."""
    sessions = {name: STORIES[name].tell(client) for name, client in clients.items()}
    (world.root / "others.txt").write_text(OTHER_LESSONS)
    world.swarmlore("remember", "--kind", "correction", "--each-line", "--file", str(world.root / "others.txt"))
    return sessions
