"""phase: which phase the project is in; begin one, or complete it."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.domain.language.display import choices_hint
from swarmlore.errors import InvalidInput
from swarmlore.surfaces import render_life
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore phase", 'swarmlore phase start "Phase 2: build the importer"', "swarmlore phase complete")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", default="", metavar="ACTION", help="start or complete; nothing shows it")
    parser.add_argument("words", nargs="*", metavar="NAME", help="what the phase is called")


def run(desk: Desk) -> int:
    action, name = desk.args.action, " ".join(desk.args.words)
    if action not in ("", "start", "complete") or (name and action != "start"):
        raise _unclear(action)
    with desk.open() as lore:
        if action == "complete":
            swept = lore.complete_phase()
            return desk.show(lambda: plain(swept), lambda page: render_life.swept(swept, page))
        if action == "start":
            begun = lore.start_phase(name)
            return desk.show(lambda: plain(begun), lambda page: render_life.begun(begun, page))
        now, before = lore.phase(), lore.phases()
        return desk.show(
            lambda: {"phase": plain(now), "phases": plain(before)},
            lambda page: render_life.phase(now, before, page),
        )


def _unclear(action: str) -> InvalidInput:
    hint = 'swarmlore phase, phase start "NAME", or phase complete'
    if action == "complete":
        return InvalidInput("complete takes no name: it ends the phase that goes on", hint)
    return InvalidInput(f"phase has no action {action!r}", f"{choices_hint(action, ('start', 'complete'))}; {hint}")
