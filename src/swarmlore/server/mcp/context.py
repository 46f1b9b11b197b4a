"""For whom an MCP connection works, and the daemon that serves it. Free of the MCP SDK: a proxy starts without it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, field, frozen

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.server.daemon import DaemonMemory
    from swarmlore.server.daemon_lock import DaemonLock

    Handle = Callable[[Any, Mapping[str, Any]], None]

PROJECT_DIR = "CLAUDE_PROJECT_DIR"
# Environment variables in which clients pass their session id to MCP servers.
SESSION_IDS = ("SWARMLORE_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "COPILOT_AGENT_SESSION_ID")
_PASSED_ON = ("SWARMLORE_", "MEMORY_")
_MOST_CHARS = 4_096
_MOST_SETS = 16


@frozen
class Context:
    """Origin of a connection: folder, client, environment, tool sets and profile."""

    cwd: str
    client: str = "mcp"
    env: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()  # the tool sets that it asked for; empty means the default set
    profile: str = ""  # ranking of a call, by the set of its tool

    @property
    def folder(self) -> str:
        """The folder whose project is meant: the client's project folder, else its working directory."""
        given = self.env.get(PROJECT_DIR, "")
        return given if given and os.path.isdir(given) else self.cwd

    @property
    def session(self) -> str:
        """The client's session id, or ''."""
        return next((found for name in SESSION_IDS if (found := self.env.get(name, ""))), "")[:200]


def hello(context: Context) -> dict[str, Any]:
    """Return the first message of a proxy."""
    message = {"op": "mcp", "cwd": context.cwd, "client": context.client, "env": dict(context.env)}
    return {**message, "tools": list(context.tools)} if context.tools else message


def context_of(message: Mapping[str, Any]) -> Context:
    """Return the context from the first message of a proxy; every value is checked."""
    cwd, client, env = (message.get(name) for name in ("cwd", "client", "env"))
    known = {
        name: value
        for name, value in (env.items() if isinstance(env, dict) else ())
        if _is_passed_on(name) and isinstance(value, str) and len(value) <= _MOST_CHARS
    }
    folder = cwd if isinstance(cwd, str) and "\0" not in cwd and os.path.isabs(cwd) else os.path.expanduser("~")
    sets = message.get("tools")
    tools = tuple(name for name in sets if isinstance(name, str))[:_MOST_SETS] if isinstance(sets, list) else ()
    return Context(folder, client[:80] if isinstance(client, str) and client else "mcp", known, tools)


def passed_on(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an environment that identify the agent, its project and its session."""
    return {name: value for name, value in env.items() if _is_passed_on(name)}


def _is_passed_on(name: str) -> bool:
    return name.startswith(_PASSED_ON) or name == PROJECT_DIR or name in SESSION_IDS


READY_S = 30.0  # for the import of the SDK, on a busy machine


class Memory:
    """The shared `Lore` of a home, opened on first use."""

    def __init__(self, home: str, context: Context) -> None:
        self._home = home
        self._context = context
        self._lock = threading.Lock()
        self._shared: DaemonMemory | None = None
        self._closed = False

    def shared(self) -> DaemonMemory:
        """Return the shared memory; open it if needed."""
        with self._lock:
            if self._closed:
                raise SwarmloreError("this server is ending", "start it again")
            if self._shared is None:
                from swarmlore.server.daemon import DaemonMemory

                own = self._context
                self._shared = DaemonMemory(self._home, own.folder, own.client, own.env)
            return self._shared

    def lend(self, context: Context) -> Lore:
        """Return the `Lore` for the context of a connection."""
        return self.shared().lore_for(context.folder, context.client, context.env, context.profile)

    def close(self) -> None:
        """Close the memory; later calls raise."""
        with self._lock:
            self._closed = True
            if self._shared is not None:
                self._shared.close()


class DaemonHost:
    """The daemon part of this process, if it holds the lock. `open_to` starts serving the MCP sessions of proxies."""

    def __init__(self, place: DaemonLock | None, memory: Memory) -> None:
        self._ready = threading.Event()
        self._handle: Handle | None = None
        self._dismiss: Callable[[], None] | None = None
        self._server: Any = None
        self._place = place
        if place is not None:
            from swarmlore.server.daemon import DaemonServer

            self._server = DaemonServer(place, memory.shared, self._sessions, self._hand_over)
            self._server.start()

    def _hand_over(self) -> None:
        """Give the socket to a server that takes over; this process keeps serving its own client."""
        self._server.close()
        if self._dismiss is not None:
            self._dismiss()

    def open_to(self, handle: Handle, dismiss: Callable[[], None] | None = None) -> None:
        """Serve the sessions of proxies from now on."""
        self._dismiss = dismiss
        self._handle = handle
        self._ready.set()
        if self._place is not None:
            self._place.is_ready()

    def _sessions(self, sock: Any, hello: dict[str, Any]) -> None:
        if self._ready.wait(READY_S) and self._handle is not None:
            self._handle(sock, hello)

    def close(self) -> None:
        """Stop serving."""
        self._handle = None
        self._ready.set()
        if self._server is not None:
            self._server.close()


def become_daemon(home: str) -> DaemonLock | None:
    """Become the daemon of a home; None if another process is, or if the home cannot be used."""
    from swarmlore.server.daemon_lock import acquire

    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        return acquire(home)
    except (OSError, ValueError, SwarmloreError):
        return None  # tools still work, or each call reports the problem with the home
