"""Keeping a report: `research/YYYY-MM-DD_slug.md` in the project, whole or not at all, and never over another one."""

from __future__ import annotations

import os

from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.display import slug
from swarmlore.errors import InvalidInput
from swarmlore.workspace.files import Folder

FOLDER = "research"
SLUG_CHARS = 60
MOST_ALIKE = 1_000


def save(root: str, question: str, made_at: float, text: str) -> str:
    """Write a report into the project; returns its path from the root."""
    day = (iso(made_at) or "")[:10]
    name = slug(question)[:SLUG_CHARS].strip("-") or "question"
    with Folder(root) as top, _inside(top) as folder, folder.lock():
        free = next((fit for fit in _names(f"{day}_{name}") if not _is_there(folder, fit)), "")
        if not free:
            raise InvalidInput(f"{FOLDER}/ holds {MOST_ALIKE} reports of this name", "save it elsewhere: --output FILE")
        folder.replace(free, [text.encode("utf-8", "backslashreplace")])
    return f"{FOLDER}/{free}"


def _inside(top: Folder) -> Folder:
    found = top.inside(FOLDER, make=True)
    if found is None:
        raise InvalidInput(f"{FOLDER}/ cannot be made", "save it elsewhere: --output FILE")
    return found


def _names(start: str) -> list[str]:
    return [f"{start}.md", *(f"{start}-{number}.md" for number in range(2, MOST_ALIKE))]


def _is_there(folder: Folder, name: str) -> bool:
    return os.path.lexists(os.path.join(folder.path, name))
