"""The line to a server: one request at a time over a connection that is kept, asked again where that is safe."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import time
import urllib.parse

from swarmlore import errors
from swarmlore.errors import ConfigError, SwarmloreError, Unavailable
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PAUSES_S = (0.0, 0.2, 1.0, 3.0)  # before a request is sent again
AGAIN = (429, 503)
PLAIN = "SWARMLORE_PLAIN"
MOST_BYTES = 64 * 1024 * 1024
_KINDS: dict[str, type[SwarmloreError]] = {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SwarmloreError)
}


class Line:
    """Asks one server with one token."""

    def __init__(self, url: str, token: str, *, plain: bool = False, timeout_s: float = 35.0) -> None:
        self._at = _address(url, plain)
        self._token = token
        self._timeout_s = timeout_s
        self._kept: http.client.HTTPConnection | None = None

    def ask(self, path: str, body: Mapping[str, Any], *, key: str = "") -> Any:
        """The answer to a request. With a key it can be sent again without being done twice; else only where the
        server cannot have done it."""
        data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
        problem: SwarmloreError = Unavailable("the server does not answer", "is it running?")
        for pause_s in PAUSES_S:
            time.sleep(pause_s)
            try:
                status, answer = self._send(path, data, key)
            except _Lost as lost:
                problem = Unavailable(
                    f"the server at {self._at[1]} does not answer: {lost.why}", "is it running there?"
                )
                if lost.sent and not key:
                    break
                continue
            if status == 200:
                return answer
            problem = _error(status, answer)
            if status not in AGAIN:
                break
        raise problem

    def _send(self, path: str, data: bytes, key: str) -> tuple[int, Any]:
        fresh = self._kept is None
        connection = self._kept or self._connect()
        self._kept = None
        sent = False
        try:
            connection.request("POST", path, data, self._headers(key))
            sent = True
            answer = connection.getresponse()
            text = answer.read(MOST_BYTES)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            # A kept connection that the server had closed meanwhile: it has seen nothing of this.
            stale = not fresh and isinstance(error, (http.client.RemoteDisconnected, BrokenPipeError, ConnectionError))
            raise _Lost(_why(error), sent and not stale) from error
        self._kept = connection
        return answer.status, _parsed(text)

    def _connect(self) -> http.client.HTTPConnection:
        scheme, host, port = self._at
        if scheme == "https":
            context = ssl.create_default_context(cafile=os.environ.get("SWARMLORE_CA") or None)
            return http.client.HTTPSConnection(host, port, timeout=self._timeout_s, context=context)
        return http.client.HTTPConnection(host, port, timeout=self._timeout_s)

    def _headers(self, key: str) -> dict[str, str]:
        named = {"Idempotency-Key": key} if key else {}
        return {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", **named}

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None


class _Lost(Exception):
    """No answer came; `sent` tells whether the server may have done it."""

    def __init__(self, why: str, sent: bool) -> None:
        super().__init__(why)
        self.why = why
        self.sent = sent


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


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _error(status: int, answer: Any) -> SwarmloreError:
    """The error that the server told, as the one that it would have been here."""
    said = answer if isinstance(answer, dict) else {}
    message, hint = str(said.get("error") or f"the server answered {status}"), str(said.get("hint") or "")
    name = "".join(word.capitalize() for word in str(said.get("code", "")).split("_"))
    kind = _KINDS.get(name)
    if kind is errors.Rejected:
        return errors.Rejected(message, int(said.get("layer", 1)), hint)
    if kind is None:
        kind = {401: errors.NotAllowed, 403: errors.NotAllowed, 404: errors.NotFound, 503: Unavailable}.get(
            status, SwarmloreError
        )
    return kind(message, hint)
