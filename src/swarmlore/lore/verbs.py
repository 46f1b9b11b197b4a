"""Which methods of `Lore` a server offers, their parameters as JSON schema, and whether each only reads.

The schemas are derived from the method signatures. Left out is what a token must not decide (identity, times, trust)
and what works on one machine only.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache

from swarmlore.domain.language.display import choices_hint
from swarmlore.domain.language.unicode import NO_TEXT
from swarmlore.domain.records import IMPORTANCES, JOB_KINDS, KINDS, MODES, PROFILES, TIERS
from swarmlore.errors import InvalidInput, NotFound
from swarmlore.frozen import TYPE_CHECKING, field, fields, frozen

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore

    Schema = dict[str, Any]


MAX_TEXT = 65_536
MAX_ITEMS = 1_000
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
    """Return the JSON schema of a type annotation."""
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
    """Raise InvalidInput if a value does not fit its schema; the message names the value and what would fit."""
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
    """Return the JSON type of a value in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    words = {str: "a text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return words.get(type(value), type(value).__name__)


READS = (
    *("recall", "list", "count", "stale", "outcomes", "patterns", "criteria", "why", "history", "sessions"),
    *("receipts", "report", "phase", "phases", "promotions", "agents", "inbox", "count_inbox", "sent", "jobs"),
    *("dead_letters", "rejected", "stats", "whoami", "lesson_lines", "count_proposals"),
)
WRITES = (
    *("remember", "get", "block", "before_task", "rate", "outcome", "curate", "apply", "forget", "forget_origin"),
    *("undo", "start_session", "end_session", "confirm", "start_phase", "complete_phase", "sweep", "promote"),
    *("quarantine", "restore", "retract", "register", "send", "read", "ack", "delete_mail", "enqueue", "retry"),
    *("discard", "prime", "inject", "edit", "archive", "acknowledge", "index_text"),
)
# Writing verbs that only search and record a receipt or a counter.
SEARCHES = ("block", "before_task", "prime")
OF_FILES = ("reflect", "connect")  # jobs that read files of the server's machine: not offered to remote callers
# Methods that are not offered: they need files or processes of one machine, or belong to the program itself.
LOCAL = {
    "init": "writes files of a repository",
    "trust": "is a person's agreement about files of this machine",
    "sync": "exchanges files of a repository",
    "import_file": "reads a file of the server; send its lines to /v1/import",
    "export_file": "writes a file of the server; take its lines from /v1/export",
    "import_lines": "is /v1/import",
    "export_lines": "is /v1/export",
    "remember_many": "is /v1/import",
    "migrate": "reads files of opencode-swarm on this machine",
    "migrate_store": "copies the whole store",
    "index_file": "reads a file of this machine",
    "index_changed": "reads files of this machine",
    "backup": "writes a file of the server",
    "restore_backup": "puts another file in place of the store",
    "backups_holding": "looks at files of the server",
    "commits_holding": "looks at a repository of the server",
    "cited": "takes a record; /v1/recall and /v1/get answer with what it tells",
    "quote": "takes records; /v1/block answers with lines",
    "follow": "looks at a working tree",
    "doctor": "looks at the server's machine; /readyz says whether it works",
    "clients": "counts over all projects",
    "waiting_jobs": "counts over all projects",
    "identity": "tells folders of this machine",
    "join": "names a project; a token has one",
    "part": "names a project; a token has one",
    "research": "reads a working tree",
    "reflect": "proposes changes of files",
    "reindex": "builds the indexes of the whole store anew; swarmlore reindex",
    "create_token": "is for whoever runs the server: swarmlore token",
    "tokens": "is for whoever runs the server: swarmlore token",
    "revoke_token": "is for whoever runs the server: swarmlore token",
    "once": "is the worker's",
    "catch_up": "is the worker's",
    "embed_later": "is the worker's",
    "index_later": "is the worker's",
    "connect_later": "is the worker's",
    "queue_full": "is the worker's",
    "mail_notice": "is a line for hooks",
    "proposals_notice": "is a line for hooks",
    "scopes": "is a setting",
    "open": "is how a program begins",
    "close": "is how a program ends",
    "acting": "is for programs",
    "acting_as": "is for programs",
    "beside": "is for programs",
    "capped_writer": "is for programs",
    "new_id": "is for programs",
    "now": "is for programs",
}


# Fields of `Draft` that a caller may set.
_DRAFT_FIELDS = (
    "title",
    "kind",
    "category",
    "tags",
    "entities",
    "tier",
    "scope",
    "confidence",
    "ttl_s",
    "situation",
    "citations",
)
_FACTS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "remember": (
        "swarmlore.domain.records",
        "Draft",
        (*_DRAFT_FIELDS, "situation_via", "source", "source_ref", "key", "extra"),
    ),
    "promote": ("swarmlore.domain.records", "Draft", ("category", "tags", "scope", "kind", "title")),
    "recall": (
        "swarmlore.domain.records",
        "Query",
        ("kinds", "categories", "tags", "entities", "tiers", "sources", "scopes", "phase", "episodes"),
    ),
    "list": ("swarmlore.store.memories", "Filter", ()),
    "count": ("swarmlore.store.memories", "Filter", ()),
    "outcome": ("swarmlore.memory.feedback", "Report", ()),
    "block": (
        "swarmlore.retrieval.context",
        "BlockRequest",
        ("trigger", "session", "headroom", "chars_left", "profile", "files", "standing", "mode"),
    ),
}
_NARROWER: dict[str, Schema] = {
    "kind": {"enum": list(KINDS)},
    "tier": {"enum": list(TIERS)},
    "mode": {"enum": list(MODES)},
    "profile": {"enum": list(PROFILES)},
    "limit": {"minimum": 0, "maximum": 1_000},
    "offset": {"minimum": 0, "maximum": 10_000_000},
    "enqueue.kind": {"enum": [kind for kind in JOB_KINDS if kind not in OF_FILES]},
    "importance": {"enum": list(IMPORTANCES)},
    "remember.source": {"enum": ["manual", "note"]},
    # A place to look up in the server's checkout, or a citation that the caller found in its own.
    "citations": {"type": "array", "items": {"type": ["string", "object"], "maxLength": 4_096}, "maxItems": 8},
}
_LEFT_OUT = ("self", "progress", "all_projects")


