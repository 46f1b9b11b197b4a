"""What a client reported, in one form for all clients: small, redacted, and with an id under which it counts once."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.frozen import TYPE_CHECKING, field, fields, frozen

if TYPE_CHECKING:
    from typing import Any


# When something happened, whatever a client calls it.
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
# Moments at which context helps. After a tool that worked there is nothing to say.
ANSWERED = (SESSION_START, COMPACTED, PROMPT, BEFORE_TOOL, TOOL_FAILED, AGENT_START)

# Clients that take context with the result of a tool, but not before it runs.
TOLD_AFTER = ("gemini",)
# Clients in which a session begins with its first prompt: what they are given before, they lose when it is resumed
# (Gemini with the prompt that it was put into).
BEGUN_BY_PROMPT = ("gemini", "copilot")
# Clients that do not say when the context was cut; their transcripts do.
CUT_SILENTLY = ("gemini", "copilot")

# What a tool does, whatever a client calls it.
SHELL = "shell"
READ = "read"
WRITE = "write"
TOOLS = (SHELL, READ, WRITE, "other")


@frozen
class Event:
    """One report of a hook. Texts are cut and redacted; paths are absolute; what a client did not say stays empty.

    `project` holds the fields of `project.Project` as found when the hook ran: the folder may be gone later. `loose`
    says that the client gave nothing to tell two such events apart, so the same again counts once only for a while.
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
    """Whether the client takes context now, and context may help."""
    if event.moment in (BEFORE_TOOL, AFTER_TOOL):
        return is_about_files(event) or (event.moment == BEFORE_TOOL and "find" in event.extra)
    if event.moment == SESSION_START:
        return event.client not in BEGUN_BY_PROMPT
    return event.moment in ANSWERED


def may_begin(event: Event) -> bool:
    """Whether a session may begin with this event, as far as its agent is concerned."""
    return event.moment == (PROMPT if event.client in BEGUN_BY_PROMPT else SESSION_START)


def is_about_files(event: Event) -> bool:
    """Whether now is the time for what is known about the files of a tool."""
    when = AFTER_TOOL if event.client in TOLD_AFTER else BEFORE_TOOL
    return event.moment == when and bool(event.files)


def actor(event: Event) -> str:
    """Whose name an event stands under: its client's or, for a sub-agent, also what kind of one it is."""
    return f"{event.client}/{event.agent_type}" if event.agent and event.agent_type else event.client


_EMPTY: tuple[object, ...] = ("", (), {}, None, False, 0)


def to_plain(event: Event) -> dict[str, Any]:
    """The event as JSON values, without what is empty."""
    values = ((spec.name, getattr(event, spec.name)) for spec in fields(Event))
    return {name: value for name, value in values if value not in _EMPTY}


def from_plain(values: Any) -> Event | None:
    """The event in JSON values from a socket or a file, or None where they are none: they come from outside."""
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
    except (InvalidInput, TypeError):  # of the wrong types, or without what every event has
        return None
    return event if event.id and event.moment in MOMENTS else None
