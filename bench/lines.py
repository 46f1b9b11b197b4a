"""What one line to the process behind OpenCode's plugin costs, as a ratio to a bare interpreter beside it.

    python bench/lines.py                  # 10,000 memories in the store
    python bench/lines.py --rows 1000 --rounds 9

Nobody waits for a capture; the plugin waits for the others. With a warm process, without one, and with one that hangs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from hooks import CUES, digested, fill, hung, warm
from swarmlore.clients.hook.home import socket_path, spool_dir
from timing import BARE, SCRIPT, environment, ratios


class Process:
    """The process as the plugin starts it."""

    def __init__(self, home: str) -> None:
        places = ["--home", home, "--socket", socket_path(home), "--spool", spool_dir(home)]
        words = [SCRIPT, "hook", "opencode", "--lines", *places]
        self._home = home
        self._child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
        self._number = 0

    def ms(self, event: str, **payload: object) -> float:
        """How long the answer to one line takes."""
        assert self._child.stdin
        assert self._child.stdout
        self._number += 1
        line = {"id": self._number, "event": event, "payload": {"directory": self._home, **payload}}
        began = time.perf_counter()
        self._child.stdin.write(json.dumps(line).encode() + b"\n")
        self._child.stdin.flush()
        assert json.loads(self._child.stdout.readline())["id"] == self._number
        return (time.perf_counter() - began) * 1000

    def end(self) -> None:
        self._child.communicate(timeout=30)


@contextmanager
def process(home: str) -> Iterator[Process]:
    made = Process(home)
    try:
        yield made
    finally:
        made.end()


def measure(home: str, rounds: int) -> dict[str, float]:
    """The median of each kind of line, and of a bare interpreter beside them; the first line starts the process."""
    times: dict[str, list[float]] = {name: [] for name in (BARE, "first line", "capture", "prompt", "session start")}
    for number in range(rounds):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        times[BARE].append((time.perf_counter() - began) * 1000)
        with process(home) as child:
            session = {"sessionID": f"ses_{number:04}{time.time_ns()}"}
            times["first line"].append(child.ms("nothing", input=session))
            times["session start"].append(child.ms("session.start", input=session, source="startup"))
            call = {**session, "tool": "bash", "callID": f"c{number}", "args": {"command": "ls -l"}}
            times["capture"].append(child.ms("tool.execute.after", input=call, output={"output": "total 0\n" * 20}))
            parts = [{"type": "text", "text": CUES[number % len(CUES)]}]
            said = {"message": {"id": f"msg_{number}"}, "parts": parts}
            times["prompt"].append(child.ms("chat.message", input=session, output=said))
        digested(home)
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        fill(home, args.rows)
        with warm(home):
            report("with a warm process", measure(home, args.rounds))
        report("without one", measure(home, args.rounds))
        with hung(home):
            report("with one that hangs", measure(home, 3))


def report(title: str, found: dict[str, float]) -> None:
    print(title)
    for row in ratios(found):
        print(f"  {row['command']:<16} {row['ms']:>8} ms  {row['ratio']:>6}")


if __name__ == "__main__":
    main()
