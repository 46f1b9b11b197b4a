"""Turn a hook's payload into an event: validated, cut, redacted, with an id under which it counts once."""

from __future__ import annotations

import json
import os
import re

from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.event import Event
from swarmlore.domain.extraction.excerpts import excerpt, redacted_path, without_invisible
from swarmlore.domain.security.redaction import redact
from swarmlore.frozen import TYPE_CHECKING, fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any, BinaryIO

MOST_PARSED = 4_000_000  # bytes; a longer payload contains a tool's output, of which a hook keeps a few lines
MOST_READ = 256_000_000
_SALVAGED = (
    *("session_id", "cwd", "hook_event_name", "tool_use_id", "prompt_id", "turn_id", "tool_name"),
    *("sessionId", "toolName", "timestamp"),
)
_SALVAGE_CHARS = 65_536


class BadPayload(Exception):
    """Raised for an invalid payload; the message says what is wrong with it."""


def read(stream: BinaryIO) -> dict[str, Any]:
    """Read the payload from a stream; from one too long to parse, take the fields at its beginning."""
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
    """Read the rest of a stream: a client that still writes when its hook ends may take that for a failure."""
    left = MOST_READ
    while left > 0 and (data := stream.read(1_000_000)):
        left -= len(data)


def _salvage(text: str) -> dict[str, Any]:
    """Find known fields at the beginning of a payload that is too long to parse."""
    found: dict[str, Any] = {"payload_too_long": True}
    for name in _SALVAGED:
        if match := re.search(rf'"{name}"\s*:\s*"([^"\\\x00-\x1f]{{1,400}})"', text):
            found[name] = match[1]
    return found


def text(payload: Any, *names: str) -> str:
    """Return the first of these fields that is a non-empty text, or ''."""
    if not isinstance(payload, dict):
        return ""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def inner(payload: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a field that is an object, or an empty one."""
    value = payload.get(name)
    return value if isinstance(value, dict) else {}


def stamp(payload: dict[str, Any], *more: Any) -> str:
    """Identify an event of a client that sends no ids: its time in milliseconds, and a checksum of what it is about.
    The client may send the same time as a number or as a text. Return '' if there is no time."""
    when = payload.get("timestamp")
    if isinstance(when, str):
        when = _milliseconds(when)
    if not isinstance(when, (int, float)) or isinstance(when, bool) or not 0 < when < 1e15:
        return ""
    from zlib import crc32

    about = json.dumps(more, sort_keys=True, default=str).encode()
    return f"{int(when)}-{crc32(about):08x}"


def _milliseconds(text: str) -> int:
    """Return a UTC time as milliseconds since 1970; 0 if invalid. (Importing `datetime` takes longer than this.)"""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", text, re.ASCII)
    if not found:
        return 0
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    year -= month <= 2  # let years begin in March, so that the leap day is their last day
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day - 719_469
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + int((found[7] or "0").ljust(3, "0")[:3])


def words_of(value: Any, most: int = 200_000) -> str:
    """Return the texts inside a tool's answer of any shape: a text, a list of parts, an object."""
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
    """Return `{"outcome": …}`, cut and redacted, for a call of a tool that reports a task's outcome; else {}. A task
    that is completed without a word about success has succeeded; a recorded outcome has to state it."""
    from swarmlore.domain.extraction.task_reports import parse_bool, parse_count

    if not tool_name.endswith(TOOLS):
        return {}
    found: dict[str, Any] = {name: excerpt(text(given, name), *_TEXTS[name]) for name in _TEXTS}
    found |= {name: excerpt(text(given, name)[:400], 100, 100) for name in _NAMES}
    found |= {name: given[name] for name in _COUNTS if parse_count(given.get(name)) is not None}
    touched = _listed(given.get("files_touched"))[:_MOST_TASK_FILES]
    found["files_touched"] = [redacted_path(name) for name in touched if len(name) <= _PATH and "\0" not in name]
    found |= {
        name: [excerpt(item, 200, 1) for item in _listed(given.get(name))[:most]] for name, most in _LISTS.items()
    }
    kept = {name: value for name, value in found.items() if value or value == 0}
    flags = {name: value for name in ("success", "persist") if (value := parse_bool(given.get(name))) is not None}
    if tool_name.endswith(TOOLS[0]) and not (kept.get("failure_mode") or kept.get("failure_details")):
        flags.setdefault("success", True)
    return {"outcome": {**kept, **flags}}


def is_refused(payload: Mapping[str, Any]) -> bool:
    """Return whether a tool answered that it refused the call: an error, or JSON with `success: false`."""
    answers = [payload[name] for name in _ANSWERS if name in payload]
    if any(isinstance(answer, dict) and _says_no(answer) for answer in answers):
        return True
    printed = words_of(inner(dict(payload), "output").get("output") or answers, 20_000).strip()
    if not printed.startswith("{"):
        return False
    try:
        answer = json.loads(printed)
    except (ValueError, RecursionError):
        return False
    return isinstance(answer, dict) and _says_no(answer)


def _says_no(answer: dict[str, Any]) -> bool:
    return answer.get("isError") is True or answer.get("is_error") is True or answer.get("success") is False


def _listed(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str) and item] if isinstance(value, list) else []


