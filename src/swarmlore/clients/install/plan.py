"""Plan and apply installations: which files change, shown as a diff, then written all together or not at all."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from swarmlore.clients.install import manifest
from swarmlore.clients.install.commands import PROGRAM, Call, sealed_call
from swarmlore.clients.install.edit_json import undone
from swarmlore.clients.install.entries import (
    UNTOUCHED,
    File,
    Found,
    bytes_of,
    look,
    missing_folders,
    packed,
    sheet_of,
    speaking_of,
    text_of,
    unusable,
)
from swarmlore.clients.install.locations import SHARED, Client, Where
from swarmlore.clients.install.manifest import Kept, digest
from swarmlore.domain.security.redaction import redact
from swarmlore.errors import ConfigError, Conflict, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.workspace.files import Folder

if TYPE_CHECKING:
    from swarmlore.clients.install.edit_json import Path


def calls_in(file: File, found: Found) -> list[Call]:
    """Return the calls of our entries in a file: the program and home that each starts."""
    if file.form == "text":
        call = sealed_call(found.content, file.starts) if file.starts else None
        return [call] if call else []
    sheet = sheet_of(file, found)
    return [call for entry in file.entries for call in entry.calls(sheet)]


def harm(file: File, found: Found) -> str:
    """Return how an entry of an earlier release harms its client once our program is gone, or ''."""
    if file.form == "text":
        return ""
    sheet = sheet_of(file, found)
    with speaking_of(file.path):
        return "".join(entry.mend(sheet) for entry in file.entries)


def when_gone(harm: str) -> str:
    """Return a phrase for the harm of an entry once our program is gone."""
    return f"{harm} once {PROGRAM} is gone"


def is_foreign(file: File, content: bytes | None, old: Kept | None) -> bool:
    """Return whether a file that should be ours alone was written or changed by someone else."""
    if content is None or content == file.text.encode():
        return False
    if file.starts and sealed_call(content, file.starts):
        return False
    return old is None or digest(content) != old.after


def may_hold_ours(path: str, root: str, kept: Sequence[Kept]) -> bool:
    """Return whether a file may contain something of ours. An unreadable file counts as empty if nothing was
    installed, so that it is no reason to fail."""
    if kept:
        return True
    try:
        return PROGRAM.encode() in (look(path, root).content or b"")
    except SwarmloreError:
        return False


def hides_ours(client: Client, where: Where) -> bool:
    """Return whether a file that cannot be parsed mentions us."""
    for file in client.files(where):
        try:
            calls_in(file, look(file.path, where.root))
        except SwarmloreError:
            if may_hold_ours(file.path, where.root, ()):
                return True
    return False


def strays(client: Client, where: Where, kept: Sequence[Kept]) -> list[str]:
    """Return our files in folders that the client no longer uses, because a variable named another folder then."""
    now = {os.path.dirname(file.path) for file in client.files(where)}
    own = [entry for entry in kept if (entry.client, entry.root) == (client.name, where.root)]
    others = [entry for entry in own if os.path.dirname(entry.path) not in now]
    return [entry.path for entry in others if may_hold_ours(entry.path, where.root, ())]


def kept_elsewhere(client: Client, where: Where) -> tuple[Kept, ...]:
    """Return the records of other homes about this client, if its entries name those homes. Not for a project: its
    files may come from others, and could name any folder."""
    if where.root:
        return ()
    own = os.path.realpath(where.target.home)
    named = dict.fromkeys(call.home for file in client.files(where) for call in _calls_or_none(file, where))
    homes = [home for home in named if os.path.isabs(home) and os.path.realpath(home) != own]
    return tuple(entry for home in homes for entry in _records_of(home) if not entry.root)


def _calls_or_none(file: File, where: Where) -> list[Call]:
    try:
        return calls_in(file, look(file.path, where.root))
    except SwarmloreError:
        return []  # reported when the file is to be changed


def _records_of(home: str) -> tuple[Kept, ...]:
    try:
        return manifest.read(home)
    except SwarmloreError:
        return ()


def used_by_others(where: Where, path: str, leaving: Collection[str]) -> bool:
    """Return whether another client reads the text at this path and calls us."""
    from swarmlore.clients import every_client

    for client in every_client():
        files = () if client.name in leaving else client.files(where)
        calls = [call for file in files for call in _calls_or_none(file, where)]
        if any(file.path == path for file in files) and (calls or hides_ours(client, where)):
            return True
    return False


def folders_of(client: Client, where: Where, target: str, old: Kept | None) -> tuple[str, ...]:
    """Return the folders to remove with a file if they are empty: those that were created for it. If that is
    unknown, those up to the client's own folder, which stays only if a variable names it."""
    if old and not old.guessed:
        return old.folders
    outermost = _outermost(client, where, target)
    folders: list[str] = []
    folder = os.path.dirname(target)
    while outermost and (folder + os.sep).startswith(outermost + os.sep):
        folders.insert(0, folder)
        folder = os.path.dirname(folder)
    return tuple(folders)


