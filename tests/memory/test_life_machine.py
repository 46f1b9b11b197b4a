"""Weeks of two projects, in any order: nothing is promoted without a route, nothing is visible that was put aside or has
expired, every disappearance is explained by an audit row, and an undo restores what was."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from test_store_machine import FAST_DISK, runs

from conftest import NOW, quick_env
from databases import server
from swarmlore.domain.policy.lifecycle import project_reference
from swarmlore.domain.records import AuditRow, Caller, Memory
from swarmlore.errors import Conflict, NotFound, SwarmloreError
from swarmlore.frozen import frozen
from swarmlore.lore import Lore

DAY = 86_400.0
CAP = 6
LEADS = (Caller("git.example/alpha", "lead", "lead", 2), Caller("git.example/beta", "chief", "lead", 2))
LESSONS = (
    "Pin the version of every build tool before a release",
    "Restart the broker after changing its certificate",
    "Run the parser tests twice when the cache is cold",
    "Never reuse a socket after a timeout of the client",
    "Keep the queue empty while the index is rebuilt",
    "See src/build/pins.toml for the pinned tools",
    "Measure latency under load and not on an idle machine",
    "Write the lock file with make lock and commit it",
)
WHO, WHAT, WHICH = st.integers(0, 1), st.integers(0, len(LESSONS) - 1), st.integers(0, 200)
RISES = ("established", "promoted")
Snapshot = dict[str, Memory]


@frozen
class Act:
    """One operation that can be undone: who did it, what each memory was before, and its version after."""

    operation: str
    who: int
    before: dict[str, Memory | None]
    versions: dict[str, int]


class LifeMachine(RuleBasedStateMachine):
    """Two leads, one memory, and a clock that jumps."""

    @initialize(knowledge=st.booleans())
    def open(self, knowledge: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=FAST_DISK))
        self.at = NOW
        env = {**quick_env(), **self.store_env(), "SWARMLORE_KNOWLEDGE_SWARM_MAX_ENTRIES": str(CAP)}
        env |= {"SWARMLORE_RECALL_PROFILE": "knowledge" if knowledge else "default"}
        env |= {"SWARMLORE_KNOWLEDGE_DEFAULT_MAX_PHASES": "2", "SWARMLORE_KNOWLEDGE_TODO_MAX_PHASES": "1"}
        self.lores = [self.reach(who, env) for who in (0, 1)]
        self.acts: list[Act] = []
        self.phases = 0
        self.known: Snapshot = {}

    def store_env(self) -> dict[str, str]:
        return {}

    def reach(self, who: int, env: dict[str, str]) -> Lore:
        root = self.folder / str(who)
        root.mkdir()
        return Lore.open(self.folder / "home", cwd=root, caller=LEADS[who], env=env, clock=self.tick)

    def tick(self) -> float:
        self.at += 0.01
        return self.at

    # What happens

    @rule(who=WHO, what=WHAT, tag=st.booleans(), todo=st.booleans())
    def learn(self, who: int, what: int, tag: bool, todo: bool) -> None:
        tags = ("hive-fast-track",) if tag else ()
        category = "todo" if todo else "tooling"
        before = set(self.known)
        self.do(who, lambda lore: lore.remember(LESSONS[what], tags=tags, category=category))
        if set(self.known) - before:
            self.check_cap(self.lores[who])

    @rule(who=WHO, what=WHAT)
    def learn_for_a_day(self, who: int, what: int) -> None:
        self.do(who, lambda lore: lore.remember(LESSONS[what] + " for a day", ttl_s=DAY))

    @rule(who=WHO, which=WHICH)
    def confirm(self, who: int, which: int) -> None:
        self.do(who, lambda lore: lore.confirm(self.pick(who, which)))

    @rule(who=WHO, which=WHICH)
    def confirm_for_weeks(self, who: int, which: int) -> None:
        """The way to the top takes many steps; alone they would seldom meet."""
        id = self.pick(who, which)
        for _ in range(3):
            self.start_phase(who)
            self.do(who, lambda lore: lore.confirm(id))

    @rule(who=WHO)
    def start_phase(self, who: int) -> None:
        self.phases += 1
        name = f"Stage {self.phases}"
        self.do(who, lambda lore: lore.start_phase(name))

    @rule(who=WHO)
    def work_on_other_things(self, who: int) -> None:
        for _ in range(3):
            self.start_phase(who)

    @rule(who=WHO)
    def complete_phase(self, who: int) -> None:
        self.do(who, lambda lore: lore.complete_phase())

    @rule(who=WHO, force=st.booleans())
    def sweep(self, who: int, force: bool) -> None:
        at, lore = self.at, self.lores[who]
        trial, done = lore.sweep(dry_run=True), []
        self.at = at
        self.do(who, lambda lore: done.append(lore.sweep(force=force)))
        assert bool(done) == (force or not trial.refused)
        leaving = {(change.memory.id, change.action) for change in trial.changes}
        for swept in done:
            carried = {change.memory.id for change in swept.changes if change.action == "promoted to the hive"}
            came = {(change.memory.id, change.action) for change in swept.changes if change.memory.id not in carried}
            assert came == leaving or trial.refused  # then only what is forced goes beyond the trial

    @rule(who=WHO, number=st.integers(1, 3), state=st.sampled_from(["IN PROGRESS", "COMPLETE"]))
    def plan(self, who: int, number: int, state: str) -> None:
        folder = self.folder / str(who) / ".swarm"
        folder.mkdir(exist_ok=True)
        (folder / "plan.md").write_text(f"## Phase {number}: of the plan [{state}]\n")

    @rule(who=WHO, which=WHICH)
    def quarantine(self, who: int, which: int) -> None:
        self.do(who, lambda lore: lore.quarantine(self.pick(who, which), "not true any more"))

    @rule(who=WHO, which=WHICH)
    def restore(self, who: int, which: int) -> None:
        self.do(who, lambda lore: lore.restore(self.pick(who, which)))

    @rule(who=WHO, what=WHAT)
    def retract(self, who: int, what: int) -> None:
        self.do(who, lambda lore: lore.retract(LESSONS[what]))

    @rule(who=WHO, what=WHAT)
    def promote(self, who: int, what: int) -> None:
        self.do(who, lambda lore: lore.promote(LESSONS[what]), by_hand=True)

    @rule(who=WHO, which=WHICH)
    def promote_from_swarm(self, who: int, which: int) -> None:
        self.do(who, lambda lore: lore.promote(self.pick(who, which), from_swarm=True), by_hand=True)

    @rule(who=WHO, which=WHICH)
    def forget(self, who: int, which: int) -> None:
        self.do(who, lambda lore: lore.forget(self.pick(who, which)))

    @rule(days=st.sampled_from([0.1, 0.5, 1.0, 3.0, 30.0, 90.0]))
    def pass_time(self, days: float) -> None:
        self.at += days * DAY

    @rule(days=st.sampled_from([-400.0, -30.0, -1.0, 400.0]))
    def jump(self, days: float) -> None:
        self.at = max(NOW - 500 * DAY, self.at + days * DAY)

    @precondition(lambda self: self.acts)
    @rule(which=WHICH)
    def undo(self, which: int) -> None:
        act = self.acts[which % len(self.acts)]
        now = self.snapshot()
        changed = any(id not in now or now[id].version != version for id, version in act.versions.items())
        try:
            reverted = self.lores[act.who].undo(act.operation)
        except (Conflict, NotFound):
            assert changed
            return
        self.acts.remove(act)
        after = self.snapshot()
        for id, former in act.before.items():
            if former is None:
                assert after[id].forgotten_at is not None
            else:
                assert _content(after[id]) == _content(former)
        assert {memory.id for memory in reverted} == set(act.before)
        self.explain(now, after)
        self.known = after

    # What must hold

    def do(self, who: int, work: Callable[[Lore], object], *, by_hand: bool = False) -> None:
        """Do something, then hold what has changed against the rules and the history."""
        before = self.snapshot()
        with suppress(SwarmloreError):  # refused: then nothing may have changed that is not explained
            work(self.lores[who])
        after = self.snapshot()
        self.explain(before, after)
        for id, memory in after.items():
            if id not in before and memory.tier == "hive" and not by_hand:
                self.check_route(memory, before)
            elif id in before and memory.status in RISES and memory.status != before[id].status and memory.live:
                self.check_rise(before[id], memory, by_hand)
        self.note(who, before, after)
        self.known = after

    def check_route(self, memory: Memory, before: Snapshot) -> None:
        (origin,) = memory.source_ref["derived_from"]
        was = before[origin]
        seen = len({item.where for item in was.confirmed_by})
        old = self.at - was.created_at >= 90 * DAY
        assert "hive-fast-track" in was.tags or old or (was.hive_eligible and seen >= 3) or seen >= 3
        assert was.live
        assert not project_reference(was)
        born = self.lores[0].history(memory.id)[0].after  # the lesson that completed the phase may have met it since
        assert born is not None
        assert (born["status"], born["confidence"], born["encounter_score"]) == ("candidate", 0.5, 1.0)

    def check_cap(self, lore: Lore) -> None:
        live = lore.list(tier="swarm", limit=10_000)
        mortal = [memory for memory in live if memory.status != "promoted"]
        assert lore.settings.recall.profile != "knowledge" or len(live) <= CAP or not mortal

    def check_rise(self, before: Memory, after: Memory, by_hand: bool) -> None:
        if not before.live:
            return  # brought back to what it was
        steps = {"candidate": "established", "established": "promoted"}
        assert steps[before.status] == after.status or by_hand
        seen = len({item.where for item in after.confirmed_by})
        assert seen >= 3 or (after.status == "promoted" and self.at - after.created_at >= 90 * DAY)

    def explain(self, before: Snapshot, after: Snapshot) -> None:
        """Whatever changed or vanished has an audit row that says so."""
        assert set(before) <= set(after)  # no row is ever lost
        for id, memory in before.items():
            if _content(after[id]) == _content(memory):
                continue
            row = self.history(after[id])
            assert row.before is not None
            assert row.action
            if memory.live and not after[id].live and row.action not in ("forgotten", "undone"):
                assert row.reason

    def history(self, memory: Memory) -> AuditRow:
        who = 1 if memory.project == LEADS[1].project else 0
        return self.lores[who].history(memory.id)[-1]

    def note(self, who: int, before: Snapshot, after: Snapshot) -> None:
        """Keep each new operation, with all that it changed."""
        operations: dict[str, list[str]] = {}
        for id, memory in after.items():
            if id not in before or before[id].version != memory.version:
                operations.setdefault(self.history(memory).operation, []).append(id)
        for operation, ids in operations.items():
            once = all((after[id].version == before[id].version + 1) if id in before else True for id in ids)
            if once:  # else several operations touched it, and what was in between is not known
                versions = {id: after[id].version for id in ids}
                self.acts.append(Act(operation, who, {id: before.get(id) for id in ids}, versions))

    def snapshot(self) -> Snapshot:
        return {memory.id: memory for lore in self.lores for memory in lore.list(status="any", limit=10_000)}

    def pick(self, who: int, which: int) -> str:
        found = self.lores[who].list(status="any", limit=10_000)
        return found[which % len(found)].id if found else "nothing"

    @invariant()
    def nothing_is_visible_that_was_put_aside_or_has_expired(self) -> None:
        for lore in self.lores:
            for memory in lore.list(limit=10_000):
                assert memory.live
            for text in LESSONS[:2]:
                hits = [hit.memory for hit in lore.recall(text + " for a day", limit=50)]
                for memory in hits:
                    assert memory.live
                    assert memory.expires_at is None or memory.expires_at > self.at - 1

    def teardown(self) -> None:
        if hasattr(self, "lores"):
            for lore in self.lores:
                lore.close()
            shutil.rmtree(self.folder)


def _content(memory: Memory) -> tuple[object, ...]:
    names = (
        "text",
        "status",
        "tier",
        "tags",
        "confirmed_by",
        "confidence",
        "hive_eligible",
        "expires_at",
        "superseded_by",
    )
    hidden = memory.forgotten_at is not None
    return (hidden, *(getattr(memory, name) for name in names))


class PostgresLifeMachine(LifeMachine):
    """The same on a server."""

    def store_env(self) -> dict[str, str]:
        server().empty()
        return {"SWARMLORE_STORE_URL": server().url}


TestLifeMachine = LifeMachine.TestCase
TestLifeMachine.settings = runs(25)
TestPostgresLifeMachine = PostgresLifeMachine.TestCase
TestPostgresLifeMachine.settings = runs(3)
