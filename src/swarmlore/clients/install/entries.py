"""Kinds of entries in a client's files (hooks, MCP servers, permissions): how each is added, found and removed."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from swarmlore.clients.install.commands import Call, Target, hook_call, hook_line, server_call, unfailing
from swarmlore.clients.install.edit_json import JsonSheet, Path, Sheet
from swarmlore.clients.install.edit_toml import Keys, TomlSheet
from swarmlore.errors import ConfigError, NotAllowed
from swarmlore.frozen import TYPE_CHECKING, field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    class Entry(Protocol):
        """One kind of entry in one kind of file. `put` adds or updates it; `take` removes it, and then the containers
        in `made` that are empty. `found` counts the entries present and wanted, `calls` yields what they start, `says`
        describes them for a person. `mend` repairs an entry of an earlier release that stops the client once our
        program is gone, and returns its effect."""

        def put(self, sheet: Any) -> None: ...

        def mend(self, sheet: Any) -> str: ...

        def take(self, sheet: Any, made: Collection[Path] | None) -> None: ...

        def found(self, sheet: Any) -> tuple[int, int]: ...

        def calls(self, sheet: Any) -> Iterator[Call]: ...

        def says(self, going: bool) -> str: ...


HOOKS: Path = ("hooks",)
FOREIGN = "there is another server called swarmlore"


@frozen
class File:
    """A file of a client: JSON or TOML with our entries, or a text that belongs to us alone."""

    path: str
    entries: tuple[Entry, ...] = ()
    text: str = ""
    mode: int = 0o644
    comments: bool = False  # whether the client reads JSON with comments
    commas: bool = False  # and with trailing commas
    about: str = ""  # description of a text, for the person who is asked to agree
    wanted: bool = True  # if false, the file is only removed
    starts: str = ""  # client of a script that starts us; it has a checksum and is recognised for any home

    @property
    def form(self) -> str:
        return "text" if self.text else "toml" if self.path.endswith(".toml") else "json"

    def says(self, *, going: bool = False) -> tuple[str, ...]:
        """Describe our part of the file for a person, a sentence per entry; without programs when it is removed."""
        if self.text:
            return (self.about,)
        return tuple(entry.says(going) for entry in self.entries)


@frozen
class Hook:
    """An event at which a client runs us; `matcher` limits it to some tools."""

    event: str
    timeout_s: int
    matcher: str = ""


@frozen
class Hooks:
    """Hook entries under `hooks.<Event>`, one group each, after those of others. The order matters: Codex remembers
    by position which hooks a person trusts."""

    client: str
    target: Target
    hooks: tuple[Hook, ...]
    per_second: int = 1  # unit of timeouts: 1000 for a client that takes milliseconds
    name: str = ""  # name in the client's list of hooks, if it has one
    key = "command"  # of the command line in a handler

    def put(self, sheet: JsonSheet) -> None:
        sheet.ensure(HOOKS, {})
        need(sheet, HOOKS, dict)
        for hook in self.hooks:
            path = (*HOOKS, hook.event)
            sheet.ensure(path, [])
            need(sheet, path, list)
            self._put(sheet, path, hook)

    def _put(self, sheet: JsonSheet, path: Path, hook: Hook) -> None:
        called = {"name": self.name} if self.name else {}
        handler = {"type": "command", **called, self.key: hook_line(self.client, hook.event, self.target)}
        values = {**handler, "timeout": hook.timeout_s * self.per_second}
        own = list(self._own(sheet, hook.event))
        if not own:
            narrowed = {"matcher": hook.matcher} if hook.matcher else {}
            sheet.append(path, {**narrowed, "hooks": [values]})
            return
        for place in reversed(own[1:]):
            self._drop(sheet, place)
        for key, value in values.items():
            set_to(sheet, (*own[0], key), value)
        if hook.matcher and len(sheet.at(own[0][:-1])) == 1:  # a group with hooks of others keeps its matcher
            set_to(sheet, (*own[0][:-2], "matcher"), hook.matcher)

    def mend(self, sheet: JsonSheet) -> str:
        lines = [(*place, self.key) for hook in self.hooks for place in self._own(sheet, hook.event)]
        return mend_lines(sheet, self.client, lines)

    def take(self, sheet: JsonSheet, made: Collection[Path] | None) -> None:
        events, changed = sheet.at(HOOKS), bool(made)
        for event in list(events) if isinstance(events, dict) else []:
            own = list(self._own(sheet, event))
            for place in reversed(own):
                self._drop(sheet, place)
            if own or made:
                prune(sheet, (*HOOKS, event), made)
                changed = True
        if changed:
            prune(sheet, HOOKS, made)

    def found(self, sheet: JsonSheet) -> tuple[int, int]:
        return sum(any(True for _ in self._own(sheet, hook.event)) for hook in self.hooks), len(self.hooks)

    def calls(self, sheet: JsonSheet) -> Iterator[Call]:
        events = sheet.at(HOOKS)
        for event in events if isinstance(events, dict) else ():
            for place in self._own(sheet, event):
                if call := hook_call(sheet.at((*place, self.key)), self.client):
                    yield call

    def says(self, going: bool) -> str:
        events = ", ".join(hook.event for hook in self.hooks)
        runs = f"; each runs: {hook_line(self.client, 'EVENT', self.target)}"
        return f"hooks at {events}" + ("" if going else runs)

    def _own(self, sheet: JsonSheet, event: str) -> Iterator[Path]:
        """Yield the paths of our hooks at an event."""
        groups = sheet.at((*HOOKS, event))
        for place, group in enumerate(groups if isinstance(groups, list) else ()):
            handlers = group.get("hooks") if isinstance(group, dict) else None
            for number, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                if isinstance(handler, dict) and hook_call(handler.get(self.key), self.client):
                    yield (*HOOKS, event, place, "hooks", number)

    def _drop(self, sheet: JsonSheet, place: Path) -> None:
        """Remove a hook, and its group if that becomes empty."""
        if len(sheet.at(place[:-1])) == 1:
            sheet.remove(place[:-2])
        else:
            sheet.remove(place)


@frozen
class JsonServer:
    """An MCP server entry in a JSON file."""

    path: Path
    values: Mapping[str, Any] = field(default_factory=dict)

    def put(self, sheet: JsonSheet) -> None:
        sheet.ensure(self.path[:-1], {})
        need(sheet, self.path[:-1], dict)
        present = sheet.at(self.path)
        if present is None:
            sheet.put(self.path, dict(self.values))
        elif server_call(present) is None:
            raise ConfigError(FOREIGN, "rename or remove it, then run this again")
        else:
            for key, value in self.values.items():
                set_to(sheet, (*self.path, key), value)

    def mend(self, sheet: JsonSheet) -> str:
        return ""

    def take(self, sheet: JsonSheet, made: Collection[Path] | None) -> None:
        if server_call(sheet.at(self.path)):
            sheet.remove(self.path)
            prune(sheet, self.path[:-1], made)
        elif made:
            prune(sheet, self.path[:-1], made)

    def found(self, sheet: JsonSheet) -> tuple[int, int]:
        return int(server_call(sheet.at(self.path)) is not None), 1

    def calls(self, sheet: JsonSheet) -> Iterator[Call]:
        if call := server_call(sheet.at(self.path)):
            yield call

    def says(self, going: bool) -> str:
        return _server_says(self.path[-1], self.values, going)


@frozen
class Allowed:
    """Entries in a list of what a client may do without asking."""

    path: Path
    words: tuple[str, ...]

    def put(self, sheet: JsonSheet) -> None:
        for depth in range(1, len(self.path) + 1):
            kind = list if depth == len(self.path) else dict
            sheet.ensure(self.path[:depth], kind())
            need(sheet, self.path[:depth], kind)
        for word in self.words:
            if word not in sheet.at(self.path):
                sheet.append(self.path, word)

    def mend(self, sheet: JsonSheet) -> str:
        return ""

    def take(self, sheet: JsonSheet, made: Collection[Path] | None) -> None:
        listed = sheet.at(self.path)
        own = [place for place, word in enumerate(listed if isinstance(listed, list) else ()) if word in self.words]
        for place in reversed(own):
            sheet.remove((*self.path, place))
        for depth in range(len(self.path), 0, -1) if own or made else ():
            prune(sheet, self.path[:depth], made)

    def found(self, sheet: JsonSheet) -> tuple[int, int]:
        listed = sheet.at(self.path)
        return sum(word in listed for word in self.words) if isinstance(listed, list) else 0, len(self.words)

    def calls(self, sheet: JsonSheet) -> Iterator[Call]:
        return iter(())

    def says(self, going: bool) -> str:
        return f"allowed without asking: {', '.join(self.words)}"


@frozen
class TomlServer:
    """An MCP server as a table of a TOML file. `harmful` maps keys of an earlier release, which must not be true, to
    their effect."""

    keys: Keys
    values: Mapping[str, Any] = field(default_factory=dict)
    harmful: Mapping[str, str] = field(default_factory=dict)

    def put(self, sheet: TomlSheet) -> None:
        present = sheet.at(self.keys)
        if present is not None and server_call(present) is None:
            raise ConfigError(FOREIGN, "rename or remove it, then run this again")
        sheet.put(self.keys, self.values)

    def mend(self, sheet: TomlSheet) -> str:
        own = sheet.at(self.keys)
        found = [key for key in self.harmful if server_call(own) and own.get(key) is True]
        for key in found:
            sheet.remove((*self.keys, key))
        return self.harmful[found[0]] if found else ""

    def take(self, sheet: TomlSheet, made: Collection[Path] | None) -> None:
        if server_call(sheet.at(self.keys)):
            sheet.remove(self.keys)

    def found(self, sheet: TomlSheet) -> tuple[int, int]:
        return int(server_call(sheet.at(self.keys)) is not None), 1

    def calls(self, sheet: TomlSheet) -> Iterator[Call]:
        if call := server_call(sheet.at(self.keys)):
            yield call

    def says(self, going: bool) -> str:
        return _server_says(self.keys[-1], self.values, going)


def _server_says(name: object, values: Mapping[str, Any], going: bool) -> str:
    command = values["command"]  # some clients use one list for command and arguments
    words = command if isinstance(command, list) else [command, *values["args"]]
    runs = f", which runs: {shlex.join(words)}"
    return f"MCP server {name}" + ("" if going else runs)


def mend_lines(sheet: JsonSheet, client: str, places: Iterable[Path]) -> str:
    """Rewrite our hook commands so that a failure cannot stop the client; return what they did before."""
    stopped = ""
    for place in places:
        line, before = unfailing(client, sheet.at(place))
        set_to(sheet, place, line)
        stopped = stopped or before
    return stopped


def need(sheet: JsonSheet, path: Path, kind: type) -> None:
    """Raise ConfigError if the value at a path is not a container of this kind."""
    if not isinstance(sheet.at(path), kind):
        expected = "an object" if kind is dict else "a list"
        raise ConfigError(f"{'.'.join(map(str, path))} is not {expected}", "mend it, then run this again")


def set_to(sheet: JsonSheet, path: Path, value: Any) -> None:
    """Set the value at a path if it differs."""
    present = sheet.at(path)
    if present != value or type(present) is not type(value):
        sheet.put(path, value)


def prune(sheet: JsonSheet, path: Path, made: Collection[Path] | None) -> None:
    """Remove a container that is empty, if we made it. With `made` None it is unknown who made it, and it is
    removed."""
    if sheet.at(path) in ({}, []) and (made is None or path in made):
        sheet.remove(path)


MOST_BYTES = 64 * 1024 * 1024
BOM = b"\xef\xbb\xbf"
UNTOUCHED = "nothing was changed"


@frozen
class Found:
    """Content and mode of a file as it is now; `target` is its path without symbolic links."""

    target: str
    content: bytes | None
    mode: int


def look(path: str, root: str = "") -> Found:
    """Read a file, following symbolic links; one in a project must not lead out of that project."""
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
    """Return the error for a file that cannot be read or written."""
    return ConfigError(f"{path} cannot be used: {error.strerror}", f"check its permissions; {UNTOUCHED}")


def sheet_of(file: File, found: Found) -> JsonSheet | TomlSheet:
    """Parse a file for editing; raise ConfigError if it is not the JSON or TOML that its name says."""
    from swarmlore.clients.install.edit_json import JsonSheet
    from swarmlore.clients.install.edit_toml import TomlSheet

    kind = "TOML" if file.form == "toml" else "JSON"
    try:
        text = text_of(found)
        sheet = TomlSheet(text) if file.form == "toml" else JsonSheet(text, comments=file.comments, commas=file.commas)
    except (ValueError, RecursionError) as error:  # includes TOMLDecodeError and UnicodeDecodeError
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
    """Return the text of a file, without a byte order mark."""
    return (found.content or b"").removeprefix(BOM).decode("utf-8")


def bytes_of(sheet: Sheet, found: Found) -> bytes:
    """Return the content of an edited file, checked against its data."""
    checked = getattr(sheet, "checked", None)
    return packed(checked() if checked else sheet.text, found)


def packed(text: str, found: Found) -> bytes:
    """Return a text as bytes, with the byte order mark that the file had."""
    return (BOM if (found.content or b"").startswith(BOM) else b"") + text.encode("utf-8")


def missing_folders(path: str) -> list[str]:
    """Return the folders to create for a file, the innermost first."""
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
    """Context manager: errors name the file and say that nothing was changed."""
    from swarmlore.clients.install.edit_toml import Unwritable

    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.message}", f"{error.hint}; {UNTOUCHED}") from error
    except Unwritable:
        hint = f"take mcp_servers.swarmlore out of it by hand, or write it as a table of its own; {UNTOUCHED}"
        raise ConfigError(f"{path} holds its servers in a form that cannot be changed safely", hint) from None
