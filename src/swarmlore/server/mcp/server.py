"""The server: sessions of the protocol in one event loop, each over lines that come and go.

The official SDK speaks the protocol. What a tool does runs in a thread of its own, so that a slow or cancelled call
keeps nobody waiting; the memory itself is opened by the first call, or while the client reads the list of tools.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

import swarmlore
from swarmlore.frozen import TYPE_CHECKING, field, frozen, replace
from swarmlore.server.mcp.tools import instructions, listing

if TYPE_CHECKING:
    from typing import Any

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.context import ServerRequestContext

    from swarmlore.lore import Lore
    from swarmlore.server.mcp.answers import Answer
    from swarmlore.server.mcp.tool_answers import Talk

    Lend = Callable[["Context"], Lore]

    Write = Callable[[bytes], Awaitable[None]]


PROJECT_DIR = "CLAUDE_PROJECT_DIR"
# What clients tell the servers that they start about the session they are in.
SESSION_IDS = ("SWARMLORE_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "COPILOT_AGENT_SESSION_ID")
_PASSED_ON = ("SWARMLORE_", "MEMORY_")
_MOST_CHARS = 4_096
_MOST_SETS = 16


@frozen
class Context:
    """Where a connection comes from."""

    cwd: str
    client: str = "mcp"
    env: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()  # the sets of tools that it asked for; none means the usual one
    profile: str = ""  # whose rules a call means, by the set that its tool is from

    @property
    def folder(self) -> str:
        """The folder whose project is meant: what the client says, else where it started us."""
        said = self.env.get(PROJECT_DIR, "")
        return said if said and os.path.isdir(said) else self.cwd

    @property
    def session(self) -> str:
        """The client's session, or ''."""
        return next((found for name in SESSION_IDS if (found := self.env.get(name, ""))), "")[:200]


def hello(context: Context) -> dict[str, Any]:
    """What a proxy says first."""
    said = {"op": "mcp", "cwd": context.cwd, "client": context.client, "env": dict(context.env)}
    return {**said, "tools": list(context.tools)} if context.tools else said


def context_of(said: Mapping[str, Any]) -> Context:
    """Who speaks, from what a proxy said first; nothing in it is taken for granted."""
    cwd, client, env = (said.get(name) for name in ("cwd", "client", "env"))
    known = {
        name: value
        for name, value in (env.items() if isinstance(env, dict) else ())
        if _is_passed_on(name) and isinstance(value, str) and len(value) <= _MOST_CHARS
    }
    folder = cwd if isinstance(cwd, str) and "\0" not in cwd and os.path.isabs(cwd) else os.path.expanduser("~")
    sets = said.get("tools")
    tools = tuple(name for name in sets if isinstance(name, str))[:_MOST_SETS] if isinstance(sets, list) else ()
    return Context(folder, client[:80] if isinstance(client, str) and client else "mcp", known, tools)


def passed_on(env: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that says for whom a server works."""
    return {name: value for name, value in env.items() if _is_passed_on(name)}


def _is_passed_on(name: str) -> bool:
    return name.startswith(_PASSED_ON) or name == PROJECT_DIR or name in SESSION_IDS


FINISH_S = 2.0  # for answers that are under way when a client leaves
MOST_CALLS = 16  # of one session at the same time; the others wait
IN_TURN = "swarmmail_"  # each of these tools counts on what the one before said
OPEN_AFTER_S = 0.05  # after the list of tools was sent


class Session:
    """One connection: its tools, its memory, and the requests that wait for an answer."""

    def __init__(self, context: Context, lend: Lend) -> None:
        self._context = context
        self._lend = lend
        self._talk: Talk | None = None  # where other sets of tools are asked for
        self._room = asyncio.Semaphore(MOST_CALLS)
        self._turn = asyncio.Lock()
        self._opened = False
        self.waiting: set[str | int] = set()
        self.idle = asyncio.Event()
        self.idle.set()

    def server(self) -> Server[Any]:
        """The SDK's server with our tools."""
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
            asyncio.get_running_loop().call_later(OPEN_AFTER_S, _begin, lambda: self._lend(self._context))
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
        told: Answer = await asyncio.shield(done)  # the thread goes on after a cancellation, and so does its place
        content = types.TextContent(type="text", text=told.text)
        return types.CallToolResult(content=[content], structured_content=told.values, is_error=told.failed)

    def _answer(self, name: str, arguments: dict[str, Any] | None) -> Answer:
        from swarmlore.server.mcp.calls import answer, answer_in

        if not self._context.tools:
            return answer(lambda: self._lend(self._context), name, arguments, self._context.session)
        return answer_in(self._context.tools, self._lend_by, name, arguments, self._talking())

    def _lend_by(self, profile: str) -> Lore:
        return self._lend(replace(self._context, profile=profile))

    def _talking(self) -> Talk:
        """What this connection keeps in mind between its calls."""
        from swarmlore.server.mcp.tool_answers import Talk

        if self._talk is None:
            self._talk = Talk(self._context.session)
        return self._talk

    def asked(self, id: str | int) -> None:
        self.waiting.add(id)
        self.idle.clear()

    def answered(self, id: str | int | None) -> None:
        if id is not None:
            self.waiting.discard(id)
        if not self.waiting:
            self.idle.set()


def in_thread(work: Callable[[], Any]) -> asyncio.Future[Any]:
    """What `work` returns, from a thread that ends with the process: one that hangs must not keep it alive."""
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
        except BaseException as raised:  # noqa: BLE001 - handed to whoever waits
            result, error = None, raised
        with suppress(RuntimeError):  # the loop has ended; nobody waits any more
            loop.call_soon_threadsafe(finish, result, error)

    threading.Thread(target=run, name="swarmlore-call", daemon=True).start()
    return future


def _begin(work: Callable[[], Any]) -> None:
    """Do something ahead of time; if it fails, whoever needs it will be told."""

    def quietly() -> None:
        with suppress(Exception):
            work()

    in_thread(quietly)


async def serve_session(read: AsyncIterator[bytes], write: Write, context: Context, lend: Lend) -> None:
    """Serve one client over lines until it leaves; `lend` gives the memory for a context."""
    session = Session(context, lend)
    server = session.server()
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:

        async def send(line: bytes) -> None:
            try:
                await write(line)
            except OSError:  # nobody reads any more
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
    """Lines to the server; after the last one, answers that are under way have a moment."""
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
    """The answer to a line that is no message: to the request in it, if there is one to name."""
    try:
        said = json.loads(line)
        id = said.get("id") if isinstance(said, dict) else None
    except (ValueError, RecursionError):
        id = None
    known = id if isinstance(id, (str, int)) and not isinstance(id, bool) else None
    error = {"code": -32600 if known is not None else -32700, "message": "that is no message: send plain UTF-8 JSON"}
    return json.dumps({"jsonrpc": "2.0", "id": known, "error": error}).encode() + b"\n"
