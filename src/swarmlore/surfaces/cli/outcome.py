"""outcome: how a task ended."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.domain.policy.outcomes import FAILURE_MODES
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_learning
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import items, number, place

if TYPE_CHECKING:
    from typing import Any

EXAMPLES = (
    "swarmlore outcome --success --duration-ms 180000 --errors 1",
    'swarmlore outcome --failed --failure-mode timeout --summary "it never came up"',
    "swarmlore outcome --success --applied 3f9a2c --strategy feature-based",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--success", action="store_true", help="the task was done")
    how.add_argument("--failed", action="store_true", help="it was not")
    parser.add_argument("--duration-ms", type=number, metavar="N", help="how long it took")
    parser.add_argument("--errors", type=place, metavar="N", help="what went wrong on the way, counted")
    parser.add_argument("--retries", type=place, metavar="N", help="attempts after the first")
    parser.add_argument("--files", action="append", metavar="PATH", help="files touched; repeat, or use commas")
    about = parser.add_argument_group("about it")
    about.add_argument(
        "--summary", default="", metavar="TEXT", help="what was done; handles of memories shown for it count as cited"
    )
    about.add_argument("--evaluation", default="", metavar="TEXT", help="what went well or wrong, and why")
    about.add_argument("--strategy", default="", metavar="TEXT", help="how it was approached, as file-based")
    about.add_argument(
        "--criteria", action="append", metavar="NAME", help="what it was judged by; repeat, or use commas"
    )
    about.add_argument("--failure-mode", default="", metavar="MODE", help="one of: " + ", ".join(FAILURE_MODES))
    about.add_argument("--failure-details", default="", metavar="TEXT", help="what went wrong, for who tries it again")
    kept = parser.add_argument_group("what is kept of it")
    kept.add_argument(
        "--task-type", default="", metavar="TYPE", help="as research, of which everybody gets the result, or heartbeat"
    )
    kept.add_argument(
        "--tags", action="append", metavar="TAG", help="of its result; knowledge or shared: for everybody"
    )
    kept.add_argument("--persist", action="store_true", help="keep also what a scheduler or a heartbeat started")
    whose = parser.add_argument_group("whose")
    whose.add_argument("--task", default="", metavar="ID", help="its name or id; one outcome of a task is credited")
    whose.add_argument("--session", default="", metavar="ID", help="what was shown in this session is credited")
    whose.add_argument(
        "--agent", default="", metavar="NAME", help="whose task it was, where a lead reports for another"
    )
    whose.add_argument("--cited", action="append", metavar="REF", help="memories that were mentioned")
    whose.add_argument("--applied", action="append", metavar="REF", help="memories that were followed")


def run(desk: Desk) -> int:
    with desk.open() as lore:
        outcome = lore.outcome(desk.args.success, **_facts(desk.args))
        criteria = [item for item in lore.criteria() if item.name in outcome.criteria] if outcome.criteria else []
        weights = {item.name: round(item.weight, 6) for item in criteria}
        return desk.show(
            lambda: {**plain(outcome), "class": outcome.verdict, "weights": weights},
            lambda page: render_learning.recorded(outcome, criteria, page),
        )


def _facts(args: argparse.Namespace) -> dict[str, Any]:
    names = (
        *("duration_ms", "errors", "retries", "summary", "evaluation", "strategy", "failure_mode"),
        *("task", "session", "agent", "failure_details", "task_type", "persist"),
    )
    lists = ("files", "criteria", "cited", "applied", "tags")
    said = {name: getattr(args, name) for name in names if getattr(args, name) not in (None, "")}
    return {**said, **{name: items(getattr(args, name)) for name in lists}}
