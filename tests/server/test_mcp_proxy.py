"""Several servers on one home: the first is the warm process, the others are proxies, and the end of one is no end."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_lines import HELLO, LESSON, Lines, environment
from swarmlore.clients.hook.home import socket_path
from swarmlore.server.daemon_lock import acquire
from swarmlore.server.mcp.proxy import Handover, Proxy, answered_id

OTHER = "The release notes are written by make notes before each tag"
pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs unix sockets")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@contextmanager
def two(home: Path, project: Path) -> Iterator[tuple[Lines, Lines]]:
    """A warm process and a proxy to it."""
    with Lines(home, project) as first:
        first.begin()
        with Lines(home, project) as second:
            second.begin()
            assert loaded(second, "mcp") is False
            yield first, second


def loaded(lines: Lines, package: str) -> bool:
    """Whether a process has loaded a package of compiled code: the SDK brings pydantic's core, a proxy has none."""
    names = {"mcp": "pydantic_core", "store": "apsw"}
    return names[package] in Path(f"/proc/{lines.process.pid}/maps").read_text()


linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@linux
def test_the_second_server_is_a_proxy_without_the_sdk_and_without_a_store(home: Path, project: Path) -> None:
    with two(home, project) as (first, second):
        first.call("remember", text=LESSON)
        found = second.call("recall", query="record the snapshot tests")
        assert [hit["text"] for hit in found["structuredContent"]["hits"]] == [LESSON]
        assert loaded(second, "store") is False
        assert loaded(first, "mcp") is True
        assert second.leave() == 0
        assert first.call("prime")["isError"] is False


@linux
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_client_does_not_notice_the_end_of_the_warm_process(home: Path, project: Path, sign: signal.Signals) -> None:
    with two(home, project) as (first, second):
        second.call("remember", text=LESSON)
        first.process.send_signal(sign)
        first.process.wait(120)
        found = second.call("recall", query="record the snapshot tests")
        assert [hit["text"] for hit in found["structuredContent"]["hits"]] == [LESSON]
        assert loaded(second, "mcp") is True
        with Lines(home, project) as third:
            third.begin()
            assert third.call("recall", query="snapshot tests")["structuredContent"]["hits"]
            assert loaded(third, "mcp") is False
        assert second.leave() == 0
    assert not os.path.lexists(socket_path(str(home)))


@linux
def test_the_client_of_a_warm_process_leaves_and_its_proxies_go_on(home: Path, project: Path) -> None:
    with two(home, project) as (first, second), Lines(home, project) as third:
        third.begin()
        first.call("remember", text=LESSON)
        assert first.leave() == 0
        for lines in (second, third):
            found = lines.call("recall", query="record the snapshot tests")
            assert [hit["text"] for hit in found["structuredContent"]["hits"]] == [LESSON]
        assert sorted([loaded(second, "mcp"), loaded(third, "mcp")]) == [False, True]
        assert second.leave() == 0
        assert third.call("prime")["isError"] is False
        assert third.leave() == 0


@linux
def test_a_hung_warm_process_keeps_nobody_from_starting(home: Path, project: Path) -> None:
    with Lines(home, project) as first:
        first.begin()
        first.process.send_signal(signal.SIGSTOP)
        with Lines(home, project) as second:
            second.begin()
            assert second.call("prime")["isError"] is False
            assert second.leave() == 0
        first.process.send_signal(signal.SIGCONT)


@linux
def test_whoever_has_just_become_the_warm_process_is_waited_for(home: Path, project: Path) -> None:
    home.mkdir(mode=0o700)
    place = acquire(str(home))
    assert place is not None
    place.listener.close()  # it needs longer than anybody waits for one that has died
    os.unlink(place.path)
    with Lines(home, project) as other:
        other.ask("initialize", {**HELLO})
        assert other.is_silent(1.5)
        assert loaded(other, "mcp") is False
        place.is_ready()  # and is hung
        assert other.answer()["result"]["serverInfo"]["name"] == "swarmlore"
        assert loaded(other, "mcp") is True
        assert other.leave() == 0


