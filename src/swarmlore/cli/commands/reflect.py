"""Command `reflect`: propose lessons from a session or text, and let a person keep, reword or reject them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from swarmlore.cli.console import YES, Console
from swarmlore.cli.render import reflect
from swarmlore.cli.terminal import given_text
from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput, NotFound, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Proposal, Reflection
    from swarmlore.lore import Lore
    from swarmlore.notes.reflect.apply import Applied
    from swarmlore.notes.reflect.reflections import Decided, Reflections


MAX_BYTES = 32_000_000
FILE_ENDINGS = (".jsonl", ".json", ".txt", ".md", ".log")
REFLECT_EXAMPLES = (
    "swarmlore reflect",
    "swarmlore reflect transcript.jsonl",
    "pbpaste | swarmlore reflect -",
    "swarmlore reflect code-reviewer",
    "swarmlore reflect --review",
    "swarmlore reflect --answer k2,m1",
    "swarmlore reflect on",
)


def reflect_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", default="", metavar="WHAT",
                        help="a transcript or text file, - for standard input, the name of an agent, on or off; "
                        "nothing: the newest session that nobody reflected on")  # fmt: skip
    parser.add_argument("--session", default="", metavar="ID", help="this session")
    parser.add_argument("--from", dest="items", metavar="FILE", help="learnings that a model prepared, as JSON")
    parser.add_argument("--behavioral", action="store_true", help="only rules for the files of agents")
    parser.add_argument("--knowledge", action="store_true", help="only notes and skills")
    parser.add_argument(
        "--review", action="store_true", help="what is open, also of low confidence; looks at nothing new"
    )
    parser.add_argument("--answer", metavar="TEXT", help="Y, N, 1,3 or 1-3, k2, all-knowledge, all-behavioral")
    parser.add_argument("--status", action="store_true", help="what was counted, and what is open")
    parser.add_argument("--consolidate", action="store_true", help="bring together what worktrees have learned apart")


def run_reflect(console: Console) -> int:
    args = console.args
    _check(args)
    if args.what in ("on", "off") and not os.path.exists(args.what):
        return _switch(console, args.what)
    with console.open() as lore:
        if args.status:
            return _status(console, lore)
        if args.consolidate:
            return _consolidate(console, lore)
        return _reflect(console, lore, lore.reflections)


def _check(args: argparse.Namespace) -> None:
    """Raise InvalidInput for options that exclude each other."""
    looks = [name for name in ("status", "consolidate", "review") if getattr(args, name)]
    sources = [name for name in ("what", "session", "items") if getattr(args, name)]
    if len(looks) > 1 or (looks and sources) or len(sources) > 1:
        raise InvalidInput("these do not go together: " + ", ".join((*looks, *sources)), "swarmlore reflect --help")
    if args.behavioral and args.knowledge:
        raise InvalidInput("--behavioral and --knowledge are each an only", "leave out both to see all")


def _switch(console: Console, word: str) -> int:
    """Switch automatic reflection on or off in the user's settings; a project cannot set it."""
    from swarmlore import config

    path = config.write_value(console.home_folder, "reflect.auto", "true" if word == "on" else "false")
    return console.show(lambda: {"auto": word == "on", "path": path}, lambda page: reflect.switched(word == "on", page))


def _status(console: Console, lore: Lore) -> int:
    status = {**lore.reflections.status(), "stats": lore.stats()}
    return console.show(lambda: plain(status), lambda page: reflect.status(status, page))


def _consolidate(console: Console, lore: Lore) -> int:
    """Show what other worktrees would bring in; ask a person at a terminal, and commit what they accept."""
    plan = lore.context.plan_consolidation()
    asks = (
        bool(plan.changes) and lore.caller.role == "person" and console.can_ask and console.is_seen and not console.json
    )
    document = {**plain(plan), "changes": [{"path": change.path, "diff": change.diff} for change in plan.changes]}
    console.show(lambda: document, lambda page: reflect.consolidation(plan, page), whole=True)
    if not asks:
        return 0
    if (console.ask("Bring these in? [y/N]") or "").lower() not in YES:
        console.note("nothing was changed")
        return 0
    done = lore.context.consolidate()
    # Files that a client keeps for itself lie in no repository.
    own = tuple(change for change in done.changes if change.root == done.main)
    for note in lore.reflections.commit_changes(done.main, own):
        console.note(note)
    return 0


def _reflect(console: Console, lore: Lore, reflections: Reflections) -> int:
    finished = reflections.finish()
    made = None if _only_answers(console.args) else _propose(console, lore)
    if console.args.review:
        made = reflections.take_over()
    routes = _routes(console.args)
    shown = reflections.open(routes, low=console.args.review or _names_proposals(console.args.answer))
    if console.args.answer is not None:
        decided = reflections.answer(console.args.answer, shown)
        return _show_result(console, made, finished, decided=decided)
    if console.can_ask and console.is_seen and not console.json and lore.caller.role == "person" and shown:
        _show_result(console, made, finished, shown, asks=True)
        return _decide(console, reflections, shown)
    low = len(reflections.open(routes, low=True)) - len(shown)
    return _show_result(console, made, finished, shown, low=low)


