"""How well signals in what people and agents say are found, named and routed.

    python bench/signals.py                 # every set
    python bench/signals.py --set blind_a   # one of them
    python bench/signals.py --notes         # with every sentence that came out otherwise than it is labelled

`tuning` is what the rules were made for, `held_out` was written with it and kept aside, `later` came after it;
`blind_a` was written by somebody who knew levels, topics and routes, and no rule; `varied` holds many ways to say such
things. Both were read once they had been measured.

Each line of `tests/data/signals/*.jsonl` is one turn: who speaks, what they say, and the signals it should give, each
with its level, its category, its route (several where either is right) and some of its words, where a turn gives more
than one. Where a turn is labelled as a `whole`, its strongest signal is judged. A level counts as found where a signal
of that level was given; category and route are judged for those.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swarmlore.domain.extraction.session_lessons import lesson_from
from swarmlore.domain.extraction.signals import LEVELS, Signal, scan
from swarmlore.domain.extraction.topics import UNKNOWN
from swarmlore.domain.pages.routing import route

DATA = Path(__file__).parents[1] / "tests" / "data" / "signals"
SETS = ("tuning", "held_out", "later", "blind_a", "varied")


@dataclass
class Figures:
    """Counts by name: a level, a category or a route; `found` of them are right, `given` were given."""

    wanted: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def precision(self, *names: str) -> float:
        return _share(self.found, self.given, names)

    def recall(self, *names: str) -> float:
        return _share(self.found, self.wanted, names)


def _share(found: Counter[str], of: Counter[str], names: Iterable[str]) -> float:
    names = tuple(names) or tuple({*found, *of})
    total = sum(of[name] for name in names)
    return sum(found[name] for name in names) / total if total else 1.0


@dataclass
class Report:
    levels: Figures = field(default_factory=Figures)
    categories: Figures = field(default_factory=Figures)
    routes: Figures = field(default_factory=Figures)
    turns: int = 0
    silent: int = 0  # turns that should give nothing
    alarms: int = 0  # turns among them that gave something


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def measure(name: str) -> Report:
    report = Report()
    for turn in read(name):
        given = list(scan(turn["text"], turn["speaker"]))
        if turn.get("whole"):
            given = _strongest(given)
        report.turns += 1
        report.silent += not turn["signals"]
        report.alarms += not turn["signals"] and bool(given)
        for wanted, signal in _pairs(turn["signals"], given):
            _count(report, turn, wanted, signal)
    return report


def _strongest(given: list[Signal]) -> list[Signal]:
    """The signal that stands for a turn: of the highest level, rather one that could be followed."""
    return sorted(given, key=lambda one: (LEVELS.index(one.level), _target(one) == "none", one.category == UNKNOWN))[:1]


def _target(signal: Signal) -> str:
    return route(lesson_from(signal)).target


def _pairs(wanted: list[dict[str, Any]], given: list[Signal]) -> Iterator[tuple[dict[str, Any] | None, Signal | None]]:
    """Each wanted signal with the one that was given for it, then the given ones that nobody wanted."""
    left = list(given)
    for item in wanted:
        words = item.get("words", "").lower()
        fits = [signal for signal in left if words in signal.sentence.lower()]
        best = next((signal for signal in fits if signal.level == item["level"]), fits[0] if fits else None)
        if best is not None:
            left.remove(best)
        yield item, best
    for signal in left:
        yield None, signal


def _count(report: Report, turn: dict[str, Any], wanted: dict[str, Any] | None, signal: Signal | None) -> None:
    said = f"{turn['speaker']}: {signal.sentence if signal else turn['text']}"
    level, given = (wanted or {}).get("level", ""), signal.level if signal else ""
    _tally(report.levels, [level] if level else [], given, said)
    if not wanted or not signal or level != given:
        return
    _tally(report.categories, wanted["category"].split("|"), signal.category, said)
    if "route" in wanted:
        targets, right = route(lesson_from(signal)).targets, wanted["route"].split("|")
        _tally(report.routes, right, next((one for one in targets if one in right), targets[0]), said)


def _tally(figures: Figures, wanted: list[str], given: str, said: str) -> None:
    right = given in wanted
    if wanted:
        figures.wanted[given if right else wanted[0]] += 1
    if given:
        figures.given[given] += 1
        figures.found[given] += right
    if not right:
        figures.notes.append(f"{'|'.join(wanted) or 'nothing'} wanted, {given or 'nothing'} given: {said}")


def show(name: str, report: Report, *, notes: bool) -> None:
    print(f"{name}: {report.turns} turns, {report.silent} of them without a signal, {report.alarms} false alarms there")
    for name, figures in (("level", report.levels), ("category", report.categories), ("route", report.routes)):
        print(f"  {name:10} precision {figures.precision():.2f}  recall {figures.recall():.2f}")
        for each in LEVELS if name == "level" else sorted({*figures.wanted, *figures.given}):
            of = f"({figures.found[each]} of {figures.given[each]} given, {figures.wanted[each]} wanted)"
            print(f"    {each:14} precision {figures.precision(each):.2f}  recall {figures.recall(each):.2f}  {of}")
        for note in figures.notes if notes else ():
            print("      ", note.replace("\n", " ⏎ "))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--notes", action="store_true", help="with what came out otherwise than labelled")
    parser.add_argument("--set", choices=SETS, help="one of them only")
    args = parser.parse_args()
    for name in SETS if args.set is None else (args.set,):
        show(name, measure(name), notes=args.notes)


if __name__ == "__main__":
    main()
