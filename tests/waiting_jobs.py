"""Doing in this process what a worker would do: for tests in which the queue itself is not the matter."""

from __future__ import annotations

from swarmlore.domain.records import JOB_KINDS, Job
from swarmlore.lore import Lore
from swarmlore.server.worker.handlers import HANDLERS
from swarmlore.store.jobs import Terms

LEARNING = ("extract", "summarise")


def do_jobs(lore: Lore, kinds: tuple[str, ...] = LEARNING) -> list[Job]:
    """Run every job that waits, each for whoever put it there; what a handler raises is raised."""
    terms, done = Terms("this test", kinds), []
    while job := _claim(lore, terms):
        HANDLERS[job.kind](lore.acting_as(job.caller, job.folder), job)
        with lore.acting():
            assert lore.store.finish(job, lore.store.engine.now)
        done.append(job)
    return done


def _claim(lore: Lore, terms: Terms) -> Job | None:
    with lore.acting():
        return lore.store.claim(terms, lore.store.engine.now)


def waiting(lore: Lore) -> dict[str, int]:
    """How many jobs of each kind are not done."""
    with lore.acting():
        counted = lore.store.job_counts()
    return {kind: many for _, kind, many, _ in counted if kind in JOB_KINDS}
