"""Workers on one queue, killed at random with SIGKILL, or only their child, or stopped until their lease is over, with
poison among the jobs.

    python torture/jobs.py                  # 10,000 jobs, 8 workers, one killed every 100 ms
    python torture/jobs.py --postgres

Each good job sends one message, once. Poison raises, hangs, ends its process or allocates without end. Afterwards every
good job must have had its effect exactly once, every poison must be given up after exactly five attempts, and nothing
may be left: no job that waits or runs, no process.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from swarmlore import config
from swarmlore.domain.records import Caller, Job, uuid7
from swarmlore.lore import Lore
from swarmlore.server.worker.child import ChildOptions
from swarmlore.server.worker.supervisor import Worker

FORK = multiprocessing.get_context("fork")  # an interpreter per worker and kill would leave two cores no time to work
CALLER = Caller("torture", "sender", "worker", 2)
POISON = ("raises", "hangs", "exits", "allocates")
ATTEMPTS = 5
SLEEP_S, MOST_ASLEEP = 5.0, 2  # longer than a lease
LIMITS = {"LEASE_S": "4", "JOB_S": "3", "MEMORY_MB": "256", "BACKOFF_S": "0.2", "ATTEMPTS": str(ATTEMPTS)}


def good(lore: Lore, job: Job) -> None:
    lore.once(job, lambda: lore.send(["sink"], job.key, "done"), last=job.body["number"] % 2 == 0)


def raises(_: Lore, job: Job) -> None:
    raise RuntimeError(f"job {job.key} cannot be done")


def hangs(_: Lore, __: Job) -> None:
    time.sleep(3600)


def exits(_: Lore, __: Job) -> None:
    os._exit(3)


def allocates(_: Lore, __: Job) -> None:
    held = []
    while True:
        held.append(bytearray(16 * 2**20))


HANDLERS = {"good": good, "raises": raises, "hangs": hangs, "exits": exits, "allocates": allocates}


def environment() -> dict[str, str]:
    return {
        "SWARMLORE_EMBEDDER_KIND": "none",
        "SWARMLORE_STORE_URL": os.environ.get("TORTURE_URL", ""),
        **{f"SWARMLORE_WORKER_{name}": value for name, value in LIMITS.items()},
    }


def opened(home: str) -> Lore:
    return Lore.open(home, cwd=home, caller=CALLER, env=environment())


def apart(work: Callable[[], Any]) -> Any:
    """Do something in a process of its own: the one that starts workers must not have the store open."""
    ours, theirs = FORK.Pipe()
    process = FORK.Process(target=lambda: theirs.send(work()))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    finally:
        process.join()


def fill(home: str, messages: int, poison: int, seed: int) -> None:
    """Queue the jobs, poison at random places among them."""
    rng = random.Random(seed)
    kinds = ["good"] * (messages - poison) + [POISON[number % len(POISON)] for number in range(poison)]
    rng.shuffle(kinds)
    with opened(home) as lore, lore.store.engine.writing():
        now = lore.store.engine.now()
        for number, kind in enumerate(kinds):
            job = Job(uuid7(now, os.urandom(10)), kind, {"number": number}, f"job-{number}", "torture", "sender")
            lore.store.put_job(job, now)


def start(home: str, number: int) -> Any:
    def work() -> None:
        settings = config.load(home, "", environment()).worker
        orders = ChildOptions(home, f"{number}-{os.getpid()}-{os.urandom(4).hex()}", tuple(HANDLERS), env=environment())
        worker = Worker(orders, HANDLERS, settings)
        worker.listen_to_signals()
        worker.work()

    process = FORK.Process(target=work)
    process.start()
    return process


def left(home: str) -> int:
    """How many jobs are neither done nor given up."""
    with opened(home) as lore:
        return sum(count for state, _, count, _ in lore.store.job_counts() if state != "dead")


def kill_loop(home: str, workers: int, every_s: float, seed: int, limit_s: float, stops: int) -> tuple[int, float]:
    """Kill a worker every so often and start another in its place, until nothing is left; returns kills and seconds."""
    rng = random.Random(seed)
    running = [start(home, number) for number in range(workers)]
    asleep: list[tuple[float, Any]] = []
    began = looked = time.monotonic()
    kills = 0
    while time.monotonic() - began < limit_s:
        time.sleep(every_s)
        wake(asleep)
        victim = rng.randrange(workers)
        how = rng.choices(("worker", "child", "sleep"), (12, 6, stops))[0]
        if how == "sleep" and len(asleep) < MOST_ASLEEP:
            send(running[victim], signal.SIGSTOP)
            asleep.append((time.monotonic() + SLEEP_S, running[victim]))
            running[victim] = start(home, victim)
        elif how == "child" and (children := children_of(running[victim].pid)):
            kill(children[0], signal.SIGKILL)
        else:
            running[victim].kill()
            running[victim].join()
            running[victim] = start(home, victim)
        kills += 1
        if time.monotonic() - looked > 2.0:
            looked = time.monotonic()
            if apart(lambda: left(home)) == 0:
                break
    took = time.monotonic() - began
    wake(asleep, every=True)
    for process in running:
        os.kill(process.pid, signal.SIGTERM)
    for process in running:
        process.join(10)
    return kills, took


def wake(asleep: list[tuple[float, Any]], *, every: bool = False) -> None:
    """Let workers go on whose lease is long over, and leave: whatever they still do must not count."""
    for entry in [entry for entry in asleep if every or entry[0] < time.monotonic()]:
        asleep.remove(entry)
        send(entry[1], signal.SIGCONT)
        time.sleep(0.2)
        entry[1].terminate()
        entry[1].join(10)


def send(process: Any, number: signal.Signals) -> None:
    """A signal for a worker and its child."""
    for pid in (process.pid, *children_of(process.pid)):
        kill(pid, number)


def kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def examine(home: str) -> dict[str, Any]:
    """What became of each job, and how often each had its effect."""
    with opened(home) as lore:
        run = lore.store.engine.run
        lore.store.act_for(CALLER)
        jobs = {str(key): (kind, state, attempts) for key, kind, state, attempts in run(
            "SELECT key, kind, state, attempts FROM job")}  # fmt: skip
        effects = Counter(str(row[0]) for row in run("SELECT subject FROM message"))
        errors = Counter(job.error.partition(":")[0] for job in lore.store.dead_jobs(CALLER, 10**6))
        problems = lore.store.engine.check()
    fine = {key for key, (kind, _, _) in jobs.items() if kind == "good"}
    bad = {key: facts for key, facts in jobs.items() if key not in fine}
    return {
        "jobs": len(jobs),
        "effects": sum(effects.values()),
        "without_effect": len([key for key in fine if not effects[key]]),
        "more_than_once": len([key for key, count in effects.items() if count > 1]),
        "effects_of_poison": len(set(effects) - fine),
        "good_not_done": len([key for key in fine if jobs[key][1] != "done"]),
        "poison": len(bad),
        "poison_not_dead": len([1 for _, state, _ in bad.values() if state != "dead"]),
        "poison_other_than_5_attempts": len([1 for _, _, attempts in bad.values() if attempts != ATTEMPTS]),
        "attempts_of_good": dict(sorted(Counter(jobs[key][2] for key in fine).items())),
        "errors_of_dead": dict(errors.most_common()),
        "problems": problems,
    }


PROMISES = (
    *("without_effect", "more_than_once", "effects_of_poison", "good_not_done", "poison_not_dead"),
    *("poison_other_than_5_attempts", "problems", "processes_left"),
)


def processes_left(home: str) -> int:
    """Copies of this program that are still there. What was killed takes a moment to be gone."""
    deadline = time.monotonic() + 5
    while (found := len(_copies())) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def _copies() -> list[str]:
    own = Path("/proc/self/cmdline").read_bytes()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            same = path.read_bytes() == own and "\nState:\tZ" not in (path.parent / "status").read_text()
        except OSError:
            continue
        if same and path.parent.name != str(os.getpid()):
            found.append(path.parent.name)
    return found


def torture(home: str, args: argparse.Namespace) -> dict[str, Any]:
    poison = max(len(POISON), args.messages // 100)
    apart(lambda: fill(home, args.messages, poison, args.seed))
    kills, took = kill_loop(home, args.workers, args.every, args.seed, args.limit, args.stops)
    found: dict[str, Any] = apart(lambda: examine(home))
    found["processes_left"] = processes_left(home)
    broken = [name for name in PROMISES if found[name]]
    return {"kills": kills, "took_s": round(took, 1), **found, "broken": broken}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--every", type=float, default=0.1, help="seconds between two kills")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds after which what is left counts as stuck")
    parser.add_argument("--stops", type=int, default=1, help="of 18 and these blows so many stop a worker; 0: none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgres", action="store_true", help="on a server instead of a file")
    args = parser.parse_args()
    if args.postgres:
        from databases import server

        os.environ["TORTURE_URL"] = server().url
    with tempfile.TemporaryDirectory() as home:
        found = torture(home, args)
    print(json.dumps(found, indent=2))
    return 1 if found["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
