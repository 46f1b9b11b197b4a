"""phase: which phase the project is in; begin one, or complete it."""

from __future__ import annotations

import argparse

from swarmlore.errors import InvalidInput
from swarmlore.surfaces import render_life
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.documents import plain

EXAMPLES = ("swarmlore phase", 'swarmlore phase start "Phase 2: build the importer"', "swarmlore phase complete")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", default="", metavar="ACTION", help="start or complete; nothing shows it")
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="what the phase is called")


def run(desk: Desk) -> int:
    action, name = desk.args.action, desk.args.name
    if action not in ("", "start", "complete") or (name and action != "start"):
        raise InvalidInput(f"phase {action} {name}".rstrip(), 'swarmlore phase, phase start "NAME", or phase complete')
    with desk.open() as lore:
        if action == "complete":
            swept = lore.complete_phase()
            return desk.show(lambda: plain(swept), lambda page: render_life.swept(swept, page))
        if action == "start":
            begun = lore.start_phase(name)
            return desk.show(lambda: {"phase": plain(begun)}, lambda page: render_life.phase(begun, (), page))
        now, before = lore.phase(), lore.phases()
        return desk.show(
            lambda: {"phase": plain(now), "phases": plain(before)},
            lambda page: render_life.phase(now, before, page),
        )
