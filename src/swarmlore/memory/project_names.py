"""Which memory a folder belongs to: the names it has now, and those it had before.

The store knows which names are one project (`Store.join_projects`). A path is the weakest name: whoever lies there has
it. So a repository that moves must not leave its memory to the next one at its place: when its marker is written, the
path is claimed for it, and what comes to lie there later without that marker gets a name of its own, `PATH#2`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b

from swarmlore.domain.records import Caller
from swarmlore.errors import InvalidInput, NotAllowed, NotFound, StoreError
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.workspace.git import MOST_CHARS
from swarmlore.workspace.project import LOT, Project, find_project, plain_name, read_mark, stacks, storable

if TYPE_CHECKING:
    from swarmlore.store.database import Operation
    from swarmlore.store.store import Store


CLAIMED = "#claimed"
CAME_WITH = "#came-with:"


@frozen
class Identity:
    """How a folder's project is known. `names` it has now, `aliases` are all it ever had, `id` is the one its memories
    stand under; `unclaimed` are names of this very path that have memories and are not part of it."""

    id: str
    name: str
    root: str
    found_by: str
    names: tuple[str, ...]
    aliases: tuple[str, ...]
    marker: str
    stacks: tuple[str, ...]
    unclaimed: tuple[str, ...] = ()


class Belonging:
    """One folder's place in the store."""

    def __init__(self, store: Store, project: Project, now: float) -> None:
        self._store = store
        self.project = project
        self.place = _free(store, project.place, now) if project.place else ""
        self.names = tuple(self.place if name == project.place else name for name in project.names)
        self.root = store.join_projects(self.names, now)

    def keep(self, operation: Operation) -> Project:
        """After something was remembered: write the marker. Where that cannot be done, the names of now must do."""
        with suppress(OSError, StoreError):  # the memory is stored; the next write tries again
            self._mark(operation)
        return self.project

    def _mark(self, operation: Operation) -> None:
        """The order matters, as the power may go at any point: the store knows a name before the folder has it, and
        the path is claimed only when the folder has the name."""
        project = self.project
        mark = project.mark or f"{plain_name(os.path.basename(project.root))}#{os.urandom(LOT // 2).hex()}"
        draft = _draft(project.marker, mark)
        try:
            self._join((self.root, mark), operation)
            kept = _publish(draft, project)
        finally:
            if os.path.lexists(draft):
                os.unlink(draft)
        own_place = project.found_by in ("git", "folder")
        self._join((self.root, kept, *((claim_on(self.place),) if own_place else ())), operation)
        self.project = find_project(project.root)
        self.names = self.project.names

    def _join(self, names: Sequence[str], operation: Operation) -> None:
        self._store.join_projects(names, operation.at)
        with self._store.operation(operation):
            pass  # names are kept with the operation

    # What a person says

    def identity(self, caller: Caller) -> Identity:
        """How this project is known."""
        project = self.project
        aliases = tuple(name for name in self._store.names_of(self.root) if not name.endswith(CLAIMED))
        near = (storable(project.root), storable(os.path.join(project.root, ".git"))) if caller.leads else ()
        unclaimed = tuple(name for name in near if name not in aliases and _has_memories(self._store, name))
        self._store.act_for(caller)
        where = project.marker if project.marked else ""
        kinds = stacks(project.root)
        return Identity(
            self.root, project.name, project.root, project.found_by, self.names, aliases, where, kinds, unclaimed
        )

    def join(self, said: str, operation: Operation) -> str:
        """From now on this folder and a name are one project; returns the id their memories are written under."""
        _check(operation.caller)
        store = self._store
        other = _meant(store, said, operation.at)
        theirs = store.join_projects((other,), operation.at)
        mine, yours = (self.root, *store.names_of(self.root), *self.names), (theirs, *store.names_of(theirs))
        self.root = store.join_projects(tuple(dict.fromkeys((*self.names, self.root, other))), operation.at)
        came = () if set(mine) & set(yours) else yours if self.root in mine else mine
        self._join((self.root, *(_came_with(name, came[0]) for name in dict.fromkeys(came))), operation)
        self._join((*self.names, self.root, other), operation)
        return self.root

    def part(self, said: str, operation: Operation) -> str:
        """Take a name away from this project, with all that came with it when it was joined; memories stay with the
        name they stand under."""
        _check(operation.caller)
        store, former = self._store, self.root
        known = store.names_of(former)
        name = next((name for name in _spellings(said) if name in known), "")
        if not name:
            raise NotFound(f"{_shown(said)} is no name of this project", "swarmlore project lists its names")
        if name in self.names:
            raise InvalidInput(f"{name} is a name that this folder has now", "it would come back; see: git remote -v")
        leaving = self._leaving(name, said, known)
        for alias in known:
            if alias in leaving or _came(alias)[1] in leaving:
                store.part_projects(alias)
        self._join(leaving, operation)  # they stay one project, among themselves
        self.root = store.join_projects(self.names, operation.at)
        with store.operation(operation):
            return self.root

    def _leaving(self, name: str, said: str, known: Sequence[str]) -> tuple[str, ...]:
        """The names that part with a name, the one they stand under first; this folder's own where it is the guest."""
        groups: dict[str, list[str]] = {}
        for key, came in map(_came, known):
            if came:
                groups[key] = [came, *groups.get(key, ())] if _key(came) == key else [*groups.get(key, ()), came]
        theirs = next((group for group in groups.values() if name in group), [])
        ours = next((group for group in groups.values() if {*group} & {*self.names}), [])
        if not theirs and (ours or name == self.root):
            found = [*ours, *self.names]
        else:
            found = [*theirs, name, *(other for other in _spellings(said) if other in known)]
            if both := [other for other in found if other in self.names]:
                raise InvalidInput(f"{both[0]} is a name that both have now", "it would come back; see: git remote -v")
        return tuple(dict.fromkeys((*found, *(claim for claim in map(claim_on, found) if claim in known))))


