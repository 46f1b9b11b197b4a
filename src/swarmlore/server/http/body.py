"""Request bodies within limits of size and time, JSON in and out, and errors as answers."""

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
# Security headers of every answer, in case a browser ever sees one.
FIXED = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
)


OURS = StoreError("the server cannot use its store as it should", "try again; swarmlore doctor tells more there")


class Ready(bytes):
    """JSON that is serialised already."""


class Figures(bytes):
    """Metrics in the text format of Prometheus."""


class TooLarge(SwarmloreError):
    """The body is too large (413)."""

    http_status, code = 413, "TOO_LARGE"


class TooSlow(SwarmloreError):
    """The body did not arrive in time (408)."""

    http_status, code = 408, "TOO_SLOW"


class WrongType(SwarmloreError):
    """The content type or encoding is not accepted (415)."""

    http_status, code = 415, "WRONG_TYPE"


class Turned(SwarmloreError):
    """A refused request with its own HTTP status and extra headers."""

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
    """Read a JSON body within the limits of size and time."""
    check_type(scope, JSON)
    return parse(await read_body(scope, receive))


def check_type(scope: Scope, wanted: bytes) -> None:
    """Raise unless the body has the wanted type; no form of a web page can send it without a CORS preflight."""
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    kind, _, parameter = kinds[0].lower().partition(b";") if len(kinds) == 1 else (b"", b"", b"")
    if kind.strip() != wanted or parameter.strip() not in (b"", b"charset=utf-8", b'charset="utf-8"'):
        raise WrongType("the body has another type", f"send it as Content-Type: {wanted.decode()}")
    if any(name == b"content-encoding" and value.lower() != b"identity" for name, value in scope["headers"]):
        raise WrongType("the body is compressed", "send it as it is")


async def read_body(scope: Scope, receive: Receive, most: int = MOST_BYTES) -> bytes:
    """Read the whole body within the limits of size and time."""
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if not length.isdigit() or int(length) > most:
        raise TooLarge(f"the body has more than {most} bytes", "send less at once")
    try:
        async with asyncio.timeout(BODY_S):
            return b"".join([chunk async for chunk in chunks(receive, most)])
    except TimeoutError:
        raise TooSlow("the body did not arrive in time", f"send it within {BODY_S:g} s") from None


async def chunks(receive: Receive, most: int) -> Any:
    """Yield the parts of a body as they arrive; raise TooLarge before the limit is exceeded in memory."""
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
    """Parse strict JSON: no NaN, and at most 64 levels deep."""
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
    """Return how deep the brackets of a text nest. Brackets in strings count too, which errs on the safe side."""
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
    """Send a JSON document; return its size."""
    data = document if isinstance(document, Ready) else ready(document)
    return await answer_bytes(send, status, data, b"application/json", more)


def ready(document: Any) -> Ready:
    """Serialise a document."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Ready(text.encode("utf-8", "replace"))


async def answer_bytes(
    send: Send, status: int, data: bytes, kind: bytes, more: tuple[tuple[bytes, bytes], ...] = ()
) -> int:
    """Send bytes of a content type with the fixed headers; return their number."""
    headers = [*FIXED, (b"content-type", kind), (b"content-length", str(len(data)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})
    return len(data)


def told(error: SwarmloreError) -> dict[str, Any]:
    """Return an error as a JSON document, without files or addresses of the server's machine."""
    document = failure(error)
    document.pop("exit_code")
    if isinstance(error, (StoreError, ConfigError)):
        document |= {"error": OURS.message, "hint": OURS.hint}
    return document
