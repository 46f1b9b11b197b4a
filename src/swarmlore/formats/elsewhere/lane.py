"""Memory Lane: lines of `.hive/memories.jsonl`, and rows of the table `memories` in its libSQL file.

A line has `information`, a row `content`; what Memory Lane adds lies in `metadata`. Its confidence goes from 0 to 100
there, and from 0 to 1 where it stands beside the text.
"""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.merge import ordered
from swarmlore.domain.records import CATEGORIES, KINDS, STATUSES, Memory, is_id
from swarmlore.exchange.knowledge_format import derived_id
from swarmlore.formats.elsewhere import residue, values
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.workspace.jsonl import BadLine

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.formats.elsewhere.residue import Fields

NAME = "lane"
TABLE = "memories"
LINKS, ENDS = "memory_links", ("source_id", "target_id", "link_type")
VECTOR = ("embedding",)  # of another model: ours are made anew
COLLECTION = "memory-lane"
VERSION = "1.0.0"
USUAL_CONFIDENCE = 70
_IN = "metadata/"
_TEXTS = ("content", "information")
_NEEDED = ("id", "created_at", "updated_at")


def from_line(obj: Mapping[str, Any]) -> Memory:
    """The memory of a line; raises BadLine where there is no text."""
    return _from(obj, "information")


def from_row(row: Mapping[str, Any]) -> Memory:
    """The memory of a row, with what its tables of entities say about it under `graph`."""
    memory = _from({name: value for name, value in row.items() if name != "graph"}, "content")
    graph = row.get("graph")
    return replace(memory, extra={**memory.extra, "graph": graph}) if graph else memory


def to_line(memory: Memory) -> Fields:
    """A memory as a line."""
    made = _unflat(_restored(memory, "information"))
    said = made.get("metadata")
    if isinstance(said, dict) and _kept(memory).get("metadata_as") == "text":
        made["metadata"] = values.dumped(said)
    return made


def to_row(memory: Memory) -> Fields:
    """A memory as a row of the table."""
    made = _made(memory, "content")
    row = _unflat(_restored(memory, "content"))
    if isinstance(row.get("metadata"), dict):
        row["metadata"] = values.dumped(row["metadata"])
    return {**row, **{name: made[name] for name in _NEEDED if row.get(name) is None}, "content": memory.text}


def _from(obj: Mapping[str, Any], text_name: str) -> Memory:
    record = _flat(obj)
    memory = _memory(record, text_name)
    if not memory.text:
        raise BadLine(f"no {text_name}")
    left = residue.difference(record, _made(memory, text_name), _TEXTS)
    kept: Fields = {text_name: left} if left else {}
    if isinstance(obj.get("metadata"), str) and text_name == "information":
        kept["metadata_as"] = "text"
    return replace(memory, extra={NAME: kept})


def _kept(memory: Memory) -> Mapping[str, Any]:
    kept = memory.extra.get(NAME)
    return kept if isinstance(kept, Mapping) else {}


def _restored(memory: Memory, text_name: str) -> Fields:
    kept, made = _kept(memory), _made(memory, text_name)
    if text_name in kept:
        return residue.restored(made, kept[text_name], lambda record: _memory(record, text_name))
    other = next((kept[name] for name in _TEXTS if name in kept), None)  # it came in the other form
    has = {name: value for name, value in residue.parts(other)[0].items() if name.startswith(_IN)}
    return residue.restored(made, {"has": has}, lambda record: _memory(record, text_name))


def _flat(obj: Mapping[str, Any]) -> Fields:
    """Metadata beside the other fields; where it is no object it stays what it is."""
    metadata = values.mapping(obj.get("metadata"))
    if metadata is None:
        return dict(obj)
    rest = {name: value for name, value in obj.items() if name != "metadata"}
    return {**rest, **{_IN + name: value for name, value in metadata.items()}}


def _unflat(record: Fields) -> Fields:
    metadata = {name.removeprefix(_IN): value for name, value in record.items() if name.startswith(_IN)}
    rest = {name: value for name, value in record.items() if not name.startswith(_IN)}
    return {**rest, "metadata": metadata} if metadata else rest


# Reading


