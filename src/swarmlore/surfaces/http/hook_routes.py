"""What hooks of other machines report, and the context that they are answered with."""

from __future__ import annotations

import time
from functools import partial

from swarmlore.capture.pipeline import answer_far, digest_far
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.http.app import Route, soon
from swarmlore.workspace.project import known_stacks

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from swarmlore.serving.hall import Hall
    from swarmlore.surfaces.http.app import App, Request

ANSWER_S = 1.0  # a hook waits a little longer
WAIT_S = 30.0
MOST_EVENTS = 100


def add(app: App, hall: Hall) -> None:
    """Let the application answer here."""
    app.routes.append(Route("POST", "/v1/hooks/answer", _answer(hall)))
    app.routes.append(Route("POST", "/v1/hooks/events", _events(hall)))


def _answer(hall: Hall) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Any:
        until = time.monotonic() + ANSWER_S
        body = _body(await request.json(), "event", dict)
        stacks = _stacks(body.get("stacks", []))
        work = partial(answer_far, values=body["event"], until=until)
        return {"result": {"text": await soon(hall.read(request.token, work, ("", stacks)), ANSWER_S)}}

    return handle


def _events(hall: Hall) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Any:
        told = {"new": 0, "known": 0, "bad": 0}
        events = _body(await request.json(), "events", list)["events"]
        if len(events) > MOST_EVENTS:
            raise InvalidInput(f"{len(events)} events at once", f"send {MOST_EVENTS} at most")
        for values in events:
            told[await soon(hall.write(request.token, _digest(values)), WAIT_S)] += 1
        return {"result": told}

    return handle


def _digest(values: Any) -> Callable[[Any], str]:
    return lambda lore: digest_far(lore, values)


def _body(body: Any, name: str, kind: type) -> dict[str, Any]:
    if not isinstance(body, dict) or not isinstance(body.get(name), kind) or set(body) - {name, "stacks"}:
        raise InvalidInput(f"that is no {name[:5]} of a hook", f"send an object with {name}, as swarmlore hook does")
    return body


def _stacks(given: Any) -> tuple[str, ...]:
    """What the project is built with on the machine of the hook."""
    known = known_stacks()
    return tuple(sorted({name for name in given if name in known})) if isinstance(given, list) else ()
