"""Processes that answer questions, so that a search takes no computing time from whoever writes.

A thread would: in one process only one thread at a time runs our code, and a writer that steps aside for each statement
would wait for a search each time it comes back. A question is a function with its arguments that is sent over, so it
has to be one that can be named (`functools.partial` of a function of a module).
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe

from swarmlore.errors import StoreBusy, Unavailable
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from swarmlore.domain.records import Token
    from swarmlore.lore import Lore

    T = TypeVar("T")
    Lend = Callable[..., Lore]


LONGEST_S = 60.0  # for one question; nobody waits for its answer any more by then
END_S = 2.0
LEAST, MOST = 2, 4


def how_many(cores: int) -> int:
    """One for two cores, which leaves the others to the writer and the worker; two at least, so that one long question
    does not hold up all others."""
    return max(LEAST, min(MOST, cores // 2))


class Reader:
    """One such process; started when first asked, and again where it has ended."""

    def __init__(self, home: str, env: Mapping[str, str]) -> None:
        self._home = home
        self._env = dict(env)
        self._process: subprocess.Popen[bytes] | None = None
        self._line: Connection | None = None

    def begin(self) -> Connection:
        """The line to it. It ends when this process does, however that ends: nobody is at the other end then."""
        if self._line is None:
            ours, theirs = Pipe()
            with theirs:
                words = [sys.executable, "-m", "swarmlore.server.reader_process", str(theirs.fileno()), self._home]
                nothing = subprocess.DEVNULL
                self._process = subprocess.Popen(
                    words,
                    stdin=nothing,
                    stdout=nothing,
                    cwd=self._home,
                    env=self._env,
                    pass_fds=[theirs.fileno()],
                    process_group=0,
                )
            self._line = ours
        return self._line

    def ask(self, token: Token, work: Callable[[Lend], T], *, sparing: bool = False) -> T:
        """What `work` finds in the memory of whoever shows this token; `sparing`, with one thread. A question changes
        nothing, so one whose reader ended is asked once more."""
        for _ in range(2):
            try:
                return self._asked(token, work, sparing)
            except (EOFError, ConnectionError):
                self.end()
        raise Unavailable("whoever answers questions here has ended twice", "try again in a moment")

    def _asked(self, token: Token, work: Callable[[Lend], T], sparing: bool) -> T:
        line = self.begin()
        line.send((token, work, sparing))
        if not line.poll(LONGEST_S):
            self.end()
            raise StoreBusy("that question took too long", "ask for less")
        found: tuple[bool, Any] = line.recv()
        well, told = found
        if not well:
            raise told
        return told  # type: ignore[no-any-return]

    def end(self) -> None:
        line, process, self._line, self._process = self._line, self._process, None, None
        if line is not None:
            line.close()
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
            process.kill()
            process.wait()
