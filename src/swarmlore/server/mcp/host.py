"""The process behind `swarmlore mcp`: serves its own client over stdio and, if it is the daemon, the proxies of other
clients."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AsyncExitStack

from swarmlore.clients.hook.socket import MOST_LINE
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.server.mcp.context import DaemonHost, Memory, context_of
from swarmlore.server.mcp.proxy import Handover, answered_id, write_all
from swarmlore.server.mcp.server import in_thread, serve_session

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.server.mcp.context import Context
    from swarmlore.server.mcp.server import Lend


class Bridge:
    """Takes connections of proxies in threads and serves them in one event loop, until closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, lend: Lend) -> None:
        self._loop = loop
        self._lend = lend
        self._closing = False
        self._sessions: set[asyncio.Task[None]] = set()

    def handle(self, sock: Any, hello: Mapping[str, Any]) -> None:
        """Serve one proxy; return when it has left."""
        own = sock.dup()  # the loop closes this copy; the caller closes the original
        try:
            asyncio.run_coroutine_threadsafe(self._serve(own, hello), self._loop).result()
        except (OSError, RuntimeError, CancelledError):
            own.close()  # the proxy or the loop is gone

    async def _serve(self, sock: Any, hello: Mapping[str, Any]) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._sessions.add(task)
            task.add_done_callback(self._sessions.discard)
        reader, writer = await asyncio.open_connection(sock=sock, limit=MOST_LINE)

        async def write(line: bytes) -> None:
            if self._closing:
                return  # an error about the shutdown would be taken for the answer
            writer.write(line)
            await writer.drain()

        try:
            await serve_session(_socket_lines(reader), write, context_of(hello), self._lend)
        finally:
            writer.close()

    def dismiss(self) -> None:
        """Close all sessions, from any thread, because another daemon takes over."""
        asyncio.run_coroutine_threadsafe(self.close(), self._loop)

    async def close(self) -> None:
        """End the open sessions; their proxies find another daemon and repeat their unanswered requests."""
        self._closing = True
        for task in list(self._sessions):
            task.cancel()
        await asyncio.gather(*self._sessions, return_exceptions=True)


async def _socket_lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield whole lines until the other side closes; a line that is too long ends the connection."""
    while True:
        try:
            line = await reader.readline()
        except (ValueError, OSError):
            return
        if not line.endswith(b"\n"):
            return
        yield line


CLOSE_S = 3.0
_CHUNK = 65_536


def serve(context: Context, handover: Handover, memory: Memory, warm: DaemonHost) -> int:
    """Serve until standard input closes or a signal ends the process."""
    incoming, outgoing = _claim_streams()
    asyncio.run(_serve(context, handover, memory, warm, incoming, outgoing))
    return 0


async def _serve(
    context: Context, handover: Handover, memory: Memory, warm: DaemonHost, incoming: int, outgoing: int
) -> None:
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(_finish, memory.close)
        bridge = Bridge(loop, memory.lend)
        stack.push_async_callback(bridge.close)
        stack.callback(warm.close)
        warm.open_to(bridge.handle, bridge.dismiss)
        lines = _lines(handover.replay, handover.rest, incoming)
        own = asyncio.ensure_future(serve_session(lines, _writer(outgoing, handover.swallow), context, memory.lend))
        _stop_on_signals(loop, own)
        try:
            await own
        except asyncio.CancelledError:
            if not own.cancelled():
                raise


async def _finish(close: Callable[[], None]) -> None:
    """Close the memory within three seconds; a store that is not closed recovers by itself."""
    try:
        await asyncio.wait_for(asyncio.shield(in_thread(close)), CLOSE_S)
    except (TimeoutError, SwarmloreError):
        return


def _stop_on_signals(loop: asyncio.AbstractEventLoop, own: asyncio.Future[None]) -> None:
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        try:
            loop.add_signal_handler(getattr(signal, name), own.cancel)
        except (AttributeError, NotImplementedError, RuntimeError):  # Windows
            return


# Standard input and output


def _claim_streams() -> tuple[int, int]:
    """Return private copies of standard input and output; the originals no longer reach the client."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if sys.stdout is not None:
        sys.stdout.flush()
    os.dup2(2, 1)
    return incoming, outgoing


async def _lines(replay: Sequence[bytes], rest: bytes, fd: int) -> AsyncIterator[bytes]:
    """Yield the lines that were read before, then those from standard input."""
    for line in replay:
        yield line
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    threading.Thread(target=_read, args=(fd, loop, queue), name="swarmlore-stdin", daemon=True).start()
    data = rest
    while True:
        *whole, data = data.split(b"\n")
        for line in whole:
            yield line + b"\n"
        if not (chunk := await queue.get()):
            return
        data += chunk


def _read(fd: int, loop: asyncio.AbstractEventLoop, queue: asyncio.Queue[bytes]) -> None:
    """Read standard input in a thread, because it may be a file, which the event loop cannot wait for."""
    while True:
        try:
            chunk = os.read(fd, _CHUNK)
        except OSError:
            chunk = b""
        try:
            loop.call_soon_threadsafe(queue.put_nowait, chunk)
        except RuntimeError:
            return
        if not chunk:
            return


def _writer(fd: int, swallow: set[Any]) -> Callable[[bytes], Any]:
    """Return a function that writes lines in order from threads, and skips answers that the client has already."""
    turn = asyncio.Lock()

    async def write(line: bytes) -> None:
        if swallow and _is_swallowed(line, swallow):
            return
        async with turn:
            await in_thread(lambda: write_all(fd, line))

    return write


def _is_swallowed(line: bytes, swallow: set[Any]) -> bool:
    """Tell whether a line answers a request that the client has an answer to; each is skipped once."""
    id = answered_id(line)
    if id is None or id not in swallow:
        return False
    swallow.discard(id)
    return True
