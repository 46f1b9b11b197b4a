"""`swarmlore hook CLIENT --lines`: one process for all hooks of a client that runs, one line per event.

A line is `{"id": 7, "event": "chat.message", "payload": {…}}`; its answer is `{"id": 7, "text": "…"}`, once the event
is safe. Events go the way of any other hook. The process ends with the client: at the end of its input, whatever ended
the client, it says of every session that it is over. A line that takes too long ends it too; whoever started it starts
it again.
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


LINES = "--lines"  # in place of an event: they come as lines, until the input ends
RESTARTED = "restarted"  # the first line to a process that takes the place of another
HELLO = "hello"  # whoever asks only wants to know whether there is a memory
OFF = "off"
ENDED = "dispose"
MOST_SESSIONS = 200


class Line:
    """The hooks of one running client."""

    def __init__(self, name: str, places: Places, alone: Alone) -> None:
        module = client(name)
        if module is None:
            raise BadPayload(f"unknown: hook {name[:80]} --lines")
        self._module: ModuleType = module
        self._name = name
        self._places = places
        self._alone = alone
        self._open: dict[str, str] = {}  # sessions that have not ended, and where they are

    def answer(self, event_name: str, payload: dict[str, Any]) -> str:
        """Take one event to safety; returns the context that answers it."""
        if event_name == RESTARTED:
            self._take_over(payload)
            return ""
        if event_name == HELLO:
            return self._greeting(payload)
        event = make_event(self._module, self._name, event_name, payload, round(time.time(), 3))
        self._follow(event)
        return hand_over(event, self._places, self._alone)

    def _take_over(self, payload: dict[str, Any]) -> None:
        """Go on where the process before ended: its sessions are ours to end."""
        lost = payload.get("lost")
        more = f"; {_word(lost)} events were lost" if lost else ""
        self.note(RESTARTED, BadPayload(f"the process before ended: {_word(payload.get('why'))}{more}"))
        sessions, folder = payload.get("sessions"), payload.get("directory")
        known = [id for id in sessions if isinstance(id, str)] if isinstance(sessions, list) else []
        for session in known[:MOST_SESSIONS]:
            self._open.setdefault(session[:200], folder if isinstance(folder, str) else "")

    def _greeting(self, payload: dict[str, Any]) -> str:
        """Nothing, or that the memory is switched off in a folder."""
        from swarmlore.config import load
        from swarmlore.workspace.project import find_project

        folder = payload.get("directory")
        root = find_project(folder).root if isinstance(folder, str) and "\0" not in folder else ""
        return "" if load(self._places.home, root, os.environ).knowledge.enabled else OFF

    def _follow(self, event: Event) -> None:
        if event.moment == e.SESSION_END:
            self._open.pop(event.session, None)
        elif event.session and (event.session in self._open or len(self._open) < MOST_SESSIONS):
            self._open[event.session] = event.cwd

    def end(self) -> None:
        """The client is gone, and with it all of its sessions."""
        for session, folder in list(self._open.items()):
            try:
                self.answer(ENDED, {"input": {"sessionID": session}, "directory": folder})
            except Exception as error:  # noqa: BLE001 - the door of a hook: the next session has its turn
                self.note(ENDED, error)

    def note(self, event_name: str, error: BaseException) -> None:
        note(self._places, [self._name, event_name], error)


def run(words: Sequence[str], alone: Alone, afterwards: Afterwards) -> int:
    """Serve the hooks of one client until it ends. Always 0: a memory is not worth stopping an agent."""
    options, named = split_options(words)
    places = None
    try:
        places = Places(options, *named[:1])
        if named[1:] != [LINES]:
            raise BadPayload(f"unknown: hook {' '.join(named)[:80]}")
        serve_lines(named[0], places, alone, afterwards)
    except BaseException as error:  # noqa: BLE001 - the last door: nothing may reach the client
        note(places, named, error)
    return 0


def serve_lines(name: str, places: Places, alone: Alone, afterwards: Afterwards) -> None:
    """Answer line after line until the client closes the input."""
    line = Line(name, places, alone)
    _stay()
    while (data := _next(sys.stdin.buffer)) is not None:
        _limit(LIMIT_S)
        _serve(line, data)
        if places.left_waiting:
            places.left_waiting = False
            afterwards(places)
        _limit(0)
        _bury()
    _limit(LIMIT_S)
    line.end()
    if spool.waits(places.spool):
        afterwards(places)


def _serve(line: Line, data: bytes) -> None:
    """Answer one line. One without a number wants no answer; anything that goes wrong is the line's own."""
    number, event_name, text = _number(data), "", ""
    try:
        number, event_name, payload = _parsed(data)
        text = line.answer(event_name, payload)
    except Exception as error:  # noqa: BLE001 - the door of a hook: the next line has its turn
        line.note(event_name, error)
    if number is not None:
        _say({"id": number, "text": text} if text else {"id": number})


def _parsed(data: bytes) -> tuple[int | None, str, dict[str, Any]]:
    try:
        found = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise BadPayload("the line was too long" if _is_cut(data) else "the line was not JSON") from None
    payload = found.get("payload", {}) if isinstance(found, dict) else None
    if not isinstance(payload, dict):
        raise BadPayload("the line was no event")
    number, name = found.get("id"), found.get("event")
    known = number if isinstance(number, int) and not isinstance(number, bool) else None
    return known, name[:200] if isinstance(name, str) else "", payload


def _number(data: bytes) -> int | None:
    """The number that a line begins with: whoever waits is told even where the rest of it cannot be read."""
    found = re.match(rb'\{"id": ?(\d{1,15})[,}]', data)
    return int(found[1]) if found else None


def _is_cut(data: bytes) -> bool:
    return len(data) >= MOST_PARSED and not data.endswith(b"\n")


def _say(answer: dict[str, Any]) -> None:
    try:
        sys.stdout.buffer.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
        sys.stdout.buffer.flush()
    except (OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)  # nobody reads any more; what is still to be read counts
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _next(stream: BinaryIO) -> bytes | None:
    """The next line; None at the end. Of one that is too long there is the beginning, and the rest is read away."""
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


def _stay() -> None:
    """What a terminal sends to all of its processes is meant for the client; our end is the end of the input."""
    for name in ("SIGINT", "SIGHUP", "SIGPIPE"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process even where Python has no turn


def _limit(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _bury() -> None:
    """Processes that digested and are done."""
    try:
        while hasattr(os, "waitpid") and os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except (OSError, AttributeError):
        pass


def _word(value: object) -> str:
    """A name or a number from outside, as far as it is one."""
    return re.sub(r"[^\w.-]", "", str(value))[:40] if isinstance(value, (str, int)) else "unknown"
