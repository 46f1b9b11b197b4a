"""What would change: every file is read and worked out before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.installing.entries import File
from swarmlore.installing.files import Found, bytes_of, look, missing_folders, packed, sheet_of, speaking_of, text_of
from swarmlore.installing.ledger import Kept, digest
from swarmlore.installing.owning import (
    calls_in,
    folders_of,
    harm,
    is_foreign,
    kept_elsewhere,
    may_hold_ours,
    strays,
    used_by_others,
    when_gone,
)
from swarmlore.installing.sheet import undone
from swarmlore.installing.where import Client, Where

if TYPE_CHECKING:
    from swarmlore.installing.json_text import Path

_LEFT = "{} was left: set the variable that named its folder then, and run this again"


@frozen
class Change:
    """One file before and after; None is a file that is not there. `target` is behind all symbolic links."""

    client: str
    path: str
    target: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o644
    folders: tuple[str, ...] = ()  # to be made, or with the file to be taken away where they are empty
    says: tuple[str, ...] = ()  # what of ours is put in or taken out


@frozen
class Plan:
    """All that one run changes, what to keep about it, and what a person should know."""

    clients: tuple[str, ...]
    changes: tuple[Change, ...]
    kept: tuple[Kept, ...]  # the whole list as it is to be afterwards
    notes: tuple[str, ...] = ()
    takes_out: bool = False
    refused: tuple[tuple[str, SwarmloreError], ...] = ()  # clients that are left out, and why


@frozen
class Draft:
    """A plan in the making. Each client adds to it as a whole, or is left out."""

    kept: tuple[Kept, ...]
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    done: tuple[str, ...] = ()

    def changed(self, path: str) -> bool:
        return any(change.path == path for change in self.changes)

    def without(self, gone: Sequence[Kept]) -> tuple[Kept, ...]:
        return tuple(entry for entry in self.kept if entry not in gone)


def plan_install(
    where: Where, clients: Sequence[Client], kept: Sequence[Kept], version: str, now: float, *, mend: bool = False
) -> Plan:
    """What it takes so that all entries of these clients are there and point to the target; or only to `mend` those
    that stop a client once our program is gone."""

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
    """What it takes so that nothing of ours is left in the files of these clients."""

    def step(client: Client, draft: Draft) -> Draft:
        elsewhere, left = kept_elsewhere(client, where), strays(client, where, draft.kept)
        for file in client.files(where):
            if not (left and file.form == "text"):  # whoever reads those may read this one too
                draft = _uninstall_file(where, client, file, draft, elsewhere)
        return replace(draft, notes=(*draft.notes, *(_LEFT.format(path) for path in left)))

    return replace(_for_each(clients, kept, step), takes_out=True)


def _for_each(clients: Sequence[Client], kept: Sequence[Kept], step: Callable[[Client, Draft], Draft]) -> Plan:
    """A client whose files cannot be used is left out; where none is left, that is the error."""
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
    """Whether another client still reads a text of ours, as the list says or as its own files do."""
    if file.form != "text":
        return False
    listed = any(entry.path == file.path for entry in draft.kept)
    return listed or used_by_others(where, file.path, (*draft.done, client.name))


def _joining(kept: Iterable[Kept], client: Client, file: File) -> list[Kept]:
    """One more user of a file that another client's installation has made: it stays until the last of them goes."""
    others = (entry for entry in kept if entry.path == file.path and file.form == "text" and not entry.existed)
    return [replace(entry, client=client.name) for entry in others][:1]


def _own(kept: Iterable[Kept], client: Client, where: Where, file: File) -> list[Kept]:
    own = (client.name, where.root, file.path)
    return [entry for entry in kept if (entry.client, entry.root, entry.path) == own]


def _fitting(own: Sequence[Kept], found: Found) -> Kept | None:
    """What is kept about a file; after a crash that may be two versions, and the file says which is true."""
    written = digest(found.content)
    return next((entry for entry in own if entry.after == written), own[0] if own else None)


def _change(client: str, file: File, found: Found, content: bytes | None) -> Change:
    folders = tuple(reversed(missing_folders(found.target)))
    mode = file.mode if found.content is None else found.mode
    return Change(client, file.path, found.target, found.content, content, mode, folders, file.says())


# One file


def _installed(file: File, found: Found, old: Kept | None, client: str, root: str, mend: bool) -> tuple[bytes, Kept]:
    """The content with our entries, and what to keep about it."""
    existed, before = found.content is not None, digest(found.content)
    if file.form == "text":  # a text that is there and may be replaced is ours
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
    """What to keep about a file that had entries of ours before."""
    if old is None:
        return replace(record, undo=None, guessed=True)
    made = tuple(dict.fromkeys((*old.made, *record.made)))
    same = old.undo is not None and old.after == record.before
    undo = (*old.undo, *(record.undo or ())) if same and old.undo is not None else None
    return replace(record, existed=old.existed, before=old.before, undo=undo, made=made, folders=old.folders,
                   guessed=old.guessed)  # fmt: skip


def _uninstalled(file: File, found: Found, old: Kept | None) -> bytes | None:
    """The content without our entries: as it was, where nobody else changed it since; None where the file goes."""
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
