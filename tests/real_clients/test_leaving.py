"""What stays behind: nothing after a session, and nothing after an uninstallation."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import signal
import socket
import subprocess

import pytest

from real_clients.conftest import INSTALL, UNINSTALL, NewWorld
from real_clients.model import Step, never
from real_clients.runners import CLIENTS, RECALL, Client, Session
from real_clients.world import World, soon

SESSIONS = 20
OWN_STATE = "home/.claude.json"  # Claude Code writes into it at every start
Running = list[tuple[Client, subprocess.Popen[str]]]


def test_no_packet_can_leave() -> None:
    with socket.socket() as outwards, pytest.raises(OSError) as refused:
        outwards.connect(("192.0.2.1", 443))
    assert refused.value.errno == errno.ENETUNREACH


def test_installing_and_uninstalling_leaves_every_byte_as_it_was(new_world: NewWorld) -> None:
    world = new_world()
    before = world.prints()
    world.swarmlore(*INSTALL)
    assert world.prints() != before
    world.swarmlore(*UNINSTALL)
    assert world.prints() == before


def test_installing_twice_changes_nothing_more(new_world: NewWorld) -> None:
    world = new_world()
    world.swarmlore(*INSTALL)
    once = world.prints()
    world.swarmlore(*INSTALL)
    assert world.prints() == once


def test_sessions_that_end_or_are_stopped_leave_no_process_and_no_socket(new_world: NewWorld) -> None:
    world = new_world()
    world.swarmlore(*INSTALL)
    for number in range(SESSIONS // len(CLIENTS)):
        ENDINGS[number % len(ENDINGS)](world)
    assert soon(lambda: not world.processes()), world.processes()
    world.swarmlore("stats")  # a client may kill its server, whose socket the next command takes away
    assert world.sockets() == []
    assert [path for path in (world.lore / "spool").rglob("*") if path.is_file() and path.stat().st_size] == []


def finish(world: World) -> None:
    """All clients side by side, each to the end of its turn."""
    world.model.play([])
    for _, running in start_all(world, "Say hello"):
        out, err = running.communicate(timeout=60)
        assert running.returncode == 0, f"{out}{err}"


def terminate(world: World) -> None:
    stop_all(world, signal.SIGTERM)


def kill(world: World) -> None:
    stop_all(world, signal.SIGKILL)


def stop_all(world: World, how: signal.Signals) -> None:
    for client, running in hold_all(world):
        for pid in reversed(client.pids(running)):  # not every script passes a signal on to its program
            with contextlib.suppress(ProcessLookupError):  # or it has just done so
                os.kill(pid, how)
        running.communicate(timeout=60)


def hold_all(world: World) -> Running:
    """All clients side by side, in the middle of their turn: they wait for the model."""
    world.model.play([never("Think it over")] * len(CLIENTS))
    running = start_all(world, "Think it over")
    assert soon(lambda: world.model.held == len(CLIENTS))
    return running


def start_all(world: World, prompt: str) -> Running:
    return [(client, client.start(prompt)) for client in (kind(world) for kind in CLIENTS)]


ENDINGS = (finish, terminate, finish, kill)


def test_uninstalling_after_work_leaves_what_the_user_wrote(new_world: NewWorld) -> None:
    world = new_world()
    before = world.prints()
    world.swarmlore(*INSTALL)
    after = world.prints()
    assert all(re.search(RECALL, "\n".join(session.first.tools), re.MULTILINE) for session in run_all(world))
    world.swarmlore(*UNINSTALL)
    now = world.prints()
    touched = {path for path in after if before.get(path) != after[path]} - {OWN_STATE}
    assert touched
    assert {path: now.get(path) for path in touched} == {path: before.get(path) for path in touched}
    assert "mcpServers" not in json.loads((world.root / OWN_STATE).read_text())
    for session in run_all(world):
        assert "swarmlore" not in session.first.text.lower() + "".join(session.first.tools)


def run_all(world: World) -> list[Session]:
    return [kind(world).run("Install the zod package", Step("Yes.")) for kind in CLIENTS]
