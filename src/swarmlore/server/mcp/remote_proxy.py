"""Between a client's standard streams and the tools of a server on another machine, request by request.

The client must come up and go on whatever the network does: without an answer in time it is told of the tools from
here, and a call is answered with an error that an agent can read. Standard library only; a client waits for this.
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
from swarmlore.server.client.environment import URL, token_in
from swarmlore.server.client.http import PLAIN, Line, error_of
from swarmlore.server.mcp.proxy import write_all

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Said = dict[str, Any]


BEGIN_S = 1.2  # for the handshake and the list of tools; then the client is told from here
FINISH_S = 2.0  # for answers that are under way when the client leaves
SEND_S = 30.0  # between two looks at what waits to be sent
MOST_CALLS = 16
PAUSES_S = (0.0, 0.2, 1.0)
IN_TURN = "swarmmail_"  # each of these tools counts on what the one before said
PROTOCOL = "2025-06-18"
_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_HIDDEN = ("reflect",)  # there only where a token names a folder, which the server says
_ACCEPT = {"Accept": "application/json, text/event-stream"}
_CHUNK = 65_536


def run_away(env: Mapping[str, str], home: str, tools: tuple[str, ...]) -> int:
    """Serve the client of this process until it leaves; meanwhile send what its hooks left."""
    url, token, plain = env[URL], token_in(env), env.get(PLAIN) == "1"

    def line(timeout_s: float, pauses_s: tuple[float, ...]) -> Line:
        return Line(url, token, plain=plain, timeout_s=timeout_s, pauses_s=pauses_s)

    line(1.0, ())  # an address that cannot be used is said now
    _begun(lambda: _keep_sending(home, env))
    Away(line, tools).run()
    return 0


def _keep_sending(home: str, env: Mapping[str, str]) -> None:
    """Hooks leave their events and a process that sends them; where the server was away then, somebody must be there
    when it is back."""
    from swarmlore.server.client.outbox import send_waiting

    while True:
        with contextlib.suppress(OSError):  # a full disk: the next look comes
            send_waiting(home, env, SEND_S)
        time.sleep(SEND_S)


class Away:
    """One client, and the server that its requests go to."""

    def __init__(
        self,
        line: Callable[[float, tuple[float, ...]], Line],
        tools: tuple[str, ...],
        incoming: int = 0,
        outgoing: int = 1,
    ) -> None:
        self._line = line
        self._tools = tools
        self._path = "/mcp" + (f"?tools={','.join(tools)}" if tools else "")
        self._incoming, self._outgoing = incoming, outgoing
        self._version = PROTOCOL
        self._lines: queue.SimpleQueue[Line] = queue.SimpleQueue()  # those that nobody uses just now
        self._room = threading.BoundedSemaphore(MOST_CALLS)
        self._in_turn: queue.SimpleQueue[Said] = queue.SimpleQueue()
        self._turns: threading.Thread | None = None
        self._write, self._counting = threading.Lock(), threading.Lock()
        self._gone: set[Any] = set()  # requests that the client takes no answer to any more
        self._open = 0

    def run(self) -> None:
        """Take lines until the client leaves; answers that are under way have a moment then."""
        rest = b""
        while chunk := os.read(self._incoming, _CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.strip():
                    self._take(line)
        deadline = time.monotonic() + FINISH_S
        while self._open and time.monotonic() < deadline:
            time.sleep(0.01)

    def _take(self, line: bytes) -> None:
        said = _parsed(line)
        method, id = said.get("method"), said.get("id")
        if said.get("jsonrpc") != "2.0" or (method is not None and not isinstance(method, str)):
            self._give({"id": id if _is_id(id) else None, "error": {"code": -32600, "message": "that is no message"}})
        elif method == "notifications/cancelled" and isinstance(said.get("params"), dict):
            self._gone.add(str(said["params"].get("requestId")))
        elif method == "ping" and _is_id(id):
            self._give({"id": id, "result": {}})
        elif method == "initialize" and _is_id(id):
            self._begin(said)
        elif method is not None and _is_id(id):
            self._start(said)

    def _begin(self, said: Said) -> None:
        """The handshake: what the server says, else what it would say."""
        told = _within(BEGIN_S, lambda: self._asked(said, self._line(BEGIN_S, (0.0,))))
        if told is None or "result" not in told:
            told = {"id": said["id"], "result": self._hello(said)}
        self._version = str(told["result"].get("protocolVersion", PROTOCOL))
        self._give(told)

    def _hello(self, said: Said) -> Said:
        import swarmlore
        from swarmlore.server.mcp.tools import instructions

        params = said.get("params")
        asked = params.get("protocolVersion") if isinstance(params, dict) else None
        return {
            "protocolVersion": asked if asked in _VERSIONS else PROTOCOL,
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "swarmlore", "version": swarmlore.__version__},
            "instructions": instructions(self._tools),
        }

    def _start(self, said: Said) -> None:
        """Answer beside the others: a slow call keeps nobody waiting but those that have to wait for it."""
        with self._counting:
            self._open += 1
        if _tool(said).startswith(IN_TURN):
            self._in_turn.put(said)
            if self._turns is None:
                self._turns = _begun(self._take_turns)
            return
        self._room.acquire()

        def work() -> None:
            try:
                self._answer(said)
            finally:
                self._room.release()

        _begun(work)

    def _take_turns(self) -> None:
        while True:
            self._answer(self._in_turn.get())

    def _answer(self, said: Said) -> None:
        try:
            told = self._told(said)
        except Exception as error:  # noqa: BLE001 - a thread's end: whoever waits is told
            told = _failed(said, SwarmloreError(f"something unforeseen happened ({type(error).__name__})"))
        try:
            if str(said["id"]) not in self._gone:
                self._give(told)
            self._gone.discard(str(said["id"]))
        except OSError:
            pass  # the client has left
        finally:
            with self._counting:
                self._open -= 1

    def _told(self, said: Said) -> Said:
        if said["method"] == "tools/list":
            told = _within(BEGIN_S, lambda: self._asked(said, self._line(BEGIN_S, (0.0,))))
            return told if told is not None and "result" in told else self._listing(said)
        line = self._free()
        try:
            return self._asked(said, line)
        except SwarmloreError as error:
            return _failed(said, error)
        finally:
            self._lines.put(line)

    def _listing(self, said: Said) -> Said:
        from swarmlore.server.mcp.tools import listing

        return {"id": said["id"], "result": {"tools": [x for x in listing(self._tools) if x["name"] not in _HIDDEN]}}

    def _free(self) -> Line:
        try:
            return self._lines.get_nowait()
        except queue.Empty:
            return self._line(35.0, PAUSES_S)

    def _asked(self, said: Said, line: Line) -> Said:
        """What the server answers; raises where it turns us away or is not there."""
        version = {} if said["method"] == "initialize" else {"MCP-Protocol-Version": self._version}
        status, told = line.post(self._path, said, {**_ACCEPT, **version})
        if isinstance(told, dict) and told.get("jsonrpc") == "2.0" and told.get("id") == said["id"]:
            return told
        raise error_of(status, told) if status != 200 else Unavailable("the server's answer cannot be read", "")

    def _give(self, told: Said) -> None:
        data = json.dumps({"jsonrpc": "2.0", **told}, separators=(",", ":")).encode() + b"\n"
        with self._write:
            write_all(self._outgoing, data)


def _failed(said: Said, error: SwarmloreError) -> Said:
    """What went wrong, for the agent where it called a tool, else for its client."""
    if said["method"] != "tools/call":
        return {"id": said["id"], "error": {"code": -32000, "message": error.message}}
    from swarmlore.domain.json_codec import code_of

    text = f"{error.message}\nhint: {error.hint}" if error.hint else error.message
    values = {"error": error.message, "hint": error.hint, "code": code_of(error)}
    content = [{"type": "text", "text": text}]
    return {"id": said["id"], "result": {"content": content, "structuredContent": values, "isError": True}}


def _within(seconds: float, work: Callable[[], Said]) -> Said | None:
    """What `work` returns, if it does in time: finding an address by its name cannot be hurried otherwise."""
    found: queue.SimpleQueue[Said | None] = queue.SimpleQueue()

    def run() -> None:
        try:
            found.put(work())
        except SwarmloreError:
            found.put(None)

    _begun(run)
    try:
        return found.get(timeout=seconds)
    except queue.Empty:
        return None


def _begun(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, name="swarmlore-call", daemon=True)
    thread.start()
    return thread


def _tool(said: Said) -> str:
    params = said.get("params")
    return str(params.get("name", "")) if isinstance(params, dict) and said.get("method") == "tools/call" else ""


def _is_id(id: Any) -> bool:
    return isinstance(id, (str, int)) and not isinstance(id, bool)


def _parsed(line: bytes) -> Said:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
