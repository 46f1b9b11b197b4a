"""The MCP endpoint `/mcp`: the tools of `swarmlore mcp` over streamable HTTP, behind a token.

Each request is stateless, so that any of several servers may answer it, also after a restart.
`/mcp?tools=lane,swarm-mail` offers the tool sets of other systems.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import AsyncExitStack
from contextvars import ContextVar
from functools import partial
from urllib.parse import parse_qs

import mcp_types as types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from swarmlore.domain.json_codec import code_of
from swarmlore.domain.language.display import choices_hint
from swarmlore.errors import InvalidInput, NotFound, StoreBusy, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.server.http.body import FIXED, JSON, MOST_BYTES, OURS, Turned, check_type, parse, read_body
from swarmlore.server.mcp.answers import failed
from swarmlore.server.mcp.context import Context
from swarmlore.server.mcp.server import Session
from swarmlore.server.mcp.tools import NAMES, tool_named

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Token
    from swarmlore.server.http.app import Request
    from swarmlore.server.http.body import Receive
    from swarmlore.server.mcp.answers import Answer
    from swarmlore.server.mcp.tool_answers import ConnectionState
    from swarmlore.server.service import Backend


MOST_KEPT = 1_024  # sessions with state between calls; the oldest is dropped
OF_A_FOLDER = ("reflect",)  # tools that need the project's files, so a token with a folder
MARKS = ("swarmmail_read_message",)  # reading tools that also record the reading
WAIT_S = 30.0


class TokenSession(Session):
    """The tools for one token: changing tools go through the group commit, reading ones run in parallel."""

    def __init__(self, backend: Backend, token: Token, tools: tuple[str, ...]) -> None:
        context = Context(token.folder or backend.home, "http", {}, tools)
        super().__init__(context, lambda _: _no_lend())
        self._backend = backend
        self._token = token
        self._opened = True  # the backend is open already
        self._withheld = () if token.folder else OF_A_FOLDER

    async def _list(self, asked: Any, params: Any) -> types.ListToolsResult:
        found = await super()._list(asked, params)
        return types.ListToolsResult(tools=[tool for tool in found.tools if tool.name not in self._withheld])

    def _state(self) -> ConnectionState:
        talk = super()._state()
        talk.bound = True
        return talk

    def _answer(self, name: str, arguments: dict[str, Any] | None) -> Answer:
        """Run a tool call in the backend and wait up to 30 seconds for its answer."""
        if name in self._withheld:
            error = NotFound(f"no tool {name!r} here", "it proposes changes of files: make a token with --folder")
            return failed(error, code_of(error))

        talk = self._state() if self._context.tools else None
        work = partial(_run_tool, tools=self._context.tools, name=name, arguments=arguments, talk=talk)
        submit = self._backend.read_by if self._reads(name) else self._backend.write_by
        try:
            answered = (future := submit(self._token, work)).result(WAIT_S)
        except SwarmloreError as error:  # the write was not queued
            return failed(error, code_of(error))
        except TimeoutError:
            future.cancel()
            return failed(StoreBusy("that took too long", "try again in a moment"), "TOO_SLOW")
        code = str(answered.values.get("code", "")) if answered.failed else ""
        return failed(OURS, code) if code.startswith(("STORE_", "CONFIG_")) else answered

    def _reads(self, name: str) -> bool:
        try:
            return name not in MARKS and tool_named(name, self._context.tools).reads
        except NotFound:  # the call itself answers with this error
            return True


def _run_tool(
    lend: Any, tools: tuple[str, ...], name: str, arguments: dict[str, Any] | None, talk: ConnectionState | None
) -> Answer:
    """Answer a tool call, with the tools of the usual set or of the sets that the connection asked for."""
    from swarmlore.server.mcp.calls import answer, answer_in

    if talk is None:
        return answer(lambda: lend(""), name, arguments, "")
    return answer_in(tools, lend, name, arguments, talk)


def _no_lend() -> Any:
    raise AssertionError("the hall lends")


_SESSION: ContextVar[TokenSession] = ContextVar("asking")


class SharedSession(Session):
    """The SDK server for one choice of tool sets; it passes each call to the session of its token."""

    async def _list(self, asked: Any, params: Any) -> types.ListToolsResult:
        return await _SESSION.get()._list(asked, params)

    async def _call(self, asked: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _SESSION.get()._call(asked, params)


class McpEndpoint:
    """Serves `/mcp` until closed."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._known: OrderedDict[tuple[str, tuple[str, ...]], TokenSession] = OrderedDict()
        self._made: dict[tuple[str, ...], asyncio.Future[StreamableHTTPSessionManager]] = {}
        self._starting: asyncio.Queue[tuple[StreamableHTTPSessionManager, asyncio.Future[Any]]] = asyncio.Queue()
        self._manager_task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> McpEndpoint:
        self._manager_task = asyncio.create_task(self._run_managers())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._manager_task is not None:
            self._manager_task.cancel()
            await asyncio.gather(self._manager_task, return_exceptions=True)

    async def _run_managers(self) -> None:
        """Enter and leave all session managers in one task, as anyio requires; requests may end long before."""
        async with AsyncExitStack() as stack:
            while True:
                made, begun = await self._starting.get()
                await stack.enter_async_context(made.run())
                begun.set_result(made)

    async def handle(self, request: Request) -> None:
        """Answer one POST to `/mcp`."""
        if request.scope["method"] != "POST" or request.scope["path"] != "/mcp":
            raise Turned(405, "this path takes POST", "send POST /mcp", (b"allow", b"POST"))
        check_type(request.scope, JSON)
        tools = _tools(request.scope["query_string"])
        body = await read_body(request.scope, request.receive)
        parse(body)  # apply our own limits before the SDK parses it
        manager = await self._manager(tools)
        _SESSION.set(self._session(request.token, tools))
        await manager.handle_request(request.scope, _replay(body, request.receive), _with_fixed(request.send))

    def _session(self, token: Token, tools: tuple[str, ...]) -> TokenSession:
        key = (token.id, tools)
        if key not in self._known:
            self._known[key] = TokenSession(self._backend, token, tools)
            if len(self._known) > MOST_KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    async def _manager(self, tools: tuple[str, ...]) -> StreamableHTTPSessionManager:
        if tools not in self._made:
            shared = SharedSession(Context(self._backend.home, "http", {}, tools), lambda _: _no_lend())
            made = StreamableHTTPSessionManager(
                shared.server(), json_response=True, stateless=True, max_request_body_size=MOST_BYTES
            )
            self._made[tools] = asyncio.get_running_loop().create_future()
            self._starting.put_nowait((made, self._made[tools]))
        return await asyncio.shield(self._made[tools])


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives a body which was read already."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> dict[str, Any]:
        return left.pop() if left else await receive()

    return again


def _tools(query: bytes) -> tuple[str, ...]:
    """Return the tool sets that the query string asks for; raise InvalidInput for an unknown one."""
    asked = parse_qs(query.decode("latin-1")).get("tools", [])
    names = {name for part in asked for name in part.split(",") if name}
    for name in sorted(names):
        if name not in NAMES:
            raise InvalidInput(f"unknown set of tools: {name[:80]!r}", choices_hint(name[:80], NAMES))
    return tuple(name for name in NAMES if name in names)


def _with_fixed(send: Any) -> Any:
    """Wrap `send`, so that the answer has the security headers of every answer."""

    async def sending(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *FIXED]}
        await send(message)

    return sending
