"""`Event`: one report of a hook in the same form for all clients: small, redacted, with an id to count it once."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.frozen import TYPE_CHECKING, field, fields, frozen

if TYPE_CHECKING:
    from typing import Any

# Moments: when something happened, under the same names for all clients.
SESSION_START = "session-start"
COMPACTED = "compaction"
PROMPT = "prompt"
BEFORE_TOOL = "before-tool"
AFTER_TOOL = "after-tool"
TOOL_FAILED = "tool-failed"
AGENT_START = "agent-start"
AGENT_STOP = "agent-stop"
TURN_END = "turn-end"
BEFORE_COMPACTION = "before-compaction"
SESSION_END = "session-end"
OTHER = "other"
MOMENTS = (
    *(SESSION_START, COMPACTED, PROMPT, BEFORE_TOOL, AFTER_TOOL, TOOL_FAILED, AGENT_START, AGENT_STOP),
    *(TURN_END, BEFORE_COMPACTION, SESSION_END, OTHER),
)
# Moments at which context is given; none is needed after a tool that succeeded.
ANSWERED = (SESSION_START, COMPACTED, PROMPT, BEFORE_TOOL, TOOL_FAILED, AGENT_START)

# Clients that accept context with a tool's result, but not before the tool runs.
TOLD_AFTER = ("gemini",)
# Clients that get their first context with the first prompt: anything given earlier is lost when the session is resumed
# (by Gemini together with the prompt that it was put into).
BEGUN_BY_PROMPT = ("gemini", "copilot")
# Clients whose hooks do not report a compaction; their transcripts do.
CUT_SILENTLY = ("gemini", "copilot")

# Kinds of tools, under the same names for all clients.
SHELL = "shell"
READ = "read"
WRITE = "write"
TOOLS = (SHELL, READ, WRITE, "other")


@frozen
class Event:
    """One report of a hook. Texts are cut and redacted, paths are absolute; a field that the client did not report is
    empty.

    `project` holds the fields of `project.Project` as found when the hook ran, since the folder may be gone later.
    `loose` means that the client sent nothing to tell two such events apart, so a repetition counts once only for a
    while.
    """

    id: str
    at: float
    client: str
    name: str
    moment: str = OTHER
    session: str = ""
    cwd: str = ""
    project: Mapping[str, Any] = field(default_factory=dict)
    loose: bool = False
    agent: str = ""
    agent_type: str = ""
    transcript: str = ""
    source: str = ""
    prompt: str = ""
    task: str = ""
    tool: str = ""
    tool_name: str = ""
    command: str = ""
    files: tuple[str, ...] = ()
    change: str = ""
    output: str = ""
    error: str = ""
    said: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


def is_answered(event: Event) -> bool:
    """Return whether the client accepts context now, and context may help."""
    if event.moment in (BEFORE_TOOL, AFTER_TOOL):
        return is_about_files(event) or (event.moment == BEFORE_TOOL and "find" in event.extra)
    if event.moment == SESSION_START:
        return event.client not in BEGUN_BY_PROMPT
    return event.moment in ANSWERED


def may_begin(event: Event) -> bool:
    """Return whether a session may begin with this event."""
    return event.moment == (PROMPT if event.client in BEGUN_BY_PROMPT else SESSION_START)


def is_about_files(event: Event) -> bool:
    """Return whether this is the moment to give context about a tool's files."""
    when = AFTER_TOOL if event.client in TOLD_AFTER else BEFORE_TOOL
    return event.moment == when and bool(event.files)


def actor(event: Event) -> str:
    """Return the name of who acts in an event: the client, for a sub-agent with its type."""
    return f"{event.client}/{event.agent_type}" if event.agent and event.agent_type else event.client


_EMPTY: tuple[object, ...] = ("", (), {}, None, False, 0)


def to_plain(event: Event) -> dict[str, Any]:
    """Return the event as JSON values, without empty fields."""
    values = ((spec.name, getattr(event, spec.name)) for spec in fields(Event))
    return {name: value for name, value in values if value not in _EMPTY}


def from_plain(values: Any) -> Event | None:
    """Return the event in untrusted JSON values from a socket or a file; None if they are no valid event."""
    from swarmlore.domain.records import make
    from swarmlore.errors import InvalidInput

    if not isinstance(values, dict):
        return None
    known = {spec.name for spec in fields(Event)}
    given = {name: value for name, value in values.items() if name in known}
    if isinstance(given.get("files"), list):
        given["files"] = tuple(given["files"])
    try:
        event: Event = make(Event, given, "event")
    except (InvalidInput, TypeError):  # wrong types, or a required field is missing
        return None
    return event if event.id and event.moment in MOMENTS else None
