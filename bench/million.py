"""A million memories: how fast they come in, how they are found, and what else still works with so many.

    python bench/million.py [--lines 1000000] [--sent 50000] [--folder DIR] [--home HOME]

The lines are those of bench/large.py. Each figure of the clock stands beside seconds of computing: the machine may have
others to serve. The rate of an import is held against SQLite alone, which stores the same rows with the same index of
words and nothing else. `--home` takes a home that was filled before, and leaves the import out. Words only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from corpus import lesson
from large import write_file
from swarmlore.domain.records import Caller
from swarmlore.lore import Lore
from swarmlore.server.client.remote_lore import RemoteLore
from timing import SCRIPT

PROJECT = "bench/large"
ENV = {"SWARMLORE_EMBEDDER_KIND": "none", "SWARMLORE_PROJECT": PROJECT, "SWARMLORE_AGENT": "import"}
QUESTIONS, WARM = 100, 10
PER_TRANSACTION = 100
WRITE_EVERY_S = 0.1
COMMANDS = ("list", "stats", "status", "report", "doctor", "backup")


def told(name: str, wall_s: float, cpu_s: float, peak_mb: float, more: str = "") -> None:
    print(f"{name:28}{wall_s:9.1f} s{cpu_s:9.1f} s cpu{peak_mb:8.0f} MB  {more}", flush=True)


def command(home: Path, *words: str, done: Callable[[float, float], str] = lambda *_: "") -> str:
    """Run a command and print what it took; returns what it said."""
    began = time.monotonic()
    process = subprocess.Popen(
        [SCRIPT, *words, "--home", str(home)], stdout=subprocess.PIPE, env={**os.environ, **ENV}, cwd=home.parent
    )
    assert process.stdout is not None
    said = process.stdout.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took, cpu = time.monotonic() - began, used.ru_utime + used.ru_stime
    told(" ".join(words)[:26], took, cpu, used.ru_maxrss / 1024, done(took, cpu))
    return said


def bare(path: Path, lines: Path, count: int) -> float:
    """The rows per second of computing that SQLite alone stores: the record, its id, and its words."""
    db = apsw.Connection(str(path))
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "cache_size = -32000"):
        db.execute(f"PRAGMA {pragma}").fetchall()
    db.execute("CREATE TABLE row (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, record TEXT)")
    db.execute("CREATE VIRTUAL TABLE words USING fts5(body, content='')")
    began, stored = time.process_time(), 0
    with lines.open("rb") as file:
        rows: list[tuple[str, str, str]] = []
        for line in file:
            try:
                record = json.loads(line)
                rows.append((record["id"], line.decode(), record["lesson"]))
            except (ValueError, KeyError, TypeError):
                continue
            if len(rows) == PER_TRANSACTION:
                stored += _store(db, rows)
                rows = []
                if stored >= count:
                    break
        stored += _store(db, rows)
    spent = time.process_time() - began
    db.close()
    told("SQLite alone", spent, spent, 0, f"{stored / spent:.0f} lines per second of computing")
    return stored / spent


def _store(db: apsw.Connection, rows: list[tuple[str, str, str]]) -> int:
    with db:
        for id, record, text in rows:
            found = db.execute("INSERT OR IGNORE INTO row (id, record) VALUES (?, ?) RETURNING seq", (id, record))
            for (seq,) in found.fetchall():
                db.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (seq, text))
    return len(rows)


def search(home: Path) -> None:
    """A hundred questions by words, warmed."""
    rng = random.Random(11)
    questions = [" ".join(rng.sample(lesson(rng).split(), 6)) for _ in range(QUESTIONS + WARM)]
    with Lore.open(home, cwd=home.parent, caller=Caller(PROJECT, "import", "lead"), env=ENV) as lore:
        for question in questions[:WARM]:
            lore.recall(question)
        times, began = [], time.process_time()
        for question in questions[WARM:]:
            before = time.perf_counter()
            assert lore.recall(question) is not None
            times.append(time.perf_counter() - before)
        spent = time.process_time() - began
    times.sort()
    p50, p99 = times[QUESTIONS // 2], times[int(QUESTIONS * 0.99) - 1]
    each = f"p50 {1e3 * p50:.0f} ms, p99 {1e3 * p99:.0f} ms, worst {1e3 * times[-1]:.0f} ms"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told(
        f"{QUESTIONS} questions", sum(times), spent, peak, f"{each}; {1e3 * spent / QUESTIONS:.0f} ms of computing each"
    )


@contextmanager
def serving(home: Path) -> Iterator[tuple[str, int]]:
    """A server without a worker: its address and process."""
    words = [SCRIPT, "serve", "--port", "0", "--json", "--no-worker", "--home", str(home)]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **ENV}
    )
    assert process.stdout is not None
    text = ""
    while not text.rstrip().endswith("}"):
        text += process.stdout.readline()
    try:
        yield json.loads(text)["url"], process.pid
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


class Beside:
    """Another agent that writes while something long runs, and notes how long each write took, and how large the log of
    the store became."""

    def __init__(self, lore: Any, log: Path | None = None) -> None:
        self._lore = lore
        self._log = log
        self._ended = threading.Event()
        self.waits: list[float] = []
        self.log_bytes = 0
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        while not self._ended.wait(WRITE_EVERY_S):
            before = time.perf_counter()
            self._lore.remember(f"Meanwhile note {len(self.waits)} of {os.getpid()} was written by an agent")
            self.waits.append(time.perf_counter() - before)
            if self._log is not None and self._log.exists():
                self.log_bytes = max(self.log_bytes, self._log.stat().st_size)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._lore.close()

    def __str__(self) -> str:
        waits = sorted(self.waits)
        p50, p99 = waits[len(waits) // 2], waits[max(0, int(len(waits) * 0.99) - 1)]
        log = f"; log {self.log_bytes / 1e6:.0f} MB at most" if self._log is not None else ""
        return (
            f"{len(waits)} writes beside it: p50 {1e3 * p50:.0f} ms, p99 {1e3 * p99:.0f} ms, "
            f"worst {1e3 * waits[-1]:.0f} ms{log}"
        )


def sent(home: Path, lines: Path, count: int) -> None:
    """The lines over HTTP into an empty store, with a writer beside them; then out again."""
    with Lore.open(home, cwd=home.parent, caller=Caller(PROJECT, "lead", "lead"), env=ENV) as lore:
        tokens = [lore.create_token(agent)[1] for agent in ("import", "writer")]
    with serving(home) as (url, pid), RemoteLore(url, tokens[0]) as far:
        quiet = Beside(RemoteLore(url, tokens[1]))
        time.sleep(20 * WRITE_EVERY_S)
        quiet.close()
        print(f"a server at rest: {quiet}", flush=True)
        began, spent, beside = time.monotonic(), computed(pid), Beside(RemoteLore(url, tokens[1]))
        with lines.open("rb") as file:
            brought: Any = far.import_lines(line for _, line in zip(range(count), file, strict=False))
        took, cpu = time.monotonic() - began, computed(pid) - spent
        beside.close()
        rate = f"{count / took:.0f} lines/s, {count / cpu:.0f} per second of computing; {beside}"
        told("POST /v1/import", took, cpu, peak_mb(pid), rate)
        began, spent = time.monotonic(), computed(pid)
        given = sum(1 for _ in far.export_lines())
        took, cpu = time.monotonic() - began, computed(pid) - spent
        told("GET /v1/export", took, cpu, peak_mb(pid), f"{given} lines, {given / took:.0f} lines/s")
    assert brought.read == count
    assert given >= brought.added


def rebuilt(home: Path) -> None:
    """All indexes anew, with a writer beside it."""
    writer = Lore.open(home, cwd=home.parent, caller=Caller(PROJECT, "writer", "worker"), env=ENV)
    count = int(writer.store.ask("count_memories")[0][0])
    beside = Beside(writer, home / "lore.db-wal")
    try:
        command(home, "reindex", done=lambda _, cpu: f"{count / cpu:.0f} rows per second of computing; {beside}")
    finally:
        beside.close()


def computed(pid: int) -> float:
    """The seconds of computing of a process so far, of all its threads."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--sent", type=int, default=50_000)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--home", default=None)
    args = parser.parse_args()
    place = Path(tempfile.mkdtemp(dir=args.folder))
    try:
        bench(place, args.lines, args.sent, Path(args.home) if args.home else None)
    finally:
        shutil.rmtree(place)


def bench(place: Path, count: int, over_http: int, filled: Path | None) -> None:
    path, home = place / "large.jsonl", filled or place / "home"
    write_file(path, count if filled is None else max(over_http, 1))
    if over_http:
        alone = bare(place / "bare.db", path, over_http)
        sent(place / "served", path, over_http)
    if filled is None:
        command(
            home,
            "import",
            str(path),
            "--json",
            done=lambda took, cpu: (
                f"{count / took:.0f} lines/s, {count / cpu:.0f} per second of computing"
                + (f": 1/{alone * cpu / count:.1f} of SQLite alone" if over_http else "")
            ),
        )
    search(home)
    for word in COMMANDS:
        command(home, word)
    rebuilt(home)
    files = {file.name: file.stat().st_size for file in home.iterdir() if file.is_file()}
    print(f"on disk: {sum(files.values()) / 1e6:.0f} MB, {sum(files.values()) / count:.0f} bytes a line")


if __name__ == "__main__":
    main()
