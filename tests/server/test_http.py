"""The server over HTTP: what it answers, whom it lets in, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import OTHER
from serving import LESSON, Server
from swarmlore.lore import Lore
from swarmlore.lore.verbs import LOCAL, READS, WRITES, verbs
from swarmlore.server.http.guard import Buckets, host_of
from waiting import wait_until

HOOKS = ("/v1/hooks/answer", "/v1/hooks/events")
READ = ("/healthz", "/readyz", "/metrics", "/v1/openapi.json", "/v1/export")
PATHS = [*(f"/v1/{name}" for name in verbs()), "/v1/import", *HOOKS, *READ]


def test_a_lesson_goes_in_and_comes_back(any_server: Server) -> None:
    token = any_server.token()
    status, told = any_server.ask("/v1/remember", {"text": LESSON, "tags": ["snapshots"]}, token)
    assert (status, told["result"]["outcome"]) == (200, "added")
    status, found = any_server.ask("/v1/recall", {"query": "snapshot tests"}, any_server.token("bob"))
    assert [hit["memory"]["text"] for hit in found["result"]] == [LESSON]
    assert found["result"][0]["memory"]["owner"] == "alice"


def test_every_method_of_lore_is_a_verb_or_has_a_reason_not_to_be() -> None:
    methods = {name for name in dir(Lore) if not name.startswith("_") and callable(getattr(Lore, name))}
    assert methods == {*READS, *WRITES, *LOCAL}
    assert not set(LOCAL) & {*READS, *WRITES}


def test_the_description_names_every_verb_and_no_other(steady: Server) -> None:
    status, found = steady.ask("/v1/openapi.json", token=steady.token())
    assert status == 200
    assert set(found["paths"]) == set(PATHS)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost."},
        {"Host": "user@localhost"},
        {"Host": ""},
        {"Host": "localhost:80:80"},
        {"Host": "localhost/x"},
    ],
    ids=str,
)
def test_a_name_that_a_web_page_could_use_is_turned_away(steady: Server, headers: dict[str, str]) -> None:
    assert steady.ask("/v1/remember", {"text": LESSON}, steady.token(), headers=headers)[0] == 403
    assert steady.ask("/healthz", token=steady.token(), headers=headers)[0] == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "localhost:8787", "[::1]:8787", "[::1]"])
def test_its_own_names_are_answered(steady: Server, host: str) -> None:
    assert steady.ask("/healthz", token=steady.token(), headers={"Host": host})[0] == 200


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/json; charset=latin-1", "application/jsonp"],
)  # fmt: skip
def test_a_body_of_another_type_is_refused_and_changes_nothing(steady: Server, kind: str) -> None:
    server, token = steady, steady.token()
    data = json.dumps({"text": LESSON}).encode()
    assert server.ask("/v1/remember", token=token, data=data, headers={"Content-Type": kind})[0] == 415
    assert server.ask("/v1/count", {}, token)[1] == {"result": 0}


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'"text"', 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b'{"text": NaN}', 400),
        (b'{"text": 7}', 400),
        (b'{"text": null}', 400),
        (b'{"text": "\\ud800 half a character of a text"}', 400),
        (b'{"text": "a NUL \\u0000 in the middle"}', 400),
        (b'{"text": "a good long text", "trust": 3}', 400),
        (b'{"text": "a good long text", "nope": 3}', 400),
        (b'{"text": "a good long text", "tags": "one"}', 400),
        (b'{"text": "a good long text", "extra": ' + b'{"a":' * 100 + b"1" + b"}" * 100 + b"}", 400),
        (b"[" * 100_000, 400),
        (b'{"text": "short"}', 422),
        (b'{"text": "' + b"x" * 2_000_000 + b'"}', 413),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_body_is_refused_with_a_hint_and_changes_nothing(steady: Server, data: bytes, status: int) -> None:
    server, token = steady, steady.token()
    got, told = server.ask("/v1/remember", token=token, data=data)
    assert (got, sorted(set(told) & {"error", "hint", "code"})) == (status, ["code", "error", "hint"])
    assert server.ask("/v1/count", {}, token)[1] == {"result": 0}


def test_two_hosts_or_two_tokens_are_none(steady: Server) -> None:
    server, token = steady, steady.token()
    for head in (
        f"Host: localhost\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n",
        f"Host: localhost\r\nAuthorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n",
        f"Authorization: Bearer {token}\r\n",
    ):
        assert server.raw(f"GET /healthz HTTP/1.1\r\n{head}\r\n".encode())[9:12] in (b"400", b"401", b"403")


def test_another_projects_token_sees_nothing_of_this_one(any_server: Server) -> None:
    mine, other = any_server.token(), any_server.token("carol", project=OTHER.project)
    told = any_server.ask("/v1/remember", {"text": LESSON}, mine)[1]["result"]["memory"]
    assert any_server.ask("/v1/recall", {"query": "snapshot tests"}, other)[1]["result"] == []
    assert any_server.ask("/v1/count", {}, other)[1] == {"result": 0}
    for verb in ("get", "forget", "history", "why"):
        assert any_server.ask(f"/v1/{verb}", {"ref": told["id"]}, other)[0] == 404


def test_a_named_request_is_done_once_and_answered_the_same(any_server: Server) -> None:
    token = any_server.token()
    said = {"to": ["bob"], "subject": "New schema", "body": "Run make schema first"}
    named = {"Idempotency-Key": "request-1"}
    first = any_server.ask("/v1/send", said, token, headers=named)
    assert first[0] == 200
    assert any_server.ask("/v1/send", said, token, headers=named) == first
    assert any_server.ask("/v1/send", {**said, "subject": "Other"}, token, headers=named)[0] == 409
    assert any_server.ask("/v1/send", said, any_server.token("dora"), headers=named)[1] != first[1]
    assert len(any_server.ask("/v1/sent", {}, token)[1]["result"]) == 1


def test_a_refused_named_request_may_be_sent_again(any_server: Server) -> None:
    token = any_server.token()
    for _ in range(2):
        assert any_server.ask("/v1/remember", {"text": "short"}, token, headers={"Idempotency-Key": "r"})[0] == 422


def test_too_many_requests_of_one_token_are_put_off(server: Server) -> None:
    server.stop()
    server._words = ("--rate", "5")
    server.start()
    busy, calm = server.token(), server.token("bob")
    found = [server.ask("/healthz", token=busy)[0] for _ in range(20)]
    assert found[0] == 200
    assert 429 in found
    assert server.ask("/healthz", token=calm)[0] == 200


def test_it_ends_well_and_its_log_holds_no_text(server: Server) -> None:
    token = server.token()
    server.ask("/v1/remember", {"text": LESSON}, token)
    server.ask("/v1/recall", {"query": "snapshot tests"}, token)
    code, log = server.stop()
    assert code == 0
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["route"] for line in lines if line["what"] == "request"] == ["/v1/remember", "/v1/recall"]
    assert "snap" not in log
    assert token not in log


def test_there_is_one_server_for_a_home(server: Server) -> None:
    words = [sys.executable, "-m", "swarmlore", "serve", "--port", "0", "--home", str(server.home)]
    second = subprocess.run(words, capture_output=True, text=True, env=server.env, cwd="/", timeout=120)
    assert second.returncode == 6
    assert "running already" in second.stderr
    server.stop(signal.SIGKILL)
    server.start()  # the lock died with it


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--host", "0.0.0.0"], "--public"),
        (["--host", "0.0.0.0", "--public"], "--tls-cert"),
        (["--tls-cert", "x.pem"], "--tls-key"),
        (["--rate", "0"], "requests a second"),
        (["--rate", "nan"], "requests a second"),
    ],
)
def test_an_open_address_has_to_be_meant(server: Server, words: list[str], hint: str) -> None:
    server.stop()
    run = [sys.executable, "-m", "swarmlore", "serve", "--port", "0", "--home", str(server.home), *words]
    told = subprocess.run(run, capture_output=True, text=True, env=server.env, cwd="/", timeout=120)
    assert told.returncode == 2
    assert hint in told.stderr


def test_what_was_acknowledged_survives_a_kill(server: Server) -> None:
    token = server.token()
    kept: list[str] = []

    def write(worker: int) -> None:
        for number in range(1000):
            try:
                status, told = server.ask(
                    "/v1/remember", {"text": f"Service s{worker}x{number} listens at {number}"}, token
                )
            except OSError:
                return
            if status == 200:
                kept.append(told["result"]["memory"]["id"])

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(write, worker) for worker in range(4)]
        wait_until(lambda: len(kept) >= 60, "sixty writes are answered")
        server.stop(signal.SIGKILL)
        for future in futures:
            future.result()
    server._words = ("--rate", "100000")
    server.start()
    assert len(kept) >= 60
    assert {server.ask("/v1/history", {"ref": id}, token)[0] for id in kept} == {200}


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost", "localhost"),
        ("LocalHost:80", "localhost"),
        ("[::1]:1", "::1"),
        ("[::1]", "::1"),
        ("::1", ""),
        ("a:b", ""),
        ("a:", ""),
        ("a@b", ""),
        ("a b", ""),
        ("a,b", ""),
        ("[::1", ""),
        ("x]:1", ""),
        ("", ""),
        ("a:١", ""),
    ],
)
def test_the_name_in_a_host_header(header: str, name: str) -> None:
    assert host_of(header) == name


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    buckets = Buckets(2.0, 3.0, lambda: now[0])
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 0]
    assert buckets.take("a") == pytest.approx(0.5)
    assert buckets.take("b") == 0
    now[0] = 0.5
    assert buckets.take("a") == 0
    assert buckets.take("a") > 0
