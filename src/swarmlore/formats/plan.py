"""What a plan in `.swarm/plan.md` says: the phase it is in, and what was learned. A plan is a file of the repository:
nothing in it is believed to be short, clean or true."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from swarmlore.domain.policy.lifecycle import said_in_short
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.workspace.files import Folder

if TYPE_CHECKING:
    from swarmlore.formats.context_md import Bullet

FOLDER, FILE = ".swarm", "plan.md"
MOST_BYTES = 1_000_000
MOST_NAME = 120
MOST_NUMBER = 10**6
MOST_LINE = 400  # of a heading


@frozen
class PlannedPhase:
    """A phase as a plan names it; the name holds its number."""

    number: int
    name: str


def planned_phase(root: str) -> PlannedPhase | None:
    """The phase that the plan of a folder says is in progress; None without a plan or where it says nothing."""
    return current_phase(_plan(root))


def looked_back(root: str) -> tuple[list[Bullet], list[str]]:
    """What the plan of a folder says under "Lessons Learned": lessons, and those that it takes back."""
    from swarmlore.formats import context_md

    said = [bullet for bullet in context_md.read(_plan(root)) if bullet.section == "lessons-learned"]
    taken_back = {bullet: found[1].strip() for bullet in said if (found := _taken_back().match(bullet.text))}
    return [bullet for bullet in said if bullet not in taken_back], list(taken_back.values())


def _taken_back() -> re.Pattern[str]:
    return re.compile(r"(?:RETRACT|BAD RULE):(.*)", re.IGNORECASE | re.DOTALL)


def _plan(root: str) -> str:
    folder = os.path.join(root, FOLDER)
    if not root or not os.path.isfile(os.path.join(folder, FILE)):
        return ""
    try:
        with Folder(folder) as opened, opened.open(FILE) as file:  # type: ignore[union-attr]  # it is there
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except (SwarmloreError, OSError, AttributeError):  # it went meanwhile, or leads elsewhere
        return ""


def current_phase(text: str) -> PlannedPhase | None:
    """The first heading that is in progress, else the one that the line `Phase: N` names."""
    headings = list(_headings(text))
    for number, title, state in headings:
        if _is_running(state):
            return _phase(number, title)
    said = re.search(r"^Phase:[ \t]*(\d{1,6})\b([^\n]{0,200})", text, re.MULTILINE | re.IGNORECASE)
    if said is None or re.search(r"\[(?:complete|blocked|pending)", said[2], re.IGNORECASE):
        return None
    titles = {number: (title, state) for number, title, state in headings}
    title, state = titles.get(int(said[1]), ("", ""))
    return None if state.lower().startswith("complete") else _phase(int(said[1]), title)


def number_in(name: str) -> int:
    """The number in a name such as `Phase 3: build`, else 0."""
    found = re.match(r"\s*phase\s+(\d{1,6})\b", name, re.IGNORECASE)
    return min(int(found[1]), MOST_NUMBER) if found else 0


def _headings(text: str) -> Iterator[tuple[int, str, str]]:
    """Number, title and state of every heading of a phase. A line is taken apart by hand: a pattern for all of it would
    try every way to share out its blanks."""
    heading = re.compile(r"#{1,6}[ \t]*Phase[ \t]+(\d{1,6})(?!\w)", re.IGNORECASE)
    for line in text.split("\n"):
        found = heading.match(line) if len(line) <= MOST_LINE else None
        if found:
            title, _, state = line[found.end() :].strip().removesuffix("]").partition("[")
            yield int(found[1]), title.strip().removeprefix(":").lstrip(".–—- \t"), state.strip()


def _is_running(state: str) -> bool:
    return re.sub(r"[\s_-]+", " ", state).strip().lower() in ("in progress", "active", "current")


def _phase(number: int, title: str) -> PlannedPhase:
    words = said_in_short(title, MOST_NAME)
    return PlannedPhase(number, f"Phase {number}: {words}" if words else f"Phase {number}")
