"""The memory of one connection as each caller sees it."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict

from swarmlore.config import stamps
from swarmlore.domain.records import Caller
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.lore import Lore
from swarmlore.memory.tokens import caller_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from swarmlore.domain.records import Token

MOST_KNOWN = 512  # callers whose memory is kept at hand
SERVER = Caller("", "swarmlore-server", "worker", 2)


def open_desks(home: str | None, env: Mapping[str, str]) -> Desks:
    """A connection of a server, which makes no vectors while somebody waits: its worker does."""
    made = Desks(Lore.open(home, cwd=os.path.sep, caller=SERVER, env=env))
    made.lore.embedding.leave_to_worker()
    return made


class Desks:
    """The memory of one connection as each caller sees it."""

    def __init__(self, lore: Lore) -> None:
        self.lore = lore
        self._made: OrderedDict[tuple[object, ...], Lore] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, token: Token, profile: str = "", stacks: tuple[str, ...] = ()) -> Lore:
        """The memory as whoever shows this token sees it, by the rules of a profile where its door has some; `stacks`
        is what its project is built with."""
        return self.of_caller((token.id,), caller_of(token), token.folder, profile, stacks)

    def of_caller(
        self, who: tuple[object, ...], caller: Caller, folder: str, profile: str = "", stacks: tuple[str, ...] = ()
    ) -> Lore:
        """The memory as a caller sees it that is known as `who`."""
        settings = stamps(self.lore.home, folder or self.lore.home)
        key = (*who, profile, stacks, settings)  # settings count from the moment they are written
        with self._lock:
            if key not in self._made:
                self._made[key] = self.lore.acting_as(caller, folder, profile, stacks)
                if len(self._made) > MOST_KNOWN:
                    self._made.popitem(last=False)
            self._made.move_to_end(key)
            return self._made[key]
