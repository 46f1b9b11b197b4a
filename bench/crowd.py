"""A hundred agents start at once: how long each waits for the tools, and what their processes hold.

    python bench/crowd.py [--many 100]

Each is a `swarmlore mcp` on one home, all started in the same moment, first without a server and then beside
`swarmlore serve`. Against as many bare interpreters started the same way, which answer one line. Times are of the clock
and share the machine with everything else on it; the ratio and the seconds of computing are what can be compared.
Memory is what a process holds alone (its own pages, and its share of those that several have: PSS).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mcp_start import Client, swarmlore

ECHO = 'import sys\nfor line in sys.stdin: print(\'{"result": {"tools": [1]}}\', flush=True)'
LIMIT = 6.0  # times what a bare interpreter needs, in computing


class Bare(Client):
    """An interpreter that answers whatever it is asked."""

    def __init__(self) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._ask(1, "initialize", {})
        assert self._ask(2, "tools/list", {})["result"]["tools"]
        self.waited = time.perf_counter() - began


@contextmanager
def serving(home: str) -> Iterator[int]:
    """A server of a home; its process id."""
    words = [*swarmlore(home)[:1], "serve", "--port", "0", "--json", "--home", home]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    while not process.stdout.readline().rstrip().endswith("}"):
        pass
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def crowd(many: int, make: Callable[[], Client]) -> dict[str, float]:
    """Start them all at once; when all have answered, look at what they hold, then let them go."""
    with ThreadPoolExecutor(many) as threads:
        clients = list(threads.map(lambda _: make(), range(many)))
        held = [memory(client.process.pid) for client in clients]
        spent = [computed(client.process.pid) for client in clients]
        list(threads.map(lambda client: client.close(), clients))
    waits = sorted(client.waited for client in clients)
    return {
        "p50": waits[many // 2],
        "p99": waits[int(many * 0.99) - 1],
        "worst": waits[-1],
        "cpu": sum(spent) / many,
        "most cpu": max(spent),
        "pss": sum(pss for _, pss in held) / many,
        "rss": sum(rss for rss, _ in held) / many,
        "largest": max(pss for _, pss in held),
    }


def memory(pid: int) -> tuple[float, float]:
    """RSS and PSS in MB."""
    found = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return int(found["Rss"].split()[0]) / 1024, int(found["Pss"].split()[0]) / 1024


def computed(pid: int) -> float:
    """The seconds of computing so far, of all its threads: the clock that Linux keeps for a process."""
    return time.clock_gettime(((~pid) << 3) | 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--many", type=int, default=100)
    many = parser.parse_args().many
    found = {}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp"))
        alone, served = os.path.join(folder, "alone"), os.path.join(folder, "served")
        Client(swarmlore(alone)).close()  # compiled modules and the disk's cache
        found["bare interpreters"] = crowd(many, Bare)
        found["mcp, no server"] = crowd(many, lambda: Client(swarmlore(alone)))
        server = stack.enter_context(serving(served))
        before = computed(server)
        found["mcp beside serve"] = crowd(many, lambda: Client(swarmlore(served)))
        rss, pss = memory(server)
        spent = 1000 * (computed(server) - before) / many
    print(f"the server itself: {rss:.0f} MB RSS, {pss:.0f} MB PSS, {spent:.0f} ms of computing for each agent")
    return report(many, found)


COLUMNS = {"p50 s": "p50", "p99 s": "p99", "worst s": "worst", "cpu s": "cpu", "× bare": "ratio", "most": "most cpu"}
MEMORY = {"PSS MB": "pss", "RSS MB": "rss", "largest": "largest"}


def report(many: int, found: dict[str, dict[str, float]]) -> int:
    bare = found["bare interpreters"]
    columns = {**COLUMNS, **MEMORY}
    print(f"{f'{many} at once':18}" + "".join(f"{name:>9}" for name in columns))
    for name, told in found.items():
        told["ratio"] = told["cpu"] / bare["cpu"]
        print(f"{name:18}" + "".join(f"{told[key]:9.3g}" for key in columns.values()))
    return int(found["mcp beside serve"]["cpu"] > LIMIT * bare["cpu"])


if __name__ == "__main__":
    sys.exit(main())
