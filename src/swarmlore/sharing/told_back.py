"""The file beside a ledger that says what was taken back: other tools that read the folder leave those lessons out."""

from __future__ import annotations

from collections.abc import Callable, Collection

from swarmlore.memory.quarantine import Retraction, retraction_from, retraction_line
from swarmlore.workspace import jsonl
from swarmlore.workspace.files import Folder
from swarmlore.workspace.jsonl import BadLine

FILE = "knowledge-retractions.jsonl"


def tell(folder_path: str, retraction: Retraction, id: str) -> None:
    """Add a retraction to the file of a folder."""
    with Folder(folder_path) as folder, folder.lock():
        folder.append(FILE, retraction_line(retraction, id))


def silence(folder_path: str, ids: Collection[str], texts: Collection[str]) -> None:
    """Drop the retractions that name or say what was erased; `texts` are normalised."""

    def names(retraction: Retraction) -> bool:
        return retraction.normalized in texts or not set(ids).isdisjoint((*retraction.swarm_ids, *retraction.hive_ids))

    with Folder(folder_path) as folder, folder.lock():
        lines = folder.read(FILE).splitlines(keepends=True)
        kept = [line for line in lines if not _is(line, names)]
        if len(kept) < len(lines):
            folder.replace(FILE, kept)


def _is(line: bytes, names: Callable[[Retraction], bool]) -> bool:
    try:
        return names(retraction_from(jsonl.parse_object(line)))
    except BadLine:
        return False
