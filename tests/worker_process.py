"""A worker for tests: the real one, with handlers that do what a handler may do at worst, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from swarmlore import config
from swarmlore.domain.records import Caller, Job, uuid7
from swarmlore.frozen import replace
from swarmlore.lore import Lore
from swarmlore.server.worker.child import ChildOptions, Runner
from swarmlore.server.worker.supervisor import Worker, new_owner

if TYPE_CHECKING:
    from swarmlore.server.worker.handlers import Handler

SENDER = Caller("tests", "sender", "worker", 2)


def good(lore: Lore, job: Job) -> None:
    lore.once(job, lambda: lore.send(["sink"], job.key), last=True)


def slow(lore: Lore, job: Job) -> None:
    """Tells that it began, takes its time, then has its effect."""
    Path(str(job.body["began"])).write_text(str(os.getpid()))
    time.sleep(float(job.body["seconds"]))
    good(lore, job)


def raises(_: Lore, __: Job) -> None:
    raise RuntimeError("it cannot be done")


def hangs(_: Lore, __: Job) -> None:
    while True:
        time.sleep(1000)


def exits(_: Lore, __: Job) -> None:
    os._exit(3)


def leaves(_: Lore, __: Job) -> None:
    sys.exit("as a program would")


def allocates(_: Lore, __: Job) -> None:
    held = []
    while True:
        held.append(bytearray(16 * 2**20))


HANDLERS: dict[str, Handler] = {
    "good": good,
    "slow": slow,
    "raises": raises,
    "hangs": hangs,
    "exits": exits,
    "leaves": leaves,
    "allocates": allocates,
}


def environment(url: str = "", **limits: object) -> dict[str, str]:
    """Short limits, so that a test takes seconds."""
    usual = {"LEASE_S": 10.0, "JOB_S": 60.0, "MEMORY_MB": 256, "BACKOFF_S": 0.05, "ATTEMPTS": 5, **limits}
    return {
        "SWARMLORE_EMBEDDER_KIND": "none",
        "SWARMLORE_STORE_URL": url,
        **{f"SWARMLORE_WORKER_{name}": str(value) for name, value in usual.items()},
    }


def opened(home: Path, env: dict[str, str]) -> Lore:
    return Lore.open(home, cwd=home, caller=SENDER, env=env)


def put(lore: Lore, kind: str, key: str = "", **body: object) -> str:
    now = lore.store.engine.now()
    job = Job(uuid7(now, os.urandom(10)), kind, body, key or kind, SENDER.project, SENDER.agent)
    return lore.store.put_job(job, now).id


def start(
    home: Path, env: dict[str, str], *, until_empty: bool = False, only_woken: bool = False
) -> subprocess.Popen[bytes]:
    more = [*(["--until-empty"] if until_empty else []), *(["--only-woken"] if only_woken else [])]
    words = [sys.executable, __file__, str(home), *more]
    return subprocess.Popen(words, env={**os.environ, **env}, stderr=subprocess.DEVNULL)


def look_only_when_woken() -> None:
    """The setting allows five seconds at most, after which a worker looks by itself."""
    begin = Runner.__init__

    def begin_patiently(self: Runner, *given: object) -> None:
        begin(self, *given)  # type: ignore[arg-type]
        self._own = replace(self._own, poll_s=600.0)

    Runner.__init__ = begin_patiently  # type: ignore[method-assign]


def main() -> None:
    home = sys.argv[1]
    if "--only-woken" in sys.argv:
        look_only_when_woken()
    orders = ChildOptions(home, new_owner(), tuple(HANDLERS), until_empty="--until-empty" in sys.argv)
    worker = Worker(orders, HANDLERS, config.load(home, "", os.environ).worker)
    worker.listen_to_signals()
    worker.work()


if __name__ == "__main__":
    main()
