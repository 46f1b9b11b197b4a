"""The store against a model made of a dict: whatever the order of operations, both agree."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from conftest import ALICE, BOB, LEAD, NOW, OTHER, a_memory, an_operation, fuzzing
from databases import server
from swarmlore.domain.json_codec import memory_from_dict, memory_to_dict
from swarmlore.domain.language.tokenizer import split_words, stem_word
from swarmlore.domain.records import Caller, Memory, Situation
from swarmlore.errors import Conflict
from swarmlore.frozen import replace
from swarmlore.store.memories import Filter
from swarmlore.store.store import Store

FAST_DISK = (
    "/dev/shm" if Path("/dev/shm").is_dir() else None
)  # thousands of commits: what is durable is tested elsewhere
CALLERS = st.sampled_from([ALICE, BOB, LEAD, OTHER])
WORDS = st.sampled_from(
    [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "port",
        "5432",
        "never",
        "always",
        "use",
        "pnpm",
        "tests",
        "café",
        "数据",
        "x_y",
    ]
)
TEXTS = st.lists(WORDS, min_size=2, max_size=8).map(" ".join)


def sees(caller: Caller, memory: Memory) -> bool:
    if memory.tier == "hive":
        return True
    if memory.tier == "swarm":
        return memory.project == caller.project
    return memory.owner == caller.agent


class StoreMachine(RuleBasedStateMachine):
    """Put, revise, forget, undo, erase, crash and reopen."""

    memories = Bundle("memories")

    @initialize()
    def open(self) -> None:
        self.home = tempfile.mkdtemp(dir=FAST_DISK)
        self.make_empty()
        self.store = self.connect()
        self.model: dict[str, Memory] = {}
        self.undoable: list[tuple[str, Caller, dict[str, Memory | None], dict[str, int]]] = []
        self.clock = NOW

    def make_empty(self) -> None:
        """A store of its own for each run."""

    def connect(self) -> Store:
        return Store.open(self.home, NOW)

    def is_theirs(self, id: str, caller: Caller) -> bool:
        return id in self.model and sees(caller, self.model[id])

    def tick(self) -> float:
        self.clock += 1
        return self.clock

    def did(self, operation_id: str, caller: Caller, before: dict[str, Memory | None]) -> None:
        self.undoable.append((operation_id, caller, before, {id: self.model[id].version for id in before}))

    @rule(target=memories, caller=CALLERS, text=TEXTS, tier=st.sampled_from(["agent", "swarm", "hive"]))
    def put(self, caller: Caller, text: str, tier: str) -> str:
        operation = an_operation(caller, "remember", self.tick())
        with self.store.operation(operation):
            memory = self.store.put(operation, a_memory(text, caller, tier=tier))
        self.model[memory.id] = memory
        self.did(operation.id, caller, {memory.id: None})
        return memory.id

    @rule(
        id=memories,
        caller=CALLERS,
        text=TEXTS,
        status=st.sampled_from(["candidate", "archived", "promoted"]),
        cue=st.booleans(),
    )
    def revise(self, id: str, caller: Caller, text: str, status: str, cue: bool) -> None:
        if not self.is_theirs(id, caller):
            return
        before = self.model[id]
        at = self.tick()
        situations = (*before.situations, Situation(f"cue {text}", "error", at))[-8:] if cue else before.situations
        operation = an_operation(caller, "revise", at)
        with self.store.operation(operation):
            after = self.store.revise(
                operation,
                before,
                replace(before, text=text, status=status, situations=situations, updated_at=at),
                "updated",
            )
        self.model[id] = after
        self.did(operation.id, caller, {id: before})

    @rule(id=memories, caller=CALLERS)
    def forget(self, id: str, caller: Caller) -> None:
        if not self.is_theirs(id, caller):
            return
        before, operation = self.model[id], an_operation(caller, "forget", self.tick())
        with self.store.operation(operation):
            self.model[id] = self.store.forget(operation, before)
        self.did(operation.id, caller, {id: before})

    @precondition(lambda self: self.undoable)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        target, caller, before, versions = data.draw(st.sampled_from(self.undoable))
        if any(id not in self.model or not sees(caller, self.model[id]) for id in before):
            return
        newer = any(self.model[id].version != versions[id] for id in before)
        operation = replace(an_operation(caller, "undo", self.tick()), undoes=target)
        try:
            with self.store.operation(operation):
                reverted = self.store.undo(operation, target)
        except Conflict:
            done = target not in {item[0] for item in self.undoable}
            assert newer or done
            return
        for memory in reverted:
            former = before[memory.id]
            if former is None:
                assert memory.forgotten_at == operation.at
            else:
                assert (memory.text, memory.status, memory.situations) == (
                    former.text,
                    former.status,
                    former.situations,
                )
            self.model[memory.id] = memory
        self.undoable = [item for item in self.undoable if item[0] != target]

    @rule(id=memories, caller=CALLERS)
    def erase(self, id: str, caller: Caller) -> None:
        if not self.is_theirs(id, caller):
            return
        operation = an_operation(caller, "erase", self.tick())
        with self.store.operation(operation):
            self.store.erase(operation, self.model.pop(id))

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self.connect()

    @rule(text=TEXTS, caller=CALLERS)
    def failed_operation(self, text: str, caller: Caller) -> None:
        operation = an_operation(caller, "remember", self.tick())
        try:
            with self.store.operation(operation):
                self.store.put(operation, a_memory(text, caller))
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass

    @rule(caller=CALLERS)
    def reindex(self, caller: Caller) -> None:
        self.store.act_for(caller)
        assert self.store.reindex_words() == len(self.rebuilt(caller))

    def rebuilt(self, caller: Caller) -> list[Memory]:
        """Whoever can open a file can rebuild all of it."""
        return list(self.model.values())

    @invariant()
    def every_caller_sees_exactly_what_is_theirs(self) -> None:
        for caller in (ALICE, BOB, OTHER):
            seen = {memory.id: memory for memory in self.store.select(caller, Filter(status="any", limit=1000))}
            assert seen == {id: memory for id, memory in self.model.items() if sees(caller, memory)}

    @invariant()
    def live_memories_are_found_by_their_words(self) -> None:
        for memory in list(self.model.values())[-3:]:
            caller = Caller(memory.project, memory.owner)
            found = self.store.match_words([stem_word(split_words(memory.text)[0])], self.store.visible(caller), 1000)
            seqs = set(found)
            (seq, _), *_ = self.store.ask("seq_of", id=memory.id)
            assert (seq in seqs) == memory.live, memory

    @invariant()
    def records_survive_json(self) -> None:
        for memory in list(self.model.values())[-1:]:
            assert memory_from_dict(json.loads(json.dumps(memory_to_dict(memory)))) == memory

    def teardown(self) -> None:
        if hasattr(self, "store"):
            assert self.store.engine.check() == []
            self.store.close()
            shutil.rmtree(self.home)


class PostgresMachine(StoreMachine):
    """The same on a server, where row-level security has its say."""

    def make_empty(self) -> None:
        server().empty()

    def connect(self) -> Store:
        return Store.connect(server().url, NOW)

    def rebuilt(self, caller: Caller) -> list[Memory]:
        return [memory for memory in self.model.values() if sees(caller, memory)]


def runs(short: int) -> settings:
    """A few short ones in the suite, 500 long ones in `make fuzz`."""
    return settings(
        max_examples=500 if fuzzing() else short,
        stateful_step_count=50 if fuzzing() else 30,
        suppress_health_check=list(HealthCheck),
    )


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = runs(25)
TestPostgresMachine = PostgresMachine.TestCase
TestPostgresMachine.settings = runs(6)
