"""What would change: every file is read and worked out before anything is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from swarmlore.errors import ConfigError, NotAllowed
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.installing.entries import File
from swarmlore.installing.ledger import Kept, digest
from swarmlore.installing.sheet import Sheet, undone
from swarmlore.installing.where import Client, Where

if TYPE_CHECKING:
    from swarmlore.installing.json_text import JsonSheet, Path
    from swarmlore.installing.toml_text import TomlSheet

MOST_BYTES = 64 * 1024 * 1024
BOM = b"\xef\xbb\xbf"
UNTOUCHED = "nothing was changed"


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


@frozen
class Found:
    """A file as it is now."""

    target: str
    content: bytes | None
    mode: int


def plan_install(where: Where, clients: Sequence[Client], kept: Sequence[Kept], version: str, now: float) -> Plan:
    """What it takes so that all entries of these clients are there and point to the target."""
    changes: list[Change] = []
    notes: list[str] = []
    after = list(kept)
    for client in clients:
        for file in client.files(where):
            if not file.wanted:
                continue
            found = look(file.path, where.root)
            own = _own(kept, client, where, file)
            old = _fitting(own, found)
            if file.form == "text" and _is_foreign(file, found, old):
                notes.append(f"{file.path} is not as Swarmlore writes it, and was left alone; delete it to get ours")
                continue
            content, record = _installed(file, found, old, client.name, where.root)
            if content == found.content or any(change.path == file.path for change in changes):
                after += [] if own else _joining(after, client, file)
                continue
            change = _change(client.name, file, found, content)
            changes.append(change)
            folders = tuple(dict.fromkeys((*record.folders, *change.folders)))
            after = [entry for entry in after if entry not in own]
            after.append(replace(record, folders=folders, version=version, at=now))
    return Plan(tuple(client.name for client in clients), tuple(changes), tuple(after), tuple(notes))


def plan_uninstall(where: Where, clients: Sequence[Client], kept: Sequence[Kept]) -> Plan:
    """What it takes so that nothing of ours is left in the files of these clients."""
    changes: list[Change] = []
    notes: list[str] = []
    gone: list[Kept] = []
    for client in clients:
        for file in client.files(where):
            found = look(file.path, where.root)
            own = _own(kept, client, where, file)
            old = _fitting(own, found)
            gone += own
            shared = any(entry.path == file.path for entry in kept if entry not in gone)
            if found.content is None or (file.form == "text" and shared):
                continue
            if file.form == "text" and _is_foreign(file, found, old):
                notes += [f"{file.path} was changed since, and was left alone"] if old else []
                continue
            content = _uninstalled(file, found, old)
            if content != found.content and not any(change.path == file.path for change in changes):
                folders = old.folders if old and content is None else ()
                changes.append(Change(client.name, file.path, found.target, found.content, content, found.mode,
                                      folders, file.says(going=True)))  # fmt: skip
    after = tuple(entry for entry in kept if entry not in gone)
    return Plan(tuple(client.name for client in clients), tuple(changes), after, tuple(notes), takes_out=True)


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


def _is_foreign(file: File, found: Found, old: Kept | None) -> bool:
    """Whether a file that should be ours alone was written or changed by somebody else."""
    if found.content is None or found.content == file.text.encode():
        return False
    return old is None or digest(found.content) != old.after


def _change(client: str, file: File, found: Found, content: bytes | None) -> Change:
    folders = tuple(reversed(missing_folders(found.target)))
    mode = file.mode if found.content is None else found.mode
    return Change(client, file.path, found.target, found.content, content, mode, folders, file.says())


def missing_folders(path: str) -> list[str]:
    """The folders that have to be made for a file, the innermost first."""
    missing = []
    folder = os.path.dirname(path)
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise NotAllowed(f"{folder} is not a folder", f"move it away; {UNTOUCHED}")
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"{folder} cannot be written", f"check its permissions; {UNTOUCHED}")
    return missing


# One file


def _installed(file: File, found: Found, old: Kept | None, client: str, root: str) -> tuple[bytes, Kept]:
    """The content with our entries, and what to keep about it."""
    existed, before = found.content is not None, digest(found.content)
    if file.form == "text":
        content = file.text.encode()
        was_made = old is not None and not old.existed
        return content, Kept(client, root, file.path, existed and not was_made, "", digest(content), (),
                             folders=old.folders if old else ())  # fmt: skip
    sheet = sheet_of(file, found)
    clean = not any(entry.found(sheet)[0] for entry in file.entries)
    with _speaking_of(file.path):
        for entry in file.entries:
            entry.put(sheet)
    content = _bytes(sheet, found)
    made = tuple(getattr(sheet, "made", ()))
    record = Kept(client, root, file.path, existed, before, digest(content), tuple(sheet.undo), made)
    return content, record if clean else _joined(record, old)


def _joined(record: Kept, old: Kept | None) -> Kept:
    """What to keep about a file that had entries of ours before."""
    if old is None:
        return replace(record, undo=None)
    made = tuple(dict.fromkeys((*old.made, *record.made)))
    same = old.undo is not None and old.after == record.before
    undo = (*old.undo, *(record.undo or ())) if same and old.undo is not None else None
    return replace(record, existed=old.existed, before=old.before, undo=undo, made=made, folders=old.folders)


def _uninstalled(file: File, found: Found, old: Kept | None) -> bytes | None:
    """The content without our entries: as it was, where nobody else changed it since; None where the file goes."""
    if file.form == "text":
        return None
    if old and old.undo is not None and digest(found.content) == old.after:
        if not old.existed:
            return None
        sheet = _text_of(found)
        former = _packed(undone(sheet, old.undo), found)
        if digest(former) == old.before:
            return former
    return _without_entries(file, found, old)


def _without_entries(file: File, found: Found, old: Kept | None) -> bytes | None:
    sheet = sheet_of(file, found)
    if not any(entry.found(sheet)[0] for entry in file.entries) and not any(_calls(file, sheet)):
        return found.content
    made: Collection[Path] | None = set(old.made) if old else None
    with _speaking_of(file.path):
        for entry in file.entries:
            entry.take(sheet, made)
    if not sheet.data and not (old and old.existed) and not sheet.text.strip("{} \t\r\n"):
        return None
    return _bytes(sheet, found)


def _calls(file: File, sheet: JsonSheet | TomlSheet) -> list[object]:
    return [call for entry in file.entries for call in entry.calls(sheet)]


# Reading and writing text


def look(path: str, root: str = "") -> Found:
    """A file as it is, behind symbolic links; one in a project has to be in that project."""
    target = os.path.realpath(path)
    if root and not (target + os.sep).startswith(os.path.realpath(root) + os.sep):
        raise NotAllowed(f"{path} leads out of the project, to {target}", f"put a real file there; {UNTOUCHED}")
    try:
        facts = os.lstat(target)
    except FileNotFoundError:
        return Found(target, None, 0)
    except OSError as error:
        raise unusable(path, error) from error
    if not stat.S_ISREG(facts.st_mode):
        raise NotAllowed(f"{path} is not a regular file", f"move it away; {UNTOUCHED}")
    if facts.st_size > MOST_BYTES:
        raise NotAllowed(f"{path} is larger than {MOST_BYTES} bytes", f"move it away; {UNTOUCHED}")
    try:
        with open(target, "rb") as file:
            return Found(target, file.read(), stat.S_IMODE(facts.st_mode))
    except OSError as error:
        raise unusable(path, error) from error


def unusable(path: str, error: OSError) -> ConfigError:
    return ConfigError(f"{path} cannot be used: {error.strerror}", f"check its permissions; {UNTOUCHED}")


def sheet_of(file: File, found: Found) -> JsonSheet | TomlSheet:
    """The file, ready to be changed; raises ConfigError where it is not what its name says."""
    from swarmlore.installing.json_text import JsonSheet
    from swarmlore.installing.toml_text import TomlSheet

    kind = "TOML" if file.form == "toml" else "JSON"
    try:
        text = _text_of(found)
        sheet = TomlSheet(text) if file.form == "toml" else JsonSheet(text, comments=file.comments)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are such
        hint = f"mend it or move it away, then run this again; {UNTOUCHED}"
        raise ConfigError(f"{file.path} cannot be read as {kind}: {_reason(error)}", hint) from error
    if not isinstance(sheet.data, dict):
        raise ConfigError(f"{file.path} holds no object", f"mend it or move it away; {UNTOUCHED}")
    return sheet


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "it is not UTF-8" if isinstance(error, UnicodeError) else str(error)


@contextmanager
def _speaking_of(path: str) -> Iterator[None]:
    """Errors say which file they are about, and that it is as it was."""
    from swarmlore.installing.toml_text import Unwritable

    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.message}", f"{error.hint}; {UNTOUCHED}") from error
    except Unwritable:
        hint = f"take mcp_servers.swarmlore out of it by hand, or write it as a table of its own; {UNTOUCHED}"
        raise ConfigError(f"{path} holds its servers in a form that cannot be changed safely", hint) from None


def _text_of(found: Found) -> str:
    return (found.content or b"").removeprefix(BOM).decode("utf-8")


def _bytes(sheet: Sheet, found: Found) -> bytes:
    checked = getattr(sheet, "checked", None)
    return _packed(checked() if checked else sheet.text, found)


def _packed(text: str, found: Found) -> bytes:
    return (BOM if (found.content or b"").startswith(BOM) else b"") + text.encode("utf-8")
