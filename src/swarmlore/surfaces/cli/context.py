"""context: `.agents/MEMORY.md`, what every session of a project begins with."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_context
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.workspace.files import Change

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.notes.project_memory.memory_file import NoteDraft, Planned
    from swarmlore.notes.project_memory.transfer import Context

EXAMPLES = (
    "swarmlore context",
    'swarmlore context add "Staging is reset every night" --section environment',
    "swarmlore context check",
    "swarmlore context reference",
)
MIXED = True


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", nargs="?", default="show", choices=tuple(_VERBS), metavar="VERB",
                        help="one of: " + ", ".join(_VERBS))  # fmt: skip
    parser.add_argument("words", nargs="*", metavar="WORD", help="the entry to add")
    parser.add_argument("--section", metavar="NAME", help="add: where it belongs; the beginning of a word is enough")
    parser.add_argument("--yes", action="store_true", help="do it without being asked")


def run(desk: Desk) -> int:
    args = desk.args
    if args.verb != "add" and (args.words or args.section is not None):
        raise InvalidInput(f"{args.verb} takes no words and no --section", f"swarmlore context {args.verb}")
    if args.verb in ("show", "check") and args.yes:
        raise InvalidInput(f"--yes does not belong to {args.verb}", "it belongs to add and reference")
    with desk.open() as lore:
        return _VERBS[args.verb](desk, lore.context)


def _show(desk: Desk, context: Context) -> int:
    shown = context.show()
    return desk.show(lambda: plain(shown), lambda page: render_context.shown(shown, page))


def _add(desk: Desk, context: Context) -> int:
    text, section = " ".join(desk.args.words), desk.args.section
    if not text.strip() or not section:
        hint = 'swarmlore context add "TEXT" --section Testing'
        raise InvalidInput("an entry has a text and a section", hint)
    planned = context.plan(section, text)
    if planned.against and planned.outcome == "added":
        said = "".join(f"\n  {line.path}:{line.line}  {line.text}" for line in planned.against)
        if desk.can_ask or desk.args.yes:
            desk.confirm(f"This speaks against what is written:{said}\nAdd it all the same?")
            planned = context.add(section, text)
    else:
        planned = context.add(section, text)
    return desk.show(lambda: _planned(planned), lambda page: render_context.planned(planned, page))


def _check(desk: Desk, context: Context) -> int:
    checked = context.check()
    document = {**plain(checked), "drafts": [_draft(draft) for draft in checked.drafts], "sound": checked.sound}
    desk.show(lambda: document, lambda page: render_context.checked(checked, page))
    return 0 if checked.sound else 1


def _reference(desk: Desk, context: Context) -> int:
    changes = context.plan_reference()
    written = False
    if changes and (desk.can_ask or desk.args.yes):
        desk.note("\n".join(change.diff for change in changes))
        desk.confirm("Add this?")
        context.refer()
        written = True
    document = {"changes": [_change(change) for change in changes], "written": written}
    return desk.show(
        lambda: document, lambda page: render_context.reference(changes, page, written=written), whole=True
    )


def _planned(planned: Planned) -> dict[str, Any]:
    told = {name: value for name, value in plain(planned).items() if name not in ("change", "drafts")}
    return {**told, **_change(planned.change), "drafts": [_draft(draft) for draft in planned.drafts]}


def _draft(draft: NoteDraft) -> dict[str, Any]:
    told = {"entries": plain(draft.entries), "title": draft.title, "pointer": draft.pointer}
    return {**told, **_change(draft.change)}


def _change(change: Change) -> dict[str, str]:
    return {"path": change.path, "diff": change.diff}


_VERBS: dict[str, Callable[[Desk, Any], int]] = {
    "show": _show,
    "add": _add,
    "check": _check,
    "reference": _reference,
}
