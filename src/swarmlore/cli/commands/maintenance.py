"""config: settings with their origins; works without a store, so that a wrong setting can be mended."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator

from swarmlore import config
from swarmlore.cli.console import Desk
from swarmlore.cli.render import memories
from swarmlore.config import Settings, Value
from swarmlore.domain.json_codec import plain
from swarmlore.domain.language.display import without_password
from swarmlore.domain.records import Check
from swarmlore.errors import ConfigError, Conflict, InvalidInput
from swarmlore.lore import Lore
from swarmlore.workspace.project import find_project

DOCTOR_EXAMPLES = ("swarmlore doctor", "swarmlore doctor --fix")


def doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="mend entries that stop a client once swarmlore is gone")


def run_doctor(desk: Desk) -> int:
    mended = _mend(desk) if desk.args.fix else ()
    checks = (*mended, *(_of_server(desk) if desk.asks_server else _of_home(desk)))
    failed = any(check.state == "fail" for check in checks)
    desk.show(lambda: {"healthy": not failed, "checks": plain(checks)}, lambda page: memories.checks(checks, page))
    return 1 if failed else 0


def _mend(desk: Desk) -> tuple[Check, ...]:
    """Mend what an earlier release wrote into the files of clients, as `install` does."""
    import swarmlore
    from swarmlore.cli.commands.clients import apply_plan, home_of
    from swarmlore.clients import every_client
    from swarmlore.clients.install import manifest
    from swarmlore.clients.install.locations import for_person
    from swarmlore.clients.install.plan import plan_install

    home = home_of(desk)
    kept = manifest.read(home)
    clients, now = every_client(), round(time.time(), 3)
    plan = plan_install(for_person(home, os.environ, ""), clients, kept, swarmlore.__version__, now, mend=True)
    if plan.changes:
        apply_plan(plan, home, kept)
    return tuple(Check("client", "ok", note) for note in plan.notes)


def _of_home(desk: Desk) -> tuple[Check, ...]:
    with desk.open() as lore:
        return (*lore.doctor(), *_clients(lore))


def _of_server(desk: Desk) -> tuple[Check, ...]:
    """The way to the server, and what this machine has to do with it; the server's own health is for its machine."""
    from swarmlore.server.client.remote_lore import checks, standing

    with desk.ask_server() as lore:
        told = standing(lore)
        found = tuple(checks(lore, told, time.time()))
        return (*found, *_clients(lore)) if told["token_holds"] else found  # type: ignore[arg-type]


def _clients(lore: Lore) -> Iterator[Check]:
    """Whether the hooks that were installed can reach us."""
    from swarmlore.cli.commands.clients import clients_of

    left: dict[str, list[str]] = {}  # what is to be done, and for which clients
    for found in clients_of(lore):
        unread = any(level.problems for level in found.levels)  # what is in the way of seeing whether it is installed
        if (found.installed or unread) and found.to_do:
            left.setdefault(found.to_do[0], []).append(found.title)
        elif found.installed:
            yield Check("client", "ok", f"{found.title}: installed")
        elif found.found:
            yield Check("client", "ok", f"{found.title}: not installed; swarmlore install {found.client} does that")
    for said, titles in left.items():
        whose = "" if titles[0] in said else f"{', '.join(titles)}: "
        yield Check("client", "warn", whose + said, "swarmlore status tells more")


REINDEX_EXAMPLES = ("swarmlore reindex",)


