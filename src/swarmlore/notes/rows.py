"""Convert a note into memories: one, or one per piece of a long note, with the fields of its front matter.

The first memory also carries the note's fields and graph; all of them carry its id and path.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from swarmlore.domain.language.chunks import MOST as PIECE_CHARS
from swarmlore.domain.language.chunks import chunks
from swarmlore.domain.policy.fence import strip_blocks
from swarmlore.domain.policy.gate import SITUATION_CHARS, scrub_text, scrub_value
from swarmlore.domain.policy.graph import MODEL, RULES, SIDECAR, origin_of
from swarmlore.domain.records import Draft, Entity, Memory, Relation, Situation
from swarmlore.errors import InvalidInput, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.memory.write import MemoryWriter
from swarmlore.notes.locations import EPISODES, VERSION, version_of
from swarmlore.notes.note_format import Note
from swarmlore.store.database import Operation

if TYPE_CHECKING:
    from typing import Any

SOURCE = "note"
SYMPTOM = "symptom"  # `via` of a situation that comes from a note
NOTE, GRAPH, FILE = "note", "graph", "file"  # keys in `extra` of a note's first memory
_TRUST = 2  # text written by agents or people
_TITLE, _WORD, _TAGS, _SYMPTOMS, _PIECES = 300, 64, 20, 8, 600
_FIELDS_CHARS = 32_768
_ENTITIES, _RELATIONS = 200, 400


@frozen
class Graph:
    """Entities and relations of a note and their origin: sidecar, LLM (`by` is its name) or heuristics. `asked` marks a
    heuristic graph that an LLM could not improve."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    origin: str = SIDECAR
    by: str = ""
    asked: bool = False


@frozen
class Spot:
    """Location of a note, its tier and digest; `root` only for folders that depend on the environment."""

    place: str
    path: str
    tier: str
    digest: str
    root: str = ""

    @property
    def key(self) -> str:
        """The store key of the note's memories."""
        return key_of(self.place, self.path)


def key_of(place: str, path: str) -> str:
    """Return the store key shared by all memories of a note."""
    return f"note:{place}:{sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()[:20]}"


def memories_of(
    note: Note, spot: Spot, graph: Graph, writing: MemoryWriter, operation: Operation
) -> tuple[list[Memory], list[str]]:
    """Return the memories of a note that pass the validation gate, and the reasons for refused ones."""
    made: list[Memory] = []
    refused: list[str] = []
    symptoms = _situations(note, operation.at)
    head = _clean({NOTE: _fields(note), GRAPH: plain(graph), FILE: spot.digest})
    for number, text in enumerate(pieces(note)):
        try:
            memory = writing.prepare(_draft(note, spot, number, text), operation)
        except (Rejected, InvalidInput) as refusal:
            refused.append(refusal.message)
            continue
        made.append(memory if number else replace(memory, situations=symptoms, extra={**memory.extra, **head}))
    return made, refused


def check(note: Note, spot: Spot, writing: MemoryWriter, operation: Operation) -> None:
    """Raise what the validation gate refuses in a note that is not written yet."""
    for number, text in enumerate(pieces(note)):
        writing.prepare(_draft(note, spot, number, text), operation)


def pieces(note: Note) -> tuple[str, ...]:
    """Split a note's text into pieces. Secrets are redacted first: a cut inside one could hide it from the gate."""
    summaries = [scrub_text(part).strip() for part in (note.key_insight, note.root_cause)]
    body = strip_blocks(scrub_text(note.body)).strip()
    head = [summaries[0]] if summaries[0] and summaries[0] not in body else []
    head += [f"Root cause: {summaries[1]}"] if summaries[1] and summaries[1] not in body else []
    text = "\n\n".join([*head, body]).strip() or scrub_text(note.title).strip()
    if len(text) <= PIECE_CHARS:
        return (text,) if text else ()
    return chunks(text)[:_PIECES]


def _draft(note: Note, spot: Spot, number: int, text: str) -> Draft:
    return Draft(
        text,
        title=note.title[:_TITLE],
        category=_word(note.category) or None,
        tags=tuple(dict.fromkeys(word for tag in note.tags if (word := _word(tag))))[:_TAGS],
        tier=spot.tier,
        confidence=note.confidence,
        source=SOURCE,
        source_ref=_ref(note, spot, number),
        key=spot.key,
        trust=_TRUST,
        created_at=note.created_at,
        auto_generated=True,
        extra={"confidence_label": "unknown"} if note.label == "unknown" else {},
    )


def _ref(note: Note, spot: Spot, number: int) -> dict[str, Any]:
    where = {"root": spot.root} if spot.root else {VERSION: version_of(spot.digest)}
    return {"path": spot.path, "place": spot.place, "note": note.id, "chunk": number, **where, **_episode(note, spot)}


def _episode(note: Note, spot: Spot) -> dict[str, str]:
    """Return the project of an episode, which only that project may read."""
    if note.fields.get("type") != "episode" and not spot.path.startswith(f"{EPISODES}/"):
        return {}
    project = note.fields.get("project")
    return {"episode": scrub_text(project).strip()[:_TITLE] if isinstance(project, str) else ""}


