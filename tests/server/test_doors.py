"""Every route, and every way in which nobody should get in: refused as documented, and nothing is changed by it."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import LEAD, OTHER, quick_env
from serving import LESSON, Server
from swarmlore.lore import Lore
from swarmlore.lore.verbs import verbs
from swarmlore.server.http.run import Place, listening
from waiting import PATIENCE_S

VERBS = [("POST", f"/v1/{name}") for name in verbs()]
OF_SWARM = [("POST", f"/api/memory/{name}") for name in ("index", "search", "list", "re-embed")]
TOOLS = [("POST", "/mcp"), ("POST", "/mcp?tools=lane,swarm-mail")]
NAMED = [("GET", "/api/memory/0123"), ("DELETE", "/api/memory/0123")]
HOOKS = [("POST", "/v1/hooks/answer"), ("POST", "/v1/hooks/events")]
PLAIN = [("GET", path) for path in ("/healthz", "/readyz", "/metrics", "/v1/openapi.json", "/v1/export")]
WITH_BODY = [*VERBS, *OF_SWARM, *TOOLS, *HOOKS]
ROUTES = [*WITH_BODY, *NAMED, *PLAIN, ("POST", "/v1/import")]  # which takes lines of any number, in a type of its own
BODY = json.dumps({"text": LESSON, "query": "snapshot", "ref": "0123"}).encode()
BIG = 3_000_000


@pytest.fixture(scope="module")
def tokens(steady: Server) -> dict[str, str]:
    """Tokens that hold, and such that do not or not any more."""
    with Lore.open(steady.home, cwd="/", caller=LEAD, env=steady.env) as lore:
        gone, shown = lore.create_token("gone")
        lore.revoke_token(gone.id)
        old = lore.create_token("old", days=1e-9)[1]
    good = steady.token("worker")
    return {
        "good": good,
        "wrong": good[:-1] + ("x" if good[-1] != "x" else "y"),
        "revoked": shown,
        "expired": old,
        "other": steady.token("carol", project=OTHER.project),
        "lead": steady.token("boss", role="lead"),
    }


def rows(server: Server) -> dict[str, int]:
    """How many rows each table has."""
    with Lore.open(server.home, cwd="/", caller=LEAD, env=server.env) as lore, lore.acting():
        run = lore.store.engine.run
        names = [str(row[0]) for row in run("SELECT name FROM sqlite_schema WHERE type = 'table'", {})]
        return {name: int(run(f'SELECT count(*) FROM "{name}"', {})[0][0]) for name in names if "fts" not in name}


def head(method: str, path: str, token: str, *lines: str, host: str = "Host: localhost", version: str = "1.1") -> bytes:
    shown = [f"Authorization: Bearer {token}"] if token else []
    return "\r\n".join([f"{method} {path} HTTP/{version}", *([host] if host else []), *shown, *lines, "", ""]).encode()


def request(method: str, path: str, token: str, *lines: str, body: bytes = BODY, **more: Any) -> bytes:
    """A whole request; those that change something have a body."""
    sent = body if method == "POST" else b""
    kind = [] if any(line.lower().startswith("content-type") for line in lines) else ["Content-Type: application/json"]
    length = [f"Content-Length: {len(sent)}"] if sent else []
    return head(method, path, token, *lines, *(kind if sent else []), *length, **more) + sent


UPGRADE = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA==")


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def big(method: str, path: str, token: str) -> bytes:
    return head(method, path, token, "Content-Type: application/json", f"Content-Length: {BIG}") + b"x" * 1_000


def chunked(method: str, path: str, token: str) -> bytes:
    first = head(method, path, token, "Content-Type: application/json", "Transfer-Encoding: chunked")
    return first + (b"80000\r\n" + b"x" * 0x80000 + b"\r\n") * 3


def two_lengths(*lengths: str) -> Any:
    return lambda method, path, token: (
        head(method, path, token, "Content-Type: application/json", *lengths) + b"0\r\n\r\n"
    )


def with_lines(*lines: str, token: str = "good", **more: Any) -> Any:
    return token, lambda method, path, shown: request(method, path, shown, *lines, **more)


# What is tried, with which token, at which routes, and what has to come.
WAYS: dict[str, tuple[Any, list[tuple[str, str]], tuple[int, ...]]] = {
    "no token": (with_lines(token=""), ROUTES, (401, 429)),
    "a wrong token": (with_lines(token="wrong"), ROUTES, (401, 429)),
    "a revoked token": (with_lines(token="revoked"), ROUTES, (401, 429)),
    "an expired token": (with_lines(token="expired"), ROUTES, (401, 429)),
    "a token in another scheme": (with_lines("Authorization: Basic eDp5", token=""), ROUTES, (401, 429)),
    "a foreign name": (with_lines(host="Host: evil.example"), ROUTES, (403,)),
    "a foreign page": (with_lines("Origin: https://evil.example"), ROUTES, (403,)),
    "a page of no origin": (with_lines("Origin: null"), ROUTES, (403,)),
    "a page that seems to be of here": (with_lines("Origin: http://localhost:8787"), ROUTES, (403,)),
    "another site": (with_lines("Sec-Fetch-Site: cross-site"), ROUTES, (403,)),
    "no name in HTTP/1.0": (with_lines(host="", version="1.0"), ROUTES, (403,)),
    "two names": (with_lines("Host: localhost"), ROUTES, (400, 403)),
    "plain text": (with_lines("Content-Type: text/plain"), WITH_BODY, (415,)),
    "a form": (with_lines("Content-Type: application/x-www-form-urlencoded"), WITH_BODY, (415,)),
    "a form of parts": (with_lines("Content-Type: multipart/form-data; boundary=x"), WITH_BODY, (415,)),
    "a compressed body": (with_lines("Content-Encoding: gzip"), WITH_BODY, (415,)),
    "a large body": (("good", big), WITH_BODY, (413,)),
    "a large body in chunks": (("good", chunked), WITH_BODY[::6], (413,)),
    "no JSON": (with_lines(body=b"{"), WITH_BODY, (400,)),
    "deep JSON": (with_lines(body=b"[" * 5_000), WITH_BODY, (400,)),
    "a length and chunks": (
        ("good", two_lengths("Content-Length: 5", "Transfer-Encoding: chunked")), WITH_BODY, (400,)
    ),
    "two lengths": (("good", two_lengths("Content-Length: 5", "Content-Length: 6")), WITH_BODY, (400,)),
    "a length below nothing": (("good", two_lengths("Content-Length: -5")), WITH_BODY, (400,)),
    "odd chunks": (("good", two_lengths("Transfer-Encoding: chunked, identity")), WITH_BODY[::6], (400, 501)),
    "a large head": (with_lines("X-More: " + "x" * 100_000), ROUTES, (400,)),
    "a line that is none": (with_lines("no colon here"), ROUTES, (400,)),
    "a method of nobody": (("good", lambda _, path, token: head("BREW", path, token)), ROUTES, (400, 405)),
    "another protocol": (("wrong", lambda _, path, token: head("GET", path, token, *UPGRADE)), ROUTES, (401, 429)),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_nobody_gets_in_that_way_and_nothing_is_changed(steady: Server, tokens: dict[str, str], way: str) -> None:
    (shown, make), routes, wanted = WAYS[way]
    before = rows(steady)
    token = tokens.get(shown, "")
    found = {route: status(steady.raw(make(*route, token))) for route in routes}
    assert {route: code for route, code in found.items() if code not in wanted} == {}
    assert rows(steady) == before


def test_the_lists_above_have_every_route_that_is_described(steady: Server, tokens: dict[str, str]) -> None:
    described = set(steady.ask("/v1/openapi.json", token=tokens["good"])[1]["paths"])
    assert described <= {path for _, path in ROUTES}


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/x-www-form-urlencoded"])
def test_lines_come_in_their_own_type_only(steady: Server, tokens: dict[str, str], kind: str) -> None:
    before = rows(steady)
    line = json.dumps({"lesson": LESSON}).encode() + b"\n"
    sent = request("POST", "/v1/import", tokens["good"], f"Content-Type: {kind}", body=line)
    assert status(steady.raw(sent)) == 415
    assert rows(steady) == before


@pytest.mark.parametrize("method", ["OPTIONS", "HEAD", "PUT", "PATCH", "TRACE", "CONNECT", "PURGE"])
def test_what_no_route_takes_is_refused_everywhere(steady: Server, tokens: dict[str, str], method: str) -> None:
    for _, path in ROUTES[::5]:
        assert status(steady.raw(head(method, path, tokens["good"]))) == 405
        asked = head(method, path, "", "Origin: https://evil.example", "Access-Control-Request-Method: POST")
        answer = steady.raw(asked)
        assert status(answer) == 403
        assert b"access-control" not in answer.lower()


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/v1", "/v1/", "/v1/count/", "/v1/count/x", "//v1/count", "/V1/count", "/v1/count;a", "/v1/nothing"),
        *("/v1/../v1/count", "/v1/%2e%2e/v1/count", "/v1%2fcount", "/%76%31%2Fcount", "/v1/count%00", "/v1/count%0a"),
        *("/v1/__class__", "/v1/close", "/v1/import_file", "/v1/create_token", "/v1/_resolve", "/mcp/", "/mcp/x"),
        *("/api/memory", "/api/memory/..%2f..%2fetc%2fpasswd", "/api/memory/a/b", "http://localhost/v1/count"),
        *("http://evil.example/v1/count", "*", "/mcp?tools=nothing"),
    ],
)
def test_what_is_not_there_is_not_found_by_any_spelling(steady: Server, tokens: dict[str, str], path: str) -> None:
    before = rows(steady)
    assert status(steady.raw(request("POST", path, tokens["good"], body=b"{}"))) in (400, 404, 405)
    assert rows(steady) == before


def test_a_body_where_none_belongs_is_no_request_of_its_own(steady: Server, tokens: dict[str, str]) -> None:
    """What follows a request is the next one, or nothing: nobody's request hides in another's body."""
    hidden = request("POST", "/v1/remember", tokens["good"])
    before = rows(steady)
    sent = head("GET", "/healthz", tokens["good"], f"Content-Length: {len(hidden)}") + hidden
    assert status(steady.raw(sent)) == 200
    refused = head("GET", "/healthz", tokens["good"], f"Content-Length: {len(hidden)}", "Transfer-Encoding: chunked")
    assert status(steady.raw(refused + b"0\r\n\r\n" + hidden)) == 400
    assert rows(steady) == before


def test_wrong_tokens_of_one_keep_out_nobody_else_at_the_same_address(steady: Server, tokens: dict[str, str]) -> None:
    found = [steady.ask("/healthz", token=tokens["wrong"])[0] for _ in range(40)]
    assert found[-1] == 429
    assert steady.ask("/healthz", token=tokens["good"])[0] == 200


def test_figures_are_for_leads(steady: Server, tokens: dict[str, str]) -> None:
    assert steady.ask("/metrics", token=tokens["good"])[0] == 403
    assert steady.ask("/metrics", token=tokens["lead"])[0] == 200


@pytest.mark.parametrize("kind", ["reflect", "connect"])
def test_nobody_elsewhere_lets_the_worker_read_files(steady: Server, tokens: dict[str, str], kind: str) -> None:
    body = {"kind": kind, "body": {"session": "s", "client": "claude", "transcript": "/etc/passwd"}}
    assert steady.ask("/v1/enqueue", body, tokens["lead"])[0] == 400


def test_what_the_tools_note_while_they_read_is_kept(steady: Server, tokens: dict[str, str]) -> None:
    token = steady.token("reader", project="git.example/reader")
    steady.ask("/v1/remember", {"text": LESSON}, token)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "snapshot"}}}  # fmt: skip
    told = steady.ask("/mcp", call, token, headers={"Accept": "application/json, text/event-stream"})
    assert LESSON in json.dumps(told[1])
    found = steady.ask("/v1/receipts", {}, token)[1]["result"] or steady.ask("/v1/receipts", {}, token)[1]["result"]
    assert [receipt["cue"] for receipt in found] == ["snapshot"]


def test_every_choice_of_tools_leaves_room_for_others(steady: Server, tokens: dict[str, str]) -> None:
    """One agent that asks for the tools in every order takes nobody's place."""
    from itertools import permutations

    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    names = ("knowledge", "lane", "agent-swarm", "swarm-mail")
    for chosen in [order for size in (1, 2, 3, 4) for order in permutations(names, size)][::4]:
        assert steady.ask(f"/mcp?tools={','.join(chosen)}", call, tokens["good"], headers=accept)[0] == 200


