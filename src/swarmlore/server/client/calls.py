"""A call of a verb as the document that a server takes, and its answer as what the call returns."""

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


_NOT_SENT = ("self", "progress", "all_projects")


def body_of(name: str, args: tuple[Any, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as a server takes them."""
    said = _flat(inspect.signature(getattr(Lore, name)).bind(None, *args, **given))
    if said.get("all_projects") and name != "recall":  # which then looks at one's own project
        raise NotAllowed("only a person can see all projects", "leave out all_projects")
    return {key: _plain(value) for key, value in said.items() if value is not None and key not in _NOT_SENT}


def result_of(name: str, answer: Mapping[str, Any]) -> Any:
    """What a call returns, from the document that a server answered with."""
    if name == "recall":
        hits = decoded("tuple[Hit, ...]", answer["result"])
        return Hits(hits, tuple(answer["notes"]), tuple(answer["reports"]))
    if name == "undo":
        return Undone(decoded("tuple[Memory, ...]", answer["result"]), str(answer["operation"]))
    found = decoded(str(inspect.signature(getattr(Lore, name)).return_annotation), answer["result"])
    return tuple(map(_with_records, found)) if name == "history" else found


def _with_records(row: AuditRow) -> AuditRow:
    """A row of a history whose records are as a store gives them: times are numbers."""
    former, later = (memory_to_dict(decoded("Memory", one)) if one else None for one in (row.before, row.after))
    return replace(row, before=former, after=later)


def _plain(value: Any) -> Any:
    """A value as JSON has it: citations are the only records that a verb takes."""
    if isinstance(value, Citation):
        return {spec.name: getattr(value, spec.name) for spec in fields(Citation)}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _flat(bound: inspect.BoundArguments) -> dict[str, Any]:
    """The arguments by name, those of `**facts` among them."""
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            found |= value
        elif name != "self":
            found[name] = value
    return found
