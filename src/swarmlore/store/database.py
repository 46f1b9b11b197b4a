"""Bring a store to this program's schema, one numbered step at a time."""

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
    """The statements of a file by their names."""
    queries: dict[str, str] = {}
    for block in text.split(_MARK)[1:]:
        name, _, body = block.partition("\n")
        queries[name.strip()] = body.strip()
    return queries


@cache
def load(engine: str) -> dict[str, str]:
    """Every statement this engine runs; its own ones win over the common ones."""
    return {**parse(_read("common.sql")), **parse(_read(f"{engine}.sql"))}


def migrations(engine: str) -> list[tuple[int, str, str]]:
    """(number, name, script) of every migration, in order."""
    folder = os.path.join(SQL_DIR, "migrations", engine)
    names = sorted(name for name in os.listdir(folder) if name.endswith(".sql"))
    return [(int(name[:4]), name[5:-4], _read(os.path.join("migrations", engine, name))) for name in names]


def _read(name: str) -> str:
    with open(os.path.join(SQL_DIR, name), encoding="utf-8") as file:
        return file.read()


HIVE = ("hive", "", "")
OF_ITS_PROJECT = ("session_summary", "task_completion")
PAUSES_S = (0.1, 0.2, 0.3, 0.5, *(1.0,) * 4, *(2.0,) * 7)  # before an act is tried again: a restart takes seconds


@frozen
class Operation:
    """One act of a caller; its audit rows can be undone together."""

    id: str
    at: float
    caller: Caller
    verb: str
    reason: str = ""
    undoes: str = ""


