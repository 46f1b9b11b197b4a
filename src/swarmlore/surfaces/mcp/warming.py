"""Being the warm process of a home: hooks are answered at once, proxies as soon as the protocol is loaded."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.surfaces.mcp.session import Context
    from swarmlore.warm.election import Elected
    from swarmlore.warm.memory import SharedMemory

    Handle = Callable[[Any, Mapping[str, Any]], None]

READY_S = 30.0  # for the protocol to be loaded, on a machine that is busy


class Memory:
    """The memory of a home, opened when first asked for."""

    def __init__(self, home: str, context: Context) -> None:
        self._home = home
        self._context = context
        self._lock = threading.Lock()
        self._shared: SharedMemory | None = None
        self._closed = False

    def shared(self) -> SharedMemory:
        with self._lock:
            if self._closed:
                raise SwarmloreError("this server is ending", "start it again")
            if self._shared is None:
                from swarmlore.warm.memory import SharedMemory

                own = self._context
                self._shared = SharedMemory(self._home, own.folder, own.client, own.env)
            return self._shared

    def lend(self, context: Context) -> Lore:
        """The memory as a connection sees it."""
        return self.shared().lore_for(context.folder, context.client, context.env, context.profile)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._shared is not None:
                self._shared.close()


class Warm:
    """Listens at the place of the warm process, if it is ours. `open_to` lets the sessions of proxies in."""

    def __init__(self, place: Elected | None, memory: Memory) -> None:
        self._ready = threading.Event()
        self._handle: Handle | None = None
        self._dismiss: Callable[[], None] | None = None
        self._server: Any = None
        self._place = place
        if place is not None:
            from swarmlore.warm.server import WarmServer

            self._server = WarmServer(place, memory.shared, self._sessions, self._make_room)
            self._server.start()

    def _make_room(self) -> None:
        """A server that stays takes over; this process goes on for its own client. Proxies find the other one."""
        self._server.close()
        if self._dismiss is not None:
            self._dismiss()

    def open_to(self, handle: Handle, dismiss: Callable[[], None] | None = None) -> None:
        self._dismiss = dismiss
        self._handle = handle
        self._ready.set()
        if self._place is not None:
            self._place.is_ready()

    def _sessions(self, sock: Any, hello: dict[str, Any]) -> None:
        if self._ready.wait(READY_S) and self._handle is not None:
            self._handle(sock, hello)

    def close(self) -> None:
        self._handle = None
        self._ready.set()
        if self._server is not None:
            self._server.close()


def elected(home: str) -> Elected | None:
    """The place of the warm process, if it is free and the home can have one."""
    from swarmlore.warm.election import elect

    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        return elect(home)
    except (OSError, ValueError, SwarmloreError):
        return None  # tools still work, or each call says what is wrong with the home
