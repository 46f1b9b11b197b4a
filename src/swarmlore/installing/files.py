"""The files of clients, read and written as bytes: whatever they hold besides our entries stays as it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from swarmlore.errors import ConfigError, NotAllowed
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.installing.entries import File
from swarmlore.installing.sheet import Sheet

if TYPE_CHECKING:
    from swarmlore.installing.json_text import JsonSheet
    from swarmlore.installing.toml_text import TomlSheet

MOST_BYTES = 64 * 1024 * 1024
BOM = b"\xef\xbb\xbf"
UNTOUCHED = "nothing was changed"


@frozen
class Found:
    """A file as it is now."""

    target: str
    content: bytes | None
    mode: int


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
        text = text_of(found)
        sheet = TomlSheet(text) if file.form == "toml" else JsonSheet(text, comments=file.comments, commas=file.commas)
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


def text_of(found: Found) -> str:
    return (found.content or b"").removeprefix(BOM).decode("utf-8")


def bytes_of(sheet: Sheet, found: Found) -> bytes:
    checked = getattr(sheet, "checked", None)
    return packed(checked() if checked else sheet.text, found)


def packed(text: str, found: Found) -> bytes:
    return (BOM if (found.content or b"").startswith(BOM) else b"") + text.encode("utf-8")


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


@contextmanager
def speaking_of(path: str) -> Iterator[None]:
    """Errors say which file they are about, and that it is as it was."""
    from swarmlore.installing.toml_text import Unwritable

    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.message}", f"{error.hint}; {UNTOUCHED}") from error
    except Unwritable:
        hint = f"take mcp_servers.swarmlore out of it by hand, or write it as a table of its own; {UNTOUCHED}"
        raise ConfigError(f"{path} holds its servers in a form that cannot be changed safely", hint) from None