class StoreBase:
    """Statements by name, who sees what, and operations."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._sql = load(engine.name)
        self._partitions: dict[tuple[str, str, str], int] = {}
        self._data_version = -1
        self._seen_undone = 0  # acts of the engine
        self._told = ""
        self._acting: tuple[Caller, bool] | None = None
        self._afterwards: dict[object, Callable[[], object]] | None = None  # what waits for a group to end
        self._undone: dict[object, Callable[[], object]] = {}  # what failed then, for the next
        self._job = ""  # the job for which something is done at the moment
        self._joining: dict[str, tuple[tuple[str, ...], float]] = {}  # new names of projects, not written yet
        self.leaving = threading.Event()  # from then on nobody waits for a database that is away
        self.hive = True  # false: the hive is neither read nor written

    def ask(self, statement: str, /, **params: Any) -> list[Row]:
        """Run a named statement; `:name` takes a value, `IN (:list:name)` a list."""
        return self.engine.run(self._sql[statement], params)

    def note(self, statement: str, /, **params: Any) -> None:
        """Run a named statement whose rows nobody needs; it may be sent with the next one."""
        self.engine.note(self._sql[statement], params)

    def prove(self, statement: str, /, **params: Any) -> None:
        """What finds something that only the open transaction wrote."""
        self.engine.prove(self._sql[statement], params)

    def ask_many(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        if rows:
            self.engine.run_many(self._sql[name], rows)

    def partition_of(self, memory: Memory) -> int:
        """The partition a memory belongs to, made when it is the first."""
        place = place_of(memory.tier, memory.project, memory.owner)
        return self._partition(place)

    def partition_at(self, place: tuple[str, str, str]) -> int:
        """The partition of a tier, project and owner, made when it is the first."""
        return self._partition(place)

    def _partition(self, place: tuple[str, str, str]) -> int:
        if self._seen_undone != self.engine.undone:  # one that was made in what was undone is gone with it
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
        """The partitions this caller may see; other projects' shared ones only for a person who asks."""
        wide = all_projects and caller.role == "person"
        self.act_for(caller, wide=wide)
        name = "every_shared_partition" if wide else "visible_partitions"
        narrow = {} if wide else {"projects": self._own_names(caller.project)}
        found = [
            (int(id), tier) for id, tier in self.ask(name, agent=caller.agent, **narrow) if self.hive or tier != "hive"
        ]
        return [id for id, tier in found if not tiers or tier in tiers]

    def join_projects(self, names: Sequence[str], now: float) -> str:
        """Know all these names, strongest first, as one project from now on; returns the one its rows stand under.

        Nothing is written here, so that reading stays reading: the names are kept with the next operation.
        """
        known = {str(alias): str(project) for alias, project in self.ask("aliases_of", names=list(names))}
        roots = [known.get(name, name) for name in names if name in known or name in known.values()]
        root = roots[0] if roots else names[0]
        if fresh := tuple(dict.fromkeys(name for name in (*names, *roots) if name != root and known.get(name) != root)):
            self._joining[root] = (fresh, now)
        return root

    def part_projects(self, alias: str) -> bool:
        """Forget that a name belongs to a project; tells whether it did."""
        with self.engine.writing():
            known = bool(self.ask("aliases_of", names=[alias]))
            self.ask("drop_alias", alias=alias)
        return known

    def names_of(self, project: str) -> list[str]:
        """Every name under which a project's rows may stand."""
        own = self._own_names(project)
        found = self.ask("aliases_of", names=own)
        return list(dict.fromkeys((*own, *(str(alias) for alias, root in found if root in own))))

    def is_of_here(self, caller: Caller, memory: Memory) -> bool:
        """What was kept unasked of a session or a task stays in its project: the agent is the same in all of them, and
        the words may be a customer's."""
        if memory.source not in OF_ITS_PROJECT or memory.project == caller.project:
            return True
        return memory.project in self.names_of(caller.project)

    def _own_names(self, project: str) -> list[str]:
        fresh, _ = self._joining.get(project, ((), 0.0))
        return [project, *fresh]

    def _keep_names(self) -> None:
        """Write the names that were learned since the last operation."""
        for root, (fresh, at) in self._joining.items():
            for name in fresh:
                self.ask("move_aliases", project=root, former=name)
                self.ask("put_alias", alias=name, project=root, at=at)
        self._joining.clear()

    @contextmanager
    def queueing(self) -> Iterator[None]:
        """A transaction for mail and jobs; names of projects are kept with them, so that they are found later."""
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
        """Whose sight a database that knows about sight applies from now on."""
        self._acting = (caller, wide)
        self.engine.act_for(caller, self._own_names(caller.project), wide=wide)

    @contextmanager
    def working(self, *, team: bool = False) -> Iterator[None]:
        """Inside, the queue is seen as whoever looks after it sees it: the work of the same login, or the team's."""
        before = self._acting
        who = before[0] if before else Caller()
        self.engine.act_for(who, self._own_names(who.project), works="team" if team else "own")
        try:
            yield
        finally:
            self.engine.act_for(who, self._own_names(who.project), wide=bool(before and before[1]))

    @contextmanager
    def operation(self, operation: Operation, *, durable: bool = True) -> Iterator[Operation]:
        """One write transaction for one act; nothing of it stays if it fails."""
        told, joining = self._told, dict(self._joining)
        before = self._acting or (operation.caller, False)
        self.act_for(operation.caller)
        try:
            with self.engine.writing(durable=durable):
                self._check_partitions()
                if self._joining:
                    self._keep_names()
                yield operation
        except BaseException:
            self._told, self._joining = told, joining
            self._partitions.clear()  # one that was made in this transaction is gone with it
            raise
        finally:
            self.act_for(before[0], wide=before[1])

    @contextmanager
    def together(self) -> Iterator[None]:
        """Several acts with one wait for the disk; what was kept in mind of them goes if that fails."""
        told, joining = self._told, dict(self._joining)
        left, later = self._undone, self._afterwards
        self._afterwards, self._undone = dict(left), {}
        try:
            with self.engine.grouping():
                yield
            due = self._afterwards
        except BaseException:
            self._told, self._joining, self._undone = told, joining, left
            self._partitions.clear()
            raise
        finally:
            self._afterwards = later
        for key, work in due.items():
            try:
                work()
            except StoreError:  # the acts are certain; this is tried again after the next group
                self._undone[key] = work

    def afterwards(self, key: object, work: Callable[[], object]) -> None:
        """Do something that must not be seen before the act is certain: now or, in a group, when that has ended; what
        has the same key is done once."""
        if self._afterwards is None:
            work()
        else:
            self._afterwards[key] = work

    def perform(self, operation: Operation, work: Callable[[Operation], T], *, durable: bool = True) -> T:
        """Do one act in one transaction; where the connection broke before anything was changed, do it once more."""

        def act() -> T:
            with self.operation(operation, durable=durable):
                return work(operation)

        return self.look(act)

    def look(self, work: Callable[[], T]) -> T:
        """Ask something before an act; where the connection broke, ask it once more. Inside a transaction that is for
        whoever began it: what was done in it before is gone as well."""
        for pause_s in (*PAUSES_S, None):
            try:
                return work()
            except StoreLost:
                if pause_s is None or self.engine.inside or self.leaving.wait(pause_s):
                    raise
        raise AssertionError  # the loop returns or raises

    def _check_partitions(self) -> None:
        """Forget the partitions after others have written: a restore may have given a number to another place."""
        seen = self.engine.data_version()
        if seen != self._data_version:
            self._data_version = seen
            self._partitions.clear()

    def audit(self, operation: Operation, memory: Memory, action: str, before: Memory | None, reason: str = "") -> None:
        """Record one change of one memory; the operation itself is recorded with its first change."""
        self._tell(operation)
        former = None if before is None else json.dumps(memory_to_dict(before), ensure_ascii=False)
        self.note(
            "add_audit",
            operation=operation.id,
            memory=memory.id,
            partition=self.partition_of(memory),
            action=action,
            reason=reason or operation.reason,
            version=memory.version,
            before=former,
        )

    def tell(self, operation: Operation) -> None:
        """Write down that somebody acts, also where no memory changes by it."""
        self._tell(operation)

    def _tell(self, operation: Operation) -> None:
        if operation.id == self._told:
            return
        self.note(
            "add_operation",
            id=operation.id,
            at=operation.at,
            verb=operation.verb,
            by=operation.caller.agent,
            project=operation.caller.project,
            reason=operation.reason,
            undoes=operation.undoes,
            job=self._job,
        )
        if operation.caller.project:  # else it might not even be seen by who wrote it
            self.prove("proof_operation", id=operation.id)
        self._told = operation.id

    def meta(self, name: str) -> str:
        rows = self.ask("get_meta", name=name)
        return str(rows[0][0]) if rows else ""

    def set_meta(self, name: str, value: str) -> None:
        with self.engine.writing():
            self.ask("put_meta", name=name, value=value)

    def close(self) -> None:
        self.engine.close()


def place_of(tier: str, project: str, owner: str) -> tuple[str, str, str]:
    """Which rows are seen together: an owner's private ones, a project's swarm, the hive."""
    if tier == "hive":
        return HIVE
    if tier == "swarm":
        return ("swarm", project, "")
    if tier == "agent":
        return ("agent", project, owner)
    raise StoreError(f"unknown tier: {tier}")


def newest(engine_name: str) -> int:
    return migrations(engine_name)[-1][0]


def migrate(engine: Engine, backup_dir: str, now: float) -> int:
    """Apply what is missing; refuse a store from a newer program untouched; return how many steps were taken."""
    steps = migrations(engine.name)
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
        engine.run(load(engine.name)["add_migration"], row)
        engine.set_version(number)
    return 1


def _copy_first(engine: Engine, backup_dir: str, found: int) -> None:
    make_folder(backup_dir)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    engine.copy_to(os.path.join(backup_dir, f"before-migration-{found:04d}-{stamp}.db"))
