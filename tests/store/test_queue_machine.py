"""The queue against a model made of a list: whoever takes, loses, finishes or fails a job in whatever order, both agree."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from test_store_machine import FAST_DISK, runs

from conftest import ALICE, BOB, NOW, OTHER, PERSON, new_id
from databases import server
from swarmlore.domain.records import Caller, Job
from swarmlore.errors import Conflict
from swarmlore.store.jobs import Terms
from swarmlore.store.store import Store

LEASE_S = 10.0
MOST = 3
CALLERS = st.sampled_from([ALICE, BOB, OTHER])
KEYS = st.sampled_from(["", "a", "b"])
OWNERS = st.sampled_from(["one", "two"])


class Row:
    """A job as the model knows it."""

    def __init__(self, id: str, caller: Caller, key: str, now: float) -> None:
        self.id, self.caller, self.key = id, caller, key
        self.state, self.due, self.attempts, self.fence, self.again = "waiting", now, 0, 0, False
        self.owner, self.until = "", 0.0

    def is_due(self, now: float) -> bool:
        waits = self.state == "waiting" and self.due <= now
        return waits or (self.state == "running" and self.until <= now)

    def belongs_to(self, job: Job, now: float) -> bool:
        return self.is_leased_to(job) and self.until > now

    def is_leased_to(self, job: Job) -> bool:
        return self.state == "running" and (self.owner, self.fence) == (job.owner, job.fence)


class QueueMachine(RuleBasedStateMachine):
    """Put, claim, renew, finish, fail, have an effect, retry, discard, wait, crash and reopen."""

    @initialize()
    def begin(self) -> None:
        self.home = tempfile.mkdtemp(dir=FAST_DISK)
        self.make_empty()
        self.store = self.connect()
        self.now = NOW
        self.rows: list[Row] = []
        self.leases: list[Job] = []
        self.effects: set[tuple[str, str, str]] = set()

    def make_empty(self) -> None:
        """A store of its own for each run."""

    def connect(self) -> Store:
        return Store.open(self.home, NOW)

    def row_of(self, id: str) -> Row | None:
        return next((row for row in self.rows if row.id == id), None)

    @rule(caller=CALLERS, key=KEYS, again=st.booleans())
    def put(self, caller: Caller, key: str, again: bool) -> None:
        asked = Job(new_id(), "sweep", {}, key, caller.project, caller.agent)
        told = self.store.put_job(asked, self.now, again=again)
        known = next((row for row in self.rows if key and (row.caller, row.key) == (caller, key)), None)
        if known is None:
            known = Row(asked.id, caller, key, self.now)
            self.rows.append(known)
        elif again and known.state == "running":
            known.again, known.due = True, self.now
        elif again and known.state != "waiting":
            known.state, known.attempts, known.due = "waiting", 0, self.now
        assert (told.id, told.state) == (known.id, known.state)

    @rule(owner=OWNERS)
    def claim(self, owner: str) -> None:
        job = self.store.claim(Terms(owner, ("sweep",), LEASE_S, MOST), self.now)
        for row in self.rows:
            if row.state == "running" and row.until <= self.now and row.attempts >= MOST:
                row.state = "dead"
        row = next((row for row in self.rows if row.is_due(self.now)), None)
        assert (job.id if job else None) == (row.id if row else None)
        if job is None or row is None:
            return
        row.state, row.owner, row.until = "running", owner, self.now + LEASE_S
        row.attempts, row.fence = row.attempts + 1, row.fence + 1
        assert (job.attempts, job.fence, job.owner) == (row.attempts, row.fence, owner)
        self.leases.append(job)

    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        if job := self.some_lease(data):
            row = self.row_of(job.id)
            kept = row is not None and row.belongs_to(job, self.now)
            assert self.store.renew(job, self.now, LEASE_S) == kept
            if row is not None and kept:
                row.until = self.now + LEASE_S

    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        if job := self.some_lease(data):
            row = self.row_of(job.id)
            kept = row is not None and row.belongs_to(job, self.now)
            assert self.store.finish(job, self.now) == kept
            if row is not None and kept:
                row.state = "waiting" if row.again else "done"
                row.attempts, row.again = (0 if row.again else row.attempts), False

    @rule(data=st.data(), pause_s=st.sampled_from([0.0, 5.0]))
    def fail(self, data: st.DataObject, pause_s: float) -> None:
        if job := self.some_lease(data):
            row = self.row_of(job.id)
            kept = row is not None and row.is_leased_to(job)
            state = "dead" if row is not None and row.attempts >= MOST else "waiting"
            told = self.store.fail(job, "no", self.now, pause_s=pause_s, attempts=MOST)
            assert told == (state if kept else "")
            if row is not None and kept:
                row.state, row.due = state, self.now + pause_s

    @rule(data=st.data(), key=st.sampled_from(["x", "y"]))
    def have_effect(self, data: st.DataObject, key: str) -> None:
        if job := self.some_lease(data):
            row = self.row_of(job.id)
            where = (job.project, job.agent, key)
            if row is None or not row.belongs_to(job, self.now):
                try:
                    self.store.once(job, key, lambda: "done", self.now, LEASE_S)
                except Conflict:
                    return
                raise AssertionError("a lost lease had an effect")
            told = self.store.once(job, key, lambda: "done", self.now, LEASE_S)
            assert told == (None if where in self.effects else "done")
            self.effects.add(where)
            row.until = self.now + LEASE_S

    def some_lease(self, data: st.DataObject) -> Job | None:
        return data.draw(st.sampled_from(self.leases)) if self.leases else None

    @rule(data=st.data(), retry=st.booleans())
    def look_after(self, data: st.DataObject, retry: bool) -> None:
        dead = [row for row in self.rows if row.state == "dead"]
        if not dead:
            return
        row = data.draw(st.sampled_from(dead))
        if retry:
            assert self.store.retry_job(PERSON, row.id, self.now)
            row.state, row.attempts, row.due, row.again = "waiting", 0, self.now, row.again
        else:
            assert self.store.discard_job(PERSON, row.id)
            self.rows.remove(row)

    @rule(seconds=st.sampled_from([1.0, 5.0, LEASE_S, 30.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def crash(self) -> None:
        self.store.close()
        self.store = self.connect()

    @invariant()
    def both_agree(self) -> None:
        counted = {state: many for state, _, many, _ in self.store.job_counts()}
        assert counted == Counter(row.state for row in self.rows if row.state != "done")

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.home, ignore_errors=True)


class PostgresQueueMachine(QueueMachine):
    def make_empty(self) -> None:
        server().empty()

    def connect(self) -> Store:
        return Store.connect(server().url, NOW)


TestQueue = QueueMachine.TestCase
TestQueue.settings = runs(40)
TestQueueOnAServer = PostgresQueueMachine.TestCase
TestQueueOnAServer.settings = runs(8)
