"""A note as memories: one for the note or, where it is long, one for each of its pieces, with what its head says.

The first carries the fields of the note and what it is about; all of them carry its id and its place.
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
from swarmlore.memory.write import Writing
from swarmlore.notes.locations import EPISODES, VERSION, version_of
from swarmlore.notes.note_format import Note
from swarmlore.store.database import Operation

if TYPE_CHECKING:
    from typing import Any

SOURCE = "note"
SYMPTOM = "symptom"  # how a situation is marked that a note names
NOTE, GRAPH, FILE = "note", "graph", "file"  # what the first memory of a note carries in `extra`
_TRUST = 2  # what agents and people write down for agents
_TITLE, _WORD, _TAGS, _SYMPTOMS, _PIECES = 300, 64, 20, 8, 600
_FIELDS_CHARS = 32_768
_ENTITIES, _RELATIONS = 200, 400


@frozen
class Graph:
    """What a note is about, and who said so: its sidecar, a language model (`by` is its name) or rules, who guess. A
    guess is `asked` about where a model was asked and knew no better."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    origin: str = SIDECAR
    by: str = ""
    asked: bool = False


@frozen
class Spot:
    """Where a note lies, what it is to the memory, and a mark of its file; `root` where the place may be another one
    tomorrow, as the environment says."""

    place: str
    path: str
    tier: str
    digest: str
    root: str = ""

    @property
    def key(self) -> str:
        return key_of(self.place, self.path)


def key_of(place: str, path: str) -> str:
    """The same for all memories of a note."""
    return f"note:{place}:{sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()[:20]}"


def wanted(
    note: Note, spot: Spot, graph: Graph, writing: Writing, operation: Operation
) -> tuple[list[Memory], list[str]]:
    """The memories that a note would be, past the gate; and why it refused others."""
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


def check(note: Note, spot: Spot, writing: Writing, operation: Operation) -> None:
    """Raise what the gate has against a note that is not written yet."""
    for number, text in enumerate(pieces(note)):
        writing.prepare(_draft(note, spot, number, text), operation)


def pieces(note: Note) -> tuple[str, ...]:
    """What a note says, whole where it is short. Secrets go first: the cut between two pieces could hide one."""
    said = [scrub_text(part).strip() for part in (note.key_insight, note.root_cause)]
    body = strip_blocks(scrub_text(note.body)).strip()
    head = [said[0]] if said[0] and said[0] not in body else []
    head += [f"Root cause: {said[1]}"] if said[1] and said[1] not in body else []
    whole = "\n\n".join([*head, body]).strip() or scrub_text(note.title).strip()
    if len(whole) <= PIECE_CHARS:
        return (whole,) if whole else ()
    return chunks(whole)[:_PIECES]


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
    """The project that an episode was in: what happened there is nobody else's to read."""
    if note.fields.get("type") != "episode" and not spot.path.startswith(f"{EPISODES}/"):
        return {}
    said = note.fields.get("project")
    return {"episode": scrub_text(said).strip()[:_TITLE] if isinstance(said, str) else ""}


def _clean(extra: dict[str, Any]) -> dict[str, Any]:
    """What a note carries beside its text, past the gate's rules: looked at in one piece, and taken apart only where
    something has to go."""
    lines = "\n".join(_lines("", extra))
    return extra if scrub_text(lines) == lines else scrub_value(extra)


