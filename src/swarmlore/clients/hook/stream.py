"""`swarmlore hook CLIENT --lines`: one process for all hooks of a running client, one JSON line per event.

A line is `{"id": 7, "event": "chat.message", "payload": {…}}`; its answer is `{"id": 7, "text": "…"}`, sent once the
event is safe. Events are delivered like those of any other hook. When its input ends, the client is gone, and the
process reports the end of every open session. A line that takes too long ends the process; the client's plugin restarts
it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time

from swarmlore.clients import client
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.event_from_payload import MOST_PARSED, BadPayload, make_event
from swarmlore.clients.hook.main import LIMIT_S, Places, hand_over, note, split_options
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any, BinaryIO

    from swarmlore.clients.hook.event import Event
    from swarmlore.clients.hook.main import Afterwards, Alone

LINES = "--lines"  # instead of an event's name: events come as lines, until the input ends
RESTARTED = "restarted"  # first line to a process that replaces another one
HELLO = "hello"  # asks only whether the memory is switched on
OFF = "off"
ENDED = "dispose"
MOST_SESSIONS = 200


class Line:
    """Hooks of one running client."""

    def __init__(self, name: str, places: Places, alone: Alone) -> None:
        module = client(name)
        if module is None:
            raise BadPayload(f"unknown: hook {name[:80]} --lines")
        self._module: ModuleType = module
        self._name = name
        self._places = places
        self._alone = alone
        self._open: dict[str, str] = {}  # open sessions, with their folders

    def answer(self, event_name: str, payload: dict[str, Any]) -> str:
        """Deliver one event; return the context block that answers it."""
        if event_name == RESTARTED:
            self._take_over(payload)
            return ""
        if event_name == HELLO:
            return self._greeting(payload)
        event = make_event(self._module, self._name, event_name, payload, round(time.time(), 3))
        self._follow(event)
        return hand_over(event, self._places, self._alone)

    def _take_over(self, payload: dict[str, Any]) -> None:
        """Adopt the open sessions of the process before, so that they are ended with this one."""
        lost = payload.get("lost")
        more = f"; {_clean_word(lost)} events were lost" if lost else ""
        self.note(RESTARTED, BadPayload(f"the process before ended: {_clean_word(payload.get('why'))}{more}"))
        sessions, folder = payload.get("sessions"), payload.get("directory")
        known = [id for id in sessions if isinstance(id, str)] if isinstance(sessions, list) else []
        for session in known[:MOST_SESSIONS]:
            self._open.setdefault(session[:200], folder if isinstance(folder, str) else "")

    def _greeting(self, payload: dict[str, Any]) -> str:
        """Return '', or "off" if the memory is switched off for the folder."""
        from swarmlore.config import load
        from swarmlore.workspace.project import find_project

        folder = payload.get("directory")
        root = find_project(folder).root if isinstance(folder, str) and "\0" not in folder else ""
        return "" if load(self._places.home, root, os.environ).knowledge.enabled else OFF

    def _follow(self, event: Event) -> None:
        """Keep track of the open sessions."""
        if event.moment == e.SESSION_END:
            self._open.pop(event.session, None)
        elif event.session and (event.session in self._open or len(self._open) < MOST_SESSIONS):
            self._open[event.session] = event.cwd

    def end(self) -> None:
        """Report the end of all open sessions, since the client is gone."""
        for session, folder in list(self._open.items()):
            try:
                self.answer(ENDED, {"input": {"sessionID": session}, "directory": folder})
            except Exception as error:  # noqa: BLE001 - the entry point of a hook: go on with the next session
                self.note(ENDED, error)

    def note(self, event_name: str, error: BaseException) -> None:
        note(self._places, [self._name, event_name], error)


def run(words: Sequence[str], alone: Alone, afterwards: Afterwards) -> int:
    """Serve the hooks of one client until it ends. Always return 0: a memory is not worth stopping an agent."""
    options, named = split_options(words)
    places = None
    try:
        places = Places(options, *named[:1])
        if named[1:] != [LINES]:
            raise BadPayload(f"unknown: hook {' '.join(named)[:80]}")
        serve_lines(named[0], places, alone, afterwards)
    except BaseException as error:  # noqa: BLE001 - the entry point: nothing may reach the client
        note(places, named, error)
    return 0


def serve_lines(name: str, places: Places, alone: Alone, afterwards: Afterwards) -> None:
    """Answer line after line until the client closes the input."""
    line = Line(name, places, alone)
    _ignore_signals()
    while (data := _next(sys.stdin.buffer)) is not None:
        _limit(LIMIT_S)
        _serve(line, data)
        if places.left_waiting:
            places.left_waiting = False
            afterwards(places)
        _limit(0)
        _reap_children()
    _limit(LIMIT_S)
    line.end()
    if spool.has_events(places.spool):
        afterwards(places)


def _serve(line: Line, data: bytes) -> None:
    """Answer one line, if it has a number; an error belongs to this line only."""
    number, event_name, text = _number(data), "", ""
    try:
        number, event_name, payload = _parsed(data)
        text = line.answer(event_name, payload)
    except Exception as error:  # noqa: BLE001 - the entry point of a hook: go on with the next line
        line.note(event_name, error)
    if number is not None:
        _send({"id": number, "text": text} if text else {"id": number})


def _parsed(data: bytes) -> tuple[int | None, str, dict[str, Any]]:
    try:
        line = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        cut = len(data) >= MOST_PARSED and not data.endswith(b"\n")
        raise BadPayload("the line was too long" if cut else "the line was not JSON") from None
    payload = line.get("payload", {}) if isinstance(line, dict) else None
    if not isinstance(payload, dict):
        raise BadPayload("the line was no event")
    number, name = line.get("id"), line.get("event")
    known = number if isinstance(number, int) and not isinstance(number, bool) else None
    return known, name[:200] if isinstance(name, str) else "", payload


def _number(data: bytes) -> int | None:
    """Return the number at the beginning of a line, so that it is answered even if the rest is invalid."""
    found = re.match(rb'\{"id": ?(\d{1,15})[,}]', data)
    return int(found[1]) if found else None


def _send(answer: dict[str, Any]) -> None:
    try:
        sys.stdout.buffer.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
        sys.stdout.buffer.flush()
    except (OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)  # the client reads no more, but its remaining lines still count
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _next(stream: BinaryIO) -> bytes | None:
    """Return the next line, None at the end; of a line that is too long only its beginning."""
    while data := stream.readline(MOST_PARSED):
        if data.endswith(b"\n") or len(data) < MOST_PARSED:
            if data.strip():
                return data
            continue
        rest = data
        while rest and not rest.endswith(b"\n"):
            rest = stream.readline(MOST_PARSED)
        return data
    return None


def _ignore_signals() -> None:
    """Ignore signals that a terminal sends to all of its processes; this process ends with its input."""
    for name in ("SIGINT", "SIGHUP", "SIGPIPE"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process even while Python cannot run a handler


def _limit(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _reap_children() -> None:
    """Reap child processes that have ended."""
    try:
        while hasattr(os, "waitpid") and os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except (OSError, AttributeError):
        pass


def _clean_word(value: object) -> str:
    """Return an untrusted name or number without special characters, or "unknown"."""
    return re.sub(r"[^\w.-]", "", str(value))[:40] if isinstance(value, (str, int)) else "unknown"