def claim_on(place: str) -> str:
    """The name under which the store knows that a path belongs to a marker."""
    return place + CLAIMED


def _came_with(name: str, head: str) -> str:
    """The name under which the store knows that a name came to a project together with those of another one."""
    return f"{name}{CAME_WITH}{_key(head)}{CLAIMED}"


def _key(head: str) -> str:
    """A name made short: an index has room for one long name, not for two."""
    return blake2b(head.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def _came(alias: str) -> tuple[str, str]:
    """With whom a name came along, and that name; nothing where an alias is a name as others."""
    name, sign, key = alias.removesuffix(CLAIMED).rpartition(CAME_WITH)
    return (key, name) if sign and alias.endswith(CLAIMED) else ("", "")


def _free(store: Store, path: str, now: float) -> str:
    """The name of whoever lies at a path without a marker: the path, or if somebody claimed it one of its own."""
    place, number = path, 1
    while _is_alias(store, claim_on(place), now):
        number += 1
        place = f"{path}#{number}"
    return place


def _is_alias(store: Store, name: str, now: float) -> bool:
    return store.join_projects((name,), now) != name


def _has_memories(store: Store, name: str) -> bool:
    return bool(store.visible(Caller(name), ("swarm",)))


def _check(caller: Caller) -> None:
    if not caller.leads:
        raise NotAllowed("which projects are one is for a person or a lead to say", "ask the person you work for")


def _meant(store: Store, said: str, now: float) -> str:
    """The name that somebody means by a folder, an address or an id, if anything is remembered under it."""
    for name in _spellings(said):
        if _has_memories(store, name) or _is_alias(store, name, now):
            return name
    raise NotFound(f"nothing is remembered under {_shown(said)}", "give a folder, an address or an id, as it was then")


def _spellings(said: str) -> list[str]:
    """What a word may stand for, likeliest first: an id, what lies in a folder now, an address, a folder of then."""
    from swarmlore.domain.language.git_remotes import normalise_remote

    if not isinstance(said, str) or not said.strip() or not said.isprintable() or len(said) > MOST_CHARS:
        raise InvalidInput("that is no name of a project", "give a folder, an address or an id")
    path = os.path.abspath(os.path.expanduser(said))
    found = [storable(said)]
    if os.path.isdir(path):
        found += find_project(path).names
    found += [normalise_remote(said), storable(path), storable(os.path.join(path, ".git"))]
    return [name for name in dict.fromkeys(found) if name and not name.endswith(CLAIMED)]


def _shown(said: str) -> str:
    """What somebody typed, without a login in it."""
    from swarmlore.domain.language.git_remotes import normalise_remote

    return normalise_remote(said) if "@" in said or "?" in said else said


# The marker


def _draft(marker: str, mark: str) -> str:
    """Write the marker under another name, safely on disk; that it can be written is known before anything changes."""
    folder = os.path.dirname(marker)
    draft = f"{marker}.{os.getpid()}-{os.urandom(4).hex()}"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o644)
    try:
        os.write(file, f"{mark}\n{storable(folder)}\n".encode())
        os.fsync(file)
    finally:
        os.close(file)
    return draft


def _publish(draft: str, project: Project) -> str:
    """Put the marker in its place and return the name in it; another process may have been faster."""
    try:
        os.link(draft, project.marker)
    except OSError:  # it exists, or there are no links here
        faster = find_project(project.root)
        if faster.marked:
            return faster.mark
        os.replace(draft, project.marker)
    _sync(os.path.dirname(project.marker))
    return read_mark(project.marker)[0]


def _sync(folder: str) -> None:
    if os.name == "posix":
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
