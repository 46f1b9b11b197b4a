"""REST routes: one POST per verb of `Lore`, the hook events of other machines, health, metrics, and the OpenAPI
description."""

from __future__ import annotations

import hashlib
import json
import time
from functools import cache, partial
from urllib.parse import parse_qs

import swarmlore
from swarmlore.capture.pipeline import answer_remote, take_in_remote
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
    from swarmlore.server.http.log import RequestLog
    from swarmlore.server.service import Backend


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
    """Return the OpenAPI description of all routes."""
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
    """Return the description of a hook route; the format of an event may change with `swarmlore hook`."""
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
    stream = "a line of counts now and then, at the end one with `done` and `result`, or with `error`"
    return {
        "operationId": "import",
        "summary": "Take in lines, as many as there are",
        "description": "The lines of `GET /v1/export` or of a file. What an answer has counted is on disk.",
        "parameters": [_format(IMPORTED, "auto")],
        "requestBody": {"required": True, "content": {"application/x-ndjson": lines}},
        "responses": {"200": _lines(stream), **_refs()},
    }


def _export() -> dict[str, Any]:
    from swarmlore.server.http.streams import EXPORTED

    lines = _lines("a line for each memory, then one with `end` and `count`; for mem0 one document")
    lines["content"]["application/json"] = {"schema": {"type": "object"}}
    return {
        **_get("export", "What the project shares, or the hive", lines),
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
MOST_REPORTED = 10_000  # memories of a report
BRIEF = ("remember",)  # frequent short writes, for the group commit
HIDDEN = ("store", "bytes", "embedder")  # facts about the server's machine


def add_routes(app: App, backend: Backend, telling: RequestLog, wait_s: float = WAIT_S) -> None:
    """Add the routes of the verbs, OpenAPI, health and metrics."""
    for name in verbs():
        app.routes.append(Route("POST", f"/v1/{name}", _verb_route(backend, name, wait_s)))
    app.routes.append(Route("GET", "/v1/openapi.json", _described))
    app.routes.append(Route("GET", "/healthz", _healthy))
    app.routes.append(Route("GET", "/readyz", _ready(backend, wait_s)))
    app.routes.append(Route("GET", "/metrics", _figures(backend, telling)))


def _verb_route(backend: Backend, name: str, wait_s: float) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Any:
        verb = verb_named(name)
        given = verb.checked(await request.json())
        options = _lore_options(request.scope["query_string"])
        work = partial(result_text, name=name, given=given)
        if verb.reads:
            return await soon(backend.read(request.token, work, options), wait_s)
        if key := request.header(b"idempotency-key"):
            return await _run_once(backend, request, key, name, given, options, wait_s)
        if name in SEARCHES:
            return await soon(backend.read(request.token, work, options), wait_s)
        return await soon(backend.write(request.token, work, options, brief=name in BRIEF), wait_s)

    return handle


def _lore_options(query: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the profile and the stacks of the caller's project from the query string:
    `/v1/recall?profile=lane&stacks=python,docker`."""
    asked = parse_qs(query.decode("latin-1"))
    profiles = asked.get("profile", [])
    built_with = tuple(sorted({name for part in asked.get("stacks", []) for name in part.split(",") if name}))
    choose("profile", profiles, PROFILES)
    choose("stack", built_with, known_stacks())
    return profiles[-1] if profiles else "", built_with


async def _run_once(
    backend: Backend, request: Request, key: str, name: str, given: dict[str, Any], options: Any, wait_s: float
) -> Any:
    """Run a request with an idempotency key: its sender may repeat it if an answer was lost."""
    if not is_id(key):
        raise InvalidInput("that cannot name a request", ID_HINT)
    asked = hashlib.sha256(json.dumps([name, given, options], sort_keys=True).encode()).hexdigest()
    once = backend.search_once if name in SEARCHES else partial(backend.write_once, brief=name in BRIEF)
    answer = await soon(once(request.token, key, asked, partial(_result_str, name=name, given=given), options), wait_s)
    return Ready(answer.encode("utf-8", "replace"))


def _result_str(lore: Lore, name: str, given: dict[str, Any]) -> str:
    return result_text(lore, name, given).decode()


def result(lore: Lore, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Call a method of `Lore` and return its result as a JSON document."""
    if name == "remember":
        cited = tuple(_citation(item) for item in given.get("citations", ()))
        given = {**given, "citations": cited, "defer": True}  # the worker embeds it later
    return document(name, getattr(lore, name)(**given))


def result_text(lore: Lore, name: str, given: dict[str, Any]) -> Ready:
    """Return the same as serialised JSON; this runs in the reader process."""
    return ready(result(lore, name, given))


def _citation(item: Any) -> Any:
    """Return a citation: a name, or a place from the caller's own checkout; the gate checks both."""
    if not isinstance(item, dict):
        return item
    if "path" not in item:
        raise InvalidInput("a citation names a file", "give its path")
    return make(Citation, item, "a citation")


def document(name: str, result: Any) -> dict[str, Any]:
    """Return the result of a method as a JSON document."""
    if name == "recall":
        return {"result": plain(tuple(result)), "reports": list(result.reports), "notes": list(result.notes)}
    if name == "undo":
        return {"result": plain(tuple(result)), "operation": result.operation}
    if name == "history":
        return {"result": [change(row) for row in result]}
    if name == "stats":
        return {"result": {key: value for key, value in result.items() if key not in HIDDEN}}
    if name == "report":
        kept = _most_active(result.memories)
        left_out = result.memories_left_out + len(result.memories) - len(kept)
        result = replace(result, memories=kept, memories_left_out=left_out)
    return {"result": plain(result)}


def _most_active(memories: Sequence[MemoryFigures]) -> tuple[MemoryFigures, ...]:
    """Return the memories of a report: all, or at most 10,000, those with activity first."""
    if len(memories) <= MOST_REPORTED:
        return tuple(memories)
    ordered = sorted(memories, key=lambda it: not (it.shown or it.cut or it.junk or it.helped or it.hurt))
    return tuple(ordered[:MOST_REPORTED])


async def _described(_: Request) -> Any:
    return described()


async def _healthy(_: Request) -> Any:
    return {"ok": True}


def _ready(backend: Backend, wait_s: float) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Any:
        await soon(backend.read(request.token, Lore.count), wait_s)
        await soon(backend.write(request.token, Lore.now, brief=True), wait_s)
        return {"ok": True}

    return handle


def _figures(backend: Backend, telling: RequestLog) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Any:
        if request.token.role != "lead":
            raise NotAllowed("figures are for a lead", "show the token of a lead")
        return Figures(telling.figures(backend.figures()))

    return handle


ANSWER_S = 1.0  # a hook waits a little longer
MOST_EVENTS = 100


def add_hook_routes(app: App, backend: Backend) -> None:
    """Add the routes for hook events of other machines."""
    app.routes.append(Route("POST", "/v1/hooks/answer", _answer(backend)))
    app.routes.append(Route("POST", "/v1/hooks/events", _events(backend)))


def _answer(backend: Backend) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Any:
        until = time.monotonic() + ANSWER_S
        body = _body(await request.json(), "event", dict)
        stacks = _stacks(body.get("stacks", []))
        work = partial(answer_remote, values=body["event"], until=until)
        return {"result": {"text": await soon(backend.read(request.token, work, ("", stacks)), ANSWER_S)}}

    return handle


def _events(backend: Backend) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Any:
        counts = {"new": 0, "known": 0, "bad": 0}
        events = _body(await request.json(), "events", list)["events"]
        if len(events) > MOST_EVENTS:
            raise InvalidInput(f"{len(events)} events at once", f"send {MOST_EVENTS} at most")
        for values in events:
            counts[await soon(backend.write(request.token, _digest(values)), WAIT_S)] += 1
        return {"result": counts}

    return handle


def _digest(values: Any) -> Callable[[Any], str]:
    return lambda lore: take_in_remote(lore, values)


def _body(body: Any, name: str, kind: type) -> dict[str, Any]:
    if not isinstance(body, dict) or not isinstance(body.get(name), kind) or set(body) - {name, "stacks"}:
        raise InvalidInput(f"that is no {name[:5]} of a hook", f"send an object with {name}, as swarmlore hook does")
    return body


def _stacks(given: Any) -> tuple[str, ...]:
    """Return the known stacks among those that the hook's machine reported."""
    known = known_stacks()
    return tuple(sorted({name for name in given if name in known})) if isinstance(given, list) else ()
