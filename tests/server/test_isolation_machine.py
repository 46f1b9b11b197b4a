"""Several agents write, share, forget and ask in any order; nobody is ever told of what is not theirs to see."""

from __future__ import annotations

import json
import re
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from conftest import engine_env, examples
from databases import server
from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import NotAllowed, NotFound, SwarmloreError
from swarmlore.lore import Lore
from swarmlore.server.http.routes import document

WORDS = "harbour lantern copper violet meadow timber granite falcon saffron cobalt juniper walnut ember glacier".split()
WHO = st.sampled_from(["ann", "ben", "boss", "eve"])
TIER = st.sampled_from(["agent", "agent", "swarm", "hive"])
WORD = st.sampled_from(WORDS)
WHICH = st.integers(0, 999)
NAMING = ("get", "history", "why", "forget", "rate", "confirm", "share")
QUESTIONS = ("stats", "receipts", "outcomes", "rejected", "jobs", "sessions", "report", "promotions", "curate")
_numbers = count(1)


class Leak(AssertionError):
    """Somebody was told of what is not theirs to see."""


class Agents(RuleBasedStateMachine):
    """The model is where each memory stands: its tier, project and owner."""

    engine = "sqlite"
    home: Path | None = None
    opened: Lore
    places: dict[str, tuple[str, str, str]]
    marks: dict[str, set[str]]

    def __init__(self) -> None:
        super().__init__()
        if type(self).home is None:
            type(self).home = Path(tempfile.mkdtemp(prefix="agents"))
            type(self).places, type(self).marks = {}, {}
            (self.home / "work").mkdir()  # an empty folder: `prime` looks through the one where it is asked
            env = engine_env(self.engine)
            type(self).opened = Lore.open(self.home, cwd=self.home / "work", caller=Caller("x", "x"), env=env)
        run = next(_numbers)
        self.who = {
            "ann": Caller(f"alpha{run}", f"ann{run}", "worker", 2),
            "ben": Caller(f"alpha{run}", f"ben{run}", "worker", 2),
            "boss": Caller(f"alpha{run}", f"boss{run}", "lead", 2),
            "eve": Caller(f"beta{run}", f"eve{run}", "lead", 2),
        }
        self.lores = {
            name: self.opened.acting_as(caller, self.opened.project.root) for name, caller in self.who.items()
        }
        self.fresh: list[str] = []  # of this run; the hive is that of all runs

    def sees(self, name: str, id: str) -> bool:
        tier, project, owner = self.places[id]
        caller = self.who[name]
        return tier == "hive" or (tier == "swarm" and project == caller.project) or owner == caller.agent

    def place(self, memory: Memory) -> None:
        if memory.id not in self.places:
            self.fresh.append(memory.id)
        self.places[memory.id] = (memory.tier, memory.project, memory.owner)
        for mark in re.findall(r"mark\d+x", memory.text):
            self.marks.setdefault(mark, set()).add(memory.id)

    def ask(self, name: str, what: str, **given: Any) -> Any:
        """What a method tells, after all that it says was looked through."""
        try:
            told = getattr(self.lores[name], what)(**given)
            said = json.dumps(document(what, told), default=str)
        except SwarmloreError as error:
            told, said = error, f"{error.message} {error.hint} {getattr(error, 'candidates', '')}"
            said = said.replace(str(given.get("ref", given.get("text", ""))), "")
        if isinstance(told, Memory):
            self.place(told)
        elif hasattr(told, "memory"):
            self.place(told.memory)
        if self.is_leaked(name, said, given):
            raise Leak(name, what, given, said)
        return told

    def is_leaked(self, name: str, said: str, given: dict[str, Any]) -> bool:
        """Whether an answer has the id or the words of something that is not theirs to see."""
        ids = [id for id in self.places if id in said]
        marks = [mark for mark in re.findall(r"mark\d+x", said) if mark not in str(given)]
        seen = [any(self.sees(name, id) for id in self.marks.get(mark, ())) for mark in marks]
        return not all(seen) or not all(self.sees(name, id) for id in ids)

    @rule(name=WHO, tier=TIER, first=WORD, second=WORD)
    def remember(self, name: str, tier: str, first: str, second: str) -> None:
        text = f"The {first} {second} of mark{next(_numbers)}x is checked before each release"
        self.ask(name, "remember", text=text, tier=tier)

    @rule(name=WHO, tier=TIER, which=WHICH)
    def say_it_again(self, name: str, tier: str, which: int) -> None:
        if self.fresh:
            id = self.fresh[which % len(self.fresh)]
            mark = next((mark for mark, ids in self.marks.items() if id in ids), "mark0x")
            self.ask(name, "remember", text=f"The harbour copper of {mark} is checked before each release", tier=tier)

    @rule(name=WHO, what=st.sampled_from(NAMING), which=WHICH, form=st.integers(0, 2))
    def name_one(self, name: str, what: str, which: int, form: int) -> None:
        if not self.fresh:
            return
        id = self.fresh[which % len(self.fresh)]
        ref = (id, id[-6:], id[:22])[form]
        asked = {"rate": {"ref": ref, "helpful": True}, "share": {"text": ref, "to": "swarm"}}.get(what, {"ref": ref})
        told = self.ask(name, "promote" if what == "share" else what, **asked)
        if ref == id and not self.sees(name, id):
            assert isinstance(told, NotFound)
        elif ref == id and what in ("get", "history", "why"):
            assert not isinstance(told, (NotFound, NotAllowed))

    @rule(name=WHO)
    def undo(self, name: str) -> None:
        self.ask(name, "undo")

    @rule(name=WHO, word=WORD, what=st.sampled_from(["recall", "block", "before_task", "prime"]))
    def search(self, name: str, word: str, what: str) -> None:
        self.ask(
            name, what, **{{"recall": "query", "block": "cue", "before_task": "task", "prime": "topic"}[what]: word}
        )

    @rule(name=WHO, what=st.sampled_from(QUESTIONS))
    def question(self, name: str, what: str) -> None:
        self.ask(name, what)

    @rule(name=WHO)
    def list_and_count(self, name: str) -> None:
        self.look_at_all(name)

    def teardown(self) -> None:
        for name in self.who:
            self.look_at_all(name)

    def look_at_all(self, name: str) -> None:
        """Everything that somebody sees is there, and nothing else."""
        listed = self.ask(name, "list", status="any", limit=1000)
        own = {memory.id for memory in listed if memory.id in self.places}
        assert own == {id for id in self.places if self.sees(name, id)}, name
        assert self.ask(name, "count", status="any") == len(listed)


