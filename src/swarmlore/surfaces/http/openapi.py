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
    "408": "the body came too slowly",
    "409": "a newer version exists, or several things fit",
    "413": "the body is too large",
    "415": "the body has another type",
    "422": "the gate refused the text",
    "429": "too often",
    "503": "busy: try again",
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
        "/v1/openapi.json": {"get": _get("openapi", "This description", ok)},
    }


def _get(name: str, summary: str, good: dict[str, Any]) -> dict[str, Any]:
    return {"operationId": name, "summary": summary, "responses": {"200": good, **_refs()}}
