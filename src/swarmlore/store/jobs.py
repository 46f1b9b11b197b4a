"""The job queue: jobs under leases. A worker owns a job for the time of its lease; after that nothing it does counts.

A lease is a name (`owner`), a number that grows with each lease (`fence`) and an end. Attempts are counted when a lease
is taken, so that a job that crashes its worker is not retried for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from swarmlore.domain.records import Caller, Job, WorkerSeen
from swarmlore.errors import Conflict
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.memories import from_json
from swarmlore.store.phases import PhaseStore

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
    """The terms on which a worker claims jobs: its name, the kinds, the lease time, the maximum of attempts, and
    whether it takes the whole team's jobs."""

    owner: str
    kinds: tuple[str, ...]
    lease_s: float = 30.0
    attempts: int = 5
    team: bool = False


class Jobs(PhaseStore):
    """The methods of `Store` for jobs, their leases and their effects."""

    _ended: tuple[str, int] | None = None  # the lease of the job that its last effect finished

    # Putting jobs

    def put_job(self, job: Job, now: float, *, again: bool = False) -> Job:
        """Queue a job, or return the queued one with its key; `again` updates that one and makes it due again."""
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
        """Return whether a caller's job of this key is already waiting."""
        self.act_for(caller)
        return bool(self.ask("job_waits", project=caller.project, agent=caller.agent, key=key, folder=folder))

    def queue_length(self, most: int) -> int:
        """Return the number of waiting and running jobs, counted up to `most`."""
        with self.working():
            return int(self.ask("queue_length", most=most)[0][0])

    # For workers

    def claim(self, terms: Terms, now: Moment) -> Job | None:
        """Lease the oldest due job; mark expired jobs without attempts left as dead on the way."""
        with self.working(team=terms.team), self.engine.queueing(durable=False):
            at = _at(now)
            expiry = {"now": at, "most": terms.attempts}
            self.ask("bury_expired", **expiry, error=LOST)
            until = at + terms.lease_s
            rows = self.ask("claim_job", **expiry, owner=terms.owner, until=until, kinds=list(terms.kinds))
        return _job(rows[0]) if rows else None

    def due_in(self, terms: Terms, now: float) -> float | None:
        """Return the seconds until the next job is due, 0 if one is due now, None if there is none. Reads only."""
        with self.working(team=terms.team):
            due_at = self.ask("next_due", kinds=list(terms.kinds), now=now)[0][0]
        return None if due_at is None else max(0.0, float(due_at) - now)

    def renew(self, job: Job, now: Moment, lease_s: float) -> bool:
        """Extend a lease; return False if it is lost."""
        self.act_for(job.caller)
        with self.engine.queueing(durable=False):
            return self._holds(job, _at(now), lease_s)

    def _holds(self, job: Job, now: float, lease_s: float) -> bool:
        """Extend a lease; return whether it is still ours. This locks the row until the transaction ends."""
        return bool(self.ask("renew_job", **_lease(job), now=now, until=now + lease_s))

    def finish(self, job: Job, now: Moment) -> bool:
        """Mark a job as done; return False if the lease was lost to another worker."""
        if self._ended == (job.id, job.fence):
            return True
        self.act_for(job.caller)
        with self.engine.queueing():
            return self._finish(job, _at(now))

    def _finish(self, job: Job, now: float) -> bool:
        """Mark a job as done in a transaction. A message that requested it is acknowledged, its body deleted."""
        done = bool(self.ask("finish_job", **_lease(job), now=now))
        if done and (mail := job.body.get("mail")):
            self.ask("settle_recipient", message=mail, at=now)
            self.ask("settle_message", id=mail)
        return done

    def fail(self, job: Job, error: str, now: Moment, *, pause_s: float, attempts: int) -> str:
        """Record a failed attempt: the job waits for its retry or, without attempts left, is dead. Return its new
        state, '' if the lease was lost."""
        self.act_for(job.caller)
        with self.engine.queueing():
            at = _at(now)
            tried = {"now": at, "not_before": at + pause_s, "most": attempts, "error": error}
            found = self.ask("fail_job", **_lease(job), **tried)
        return str(found[0][0]) if found else ""

    def release(self, job: Job, now: Moment) -> bool:
        """Return an unfinished job to the queue; return False if the lease was lost."""
        self.act_for(job.caller)
        with self.engine.queueing():
            return bool(self.ask("release_job", **_lease(job), now=_at(now)))

    def once(
        self, job: Job, key: str, work: Callable[[], T], now: Moment, lease_s: float, *, last: bool = False
    ) -> T | None:
        """Apply an effect of a job in one transaction with the check of its lease, unless it was applied before (same
        key). With `last` the job is marked as done in it too."""
        self.act_for(job.caller)
        with self.engine.writing():
            at = _at(now)
            if not self._holds(job, at, lease_s):
                raise Conflict(
                    f"the lease of job {job.id} is lost", "somebody else has the job now; nothing was changed"
                )
            is_new = self.ask("put_effect", project=job.project, agent=job.agent, key=key, at=at)
            result = self._run_for(job, work) if is_new else None
            if last:
                self.act_for(job.caller)
                self._finish(job, at)
        if last:
            self._ended = (job.id, job.fence)
        return result

    def had_effect(self, job: Job, key: str) -> bool:
        """Return whether the effect with this key was applied, even if it was undone since."""
        self.act_for(job.caller)
        return bool(self.ask("find_effect", project=job.project, agent=job.agent, key=key))

    def _run_for(self, job: Job, work: Callable[[], T]) -> T:
        """Call a function while operations are recorded with this job."""
        before, self._job = self._job, job.id
        try:
            return work()
        finally:
            self._job = before

    def seen_worker(self, id: str, host: str, pid: int, now: float, *, team: bool = False) -> None:
        """Record a sign of life of a worker; delete old workers, jobs and effects."""
        with self.working(team=team), self.engine.queueing(durable=False):
            self.ask("put_worker", id=id, host=host, pid=pid, at=now)
            self.ask("prune_workers", before=now - WORKERS_S)
            self.ask("prune_jobs", now=now, age=DONE_S)
            self.ask("prune_effects", now=now, age=EFFECTS_S)

    # Inspecting the queue

    def job_counts(self, caller: Caller | None = None) -> list[tuple[str, str, int, float]]:
        """Return (state, kind, number, oldest time) of unfinished jobs, a caller's or all, without owners."""
        whose = self._whose_jobs(caller) if caller else {"projects": [""], "agent": "", "every": 1}
        with self.working():
            found = self.ask("count_jobs", **whose, all=int(caller is None))
        return [(str(state), str(kind), int(many), float(oldest)) for state, kind, many, oldest in found]

    def open_jobs(self, caller: Caller, limit: int) -> list[Job]:
        """Return waiting and running jobs, oldest first: one's own; a lead or a person sees the project's."""
        self.act_for(caller)
        with self.working(team=caller.leads):
            return [_job(row) for row in self.ask("list_open", **self._whose_jobs(caller), limit=limit)]

    def done_since(self, since: float) -> int:
        """Return the number of jobs finished since a time."""
        with self.working():
            return int(self.ask("count_done", since=since)[0][0])

    def workers(self, limit: int = 20) -> list[WorkerSeen]:
        """Return the workers seen in the last day, the latest first."""
        with self.working(team=True):
            return [WorkerSeen(*row) for row in self.ask("list_workers", limit=limit)]

    def dead_jobs(self, caller: Caller, limit: int = 20, *, everywhere: bool = False) -> list[Job]:
        """Return dead jobs, newest first: one's own; for a lead or a person the project's or, `everywhere`, all."""
        self.act_for(caller)
        asked = {**self._whose_jobs(caller), "all": int(everywhere), "limit": limit}
        with self.working(team=caller.leads):
            return [_job(row) for row in self.ask("list_dead", **asked)]

    def dead_like(self, caller: Caller, ref: str) -> list[Job]:
        """Return up to two dead jobs whose id starts with `ref`."""
        self.act_for(caller)
        with self.working(team=caller.leads):
            whose = {**self._whose_jobs(caller), "all": int(caller.role == "person")}
            found = self.ask("dead_like", **whose, ref=ref, last=ref + "~")
        return [_job(row) for row in found]

    def retry_job(self, caller: Caller, id: str, now: float) -> bool:
        """Queue a dead job again; return whether it was there."""
        with self.working(team=caller.leads), self.engine.queueing():
            self.ask("wake_workers")
            return bool(self.ask("retry_job", id=id, at=now))

    def discard_job(self, caller: Caller, id: str) -> bool:
        """Delete a dead job with its body; return whether it was there."""
        with self.working(team=caller.leads), self.engine.queueing():
            return bool(self.ask("discard_job", id=id))

    def _whose_jobs(self, caller: Caller) -> dict[str, Any]:
        return {"projects": self.names_of(caller.project), "agent": caller.agent, "every": int(caller.leads)}


_PUT = ("id", "project", "agent", "role", "trust", "folder", "kind", "key")


def _at(now: Moment) -> float:
    """Return the time; a clock is read only once the lock is held, else a lease could be over when it is taken."""
    return now() if callable(now) else now


def _lease(job: Job) -> dict[str, Any]:
    return {"id": job.id, "owner": job.owner, "fence": job.fence}


def _job(row: Row) -> Job:
    values: Sequence[Any] = row
    return Job(values[0], values[1], from_json(values[2]), *values[3:])
