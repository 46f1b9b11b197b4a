"""Checks that every request passes before its body is read: host name, origin, token, and rate limits.

The host name comes first, because a web page can point its own name at this machine (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from swarmlore.errors import StoreBusy, StoreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from swarmlore.domain.records import Token


KNOWN_S = 1.0  # lifetime of a cached token, and the longest time that a revoked one still works
LOOK_S = 3.0  # for one lookup
ALIVE_S = 0.5  # for one lookup, if a token that was valid before is enough
AT_ONCE = 4
MOST_KNOWN = 4_096


class TokenCache:
    """Looks up tokens, with a cache of a second for slow stores. `look` asks the store; `slow` tells that this takes
    long, and needs threads."""

    def __init__(self, look: Callable[[str], Token | None], *, slow: bool) -> None:
        self._look = look
        self._threads = ThreadPoolExecutor(AT_ONCE, "swarmlore-porter") if slow else None
        self._known: OrderedDict[bytes, tuple[Token, float]] = OrderedDict()
        self._lookups: dict[bytes, asyncio.Task[Token | None]] = {}

    async def recognise(self, secret: str, *, former: bool = False) -> Token | None:
        """Return the token of a secret, or None. With `former`, a token that was valid before is accepted while the
        store does not answer."""
        if self._threads is None:
            return self._look(secret)
        key = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
        token, since = self._known.get(key, (None, 0.0))
        if token is not None and time.monotonic() - since < KNOWN_S:
            return token if token.holds(time.time()) else None
        known = former and token is not None
        try:
            return await asyncio.wait_for(asyncio.shield(self._lookup(key, secret)), ALIVE_S if known else LOOK_S)
        except (StoreError, TimeoutError) as error:
            if known:
                return token
            if isinstance(error, StoreError):
                raise
            raise StoreBusy("the database does not answer", "try again in a moment") from None

    def _lookup(self, key: bytes, secret: str) -> asyncio.Task[Token | None]:
        """Start one lookup for all concurrent requests with the same token."""
        if key not in self._lookups:
            self._lookups[key] = asyncio.create_task(self._ask(key, secret))
            self._lookups[key].add_done_callback(
                lambda done: (self._lookups.pop(key), done.cancelled() or done.exception())
            )
        return self._lookups[key]

    async def _ask(self, key: bytes, secret: str) -> Token | None:
        assert self._threads is not None
        lookup = asyncio.get_running_loop().run_in_executor(self._threads, self._look, secret)
        token = await asyncio.wait_for(lookup, LOOK_S)  # a lookup that has not begun by then is cancelled
        self._known.pop(key, None)
        if token is not None:
            self._known[key] = (token, time.monotonic())
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        return token

    def close(self) -> None:
        """Stop the lookup threads."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


LOOPBACK = ("127.0.0.1", "localhost", "::1")
FROM_OURSELVES = ("same-origin", "none")
MOST_FAILURES = 30  # wrong tokens of one address in a minute
MINUTE_S = 60.0
MOST_BUCKETS = 10_000
MOST_HEAD = 65_536  # bytes

Headers = Sequence[tuple[bytes, bytes]]
Refusal = tuple[int, str, str]  # status, what happened, what to do


class RequestGuard:
    """Checks the headers of a request, and counts failed tokens per address."""

    def __init__(self, hosts: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._failures = Buckets(MOST_FAILURES / MINUTE_S, MOST_FAILURES, clock)

    def refusal(self, headers: Headers) -> Refusal | None:
        """Return why a request is refused by its host name, origin or size; None if it may pass."""
        if sum(len(name) + len(value) for name, value in headers) > MOST_HEAD:
            return 400, "the head of the request is too large", f"{MOST_HEAD} bytes at most"
        names = [name for name, _ in headers]
        if b"transfer-encoding" in names and b"content-length" in names:  # a proxy may use the other one
            return 400, "the body has two lengths", "send Content-Length or Transfer-Encoding, not both"
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or host_of(hosts[0].decode("latin-1")) not in self._hosts:
            return 403, "this server does not answer to that name", "name it with: swarmlore serve --host-name NAME"
        if any(name == b"origin" for name, _ in headers):
            return 403, "this server does not answer web pages", "call it from a program"
        sites = [value.decode("latin-1") for name, value in headers if name == b"sec-fetch-site"]
        if any(site not in FROM_OURSELVES for site in sites):
            return 403, "this server does not answer web pages", "call it from a program"
        return None

    def too_many_failures(self, address: str) -> bool:
        """Tell whether an address sent too many wrong tokens: 30 in a minute."""
        return not self._failures.has(address)

    def failed(self, address: str) -> None:
        """Count a wrong token of an address."""
        self._failures.take(address)


def host_of(header: str) -> str:
    """Return the name in a Host header, without its port; '' if it is malformed."""
    name, bracket, rest = header.partition("]")
    if bracket:  # [::1]:8787
        return name.removeprefix("[").lower() if name.startswith("[") and _is_port(rest) else ""
    name, colon, port = header.partition(":")
    return name.lower() if _is_port(colon + port) and name and not set(name) & set("@/\\?# ,") else ""


def _is_port(text: str) -> bool:
    return not text or (text.startswith(":") and text[1:].isascii() and text[1:].isdigit())


def token_of(headers: Headers) -> str:
    """Return the bearer token of a request; '' if it has none or several."""
    secret = [value.decode("latin-1") for name, value in headers if name == b"authorization"]
    if len(secret) != 1:
        return ""
    word, _, token = secret[0].partition(" ")
    return token.strip() if word.lower() == "bearer" else ""


class Buckets:
    """Token buckets by key: `rate` requests a second, `burst` at once."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def has(self, key: str) -> bool:
        """Tell whether a request is left for this key."""
        return self._now(key)[0] >= 1.0

    def take(self, key: str) -> float:
        """Take one request; return the seconds to wait if none is left, else 0."""
        left, now = self._now(key)
        if left < 1.0:
            return (1.0 - left) / self._rate
        self._left[key] = (left - 1.0, now)
        self._left.move_to_end(key)
        if len(self._left) > MOST_BUCKETS:
            self._left.popitem(last=False)
        return 0.0

    def _now(self, key: str) -> tuple[float, float]:
        now = self._clock()
        left, since = self._left.get(key, (self._burst, now))
        return min(self._burst, left + (now - since) * self._rate), now