def _outermost(client: Client, where: Where, target: str) -> str:
    own = os.path.realpath(client.folder(where))
    if (target + os.sep).startswith(own + os.sep):
        usual = os.path.realpath(client.folder(where.unmoved()))
        return own if own == usual else os.path.join(own, os.path.relpath(target, own).split(os.sep)[0])
    before, shared, _ = target.rpartition(f"{os.sep}{SHARED}{os.sep}")
    return os.path.join(before, SHARED) if shared else ""


_LEFT = "{} was left: set the variable that named its folder then, and run this again"


@frozen
class Change:
    """One file before and after; None stands for no file. `target` is the path without symbolic links."""

    client: str
    path: str
    target: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o644
    folders: tuple[str, ...] = ()  # to create, or to remove with the file if they are empty
    says: tuple[str, ...] = ()  # descriptions of the entries that are added or removed


@frozen
class Plan:
    """All changes of one run, the records to keep about them, and notes for the person."""

    clients: tuple[str, ...]
    changes: tuple[Change, ...]
    kept: tuple[Kept, ...]  # the complete manifest afterwards
    notes: tuple[str, ...] = ()
    takes_out: bool = False
    refused: tuple[tuple[str, SwarmloreError], ...] = ()  # clients that were skipped, and why


@frozen
class Draft:
    """A plan in the making; a client's changes are added as a whole or not at all."""

    kept: tuple[Kept, ...]
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    done: tuple[str, ...] = ()

    def changed(self, path: str) -> bool:
        """Return whether the plan changes this file already."""
        return any(change.path == path for change in self.changes)

    def without(self, gone: Sequence[Kept]) -> tuple[Kept, ...]:
        """Return the records without these."""
        return tuple(entry for entry in self.kept if entry not in gone)


def plan_install(
    where: Where, clients: Sequence[Client], kept: Sequence[Kept], version: str, now: float, *, mend: bool = False
) -> Plan:
    """Plan the changes that put all entries of these clients in place, pointing to the target. With `mend`, only
    those that stop a client once our program is gone are repaired."""

    def step(client: Client, draft: Draft) -> Draft:
        elsewhere = kept_elsewhere(client, where)
        for file in client.files(where):
            if harm(file, look(file.path, where.root)) if mend else file.wanted:
                draft = _install_file(where, client, file, draft, elsewhere, mend)
        return draft

    plan = _for_each(clients, kept, step)
    fresh = (entry if entry in kept else replace(entry, version=version, at=now) for entry in plan.kept)
    return replace(plan, kept=tuple(fresh))


def plan_uninstall(where: Where, clients: Sequence[Client], kept: Sequence[Kept]) -> Plan:
    """Plan the changes that remove all our entries from the files of these clients."""

    def step(client: Client, draft: Draft) -> Draft:
        elsewhere, left = kept_elsewhere(client, where), strays(client, where, draft.kept)
        for file in client.files(where):
            if not (left and file.form == "text"):  # a client that uses the other folder may read this text too
                draft = _uninstall_file(where, client, file, draft, elsewhere)
        return replace(draft, notes=(*draft.notes, *(_LEFT.format(path) for path in left)))

    return replace(_for_each(clients, kept, step), takes_out=True)


def _for_each(clients: Sequence[Client], kept: Sequence[Kept], step: Callable[[Client, Draft], Draft]) -> Plan:
    """Plan each client; skip one whose files cannot be used, and raise its error if none is left."""
    draft, refused = Draft(tuple(kept)), []
    for client in clients:
        try:
            draft = step(client, draft)
            draft = replace(draft, done=(*draft.done, client.name))
        except SwarmloreError as error:
            refused.append((client.name, error))
    if refused and not draft.done:
        raise refused[0][1]
    return Plan(draft.done, draft.changes, draft.kept, draft.notes, refused=tuple(refused))