class AgentsOfATeam(Agents):
    engine = "postgres"
    home = None


TestAgents = Agents.TestCase
TestAgents.settings = settings(max_examples=examples(100), stateful_step_count=20, deadline=None)
TestAgentsOfATeam = AgentsOfATeam.TestCase
TestAgentsOfATeam.settings = settings(max_examples=examples(40), stateful_step_count=20, deadline=None)


# Would it be noticed? Each of these has a leak, and the usual number of examples has to find it.


class Misplaced(Agents):
    """What an agent keeps to itself stands where its whole project looks."""

    home = None

    def place(self, memory: Memory) -> None:
        super().place(memory)
        if memory.tier == "agent":
            shared = self.opened.store.partition_at(("swarm", memory.project, ""))
            self.move(memory.id, shared)

    def move(self, id: str, partition: int) -> None:
        self.opened.store.engine.run("UPDATE memory SET partition = :to WHERE id = :id", {"to": partition, "id": id})


class MisplacedInATeam(Misplaced):
    engine = "postgres"
    home = None

    def move(self, id: str, partition: int) -> None:
        server().admin("UPDATE memory SET partition = %s WHERE id = %s", (partition, id))


class Widened(Agents):
    """Everybody looks everywhere."""

    home = None

    def __init__(self) -> None:
        super().__init__()
        store = self.opened.store

        def everywhere(*_: object, **__: object) -> list[int]:
            return [int(id) for id, *_ in store.ask("every_partition")]

        store.visible = everywhere  # type: ignore[method-assign]


@pytest.mark.parametrize("leak", [Misplaced, MisplacedInATeam, Widened])
def test_a_leak_is_found(leak: type[Agents]) -> None:
    quick = settings(TestAgents.settings, phases=[Phase.generate], derandomize=True, database=None)
    try:
        with pytest.raises(Leak):
            run_state_machine_as_test(leak, settings=quick)
    finally:
        leak.opened.close()


def teardown_module() -> None:
    for kind in (Agents, AgentsOfATeam):
        if kind.home is not None:
            kind.opened.close()
