"""The server's processes for its own machine: it is the daemon of its home for hooks, proxies and commands, and keeps a
worker running."""

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
from swarmlore.server.client.local_server import HANDED, request_fingerprint, settings_fingerprint
from swarmlore.server.daemon import DaemonMemory, DaemonServer
from swarmlore.server.daemon_lock import acquire
from swarmlore.server.http.body import told
from swarmlore.server.http.routes import document
from swarmlore.server.mcp.host import Bridge
from swarmlore.server.service import open_lore_cache
from swarmlore.server.worker.supervisor import WITH_PARENT

if TYPE_CHECKING:
    import asyncio
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.server.daemon_lock import DaemonLock
    from swarmlore.server.http.log import RequestLog
    from swarmlore.server.mcp.context import Context
    from swarmlore.server.service import Backend


WAIT_S = 30.0
WITH_VECTORS = ("remember", "promote", "inject")
_LATE = {"error": "that took too long", "hint": "try again in a moment", "code": "STORE_BUSY"}
BUSY = {"status": 503, "problem": _LATE}
ALONE = {"ok": False, "error": "do it alone"}  # the command runs in its own process


class _NotHere(Exception):
    """Raised if this server would handle a command differently, so that the command must run alone."""


class CommandHandler:
    """Runs the changes of commands on this machine through the group commit of the server."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run a change and return its document or its error; or tell the command to run it itself."""
        try:
            verb, given, caller = self._read(request)
            folder, profile, key = (str(request.get(name, "")) for name in ("folder", "profile", "key"))
        except (InvalidInput, _NotHere, SwarmloreError):
            return ALONE
        work = self._work(verb, given, str(request.get("settings")))
        named = (key, request_fingerprint(verb, given, profile))
        try:
            done = self._backend.write_local(caller, folder, profile, named, work).result(WAIT_S)
            return {"ok": True, "answer": json.loads(done)}
        except (_NotHere, TookTooLong) as error:
            return ALONE if isinstance(error, _NotHere) else {"ok": True, **BUSY}
        except SwarmloreError as error:
            return {"ok": True, "status": error.http_status, "problem": told(error)}

    def _read(self, request: dict[str, Any]) -> tuple[str, dict[str, Any], Caller]:
        verb = str(request.get("verb"))
        if verb not in HANDED or self._backend.writer.store.engine.remote:
            raise _NotHere
        who = request.get("caller")
        caller: Caller = make(Caller, who if isinstance(who, dict) else {}, "a caller")
        return verb, verb_named(verb).checked(request.get("given")), caller

    def _work(self, verb: str, given: dict[str, Any], settings: str) -> Any:
        def work(lore: Lore) -> str:
            if settings_fingerprint(lore) != settings or (verb in WITH_VECTORS and self._needs_model(lore, given)):
                raise _NotHere
            return json.dumps(document(verb, getattr(lore, verb)(**given)))

        return work

    def _needs_model(self, lore: Lore, given: dict[str, Any]) -> bool:
        """Tell whether the change needs the embedding model and it is not loaded: loading would block other writes."""
        return not given.get("defer") and lore.settings.embedder.kind != "none" and not lore.embedding.loaded


THREADS = "SWARMLORE_EMBEDDER_THREADS"  # embedding may use all cores, as it runs at low priority
TAKE_OVER_S = 5.0
PAUSE_S = 0.05
AGAIN_S = 1.0  # before a worker that ended is restarted
END_S = 6.0  # for the worker's job at hand


class LocalDaemon:
    """Serves hooks and proxies of this machine from the server's store."""

    def __init__(self, backend: Backend, telling: RequestLog, loop: asyncio.AbstractEventLoop) -> None:
        self._home = backend.home
        self._env = backend.env
        self._writer = backend.writer
        self._commands = CommandHandler(backend)
        self._telling = telling
        self._bridge = Bridge(loop, self._lend)
        self._memory: DaemonMemory | None = None
        self._lore: Lore | None = None
        self._server: DaemonServer | None = None

    def open(self) -> None:
        """Become the daemon of the home; another daemon hands over."""
        place = _take_over(self._home)
        if place is None:
            self._telling.say("warning", message="another process answers the hooks of this home")
            return
        # A connection of its own: the short lock timeouts of hooks must not apply to the server's writer.
        self._lore = open_lore_cache(self._home, self._env).lore
        self._writer.embedding.borrow(self._lore.embedding)  # for lessons that commands store through this server
        self._memory = DaemonMemory(self._home, self._home, "serve", {}, self._lore)
        self._server = DaemonServer(place, lambda: self._opened, self._bridge.handle, run_command=self._commands.answer)
        self._server.start()
        place.is_ready()

    @property
    def _opened(self) -> DaemonMemory:
        assert self._memory is not None
        return self._memory

    def _lend(self, context: Context) -> Lore:
        return self._opened.lore_for(context.folder, context.client, context.env, context.profile)

    async def close(self) -> None:
        """Stop the daemon and its sessions, then close its store connection."""
        if self._server is not None:
            self._server.close()
        await self._bridge.close()
        if self._memory is not None:
            self._memory.close()
        if self._lore is not None:
            self._lore.close()


def _take_over(home: str) -> DaemonLock | None:
    """Ask the running daemon to leave, and take its lock and socket; None if it does not leave within five seconds."""
    deadline = time.monotonic() + TAKE_OVER_S
    while (place := acquire(home)) is None and time.monotonic() < deadline:
        ask(socket_path(home), {"op": "leave"}, 1.0)
        time.sleep(PAUSE_S)
    return place


class WorkerProcess:
    """A worker process, restarted whenever it ends, until closed."""

    def __init__(self, home: str, *, team: bool = False) -> None:
        self._command = [sys.executable, "-m", "swarmlore", "worker", "--home", home, *(["--team"] if team else [])]
        self._home = home
        self._closed = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep, name="swarmlore-worker", daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        nothing = subprocess.DEVNULL
        while not self._closed.is_set():
            self._process = subprocess.Popen(
                self._command,
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                cwd=self._home,
                process_group=0,  # no new session: the scheduler would give it a CPU share of its own
                env={THREADS: str(os.cpu_count() or 1), **os.environ, WITH_PARENT: str(os.getpid())},
            )
            self._process.wait()
            self._closed.wait(AGAIN_S)

    def close(self) -> None:
        """Stop the worker; it finishes its job, or leaves it to the next."""
        self._closed.set()
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
