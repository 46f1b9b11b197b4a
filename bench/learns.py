"""Does it learn? Scripted agents repeat known mistakes unless the right lesson stands first in what they are given.

    python bench/learns.py                     # 400 tasks, words and vectors
    python bench/learns.py --tasks 160 --words # a quick look, by words only
    python bench/learns.py --seeds 5           # mean over five runs

Each task is a session: an agent asks for a block with its prompt and follows the first memory in it that is about its
task. The right lesson: done quickly. A wrong or outdated one, or none: the mistake is made, and whoever makes it first
writes down what would have avoided it. Wrong lessons are there from the beginning; halfway the project changes and some
right lessons become outdated. Between them stand lessons about other things.

- off: what was written is shown; nobody says how tasks ended.
- on: the end of each task is reported, in most of them with the handle that was followed.
- none: no memory at all.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import argparse
import json
import random
import statistics
import tempfile
from dataclasses import dataclass, field
from typing import Any

import corpus
from mistakes import MISTAKES, Mistake
from swarmlore.domain.records import Caller, Draft
from swarmlore.lore import Lore

AGENTS = ("ada", "bob", "cleo")
START = 1_750_000_000.0
TASK_S = 3 * 3600.0
OTHERS = 150  # lessons about something else
SAYS_WHAT_IT_FOLLOWED = 0.7  # of the tasks
WINDOW = 50
OPENINGS = ("", "", "next: ", "please look at this: ", "from the standup: ", "once more, ")
ENDINGS = (
    "",
    "",
    ", ticket SHOP-#",
    ", the customer is waiting",
    " for the mobile app",
    " before Friday",
    " (see mail #)",
)
RIGHT, WRONG, FORMER = "right", "wrong", "former"


@dataclass
class Clock:
    now: float = START

    def __call__(self) -> float:
        return self.now


@dataclass
class Window:
    """What happened in one stretch of tasks."""

    tasks: int = 0
    mistakes: int = 0
    repeated: int = 0
    misled: int = 0
    tokens: int = 0
    wrong_rank: float = 0.0
    wrong_first: float = 0.0


@dataclass
class World:
    """The project as it really is, and what was written down about it."""

    lore: Lore
    clock: Clock
    learning: bool
    prompts: random.Random
    saying: random.Random
    about: dict[str, tuple[str, str]] = field(default_factory=dict)  # memory → (mistake, right, wrong or former)
    made: set[str] = field(default_factory=set)
    changed: bool = False

    def write(self, text: str, mistake: str, role: str, prompt: str) -> None:
        """Somebody writes down what was learned under a prompt."""
        told = self.lore.remember(text, situation=prompt)
        self.about[told.memory.id] = (mistake, role)

    def begin(self, others: int) -> None:
        """What was believed before the first task, between lessons about other things."""
        self.lore.remember_many(Draft(text) for text in corpus.lessons(others, 3))
        for mistake in MISTAKES:
            if mistake.wrong:
                self.write(mistake.wrong, mistake.name, WRONG, mistake.prompts[0])
        self.lore.catch_up(10_000)

    def known(self, mistake: Mistake) -> bool:
        return (mistake.name, RIGHT) in self.about.values()

    def change(self) -> None:
        """From now on the former lessons are outdated."""
        self.changed = True
        outdated = {mistake.name for mistake in MISTAKES if mistake.former}
        for id, (name, role) in self.about.items():
            if name in outdated and role == RIGHT:
                self.about[id] = (name, FORMER)
        self.made -= outdated  # the mistake that is made now is another one

    def lesson(self, mistake: Mistake) -> str:
        return mistake.former if mistake.former and not self.changed else mistake.lesson


def said(mistake: Mistake, rng: random.Random) -> str:
    """A prompt of a mistake as somebody types it: hardly ever twice in the same words."""
    before, after = rng.choice(OPENINGS), rng.choice(ENDINGS)
    return f"{before}{rng.choice(mistake.prompts[:-1])}{after}".replace("#", str(rng.randrange(100, 1000)))


def task(world: World, mistake: Mistake, number: int, window: Window) -> None:
    """One session of one agent."""
    world.clock.now += TASK_S
    session = f"task-{number}"
    prompt = said(mistake, world.prompts)
    block = world.lore.block(prompt, session=session)
    window.tasks += 1
    window.tokens += block.receipt.tokens
    followed = next((item.memory for item in block.receipt.shown if _about(world, item.memory, mistake)), "")
    role = world.about[followed][1] if followed else ""
    if role != RIGHT:
        window.mistakes += 1
        window.repeated += mistake.name in world.made
        window.misled += bool(role)
    if world.learning:
        _report(world, session, followed, role == RIGHT)
    if role != RIGHT:
        world.made.add(mistake.name)
        if not world.known(mistake):
            world.write(world.lesson(mistake), mistake.name, RIGHT, prompt)


def _about(world: World, id: str, mistake: Mistake) -> bool:
    return world.about.get(id, ("", ""))[0] == mistake.name


def _report(world: World, session: str, followed: str, well: bool) -> None:
    facts = {"errors": 0, "retries": 0, "duration_ms": 120_000} if well else {}
    facts = facts or {"errors": 4, "retries": 2, "duration_ms": 2_700_000}
    said = [followed] if followed and world.saying.random() < SAYS_WHAT_IT_FOLLOWED else []
    world.lore.outcome(well, session=session, applied=said, **facts)


def ranks(world: World) -> tuple[float, float]:
    """Over unseen prompts: the mean place of wrong and outdated lessons among those found, and how often such a one
    stands above the right one."""
    places, above, asked = [], 0, 0
    for mistake in MISTAKES:
        hits = [hit.memory.id for hit in world.lore.recall(mistake.prompts[-1], limit=20)]
        roles = [world.about[id][1] for id in hits if _about(world, id, mistake)]
        bad = [place for place, id in enumerate(hits, 1) if _about(world, id, mistake) and world.about[id][1] != RIGHT]
        places += bad[:1]
        if RIGHT in roles and bad:
            asked += 1
            above += roles[0] != RIGHT
    return (statistics.mean(places) if places else 0.0), (above / asked if asked else 0.0)


def simulate(
    tasks: int, *, learning: bool, seed: int = 1, words: bool = False, window: int = WINDOW, others: int = OTHERS
) -> list[Window]:
    """The windows of one run. The tasks are the same for every arm with the same seed."""
    clock = Clock()
    env = {"SWARMLORE_EMBEDDER_KIND": "none"} if words else {}
    order = random.Random(seed)
    with tempfile.TemporaryDirectory() as home:
        caller = Caller("git.example/shop", "ada", "lead", 2)
        with Lore.open(home, cwd=home, caller=caller, env=env, clock=clock) as lore:
            world = World(lore, clock, learning, random.Random(seed), random.Random(seed))
            world.begin(others)
            return _run(world, [order.choice(MISTAKES) for _ in range(tasks)], window)


def _run(world: World, tasks: list[Mistake], size: int) -> list[Window]:
    found: list[Window] = []
    for number, mistake in enumerate(tasks):
        if number == len(tasks) // 2:
            world.change()
        if number % size == 0:
            found.append(Window())
        task(world, mistake, number, found[-1])
        if (number + 1) % size == 0 or number + 1 == len(tasks):
            found[-1].wrong_rank, found[-1].wrong_first = ranks(world)
    return found


def without(tasks: int, seed: int = 1, window: int = WINDOW) -> list[Window]:
    """The same tasks without any memory: every mistake is made whenever it can be."""
    order = random.Random(seed)
    made: set[str] = set()
    found: list[Window] = []
    for number in range(tasks):
        mistake = order.choice(MISTAKES)
        if number == tasks // 2:
            made -= {item.name for item in MISTAKES if item.former}
        if number % window == 0:
            found.append(Window())
        found[-1].tasks += 1
        found[-1].mistakes += 1
        found[-1].repeated += mistake.name in made
        made.add(mistake.name)
    return found


def curve(runs: list[list[Window]], name: str) -> list[float]:
    """One figure over the windows, the mean of all runs."""
    return [round(statistics.mean(getattr(run[at], name) for run in runs), 2) for at in range(len(runs[0]))]


def compare(tasks: int, seeds: int, words: bool) -> dict[str, Any]:
    arms = {
        "none": [without(tasks, seed) for seed in range(1, seeds + 1)],
        "off": [simulate(tasks, learning=False, seed=seed, words=words) for seed in range(1, seeds + 1)],
        "on": [simulate(tasks, learning=True, seed=seed, words=words) for seed in range(1, seeds + 1)],
    }
    names = ("mistakes", "repeated", "misled", "tokens", "wrong_rank", "wrong_first")
    return {arm: {name: curve(runs, name) for name in names} for arm, runs in arms.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--tasks", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--words", action="store_true", help="without vectors")
    args = parser.parse_args()
    found = compare(args.tasks, args.seeds, args.words)
    for arm, curves in found.items():
        print(json.dumps({"arm": arm, "window": WINDOW, **curves}))
        print(json.dumps({"arm": arm, "repeated": sum(curves["repeated"]), "tokens": sum(curves["tokens"])}))


if __name__ == "__main__":
    main()
