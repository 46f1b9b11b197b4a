"""The queue: jobs under leases. Whoever takes a job has it for a while, and after that nothing that it does counts.

A lease is a name (`owner`), a number that grows with each lease (`fence`) and an end. Attempts are counted when a lease
is taken, so that a job that brings down whoever runs it cannot be tried for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from swarmlore.domain.records import Caller, Job, WorkerSeen
from swarmlore.errors import Conflict
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.memories import from_json
from swarmlore.store.phases import Lives

if TYPE_CHECKING:
    from typing import Any, TypeAlias, TypeVar

    from swarmlore.store.engine import Row

    T = TypeVar("T")
    Moment: TypeAlias = float | Callable[[], float]  # a time, or a clock

LOST = "whoever had it ended without a word"
WORKERS_S = 86_400.0
EFFECTS_S = 30 * 86_400.0
DONE_S = 14 * 86_400.0


@frozen
class Terms:
    """On which terms jobs are taken: by whom, which kinds, for how long, how often; whether everybody's."""

    owner: str
    kinds: tuple[str, ...]
    lease_s: float = 30.0
    attempts: int = 5
    team: bool = False


class Jobs(Lives):
    """Jobs, their leases and their effects."""

    _ended: tuple[str, int] | None = None  # the lease that ended with the last effect of its job

    # For those who have something to do

    def put_job(self, job: Job, now: float, *, again: bool = False) -> Job:
        """Queue a job, or return the one with its key; `again` arms that one anew."""
        row = {name: getattr(job, name) for name in _PUT}
        body = json.dumps(dict(job.body), ensure_ascii=False)
        self.act_for(job.caller)
        with self.queueing():
            if not self.ask("put_job", **row, body=body, at=now):
                known = _job(self.ask("job_of_key", project=job.project, agent=job.agent, key=job.key)[0])
                if not again:
                    return known
                self.ask("arm_job", id=known.id, body=body, folder=job.folder, at=now)
            self.ask("wake_workers")
            found = self.ask("job_of_key", project=job.project, agent=job.agent, key=job.key) if job.key else []
        return _job(found[0]) if found else job

    def job_waits(self, caller: Caller, key: str, folder: str) -> bool:
        """Whether a caller's job of this key waits already."""
        self.act_for(caller)
        return bool(self.ask("job_waits", project=caller.project, agent=caller.agent, key=key, folder=folder))

    def queue_length(self, most: int) -> int:
        """How many jobs wait or run; counted up to `most`."""
        with self.working():
            return int(self.ask("queue_length", most=most)[0][0])

    # For workers

    def claim(self, terms: Terms, now: Moment) -> Job | None:
        """The oldest job that is due, leased; those that were tried often enough are put aside on the way."""
        with self.working(team=terms.team), self.engine.queueing(durable=False):
            at = _at(now)
            common = {"now": at, "most": terms.attempts}
            self.ask("bury_expired", **common, error=LOST)
            until = at + terms.lease_s
            found = self.ask("claim_job", **common, owner=terms.owner, until=until, kinds=list(terms.kinds))
        return _job(found[0]) if found else None

    def due_in(self, terms: Terms, now: float) -> float | None:
        """Seconds until the next job can be taken, 0 if one can be now; None where there is nothing. Only reads."""
        with self.working(team=terms.team):
            found = self.ask("next_due", kinds=list(terms.kinds), now=now)[0][0]
        return None if found is None else max(0.0, float(found) - now)

    def renew(self, job: Job, now: Moment, lease_s: float) -> bool:
        """Keep a job for longer; False where the lease is lost."""
        self.act_for(job.caller)
        with self.engine.queueing(durable=False):
            return self._holds(job, _at(now), lease_s)

    def _holds(self, job: Job, now: float, lease_s: float) -> bool:
        """Whether the lease is ours; the row is locked by that until the transaction ends, so it stays ours."""
        return bool(self.ask("renew_job", **_lease(job), now=now, until=now + lease_s))

    def finish(self, job: Job, now: Moment) -> bool:
        """A job is done; False where the lease was lost: then it is somebody else's to say."""
        if self._ended == (job.id, job.fence):
            return True
        self.act_for(job.caller)
        with self.engine.queueing():
            return self._finish(job, _at(now))

    def _finish(self, job: Job, now: float) -> bool:
        """Part of a transaction. A message that asked for the job has served: it is acknowledged, and its body goes."""
        done = bool(self.ask("finish_job", **_lease(job), now=now))
        if done and (mail := job.body.get("mail")):
            self.ask("settle_recipient", message=mail, at=now)
            self.ask("settle_message", id=mail)
        return done

    def fail(self, job: Job, error: str, now: Moment, *, pause_s: float, attempts: int) -> str:
        """A job could not be done: it waits for its next try or is put aside. Its state then, '' if it was not ours."""
        self.act_for(job.caller)
        with self.engine.queueing():
            at = _at(now)
            tried = {"now": at, "not_before": at + pause_s, "most": attempts, "error": error}
            found = self.ask("fail_job", **_lease(job), **tried)
        return str(found[0][0]) if found else ""

    def release(self, job: Job, now: Moment) -> bool:
        """Give back a job that could not be brought to its end; False where it was not ours any more."""
        self.act_for(job.caller)
        with self.engine.queueing():
            return bool(self.ask("release_job", **_lease(job), now=_at(now)))

    def once(
        self, job: Job, key: str, work: Callable[[], T], now: Moment, lease_s: float, *, last: bool = False
    ) -> T | None:
        """Do something for a job in one transaction with the check of its lease, unless it was done before; with the
        last such thing the job is done as well."""
        self.act_for(job.caller)
        with self.engine.writing():
            at = _at(now)
            if not self._holds(job, at, lease_s):
                raise Conflict(
                    f"the lease of job {job.id} is lost", "somebody else has the job now; nothing was changed"
                )
            new = self.ask("put_effect", project=job.project, agent=job.agent, key=key, at=at)
            told = self._for(job, work) if new else None
            if last:
                self.act_for(job.caller)
                self._finish(job, at)
        if last:
            self._ended = (job.id, job.fence)
        return told

    def had_effect(self, job: Job, key: str) -> bool:
        """Whether a job has changed something under this key, however long it is undone."""
        self.act_for(job.caller)
        return bool(self.ask("find_effect", project=job.project, agent=job.agent, key=key))

    def _for(self, job: Job, work: Callable[[], T]) -> T:
        before, self._job = self._job, job.id
        try:
            return work()
        finally:
            self._job = before

    def seen_worker(self, id: str, host: str, pid: int, now: float, *, team: bool = False) -> None:
        """Tell that a worker is there; forget what is long over."""
        with self.working(team=team), self.engine.queueing(durable=False):
            self.ask("put_worker", id=id, host=host, pid=pid, at=now)
            self.ask("prune_workers", before=now - WORKERS_S)
            self.ask("prune_jobs", now=now, age=DONE_S)
            self.ask("prune_effects", now=now, age=EFFECTS_S)

    # For those who look after it

    def job_counts(self, caller: Caller | None = None) -> list[tuple[str, str, int, float]]:
        """(state, kind, how many, since when) of what is not done: a caller's, or all; neither whose nor what."""
        whose = self._whose_jobs(caller) if caller else {"projects": [""], "agent": "", "every": 1}
        with self.working():
            found = self.ask("count_jobs", **whose, all=int(caller is None))
        return [(str(state), str(kind), int(many), float(oldest)) for state, kind, many, oldest in found]

    def open_jobs(self, caller: Caller, limit: int) -> list[Job]:
        """Jobs that wait or run, oldest first: one's own; a lead or a person sees the project's."""
        self.act_for(caller)
        with self.working(team=caller.leads):
            return [_job(row) for row in self.ask("list_open", **self._whose_jobs(caller), limit=limit)]

    def done_since(self, since: float) -> int:
        with self.working():
            return int(self.ask("count_done", since=since)[0][0])

    def workers(self, limit: int = 20) -> list[WorkerSeen]:
        """Workers that were at it in the last day, the last one first."""
        with self.working(team=True):
            return [WorkerSeen(*row) for row in self.ask("list_workers", limit=limit)]

    def dead_jobs(self, caller: Caller, limit: int = 20, *, everywhere: bool = False) -> list[Job]:
        """Jobs that were given up, newest first: one's own; a lead or a person sees the project's, or all projects'."""
        self.act_for(caller)
        asked = {**self._whose_jobs(caller), "all": int(everywhere), "limit": limit}
        with self.working(team=caller.leads):
            return [_job(row) for row in self.ask("list_dead", **asked)]

    def dead_like(self, caller: Caller, ref: str) -> list[Job]:
        """The one or two whose id begins like this."""
        self.act_for(caller)
        with self.working(team=caller.leads):
            whose = {**self._whose_jobs(caller), "all": int(caller.role == "person")}
            found = self.ask("dead_like", **whose, ref=ref, last=ref + "~")
        return [_job(row) for row in found]

    def retry_job(self, caller: Caller, id: str, now: float) -> bool:
        """Let a job that was given up be tried anew."""
        with self.working(team=caller.leads), self.engine.queueing():
            self.ask("wake_workers")
            return bool(self.ask("retry_job", id=id, at=now))

    def discard_job(self, caller: Caller, id: str) -> bool:
        """Remove a job that was given up, with all that it held."""
        with self.working(team=caller.leads), self.engine.queueing():
            return bool(self.ask("discard_job", id=id))

    def _whose_jobs(self, caller: Caller) -> dict[str, Any]:
        return {"projects": self.names_of(caller.project), "agent": caller.agent, "every": int(caller.leads)}


_PUT = ("id", "project", "agent", "role", "trust", "folder", "kind", "key")


def _at(now: Moment) -> float:
    """The time, read once the lock is there: who waited for that would else lease something that is over."""
    return now() if callable(now) else now


def _lease(job: Job) -> dict[str, Any]:
    return {"id": job.id, "owner": job.owner, "fence": job.fence}


def _job(row: Row) -> Job:
    values: Sequence[Any] = row
    return Job(values[0], values[1], from_json(values[2]), *values[3:])
