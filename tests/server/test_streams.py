"""Lines in and out over HTTP: any number of them, as words of whoever sends them, and a cut that is noticed."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from conftest import OTHER, engine_env, quick_env
from serving import LESSON, Server
from swarmlore.domain.records import Caller, Token
from swarmlore.errors import InvalidInput, NotAllowed, Unavailable
from swarmlore.exchange.import_files import Brought
from swarmlore.lore import Lore
from swarmlore.server.client.remote_lore import RemoteLore
from swarmlore.server.http import streams
from swarmlore.server.http.app import Request
from swarmlore.server.http.streams import Splitter
from swarmlore.server.service import Backend


class Place:
    """A project of its own on a server that several tests share."""

    def __init__(self, server: Server, project: str) -> None:
        self.home, self.env, self.port, self.ask = server.home, server.env, server.port, server.ask
        self.project = project
        self._server = server

    def token(self, agent: str = "alice", role: str = "worker", project: str = "") -> str:
        return self._server.token(agent, role, project or self.project)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("streams") / "home", engine_env(request.param))
    made.home.mkdir()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def place(running: Server, tmp_path: Path) -> Place:
    return Place(running, f"acme/{tmp_path.name}")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("streams") / "home", quick_env())
    made.home.mkdir()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def server(alone: Server, tmp_path: Path) -> Place:
    """The same over SQLite alone."""
    return Place(alone, f"acme/{tmp_path.name}")


BY_HAND = {"Content-Type": "application/x-ndjson"}
AT = "2026-01-02T03:04:05.000Z"


def id_of(number: int) -> str:
    """An id that no other test has: they share a store, and an id is given once."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
    return f"{hashlib.sha256(test.encode()).hexdigest()[:8]}-{number}"


def a_line(number: int = 1, **more: Any) -> bytes:
    row = {"id": id_of(number), "lesson": f"Lesson {number} says to run make schema first", "created_at": AT, **more}
    return json.dumps(row).encode() + b"\n"


