"""What was recommended last, by project and caller: one small file each in the home, for its owner only.

It holds ids and marks. A text stands in it only where a language model wrote one; whoever erases a memory drops all of
these files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from hashlib import blake2b

from swarmlore.frozen import TYPE_CHECKING, fields, frozen
from swarmlore.workspace.files import Folder

if TYPE_CHECKING:
    from typing import Any

BEGINNING, ENDING = "curated-", ".json"
MOST_BYTES = 1 << 20


@frozen
class Kept:
    """One recommendation as it is kept: what it was about, and a mark of what that was like."""

    number: int
    what: str
    action: str
    ids: tuple[str, ...]
    mark: str
    text: str = ""
    by: str = ""
    operation: str = ""


def write(home: str, whose: tuple[str, str], kept: Sequence[Kept]) -> None:
    """Keep these in place of the former ones."""
    plain = [{spec.name: getattr(item, spec.name) for spec in fields(Kept)} for item in kept]
    with Folder(os.path.realpath(home)) as folder, folder.lock():
        folder.replace(_name(whose), [json.dumps(plain, ensure_ascii=True, indent=1).encode("ascii")], mode=0o600)


def read(home: str, whose: tuple[str, str]) -> tuple[Kept, ...]:
    """What was kept; nothing where there is no such file, or it is not in our form."""
    try:
        with open(os.path.join(home, _name(whose)), "rb") as file:
            told = json.loads(file.read(MOST_BYTES))
        return tuple(_kept(item) for item in told)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return ()


def drop(home: str) -> None:
    """Remove the lists of all callers: a text that is erased must not stay in one."""
    for name in os.listdir(home):
        if name.startswith(BEGINNING) and name.endswith(ENDING):
            os.unlink(os.path.join(home, name))


def _name(whose: tuple[str, str]) -> str:
    key = blake2b("\0".join(whose).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return f"{BEGINNING}{key}{ENDING}"


def _kept(item: dict[str, Any]) -> Kept:
    texts = {name: str(item[name]) for name in ("what", "action", "mark", "text", "by", "operation")}
    return Kept(number=int(item["number"]), ids=tuple(map(str, item["ids"])), **texts)
