"""A text in the editor of the user."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile

from swarmlore.errors import InvalidInput, Unavailable

USUAL = "vi"


def edited(text: str, name: str) -> str:
    """What a person made of a text in $VISUAL or $EDITOR."""
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or USUAL)
    with tempfile.TemporaryDirectory(prefix="swarmlore-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            code = subprocess.run([*command, path], check=False).returncode
        except OSError as error:
            raise Unavailable(
                f"{command[0]} cannot be started: {error.strerror}", "set EDITOR to your editor"
            ) from None
        if code:
            raise InvalidInput(f"{command[0]} ended with {code}", "try again, or set EDITOR to another editor")
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except (OSError, UnicodeDecodeError):
            raise InvalidInput("what the editor left is no text", "try again") from None
