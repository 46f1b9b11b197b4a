"""The line to a server: one request at a time over a connection that is kept, asked again where that is safe."""

from __future__ import annotations

import http.client
import json
import os
import selectors
import socket
import time
import urllib.parse

from swarmlore import errors
from swarmlore.errors import ConfigError, SwarmloreError, Unavailable
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from ssl import SSLContext
    from typing import Any


WHOSE = "set SWARMLORE_TOKEN to one that does; on the server's machine: swarmlore token create --agent NAME"
_KINDS: dict[str, type[SwarmloreError]] = {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SwarmloreError)
}


def error_of(status: int, answer: Any) -> SwarmloreError:
    """The error that the server told, as the one that it would have been here."""
    if status == 200:
        return Unavailable("what answers there is no Swarmlore server", "check the address: swarmlore serve prints it")
    said = answer if isinstance(answer, dict) else {}
    message, hint = str(said.get("error") or f"the server answered {status}"), str(said.get("hint") or "")
    if status == 401:
        hint = WHOSE
    name = "".join(word.capitalize() for word in str(said.get("code", "")).split("_"))
    kind = _KINDS.get(name)
    if kind is errors.Rejected:
        return errors.Rejected(message, int(said.get("layer", 1)), hint)
    if kind is errors.Ambiguous:
        return errors.Ambiguous(message, hint, tuple(map(str, said.get("candidates", ()))))
    if kind is None:
        kind = {401: errors.NotAllowed, 403: errors.NotAllowed, 404: errors.NotFound, 503: Unavailable}.get(
            status, SwarmloreError
        )
    problem = kind(message, hint)
    problem.http_status = status  # of an error that only a server has, such as one about the size of a body
    return problem


LOOPBACK = ("127.0.0.1", "localhost", "::1")
PAUSES_S = (0.0, 0.2, 0.5, 1.0, 2.0, 3.0)  # before a request is sent again
CONNECT_S = 5.0  # for a connection to be made
REACH_S = 8.0  # a server that cannot be reached for so long is given up
REFUSED_S = 0.5  # the same where nothing listens, and never did on this line: that is no restart
ANSWER_S = 35.0  # a server answers within 30 s, if only to say that it takes longer
DEAD_S = 9  # a line on which nothing is acknowledged for so long is broken
TOTAL_S = 45.0  # for everything
AGAIN = (429, 503)
PLAIN, CA = "SWARMLORE_PLAIN", "SWARMLORE_CA"
MOST_BYTES = 64 * 1024 * 1024
UNKNOWN = f"if that is its own certificate, name the file: {CA}=/path/to/cert.pem"
AWAY = "is it running there? swarmlore doctor tells more"
# While an answer is waited for, the other machine is asked now and then whether it is still there.
_WATCHED = (
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", DEAD_S // 3),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", DEAD_S // 3),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 2),
    (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", DEAD_S * 1000),
)


class Line:
    """Asks one server with one token."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        plain: bool = False,
        timeout_s: float = TOTAL_S,
        pauses_s: Sequence[float] | None = None,
    ) -> None:
        self._at = _address(url, plain)
        self._token = token
        self._timeout_s = timeout_s
        self._pauses_s = PAUSES_S if pauses_s is None else pauses_s
        self._kept: http.client.HTTPConnection | None = None
        self._was_there = False

    def ask(self, path: str, body: Mapping[str, Any], *, key: str = "") -> Any:
        """The answer to a request, which may be sent several times: a question does no harm, and what changes something
        needs a key, by which the server knows it again."""
        named = {"Idempotency-Key": key} if key else {}
        status, answer = self.post(path, body, named)
        if status != 200 or answer is None:
            raise error_of(status, answer)
        return answer

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], *, again: bool = True
    ) -> tuple[int, Any]:
        """Status and document of an answer. With `again=False` what the server may have seen is not sent once more."""
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
        raise self._away(why)

    def _patience_s(self, lost: _Lost) -> float:
        return REFUSED_S if lost.refused and not self._was_there else REACH_S

    def _away(self, why: str) -> Unavailable:
        hint = UNKNOWN if "CERTIFICATE" in why else AWAY
        return Unavailable(f"the server at {self.name} does not answer: {why}", hint)

    @property
    def name(self) -> str:
        """Host and port, for people."""
        return f"{self._at[1]}:{self._at[2]}"

    def _send(self, path: str, data: bytes, headers: Mapping[str, str], until: float) -> tuple[int, Any]:
        kept, self._kept = self._kept, None
        connection = kept if kept is not None and not _is_over(kept) else None
        try:
            connection = connection or self._connect(until)
        except (OSError, http.client.HTTPException) as error:
            raise _Lost(why(error), reached=False, refused=isinstance(error, ConnectionRefusedError)) from error
        self._was_there = True
        try:
            connection.sock.settimeout(max(0.1, min(ANSWER_S, until - time.monotonic())))
            connection.request("POST", path, data, {**self._headers(), **headers})
            answer = connection.getresponse()
            text = answer.read(MOST_BYTES)
            if answer.length:  # the other side ended in the middle of it
                raise http.client.IncompleteRead(text, answer.length)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _Lost(why(error), reached=True) from error
        self._kept = None if answer.will_close else connection
        return answer.status, _parsed(text)

    def _connect(self, until: float) -> http.client.HTTPConnection:
        """A connection that is there, and that ends by itself where the other side is not any more."""
        scheme, host, port = self._at
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
        """A connection of its own for a stream, and the headers that say who asks."""
        try:
            return self._connect(time.monotonic() + CONNECT_S), self._headers()
        except (OSError, http.client.HTTPException) as error:
            raise self._away(why(error)) from error

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None


def _certificates() -> SSLContext:
    """Which certificates are trusted."""
    import ssl

    try:
        return ssl.create_default_context(cafile=os.environ.get(CA) or None)
    except OSError as error:  # also where the file holds none
        raise ConfigError(f"{CA} cannot be used: {why(error)}", "name a file of certificates") from None


class _Lost(Exception):
    """No answer came; `reached` tells whether there was a server to begin with, `refused` that the machine said no."""

    def __init__(self, why: str, *, reached: bool, refused: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.reached = reached
        self.refused = refused


def _is_over(connection: http.client.HTTPConnection) -> bool:
    """Whether the other side has closed a connection that was kept: nobody says anything unasked."""
    with selectors.DefaultSelector() as ready:
        if connection.sock is not None:
            ready.register(connection.sock, selectors.EVENT_READ)
            if not ready.select(0):
                return False
    connection.close()
    return True


def _address(url: str, plain: bool) -> tuple[str, str, int]:
    """Scheme, host and port of a server; a token goes over a network in clear text only where that was asked for."""
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
    if isinstance(error, http.client.IncompleteRead):
        return "its answer broke off"  # what came of it is not repeated
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__


def _parsed(text: bytes) -> Any:
    """What was answered; None for what no server of ours says."""
    try:
        return json.loads(text)
    except ValueError:
        return None
