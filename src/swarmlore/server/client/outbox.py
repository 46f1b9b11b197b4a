"""Outbox of hook events for a remote server: spooled on disk, sent when the server answers, each once.

A hook asks for context and waits about a second for it. Its event is on disk before that; a background process sends
it. What only this machine can read, such as a transcript, is read here and sent along.
"""

from __future__ import annotations

import contextlib
import os
import time
from uuid import uuid4

from swarmlore.clients.hook import event as e
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.home import outbox_dir
from swarmlore.errors import InvalidInput, NotAllowed, Rejected, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.server.client import URL, token_in
from swarmlore.server.client.http import PLAIN, Connection, within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from swarmlore.clients.hook.event import Event


ANSWER_S = 1.2
DEAF = "deaf"  # marker file: its time is the last timeout of the server
DEAF_S = 15.0
SLOW_S = 0.5
MOST_BYTES = 400_000  # of one request
MOST_AT_ONCE = 50
LOCK = "send.lock"
REFUSED = (400, 404, 409, 413, 415, 422)  # permanent errors: sending again would not help
TRANSCRIPT_BYTES = 8_000_000  # read from the end of a transcript
_TAKES_CONTEXT = (e.PROMPT, e.TOOL_FAILED, e.BEFORE_TOOL, e.AFTER_TOOL)


def answer_from_server(event: Event, home: str, env: Mapping[str, str] | None = None) -> str:
    """Return the context block for an event; '' if the server does not give one in time."""
    folder = outbox_dir(home)
    if _timed_out_lately(folder):
        return ""
    began = time.monotonic()
    try:
        connection = _connection(os.environ if env is None else env, ANSWER_S, (0.0,))
        body = {"event": prepared(event), "stacks": _stacks(event)}
        answer = within(ANSWER_S, lambda: connection.ask("/v1/hooks/answer", body))
    except SwarmloreError as error:
        _note(folder, f"{event.client} {event.name}", error.message)
        answer = None
    if answer is None and time.monotonic() - began > SLOW_S:
        _note_timeout(folder)
    result = answer.get("result") if isinstance(answer, dict) else None
    text = result.get("text") if isinstance(result, dict) else ""
    return text if isinstance(text, str) else ""


def send_waiting(home: str, env: Mapping[str, str], budget_s: float) -> int:
    """Send the spooled events until none is left, the time is up or the server refuses; return how many were sent.

    After the lock is released, new events are looked for once more: other senders found the lock taken and left.
    """
    folder, deadline, sent = outbox_dir(home), time.monotonic() + budget_s, 0
    try:
        more = spool.has_events(folder)
        while more and (lock := _lock(folder)) is not None:
            try:
                with contextlib.closing(_connection(env, 30.0, (0.0, 0.5))) as connection:
                    sent += _Sender(connection, folder).send(deadline)
            finally:
                os.close(lock)
            more = spool.has_new_events(folder) and time.monotonic() < deadline
    except SwarmloreError as error:
        _note(folder, "send", error.message)
    return sent


def _lock(folder: str) -> int | None:
    """Return the lock for sending, which ends with its process; None if another process holds it."""
    fd = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if spool.try_lock(fd):
        return fd
    os.close(fd)
    return None


class _Sender:
    """Sends the events of an outbox over one connection."""

    def __init__(self, connection: Connection, folder: str) -> None:
        self._connection = connection
        self._folder = folder

    def send(self, deadline: float) -> int:
        """Send all spool files until the deadline; return how many events were sent."""
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
        """Send a file in a watched memory folder as a memory. A client's notes about its user are private."""
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
                self._connection.ask("/v1/index_text", {**body, "tier": tier}, key=str(uuid4()))
            except (InvalidInput, Rejected, NotAllowed) as error:
                _note(self._folder, f"{event.client} {event.name}", f"a note was not taken: {error.message}")

    def _post(self, records: list[dict[str, Any]]) -> None:
        """Send events; if the server rejects them, send each alone, so that one bad event does not block the others."""
        if not records:
            return
        try:
            self._connection.ask("/v1/hooks/events", {"events": records}, key="")
        except SwarmloreError as error:
            if error.http_status not in REFUSED:
                raise
            if len(records) == 1:
                _note(self._folder, str(records[0].get("name", "")), f"not taken by the server: {error.message}")
                return
            for record in records:
                self._post([record])


