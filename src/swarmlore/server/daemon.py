"""The daemon: one `Lore` per home, shared by hooks and MCP proxies over a socket; a thread per connection, one JSON
object per line."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time

from swarmlore.background import BackgroundResult
from swarmlore.capture.answering import answer
from swarmlore.capture.lore_pool import LorePool
from swarmlore.capture.pipeline import SpoolReader
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.event import AGENT_START, COMPACTED, from_plain, is_answered
from swarmlore.clients.hook.home import spool_dir
from swarmlore.clients.hook.socket import MOST_LINE, peer_is_us
from swarmlore.errors import StoreBusy, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.lore import Lore
from swarmlore.retrieval.context import DeadlinePassed
from swarmlore.server.daemon_lock import DaemonLock
from swarmlore.server.worker.child import run_due_jobs
from swarmlore.server.worker.handlers import embed
from swarmlore.server.worker.supervisor import KINDS, is_due, new_owner

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping
    from typing import Any

    from swarmlore.clients.hook.event import Event

    Sessions = Callable[[socket.socket, dict[str, Any]], None]


EMBED = ("embed",)
INDEX_S = 60.0  # between two checks for many new vectors


class QueuePoller:
    """Thread that polls the job queue every few seconds, and when woken, and starts a worker if jobs are due."""

    def __init__(self, lore: Lore, note: Callable[[str, Exception], None]) -> None:
        self._lore = lore
        self._note = note
        self._wake = threading.Event()
        self._closed = False
        self._index_at = 0.0
        self._worker: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._work, name="swarmlore-chores", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Make the poller thread look at the job queue at once instead of at its next interval."""
        self._wake.set()

    def close(self, wait_s: float) -> None:
        """Start no more work; a running worker finishes its job, or leaves it to the next."""
        self._closed = True
        self._wake.set()
        self._thread.join(wait_s)
        if self._worker is not None:
            self._worker.terminate()

    def _work(self) -> None:
        while not self._closed:
            self._wake.wait(self._lore.settings.worker.poll_s)
            self._wake.clear()
            try:
                self._poll()
            except (SwarmloreError, OSError) as error:
                if not self._closed:
                    self._note("worker", error)

    def _poll(self) -> None:
        """Queue an index build if it is due, embed here if the model is loaded, and start a worker for other jobs."""
        if self._closed:
            return
        if time.monotonic() > self._index_at:
            self._index_at = time.monotonic() + INDEX_S
            self._lore.index_later()
        if self._lore.embedding.loaded and is_due(self._lore, EMBED):
            run_due_jobs(self._lore, {"embed": embed}, new_owner(), lambda: self._closed)
        busy = self._worker is not None and self._worker.poll() is None
        if not busy and not self._closed and is_due(self._lore):
            self._worker = start(self._lore.home)


def start(home: str) -> subprocess.Popen[bytes]:
    """Start a one-shot worker process: this process has threads, and handlers may misbehave."""
    import subprocess

    kinds = [word for kind in KINDS for word in ("--kind", kind)]
    command = [sys.executable, "-m", "swarmlore", "worker", "--until-empty", "--home", home, *kinds]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, cwd=home, start_new_session=True)


LAST_DRAIN_S = 1.0  # at the end; the other events wait for the next process
DIGEST_S = 0.5
ANSWER_S = 1.2  # a hook waits a little longer
WRITER_S = 0.5  # wait for a writer in another process, while requests wait here; then the next round tries again
RETRY_S = 0.2
IDLE_S = 30.0  # between two checks of the spool, in which hooks leave events when the daemon does not answer
CATCH_UP = 8


