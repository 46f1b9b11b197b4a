"""The process that serves: its own client over standard input and output and, if it is the warm one, everybody else."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.mcp.bridge import Bridge
from swarmlore.surfaces.mcp.proxy import Handover, answered_id, write_all
from swarmlore.surfaces.mcp.server import in_thread, serve_session

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.surfaces.mcp.session import Context
    from swarmlore.surfaces.mcp.warming import Memory, Warm

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
