"""Install manifest: what was written where, kept in the home so that it can be undone to the byte.

It contains no copies of files, since clients keep keys and tokens in them: only the few replaced characters, and
digests that identify a file's content.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from swarmlore.clients.install.edit_json import Path, Splice
from swarmlore.errors import ConfigError
from swarmlore.frozen import TYPE_CHECKING, fields, frozen

if TYPE_CHECKING:
    from typing import Any

FILE = "installed.json"
VERSION = 1


@frozen
class Kept:
    """Record of one file that was changed or created. `root` is '' for a person's files. Without `undo` someone else
    changed the file between two of our changes; then only our entries can be removed."""

    client: str
    root: str
    path: str
    existed: bool
    before: str
    after: str
    undo: tuple[Splice, ...] | None
    made: tuple[Path, ...] = ()
    folders: tuple[str, ...] = ()
    version: str = ""
    at: float = 0.0
    guessed: bool = False  # our entries were there before, so it is unknown which containers were made for them


def digest(content: bytes | None) -> str:
    """Return the SHA-256 digest of a content; '' for a missing file."""
    from hashlib import sha256

    return "" if content is None else sha256(content).hexdigest()


def read(home: str) -> tuple[Kept, ...]:
    """Return the records of everything installed from this home."""
    path = os.path.join(home, FILE)
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        if document["version"] != VERSION:
            raise ValueError(f"version {document['version']}")
        return tuple(_kept(entry) for entry in document["files"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        hint = f"move {path} away; uninstall then takes out our entries one by one"
        raise ConfigError(f"{path} cannot be read: {type(error).__name__}", hint) from error


def write(home: str, kept: Iterable[Kept]) -> None:
    """Replace the manifest atomically; delete it if no records are left."""
    from swarmlore.workspace.files import Folder

    entries = [{spec.name: getattr(entry, spec.name) for spec in fields(Kept)} for entry in kept]
    with Folder(os.path.realpath(home)) as folder:
        if entries:
            text = json.dumps({"version": VERSION, "files": entries}, indent=1)  # ASCII: paths may hold odd bytes
            folder.replace(FILE, [text.encode(), b"\n"], mode=0o600)
        elif os.path.lexists(os.path.join(home, FILE)):
            os.unlink(os.path.join(home, FILE))


def _kept(entry: dict[str, Any]) -> Kept:
    known = {spec.name for spec in fields(Kept)}
    values = {name: value for name, value in entry.items() if name in known}
    for name in ("client", "root", "path", "before", "after"):
        if not isinstance(values[name], str):
            raise TypeError(name)
    undo = values["undo"]
    values["undo"] = None if undo is None else tuple((int(at), int(length), str(old)) for at, length, old in undo)
    values["made"] = tuple(tuple(path) for path in values.get("made", ()))
    values["folders"] = tuple(map(str, values.get("folders", ())))
    return Kept(**values)
