"""A swarm on one server: a hundred agents write and search at once, a hundred thousand memories are there already.

    python bench/swarm.py                                   # all of it, about ten minutes
    python bench/swarm.py --seconds 10 --memories 5000      # a quick look
    python bench/swarm.py --home DIR                        # keep the filled store for the next time
    python bench/swarm.py --only-direct                     # only what comes last

Real processes: one `swarmlore serve` with its worker, agents in two others. Requests are sent when they are due
(agents.py). Afterwards each acknowledged write is looked up in the file. Then the highest rate that holds, and the same
writes by 16 processes that open a bare SQLite file themselves: on this disk, and on one whose waits take 4 ms
(slow_disk.py), as a disk that keeps what it said it would keep does. Vectors of the memories that are there already are
synthetic beyond the first 2,000; those of what is written meanwhile are made by the worker.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

sys.path.insert(0, os.path.dirname(__file__))

import agents
import corpus
import slow_disk
import speed
from swarmlore.domain.policy.gate import pass_gate
from swarmlore.domain.records import Caller, Draft
from swarmlore.errors import Rejected
from swarmlore.lore import Lore

LEAD = Caller(speed.CALLER.project, "lead", "lead", 2)
MOST_MS = 150.0
WARM_S = 5.0
STEP_S = 15.0
PACE_S = 2.0
DIRECT = 16
DISK_MS = 4.0
MOST_TEXTS = 3_000  # of one of them
SHINGLES = 17  # rows by which near texts are found, for each memory
TABLES = (
    "CREATE TABLE memory (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, text TEXT, at REAL)",
    "CREATE TABLE audit (seq INTEGER PRIMARY KEY, id TEXT, what TEXT, at REAL)",
    "CREATE TABLE operation (id TEXT PRIMARY KEY, at REAL) WITHOUT ROWID",
    "CREATE TABLE pending (seq INTEGER PRIMARY KEY, work TEXT)",
    "CREATE TABLE shingle (mark INTEGER, seq INTEGER, PRIMARY KEY (mark, seq)) WITHOUT ROWID",
    "CREATE VIRTUAL TABLE words USING fts5(text)",
)


def fill(home: Path, memories: int) -> None:
    with speed.open_lore(str(home)) as lore:
        if (there := lore.count() or 0) < memories:
            for number in range(there, memories, 10_000):
                speed.grow(lore, min(10_000, memories - number), seed=1_000 + number)
            speed.fill_vectors(lore)
        lore.embedding.build_index()


class Texts:
    """Lessons that nobody has written yet, and that the gate lets pass."""

    def __init__(self) -> None:
        self._rng = random.Random(time.time_ns())
        self._asked = corpus.questions(500, 5)

    def lesson(self) -> str:
        while True:
            text = corpus.lesson(self._rng)
            try:
                pass_gate(Draft(text))
            except Rejected:
                continue
            return text

    def request(self, kind: str) -> tuple[str, Any]:
        if kind == "write":
            return "/v1/remember", {"text": self.lesson()}
        return "/v1/recall", {"query": self._rng.choice(self._asked)}


class Server:
    """One `swarmlore serve`, with a token for each agent; over a team's database where its address is given."""

    def __init__(self, home: Path, agents: int, url: str = "") -> None:
        self.home = home
        env = {"SWARMLORE_STORE_URL": url} if url else {}
        with Lore.open(home, cwd="/", caller=LEAD, env=env) as lore:
            self.tokens = [lore.create_token(f"agent-{number}")[1] for number in range(agents)]
        words = [sys.executable, "-m", "swarmlore", "serve", "--port", "0", "--quiet", "--json", "--rate", "100000"]
        words += ["--home", str(home)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, **env})
        assert self.process.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            text += self.process.stdout.readline()
        self.port = int(json.loads(text)["url"].rpartition(":")[2])

    def family(self) -> dict[str, int]:
        """Resident megabytes of the server and of the processes it started."""
        found = {"server": _megabytes(self.process.pid)}
        for pid in _children(self.process.pid):
            name = "reader" if b"serving.reading" in Path(f"/proc/{pid}/cmdline").read_bytes() else "worker"
            found[name] = found.get(name, 0) + _megabytes(pid) + sum(map(_megabytes, _children(pid)))
        return found

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)


def _children(pid: int) -> list[int]:
    paths = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for path in paths for word in path.read_text().split()]


def _megabytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS")), 0)


