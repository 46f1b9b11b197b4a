"""The base of the store: named SQL, migrations, partitions (who may see which rows), and operations with their audit
rows."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from swarmlore.domain.json_codec import memory_to_dict
from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import StoreError, StoreLost, StoreTooNew
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.files import make_folder

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from swarmlore.store.engine import Engine, Row

    T = TypeVar("T")

SQL_DIR = os.path.join(os.path.dirname(__file__), "sql")
_MARK = "-- name: "


def parse(text: str) -> dict[str, str]:
    """Split a .sql file into its statements by name."""
    queries: dict[str, str] = {}
    for block in text.split(_MARK)[1:]:
        name, _, body = block.partition("\n")
        queries[name.strip()] = body.strip()
    return queries


@cache
def load(engine: str) -> dict[str, str]:
    """Return every statement of an engine by name; its own override the common ones."""
    return {**parse(_read("common.sql")), **parse(_read(f"{engine}.sql"))}


def migrations(engine: str) -> list[tuple[int, str, str]]:
    """Return (number, name, script) of every migration of an engine, in order."""
    folder = os.path.join(SQL_DIR, "migrations", engine)
    names = sorted(name for name in os.listdir(folder) if name.endswith(".sql"))
    return [(int(name[:4]), name[5:-4], _read(os.path.join("migrations", engine, name))) for name in names]


def _read(name: str) -> str:
    with open(os.path.join(SQL_DIR, name), encoding="utf-8") as file:
        return file.read()


HIVE = ("hive", "", "")
OF_ITS_PROJECT = ("session_summary", "task_completion")  # sources whose memories other projects never see
PAUSES_S = (0.1, 0.2, 0.3, 0.5, *(1.0,) * 4, *(2.0,) * 7)  # before each retry: a server's restart takes seconds


@frozen
class Operation:
    """One audited transaction of a caller; its audit rows can be undone together."""

    id: str
    at: float
    caller: Caller
    verb: str
    reason: str = ""
    undoes: str = ""


class StoreBase:
    """Runs named statements, decides which partitions a caller sees, and records operations."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._sql = load(engine.name)
        self._partitions: dict[tuple[str, str, str], int] = {}
        self._data_version = -1
        self._seen_undone = 0  # the engine's count of rollbacks at the last look
        self._recorded = ""  # id of the operation recorded last
        self._acting: tuple[Caller, bool] | None = None
        self._afterwards: dict[object, Callable[[], object]] | None = None  # callbacks for the end of the open group
        self._undone: dict[object, Callable[[], object]] = {}  # callbacks that failed, for the next group
        self._job = ""  # id of the job being run, for the audit
        self._joining: dict[str, tuple[tuple[str, ...], float]] = {}  # new project aliases, not written yet
        self.leaving = threading.Event()  # once set, nothing waits for an unreachable database
        self.hive = True  # False: the hive is neither read nor written

    def ask(self, statement: str, /, **params: Any) -> list[Row]:
        """Run a named statement and return its rows; `:name` takes a value, `IN (:list:name)` a list."""
        return self.engine.run(self._sql[statement], params)

    def note(self, statement: str, /, **params: Any) -> None:
        """Run a named statement whose rows are not needed; it may be sent together with the next one."""
        self.engine.note(self._sql[statement], params)

    def prove(self, statement: str, /, **params: Any) -> None:
        """Name a query that finds a row only the open transaction wrote; it decides the outcome of a lost commit."""
        self.engine.prove(self._sql[statement], params)

    def ask_many(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        """Run a named statement once for each row of parameters."""
        if rows:
            self.engine.run_many(self._sql[name], rows)

    def partition_of(self, memory: Memory) -> int:
        """Return the partition of a memory; add it if it is new."""
        return self.partition_at(place_of(memory.tier, memory.project, memory.owner))

    def partition_at(self, place: tuple[str, str, str]) -> int:
        """Return the partition of a (tier, project, owner); add it if it is new."""
        if self._seen_undone != self.engine.undone:  # a partition added in a transaction that was rolled back is gone
            self._seen_undone = self.engine.undone
            self._partitions.clear()
        if place not in self._partitions:
            values = dict(zip(("tier", "project", "owner"), place, strict=True))
            rows = self.ask("find_partition", **values)
            if not rows:
                self.ask("add_partition", **values)
                rows = self.ask("find_partition", **values)
            self._partitions[place] = int(rows[0][0])
        return self._partitions[place]

    def visible(self, caller: Caller, tiers: Sequence[str] = (), *, all_projects: bool = False) -> list[int]:
        """Return the partitions a caller sees; `all_projects` adds, for a person, other projects' shared ones."""
        wide = all_projects and caller.role == "person"
        self.act_for(caller, wide=wide)
        name = "every_shared_partition" if wide else "visible_partitions"
        narrow = {} if wide else {"projects": self._own_names(caller.project)}
        partitions = [
            (int(id), tier) for id, tier in self.ask(name, agent=caller.agent, **narrow) if self.hive or tier != "hive"
        ]
        return [id for id, tier in partitions if not tiers or tier in tiers]

    def join_projects(self, names: Sequence[str], now: float) -> str:
        """Treat all these names, strongest first, as one project from now on; return the name its rows are stored
        under.

        Nothing is written here, so that a read stays a read: the next operation stores the names.
        """
        known = {str(alias): str(project) for alias, project in self.ask("aliases_of", names=list(names))}
        roots = [known.get(name, name) for name in names if name in known or name in known.values()]
        root = roots[0] if roots else names[0]
        if fresh := tuple(dict.fromkeys(name for name in (*names, *roots) if name != root and known.get(name) != root)):
            self._joining[root] = (fresh, now)
        return root

    def part_projects(self, alias: str) -> bool:
        """Remove a project alias; return whether it existed."""
        with self.engine.writing():
            known = bool(self.ask("aliases_of", names=[alias]))
            self.ask("drop_alias", alias=alias)
        return known

    def names_of(self, project: str) -> list[str]:
        """Return every name under which a project's rows may be stored."""
        own = self._own_names(project)
        found = self.ask("aliases_of", names=own)
        return list(dict.fromkeys((*own, *(str(alias) for alias, root in found if root in own))))

    def is_of_here(self, caller: Caller, memory: Memory) -> bool:
        """Return whether this project may show a memory. Automatic session and task summaries stay in their project:
        the agent works in several, and the words may be a customer's."""
        if memory.source not in OF_ITS_PROJECT or memory.project == caller.project:
            return True
        return memory.project in self.names_of(caller.project)

    def _own_names(self, project: str) -> list[str]:
        """Return the project's name and its new aliases that are not stored yet."""
        fresh, _ = self._joining.get(project, ((), 0.0))
        return [project, *fresh]

    def _keep_names(self) -> None:
        """Store the project aliases learned since the last operation."""
        for root, (fresh, at) in self._joining.items():
            for name in fresh:
                self.ask("move_aliases", project=root, former=name)
                self.ask("put_alias", alias=name, project=root, at=at)
        self._joining.clear()

    @contextmanager
    def queueing(self) -> Iterator[None]:
        """Context manager: a transaction for mail and jobs; it stores new project aliases too."""
        joining = dict(self._joining)
        try:
            with self.engine.queueing():
                if self._joining:
                    self._keep_names()
                yield
        except BaseException:
            self._joining = joining
            raise

    def act_for(self, caller: Caller, *, wide: bool = False) -> None:
        """Set the caller whose visibility a database with row-level security applies from now on."""
        self._acting = (caller, wide)
        self.engine.act_for(caller, self._own_names(caller.project), wide=wide)

    @contextmanager
    def working(self, *, team: bool = False) -> Iterator[None]:
        """Context manager: see the job queue with worker rights (own login's jobs, or the team's)."""
        before = self._acting
        who = before[0] if before else Caller()
        self.engine.act_for(who, self._own_names(who.project), works="team" if team else "own")
        try:
            yield
        finally:
            self.engine.act_for(who, self._own_names(who.project), wide=bool(before and before[1]))

    @contextmanager
    def operation(self, operation: Operation, *, durable: bool = True) -> Iterator[Operation]:
        """Context manager: one write transaction for one operation; rolled back on an error."""
        recorded, joining = self._recorded, dict(self._joining)
        before = self._acting or (operation.caller, False)
        self.act_for(operation.caller)
        try:
            with self.engine.writing(durable=durable):
                self._check_partitions()
                if self._joining:
                    self._keep_names()
                yield operation
        except BaseException:
            self._recorded, self._joining = recorded, joining
            self._partitions.clear()  # a partition added in this transaction is gone
            raise
        finally:
            self.act_for(before[0], wide=before[1])

    @contextmanager
    def together(self) -> Iterator[None]:
        """Context manager: commit several operations with one fsync; an error restores the caches."""
        recorded, joining = self._recorded, dict(self._joining)
        failed_before, outer = self._undone, self._afterwards
        self._afterwards, self._undone = dict(failed_before), {}
        try:
            with self.engine.grouping():
                yield
            callbacks = self._afterwards
        except BaseException:
            self._recorded, self._joining, self._undone = recorded, joining, failed_before
            self._partitions.clear()
            raise
        finally:
            self._afterwards = outer
        for key, work in callbacks.items():
            try:
                work()
            except StoreError:  # the group is committed; the callback is retried after the next one
                self._undone[key] = work

    def afterwards(self, key: object, work: Callable[[], object]) -> None:
        """Call a function once the current operation is committed: at once or, inside a group, at its end. Of several
        calls with one key, only the last runs."""
        if self._afterwards is None:
            work()
        else:
            self._afterwards[key] = work

    def perform(self, operation: Operation, work: Callable[[Operation], T], *, durable: bool = True) -> T:
        """Run one operation in one transaction; retry it if the connection broke before anything was committed."""

        def act() -> T:
            with self.operation(operation, durable=durable):
                return work(operation)

        return self.look(act)

    def look(self, work: Callable[[], T]) -> T:
        """Run a read and retry it if the connection broke. Inside a transaction the error is raised, as its earlier
        statements are lost as well."""
        for pause_s in (*PAUSES_S, None):
            try:
                return work()
            except StoreLost:
                if pause_s is None or self.engine.inside or self.leaving.wait(pause_s):
                    raise
        raise AssertionError  # the loop returns or raises

    def _check_partitions(self) -> None:
        """Drop the partition cache if others have written: a restore may have given a number to another partition."""
        version = self.engine.data_version()
        if version != self._data_version:
            self._data_version = version
            self._partitions.clear()

    def audit(self, operation: Operation, memory: Memory, action: str, before: Memory | None, reason: str = "") -> None:
        """Record one change of one memory in the audit rows; its operation is recorded first."""
        self.tell(operation)
        former = None if before is None else json.dumps(memory_to_dict(before), ensure_ascii=False)
        change = {"action": action, "reason": reason or operation.reason, "version": memory.version, "before": former}
        self.note("add_audit", operation=operation.id, memory=memory.id, partition=self.partition_of(memory), **change)

    def tell(self, operation: Operation) -> None:
        """Record an operation once, before its first change or although it changes no memory."""
        if operation.id == self._recorded:
            return
        values = {name: getattr(operation, name) for name in ("id", "at", "verb", "reason", "undoes")}
        who = {"by": operation.caller.agent, "project": operation.caller.project}
        self.note("add_operation", **values, **who, job=self._job)
        if operation.caller.project:  # without a project the writer itself might not see the row
            self.prove("proof_operation", id=operation.id)
        self._recorded = operation.id

    def meta(self, name: str) -> str:
        """Return a stored value by its name, '' if there is none."""
        rows = self.ask("get_meta", name=name)
        return str(rows[0][0]) if rows else ""

    def set_meta(self, name: str, value: str) -> None:
        """Store a value under a name."""
        with self.engine.writing():
            self.ask("put_meta", name=name, value=value)

    def close(self) -> None:
        self.engine.close()


def place_of(tier: str, project: str, owner: str) -> tuple[str, str, str]:
    """Return the (tier, project, owner) of a partition: an owner's private rows, a project's swarm, or the hive."""
    if tier == "hive":
        return HIVE
    if tier == "swarm":
        return ("swarm", project, "")
    if tier == "agent":
        return ("agent", project, owner)
    raise StoreError(f"unknown tier: {tier}")


def newest(engine_name: str) -> int:
    """Return the newest schema version of an engine."""
    return migrations(engine_name)[-1][0]


def migrate(engine: Engine, backup_dir: str, now: float) -> int:
    """Apply missing migrations, after backing up an SQLite store; return how many. Refuse a newer store."""
    steps = migrations(engine.name)
    version = engine.version()
    if version > steps[-1][0]:
        raise StoreTooNew(
            f"this store has schema {version}, this program knows up to {steps[-1][0]}; nothing was changed",
            "update the program: pip install -U swarmlore",
        )
    copies = backup_dir if version and not engine.remote else ""  # a new store is empty, a server has its own backups
    missing = [step for step in steps if step[0] > version]
    return sum(_apply(engine, step, "" if place else copies, now) for place, step in enumerate(missing))


def _apply(engine: Engine, step: tuple[int, str, str], backup_dir: str, now: float) -> int:
    """Apply one migration in a transaction unless another process did; return how many were applied (0 or 1)."""
    number, name, script = step
    with engine.writing():
        version = engine.version()
        if version >= number:  # another process was faster
            return 0
        if backup_dir:
            _copy_first(engine, backup_dir, version)  # under the lock: nobody writes between the copy and the migration
        engine.script(script)
        row = {"version": number, "name": name, "applied_at": now}
        engine.run(load(engine.name)["add_migration"], row)
        engine.set_version(number)
    return 1


def _copy_first(engine: Engine, backup_dir: str, version: int) -> None:
    """Back up the store before a migration."""
    make_folder(backup_dir)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    engine.copy_to(os.path.join(backup_dir, f"before-migration-{version:04d}-{stamp}.db"))
