"""Connections of proxies, served in the event loop of the server that is there already."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import CancelledError

from swarmlore.clients.hook.socket import MOST_LINE
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.mcp.server import serve_session
from swarmlore.surfaces.mcp.session import context_of

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.surfaces.mcp.session import Lend


class Bridge:
    """Takes connections in threads and serves them in one loop, until closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, lend: Lend) -> None:
        self._loop = loop
        self._lend = lend
        self._closing = False
        self._sessions: set[asyncio.Task[None]] = set()

    def handle(self, sock: Any, hello: Mapping[str, Any]) -> None:
        """Serve one proxy; returns when it has left."""
        own = sock.dup()  # the loop closes its own; whoever gave us this one closes that
        try:
            asyncio.run_coroutine_threadsafe(self._serve(own, hello), self._loop).result()
        except (OSError, RuntimeError, CancelledError):
            own.close()  # it went away, or the loop did

    async def _serve(self, sock: Any, hello: Mapping[str, Any]) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._sessions.add(task)
            task.add_done_callback(self._sessions.discard)
        reader, writer = await asyncio.open_connection(sock=sock, limit=MOST_LINE)

        async def write(line: bytes) -> None:
            if self._closing:
                return  # what the protocol says about its own end would be taken for the answer
            writer.write(line)
            await writer.drain()

        try:
            await serve_session(_lines(reader), write, context_of(hello), self._lend)
        finally:
            writer.close()

    def dismiss(self) -> None:
        """Let the proxies go, from any thread: another server is there for them."""
        asyncio.run_coroutine_threadsafe(self.close(), self._loop)

    async def close(self) -> None:
        """End the sessions that are left; their proxies find another server, and ask it what has no answer yet."""
        self._closing = True
        for task in list(self._sessions):
            task.cancel()
        await asyncio.gather(*self._sessions, return_exceptions=True)


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Whole lines until the other side closes; a line that is too long ends the connection."""
    while True:
        try:
            line = await reader.readline()
        except (ValueError, OSError):
            return
        if not line.endswith(b"\n"):
            return
        yield line
