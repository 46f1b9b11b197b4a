"""The ASGI application: checks each request, authenticates its token, dispatches it to a route, answers, and logs
it."""

from __future__ import annotations

import asyncio
import os
from urllib.parse import unquote

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.server.http.body import Figures, Turned, answer, answer_bytes, read_json, told
from swarmlore.server.http.guard import Buckets, RequestGuard, TokenCache, token_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from swarmlore.domain.records import Token
    from swarmlore.server.http.body import Receive, Scope, Send
    from swarmlore.server.http.log import RequestLog
    from swarmlore.server.service import Backend

    Handler = Callable[["Request"], Awaitable[Any]]


WHO = (b"www-authenticate", b'Bearer realm="swarmlore"')
AGAIN = "try again in a moment"
ASK_AGAIN = "look whether it was, or name requests with Idempotency-Key: then each can be sent again"
ALIVE = "/healthz"  # only tells that the server runs, even while its database is down
NO_TOKEN = "show a token: Authorization: Bearer swl_…; make one with: swarmlore token create --agent NAME"


class Request:
    """A request as a route sees it: scope, token, body and the channel for the answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, token: Token) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.token = token
        self.path_values: dict[str, str] = {}

    def header(self, name: bytes) -> str:
        """Return a header that was sent exactly once; else ''."""
        found = [value.decode("latin-1") for own, value in self.scope["headers"] if own == name]
        return found[0] if len(found) == 1 else ""

    async def json(self) -> Any:
        """Read the body as JSON."""
        return await read_json(self.scope, self.receive)


class Route:
    """A method, a path with values in braces, and its handler."""

    def __init__(self, method: str, path: str, handle: Handler, name: str = "") -> None:
        self.method = method
        self.path = path
        self.handle = handle
        self.name = name or path
        self._parts = path.strip("/").split("/")
        self._has_values = "{" in path

    def values(self, parts: list[str]) -> dict[str, str] | None:
        """Return the values in a path that fits this route; None if it does not fit."""
        if not self._has_values:
            return {} if parts == self._parts else None
        if len(parts) != len(self._parts):
            return None
        values = {}
        for own, given in zip(self._parts, parts, strict=True):
            if own.startswith("{"):
                values[own.strip("{}")] = given
            elif own != given:
                return None
        return values if all(values.values()) else None


class App:
    """The ASGI application over one backend."""

    def __init__(
        self, backend: Backend, guard: RequestGuard, telling: RequestLog, *, rate: float, burst: float
    ) -> None:
        self._tokens = TokenCache(backend.recognise, slow=backend.is_team)
        self._guard = guard
        self._telling = telling
        self._rates = Buckets(rate, burst)
        self.routes: list[Route] = []
        self.ending = asyncio.Event()  # set at shutdown; ends long streams
        self.mounted: dict[str, Callable[[Request], Awaitable[None]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = self._telling.begin(scope["method"])
        try:
            record.size = await self._dispatch(scope, receive, record.sending(send), record)
        except SwarmloreError as error:
            record.size = await answer(record.sending(send), error.http_status, told(error), getattr(error, "more", ()))
        except asyncio.CancelledError:  # the server shuts down, and its grace period is over
            if not record.status:
                await answer(record.sending(send), 503, told(Turned(503, "this server is ending", ASK_AGAIN)))
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 - an entry point: answers with a message, never with a traceback
            record.failed = type(error).__name__
            if os.environ.get("SWARMLORE_DEBUG"):
                import traceback

                traceback.print_exception(error)
            if not record.status:
                unforeseen = SwarmloreError("something unforeseen happened", f"the server's log names it: {record.id}")
                await answer(record.sending(send), 500, {**told(unforeseen), "code": "UNFORESEEN"})
        finally:
            self._telling.end(record)

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send, record: Any) -> int:
        """Dispatch a request and send its answer; return the number of bytes sent."""
        token = await self._authenticate(scope)
        record.agent, record.project = token.agent, token.project
        request = Request(scope, receive, send, token)
        first = "/" + _parts(scope)[0]
        if first in self.mounted:
            record.route = first
            await self.mounted[first](request)
            return 0
        route = self._route(scope, request)
        record.route = route.name
        result = await route.handle(request)
        if result is None:
            return 0  # the handler sent the answer itself
        if isinstance(result, Figures):
            return await answer_bytes(send, 200, result, b"text/plain; version=0.0.4; charset=utf-8")
        status, document = result if isinstance(result, tuple) else (200, result)
        return await answer(send, status, document)

    async def _authenticate(self, scope: Scope) -> Token:
        """Authenticate the request and check its rate; return its token or raise `Turned`."""
        if refused := self._guard.refusal(scope["headers"]):
            raise Turned(*refused, (b"connection", b"close"))
        address = (scope.get("client") or ("", 0))[0]
        secret = token_of(scope["headers"])
        token = await self._tokens.recognise(secret, former=scope["path"] == ALIVE)
        if token is None:  # only failures count per address: a valid token behind a shared address is never locked out
            if self._guard.too_many_failures(address):
                raise Turned(429, "too many wrong tokens", "wait a minute", (b"retry-after", b"60"))
            self._guard.failed(address)
            raise Turned(401, "no token, or one that does not hold", NO_TOKEN, WHO)
        if wait_s := self._rates.take(token.id):
            seconds = str(int(wait_s) + 1)
            raise Turned(429, "too many requests", f"wait {seconds} s", (b"retry-after", seconds.encode()))
        return token

    def _route(self, scope: Scope, request: Request) -> Route:
        """Find the route of a path; raise `Turned` with 405 for another method and 404 for an unknown path."""
        parts = _parts(scope)
        others = []
        for route in self.routes:
            values = route.values(parts)
            if values is None:
                continue
            if route.method == scope["method"]:
                request.path_values = values
                return route
            others.append(route.method)
        if others:
            allowed = ", ".join(sorted(set(others)))
            raise Turned(405, f"this path takes {allowed}", f"send {allowed}", (b"allow", allowed.encode()))
        raise Turned(404, "there is nothing here", "GET /v1/openapi.json lists what there is")


def _parts(scope: Scope) -> list[str]:
    """Return the segments of the path as it was sent: an encoded slash does not separate."""
    return [unquote(part) for part in scope["raw_path"].decode("latin-1").removeprefix("/").split("/")]


async def soon(future: Any, seconds: float) -> Any:
    """Wait for the result of a thread; raise 503 after `seconds`. A call that had not begun is cancelled."""
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
    except TimeoutError:
        if future.cancelled():
            raise Turned(503, "that took too long; nothing was changed", AGAIN, (b"retry-after", b"1")) from None
        raise Turned(503, "that took too long; it may still be done", ASK_AGAIN, (b"retry-after", b"1")) from None
