"""From a payload to an event: typed, redacted, cut, and with an id under which it counts once."""

from __future__ import annotations

import os

from swarmlore.domain.extraction.lesson_text import excerpt, path, visible
from swarmlore.domain.security.redaction import redact
from swarmlore.frozen import TYPE_CHECKING, fields
from swarmlore.hooks import event as e
from swarmlore.hooks.event import Event

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any

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
    from swarmlore.hooks.outcomes import is_refused, outcome_of

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
