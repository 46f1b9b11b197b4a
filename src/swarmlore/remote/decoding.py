"""Records from the documents that a server answers with: what `documents.plain` took apart, put together again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module

from swarmlore.domain.json_codec import from_iso
from swarmlore.frozen import TYPE_CHECKING, fields

if TYPE_CHECKING:
    from typing import Any

# Where records live that a verb may return, or that lie in one; looked for in this order.
MODULES = (
    "swarmlore.domain.records",
    "swarmlore.memory.lifecycle",
    "swarmlore.memory.lifecycle",
    "swarmlore.memory.promotion",
    "swarmlore.memory.curation",
    "swarmlore.memory.feedback",
    "swarmlore.domain.patterns",
    "swarmlore.memory.quarantine",
    "swarmlore.memory.explain",
    "swarmlore.retrieval.prime",
    "swarmlore.memory.report",
)
_INNER = re.compile(r"(?:tuple|list|Sequence|Iterable)\[(.+?)(?:, \.\.\.)?\]")


def decoded(kind: str, value: Any, near: str = MODULES[0]) -> Any:
    """A value of an annotated type; records are looked for in the module `near` first, as names may be used twice."""
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