@frozen
class Verb:
    """A method that a server offers: its name, parameters and purpose."""

    name: str
    about: str
    reads: bool
    takes: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    example: Mapping[str, Any] = field(default_factory=dict)

    def checked(self, body: Any) -> dict[str, Any]:
        """Return the arguments for the method; raise InvalidInput if they do not fit."""
        if not isinstance(body, Mapping):
            raise InvalidInput(f"{self.name} takes an object", "send JSON such as {}")
        for name, value in body.items():
            if name not in self.takes:
                raise InvalidInput(
                    f"{self.name} takes no {str(name)[:80]!r}", choices_hint(str(name), tuple(self.takes))
                )
            check(name, value, self.takes[name])
        if missing := [name for name in self.required if name not in body]:
            raise InvalidInput(f"{self.name} needs {missing[0]}", f"it takes: {', '.join(self.takes)}")
        return dict(body)


@cache
def verbs() -> Mapping[str, Verb]:
    """Return all verbs by name."""
    from swarmlore.lore import Lore

    return {name: _verb(Lore, name) for name in (*READS, *WRITES)}


def verb_named(name: str) -> Verb:
    """Return the verb of this name; raise NotFound if there is none."""
    known = verbs()
    if name not in known:
        raise NotFound(f"there is no {name[:80]!r} here", choices_hint(name[:80], tuple(known)))
    return known[name]


def _verb(kind: type[Lore], name: str) -> Verb:
    method = getattr(kind, name)
    takes: dict[str, Schema] = {}
    required = []
    for parameter in inspect.signature(method).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            takes |= _facts(name)
        elif parameter.name not in _LEFT_OUT:
            takes[parameter.name] = _schema(parameter.name, str(parameter.annotation), name)
            if parameter.default is parameter.empty:
                required.append(parameter.name)
    about = " ".join((method.__doc__ or "").split())
    return Verb(name, about, name in READS, takes, tuple(required), EXAMPLES.get(name, {}))


def _facts(name: str) -> dict[str, Schema]:
    """Return the schemas of the record fields that a method takes as keyword arguments."""
    if name not in _FACTS:
        return {}
    from importlib import import_module

    module, record, allowed = _FACTS[name]
    specs = fields(getattr(import_module(module), record))
    return {spec.name: _schema(spec.name, spec.type, name) for spec in specs if not allowed or spec.name in allowed}


def _schema(name: str, kind: str, verb: str = "") -> Schema:
    """Return the schema of one parameter, narrowed by the limits of its name."""
    narrower = _NARROWER.get(f"{verb}.{name}", _NARROWER.get(name, {}))
    found = dict(narrower) if "type" in narrower else {**schema_of(kind), **narrower}
    if "enum" in found and isinstance(found.get("type"), list):
        found["enum"] = [*found["enum"], None]
    elif "enum" in found:
        found["enum"] = ["", *found["enum"]]
    return found


_LESSON = "Snapshot tests are recorded with make snap-record, never by hand"
EXAMPLES: dict[str, Mapping[str, Any]] = {
    "remember": {"text": _LESSON, "category": "testing", "tags": ["snapshots"]},
    "recall": {"query": "update the reference images", "limit": 3},
    "get": {"ref": "3f9c1e"},
    "block": {"cue": "update the reference images"},
    "rate": {"ref": "3f9c1e", "helpful": True},
    "outcome": {"success": True, "task": "T-12", "duration_ms": 90_000, "applied": ["3f9c1e"]},
    "forget": {"ref": "3f9c1e"},
    "send": {"to": ["bob"], "subject": "New schema", "body": "Run make schema first"},
    "promote": {"text": _LESSON},
    "apply": {"numbers": [1, 3]},
    "before_task": {"task": "update the reference images"},
    "history": {"ref": "3f9c1e"},
    "lesson_lines": {"ids": ["3f9c1e"]},
    "count_proposals": {"session": "s-1"},
    "why": {"ref": "3f9c1e"},
    "start_phase": {"name": "Phase 2: importer"},
    "start_session": {"id": "s-1", "client": "claude"},
    "end_session": {"id": "s-1"},
    "enqueue": {"kind": "sweep"},
}
