"""Which version of a project's note holds: checkouts of one project may have different ones.

A version is known by the bytes of a note and of its sidecar, whatever checkout they lie in. Somebody in a checkout
finds its own file. A note that this checkout does not have is found as it was taken in last, wherever that was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import sha256

from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import NotAllowed
from swarmlore.note_places import PROJECT, checkouts, read_both
from swarmlore.store.store import Store

VERSION = "version"  # of the note, in what every memory of it says about its source
_PART = 8


def digest_of(*parts: bytes) -> str:
    """A mark of contents."""
    return sha256(b"\0".join(parts)).hexdigest()[:16]


def digest_of_both(data: bytes, beside: bytes) -> str:
    """A mark of a note and of its sidecar; its first half is of the note alone."""
    return digest_of(data) + digest_of(beside)


def version_of(digest: str) -> str:
    """The short mark that memories carry."""
    return digest[:_PART] + digest[16 : 16 + _PART]


def version_in(root: str, path: str) -> str:
    """The version of a note in a checkout; '' where it has none that can be read."""
    parts = path.split("/")
    if not path or ".." in parts or not os.path.lexists(os.path.join(root, *parts)):
        return ""
    try:
        return version_of(digest_of_both(*read_both(root, path)))
    except NotAllowed:
        return ""


def other_checkouts(root: str, seen: Iterable[str]) -> list[str]:
    """The other checkouts of a project on this machine: those that git knows, and those where notes were seen."""
    found = dict.fromkeys((*checkouts(root), *seen))
    return [other for other in found if other != root and os.path.isdir(other)]


class Versions:
    """Says of memories whether they are of the version that holds in one checkout."""

    def __init__(self, root: str, store: Store, caller: Caller) -> None:
        self._root = os.path.realpath(root)
        self._store = store
        self._caller = caller

    def holds(self, memory: Memory) -> bool:
        """Whether a memory is of the version that is to be shown here; true for all that is no project's note."""
        ref = memory.source_ref
        if memory.source != "note" or ref.get("place") != PROJECT or not ref.get(VERSION):
            return True
        own = version_in(self._root, str(ref.get("path", "")))
        if own == ref[VERSION]:
            return True
        every = self._store.of_key(self._caller, memory.key, (memory.tier,))
        return bool(ref[VERSION] == self._chosen(own, [one for one in every if one.live]))

    def only(self, memories: Iterable[Memory]) -> list[Memory]:
        """Those of many that are to be shown here; files are read only where there are several versions of a note."""
        every = list(memories)
        versions: dict[str, set[str]] = {}
        for one in every:
            versions.setdefault(one.key, set()).add(str(one.source_ref.get(VERSION, "")))
        return [one for one in every if len(versions[one.key]) == 1 or self.holds(one)]

    def _chosen(self, own: str, rows: Sequence[Memory]) -> str:
        """The version of this checkout or, where nothing is known of that, the one that was taken in last."""
        versions = [str(row.source_ref.get(VERSION, "")) for row in sorted(rows, key=lambda row: row.updated_at)]
        return own if own in versions else versions[-1] if versions else ""
