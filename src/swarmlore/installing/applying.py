"""All changes of a plan, or none of them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from swarmlore.errors import ConfigError, Conflict
from swarmlore.installing import ledger
from swarmlore.installing.files import UNTOUCHED, look, unusable
from swarmlore.installing.ledger import Kept
from swarmlore.installing.planning import Change, Plan
from swarmlore.workspace.files import Folder

TEMPORARY = ".swarmlore-tmp"


def apply(plan: Plan, home: str, before: Sequence[Kept]) -> None:
    """Do what was planned. Nothing is left half done: what was written already is put back where something fails.

    What is needed to undo it is written first: after a crash in between, a file that is not as it was to become is
    known by its digest.
    """
    with Folder(os.path.realpath(home)) as folder, folder.lock():
        if tuple(ledger.read(home)) != tuple(before):
            raise Conflict("somebody else installed or uninstalled meanwhile", f"run it again; {UNTOUCHED}")
        for change in plan.changes:
            _check(change)
        done: list[Change] = []
        try:
            ledger.write(home, (*before, *(entry for entry in plan.kept if entry not in before)))
            for change in plan.changes:
                _check(change)  # a running client may write its file at any moment
                done.append(change)
                _carry_out(change)
            _drop_folders(plan.changes)
            ledger.write(home, plan.kept)
        except BaseException as error:
            _take_back(done, home, before)
            if isinstance(error, OSError):
                raise unusable(error.filename or home, error) from error
            raise


def _check(change: Change) -> None:
    now = look(change.path)
    if (now.target, now.content) != (change.target, change.before):
        raise Conflict(f"{change.path} was changed meanwhile", f"run it again; {UNTOUCHED}")


def _carry_out(change: Change) -> None:
    if change.after is None:
        os.unlink(change.target)
        return
    for folder in change.folders:
        os.makedirs(folder, exist_ok=True)
    _replace(change.target, change.after, change.mode, exact=change.before is not None)


def _drop_folders(changes: Sequence[Change]) -> None:
    """Take away the folders of what went, innermost first: those of the first to go may hold the others until then."""
    folders = {folder for change in changes if change.after is None for folder in change.folders}
    for folder in sorted(folders, key=len, reverse=True):
        _drop_folder(folder)


def _take_back(done: Sequence[Change], home: str, before: Sequence[Kept]) -> None:
    """Put everything back as it was; raises where even that fails, naming what is left."""
    left = []
    for change in reversed(done):
        try:
            _restore(change)
        except OSError:
            left.append(change.path)
    if left:
        raise ConfigError(f"not everything could be put back: {', '.join(left)}", "swarmlore uninstall mends it")
    ledger.write(home, before)


def _restore(change: Change) -> None:
    now = look(change.path).content
    if now != change.before and now == change.after and change.before is not None:
        os.makedirs(os.path.dirname(change.target), exist_ok=True)
        _replace(change.target, change.before, change.mode, exact=True)
    if change.before is None:
        if now is not None and now == change.after:
            os.unlink(change.target)
        for folder in reversed(change.folders):
            _drop_folder(folder)


def _drop_folder(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return  # there is something in it, or it is gone


def _replace(path: str, content: bytes, mode: int, *, exact: bool) -> None:
    """Put new content in place of a file in one step; `exact` keeps its mode and owner, else the umask decides."""
    fresh = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.urandom(6).hex()}{TEMPORARY}")
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if exact else mode), "wb") as file:
            file.write(content)
            file.flush()
            if exact and hasattr(os, "fchmod"):
                _keep_owner(file.fileno(), path)
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except BaseException:
        if os.path.lexists(fresh):
            os.unlink(fresh)
        raise


def _keep_owner(fd: int, path: str) -> None:
    """Whoever owns the file goes on owning it: an administrator may run this for somebody."""
    if not os.path.exists(path):
        return
    facts = os.stat(path)
    if (facts.st_uid, facts.st_gid) != (os.geteuid(), os.getegid()):
        os.fchown(fd, facts.st_uid, facts.st_gid)
