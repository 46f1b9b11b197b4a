"""migrate-store: everything into another store, compared afterwards."""

from __future__ import annotations

import argparse

from swarmlore.domain.language.display import without_password
from swarmlore.errors import Conflict
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = (
    "swarmlore migrate-store postgresql://ada@db.example/team",
    "swarmlore migrate-store ~/lore-copy",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="postgresql://… of a server, or a folder for a file")


def run(desk: Desk) -> int:
    where = without_password(desk.args.target)
    with desk.open() as lore, desk.progress("copying") as progress:
        try:
            told = lore.migrate_store(desk.args.target, progress)
        except KeyboardInterrupt:
            desk.note("stopped; what was copied stays there. The same command goes on from here")
            raise
        left = lore.waiting_jobs()
        jobs, (mail, _) = sum(left.values()), lore.count_inbox()
    desk.show(
        lambda: {
            "target": where,
            "written": told.written,
            "known": told.known,
            "different": list(told.different),
            "digest": told.digest,
            "jobs_left": jobs,
            "mail_left": mail,
        },
        lambda page: render.migrated(told.written, told.known, told.digest, where, page),
    )
    if jobs or mail:
        desk.note(f"{jobs} jobs and {mail} messages stay where they are: swarmlore worker --until-empty does the jobs")
    if told.different:
        some = ", ".join(told.different[:5])
        raise Conflict(f"{len(told.different)} memories differ there: {some}", f"see one: swarmlore get {some[:36]}")
    return 0