class DaemonMemory:
    """The `Lore` of a home, opened once and shared by many threads, and the thread that digests spooled events."""

    def __init__(self, home: str, cwd: str, client: str, env: Mapping[str, str], served: Lore | None = None) -> None:
        """`served` is the open `Lore` of a server, which has its own worker."""
        self.home = home
        self._spool = spool_dir(home)
        self._served = served is not None
        self._lore = served or Lore.open(home, cwd=cwd, client=client, env={**os.environ, **env})
        self._siblings = LorePool(self._lore)
        self._digester = SpoolReader(self._lore, self._siblings)
        self._wake = threading.Event()
        self._closed = False
        self._poller = None if self._served else QueuePoller(self._lore, self._note)
        self._worker = threading.Thread(target=self._work, name="swarmlore-digest", daemon=True)
        self._worker.start()

    def lore_for(self, cwd: str, client: str, env: Mapping[str, str], profile: str = "") -> Lore:
        """Return the `Lore` for a client in a folder, with the ranking of a profile if its tools have one."""
        return self._siblings.of_folder(cwd, client, env, profile)

    def take(self, record: Any, quiet: bool = False) -> dict[str, Any]:
        """Spool an event and, if its kind expects context, return the context block. With `quiet` another hook answers
        it. The event is on disk before this returns."""
        deadline = time.monotonic() + ANSWER_S
        event = from_plain(record)
        if event is None:
            return {"ok": False, "error": "that is no event"}
        if quiet or not is_answered(event):
            self._keep(record)
            return {"ok": True, "text": ""}
        kept = BackgroundResult(lambda: self._keep(record))  # the fsync runs in parallel with the recall
        try:
            self._wait_for_digest(event.moment, kept)
            answered = self._answer(event, deadline)
        except Exception as error:  # noqa: BLE001 - a hook's entry point: the event is kept, and a failed answer must not end the thread
            self._note(event.name, error)
            answered = {"ok": True, "text": ""}
        kept.result()
        return answered

    def _keep(self, record: dict[str, Any]) -> None:
        spool.append(self._spool, record)
        self._wake.set()

    def _answer(self, event: Event, deadline: float) -> dict[str, Any]:
        """Return the context for an event before the deadline: a late one would leave a receipt of memories never
        shown."""
        lore = self._siblings.of_actor(event)
        with lore.acting():
            left = deadline - time.monotonic()
            if left <= 0:
                return {"ok": False, "error": "too late"}
            with lore.store.engine.hurried(left):
                try:
                    return {"ok": True, "text": answer(lore, event, self._mode, deadline)}
                except DeadlinePassed:
                    return {"ok": False, "error": "too late"}

    def _wait_for_digest(self, moment: str, kept: BackgroundResult) -> None:
        """Wait up to half a second for spooled events, if the answer depends on what the session just did."""
        if moment not in (COMPACTED, AGENT_START):
            return
        kept.result()
        deadline = time.monotonic() + DIGEST_S
        while spool.has_events(self._spool) and time.monotonic() < deadline:
            time.sleep(0.01)

    @property
    def has_model(self) -> bool:
        """Whether the embedding model is loaded."""
        return self._lore.embedding.loaded

    @property
    def _mode(self) -> str:
        """Search mode of answers: lexical while the model loads, as an agent waits."""
        return "" if self.has_model else "keyword"

    def _work(self) -> None:
        """Load the model, then digest new events and embed pending texts, until closed."""
        self._digest()
        self._try(self._lore.embedding.embedder)
        self._wake.set()
        while not self._closed:
            self._wake.wait(IDLE_S)
            self._wake.clear()
            self._digest()

    def _digest(self) -> None:
        with self._lore.store.engine.hurried(WRITER_S):
            self._try(self._drain)
            self._try(self._catch_up)
        if self._poller is not None:
            self._poller.wake()  # the digested events may have queued jobs

    def _drain(self) -> None:
        while any(self._digester.drain(LAST_DRAIN_S).counts) and not self._closed:
            pass

    def _catch_up(self) -> None:
        """Embed pending texts in small batches, so that a request waits for one batch at most."""
        while not self._served and self.has_model and self._lore.catch_up(CATCH_UP) and not self._wake.is_set():
            pass

    def _try(self, work: Callable[[], object]) -> None:
        """Run `work`; record an error for `doctor`, and let the next round try again."""
        try:
            work()
        except StoreBusy:
            time.sleep(RETRY_S)
            self._wake.set()  # another process writes: try again soon
        except Exception as error:  # noqa: BLE001 - the worker's loop must survive a full disk and a broken event
            self._note("digest", error)
            time.sleep(RETRY_S)  # no tight loop on a full store

    def _note(self, hook: str, error: Exception) -> None:
        what = error.message if isinstance(error, SwarmloreError) else type(error).__name__
        with contextlib.suppress(OSError):
            spool.note_problem(self._spool, {"at": round(time.time(), 3), "hook": hook, "what": what[:200]})

    def close(self) -> None:
        """Digest events for a second at most, then close the store."""
        if self._closed:
            return
        self._closed = True
        self._wake.set()
        self._worker.join(LAST_DRAIN_S)
        if self._poller is not None:
            self._poller.close(LAST_DRAIN_S)
        with contextlib.suppress(SwarmloreError, OSError):  # the events stay spooled
            self._digester.drain(LAST_DRAIN_S)
        if not self._served:
            self._lore.close()


