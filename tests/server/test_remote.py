"""The memory of another machine: the same records as here, errors as they would be here, nothing done twice."""

from __future__ import annotations

import inspect
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import servers
from conftest import LEAD
from serving import LESSON, Server
from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import ConfigError, InvalidInput, NotAllowed, NotFound, Rejected, SwarmloreError, Unavailable
from swarmlore.lore import Lore
from swarmlore.lore.verbs import READS, WRITES
from swarmlore.server.client import http as remote_line
from swarmlore.server.client.http import Connection
from swarmlore.server.client.remote_lore import RemoteLore
from waiting import PATIENCE_S

ALICE = Caller(LEAD.project, "alice", "worker", 2)


@pytest.fixture
def far(server: Server) -> Iterator[RemoteLore]:
    with RemoteLore(f"http://127.0.0.1:{server.port}", server.token()) as lore:
        yield lore


@pytest.fixture
def near(server: Server, tmp_path: Path) -> Iterator[Lore]:
    """The same caller, at the store itself."""
    with Lore.open(server.home, cwd=tmp_path, caller=ALICE, env=server.env) as lore:
        yield lore


def test_what_a_server_tells_is_what_the_store_tells(far: RemoteLore, near: Lore) -> None:
    told = far.remember(LESSON, tags=("snapshots",), situation="the login page looks different", category="testing")
    assert told.memory == near.list()[0]
    assert far.list() == near.list()
    assert far.count() == near.count() == 1
    assert far.history(told.memory.handle)[0].after == near.history(told.memory.handle)[0].after
    assert tuple(far.recall("snapshot tests")) == tuple(near.recall("snapshot tests"))
    assert far.why(told.memory.id).memory == near.why(told.memory.id).memory
    assert far.phase().place == near.phase().place
    assert far.rate(told.memory.handle, True).feedback_score == pytest.approx(1.1)
    assert far.outcome(True, task="T-1", applied=[told.memory.handle]) == near.outcomes()[0]
    assert far.receipts() == near.receipts()


def test_every_verb_can_be_asked_and_answers_with_the_record_that_it_says(far: RemoteLore, near: Lore) -> None:
    """Those that need nothing to begin with, each by name."""
    far.remember(LESSON)
    for name in (*READS, *WRITES):
        parameters = inspect.signature(getattr(Lore, name)).parameters.values()
        if any(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self" for p in parameters):
            continue
        if name in ("undo", "forget_origin", "complete_phase"):  # done twice, they are another thing
            continue
        try:
            here = getattr(near, name)()
        except SwarmloreError as error:
            with pytest.raises(type(error)):
                getattr(far, name)()
            continue
        there = getattr(far, name)()
        assert type(there) is type(here) or isinstance(there, tuple), name


def test_errors_are_those_that_they_would_be_here(far: RemoteLore) -> None:
    with pytest.raises(Rejected, match="too short") as refusal:
        far.remember("short")
    assert refusal.value.layer == 1
    with pytest.raises(NotFound):
        far.get("nothing")
    with pytest.raises(InvalidInput):
        far.recall("x", limit=-1)
    with pytest.raises(Unavailable, match="backup"):
        far.backup()
    with pytest.raises(AttributeError):
        _ = far.no_such_verb


def test_a_token_that_does_not_hold_is_said(server: Server) -> None:
    with (
        RemoteLore(f"http://127.0.0.1:{server.port}", "swl_0000000000_" + "x" * 43) as far,
        pytest.raises(NotAllowed, match="token"),
    ):
        far.count()


@pytest.mark.parametrize(
    ("url", "plain", "good"),
    [
        ("http://127.0.0.1:1", False, True),
        ("http://localhost", False, True),
        ("https://lore.example", False, True),
        ("https://lore.example:8787/", False, True),
        ("http://lore.example", False, False),
        ("http://lore.example", True, True),
        ("ftp://lore.example", True, False),
        ("lore.example:8787", True, False),
        ("https://user:pw@lore.example", False, False),
        ("https://lore.example/path", False, False),
        ("https://lore.example:99999", False, False),
        ("", False, False),
    ],
)
def test_a_token_goes_over_a_network_in_clear_text_only_where_that_is_asked_for(
    url: str, plain: bool, good: bool
) -> None:
    if good:
        RemoteLore(url, "t", plain=plain)
        return
    with pytest.raises(ConfigError) as error:
        RemoteLore(url, "t", plain=plain)
    assert error.value.hint


def test_a_server_without_a_token_says_what_is_missing() -> None:
    with pytest.raises(ConfigError, match="SWARMLORE_TOKEN"):
        RemoteLore.open({"SWARMLORE_URL": "https://lore.example"})


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def test_nobody_there_is_told_in_a_moment_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(remote_line, "time", clock)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unavailable, match="does not answer") as error:
        RemoteLore(f"http://127.0.0.1:{port}", "t").count()
    assert error.value.hint
    assert clock.monotonic() < 1.0