def run(server: Server, texts: Texts, seconds: float, writes: float, searches: float) -> list[agents.Told]:
    rates = {"write": writes, "search": searches}
    due = agents.schedule(seconds, rates, len(server.tokens), texts.request, time.time_ns())
    return agents.drive(server.port, server.tokens, due)


def lost(home: Path, told: list[agents.Told]) -> int:
    """Acknowledged writes that the file does not hold."""
    with _reading(home) as db:
        there = {str(id) for (id,) in db.execute("SELECT id FROM memory")}
    return len({one.id for one in told if one.id} - there)


@contextmanager
def _reading(home: Path) -> Iterator[apsw.Connection]:
    db = apsw.Connection(str(home / "lore.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        yield db
    finally:
        db.close()


def drained(home: Path, limit_s: float) -> tuple[int, float]:
    """How many texts wait for their vector now, and the seconds until none does."""
    began, first = time.monotonic(), -1
    while True:
        with _reading(home) as db:
            waiting = int(db.execute("SELECT count(*) FROM pending WHERE work = 'embed'").fetchall()[0][0])
        first = waiting if first < 0 else first
        if not waiting or time.monotonic() - began > limit_s:
            return first, time.monotonic() - began if not waiting else float("inf")
        time.sleep(0.2)


def told_of(told: list[agents.Told]) -> dict[str, Any]:
    wrong = [one.why for one in told if one.status != 200]
    return {
        "writes": agents.figures(told, "write"),
        "searches": agents.figures(told, "search"),
        "acknowledged": sum(bool(one.id) for one in told),
        "errors": len(wrong),
        **({"first_error": wrong[0]} if wrong else {}),
    }


def holds(told: list[agents.Told]) -> bool:
    worst = [agents.figures(told, kind).get("p99", 0.0) for kind in ("write", "search")]
    return max(worst) <= MOST_MS and all(one.status == 200 for one in told)


def highest(server: Server, texts: Texts, seconds: float, writes: float) -> tuple[float, list[agents.Told]]:
    """The highest rate of writes, with a tenth as many searches, that a run of some seconds holds."""
    best, told = 0.0, []
    rate = writes
    while True:
        found = run(server, texts, seconds, rate, rate / 10)
        print(json.dumps({"tried": rate, **told_of(found)}), flush=True)
        if not holds(found):
            return best, told
        best, told, rate = rate, found, round(rate * 1.25)


# The same writes without a server


def pace(folder: Path) -> int:
    """What this machine does at this moment: rows as ours that one process writes to a bare SQLite file, a second."""
    told = direct(folder, PACE_S, 1)
    return round(len(told) / sum(one.seconds for one in told))


def direct(folder: Path, seconds: float, many: int = DIRECT) -> list[agents.Told]:
    """Processes write the same rows to one bare SQLite file, as fast as they can, each waiting as SQLite does."""
    path = folder / f"direct-{time.time_ns()}.db"
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode = WAL").fetchall()
    for table in TABLES:
        db.execute(table)
    db.close()
    return _crowd(_write_directly, (str(path), seconds), many)


def through(server: Server, seconds: float) -> list[agents.Told]:
    """16 clients do the same through the server."""
    return _crowd(_write_through, (server.port, server.tokens, seconds), DIRECT)


def _crowd(work: Any, args: tuple[Any, ...], many: int) -> list[agents.Told]:
    context = multiprocessing.get_context("fork")
    texts = Texts()
    given = [(number, [texts.lesson() for _ in range(MOST_TEXTS)], *args) for number in range(many)]
    with context.Pool(many) as pool:
        parts = pool.starmap(work, given, 1)
    return [one for part in parts for one in part]


def _write_directly(number: int, texts: list[str], path: str, seconds: float) -> list[agents.Told]:
    db = apsw.Connection(path)
    db.set_busy_timeout(30_000)
    db.execute("PRAGMA synchronous = FULL")
    told, until = [], time.monotonic() + seconds
    while (began := time.monotonic()) < until and texts:
        text, id = texts.pop(), os.urandom(13).hex()
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO memory (id, text, at) VALUES (?, ?, ?)", (id, text, time.time()))
        seq = db.last_insert_rowid()
        db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (seq, text))
        db.execute("INSERT INTO audit (id, what, at) VALUES (?, 'add', ?)", (id, time.time()))
        db.execute("INSERT INTO operation (id, at) VALUES (?, ?)", (id, time.time()))
        db.execute("INSERT INTO pending (seq, work) VALUES (?, 'embed')", (seq,))
        marks = [(random.getrandbits(60), seq) for _ in range(SHINGLES)]
        db.executemany("INSERT INTO shingle (mark, seq) VALUES (?, ?)", marks).fetchall()
        db.execute("COMMIT")
        told.append(agents.Told(number, "write", time.monotonic() - began, 200, id))
    db.close()
    return told


def _write_through(number: int, texts: list[str], port: int, tokens: list[str], seconds: float) -> list[agents.Told]:
    from swarmlore.server.client.http import Connection

    line, told = Connection(f"http://127.0.0.1:{port}", tokens[number]), []
    until = time.monotonic() + seconds
    while (began := time.monotonic()) < until and texts:
        said = line.ask("/v1/remember", {"text": texts.pop()})
        told.append(agents.Told(number, "write", time.monotonic() - began, 200, said["result"]["memory"]["id"]))
    return told


def against_direct(server: Server, folder: Path, seconds: float) -> dict[str, Any]:
    alone, served = direct(folder, seconds), through(server, seconds)
    first, second = agents.figures(alone, "write"), agents.figures(served, "write")
    return {
        "direct": {**first, "per_s": round(len(alone) / seconds), "spread": agents.spread(alone, "write")},
        "server": {**second, "per_s": round(len(served) / seconds), "spread": agents.spread(served, "write")},
        "times_better": {name: round(first[name] / second[name], 1) for name in ("p99", "worst")},
        "lost": lost(server.home, served),
    }


def only_direct(home: Path, folder: Path, seconds: float) -> None:
    """The comparison alone, with a server of its own."""
    server = Server(home, DIRECT)
    try:
        run(server, Texts(), WARM_S, 20.0, 2.0)
        found = against_direct(server, folder, seconds)
    finally:
        server.close()
    print(json.dumps({"wait_ms": _wait_ms(folder), "against_16_processes": found}), flush=True)


def _wait_ms(folder: Path) -> float:
    """How long it takes until a few bytes are on disk."""
    with (folder / "wait").open("wb", buffering=0) as file:
        took = []
        for _ in range(50):
            file.write(bytes(4096))
            began = time.monotonic()
            os.fdatasync(file.fileno())
            took.append(time.monotonic() - began)
    return round(1000 * sorted(took)[25], 2)


def on_a_slow_disk(folder: Path, args: argparse.Namespace) -> None:
    env = slow_disk.slowed(folder, DISK_MS)
    if env is None:
        print(json.dumps({"slow_disk": "left out: there is no C compiler"}), flush=True)
        return
    words = [sys.executable, __file__, "--only-direct", "--seconds", str(args.seconds)]
    words += ["--home", args.home, "--memories", str(args.memories)]
    subprocess.run(words, env={**os.environ, **env}, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--writes", type=float, default=200.0)
    parser.add_argument("--searches", type=float, default=20.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--home")
    parser.add_argument("--only-direct", action="store_true")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="swarm-"))
    try:
        home = Path(args.home or folder / "home")
        fill(home, args.memories)
        if not args.only_direct:
            args.home = str(home)
            load(home, folder, args)
            on_a_slow_disk(folder, args)
        only_direct(home, folder, min(STEP_S, args.seconds))
    finally:
        shutil.rmtree(folder)


def load(home: Path, folder: Path, args: argparse.Namespace) -> None:
    texts, server = Texts(), Server(home, args.agents)
    try:
        print(json.dumps({"bare_writes_per_s_of_one_process": pace(folder)}), flush=True)
        run(server, texts, WARM_S, args.writes / 4, args.searches / 4)
        told = run(server, texts, args.seconds, args.writes, args.searches)
        waiting, seconds = drained(home, 4 * args.seconds)
        drain = {"texts": waiting, "seconds_after_the_run": round(seconds, 1), "allowed": args.seconds}
        print(
            json.dumps({"load": told_of(told), "lost": lost(home, told), "vectors": drain, "mb": server.family()}),
            flush=True,
        )
        rate, _ = highest(server, texts, min(STEP_S, args.seconds), args.writes / 2)
        drained(home, 10 * args.seconds)
        print(json.dumps({"highest_writes_per_s_that_hold": rate}), flush=True)
    finally:
        server.close()


if __name__ == "__main__":
    main()