def _lines(name: str, value: Any) -> Iterator[str]:
    """Every text in JSON values under its name: a password is often known by that alone."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _lines(str(key), item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _lines(name, item)
    elif isinstance(value, str) and value:
        yield f'"{name}": "{value}"'


def _word(text: str) -> str:
    """A tag or category that the gate takes."""
    return "".join(char for char in text.strip() if char.isprintable())[:_WORD].strip()


def _fields(note: Note) -> dict[str, Any]:
    """The frontmatter; of one that is very large, what is known."""
    fields = dict(note.fields)
    if len(json.dumps(fields, default=str)) <= _FIELDS_CHARS:
        return fields
    known = ("created", "category", "root_cause", "key_insight", "language", "framework")
    return {name: str(fields[name])[:1000] for name in known if name in fields}


def plain(graph: Graph) -> dict[str, Any]:
    return {
        "origin": graph.origin,
        **({"by": graph.by} if graph.by else {}),
        **({"asked": True} if graph.asked else {}),
        "entities": [
            {"name": one.name, "type": one.type, "description": one.description} for one in graph.entities[:_ENTITIES]
        ],
        "relations": [
            {
                "source": one.source,
                "target": one.target,
                "type": one.kind,
                "description": one.description,
                "strength": one.strength,
            }
            for one in graph.relations[:_RELATIONS]
        ],
    }


def _situations(note: Note, now: float) -> tuple[Situation, ...]:
    """The symptoms of a note: when it is needed. They are as old as the note, so that later ones are newer."""
    at = min(note.created_at or 0.0, now)
    texts = (" ".join(scrub_text(symptom).split())[:SITUATION_CHARS] for symptom in note.symptoms)
    return tuple(Situation(text, SYMPTOM, at) for text in dict.fromkeys(filter(None, texts)))[:_SYMPTOMS]


def followed(row: Memory, memory: Memory) -> Memory:
    """A memory as its note has it now; what was learned about it since stays."""
    taken = ("text", "title", "entities", "source_ref", "key", "trust", "citations", "category", "tags", "confidence")
    changes: dict[str, Any] = {name: getattr(memory, name) for name in (*taken, "extra")}
    kept = {name: value for name, value in row.extra.items() if name not in (NOTE, GRAPH, FILE, "confidence_label")}
    changes["extra"] = {**kept, **memory.extra, **_read_by_model(row, memory)}
    changes["situations"] = _merged(row.situations, memory.situations)
    dated = memory.source_ref.get("chunk") == 0 and NOTE in memory.extra and memory.extra[NOTE].get("created")
    return replace(row, **changes, created_at=memory.created_at if dated else row.created_at)


def _read_by_model(row: Memory, memory: Memory) -> dict[str, Any]:
    """What a language model read in a note, as long as neither the note nor its sidecar has changed."""
    known, fresh = row.extra.get(GRAPH), memory.extra.get(GRAPH)
    if not isinstance(known, Mapping) or not isinstance(fresh, Mapping):
        return {}
    same = row.extra.get(FILE) == memory.extra.get(FILE) and origin_of(fresh) == RULES
    return {GRAPH: known} if same and origin_of(known) == MODEL else {}


def _merged(former: Sequence[Situation], named: Iterable[Situation]) -> tuple[Situation, ...]:
    """The symptoms that a note names now, with the situations in which it was met; in the store's order."""
    met = [situation for situation in former if situation.via != SYMPTOM]
    merged = tuple(sorted((*met, *named), key=lambda situation: situation.at))[-_SYMPTOMS:]
    return tuple(former) if set(merged) == set(former) else merged


def waits(memory: Memory) -> bool:
    """Whether only rules have read the note that a memory is the first of, and no model was asked about it."""
    graph = memory.extra.get(GRAPH)
    return isinstance(graph, Mapping) and origin_of(graph) == RULES and not graph.get("asked")


def with_graph(memory: Memory, graph: Graph | None) -> Memory:
    """A memory with what a language model read in its note; where that is nothing, the guess stays as asked about."""
    told = plain(graph) if graph is not None and graph.entities else {**memory.extra[GRAPH], "asked": True}
    return replace(memory, extra={**memory.extra, **_clean({GRAPH: told})})


def note_of(memory: Memory) -> Mapping[str, Any]:
    """The fields of the note that a memory is the first of; nothing for any other."""
    told = memory.extra.get(NOTE)
    return told if isinstance(told, Mapping) else {}