class Lossy:
    """Between a client and a server: lets whole requests through, and loses the first answers, or their last bytes."""

    def __init__(self, port: int, lost: int, last_bytes: int = 1_000_000) -> None:
        self._to = port
        self._lost = lost
        self._last_bytes = last_bytes
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            with near, socket.create_connection(("127.0.0.1", self._to), timeout=120) as far:
                far.sendall(_request(near))
                answer = b"".join(iter(lambda: far.recv(65_536), b""))
                self._lost -= 1
                near.sendall(answer if self._lost < 0 else answer[: -self._last_bytes])

    def close(self) -> None:
        self._listener.close()


def _request(sock: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += sock.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(int(row.split(b":")[1]) for row in head.split(b"\r\n") if row.lower().startswith(b"content-length"))
    while len(body) < length:
        body += sock.recv(65_536)
    return head + b"\r\nConnection: close\r\n\r\n" + body


def test_an_answer_that_got_lost_is_asked_for_again_and_nothing_is_done_twice(
    server: Server, near: Lore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_line, "PAUSES_S", (0.0, 0.05, 0.1, 0.2))
    between = Lossy(server.port, lost=2)
    try:
        with RemoteLore(f"http://127.0.0.1:{between.port}", server.token()) as far:
            sent = far.send(["bob"], "New schema", "Run make schema first")
            assert [item.message.id for item in near.sent()] == [sent.id]
    finally:
        between.close()


def test_a_question_whose_answer_got_lost_or_broke_off_is_asked_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_line, "PAUSES_S", (0.0, 0.05, 0.1))
    token = server.token()
    for last_bytes in (1_000_000, 5):
        between = Lossy(server.port, 2, last_bytes)
        try:
            with RemoteLore(f"http://127.0.0.1:{between.port}", token) as far:
                assert far.count() == 0
        finally:
            between.close()


def test_what_is_no_server_of_ours_is_said() -> None:
    with (
        servers.running(servers.raw(b"<html>welcome</html>")) as other,
        RemoteLore(other.url, "t") as far,
        pytest.raises(Unavailable, match="no Swarmlore"),
    ):
        far.count()


def test_a_server_that_never_answers_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        line = Connection(f"http://127.0.0.1:{silent.getsockname()[1]}", "t", timeout_s=0.6)
        with pytest.raises(Unavailable, match="does not answer"):
            line.ask("/v1/count", {})  # nothing ever answers there


def test_a_connection_that_the_server_has_closed_meanwhile_is_not_used_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RemoteLore(f"http://127.0.0.1:{server.port}", server.token()) as far:
        far.count()
        kept = far._connection._kept
        assert kept is not None
        kept.sock.shutdown(socket.SHUT_RD)
        clock = Clock()
        monkeypatch.setattr(remote_line, "time", clock)
        assert far.count() == 0
        assert far._connection._kept is not kept
        assert clock.slept == [0.0]  # it did not count as an attempt


def test_a_restarted_server_is_found_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_line, "PAUSES_S", (*remote_line.PAUSES_S, *(3.0,) * 40))
    monkeypatch.setattr(remote_line, "REACH_S", PATIENCE_S)  # a server may start slowly
    with RemoteLore(f"http://127.0.0.1:{server.port}", server.token()) as far:
        first = far.remember(LESSON)
        server.stop()
        later = threading.Timer(
            2 * remote_line.REFUSED_S, server.start
        )  # refused meanwhile, and waited for all the same
        later.start()
        found: Memory = far.get(first.memory.id)
        assert found.text == LESSON
        later.join()


def test_a_certificate_file_that_cannot_be_used_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").write_text("no certificate")
    for name in ("nowhere", "empty"):
        monkeypatch.setenv("SWARMLORE_CA", str(tmp_path / name))
        with pytest.raises(ConfigError, match="SWARMLORE_CA"):
            RemoteLore("https://127.0.0.1:1", "t").count()
