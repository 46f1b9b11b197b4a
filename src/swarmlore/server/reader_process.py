"""A reader (`readers.py`): answers questions from its own connection to the store, until nobody asks."""

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
from swarmlore.server.service import Desks, open_desks

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from swarmlore.domain.records import Token


IDLE_S = 0.5


def main(words: list[str]) -> None:
    line = Connection(int(words[1]))
    desks = open_desks(words[2], os.environ)
    try:
        desks.lore.embedding.awaited()  # while nobody asks yet
        gc.freeze()  # what is there by now stays: looking through it would only take time
        while True:
            _keep_up(desks, line)
            token, work, desks.lore.embedding.in_turn = line.recv()
            _tell(line, _found(desks, token, work))
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # whoever asked is gone
    finally:
        desks.lore.close()


def _keep_up(desks: Desks, line: Connection) -> None:
    """Take in new vectors until somebody asks: whoever asks after a long silence would wait for all of them."""
    seen = -1
    while not line.poll(IDLE_S):
        with suppress(SwarmloreError):  # whoever asks is told
            version = desks.lore.store.engine.data_version()
            if version != seen:
                desks.lore.embedding.index()
            seen = version


def _found(desks: Desks, token: Token, work: Callable[[Any], Any]) -> tuple[bool, Any]:
    try:
        return True, work(partial(desks.of, token))
    except SwarmloreError as error:
        return False, error
    except Exception as error:  # noqa: BLE001 - told to whoever asked, by its kind alone: its words could be a memory's
        return False, RuntimeError(type(error).__name__)


def _tell(line: Connection, found: tuple[bool, Any]) -> None:
    try:
        line.send(found)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        line.send((False, RuntimeError(type(error).__name__)))


if __name__ == "__main__":
    main(sys.argv)
