"""From a payload to an event: typed, redacted, cut, and with an id under which it counts once."""

from __future__ import annotations

import json
import os
import re

from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.event import Event
from swarmlore.domain.extraction.lesson_text import excerpt, path, visible
from swarmlore.domain.extraction.task_reports import count, flag
from swarmlore.domain.security.redaction import redact
from swarmlore.frozen import TYPE_CHECKING, fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any, BinaryIO


MOST_PARSED = 4_000_000  # bytes; what is longer is a tool's output, and of that a hook keeps a few lines
MOST_READ = 256_000_000
_SALVAGED = (
    *("session_id", "cwd", "hook_event_name", "tool_use_id", "prompt_id", "turn_id", "tool_name"),
    *("sessionId", "toolName", "timestamp"),
)
_SALVAGE_CHARS = 65_536


class BadPayload(Exception):
    """Something that is no payload; the message says what it was."""


def read(stream: BinaryIO) -> dict[str, Any]:
    """The payload on a stream. One that is too long to parse gives what its beginning says."""
    data = stream.read(MOST_PARSED + 1)
    if len(data) > MOST_PARSED:
        _read_away(stream)
        return _salvage(data[:_SALVAGE_CHARS].decode("utf-8", "replace"))
    if not data.strip():
        raise BadPayload("the payload was empty")
    try:
        found = json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        raise BadPayload("the payload was not JSON") from None
    if not isinstance(found, dict):
        raise BadPayload("the payload was not an object")
    return found


def _read_away(stream: BinaryIO) -> None:
    """A client that still writes when its hook is gone may take that for a failure."""
    left = MOST_READ
    while left > 0 and (data := stream.read(1_000_000)):
        left -= len(data)


