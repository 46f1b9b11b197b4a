"""Main loop of a reader process (`readers.py`): answers queries from its own store connection until its parent is
gone."""

from __future__ import annotations

import gc
import os
import pickle
import sys
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.server.service import LoreCache, open_lore_cache

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from swarmlore.domain.records import Token


IDLE_S = 0.5


def main(argv: list[str]) -> None:
    """Answer queries from the pipe until it closes; `argv` holds the file descriptor of the pipe and the home."""
    pipe = Connection(int(argv[1]))
    lores = open_lore_cache(argv[2], os.environ)
    try:
        lores.lore.embedding.awaited()  # loads the model before the first query
        gc.freeze()  # keep the long-lived objects out of later garbage collections
        while True:
            _keep_up(lores, pipe)
            token, work, lores.lore.embedding.in_turn = pipe.recv()
            _send(pipe, _result_of(lores, token, work))
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # the parent is gone
    finally:
        lores.lore.close()


def _keep_up(lores: LoreCache, pipe: Connection) -> None:
    """Load new vectors while idle, so that a query after a long silence does not wait for all of them."""
    seen = -1
    while not pipe.poll(IDLE_S):
        with suppress(SwarmloreError):  # the next query reports the error
            version = lores.lore.store.engine.data_version()
            if version != seen:
                lores.lore.embedding.index()
            seen = version


def _result_of(lores: LoreCache, token: Token, work: Callable[[Any], Any]) -> tuple[bool, Any]:
    """Run a query; return whether it succeeded, and its result or its error."""
    try:
        return True, work(partial(lores.of, token))
    except SwarmloreError as error:
        return False, error
    except Exception as error:  # noqa: BLE001 - only its type is returned: its message could hold the text of a memory
        return False, RuntimeError(type(error).__name__)


def _send(pipe: Connection, result: tuple[bool, Any]) -> None:
    """Send a result; if it cannot be pickled, send the name of that error instead."""
    try:
        pipe.send(result)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        pipe.send((False, RuntimeError(type(error).__name__)))


if __name__ == "__main__":
    main(sys.argv)
