"""Identity of a project: which names (path, git remote, marker) share one memory, and joining or parting them.

`Store.join_projects` records which names are one project. A path is the weakest name, since another repository may
take a moved one's place. Writing the marker file claims the path; a folder without that marker is then `PATH#2`.
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
    """Identity of a folder's project.

    `names` are its current names, `aliases` all it ever had, and `id` is the name its memories are stored under.
    `unclaimed` are names of this path that have memories but are not part of the project.
    """

    id: str
    name: str
    root: str
    found_by: str
    names: tuple[str, ...]
    aliases: tuple[str, ...]
    marker: str
    stacks: tuple[str, ...]
    unclaimed: tuple[str, ...] = ()


class ProjectNames:
    """Resolve the project of one folder in the store, and join or part its names."""

    def __init__(self, store: Store, project: Project, now: float) -> None:
        self._store = store
        self.project = project
        self.place = _unclaimed_place(store, project.place, now) if project.place else ""
        self.names = tuple(self.place if name == project.place else name for name in project.names)
        self.root = store.join_projects(self.names, now)

    def keep(self, operation: Operation) -> Project:
        """Write the marker file after a memory was stored; if that fails, the current names stay in use."""
        with suppress(OSError, StoreError):  # the memory is stored; the next write tries again
            self._write_marker(operation)
        return self.project

    def _write_marker(self, operation: Operation) -> None:
        """Write the marker and claim the path, in an order that survives a power cut at any point.

        The store knows the new name before the folder has it; the path is claimed only afterwards.
        """
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
            pass  # an empty operation records who joined the names, and when

    # Commands of a person or lead

    def identity(self, caller: Caller) -> Identity:
        """Return the names, aliases and marker of this project; a lead also sees unclaimed names of its path."""
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
        """Join this project with the one of a folder, address or id; return the id of the joint project."""
        _check(operation.caller)
        store = self._store
        other = _known_name(store, said, operation.at)
        theirs = store.join_projects((other,), operation.at)
        mine, yours = (self.root, *store.names_of(self.root), *self.names), (theirs, *store.names_of(theirs))
        self.root = store.join_projects(tuple(dict.fromkeys((*self.names, self.root, other))), operation.at)
        came = () if set(mine) & set(yours) else yours if self.root in mine else mine
        self._join((self.root, *(_came_with(name, came[0]) for name in dict.fromkeys(came))), operation)
        self._join((*self.names, self.root, other), operation)
        return self.root

    def part(self, said: str, operation: Operation) -> str:
        """Remove a name from this project, with all names that were joined along with it.

        Each memory stays with the name it is stored under.
        """
        _check(operation.caller)
        store, former = self._store, self.root
        known = store.names_of(former)
        name = next((name for name in _readings(said) if name in known), "")
        if not name:
            raise NotFound(f"{_shown(said)} is no name of this project", "swarmlore project lists its names")
        if name in self.names:
            raise InvalidInput(f"{name} is a name that this folder has now", "it would come back; see: git remote -v")
        leaving = self._leaving(name, said, known)
        for alias in known:
            if alias in leaving or _origin(alias)[1] in leaving:
                store.part_projects(alias)
        self._join(leaving, operation)  # the removed names stay one project among themselves
        self.root = store.join_projects(self.names, operation.at)
        with store.operation(operation):
            return self.root

    def _leaving(self, name: str, said: str, known: Sequence[str]) -> tuple[str, ...]:
        """Return the names to remove along with `name`, the id of their memories first.

        If this folder's project was the one that joined, its own names leave instead.
        """
        groups: dict[str, list[str]] = {}
        for key, joined in map(_origin, known):
            if joined:
                groups[key] = [joined, *groups.get(key, ())] if _key(joined) == key else [*groups.get(key, ()), joined]
        theirs = next((group for group in groups.values() if name in group), [])
        ours = next((group for group in groups.values() if {*group} & {*self.names}), [])
        if not theirs and (ours or name == self.root):
            leaving = [*ours, *self.names]
        else:
            leaving = [*theirs, name, *(other for other in _readings(said) if other in known)]
            if both := [other for other in leaving if other in self.names]:
                raise InvalidInput(f"{both[0]} is a name that both have now", "it would come back; see: git remote -v")
        return tuple(dict.fromkeys((*leaving, *(claim for claim in map(claim_on, leaving) if claim in known))))


def claim_on(place: str) -> str:
    """Return the alias that records that a path is claimed by a marker."""
    return place + CLAIMED


def _came_with(name: str, head: str) -> str:
    """Return the alias that records that a name was joined as part of the project `head`."""
    return f"{name}{CAME_WITH}{_key(head)}{CLAIMED}"


def _key(head: str) -> str:
    """Return a short hash of a name, since an index row has room for one long name but not for two."""
    return blake2b(head.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def _origin(alias: str) -> tuple[str, str]:
    """Parse an alias of `_came_with` into the key of the joined project and the name; ("", "") for other names."""
    name, sign, key = alias.removesuffix(CLAIMED).rpartition(CAME_WITH)
    return (key, name) if sign and alias.endswith(CLAIMED) else ("", "")


def _unclaimed_place(store: Store, path: str, now: float) -> str:
    """Return the name of a folder without a marker: its path, or PATH#2, PATH#3 … if a marker claimed the path."""
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


def _known_name(store: Store, said: str, now: float) -> str:
    """Return the project name that a folder, address or id stands for; raise NotFound if it has no memories."""
    for name in _readings(said):
        if _has_memories(store, name) or _is_alias(store, name, now):
            return name
    raise NotFound(f"nothing is remembered under {_shown(said)}", "give a folder, an address or an id, as it was then")


def _readings(said: str) -> list[str]:
    """Return the project names that an argument may mean, likeliest first.

    It may be an id, an existing folder, the address of a git remote, or the path of a former folder.
    """
    from swarmlore.domain.language.git_remotes import normalise_remote

    if not isinstance(said, str) or not said.strip() or not said.isprintable() or len(said) > MOST_CHARS:
        raise InvalidInput("that is no name of a project", "give a folder, an address or an id")
    path = os.path.abspath(os.path.expanduser(said))
    names = [storable(said)]
    if os.path.isdir(path):
        names += find_project(path).names
    names += [normalise_remote(said), storable(path), storable(os.path.join(path, ".git"))]
    return [name for name in dict.fromkeys(names) if name and not name.endswith(CLAIMED)]


def _shown(said: str) -> str:
    """Return an argument for display, without the login that an address may contain."""
    from swarmlore.domain.language.git_remotes import normalise_remote

    return normalise_remote(said) if "@" in said or "?" in said else said


# The marker


def _draft(marker: str, mark: str) -> str:
    """Write the marker durably under a temporary name, so that a failure shows before anything else changes."""
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
    """Move the marker into place and return the name in it, which may come from a faster process."""
    try:
        os.link(draft, project.marker)
    except OSError:  # it exists, or the file system has no hard links
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