def _salvage(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {"payload_too_long": True}
    for name in _SALVAGED:
        if match := re.search(rf'"{name}"\s*:\s*"([^"\\\x00-\x1f]{{1,400}})"', text):
            found[name] = match[1]
    return found


def text(payload: Any, *names: str) -> str:
    """The first of these that is a text and not empty."""
    if not isinstance(payload, dict):
        return ""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def inner(payload: dict[str, Any], name: str) -> dict[str, Any]:
    value = payload.get(name)
    return value if isinstance(value, dict) else {}


def stamp(payload: dict[str, Any], *more: Any) -> str:
    """What tells an event from others where a client gives no id: its time, to the millisecond, and what it is about.

    The same time may come as a number or as a text; '' where there is none.
    """
    when = payload.get("timestamp")
    if isinstance(when, str):
        when = _milliseconds(when)
    if not isinstance(when, (int, float)) or isinstance(when, bool) or not 0 < when < 1e15:
        return ""
    from zlib import crc32

    about = json.dumps(more, sort_keys=True, default=str).encode()
    return f"{int(when)}-{crc32(about):08x}"


def _milliseconds(text: str) -> int:
    """A time in UTC as milliseconds since 1970; 0 where it is none. (`datetime` costs a hook more than this.)"""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", text, re.ASCII)
    if not found:
        return 0
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    year -= month <= 2  # a year that begins in March has its odd day at its end
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day - 719_469
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + int((found[7] or "0").ljust(3, "0")[:3])


def words_of(value: Any, most: int = 200_000) -> str:
    """The texts inside a tool's answer, whatever its shape: a text, a list of parts, an object."""
    found: list[str] = []
    left = [most]
    _gather(value, found, left, 0)
    return "\n".join(found)


def _gather(value: Any, found: list[str], left: list[int], depth: int) -> None:
    if left[0] <= 0 or depth > 8:
        return
    if isinstance(value, str):
        if value:
            found.append(value if len(value) <= left[0] else value[: left[0] // 2] + "\n" + value[-left[0] // 2 :])
            left[0] -= len(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in ("type", "id"):
                _gather(item, found, left, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _gather(item, found, left, depth + 1)


TOOLS = ("swarm_complete", "swarm_record_outcome")
_TEXTS = {"summary": (1_500, 500), "evaluation": (2_500, 1_500), "failure_details": (500, 500)}
_NAMES = ("bead_id", "agent_name", "strategy", "failure_mode", "task_type")
_COUNTS = ("duration_ms", "error_count", "retry_count")
_LISTS = {"criteria": 20, "tags": 20}
_MOST_TASK_FILES = 100
_ANSWERS = ("tool_response", "output", "toolResult", "tool_result")


def outcome_of(tool_name: str, given: dict[str, Any]) -> dict[str, Any]:
    """`{"outcome": …}` for a call that reports one, cut and redacted; else nothing. Whoever completes a task and says
    nothing else has succeeded; whoever records an outcome has to say so."""
    if not tool_name.endswith(TOOLS):
        return {}
    found: dict[str, Any] = {name: excerpt(text(given, name), *_TEXTS[name]) for name in _TEXTS}
    found |= {name: excerpt(text(given, name)[:400], 100, 100) for name in _NAMES}
    found |= {name: given[name] for name in _COUNTS if count(given.get(name)) is not None}
    found["files_touched"] = _paths(given.get("files_touched"))
    found |= {
        name: [excerpt(item, 200, 1) for item in _listed(given.get(name))[:most]] for name, most in _LISTS.items()
    }
    kept = {name: value for name, value in found.items() if value or value == 0}
    flags = {name: value for name in ("success", "persist") if (value := flag(given.get(name))) is not None}
    if tool_name.endswith(TOOLS[0]) and not (kept.get("failure_mode") or kept.get("failure_details")):
        flags.setdefault("success", True)
    return {"outcome": {**kept, **flags}}


def is_refused(payload: Mapping[str, Any]) -> bool:
    """Whether a tool answered that it did not do what it was asked: an error, or JSON that says `success: false`."""
    answers = [payload[name] for name in _ANSWERS if name in payload]
    if any(isinstance(answer, dict) and _says_no(answer) for answer in answers):
        return True
    said = words_of(inner(dict(payload), "output").get("output") or answers, 20_000).strip()
    if not said.startswith("{"):
        return False
    import json

    try:
        told = json.loads(said)
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and _says_no(told)


def _says_no(answer: dict[str, Any]) -> bool:
    return answer.get("isError") is True or answer.get("is_error") is True or answer.get("success") is False


def _listed(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str) and item] if isinstance(value, list) else []


def _paths(value: Any) -> list[str]:
    return [path(name) for name in _listed(value)[:_MOST_TASK_FILES] if len(name) <= 4_096 and "\0" not in name]


# What is kept of each text: so many characters of its beginning and of its end.
_KEPT = {
    "prompt": (6_000, 2_000),
    "task": (2_000, 500),
    "change": (400, 100),
    "command": (6_000, 2_000),
    "output": (1_000, 3_000),
    "error": (1_000, 3_000),
}
_SAID = (3_000, 3_000)
_SHORT = 400
_PATH = 4_096
_MOST_FILES = 20
# Who acts, and where its client keeps its files.
_WHO = (
    "SWARMLORE_AGENT",
    "SWARMLORE_ROLE",
    "SWARMLORE_PROJECT",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "GEMINI_CLI_HOME",
    "SKIP_SESSION_SUMMARY",  # whoever sums up sessions with a client of its own sets it there
)


def make_event(client: ModuleType, client_name: str, name: str, payload: Mapping[str, Any], at: float) -> Event:
    """The event that a payload reports."""
    facts = client.facts(payload)
    unique, mark = facts.pop("unique"), facts.pop("mark", "")
    moment = client.moment(name, payload)
    cwd = _path(facts["cwd"]) or _here()
    told = {
        **{key: _short(facts[key]) for key in ("session", "agent", "agent_type", "source", "tool_name")},
        **{key: excerpt(facts[key], *_KEPT[key]) for key in _KEPT},
        "said": excerpt(facts["said"], *_SAID),
        "files": tuple(_absolute(path, cwd) for path in facts["files"][:_MOST_FILES] if _path(path)),
        "transcript": _path(facts["transcript"]),
        "tool": facts["tool"],
    }
    # What a client alone says is checked and redacted by its module.
    extra: dict[str, Any] = {**facts.pop("extra", {}), **_reported(facts["tool_name"], facts.pop("given"), payload)}
    if payload.get("payload_too_long"):
        extra["payload_too_long"] = True
    if env := {name: _path(os.environ[name]) for name in _WHO if os.environ.get(name)}:
        extra["env"] = env
    often = moment in (e.SESSION_START, e.COMPACTED, e.TURN_END, e.BEFORE_COMPACTION, e.SESSION_END)
    loose = not unique or (often and not mark)
    id = _id(told, moment, unique, loose)
    return Event(
        id, at, client_name, _short(name), moment, cwd=cwd, project=_project(cwd), loose=loose, extra=extra, **told
    )


def _reported(tool_name: str, given: dict[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    """How a task ended, where the tool tells that, whatever a client puts before its name, and took it."""
    if not tool_name.endswith(("swarm_complete", "swarm_record_outcome")):
        return {}

    return {} if is_refused(payload) else outcome_of(tool_name, given)


def _id(told: Mapping[str, Any], moment: str, unique: str, loose: bool) -> str:
    """The same for the same thing, whoever reports it: two hook files in one repository, a socket and the spool."""
    try:
        from _blake2 import blake2b  # `hashlib` loads OpenSSL, which takes a tenth of the time a hook has
    except ImportError:
        from hashlib import blake2b
    parts = [told["session"], told["agent"], moment, unique]
    if loose:
        parts += [told["source"], told["prompt"], told["said"][:200], told["command"], told["error"][:200]]
    return blake2b("\x00".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _short(text: str) -> str:
    return redact(visible(text[: _SHORT * 4]))[0][:_SHORT] if text else ""


def _path(text: str) -> str:
    """A path, or nothing where it cannot be one. Secrets do not stand in paths often, but they do."""
    return path(text) if text and len(text) <= _PATH and "\x00" not in text else ""


def _absolute(name: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(_path(name))))


def _here() -> str:
    try:
        return _path(os.getcwd())
    except OSError:
        return ""


def _project(cwd: str) -> dict[str, Any]:
    """The project of a folder, now: a worktree may be gone when somebody reads the event."""
    if not os.path.isdir(cwd):
        return {}
    from swarmlore.workspace.project import Project, find_project

    found = find_project(cwd)
    if found.root != _path(found.root):
        return {}  # behind a link lies a folder whose name is a secret, or is no text
    return {spec.name: getattr(found, spec.name) for spec in fields(Project)}