def test_answers_go_out_at_once() -> None:
    with listening(Place(port=0)) as made:
        assert made.proto == socket.IPPROTO_TCP  # else asyncio leaves Nagle's algorithm on: 40 ms an answer


# Slow and many

HURRIED = """
import sys
from swarmlore.main import main
from swarmlore.server.http import body, connection, log
body.BODY_S, connection.HEAD_S, connection.REST_S, connection.READ_S = float(sys.argv.pop(1)), 1.0, 2.0, 1.0
connection.MOST_LINES, log.MOST_LINES = 60, 100
sys.exit(main())
"""


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with shorter times and fewer places, whose log nobody reads."""
    made = Server(tmp_path_factory.mktemp("hurried") / "home", quick_env(), "--rate", "100000", "--no-worker")
    made.program = ("-c", HURRIED, "1.0")
    made.log_to = subprocess.PIPE
    made.home.mkdir()
    made.start()
    yield made
    if made.process is not None:
        made.stop()


def opened(server: Server, data: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)
    made.sendall(data)
    return made


def rest(made: socket.socket) -> bytes:
    """What still comes until the other end closes."""
    found = b""
    with made:
        try:
            while chunk := made.recv(65_536):
                found += chunk
        except ConnectionResetError:
            pass
    return found


def one(made: socket.socket) -> bytes:
    """One answer, which is a document."""
    found = b""
    while not found.endswith(b"}") and (chunk := made.recv(65_536)):
        found += chunk
    return found


def slow_bodies(server: Server, token: str) -> list[socket.socket]:
    return [
        opened(server, head("POST", path, token, "Content-Type: application/json", "Content-Length: 100") + b"{")
        for _, path in (*OF_SWARM, *TOOLS, *VERBS[::6])
    ]


def test_slow_bodies_end(hurried: Server) -> None:
    assert {status(rest(made)) for made in slow_bodies(hurried, hurried.token())} == {408}


def test_slow_bodies_keep_nobody_waiting(tmp_path: Path) -> None:
    patient = Server(tmp_path / "home", quick_env(), "--no-worker")
    patient.program = ("-c", HURRIED, "600")
    patient.home.mkdir()
    patient.start()
    token = patient.token()
    slow = slow_bodies(patient, token)
    try:
        assert patient.ask("/v1/count", {}, token)[0] == 200
    finally:
        for made in slow:
            made.close()
        patient.stop()


def test_slow_and_silent_heads_end(hurried: Server) -> None:
    silent, begun, late = opened(hurried), opened(hurried, b"GET /healthz HTTP/1.1\r\nHost: loc"), opened(hurried)
    with contextlib.suppress(OSError):
        late.sendall(b"GET /")
        while True:  # it ends while something still comes
            late.sendall(b"a")
            time.sleep(0.1)
    assert [rest(made) for made in (silent, begun, late)] == [b"", b"", b""]


def test_what_still_comes_after_an_answer_ends_soon(hurried: Server) -> None:
    made = opened(hurried, head("POST", "/v1/remember", "", "Content-Length: 1000000") + b"x")
    assert status(rest(made)) in (401, 429)


def test_a_head_that_never_ends_is_refused_before_it_is_kept(hurried: Server) -> None:
    made = opened(hurried, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-More: ")
    sent = 0
    with contextlib.suppress(OSError):
        while sent < 10_000_000:
            sent += made.send(b"x" * 16_384)
    assert sent < 10_000_000
    assert status(rest(made)) in (0, 400)  # 0: what came after the answer has swept it away


def test_a_line_goes_on_after_a_refused_body_has_come_in_whole(hurried: Server) -> None:
    token = hurried.token()
    refused = head("POST", "/v1/recall", token, "Content-Type: text/plain", "Content-Length: 10")
    with opened(hurried, refused + b"x") as made:
        assert status(one(made)) == 415
        made.sendall(b"x" * 9)
        time.sleep(4.0)  # longer than one waits for the rest of a body
        made.sendall(head("GET", "/healthz", token))
        assert status(one(made)) == 200


def test_an_answer_comes_in_one_piece(hurried: Server) -> None:
    with opened(hurried, head("GET", "/healthz", hurried.token())) as made:
        assert made.recv(65_536).endswith(b'{"ok":true}')


@pytest.mark.parametrize("pieces", [1, 2, 60])
@pytest.mark.parametrize(
    "offer", [("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AA"), UPGRADE]
)
def test_who_offers_another_protocol_is_answered_in_this_one(
    hurried: Server, offer: tuple[str, ...], pieces: int
) -> None:
    """Java's client offers h2c with each first request. The body belongs to it, and so does what follows."""
    token = hurried.token()
    refused = request("POST", "/v1/count", token, *offer, body=b'{"nonsense": 1}')
    sent = refused + request("POST", "/v1/count", token, "Connection: close", body=b"{}")
    size = -(-len(sent) // pieces)
    with opened(hurried) as made:
        for start in range(0, len(sent), size):
            made.sendall(sent[start : start + size])
            time.sleep(0.3 / pieces)
        answers = rest(made).split(b"HTTP/1.1 ")[1:]
    assert [int(answer[:3]) for answer in answers] == [400, 200]
    assert b"nonsense" in answers[0]


def test_many_offers_at_once_are_answered_each(hurried: Server) -> None:
    many = 1_500
    last = head("GET", "/v1/nothing", "", "Connection: close")
    with opened(hurried, head("GET", "/healthz", "", *UPGRADE) * many + last) as made:
        answers = rest(made).split(b"HTTP/1.1 ")[1:]
    assert {int(answer[:3]) for answer in answers} <= {401, 429}
    assert len(answers) == many + 1


def test_requests_that_come_at_once_are_answered_one_after_the_other(hurried: Server) -> None:
    token = hurried.token()
    asked = [request("POST", "/v1/count", token, body=b"{}"), head("GET", "/healthz", token)] * 3
    with opened(hurried, b"".join(asked) + head("GET", "/v1/nothing", token, "Connection: close")) as made:
        answers = rest(made).split(b"HTTP/1.1 ")[1:]
    assert [int(answer[:3]) for answer in answers] == [200] * 6 + [404]
    assert [b'"ok"' in answer for answer in answers[:6]] == [False, True] * 3


def test_many_half_open_connections_keep_nobody_out(hurried: Server) -> None:
    token = hurried.token()
    half = [opened(hurried, b"GET /healthz HTTP/1.1\r\n") for _ in range(150)]
    assert hurried.ask("/healthz", token=token)[0] == 200
    for made in half:
        made.close()


def test_a_log_that_nobody_reads_blocks_nothing(hurried: Server) -> None:
    lead = hurried.token("boss", role="lead")
    line = http.client.HTTPConnection("127.0.0.1", hurried.port, timeout=120)
    for _ in range(900):  # the pipe holds 64 KB, about 300 lines
        line.request("GET", "/healthz", headers={"Authorization": f"Bearer {lead}"})
        assert line.getresponse().read()
    line.close()
    told = hurried.ask("/metrics", token=lead)[1].decode()
    dropped = next(text for text in told.splitlines() if text.startswith("swarmlore_log_lines_dropped_total"))
    assert int(dropped.split()[1]) > 0
    assert hurried.process is not None
    hurried.process.send_signal(signal.SIGTERM)
    assert hurried.process.wait(120) == 0  # before anybody reads
    hurried.stop()
