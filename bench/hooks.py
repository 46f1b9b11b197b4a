"""What a hook costs an agent, as ratios to a bare interpreter, interleaved in one run.

    python bench/hooks.py                  # 10,000 memories in the store
    python bench/hooks.py --rows 1000 --rounds 9

Capture and injection with a warm process, without one, and with one that is dead or hangs.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import corpus
from speed import fill_vectors
from swarmlore import Lore
from swarmlore.hooks import spool, wire
from swarmlore.hooks.places import socket_path, spool_dir
from swarmlore.records import Draft
from timing import SCRIPT, Command, environment, interleaved, ratios

CUES = corpus.questions(200)


def hook(home: str, event: str, payload: Callable[[int], dict[str, object]]) -> Command:
    places = ["--home", home, "--socket", socket_path(home), "--spool", spool_dir(home)]

    def make(number: int) -> tuple[list[str], bytes]:
        data = {"session_id": f"s{number}", "cwd": home, "hook_event_name": event, **payload(number)}
        return [SCRIPT, "hook", "claude", event, *places], json.dumps(data).encode()

    return make


def capture(number: int) -> dict[str, object]:
    unique = f"t{number}-{time.time_ns()}"
    given = {"tool_name": "Bash", "tool_input": {"command": "ls -l"}, "tool_use_id": unique}
    return {**given, "tool_response": {"stdout": "total 0\n" * 20, "stderr": ""}}


def prompt(number: int) -> dict[str, object]:
    return {"prompt": CUES[number % len(CUES)], "prompt_id": f"p{number}-{time.time_ns()}"}


def start(number: int) -> dict[str, object]:
    return {"source": "startup", "session_id": f"s{number}-{time.time_ns()}"}


def fill(home: str, rows: int) -> None:
    with Lore.open(home, cwd=home, env={}) as lore:
        done = lore.remember_many(Draft(text) for text in corpus.lessons(rows, 7))
        assert sum(done.outcomes.values()) > rows * 0.98, done.outcomes
        fill_vectors(lore)


def digested(home: str) -> None:
    """Wait for the process that a hook leaves behind to digest what it reported."""
    deadline = time.monotonic() + 30
    while spool.waits(spool_dir(home)) and time.monotonic() < deadline:
        time.sleep(0.02)


@contextmanager
def warm(home: str) -> Iterator[None]:
    """A warm process: the MCP server that a client would have started."""
    process = subprocess.Popen(
        [SCRIPT, "mcp", "--home", home], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home, env=environment()
    )
    assert process.stdin
    assert process.stdout
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    for message in (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ):
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
    try:
        _wait_for_model(home)
        yield
    finally:
        process.stdin.close()
        process.wait(20)


def _wait_for_model(home: str) -> None:
    deadline = time.monotonic() + 60
    while (told := wire.ask(socket_path(home), {"op": "ping"}, 1.0)) is None or not told.get("model"):
        assert time.monotonic() < deadline, "the warm process does not get warm"
        words, given = hook(home, "PostToolUse", capture)(0)
        subprocess.run(words, input=given, check=True)
        time.sleep(0.2)


@contextmanager
def hung(home: str) -> Iterator[None]:
    """Somebody who takes connections and never answers."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(socket_path(home))
    listener.listen(64)
    try:
        yield
    finally:
        listener.close()
        os.unlink(socket_path(home))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=25)
    args = parser.parse_args()
    env = environment()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # hooks may still digest
        home = str(Path(folder).resolve())
        fill(home, args.rows)
        captured = {"capture": hook(home, "PostToolUse", capture)}
        asked = {"prompt": hook(home, "UserPromptSubmit", prompt), "session start": hook(home, "SessionStart", start)}
        results = {
            "rows": args.rows,
            "spool": ratios(interleaved(captured, env, args.rounds)),
            "cold": ratios(interleaved(asked, env, args.rounds, lambda: digested(home))),
        }
        with warm(home):
            results["warm"] = ratios(interleaved({**captured, **asked}, env, args.rounds))
        with hung(home):
            results["hung"] = ratios(interleaved({**captured, **asked}, env, 3))
        digested(home)
    json.dump(results, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
