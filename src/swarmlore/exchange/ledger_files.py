"""Files of a ledger: their names and change stamps, and the files of unreadable lines, rejections and retractions."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b

from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.gate import scrub_text, scrub_value
from swarmlore.domain.records import Rejection
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.memory.quarantine import Retraction, retraction_from, retraction_line
from swarmlore.store.store import Store
from swarmlore.workspace import jsonl
from swarmlore.workspace.files import SMALL_BYTES, Folder
from swarmlore.workspace.git import merge_under_way
from swarmlore.workspace.jsonl import HEAD_BYTES, MARK, BadLine, dump, parse_object

if TYPE_CHECKING:
    from typing import Any


@frozen
class Place:
    """Folder, file names and tier of a ledger."""

    key: str
    folder: str
    stem: str
    tier: str
    project_name: str

    @property
    def main(self) -> str:
        return f"{self.stem}.jsonl"

    @property
    def quarantined(self) -> str:
        return f"{self.stem}-quarantined.jsonl"

    @property
    def rejected(self) -> str:
        return f"{self.stem}-rejected.jsonl"

    @property
    def unreadable(self) -> str:
        return f"{self.stem}-unreadable.jsonl"

    def stamp(self, folder: Folder) -> str:
        """Return a text that changes with the files, and with a merge under way, which may leave a file unchanged."""
        return " ".join((folder.stamp(self.main, self.quarantined), *self.merging()))

    def merging(self) -> list[str]:
        """Return a fingerprint of the git merge under way, or an empty list."""
        mark = "" if self.tier == "hive" else merge_under_way(os.path.dirname(self.folder))
        return [mark] if mark else []

    def differs(self, store: Store, *, changed: bool) -> bool:
        """Return True if the files changed since the last sync or, with `changed`, if the store did."""
        with Folder(self.folder) as folder:
            state = store.ledger_state(self.key)
            if state is None or state.stamp != self.stamp(folder):
                return True
            return changed and state.seen != store.last_audit()


KEPT = 200
REJECTED_BYTES = 20_000


@frozen
class SetAside:
    """A line that could not be imported, with its place and the reason."""

    file: str
    line: int
    reason: str
    raw: bytes = b""


def keep_aside(folder: Folder, name: str, found: Sequence[SetAside], at: float) -> None:
    """Add lines to the file of unreadable lines, each once, except git's conflict markers."""
    lost = [item for item in found if item.reason != MARK]
    if not lost:
        return
    before = folder.read(name).splitlines() if folder.size(name) <= SMALL_BYTES else []  # ours never grows beyond it
    known = {_print_of(line) for line in before}
    fresh = {_print(item.raw): _aside_line(item, at) for item in lost}
    added = [line for print, line in fresh.items() if print not in known]
    if added:
        folder.replace(name, [line + b"\n" for line in (*before, *added)[-KEPT:]])


def count_aside(folder: Folder, name: str) -> int:
    """Return how many unreadable lines are kept, 200 at most."""
    return folder.read(name).count(b"\n") if folder.size(name) <= SMALL_BYTES else KEPT


def _aside_line(item: SetAside, at: float) -> bytes:
    text = scrub_text(item.raw[:HEAD_BYTES].decode("utf-8", "backslashreplace"))
    facts = {"file": item.file, "line": item.line, "reason": item.reason, "at": iso(at), "print": _print(item.raw)}
    return dump({**facts, "text": text})


def _print(raw: bytes) -> str:
    return blake2b(raw, digest_size=8).hexdigest()


def _print_of(line: bytes) -> str:
    try:
        return str(parse_object(line).get("print", ""))
    except BadLine:
        return ""


def rejected_lines(before: bytes, own: Iterable[Rejection], keep: int, gone: frozenset[str] = frozenset()) -> bytes:
    """Return the file of rejected lessons: the newest of the former and our own ones, without those in `gone`."""
    items = {str(item["id"]): item for line in before.splitlines() if (item := _rejected(line)) is not None}
    items.update({item.id: rejection_to_object(item) for item in own})
    items = {id: item for id, item in items.items() if id not in gone}
    newest = sorted(items.values(), key=lambda item: (str(item.get("rejected_at", "")), str(item["id"])))
    return b"".join(dump(item) + b"\n" for item in (newest[-keep:] if keep else []))


def rejected_ids(before: bytes) -> list[str]:
    """Return the ids of the rejected lessons in a file."""
    return [str(item["id"]) for line in before.splitlines() if (item := _rejected(line)) is not None]


def rejection_to_object(item: Rejection) -> dict[str, Any]:
    """Return a rejection in opencode-swarm's form."""
    return {
        "id": item.id,
        "lesson": item.text,
        "rejection_reason": item.reason,
        "rejected_at": iso(item.at),
        "rejection_layer": item.layer,
    }


def _rejected(line: bytes) -> dict[str, Any] | None:
    try:
        item = parse_object(line) if len(line) < REJECTED_BYTES else None
    except BadLine:
        return None
    if item is None or not isinstance(item.get("id"), str):
        return None
    return dict(scrub_value(item))


FILE = "knowledge-retractions.jsonl"


def add_retraction(folder_path: str, retraction: Retraction, id: str) -> None:
    """Append a retraction to the file in a ledger's folder, so that other tools can leave out that lesson."""
    with Folder(folder_path) as folder, folder.lock():
        folder.append(FILE, retraction_line(retraction, id))


def drop_retractions(folder_path: str, ids: Collection[str], texts: Collection[str]) -> None:
    """Remove the retractions that contain the id or the normalised text of an erased memory."""

    def is_erased(retraction: Retraction) -> bool:
        return retraction.normalized in texts or not set(ids).isdisjoint((*retraction.swarm_ids, *retraction.hive_ids))

    with Folder(folder_path) as folder, folder.lock():
        lines = folder.read(FILE).splitlines(keepends=True)
        kept = [line for line in lines if not _matches(line, is_erased)]
        if len(kept) < len(lines):
            folder.replace(FILE, kept)


def _matches(line: bytes, test: Callable[[Retraction], bool]) -> bool:
    try:
        return test(retraction_from(jsonl.parse_object(line)))
    except BadLine:
        return False
