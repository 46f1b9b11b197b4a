"""`swarmlore hook CLIENT EVENT`: deliver one event; nothing that goes wrong reaches the client.

The event goes to the daemon, or into the spool for the next one. If the client takes context at this moment, the answer
is the context block; without a daemon this process builds it, after the event is safe.
"""

from __future__ import annotations

import os
import sys
import time
from errno import ENOSPC

from swarmlore.clients import CLIENTS, client, sender
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook import socket, spool
from swarmlore.clients.hook.event_from_payload import BadPayload, make_event, read
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from swarmlore.clients.hook.event import Event

    Alone = Callable[[Event, "Places"], str]
    Afterwards = Callable[["Places"], None]

CAPTURE_WAIT_S = 0.4
ANSWER_WAIT_S = 1.5
LIMIT_S = 4.0  # for everything; clients are configured to wait 5
LAST_WORDS_S = 0.3
DEAF_S = 10.0
MOST_KEPT = 64_000_000  # bytes of events that wait for a remote server
OPTIONS = ("--home", "--socket", "--spool")


class Places:
    """Paths of one home. `install` writes them into the command, so that a hook need not read settings."""

    def __init__(self, options: dict[str, str], client: str = "") -> None:
        self.home = options.get("--home") or _usual_home(client)
        self.socket = options.get("--socket") or _socket_of(self.home)
        self.away = bool(os.environ.get("SWARMLORE_URL"))  # the store is on a remote server
        self.spool = (not self.away and options.get("--spool")) or os.path.join(
            self.home, "outbox" if self.away else "spool"
        )
        self.left_waiting = False  # whether an event in the spool should be taken in soon
        self.deaf_until = 0.0  # no request before this time, since the daemon did not answer the last one in time


def run(words: Sequence[str], alone: Alone, afterwards: Afterwards) -> int:
    """Run one hook. Always return 0: a memory is not worth stopping an agent."""
    options, named = split_options(words)
    places = None
    try:
        places = Places(options, *named[:1])
        _limit_time(places, named)
        _watch()
        answer = _serve(named, places, alone)
        if answer:
            sys.stdout.write(answer)
            sys.stdout.flush()
        if places.left_waiting:
            afterwards(places)
    except BaseException as error:  # noqa: BLE001 - the entry point: nothing may reach the client
        note(places, named, error)
    return 0


def _serve(named: list[str], places: Places, alone: Alone) -> str:
    if len(named) != 2 or named[0] not in CLIENTS:
        raise BadPayload(f"unknown: hook {' '.join(named)[:80]}")
    payload = read(sys.stdin.buffer)
    name = sender(named[0], payload)
    module = client(name)
    assert module is not None
    event = make_event(module, name, named[1], payload, round(time.time(), 3))
    text = hand_over(event, places, alone)
    shows = module.SHOWS_NOTICE and event.moment == e.SESSION_START  # a client that cannot show it leaves it to others
    notice = _notice(places) if shows else ""
    return module.encode(named[1], text, notice) if text or notice else ""


def _notice(places: Places) -> str:
    """Return one line for the person about problems that were not reported yet, or ''."""
    try:
        if not spool.has_new_problems(places.spool):
            return ""
    except OSError:
        return ""
    return "swarmlore: hooks had problems since the last session; swarmlore doctor tells more"


def hand_over(event: Event, places: Places, alone: Alone) -> str:
    """Send the event to the daemon, else append it to the spool; return the context block that answers it."""
    answered = e.is_answered(event) and _may_answer(event, places)
    record = e.to_plain(event)
    request = {"op": "event", "event": record, "quiet": not answered}
    reply = None if places.away else _ask(places, request, ANSWER_WAIT_S if answered else CAPTURE_WAIT_S)
    if reply is not None and reply.get("ok"):
        return str(reply.get("text", ""))
    try:
        if places.away and spool.weight(places.spool) > MOST_KEPT:
            raise OSError(ENOSPC, "too much waits to be sent to the server")
        spool.append(places.spool, record)
    except OSError as error:
        if not answered:
            raise
        note(places, [event.client, event.name], error)  # on a full disk, recall still works
    # Lessons of this session or task should be there for the next session, with no other hook in between.
    places.left_waiting = answered or event.moment == e.SESSION_END or "outcome" in event.extra
    return alone(event, places) if answered else ""


def _ask(places: Places, request: dict[str, Any], wait_s: float) -> dict[str, Any] | None:
    """Send a request to the daemon and return its answer, or None; skip it for a while after a timeout."""
    began = time.monotonic()
    if began < places.deaf_until:
        return None
    reply = socket.ask(places.socket, request, wait_s)
    if reply is None and time.monotonic() - began >= wait_s:
        places.deaf_until = time.monotonic() + DEAF_S
    return reply


def _may_answer(event: Event, places: Places) -> bool:
    """Return whether no other hook answers the same event; on a full disk always, since twice is better than never."""
    try:
        return spool.claim(places.spool, event.id, event.at)
    except OSError:
        return True


def split_options(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Split a hook's arguments into our options and the rest."""
    options: dict[str, str] = {}
    named: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in OPTIONS:
            options[word] = next(rest, "")
        else:
            named.append(word)
    return options, named


def note(places: Places | None, named: list[str], error: BaseException) -> None:
    """Record a problem for `doctor`. The message of an unknown error is left out: it may quote the payload."""
    what = str(error) if isinstance(error, BadPayload) else type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        what = f"{type(error).__name__}: {error.strerror}"
    try:
        folder = places.spool if places else os.path.join(_usual_home(), "spool")
        hook = " ".join(named)[:80]
        spool.note_problem(folder, {"at": round(time.time(), 3), "hook": hook, "what": what})
    except Exception:  # noqa: BLE001, S110 - it cannot be reported anywhere
        pass


def _limit_time(places: Places, named: list[str]) -> None:
    """End the process after LIMIT_S by a signal, also in a blocking read or while waiting for a lock."""
    try:
        import _signal as signal  # type: ignore[import-not-found]  # the C part; importing `signal` also builds enums
    except ImportError:
        return
    if not hasattr(signal, "setitimer"):
        return

    def stop(*_: object) -> None:
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, LAST_WORDS_S)
        note(places, named, BadPayload(f"it took longer than {LIMIT_S:g} s"))
        os._exit(0)

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)


def _watch() -> None:
    """End the process by a thread if the signal is late: its handler must wait while a driver keeps Python from
    running."""
    import _thread

    def end() -> None:
        time.sleep(LIMIT_S + LAST_WORDS_S)
        os._exit(0)

    _thread.start_new_thread(end, ())


def _usual_home(client: str = "") -> str:
    from swarmlore.clients.hook.home import usual_home

    return usual_home(client, os.environ)


def _socket_of(home: str) -> str:
    from swarmlore.clients.hook.home import socket_path

    return socket_path(home)
