"""The routes under /v1: one for each verb, each with the same words as the method of `Lore`."""

from __future__ import annotations

import hashlib
import json

from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.cli.documents import change, plain
from swarmlore.surfaces.http.app import Route, soon
from swarmlore.text.ids import ID_HINT, is_id
from swarmlore.verbs.table import verb_named, verbs

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.serving.hall import Hall
    from swarmlore.surfaces.http.app import App, Request
    from swarmlore.surfaces.http.telling import Telling

WAIT_S = 30.0
HIDDEN = ("store", "bytes", "embedder")  # of the server's machine


def add(app: App, hall: Hall, telling: Telling, wait_s: float = WAIT_S) -> None:
    """Let the application answer here."""
    for name in verbs():
        app.routes.append(Route("POST", f"/v1/{name}", _asked(hall, name, wait_s)))
    app.routes.append(Route("GET", "/v1/openapi.json", _described))
    app.routes.append(Route("GET", "/healthz", _healthy))
    app.routes.append(Route("GET", "/readyz", _ready(hall, wait_s)))
    app.routes.append(Route("GET", "/metrics", _figures(hall, telling)))


def _asked(hall: Hall, name: str, wait_s: float) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Any:
        verb = verb_named(name)
        given = verb.checked(await request.json())
        if verb.reads:
            return await soon(hall.read(request.token, lambda lore: result(lore, name, given)), wait_s)
        if key := request.header(b"idempotency-key"):
            return await _once(hall, request, key, name, given, wait_s)
        return await soon(hall.write(request.token, lambda lore: result(lore, name, given)), wait_s)

    return handle


async def _once(hall: Hall, request: Request, key: str, name: str, given: dict[str, Any], wait_s: float) -> Any:
    """For a sender that may ask again because an answer was lost."""
    if not is_id(key):
        raise InvalidInput("that cannot name a request", ID_HINT)
    asked = hashlib.sha256(json.dumps([name, given], sort_keys=True).encode()).hexdigest()
    told = hall.write_once(request.token, key, asked, lambda lore: json.dumps(result(lore, name, given)))
    return json.loads(await soon(told, wait_s))


def result(lore: Lore, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """What a method tells, as a document."""
    if name == "remember":
        given = {**given, "defer": True}  # nobody waits for a vector here; the worker makes it
    told = getattr(lore, name)(**given)
    return document(name, told)


def document(name: str, told: Any) -> dict[str, Any]:
    if name == "recall":
        return {"result": plain(tuple(told)), "reports": list(told.reports), "notes": list(told.notes)}
    if name == "history":
        return {"result": [change(row) for row in told]}
    if name == "stats":
        return {"result": {key: value for key, value in told.items() if key not in HIDDEN}}
    return {"result": plain(told)}


async def _described(_: Request) -> Any:
    from swarmlore.surfaces.http.openapi import described

    return described()


async def _healthy(_: Request) -> Any:
    return {"ok": True}


def _ready(hall: Hall, wait_s: float) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Any:
        await soon(hall.read(request.token, lambda lore: lore.count()), wait_s)
        await soon(hall.write(request.token, lambda lore: lore.now()), wait_s)
        return {"ok": True}

    return handle


def _figures(hall: Hall, telling: Telling) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Any:
        if request.token.role != "lead":
            raise NotAllowed("figures are for a lead", "show the token of a lead")
        return telling.figures(hall.figures())

    return handle