MOST_THREADS = 64
READ_S = 5.0
PAUSE_S = 0.05


class DaemonServer:
    """Socket server of a home. `sessions` serves MCP sessions of proxies; `leave` is called when the HTTP server takes
    over the socket; `run_command` runs the changes of commands."""

    def __init__(
        self,
        place: DaemonLock,
        memory: Callable[[], DaemonMemory],
        sessions: Sessions | None = None,
        leave: Callable[[], None] | None = None,
        run_command: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        self._place = place
        self._memory = memory
        self._sessions = sessions
        self._leave = leave
        self._run_command = run_command
        self._free_threads = threading.BoundedSemaphore(MOST_THREADS)
        self._closed = False
        self._opened: DaemonMemory | None = None
        self._thread = threading.Thread(target=self._listen, name="swarmlore-warm", daemon=True)

    def start(self) -> None:
        """Start accepting connections."""
        self._thread.start()

    def close(self) -> None:
        """Stop accepting connections and release the socket."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._place.listener.shutdown(socket.SHUT_RDWR)  # wakes the accepting thread
        self._place.close()

    def _listen(self) -> None:
        while not self._closed:
            try:
                sock, _ = self._place.listener.accept()
            except OSError:  # closed, or out of file descriptors for the moment
                time.sleep(0 if self._closed else PAUSE_S)
                continue
            if not self._let_in(sock):
                sock.close()  # a rejected hook keeps its event in the spool

    def _let_in(self, sock: socket.socket) -> bool:
        """Serve a connection in a new thread; return False if its user is another one or too many threads run."""
        try:
            if not peer_is_us(sock) or not self._free_threads.acquire(blocking=False):
                return False
        except OSError:
            return False
        try:
            threading.Thread(target=self._serve, args=(sock,), name="swarmlore-answer", daemon=True).start()
        except RuntimeError:  # no thread can be started
            self._free_threads.release()
            return False
        return True

    def _serve(self, sock: socket.socket) -> None:
        try:
            sock.settimeout(READ_S)
            request = _read(sock)
            if request is None:
                return
            if request.get("op") == "mcp" and self._sessions is not None:
                self._send(sock, {"ok": True})
                sock.settimeout(None)
                self._free_threads.release()
                try:
                    self._sessions(sock, request)
                finally:
                    self._free_threads.acquire()
            elif request.get("op") == "leave":
                self._send(sock, {"ok": self._leave is not None})
                if self._leave is not None:
                    self._leave()
            else:
                self._send(sock, self._answer(request))
        except (OSError, SwarmloreError):
            pass  # the client is gone, or this process ends; a hook without an answer keeps its event
        finally:
            sock.close()
            self._free_threads.release()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("op") == "ping":
            return {"ok": True, "model": self._opened is not None and self._opened.has_model}
        if request.get("op") == "event":
            self._opened = self._memory()
            return self._opened.take(request.get("event"), quiet=request.get("quiet") is True)
        if request.get("op") == "ask" and self._run_command is not None:
            return self._run_command(request)
        return {"ok": False, "error": "unknown request"}

    @staticmethod
    def _send(sock: socket.socket, answer: dict[str, Any]) -> None:
        sock.sendall(json.dumps(answer, separators=(",", ":")).encode() + b"\n")


def _read(sock: socket.socket) -> dict[str, Any] | None:
    """Read one line of JSON; a proxy sends nothing after it before it is answered."""
    data = b""
    while not data.endswith(b"\n"):
        chunk = sock.recv(65_536)
        if not chunk or len(data) > MOST_LINE:
            return None
        data += chunk
    try:
        request = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return request if isinstance(request, dict) else None