@linux
def test_many_servers_started_at_once_share_one_memory(home: Path, project: Path) -> None:
    servers = [Lines(home, project) for _ in range(5)]
    try:
        for number, lines in enumerate(servers):
            lines.begin()
            lines.call("remember", text=f"Service number {number} of the cluster listens on port {9000 + 17 * number}")
        found = servers[0].call("recall", query="service of the cluster listens on port", limit=20)
        assert len(found["structuredContent"]["hits"]) == 5
        assert sum(loaded(lines, "mcp") for lines in servers) == 1
        assert [lines.leave() for lines in servers] == [0] * 5
    finally:
        for lines in servers:
            lines.__exit__()
    assert not os.path.lexists(socket_path(str(home)))


def test_each_connection_works_in_its_own_project_as_its_own_agent(home: Path, tmp_path: Path, project: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with Lines(home, project) as first, Lines(home, elsewhere, SWARMLORE_AGENT="bob") as second:
        first.begin()
        second.begin()
        first.call("remember", text=LESSON)
        told = second.call("remember", text=OTHER)["structuredContent"]
        assert second.call("get", id=told["handle"])["structuredContent"]["by"] == "bob"
        assert (
            first.call("recall", query="snapshot tests release notes")["structuredContent"]["hits"][0]["text"] == LESSON
        )
        assert second.call("recall", query="snapshot tests recorded")["structuredContent"]["hits"] == []


# The proxy alone, against a server that is only a socket


class Doorman:
    """Listens at the place of a warm process and does with each connection what it is told to."""

    def __init__(self, path: str, *acts: Callable[[socket.socket], None]) -> None:
        self.path = path
        self.hellos: list[dict[str, Any]] = []
        self._acts = list(acts)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        for act in self._acts:
            sock, _ = self._listener.accept()
            with sock, sock.makefile("rb") as lines:
                self.hellos.append(json.loads(lines.readline()))
                act(sock)
        self._listener.close()
        os.unlink(self.path)

    def done(self) -> None:
        self._thread.join(120)
        assert not self._thread.is_alive()


def line(**said: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **said}).encode() + b"\n"


def read_lines(sock: socket.socket, count: int) -> list[dict[str, Any]]:
    data = b""
    while data.count(b"\n") < count:
        chunk = sock.recv(65_536)
        assert chunk
        data += chunk
    return [json.loads(one) for one in data.splitlines()]


@contextmanager
def proxied(path: str) -> Iterator[tuple[int, int, list[Handover | None]]]:
    """A proxy between two pipes: where to write, where to read, and what it left behind."""
    client_reads, proxy_writes = os.pipe()
    proxy_reads, client_writes = os.pipe()
    left: list[Handover | None] = []
    proxy = Proxy(path, {"op": "mcp", "cwd": "/x", "client": "c", "env": {}}, proxy_reads, proxy_writes)
    thread = threading.Thread(target=lambda: left.append(proxy.run()), daemon=True)
    thread.start()
    yield client_writes, client_reads, left
    thread.join(120)
    assert not thread.is_alive()
    for fd in (client_reads, proxy_writes, proxy_reads):
        os.close(fd)


def heard(fd: int, count: int) -> list[dict[str, Any]]:
    data = b""
    while data.count(b"\n") < count:
        assert select.select([fd], [], [], 10)[0], "nothing came"
        data += os.read(fd, 65_536)
    return [json.loads(one) for one in data.splitlines()]


INIT = line(id=1, method="initialize", params={})
READY = line(method="notifications/initialized")


def test_the_handshake_and_what_had_no_answer_are_repeated_and_answered_once(tmp_path: Path) -> None:
    seen: list[list[dict[str, Any]]] = []

    def dies(sock: socket.socket) -> None:
        sock.sendall(b'{"ok":true}\n')
        seen.append(read_lines(sock, 1))
        sock.sendall(line(id=1, result={"first": True}))
        seen.append(read_lines(sock, 4))
        sock.sendall(line(id="b", result={}) + b'{"jsonrpc":"2.0","id":3,"resu')  # half an answer is none

    def goes_on(sock: socket.socket) -> None:
        sock.sendall(b'{"ok":true}\n')
        seen.append(read_lines(sock, 3))
        sock.sendall(line(id=1, result={"second": True}) + line(id=3, result={"late": True}))
        assert sock.recv(10) == b""

    path = str(tmp_path / "s")
    doorman = Doorman(path, dies, goes_on)
    with proxied(path) as (write, read, left):
        os.write(write, INIT)
        assert heard(read, 1) == [{"jsonrpc": "2.0", "id": 1, "result": {"first": True}}]
        asked = [READY, line(id="b", method="ping"), line(id=3, method="tools/list"), line(id=4, method="x")]
        cancelled = line(method="notifications/cancelled", params={"requestId": 4})
        os.write(write, b"".join([*asked, cancelled]))
        answers = heard(read, 2)
        assert [(said["id"], said["result"]) for said in answers] == [("b", {}), (3, {"late": True})]
        os.close(write)
    doorman.done()
    assert left == [None]
    assert [said.get("method") for said in seen[2]] == ["initialize", "notifications/initialized", "tools/list"]
    assert doorman.hellos == [{"op": "mcp", "cwd": "/x", "client": "c", "env": {}}] * 2


