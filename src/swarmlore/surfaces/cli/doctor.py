"""doctor: is everything healthy? Exit code 1 where a check fails; a warning is no failure."""

from __future__ import annotations

import argparse

from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.documents import plain

EXAMPLES = ("swarmlore doctor",)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing of its own."""


def run(desk: Desk) -> int:
    with desk.open() as lore:
        checks = lore.doctor()
    failed = any(check.state == "fail" for check in checks)
    desk.show(lambda: {"healthy": not failed, "checks": plain(checks)}, lambda page: render.checks(checks, page))
    return 1 if failed else 0
