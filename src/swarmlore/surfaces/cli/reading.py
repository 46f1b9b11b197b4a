"""Text from the command line, from standard input or from a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from swarmlore.errors import InvalidInput, NotFound

MAX_TEXT_BYTES = 4 * 65_536  # the longest text that the gate takes, in the longest characters
MAX_LINES_BYTES = 64 * 1024 * 1024


def given_text(words: Sequence[str], path: str | None = None, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """The text of one of: words, `-` for standard input, a file."""
    if path is not None:
        if words:
            raise InvalidInput("both a text and a file were given", "give one of them")
        return decoded(_file(path, max_bytes), path)
    if list(words) == ["-"]:
        return decoded(_standard_input(max_bytes), "standard input")
    return " ".join(words)


def _file(path: str, max_bytes: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return _limited(file.read(max_bytes + 1), path, max_bytes)
    except FileNotFoundError:
        raise NotFound(f"no file {path}", "check the path") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path} is a folder", "name a file in it") from None
    except ValueError:
        raise InvalidInput(f"{path} is no name of a file", "check the path") from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InvalidInput(f"{path} cannot be read: {why}", "check its permissions") from error


def _standard_input(max_bytes: int) -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise InvalidInput("there is no standard input", "give the text, or --file PATH")
    return _limited(sys.stdin.buffer.read(max_bytes + 1), "standard input", max_bytes)


def _limited(data: bytes, name: str, max_bytes: int) -> bytes:
    if len(data) > max_bytes:
        raise InvalidInput(f"{name} is longer than {max_bytes // 1024} KB", "split it")
    return data


def decoded(data: bytes, name: str) -> str:
    """UTF-8 text; anything else is refused with the place where it stops being text."""
    if b"\0" in data:
        raise InvalidInput(f"{os.path.basename(name)} is not a text file", "give UTF-8 text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{name} is not UTF-8 text (line {line})", "convert it: iconv -t UTF-8") from None
