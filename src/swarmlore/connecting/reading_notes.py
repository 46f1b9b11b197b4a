"""The job that lets a language model read notes: those that nobody wrote a sidecar for, then what belongs together.

One job of a project and caller does all that waits. Each note is one effect under a key of its contents: a worker may
be killed at any point, and a note is asked about again only where its answer was not kept. What the model does not
answer, the queue tries again; an answer that nobody can use leaves the guess of the rules, and is not asked for again
before the note changes. Half of what the model may cost a day is left to sessions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from swarmlore.connecting.asking import READ_CHARS, find_graph, find_report
from swarmlore.errors import StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.notes.rows import FILE, SOURCE, note_of, waits
from swarmlore.retrieval import graph_communities
from swarmlore.retrieval.graph_communities import KeptReport
from swarmlore.store.memories import Filter

if TYPE_CHECKING:
    from typing import TypeVar

    from swarmlore.domain.records import Job, Memory
    from swarmlore.lore import Lore
    from swarmlore.models.providers import Writer
    from swarmlore.retrieval.graph_communities import Community

    T = TypeVar("T")

SHARE = 0.5  # of what the model may cost a day
MOST_S = 120.0  # of one run: a job that takes too long is ended; it goes on as a job of its own
TRIES = 2  # at an answer that can be used
COMMUNITIES = 20  # the largest, that are reported on
LEAST_MEMBERS = 2  # what one memory says needs no report
LISTED = 200_000


class Answering:
    """A writer that tells whether it answered at all: a server that is away is tried again later, and an answer that
    nobody can use is not."""

    def __init__(self, writer: Writer) -> None:
        self.name = writer.name.partition("@")[0]  # the address of a server is nobody else's to know
        self.answered = False
        self._writer = writer

    def complete(self, system: str, user: str, *, max_tokens: int = 512) -> str:
        self.answered = False
        answer = self._writer.complete(system, user, max_tokens=max_tokens)
        self.answered = True
        return answer


def read_notes(lore: Lore, job: Job) -> None:
    """Let the model read what it has not read, as far as a day and a run go."""
    writer = lore.capped_writer() if lore.settings.notes.ask_writer and lore.settings.knowledge.enabled else None
    if writer is None:
        return
    Asking(lore, job, Answering(writer)).run()


class Asking:
    """One run of the job."""

    def __init__(self, lore: Lore, job: Job, writer: Answering) -> None:
        self._lore = lore
        self._job = job
        self._writer = writer
        self._begun = False
        self._ends_at = time.monotonic() + min(MOST_S, lore.settings.worker.job_s / 2)

    def run(self) -> None:
        for note in list(unread(self._lore)):
            if not self._may_go_on():
                return
            self._read(note)
        known = graph_communities.read(self._lore.home)
        for found in self._lore.graph.communities(COMMUNITIES):
            mark = graph_communities.mark_of(found.told)
            if mark in known or len(found.told) < LEAST_MEMBERS:
                continue
            if not self._may_go_on():
                return
            self._report(found, mark)
        self._lore.spending.leave(self._lore.caller.project, left=False)

    def _may_go_on(self) -> bool:
        """Whether there is time and money for another question; else what is left has its turn later."""
        if self._lore.spending.is_used_up(SHARE):
            self._lore.spending.leave(self._lore.caller.project, left=True)
            return False
        if self._begun and time.monotonic() > self._ends_at:
            self._lore.connect_later()
            return False
        self._begun = True  # a run asks at least one thing, else none would come to an end
        return True

    def _read(self, note: Memory) -> None:
        """One note: what the model finds in it takes the place of the guess."""
        found = self._usable(lambda: find_graph(self._writer, note.title, whole_text(self._lore, note)))
        key = f"connect:{note.id}:{note.extra.get(FILE, '')}:{note.version}"
        self._lore.once(self._job, lambda: self._lore.notes.take_graph(note, found), key)

    def _report(self, found: Community, mark: str) -> None:
        """One community; where the model has nothing to say that they say, this is kept too."""
        sentences = self._usable(lambda: find_report(self._writer, found.told)) or ()
        with self._lore.acting():
            store, caller = self._lore.store, self._lore.caller
            if all(store.get(caller, id) for id in found.members):  # else one was erased meanwhile
                graph_communities.keep(self._lore.home, mark, KeptReport(sentences, self._writer.name))

    def _usable(self, ask: Callable[[], T]) -> T | None:
        """An answer that can be used, or None after some tries; raises where nobody answers."""
        for _ in range(TRIES):
            try:
                return ask()
            except StoreError:
                raise
            except SwarmloreError:
                if not self._writer.answered:
                    raise
        return None


def unread(lore: Lore) -> Iterator[Memory]:
    """The first memory of each note that only rules have read, the newest first. On a server everybody's own: each
    asks, and pays, for what they brought."""
    with lore.acting():
        rows = lore.store.select(lore.caller, Filter(source=SOURCE, limit=LISTED))
        remote = lore.store.engine.remote
    for row in rows:
        own = not remote or row.owner == lore.caller.agent
        if note_of(row) and own and "episode" not in row.source_ref and waits(row):
            yield row


def whole_text(lore: Lore, note: Memory) -> str:
    """What a note says, as far as the model reads: its pieces in their order, as the gate let them pass."""
    with lore.acting():
        rows = lore.store.of_key(lore.caller, note.key, (note.tier,)) if note.key else [note]
    pieces = sorted((row for row in rows if row.live), key=lambda row: int(row.source_ref.get("chunk") or 0))
    return "\n".join(row.text for row in pieces)[:READ_CHARS]
