"""The end of a session, with a kill at every step between its report and its lessons: nothing lost, nothing twice.

    python torture/catching.py                 # every step
    python torture/catching.py --stride 10     # every tenth
    python torture/catching.py --at 17         # one of them, to look at it

A session ends and a task is reported. A process digests both and does the jobs that come of them; it kills itself
before the n-th statement to the store or the n-th touch of the spool, for every n there is. Another process then goes
on as if nothing had happened. In the end the lessons, the summary, the result and the outcome are there, each once.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from typing import Any

from swarmlore.capture.pipeline import SpoolReader
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.event import Event
from swarmlore.clients.hook.home import spool_dir
from swarmlore.lore import Lore

ENV = {
    "SWARMLORE_EMBEDDER_KIND": "none",
    "SWARMLORE_ROLE": "lead",
    "SWARMLORE_WORKER_BACKOFF_S": "0",
    "SWARMLORE_WORKER_LEASE_S": "0.5",  # whoever goes on has to wait until the lease of the dead is over
}
STEPS = (("sqlite.py", "run"), ("sqlite.py", "writing"), ("spool.py", "mark_read"), ("spool.py", "take"))
ENDED, KILLED = 0, -9

TALK = (
    ("user", "install the dependencies"),
    ("user", "No, use pnpm here, never npm: the lockfile is pnpm's"),
    ("assistant", "The root cause was that the worker reads its configuration before the secrets are mounted."),
    ("user", "We decided to keep the state lock in S3, not in DynamoDB"),
)
REPORT = {
    "bead_id": "bd-123.4",
    "summary": "OAuth login flow implemented with JWT",
    "evaluation": "Used 5min refresh buffer against races. Build failed with 2 errors, fixed by adding types.",
    "files_touched": ["src/auth/service.ts"],
    "error_count": 2,
    "success": True,
}
WANTED = {
    "Use pnpm here, never npm: the lockfile is pnpm's.": 1,
    "The root cause was that the worker reads its configuration before the secrets are mounted.": 1,
    "We decided to keep the state lock in S3, not in DynamoDB.": 1,
    "OAuth login flow implemented with JWT: " + str(REPORT["evaluation"]): 1,
    "session_summary": 1,
    "task_completion": 1,
    "outcome": 1,
}


def prepare(home: str, folder: str) -> None:
    """A session has ended and a task was reported: both wait in the spool."""
    path = os.path.join(folder, "s1.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for role, text in TALK:
            file.write(json.dumps({"type": role, "message": {"role": role, "content": text}}) + "\n")
    common: dict[str, Any] = {"client": "claude", "session": "s1", "cwd": folder}
    reported: tuple[dict[str, Any], ...] = (
        {"name": "PostToolUse", "moment": e.AFTER_TOOL, "tool_name": "swarm_complete", "extra": {"outcome": REPORT}},
        {"name": "SessionEnd", "moment": e.SESSION_END, "transcript": path},
    )
    for number, facts in enumerate(reported):
        spool.append(spool_dir(home), e.to_plain(Event(f"event{number}", 1_800_000_000.0 + number, **common, **facts)))


def go_on(home: str, folder: str, kill_at: int) -> None:
    """Digest what waits and do the jobs; end by our own hand before the n-th step."""
    seen = 0

    def step(frame: Any, event: str, _: Any) -> None:
        nonlocal seen
        if event != "call" or (os.path.basename(frame.f_code.co_filename), frame.f_code.co_name) not in STEPS:
            return
        seen += 1
        if seen == kill_at:
            os.kill(os.getpid(), 9)

    from swarmlore.server.worker.child import run_due_jobs
    from swarmlore.server.worker.handlers import HANDLERS

    sys.setprofile(step)
    with Lore.open(home, cwd=folder, env=ENV, client="claude") as lore:
        SpoolReader(lore).drain()
        run_due_jobs(lore, HANDLERS, "torture")
    sys.setprofile(None)
    print(seen)


def run(home: str, folder: str, kill_at: int = 0) -> tuple[int, int]:
    """One process; how it ended, and how many steps it took if it got to its end."""
    command = [sys.executable, os.path.abspath(__file__), "--child", home, folder, str(kill_at)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (ENDED, KILLED), done.stderr
    return done.returncode, int(done.stdout or 0)


def kept(home: str, folder: str) -> Counter[str]:
    """What is there in the end: lessons by their text, material by its source, outcomes, and what is left over."""
    with Lore.open(home, cwd=folder, env=ENV, client="claude") as lore:
        found = Counter(memory.source if memory.raw else memory.text for memory in lore.list(limit=100))
        found["outcome"] = len(lore.outcomes())
        found["confirmed"] = sum(len(memory.confirmed_by) for memory in lore.list(limit=100))
        with lore.acting():
            found["waiting or given up"] = sum(many for _, kind, many, _ in lore.store.job_counts() if kind != "embed")
        found["spooled"] = int(spool.has_events(spool_dir(home)))
        found["problems"] = len(spool.problems(spool_dir(home)))
    return +found


def attempt(kill_at: int) -> Counter[str]:
    """One session that is killed at one step, then gone on with; what was kept of it."""
    base = tempfile.mkdtemp(prefix="catching")
    home, folder = os.path.join(base, "home"), os.path.join(base, "project")
    os.makedirs(folder)
    try:
        prepare(home, folder)
        run(home, folder, kill_at)
        for _ in range(20):
            run(home, folder)
            found = kept(home, folder)
            if not found["waiting or given up"]:
                break
        return found
    finally:
        shutil.rmtree(base)


def whole_run() -> int:
    """How many steps there are without a kill."""
    base = tempfile.mkdtemp(prefix="catching")
    home, folder = os.path.join(base, "home"), os.path.join(base, "project")
    os.makedirs(folder)
    try:
        prepare(home, folder)
        return run(home, folder)[1]
    finally:
        shutil.rmtree(base)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--stride", type=int, default=1, help="kill at every n-th step")
    parser.add_argument("--at", type=int, default=0, help="kill at this step only")
    args = parser.parse_args()
    if args.child:
        go_on(args.child[0], args.child[1], int(args.child[2]))
        return 0
    steps = whole_run()
    places = [args.at] if args.at else range(1, steps + 1, args.stride)
    wrong = 0
    for place in places:
        found = attempt(place)
        if found != WANTED:
            wrong += 1
            print(f"step {place}: {dict(found - Counter(WANTED))} too much, {dict(Counter(WANTED) - found)} missing")
    print(f"{len(places)} kills over {steps} steps, {wrong} with a loss or a double")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
