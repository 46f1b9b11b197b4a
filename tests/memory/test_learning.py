"""What outcomes do to rank, from end to end: what misleads sinks quickly, what helps rises slowly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ALICE, NOW, quick_env
from swarmlore.domain.policy.ranking import TOGETHER
from swarmlore.domain.records import Memory
from swarmlore.lore import Lore

QUESTION = "how are snapshot tests recorded"
WRONG = "Snapshot tests are recorded by editing files under shots"
RIGHT = "Snapshot tests are recorded by calling make under tools"
OTHER = "The mobile build is signed by the release bot on Fridays"
DAY = 86_400.0


class Life:
    """A memory at a time that a test can move."""

    def __init__(self, home: Path) -> None:
        self.now = NOW
        self.lore = Lore.open(home, cwd=home.parent, caller=ALICE, env=quick_env(), clock=lambda: self.now)
        self._task = 0

    def task(self, memory: Memory, *, well: bool) -> None:
        """One task in which the memory was shown and followed."""
        self._task += 1
        session = f"s{self._task}"
        self.lore.block(QUESTION, session=session)
        bad = {"duration_ms": 10**8, "errors": 9, "retries": 9}
        facts = {"duration_ms": 1} if well else bad
        self.lore.outcome(well, session=session, applied=[memory.handle], **facts)

    def ranks(self) -> list[str]:
        return [hit.memory.text for hit in self.lore.recall(QUESTION)]

    def factor(self, memory: Memory) -> float:
        return self.lore.why(memory.id).factor


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    made = Life(tmp_path / "home")
    yield made
    made.lore.close()


def test_one_harmful_task_outweighs_several_helpful_ones(
    life: Life,
) -> None:
    wrong, right = (life.lore.remember(text).memory for text in (WRONG, RIGHT))
    fresh = life.factor(wrong)
    life.task(wrong, well=False)
    assert life.ranks() == [RIGHT, WRONG]
    down = fresh - life.factor(wrong)
    start = life.factor(right)
    life.task(right, well=True)
    assert 0 < life.factor(right) - start < down / 3
    for _ in range(6):
        life.task(wrong, well=True)
    assert life.factor(wrong) < life.factor(right)


def test_a_proven_memory_rises_within_bounds_below_the_real_answer(life: Life) -> None:
    other, right = (life.lore.remember(text).memory for text in (OTHER, RIGHT))
    factors = []
    for _ in range(20):
        life.task(other, well=True)
        factors.append(life.factor(other))
    assert factors == sorted(factors)
    assert factors[-1] <= 1 + TOGETHER
    assert life.ranks()[0] == right.text


def test_a_misleading_memory_sinks_and_is_proposed_for_archiving(life: Life) -> None:
    wrong = life.lore.remember(WRONG).memory
    for _ in range(5):
        life.task(wrong, well=False)
    assert 1 - TOGETHER <= life.factor(wrong) < 0.87
    [advice] = life.lore.curate().recommendations
    assert (advice.what, advice.memories[0].handle) == ("low utility", wrong.handle)
    life.lore.apply([1])
    assert life.ranks() == []


def test_a_memory_that_was_only_shown_in_bad_tasks_sinks_by_its_utility_alone(life: Life) -> None:
    wrong = life.lore.remember(WRONG).memory
    bad = {"duration_ms": 10**8, "errors": 9, "retries": 9}
    for number in range(3):
        life.lore.block(QUESTION, session=f"t{number}")
        life.lore.outcome(False, session=f"t{number}", **bad)
    [hit] = life.lore.recall(QUESTION)
    parts = {part.name: part.value for part in hit.explanation}
    assert parts["utility"] == pytest.approx(0.92)
    assert "feedback" not in parts
    assert hit.memory.version == wrong.version


def test_harm_makes_nothing_younger_and_help_does(life: Life) -> None:
    memory = life.lore.remember(RIGHT).memory
    life.now += 180 * DAY
    life.task(memory, well=False)
    assert "180 days old" in {part.note for part in life.lore.why(memory.id).parts}
    life.task(memory, well=True)
    assert "recency" not in {part.name for part in life.lore.why(memory.id).parts}


def test_the_prompt_under_which_a_memory_helped_finds_it_from_then_on(life: Life) -> None:
    memory = life.lore.remember(RIGHT).memory
    cue = "update the reference images of the gallery"
    assert life.lore.recall("refresh reference images") == ()
    life.lore.quote(life.lore.recall(QUESTION), cue, session="s9")
    life.lore.outcome(True, session="s9", duration_ms=1, summary=f"[{memory.handle}] was right")
    assert [hit.memory.id for hit in life.lore.recall("refresh reference images")] == [memory.id]
