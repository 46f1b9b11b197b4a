"""What a server does for its own machine: it is the warm process of its home, and has a worker beside it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import TimeoutError as TookTooLong

from swarmlore.clients.hook.home import socket_path
from swarmlore.clients.hook.socket import ask
from swarmlore.domain.records import Caller, make
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.lore.verbs import verb_named
from swarmlore.server.client.local_server import HANDED, asked, mark
from swarmlore.server.daemon import SharedMemory, WarmServer
from swarmlore.server.daemon_lock import elect
from swarmlore.server.http.body import told
from swarmlore.server.http.routes import document
from swarmlore.server.mcp.host import Bridge
from swarmlore.server.service import open_desks
from swarmlore.server.worker.supervisor import WITH_PARENT

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.server.daemon_lock import Elected
    from swarmlore.server.http.log import Telling
    from swarmlore.server.mcp.server import Context
    from swarmlore.server.service import Hall


WAIT_S = 30.0
WITH_VECTORS = ("remember", "promote", "inject")
ALONE = {"ok": False, "error": "do it alone"}  # the same command, without us


class _Unlike(Exception):
    """This server would not do the same as the command."""


class CommandDesk:
    """Takes changes in turn with those of everybody else."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What became of a change: its document, or the error; or that the command had better make it itself."""
        try:
            verb, given, caller = self._read(request)
            folder, profile, key = (str(request.get(name, "")) for name in ("folder", "profile", "key"))
        except (InvalidInput, _Unlike, SwarmloreError):
            return ALONE
        work = self._work(verb, given, str(request.get("settings")))
        named = (key, asked(verb, given, profile))
        try:
            done = self._hall.write_here(caller, folder, profile, named, work).result(WAIT_S)
            return {"ok": True, "answer": json.loads(done)}
        except (_Unlike, TookTooLong) as error:
            return ALONE if isinstance(error, _Unlike) else {"ok": True, **_busy()}
        except SwarmloreError as error:
            return {"ok": True, "status": error.http_status, "problem": told(error)}

    def _read(self, request: dict[str, Any]) -> tuple[str, dict[str, Any], Caller]:
        verb = str(request.get("verb"))
        if verb not in HANDED or self._hall.writer.store.engine.remote:
            raise _Unlike
        who = request.get("caller")
        caller: Caller = make(Caller, who if isinstance(who, dict) else {}, "a caller")
        return verb, verb_named(verb).checked(request.get("given")), caller

    def _work(self, verb: str, given: dict[str, Any], settings: str) -> Any:
        def work(lore: Lore) -> str:
            if mark(lore) != settings or (verb in WITH_VECTORS and self._needs_model(lore, given)):
                raise _Unlike
            return json.dumps(document(verb, getattr(lore, verb)(**given)))

        return work

    def _needs_model(self, lore: Lore, given: dict[str, Any]) -> bool:
        """Whether a vector is to be made, and the model for it is not here: loading it would keep everybody waiting."""
        return not given.get("defer") and lore.settings.embedder.kind != "none" and not lore.embedding.loaded


def _busy() -> dict[str, Any]:
    return {
        "status": 503,
        "problem": {"error": "that took too long", "hint": "try again in a moment", "code": "STORE_BUSY"},
    }


THREADS = "SWARMLORE_EMBEDDER_THREADS"  # for vectors: whatever nobody else uses at the moment
TAKE_OVER_S = 5.0
PAUSE_S = 0.05
AGAIN_S = 1.0  # before the next worker, where one ended by itself
END_S = 6.0  # for the worker's job at hand


class Household:
    """Answers hooks and proxies of this machine from the server's own memory."""

    def __init__(self, hall: Hall, telling: Telling, loop: asyncio.AbstractEventLoop) -> None:
        self._home = hall.home
        self._env = hall.env
        self._writer = hall.writer
        self._desk = CommandDesk(hall)
        self._telling = telling
        self._bridge = Bridge(loop, self._lend)
        self._memory: SharedMemory | None = None
        self._lore: Lore | None = None
        self._server: WarmServer | None = None

    def open(self) -> None:
        """Become the warm process; whoever was it so far makes room."""
        place = _take_over(self._home)
        if place is None:
            self._telling.say("warning", message="another process answers the hooks of this home")
            return
        # Over a connection of its own: a hook hurries, and the writer of the server must not hurry with it.
        self._lore = open_desks(self._home, self._env).lore
        self._writer.embedding.borrow(self._lore.embedding)  # for the lessons that commands hand over
        self._memory = SharedMemory(self._home, self._home, "serve", {}, self._lore)
        self._server = WarmServer(place, lambda: self._opened, self._sessions, asked=self._desk.answer)
        self._server.start()
        place.is_ready()

    @property
    def _opened(self) -> SharedMemory:
        assert self._memory is not None
        return self._memory

    def _lend(self, context: Context) -> Lore:
        return self._opened.lore_for(context.folder, context.client, context.env, context.profile)

    def _sessions(self, sock: Any, hello: Mapping[str, Any]) -> None:
        self._bridge.handle(sock, hello)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        await self._bridge.close()
        if self._memory is not None:
            self._memory.close()
        if self._lore is not None:
            self._lore.close()


def _take_over(home: str) -> Elected | None:
    """The place of the warm process, once whoever has it has made room; None where it does not."""
    deadline = time.monotonic() + TAKE_OVER_S
    while (place := elect(home)) is None and time.monotonic() < deadline:
        ask(socket_path(home), {"op": "leave"}, 1.0)
        time.sleep(PAUSE_S)
    return place


class Beside:
    """A worker in a process of its own, started again whenever it ends, until closed."""

    def __init__(self, home: str, *, team: bool = False) -> None:
        self._words = [sys.executable, "-m", "swarmlore", "worker", "--home", home, *(["--team"] if team else [])]
        self._home = home
        self._closed = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep, name="swarmlore-worker", daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        nothing = subprocess.DEVNULL
        while not self._closed.is_set():
            self._process = subprocess.Popen(
                self._words,
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                cwd=self._home,
                process_group=0,  # a session of its own would have a share of the processors of its own
                env={THREADS: str(os.cpu_count() or 1), **os.environ, WITH_PARENT: str(os.getpid())},
            )
            self._process.wait()
            self._closed.wait(AGAIN_S)

    def close(self) -> None:
        """End it; the job at hand is brought to its end, or left to the next."""
        self._closed.set()
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
