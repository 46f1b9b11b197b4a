"""Answering a hook without a warm process: by words, from this process, with nothing heavier than the store."""

from __future__ import annotations

import contextlib
import os

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.hooks.entry import Places
    from swarmlore.hooks.event import Event

WAIT_S = 0.6  # for a writer, before the client is answered without the memory
DIGEST_S = 1.5  # for what waits: the lesson of the last session may be in it


def answer(event: Event, places: Places) -> str:
    """The context for a moment of a session, or ''."""
    from swarmlore.capture.answering import TRIGGERS
    from swarmlore.capture.answering import answer as answer_event
    from swarmlore.capture.digest import Digester
    from swarmlore.capture.siblings import Siblings
    from swarmlore.errors import StoreError
    from swarmlore.lore import Lore

    if event.moment not in TRIGGERS:
        return ""
    env = {**os.environ, "SWARMLORE_STORE_LOCK_TIMEOUT_S": str(WAIT_S)}
    with Lore.open(places.home, cwd=event.cwd or places.home, client=event.client, env=env) as lore:
        siblings = Siblings(lore)
        with contextlib.suppress(StoreError, OSError):  # busy or full: it goes on waiting, and reading goes on
            Digester(lore, siblings).drain(DIGEST_S, hurry=True)
        return answer_event(siblings.of_event(event), event, "keyword")
