"""What `Lore` can say about what is left for others: mail between agents, and jobs for the worker."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

from swarmlore.errors import StoreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.parts import Parts

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from swarmlore.domain.records import Agent, Job, Message, Sent, Token

    T = TypeVar("T")


CONNECT_KEY = "connect"  # one such job reads all notes that a language model has not read
INDEX_KEY = "index"
EMBED_KEY = "embed"  # one such job per project and agent is enough: it makes all vectors that are missing


class Errands(Parts):
    """The verbs of mail and of the queue."""

    def register(self, *, program: str = "", model: str = "", task: str = "") -> Agent:
        """Say that this agent is there and can be written to; again changes what it said."""
        with self._guard:
            self._keep_names()
            return self.mail.register(program, model, task)

    def agents(self) -> tuple[Agent, ...]:
        """Who of this project can be written to, the most active first."""
        with self._guard:
            return tuple(self.mail.agents())

    def send(
        self,
        to: Sequence[str],
        subject: str,
        body: str = "",
        *,
        thread: str = "",
        importance: str = "normal",
        ack_required: bool = False,
    ) -> Message:
        """Write to other agents of the project. It is in their inboxes, on disk, when this returns."""
        facts = {"thread": thread, "importance": importance, "ack_required": ack_required}
        with self._guard:
            self._keep_names()
            return self.mail.send(to, subject, body, facts)

    def inbox(
        self, limit: int = 5, *, urgent_only: bool = False, unread_only: bool = False, thread: str = ""
    ) -> tuple[Message, ...]:
        """This agent's messages without their bodies, newest first. `unread_only`: also what still wants an ack."""
        wanted = {"urgent_only": urgent_only, "unread_only": unread_only, "thread": thread}
        with self._guard:
            return tuple(self.mail.inbox(limit, wanted))

    def count_inbox(self, *, urgent_only: bool = False, unread_only: bool = False, thread: str = "") -> tuple[int, int]:
        """How many messages `inbox` could list, and how many of them are urgent and were not read."""
        wanted = {"urgent_only": urgent_only, "unread_only": unread_only, "thread": thread}
        with self._guard:
            return self.mail.count_inbox(wanted)

    def mail_notice(self) -> str:
        """One line for an agent whose mail waits; empty where none does."""
        many, urgent = self.count_inbox(unread_only=True) if self.caller.agent else (0, 0)
        if not many:
            return ""
        some = f" ({urgent} urgent)" if urgent else ""
        wait = "message waits" if many == 1 else "messages wait"
        return f"{many} {wait} for you{some}, from other agents of this project. To see them: swarmlore mail inbox"

    def proposals_notice(self) -> str:
        """One line where proposals of reflecting wait for a person; empty where none do."""
        with self._guard:
            many = self.store.waiting_proposals(self.caller)
        if not many:
            return ""
        wait = "learning waits" if many == 1 else "learnings wait"
        return f"{many} {wait} for a decision of your user, who sees them with: swarmlore reflect --review"

    def sent(self, limit: int = 20, ref: str = "") -> tuple[Sent, ...]:
        """What this agent wrote, newest first, and who read and acknowledged it; with `ref` that one and its body."""
        with self._guard:
            return tuple(self.mail.sent(limit, ref))

    def read(self, ref: str) -> Message:
        """One message of this agent's inbox, with its body; it counts as read."""
        with self._guard:
            return self.mail.read(ref)

    def ack(self, ref: str) -> Message:
        """Say that a message was taken care of."""
        with self._guard:
            return self.mail.read(ref, ack=True)

    def enqueue(self, kind: str, body: Mapping[str, Any] | None = None, key: str = "", *, again: bool = False) -> Job:
        """Leave a job for the worker. A key that is known already adds nothing; `again` lets that job run once more."""
        with self._guard:
            self._keep_names()
            return self.mail.enqueue(kind, body or {}, key, again=again)

    def once(self, job: Job, work: Callable[[], T], key: str = "", *, last: bool = False) -> T | None:
        """Do something for a job in one transaction with the check of its lease; None where it was done before. With
        `last` the job is done in the same transaction."""
        with self._changing():
            return self.mail.once(job, work, key, last=last)

    def queue_full(self) -> bool:
        """Whether so many jobs wait that hooks had better go on spooling."""
        with self._guard:
            return self.mail.full()

    def delete_mail(self, ref: str) -> Message:
        """Take a message out of this agent's inbox or, where it sent it, out of everybody's."""
        with self._guard:
            return self.mail.delete(ref)

    def jobs(self, limit: int = 20) -> tuple[Job, ...]:
        """Jobs that wait or run, oldest first, each with what went wrong the last time."""
        with self._guard:
            return tuple(self.mail.jobs(limit))

    def waiting_jobs(self) -> dict[str, int]:
        """How many jobs wait, run or were given up, in the whole store; neither whose nor what."""
        with self._guard:
            counts: dict[str, int] = {}
            for state, _, many, _ in self.store.job_counts():
                counts[state] = counts.get(state, 0) + many
            return counts

    def dead_letters(self, limit: int = 20, *, all_projects: bool = False) -> tuple[Job, ...]:
        """Jobs that were tried often enough, each with its last error; all projects are for a person."""
        with self._guard:
            return tuple(self.mail.dead_letters(limit, all_projects=all_projects))

    def retry(self, ref: str) -> Job:
        """Let a job that was given up be tried from the beginning."""
        with self._guard:
            return self.mail.retry(ref)

    def discard(self, ref: str) -> Job:
        """Remove a job that was given up, for good."""
        with self._guard:
            return self.mail.discard(ref)

    def connect_later(self, *, read: bool = True) -> None:
        """Leave notes that were read anew to a language model, if there is one and it may read them; else those that
        it did not come to on another day."""
        own = self.settings
        if own.writer.kind == "none" or not (own.notes.ask_writer and own.knowledge.enabled):
            return
        with contextlib.suppress(StoreError):  # the next change asks again
            left = self.spending.was_left(self.caller.project)
            if left:
                self.spending.leave(self.caller.project, left=True)  # once a day, whatever becomes of it
            if left or read:
                self.mail.ask_for("connect", CONNECT_KEY)

    # Tokens

    def create_token(
        self, agent: str, *, role: str = "worker", folder: str = "", days: float = 0.0
    ) -> tuple[Token, str]:
        """A token with which an agent of this project asks a server, and what has to be shown: that is kept nowhere.
        For a lead or a person. `folder` is where the project lies on the server's machine, `days` how long it holds."""
        with self._guard:
            self._keep_names()
            return self._access.create(agent, role, folder, days)

    def tokens(self, *, all_projects: bool = False) -> tuple[Token, ...]:
        """The tokens of this project, newest first, those that hold no more too; all projects are for a person."""
        with self._guard:
            return tuple(self._access.tokens(all_projects=all_projects))

    def revoke_token(self, ref: str) -> Token:
        """Let nobody in with a token any more, from now on."""
        with self._guard:
            return self._access.revoke(ref)

    def index_later(self) -> None:
        """Leave it to the worker to make the file of vectors, where there are many and it is missing or far behind."""
        with contextlib.suppress(StoreError), self._guard:  # whoever makes vectors next asks again
            if self.embedding.is_index_due():
                self.mail.ask_for("index", INDEX_KEY)

    def embed_later(self) -> None:
        """Leave the vectors to the worker, unless this process has the model and makes them itself before it ends."""
        ourselves = "embedding" in self.__dict__ and self.embedding.makes_the_rest
        if ourselves or self.settings.embedder.kind == "none":
            return
        with contextlib.suppress(StoreError):  # the text is stored and counts as waiting; the next one asks again
            self.mail.ask_for("embed", EMBED_KEY)
