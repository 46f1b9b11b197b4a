"""Reader processes: they answer queries, so that a search takes no CPU time from the writer.

Threads would not help: because of the GIL a writer that releases it for each statement would wait for a search each
time. A query is a function with its arguments that is pickled and sent over, so it must be importable by name
(`functools.partial` of a function of a module).
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
    from typing import TypeVar

    from swarmlore.domain.records import Token
    from swarmlore.lore import Lore

    T = TypeVar("T")
    Lend = Callable[..., Lore]


LONGEST_S = 60.0  # for one query; its caller has timed out by then
END_S = 2.0
FEWEST, MOST = 2, 4


def how_many(cores: int) -> int:
    """Return the number of reader processes: one per two cores, which leaves the others to the writer and the worker;
    at least two, so that one long query does not block all others; at most four."""
    return max(FEWEST, min(MOST, cores // 2))


class Reader:
    """One reader process; it starts with the first query, and again if it ended."""

    def __init__(self, home: str, env: Mapping[str, str]) -> None:
        self._home = home
        self._env = dict(env)
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    def begin(self) -> Connection:
        """Start the process if needed and return the pipe to it, which ends it when this process ends."""
        if self._pipe is None:
            ours, theirs = Pipe()
            with theirs:
                command = [sys.executable, "-m", "swarmlore.server.reader_process", str(theirs.fileno()), self._home]
                nothing = subprocess.DEVNULL
                self._process = subprocess.Popen(
                    command,
                    stdin=nothing,
                    stdout=nothing,
                    cwd=self._home,
                    env=self._env,
                    pass_fds=[theirs.fileno()],
                    process_group=0,
                )
            self._pipe = ours
        return self._pipe

    def ask(self, token: Token, work: Callable[[Lend], T], *, sparing: bool = False) -> T:
        """Run `work` in the reader with the token's memory; `sparing` limits it to one thread. A query changes nothing,
        so it is sent a second time if the reader ended."""
        for _ in range(2):
            try:
                return self._send(token, work, sparing)
            except (EOFError, ConnectionError):
                self.end()
        raise Unavailable("whoever answers questions here has ended twice", "try again in a moment")

    def _send(self, token: Token, work: Callable[[Lend], T], sparing: bool) -> T:
        pipe = self.begin()
        pipe.send((token, work, sparing))
        if not pipe.poll(LONGEST_S):
            self.end()
            raise StoreBusy("that question took too long", "ask for less")
        ok, result = pipe.recv()
        if not ok:
            raise result
        return result  # type: ignore[no-any-return]

    def end(self) -> None:
        """Stop the process, and kill it after two seconds."""
        pipe, process, self._pipe, self._process = self._pipe, self._process, None, None
        if pipe is not None:
            pipe.close()
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
            process.kill()
            process.wait()
