"""Listening for hooks and proxies: a thread per connection, one JSON object per line."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time

from swarmlore.background import Meanwhile
from swarmlore.capture.answering import answer
from swarmlore.capture.lore_pool import Siblings
from swarmlore.capture.pipeline import Digester
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.event import AGENT_START, COMPACTED, from_plain, is_answered
from swarmlore.clients.hook.home import spool_dir
from swarmlore.clients.hook.socket import MOST_LINE, peer_is_us
from swarmlore.errors import StoreBusy, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.lore import Lore
from swarmlore.retrieval.context import TooLate
from swarmlore.server.daemon_lock import Elected
from swarmlore.server.worker.child import do_here
from swarmlore.server.worker.handlers import embed
from swarmlore.server.worker.supervisor import KINDS, is_due, new_owner

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping
    from typing import Any

    from swarmlore.clients.hook.event import Event

    Sessions = Callable[[socket.socket, dict[str, Any]], None]


EMBED = ("embed",)
INDEX_S = 60.0  # between two looks whether there are many new vectors


class Chores:
    """Looks at the queue every few seconds and when woken, and sees to it that what is due is done."""

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
        self._wake.set()

    def close(self, wait_s: float) -> None:
        """Take nothing else; a process that is at it brings its job to an end, or leaves it to the next."""
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
                self._look()
            except (SwarmloreError, OSError) as error:
                if not self._closed:
                    self._note("worker", error)

    def _look(self) -> None:
        if self._closed:
            return
        if time.monotonic() > self._index_at:
            self._index_at = time.monotonic() + INDEX_S
            self._lore.index_later()
        if self._lore.embedding.loaded and is_due(self._lore, EMBED):
            do_here(self._lore, {"embed": embed}, new_owner(), lambda: self._closed)
        busy = self._worker is not None and self._worker.poll() is None
        if not busy and not self._closed and is_due(self._lore):
            self._worker = start(self._lore.home)


def start(home: str) -> subprocess.Popen[bytes]:
    """A worker that does what is due and leaves, beside this process: it has threads, and handlers may misbehave."""
    import subprocess

    kinds = [word for kind in KINDS for word in ("--kind", kind)]
    words = [sys.executable, "-m", "swarmlore", "worker", "--until-empty", "--home", home, *kinds]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing, cwd=home, start_new_session=True)


LAST_DRAIN_S = 1.0  # at the end; what is left waits for the next process
DIGEST_S = 0.5
ANSWER_S = 1.2  # a hook waits a little longer
WRITER_S = 0.5  # for another process, while those who ask us wait; what is left is tried again
RETRY_S = 0.2
IDLE_S = 30.0  # between two looks at the spool, where hooks may leave what they could not hand over
CATCH_UP = 8


class SharedMemory:
    """The memory of a home, opened once. Threads may ask at the same time; the store lets one in at a time."""

    def __init__(self, home: str, cwd: str, client: str, env: Mapping[str, str], served: Lore | None = None) -> None:
        """`served` is the memory of a server that has opened it already, and has a worker of its own."""
        self.home = home
        self._spool = spool_dir(home)
        self._served = served is not None
        self._lore = served or Lore.open(home, cwd=cwd, client=client, env={**os.environ, **env})
        self._siblings = Siblings(self._lore)
        self._digester = Digester(self._lore, self._siblings)
        self._wake = threading.Event()
        self._closed = False
        self._chores = None if self._served else Chores(self._lore, self._note)
        self._worker = threading.Thread(target=self._work, name="swarmlore-digest", daemon=True)
        self._worker.start()

    def lore_for(self, cwd: str, client: str, env: Mapping[str, str], profile: str = "") -> Lore:
        """The memory as a client in a folder sees it, by the rules of a profile where its door has some."""
        return self._siblings.of_folder(cwd, client, env, profile)

    def take(self, record: Any, quiet: bool = False) -> dict[str, Any]:
        """Keep an event, on disk before anybody is told so; answer it where its moment wants that, unless `quiet`:
        another hook does."""
        deadline = time.monotonic() + ANSWER_S
        event = from_plain(record)
        if event is None:
            return {"ok": False, "error": "that is no event"}
        if quiet or not is_answered(event):
            self._keep(record)
            return {"ok": True, "text": ""}
        kept = Meanwhile(lambda: self._keep(record))  # the disk is waited for while the answer is looked for
        try:
            self._wait_for_digest(event.moment, kept)
            told = self._answer(event, deadline)
        except Exception as error:  # noqa: BLE001 - a hook's door: the event is kept, its answer is not worth a thread
            self._note(event.name, error)
            told = {"ok": True, "text": ""}
        kept.result()
        return told

    def _keep(self, record: dict[str, Any]) -> None:
        spool.append(self._spool, record)
        self._wake.set()

    def _answer(self, event: Event, deadline: float) -> dict[str, Any]:
        """The context for an event. Whoever asked does not wait for it for long: one that comes too late would leave a
        receipt of what nobody was shown."""
        lore = self._siblings.of_actor(event)
        with lore.acting():
            left = deadline - time.monotonic()
            if left <= 0:
                return {"ok": False, "error": "too late"}
            with lore.store.engine.hurried(left):
                try:
                    return {"ok": True, "text": answer(lore, event, self._mode, deadline)}
                except TooLate:
                    return {"ok": False, "error": "too late"}

    def _wait_for_digest(self, moment: str, kept: Meanwhile) -> None:
        """Answers that depend on what the session did just before wait a moment for that."""
        if moment not in (COMPACTED, AGENT_START):
            return
        kept.result()
        deadline = time.monotonic() + DIGEST_S
        while spool.waits(self._spool) and time.monotonic() < deadline:
            time.sleep(0.01)

    @property
    def has_model(self) -> bool:
        return self._lore.embedding.loaded

    @property
    def _mode(self) -> str:
        """By words while the model loads: an agent waits."""
        return "" if self.has_model else "keyword"

    def _work(self) -> None:
        """Load the model, then digest what comes and embed what waits, until closed."""
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
        if self._chores is not None:
            self._chores.wake()  # what was digested may have left something to do

    def _drain(self) -> None:
        while any(self._digester.drain(LAST_DRAIN_S).counts) and not self._closed:
            pass

    def _catch_up(self) -> None:
        """In small steps: whoever asks meanwhile waits for one of them at most."""
        while not self._served and self.has_model and self._lore.catch_up(CATCH_UP) and not self._wake.is_set():
            pass

    def _try(self, work: Callable[[], object]) -> None:
        """Do something; whatever goes wrong is told to the doctor, and the next round tries again."""
        try:
            work()
        except StoreBusy:
            time.sleep(RETRY_S)
            self._wake.set()  # somebody writes much: soon again
        except Exception as error:  # noqa: BLE001 - the worker's loop: it has to outlive a full disk and a broken event
            self._note("digest", error)
            time.sleep(RETRY_S)  # a busy or full store: not in a tight loop

    def _note(self, hook: str, error: Exception) -> None:
        what = error.message if isinstance(error, SwarmloreError) else type(error).__name__
        with contextlib.suppress(OSError):
            spool.note_problem(self._spool, {"at": round(time.time(), 3), "hook": hook, "what": what[:200]})

    def close(self) -> None:
        """Digest what a second allows, then let go."""
        if self._closed:
            return
        self._closed = True
        self._wake.set()
        self._worker.join(LAST_DRAIN_S)
        if self._chores is not None:
            self._chores.close(LAST_DRAIN_S)
        with contextlib.suppress(SwarmloreError, OSError):  # it goes on waiting
            self._digester.drain(LAST_DRAIN_S)
        if not self._served:
            self._lore.close()


MOST_THREADS = 64
READ_S = 5.0
PAUSE_S = 0.05


class WarmServer:
    """Answers at the socket of a home until closed. `sessions` serves whole MCP sessions of proxies; `leave` is called
    when a server that stays, which others can count on, asks for the place; `asked` does what commands hand over."""

    def __init__(
        self,
        place: Elected,
        memory: Callable[[], SharedMemory],
        sessions: Sessions | None = None,
        leave: Callable[[], None] | None = None,
        asked: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        self._place = place
        self._memory = memory
        self._sessions = sessions
        self._leave = leave
        self._asked = asked
        self._room = threading.BoundedSemaphore(MOST_THREADS)
        self._closed = False
        self._opened: SharedMemory | None = None
        self._thread = threading.Thread(target=self._listen, name="swarmlore-warm", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._place.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits there
        self._place.close()

    def _listen(self) -> None:
        while not self._closed:
            try:
                sock, _ = self._place.listener.accept()
            except OSError:  # closed, or out of files for the moment: who listens no more must not seem to
                time.sleep(0 if self._closed else PAUSE_S)
                continue
            if not self._let_in(sock):
                sock.close()  # a hook that is turned away keeps its event in the spool

    def _let_in(self, sock: socket.socket) -> bool:
        try:
            if not peer_is_us(sock) or not self._room.acquire(blocking=False):
                return False
        except OSError:
            return False
        try:
            threading.Thread(target=self._serve, args=(sock,), name="swarmlore-answer", daemon=True).start()
        except RuntimeError:  # no room for another thread
            self._room.release()
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
                self._room.release()
                try:
                    self._sessions(sock, request)
                finally:
                    self._room.acquire()
            elif request.get("op") == "leave":
                self._send(sock, {"ok": self._leave is not None})
                if self._leave is not None:
                    self._leave()
            else:
                self._send(sock, self._answer(request))
        except (OSError, SwarmloreError):
            pass  # whoever asked has gone, or we are about to; a hook without an answer keeps its event
        finally:
            sock.close()
            self._room.release()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("op") == "ping":
            return {"ok": True, "model": self._opened is not None and self._opened.has_model}
        if request.get("op") == "event":
            self._opened = self._memory()
            return self._opened.take(request.get("event"), quiet=request.get("quiet") is True)
        if request.get("op") == "ask" and self._asked is not None:
            return self._asked(request)
        return {"ok": False, "error": "unknown request"}

    @staticmethod
    def _send(sock: socket.socket, answer: dict[str, Any]) -> None:
        sock.sendall(json.dumps(answer, separators=(",", ":")).encode() + b"\n")


def _read(sock: socket.socket) -> dict[str, Any] | None:
    """One line; a proxy sends nothing after it before it is answered."""
    data = b""
    while not data.endswith(b"\n"):
        chunk = sock.recv(65_536)
        if not chunk or len(data) > MOST_LINE:
            return None
        data += chunk
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
