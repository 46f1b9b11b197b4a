"""Records from what callers of the Python API pass: unknown names and wrong types are errors with a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, fields
from swarmlore.text.choices import choices_hint

if TYPE_CHECKING:
    from typing import Any

_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "tuple[str, ...]": "a list of texts",
    "Mapping[str, Any]": "a mapping",
}


def make(kind: Callable[..., Any], values: Mapping[str, Any], verb: str) -> Any:
    """A record of these values; raises InvalidInput naming what does not fit."""
    specs = {spec.name: spec.type for spec in fields(kind)}
    checked = {}
    for name, value in values.items():
        if name not in specs:
            raise InvalidInput(f"{verb} has no {name!r}", choices_hint(name, tuple(specs)))
        checked[name] = tuple(value) if isinstance(value, list) else value
        if specs[name] == "Mapping[str, Any]" and isinstance(value, Mapping):
            json_values(value)
        if not fits(checked[name], specs[name]):
            wanted = _WORDS.get(specs[name].removesuffix(" | None"), specs[name])
            raise InvalidInput(f"{name} must be {wanted}, not {type(value).__name__}", f"see docs/python.md, {verb}")
    return kind(**checked)


def choose(field: str, values: Iterable[str], allowed: Sequence[str]) -> None:
    """Refuse words that are none of the allowed ones: a filter that nothing can pass is a slip, not a question."""
    for value in values:
        if value not in allowed:
            raise InvalidInput(f"unknown {field}: {value}", choices_hint(str(value), allowed))


def fits(value: object, kind: str) -> bool:
    """Whether a value has the type that a field names."""
    if kind.endswith(" | None"):
        return value is None or fits(value, kind.removesuffix(" | None"))
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    if kind == "float":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "tuple[str, ...]":
        return isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    return isinstance(value, {"str": str, "bool": bool, "Mapping[str, Any]": Mapping}.get(kind, object))


def json_values(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values, if JSON can hold them."""
    import json

    try:
        json.dumps(values, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"these values cannot be stored: {error}", "use texts, numbers, lists and mappings"
        ) from error
    return values
