"""How an installation stands: what is in the files now, and what has come from each client."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.installing.ledger import Kept, digest
from swarmlore.installing.planning import look, sheet_of
from swarmlore.installing.where import Client, Where
from swarmlore.records import Receipt, Session

if TYPE_CHECKING:
    from swarmlore.installing.calls import Call
    from swarmlore.installing.entries import File

NO, PARTLY, YES = "no", "partly", "yes"
LAST_EVENT = "last_event_at"  # in the `extra` of a session


@frozen
class Level:
    """The files of a person or of a project. `installed` is yes, partly or no."""

    level: str
    installed: str
    folder: str
    program: str = ""
    program_found: bool = True
    home: str = ""
    this_home: bool = True
    version: str = ""
    written_at: float | None = None
    problems: tuple[str, ...] = ()


@frozen
class Given:
    """What was last given to a client, or why it was given nothing."""

    at: float
    trigger: str
    handles: tuple[str, ...]
    reason: str
    session: str


@frozen
class Activity:
    """What has come from a client; all but the first is of this project, as far as the caller may see it."""

    all_sessions: int = 0
    sessions: int = 0
    last_event_at: float | None = None
    last_injection: Given | None = None
    last_skip: Given | None = None


@frozen
class Standing:
    """One client: whether this machine has it, how it is installed, what it sent, and what is left to do."""

    client: str
    title: str
    found: bool
    levels: tuple[Level, ...]
    activity: Activity
    to_do: tuple[str, ...] = ()

    @property
    def installed(self) -> bool:
        return any(level.installed != NO for level in self.levels)


def standing(client: Client, places: Sequence[Where], kept: Sequence[Kept], activity: Activity) -> Standing:
    """How one client stands at these levels."""
    levels = tuple(_level(client, where, kept) for where in places)
    to_do = [problem for level in levels for problem in level.problems]
    for where, level in zip(places, levels, strict=True):
        if level.installed != NO and not activity.all_sessions:
            to_do += client.to_do(where)
    found = client.is_here(places[0].env)
    if found and all(level.installed == NO for level in levels):
        to_do.append(f"It is not installed: swarmlore install {client.name}")
    return Standing(client.name, client.title, found, levels, activity, tuple(dict.fromkeys(to_do)))


def activity_of(
    client: str, ever: tuple[int, float] | None, sessions: Iterable[Session], receipts: Iterable[Receipt]
) -> Activity:
    """What a client did: `ever` in all projects (how many sessions, the newest), and the records of this one."""
    own = [session for session in sessions if session.client == client]
    ids = {session.id for session in own}
    given = [receipt for receipt in receipts if receipt.session in ids or receipt.agent.partition("/")[0] == client]
    return Activity(
        ever[0] if ever else len(own),
        len(own),
        max([*map(_last_event, own), *(ever[1:] if ever else ())], default=None),
        next((_given(receipt) for receipt in given if receipt.shown), None),
        next((_given(receipt) for receipt in given if not receipt.shown), None),
    )


def _last_event(session: Session) -> float:
    said = session.extra.get(LAST_EVENT)
    return float(said) if isinstance(said, (int, float)) else session.ended_at or session.started_at


def _given(receipt: Receipt) -> Given:
    handles = tuple(item.handle for item in receipt.shown)
    return Given(receipt.at, receipt.trigger, handles, receipt.reason, receipt.session)


def _level(client: Client, where: Where, kept: Sequence[Kept]) -> Level:
    there = wanted = entries = 0
    calls: list[Call] = []
    problems: list[str] = []
    for file in client.files(where):
        try:
            found, all_of_it, called = _file(file, where, kept)
        except SwarmloreError as error:
            problems.append(error.message)
            continue
        there, wanted, calls = there + found, wanted + all_of_it, calls + called
        entries += 0 if file.form == "text" else found
    # A text alone says nothing: another client may read the same one.
    installed = NO if not entries else YES if there == wanted else PARTLY
    return _judged(client, where, kept, calls, problems, installed)


def _file(file: File, where: Where, kept: Sequence[Kept]) -> tuple[int, int, list[Call]]:
    """How many of our entries are in a file, of how many, and what they start."""
    found = look(file.path, where.root)
    if file.form == "text":
        known = {digest(file.text.encode()), *(entry.after for entry in kept if entry.path == file.path)}
        ours = digest(found.content) in known
        missing = file.wanted and found.content is None  # one of somebody else's is not missing
        return int(ours), int(ours or missing), []
    sheet = sheet_of(file, found)
    counts = [entry.found(sheet) for entry in file.entries]
    calls = [call for entry in file.entries for call in entry.calls(sheet)]
    return sum(there for there, _ in counts), sum(all_of_it for _, all_of_it in counts), calls


def _judged(
    client: Client, where: Where, kept: Sequence[Kept], calls: Sequence[Call], problems: list[str], installed: str
) -> Level:
    own = [entry for entry in kept if (entry.client, entry.root) == (client.name, where.root)]
    again = f"swarmlore install {client.name}" + (" --project" if where.root else "")
    lost = sorted({call.program for call in calls if os.path.isabs(call.program) and not _runs(call.program)})
    homes = sorted({call.home for call in calls if call.home})
    other = [home for home in homes if os.path.realpath(home) != os.path.realpath(where.target.home)]
    if installed == PARTLY:
        problems.append(f"Some entries are missing: {again}")
    if lost:
        problems.append(f"{lost[0]} is gone, and every call of it fails: {again}")
    if other and not where.root:
        problems.append(f"It uses another memory, {other[0]}; to use this one: {again}")
    return Level(
        "project" if where.root else "user",
        installed,
        client.folder(where),
        calls[0].program if calls else "",
        not lost,
        homes[0] if homes else "",
        not other,
        max((entry.version for entry in own), default="") if installed != NO else "",
        max((entry.at for entry in own), default=None) if installed != NO else None,
        tuple(problems),
    )


def _runs(program: str) -> bool:
    return os.path.isfile(program) and os.access(program, os.X_OK)


def is_installed(client: Client, where: Where, kept: Sequence[Kept]) -> bool:
    """Whether anything of ours is in the files of a client, or was written there."""
    if any((entry.client, entry.root) == (client.name, where.root) for entry in kept):
        return True
    return _level(client, where, kept).installed != NO
