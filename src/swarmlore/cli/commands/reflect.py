"""reflect: look back at a session, see what could be learned from it, and decide."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from swarmlore.cli.console import Desk
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


def run_consolidate(desk: Desk, lore: Lore) -> int:
    """Show what would be added; a person at a terminal is asked, and what is agreed to becomes one commit."""
    plan = lore.context.plan_consolidation()
    wanted = bool(plan.changes) and lore.caller.role == "person" and desk.can_ask and desk.is_seen and not desk.json
    document = {**plain(plan), "changes": [{"path": one.path, "diff": one.diff} for one in plan.changes]}
    desk.show(lambda: document, lambda page: reflect.consolidation(plan, page), whole=True)
    if not wanted:
        return 0
    said = desk.ask("Bring these in? [y/N]")
    if (said or "").lower() not in ("y", "yes"):
        desk.note("nothing was changed")
        return 0
    done = lore.context.consolidate()
    # What a client keeps for itself lies in no repository.
    own = tuple(change for change in done.changes if change.root == done.main)
    for note in lore.reflections.commit_changes(done.main, own):
        desk.note(note)
    return 0


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


def run_reflect(desk: Desk) -> int:
    args = desk.args
    _check(args)
    if args.what in ("on", "off") and not os.path.exists(args.what):
        return _switch(desk, args.what)
    with desk.open() as lore:
        if args.status:
            return _status(desk, lore)
        if args.consolidate:
            return _consolidate(desk, lore)
        return _reflect(desk, lore, lore.reflections)


def _check(args: argparse.Namespace) -> None:
    looks = [name for name in ("status", "consolidate", "review") if getattr(args, name)]
    sources = [name for name in ("what", "session", "items") if getattr(args, name)]
    if len(looks) > 1 or (looks and sources) or len(sources) > 1:
        raise InvalidInput("these do not go together: " + ", ".join((*looks, *sources)), "swarmlore reflect --help")
    if args.behavioral and args.knowledge:
        raise InvalidInput("--behavioral and --knowledge are each an only", "leave out both to see all")


def _switch(desk: Desk, word: str) -> int:
    """A user's setting, never a project's: whether sessions are looked at unasked."""
    from swarmlore import config

    home = os.path.abspath(desk.home) if desk.home else config.home_dir(os.environ)
    path = config.write_value(home, "reflect.auto", "true" if word == "on" else "false")
    return desk.show(lambda: {"auto": word == "on", "path": path}, lambda page: reflect.switched(word == "on", page))


def _status(desk: Desk, lore: Lore) -> int:
    told = lore.reflections.status()
    told["stats"] = lore.stats()
    return desk.show(lambda: plain(told), lambda page: reflect.status(told, page))


def _consolidate(desk: Desk, lore: Lore) -> int:

    return run_consolidate(desk, lore)


def _reflect(desk: Desk, lore: Lore, reflections: Reflections) -> int:
    finished = reflections.finish()
    made = None if _only_answers(desk.args) else _look_back(desk, lore)
    if desk.args.review:
        made = reflections.take_over()
    routes = _routes(desk.args)
    shown = reflections.open(routes, low=desk.args.review or _names_some(desk.args.answer))
    if desk.args.answer is not None:
        decided = reflections.answer(desk.args.answer, shown)
        return _told(desk, made, finished, decided=decided)
    if desk.can_ask and desk.is_seen and not desk.json and lore.caller.role == "person" and shown:
        _told(desk, made, finished, shown, asks=True)
        return _decide(desk, reflections, shown)
    low = len(reflections.open(routes, low=True)) - len(shown)
    return _told(desk, made, finished, shown, low=low)


def _only_answers(args: argparse.Namespace) -> bool:
    return bool(args.review or (args.answer is not None and not (args.what or args.session or args.items)))


def _names_some(answer: str | None) -> bool:
    """Whether an answer names proposals; "all" of them are those that were shown, without what is unsure."""
    return any(char.isdigit() for char in answer or "")


def _routes(args: argparse.Namespace) -> tuple[str, ...]:
    from swarmlore.notes.reflect.reflections import BEHAVIORAL, KNOWLEDGE

    return BEHAVIORAL if args.behavioral else KNOWLEDGE if args.knowledge else ()


def _look_back(desk: Desk, lore: Lore) -> Reflection | None:
    """Propose what is asked for; where there is nothing new to look at, what is open is still shown."""
    args = desk.args
    if args.items:
        return lore.reflect(items=_prepared(args.items))
    if args.what == "-":
        return lore.reflect(_some(given_text(["-"], None, MAX_BYTES)))
    if args.what and os.path.exists(args.what):
        text = _some(given_text([], args.what, MAX_BYTES))
        return lore.reflect(text, path=args.what)
    try:
        return lore.reflect(session=args.session, agent=args.what)
    except NotFound as nothing:
        if _names_a_file(args.what):
            raise NotFound(f"there is no file {args.what}", "check the path") from None
        if args.what or args.session or not lore.reflections.open(low=True):
            raise
        desk.note(nothing.message)
        return None


def _prepared(path: str) -> str:
    """What a model prepared; a conversation in its place is not taken for a broken one of these."""
    text = given_text(["-"], None, MAX_BYTES) if path == "-" else given_text([], path, MAX_BYTES)
    if not text.lstrip().startswith(("[", "{")):
        hint = "a transcript or a text is given without --from: swarmlore reflect FILE"
        raise InvalidInput("--from takes learnings as JSON, and this is none", hint)
    return text


def _names_a_file(what: str) -> bool:
    """Whether a word was meant as a path: agents are named without a folder and without an ending."""
    return os.sep in what or what.lower().endswith(FILE_ENDINGS)


def _some(text: str) -> str:
    if not text.strip():
        raise InvalidInput("the text is empty", "give what was said")
    return text


def _decide(desk: Desk, reflections: Reflections, shown: Sequence[Proposal]) -> int:
    """Ask until an answer is one. Nothing is changed by what is none."""
    from swarmlore.notes.reflect.answers import HOW, MODIFY, no_answer, read_answer

    written: dict[str, str] = {}
    while True:
        said = desk.ask(f"Keep which? ({HOW})")
        if said is None:
            desk.note("nothing was decided; to see it again: swarmlore reflect --review")
            return 0
        answer = read_answer(said, shown)
        if answer is None:
            desk.note(no_answer(said, shown))
            continue
        if answer.verb == MODIFY:
            shown = _reword(desk, reflections, shown, answer.ids, written)
            continue
        return _told(desk, None, (), decided=reflections.answer(said, shown))


def _reword(
    desk: Desk, reflections: Reflections, shown: Sequence[Proposal], ids: Sequence[str], written: dict[str, str]
) -> list[Proposal]:
    """Each of these in an editor, and what became of it; what is refused stays as it was, and what a person wrote for
    it is what the editor shows the next time."""
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
            problems.append(_stays(item, problem, item.id in written))
    _told(desk, None, (), [after[item.id] for item in shown if item.id in ids], asks=True)
    for told in problems:  # beside the question that comes next
        desk.note(told)
    return list(after.values())


def _stays(item: Proposal, problem: SwarmloreError, kept: bool) -> str:
    again = f"; modify {item.label} opens what you wrote" if kept else ""
    return f"{item.label} stays as it was: {problem.message} ({problem.hint}{again})"


def _told(
    desk: Desk,
    made: Reflection | None,
    finished: Sequence[Applied],
    shown: Sequence[Proposal] = (),
    decided: Decided | None = None,
    low: int = 0,
    *,
    asks: bool = False,
) -> int:
    document: dict[str, Any] = {
        "reflection": plain(made) if made else None,
        "proposals": [plain(item) for item in shown],
        "low": low,
        "finished": [plain(item) for item in finished],
        "decided": plain(decided) if decided else None,
    }
    story = reflect.Story(made, tuple(finished), tuple(shown), decided, low, asks)
    return desk.show(lambda: document, lambda page: reflect.told(story, page), whole=True)
