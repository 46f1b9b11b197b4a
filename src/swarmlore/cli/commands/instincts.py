"""instincts: the rules of one sentence in a project's `.agents/instincts.yaml`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from swarmlore.cli.arguments import items, number
from swarmlore.cli.console import Desk
from swarmlore.cli.render import notes as render_instincts
from swarmlore.domain.json_codec import plain
from swarmlore.domain.pages.instincts import CATEGORIES, ORIGINS, SCOPES
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.notes.instincts import Held, Instincts, Shelf


INSTINCTS_EXAMPLES = (
    "swarmlore instincts",
    'swarmlore instincts add "Use pnpm instead of npm here" --how correction',
    "swarmlore instincts review a1b2c3 --reinforce",
    "swarmlore instincts promote",
    "swarmlore instincts prune --stale",
)
INSTINCTS_MIXED = True


def instincts_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", nargs="?", default="show", choices=tuple(_VERBS), metavar="VERB",
                        help="one of: " + ", ".join(_VERBS))  # fmt: skip
    parser.add_argument("words", nargs="*", metavar="WORD", help="the rule to add, or the id of an instinct")
    about = parser.add_argument_group("add")
    about.add_argument("--scope", choices=SCOPES, metavar="SCOPE", help="where it holds: " + ", ".join(SCOPES))
    about.add_argument("--category", metavar="WORD", help="its topic, such as " + ", ".join(CATEGORIES))
    about.add_argument("--source", metavar="TEXT", help="what it was learned from")
    about.add_argument("--how", choices=tuple(ORIGINS), metavar="HOW",
                       help="how it was learned, and with that how sure it is: " + ", ".join(ORIGINS))  # fmt: skip
    about.add_argument("--tag", action="append", metavar="TAG", help="repeat it, or separate tags by commas")
    adjust = parser.add_argument_group("review")
    adjust.add_argument("--reinforce", action="store_true", help="it was confirmed")
    adjust.add_argument("--contradict", action="store_true", help="something spoke against it")
    adjust.add_argument("--set", type=number, metavar="0..1", help="how sure it is, as of today")
    away = parser.add_argument_group("prune and promote")
    away.add_argument("--stale", action="store_true", help="prune also what nobody confirmed for 90 days")
    away.add_argument("--dry-run", action="store_true", help="show what would be pruned, and do nothing")
    away.add_argument("--yes", action="store_true", help="prune without being asked; keep the note of a promotion")


def run_instincts(desk: Desk) -> int:
    verb = desk.args.verb
    _check_options(desk.args, verb)
    with desk.open() as lore:
        return _VERBS[verb](desk, lore.instincts)


def _check_options(args: argparse.Namespace, verb: str) -> None:
    """An option of another verb would be silently without effect."""
    for option, verbs in _OPTIONS.items():
        if getattr(args, option) not in (None, False) and verb not in verbs:
            flag = "--" + option.replace("_", "-")
            raise InvalidInput(f"{flag} does not belong to {verb}", f"it belongs to {' and '.join(verbs)}")
    if args.words and verb in ("show", "prune"):
        raise InvalidInput(f"{verb} takes no words", f"swarmlore instincts {verb}")


def _show(desk: Desk, instincts: Instincts) -> int:
    shelf = instincts.show()
    return desk.show(lambda: _shelf(shelf), lambda page: render_instincts.shelf(shelf, page))


def _add(desk: Desk, instincts: Instincts) -> int:
    args = desk.args
    rule = " ".join(args.words)
    if not rule.strip():
        raise InvalidInput("there is no rule", 'say it: swarmlore instincts add "RULE"')
    facts = {"scope": args.scope, "category": args.category, "source": args.source, "origin": args.how}
    path = instincts.show().path
    made = "" if os.path.exists(path) else os.path.relpath(path, desk.folder)
    told = instincts.add(
        rule, **{name: value for name, value in facts.items() if value is not None}, tags=items(args.tag)
    )
    document = {**plain(told), "held": _held(told.held), "contradicted": [_held(one) for one in told.contradicted]}
    return desk.show(lambda: document, lambda page: render_instincts.added_instinct(told, page, made))


def _review(desk: Desk, instincts: Instincts) -> int:
    args = desk.args
    changes: list[Callable[[str], Held]] = []
    changes += [instincts.reinforce] if args.reinforce else []
    changes += [instincts.contradict] if args.contradict else []
    changes += [lambda ref: instincts.rate(ref, args.set)] if args.set is not None else []
    if not changes and not args.words:
        shelf = instincts.show()
        return desk.show(lambda: _shelf(shelf), lambda page: render_instincts.review(shelf, page))
    if not changes and len(args.words) == 1:
        found = instincts.find(args.words[0])
        return desk.show(lambda: _held(found), lambda page: render_instincts.one(found, page))
    if len(changes) != 1 or len(args.words) != 1:
        hint = "swarmlore instincts review ID with one of --reinforce, --contradict, --set 0.7"
        raise InvalidInput("one instinct and one change at a time", hint)
    held = changes[0](args.words[0])
    return desk.show(lambda: _held(held), lambda page: render_instincts.adjusted(held, page))


def _promote(desk: Desk, instincts: Instincts) -> int:
    args = desk.args
    if not args.words and not args.yes:
        notes = instincts.proposals()
        return desk.show(lambda: {"proposals": plain(notes)}, lambda page: render_instincts.proposed(notes, page))
    if len(args.words) != 1:
        raise InvalidInput("promote one instinct at a time", "swarmlore instincts promote ID")
    meant = instincts.proposal(args.words[0])  # nobody is asked about one that is not there, or not ready
    desk.confirm(f"Keep {meant.instinct.id} as a note for every project?\n  {meant.title}\n  {meant.text}\n")
    note, told = instincts.promote(meant.instinct.id)
    document = {"note": plain(note), "memory": plain(told.memory), "outcome": told.outcome, "path": told.path}
    return desk.show(lambda: document, lambda page: render_instincts.promoted(note, told, page))


def _prune(desk: Desk, instincts: Instincts) -> int:
    args = desk.args
    gone = instincts.prune(stale=args.stale, dry_run=True)
    if gone and not args.dry_run:
        names = "".join(f"\n  {held.instinct.id}  {held.instinct.rule}" for held in gone)
        desk.confirm(f"Remove these?{names}\n")
        gone = instincts.prune(stale=args.stale)
    return desk.show(
        lambda: {"pruned": [_held(held) for held in gone], "dry_run": args.dry_run},
        lambda page: render_instincts.pruned(gone, page, dry_run=args.dry_run),
    )


def _shelf(shelf: Shelf) -> dict[str, Any]:
    problems = [{"line": line, "reason": why} for line, why in shelf.problems]
    return {"path": shelf.path, "instincts": [_held(held) for held in shelf.held], "problems": problems}


def _held(held: Held) -> dict[str, Any]:
    """One instinct as one object; `confidence` is what is left of it, `written` what its file says."""
    told: dict[str, Any] = {**plain(held.instinct), "written": held.instinct.confidence}
    return {**told, **{name: value for name, value in plain(held).items() if name != "instinct"}}


_VERBS: dict[str, Callable[[Desk, Any], int]] = {
    "show": _show,
    "add": _add,
    "review": _review,
    "promote": _promote,
    "prune": _prune,
}
_OPTIONS = {
    **dict.fromkeys(("scope", "category", "source", "how", "tag"), ("add",)),
    **dict.fromkeys(("reinforce", "contradict", "set"), ("review",)),
    **dict.fromkeys(("stale", "dry_run"), ("prune",)),
    "yes": ("prune", "promote"),
}
