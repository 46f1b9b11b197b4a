"""What hooks of other machines report, and the context that they are answered with."""

from __future__ import annotations

import hashlib
import json
import time
from functools import cache, partial
from urllib.parse import parse_qs

import swarmlore
from swarmlore.capture.pipeline import answer_far, digest_far
from swarmlore.domain.json_codec import change, plain
from swarmlore.domain.records import ID_HINT, PROFILES, Citation, choose, is_id, make
from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.lore import Lore
from swarmlore.lore.verbs import SEARCHES, verb_named, verbs
from swarmlore.server.http.app import Route, soon
from swarmlore.server.http.body import Figures, Ready, ready
from swarmlore.workspace.project import known_stacks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from swarmlore.lore.verbs import Verb
    from swarmlore.memory.report import MemoryFigures
    from swarmlore.server.http.app import App, Request
    from swarmlore.server.http.log import Telling
    from swarmlore.server.service import Hall


_ERROR = {
    "type": "object",
    "required": ["error", "hint", "code"],
    "properties": {
        "error": {"type": "string", "description": "what happened"},
        "hint": {"type": "string", "description": "what to do"},
        "code": {"type": "string", "description": "a word that does not change"},
    },
}
_FAILURES = {
    "400": "the request is wrong",
    "401": "no token, or one that does not hold",
    "403": "not for this caller, or turned away",
    "404": "no such thing for this caller",
    "405": "another method belongs here",
    "408": "the body came too slowly",
    "409": "a newer version exists, or several things fit",
    "413": "the body is too large",
    "415": "the body has another type",
    "422": "the gate refused the text",
    "429": "too often",
    "503": "busy: try again",
    "507": "the disk is full",
}


@cache
def described() -> dict[str, Any]:
    """The whole description."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Swarmlore",
            "version": swarmlore.__version__,
            "description": "The memory that coding agents share. Each path is a method of `swarmlore.Lore`.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": {f"/v1/{name}": {"post": _operation(verb)} for name, verb in verbs().items()} | _others(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": _ERROR},
            "responses": {status: _failure(text) for status, text in _FAILURES.items()},
        },
    }


def _operation(verb: Verb) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": dict(verb.takes),
        **({"required": list(verb.required)} if verb.required else {}),
    }
    content: dict[str, Any] = {"schema": body}
    if verb.example:
        content["example"] = dict(verb.example)
    return {
        "operationId": verb.name,
        "summary": verb.about.partition(". ")[0].rstrip("."),
        "description": verb.about,
        "requestBody": {"required": True, "content": {"application/json": content}},
        "responses": {"200": _success(), **_refs()},
    }


def _success() -> dict[str, Any]:
    schema = {"type": "object", "required": ["result"], "properties": {"result": {}}}
    return {"description": "done", "content": {"application/json": {"schema": schema}}}


def _refs() -> dict[str, Any]:
    return {status: {"$ref": f"#/components/responses/{status}"} for status in _FAILURES}


def _failure(text: str) -> dict[str, Any]:
    return {
        "description": text,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


def _others() -> dict[str, Any]:
    ok = {"description": "yes", "content": {"application/json": {"schema": {"type": "object"}}}}
    text = {"description": "figures as text", "content": {"text/plain": {"schema": {"type": "string"}}}}
    return {
        "/healthz": {"get": _get("healthz", "Whether the server answers", ok)},
        "/readyz": {"get": _get("readyz", "Whether the store can be read and written", ok)},
        "/metrics": {"get": _get("metrics", "Figures about the server's work, for a lead", text)},
        "/v1/hooks/answer": {"post": _hook("event", "object", "The context for a moment of a session")},
        "/v1/hooks/events": {"post": _hook("events", "array", "Take in what hooks of another machine reported")},
        "/v1/openapi.json": {"get": _get("openapi", "This description", ok)},
        "/v1/import": {"post": _import()},
        "/v1/export": {"get": _export()},
    }


def _hook(name: str, kind: str, summary: str) -> dict[str, Any]:
    """What `swarmlore hook` sends; the form of an event is its own, and may change with it."""
    own: dict[str, Any] = {"type": kind, **({"items": {"type": "object"}, "maxItems": 100} if kind == "array" else {})}
    stacks = {"type": "array", "items": {"type": "string"}}
    body = {
        "type": "object",
        "additionalProperties": False,
        "required": [name],
        "properties": {name: own, "stacks": stacks},
    }
    return {
        "operationId": f"hook_{name}",
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": _success(), **_refs()},
    }


def _import() -> dict[str, Any]:
    from swarmlore.server.http.streams import IMPORTED

    lines = {"schema": {"type": "string"}, "example": '{"lesson":"Snapshot tests are recorded with make snap-record"}'}
    told = "a line of counts now and then, at the end one with `done` and `result`, or with `error`"
    return {
        "operationId": "import",
        "summary": "Take in lines, as many as there are",
        "description": "The lines of `GET /v1/export` or of a file. What an answer has counted is on disk.",
        "parameters": [_format(IMPORTED, "auto")],
        "requestBody": {"required": True, "content": {"application/x-ndjson": lines}},
        "responses": {"200": _lines(told), **_refs()},
    }


def _export() -> dict[str, Any]:
    from swarmlore.server.http.streams import EXPORTED

    told = _lines("a line for each memory, then one with `end` and `count`; for mem0 one document")
    told["content"]["application/json"] = {"schema": {"type": "object"}}
    return {
        **_get("export", "What the project shares, or the hive", told),
        "parameters": [_format(EXPORTED, "knowledge")],
    }


def _format(known: tuple[str, ...], usual: str) -> dict[str, Any]:
    schema = {"type": "string", "enum": list(known), "default": usual}
    return {"name": "format", "in": "query", "required": False, "schema": schema}


def _lines(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}


def _get(name: str, summary: str, good: dict[str, Any]) -> dict[str, Any]:
    return {"operationId": name, "summary": summary, "responses": {"200": good, **_refs()}}


WAIT_S = 30.0
MOST_TOLD = 10_000  # memories of a report
BRIEF = ("remember",)  # what many do at once, and what takes a moment
HIDDEN = ("store", "bytes", "embedder")  # of the server's machine


def add_routes(app: App, hall: Hall, telling: Telling, wait_s: float = WAIT_S) -> None:
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


ANSWER_S = 1.0  # a hook waits a little longer
MOST_EVENTS = 100


def add_hook_routes(app: App, hall: Hall) -> None:
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