def _memory(record: Mapping[str, Any], text_name: str) -> Memory:
    said = values.text(record.get(text_name)).strip()
    superseded_by = next(iter(values.ids(_one(record, "superseded_by"))), "")
    created_at = values.moment(record.get("created_at")) or 0.0
    kind, category = _in(record, "memory_type"), record.get("category")
    made = Memory(
        id=_id(record, said),
        text=said,
        kind=str(kind) if kind in KINDS else "learning",
        category=str(category) if category in CATEGORIES else "other",
        tags=values.tags(record.get("tags"), _in(record, "tags")),
        entities=values.slugs(_in(record, "entity_slugs"), _in(record, "entities")),
        status=_status(record.get("status"), superseded_by),
        trust=1,
        source="import",
        confidence=_confidence(record),
        created_at=created_at,
        updated_at=values.moment(record.get("updated_at")) or created_at,
        last_accessed_at=values.first(
            (values.moment(record.get("last_accessed")), _moment(record, "last_accessed_at"))
        ),
        access_count=max(values.count(value) or 0 for value in _both(record, "access_count")),
        feedback_score=_positive(_in(record, "feedback_score"), 1.0),
        feedback_count=values.count(_in(record, "feedback_count")) or 0,
        supersedes=values.ids(_in(record, "supersedes")),
        superseded_by=superseded_by,
        valid_from=_moment(record, "valid_from"),
        valid_until=_moment(record, "valid_until"),
    )
    return ordered(made)


def _in(record: Mapping[str, Any], name: str) -> Any:
    return record.get(_IN + name)


def _both(record: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    return record.get(name), _in(record, name)


def _one(record: Mapping[str, Any], name: str) -> Any:
    return values.first(_both(record, name))


def _moment(record: Mapping[str, Any], name: str) -> float | None:
    found: float | None = values.first(values.moment(value) for value in _both(record, name))
    return found


def _id(record: Mapping[str, Any], said: str) -> str:
    id = record.get("id")
    return id if isinstance(id, str) and is_id(id) else derived_id(NAME, said)


def _status(said: Any, superseded_by: str) -> str:
    if superseded_by:
        return "superseded"
    return str(said) if said in STATUSES else "candidate"


def _confidence(record: Mapping[str, Any]) -> float:
    score, said = values.number(_in(record, "confidence_score")), values.number(record.get("confidence"))
    if score is None:
        score = USUAL_CONFIDENCE if said is None else said if said > 1 else said * 100
    return round(min(max(score, 0.0), 100.0) / 100, 9)


def _positive(value: Any, usual: float) -> float:
    found = values.number(value)
    return found if found is not None and found >= 0 else usual


# Writing


def _made(memory: Memory, text_name: str) -> Fields:
    record: Fields = {"id": memory.id, text_name: memory.text}
    record |= {_IN + name: value for name, value in _metadata(memory).items()}
    record |= {"created_at": iso(memory.created_at), "confidence": memory.confidence}
    if text_name == "information":
        return record | ({"tags": _joined(memory.tags)} if memory.tags else {})
    return record | {
        "collection": COLLECTION,
        "tags": values.dumped(list(memory.tags)),
        "decay_factor": 1.0,
        "valid_from": iso(memory.valid_from),
        "valid_until": iso(memory.valid_until),
        "superseded_by": memory.superseded_by or None,
        "auto_tags": None,
        "keywords": None,
        "updated_at": iso(memory.updated_at),
        "access_count": str(memory.access_count),
        "last_accessed": iso(memory.last_accessed_at),
        "category": memory.category if memory.category != "other" else None,
        "status": "active" if memory.live else memory.status,
    }


def _metadata(memory: Memory) -> Fields:
    always = {
        "lane_version": VERSION,
        "memory_type": memory.kind,
        "entity_slugs": list(memory.entities),
        "confidence_score": values.plain_number(round(memory.confidence * 100, 9)),
        "decay_factor": 1.0,
        "feedback_score": memory.feedback_score,
        "feedback_count": memory.feedback_count,
        "access_count": memory.access_count,
    }
    sometimes = {
        "valid_from": iso(memory.valid_from),
        "valid_until": iso(memory.valid_until),
        "supersedes": list(memory.supersedes) or None,
        "superseded_by": memory.superseded_by or None,
        "last_accessed_at": iso(memory.last_accessed_at),
    }
    return always | values.without_nothing(sometimes)


def _joined(tags: tuple[str, ...]) -> str | list[str]:
    """Tags with commas between them, as Memory Lane writes them; a tag that has one needs a list."""
    return list(tags) if any("," in tag or tag.startswith("[") for tag in tags) else ",".join(tags)
