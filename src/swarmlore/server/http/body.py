"""One request and its answer: a body that is read within limits, JSON in and out, errors in our words."""

from __future__ import annotations

import asyncio
import json

from swarmlore.domain.json_codec import failure
from swarmlore.errors import ConfigError, InvalidInput, StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from typing import Any

    Message = dict[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Scope = MutableMapping[str, Any]


JSON = b"application/json"
MOST_BYTES = 1_048_576
BODY_S = 10.0  # for a body to arrive
MOST_DEEP = 64
# What no page may do with an answer, should it ever see one.
FIXED = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
)


OURS = StoreError("the server cannot use its store as it should", "try again; swarmlore doctor tells more there")


class Ready(bytes):
    """JSON that somebody else has written down already."""


class Figures(bytes):
    """Text in the form of Prometheus."""


class TooLarge(SwarmloreError):
    http_status, code = 413, "TOO_LARGE"


class TooSlow(SwarmloreError):
    http_status, code = 408, "TOO_SLOW"


class WrongType(SwarmloreError):
    http_status, code = 415, "WRONG_TYPE"


class Turned(SwarmloreError):
    """A request that is not let in: with its own status."""

    def __init__(self, status: int, message: str, hint: str, *more: tuple[bytes, bytes]) -> None:
        super().__init__(message, hint)
        self.http_status = status
        self.more = more
        self.code = {
            400: "INVALID_INPUT",
            401: "NO_TOKEN",
            403: "TURNED_AWAY",
            404: "NOT_FOUND",
            405: "WRONG_METHOD",
            429: "TOO_OFTEN",
        }.get(status, "TURNED_AWAY")


async def read_json(scope: Scope, receive: Receive) -> Any:
    """The body, if it is JSON of ordinary size that arrives in time."""
    check_type(scope, JSON)
    return parse(await read_body(scope, receive))


def check_type(scope: Scope, wanted: bytes) -> None:
    """Only types that no form of a web page can send without asking."""
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    kind, _, parameter = kinds[0].lower().partition(b";") if len(kinds) == 1 else (b"", b"", b"")
    if kind.strip() != wanted or parameter.strip() not in (b"", b"charset=utf-8", b'charset="utf-8"'):
        raise WrongType("the body has another type", f"send it as Content-Type: {wanted.decode()}")
    if any(name == b"content-encoding" and value.lower() != b"identity" for name, value in scope["headers"]):
        raise WrongType("the body is compressed", "send it as it is")


async def read_body(scope: Scope, receive: Receive, most: int = MOST_BYTES) -> bytes:
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if not length.isdigit() or int(length) > most:
        raise TooLarge(f"the body has more than {most} bytes", "send less at once")
    try:
        async with asyncio.timeout(BODY_S):
            return b"".join([chunk async for chunk in chunks(receive, most)])
    except TimeoutError:
        raise TooSlow("the body did not arrive in time", f"send it within {BODY_S:g} s") from None


async def chunks(receive: Receive, most: int) -> Any:
    """The parts of a body as they come; what is too much in all is refused before it is kept."""
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise TooSlow("the body ended early", "send all of it")
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise TooLarge(f"the body has more than {most} bytes", "send less at once")
        if part:
            yield part
        if not message.get("more_body"):
            return


def parse(data: bytes) -> Any:
    """JSON as the standard has it: no NaN, nothing deeper than anybody needs."""
    try:
        text = data.decode("utf-8")
        if _depth(text) > MOST_DEEP:
            raise InvalidInput("the body is nested too deeply", f"{MOST_DEEP} levels at most")
        return json.loads(text or "{}", parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise InvalidInput("the body is no JSON", 'send UTF-8 JSON such as {"query": "…"}') from None


def _refuse(word: str) -> None:
    raise ValueError(word)


def _depth(text: str) -> int:
    """How deep the brackets of a text go; those in strings count too, which errs on the safe side."""
    if text.count("[") + text.count("{") <= MOST_DEEP:
        return 0
    deep = most = 0
    for char in text:
        if char in "[{":
            deep += 1
            most = max(most, deep)
        elif char in "]}":
            deep -= 1
    return most


async def answer(send: Send, status: int, document: Any, more: tuple[tuple[bytes, bytes], ...] = ()) -> int:
    """Send a document; returns its size."""
    data = document if isinstance(document, Ready) else ready(document)
    return await answer_bytes(send, status, data, b"application/json", more)


def ready(document: Any) -> Ready:
    """A document as it is sent."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Ready(text.encode("utf-8", "replace"))


async def answer_bytes(
    send: Send, status: int, data: bytes, kind: bytes, more: tuple[tuple[bytes, bytes], ...] = ()
) -> int:
    headers = [*FIXED, (b"content-type", kind), (b"content-length", str(len(data)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})
    return len(data)


def told(error: SwarmloreError) -> dict[str, Any]:
    """An error for a program at the other end, who is told neither files nor addresses of the server's machine."""
    said = failure(error)
    said.pop("exit_code")
    if isinstance(error, (StoreError, ConfigError)):
        said |= {"error": OURS.message, "hint": OURS.hint}
    return said