def reindex_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing of its own."""


def run_reindex(desk: Desk) -> int:
    with desk.open() as lore:
        with desk.progress("indexing") as indexing, desk.progress("embedding") as embedding:
            counts = lore.reindex(embedding, indexing)
        return desk.show(lambda: counts, lambda page: memories.reindexed(counts, page))


BACKUP_EXAMPLES = ("swarmlore backup", "swarmlore backup /mnt/disk/lore.db")


def backup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="else a dated file in the home's backups")


def run_backup(desk: Desk) -> int:
    with desk.open() as lore:
        made = lore.backup(desk.args.path)
        return desk.show(lambda: plain(made), lambda page: memories.backed_up(made, page))


RESTORE_BACKUP_EXAMPLES = ("swarmlore restore-backup lore-20250102T030405Z.db",)


def restore_backup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file that backup wrote")
    parser.add_argument("--yes", action="store_true", help="without asking")


def run_restore_backup(desk: Desk) -> int:
    desk.confirm(f"Replace the store by {desk.args.path}? What is there now is kept in a file of its own.")
    restored, kept = Lore.restore_backup(desk.args.path, desk.home)
    return desk.show(
        lambda: {"restored": plain(restored), "kept": kept}, lambda page: memories.restored(restored, kept, page)
    )


MIGRATE_STORE_EXAMPLES = (
    "swarmlore migrate-store postgresql://ada@db.example/team",
    "swarmlore migrate-store ~/lore-copy",
)


def migrate_store_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="postgresql://… of a server, or a folder for a file")


def run_migrate_store(desk: Desk) -> int:
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
        lambda page: memories.migrated(told.written, told.known, told.digest, where, page),
    )
    if jobs or mail:
        desk.note(f"{jobs} jobs and {mail} messages stay where they are: swarmlore worker --until-empty does the jobs")
    if told.different:
        some = ", ".join(told.different[:5])
        raise Conflict(f"{len(told.different)} memories differ there: {some}", f"see one: swarmlore get {some[:36]}")
    return 0


PROJECT_EXAMPLES = (
    "swarmlore project",
    "swarmlore project --was ~/old/place/app",
    "swarmlore project --not github.com/acme/app",
)


def project_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--was", default="", metavar="NAME", help="it was this folder, address or id before")
    parser.add_argument("--not", default="", dest="was_not", metavar="NAME", help="it was not: take the name away")


def run_project(desk: Desk) -> int:
    args = desk.args
    if args.was and args.was_not:
        raise InvalidInput("--was and --not at once", "one after the other")
    with desk.open() as lore:
        known = lore.join(args.was) if args.was else lore.part(args.was_not) if args.was_not else lore.identity()
        return desk.show(lambda: plain(known), lambda page: memories.project(known, page))


CONFIG_EXAMPLES = (
    "swarmlore config",
    "swarmlore config knowledge",
    "swarmlore config recall.limit 8",
    "swarmlore config store postgresql://ada@db.example/team",
)


def config_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", nargs="?", default="", metavar="KEY", help="a setting, or a section")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="what to set it to, in config.toml of the home")


def run_config(desk: Desk) -> int:
    if desk.args.value is not None:
        return _set(desk)
    found = _find(_load(desk).values(), desk.args.key)
    if len(found) == 1 and found[0].name == desk.args.key:
        return desk.show(lambda: plain(found[0]), lambda page: memories.setting(found[0], page))
    return desk.show(lambda: {"settings": plain(found)}, lambda page: memories.settings(found, page))


def _find(values: list[Value], key: str) -> list[Value]:
    found = [value for value in values if not key or key in (value.name, value.name.partition(".")[0])]
    if not found:
        raise ConfigError(f"unknown setting {key}", "swarmlore config lists all of them")
    return found


def _set(desk: Desk) -> int:
    key = config.SHORT.get(desk.args.key, desk.args.key)
    if key == "store.url" and desk.args.value:
        _try_store(desk.args.value)
    path = config.write_value(_home(desk), key, desk.args.value)
    now = _find(_load(desk).values(), key)[0]
    desk.show(lambda: plain(now), lambda page: memories.setting_written(now, path, page))
    if now.origin != path and not desk.json:
        desk.note(f"{now.origin} is stronger than {path}")
    return 0


def _try_store(url: str) -> None:
    """Open a team's store once, which also makes it; an address that does not work is not kept."""
    import time

    from swarmlore.store.store import Store

    if not url.startswith(("postgresql://", "postgres://")):
        raise ConfigError("that is no address of a store", "postgresql://USER:PASSWORD@HOST/DATABASE, or '' for a file")
    Store.connect(url, round(time.time(), 3)).close()


def _load(desk: Desk) -> Settings:
    return config.load(_home(desk), find_project(desk.folder).root, os.environ)


def _home(desk: Desk) -> str:
    return os.path.abspath(desk.home) if desk.home else config.home_dir(os.environ)
