"""Pool of `Lore` objects, one per project, client and identity, that share one open store."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from swarmlore.clients.hook.event import actor
from swarmlore.config import file_stamps
from swarmlore.domain.records import Caller
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.workspace.project import Project, find_project

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.clients.hook.event import Event
    from swarmlore.domain.records import Session
    from swarmlore.lore import Lore

MOST = 64
TOLD = (
    "SWARMLORE_AGENT",
    "SWARMLORE_ROLE",
    "SWARMLORE_PROJECT",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "GEMINI_CLI_HOME",
)


class LorePool:
    """Find or create the `Lore` for a project, a client and the identity in its environment. Changed settings apply
    at once, because their stamps are part of the key: switching the memory off needs no restart."""

    def __init__(self, lore: Lore) -> None:
        self._lore = lore
        self._made: dict[tuple[object, ...], Lore] = {}
        self._lock = threading.Lock()

    def of_event(self, event: Event) -> Lore:
        """Return the `Lore` of the client that reported an event, in the project found then; the session belongs to
        it."""
        return self._of(_project(event), event.client, _env(event))

    def of_actor(self, event: Event) -> Lore:
        """Return the `Lore` of the agent acting in an event; a sub-agent learns and is given memories under its own
        name."""
        return self._of(_project(event), actor(event), _env(event))

    def known(self) -> list[Lore]:
        """Return every `Lore` of this pool, the original first."""
        with self._lock:
            return [self._lore, *self._made.values()]

    def of_session(self, session: Session) -> Lore:
        """Return the `Lore` of the client that reported a session, in that session's project."""
        return self._lore.acting_as(Caller(session.project, session.agent), session.cwd)

    def of_folder(self, folder: str, client: str, env: Mapping[str, str], profile: str = "") -> Lore:
        """Return the `Lore` for the project of a folder."""
        return self._of(find_project(folder), client, env, profile)

    def _of(self, project: Project, client: str, env: Mapping[str, str], profile: str = "") -> Lore:
        who = {name: str(env[name]) for name in TOLD if env.get(name)}
        key = (project.id, project.root, client, profile, *who.items(), file_stamps(self._lore.home, project.root))
        with self._lock:
            if key not in self._made:
                if len(self._made) >= MOST:
                    self._made.pop(next(iter(self._made)))
                self._made[key] = self._lore.beside(project, client, who, profile)
            return self._made[key]


def _env(event: Event) -> Mapping[str, str]:
    env = event.extra.get("env")
    return env if isinstance(env, Mapping) else {}


def _project(event: Event) -> Project:
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in event.project.items()
    }
    try:
        return Project(**given)
    except TypeError:  # the event has no project, or unknown fields
        return find_project(event.cwd or os.path.sep)
