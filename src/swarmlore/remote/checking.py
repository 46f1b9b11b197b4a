"""Whether the server that is asked answers, how fast, and whom it takes us for; what waits here to be sent to it."""

from __future__ import annotations

import time

from swarmlore.clients.hook import spool
from swarmlore.clients.hook.home import outbox_dir
from swarmlore.errors import NotAllowed, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.memory.doctor import Check, ago, problems

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from swarmlore.remote.away import AwayLore

SLOW_MS = 500.0
STUCK_S = 600.0
KEPT = "what hooks report is kept here until it answers"


def standing(lore: AwayLore) -> dict[str, Any]:
    """How the server stands: whether it answers, whether the token holds, for whom; and what waits to be sent."""
    told: dict[str, Any] = {"server": lore.url, "answers": False, "token_holds": False}
    waiting = {"waiting_bytes": spool.weight(outbox_dir(lore.home))}
    try:
        lore.whoami()  # the first request also connects
        began = time.monotonic()
        who = lore.whoami()
        took = round(1_000 * (time.monotonic() - began), 1)
    except SwarmloreError as error:
        answers = isinstance(error, NotAllowed)
        return {**told, "answers": answers, "problem": error.message, "hint": error.hint, **waiting}
    known = {"agent": who.agent, "role": who.role, "project": who.project}
    return {**told, "answers": True, "token_holds": True, "ms": took, **known, **waiting}


def checks(lore: AwayLore, told: dict[str, Any], now: float) -> Iterator[Check]:
    """The same as findings, and what hooks had trouble with."""
    yield from _server(told)
    if told["token_holds"]:
        yield Check("token", "ok", f"holds: {told['agent']}, {told['role']}")
        yield _project(told["project"], lore.project.names)
    yield from _outbox(lore.home, now)
    yield from problems(outbox_dir(lore.home), now)


def _server(told: dict[str, Any]) -> Iterator[Check]:
    if not told["answers"]:
        yield Check("server", "fail", told["problem"], told["hint"])
    elif not told["token_holds"]:
        yield Check("server", "ok", f"{told['server']} answers")
        yield Check("token", "fail", told["problem"], told["hint"])
    else:
        slow = told["ms"] > SLOW_MS
        hint = "hooks wait for about a second: what comes later is not shown" if slow else ""
        yield Check("server", "warn" if slow else "ok", f"{told['server']} answers in {told['ms']:g} ms", hint)


def _project(project: str, names: tuple[str, ...]) -> Check:
    if project in names:
        return Check("project", "ok", project)
    hint = "that is right where the server knows the project by another name; else ask for a token of this project"
    return Check("project", "ok", f"the token is for {project}, this folder is {names[0] if names else '?'}", hint)


def _outbox(home: str, now: float) -> Iterator[Check]:
    folder = outbox_dir(home)
    if not spool.waits(folder):
        yield Check("outbox", "ok", "nothing waits to be sent")
        return
    many = spool.many(folder)
    oldest = min(spool.times(folder), default=now)
    stuck = now - oldest > STUCK_S
    said = f"{many} {'event waits' if many == 1 else 'events wait'} to be sent, since {ago(now - oldest)}"
    yield Check("outbox", "warn" if stuck else "ok", said, KEPT if stuck else "")
