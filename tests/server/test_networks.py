"""Machines that lose each other: two servers on one database, and a client whose server is cut off."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

import namespaces
from conftest import LEAD, quick_env
from namespaces import Network
from serving import LESSON, Server, children_of
from swarmlore.domain.records import Caller
from swarmlore.errors import StoreLost, Unavailable
from swarmlore.lore import Lore
from swarmlore.server.client import http as remote_line
from swarmlore.server.client.remote_lore import RemoteLore
from swarmlore.store import postgres
from swarmlore.store.postgres import CHANNEL
from swarmlore.store.store import Store
from waiting import PATIENCE_S, wait_until

SEED = "Run make e2e-seed before the browser tests, otherwise all of them fail at the login page"
LEASE_S = 10.0
TASKS = sorted(f"task-{number}" for number in range(200))
PUBLIC = ("--public", "--plain", "--rate", "100000")
_numbers = itertools.count()


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    if why := namespaces.why_not():
        pytest.skip(why)
    made = Network("one", "two", "base", "agent")
    yield made
    made.close()


def start(network: Network, name: str, home: Path, env: dict[str, str], *words: str) -> Server:
    made = Server(home, env, "--host", network.address(name), *PUBLIC, *words)
    made.host = network.address(name)
    made.home.mkdir(parents=True, exist_ok=True)
    with network.inside(name):
        made.start()
    return made


class Team:
    """Two servers on two machines over the database of a third; only the second has a worker."""

    def __init__(self, network: Network, folder: Path) -> None:
        from databases import server as database

        self.network = network
        self.database = database()
        self.database.empty()
        with network.inside("base"):
            url = self.database.listen(network.address("base"))
        self._folder = folder
        self._env = {**quick_env(), "SWARMLORE_STORE_URL": url, "SWARMLORE_WORKER_LEASE_S": str(LEASE_S)}
        with ThreadPoolExecutor(2) as both:
            one = both.submit(self._start, "one", "--no-worker")
            two = both.submit(self._start, "two")
        self.one, self.two = one.result(), two.result()

    def _start(self, name: str, *words: str) -> Server:
        return start(self.network, name, self._folder / name / "home", self._env, *words)

    def give_the_first_a_worker(self) -> None:
        if self.one.process is not None:
            self.one.stop(signal.SIGKILL)
        self.one = self._start("one")

    def token(self, agent: str, role: str = "worker") -> str:
        with self.network.inside("one"):
            return self.one.token(agent, role)

    def ask(self, server: Server, path: str, body: Any, token: str, **more: Any) -> tuple[int, Any]:
        """Asked from the machine of an agent, which is neither of theirs."""
        with self.network.inside("agent"):
            return server.ask(path, body, token, **more)

    def close(self) -> None:
        for server in (self.one, self.two):
            if server.process is not None:
                server.stop()
        self.database.listen("")


@pytest.fixture(scope="module")
def team(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    made = Team(network, tmp_path_factory.mktemp("team"))
    yield made
    made.close()


def tool(team: Team, server: Server, token: str, name: str, **arguments: Any) -> str:
    """What a tool says over /mcp."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {"Accept": "application/json, text/event-stream"}
    status, told = team.ask(server, "/mcp", call, token, headers=headers)
    assert status == 200, told
    return str(told["result"]["content"][0]["text"])