# Characters kept of the beginning and of the end of each text.
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
# Variables kept with an event: who acts, and where its client keeps its files.
_WHO = (
    "SWARMLORE_AGENT",
    "SWARMLORE_ROLE",
    "SWARMLORE_PROJECT",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "GEMINI_CLI_HOME",
    "SKIP_SESSION_SUMMARY",  # set by tools that summarise sessions with a client run of their own
)


def make_event(client: ModuleType, client_name: str, name: str, payload: Mapping[str, Any], at: float) -> Event:
    """Return the event that a payload reports."""
    facts = client.facts(payload)
    unique, mark = facts.pop("unique"), facts.pop("mark", "")
    moment = client.moment(name, payload)
    cwd = _path(facts["cwd"]) or _here()
    values = {
        **{key: _short(facts[key]) for key in ("session", "agent", "agent_type", "source", "tool_name")},
        **{key: excerpt(facts[key], *_KEPT[key]) for key in _KEPT},
        "said": excerpt(facts["said"], *_SAID),
        "files": tuple(_absolute(path, cwd) for path in facts["files"][:_MOST_FILES] if _path(path)),
        "transcript": _path(facts["transcript"]),
        "tool": facts["tool"],
    }
    # `extra` of a client is checked and redacted by its module.
    extra: dict[str, Any] = {**facts.pop("extra", {}), **_reported(facts["tool_name"], facts.pop("given"), payload)}
    if payload.get("payload_too_long"):
        extra["payload_too_long"] = True
    if env := {name: _path(os.environ[name]) for name in _WHO if os.environ.get(name)}:
        extra["env"] = env
    often = moment in (e.SESSION_START, e.COMPACTED, e.TURN_END, e.BEFORE_COMPACTION, e.SESSION_END)
    loose = not unique or (often and not mark)
    id = _id(values, moment, unique, loose)
    return Event(
        id, at, client_name, _short(name), moment, cwd=cwd, project=_project(cwd), loose=loose, extra=extra, **values
    )


def _reported(tool_name: str, given: dict[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome that a call reports; the tool's name may have a prefix, and the call must not be refused."""
    if not tool_name.endswith(TOOLS):
        return {}
    return {} if is_refused(payload) else outcome_of(tool_name, given)


def _id(values: Mapping[str, Any], moment: str, unique: str, loose: bool) -> str:
    """Return an id that is the same for the same event, whichever hook file, socket or spool it comes from."""
    try:
        from _blake2 import blake2b  # `hashlib` loads OpenSSL, which takes a tenth of a hook's time
    except ImportError:
        from hashlib import blake2b
    parts = [values["session"], values["agent"], moment, unique]
    if loose:
        parts += [values["source"], values["prompt"], values["said"][:200], values["command"], values["error"][:200]]
    return blake2b("\x00".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _short(text: str) -> str:
    return redact(without_invisible(text[: _SHORT * 4]))[0][:_SHORT] if text else ""


def _path(text: str) -> str:
    """Return a path with secrets redacted, or '' if it cannot be a path."""
    return redacted_path(text) if text and len(text) <= _PATH and "\x00" not in text else ""


def _absolute(name: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(_path(name))))


def _here() -> str:
    try:
        return _path(os.getcwd())
    except OSError:
        return ""


def _project(cwd: str) -> dict[str, Any]:
    """Return the fields of a folder's project, found now: a worktree may be gone when the event is read."""
    if not os.path.isdir(cwd):
        return {}
    from swarmlore.workspace.project import Project, find_project

    found = find_project(cwd)
    if found.root != _path(found.root):
        return {}  # the real folder's name contains a secret, or is not valid text
    return {spec.name: getattr(found, spec.name) for spec in fields(Project)}