def test_an_initialize_without_an_answer_is_answered_by_the_next(tmp_path: Path) -> None:
    def dies(sock: socket.socket) -> None:
        sock.sendall(b'{"ok":true}\n')
        read_lines(sock, 1)

    def goes_on(sock: socket.socket) -> None:
        sock.sendall(b'{"ok":true}\n')
        assert [said["method"] for said in read_lines(sock, 1)] == ["initialize"]
        sock.sendall(line(id=1, result={}))
        assert sock.recv(10) == b""

    path = str(tmp_path / "s")
    doorman = Doorman(path, dies, goes_on)
    with proxied(path) as (write, read, left):
        os.write(write, INIT)
        assert heard(read, 1)[0]["id"] == 1
        os.close(write)
    doorman.done()
    assert left == [None]


def test_what_is_left_goes_to_whoever_serves_next(tmp_path: Path) -> None:
    def dies(sock: socket.socket) -> None:
        sock.sendall(b'{"ok":true}\n')
        read_lines(sock, 1)
        sock.sendall(line(id=1, result={}))
        read_lines(sock, 2)
        time.sleep(0.2)  # for the half line to arrive at the proxy

    path = str(tmp_path / "s")
    doorman = Doorman(path, dies)
    with proxied(path) as (write, read, left):
        os.write(write, INIT)
        heard(read, 1)
        os.write(write, READY + line(id=2, method="tools/list") + b'{"half')
        doorman.done()
    os.close(write)
    [handover] = left
    assert handover is not None
    assert handover.replay == [INIT, READY, line(id=2, method="tools/list")]
    assert handover.swallow == {1}
    assert handover.rest == b'{"half'


def refuses(sock: socket.socket) -> None:
    sock.sendall(b'{"ok":false,"error":"no"}\n')


def hangs_up(sock: socket.socket) -> None:
    sock.sendall(b'{"ok":true}\n')


@pytest.mark.parametrize(
    "acts", [(), (refuses,), (hangs_up,) * 5], ids=["nobody", "refused", "hung up again and again"]
)
def test_where_nobody_serves_the_proxy_gives_up_at_once(tmp_path: Path, acts: tuple[Any, ...]) -> None:
    path = str(tmp_path / "s")
    doorman = Doorman(path, *acts) if acts else None
    with proxied(path) as (write, _, left):
        pass
    os.close(write)
    if doorman:
        doorman.done()
    assert [type(item) for item in left] == [Handover]


@pytest.mark.parametrize(
    ("said", "id"),
    [
        (b'{"id":1,"result":{}}', 1),
        (b'{"id":"a","error":{}}', "a"),
        (b'{"id":1,"method":"ping"}', None),
        (b'{"id":true,"result":{}}', None),
        (b'{"method":"x"}', None),
        (b"[1]", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
    ],
)
def test_which_request_a_line_answers(said: bytes, id: Any) -> None:
    assert answered_id(said) == id


def test_the_proxy_imports_nothing_but_the_standard_library() -> None:
    code = (
        "import sys; import swarmlore.server.mcp.proxy, swarmlore.server.mcp.context; "
        "print(sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)"
        " - {'swarmlore', '__main__'}))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _found(code)], capture_output=True, text=True, env=environment()
    )
    assert done.stdout.strip() == "[]", done.stderr


def _found(code: str) -> str:
    source = str(Path(__file__).parents[2] / "src")
    return f"import sys; sys.path.insert(0, {source!r}); {code}"
