"""A large import: a million lines, some of them bad, some twice; killed, resumed, and done once more.

    python bench/large.py [--lines 1000000] [--folder DIR]

Reports lines per second, the most memory a process took, how long an agent's own write waited meanwhile, and that the
second run added nothing. Vectors are not computed: an import leaves them for later.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))

from corpus import lesson
from swarmlore.domain.json_codec import iso
from swarmlore.domain.records import Caller
from swarmlore.lore import Lore

BAD = 0.01
TWICE = 0.05
KILLED_AT = 0.3
WRITE_EVERY_S = 0.25
START = 1_700_000_000.0
ENV = {"SWARMLORE_EMBEDDER_KIND": "none"}
BAD_LINES = (b'{"id":"cut","lesson":"cut of', b'{"lesson":"\xff\xfe"}', b"<<<<<<< HEAD", b'{"lesson":7}', b'{"x":NaN}')
CHILD = """
import sys, json
from swarmlore import Lore
from swarmlore.domain.records import Caller
with Lore.open(sys.argv[1], cwd=sys.argv[1], caller=Caller("bench/large", "import", "lead"), env={env!r}) as lore:
    told = lore.import_file(sys.argv[2])
    print(json.dumps({{name: getattr(told, name) for name in ("read", "added", "known", "refused", "resumed_at")}}))
"""


def write_file(path: Path, count: int) -> dict[str, int]:
    """The lines; returns how many of each sort there are."""
    rng = random.Random(7)
    sorts = {"good": 0, "bad": 0, "twice": 0}
    recent: list[bytes] = []
    with path.open("wb") as file:
        for number in range(count):
            chance = rng.random()
            if chance < BAD:
                line, sort = rng.choice(BAD_LINES), "bad"
            elif chance < BAD + TWICE and recent:
                line, sort = rng.choice(recent), "twice"
            else:
                line, sort = a_line(rng, number), "good"
                recent = [*recent[-999:], line] if number % 20 == 0 else recent
            sorts[sort] += 1
            file.write(line + b"\n")
    return sorts


def a_line(rng: random.Random, number: int) -> bytes:
    at = iso(START + number)
    row = {
        "id": f"{rng.getrandbits(128):032x}",
        "tier": "swarm",
        "lesson": lesson(rng)[:280],
        "category": "tooling",
        "tags": ["bench", f"t{number % 97}"],
        "scope": "global",
        "confidence": 0.7,
        "status": "candidate",
        "confirmed_by": [{"phase_number": number % 9, "confirmed_at": at, "project_name": "bench"}],
        "retrieval_outcomes": {"applied_count": 0, "succeeded_after_count": 0, "failed_after_count": 0},
        "schema_version": 1,
        "created_at": at,
        "updated_at": at,
        "project_name": "bench",
    }
    return json.dumps(row, separators=(",", ":")).encode()


class Run:
    """One process that imports, while another agent goes on writing."""

    def __init__(self, home: Path, path: Path) -> None:
        self.home = home
        self.waits: list[float] = []
        self.began = time.monotonic()
        code = CHILD.format(env=ENV)
        command = [sys.executable, "-c", code, str(home), str(path)]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE)

    def watch(self, kill_at_row: int = 0) -> tuple[dict[str, int], float, int]:
        """What it said, its seconds, and the most memory in bytes; killed once it has stored so many rows."""
        caller = Caller("bench/large", "writer", "worker")
        usage = None
        with Lore.open(self.home, cwd=self.home, caller=caller, env=ENV) as lore:
            number = 0
            while usage is None:
                pid, _, used = os.wait4(self.child.pid, os.WNOHANG)
                usage = used if pid else None
                before = time.monotonic()
                lore.remember(f"While importing, note {number} of {os.getpid()} was written by an agent", defer=True)
                self.waits.append(time.monotonic() - before)
                number += 1
                if kill_at_row and int(lore.store.ask("last_audit")[0][0]) >= kill_at_row:
                    self.child.send_signal(signal.SIGKILL)
                time.sleep(WRITE_EVERY_S)
        assert self.child.stdout is not None
        said = self.child.stdout.read()
        self.child.returncode = 0  # it was waited for above
        told = {**(json.loads(said) if said else {}), "cpu_s": round(usage.ru_utime + usage.ru_stime)}
        return told, time.monotonic() - self.began, usage.ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--folder", default=None)
    args = parser.parse_args()
    place = Path(tempfile.mkdtemp(dir=args.folder))
    try:
        bench(place, args.lines)
    finally:
        shutil.rmtree(place)


def bench(place: Path, count: int) -> None:
    path, home = place / "large.jsonl", place / "home"
    sorts = write_file(path, count)
    print(f"{count} lines, {path.stat().st_size / 1e6:.0f} MB: {sorts}", flush=True)
    first = Run(home, path)
    part, took, memory = first.watch(kill_at_row=int(KILLED_AT * count))
    print(f"killed after {took:.0f} s at {memory / 1e6:.0f} MB: {part}", flush=True)
    second = Run(home, path)
    told, took, more = second.watch()
    done = told["read"] - told["resumed_at"]
    print(f"resumed at line {told['resumed_at']}: {done / took:.0f} lines/s, {more / 1e6:.0f} MB: {told}", flush=True)
    unsafe = told["refused"] - sorts["bad"]  # some of the made-up lessons say what the gate refuses
    assert told["added"] + told["known"] + told["refused"] == count, "every line was taken in, known or named"
    assert 0 <= sorts["good"] - told["added"] <= unsafe < count / 1000
    third = Run(home, path)
    again, took, most = third.watch()
    print(f"second run: {count / took:.0f} lines/s, {most / 1e6:.0f} MB: {again}", flush=True)
    assert (again["added"], again["known"] + again["refused"]) == (0, count)
    waits = sorted([*first.waits, *second.waits, *third.waits])
    print(f"other writers: p50 {1e3 * waits[len(waits) // 2]:.0f} ms, p99 {1e3 * waits[int(len(waits) * 0.99)]:.0f} ms")
    print(f"most memory {max(memory, more, most) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
