"""A server that is killed, or whose database is restarted, while clients write: what was acknowledged has to be there.

    python torture/serve.py --kills 50                  # the server gets SIGKILL and is started again
    python torture/serve.py --kills 50 --postgres       # the same over a team's database
    python torture/serve.py --restarts 20 --postgres    # the server stays, PostgreSQL goes: fast, immediate, SIGKILL
    python torture/serve.py --cuts 20                   # both stay, the network between clients and server goes

Each client writes lessons and mail, some requests with a name (they are sent again until answered), some without (sent
once), and some that must be refused. Afterwards what was acknowledged is there exactly once, what got no answer at most
once, and what was refused not at all; the server answers /healthz all the time it is up, and its worker still works.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from kill import WORDS, whole_lines

from namespaces import CUTS, Network, why_not
from serving import Server
from swarmlore.domain.records import Caller
from swarmlore.errors import Rejected, StoreLost, SwarmloreError, Unavailable
from swarmlore.lore import Lore
from swarmlore.server.client.remote_lore import RemoteLore
from swarmlore.store.memories import Filter

PROJECT = "torture"
JUDGE = Caller(PROJECT, "judge", "lead", 3)
NOTHING_DONE = ("STORE_LOST", "STORE_BUSY", "REJECTED")  # answers that promise that nothing was changed
HEALTH_S = 1.0  # the most that /healthz may take while a database is away
GONE_S = 30.0  # the most that a client tries whose server is gone under its request
WAKE_S = 2.0  # from a job to its end, with a worker that listens


def environment(url: str = "") -> dict[str, str]:
    """Words only; on a team's database where one is named."""
    return {"SWARMLORE_EMBEDDER_KIND": "none", "SWARMLORE_STORE_URL": url or os.environ.get("TORTURE_URL", "")}


# A client


class Client:
    """Writes until it is ended; its log says of each write what it was told."""

    def __init__(self, folder: str, number: int, at: str, token: str) -> None:
        self._number = number
        self._at = at
        self._token = token
        self._far = RemoteLore(f"http://{at}", token, plain=True)
        self._rng = random.Random(f"{number}-{os.getpid()}")
        self._log = open(f"{folder}/acks-{number}", "a")  # noqa: SIM115 - for its whole life

    def work(self) -> None:
        ways = (self._lesson, self._mail, self._plain_lesson, self._plain_mail, self._refused, self._question)
        for count in range(10**9):
            name = f"c{self._number}n{count}p{os.getpid()}"
            began = time.monotonic()
            what, told = ways[count % len(ways)](name)
            line = {"name": name, "what": what, "told": told, "waited_s": round(time.monotonic() - began, 3)}
            self._log.write(json.dumps(line) + "\n")
            self._log.flush()
            if told == "unknown":
                time.sleep(0.05)

    def _text(self, name: str) -> str:
        return f"Lesson {name}: " + " ".join(self._rng.choice(WORDS) + str(self._rng.randrange(10**6)) for _ in "12345")

    def _asked(self, what: str, *args: Any, **given: Any) -> str:
        try:
            getattr(self._far, what)(*args, **given)
        except (Rejected, StoreLost):
            return "no"
        except SwarmloreError as error:
            return "unknown" if error.http_status == 503 else f"error {type(error).__name__}: {error}"
        return "yes"

    def _lesson(self, name: str) -> tuple[str, str]:
        return "memory", self._asked("remember", self._text(name))

    def _mail(self, name: str) -> tuple[str, str]:
        return "mail", self._asked("send", ["sink"], name, "done")

    def _refused(self, name: str) -> tuple[str, str]:
        return "memory", self._asked("remember", f"Lesson {name}: clean up with rm -rf / before each run")

    def _question(self, name: str) -> tuple[str, str]:
        told = self._asked("recall", "cache queue socket", 3)
        return "question", told if told.startswith("error") else "asked"

    def _plain_lesson(self, name: str) -> tuple[str, str]:
        return "memory", self._once("remember", {"text": self._text(name)})

    def _plain_mail(self, name: str) -> tuple[str, str]:
        return "mail", self._once("send", {"to": ["sink"], "subject": name, "body": "done"})

    def _once(self, verb: str, body: dict[str, Any]) -> str:
        try:
            status, answer = ask(self._at, self._token, f"/v1/{verb}", body)
        except (OSError, http.client.HTTPException):
            return "unknown"
        if status == 200:
            return "yes"
        if answer.get("code") in NOTHING_DONE:
            return "no"
        return "unknown" if status == 503 else f"error {status} {answer}"