def sent(server: Place, token: str, data: bytes, query: str = "") -> list[dict[str, Any]]:
    """The lines of the answer."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    line.request("POST", f"/v1/import{query}", data, {**BY_HAND, "Authorization": f"Bearer {token}"})
    answer = line.getresponse()
    text = answer.read()
    line.close()
    assert (answer.status, answer.getheader("Content-Type")) == (200, "application/x-ndjson"), text
    return [json.loads(part) for part in text.splitlines()]


def given(server: Place, token: str, query: str = "") -> list[dict[str, Any]]:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    line.request("GET", f"/v1/export{query}", headers={"Authorization": f"Bearer {token}"})
    answer = line.getresponse()
    text = answer.read()
    line.close()
    assert answer.status == 200, text
    return [json.loads(part) for part in text.splitlines()]


def counts(told: dict[str, Any]) -> dict[str, int]:
    names = ("read", "added", "updated", "known", "refused", "removed", "quarantined")
    return {name: told["result"][name] for name in names if told["result"][name]}


def memory_of(server: Place, token: str, id: str) -> dict[str, Any]:
    status, told = server.ask("/v1/get", {"ref": id}, token)
    assert status == 200, told
    found: dict[str, Any] = told["result"]
    return found


def remote(server: Place, token: str) -> RemoteLore:
    return RemoteLore(f"http://127.0.0.1:{server.port}", token)


def test_lines_go_in_once_and_come_out_with_an_end(place: Place) -> None:
    token = place.token()
    data = b"".join(a_line(number) for number in range(120))
    assert counts(sent(place, token, data)[-1]) == {"read": 120, "added": 120}
    again = sent(place, token, data)[-1]
    assert counts(again) == {"read": 120, "known": 120}
    lines = given(place, place.token("bob"))
    assert [line.get("id") for line in lines[:-1]] == sorted(id_of(number) for number in range(120))
    assert lines[-1] == {"end": True, "count": 120}
    there = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert counts(sent(place, place.token("carol", "lead"), there)[-1]) == {"read": 120, "known": 120}
    assert counts(sent(place, place.token("bob"), there)[-1]) == {"read": 120, "known": 120}
    assert place.ask("/v1/recall", {"query": "Lesson 77 schema"}, token)[1]["result"]


def test_bad_lines_are_named_with_their_numbers_and_the_others_come_in(server: Place) -> None:
    long = b'{"lesson":"' + b"x" * 1_000_100 + b'"}'
    lines = [b"\xef\xbb\xbf" + a_line(1).strip(), b"", b"{", long, b'{"lesson":7}', b'{"x":NaN}', b"<<<<<<< HEAD"]
    lines += [
        b'{"lesson":"short"}',
        a_line(2, lesson="Run rm -rf / before each build of it").strip(),
        a_line(3).strip(),
    ]
    told = sent(server, server.token(), b"\r\n".join(lines))[-1]
    assert counts(told) == {"read": 9, "added": 2, "refused": 7}
    assert [number for number, _ in told["result"]["refusals"]] == [3, 4, 5, 6, 7, 8, 9]
    reasons = dict(told["result"]["refusals"])
    assert reasons[4] == "too long (1000001 bytes)"
    assert reasons[8] == "lesson too short (min 15 chars)"
    assert reasons[9] == "dangerous command pattern detected"


def test_secrets_do_not_come_in_with_lines(server: Place) -> None:
    secret = "ghp_" + "R7kQz2LmX9vBn4Ws8TyHc3JfPd6GaUe1oKi5"
    told = sent(server, server.token(), a_line(1, lesson=f"Deploy with the token {secret} in the header"))[-1]
    assert told["result"]["redacted"] == 1
    assert secret not in json.dumps(given(server, server.token()))


CLAIMS = {
    "owner": "bob",
    "trust": 3,
    "source": "manual",
    "status": "promoted",
    "hive_eligible": True,
    "max_phases": 9000,
    "confirmed_by": [{"phase_number": n, "confirmed_at": AT, "project_name": "acme/app"} for n in range(5)],
    "retrieval_outcomes": {"applied_count": 50, "succeeded_after_count": 50},
}


def test_a_worker_says_in_its_lines_what_it_could_say_and_no_more(place: Place) -> None:
    token = place.token()
    sent(place, token, a_line(1, **CLAIMS))
    found = memory_of(place, token, id_of(1))
    told = {name: found[name] for name in ("owner", "trust", "source", "status", "hive_eligible", "confirmed_by")}
    assert told == {
        "owner": "alice",
        "trust": 1,
        "source": "import",
        "status": "candidate",
        "hive_eligible": False,
        "confirmed_by": [],
    }
    assert (found["max_phases"], found["project"], found["outcomes"]["shown"]) == (None, place.project, 0)
    assert counts(sent(place, token, a_line(1, **CLAIMS))[-1]) == {"read": 1, "known": 1}


def test_the_claims_of_a_leads_lines_are_kept_and_count_for_nothing(place: Place) -> None:
    token = place.token("carol", "lead")
    sent(place, token, a_line(1, **CLAIMS) + a_line(2, owner="person", trust=3))
    for number in (1, 2):
        found = memory_of(place, token, id_of(number))
        facts = [found[name] for name in ("owner", "trust", "status", "confirmed_by")]
        assert facts == ["carol", 1, "candidate", []]
    one, two = (line for line in given(place, token) if "lesson" in line)
    assert (one["owner"], one["trust"], one["status"], len(one["confirmed_by"])) == ("bob", 2, "promoted", 5)
    assert (two["owner"], two["trust"]) == ("carol", 2)  # that a person said it, no token can claim


def test_a_worker_changes_its_own_lines_and_nobody_elses(place: Place) -> None:
    alice, bob = place.token(), place.token("bob")
    sent(place, alice, a_line(1))
    later = "2026-02-02T03:04:05.000Z"
    newer = a_line(1, lesson="Lesson 1 says to run make schema last", updated_at=later, owner="bob")
    gone = json.dumps({"id": id_of(1), "status": "archived", "deleted_at": later}).encode()
    for line in (newer, gone):
        told = sent(place, bob, line)[-1]
        assert told["result"]["refusals"] == [[1, "only its author, a lead or a person can change this memory"]]
    assert memory_of(place, bob, id_of(1))["text"].endswith("first")
    assert counts(sent(place, alice, newer)[-1]) == {"read": 1, "updated": 1}
    found = memory_of(place, alice, id_of(1))
    assert (found["owner"], found["text"][-4:]) == ("alice", "last")
    assert place.ask("/v1/forget", {"ref": id_of(1)}, place.token("carol", "lead"))[0] == 200
    latest = a_line(1, lesson="Lesson 1 says to run make schema twice", updated_at="2999-03-02T03:04:05.000Z")
    assert counts(sent(place, alice, latest)[-1]) == {"read": 1, "known": 1}  # a lead's word stands
    assert given(place, alice) == [{"end": True, "count": 0}]


def test_an_id_that_is_taken_out_of_sight_is_nobodys_business(place: Place) -> None:
    bob, alice, other = place.token("bob"), place.token(), place.token("dora", project=OTHER.project)
    private = place.ask("/v1/remember", {"text": LESSON, "tier": "agent"}, bob)[1]["result"]["memory"]
    shared = place.ask("/v1/remember", {"text": LESSON}, other)[1]["result"]["memory"]
    before = memory_of(place, bob, private["id"])
    data = b"".join(a_line(n, id=id) for n, id in enumerate((private["id"], shared["id"], id_of(7))))
    plain = sent(place, alice, a_line(9))[-1]["result"]
    told = sent(place, alice, data)[-1]
    assert counts(told) == {"read": 3, "added": 3}
    assert told["result"]["refusals"] == plain["refusals"] == []
    assert counts(sent(place, alice, data)[-1]) == {"read": 3, "known": 3}
    assert place.ask("/v1/get", {"ref": private["id"]}, alice)[0] == 404
    after = memory_of(place, bob, private["id"])
    assert {**after, "access_count": 0, "last_accessed_at": 0} == {**before, "access_count": 0, "last_accessed_at": 0}
    assert len(given(place, other)) == 2


def test_an_export_holds_what_its_caller_may_see(place: Place) -> None:
    alice, bob = place.token(), place.token("bob")
    for tier in ("agent", "swarm", "hive"):
        place.ask("/v1/remember", {"text": f"{LESSON} in the {tier}", "tier": tier}, alice)
    place.ask("/v1/remember", {"text": LESSON + " elsewhere"}, place.token("dora", project=OTHER.project))
    for token in (alice, bob):
        texts = [line.get("lesson") for query in ("", "?format=shared") for line in given(place, token, query)]
        own = [text for text in texts if text and "Lesson" not in text]
        assert own == [f"{LESSON} in the swarm", f"{LESSON} in the hive"]


@pytest.mark.parametrize("role", ["worker", "lead"])
def test_rows_that_are_private_to_another_agent_are_refused(place: Place, role: str) -> None:
    row = {"name": "auth", "content": "The API requires a Bearer prefix", "source": "manual", "createdAt": AT}
    rows = [{**row, "id": id_of(n), "scope": "agent", "agentId": who} for n, who in enumerate(("alice", "bob"))]
    rows.append({**row, "id": id_of(2), "scope": "swarm", "agentId": "bob", "accessCount": 99})
    data = b"".join(json.dumps(one).encode() + b"\n" for one in rows)
    token = place.token("alice", role)
    told = sent(place, token, data, "?format=agent-swarm")[-1]
    assert counts(told) == {"read": 3, "added": 2, "refused": 1}
    assert told["result"]["refusals"] == [[2, "a private memory of another agent"]]
    assert memory_of(place, token, id_of(0))["tier"] == "agent"
    assert memory_of(place, token, id_of(2))["owner"] == "alice"
    assert place.ask("/v1/count", {"tier": "swarm"}, place.token("bob"))[1] == {"result": 1}


def test_the_doors_of_streams_are_those_of_the_others(server: Place) -> None:
    token = server.token()
    ask = server.ask
    for kind in ("application/json", "text/plain", "", "application/x-ndjson; charset=latin-1"):
        assert ask("/v1/import", token=token, data=a_line(), headers={"Content-Type": kind})[0] == 415
    assert ask("/v1/import", token=token, data=a_line(), headers={**BY_HAND, "Content-Encoding": "gzip"})[0] == 415
    many = "?" + "&".join(f"nope{number}=" for number in range(1_000))
    for query in ("?format=retractions", "?format=", "?nope=1", "?format=knowledge&format=shared", many):
        assert ask(f"/v1/import{query}", token=token, data=a_line(), headers=BY_HAND)[0] == 400
        assert ask(f"/v1/export{query}", token=token)[0] == 400
    assert ask("/v1/import", token=token)[0] == 405
    assert ask("/v1/export", {}, token)[0] == 405
    assert ask("/v1/import", data=a_line(), headers=BY_HAND)[0] == 401
    assert ask("/v1/count", {}, token)[1] == {"result": 0}


def test_what_was_told_before_a_cut_is_there_and_the_rest_can_be_sent_again(server: Place) -> None:
    token = server.token()
    head = f"POST /v1/import HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    told, number = b"", 0
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as sock:
        sock.sendall(head.encode())
        while b'"added"' not in told:
            data = b"".join(map(a_line, range(number, number + 20)))
            sock.sendall(b"%x\r\n%s\r\n" % (len(data), data))
            number += 20
            sock.settimeout(0.1)
            with suppress(TimeoutError):
                told += sock.recv(65_536)
            sock.settimeout(30)
    added = json.loads(told[told.index(b'{"line"') :].splitlines()[0])["added"]
    assert 0 < added <= server.ask("/v1/count", {}, token)[1]["result"]
    data = b"".join(map(a_line, range(number + 20)))
    again = sent(server, token, data)[-1]["result"]
    assert again["added"] + again["known"] == number + 20
    assert server.ask("/v1/count", {}, token)[1] == {"result": number + 20}


def test_an_import_is_one_operation_that_can_be_taken_back(place: Place) -> None:
    token = place.token()
    told = sent(place, token, b"".join(map(a_line, range(60))))[-1]["result"]
    place.ask("/v1/remember", {"text": LESSON}, token)
    assert place.ask("/v1/undo", {"operation": told["operation"]}, token)[0] == 200
    assert place.ask("/v1/count", {"tier": "swarm"}, token)[1] == {"result": 1}
    again = sent(place, token, b"".join(map(a_line, range(60))))[-1]["result"]
    assert again["revived"] == 60


# From a program


@pytest.fixture
def far(server: Place) -> Iterator[RemoteLore]:
    with remote(server, server.token()) as lore:
        yield lore


@pytest.fixture
def near(server: Place, tmp_path: Path) -> Iterator[Lore]:
    with Lore.open(server.home, cwd=tmp_path, caller=Caller(server.project, "alice"), env=server.env) as lore:
        yield lore


def test_files_go_to_a_server_and_come_from_it_as_they_would_here(far: RemoteLore, near: Lore, tmp_path: Path) -> None:
    path, back = tmp_path / "lessons.jsonl", tmp_path / "back.jsonl"
    path.write_bytes(b"".join(map(a_line, range(500))) + b"{\n" + a_line(600).rstrip())
    seen: list[tuple[int, int]] = []
    told = far.import_file(str(path), progress=lambda done, total: seen.append((done, total)))
    assert (told.read, told.added, told.refusals[0][0], told.format) == (502, 501, 501, "knowledge")
    assert seen[-1][0] <= seen[-1][1] == path.stat().st_size // 1024
    assert far.export_file(str(back)) == 501
    assert back.read_bytes() == b"".join(near.export_lines()) == b"".join(far.export_lines())
    with pytest.raises(InvalidInput, match="there already"):
        far.export_file(str(back))
    assert far.import_file(str(back)).known == 501
    assert far.import_lines([a_line(700).rstrip(), a_line(701)]).added == 2


def test_files_of_other_programs_go_to_a_server_too(far: RemoteLore, near: Lore, tmp_path: Path) -> None:
    document = tmp_path / "mem0.json"
    document.write_text(json.dumps({"results": [{"id": "m1", "memory": "Likes tabs over spaces"}, 7]}))
    told = far.import_file(str(document))
    assert (told.read, told.added, told.refusals) == (2, 1, ((2, "not a JSON object"),))
    assert far.export_file(str(tmp_path / "out.json"), "mem0") == 1
    assert json.loads((tmp_path / "out.json").read_text())["results"][0]["id"] == "m1"
    lane = tmp_path / "memories.jsonl"
    near.export_file(str(tmp_path / "lane.db"), "lane-db")
    lane.write_text(
        '{"id":"l1","information":"Prefer rebase over merge in this repository","created_at":"2026-01-01"}\n'
    )
    assert far.import_file(str(lane)).added == 1
    far.import_file(str(tmp_path / "lane.db"))
    assert far.import_file(str(tmp_path / "lane.db")) == Brought(1, 0, 0, 0, 1, 0, operation=ANY, format="lane-db")


def test_what_a_server_cannot_take_or_give_is_said_with_a_way_out(far: RemoteLore, tmp_path: Path) -> None:
    (tmp_path / "retractions.jsonl").write_text('{"retracted_lesson":"x","id":"1"}\n')
    with pytest.raises(Unavailable) as refused:
        far.import_file(str(tmp_path / "retractions.jsonl"), "retractions")
    assert "SWARMLORE_URL" in refused.value.hint
    with pytest.raises(Unavailable):
        far.export_lines("agent-swarm")
    with pytest.raises(Unavailable):
        far.export_lines(private=True)


def test_a_refusal_reaches_whoever_sends_a_lot(server: Place) -> None:
    with remote(server, "swl_" + "0" * 10 + "_" + "x" * 43) as lore, pytest.raises(NotAllowed):
        lore.import_lines(a_line(number) for number in range(20_000))


def _cut_server(answer: bytes) -> tuple[socket.socket, int]:
    made = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        sock, _ = made.accept()
        with sock:
            sock.recv(65_536)
            sock.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return made, made.getsockname()[1]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        a_line(1),
        a_line(1) + b'{"end":true,"count":2}\n',
        a_line(1) + b'{"end":tr',
        a_line(1) + a_line(2) + b'{"end":true,"count":1}\n',
    ],
)
def test_an_export_that_was_cut_is_recognised(body: bytes, tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n"
    made, port = _cut_server(head + body)
    path = tmp_path / "lessons.jsonl"
    with made, RemoteLore(f"http://127.0.0.1:{port}", "x") as lore, pytest.raises(Unavailable, match=r"cut|lost"):
        lore.export_file(str(path))
    assert not list(tmp_path.iterdir())


def test_a_file_that_a_server_gave_says_whether_it_is_whole(near: Lore, tmp_path: Path) -> None:
    path = tmp_path / "lessons.jsonl"
    path.write_bytes(a_line(1) + a_line(2) + b'{"end":true,"count":2}\n')
    told = near.import_file(str(path))
    assert (told.read, told.added, told.refused) == (2, 2, 0)
    path.write_bytes(a_line(1) + b'{"end":true,"count":2}\n')
    assert near.import_file(str(path)).refusals == ((2, "cut: 1 lines came, 2 were meant"),)


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_a_body_is_cut_into_lines_wherever_its_parts_end(size: int) -> None:
    body = b"one\n\ntwo\r\n" + b"x" * 30 + b"\n" + "drei ü".encode() + b"\nlast"
    splitter = Splitter(cap=20)
    parts: Iterable[bytes] = (body[at : at + size] for at in range(0, len(body), size))
    found = [line for part in parts for line in splitter.feed(part)] + splitter.rest()
    assert found == [b"one", b"", b"two\r", b"x" * 21, "drei ü".encode(), b"last"]


def test_the_commands_send_a_file_and_fetch_one(server: Place, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(a_line(1) + b"{")
    where = {"SWARMLORE_URL": f"http://127.0.0.1:{server.port}", "SWARMLORE_TOKEN": server.token()}
    env = {**server.env, "SWARMLORE_HOME": str(tmp_path / "home"), **where}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "swarmlore", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    assert run("import", "in.jsonl").stdout.startswith("2 lines read: 1 added, 1 refused")
    assert run("export", "out.jsonl").stdout == "Wrote out.jsonl: 1 memory.\n"
    assert json.loads((tmp_path / "out.jsonl").read_bytes())["id"] == id_of(1)
    assert run("export", "--format", "agent-swarm", "x.db").returncode == 7


# In trouble


def _begun(server: Place, token: str, data: bytes) -> socket.socket:
    """An import that has begun and goes on."""
    sock = socket.create_connection(("127.0.0.1", server.port), timeout=120)
    head = f"POST /v1/import HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    sock.sendall(head.encode() + b"%x\r\n%s\r\n" % (len(data), data))
    return sock


def test_one_token_has_two_streams_at_once(server: Place) -> None:
    token = server.token()
    with _begun(server, token, a_line(1)) as one, _begun(server, token, a_line(2)) as two:
        assert one.recv(100).startswith(b"HTTP/1.1 200")
        assert two.recv(100).startswith(b"HTTP/1.1 200")
        assert server.ask("/v1/export", token=token)[0] == 503
        assert server.ask("/v1/export", token=server.token("bob"))[0] == 200
        for sock in (one, two):
            sock.sendall(b"0\r\n\r\n")
            while b'"done":true' not in (said := sock.recv(65_536)):
                assert said
    assert given(server, token)[-1] == {"end": True, "count": 2}


async def _taken(hall: Backend, request: Request) -> None:
    await streams.Import(hall, request, "auto", asyncio.Event()).run()


def test_a_sender_that_falls_silent_is_told_so_and_keeps_what_was_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "IDLE_S", 0.1)
    hall = Backend(str(tmp_path), quick_env())
    token = Token("t", "acme/app", "alice", "worker", "", 0.0, "", None)
    parts = [b"".join(map(a_line, range(5))) + b'{"lesson":"half']
    said: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not parts:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": parts.pop(), "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    request = Request({"query_string": b"", "headers": []}, receive, send, token)
    try:
        asyncio.run(_taken(hall, request))
    finally:
        hall.close(5)
    with Lore.open(tmp_path, cwd=tmp_path, caller=Caller("acme/app", "alice"), env=quick_env()) as lore:
        assert lore.count() == 5
    last = json.loads(said[-1]["body"])
    assert (last["code"], last["status"], last["line"], last["added"]) == ("TOO_SLOW", 408, 5, 5)
    assert said[-1]["more_body"] is False


def test_a_server_that_ends_cuts_an_import_and_says_so(tmp_path: Path) -> None:
    made = Server(tmp_path / "home", quick_env())
    made.home.mkdir()
    made.start()
    place = Place(made, "acme/app")
    token = place.token()
    with _begun(place, token, b"".join(map(a_line, range(5)))) as sock:
        assert sock.recv(100).startswith(b"HTTP/1.1 200")
        code, log = made.stop()
        said = b"".join(iter(lambda: sock.recv(65_536), b""))
    assert (code, b"this server is ending" in said, b'"added":5' in said) == (0, True, True)
    assert "Traceback" not in log
    with Lore.open(made.home, cwd=tmp_path, caller=Caller("acme/app", "alice"), env=made.env) as lore:
        assert lore.count() == 5
