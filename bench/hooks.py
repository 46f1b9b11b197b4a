"""What a hook costs an agent, as ratios to a bare interpreter, interleaved in one run.

    python bench/hooks.py                  # 10,000 memories in the store
    python bench/hooks.py --rows 1000 --rounds 9 --clients gemini copilot

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import corpus
from speed import fill_vectors
from swarmlore.clients.hook import socket as wire
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.event import BEGUN_BY_PROMPT
from swarmlore.clients.hook.home import socket_path, spool_dir
from swarmlore.domain.records import Draft
from swarmlore.lore import Lore
from timing import SCRIPT, Command, environment, interleaved, ratios

CUES = corpus.questions(200)


# What each client calls the three moments that are measured.
EVENTS = {
    "claude": ("PostToolUse", "UserPromptSubmit", "SessionStart"),
    "codex": ("PostToolUse", "UserPromptSubmit", "SessionStart"),
    "gemini": ("AfterTool", "BeforeAgent", "SessionStart"),
    "copilot": ("postToolUse", "userPromptSubmitted", "sessionStart"),
}


def hook(home: str, event: str, payload: Callable[[int], dict[str, object]], client: str = "claude") -> Command:
    places = ["--home", home, "--socket", socket_path(home), "--spool", spool_dir(home)]

    def make(number: int) -> tuple[list[str], bytes]:
        base = {"session_id": f"s{number}", "sessionId": f"s{number}", "cwd": home, "hook_event_name": event}
        now = {"timestamp": time.time_ns() // 1_000_000} if client in ("gemini", "copilot") else {}
        return [SCRIPT, "hook", client, event, *places], json.dumps({**base, **now, **payload(number)}).encode()

    return make


def of_clients(home: str, names: Sequence[str]) -> tuple[dict[str, Command], dict[str, Command]]:
    """The hooks that only capture, and those that are answered."""
    captured, asked = {}, {}
    for name in names:
        after, said, begun = EVENTS[name]
        captured[f"{name} capture"] = hook(home, after, capture, name)
        asked[f"{name} prompt"] = hook(home, said, prompt, name)
        answered = asked if name not in BEGUN_BY_PROMPT else captured  # nobody digests after what is only captured
        answered[f"{name} session start"] = hook(home, begun, start, name)
    return captured, asked


def capture(number: int) -> dict[str, object]:
    """A command that worked, as each client reports it."""
    given, printed = {"command": "ls -l"}, "total 0\n" * 20
    return {
        **{"tool_name": "Bash", "tool_input": given, "tool_use_id": f"t{number}-{time.time_ns()}"},
        **{"toolName": "bash", "toolArgs": given, "toolResult": {"textResultForLlm": printed}},
        "tool_response": {"stdout": printed, "stderr": "", "llmContent": f"Output: {printed}"},
    }


def prompt(number: int) -> dict[str, object]:
    return {"prompt": CUES[number % len(CUES)], "prompt_id": f"p{number}-{time.time_ns()}"}


def start(number: int) -> dict[str, object]:
    session = f"s{number}-{time.time_ns()}"
    return {"source": "startup", "session_id": session, "sessionId": session}


def fill(home: str, rows: int) -> None:
    with Lore.open(home, cwd=home, env={}) as lore:
        done = lore.remember_many(Draft(text) for text in corpus.lessons(rows, 7))
        assert sum(done.outcomes.values()) > rows * 0.98, done.outcomes
        fill_vectors(lore)


def digested(home: str) -> None:
    """Wait for the process that a hook leaves behind to digest what it reported."""
    deadline = time.monotonic() + 30
    while spool.has_events(spool_dir(home)) and time.monotonic() < deadline:
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
    parser.add_argument("--clients", nargs="+", choices=EVENTS, default=list(EVENTS))
    args = parser.parse_args()
    env = environment()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # hooks may still digest
        home = str(Path(folder).resolve())
        fill(home, args.rows)
        captured, asked = of_clients(home, args.clients)
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