def _batches(path: str) -> Iterator[tuple[int, list[tuple[Event, dict[str, Any]]]]]:
    """Yield the events of a spool file in batches, each with the offset after it."""
    import json

    batch: list[tuple[Event, dict[str, Any]]] = []
    size = 0
    for at, record in spool.numbered(path, spool.read_until(path)):
        if batch and (len(batch) >= MOST_AT_ONCE or size > MOST_BYTES):
            yield at, batch
            batch, size = [], 0
        event = e.from_plain(record)
        if event is not None:
            _capture_learned(event)
            batch.append((event, prepared(event, whole=True)))
            size += len(json.dumps(batch[-1][1]))
    yield os.path.getsize(path), batch


def prepared(event: Event, *, whole: bool = False) -> dict[str, Any]:
    """Return an event for another machine: paths relative to the project, and what local files say about it; the whole
    transcript only with `whole`."""
    root = str(event.project.get("root", ""))
    extra = {name: value for name, value in event.extra.items() if name != "env"}
    if _skips_summary(event):
        extra["env"] = {"SKIP_SESSION_SUMMARY": "1"}
    extra |= _turns(event, root) if whole else _figures(event)
    files = tuple(path for name in event.files if (path := _inside(name, root)))
    return e.to_plain(replace(event, files=files, extra=extra, transcript="", cwd="", project={}))


def _figures(event: Event) -> dict[str, Any]:
    """Return how full the context is and when it was cut, for clients where only the transcript tells."""
    if not event.transcript or event.moment not in _TAKES_CONTEXT:
        return {}
    from swarmlore.clients.transcripts import compacted_at, context_used

    figures: dict[str, Any] = {}
    if "context" not in event.extra and (used := context_used(event.client, event.transcript)) and used[1]:
        figures["context"] = {"used": used[0], "fits": used[1]}
    if event.moment == e.PROMPT and event.client in e.CUT_SILENTLY:
        figures["cut_at"] = compacted_at(event.client, event.transcript)
    return figures


def _turns(event: Event, root: str) -> dict[str, Any]:
    """Return the turns of a session that ends or is about to be compacted."""
    if not event.transcript or event.moment not in (e.SESSION_END, e.BEFORE_COMPACTION):
        return {}
    from swarmlore.capture.extract import relative_to_project, session_body
    from swarmlore.clients.transcripts import read_transcript

    turns = [
        relative_to_project(turn, root) for turn in read_transcript(event.client, event.transcript, TRANSCRIPT_BYTES)
    ]
    return {"turns": session_body(turns)["turns"]} if turns else {}


def _capture_learned(event: Event) -> None:
    """Store LEARNED comments of a command in the local beads of the repository."""
    root = str(event.project.get("root", ""))
    command = event.command.upper()
    if root and event.moment in (e.AFTER_TOOL, e.TOOL_FAILED) and ("LEARNED" in command or "INVESTIGATION" in command):
        from swarmlore.exchange.beads import capture_learned

        with contextlib.suppress(OSError):
            capture_learned(root, event.cwd, event.command, event.at)


def _skips_summary(event: Event) -> bool:
    env = event.extra.get("env")
    return isinstance(env, dict) and bool(env.get("SKIP_SESSION_SUMMARY"))


def _inside(path: str, root: str) -> str:
    relative = os.path.relpath(path, root) if root else ".."
    return "" if relative.startswith("..") else relative.replace(os.sep, "/")


def _stacks(event: Event) -> list[str]:
    from swarmlore.workspace.project import stacks

    root = str(event.project.get("root", ""))
    return list(stacks(root)) if root else []


def _connection(env: Mapping[str, str], timeout_s: float, pauses_s: tuple[float, ...]) -> Connection:
    return Connection(env[URL], token_in(env), plain=env.get(PLAIN) == "1", timeout_s=timeout_s, pauses_s=pauses_s)


def _timed_out_lately(folder: str) -> bool:
    try:
        return abs(time.time() - os.stat(os.path.join(folder, DEAF)).st_mtime) < DEAF_S
    except OSError:
        return False


def _note_timeout(folder: str) -> None:
    with contextlib.suppress(OSError):
        os.close(os.open(os.path.join(folder, DEAF), os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
        os.utime(os.path.join(folder, DEAF))


def _note(folder: str, hook: str, what: str) -> None:
    with contextlib.suppress(OSError):
        spool.note_problem(folder, {"at": round(time.time(), 3), "hook": hook[:80], "what": what[:200]})