def test_what_a_lead_teaches_at_one_server_is_in_a_workers_prompt_at_another(team: Team) -> None:
    lead, worker, other = team.token("boss", "lead"), team.token("w1"), team.token("w2")
    private = "The third desk has the key of the drawer with the staging phone"
    assert team.ask(team.one, "/v1/remember", {"text": private, "tier": "agent"}, other)[0] == 200
    taught = {"text": SEED, "agent": "w1", "category": "best-practice"}
    assert team.ask(team.one, "/v1/inject", taught, lead)[0] == 200
    assert team.ask(team.one, "/v1/send", {"to": ["w1"], "subject": "New seed", "body": SEED}, lead)[0] == 200
    block = team.ask(team.two, "/v1/block", {"cue": "the browser tests fail at the login page"}, worker)
    assert SEED in str(block)
    assert SEED in tool(team, team.two, worker, "recall", query="browser tests login page")
    mail = team.ask(team.two, "/v1/inbox", {}, worker)[1]["result"]
    assert [(message["sender"], message["subject"]) for message in mail] == [("boss", "New seed")]
    for verb, asked in (("block", {"cue": "key of the drawer"}), ("recall", {"query": "key of the drawer"})):
        assert "staging phone" not in str(team.ask(team.two, f"/v1/{verb}", asked, worker))
        assert "staging phone" not in str(team.ask(team.two, f"/v1/{verb}", asked, lead))
        assert "staging phone" in str(team.ask(team.two, f"/v1/{verb}", asked, other))
    assert "staging phone" not in tool(team, team.two, lead, "recall", query="key of the drawer")


def test_a_job_that_is_put_at_one_server_wakes_the_worker_of_the_other(team: Team) -> None:
    token = team.token("w1")
    with psycopg.connect(team.database.admin_url, autocommit=True) as listening:
        listening.execute(f"LISTEN {CHANNEL}")
        assert team.ask(team.one, "/v1/enqueue", {"kind": "sweep"}, token)[0] == 200
        assert len(list(listening.notifies(timeout=PATIENCE_S, stop_after=1))) == 1  # as a worker hears it, too
    wait_until(lambda: not team.ask(team.one, "/v1/jobs", {}, token)[1]["result"], "the job is done")


def test_a_token_that_was_revoked_is_refused_by_the_other_server_within_a_moment(team: Team) -> None:
    token = team.token("gone")
    assert team.ask(team.two, "/v1/count", {}, token)[0] == 200
    with team.network.inside("one"), Lore.open(team.one.home, cwd="/", caller=LEAD, env=team.one.env) as lore:
        lore.revoke_token(token)
    time.sleep(1.1)
    assert team.ask(team.two, "/v1/count", {}, token)[0] == 401
    assert team.ask(team.two, "/healthz", None, token)[0] == 401


def test_a_server_without_its_database_answers_503_and_recovers(team: Team) -> None:
    token = team.token("w1")
    assert team.ask(team.one, "/v1/count", {}, token)[0] == 200
    time.sleep(0.3)  # that the token was used is noted afterwards
    team.network.cut("one", "answers", "base")  # what it sends to the database is lost; its own clients reach it
    try:
        late = threading.Thread(target=team.ask, args=(team.one, "/v1/count", {}, token))
        late.start()
        time.sleep(1.2)  # longer than a token is known
        assert team.ask(team.one, "/healthz", None, token)[0] == 200
        assert late.is_alive()  # whoever asks for the database still waits
        assert team.ask(team.two, "/v1/remember", {"text": LESSON}, token)[0] == 200
        status, told = team.ask(team.one, "/v1/count", {}, token)
        assert (status, bool(told["hint"])) == (503, True)
    finally:
        team.network.mend("one", "answers", "base")
    late.join()
    wait_until(lambda: team.ask(team.one, "/v1/count", {}, token)[0] == 200, "it is back", pause_s=0.1)


