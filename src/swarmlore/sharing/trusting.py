"""Which repositories a person agreed to exchange memories with. Kept in the user's home, never in the repository.

Nothing under a repository's `.swarm/` is read or written before: a cloned repository must not be able to put memories
into a user's store, nor to take any out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from swarmlore.errors import ConfigError
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any

FILE = "trusted.json"
FOLDER = ".swarm"
HIVE = "hive"  # in place of a root: the shared learnings in the home itself


@frozen
class Trusted:
    """One folder a person agreed to, and the project whose memories it gets."""

    root: str
    project: str
    by: str
    at: float


def agreed(home: str) -> dict[str, Trusted]:
    """Every folder that was agreed to, by its path."""
    told = _read(home).get("roots", {})
    return {
        root: Trusted(root, str(item["project"]), str(item["by"]), float(item["at"])) for root, item in told.items()
    }


def place_of(home: str, root: str) -> str:
    """A name for a folder on this machine: a team's store serves many machines, and paths repeat and are private."""
    from zlib import crc32  # hashlib would cost more than everything else here

    path = root.encode("utf-8", "surrogateescape")
    return f"{_read(home).get('machine', '')}-{crc32(path):08x}{crc32(path[::-1]):08x}"


def agree(home: str, agreement: Trusted) -> None:
    """Note that a person agreed."""
    with _changing(home) as told:
        told.setdefault("machine", os.urandom(8).hex())
        roots = told.setdefault("roots", {})
        roots[agreement.root] = {"project": agreement.project, "by": agreement.by, "at": agreement.at}


def withdraw(home: str, root: str) -> bool:
    """Note that a person does not agree any more; tells whether one did."""
    with _changing(home) as told:
        return told.get("roots", {}).pop(root, None) is not None


def _read(home: str) -> dict[str, Any]:
    path = os.path.join(home, FILE)
    try:
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        if not all(isinstance(item["at"], float) for item in told.get("roots", {}).values()):
            raise ValueError("not in our form")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        hint = "remove it, then run swarmlore init or trust again where you want it"
        raise ConfigError(f"{path} cannot be read ({type(error).__name__})", hint) from error
    return dict(told)


@contextmanager
def _changing(home: str) -> Iterator[dict[str, Any]]:
    """What is noted, to be changed; written back at the end, while nobody else does the same."""
    from swarmlore.workspace.files import Folder

    with Folder(os.path.realpath(home)) as folder, folder.lock():
        told = _read(home)
        yield told
        text = json.dumps(told, indent=1, sort_keys=True, ensure_ascii=True)
        folder.replace(FILE, [text.encode("ascii")], mode=0o600)
