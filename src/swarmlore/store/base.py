"""What every part of the store stands on: named statements, partitions, operations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from swarmlore.codec import memory_to_dict
from swarmlore.errors import StoreError
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.records import Caller, Memory
from swarmlore.store import queries

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Engine, Row

HIVE = ("hive", "", "")


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
        self._sql = queries.load(engine.name)
        self._partitions: dict[tuple[str, str, str], int] = {}
        self._data_version = -1
        self._told = ""
        self.hive = True  # false: the hive is neither read nor written

    def ask(self, statement: str, /, **params: Any) -> list[Row]:
        """Run a named statement; a list given for `(:list:x)` becomes one parameter."""
        sql = self._sql[statement]
        if ":list:" in sql:
            sql = sql.replace(":list:", ":")
            for key, value in params.items():
                if isinstance(value, (list, tuple, set, frozenset)):
                    sql = sql.replace(f"(:{key})", f"(SELECT value FROM json_each(:{key}))")
                    params[key] = json.dumps(list(value))
        return self.engine.run(sql, params)

    def ask_many(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        if rows:
            self.engine.run_many(self._sql[name], rows)

    def partition_of(self, memory: Memory) -> int:
        """The partition a memory belongs to, made when it is the first."""
        place = place_of(memory.tier, memory.project, memory.owner)
        return self._partition(place)

    def _partition(self, place: tuple[str, str, str]) -> int:
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
        name = "every_shared_partition" if wide else "visible_partitions"
        params = {"agent": caller.agent} if wide else {"agent": caller.agent, "project": caller.project}
        found = [(int(id), tier) for id, tier in self.ask(name, **params) if self.hive or tier != "hive"]
        return [id for id, tier in found if not tiers or tier in tiers]

    @contextmanager
    def operation(self, operation: Operation, *, durable: bool = True) -> Iterator[Operation]:
        """One write transaction for one act; nothing of it stays if it fails."""
        told = self._told
        try:
            with self.engine.writing(durable=durable):
                self._check_partitions()
                yield operation
        except BaseException:
            self._told = told
            self._partitions.clear()  # one that was made in this transaction is gone with it
            raise

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
        self.ask(
            "add_audit",
            operation=operation.id,
            memory=memory.id,
            partition=self.partition_of(memory),
            action=action,
            reason=reason or operation.reason,
            version=memory.version,
            before=former,
        )

    def _tell(self, operation: Operation) -> None:
        if operation.id == self._told:
            return
        self.ask(
            "add_operation",
            id=operation.id,
            at=operation.at,
            verb=operation.verb,
            by=operation.caller.agent,
            project=operation.caller.project,
            reason=operation.reason,
            undoes=operation.undoes,
        )
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
