"""Sessions come and go, warm processes are killed: nothing is left behind, and every event counts once.

    python torture/sessions.py                     # 200 sessions, 50 of their servers killed
    python torture/sessions.py --sessions 40 --kills 10

Each session starts `swarmlore mcp` as a client does, lists its tools, runs hooks, calls a tool, and ends: by closing
the server's input, or by kill -9. Several run at the same time on one home, so most servers are proxies of another's,
and find themselves without it. In the end: no process, no socket, an empty spool, and each event counted once. Then 20
servers stay at the same time, and their memory is added up.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from swarmlore.clients.hook import spool
from swarmlore.clients.hook.home import socket_path, spool_dir
from swarmlore.lore import Lore

SCRIPT = str(Path(sys.executable).parent / "swarmlore")
LANES = 4
TOOL_USES = 3
SERVERS = 20


# The model has no part in this, and loading it 200 times would take longer than everything else.
ENV = {**os.environ, "SWARMLORE_EMBEDDER_KIND": "none"}


class Server:
    """One `swarmlore mcp`, spoken to as a client does."""

    def __init__(self, home: str, folder: str, env: Mapping[str, str] = ENV) -> None:
        command = [SCRIPT, "mcp", "--client", "claude", "--home", home]
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "torture", "version": "1"}}
        self.ask(1, "initialize", hello)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert len(self.ask(2, "tools/list", {})["tools"]) == 8

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask(random.randrange(3, 10**9), "tools/call", {"name": tool, "arguments": arguments})

    def ask(self, id: int, method: str, params: dict[str, Any]) -> Any:
        self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        assert self.process.stdout
        while line := self.process.stdout.readline():
            told = json.loads(line)
            if told.get("id") == id:
                assert "result" in told, told
                return told["result"]
        raise EOFError("the server has ended")

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def end(self, *, kill: bool) -> None:
        if kill:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            stream.close()
        self.process.wait(30)


def hook(home: str, folder: str, event: str, session: str, **facts: Any) -> float:
    """Run a hook; returns how long it took."""
    places = ["--home", home, "--socket", socket_path(home), "--spool", spool_dir(home)]
    data = {"session_id": session, "cwd": folder, "hook_event_name": event, **facts}
    began = time.monotonic()
    done = subprocess.run(
        [SCRIPT, "hook", "claude", event, *places],
        input=json.dumps(data).encode(),
        capture_output=True,
        env=ENV,
        check=True,
    )
    assert done.stderr == b"", done.stderr
    return time.monotonic() - began


def session(home: str, folder: str, number: int, *, kill: bool) -> list[float]:
    """One session from its start to its end; how long each hook took."""
    name = f"session-{number}"
    server = Server(home, folder)
    took = [hook(home, folder, "SessionStart", name, source="startup")]
    took.append(hook(home, folder, "UserPromptSubmit", name, prompt=f"look at part {number}", prompt_id=f"p{number}"))
    for use in range(TOOL_USES):
        given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": f"{name}-{use}"}
        took.append(hook(home, folder, "PostToolUse", name, **given, tool_response={"stdout": "", "stderr": ""}))
    told = server.call(
        "remember", text=f"Part number {number} of the machine needs the key {number * 7919} to be opened"
    )
    assert not told.get("isError"), told
    server.end(kill=kill)
    took.append(hook(home, folder, "SessionEnd", name, reason="other"))
    return took


def check(home: str, folder: str, sessions: int) -> dict[str, Any]:
    """After the next command nothing waits, nobody listens, and everything was counted once."""
    subprocess.run([SCRIPT, "list", "--home", home], cwd=folder, env=ENV, check=True, capture_output=True)
    deadline = time.monotonic() + 30
    while spool.has_events(spool_dir(home)) and time.monotonic() < deadline:
        time.sleep(0.1)  # a process that a hook left behind may have been at it before the command
    assert not spool.has_events(spool_dir(home)), os.listdir(spool_dir(home))
    problems = [str(item.get("what")) for item in spool.problems(spool_dir(home))]  # told to the doctor, nothing lost
    assert not os.path.lexists(socket_path(home))
    lead = {**ENV, "SWARMLORE_ROLE": "lead"}
    with Lore.open(home, cwd=folder, env=lead) as lore:
        found = {item.id: item.extra for item in lore.sessions(10_000) if item.id.startswith("session-")}
        memories = len(lore.list(limit=10_000))
    assert len(found) == sessions, len(found)
    wrong = {id: extra for id, extra in found.items() if (extra["tool_calls"], extra["prompts"]) != (TOOL_USES, 1)}
    assert not wrong, wrong
    assert memories >= sessions, memories
    return {"events_once": sessions * (TOOL_USES + 3), "memories": memories, "problems": problems}


def processes(home: str) -> list[int]:
    """Processes that work for a home."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if home.encode() in words and b"mcp" in words:
                found.append(int(entry))
    return found


def memory_of_many(home: str, folder: str) -> dict[str, float]:
    """Resident and proportional memory of many servers of one home, in megabytes."""
    servers = [Server(home, folder, os.environ) for _ in range(SERVERS)]  # with the model
    for server in servers:
        assert not server.call("recall", query="which key does part 7 need").get("isError")
    rss = pss = 0.0
    for server in servers:
        rollup = Path(f"/proc/{server.process.pid}/smaps_rollup").read_text()
        sizes = {line.split(":")[0]: float(line.split()[1]) / 1000 for line in rollup.splitlines()[1:] if ":" in line}
        rss, pss = rss + sizes["Rss"], pss + sizes["Pss"]
    largest = max(_rss(server.process.pid) for server in servers)
    for server in reversed(servers):
        server.end(kill=False)
    return {"servers": SERVERS, "rss_mb": round(rss), "pss_mb": round(pss), "largest_rss_mb": round(largest)}


def _rss(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--kills", type=int, default=50)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        home, folder = str(Path(root).resolve() / "home"), str(Path(root).resolve() / "project")
        os.mkdir(folder)
        killed = set(random.Random(4).sample(range(args.sessions), args.kills))
        began = time.monotonic()
        with ThreadPoolExecutor(LANES) as lanes:
            runs = [
                lanes.submit(session, home, folder, number, kill=number in killed) for number in range(args.sessions)
            ]
            took = [seconds for run in runs for seconds in run.result()]
        results = check(home, folder, args.sessions)
        left = processes(home)
        assert left == [], left
        results |= {"sessions": args.sessions, "killed": args.kills, "seconds": round(time.monotonic() - began)}
        results |= {"longest_hook_s": round(max(took), 2), "together": memory_of_many(home, folder)}
        assert processes(home) == []
    json.dump(results, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
