"""Answering a hook without a warm process: by words, from this process, with nothing heavier than the store."""

from __future__ import annotations

import contextlib
import os
import time

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.clients.hook.event import Event
    from swarmlore.clients.hook.main import Places
    from swarmlore.lore import Lore


LIMIT_S = 60.0  # for a process that digests and for which nobody waits
WAIT_S = 0.6  # for a writer, before the client is answered without the memory
DIGEST_S = 1.5  # for what waits: the lesson of the last session may be in it


def answer(event: Event, places: Places) -> str:
    """The context for a moment of a session, or ''."""
    from swarmlore.capture.answering import STANDING
    from swarmlore.capture.answering import answer as answer_event
    from swarmlore.clients.hook.event import actor, is_answered, may_begin
    from swarmlore.lore import Lore

    if not is_answered(event):
        return ""
    if places.away:
        from swarmlore.server.client.outbox import answer_from_server

        return answer_from_server(event, places.home)
    # Who acts is who reported the event, not the agent in whose terminal its client was started.
    agent = os.environ.get("SWARMLORE_AGENT") or actor(event)
    env = {**os.environ, "SWARMLORE_AGENT": agent, "SWARMLORE_STORE_LOCK_TIMEOUT_S": str(WAIT_S)}
    with Lore.open(places.home, cwd=event.cwd or places.home, client=event.client, env=env) as lore:
        if event.moment in STANDING or may_begin(event):  # the others are answered first, and digested afterwards
            _digest(lore)
        return answer_event(lore, event, "keyword")


def _digest(lore: Lore) -> None:
    from swarmlore.capture.pipeline import Digester
    from swarmlore.errors import StoreError

    with contextlib.suppress(StoreError, OSError):  # busy or full: it goes on waiting, and reading goes on
        Digester(lore).drain(DIGEST_S, hurry=True)


def digest_afterwards(places: Places) -> None:
    """Digest what waits in a process of its own, when the client has its answer: nobody waits for that."""
    if not hasattr(os, "fork") or os.fork():
        return
    try:
        _go_aside()
        if places.away:
            from swarmlore.server.client.outbox import send_waiting

            send_waiting(places.home, os.environ, LIMIT_S - 5.0)
            return
        from swarmlore.capture.pipeline import Digester
        from swarmlore.lore import Lore

        began = time.monotonic()
        with Lore.open(places.home, cwd=places.home, client="hook") as lore:
            Digester(lore).drain(LIMIT_S)
            work = _has_work(lore)
        if work:
            from swarmlore.server.worker.supervisor import burst

            burst(places.home, LIMIT_S - (time.monotonic() - began), _end_after)
    except Exception as error:  # noqa: BLE001 - nobody waits; the doctor is told
        from swarmlore.clients.hook.spool import note_problem

        note_problem(places.spool, {"at": time.time(), "hook": "digest", "what": type(error).__name__})
    finally:
        os._exit(0)  # whatever happened: this is a copy of a hook, and must not go on as one


def _has_work(lore: Lore) -> bool:
    """Whether a job is due that needs no model. Asked before anything of the worker is loaded: mostly there is none."""
    from swarmlore.domain.records import JOB_KINDS
    from swarmlore.store.jobs import Terms

    quick = Terms("", tuple(kind for kind in JOB_KINDS if kind != "embed"))
    with lore.acting():
        return lore.store.due_in(quick, lore.store.engine.now()) == 0


def _go_aside() -> None:
    """Leave the client's session and streams, and end after a while whatever happens."""
    import signal

    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _end_after(LIMIT_S)


def _end_after(seconds: float) -> None:
    import signal

    signal.setitimer(signal.ITIMER_REAL, seconds)
