"""Input and progress of commands: text from arguments, a file, standard input or an editor, and progress bars."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from swarmlore.cli.render import memories
from swarmlore.errors import InvalidInput, NotFound, Unavailable
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


DEFAULT_EDITOR = "vi"
MAX_EDITED_BYTES = 200_000
_OTHER = "set EDITOR to your editor"


def edited(text: str, name: str) -> str:
    """Open a text in $VISUAL or $EDITOR and return it as the person saved it."""
    command = _editor_command()
    with tempfile.TemporaryDirectory(prefix="swarmlore-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        _run([*command, path])
        return _read_edited(path)


def _editor_command() -> list[str]:
    """Return the command line of the editor: $VISUAL, $EDITOR, else vi."""
    for name in ("VISUAL", "EDITOR"):
        try:
            if words := shlex.split(os.environ.get(name, "")):
                return words
        except ValueError as error:
            raise InvalidInput(f"{name} is no command: {str(error).lower()}", _OTHER) from None
    return [DEFAULT_EDITOR]


def _run(command: list[str]) -> None:
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise Unavailable(f"{command[0]} cannot be started: {error.strerror}", _OTHER) from None
    if code:
        how = f"was killed (signal {-code})" if code < 0 else f"ended with {code}"
        raise InvalidInput(f"{command[0]} {how}", f"try again, or {_OTHER}")


def _read_edited(path: str) -> str:
    """Read the edited text by path, because an editor may have replaced the file; refuse binary and overlong text."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_EDITED_BYTES + 1)
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput("what the editor left is no text", "try again") from None
    if len(data) > MAX_EDITED_BYTES:
        raise InvalidInput(f"what the editor left is longer than {MAX_EDITED_BYTES // 1000} KB", "make it shorter")
    if any(ord(char) < 32 and char not in "\n\t" for char in text):
        raise InvalidInput("what the editor left is no plain text", "leave out control characters")
    return text


MAX_TEXT_BYTES = 4 * 65_536  # the longest text that the validation gate takes, at 4 bytes a character
MAX_LINES_BYTES = 64 * 1024 * 1024


def given_text(words: Sequence[str], path: str | None = None, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return the text of a command: its words, standard input for a single `-`, or the file at `path`."""
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
    """Decode UTF-8; raise InvalidInput naming the first line that is none."""
    if b"\0" in data:
        raise InvalidInput(f"{os.path.basename(name)} is not a text file", "give UTF-8 text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{name} is not UTF-8 text (line {line})", "convert it: iconv -t UTF-8") from None


LINE_EVERY_S = 3.0
BAR_EVERY_S = 0.1


class Progress:
    """Progress display: a bar at a terminal, a line every 3 s elsewhere. Call it with the count done and the total
    (0 if unknown); leaving the `with` block clears the bar."""

    def __init__(self, doing: str, stream: TextIO | None, *, terminal: bool) -> None:
        self._doing = doing
        self._stream = stream
        self._terminal = terminal
        self._every_s = BAR_EVERY_S if terminal else LINE_EVERY_S
        self._next_at = time.monotonic() + (0.0 if terminal else self._every_s)
        self._drawn = 0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._stream is None or now < self._next_at:
            return
        self._next_at = now + self._every_s
        line = memories.progress(self._doing, done, total, bar=self._terminal)
        if self._terminal:
            self._stream.write("\r" + line.ljust(self._drawn))
            self._drawn = len(line)
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn and self._stream is not None:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