def test_a_statement_that_a_network_swallows_is_given_up(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(postgres.KEEPALIVE, "tcp_user_timeout", postgres.KEEPALIVE["tcp_user_timeout"] // 30)
    with team.network.inside("agent"):
        store = Store.connect(team.one.env["SWARMLORE_STORE_URL"], 0.0)
        team.network.cut("agent", "drop")
        try:
            with pytest.raises(StoreLost), store.engine.writing():
                pass
        finally:
            team.network.mend("agent", "drop")
        store.close()


def test_when_one_server_dies_the_other_goes_on_and_knows_what_was_answered(team: Team) -> None:
    token = team.token("w1")
    said = {"to": ["w2"], "subject": "New schema", "body": "Run make schema first"}
    named = {"Idempotency-Key": "request-1"}
    first = team.ask(team.one, "/v1/send", said, token, headers=named)
    assert first[0] == 200
    team.one.stop(signal.SIGKILL)
    assert team.ask(team.two, "/v1/send", said, token, headers=named) == first
    assert len(team.ask(team.two, "/v1/sent", {}, token)[1]["result"]) == 1
    assert team.ask(team.two, "/v1/remember", {"text": "Ports below 1024 need a capability"}, token)[0] == 200


# Their workers

# The database itself writes down from which machine each job was done.
WATCH = """
CREATE SCHEMA watch;
CREATE TABLE watch.done (key TEXT, machine TEXT);
CREATE FUNCTION watch.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
    $$ BEGIN INSERT INTO watch.done VALUES (NEW.key, host(inet_client_addr())); RETURN NULL; END $$;
CREATE TRIGGER watch AFTER UPDATE ON swarmlore.job FOR EACH ROW
    WHEN (NEW.state = 'done') EXECUTE FUNCTION watch.note();
"""


class Queue:
    """Jobs that each record how one task ended, and what became of them."""

    def __init__(self, team: Team) -> None:
        self._ask = team.database.admin
        self._ask(WATCH)
        team.give_the_first_a_worker()
        wait_until(lambda: self._ask("SELECT 1 FROM worker WHERE pid = %s", (worker_of(team.one),)), "it has a worker")
        with (
            team.network.inside("one"),
            Lore.open(team.one.home, cwd="/", caller=LEAD, env=team.one.env) as lore,
            lore.store.engine.writing(),
        ):
            for key in TASKS:
                told = {"task": key, "success": True, "summary": f"The importer reads the table of {key}"}
                lore.enqueue("extract", {"outcome": told}, key)

    def done(self) -> list[tuple[str, str]]:
        """(key, machine) for each time that a job was done."""
        return [
            (str(key), str(machine)) for key, machine in self._ask("SELECT key, machine FROM watch.done ORDER BY key")
        ]

    def effects(self) -> list[str]:
        return [str(task) for (task,) in self._ask("SELECT task FROM outcome ORDER BY task")]

    def open(self) -> int:
        return int(self._ask("SELECT count(*) FROM job WHERE state <> 'done'")[0][0])

    def half_done(self, worker: int) -> list[str]:
        """The job that a worker holds, if its task is recorded already."""
        asked = "SELECT key FROM job WHERE state = 'running' AND owner LIKE %s AND key IN (SELECT task FROM outcome)"
        return [str(key) for (key,) in self._ask(asked, (f"{worker}-%",))]

    def attempts(self) -> dict[str, int]:
        return {str(key): int(many) for key, many in self._ask("SELECT key, attempts FROM job WHERE kind = 'extract'")}

    def wait(self, left: int = 0) -> None:
        wait_until(lambda: self.open() <= left, "jobs are done")

    def close(self) -> None:
        self._ask("DROP TRIGGER watch ON swarmlore.job; DROP SCHEMA watch CASCADE; DELETE FROM outcome")
        self._ask("DELETE FROM job; DELETE FROM effect")


@pytest.fixture
def queue(team: Team) -> Iterator[Queue]:
    made = Queue(team)
    yield made
    made.close()


def test_the_workers_of_two_servers_share_one_queue(team: Team, queue: Queue) -> None:
    queue.wait()
    done = queue.done()
    assert [key for key, _ in done] == TASKS
    assert {machine for _, machine in done} == {team.one.host, team.two.host}
    assert queue.attempts() == dict.fromkeys(TASKS, 1)
    assert queue.effects() == TASKS


def test_the_worker_of_one_server_finishes_what_died_with_the_other(team: Team, queue: Queue) -> None:
    queue.wait(left=len(TASKS) * 3 // 4)
    held = killed_with_a_job(team.one, queue)
    assert queue.open() > len(TASKS) // 4
    queue.wait()
    done = queue.done()
    assert [key for key, _ in done] == TASKS
    assert (held, team.two.host) in done
    assert queue.attempts() == {**dict.fromkeys(TASKS, 1), held: 2}
    assert queue.effects() == TASKS


def killed_with_a_job(server: Server, queue: Queue) -> str:
    """Kill a server, its worker and the worker's child while they have a job that is half done; returns which."""
    worker = worker_of(server)
    (child,) = children_of(worker)
    while True:
        os.kill(child, signal.SIGSTOP)
        if held := queue.half_done(worker):
            break
        os.kill(child, signal.SIGCONT)
    server.stop(signal.SIGKILL)  # first, as it would start another worker
    for pid in (child, worker):
        with contextlib.suppress(ProcessLookupError):  # both end with their parent, if they have the time
            os.kill(pid, signal.SIGKILL)
    return held[0]


def worker_of(server: Server) -> int:
    """The process of the worker beside a server; 0 while there is none."""
    assert server.process is not None
    known = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children_of(server.process.pid)}
    return next((pid for pid, words in known.items() if b"\0worker\0" in words), 0)


# A client and its server


@pytest.fixture(scope="module")
def alone(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server over a file, on a machine of its own."""
    made = start(network, "two", tmp_path_factory.mktemp("alone") / "home", quick_env(), "--no-worker")
    yield made
    made.stop()


def far_from(network: Network, server: Server) -> RemoteLore:
    return RemoteLore(f"http://{server.host}:{server.port}", server.token(f"agent-{next(_numbers)}"), plain=True)


@pytest.mark.parametrize("how", namespaces.CUTS)
def test_writes_through_a_network_that_is_cut_are_there_once(network: Network, alone: Server, how: str) -> None:
    sent: list[str] = []
    far = far_from(network, alone)

    def write() -> None:
        with network.inside("agent"), far:
            for number in range(12):
                told = far.send(["sink"], f"{how} {number}", "done")
                sent.append(told.id)

    writer = threading.Thread(target=write)
    writer.start()
    wait_until(lambda: sent, "the first is sent", pause_s=0.005)
    network.cut("two", how, "agent")
    time.sleep(0.7)
    network.mend("two", how, "agent")
    writer.join(PATIENCE_S)
    sink = Caller(LEAD.project, "sink", "worker", 2)
    with Lore.open(alone.home, cwd="/", caller=sink, env=alone.env) as lore:
        kept = [message for message in lore.inbox(100) if message.subject.startswith(how)]
    assert sorted(message.subject for message in kept) == sorted(f"{how} {number}" for number in range(12))
    assert sorted(sent) == sorted(message.id for message in kept)


def test_a_server_that_is_gone_is_told_within_the_promised_time(
    network: Network, alone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_line, "CONNECT_S", 0.6)
    monkeypatch.setattr(remote_line, "REACH_S", 1.0)
    with network.inside("agent"), far_from(network, alone) as far:
        far.count()
        far.close()
        network.cut("two", "drop")
        try:
            with pytest.raises(Unavailable, match="does not answer") as error:
                far.count()
        finally:
            network.mend("two", "drop")
        assert error.value.hint


def test_a_line_that_dies_under_a_request_is_noticed(
    network: Network, alone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = [(level, name, {"TCP_USER_TIMEOUT": 800}.get(name, 1)) for level, name, _ in remote_line._WATCHED]
    monkeypatch.setattr(remote_line, "_WATCHED", tuple(quick))
    monkeypatch.setattr(remote_line, "CONNECT_S", 0.5)
    monkeypatch.setattr(remote_line, "REACH_S", 0.6)
    with network.inside("agent"), far_from(network, alone) as far:
        far.count()
        network.cut("two", "drop")
        try:
            with pytest.raises(Unavailable, match="does not answer"):
                far.send(["sink"], "into the dark", "done")
        finally:
            network.mend("two", "drop")
