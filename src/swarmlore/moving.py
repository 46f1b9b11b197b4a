"""Moving house: everything that one may see, from the store in use into another one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from swarmlore.domain.records import Caller
from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.store.files import make_folder
from swarmlore.store.store import FILE, Store

if TYPE_CHECKING:
    from swarmlore.store.copying import Copied, Progress

SERVER = ("postgresql://", "postgres://")
FILE_PREFIX = "sqlite:"


def move(source: Store, caller: Caller, target: str, now: float, progress: Progress | None = None) -> Copied:
    """Copy into a server's store or the store of a folder; the source stays as it is."""
    if not caller.leads:
        raise NotAllowed("a whole store is copied by a person or a lead", "run it at a terminal of your own")
    other = _open(target, now)
    try:
        if _is_same(source, other):
            raise InvalidInput("that is the store in use", "name another one")
        name = _names(source.engine.user, other.engine.user)
        copied = [_copy_as(source, other, one, name, progress) for one in _own_agents(source, caller)]
        return copied[0] if len(copied) == 1 else _together(copied)
    finally:
        source.act_for(caller)
        other.close()


def _copy_as(
    source: Store, other: Store, caller: Caller, name: Callable[[str], str], progress: Progress | None
) -> Copied:
    from swarmlore.store.copying import copy

    source.act_for(caller, wide=caller.role == "person")
    return copy(source, other, progress, name)


def _own_agents(source: Store, caller: Caller) -> list[Caller]:
    """On a server: the caller, then all agents that log in as the same user, each with what is private to it."""
    if not source.engine.remote:
        return [caller]
    source.act_for(caller, wide=caller.role == "person")
    own = f"{source.engine.user}/"
    others = {str(row[0]) for row in source.ask("every_agent") if str(row[0]).startswith(own)} - {caller.agent}
    return [caller, *(replace(caller, agent=agent) for agent in sorted(others))]


def _names(source: str, target: str) -> Callable[[str], str]:
    """On a server agents are called after whoever logs in, as `ada/claude`; in a file they are not."""

    def name(agent: str) -> str:
        plain = agent.removeprefix(f"{source}/") if source else agent
        return f"{target}/{plain}" if target and plain and plain == agent.removeprefix(f"{target}/") else plain

    return name


def _together(copied: Sequence[Copied]) -> Copied:
    """Each pass sees what is shared, and what is private to one agent."""
    different = tuple(dict.fromkeys(id for one in copied for id in one.different))
    return replace(copied[0], written=sum(one.written for one in copied), different=different)


def _open(target: str, now: float) -> Store:
    if target.startswith(SERVER):
        return Store.connect(target, now)
    folder = os.path.abspath(os.path.expanduser(target.removeprefix(FILE_PREFIX)))
    if not target or os.path.isfile(folder):
        raise InvalidInput("name where to: postgresql://… or a folder", "swarmlore migrate-store ~/lore-copy")
    make_folder(folder)
    return Store.open(folder, now)


def _is_same(one: Store, other: Store) -> bool:
    paths = [str(store.engine.facts()["path"]) for store in (one, other)]
    if one.engine.remote or other.engine.remote:
        return paths[0] == paths[1]
    return os.path.samefile(*(os.path.join(os.path.dirname(path), FILE) for path in paths))
