"""JSON schema of the tool parameters, and the check of a call against it. Without expensive imports."""

from __future__ import annotations

import math
from collections.abc import Mapping

from swarmlore.domain.language.display import choices_hint
from swarmlore.domain.language.unicode import NO_TEXT
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any


MAX_TEXT = 65_536
MAX_QUERY = 20_000
MAX_NAME = 400
MAX_ITEMS = 100
_TYPES = {
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list of texts",
}


@frozen
class Tool:
    """A tool as it is offered. `reads`: calling it changes nothing that an agent could notice."""

    name: str
    description: str
    takes: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...] = ()
    reads: bool = False

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the parameters."""
        schema = {"type": "object", "properties": self.takes, "additionalProperties": False}
        return {**schema, "required": list(self.required)} if self.required else schema

    def offer(self) -> dict[str, Any]:
        """Return the tool as `tools/list` shows it."""
        offer = {"name": self.name, "description": self.description, "inputSchema": self.schema()}
        return {**offer, "annotations": {"readOnlyHint": True}} if self.reads else offer


def text(about: str = "", most: int = MAX_NAME) -> dict[str, Any]:
    """Schema of a text."""
    return {"type": "string", **({"description": about} if about else {}), "maxLength": most}


def one_of(words: tuple[str, ...], about: str = "") -> dict[str, Any]:
    """Schema of one of these words."""
    return {"type": "string", "enum": list(words), **({"description": about} if about else {})}


def texts(about: str = "") -> dict[str, Any]:
    """Schema of a list of texts."""
    return {"type": "array", "items": {"type": "string"}, **({"description": about} if about else {})}


def count(about: str = "", least: int = 0, most: int = 10**12) -> dict[str, Any]:
    """Schema of a whole number."""
    limits = {"minimum": least} if most == 10**12 else {"minimum": least, "maximum": most}
    return {"type": "integer", **({"description": about} if about else {}), **limits}


def number(about: str, least: float, most: float) -> dict[str, Any]:
    """Schema of a number."""
    return {"type": "number", "description": about, "minimum": least, "maximum": most}


def flag(about: str = "") -> dict[str, Any]:
    """Schema of a boolean."""
    return {"type": "boolean", **({"description": about} if about else {})}


def things(about: str) -> dict[str, Any]:
    """Schema of a list of objects or texts; its handler checks the items."""
    return {"type": "array", "items": {}, "description": about}


def checked(tool: Tool, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments if they fit the schema, else raise InvalidInput; null counts as not given."""
    given = {name: value for name, value in (arguments or {}).items() if value is not None}
    for name in given:
        if name not in tool.takes:
            raise InvalidInput(f"{tool.name} takes no {name[:MAX_NAME]!r}", choices_hint(name, tuple(tool.takes)))
    if missing := [name for name in tool.required if name not in given]:
        raise InvalidInput(f"{tool.name} needs {missing[0]}", f"{missing[0]}: {_wanted(tool.takes[missing[0]])}")
    for name, value in given.items():
        _check(name, value, tool.takes[name])
    return given


def _check(name: str, value: Any, spec: Mapping[str, Any]) -> None:
    """Raise InvalidInput if an argument does not fit its schema."""
    if not _is(value, spec["type"], spec.get("items")):
        raise InvalidInput(f"{name} must be {_TYPES[spec['type']]}, not {type(value).__name__}", _wanted(spec))
    if spec["type"] in ("integer", "number") and not spec["minimum"] <= value <= spec.get("maximum", 10**12):
        raise InvalidInput(f"{name} {value} is out of range", _wanted(spec))
    listed = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    if len(listed) > MAX_ITEMS:
        raise InvalidInput(f"{name} has {len(listed)} items", f"{MAX_ITEMS} at most")
    inner = spec.get("items", spec)
    for item in listed if inner else ():
        _check_text(name, item, inner.get("maxLength", MAX_NAME), tuple(inner.get("enum", ())))


def _check_text(name: str, text: str, most: int, words: tuple[str, ...]) -> None:
    if words and text not in words:
        raise InvalidInput(f"unknown {name}: {text[:MAX_NAME]!r}", choices_hint(text[:MAX_NAME], words))
    if len(text) > most:
        raise InvalidInput(f"{name} has {len(text)} characters", f"{most} at most: say it shorter")
    if NO_TEXT.search(text):
        raise InvalidInput(f"{name} is no text: it holds a NUL or half a character", "give plain Unicode text")


def _is(value: Any, kind: str, inner: object = True) -> bool:
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and -math.inf < value < math.inf
    if kind == "array":
        return isinstance(value, list) and (not inner or all(isinstance(item, str) for item in value))
    return isinstance(value, {"string": str, "boolean": bool}[kind])


def _wanted(spec: Mapping[str, Any]) -> str:
    """Return in words which value a schema accepts."""
    words = spec.get("enum") or spec.get("items", {}).get("enum")
    if words:
        return "one of: " + ", ".join(words)
    described = f"{_TYPES[spec['type']]}" + (f": {spec['description']}" if "description" in spec else "")
    most = spec.get("maximum")
    return f"{described} ({spec['minimum']} to {most})" if most else described
