"""HTTP connection to a server: keep-alive, retries where repeating is safe, timeouts, and errors as exceptions."""

from __future__ import annotations

import http.client
import json
import os
import queue
import selectors
import socket
import threading
import time
import urllib.parse

from swarmlore import errors
from swarmlore.errors import ConfigError, SwarmloreError, Unavailable
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from ssl import SSLContext
    from typing import Any


WHOSE = "set SWARMLORE_TOKEN to one that does; on the server's machine: swarmlore token create --agent NAME"
_KINDS: dict[str, type[SwarmloreError]] = {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SwarmloreError)
}


def error_of(status: int, answer: Any) -> SwarmloreError:
    """Return the error of an answer as the exception class that it would be locally."""
    if status == 200:
        return Unavailable("what answers there is no Swarmlore server", "check the address: swarmlore serve prints it")
    body = answer if isinstance(answer, dict) else {}
    message, hint = str(body.get("error") or f"the server answered {status}"), str(body.get("hint") or "")
    if status == 401:
        hint = WHOSE
    name = "".join(word.capitalize() for word in str(body.get("code", "")).split("_"))
    kind = _KINDS.get(name)
    if kind is errors.Rejected:
        return errors.Rejected(message, int(body.get("layer", 1)), hint)
    if kind is errors.Ambiguous:
        return errors.Ambiguous(message, hint, tuple(map(str, body.get("candidates", ()))))
    if kind is None:
        kind = {401: errors.NotAllowed, 403: errors.NotAllowed, 404: errors.NotFound, 503: Unavailable}.get(
            status, SwarmloreError
        )
    problem = kind(message, hint)
    problem.http_status = status  # for errors that only a server has, such as a too large body
    return problem


