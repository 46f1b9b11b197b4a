"""One JSON document of any size, its records read one after another: a list, or an object that holds lists."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Sequence

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.workspace.jsonl import DECODER, LINE_BYTES, BadLine, check_value

if TYPE_CHECKING:
    from typing import Any, BinaryIO

PART = 1 << 16
_SPACE = " \t\r\n"
_PLAIN = json.JSONDecoder()


class Document:
    """A document, read from its beginning."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._ended = self._broken = False

    def records(self, lists: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Every item of a list, each with the name of its list ('' without one); of an object the lists with these
        names are read so, and other values are left out. An item that cannot be kept is a BadLine; where the document
        stops being one, it is raised."""
        begins = self._next()
        if begins == "[":
            yield from (("", item) for item in self._items())
        elif begins == "{":
            yield from self._members(lists)
        else:
            raise BadLine("not JSON: neither a list nor an object")
        if self._next():
            raise BadLine("more text behind the end of the document")

    def _members(self, lists: Sequence[str]) -> Iterator[tuple[str, Any]]:
        self._at += 1
        while (sign := self._next()) != "}":
            if sign == ",":
                self._at += 1
                continue
            name = self._value()
            if self._next() != ":":
                raise BadLine("not JSON from here on: a colon is missing")
            self._at += 1
            if self._next() == "[" and name in lists:
                yield from ((str(name), item) for item in self._items())
            else:
                self._value()
        self._at += 1

    def _items(self) -> Iterator[Any]:
        self._at += 1
        while (sign := self._next()) != "]":
            if sign == ",":
                self._at += 1
                continue
            yield self._value()
        self._at += 1

    def _next(self) -> str:
        """The next character that is no space; '' at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read(PART):
                return ""

    def _value(self) -> Any:
        """The value that begins here. Where the text ends too early, twice as much of it is tried."""
        if not self._next():
            raise BadLine("not UTF-8 from here on" if self._broken else "not JSON: it ends too early")
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise BadLine("nested too deeply") from None
            except json.JSONDecodeError as error:
                self._grow(f"not JSON from here on: {error.msg.lower().removesuffix(' at').rstrip(': ')}")
                continue
            except ValueError as error:  # it is JSON, and still cannot be kept
                value, end = BadLine(str(error)[:80]), _PLAIN.raw_decode(self._text, self._at)[1]
            if end == len(self._text) and not self._ended and self._grow(""):
                continue  # a number may go on
            self._at = end
            return _checked(value)

    def _grow(self, problem: str) -> bool:
        left = len(self._text) - self._at
        if left > LINE_BYTES:
            raise BadLine("a value that is too long, or not JSON from here on")
        grown = self._read(max(PART, left))
        if not grown and problem:
            raise BadLine("not UTF-8 from here on" if self._broken else problem)
        return grown

    def _read(self, size: int) -> bool:
        data = b"" if self._ended else self._file.read(size)
        try:
            more = self._decode.decode(data, final=not data)
        except UnicodeDecodeError as error:  # what stands before is still read
            self._decode.reset()
            more, data, self._broken = error.object[: error.start].decode("utf-8", "replace"), b"", True
        self._ended = not data
        self._text, self._at = self._text[self._at :] + more, 0
        return bool(data or more)


def _checked(value: Any) -> Any:
    try:
        if not isinstance(value, BadLine):
            check_value(value)
    except BadLine as problem:
        return problem
    return value
