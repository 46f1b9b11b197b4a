"""Whether the loop is closed: hooks reach us, what they bring is digested, and agents are given something.

The systems this one comes from ran for weeks with nothing injected, and nobody noticed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from swarmlore.clients.hook import socket, spool
from swarmlore.clients.hook.home import socket_path, spool_dir
from swarmlore.doctor import Check
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.domain.records import Caller, Receipt
    from swarmlore.store.store import Store

PROBLEMS_S = 7 * 86_400.0
STUCK_S = 600.0
RECEIPTS = 50
PING_S = 0.5


class Loop:
    """Checks of hooks, spool, warm process and receipts of one home."""

    def __init__(self, home: str, store: Store, caller: Caller) -> None:
        self._home = home
        self._spool = spool_dir(home)
        self._store = store
        self._caller = caller

    def checks(self, now: float) -> Iterator[Check]:
        yield from problems(self._spool, now)
        yield from self._waiting(now)
        yield self._warm()
        yield from self._events(now)
        yield from self._receipts(now)

    def _waiting(self, now: float) -> Iterator[Check]:
        """Commands digest what waits before they run; what is still there could not be digested."""
        if not spool.waits(self._spool):
            return
        oldest = min(spool.times(self._spool), default=now)
        state = "warn" if now - oldest > STUCK_S else "ok"
        hint = "see the other checks: the store may be full or locked" if state == "warn" else ""
        yield Check("spool", state, f"events wait since {ago(now - oldest)}", hint)

    def _warm(self) -> Check:
        if (told := socket.ask(socket_path(self._home), {"op": "ping"}, PING_S)) and told.get("ok"):
            return Check("warm process", "ok", "answers")
        return Check("warm process", "ok", "none: hooks answer by themselves, by words only")

    def _events(self, now: float) -> Iterator[Check]:
        last: dict[str, float] = {}
        for session in self._store.sessions(self._caller, 200):
            at = _time(session.extra.get("last_event_at")) or session.started_at
            last[session.client] = max(last.get(session.client, 0.0), at)
        for client, at in sorted(last.items()):
            if client:
                yield Check("events", "ok", f"{client}: last {ago(now - at)}")

    def _receipts(self, now: float) -> Iterator[Check]:
        found = self._store.receipts(self._caller, limit=RECEIPTS)
        if not found:
            return
        given = [receipt for receipt in found if receipt.shown]
        said = f"memories were given at {len(given)} of the last {_count(len(found), 'moment')}"
        if given:
            said += f", last {ago(now - given[0].at)}"
        yield Check("injection", "ok" if given else "warn", said + _skipped(found), "" if given else _WHY)


def problems(folder: str, now: float) -> Iterator[Check]:
    """What went wrong in hooks lately that keep their events in a folder."""
    lately = [item for item in spool.problems(folder) if now - _time(item.get("at")) < PROBLEMS_S]
    if lately:
        last = lately[-1]
        said = f"{_count(len(lately), 'problem')} in 7 days; last {ago(now - _time(last.get('at')))}"
        what = f"{last.get('hook', '')}: {last.get('what', '')}".strip(": ")
        yield Check(
            "hooks", "warn", f"{said}: {what}", "docs/hooks.md tells how hooks work; this goes away after 7 days"
        )


_WHY = "swarmlore receipts shows each moment and its reason"


def _skipped(found: list[Receipt]) -> str:
    reasons = Counter(receipt.reason for receipt in found if not receipt.shown)
    return "".join(f"; {count} × {reason}" for reason, count in reasons.most_common(2))


def _time(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def ago(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return "just now"
