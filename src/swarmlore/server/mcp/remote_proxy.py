"""MCP proxy for a remote server: forwards the requests of a client's stdio over HTTP, one by one.

The client must start and go on whatever the network does: without an answer in time it gets the handshake and the tools
from here, and a call is answered with an error that an agent can read. Standard library only, because the client waits
for the start.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
import time

from swarmlore.errors import SwarmloreError, Unavailable
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.server.client import URL, token_in
from swarmlore.server.client.http import PLAIN, Connection, error_of, within
from swarmlore.server.mcp.proxy import message_id, parsed, write_all

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Message = dict[str, Any]


BEGIN_S = 1.2  # for the handshake and the list of tools; then they are answered from here
FINISH_S = 2.0  # for answers that are under way when the client leaves
SEND_S = 30.0  # between two runs of the outbox
MOST_CALLS = 16
PAUSES_S = (0.0, 0.2, 1.0)
IN_TURN = "swarmmail_"  # tools with this prefix run in order: each relies on the one before
PROTOCOL = "2025-06-18"
_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_HIDDEN = ("reflect",)  # offered by the server if the token has a folder
_ACCEPT = {"Accept": "application/json, text/event-stream"}
_CHUNK = 65_536


def run_remote(env: Mapping[str, str], home: str, tools: tuple[str, ...]) -> int:
    """Serve the client of this process until it leaves; meanwhile send the outbox of its hooks."""
    url, token, plain = env[URL], token_in(env), env.get(PLAIN) == "1"

    def connect(timeout_s: float, pauses_s: tuple[float, ...]) -> Connection:
        return Connection(url, token, plain=plain, timeout_s=timeout_s, pauses_s=pauses_s)

    connect(1.0, ())  # raises now if the address cannot be used
    _in_thread(lambda: _keep_sending(home, env))
    RemoteProxy(connect, tools).run()
    return 0


def _keep_sending(home: str, env: Mapping[str, str]) -> None:
    """Send the outbox every 30 seconds: a hook only tries once, and the server may have been down then."""
    from swarmlore.server.client.outbox import send_waiting

    while True:
        with contextlib.suppress(OSError):  # a full disk: the next run tries again
            send_waiting(home, env, SEND_S)
        time.sleep(SEND_S)


class RemoteProxy:
    """One client and the server that its requests go to."""

    def __init__(
        self,
        connect: Callable[[float, tuple[float, ...]], Connection],
        tools: tuple[str, ...],
        incoming: int = 0,
        outgoing: int = 1,
    ) -> None:
        self._connect = connect
        self._tools = tools
        self._path = "/mcp" + (f"?tools={','.join(tools)}" if tools else "")
        self._incoming, self._outgoing = incoming, outgoing
        self._version = PROTOCOL
        self._idle: queue.SimpleQueue[Connection] = queue.SimpleQueue()  # idle connections
        self._call_slots = threading.BoundedSemaphore(MOST_CALLS)
        self._in_turn: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._order_thread: threading.Thread | None = None
        self._write, self._counting = threading.Lock(), threading.Lock()
        self._cancelled: set[Any] = set()  # ids of cancelled requests
        self._open = 0

    def run(self) -> None:
        """Forward lines until the client leaves; running requests then have two seconds."""
        rest = b""
        while chunk := os.read(self._incoming, _CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.strip():
                    self._handle_line(line)
        deadline = time.monotonic() + FINISH_S
        while self._open and time.monotonic() < deadline:
            time.sleep(0.01)

    def _handle_line(self, line: bytes) -> None:
        message = parsed(line)
        method, id = message.get("method"), message_id(message.get("id"))
        if message.get("jsonrpc") != "2.0" or (method is not None and not isinstance(method, str)):
            self._write_message({"id": id, "error": {"code": -32600, "message": "that is no message"}})
        elif method == "notifications/cancelled" and isinstance(message.get("params"), dict):
            self._cancelled.add(str(message["params"].get("requestId")))
        elif method == "ping" and id is not None:
            self._write_message({"id": id, "result": {}})
        elif method == "initialize" and id is not None:
            self._handshake(message)
        elif method is not None and id is not None:
            self._answer_in_thread(message)

    def _handshake(self, message: Message) -> None:
        """Answer the handshake: from the server, or from here if it does not answer in time."""
        answer = self._post_in_time(message) or {"id": message["id"], "result": self._hello(message)}
        self._version = str(answer["result"].get("protocolVersion", PROTOCOL))
        self._write_message(answer)

    def _post_in_time(self, message: Message) -> Message | None:
        """Return the server's successful answer; None if it fails or is late."""
        with contextlib.suppress(SwarmloreError):
            answer = within(BEGIN_S, lambda: self._post(message, self._connect(BEGIN_S, (0.0,))))
            return answer if answer is not None and "result" in answer else None
        return None

    def _hello(self, message: Message) -> Message:
        import swarmlore
        from swarmlore.server.mcp.tools import instructions

        params = message.get("params")
        asked = params.get("protocolVersion") if isinstance(params, dict) else None
        return {
            "protocolVersion": asked if asked in _VERSIONS else PROTOCOL,
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "swarmlore", "version": swarmlore.__version__},
            "instructions": instructions(self._tools),
        }

    def _answer_in_thread(self, message: Message) -> None:
        """Answer a request in a thread; the mail tools run one after another."""
        with self._counting:
            self._open += 1
        if _tool(message).startswith(IN_TURN):
            self._in_turn.put(message)
            if self._order_thread is None:
                self._order_thread = _in_thread(self._answer_in_order)
            return
        self._call_slots.acquire()

        def work() -> None:
            try:
                self._answer(message)
            finally:
                self._call_slots.release()

        _in_thread(work)

    def _answer_in_order(self) -> None:
        while True:
            self._answer(self._in_turn.get())

    def _answer(self, message: Message) -> None:
        try:
            answer = self._result(message)
        except Exception as error:  # noqa: BLE001 - the thread's entry point: the client gets the error
            answer = _failed(message, SwarmloreError(f"something unforeseen happened ({type(error).__name__})"))
        try:
            if str(message["id"]) not in self._cancelled:
                self._write_message(answer)
            self._cancelled.discard(str(message["id"]))
        except OSError:
            pass  # the client has left
        finally:
            with self._counting:
                self._open -= 1

    def _result(self, message: Message) -> Message:
        if message["method"] == "tools/list":
            return self._post_in_time(message) or self._listing(message)
        connection = self._idle_connection()
        try:
            return self._post(message, connection)
        except SwarmloreError as error:
            return _failed(message, error)
        finally:
            self._idle.put(connection)

    def _listing(self, message: Message) -> Message:
        from swarmlore.server.mcp.tools import listing

        return {"id": message["id"], "result": {"tools": [x for x in listing(self._tools) if x["name"] not in _HIDDEN]}}

    def _idle_connection(self) -> Connection:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return self._connect(35.0, PAUSES_S)

    def _post(self, message: Message, connection: Connection) -> Message:
        """Return the server's answer; raise if it refuses or cannot be reached."""
        version = {} if message["method"] == "initialize" else {"MCP-Protocol-Version": self._version}
        status, answer = connection.post(self._path, message, {**_ACCEPT, **version})
        if isinstance(answer, dict) and answer.get("jsonrpc") == "2.0" and answer.get("id") == message["id"]:
            return answer
        raise error_of(status, answer) if status != 200 else Unavailable("the server's answer cannot be read", "")

    def _write_message(self, answer: Message) -> None:
        data = json.dumps({"jsonrpc": "2.0", **answer}, separators=(",", ":")).encode() + b"\n"
        with self._write:
            write_all(self._outgoing, data)


def _failed(message: Message, error: SwarmloreError) -> Message:
    """Return an error as a tool result for a tool call, else as a protocol error."""
    if message["method"] != "tools/call":
        return {"id": message["id"], "error": {"code": -32000, "message": error.message}}
    from swarmlore.domain.json_codec import code_of

    text = f"{error.message}\nhint: {error.hint}" if error.hint else error.message
    values = {"error": error.message, "hint": error.hint, "code": code_of(error)}
    content = [{"type": "text", "text": text}]
    return {"id": message["id"], "result": {"content": content, "structuredContent": values, "isError": True}}


def _in_thread(work: Callable[[], None]) -> threading.Thread:
    """Run `work` in a daemon thread."""
    thread = threading.Thread(target=work, name="swarmlore-call", daemon=True)
    thread.start()
    return thread


def _tool(message: Message) -> str:
    params = message.get("params")
    return str(params.get("name", "")) if isinstance(params, dict) and message.get("method") == "tools/call" else ""
