"""Bring a store to this program's schema, one numbered step at a time."""

from __future__ import annotations

import os
import time

from swarmlore.errors import StoreTooNew
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.store import queries
from swarmlore.store.files import make_folder

if TYPE_CHECKING:
    from swarmlore.store.engine import Engine


def newest(engine_name: str) -> int:
    return queries.migrations(engine_name)[-1][0]


def migrate(engine: Engine, backup_dir: str, now: float) -> int:
    """Apply what is missing; refuse a store from a newer program untouched; return how many steps were taken."""
    steps = queries.migrations(engine.name)
    found = engine.version()
    if found > steps[-1][0]:
        raise StoreTooNew(
            f"this store has schema {found}, this program knows up to {steps[-1][0]}; nothing was changed",
            "update the program: pip install -U swarmlore",
        )
    copies = backup_dir if found and not engine.remote else ""  # a new store has nothing to copy, a server its own ways
    missing = [step for step in steps if step[0] > found]
    return sum(_apply(engine, step, "" if place else copies, now) for place, step in enumerate(missing))


def _apply(engine: Engine, step: tuple[int, str, str], backup_dir: str, now: float) -> int:
    number, name, script = step
    with engine.writing():
        found = engine.version()
        if found >= number:  # another process was faster
            return 0
        if backup_dir:
            _copy_first(engine, backup_dir, found)  # here, where nobody can write between the copy and the change
        engine.script(script)
        row = {"version": number, "name": name, "applied_at": now}
        engine.run(queries.load(engine.name)["add_migration"], row)
        engine.set_version(number)
    return 1


def _copy_first(engine: Engine, backup_dir: str, found: int) -> None:
    make_folder(backup_dir)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    engine.copy_to(os.path.join(backup_dir, f"before-migration-{found:04d}-{stamp}.db"))
