"""Commands `doctor`, `reindex`, `backup`, `restore-backup`, `migrate-store`, `project` and `config`.

`config` works without a store, so that a wrong setting can be corrected.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator

from swarmlore import config
from swarmlore.cli.console import Console
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


def run_doctor(console: Console) -> int:
    mended = _mend(console) if console.args.fix else ()
    checks = (*mended, *(_of_server(console) if console.asks_server else _of_home(console)))
    failed = any(check.state == "fail" for check in checks)
    console.show(lambda: {"healthy": not failed, "checks": plain(checks)}, lambda page: memories.checks(checks, page))
    return 1 if failed else 0


def _mend(console: Console) -> tuple[Check, ...]:
    """Repair entries that an earlier release wrote into the files of clients, as `install` does."""
    import swarmlore
    from swarmlore.cli.commands.clients import apply_plan
    from swarmlore.clients import every_client
    from swarmlore.clients.install import manifest
    from swarmlore.clients.install.locations import for_person
    from swarmlore.clients.install.plan import plan_install

    home = console.home_folder
    kept = manifest.read(home)
    clients, now = every_client(), round(time.time(), 3)
    plan = plan_install(for_person(home, os.environ, ""), clients, kept, swarmlore.__version__, now, mend=True)
    if plan.changes:
        apply_plan(plan, home, kept)
    return tuple(Check("client", "ok", note) for note in plan.notes)


def _of_home(console: Console) -> tuple[Check, ...]:
    with console.open() as lore:
        return (*lore.doctor(), *_clients(lore))


def _of_server(console: Console) -> tuple[Check, ...]:
    """Check the connection to the server, and the clients of this machine; not the server's own health."""
    from swarmlore.server.client.remote_lore import checks, server_state

    with console.ask_server() as lore:
        state = server_state(lore)
        found = tuple(checks(lore, state, time.time()))
        return (*found, *_clients(lore)) if state["token_holds"] else found  # type: ignore[arg-type]


def _clients(lore: Lore) -> Iterator[Check]:
    """Yield a check per client: installed, not installed, or what is left to do so that its hooks work."""
    from swarmlore.cli.commands.clients import clients_of

    to_do: dict[str, list[str]] = {}  # each thing to do, with the titles of the clients it is for
    for found in clients_of(lore):
        unread = any(level.problems for level in found.levels)  # cannot tell whether it is installed
        if (found.installed or unread) and found.to_do:
            to_do.setdefault(found.to_do[0], []).append(found.title)
        elif found.installed:
            yield Check("client", "ok", f"{found.title}: installed")
        elif found.found:
            yield Check("client", "ok", f"{found.title}: not installed; swarmlore install {found.client} does that")
    for text, titles in to_do.items():
        prefix = "" if titles[0] in text else f"{', '.join(titles)}: "
        yield Check("client", "warn", prefix + text, "swarmlore status tells more")


REINDEX_EXAMPLES = ("swarmlore reindex",)


