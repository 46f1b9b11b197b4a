"""Converts a call of a `Lore` method to the JSON body that a server takes, and its JSON answer to the result."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from importlib import import_module

from swarmlore.domain.json_codec import from_iso, memory_to_dict
from swarmlore.domain.records import Citation
from swarmlore.errors import NotAllowed
from swarmlore.frozen import TYPE_CHECKING, fields, replace
from swarmlore.lore import Lore
from swarmlore.memory.quarantine import Undone
from swarmlore.retrieval.recall import Hits

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import AuditRow


# Modules with the records that a method may return, directly or nested; searched in this order.
MODULES = (
    "swarmlore.domain.records",
    "swarmlore.memory.lifecycle",
    "swarmlore.memory.promotion",
    "swarmlore.memory.curation",
    "swarmlore.retrieval.patterns",
    "swarmlore.domain.policy.outcomes",
    "swarmlore.memory.quarantine",
    "swarmlore.memory.explain",
    "swarmlore.retrieval.prime",
    "swarmlore.memory.report",
)
_INNER = re.compile(r"(?:tuple|list|Sequence|Iterable)\[(.+?)(?:, \.\.\.)?\]")


def decoded(kind: str, value: Any, near: str = MODULES[0]) -> Any:
    """Convert a JSON value to an annotated type. Records are looked up in the module `near` first, as several modules
    may use a name."""
    if value is None or kind in ("Any", "str", "int", "bool"):
        return value
    if kind.endswith(" | None"):
        return decoded(kind.removesuffix(" | None"), value, near)
    if kind == "float":
        return from_iso(value) if isinstance(value, str) else value
    if isinstance(value, list):
        inner = _INNER.fullmatch(kind)
        return tuple(decoded(inner[1] if inner else "Any", item, near) for item in value)
    record = _record(kind, near)
    if record is None or not isinstance(value, Mapping):
        return value
    known = {spec.name: spec.type for spec in fields(record)}
    own = record.__module__
    return record(**{name: decoded(known[name], item, own) for name, item in value.items() if name in known})


def _record(name: str, near: str) -> Callable[..., Any] | None:
    for module in (near, *MODULES):
        found = getattr(import_module(module), name, None)
        if found is not None and hasattr(found, "__frozen_fields__"):
            return found  # type: ignore[no-any-return]
    return None


_NOT_SENT = ("self", "progress", "all_projects")


def body_of(name: str, args: tuple[Any, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call as the JSON body that a server takes."""
    body = _flat(inspect.signature(getattr(Lore, name)).bind(None, *args, **given))
    if body.get("all_projects") and name != "recall":  # `recall` then searches the caller's own project
        raise NotAllowed("only a person can see all projects", "leave out all_projects")
    return {key: _plain(value) for key, value in body.items() if value is not None and key not in _NOT_SENT}


def result_of(name: str, answer: Mapping[str, Any]) -> Any:
    """Return what a call returns, from the server's JSON answer."""
    if name == "recall":
        hits = decoded("tuple[Hit, ...]", answer["result"])
        return Hits(hits, tuple(answer["notes"]), tuple(answer["reports"]))
    if name == "undo":
        return Undone(decoded("tuple[Memory, ...]", answer["result"]), str(answer["operation"]))
    found = decoded(str(inspect.signature(getattr(Lore, name)).return_annotation), answer["result"])
    return tuple(map(_with_records, found)) if name == "history" else found


def _with_records(row: AuditRow) -> AuditRow:
    """Return an audit row whose records are as a store gives them: times are numbers."""
    before, after = (memory_to_dict(decoded("Memory", m)) if m else None for m in (row.before, row.after))
    return replace(row, before=before, after=after)


def _plain(value: Any) -> Any:
    """Return a value as JSON; citations are the only records that a method takes."""
    if isinstance(value, Citation):
        return {spec.name: getattr(value, spec.name) for spec in fields(Citation)}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _flat(bound: inspect.BoundArguments) -> dict[str, Any]:
    """Return the bound arguments by name, with those of `**facts` merged in."""
    flat: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            flat |= value
        elif name != "self":
            flat[name] = value
    return flat
