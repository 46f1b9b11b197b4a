"""What the language model may cost a day, and what it has cost so far: counted in the store, for all processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256

from swarmlore.config import WriterSettings
from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.context_block import estimate_tokens
from swarmlore.errors import SwarmloreError, Unavailable
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from swarmlore.providers.base import Writer

META = "writer_spent"
HINT = "swarmlore config writer.calls_per_day N and writer.tokens_per_day N; it begins anew at midnight (UTC)"


@frozen
class Spent:
    """Calls and estimated tokens of one day."""

    day: str
    calls: int = 0
    tokens: int = 0


class Spending:
    """The account of one store's language model."""

    def __init__(self, store: Store, settings: WriterSettings, clock: Callable[[], float]) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock

    def today(self) -> Spent:
        """What was spent today; what cannot be read counts as nothing."""
        day = (iso(self._clock()) or "")[:10]
        try:
            told = json.loads(self._store.meta(META) or "{}")
            spent = Spent(str(told["day"]), int(told["calls"]), int(told["tokens"]))
        except (ValueError, KeyError, TypeError):
            return Spent(day)
        return spent if spent.day == day else Spent(day)

    def is_used_up(self, share: float = 1.0) -> bool:
        """Whether nothing more may be asked today; with a share, of that much of it."""
        spent, own = self.today(), self._settings
        return spent.calls >= share * own.calls_per_day or spent.tokens >= share * own.tokens_per_day

    def take(self, tokens: int) -> None:
        """Count one call of so many tokens before it is made, so that one that fails counts too; or refuse it."""
        own = self._settings
        with self._store.engine.writing():
            spent = self.today()
            if spent.calls + 1 > own.calls_per_day:
                raise Unavailable(f"the language model was asked {spent.calls} times today", HINT)
            if spent.tokens + tokens > own.tokens_per_day:
                raise Unavailable(f"the language model has used {spent.tokens} tokens today", HINT)
            self._keep(Spent(spent.day, spent.calls + 1, spent.tokens + tokens))

    def give_back(self, tokens: int) -> None:
        """Tokens that were counted for an answer and not used."""
        with self._store.engine.writing():
            spent = self.today()
            self._keep(Spent(spent.day, spent.calls, max(0, spent.tokens - tokens)))

    def leave(self, what: str, *, left: bool) -> None:
        """Note that something was not come to today, or that nothing is left of it."""
        day = self.today().day if left else ""
        if self._store.meta(_left(what)) != day:
            self._store.set_meta(_left(what), day)

    def was_left(self, what: str) -> bool:
        """Whether something was not come to on another day."""
        return self._store.meta(_left(what)) not in ("", self.today().day)

    def _keep(self, spent: Spent) -> None:
        told = {"day": spent.day, "calls": spent.calls, "tokens": spent.tokens}
        self._store.set_meta(META, json.dumps(told))


def _left(what: str) -> str:
    return f"writer_left:{sha256(what.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


class Capped:
    """A writer that stays within what it may cost."""

    def __init__(self, writer: Writer, spending: Spending) -> None:
        self.name = writer.name
        self._writer = writer
        self._spending = spending

    def complete(self, system: str, user: str, *, max_tokens: int = 512) -> str:
        self._spending.take(estimate_tokens(len(system) + len(user)) + max_tokens)
        answer = self._writer.complete(system, user, max_tokens=max_tokens)
        self._give_back(max_tokens - estimate_tokens(len(answer)))
        return answer

    def _give_back(self, tokens: int) -> None:
        try:
            if tokens > 0:
                self._spending.give_back(tokens)
        except SwarmloreError:
            return  # the answer is there; counting too much does less harm than asking again
