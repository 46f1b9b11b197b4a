"""The tools over HTTP: the same ones that `swarmlore mcp` offers, for whoever shows a token.

Each request stands for itself, so that it does not matter which of several servers answers it, or whether one was
restarted meanwhile. `/mcp?tools=lane,swarm-mail` offers the tools that agents of other systems know.
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
from swarmlore.server.mcp.server import Context, Session
from swarmlore.server.mcp.tools import NAMES, tool_named

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Token
    from swarmlore.server.http.app import Request
    from swarmlore.server.http.body import Receive
    from swarmlore.server.mcp.answers import Answer
    from swarmlore.server.mcp.tool_answers import Talk
    from swarmlore.server.service import Hall


MOST_KEPT = 1_024  # of what agents said to keep in mind between their calls; the oldest is forgotten
OF_A_FOLDER = ("reflect",)  # tools that read and write files of the project
MARKS = ("swarmmail_read_message",)  # shows something, and notes that it was read
WAIT_S = 30.0


class TokenSession(Session):
    """The tools for one token: what changes something takes its turn, what reads does not wait for that."""

    def __init__(self, hall: Hall, token: Token, tools: tuple[str, ...]) -> None:
        context = Context(token.folder or hall.home, "http", {}, tools)
        super().__init__(context, lambda _: _nobody())
        self._hall = hall
        self._token = token
        self._opened = True  # there is nothing to open ahead of time
        self._withheld = () if token.folder else OF_A_FOLDER

    async def _list(self, asked: Any, params: Any) -> types.ListToolsResult:
        found = await super()._list(asked, params)
        return types.ListToolsResult(tools=[tool for tool in found.tools if tool.name not in self._withheld])

    def _talking(self) -> Talk:
        talk = super()._talking()
        talk.bound = True
        return talk

    def _answer(self, name: str, arguments: dict[str, Any] | None) -> Answer:
        if name in self._withheld:
            said = NotFound(f"no tool {name!r} here", "it proposes changes of files: make a token with --folder")
            return failed(said, code_of(said))

        talk = self._talking() if self._context.tools else None
        work = partial(_told, tools=self._context.tools, name=name, arguments=arguments, talk=talk)
        asked = self._hall.read_by if self._reads(name) else self._hall.write_by
        try:
            told = (future := asked(self._token, work)).result(WAIT_S)
        except SwarmloreError as error:  # no turn could be had
            return failed(error, code_of(error))
        except TimeoutError:
            future.cancel()
            return failed(StoreBusy("that took too long", "try again in a moment"), "TOO_SLOW")
        code = str(told.values.get("code", "")) if told.failed else ""
        return failed(OURS, code) if code.startswith(("STORE_", "CONFIG_")) else told

    def _reads(self, name: str) -> bool:
        try:
            return name not in MARKS and tool_named(name, self._context.tools).reads
        except NotFound:  # answered where it is called
            return True


def _told(lend: Any, tools: tuple[str, ...], name: str, arguments: dict[str, Any] | None, talk: Talk | None) -> Answer:
    from swarmlore.server.mcp.calls import answer, answer_in

    if talk is None:
        return answer(lambda: lend(""), name, arguments, "")
    return answer_in(tools, lend, name, arguments, talk)


def _nobody() -> Any:
    raise AssertionError("the hall lends")


_ASKING: ContextVar[TokenSession] = ContextVar("asking")


class Reception(Session):
    """One server of the SDK for each choice of tools; whose call it is, the request says."""

    async def _list(self, asked: Any, params: Any) -> types.ListToolsResult:
        return await _ASKING.get()._list(asked, params)

    async def _call(self, asked: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _ASKING.get()._call(asked, params)


class Tools:
    """Answers at /mcp until closed."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall
        self._known: OrderedDict[tuple[str, tuple[str, ...]], TokenSession] = OrderedDict()
        self._made: dict[tuple[str, ...], asyncio.Future[StreamableHTTPSessionManager]] = {}
        self._asked: asyncio.Queue[tuple[StreamableHTTPSessionManager, asyncio.Future[Any]]] = asyncio.Queue()
        self._keeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Tools:
        self._keeper = asyncio.create_task(self._keep())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)

    async def _keep(self) -> None:
        """Begin and end all that is made here in one task: whoever asks first may be gone long before."""
        async with AsyncExitStack() as stack:
            while True:
                made, begun = await self._asked.get()
                await stack.enter_async_context(made.run())
                begun.set_result(made)

    async def handle(self, request: Request) -> None:
        if request.scope["method"] != "POST" or request.scope["path"] != "/mcp":
            raise Turned(405, "this path takes POST", "send POST /mcp", (b"allow", b"POST"))
        check_type(request.scope, JSON)
        tools = _tools(request.scope["query_string"])
        body = await read_body(request.scope, request.receive)
        parse(body)  # by our own limits, before a library sees it
        manager = await self._manager(tools)
        _ASKING.set(self._session(request.token, tools))
        await manager.handle_request(request.scope, _once_more(body, request.receive), _with_fixed(request.send))

    def _session(self, token: Token, tools: tuple[str, ...]) -> TokenSession:
        key = (token.id, tools)
        if key not in self._known:
            self._known[key] = TokenSession(self._hall, token, tools)
            if len(self._known) > MOST_KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    async def _manager(self, tools: tuple[str, ...]) -> StreamableHTTPSessionManager:
        if tools not in self._made:
            reception = Reception(Context(self._hall.home, "http", {}, tools), lambda _: _nobody())
            made = StreamableHTTPSessionManager(
                reception.server(), json_response=True, stateless=True, max_request_body_size=MOST_BYTES
            )
            self._made[tools] = asyncio.get_running_loop().create_future()
            self._asked.put_nowait((made, self._made[tools]))
        return await asyncio.shield(self._made[tools])


def _once_more(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body which was read already."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> dict[str, Any]:
        return left.pop() if left else await receive()

    return again


def _tools(query: bytes) -> tuple[str, ...]:
    """The sets of tools that the address asks for."""
    asked = parse_qs(query.decode("latin-1")).get("tools", [])
    names = {name for part in asked for name in part.split(",") if name}
    for name in sorted(names):
        if name not in NAMES:
            raise InvalidInput(f"unknown set of tools: {name[:80]!r}", choices_hint(name[:80], NAMES))
    return tuple(name for name in NAMES if name in names)


def _with_fixed(send: Any) -> Any:
    """The same `send`, with the headers that every answer has."""

    async def sending(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *FIXED]}
        await send(message)

    return sending
