"""The memory of a home as each client in each folder sees it: opened once, shared by all."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from swarmlore.clients.hook.event import actor
from swarmlore.config import stamps
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


class Siblings:
    """Finds or makes the `Lore` for a project, a client and the identity in its environment.

    Settings count from the moment they are written: who switches the memory off does not wait for a process to end.
    """

    def __init__(self, lore: Lore) -> None:
        self._lore = lore
        self._made: dict[tuple[object, ...], Lore] = {}
        self._lock = threading.Lock()

    def of_event(self, event: Event) -> Lore:
        """For the client that reported an event, in the project as it was found then: it keeps the session."""
        return self._of(_project(event), event.client, _env(event))

    def of_actor(self, event: Event) -> Lore:
        """For whoever acts in the event: a sub-agent learns and is given things under a name of its own."""
        return self._of(_project(event), actor(event), _env(event))

    def known(self) -> list[Lore]:
        """All that were asked for in this process, and the one that they are beside."""
        with self._lock:
            return [self._lore, *self._made.values()]

    def of_session(self, session: Session) -> Lore:
        """For the client that reported a session, in the project in which it did."""
        return self._lore.acting_as(Caller(session.project, session.agent), session.cwd)

    def of_folder(self, folder: str, client: str, env: Mapping[str, str], profile: str = "") -> Lore:
        return self._of(find_project(folder), client, env, profile)

    def _of(self, project: Project, client: str, env: Mapping[str, str], profile: str = "") -> Lore:
        who = {name: str(env[name]) for name in TOLD if env.get(name)}
        key = (project.id, project.root, client, profile, *who.items(), stamps(self._lore.home, project.root))
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
    except TypeError:  # an event that does not say, or says nonsense
        return find_project(event.cwd or os.path.sep)
