"""Commands `context`, `prime` and `research`: the project's memory file, the block at session start, and research
reports."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from swarmlore.cli.arguments import natural
from swarmlore.cli.console import Console
from swarmlore.cli.render import notes, prime
from swarmlore.cli.terminal import given_text
from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.workspace.files import Change

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.notes.project_memory.memory_file import NoteDraft, Planned
    from swarmlore.notes.project_memory.transfer import ContextTier
    from swarmlore.research.report import Report


CONTEXT_EXAMPLES = (
    "swarmlore context",
    'swarmlore context add "Staging is reset every night" --section environment',
    "swarmlore context check",
    "swarmlore context reference",
)
CONTEXT_MIXED = True


def context_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", nargs="?", default="show", choices=tuple(_VERBS), metavar="VERB",
                        help="one of: " + ", ".join(_VERBS))  # fmt: skip
    parser.add_argument("words", nargs="*", metavar="WORD", help="the entry to add")
    parser.add_argument("--section", metavar="NAME", help="add: where it belongs; the beginning of a word is enough")
    parser.add_argument("--yes", action="store_true", help="do it without being asked")


def run_context(console: Console) -> int:
    args = console.args
    if args.verb != "add" and (args.words or args.section is not None):
        raise InvalidInput(f"{args.verb} takes no words and no --section", f"swarmlore context {args.verb}")
    if args.verb in ("show", "check") and args.yes:
        raise InvalidInput(f"--yes does not belong to {args.verb}", "it belongs to add and reference")
    with console.open() as lore:
        return _VERBS[args.verb](console, lore.context)


def _show(console: Console, context: ContextTier) -> int:
    shown = context.show()
    return console.show(lambda: plain(shown), lambda page: notes.shown(shown, page))


def _add(console: Console, context: ContextTier) -> int:
    text, section = " ".join(console.args.words), console.args.section
    if not text.strip() or not section:
        hint = 'swarmlore context add "TEXT" --section Testing'
        raise InvalidInput("an entry has a text and a section", hint)
    planned = context.plan(section, text)
    if planned.against and planned.outcome == "added":
        lines = "".join(f"\n  {line.path}:{line.line}  {line.text}" for line in planned.against)
        if console.can_ask or console.args.yes:
            console.confirm(f"This speaks against what is written:{lines}\nAdd it all the same?")
            planned = context.add(section, text)
    else:
        planned = context.add(section, text)
    return console.show(lambda: _planned(planned), lambda page: notes.planned(planned, page))


def _check(console: Console, context: ContextTier) -> int:
    checked = context.check()
    document = {**plain(checked), "drafts": [_draft(draft) for draft in checked.drafts], "sound": checked.sound}
    console.show(lambda: document, lambda page: notes.checked(checked, page))
    return 0 if checked.sound else 1


def _reference(console: Console, context: ContextTier) -> int:
    changes = context.plan_reference()
    written = False
    if changes and (console.can_ask or console.args.yes):
        console.note("\n".join(change.diff for change in changes))
        console.confirm("Add this?")
        context.refer()
        written = True
    document = {"changes": [_change(change) for change in changes], "written": written}
    return console.show(lambda: document, lambda page: notes.reference(changes, page, written=written), whole=True)


def _planned(planned: Planned) -> dict[str, Any]:
    fields = {name: value for name, value in plain(planned).items() if name not in ("change", "drafts")}
    return {**fields, **_change(planned.change), "drafts": [_draft(draft) for draft in planned.drafts]}


def _draft(draft: NoteDraft) -> dict[str, Any]:
    fields = {"entries": plain(draft.entries), "title": draft.title, "pointer": draft.pointer}
    return {**fields, **_change(draft.change)}


def _change(change: Change) -> dict[str, str]:
    return {"path": change.path, "diff": change.diff}


_VERBS: dict[str, Callable[[Console, Any], int]] = {
    "show": _show,
    "add": _add,
    "check": _check,
    "reference": _reference,
}


PRIME_EXAMPLES = ("swarmlore prime", "swarmlore prime snapshot tests", 'swarmlore prime --task "add a refund endpoint"')


def prime_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="*", metavar="TOPIC", help="what the work is about; - reads standard input")
    parser.add_argument("--task", metavar="TEXT", help="print the block that an agent is given before this task")


def run_prime(console: Console) -> int:
    from swarmlore.exchange.beads import session_text

    if console.args.task is not None:
        return _task_block(console)
    topic = given_text(console.args.topic)
    with console.open() as lore:
        primed = lore.prime(topic)
        comments = session_text(lore.project.root)
    return console.show(
        lambda: {**plain(primed), "comments": comments}, lambda page: prime.primed(primed, comments, page)
    )


def _task_block(console: Console) -> int:
    """Print the context block that an agent is given before the task in --task."""
    if console.args.topic:
        raise InvalidInput("both a topic and a task were given", "give one of them; a task of several words in quotes")
    task = given_text([console.args.task])
    if not task.strip():
        raise InvalidInput("the task is empty", "say what is to be done: swarmlore prime --task TEXT")
    with console.open() as lore:
        return console.give(lore.before_task(task))


RESEARCH_EXAMPLES = (
    'swarmlore research "how are secrets redacted?"',
    'swarmlore research --no-save "where are lock files read?"',
    'swarmlore research --web --output report.md "why does block_on panic?"',
)


def research_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", nargs="+", metavar="QUESTION", help="what to find out; - reads standard input")
    parser.add_argument("--web", action="store_true", help="ask the web too, by the command research.web_command")
    parser.add_argument("--output", default="", metavar="FILE", help="write the report there instead of research/")
    parser.add_argument("--save", action="store_true", help="keep the report even where nothing answers")
    parser.add_argument("--no-save", action="store_true", help="only show the report")
    parser.add_argument("--limit", type=natural, default=8, metavar="N", help="findings of each source (8)")


def run_research(console: Console) -> int:
    output = console.args.output
    given = [name for name in ("output", "save", "no_save") if getattr(console.args, name)]
    if len(given) > 1:
        named = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise InvalidInput(f"{named} were given together", "give one of them")
    if output and os.path.lexists(output):
        raise InvalidInput(f"{output} is there already", "name another file")
    question = given_text(console.args.question)
    keep = False if output or console.args.no_save else console.args.save or None
    with console.open() as lore:
        with console.progress("researching") as progress:
            report = lore.research(
                question, limit=console.args.limit, web=console.args.web, save=keep, progress=progress
            )
        if output:
            report = _write(report, output)
    return console.show(lambda: plain(report), lambda page: prime.report(report, page))


def _write(report: Report, path: str) -> Report:
    """Write a report to the file in --output; return the report with that path."""
    from swarmlore.exchange.import_files import write_lines
    from swarmlore.research.report import page

    text = page(report).encode("utf-8", "backslashreplace")
    write_lines(path, lambda: iter([text]))
    return replace(report, file=path)
