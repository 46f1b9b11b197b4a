"""The description of the routes under /v1 for programs that read such: OpenAPI 3.1, made from the verbs."""

from __future__ import annotations

from functools import cache

import swarmlore
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.verbs.table import verbs

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.verbs.table import Verb

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
    from swarmlore.surfaces.http.streams import IMPORTED

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
    from swarmlore.surfaces.http.streams import EXPORTED

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