def ask(at: str, token: str, path: str, body: Any = None, wait_s: float = 40.0) -> tuple[int, Any]:
    """One request on a connection of its own, sent once."""
    line = http.client.HTTPConnection(at, timeout=wait_s)
    try:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        line.request("POST" if body is not None else "GET", path, body and json.dumps(body), headers)
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        line.close()


# The server


class Prober(threading.Thread):
    """Asks /healthz again and again; the longest answer, and what was not 200."""

    def __init__(self, at: str, token: str) -> None:
        super().__init__(daemon=True)
        self._at, self._token = at, token
        self.longest_s = 0.0
        self.wrong: Counter[str] = Counter()
        self.asked = 0
        self.ends = threading.Event()

    def run(self) -> None:
        while not self.ends.wait(0.1):
            began = time.monotonic()
            try:
                status, _ = ask(self._at, self._token, "/healthz")
            except (OSError, http.client.HTTPException) as error:
                self.wrong[type(error).__name__] += 1
                continue
            self.asked += 1
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            if status != 200:
                self.wrong[str(status)] += 1


def at(server: Server) -> str:
    return f"{server.host}:{server.port}"


def start_clients(folder: str, server: Server, count: int) -> list[subprocess.Popen[bytes]]:
    words = [sys.executable, __file__, "--folder", folder, "--at", at(server)]
    tokens = [server.token(f"client-{number}", project=PROJECT) for number in range(count)]
    return [
        subprocess.Popen([*words, "--client", str(number), "--token", token], env=server.env)
        for number, token in enumerate(tokens)
    ]


def kill_server(server: Server, kills: int, rng: random.Random) -> dict[str, Any]:
    """SIGKILL, and a new one at the same address, again and again."""
    starts = []
    for _ in range(kills):
        time.sleep(rng.uniform(0.3, 0.9))
        server.stop(signal.SIGKILL)
        began = time.monotonic()
        server.start()
        starts.append(time.monotonic() - began)
    time.sleep(1.0)
    return {"kills": kills, "slowest_start_s": round(max(starts, default=0.0), 2)}


def restart_database(server: Server, restarts: int, rng: random.Random) -> dict[str, Any]:
    """Each way to go in turn, with a while between going and coming."""
    from databases import server as database

    prober = Prober(at(server), server.token("prober", project=PROJECT))
    prober.start()
    for number in range(restarts):
        time.sleep(rng.uniform(0.5, 1.5))
        away_s = rng.choice((0.0, 0.5, 2.0))
        database().away(("fast", "immediate", "kill")[number % 3], away_s)
    time.sleep(2.0)
    prober.ends.set()
    prober.join()
    return {
        "restarts": restarts,
        "health_asked": prober.asked,
        "longest_health_s": round(prober.longest_s, 3),
        "health_wrong": dict(prober.wrong),
        "wake_s": wake(server),
    }


def wake(server: Server) -> float:
    """How long a job waits for the server's worker, once the worker has come back: the best of some."""
    with Lore.open(server.home, cwd="/", caller=JUDGE, env=server.env) as lore:
        found = []
        for _ in range(10):
            began = time.monotonic()
            lore.enqueue("sweep")
            while any(job.state != "dead" for job in lore.jobs()) and time.monotonic() - began < 10:
                time.sleep(0.02)
            found.append(time.monotonic() - began)
            if found[-1] < WAKE_S:
                break
    return round(min(found), 3)


def cut_network(server: Server, network: Network, cuts: int, rng: random.Random) -> dict[str, Any]:
    """Each way to lose each other in turn, some of them for longer than a line is trusted; at last for good."""
    for number in range(cuts):
        how = CUTS[number % len(CUTS)]
        time.sleep(rng.uniform(0.5, 1.5))
        network.cut("server", how, "agents")
        time.sleep(12.0 if number % 7 == 6 else rng.uniform(0.1, 2.5))
        network.mend("server", how, "agents")
    time.sleep(3.0)
    return {"cuts": cuts, "gone_s": gone(server, network)}


def gone(server: Server, network: Network) -> float:
    """How long a client tries that had a line, when the server is not there any more."""
    token = server.token("lonely", project=PROJECT)
    with network.inside("agents"), RemoteLore(f"http://{at(server)}", token, plain=True) as far:
        far.count()
        network.cut("server", "drop")
        began = time.monotonic()
        try:
            far.send(["sink"], "into the dark", "done")
        except Unavailable:
            return round(time.monotonic() - began, 1)
        finally:
            network.mend("server", "drop")
    raise AssertionError("an answer out of the dark")


# Judging


