"""MCP sessions in one event loop, each over a stream of lines; the official SDK implements the protocol.

Each tool call runs in its own thread, so that a slow or cancelled call blocks no other. The memory is opened by the
first call, or just after the client listed the tools.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

import swarmlore
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.server.mcp.context import Context
from swarmlore.server.mcp.tools import instructions, listing

if TYPE_CHECKING:
    from typing import Any

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.context import ServerRequestContext

    from swarmlore.lore import Lore
    from swarmlore.server.mcp.answers import Answer
    from swarmlore.server.mcp.tool_answers import ConnectionState

    Lend = Callable[["Context"], Lore]

    Write = Callable[[bytes], Awaitable[None]]


FINISH_S = 2.0  # for answers that are under way when a client leaves
MOST_CALLS = 16  # concurrent calls of one session; others wait
IN_TURN = "swarmmail_"  # tools with this prefix run in order: each relies on the one before
OPEN_AFTER_S = 0.05  # after the list of tools was sent


class Session:
    """One connection: its tools, its memory, and its unanswered requests."""

    def __init__(self, context: Context, lend: Lend) -> None:
        self._context = context
        self._lend = lend
        self._talk: ConnectionState | None = None  # only with other tool sets
        self._room = asyncio.Semaphore(MOST_CALLS)
        self._turn = asyncio.Lock()
        self._opened = False
        self.waiting: set[str | int] = set()
        self.idle = asyncio.Event()
        self.idle.set()

    def server(self) -> Server[Any]:
        """Return the SDK's server with our tools."""
        return Server(
            "swarmlore",
            version=swarmlore.__version__,
            instructions=instructions(self._context.tools),
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def _list(self, _: ServerRequestContext[Any], __: Any) -> types.ListToolsResult:
        if not self._opened:
            self._opened = True
            asyncio.get_running_loop().call_later(OPEN_AFTER_S, _open_early, lambda: self._lend(self._context))
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in listing(self._context.tools)])

    async def _call(self, _: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name.startswith(IN_TURN):
            async with self._turn:
                return await self._do(params)
        return await self._do(params)

    async def _do(self, params: types.CallToolRequestParams) -> types.CallToolResult:
        await self._room.acquire()
        done = in_thread(lambda: self._answer(params.name, params.arguments))
        done.add_done_callback(lambda _: self._room.release())
        answered: Answer = await asyncio.shield(done)  # after a cancellation the thread goes on and keeps its place
        content = types.TextContent(type="text", text=answered.text)
        return types.CallToolResult(content=[content], structured_content=answered.values, is_error=answered.failed)

    def _answer(self, name: str, arguments: dict[str, Any] | None) -> Answer:
        from swarmlore.server.mcp.calls import answer, answer_in

        if not self._context.tools:
            return answer(lambda: self._lend(self._context), name, arguments, self._context.session)
        return answer_in(self._context.tools, self._lend_by, name, arguments, self._state())

    def _lend_by(self, profile: str) -> Lore:
        return self._lend(replace(self._context, profile=profile))

    def _state(self) -> ConnectionState:
        """Return the state that this connection keeps between its calls."""
        from swarmlore.server.mcp.tool_answers import ConnectionState

        if self._talk is None:
            self._talk = ConnectionState(self._context.session)
        return self._talk

    def asked(self, id: str | int) -> None:
        """Record a request that waits for an answer."""
        self.waiting.add(id)
        self.idle.clear()

    def answered(self, id: str | int | None) -> None:
        """Record the answer to a request, or its cancellation."""
        if id is not None:
            self.waiting.discard(id)
        if not self.waiting:
            self.idle.set()


def in_thread(work: Callable[[], Any]) -> asyncio.Future[Any]:
    """Run `work` in a daemon thread, which cannot keep the process alive, and return a future of its result."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def finish(result: Any, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        try:
            result, error = work(), None
        except BaseException as raised:  # noqa: BLE001 - passed to the future
            result, error = None, raised
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(finish, result, error)

    threading.Thread(target=run, name="swarmlore-call", daemon=True).start()
    return future


def _open_early(work: Callable[[], Any]) -> None:
    """Run `work` ahead of time; errors are ignored, as the first call reports them."""

    def quietly() -> None:
        with suppress(Exception):
            work()

    in_thread(quietly)


async def serve_session(read: AsyncIterator[bytes], write: Write, context: Context, lend: Lend) -> None:
    """Serve one client over lines until it leaves; `lend` returns the `Lore` for a context."""
    session = Session(context, lend)
    server = session.server()
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:

        async def send(line: bytes) -> None:
            try:
                await write(line)
            except OSError:  # the client is gone
                tasks.cancel_scope.cancel()

        tasks.start_soon(_take_lines, read, send, to_server, session)
        tasks.start_soon(_give_lines, from_server, send, session)
        await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _take_lines(
    read: AsyncIterator[bytes],
    write: Write,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    session: Session,
) -> None:
    """Pass lines to the SDK; after the last one, running requests have two seconds."""
    async with to_server:
        async for line in read:
            if not line.strip():
                continue
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                await write(_refusal(line))
                continue
            if isinstance(message, types.JSONRPCRequest):
                session.asked(message.id)
            elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
                session.answered((message.params or {}).get("requestId"))
            await to_server.send(SessionMessage(message))
        with anyio.move_on_after(FINISH_S):
            await session.idle.wait()


async def _give_lines(from_server: MemoryObjectReceiveStream[SessionMessage], write: Write, session: Session) -> None:
    async with from_server:
        async for item in from_server:
            await write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            if isinstance(item.message, (types.JSONRPCResponse, types.JSONRPCError)):
                session.answered(item.message.id)


def _refusal(line: bytes) -> bytes:
    """Return the error for a line that is no message, with its request id if it has one."""
    try:
        message = json.loads(line)
        id = message.get("id") if isinstance(message, dict) else None
    except (ValueError, RecursionError):
        id = None
    known = id if isinstance(id, (str, int)) and not isinstance(id, bool) else None
    error = {"code": -32600 if known is not None else -32700, "message": "that is no message: send plain UTF-8 JSON"}
    return json.dumps({"jsonrpc": "2.0", "id": known, "error": error}).encode() + b"\n"
