"""What is done for each kind of job. A handler may be killed at any point and run again: it has to bear that.

`Lore.once` is for effects that must not happen twice; what is the same however often it is done needs nothing.
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


STEP = 1_024  # texts that are embedded in a row; others write meanwhile


def embed(lore: Lore, _: Job) -> None:
    """Make the vectors of texts that wait for one: each is stored with its text's row, or left waiting."""
    while lore.catch_up(STEP):
        pass
    lore.index_later()
    if (why := lore.embedding.problem) and lore.store.count_pending().get("embed"):
        raise Unavailable(f"vectors still wait: {why}", "swarmlore doctor tells more")


def sweep(lore: Lore, job: Job) -> None:
    """Let memories rise and leave as their phases say, once: another run would take them another step."""

    def swept() -> None:
        with contextlib.suppress(Conflict):  # too much would leave: `doctor` says so, and trying again changes nothing
            lore.sweep()

    lore.once(job, swept, last=True)


def extract(lore: Lore, job: Job) -> None:
    from swarmlore.capture.extract import extract as catch

    catch(lore, job)


def summarise(lore: Lore, job: Job) -> None:
    from swarmlore.capture.extract import summarise as sum_up

    sum_up(lore, job)


def reflect(lore: Lore, job: Job) -> None:
    from swarmlore.notes.reflect.reflections import look_back

    look_back(lore, job)


def connect(lore: Lore, job: Job) -> None:
    from swarmlore.notes.graph_extraction import read_notes

    read_notes(lore, job)


def index(lore: Lore, _: Job) -> None:
    """Make the file of vectors that large stores are searched by, if it is still due."""
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