def _only_answers(args: argparse.Namespace) -> bool:
    """Whether open proposals are reviewed or answered without looking at anything new."""
    return bool(args.review or (args.answer is not None and not (args.what or args.session or args.items)))


def _names_proposals(answer: str | None) -> bool:
    """Whether an answer names proposals by number; "all" means those shown, without those of low confidence."""
    return any(char.isdigit() for char in answer or "")


def _routes(args: argparse.Namespace) -> tuple[str, ...]:
    from swarmlore.notes.reflect.reflections import BEHAVIORAL, KNOWLEDGE

    return BEHAVIORAL if args.behavioral else KNOWLEDGE if args.knowledge else ()


def _propose(console: Console, lore: Lore) -> Reflection | None:
    """Reflect on the given source. Return None if no session is new but proposals are still open."""
    args = console.args
    if args.items:
        return lore.reflect(items=_prepared_items(args.items))
    if args.what == "-":
        return lore.reflect(_not_empty(given_text(["-"], None, MAX_BYTES)))
    if args.what and os.path.exists(args.what):
        text = _not_empty(given_text([], args.what, MAX_BYTES))
        return lore.reflect(text, path=args.what)
    try:
        return lore.reflect(session=args.session, agent=args.what)
    except NotFound as nothing:
        if _names_a_file(args.what):
            raise NotFound(f"there is no file {args.what}", "check the path") from None
        if args.what or args.session or not lore.reflections.open(low=True):
            raise
        console.note(nothing.message)
        return None


def _prepared_items(path: str) -> str:
    """Read the JSON learnings of --from; raise InvalidInput with a hint if the file looks like a conversation."""
    text = given_text(["-"], None, MAX_BYTES) if path == "-" else given_text([], path, MAX_BYTES)
    if not text.lstrip().startswith(("[", "{")):
        hint = "a transcript or a text is given without --from: swarmlore reflect FILE"
        raise InvalidInput("--from takes learnings as JSON, and this is none", hint)
    return text


def _names_a_file(what: str) -> bool:
    """Whether a word was meant as a path: names of agents have no folder and no file ending."""
    return os.sep in what or what.lower().endswith(FILE_ENDINGS)


def _not_empty(text: str) -> str:
    if not text.strip():
        raise InvalidInput("the text is empty", "give what was said")
    return text


def _decide(console: Console, reflections: Reflections, shown: Sequence[Proposal]) -> int:
    """Ask a person which proposals to keep, until they answer or end the input; invalid answers change nothing."""
    from swarmlore.notes.reflect.answers import HOW, MODIFY, no_answer, read_answer

    written: dict[str, str] = {}
    while True:
        reply = console.ask(f"Keep which? ({HOW})")
        if reply is None:
            console.note("nothing was decided; to see it again: swarmlore reflect --review")
            return 0
        answer = read_answer(reply, shown)
        if answer is None:
            console.note(no_answer(reply, shown))
            continue
        if answer.verb == MODIFY:
            shown = _reword(console, reflections, shown, answer.ids, written)
            continue
        return _show_result(console, None, (), decided=reflections.answer(reply, shown))


def _reword(
    console: Console, reflections: Reflections, shown: Sequence[Proposal], ids: Sequence[str], written: dict[str, str]
) -> list[Proposal]:
    """Open each named proposal in an editor and store the new text. Refused texts leave the proposal as it was;
    `written` keeps them, so that the editor shows them again."""
    from swarmlore.cli.terminal import edited
    from swarmlore.notes.reflect.answers import editable

    after, problems = {item.id: item for item in shown}, []
    for item in (item for item in shown if item.id in ids):
        try:
            text = edited(written.get(item.id) or editable(item), f"{item.label}.md")
            written[item.id] = text
            after[item.id] = reflections.reword(item, text) if text != editable(item) else item
            del written[item.id]
        except SwarmloreError as problem:
            problems.append(_refused_text(item, problem, item.id in written))
    _show_result(console, None, (), [after[item.id] for item in shown if item.id in ids], asks=True)
    for text in problems:  # last, directly above the next question
        console.note(text)
    return list(after.values())


def _refused_text(item: Proposal, problem: SwarmloreError, kept: bool) -> str:
    again = f"; modify {item.label} opens what you wrote" if kept else ""
    return f"{item.label} stays as it was: {problem.message} ({problem.hint}{again})"


def _show_result(
    console: Console,
    made: Reflection | None,
    finished: Sequence[Applied],
    shown: Sequence[Proposal] = (),
    decided: Decided | None = None,
    low: int = 0,
    *,
    asks: bool = False,
) -> int:
    """Show the result of a reflection or a decision; `low` counts hidden proposals of low confidence."""
    document: dict[str, Any] = {
        "reflection": plain(made) if made else None,
        "proposals": [plain(item) for item in shown],
        "low": low,
        "finished": [plain(item) for item in finished],
        "decided": plain(decided) if decided else None,
    }
    result = reflect.Result(made, tuple(finished), tuple(shown), decided, low, asks)
    return console.show(lambda: document, lambda page: reflect.result(result, page), whole=True)
