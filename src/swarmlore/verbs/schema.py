"""Types of parameters and records as JSON Schema, and values checked against it. Small on purpose: what our own methods
take and give is texts, numbers, lists of texts, mappings and records."""

from __future__ import annotations

import re
from collections.abc import Mapping

from swarmlore.domain.language.display import choices_hint
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

MAX_TEXT = 65_536
MAX_ITEMS = 1_000
NO_TEXT = re.compile("[\0\ud800-\udfff]")
_PLAIN: dict[str, Schema] = {
    "str": {"type": "string", "maxLength": MAX_TEXT},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "Any": {},
}
_KINDS = {"string": str, "boolean": bool, "array": list, "object": Mapping}
_WORDS = {
    "string": "a text",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "integer": "a whole number",
    "number": "a number",
}


def schema_of(kind: str) -> Schema:
    """The schema of an annotation, as records write it."""
    if kind.endswith(" | None"):
        inner = schema_of(kind.removesuffix(" | None"))
        return {**inner, "type": [inner["type"], "null"]} if "type" in inner else inner
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    if kind.startswith(("tuple[str", "Sequence[str", "list[str")):
        return {"type": "array", "items": {"type": "string", "maxLength": MAX_TEXT}, "maxItems": MAX_ITEMS}
    if kind.startswith(("tuple[int", "Sequence[int")):
        return {"type": "array", "items": {"type": "integer"}, "maxItems": MAX_ITEMS}
    if kind.startswith(("Mapping[", "dict[")):
        return {"type": "object"}
    raise AssertionError(f"no schema for {kind}")


def check(name: str, value: Any, schema: Mapping[str, Any]) -> None:
    """Refuse a value that does not fit; says which and what would."""
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    if kinds and not any(_is(value, kind) for kind in kinds):
        wanted = " or ".join(_WORDS.get(kind, "null") for kind in kinds)
        raise InvalidInput(f"{name} must be {wanted}, not {_name(value)}", schema.get("description", ""))
    if isinstance(value, str):
        _check_text(name, value, schema)
    elif isinstance(value, list):
        _check_list(name, value, schema)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _check_number(name, value, schema)


def _check_text(name: str, value: str, schema: Mapping[str, Any]) -> None:
    if len(value) > schema.get("maxLength", MAX_TEXT):
        raise InvalidInput(f"{name} has {len(value)} characters", f"{schema.get('maxLength', MAX_TEXT)} at most")
    if "enum" in schema and value not in schema["enum"]:
        known = tuple(word for word in schema["enum"] if word)
        raise InvalidInput(f"unknown {name}: {value[:80]!r}", choices_hint(value[:80], known))
    if NO_TEXT.search(value):
        raise InvalidInput(f"{name} is no text: it holds a NUL or half a character", "give plain Unicode text")


def _check_list(name: str, value: list[Any], schema: Mapping[str, Any]) -> None:
    if len(value) > schema.get("maxItems", MAX_ITEMS):
        raise InvalidInput(f"{name} has {len(value)} items", f"{schema.get('maxItems', MAX_ITEMS)} at most")
    for item in value:
        check(name, item, schema.get("items", {}))


def _check_number(name: str, value: float, schema: Mapping[str, Any]) -> None:
    low, high = schema.get("minimum", -(10**15)), schema.get("maximum", 10**15)
    if not low <= value <= high:
        raise InvalidInput(f"{name} {value} is out of range", f"from {low} to {high}")


def _is(value: Any, kind: str) -> bool:
    if kind == "null":
        return value is None
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, _KINDS[kind])


def _name(value: Any) -> str:
    """What JSON calls it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    words = {str: "a text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return words.get(type(value), type(value).__name__)
