"""Handlers by kind of job. A handler may be killed at any point and run again, so it must be idempotent.

`Lore.once` is for effects that must not happen twice; a handler that gives the same result each time does not need it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from swarmlore.errors import Conflict, Unavailable
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    from swarmlore.domain.records import Job
    from swarmlore.lore import Lore

    Handler: TypeAlias = Callable[[Lore, Job], None]


STEP = 1_024  # texts per call of `catch_up`


def embed(lore: Lore, _: Job) -> None:
    """Embed all pending texts. Each vector is stored with its text's row, or the text stays pending."""
    while lore.catch_up(STEP):
        pass
    lore.index_later()
    if (why := lore.embedding.problem) and lore.store.count_pending().get("embed"):
        raise Unavailable(f"vectors still wait: {why}", "swarmlore doctor tells more")


def sweep(lore: Lore, job: Job) -> None:
    """Promote and remove memories as their phases say, exactly once: another run would take them another step."""

    def swept() -> None:
        with contextlib.suppress(
            Conflict
        ):  # too many would be removed: `doctor` reports it, and a retry would not help
            lore.sweep()

    lore.once(job, swept, last=True)


def extract(lore: Lore, job: Job) -> None:
    """Extract lessons from a session or an outcome."""
    from swarmlore.capture.extract import extract as extract_lessons

    extract_lessons(lore, job)


def summarise(lore: Lore, job: Job) -> None:
    """Summarise a session."""
    from swarmlore.capture.extract import summarise as summarise_session

    summarise_session(lore, job)


def reflect(lore: Lore, job: Job) -> None:
    """Propose learnings from a session."""
    from swarmlore.notes.reflect.reflections import run_reflection_job

    run_reflection_job(lore, job)


def connect(lore: Lore, job: Job) -> None:
    """Let a language model extract the entities of notes."""
    from swarmlore.notes.graph_extraction import read_notes

    read_notes(lore, job)


def index(lore: Lore, _: Job) -> None:
    """Build the vector index file that large stores are searched by, if it is still due."""
    lore.embedding.build_index()


HANDLERS: dict[str, Handler] = {
    "extract": extract,
    "summarise": summarise,
    "embed": embed,
    "sweep": sweep,
    "reflect": reflect,
    "connect": connect,
    "index": index,
}
