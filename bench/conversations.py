"""How well whole conversations are reflected on: what is proposed of what a person would want, and nothing else.

    python bench/conversations.py                 # the labelled conversations of this repository
    python bench/conversations.py --notes         # with what was missed, and what was proposed beside it
    python bench/conversations.py FILE.jsonl      # others of the same form

Each line of `tests/data/conversations/*.jsonl` is one conversation: its turns (role, text), what a person would want to
be proposed (the words that it must hold, its route and a second one where either is right, its topic), and words that
must be in no proposal. Whoever wrote them had seen no rule. A conversation is given as a text with its speakers named.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swarmlore.domain.records import Caller, Proposal
from swarmlore.lore import Lore

DATA = Path(__file__).parents[1] / "tests" / "data" / "conversations"
SPEAKERS = {"user": "User", "assistant": "Assistant", "tool": "Tool"}
ROUTES = {"note": "knowledge"}


@dataclass
class Report:
    """What was wanted and proposed over several conversations."""

    wanted: int = 0
    found: int = 0
    routed: int = 0
    topics: int = 0
    shown: int = 0  # of high or medium confidence
    right: int = 0  # of those, what somebody wanted
    low: int = 0
    leaks: int = 0
    silent: int = 0  # conversations that teach nothing
    quiet: int = 0  # of those, without a proposal
    notes: list[str] = field(default_factory=list)


def conversations(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        yield from map(json.loads, file)


def proposed(talk: dict[str, Any], folder: Path) -> tuple[Proposal, ...]:
    """What is proposed after a conversation, in a project of its own that knows nothing yet."""
    text = "\n".join(f"{SPEAKERS[turn['role']]}: {turn['text']}" for turn in talk["turns"])
    project = folder / str(talk["id"])
    project.mkdir()
    env = {"SWARMLORE_EMBEDDER_KIND": "none", "HOME": str(project)}
    person = Caller(f"git.example/{talk['id']}", "person", "person", 3)
    with Lore.open(folder / "home", cwd=project, caller=person, env=env) as lore:
        made = lore.reflect(text)
        return tuple(item for item in made.proposals if item.edits[0].verb != "reference")


def measure(talks: Iterable[dict[str, Any]]) -> Report:
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        for talk in talks:
            _judge(talk, proposed(talk, Path(folder)), report)
    return report


def _judge(talk: dict[str, Any], found: Sequence[Proposal], report: Report) -> None:
    wanted = talk.get("expected") or []
    right: set[str] = set()
    for one in wanted:
        fits = [item for item in found if _holds(item, one["words"])]
        right |= {item.id for item in fits}
        _count(talk, one, fits, report)
    shown = [item for item in found if item.level != "low"]
    report.shown += len(shown)
    report.right += sum(item.id in right for item in shown)
    report.low += len(found) - len(shown)
    report.silent += not wanted
    report.quiet += not wanted and not shown
    report.notes += [f"{talk['id']} beside: {_told(item)}" for item in found if item.id not in right]
    for words in talk.get("unwanted") or []:
        leaks = [item for item in found if words.lower() in _text(item)]
        report.leaks += bool(leaks)
        report.notes += [f"{talk['id']} UNWANTED {words!r}: {_told(item)}" for item in leaks]


def _count(talk: dict[str, Any], one: dict[str, Any], fits: Sequence[Proposal], report: Report) -> None:
    routes = [ROUTES.get(name, name) for name in (one["route"], one.get("alt_route")) if name]
    topics = [name for name in (one["topic"], one.get("alt_topic")) if name]
    report.wanted += 1
    report.found += bool(fits)
    report.routed += any(item.route in routes for item in fits)
    report.topics += any(item.category in topics for item in fits)
    if not fits:
        report.notes.append(f"{talk['id']} missed ({one['route']}): {one['what']} {one['words']}")
    elif not any(item.route in routes for item in fits):
        report.notes.append(f"{talk['id']} route {routes}: {_told(fits[0])}")


def _holds(item: Proposal, words: Sequence[str]) -> bool:
    return all(word.lower() in _text(item) for word in words)


def _text(item: Proposal) -> str:
    said = [item.title, item.text, item.quote, *(edit.text for edit in item.edits)]
    return " ".join("\n".join(said).lower().split())


def _told(item: Proposal) -> str:
    return f"{item.label} {item.level} {item.category}: {item.title}"


def line(name: str, report: Report) -> str:
    recall, precision = _share(report.found, report.wanted), _share(report.right, report.shown)
    routed, topics = _share(report.routed, report.found), _share(report.topics, report.found)
    return (
        f"{name:12} wanted {report.wanted:3} found {report.found:3} recall {recall:.2f}   shown {report.shown:3} "
        f"precision {precision:.2f}   route {routed:.2f} topic {topics:.2f}   of low confidence {report.low}   "
        f"unwanted words {report.leaks}   silent {report.quiet}/{report.silent}"
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--notes", action="store_true")
    args = parser.parse_args()
    for path in args.files or sorted(DATA.glob("*.jsonl")):
        report = measure(conversations(path))
        print(line(path.stem, report))
        if args.notes:
            print(*(f"  {note}" for note in report.notes), sep="\n")


if __name__ == "__main__":
    main()
