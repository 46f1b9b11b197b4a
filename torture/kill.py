"""Writers on one store, killed at random with SIGKILL: what was acknowledged has to be there.

    python torture/kill.py --writers 8 --kills 200
    python torture/kill.py --postgres --kills 60    # backends are terminated and the server restarted as well

Each writer remembers one lesson after the other and writes the id to its own log after the reply. Afterwards every
acknowledged id must be stored with its audit row, the file must be whole, and nobody may have seen an error.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from databases import Server
from swarmlore.domain.records import Caller
from swarmlore.lore import Lore
from swarmlore.store.memories import Filter

WORDS = """
    cache queue socket index schema token retry budget worker branch commit deploy fixture parser router
""".split()


def lesson(writer: int, number: int, rng: random.Random) -> str:
    """A text of its own, so that no two are taken for duplicates."""
    words = " ".join(rng.choice(WORDS) + str(rng.randrange(10**6)) for _ in range(6))
    return f"Writer {writer} lesson {number}: {words}"


def environment() -> dict[str, str]:
    """Words only; on a server where one is named."""
    return {"SWARMLORE_EMBEDDER_KIND": "none", "SWARMLORE_STORE_URL": os.environ.get("TORTURE_URL", "")}


def write(home: str, writer: int, count: int) -> None:
    """Remember and acknowledge until killed or done."""
    rng = random.Random(f"{writer}-{os.getpid()}")
    caller = Caller("torture", f"writer-{writer}", "worker", 2)
    with (
        Lore.open(home, cwd=home, caller=caller, env=environment()) as lore,
        open(f"{home}/acks-{writer}", "a") as acks,
    ):
        for number in range(count):
            began = time.monotonic()
            try:
                told = lore.remember(lesson(writer, number, rng), category="testing", tags=["torture"])
            except Exception as error:  # every error counts, whatever its class
                why = f" ({error.__cause__})" if error.__cause__ else ""
                acks.write(json.dumps({"error": f"{type(error).__name__}: {error}{why}"}) + "\n")
                acks.flush()
                continue
            acks.write(json.dumps({"id": told.memory.id, "waited_s": round(time.monotonic() - began, 4)}) + "\n")
            acks.flush()


def start(home: str, writer: int, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--write", home, "--writer", str(writer), "--count", str(count)]
    return subprocess.Popen(command)


def kill_loop(home: str, writers: int, kills: int, seed: int, server: Server | None = None) -> int:
    """Start the writers, kill one at random every 20 to 120 ms, start it again at once; now and then hit the server."""
    rng = random.Random(seed)
    running = {number: start(home, number, 10**9) for number in range(writers)}
    time.sleep(1.5)  # let every writer get to work before the first one dies
    done = 0
    while done < kills:
        time.sleep(rng.uniform(0.02, 0.12) if server is None else rng.uniform(0.1, 0.4))
        victim = rng.randrange(writers)
        running[victim].send_signal(signal.SIGKILL)
        running[victim].wait()
        running[victim] = start(home, victim, 10**9)
        done += 1
        if server is not None:
            hit(server, done)
    time.sleep(1.5)
    for process in running.values():
        process.send_signal(signal.SIGKILL)
        process.wait()
    return done + writers


def hit(server: Server, number: int) -> None:
    """Every third time the backends are terminated, every twentieth the server is restarted, every other one of these
    without a chance to clean up."""
    if number % 20 == 0:
        server.restart("immediate" if number % 40 == 0 else "fast")
    elif number % 3 == 0:
        server.terminate()


def run_to_end(home: str, writers: int, count: int) -> None:
    for process in [start(home, number, count) for number in range(writers)]:
        if process.wait() != 0:
            raise SystemExit("a writer failed")


def examine(home: str) -> dict[str, object]:
    """Compare what was acknowledged with what is stored."""
    acks = [line for path in Path(home).glob("acks-*") for line in whole_lines(path)]
    acked = [line["id"] for line in acks if "id" in line]
    errors = [line["error"] for line in acks if "error" in line]
    began = time.monotonic()
    caller = Caller("torture", "judge", "lead", 3)
    with Lore.open(home, cwd=home, caller=caller, env=environment()) as lore:
        opened_s = time.monotonic() - began
        stored = {memory.id for memory in lore.store.select(caller, Filter(status="any", limit=10**7))}
        audited = {row[0] for row in lore.store.engine.run("SELECT memory FROM audit WHERE action = 'added'")}
        facts = lore.store.engine.facts()
        return {
            "acknowledged": len(acked),
            "stored": len(stored),
            "lost": len(set(acked) - stored),
            "without_audit": len(stored - audited) + len(set(acked) - audited),
            "acknowledged_twice": len(acked) - len(set(acked)),
            "unacknowledged": len(stored - set(acked)),
            "errors": errors[:3],
            "problems": lore.store.engine.check(),
            "longest_wait_s": max((line["waited_s"] for line in acks if "waited_s" in line), default=0.0),
            "wal_bytes": facts.get("wal_bytes", 0),
            "opened_s": round(opened_s, 3),
        }


def whole_lines(path: Path) -> list[dict[str, object]]:
    """The log of a killed writer may end in the middle of a line."""
    found = []
    for line in path.read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def verdict(found: dict[str, object], kills: int, patience_s: float = 1.0) -> list[str]:
    """What broke a promise."""
    broken = [name for name in ("lost", "without_audit", "acknowledged_twice", "errors", "problems") if found[name]]
    if int(str(found["unacknowledged"])) > kills:
        broken.append("unacknowledged")
    if float(str(found["longest_wait_s"])) > patience_s:
        broken.append("longest_wait_s")
    if int(str(found["wal_bytes"])) > 64 * 1024 * 1024:
        broken.append("wal_bytes")
    return broken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgres", action="store_true", help="on a server instead of a file")
    parser.add_argument("--write", metavar="HOME", help=argparse.SUPPRESS)
    parser.add_argument("--writer", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=10**9, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        write(args.write, args.writer, args.count)
        return 0
    server = start_server() if args.postgres else None
    with tempfile.TemporaryDirectory() as home:
        kills = kill_loop(home, args.writers, args.kills, args.seed, server)
        found = examine(home)
    if server is not None:
        server.empty()
    with tempfile.TemporaryDirectory() as home:
        run_to_end(home, 4, 200)
        calm = examine(home)
    patience_s = 1.0 if server is None else 15.0  # a restart is waited for
    broken = verdict(found, kills, patience_s) + verdict(calm, 0) + ([] if calm["stored"] == 800 else ["800 kept"])
    print(json.dumps({"kills": kills, "under_kills": found, "4 x 200": calm, "broken": broken}, indent=2))
    return 1 if broken else 0


def start_server() -> Server:
    """A server whose address every writer is given."""
    from databases import server

    os.environ["TORTURE_URL"] = server().url
    return server()


if __name__ == "__main__":
    sys.exit(main())
