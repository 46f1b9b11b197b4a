"""Status of an installation: which entries are in the files now, and what has come from each client."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from swarmlore.clients.hook.home import named_home
from swarmlore.clients.install.commands import same_script
from swarmlore.clients.install.entries import look, sheet_of
from swarmlore.clients.install.locations import Client, Where
from swarmlore.clients.install.manifest import Kept, digest
from swarmlore.clients.install.plan import calls_in, harm, hides_ours, is_foreign, strays, when_gone
from swarmlore.domain.records import Receipt, Session
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from swarmlore.clients.install.commands import Call
    from swarmlore.clients.install.entries import File

NO, PARTLY, YES = "no", "partly", "yes"
MEND = "swarmlore doctor --fix"
LAST_EVENT = "last_event_at"  # in the `extra` of a session


@frozen
class Level:
    """State of a client's files for a person or a project. `installed` is yes, partly or no."""

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
    """What a client was last given, or why it was given nothing."""

    at: float
    trigger: str
    handles: tuple[str, ...]
    reason: str
    session: str


@frozen
class Activity:
    """What has come from a client; all but `all_sessions` is limited to this project and to what the caller may see."""

    all_sessions: int = 0
    sessions: int = 0
    last_event_at: float | None = None
    last_injection: Given | None = None
    last_skip: Given | None = None


@frozen
class ClientStatus:
    """Status of one client: whether this machine has it, how it is installed, its activity, and what is left to do."""

    client: str
    title: str
    found: bool
    levels: tuple[Level, ...]
    activity: Activity
    to_do: tuple[str, ...] = ()

    @property
    def installed(self) -> bool:
        """Return whether anything is installed at any level."""
        return any(level.installed != NO for level in self.levels)


def status_of(client: Client, places: Sequence[Where], kept: Sequence[Kept], activity: Activity) -> ClientStatus:
    """Return the status of one client at these levels."""
    levels = tuple(_level(client, where, kept) for where in places)
    to_do = [problem for level in levels for problem in level.problems]
    for where, level in zip(places, levels, strict=True):
        to_do += [] if level.installed == NO else two_memories(client, where)
        if level.installed != NO and not activity.all_sessions:
            to_do += client.to_do(where)
    found = client.is_here(places[0].env)
    if found and all(level.installed == NO for level in levels):
        to_do.append(f"It is not installed: swarmlore install {client.name}")
    return ClientStatus(client.name, client.title, found, levels, activity, tuple(dict.fromkeys(to_do)))


def two_memories(client: Client, where: Where) -> list[str]:
    """Return a warning if a person's own hooks and those of a project use different homes. Hooks of a project name
    no home and follow the person's own, unless SWARMLORE_HOME says otherwise."""
    named, chosen = named_home(client.name, where.env), where.env.get("SWARMLORE_HOME", "")
    if not (where.root and named and chosen) or os.path.realpath(chosen) == os.path.realpath(named):
        return []
    return [
        f"Every event would be kept twice where {client.title} runs with SWARMLORE_HOME={chosen}: your own hooks name "
        f"the memory in {named}. Unset it, or write it there: swarmlore install {client.name}"
    ]


def activity_of(
    client: str, ever: tuple[int, float] | None, sessions: Iterable[Session], receipts: Iterable[Receipt]
) -> Activity:
    """Return the activity of a client. `ever` is its number of sessions and last event in all projects."""
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
    at = session.extra.get(LAST_EVENT)
    return float(at) if isinstance(at, (int, float)) else session.ended_at or session.started_at


def _given(receipt: Receipt) -> Given:
    handles = tuple(item.handle for item in receipt.shown)
    return Given(receipt.at, receipt.trigger, handles, receipt.reason, receipt.session)


@frozen
class Seen:
    """Our part of a file: whether the client counts as installed, entries present and wanted, and what they start.
    Also whether another release wrote them, and what they do to the client once our program is gone."""

    shows: bool
    there: int
    wanted: int
    calls: tuple[Call, ...] = ()
    outdated: bool = False
    harm: str = ""


def _level(client: Client, where: Where, kept: Sequence[Kept]) -> Level:
    seen: list[Seen] = []
    problems: list[str] = []
    outdated: list[str] = []
    for file in client.files(where):
        try:
            seen.append(_file(file, where, kept))
        except SwarmloreError as error:
            problems.append(error.message)
            continue
        outdated += [file.path] if seen[-1].outdated else []
        problems += [f"{when_gone(seen[-1].harm)}: {MEND}"] if seen[-1].harm else []
    if outdated:
        more = f" and {len(outdated) - 1} more are" if outdated[1:] else " is"
        problems.append(f"{outdated[0]}{more} of another release: {_again(client, where)}")
    complete = all(part.there == part.wanted for part in seen)
    installed = NO if not any(part.shows for part in seen) else YES if complete else PARTLY
    calls = [call for part in seen for call in part.calls]
    return _judged(client, where, kept, calls, problems, installed)


def _file(file: File, where: Where, kept: Sequence[Kept]) -> Seen:
    found = look(file.path, where.root)
    calls = tuple(calls_in(file, found))
    if file.form == "text":
        known = next((entry for entry in kept if (entry.path, entry.after) == (file.path, digest(found.content))), None)
        ours = found.content is not None and not is_foreign(file, found.content, known)
        missing = file.wanted and found.content is None  # a foreign file is not missing
        outdated = ours and not same_script(found.content, file.text)
        # A text that starts nothing is no evidence: another client may read the same one.
        return Seen(bool(calls), int(ours), int(ours or missing), calls, outdated)
    sheet = sheet_of(file, found)
    counts = [entry.found(sheet) for entry in file.entries]
    there = sum(some for some, _ in counts)
    return Seen(there > 0, there, sum(wanted for _, wanted in counts), calls, harm=harm(file, found))


def _again(client: Client, where: Where) -> str:
    return f"swarmlore install {client.name}" + (" --project" if where.root else "")


def _judged(
    client: Client, where: Where, kept: Sequence[Kept], calls: Sequence[Call], problems: list[str], installed: str
) -> Level:
    own = [entry for entry in kept if (entry.client, entry.root) == (client.name, where.root)]
    again = _again(client, where)
    programs = {call.program for call in calls if os.path.isabs(call.program)}
    lost = sorted(path for path in programs if not (os.path.isfile(path) and os.access(path, os.X_OK)))
    homes = sorted({call.home for call in calls if call.home})
    other = [home for home in homes if os.path.realpath(home) != os.path.realpath(where.target.home)]
    if left := strays(client, where, kept):
        problems.append(f"It was installed in {os.path.dirname(left[0])} too, which no variable names now")
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


def is_installed(client: Client, where: Where, kept: Sequence[Kept]) -> bool:
    """Return whether a client's files have anything of ours, or the manifest says so."""
    if any((entry.client, entry.root) == (client.name, where.root) for entry in kept):
        return True
    return _level(client, where, kept).installed != NO or hides_ours(client, where)