def _install_file(
    where: Where, client: Client, file: File, draft: Draft, elsewhere: Sequence[Kept], mend: bool
) -> Draft:
    found = look(file.path, where.root)
    own = _own(draft.kept, client, where, file)
    former = own or _own(elsewhere, client, where, file)
    old = _fitting(former, found)
    if file.form == "text" and is_foreign(file, found.content, old):
        note = f"{file.path} is not as Swarmlore writes it, and was left alone; delete it to get ours"
        return replace(draft, notes=(*draft.notes, note))
    content, record = _installed(file, found, old, client.name, where.root, mend)
    if content == found.content or draft.changed(file.path):
        return replace(draft, kept=(*draft.kept, *([] if own else former or _joining(draft.kept, client, file))))
    change = _change(client.name, file, found, content)
    record = replace(record, folders=tuple(dict.fromkeys((*record.folders, *change.folders))))
    notes = (f"{file.path} was mended: {when_gone(mended)}",) if (mended := harm(file, found)) else ()
    kept = (*draft.without(own), record)
    return replace(draft, changes=(*draft.changes, change), kept=kept, notes=(*draft.notes, *notes))


def _uninstall_file(where: Where, client: Client, file: File, draft: Draft, elsewhere: Sequence[Kept]) -> Draft:
    own = _own(draft.kept, client, where, file)
    former = own or _own(elsewhere, client, where, file)
    if not may_hold_ours(file.path, where.root, former):
        return replace(draft, kept=draft.without(own))
    found = look(file.path, where.root)
    old = _fitting(former, found)
    draft = replace(draft, kept=draft.without(own))
    if found.content is None or draft.changed(file.path) or _is_shared(where, client, file, draft):
        return draft
    if file.form == "text" and is_foreign(file, found.content, old):
        notes = (f"{file.path} was changed since, and was left alone",) if old or file.starts else ()
        return replace(draft, notes=(*draft.notes, *notes))
    content = _uninstalled(file, found, old)
    if content == found.content:
        return draft
    folders = folders_of(client, where, found.target, old) if content is None else ()
    change = Change(client.name, file.path, found.target, found.content, content, found.mode, folders,
                    file.says(going=True))  # fmt: skip
    return replace(draft, changes=(*draft.changes, change))


def _is_shared(where: Where, client: Client, file: File, draft: Draft) -> bool:
    """Return whether another client still reads a text of ours, by the manifest or by its own files."""
    if file.form != "text":
        return False
    listed = any(entry.path == file.path for entry in draft.kept)
    return listed or used_by_others(where, file.path, (*draft.done, client.name))


def _joining(kept: Iterable[Kept], client: Client, file: File) -> list[Kept]:
    """Return a record for one more client that uses a file of another's installation; the last one removes it."""
    others = (entry for entry in kept if entry.path == file.path and file.form == "text" and not entry.existed)
    return [replace(entry, client=client.name) for entry in others][:1]


def _own(kept: Iterable[Kept], client: Client, where: Where, file: File) -> list[Kept]:
    own = (client.name, where.root, file.path)
    return [entry for entry in kept if (entry.client, entry.root, entry.path) == own]


def _fitting(own: Sequence[Kept], found: Found) -> Kept | None:
    """Return the record of a file; after a crash there may be two, and the file's digest selects one."""
    written = digest(found.content)
    return next((entry for entry in own if entry.after == written), own[0] if own else None)


def _change(client: str, file: File, found: Found, content: bytes | None) -> Change:
    folders = tuple(reversed(missing_folders(found.target)))
    mode = file.mode if found.content is None else found.mode
    return Change(client, file.path, found.target, found.content, content, mode, folders, file.says())


def _installed(file: File, found: Found, old: Kept | None, client: str, root: str, mend: bool) -> tuple[bytes, Kept]:
    """Return a file's content with our entries, and its record."""
    existed, before = found.content is not None, digest(found.content)
    if file.form == "text":  # an existing text that may be replaced is ours
        content = file.text.encode()
        return content, Kept(client, root, file.path, False, "", digest(content), (),
                             folders=old.folders if old else (), guessed=old.guessed if old else existed)  # fmt: skip
    sheet = sheet_of(file, found)
    clean = not any(entry.found(sheet)[0] for entry in file.entries)
    with speaking_of(file.path):
        for entry in file.entries:
            entry.mend(sheet)
            if not mend:
                entry.put(sheet)
    content = bytes_of(sheet, found)
    made = tuple(getattr(sheet, "made", ()))
    record = Kept(client, root, file.path, existed, before, digest(content), tuple(sheet.undo), made)
    return content, record if clean else _joined(record, old)


