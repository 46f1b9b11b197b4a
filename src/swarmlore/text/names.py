"""Names as people read them: of projects, and of the places in which a memory was seen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

SHORT_LOT = 8  # digits that tell two projects of one name apart
_LOT = re.compile(r"#(?:[0-9a-f]{32}|\d+)$")  # drawn by lot, or counted where a path was taken over
_MARK = re.compile(r"(?<![\w.-])([\w.-]{1,64})#[0-9a-f]{32}(?![0-9a-f])")
_DAY = re.compile(r"(?<![\w-])day:(\d{4}-\d\d-\d\d)")
_PHASE = re.compile(r"(?<![\w-])phase:(\d+)(?:@(\S+))?")


def project_name(id: str) -> str:
    """The short name of a project: `api` for `api#3cc7…`, for `github.com/acme/api` and for `/work/api/.git`."""
    plain = _LOT.sub("", id).replace("\\", "/").rstrip("/").removesuffix("/.git").rstrip("/")
    return plain.rpartition("/")[2] or id


def project_names(ids: Iterable[str]) -> dict[str, str]:
    """The short name of each project; where two have the same, what tells them apart goes with it."""
    short = {id: project_name(id) for id in ids}
    often = Counter(short.values())
    return {id: name if often[name] == 1 else _told_apart(id) for id, name in short.items()}


def _told_apart(id: str) -> str:
    name, _, lot = id.rpartition("#")
    return f"{name}#{lot[:SHORT_LOT]}" if name and _LOT.search(id) else id


def place_name(where: str) -> str:
    """Where a memory was seen: a day, a phase (of another project, if so), or a project."""
    if found := _DAY.fullmatch(where):
        return found[1]
    if where.startswith("phase:"):
        number, _, project = where.removeprefix("phase:").partition("@")
        return f"phase {number} of {project_name(project)}" if project else f"phase {number}"
    return project_name(where)


def in_plain_words(reason: str) -> str:
    """A recorded reason, with the places and projects in it named as people name them."""
    said = _DAY.sub(r"\1", reason)
    said = _PHASE.sub(lambda found: place_name(found[0]), said)
    return _MARK.sub(r"\1", said)