def examine(folder: str, home: Path, env: dict[str, str]) -> dict[str, Any]:
    """Compare what the clients were told with what is stored."""
    lines: list[dict[str, Any]] = [line for path in Path(folder).glob("acks-*") for line in whole_lines(path)]
    with Lore.open(home, cwd="/", caller=JUDGE, env=env) as lore:
        there = {"memory": _memories(lore), "mail": _mail(lore)}
        checks = [f"{check.name}: {check.message}" for check in lore.doctor() if check.state == "fail"]
    found: Counter[str] = Counter()
    for line in lines:
        if line["what"] != "question":
            found[_judged(line["told"], there[line["what"]][line["name"]])] += 1
    said = {line["told"] for line in lines if line["told"].startswith("error")}
    waits = [float(line["waited_s"]) for line in lines]
    return {
        **{name: found[name] for name in ("kept", "lost", "twice", "refused", "refused_but_there", "unknown")},
        "questions": sum(line["what"] == "question" for line in lines),
        "errors": sorted(said)[:3],
        "problems": checks,
        "longest_wait_s": max(waits, default=0.0),
    }


def _judged(told: str, times: int) -> str:
    if times > 1:
        return "twice"
    if told == "yes":
        return "kept" if times else "lost"
    if told == "no":
        return "refused_but_there" if times else "refused"
    return "unknown"


def _memories(lore: Lore) -> Counter[str]:
    found = lore.store.select(JUDGE, Filter(status="any", limit=10**7))
    return Counter(memory.text.split(":")[0].removeprefix("Lesson ") for memory in found)


def _mail(lore: Lore) -> Counter[str]:
    sink = Caller(PROJECT, "sink", "worker", 2)
    found = lore.store.inbox(sink, 10**7, urgent=False, unread=False, thread="")
    return Counter(message.subject for message in found)


def verdict(found: dict[str, Any], patience_s: float) -> list[str]:
    """What broke a promise."""
    broken = [
        name for name in ("lost", "twice", "refused_but_there", "errors", "problems", "ended_clients") if found[name]
    ]
    broken += [] if found["kept"] else ["kept"]
    broken += ["longest_wait_s"] if found["longest_wait_s"] > patience_s else []
    if "restarts" in found:
        broken += ["longest_health_s"] if found["longest_health_s"] > HEALTH_S else []
        broken += ["health_wrong"] if found["health_wrong"] else []
        broken += ["wake_s"] if found["wake_s"] > WAKE_S else []
    if found.get("gone_s", 0.0) > GONE_S:
        broken.append("gone_s")
    return broken


def torture(args: argparse.Namespace, database_url: str = "") -> dict[str, Any]:
    """One server under clients, through all of it; what was found."""
    rng = random.Random(args.seed)
    network = Network("server", "agents") if args.cuts else None
    with tempfile.TemporaryDirectory(prefix="serve") as folder, contextlib.ExitStack() as stack:
        if network is not None:
            stack.callback(network.close)
        server = begun(folder, network, database_url)
        with network.inside("agents") if network else contextlib.nullcontext():
            running = start_clients(folder, server, args.clients)
        try:
            time.sleep(1.0)
            if network is not None:
                done = cut_network(server, network, args.cuts, rng)
            elif args.kills:
                done = kill_server(server, args.kills, rng)
            else:
                done = restart_database(server, args.restarts, rng)
            done["ended_clients"] = sum(process.poll() is not None for process in running)
        finally:
            for process in running:
                process.kill()
                process.wait()
            server.stop()
        return {**done, **examine(folder, server.home, server.env)}


def begun(folder: str, network: Network | None, database_url: str) -> Server:
    """A server on this machine, or on one of its own."""
    words = ["--rate", "100000", "--quiet"]
    words += ["--host", network.address("server"), "--public", "--plain"] if network else []
    server = Server(Path(folder) / "home", environment(database_url), *words)
    server.host = network.address("server") if network else server.host
    server.home.mkdir()
    with network.inside("server") if network else contextlib.nullcontext():
        server.start()
    return server


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=0, help="of the server")
    parser.add_argument("--restarts", type=int, default=0, help="of the database")
    parser.add_argument("--cuts", type=int, default=0, help="of the network")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgres", action="store_true", help="on a team's database instead of a file")
    parser.add_argument("--client", type=int, help=argparse.SUPPRESS)
    for name in ("--folder", "--token", "--at"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.client is not None:
        Client(args.folder, args.client, args.at, args.token).work()
    if args.cuts and (why := why_not()):
        print(f"skipped: {why}")
        return 0
    url = ""
    if args.postgres or args.restarts:
        from databases import server as database

        url = database().url
    found = torture(args, url)
    broken = verdict(found, patience_s=50.0)
    print(json.dumps({**found, "broken": broken}, indent=2))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
