"""What hooks report, for a server on another machine: sent when it answers, kept here until then, each once.

A hook asks for context and waits about a second for it. What it reports lies on disk before that; a process for which
nobody waits sends it. What can be read only on this machine, such as a transcript, is read here and goes with it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from uuid import uuid4

from swarmlore.clients.hook import event as e
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.home import outbox_dir
from swarmlore.errors import InvalidInput, NotAllowed, Rejected, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.server.client.environment import URL, token_in
from swarmlore.server.client.http import PLAIN, Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from swarmlore.clients.hook.event import Event


ANSWER_S = 1.2
DEAF = "deaf"  # a file: the server let somebody wait in vain, and when
DEAF_S = 15.0
SLOW_S = 0.5
MOST_BYTES = 400_000  # of one request
MOST_AT_ONCE = 50
LOCK = "send.lock"
REFUSED = (400, 404, 409, 413, 415, 422)  # whoever sends the same again is told the same
TRANSCRIPT_BYTES = 8_000_000  # of its end
_TAKES_CONTEXT = (e.PROMPT, e.TOOL_FAILED, e.BEFORE_TOOL, e.AFTER_TOOL)


def answer_from_server(event: Event, home: str, env: Mapping[str, str] | None = None) -> str:
    """The context for a moment of a session, or '' where the server does not give any in time."""
    folder = outbox_dir(home)
    if _is_deaf(folder):
        return ""
    began = time.monotonic()
    try:
        line = _line(os.environ if env is None else env, ANSWER_S, (0.0,))
        body = {"event": prepared(event), "stacks": _stacks(event)}
        told = _within(ANSWER_S, lambda: line.ask("/v1/hooks/answer", body))
    except SwarmloreError as error:
        _note(folder, f"{event.client} {event.name}", error.message)
        told = None
    if told is None and time.monotonic() - began > SLOW_S:
        _note_deaf(folder)
    text = told["result"].get("text") if isinstance(told, dict) and isinstance(told.get("result"), dict) else ""
    return text if isinstance(text, str) else ""


def send_waiting(home: str, env: Mapping[str, str], budget_s: float) -> int:
    """Send what waits, until it is done, the time is up or the server does not take it; how many events it took.

    What came while we were at it is looked for once the lock is free again: whoever wanted to send it meanwhile found
    us and went away.
    """
    folder, deadline, sent = outbox_dir(home), time.monotonic() + budget_s, 0
    try:
        more = spool.waits(folder)
        while more and (lock := _lock(folder)) is not None:
            try:
                with contextlib.closing(_line(env, 30.0, (0.0, 0.5))) as line:
                    sent += _Sender(line, folder).send(deadline)
            finally:
                os.close(lock)
            more = spool.came(folder) and time.monotonic() < deadline
    except SwarmloreError as error:
        _note(folder, "send", error.message)
    return sent


def _lock(folder: str) -> int | None:
    """The right to send, which dies with its process; None where another one has it."""
    fd = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if spool.locked(fd):
        return fd
    os.close(fd)
    return None


class _Sender:
    def __init__(self, line: Line, folder: str) -> None:
        self._line = line
        self._folder = folder

    def send(self, deadline: float) -> int:
        sent = 0
        for path in spool.take(self._folder):
            for until, events in _batches(path):
                if time.monotonic() > deadline:
                    return sent
                for event, _ in events:
                    self._send_files(event)
                self._post([record for _, record in events])
                sent += len(events)
                path = spool.mark_read(path, until)
            os.unlink(path)
        return sent

    def _send_files(self, event: Event) -> None:
        """A file written where memories are kept is a memory itself. What a client notes about its user is private."""
        if event.moment != e.AFTER_TOOL or event.tool != e.WRITE:
            return
        from swarmlore.notes import memory_files

        user, roots = os.path.expanduser("~"), tuple(filter(None, [str(event.project.get("root", ""))]))
        for path in event.files:
            spot = memory_files.watched(path, event.client, user, os.environ, roots)
            if spot is None or not memory_files.stamp_of(spot.path):
                continue
            try:
                body = {"text": memory_files.read_note(spot.path), "path": spot.path, "source": "file_index"}
                tier = memory_files.PRIVATE if spot.client else spot.tier
                self._line.ask("/v1/index_text", {**body, "tier": tier}, key=str(uuid4()))
            except (InvalidInput, Rejected, NotAllowed) as error:
                _note(self._folder, f"{event.client} {event.name}", f"a note was not taken: {error.message}")

    def _post(self, records: list[dict[str, Any]]) -> None:
        """Give events to the server. One that it cannot read must not keep those behind it waiting."""
        if not records:
            return
        try:
            self._line.ask("/v1/hooks/events", {"events": records}, key="")
        except SwarmloreError as error:
            if error.http_status not in REFUSED:
                raise
            if len(records) == 1:
                _note(self._folder, str(records[0].get("name", "")), f"not taken by the server: {error.message}")
                return
            for record in records:
                self._post([record])


def _batches(path: str) -> Iterator[tuple[int, list[tuple[Event, dict[str, Any]]]]]:
    """The events of a file, some at a time, each lot with the offset after it."""
    import json

    lot: list[tuple[Event, dict[str, Any]]] = []
    size = 0
    for at, record in spool.numbered(path, spool.read_until(path)):
        if lot and (len(lot) >= MOST_AT_ONCE or size > MOST_BYTES):
            yield at, lot
            lot, size = [], 0
        event = e.from_plain(record)
        if event is not None:
            _do_here(event)
            lot.append((event, prepared(event, whole=True)))
            size += len(json.dumps(lot[-1][1]))
    yield os.path.getsize(path), lot


def prepared(event: Event, *, whole: bool = False) -> dict[str, Any]:
    """An event for another machine: paths as the project sees them, and what the files here say that it speaks of;
    a whole transcript only where nobody waits."""
    root = str(event.project.get("root", ""))
    extra = {name: value for name, value in event.extra.items() if name != "env"}
    if _is_unsummed(event):
        extra["env"] = {"SKIP_SESSION_SUMMARY": "1"}
    extra |= _turns(event, root) if whole else _figures(event)
    files = tuple(path for name in event.files if (path := _inside(name, root)))
    return e.to_plain(replace(event, files=files, extra=extra, transcript="", cwd="", project={}))


def _figures(event: Event) -> dict[str, Any]:
    """How full the context is and when it was cut, where only the transcript tells."""
    if not event.transcript or event.moment not in _TAKES_CONTEXT:
        return {}
    from swarmlore.clients.transcripts import context_used, cut_at

    told: dict[str, Any] = {}
    if "context" not in event.extra and (used := context_used(event.client, event.transcript)) and used[1]:
        told["context"] = {"used": used[0], "fits": used[1]}
    if event.moment == e.PROMPT and event.client in e.CUT_SILENTLY:
        told["cut_at"] = cut_at(event.client, event.transcript)
    return told


def _turns(event: Event, root: str) -> dict[str, Any]:
    """What was said in a session that ends or is about to be cut."""
    if not event.transcript or event.moment not in (e.SESSION_END, e.BEFORE_COMPACTION):
        return {}
    from swarmlore.capture.extract import inside, session_body
    from swarmlore.clients.transcripts import read_transcript

    turns = [inside(turn, root) for turn in read_transcript(event.client, event.transcript, TRANSCRIPT_BYTES)]
    return {"turns": session_body(turns)["turns"]} if turns else {}


def _do_here(event: Event) -> None:
    """What an event changes in the files of its repository: LEARNED comments are kept beside the beads."""
    root = str(event.project.get("root", ""))
    said = event.command.upper()
    if root and event.moment in (e.AFTER_TOOL, e.TOOL_FAILED) and ("LEARNED" in said or "INVESTIGATION" in said):
        from swarmlore.exchange.beads import capture_learned

        with contextlib.suppress(OSError):
            capture_learned(root, event.cwd, event.command, event.at)


def _is_unsummed(event: Event) -> bool:
    env = event.extra.get("env")
    return isinstance(env, dict) and bool(env.get("SKIP_SESSION_SUMMARY"))


def _inside(path: str, root: str) -> str:
    relative = os.path.relpath(path, root) if root else ".."
    return "" if relative.startswith("..") else relative.replace(os.sep, "/")


def _stacks(event: Event) -> list[str]:
    from swarmlore.workspace.project import stacks

    root = str(event.project.get("root", ""))
    return list(stacks(root)) if root else []


def _line(env: Mapping[str, str], timeout_s: float, pauses_s: tuple[float, ...]) -> Line:
    return Line(env[URL], token_in(env), plain=env.get(PLAIN) == "1", timeout_s=timeout_s, pauses_s=pauses_s)


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """What `work` returns or raises, or None where that takes too long: to find an address cannot be hurried else."""
    found: queue.SimpleQueue[tuple[Any, SwarmloreError | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            found.put((work(), None))
        except SwarmloreError as error:
            found.put((None, error))

    threading.Thread(target=run, name="swarmlore-ask", daemon=True).start()
    try:
        told, problem = found.get(timeout=seconds)
    except queue.Empty:
        return None
    if problem is not None:
        raise problem
    return told


def _is_deaf(folder: str) -> bool:
    try:
        return abs(time.time() - os.stat(os.path.join(folder, DEAF)).st_mtime) < DEAF_S
    except OSError:
        return False


def _note_deaf(folder: str) -> None:
    with contextlib.suppress(OSError):
        os.close(os.open(os.path.join(folder, DEAF), os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
        os.utime(os.path.join(folder, DEAF))


def _note(folder: str, hook: str, what: str) -> None:
    with contextlib.suppress(OSError):
        spool.note_problem(folder, {"at": round(time.time(), 3), "hook": hook[:80], "what": what[:200]})
