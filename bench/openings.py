"""What a process holds that opens and closes a memory again and again: its resident memory, against a bare interpreter.

python bench/openings.py               # 50 openings, one after the other
python bench/openings.py --threads 5   # five at a time
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SHOWN = (1, 3, 10, 50)
MB = 1_000_000
BARE = "print(open('/proc/self/statm').read())"


def resident(statm: str) -> float:
    return int(statm.split()[1]) * 4096 / MB


def open_and_close(home: str, number: int) -> float:
    from swarmlore.lore import Lore

    began = time.perf_counter()
    with Lore.open(home, cwd=home) as lore:
        lore.remember(f"Snapshot test {number} is recorded with make snap-record-{number}, never by hand")
        lore.recall("update the reference images")
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--openings", type=int, default=max(SHOWN))
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    said = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=True)
    bare = resident(said.stdout)
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(args.threads) as pool:
        done = 0
        for number in sorted({*(one for one in SHOWN if one < args.openings), args.openings}):
            times = list(pool.map(lambda at: open_and_close(home, at), range(done, number)))
            done, now = number, resident(Path("/proc/self/statm").read_text())
            facts = {"openings": number, "mb": round(now), "times_bare": round(now / bare, 1)}
            print(json.dumps({**facts, "last_ms": round(times[-1] * 1000)}), flush=True)


if __name__ == "__main__":
    main()
