"""Answers a hook without a daemon: lexical search only, in this process, with nothing heavier loaded than the store."""

from __future__ import annotations

import contextlib
import os
import time

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.clients.hook.event import Event
    from swarmlore.clients.hook.main import Places
    from swarmlore.lore import Lore


LIMIT_S = 60.0  # lifetime of the detached process
WAIT_S = 0.6  # for another writer; after that the client is answered without the memory
DIGEST_S = 1.5  # for spooled events, which may hold the lesson of the last session


def answer(event: Event, places: Places) -> str:
    """Return the context block for a hook event; '' if there is none."""
    from swarmlore.capture.answering import STANDING
    from swarmlore.capture.answering import answer as answer_event
    from swarmlore.clients.hook.event import actor, is_answered, may_begin
    from swarmlore.lore import Lore

    if not is_answered(event):
        return ""
    if places.away:
        from swarmlore.server.client.outbox import answer_from_server

        return answer_from_server(event, places.home)
    # The caller is the agent that reported the event, not the agent in whose terminal its client was started.
    agent = os.environ.get("SWARMLORE_AGENT") or actor(event)
    env = {**os.environ, "SWARMLORE_AGENT": agent, "SWARMLORE_STORE_LOCK_TIMEOUT_S": str(WAIT_S)}
    with Lore.open(places.home, cwd=event.cwd or places.home, client=event.client, env=env) as lore:
        if event.moment in STANDING or may_begin(event):  # other moments are answered first and digested afterwards
            _digest(lore)
        return answer_event(lore, event, "keyword")


def _digest(lore: Lore) -> None:
    """Store the spooled events; a busy or full store leaves them in the spool."""
    from swarmlore.capture.pipeline import SpoolReader
    from swarmlore.errors import StoreError

    with contextlib.suppress(StoreError, OSError):  # busy or full: the events stay spooled, and the answer goes on
        SpoolReader(lore).drain(DIGEST_S, hurry=True)


def digest_afterwards(places: Places) -> None:
    """Fork a process that stores spooled events and runs due jobs after the client has its answer."""
    if not hasattr(os, "fork") or os.fork():
        return
    try:
        _detach()
        if places.away:
            from swarmlore.server.client.outbox import send_waiting

            send_waiting(places.home, os.environ, LIMIT_S - 5.0)
            return
        from swarmlore.capture.pipeline import SpoolReader
        from swarmlore.lore import Lore

        began = time.monotonic()
        with Lore.open(places.home, cwd=places.home, client="hook") as lore:
            SpoolReader(lore).drain(LIMIT_S)
            work = _has_work(lore)
        if work:
            from swarmlore.server.worker.supervisor import run_once

            run_once(places.home, LIMIT_S - (time.monotonic() - began), _end_after)
    except Exception as error:  # noqa: BLE001 - a detached process: `doctor` reports the error
        from swarmlore.clients.hook.spool import note_problem

        note_problem(places.spool, {"at": time.time(), "hook": "digest", "what": type(error).__name__})
    finally:
        os._exit(0)  # always: this fork of the hook must not continue as the hook


def _has_work(lore: Lore) -> bool:
    """Tell whether a job is due that needs no model, before the worker is loaded: mostly there is none."""
    from swarmlore.domain.records import JOB_KINDS
    from swarmlore.store.jobs import Terms

    quick = Terms("", tuple(kind for kind in JOB_KINDS if kind != "embed"))
    with lore.acting():
        return lore.store.due_in(quick, lore.store.engine.now()) == 0


def _detach() -> None:
    """Detach from the client's session and streams, and set an alarm that ends this process."""
    import signal

    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _end_after(LIMIT_S)


def _end_after(seconds: float) -> None:
    """Let the alarm signal end this process after `seconds`."""
    import signal

    signal.setitimer(signal.ITIMER_REAL, seconds)
