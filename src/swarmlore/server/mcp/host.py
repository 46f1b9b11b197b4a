"""The process that serves: its own client over standard input and output and, if it is the warm one, everybody else."""

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
from swarmlore.server.mcp.proxy import Handover, answered_id, write_all
from swarmlore.server.mcp.server import context_of, in_thread, serve_session

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.server.daemon import SharedMemory
    from swarmlore.server.daemon_lock import Elected
    from swarmlore.server.mcp.server import Context, Lend

    Handle = Callable[[Any, Mapping[str, Any]], None]


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
            await serve_session(_lines_of_bridge(reader), write, context_of(hello), self._lend)
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


async def _lines_of_bridge(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Whole lines until the other side closes; a line that is too long ends the connection."""
    while True:
        try:
            line = await reader.readline()
        except (ValueError, OSError):
            return
        if not line.endswith(b"\n"):
            return
        yield line


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
                from swarmlore.server.daemon import SharedMemory

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
            from swarmlore.server.daemon import WarmServer

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
    from swarmlore.server.daemon_lock import elect

    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        return elect(home)
    except (OSError, ValueError, SwarmloreError):
        return None  # tools still work, or each call says what is wrong with the home


CLOSE_S = 3.0
_CHUNK = 65_536


def serve(context: Context, handover: Handover, memory: Memory, warm: Warm) -> int:
    """Serve until standard input closes or somebody ends us."""
    incoming, outgoing = _claim_streams()
    asyncio.run(_serve(context, handover, memory, warm, incoming, outgoing))
    return 0


async def _serve(
    context: Context, handover: Handover, memory: Memory, warm: Warm, incoming: int, outgoing: int
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
    """Close the memory, within limits: whatever hangs is left to the store, which survives worse."""
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
    """Private copies of standard input and output; whatever else reads or prints in this process meets neither."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if sys.stdout is not None:
        sys.stdout.flush()
    os.dup2(2, 1)
    return incoming, outgoing


async def _lines(replay: Sequence[bytes], rest: bytes, fd: int) -> AsyncIterator[bytes]:
    """Lines that were read before, then those that come."""
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
    """Standard input may be anything; a thread can wait for it, whatever it is."""
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
    """Writes lines in order from a thread; answers that the client has already are left out."""
    turn = asyncio.Lock()

    async def write(line: bytes) -> None:
        if swallow and _is_swallowed(line, swallow):
            return
        async with turn:
            await in_thread(lambda: write_all(fd, line))

    return write


def _is_swallowed(line: bytes, swallow: set[Any]) -> bool:
    id = answered_id(line)
    if id is None or id not in swallow:
        return False
    swallow.discard(id)
    return True
