"""HTTP client for model servers: one JSON request to one server, bounded in time, size and attempts. Standard library
only.

No redirects, no proxies, no compression. An error names the server, never the key, the text or the answer's body.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ssl import SSLCertVerificationError, create_default_context
from threading import Timer
from typing import Any
from urllib.parse import SplitResult, urlsplit

from swarmlore.errors import ConfigError, Unavailable
from swarmlore.models.providers import number_option, text_option

TRIES = 3
FIRST_WAIT_S = 0.5
PORTS = {"http": 80, "https": 443}
UNSUITABLE = "check model, and leave dimension out where the model has one size; the text may also be too long for it"
STATUS_HINTS = {
    400: UNSUITABLE,
    401: "check the key in the environment variable named by api_key_env",
    403: "check the key in the environment variable named by api_key_env",
    404: "check base_url (it usually ends in /v1) and model",
    413: "lower the option batch",
    422: UNSUITABLE,
    429: "too many requests or no quota left; wait, or lower the option batch",
}


@dataclass(frozen=True, slots=True)
class Server:
    """Address, key and limits of a model server. `timeout_s` bounds a request with all its attempts and waits."""

    address: SplitResult
    key_env: str
    timeout_s: float
    max_bytes: int
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """Return the host, with the port if it is not the default: enough to tell servers apart."""
        port = self.address.port
        name = self.address.hostname or ""
        return name if port in (None, PORTS[self.address.scheme]) else f"{name}:{port}"


@dataclass(eq=False)  # not frozen: Python assigns the traceback
class Failed(Exception):
    """One failed attempt; `again` says whether to retry."""

    what: str
    hint: str = "check that the server runs and that base_url is right"
    again: bool = False
    wait_s: float | None = None


def read_address(base_url: str) -> SplitResult:
    """Parse an http or https address without credentials, query or fragment; raise ConfigError for any other."""
    wrong = ConfigError("base_url is not a plain http or https address", 'write base_url = "http://localhost:11434/v1"')
    if not base_url.isascii() or not base_url.isprintable() or " " in base_url:
        raise wrong
    try:
        address = urlsplit(base_url.rstrip("/"))
        usable = address.scheme in PORTS and address.hostname and address.port != 0
    except ValueError:
        raise wrong from None
    if not usable or "@" in address.netloc or address.query or address.fragment:
        raise wrong  # the address is not quoted: it may contain a key
    return address


def read_server(options: Mapping[str, Any], home: str, home_key_env: str, timeout_s: float, max_bytes: int) -> Server:
    """Return the server of the options. The provider's own key is only sent to the provider's own address."""
    address = read_address(text_option(options, "base_url", home))
    at_home = address.scheme == "https" and address.netloc == urlsplit(home).netloc
    key_env = text_option(options, "api_key_env", home_key_env if at_home else "")
    if key_env and not key_env.replace("_", "").isalnum():
        raise ConfigError("api_key_env must be the name of an environment variable, not a key", _key_hint(home_key_env))
    patience = number_option(options, "timeout_s", timeout_s, low=0.05, high=3600)
    return Server(address, key_env, patience, max_bytes)


def post_json(server: Server, path: str, payload: object, sleep: Callable[[float], None] = time.sleep) -> Any:
    """POST a JSON payload and return the JSON answer; retry where that may help, within the server's timeout."""
    body, headers = json.dumps(payload).encode(), _headers(server)
    deadline = time.monotonic() + server.timeout_s
    for attempt in range(1, TRIES + 1):
        try:
            return _attempt(server, path, body, headers, deadline)
        except Failed as failed:
            wait_s = FIRST_WAIT_S * 2 ** (attempt - 1) if failed.wait_s is None else failed.wait_s
            if not failed.again or attempt == TRIES or time.monotonic() + wait_s >= deadline:
                raise Unavailable(f"{server.host} {failed.what}", failed.hint) from None
        sleep(wait_s)
    raise AssertionError("unreachable: the last attempt returns or raises")


def _attempt(server: Server, path: str, body: bytes, headers: Mapping[str, str], deadline: float) -> Any:
    connection = _connection(server, deadline - time.monotonic())
    try:
        connection.connect()
        with _cut_off_at(deadline, connection.sock):
            connection.request("POST", server.address.path + path, body, dict(headers))
            response = connection.getresponse()
            _check_status(response)
            return _parse(_read(response, server.max_bytes, deadline))
    except SSLCertVerificationError:
        hint = "for a certificate of your own, set the environment variable SSL_CERT_FILE to it"
        raise Failed("has a certificate this machine does not trust", hint) from None
    except (OSError, HTTPException) as error:
        if isinstance(error, TimeoutError) or time.monotonic() >= deadline:
            what = f"did not answer within {server.timeout_s:g} s"
            raise Failed(what, "raise timeout_s or use a quicker model") from None
        raise Failed(f"cannot be reached or broke off ({type(error).__name__})", again=True) from None
    finally:
        connection.close()


@contextmanager
def _cut_off_at(deadline: float, sock: socket.socket) -> Iterator[None]:
    """Context manager: close the connection at the deadline; a socket's timeout restarts with every byte."""

    def cut_off() -> None:
        with suppress(OSError):  # closed in the same moment
            sock.shutdown(socket.SHUT_RDWR)

    watch = Timer(max(deadline - time.monotonic(), 0), cut_off)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _connection(server: Server, timeout_s: float) -> HTTPConnection:
    host, port = server.address.hostname or "", server.address.port
    if server.address.scheme == "https":
        return HTTPSConnection(host, port, timeout=max(timeout_s, 0.001), context=create_default_context())
    return HTTPConnection(host, port, timeout=max(timeout_s, 0.001))


def _headers(server: Server) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "swarmlore"}
    headers |= server.headers
    if server.key_env:
        headers[server.key_header] = server.key_prefix + _key(server.key_env)
    return headers


def _key(name: str) -> str:
    """Return the key of an environment variable. Reject a malformed one here, as http.client would quote it."""
    key = os.environ.get(name, "").strip()
    if not key:
        raise Unavailable(f"the environment variable {name} is not set", _key_hint(name))
    if not key.isascii() or not key.isprintable() or " " in key:
        raise Unavailable(f"the environment variable {name} does not hold a usable key", _key_hint(name))
    return key


def _key_hint(name: str) -> str:
    return f"export {name}=<your key>, and set api_key_env to that name"


def _check_status(response: HTTPResponse) -> None:
    status = response.status
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise Failed(f"answered with a redirect ({status}), which is not followed", "put the final address in base_url")
    again = status in (408, 425, 429) or status >= 500
    hint = STATUS_HINTS.get(status, "the server failed; look at its log, or try later")
    raise Failed(f"answered with status {status}", hint, again, _retry_after(response.getheader("Retry-After", "")))


def _retry_after(value: str | None) -> float | None:
    """Return the seconds a server asks to wait; a date or an invalid value is ignored."""
    return float(value) if value and value.isascii() and value.isdigit() else None


def _read(response: HTTPResponse, max_bytes: int, deadline: float) -> bytes:
    """Return the whole body; raise Failed if it is too large, OSError if it is too slow or truncated."""
    body = response.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise Failed(f"answered with more than {max_bytes} bytes", "lower the option batch")
    if time.monotonic() >= deadline:
        raise TimeoutError  # a body without a Content-Length just ends when the connection is cut
    if response.length:
        raise ConnectionResetError
    return body


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        # "from None": the parser's error carries the body.
        raise Failed("did not answer with JSON", "check base_url (it usually ends in /v1)") from None
