"""State of the store's vector file, and whether a new one is due; the file itself is not loaded."""

from __future__ import annotations

import json

from swarmlore.config import RecallSettings
from swarmlore.frozen import frozen
from swarmlore.store.memories import FILE_META
from swarmlore.store.store import Store

TAIL = 20_000  # newer vectors, searched exactly, from which a new file is built
TAIL_SHARE = 0.05  # or this share of the file's vectors, if that is more


@frozen
class Known:
    """The vector file that belongs to the store, as recorded in the store."""

    token: str = ""
    provider: str = ""
    change: int = 0
    rows: int = 0

    def facts(self) -> dict[str, str | int]:
        """Return the fields as a dict, for JSON."""
        return {"token": self.token, "provider": self.provider, "change": self.change, "rows": self.rows}


def known(store: Store) -> Known:
    """Return the store's record of its vector file; the token is empty if it has none."""
    stored = store.meta(FILE_META)
    return Known(**json.loads(stored)) if stored else Known()


def is_many(store: Store, own: RecallSettings) -> bool:
    """Return whether there are more vectors than are searched exactly."""
    return own.approximate and store.count_changed(0, own.exact_rows + 1) > own.exact_rows


def can_build(store: Store, own: RecallSettings) -> bool:
    """Return whether a vector file would help and can be built here."""
    if store.engine.remote or store.engine.readonly or not is_many(store, own):
        return False
    from swarmlore.store.vectors.approximate import can_shorten, library

    newest = store.newest_vector()
    return newest is not None and can_shorten(newest[1]) and library() is not None


def is_due(store: Store, home: str, own: RecallSettings) -> bool:
    """Return whether a vector file would help and is missing or far behind; reads only."""
    if not can_build(store, own):
        return False
    from swarmlore.store.vectors.mapped_file import is_there

    newest, has = store.newest_vector(), known(store)
    if newest is None or has.provider != newest[0] or not is_there(home, has.token):
        return True
    most = max(TAIL, int(TAIL_SHARE * has.rows))
    return store.count_changed(has.change, most + 1) > most
