"""Edit TOML files of other programs: add, change or remove one table, and leave comments and all else as they are.

`tomllib` has parsed the text before it is searched, and parses the result. If that does not hold exactly the expected
data, only a person should change a file of this form.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping

from swarmlore.clients.install.edit_json import Sheet
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any

Keys = tuple[str, ...]
_GAP = r"(?:[ \t\r\n]+|#[^\n]*)*"  # white space and comments between statements
_TOKEN = "|".join(
    (
        *(r'"""(?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{3,5}', r"'''(?:[^']|'{1,2}(?!'))*'{3,5}"),
        *(r'"(?:[^"\\\n]|\\.)*"', r"'[^'\n]*'", r"#[^\n]*", r"[\[\]{}=\n]"),
    )
)


class Unwritable(Exception):
    """Raised if a table is written in a form that only a person can change safely."""


@frozen
class Statement:
    """Header or pair with its full key path and its lines; for a pair also the span of its value."""

    keys: Keys
    table: Keys
    start: int
    end: int
    value: int = -1
    value_end: int = -1

    @property
    def header(self) -> bool:
        return self.value < 0


class TomlSheet(Sheet):
    """TOML file that is being edited."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.data: dict[str, Any] = tomllib.loads(text)

    def at(self, keys: Keys) -> Any:
        """Return the value at a key path, or None."""
        value: Any = self.data
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def put(self, table: Keys, values: Mapping[str, Any]) -> None:
        """Set these keys of a table and keep its others; a missing table is added at the end."""
        present = self.at(table)
        if isinstance(present, dict) and all(_same(present.get(key), value) for key, value in values.items()):
            return
        wanted = _with(self.data, table, {**present, **values} if isinstance(present, dict) else dict(values))
        if present is None:
            self._add(table, values)
        else:
            for key, value in values.items():
                self._set(table, key, value)
        self.data = self._read()
        if self.data != wanted:
            raise Unwritable

    def remove(self, table: Keys) -> None:
        """Remove a table with everything in it."""
        if self.at(table) is None:
            return
        wanted = _with(self.data, table, None)
        for found in reversed([item for item in statements(self.text) if item.keys[: len(table)] == table]):
            self.splice(found.start - self._blank_before(found), found.end, "")
        self.data = self._read()
        if self.at(table) is not None or _with(self.data, table, None) != wanted:
            raise Unwritable

    def _add(self, table: Keys, values: Mapping[str, Any]) -> None:
        lines = [f"[{'.'.join(table)}]", *(f"{key} = {written(value)}" for key, value in values.items())]
        end = len(self.text)
        before = "" if not self.text else self.newline if self.text.endswith("\n") else self.newline * 2
        self.splice(end, end, before + "".join(line + self.newline for line in lines))

    def _set(self, table: Keys, key: str, value: Any) -> None:
        found = [item for item in statements(self.text) if item.keys[: len(table)] == table]
        pair = next((item for item in found if item.keys == (*table, key) and not item.header), None)
        header = next((item for item in found if item.keys == table and item.header), None)
        if pair is not None:
            if not _same(self.at((*table, key)), value):
                self.splice(pair.value, pair.value_end, written(value))
        elif header is not None:
            glue = "" if self.text[: header.end].endswith("\n") else self.newline
            self.splice(header.end, header.end, f"{glue}{key} = {written(value)}{self.newline}")
        else:
            raise Unwritable

    def _blank_before(self, found: Statement) -> int:
        """Return the length of the empty line before a table if it only separates that table."""
        for blank in ("\r\n", "\n"):
            parted = self.text[: found.start].endswith("\n" + blank)
            if found.header and parted and self.text[found.end :].lstrip(" \t")[:1] in ("", "\r", "\n"):
                return len(blank)
        return 0

    def _read(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError:
            raise Unwritable from None


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _with(data: Mapping[str, Any], keys: Keys, value: Any) -> dict[str, Any]:
    """Return a copy of the data with another value at a path; None removes it, and tables that become empty."""
    copy = dict(data)
    if len(keys) > 1:
        inner = copy.get(keys[0], {})
        if not isinstance(inner, dict):
            raise Unwritable
        value = _with(inner, keys[1:], value) or None
    if value is None:
        copy.pop(keys[0], None)
    else:
        copy[keys[0]] = value
    return copy


def written(value: Any) -> str:
    """Return a text, number, boolean or list of texts as TOML."""
    import json  # TOML's basic strings, booleans, numbers and their lists look like JSON's

    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML has to escape this one


def statements(text: str) -> Iterator[Statement]:
    """Yield every header and every pair in order, each with its complete lines."""
    at, table = 0, ()  # type: int, Keys
    while at < len(text):
        found = re.compile(_GAP).match(text, at)
        at = found.end() if found else at
        if at >= len(text):
            return
        if text[at] == "[":
            end = _until(text, at, "]")
            table = _keys(text[at:end].strip("[]"))
            after = _line_end(text, end + text[at:end].startswith("[["))
            yield Statement(table, table, _line_start(text, at), after)
        else:
            equals = _until(text, at, "=")
            value = _past_blank(text, equals)
            value_end = _value_end(text, value)
            after = _line_end(text, value_end)
            keys = (*table, *_keys(text[at : equals - 1]))
            yield Statement(keys, table, _line_start(text, at), after, value, value_end)
        at = after


def _keys(text: str) -> Keys:
    """Return the parts of a dotted key, as parsed by `tomllib`."""
    keys: list[str] = []
    value: Any = tomllib.loads(f"{text} = 0")
    while isinstance(value, dict):
        key = next(iter(value))
        keys.append(key)
        value = value[key]
    return tuple(keys)


def _until(text: str, at: int, mark: str) -> int:
    """Return the offset after the next such character outside of quotes."""
    for token in re.compile(_TOKEN).finditer(text, at):
        if token[0] == mark:
            return token.end()
    return len(text)


def _value_end(text: str, at: int) -> int:
    """Return the offset after the value that starts here; strings and brackets may contain line ends."""
    depth = 0
    end = at
    for token in re.compile(_TOKEN).finditer(text, at):
        word = token[0]
        depth += (word in "[{") - (word in "]}")
        if depth <= 0 and (word == "\n" or word.startswith("#")):
            return len(text[: token.start()].rstrip(" \t\r"))
        end = token.end()
    return max(end, len(text.rstrip(" \t\r")))


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _past_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t":
        at += 1
    return at
