"""`swarmlore hook CLIENT EVENT`: whatever happens, the client goes on.

The event is handed to the warm process, or put on disk for the next one. At moments at which a client takes context,
the answer is the block for it; without a warm process this process makes it, after the event is safe.
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
LIMIT_S = 4.0  # for everything; clients are told 5
LAST_WORDS_S = 0.3
DEAF_S = 10.0
MOST_KEPT = 64_000_000  # bytes of events that wait for a server
OPTIONS = ("--home", "--socket", "--spool")


class Places:
    """Where the pieces of one home are; `install` writes them into the command, so that no setting has to be read."""

    def __init__(self, options: dict[str, str], client: str = "") -> None:
        self.home = options.get("--home") or _usual_home(client)
        self.socket = options.get("--socket") or _socket_of(self.home)
        self.away = bool(os.environ.get("SWARMLORE_URL"))  # the memory is a server's, on another machine
        self.spool = (not self.away and options.get("--spool")) or os.path.join(
            self.home, "outbox" if self.away else "spool"
        )
        self.left_waiting = False  # an event that should be digested soon
        self.deaf_until = 0.0  # the warm process did not answer in time; who serves many events does not ask each time


def run(words: Sequence[str], alone: Alone, afterwards: Afterwards) -> int:
    """Do the work of one hook. Always 0: a memory is not worth stopping an agent."""
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
    except BaseException as error:  # noqa: BLE001 - the last door: nothing may reach the client
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
    shows = module.SHOWS_NOTICE and event.moment == e.SESSION_START  # who cannot show it leaves it to others
    notice = _notice(places) if shows else ""
    return module.encode(named[1], text, notice) if text or notice else ""


def _notice(places: Places) -> str:
    """One line about problems that nobody was told of yet."""
    try:
        if not spool.untold(places.spool):
            return ""
    except OSError:
        return ""
    return "swarmlore: hooks had problems since the last session; swarmlore doctor tells more"


def hand_over(event: Event, places: Places, alone: Alone) -> str:
    """Give the event to the warm process, or keep it; returns the context that answers it."""
    answered = e.is_answered(event) and _may_answer(event, places)
    record = e.to_plain(event)
    request = {"op": "event", "event": record, "quiet": not answered}
    told = None if places.away else _ask(places, request, ANSWER_WAIT_S if answered else CAPTURE_WAIT_S)
    if told is not None and told.get("ok"):
        return str(told.get("text", ""))
    try:
        if places.away and spool.weight(places.spool) > MOST_KEPT:
            raise OSError(ENOSPC, "too much waits to be sent to the server")
        spool.append(places.spool, record)
    except OSError as error:
        if not answered:
            raise
        note(places, [event.client, event.name], error)  # what is known can still be read from a full disk
    # The next session should begin with what this one or a task of it taught: nobody may come by in between.
    places.left_waiting = answered or event.moment == e.SESSION_END or "outcome" in event.extra
    return alone(event, places) if answered else ""


def _ask(places: Places, request: dict[str, Any], wait_s: float) -> dict[str, Any] | None:
    """What the warm process says, unless it let somebody wait just before."""
    began = time.monotonic()
    if began < places.deaf_until:
        return None
    told = socket.ask(places.socket, request, wait_s)
    if told is None and time.monotonic() - began >= wait_s:
        places.deaf_until = time.monotonic() + DEAF_S
    return told


def _may_answer(event: Event, places: Places) -> bool:
    """Whether no other hook answers the same event. On a full disk nobody can tell: better twice than never."""
    try:
        return spool.claim(places.spool, event.id, event.at)
    except OSError:
        return True


def split_options(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
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
    """Leave word for `doctor`. Not the message of an unknown error: it may hold a piece of the payload."""
    what = str(error) if isinstance(error, BadPayload) else type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        what = f"{type(error).__name__}: {error.strerror}"
    try:
        folder = places.spool if places else os.path.join(_usual_home(), "spool")
        hook = " ".join(named)[:80]
        spool.note_problem(folder, {"at": round(time.time(), 3), "hook": hook, "what": what})
    except Exception:  # noqa: BLE001, S110 - no place to say it
        pass


def _limit_time(places: Places, named: list[str]) -> None:
    """End the process when its time is up: in a read, in a lock, wherever it is."""
    try:
        import _signal as signal  # type: ignore[import-not-found]  # the builtin part; the module around it makes enums of everything
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
    """The last resort: a signal waits for Python to have its turn, and a database or a driver may keep that."""
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
