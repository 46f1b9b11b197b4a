"""Counts over what a caller may see, and what waits."""

from __future__ import annotations

from swarmlore.domain.records import LIVE_STATUSES, Caller
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.store.memories import Filter
from swarmlore.store.search import EMBEDDER_META
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any

_STATES = ("waiting", "running", "dead")
GROUPS = ("tier", "status", "kind", "category", "source")
UNCOUNTED = ("session", "owner", "path")  # filters of `list` by which nothing is counted beforehand


def count_listed(store: Store, caller: Caller, wanted: Filter) -> int | None:
    """How many memories `list` would show without a limit; None where only listing them would tell."""
    if wanted.tags:
        return None
    if any(getattr(wanted, name) for name in UNCOUNTED):
        return store.count_selected(caller, wanted)
    asked = {"tier": wanted.every_tier, "source": wanted.every_source}
    asked |= {name: (value,) for name in ("kind", "category") if (value := getattr(wanted, name))}
    total = 0
    for *names, rows, hidden in store.counts(caller):
        facts = dict(zip(GROUPS, names, strict=True))
        fits = all(not values or facts[name] in values for name, values in asked.items())
        if fits and facts["source"] != wanted.without:
            total += _of_status(wanted.status, facts["status"], rows, hidden)
    return total


def _of_status(wanted: str, status: str, rows: int, hidden: int) -> int:
    """How many of rows with one status `list` shows where it is asked for `wanted`."""
    if wanted in ("any", "forgotten"):
        return rows if wanted == "any" else hidden
    fits = status == wanted if wanted else status in LIVE_STATUSES
    return rows - hidden if fits else 0


def count(store: Store, caller: Caller) -> dict[str, Any]:
    """Live and forgotten memories; the live ones by tier, kind, category and source, all that are not forgotten by
    status; the store's size; what waits."""
    groups: dict[str, dict[str, int]] = {name: {} for name in GROUPS}
    live = forgotten = 0
    for *names, rows, hidden in store.counts(caller):
        is_live = names[1] in LIVE_STATUSES
        for name, value in zip(GROUPS, names, strict=True):
            if rows > hidden and (is_live or name == "status"):
                groups[name][value] = groups[name].get(value, 0) + rows - hidden
        live += rows - hidden if is_live else 0
        forgotten += hidden
    waiting = store.count_waiting(caller)
    jobs = {state: sum(many for found, _, many, _ in store.job_counts(caller) if found == state) for state in _STATES}
    mail, unread = store.count_mail(caller)
    facts = store.engine.facts()
    return {
        "live": live,
        "forgotten": forgotten,
        **{f"by_{name}": dict(sorted(values.items())) for name, values in groups.items()},
        "waiting_for_vector": waiting.get("embed", 0),
        "waiting_to_settle": waiting.get("settle", 0),
        **{f"jobs_{state}": many for state, many in jobs.items()},
        "mail": mail,
        "mail_unread": unread,
        "embedder": store.meta(EMBEDDER_META) or "not used yet",
        "store": facts["path"],
        "bytes": facts["bytes"],
    }
