"""Moving house: everything that one may see, from the store in use into another one."""

from __future__ import annotations

import os

from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.records import Caller
from swarmlore.store.files import make_folder
from swarmlore.store.store import FILE, Store

if TYPE_CHECKING:
    from swarmlore.store.copying import Copied, Progress

SERVER = ("postgresql://", "postgres://")
FILE_PREFIX = "sqlite:"


def move(source: Store, caller: Caller, target: str, now: float, progress: Progress | None = None) -> Copied:
    """Copy into a server's store or the store of a folder; the source stays as it is."""
    from swarmlore.store.copying import copy

    if not caller.leads:
        raise NotAllowed("a whole store is copied by a person or a lead", "run it at a terminal of your own")
    other = _open(target, now)
    try:
        if _is_same(source, other):
            raise InvalidInput("that is the store in use", "name another one")
        source.act_for(caller, wide=caller.role == "person")
        return copy(source, other, progress)
    finally:
        source.act_for(caller)
        other.close()


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
