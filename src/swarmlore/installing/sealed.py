"""A script of ours that names a program and a home: it is known again whatever it names and whoever installed it.

Its last line holds a digest of everything but the command, so that no list is needed to tell it from one that somebody
has changed since, even of another release.
"""

from __future__ import annotations

import json
import re
from functools import cache

from swarmlore.installing.calls import Call, words_call

SEAL = "// unchanged: "


def sealed(text: str) -> str:
    """The script with its digest."""
    return f"{text}{SEAL}{_digest(text)}\n"


def sealed_call(content: bytes | None, client: str) -> Call | None:
    """What a script of ours starts; None for one that is not ours, or not any more."""
    text = _text(content)
    body, _, seal = text.rpartition(SEAL)
    found = _command().search(body)
    if found is None or seal.strip() != _digest(body):
        return None
    try:
        words = json.loads(found[1])
    except ValueError:
        return None
    return words_call(words, client) if isinstance(words, list) else None


def same_script(content: bytes | None, text: str) -> bool:
    """Whether both say the same, whatever they start."""
    return _digest(_text(content)) == _digest(text)


def _text(content: bytes | None) -> str:
    """As it was written: git may have given it other line ends."""
    return (content or b"").decode("utf-8", "replace").replace("\r\n", "\n")


def _digest(text: str) -> str:
    from hashlib import sha256

    return sha256(_command().sub("", text, count=1).encode()).hexdigest()


@cache
def _command() -> re.Pattern[str]:
    return re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)