def reindex_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the command takes only the shared options."""


def run_reindex(console: Console) -> int:
    with console.open() as lore:
        with console.progress("indexing") as indexing, console.progress("embedding") as embedding:
            counts = lore.reindex(embedding, indexing)
        return console.show(lambda: counts, lambda page: memories.reindexed(counts, page))


BACKUP_EXAMPLES = ("swarmlore backup", "swarmlore backup /mnt/disk/lore.db")


def backup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="else a dated file in the home's backups")


def run_backup(console: Console) -> int:
    with console.open() as lore:
        made = lore.backup(console.args.path)
        return console.show(lambda: plain(made), lambda page: memories.backed_up(made, page))


RESTORE_BACKUP_EXAMPLES = ("swarmlore restore-backup lore-20250102T030405Z.db",)


def restore_backup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file that backup wrote")
    parser.add_argument("--yes", action="store_true", help="without asking")


def run_restore_backup(console: Console) -> int:
    console.confirm(f"Replace the store by {console.args.path}? What is there now is kept in a file of its own.")
    restored, kept = Lore.restore_backup(console.args.path, console.home)
    return console.show(
        lambda: {"restored": plain(restored), "kept": kept}, lambda page: memories.restored(restored, kept, page)
    )


MIGRATE_STORE_EXAMPLES = (
    "swarmlore migrate-store postgresql://ada@db.example/team",
    "swarmlore migrate-store ~/lore-copy",
)


def migrate_store_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="postgresql://… of a server, or a folder for a file")


def run_migrate_store(console: Console) -> int:
    where = without_password(console.args.target)
    with console.open() as lore, console.progress("copying") as progress:
        try:
            result = lore.migrate_store(console.args.target, progress)
        except KeyboardInterrupt:
            console.note("stopped; what was copied stays there. The same command goes on from here")
            raise
        left = lore.waiting_jobs()
        jobs, (mail, _) = sum(left.values()), lore.count_inbox()
    console.show(
        lambda: {
            "target": where,
            "written": result.written,
            "known": result.known,
            "different": list(result.different),
            "digest": result.digest,
            "jobs_left": jobs,
            "mail_left": mail,
        },
        lambda page: memories.migrated(result.written, result.known, result.digest, where, page),
    )
    if jobs or mail:
        console.note(
            f"{jobs} jobs and {mail} messages stay where they are: swarmlore worker --until-empty does the jobs"
        )
    if result.different:
        some = ", ".join(result.different[:5])
        raise Conflict(f"{len(result.different)} memories differ there: {some}", f"see one: swarmlore get {some[:36]}")
    return 0


PROJECT_EXAMPLES = (
    "swarmlore project",
    "swarmlore project --was ~/old/place/app",
    "swarmlore project --not github.com/acme/app",
)


def project_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--was", default="", metavar="NAME", help="it was this folder, address or id before")
    parser.add_argument("--not", default="", dest="was_not", metavar="NAME", help="it was not: take the name away")


def run_project(console: Console) -> int:
    args = console.args
    if args.was and args.was_not:
        raise InvalidInput("--was and --not at once", "one after the other")
    with console.open() as lore:
        known = lore.join(args.was) if args.was else lore.part(args.was_not) if args.was_not else lore.identity()
        return console.show(lambda: plain(known), lambda page: memories.project(known, page))


CONFIG_EXAMPLES = (
    "swarmlore config",
    "swarmlore config knowledge",
    "swarmlore config recall.limit 8",
    "swarmlore config store postgresql://ada@db.example/team",
)


def config_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", nargs="?", default="", metavar="KEY", help="a setting, or a section")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="what to set it to, in config.toml of the home")


def run_config(console: Console) -> int:
    if console.args.value is not None:
        return _set(console)
    found = _find(_load(console).values(), console.args.key)
    if len(found) == 1 and found[0].name == console.args.key:
        return console.show(lambda: plain(found[0]), lambda page: memories.setting(found[0], page))
    return console.show(lambda: {"settings": plain(found)}, lambda page: memories.settings(found, page))


def _find(values: list[Value], key: str) -> list[Value]:
    found = [value for value in values if not key or key in (value.name, value.name.partition(".")[0])]
    if not found:
        raise ConfigError(f"unknown setting {key}", "swarmlore config lists all of them")
    return found


def _set(console: Console) -> int:
    key = config.SHORT.get(console.args.key, console.args.key)
    if key == "store.url" and console.args.value:
        _try_store(console.args.value)
    path = config.write_value(console.home_folder, key, console.args.value)
    now = _find(_load(console).values(), key)[0]
    console.show(lambda: plain(now), lambda page: memories.setting_written(now, path, page))
    if now.origin != path and not console.json:
        console.note(f"{now.origin} is stronger than {path}")
    return 0


def _try_store(url: str) -> None:
    """Connect to a PostgreSQL store once, which also creates its tables; an address that fails is not saved."""
    from swarmlore.store.store import Store

    if not url.startswith(("postgresql://", "postgres://")):
        raise ConfigError("that is no address of a store", "postgresql://USER:PASSWORD@HOST/DATABASE, or '' for a file")
    Store.connect(url, round(time.time(), 3)).close()


def _load(console: Console) -> Settings:
    return config.load(console.home_folder, find_project(console.folder).root, os.environ)
