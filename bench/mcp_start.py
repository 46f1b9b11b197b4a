"""How long a client waits for the tools: from the start of the process to the answer to `tools/list`.

    python bench/mcp_start.py             # interleaved, so that a busy moment meets everybody
    python bench/mcp_start.py --rounds 20

`bare` is a server of the same SDK with one tool that does nothing; `python` is an interpreter that ends at once.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

BARE = """
import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="a", description="b", input_schema={"type": "object"})])


async def main():
    server = Server("bare", on_list_tools=list_tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


anyio.run(main)
"""
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
LIMITS = {"server": ("bare", 1.3), "proxy": ("python", 4.0)}


class Client:
    """A process that speaks the protocol; `waited` is the time to the list of tools."""

    def __init__(self, command: list[str]) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._ask(1, "initialize", HELLO)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert self._ask(2, "tools/list", {})["result"]["tools"]
        self.waited = time.perf_counter() - began

    def _send(self, message: dict[str, object]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def _ask(self, id: int, method: str, params: dict[str, object]) -> dict[str, dict[str, object]]:
        self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        assert self.process.stdout
        answer: dict[str, dict[str, object]] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


def to_tools(command: list[str]) -> float:
    client = Client(command)
    client.close()
    return client.waited


def bare_python() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


def swarmlore(home: str) -> list[str]:
    """As clients start it: by the console script."""
    script = Path(sys.executable).with_name("swarmlore")
    return [str(script), "mcp", "--client", "bench", "--home", home]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    rounds = parser.parse_args().rounds
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp"))
        bare = os.path.join(folder, "bare.py")
        Path(bare).write_text(BARE)
        warm = Client(swarmlore(os.path.join(folder, "warm")))
        stack.callback(warm.close)
        ways: dict[str, Callable[[], float]] = {
            "python": bare_python,
            "proxy": lambda: to_tools(swarmlore(os.path.join(folder, "warm"))),
            "bare": lambda: to_tools([sys.executable, bare]),
            "server": lambda: to_tools(swarmlore(os.path.join(folder, "alone"))),
        }
        for way in ways.values():
            way()  # compiled modules and the disk's cache
        times = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                times[name].append(way())
    return report({name: statistics.median(taken) for name, taken in times.items()})


def report(medians: dict[str, float]) -> int:
    print(f"{'to tools/list':14}{'ms':>8}  ratio")
    for name, taken in medians.items():
        base, limit = LIMITS.get(name, ("", 0.0))
        ratio = f"{taken / medians[base]:.2f} × {base} (at most {limit:g})" if base else ""
        print(f"{name:14}{taken * 1000:8.1f}  {ratio}")
    return int(any(medians[name] > limit * medians[base] for name, (base, limit) in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
