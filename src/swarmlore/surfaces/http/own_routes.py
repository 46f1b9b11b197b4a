"""The routes under /v1: one for each verb, each with the same words as the method of `Lore`."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from urllib.parse import parse_qs

from swarmlore.domain.json_codec import change, plain
from swarmlore.domain.records import ID_HINT, PROFILES, Citation, choose, is_id, make
from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.lore import Lore
from swarmlore.surfaces.http.app import Route, soon
from swarmlore.surfaces.http.asking import Figures, Ready, ready
from swarmlore.verbs.table import SEARCHES, verb_named, verbs
from swarmlore.workspace.project import known_stacks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from swarmlore.memory.report import MemoryFigures
    from swarmlore.serving.hall import Hall
    from swarmlore.surfaces.http.app import App, Request
    from swarmlore.surfaces.http.telling import Telling

WAIT_S = 30.0
MOST_TOLD = 10_000  # memories of a report
BRIEF = ("remember",)  # what many do at once, and what takes a moment
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
        how = _how(request.scope["query_string"])
        work = partial(result_text, name=name, given=given)
        if verb.reads:
            return await soon(hall.read(request.token, work, how), wait_s)
        if key := request.header(b"idempotency-key"):
            return await _once(hall, request, key, name, given, how, wait_s)
        if name in SEARCHES:
            return await soon(hall.read(request.token, work, how), wait_s)
        return await soon(hall.write(request.token, work, how, brief=name in BRIEF), wait_s)

    return handle


def _how(query: bytes) -> tuple[str, tuple[str, ...]]:
    """Whose rules are meant, and what the asker's project is built with, where the address says so:
    `/v1/recall?profile=lane&stacks=python,docker`."""
    asked = parse_qs(query.decode("latin-1"))
    profiles = asked.get("profile", [])
    built_with = tuple(sorted({name for part in asked.get("stacks", []) for name in part.split(",") if name}))
    choose("profile", profiles, PROFILES)
    choose("stack", built_with, known_stacks())
    return profiles[-1] if profiles else "", built_with


async def _once(
    hall: Hall, request: Request, key: str, name: str, given: dict[str, Any], how: Any, wait_s: float
) -> Any:
    """For a sender that may ask again because an answer was lost."""
    if not is_id(key):
        raise InvalidInput("that cannot name a request", ID_HINT)
    asked = hashlib.sha256(json.dumps([name, given, how], sort_keys=True).encode()).hexdigest()
    once = hall.search_once if name in SEARCHES else partial(hall.write_once, brief=name in BRIEF)
    told = await soon(once(request.token, key, asked, partial(_written, name=name, given=given), how), wait_s)
    return Ready(told.encode("utf-8", "replace"))


def _written(lore: Lore, name: str, given: dict[str, Any]) -> str:
    return result_text(lore, name, given).decode()


def result(lore: Lore, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """What a method tells, as a document."""
    if name == "remember":
        cited = tuple(_citation(item) for item in given.get("citations", ()))
        given = {**given, "citations": cited, "defer": True}  # nobody waits for a vector here; the worker makes it
    told = getattr(lore, name)(**given)
    return document(name, told)


def result_text(lore: Lore, name: str, given: dict[str, Any]) -> Ready:
    """The same, written down where it was found out."""
    return ready(result(lore, name, given))


def _citation(item: Any) -> Any:
    """A place by its name, or as somebody found it in a checkout of their own; the gate looks at both."""
    if not isinstance(item, dict):
        return item
    if "path" not in item:
        raise InvalidInput("a citation names a file", "give its path")
    return make(Citation, item, "a citation")


def document(name: str, told: Any) -> dict[str, Any]:
    if name == "recall":
        return {"result": plain(tuple(told)), "reports": list(told.reports), "notes": list(told.notes)}
    if name == "undo":
        return {"result": plain(tuple(told)), "operation": told.operation}
    if name == "history":
        return {"result": [change(row) for row in told]}
    if name == "stats":
        return {"result": {key: value for key, value in told.items() if key not in HIDDEN}}
    if name == "report":
        some = _worth_telling(told.memories)
        besides = told.memories_left_out + len(told.memories) - len(some)
        told = replace(told, memories=some, memories_left_out=besides)
    return {"result": plain(told)}


def _worth_telling(memories: Sequence[MemoryFigures]) -> tuple[MemoryFigures, ...]:
    """The memories of a report for an answer of ordinary size: all of them, or those about which there is something to
    tell, and then the newest."""
    if len(memories) <= MOST_TOLD:
        return tuple(memories)
    told = sorted(memories, key=lambda it: not (it.shown or it.cut or it.junk or it.helped or it.hurt))
    return tuple(told[:MOST_TOLD])


async def _described(_: Request) -> Any:
    from swarmlore.surfaces.http.openapi import described

    return described()


async def _healthy(_: Request) -> Any:
    return {"ok": True}


def _ready(hall: Hall, wait_s: float) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Any:
        await soon(hall.read(request.token, Lore.count), wait_s)
        await soon(hall.write(request.token, Lore.now, brief=True), wait_s)
        return {"ok": True}

    return handle


def _figures(hall: Hall, telling: Telling) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Any:
        if request.token.role != "lead":
            raise NotAllowed("figures are for a lead", "show the token of a lead")
        return Figures(telling.figures(hall.figures()))

    return handle
