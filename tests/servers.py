"""A real HTTP server on this machine that speaks both protocols, and misbehaves when told to."""

from __future__ import annotations

import base64
import json
import socket
import struct
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from swarmlore.errors import SwarmloreError
from waiting import PATIENCE_S


@dataclass(frozen=True)
class Seen:
    """One request as the server saw it."""

    path: str
    headers: dict[str, str]
    body: Any


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        owner: ModelServer = self.server.owner  # type: ignore[attr-defined]
        owner.seen.append(Seen(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        reply = owner.script.popleft() if owner.script else owner.usual
        reply(self, body)
        self.close_connection = True

    def say(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # clients that hang up are part of these tests


Reply = Callable[[Handler, Any], None]


class ModelServer:
    """`script` holds the next replies; after them `usual` answers. `seen` lists the requests."""

    def __init__(self, usual: Reply) -> None:
        self.usual = usual
        self.script: deque[Reply] = deque()
        self.seen: list[Seen] = []
        self.released = Event()
        self._server = QuietServer(("127.0.0.1", 0), Handler)
        self._server.owner = self  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def then(self, *replies: Reply) -> ModelServer:
        self.script.extend(replies)
        return self

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def running(usual: Reply) -> Iterator[ModelServer]:
    server = ModelServer(usual)
    try:
        yield server
    finally:
        server.close()


def as_json(value: object, status: int = 200) -> Reply:
    return lambda handler, body: handler.say(status, json.dumps(value).encode())


def status(code: int, **headers: str) -> Reply:
    """An error page that repeats what it was sent, as careless servers do."""

    def reply(handler: Handler, body: Any) -> None:
        echo = {"error": {"message": f"{dict(handler.headers)} {body}"}}
        handler.say(code, json.dumps(echo).encode(), **headers)

    return reply


def raw(body: bytes) -> Reply:
    return lambda handler, _: handler.say(200, body)


def echo_as_page(handler: Handler, body: Any) -> None:
    handler.say(200, f"<html>{dict(handler.headers)} {body}".encode())


def reset(handler: Handler, body: Any) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def break_off(handler: Handler, body: Any) -> None:
    """Promise more bytes than are sent."""
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"data":')


def stall(handler: Handler, body: Any) -> None:
    """Say nothing until the test is over."""
    handler.server.owner.released.wait(PATIENCE_S)  # type: ignore[attr-defined]


def drip_headers(handler: Handler, body: Any) -> None:
    """Always send a little more, never enough."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    _drip(handler, b"X-More: yes\r\n")


def drip_body(handler: Handler, body: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    _drip(handler, b" ")


def _drip(handler: Handler, drop: bytes) -> None:
    while not handler.server.owner.released.wait(0.02):  # type: ignore[attr-defined]
        handler.wfile.write(drop)


def vector_of(text: str, dimension: int = 4) -> list[float]:
    """A vector that tells the texts of a test apart: it depends on length and first letter."""
    return [float(len(text) + 1), float(ord(text[:1] or " ")), 1.0, *[0.5] * (dimension - 3)]


def embeddings(change: Callable[[list[Any]], list[Any]] = list, *, dimension: int = 4, packed: bool = False) -> Reply:
    """An /embeddings answer; `change` may spoil the list of items."""

    def pack(vector: list[float]) -> object:
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() if packed else vector

    def reply(handler: Handler, body: Any) -> None:
        vectors = [vector_of(text, dimension) for text in body["input"]]
        items = [{"object": "embedding", "index": n, "embedding": pack(v)} for n, v in enumerate(vectors)]
        handler.say(200, json.dumps({"data": change(items), "model": body["model"]}).encode())

    return reply


def chat(content: object) -> Reply:
    return as_json({"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]})


def messages(*blocks: object) -> Reply:
    return as_json({"type": "message", "role": "assistant", "content": list(blocks)})


def everything_said(error: SwarmloreError) -> str:
    """The error, its hint and the errors behind it, as a log would hold them; source lines are not said."""
    chain = traceback.TracebackException.from_exception(error, capture_locals=False)
    said = [error.hint]
    link: traceback.TracebackException | None = chain
    while link:
        said += list(link.format_exception_only())
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "\n".join(said)
