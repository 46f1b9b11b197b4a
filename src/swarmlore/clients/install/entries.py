"""What belongs to us in a client's file: how each kind of entry is put in, found and taken out again."""

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
        """One kind of entry in one kind of file. `made` are the containers that may go when they are empty. `mend`
        changes what an earlier release wrote and what stops the client once our program is gone; it tells that."""

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
    """A file of a client: JSON or TOML with our entries, or a text that is ours alone."""

    path: str
    entries: tuple[Entry, ...] = ()
    text: str = ""
    mode: int = 0o644
    comments: bool = False  # whether the client reads JSON with comments there,
    commas: bool = False  # and with a comma behind the last item
    about: str = ""  # what a text of ours is; a person is asked to agree to it
    wanted: bool = True  # else it is only taken away
    starts: str = ""  # the client of a text that starts us: a script with a seal, known whatever home it names

    @property
    def form(self) -> str:
        return "text" if self.text else "toml" if self.path.endswith(".toml") else "json"

    def says(self, *, going: bool = False) -> tuple[str, ...]:
        """What of ours it holds, a sentence each, for a person who is asked to agree; of what goes, no programs."""
        if self.text:
            return (self.about,)
        return tuple(entry.says(going) for entry in self.entries)


@frozen
class Hook:
    """An event at which a client calls us; a matcher narrows it to some tools."""

    event: str
    timeout_s: int
    matcher: str = ""


@frozen
class Hooks:
    """Shell lines under `hooks.<Event>`, one group of our own each, behind those of others: places there mean
    something (Codex knows by them which hooks a person trusts)."""

    client: str
    target: Target
    hooks: tuple[Hook, ...]
    per_second: int = 1  # in what a client counts: a thousand where it takes milliseconds
    name: str = ""  # under which a client lists it, where it does

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
        handler = {"type": "command", **called, "command": hook_line(self.client, hook.event, self.target)}
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
        if hook.matcher and len(sheet.at(own[0][:-1])) == 1:  # where others moved in, it is theirs too
            set_to(sheet, (*own[0][:-2], "matcher"), hook.matcher)

    def mend(self, sheet: JsonSheet) -> str:
        lines = [(*place, "command") for hook in self.hooks for place in self._own(sheet, hook.event)]
        return mend_lines(sheet, self.client, lines)

    def take(self, sheet: JsonSheet, made: Collection[Path] | None) -> None:
        events, held = sheet.at(HOOKS), bool(made)
        for event in list(events) if isinstance(events, dict) else []:
            own = list(self._own(sheet, event))
            for place in reversed(own):
                self._drop(sheet, place)
            if own or made:
                prune(sheet, (*HOOKS, event), made)
                held = True
        if held:
            prune(sheet, HOOKS, made)

    def found(self, sheet: JsonSheet) -> tuple[int, int]:
        return sum(any(True for _ in self._own(sheet, hook.event)) for hook in self.hooks), len(self.hooks)

    def calls(self, sheet: JsonSheet) -> Iterator[Call]:
        events = sheet.at(HOOKS)
        for event in events if isinstance(events, dict) else ():
            for place in self._own(sheet, event):
                call = hook_call(sheet.at((*place, "command")), self.client)
                if call:
                    yield call

    def says(self, going: bool) -> str:
        events = ", ".join(hook.event for hook in self.hooks)
        runs = f"; each runs: {hook_line(self.client, 'EVENT', self.target)}"
        return f"hooks at {events}" + ("" if going else runs)

    def _own(self, sheet: JsonSheet, event: str) -> Iterator[Path]:
        """Where our handlers of an event are, whatever else is there."""
        groups = sheet.at((*HOOKS, event))
        for place, group in enumerate(groups if isinstance(groups, list) else ()):
            handlers = group.get("hooks") if isinstance(group, dict) else None
            for number, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                if isinstance(handler, dict) and hook_call(handler.get("command"), self.client):
                    yield (*HOOKS, event, place, "hooks", number)

    def _drop(self, sheet: JsonSheet, place: Path) -> None:
        """A handler, and its group where nothing is left in it."""
        if len(sheet.at(place[:-1])) == 1:
            sheet.remove(place[:-2])
        else:
            sheet.remove(place)


@frozen
class JsonServer:
    """An MCP server among those of a JSON file."""

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
    """Words in a list of what a client may do unasked."""

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
    """An MCP server as a table of a TOML file. `harmful`: keys of an earlier release that must not be true, and what
    they do."""

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
    command = values["command"]  # of some clients one list with everything in it
    words = command if isinstance(command, list) else [command, *values["args"]]
    runs = f", which runs: {shlex.join(words)}"
    return f"MCP server {name}" + ("" if going else runs)


def mend_lines(sheet: JsonSheet, client: str, places: Iterable[Path]) -> str:
    """Let no line of ours fail where that would stop the client; tells what it did before."""
    stopped = ""
    for place in places:
        line, before = unfailing(client, sheet.at(place))
        set_to(sheet, place, line)
        stopped = stopped or before
    return stopped


def need(sheet: JsonSheet, path: Path, kind: type) -> None:
    if not isinstance(sheet.at(path), kind):
        wanted = "an object" if kind is dict else "a list"
        raise ConfigError(f"{'.'.join(map(str, path))} is not {wanted}", "mend it, then run this again")


def set_to(sheet: JsonSheet, path: Path, value: Any) -> None:
    present = sheet.at(path)
    if present != value or type(present) is not type(value):
        sheet.put(path, value)


def prune(sheet: JsonSheet, path: Path, made: Collection[Path] | None) -> None:
    """Take out a container that nothing is left in, if it may go: one that we made, or where nobody knows who did
    (None), one that held something of ours."""
    if sheet.at(path) in ({}, []) and (made is None or path in made):
        sheet.remove(path)


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
    from swarmlore.clients.install.edit_json import JsonSheet
    from swarmlore.clients.install.edit_toml import TomlSheet

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
    from swarmlore.clients.install.edit_toml import Unwritable

    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.message}", f"{error.hint}; {UNTOUCHED}") from error
    except Unwritable:
        hint = f"take mcp_servers.swarmlore out of it by hand, or write it as a table of its own; {UNTOUCHED}"
        raise ConfigError(f"{path} holds its servers in a form that cannot be changed safely", hint) from None