LOOPBACK = ("127.0.0.1", "localhost", "::1")
PAUSES_S = (0.0, 0.2, 0.5, 1.0, 2.0, 3.0)  # before a request is sent again
CONNECT_S = 5.0  # for a connection to be made
REACH_S = 8.0  # give up after the server was unreachable for so long
REFUSED_S = 0.5  # give up sooner if nothing listens and no connection ever worked: that is no restart
ANSWER_S = 35.0  # a server answers within 30 s, if only to say that it takes longer
DEAD_S = 9  # a connection without acknowledgements for so long is broken
TOTAL_S = 45.0  # for a request with all its retries
AGAIN = (429, 503)
PLAIN, CA = "SWARMLORE_PLAIN", "SWARMLORE_CA"
MOST_BYTES = 64 * 1024 * 1024
UNKNOWN = f"if that is its own certificate, name the file: {CA}=/path/to/cert.pem"
AWAY = "is it running there? swarmlore doctor tells more"
# TCP keepalive: probe the other machine while waiting for an answer.
_WATCHED = (
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", DEAD_S // 3),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", DEAD_S // 3),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 2),
    (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", DEAD_S * 1000),
)


class Connection:
    """A kept connection to one server with one token, with retries."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        plain: bool = False,
        timeout_s: float = TOTAL_S,
        pauses_s: Sequence[float] | None = None,
    ) -> None:
        self._server = _address(url, plain)
        self._token = token
        self._timeout_s = timeout_s
        self._pauses_s = PAUSES_S if pauses_s is None else pauses_s
        self._kept: http.client.HTTPConnection | None = None
        self._connected_once = False

    def ask(self, path: str, body: Mapping[str, Any], *, key: str = "") -> Any:
        """Send a request and return its answer. As it may be sent several times, a write needs an idempotency key."""
        named = {"Idempotency-Key": key} if key else {}
        status, answer = self.post(path, body, named)
        if status != 200 or answer is None:
            raise error_of(status, answer)
        return answer

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], *, again: bool = True
    ) -> tuple[int, Any]:
        """Return status and document of an answer. With `again=False`, a request is not repeated once it was sent."""
        data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
        why, busy = "", None
        until = time.monotonic() + self._timeout_s
        lost_at = time.monotonic()
        for pause_s in self._pauses_s:
            if time.monotonic() + pause_s >= until:
                break
            time.sleep(pause_s)
            try:
                status, answer = self._send(path, data, headers, until)
            except _Lost as lost:
                why, busy = lost.why, None
                lost_at = time.monotonic() if lost.reached else lost_at
                if (lost.reached and not again) or time.monotonic() - lost_at > self._patience_s(lost):
                    break
                continue
            if status not in AGAIN:
                return status, answer
            busy, lost_at = (status, answer), time.monotonic()
        if busy is not None:
            return busy
        raise self._unavailable(why)

    def _patience_s(self, lost: _Lost) -> float:
        return REFUSED_S if lost.refused and not self._connected_once else REACH_S

    def _unavailable(self, why: str) -> Unavailable:
        hint = UNKNOWN if "CERTIFICATE" in why else AWAY
        return Unavailable(f"the server at {self.name} does not answer: {why}", hint)

    @property
    def name(self) -> str:
        """Host and port, for messages."""
        return f"{self._server[1]}:{self._server[2]}"

    def _send(self, path: str, data: bytes, headers: Mapping[str, str], until: float) -> tuple[int, Any]:
        kept, self._kept = self._kept, None
        connection = kept if kept is not None and not _is_closed(kept) else None
        try:
            connection = connection or self._connect(until)
        except (OSError, http.client.HTTPException) as error:
            raise _Lost(why(error), reached=False, refused=isinstance(error, ConnectionRefusedError)) from error
        self._connected_once = True
        try:
            connection.sock.settimeout(max(0.1, min(ANSWER_S, until - time.monotonic())))
            connection.request("POST", path, data, {**self._headers(), **headers})
            answer = connection.getresponse()
            text = answer.read(MOST_BYTES)
            if answer.length:  # the server closed the connection within the body
                raise http.client.IncompleteRead(text, answer.length)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _Lost(why(error), reached=True) from error
        self._kept = None if answer.will_close else connection
        return answer.status, _parsed(text)

    def _connect(self, until: float) -> http.client.HTTPConnection:
        """Open a connection with TCP keepalive, so that it breaks soon after the other machine is gone."""
        scheme, host, port = self._server
        wait_s = max(0.1, min(CONNECT_S, until - time.monotonic()))
        if scheme == "https":
            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=wait_s, context=_certificates()
            )
        else:
            made = http.client.HTTPConnection(host, port, timeout=wait_s)
        try:
            made.connect()
            for level, name, value in _WATCHED:
                if hasattr(socket, name):
                    made.sock.setsockopt(level, getattr(socket, name), value)
        except BaseException:
            made.close()
            raise
        return made

    def fresh(self) -> tuple[http.client.HTTPConnection, dict[str, str]]:
        """Return a separate connection for a stream, and the authentication headers."""
        try:
            return self._connect(time.monotonic() + CONNECT_S), self._headers()
        except (OSError, http.client.HTTPException) as error:
            raise self._unavailable(why(error)) from error

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}

    def close(self) -> None:
        """Close the kept connection."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None


def _certificates() -> SSLContext:
    """Return the TLS context, with the certificate file of the environment if one is set."""
    import ssl

    try:
        return ssl.create_default_context(cafile=os.environ.get(CA) or None)
    except OSError as error:  # also raised if the file holds no certificate
        raise ConfigError(f"{CA} cannot be used: {why(error)}", "name a file of certificates") from None


class _Lost(Exception):
    """Raised if no answer came. `reached`: the server may have seen the request; `refused`: nothing listens there."""

    def __init__(self, why: str, *, reached: bool, refused: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.reached = reached
        self.refused = refused


def _is_closed(connection: http.client.HTTPConnection) -> bool:
    """Tell whether the server closed a kept connection: a readable idle connection is at its end."""
    with selectors.DefaultSelector() as ready:
        if connection.sock is not None:
            ready.register(connection.sock, selectors.EVENT_READ)
            if not ready.select(0):
                return False
    connection.close()
    return True


def _address(url: str, plain: bool) -> tuple[str, str, int]:
    """Return scheme, host and port of a URL; raise ConfigError if the token would go out in clear text."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        parts, port = urllib.parse.urlsplit(""), 0
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.path not in ("", "/"):
        raise ConfigError(f"SWARMLORE_URL is {url!r}", "as in: https://lore.example:8787")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK and not plain:
        raise ConfigError("the token would go over the network in clear text", f"use https://, or set {PLAIN}=1")
    return parts.scheme, parts.hostname, port


def why(error: Exception) -> str:
    """Return the reason of a network error in words."""
    if isinstance(error, http.client.IncompleteRead):
        return "its answer broke off"  # without the partial body that `str(error)` shows
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__


def _parsed(text: bytes) -> Any:
    """Parse an answer; return None if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def within(seconds: float, work: Callable[[], Any]) -> Any:
    """Run `work` in a thread; return its result, or None after `seconds`: a DNS lookup has no other timeout."""
    results: queue.SimpleQueue[tuple[Any, SwarmloreError | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            results.put((work(), None))
        except SwarmloreError as error:
            results.put((None, error))

    threading.Thread(target=run, name="swarmlore-ask", daemon=True).start()
    try:
        value, problem = results.get(timeout=seconds)
    except queue.Empty:
        return None
    if problem is not None:
        raise problem
    return value
