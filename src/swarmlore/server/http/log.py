"""Request log and Prometheus metrics of the server; both never hold a body or an id from a path."""

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
MOST_LINES = 10_000  # queued lines; a stalled reader of the log blocks no request
END_S = 1.0
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class RequestRecord:
    """Log record of a request in progress."""

    def __init__(self, method: str) -> None:
        self.id = os.urandom(6).hex()
        self.method = method
        self.begun = time.monotonic()
        self.route = self.agent = self.project = self.failed = ""
        self.status = self.size = 0

    def sending(self, send: Callable[[dict[str, Any]], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
        """Wrap `send`, so that the status is recorded and the answer carries the request id."""

        async def recording(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                message = {**message, "headers": [*message["headers"], (b"x-request-id", self.id.encode())]}
            await send(message)

        return recording


class Log:
    """Writes log lines to a stream from a thread of its own; lines are dropped if nobody reads them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_LINES)
        self._thread: threading.Thread | None = None
        self.dropped = 0

    def put(self, line: str) -> None:
        """Queue a line; drop it if the queue is full."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="swarmlore-log", daemon=True)
            self._thread.start()
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.dropped += 1

    def _write_all(self) -> None:
        while (line := self._lines.get()) is not None:
            with suppress(OSError, ValueError):  # the stream is closed
                self._write(f"{line}\n".encode("utf-8", "backslashreplace"))

    def _write(self, data: bytes) -> None:
        """Write past the stream's own lock: a thread that hangs here must not keep the process from ending."""
        fd = self._stream.fileno()
        while data:
            data = data[os.write(fd, data) :]

    def close(self, wait_s: float) -> None:
        """Write the queued lines, for `wait_s` at most."""
        if self._thread is not None:
            with suppress(queue.Full):
                self._lines.put_nowait(None)
            self._thread.join(wait_s)


class _RedirectHandler(logging.Handler):
    """Logging handler that turns warnings of libraries into short lines of this log, without tracebacks."""

    def __init__(self, telling: RequestLog) -> None:
        super().__init__(logging.WARNING)
        self._telling = telling

    def emit(self, record: logging.LogRecord) -> None:
        self._telling.say(record.levelname.lower(), message=record.getMessage()[:MOST_SAID])


class RequestLog:
    """The log and the metrics of one server."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._log = Log(stream or sys.stderr)
        self._quiet = quiet
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._sums: Counter[str] = Counter()
        self.begun_at = time.time()

    @staticmethod
    def hush(*names: str) -> None:
        """Silence the loggers of these libraries: their messages may hold the text of a memory."""
        for name in names:
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate = [logging.NullHandler()], False

    def overhear(self, *names: str) -> None:
        """Redirect the loggers of these libraries to this log."""
        for name in names:
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate = [_RedirectHandler(self)], False

    def begin(self, method: str) -> RequestRecord:
        """Start the record of a request."""
        return RequestRecord(method)

    def end(self, record: RequestRecord) -> None:
        """Count a request and log it."""
        took = time.monotonic() - record.begun
        self._count(record, took)
        if not self._quiet:
            self.say(
                "request",
                id=record.id,
                method=record.method,
                route=record.route,
                status=record.status,
                ms=round(took * 1000, 1),
                bytes=record.size,
                agent=record.agent,
                project=record.project,
                **({"failed": record.failed} if record.failed else {}),
            )

    def say(self, what: str, **facts: Any) -> None:
        """Write one line to the log."""
        self._log.put(json.dumps({"at": iso(time.time()), "what": what, **facts}, ensure_ascii=False))

    def close(self) -> None:
        """Write the queued lines, within a second."""
        self._log.close(END_S)

    def _count(self, record: RequestRecord, took: float) -> None:
        self._requests[record.method, record.route, record.status] += 1
        bins = self._times.setdefault(record.route, [0] * (len(BOUNDS_S) + 1))
        bins[next((place for place, bound in enumerate(BOUNDS_S) if took <= bound), len(BOUNDS_S))] += 1
        self._sums[record.route] += took  # type: ignore[assignment]

    def figures(self, more: Mapping[str, float]) -> bytes:
        """Return all metrics in the text format of Prometheus."""
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
