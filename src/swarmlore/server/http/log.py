"""What a server tells about itself: a line of its log per request, and figures. Never a body, never an id in a path."""

from __future__ import annotations

import json
import logging
import os
import queue
import sys
import threading
import time
from collections import Counter
from contextlib import suppress

from swarmlore.domain.json_codec import iso
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any, TextIO


MOST_SAID = 300
MOST_LINES = 10_000  # that wait to be written; a reader who has stopped keeps nobody waiting
END_S = 1.0
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Noted:
    """One request while it is under way."""

    def __init__(self, method: str) -> None:
        self.id = os.urandom(6).hex()
        self.method = method
        self.begun = time.monotonic()
        self.route = self.agent = self.project = self.failed = ""
        self.status = self.size = 0

    def sending(self, send: Callable[[dict[str, Any]], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
        """The same `send`, which also tells the status, and names the request to whoever asked."""

        async def noting(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                message = {**message, "headers": [*message["headers"], (b"x-request-id", self.id.encode())]}
            await send(message)

        return noting


class Log:
    """Lines on their way to a stream, written by a thread of their own: where nobody reads them, they are dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_LINES)
        self._thread: threading.Thread | None = None
        self.dropped = 0

    def put(self, line: str) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="swarmlore-log", daemon=True)
            self._thread.start()
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.dropped += 1

    def _write_all(self) -> None:
        while (line := self._lines.get()) is not None:
            with suppress(OSError, ValueError):  # nobody is there to be told
                self._write(f"{line}\n".encode("utf-8", "backslashreplace"))

    def _write(self, data: bytes) -> None:
        """Past the stream's own lock: a thread that hangs here must not keep the process from ending."""
        fd = self._stream.fileno()
        while data:
            data = data[os.write(fd, data) :]

    def close(self, wait_s: float) -> None:
        if self._thread is not None:
            with suppress(queue.Full):
                self._lines.put_nowait(None)
            self._thread.join(wait_s)


class _Overheard(logging.Handler):
    """What the library that reads requests has to say, as lines of our log: no traceback, nothing long."""

    def __init__(self, telling: Telling) -> None:
        super().__init__(logging.WARNING)
        self._telling = telling

    def emit(self, record: logging.LogRecord) -> None:
        self._telling.say(record.levelname.lower(), message=record.getMessage()[:MOST_SAID])


class Telling:
    """The log and the figures of one server."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._log = Log(stream or sys.stderr)
        self._quiet = quiet
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._sums: Counter[str] = Counter()
        self.begun_at = time.time()

    @staticmethod
    def hush(*names: str) -> None:
        """Let these libraries say nothing: what they log may hold a text."""
        for name in names:
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate = [logging.NullHandler()], False

    def overhear(self, *names: str) -> None:
        """Let the loggers of these libraries speak through this log only."""
        for name in names:
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate = [_Overheard(self)], False

    def begin(self, method: str) -> Noted:
        return Noted(method)

    def end(self, noted: Noted) -> None:
        took = time.monotonic() - noted.begun
        self._count(noted, took)
        if not self._quiet:
            self.say(
                "request",
                id=noted.id,
                method=noted.method,
                route=noted.route,
                status=noted.status,
                ms=round(took * 1000, 1),
                bytes=noted.size,
                agent=noted.agent,
                project=noted.project,
                **({"failed": noted.failed} if noted.failed else {}),
            )

    def say(self, what: str, **facts: Any) -> None:
        """One line of the log."""
        self._log.put(json.dumps({"at": iso(time.time()), "what": what, **facts}, ensure_ascii=False))

    def close(self) -> None:
        """Write what is left, if somebody reads it."""
        self._log.close(END_S)

    def _count(self, noted: Noted, took: float) -> None:
        self._requests[noted.method, noted.route, noted.status] += 1
        bins = self._times.setdefault(noted.route, [0] * (len(BOUNDS_S) + 1))
        bins[next((place for place, bound in enumerate(BOUNDS_S) if took <= bound), len(BOUNDS_S))] += 1
        self._sums[noted.route] += took  # type: ignore[assignment]

    def figures(self, more: Mapping[str, float]) -> bytes:
        """All figures in the text form that Prometheus reads."""
        lines = ["# TYPE swarmlore_requests_total counter"]
        for (method, route, status), many in sorted(self._requests.items()):
            lines.append(f'swarmlore_requests_total{{method="{method}",route="{route}",status="{status}"}} {many}')
        lines.append("# TYPE swarmlore_request_seconds histogram")
        for route, bins in sorted(self._times.items()):
            lines += self._histogram(route, bins)
        lines += ["# TYPE swarmlore_log_lines_dropped_total counter"]
        lines += [f"swarmlore_log_lines_dropped_total {self._log.dropped}"]
        for name, value in {**more, "up_seconds": time.time() - self.begun_at}.items():
            lines += [f"# TYPE swarmlore_{name} gauge", f"swarmlore_{name} {value:.6g}"]
        return ("\n".join(lines) + "\n").encode()

    def _histogram(self, route: str, bins: list[int]) -> list[str]:
        total, lines = 0, []
        for bound, many in zip((*BOUNDS_S, "+Inf"), bins, strict=True):
            total += many
            lines.append(f'swarmlore_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}')
        lines.append(f'swarmlore_request_seconds_sum{{route="{route}"}} {self._sums[route]:.6f}')
        lines.append(f'swarmlore_request_seconds_count{{route="{route}"}} {total}')
        return lines
