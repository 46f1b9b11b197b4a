"""Whose request it is: asked of the store, and for a team's store beside the loop that serves everybody.

A database on another machine may be slow or away. Whoever showed a good token a moment ago is then not looked up again,
and nobody waits for the lookup of another.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from swarmlore.errors import StoreBusy, StoreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from swarmlore.domain.records import Token

KNOWN_S = 1.0  # a token is not looked up again for so long; after that a revoked one is known to be
LOOK_S = 3.0  # for one lookup
ALIVE_S = 0.5  # for one, where it is enough that somebody was known before
AT_ONCE = 4
MOST_KNOWN = 4_096


class Porter:
    """Recognises tokens. `look` asks the store; `beside` says that this may take long."""

    def __init__(self, look: Callable[[str], Token | None], *, beside: bool) -> None:
        self._look = look
        self._threads = ThreadPoolExecutor(AT_ONCE, "swarmlore-porter") if beside else None
        self._known: OrderedDict[bytes, tuple[Token, float]] = OrderedDict()
        self._asked: dict[bytes, asyncio.Task[Token | None]] = {}

    async def recognise(self, shown: str, *, former: bool = False) -> Token | None:
        """Whose token this is. `former`: where the store does not answer, whoever was known before will do."""
        if self._threads is None:
            return self._look(shown)
        key = hashlib.sha256(shown.encode("utf-8", "surrogatepass")).digest()
        token, since = self._known.get(key, (None, 0.0))
        if token is not None and time.monotonic() - since < KNOWN_S:
            return token if token.holds(time.time()) else None
        known = former and token is not None
        try:
            return await asyncio.wait_for(asyncio.shield(self._asking(key, shown)), ALIVE_S if known else LOOK_S)
        except (StoreError, TimeoutError) as error:
            if known:
                return token
            if isinstance(error, StoreError):
                raise
            raise StoreBusy("the database does not answer", "try again in a moment") from None

    def _asking(self, key: bytes, shown: str) -> asyncio.Task[Token | None]:
        """One lookup for all who show the same token at the same time."""
        if key not in self._asked:
            self._asked[key] = asyncio.create_task(self._ask(key, shown))
            self._asked[key].add_done_callback(
                lambda done: (self._asked.pop(key), done.cancelled() or done.exception())
            )
        return self._asked[key]

    async def _ask(self, key: bytes, shown: str) -> Token | None:
        assert self._threads is not None
        asked = asyncio.get_running_loop().run_in_executor(self._threads, self._look, shown)
        token = await asyncio.wait_for(asked, LOOK_S)  # what was not begun by then is not done
        self._known.pop(key, None)
        if token is not None:
            self._known[key] = (token, time.monotonic())
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        return token

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
