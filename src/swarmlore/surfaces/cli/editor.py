"""A text in the editor of the user."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile

from swarmlore.errors import InvalidInput, Unavailable

USUAL = "vi"
MOST_BYTES = 200_000
_OTHER = "set EDITOR to your editor"


def edited(text: str, name: str) -> str:
    """What a person made of a text in $VISUAL or $EDITOR."""
    command = _command()
    with tempfile.TemporaryDirectory(prefix="swarmlore-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        _run([*command, path])
        return _left(path)


def _command() -> list[str]:
    """The words of the first variable that names an editor."""
    for name in ("VISUAL", "EDITOR"):
        try:
            if words := shlex.split(os.environ.get(name, "")):
                return words
        except ValueError as error:
            raise InvalidInput(f"{name} is no command: {str(error).lower()}", _OTHER) from None
    return [USUAL]


def _run(command: list[str]) -> None:
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise Unavailable(f"{command[0]} cannot be started: {error.strerror}", _OTHER) from None
    if code:
        how = f"was killed (signal {-code})" if code < 0 else f"ended with {code}"
        raise InvalidInput(f"{command[0]} {how}", f"try again, or {_OTHER}")


def _left(path: str) -> str:
    """What stands in the file now; an editor may have put another one in its place."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput("what the editor left is no text", "try again") from None
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"what the editor left is longer than {MOST_BYTES // 1000} KB", "make it shorter")
    if any(ord(char) < 32 and char not in "\n\t" for char in text):
        raise InvalidInput("what the editor left is no plain text", "leave out control characters")
    return text