def _joined(record: Kept, old: Kept | None) -> Kept:
    """Return the record of a file that had entries of ours before."""
    if old is None:
        return replace(record, undo=None, guessed=True)
    made = tuple(dict.fromkeys((*old.made, *record.made)))
    same = old.undo is not None and old.after == record.before
    undo = (*old.undo, *(record.undo or ())) if same and old.undo is not None else None
    return replace(record, existed=old.existed, before=old.before, undo=undo, made=made, folders=old.folders,
                   guessed=old.guessed)  # fmt: skip


def _uninstalled(file: File, found: Found, old: Kept | None) -> bytes | None:
    """Return a file's content without our entries; None if the file is to be deleted. If nobody else changed it
    since, that is its original content."""
    if file.form == "text":
        return None
    if old and old.undo is not None and digest(found.content) == old.after:
        if not old.existed:
            return None
        former = packed(undone(text_of(found), old.undo), found)
        if digest(former) == old.before:
            return former
    return _without_entries(file, found, None if old and old.guessed else old)


def _without_entries(file: File, found: Found, old: Kept | None) -> bytes | None:
    sheet = sheet_of(file, found)
    if not any(entry.found(sheet)[0] for entry in file.entries) and not calls_in(file, found):
        return found.content
    made: Collection[Path] | None = set(old.made) if old else None
    with speaking_of(file.path):
        for entry in file.entries:
            entry.take(sheet, made)
    if not sheet.data and not (old and old.existed) and not sheet.text.strip("{} \t\r\n"):
        return None
    return bytes_of(sheet, found)


LONG = 400  # characters of a line; longer JSON is indented for display
AROUND = 2  # lines of context


def difference(change: Change) -> Iterator[str]:
    """Yield the lines of a diff, which start with a space, + or -; `...` stands for unchanged lines."""
    before, after = _lines(change.before), _lines(change.after)
    if change.before and change.after and max(map(len, (*before, *after)), default=0) > LONG:
        before, after = _laid_out(change.before), _laid_out(change.after)
    for line in list(difflib.unified_diff(before, after, lineterm="", n=AROUND))[2:]:
        if line.startswith("@@"):
            yield from (" ...",) if before and after else ()
        else:
            yield line[0] + redact(line[1:])[0][:LONG]


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines()


def _laid_out(content: bytes) -> list[str]:
    text = content.decode("utf-8", "replace")
    try:
        return json.dumps(json.loads(text.removeprefix("\ufeff")), indent=2, ensure_ascii=False).splitlines()
    except (ValueError, RecursionError):
        return text.splitlines()


TEMPORARY = ".swarmlore-tmp"


def apply(plan: Plan, home: str, before: Sequence[Kept]) -> None:
    """Apply a plan completely; if a step fails, restore the files that were written. The manifest is written first.
    After a crash in between, a file that was not changed yet is recognised by its digest."""
    with Folder(os.path.realpath(home)) as folder, folder.lock():
        if tuple(manifest.read(home)) != tuple(before):
            raise Conflict("somebody else installed or uninstalled meanwhile", f"run it again; {UNTOUCHED}")
        for change in plan.changes:
            _check(change)
        done: list[Change] = []
        try:
            manifest.write(home, (*before, *(entry for entry in plan.kept if entry not in before)))
            for change in plan.changes:
                _check(change)  # again: a running client may write its file at any time
                done.append(change)
                _carry_out(change)
            _drop_folders(plan.changes)
            manifest.write(home, plan.kept)
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
    """Remove the empty folders of deleted files, innermost first."""
    folders = {folder for change in changes if change.after is None for folder in change.folders}
    for folder in sorted(folders, key=len, reverse=True):
        _drop_folder(folder)


def _take_back(done: Sequence[Change], home: str, before: Sequence[Kept]) -> None:
    """Restore all files; raise ConfigError with the paths of those that could not be restored."""
    left = []
    for change in reversed(done):
        try:
            _restore(change)
        except OSError:
            left.append(change.path)
    if left:
        raise ConfigError(f"not everything could be put back: {', '.join(left)}", "swarmlore uninstall mends it")
    manifest.write(home, before)


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
        return  # it is not empty, or gone


def _replace(path: str, content: bytes, mode: int, *, exact: bool) -> None:
    """Replace a file atomically; `exact` keeps its mode and owner, else the umask decides."""
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
    """Keep the owner of a file, since an administrator may run this for another user."""
    if not os.path.exists(path):
        return
    facts = os.stat(path)
    if (facts.st_uid, facts.st_gid) != (os.geteuid(), os.getegid()):
        os.fchown(fd, facts.st_uid, facts.st_gid)
