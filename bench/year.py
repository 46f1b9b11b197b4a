"""A year of a team: 20 projects, 200 memories a week. How large the store gets, and what a sweep, `curate` and `report`
cost against the number of memories.

    python bench/year.py                       # the year, then a sweep of 100,000
    python bench/year.py --weeks 8 --rows 5000 # a quick look
    python bench/year.py --keep FOLDER         # leave the home there, to look at its report

Every week each project writes its memories, some of them again in the words of an older one, asks for blocks, reports
how tasks ended, and completes a phase. Time is simulated; vectors are left out, because they cost the same whatever
becomes of a memory.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import argparse
import json
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

import corpus
from learns import Clock
from swarmlore.domain.records import Caller, Draft
from swarmlore.lore import Lore

PROJECTS = tuple(f"git.example/team/{name}" for name in (
    "shop billing search mobile admin gateway reports mailer importer exporter ledger vouchers media auth audit "
    "warehouse pricing reviews loyalty support"
).split())  # fmt: skip
A_WEEK = 200
WEEK_S = 7 * 86_400.0
BLOCKS = 6  # a week and project
AGAIN = 0.1  # of the memories say what an older one says
CATEGORIES = ("process", "tooling", "testing", "debugging", "architecture", "todo")
QUICK = {"SWARMLORE_EMBEDDER_KIND": "none"}


def open_lore(home: str, project: str, clock: Clock, **settings: str) -> Lore:
    caller = Caller(project, "ada", "person", 3)
    return Lore.open(home, cwd=home, caller=caller, env={**QUICK, **settings}, clock=clock)


class Team:
    """The projects, and what they have written so far."""

    def __init__(self, home: str, seed: int = 1) -> None:
        self.home = home
        self.clock = Clock()
        self._rng = random.Random(seed)
        self._written: dict[str, list[str]] = {project: [] for project in PROJECTS}
        self._weeks = 0

    def week(self) -> None:
        """One week of every project."""
        for project in PROJECTS:
            with open_lore(self.home, project, self.clock) as lore:
                self._write(lore, project)
                self._work(lore, project)
                lore.complete_phase()
        self._weeks += 1
        self.clock.now += WEEK_S

    def _write(self, lore: Lore, project: str) -> None:
        written = self._written[project]
        drafts = []
        for _ in range(A_WEEK // len(PROJECTS)):
            text = self._rng.choice(written) if written and self._rng.random() < AGAIN else corpus.lesson(self._rng)
            written.append(text)
            drafts.append(Draft(text, category=self._rng.choice(CATEGORIES)))
        lore.remember_many(drafts)

    def _work(self, lore: Lore, project: str) -> None:
        """Some sessions whose prompts speak of what was written; half of them say what they used."""
        for number in range(BLOCKS):
            session = f"{self._weeks}-{number}"
            about = self._rng.choice(self._written[project]).split()
            block = lore.block("look at " + " ".join(about[: self._rng.randrange(3, 9)]), session=session)
            used = [item.memory for item in block.receipt.shown[:1] if self._rng.random() < 0.5]
            well = self._rng.random() < 0.8
            lore.outcome(well, session=session, applied=used, errors=0 if well else 4, retries=0 if well else 2)


def year(home: str, weeks: int) -> Iterator[dict[str, Any]]:
    """Size and costs at every quarter."""
    team = Team(home)
    for week in range(1, weeks + 1):
        began = time.perf_counter()
        team.week()
        lasted = time.perf_counter() - began
        if week % max(1, weeks // 4) == 0:
            yield {"week": week, "week_s": round(lasted, 2), **costs(team)}


def costs(team: Team) -> dict[str, Any]:
    """The size of the store, and what looking after one project of it takes."""
    with open_lore(team.home, PROJECTS[0], team.clock) as lore:
        counted = lore.stats()
        found = {
            "memories_in_all": lore.store.ask("count_memories")[0][0],
            "memories_of_project": counted["live"],
            "store_mb": round(counted["bytes"] / 1e6, 1),
        }
        found["bytes_per_memory"] = round(counted["bytes"] / max(1, found["memories_in_all"]))
        acts: dict[str, Callable[[], object]] = {
            "sweep": lambda: lore.sweep(dry_run=True),
            "curate": lore.curate,
            "report": lore.report,
            "report_all": lambda: lore.report(all_projects=True),
        }
        return found | {f"{name}_ms": round(_median_ms(act), 1) for name, act in acts.items()}


def _median_ms(act: Callable[[], object], times: int = 3) -> float:
    lasted = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        lasted.append(time.perf_counter() - began)
    return statistics.median(lasted) * 1000


# One large project


def large(rows: int) -> Iterator[dict[str, Any]]:
    """Sweeps over many memories in profile knowledge, against a plain UPDATE over all of them."""
    with tempfile.TemporaryDirectory() as home:
        clock = Clock()
        began = time.perf_counter()
        write(home, clock, rows // 5, seed=11)
        pass_phases(home, clock)
        write(home, clock, rows - rows // 5, seed=12)
        plain = plain_update(home)
        yield {"rows": rows, "written_s": round(time.perf_counter() - began, 1), "plain_update_s": round(plain, 3)}
        yield {"due": "one of five", **sweep(home, clock, plain)}
        yield {"due": "none", **sweep(home, clock, plain)}
        acts = {"curate": lambda lore: lore.curate(), "report": lambda lore: lore.report()}
        yield {f"{name}_s": round(timed(home, clock, act), 2) for name, act in acts.items()}
        pass_phases(home, clock)
        yield {"due": "all the others", **sweep(home, clock, plain)}


def write(home: str, clock: Clock, rows: int, seed: int) -> None:
    """Lessons as an import leaves them; in profile default, since the other compares each with all of them."""
    with open_lore(home, PROJECTS[0], clock) as lore:
        lore.remember_many(Draft(text, source="knowledge_add") for text in corpus.lessons(rows, seed))


def pass_phases(home: str, clock: Clock, phases: int = 11) -> None:
    """Complete as many phases as a lesson outlives, and one more; nothing leaves in profile default."""
    with open_lore(home, PROJECTS[0], clock) as lore:
        for number in range(phases):
            clock.now += 86_400
            lore.start_phase(f"phase {number}")
            lore.complete_phase()


def plain_update(home: str) -> float:
    """One UPDATE over all rows of a copy, committed to disk like every write of ours; seconds."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(home, folder, dirs_exist_ok=True)
        db = apsw.Connection(str(Path(folder) / "lore.db"))
        db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        began = time.perf_counter()
        with db:
            db.execute("UPDATE memory SET status = 'archived', updated_at = updated_at + 1, version = version + 1")
        lasted = time.perf_counter() - began
        db.close()
    return lasted


def sweep(home: str, clock: Clock, plain: float) -> dict[str, Any]:
    settings = {"SWARMLORE_RECALL_PROFILE": "knowledge", "SWARMLORE_KNOWLEDGE_SWARM_MAX_ENTRIES": "1000000"}
    with open_lore(home, PROJECTS[0], clock, **settings) as lore:
        began = time.perf_counter()
        swept = lore.sweep(force=True)
        lasted = time.perf_counter() - began
    return {"archived": swept.count("archived"), "sweep_s": round(lasted, 3), "ratio": round(lasted / plain, 2)}


def timed(home: str, clock: Clock, act: Callable[[Lore], object]) -> float:
    with open_lore(home, PROJECTS[0], clock) as lore:
        began = time.perf_counter()
        act(lore)
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--rows", type=int, default=100_000, help="memories of the large project; 0 leaves it out")
    parser.add_argument("--keep", default="", metavar="FOLDER", help="make the home of the year there, and leave it")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for found in year(args.keep or folder, args.weeks):
            print(json.dumps(found), flush=True)
    for found in large(args.rows) if args.rows else ():
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
