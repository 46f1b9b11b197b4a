"""Counts over what a caller may see, and what waits."""

from __future__ import annotations

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.records import LIVE_STATUSES, Caller
from swarmlore.store.search import EMBEDDER_META
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any

GROUPS = ("tier", "status", "kind", "category", "source")


def count(store: Store, caller: Caller) -> dict[str, Any]:
    """Live and forgotten memories, by tier, status, kind, category and source; the store's size; what waits."""
    groups: dict[str, dict[str, int]] = {name: {} for name in GROUPS}
    live = forgotten = 0
    for *names, rows, hidden in store.counts(caller):
        for name, value in zip(GROUPS, names, strict=True):
            groups[name][value] = groups[name].get(value, 0) + rows - hidden
        live += rows - hidden if names[1] in LIVE_STATUSES else 0
        forgotten += hidden
    waiting = store.count_waiting(caller)
    facts = store.engine.facts()
    return {
        "live": live,
        "forgotten": forgotten,
        **{f"by_{name}": dict(sorted(values.items())) for name, values in groups.items()},
        "waiting_for_vector": waiting.get("embed", 0),
        "waiting_to_settle": waiting.get("settle", 0),
        "embedder": store.meta(EMBEDDER_META) or "not used yet",
        "store": facts["path"],
        "bytes": facts["bytes"],
    }
