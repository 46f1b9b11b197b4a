"""Commands `outcome`, `phase`, `sweep`, `promote`, `curate` and `inject`: the lifecycle of memories."""

from __future__ import annotations

import argparse

from swarmlore.cli.arguments import count, items, natural, number
from swarmlore.cli.console import Console
from swarmlore.cli.render import lifecycle, mail
from swarmlore.cli.terminal import given_text
from swarmlore.domain.extraction.lesson_text import CATEGORIES
from swarmlore.domain.json_codec import plain
from swarmlore.domain.language.display import choices_hint
from swarmlore.domain.policy.outcomes import FAILURE_MODES
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore


OUTCOME_EXAMPLES = (
    "swarmlore outcome --success --duration-ms 180000 --errors 1",
    'swarmlore outcome --failed --failure-mode timeout --summary "it never came up"',
    "swarmlore outcome --success --applied 3f9a2c --strategy feature-based",
)


def outcome_arguments(parser: argparse.ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--success", action="store_true", help="the task was done")
    how.add_argument("--failed", action="store_true", help="it was not")
    parser.add_argument("--duration-ms", type=number, metavar="N", help="how long it took")
    parser.add_argument("--errors", type=natural, metavar="N", help="what went wrong on the way, counted")
    parser.add_argument("--retries", type=natural, metavar="N", help="attempts after the first")
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


def run_outcome(console: Console) -> int:
    with console.open() as lore:
        outcome = lore.outcome(console.args.success, **_facts(console.args))
        criteria = [item for item in lore.criteria() if item.name in outcome.criteria] if outcome.criteria else []
        weights = {item.name: round(item.weight, 6) for item in criteria}
        return console.show(
            lambda: {**plain(outcome), "class": outcome.verdict, "weights": weights},
            lambda page: lifecycle.recorded(outcome, criteria, page),
        )


def _facts(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `Lore.outcome` that were given on the command line."""
    names = (
        *("duration_ms", "errors", "retries", "summary", "evaluation", "strategy", "failure_mode"),
        *("task", "session", "agent", "failure_details", "task_type", "persist"),
    )
    lists = ("files", "criteria", "cited", "applied", "tags")
    given = {name: getattr(args, name) for name in names if getattr(args, name) not in (None, "")}
    return {**given, **{name: items(getattr(args, name)) for name in lists}}


PHASE_EXAMPLES = ("swarmlore phase", 'swarmlore phase start "Phase 2: build the importer"', "swarmlore phase complete")


def phase_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", default="", metavar="ACTION", help="start or complete; nothing shows it")
    parser.add_argument("words", nargs="*", metavar="NAME", help="what the phase is called")


def run_phase(console: Console) -> int:
    action, name = console.args.action, " ".join(console.args.words)
    if action not in ("", "start", "complete") or (name and action != "start"):
        raise _bad_action(action)
    with console.open() as lore:
        if action == "complete":
            swept = lore.complete_phase()
            return console.show(lambda: plain(swept), lambda page: lifecycle.swept(swept, page))
        if action == "start":
            begun = lore.start_phase(name)
            return console.show(lambda: plain(begun), lambda page: lifecycle.begun(begun, page))
        now, before = lore.phase(), lore.phases()
        return console.show(
            lambda: {"phase": plain(now), "phases": plain(before)},
            lambda page: lifecycle.phase(now, before, page),
        )


def _bad_action(action: str) -> InvalidInput:
    hint = 'swarmlore phase, phase start "NAME", or phase complete'
    if action == "complete":
        return InvalidInput("complete takes no name: it ends the phase that goes on", hint)
    return InvalidInput(f"phase has no action {action!r}", f"{choices_hint(action, ('start', 'complete'))}; {hint}")


SWEEP_EXAMPLES = ("swarmlore sweep --dry-run", "swarmlore sweep")


def sweep_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show what would become of which memory")
    parser.add_argument("--force", action="store_true", help="even if more than a fifth would leave")
    parser.add_argument("--defer", action="store_true", help="leave it to the worker")


def run_sweep(console: Console) -> int:
    with console.open() as lore:
        if console.args.defer:
            return _enqueue_sweep(console, lore)
        swept = lore.sweep(dry_run=console.args.dry_run, force=console.args.force)
        return console.show(lambda: plain(swept), lambda page: lifecycle.swept(swept, page))


def _enqueue_sweep(console: Console, lore: Lore) -> int:
    if console.args.dry_run or console.args.force:
        raise InvalidInput("a sweep that is left for later is neither forced nor a trial", "leave out --defer")
    job = lore.enqueue("sweep", {}, "sweep", again=True)
    return console.show(lambda: {"job": plain(job)}, lambda page: mail.queued(job, page))


PROMOTE_EXAMPLES = (
    'swarmlore promote "Pin the version of every build tool in CI"',
    "swarmlore promote --from-swarm 3f9a2c",
    "swarmlore promote --to swarm 3f9a2c",
    "swarmlore promote --list",
)


def promote_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", default="", metavar="TEXT", help="the lesson or, with --to swarm, a handle")
    parser.add_argument("--from-swarm", default="", metavar="REF", help="a lesson of this project, by its handle")
    parser.add_argument("--to", default="hive", metavar="TIER", help="hive (default), or swarm for a private memory")
    parser.add_argument("--category", metavar="TOPIC", help="the topic of a new lesson; process if nothing is said")
    parser.add_argument("--list", action="store_true", help="show which lessons have a route to the hive")


def run_promote(console: Console) -> int:
    args = console.args
    if bool(args.text) + bool(args.from_swarm) + args.list != 1:
        problem = "one thing at a time" if args.text or args.from_swarm else "say what to promote"
        raise InvalidInput(problem, 'swarmlore promote "TEXT", --from-swarm REF, or --list')
    with console.open() as lore:
        _refuse_handle_as_text(lore, args)
        if args.list:
            found = lore.promotions()
            return console.show(lambda: {"promotions": plain(found)}, lambda page: lifecycle.proposed(found, page))
        facts = {"category": args.category} if args.category else {}
        told = lore.promote(args.from_swarm or args.text, from_swarm=bool(args.from_swarm), to=args.to, **facts)
        return console.show(lambda: plain(told), lambda page: lifecycle.promoted(told, page))


def _refuse_handle_as_text(lore: Lore, args: argparse.Namespace) -> None:
    """Raise InvalidInput if the text to promote is the handle of a memory: it was meant for --from-swarm."""
    if not args.text or args.to != "hive" or " " in args.text.strip():
        return
    try:
        memory = lore.get(args.text)
    except SwarmloreError:
        return
    if memory is not None:
        hint = f"swarmlore promote --from-swarm {memory.handle}"
        raise InvalidInput(f"{memory.handle} is the name of a memory", hint)


CURATE_EXAMPLES = ("swarmlore curate", "swarmlore curate --apply 1,3")


def curate_arguments(parser: argparse.ArgumentParser) -> None:
    told = "carry out what was recommended; repeat, or use commas"
    parser.add_argument("--apply", action="append", type=_numbers, metavar="N", help=told)


def run_curate(console: Console) -> int:
    asked = console.args.apply
    with console.open() as lore:
        if asked is not None:
            done = lore.apply([number for numbers in asked for number in numbers])
            return console.show(lambda: plain(done), lambda page: lifecycle.applied(done, page))
        found = lore.curate()
        return console.show(lambda: plain(found), lambda page: lifecycle.curated(found, page))


def _numbers(text: str) -> list[int]:
    return [count(part) for part in items([text])]


INJECT_EXAMPLES = (
    'swarmlore inject --agent w1 --category best-practice "Run make e2e-seed first"',
    "swarmlore inject --agent w1 --category mistake-pattern - < lesson.txt",
)
INJECT_MIXED = True


def inject_arguments(parser: argparse.ArgumentParser) -> None:
    words = ", ".join(CATEGORIES)
    parser.add_argument("text", nargs="*", metavar="TEXT", help="what to teach; - reads standard input")
    parser.add_argument(
        "--agent", required=True, metavar="ID", help="the agent that is taught; all of the swarm see it"
    )
    parser.add_argument("--category", required=True, choices=CATEGORIES, metavar="TOPIC", help=f"one of: {words}")
    parser.add_argument("--tag", action="append", metavar="TAG", help="repeat it, or separate tags by commas")


def run_inject(console: Console) -> int:
    args = console.args
    text = given_text(args.text)
    if not text.strip():
        raise InvalidInput("there is nothing to teach", 'swarmlore inject --agent ID --category TOPIC "TEXT"')
    with console.open() as lore:
        told = lore.inject(args.agent, text, args.category, tags=items(args.tag))
        return console.show(lambda: plain(told), lambda page: lifecycle.injected(told, page))
