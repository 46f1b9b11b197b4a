"""The application: each request is looked at by the door, led to its route, answered, and noted in the log."""

from __future__ import annotations

import asyncio
import os
from urllib.parse import unquote

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.server.http.body import Figures, Turned, answer, answer_bytes, read_json, told
from swarmlore.server.http.guard import Buckets, Door, Porter, token_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from swarmlore.domain.records import Token
    from swarmlore.server.http.body import Receive, Scope, Send
    from swarmlore.server.http.log import Telling
    from swarmlore.server.service import Hall

    Handler = Callable[["Request"], Awaitable[Any]]


WHO = (b"www-authenticate", b'Bearer realm="swarmlore"')
AGAIN = "try again in a moment"
ASK_AGAIN = "look whether it was, or name requests with Idempotency-Key: then each can be sent again"
ALIVE = "/healthz"  # tells nothing but that the server runs, also while its database does not
NO_TOKEN = "show a token: Authorization: Bearer swl_…; make one with: swarmlore token create --agent NAME"


class Request:
    """What a route is given: who asks, for what, and the way to the body and the answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, token: Token) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.token = token
        self.path_values: dict[str, str] = {}

    def header(self, name: bytes) -> str:
        """A header that came once; else ''."""
        found = [value.decode("latin-1") for own, value in self.scope["headers"] if own == name]
        return found[0] if len(found) == 1 else ""

    async def json(self) -> Any:
        return await read_json(self.scope, self.receive)


class Route:
    """A path, of which parts in braces are values, and what answers there."""

    def __init__(self, method: str, path: str, handle: Handler, name: str = "") -> None:
        self.method = method
        self.path = path
        self.handle = handle
        self.name = name or path
        self._parts = path.strip("/").split("/")
        self._has_values = "{" in path

    def values(self, parts: list[str]) -> dict[str, str] | None:
        """The values in a path of this form; None for a path of another."""
        if not self._has_values:
            return {} if parts == self._parts else None
        if len(parts) != len(self._parts):
            return None
        found = {}
        for own, given in zip(self._parts, parts, strict=True):
            if own.startswith("{"):
                found[own.strip("{}")] = given
            elif own != given:
                return None
        return found if all(found.values()) else None


class App:
    """The ASGI application over one hall."""

    def __init__(self, hall: Hall, door: Door, telling: Telling, *, rate: float, burst: float) -> None:
        self._porter = Porter(hall.recognise, beside=hall.is_team)
        self._door = door
        self._telling = telling
        self._rates = Buckets(rate, burst)
        self.routes: list[Route] = []
        self.ending = asyncio.Event()  # what would go on for long is cut short then
        self.mounted: dict[str, Callable[[Request], Awaitable[None]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        noted = self._telling.begin(scope["method"])
        try:
            noted.size = await self._answered(scope, receive, noted.sending(send), noted)
        except SwarmloreError as error:
            noted.size = await answer(noted.sending(send), error.http_status, told(error), getattr(error, "more", ()))
        except asyncio.CancelledError:  # the server ends, and has waited long enough for this
            if not noted.status:
                await answer(noted.sending(send), 503, told(Turned(503, "this server is ending", ASK_AGAIN)))
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 - the door to the world: words, never a traceback
            noted.failed = type(error).__name__
            if os.environ.get("SWARMLORE_DEBUG"):
                import traceback

                traceback.print_exception(error)
            if not noted.status:
                unforeseen = SwarmloreError("something unforeseen happened", f"the server's log names it: {noted.id}")
                await answer(noted.sending(send), 500, {**told(unforeseen), "code": "UNFORESEEN"})
        finally:
            self._telling.end(noted)

    async def _answered(self, scope: Scope, receive: Receive, send: Send, noted: Any) -> int:
        token = await self._let_in(scope)
        noted.agent, noted.project = token.agent, token.project
        request = Request(scope, receive, send, token)
        first = "/" + _parts(scope)[0]
        if first in self.mounted:
            noted.route = first
            await self.mounted[first](request)
            return 0
        route = self._route(scope, request)
        noted.route = route.name
        found = await route.handle(request)
        if found is None:
            return 0  # it answered by itself
        if isinstance(found, Figures):
            return await answer_bytes(send, 200, found, b"text/plain; version=0.0.4; charset=utf-8")
        status, document = found if isinstance(found, tuple) else (200, found)
        return await answer(send, status, document)

    async def _let_in(self, scope: Scope) -> Token:
        """Whose request this is, or an error that says why it is turned away."""
        if refused := self._door.refusal(scope["headers"]):
            raise Turned(*refused, (b"connection", b"close"))
        address = (scope.get("client") or ("", 0))[0]
        shown = token_of(scope["headers"])
        token = await self._porter.recognise(shown, former=scope["path"] == ALIVE)
        if token is None:  # others may share this address: who shows a token that holds is never kept out
            if self._door.too_many_failures(address):
                raise Turned(429, "too many wrong tokens", "wait a minute", (b"retry-after", b"60"))
            self._door.failed(address)
            raise Turned(401, "no token, or one that does not hold", NO_TOKEN, WHO)
        if wait_s := self._rates.take(token.id):
            seconds = str(int(wait_s) + 1)
            raise Turned(429, "too many requests", f"wait {seconds} s", (b"retry-after", seconds.encode()))
        return token

    def _route(self, scope: Scope, request: Request) -> Route:
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
    """The parts of the path as it was sent: an encoded slash is no slash."""
    return [unquote(part) for part in scope["raw_path"].decode("latin-1").removeprefix("/").split("/")]


async def soon(future: Any, seconds: float) -> Any:
    """What a thread finds out; who has waited too long is told so, and what was not begun is not done."""
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
    except TimeoutError:
        if future.cancelled():
            raise Turned(503, "that took too long; nothing was changed", AGAIN, (b"retry-after", b"1")) from None
        raise Turned(503, "that took too long; it may still be done", ASK_AGAIN, (b"retry-after", b"1")) from None