def _clean(extra: dict[str, Any]) -> dict[str, Any]:
    """Redact the extra fields of a note; a quick check of all texts at once avoids the slow path."""
    lines = "\n".join(_lines("", extra))
    return extra if scrub_text(lines) == lines else scrub_value(extra)


def _lines(name: str, value: Any) -> Iterator[str]:
    """Yield every text of a JSON value with its key, since a password is often recognised only by its key."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _lines(str(key), item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _lines(name, item)
    elif isinstance(value, str) and value:
        yield f'"{name}": "{value}"'


def _word(text: str) -> str:
    """Return a tag or category reduced to what the gate accepts."""
    return "".join(char for char in text.strip() if char.isprintable())[:_WORD].strip()


def _fields(note: Note) -> dict[str, Any]:
    """Return the front matter; if it is larger than 32 KB, only known fields."""
    fields = dict(note.fields)
    if len(json.dumps(fields, default=str)) <= _FIELDS_CHARS:
        return fields
    known = ("created", "category", "root_cause", "key_insight", "language", "framework")
    return {name: str(fields[name])[:1000] for name in known if name in fields}


def plain(graph: Graph) -> dict[str, Any]:
    """Return a graph as JSON values."""
    return {
        "origin": graph.origin,
        **({"by": graph.by} if graph.by else {}),
        **({"asked": True} if graph.asked else {}),
        "entities": [
            {"name": one.name, "type": one.type, "description": one.description} for one in graph.entities[:_ENTITIES]
        ],
        "relations": [
            {
                "source": item.source,
                "target": item.target,
                "type": item.kind,
                "description": item.description,
                "strength": item.strength,
            }
            for item in graph.relations[:_RELATIONS]
        ],
    }


def _situations(note: Note, now: float) -> tuple[Situation, ...]:
    """Return the symptoms of a note as situations, dated like the note so that later ones sort after them."""
    at = min(note.created_at or 0.0, now)
    texts = (" ".join(scrub_text(symptom).split())[:SITUATION_CHARS] for symptom in note.symptoms)
    return tuple(Situation(text, SYMPTOM, at) for text in dict.fromkeys(filter(None, texts)))[:_SYMPTOMS]


def updated_from_note(row: Memory, memory: Memory) -> Memory:
    """Return a memory updated from its note; what was learned about it since is kept."""
    taken = ("text", "title", "entities", "source_ref", "key", "trust", "citations", "category", "tags", "confidence")
    changes: dict[str, Any] = {name: getattr(memory, name) for name in (*taken, "extra")}
    kept = {name: value for name, value in row.extra.items() if name not in (NOTE, GRAPH, FILE, "confidence_label")}
    changes["extra"] = {**kept, **memory.extra, **_read_by_model(row, memory)}
    changes["situations"] = _merged(row.situations, memory.situations)
    has_date = memory.source_ref.get("chunk") == 0 and NOTE in memory.extra and memory.extra[NOTE].get("created")
    return replace(row, **changes, created_at=memory.created_at if has_date else row.created_at)


def _read_by_model(row: Memory, memory: Memory) -> dict[str, Any]:
    """Return the graph that an LLM extracted, if neither note nor sidecar changed."""
    known, fresh = row.extra.get(GRAPH), memory.extra.get(GRAPH)
    if not isinstance(known, Mapping) or not isinstance(fresh, Mapping):
        return {}
    same = row.extra.get(FILE) == memory.extra.get(FILE) and origin_of(fresh) == RULES
    return {GRAPH: known} if same and origin_of(known) == MODEL else {}


def _merged(former: Sequence[Situation], named: Iterable[Situation]) -> tuple[Situation, ...]:
    """Merge the current symptoms with the observed situations, in the store's order."""
    met = [situation for situation in former if situation.via != SYMPTOM]
    merged = tuple(sorted((*met, *named), key=lambda situation: situation.at))[-_SYMPTOMS:]
    return tuple(former) if set(merged) == set(former) else merged


def waits(memory: Memory) -> bool:
    """Return whether a memory is the first of a note with a heuristic graph that no LLM was asked about."""
    graph = memory.extra.get(GRAPH)
    return isinstance(graph, Mapping) and origin_of(graph) == RULES and not graph.get("asked")


def with_graph(memory: Memory, graph: Graph | None) -> Memory:
    """Return a memory with the graph that an LLM extracted; without entities the heuristic one is marked as asked."""
    values = plain(graph) if graph is not None and graph.entities else {**memory.extra[GRAPH], "asked": True}
    return replace(memory, extra={**memory.extra, **_clean({GRAPH: values})})


def note_of(memory: Memory) -> Mapping[str, Any]:
    """Return the front matter of the note that a memory is the first of; {} for any other memory."""
    fields = memory.extra.get(NOTE)
    return fields if isinstance(fields, Mapping) else {}
