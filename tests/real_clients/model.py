"""A model that follows a script, on loopback: it answers every client and writes down every request."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from real_clients.dialects import Answer, Anthropic, Call, Chat, Gemini, Offer, Responses, Said

DIALECTS = (Anthropic(), Responses(), Chat(), Gemini())
SMALL_TALK = "Fine."


@dataclass(frozen=True)
class Step:
    """One answer of the script: a text, or the use of a tool.

    `tool` is a pattern for the full name of an offered tool; its arguments may depend on the request. `when` is a pattern for the newest texts of a request;
    without one the step answers the next request that offers tools and that no other step waits for. With `hold` the
    answer never comes: the client can be stopped in the middle of its turn.
    """

    say: str = ""
    tool: str = ""
    args: dict[str, Any] | str | Callable[[Request], dict[str, Any]] = field(default_factory=dict)
    when: str = ""
    tokens: int = 100
    hold: bool = False


def never(words: str) -> Step:
    """An agent that is asked this waits for ever; a request for a title, which has the same words in it, does not."""
    return Step(when=rf"(?s)\A(?!.*Generate a title).*{words}", hold=True)


@dataclass(frozen=True)
class Request:
    """What a client sent to the model, and what it was answered."""

    at: float
    path: str
    body: dict[str, Any]
    said: tuple[Said, ...]
    offers: tuple[Offer, ...]
    answer: Answer | None = None

    @property
    def text(self) -> str:
        return "\n".join(said.text for said in self.said)

    @property
    def newest(self) -> str:
        """What was added since the model last spoke."""
        spoken = [place for place, said in enumerate(self.said) if said.role == "assistant"]
        return "\n".join(said.text for said in self.said[spoken[-1] + 1 if spoken else 0 :])

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(offer.full_name for offer in self.offers)

    def of(self, role: str) -> str:
        return "\n".join(said.text for said in self.said if said.role == role)


class Model:
    """`play` sets the script; `requests` lists what was asked since then, `faults` what could not be followed."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._lock = Lock()
        self._steps: list[Step] = []
        self.requests: list[Request] = []
        self.faults: list[str] = []
        self.closed = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.model = self  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def play(self, steps: Sequence[Step]) -> None:
        with self._lock:
            self._steps, self.requests, self.faults = list(steps), [], []

    def close(self) -> None:
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def held(self) -> int:
        """How many requests wait for an answer that does not come."""
        return sum(request.answer.hold for request in self.requests if request.answer)

    @property
    def left(self) -> list[Step]:
        return list(self._steps)

    def answer(self, request: Request) -> Answer:
        with self._lock:
            answer = self._next(request)
            self.requests.append(Request(**{**vars(request), "answer": answer}))
            self._write(self.requests[-1])
        return answer

    def _next(self, request: Request) -> Answer:
        step = self._step_for(request)
        if not step:
            return Answer(SMALL_TALK)
        self._steps.remove(step)
        if not step.tool:
            return Answer(step.say, tokens=step.tokens, hold=step.hold)
        offer = next((offer for offer in request.offers if re.search(step.tool, offer.full_name)), None)
        if not offer:
            self.faults.append(f"no tool like {step.tool!r} among {request.tools}")
            return Answer(SMALL_TALK)
        args = step.args(request) if callable(step.args) else step.args
        return Answer(step.say, (Call(offer, args),), step.tokens)

    def _step_for(self, request: Request) -> Step | None:
        waiting = (step for step in self._steps if step.when and re.search(step.when, request.newest))
        plain = (step for step in self._steps if not step.when and request.offers)
        return next(waiting, None) or next(plain, None)

    def _write(self, request: Request) -> None:
        answer = request.answer or Answer()
        calls = [{"tool": call.offer.full_name, "args": call.args} for call in answer.calls]
        line = {"at": request.at, "path": request.path, "answer": answer.text, "calls": calls, "body": request.body}
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(line, ensure_ascii=False) + "\n")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self._content())
        path = self.path.partition("?")[0]
        dialect = next((dialect for dialect in DIALECTS if dialect.speaks(path)), None)
        if dialect is None:
            return self._send(json.dumps({"input_tokens": 1000, "totalTokens": 1000}).encode(), "application/json")
        said, offers = tuple(dialect.texts(body)), tuple(dialect.offers(body))
        model: Model = self.server.model  # type: ignore[attr-defined]
        answer = model.answer(Request(time.time(), path, body, said, offers))
        if answer.hold:
            model.closed.wait()
            self.close_connection = True
            return None
        if not dialect.streams(path, body):
            return self._send(json.dumps(dialect.whole(body, answer)).encode(), "application/json")
        told = "".join(map(_line, dialect.stream(body, answer)))
        ending = "data: [DONE]\n\n" if isinstance(dialect, Chat) else ""
        return self._send((told + ending).encode(), "text/event-stream")

    def do_GET(self) -> None:
        self._send(json.dumps({"object": "list", "data": [], "models": []}).encode(), "application/json")

    do_HEAD = do_GET

    def _content(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            content = b"".join(self._chunks())
        else:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(content) if self.headers.get("Content-Encoding") == "gzip" else content

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _line(event: dict[str, Any]) -> str:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"


@contextmanager
def listening(log: Path) -> Iterator[Model]:
    model = Model(log)
    try:
        yield model
    finally:
        model.close()
