"""A server on the same home: commands hand it their changes, with the same results, and go on alone without it."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_asking_a_server import AGENT, _difference, _project, _run_all

from command_line import Run
from conftest import ALICE, PERSON
from serving import LESSON, Server
from swarmlore.clients.hook.home import socket_path
from swarmlore.errors import NotFound, Rejected
from swarmlore.lore import Lore
from swarmlore.server.client.local_server import ServerWriteLore
from waiting import wait_until


@pytest.fixture
def near(server: Server, tmp_path: Path) -> Iterator[ServerWriteLore]:
    """The memory of the server's home, as a command has it."""
    (tmp_path / "project").mkdir(exist_ok=True)
    with ServerWriteLore(Lore.open(server.home, cwd=tmp_path / "project", caller=PERSON, env=server.env)) as lore:
        yield lore


def spied(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each change was made by the server."""
    told: list[bool] = []
    ask = ServerWriteLore._ask_server

    def listen(self: ServerWriteLore, name: str, body: dict[str, Any], key: str) -> dict[str, Any] | None:
        answer = ask(self, name, body, key)
        told.append(answer is not None)
        return answer

    monkeypatch.setattr(ServerWriteLore, "_ask_server", listen)
    return told


def test_a_script_of_commands_says_the_same_alone_and_through_the_server_of_its_home(
    run: Run, world: Path, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _project(world)
    for name, value in {"PROJECT": ALICE.project, "AGENT": AGENT, "ROLE": "lead"}.items():
        monkeypatch.setenv(f"SWARMLORE_{name}", value)
    monkeypatch.setenv("SWARMLORE_HOME", str(tmp_path / "alone"))
    handed = spied(monkeypatch)
    alone = _run_all(run)
    assert handed == []
    monkeypatch.setenv("SWARMLORE_HOME", str(server.home))
    through = _run_all(run)
    for here, there in zip(alone, through, strict=True):
        assert _difference(here, there) == ""
    assert all(handed)
    assert len(handed) > 15


def test_the_server_believes_who_acts_as_it_is_the_same_user(
    near: ServerWriteLore, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed = spied(monkeypatch)
    told = near.remember(LESSON)
    assert (told.memory.owner, told.memory.trust, handed) == ("person", 3, [True])
    assert near.list() == (told.memory,)
    with pytest.raises(Rejected):
        near.remember("short")
    with pytest.raises(NotFound):
        near.rate("nothing", True)
    assert near.undo()[0].id == told.memory.id


def test_without_the_server_a_command_makes_its_change_itself(
    server: Server, near: ServerWriteLore, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed = spied(monkeypatch)
    server.stop(signal.SIGKILL)
    assert near.remember(LESSON).outcome == "added"
    assert handed == [False]


def test_with_other_settings_than_the_server_has_a_command_makes_its_change_itself(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed = spied(monkeypatch)
    env = {**server.env, "SWARMLORE_RECALL_LIMIT": "3"}
    with ServerWriteLore(Lore.open(server.home, cwd=tmp_path, caller=PERSON, env=env)) as near:
        assert near.remember(LESSON).outcome == "added"
    assert handed == [False]


class Cutter:
    """In the place of the server's socket: hands requests on, and goes away before the answer."""

    def __init__(self, home: Path) -> None:
        self._there, path = str(home / "behind.sock"), socket_path(str(home))
        Path(path).rename(self._there)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._path = path
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        near, _ = self._listener.accept()
        with near, socket.socket(socket.AF_UNIX) as far:
            far.connect(self._there)
            far.sendall(near.recv(1_000_000))
            assert far.recv(1_000_000)  # it was done
            Path(self._path).unlink()
            self._listener.close()


def test_a_change_whose_answer_is_lost_is_not_made_twice(server: Server, near: ServerWriteLore) -> None:
    Cutter(server.home)
    sent = near.send(["bob"], "New schema", "Run make schema first")
    assert [item.message.id for item in near.sent()] == [sent.id]


def test_a_lesson_is_embedded_by_the_model_that_the_server_has_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Server(tmp_path / "home", {"HOME": str(tmp_path)}, "--no-worker")
    made.home.mkdir()
    (tmp_path / "project").mkdir()
    made.start()
    try:
        handed = spied(monkeypatch)
        with ServerWriteLore(Lore.open(made.home, cwd=tmp_path / "project", caller=PERSON, env=made.env)) as lore:

            def handed_on() -> bool:
                lore.remember(f"Service number {len(handed)} of the cluster is restarted with make restart-service")
                return any(handed)

            wait_until(handed_on, "a write is handed on")
            assert handed[-1]
            assert lore.store.count_pending().get("embed") is None  # with its vector, as alone
    finally:
        made.stop()
