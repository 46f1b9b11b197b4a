"""What a memory adds to the graph: the entities it mentions and how they stand to each other.

From what was written down about it (a note's sidecar), from what a language model read in it, from its entities, and
from its text by rules. What rules saw counts less; the rest counts the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from swarmlore.frozen import TYPE_CHECKING, field, frozen, replace
from swarmlore.records import Entity, Memory, Relation
from swarmlore.text.concepts import GUESSED_STRENGTH, canonical, concepts_of, named_in

if TYPE_CHECKING:
    from typing import Any

SIDECAR, MODEL, RULES = "sidecar", "model", "guessed"  # where the graph of a note comes from
MOST_MENTIONS = 40  # of one memory: a sidecar comes from a repository, and may hold thousands
MOST_RELATIONS = 60
GUESSED = 0.4  # weight of a mention that only rules saw
_NAME_CHARS = 120
_ABOUT_CHARS = 400
_UNREAD = ("transcript",)  # too many, and what they name is named again in what is learned from them
_STRENGTHS = (1.0, 10.0)
_USUAL_STRENGTH = 5.0


@frozen
class Mentions:
    """Entities and relations by their canonical names; `weights` say less than 1 of what only rules saw."""

    entities: Mapping[str, Entity]
    relations: tuple[Relation, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)


def mentions_of(memory: Memory) -> Mentions:
    """Everything a memory adds to the graph; an episode nothing: reports on what belongs together would tell it in
    other projects."""
    if "episode" in memory.source_ref:
        return Mentions({})
    written = memory.extra.get("graph")
    if isinstance(written, Mapping):
        entities, relations = written_entities(written), written_relations(written)
        guessed = origin_of(written) == RULES
    else:
        entities, relations = _found(memory)
        guessed = True
    slugs, linked = tuple(_of_slug(slug) for slug in memory.entities), _linked(memory)
    said = (*slugs, *linked)
    by_key = _keyed((*slugs, *entities[: MOST_MENTIONS - len(said)], *linked), relations)
    sure = {canonical(entity.name) for entity in (said if guessed else by_key.values())}
    weights = {name: 1.0 if name in sure else GUESSED for name in by_key}
    return Mentions(by_key, _between(relations, by_key), weights)


def origin_of(written: Mapping[str, Any]) -> str:
    """Who said what a note is about. Rows of former versions only mark what rules guessed, the oldest by the strength
    of its relations alone."""
    told = written.get("origin")
    if told in (SIDECAR, MODEL, RULES):
        return str(told)
    strengths = {relation.strength for relation in written_relations(written)}
    return RULES if written.get("guessed") or strengths == {GUESSED_STRENGTH} else SIDECAR


def _found(memory: Memory) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    if memory.source in _UNREAD:
        return (), ()
    if memory.source == "note" and not memory.source_ref.get("chunk"):
        return concepts_of(memory.title, memory.tags, memory.text)
    return named_in(memory.text), ()  # what a lesson names is connected by being named in it


def written_entities(written: Mapping[str, Any]) -> tuple[Entity, ...]:
    return tuple(
        Entity(_text(item, "name"), _text(item, "type") or "concept", _text(item, "description", _ABOUT_CHARS))
        for item in _listed(written, "entities")[:MOST_MENTIONS]
    )


def written_relations(written: Mapping[str, Any]) -> tuple[Relation, ...]:
    return tuple(
        Relation(
            _text(item, "source"),
            _text(item, "target"),
            _text(item, "type") or "relates_to",
            _text(item, "description", _ABOUT_CHARS),
            _strength(item.get("strength")),
        )
        for item in _listed(written, "relations")[:MOST_RELATIONS]
    )


def _listed(written: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    items = written.get(name)
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list | tuple) else []


def _text(item: Mapping[str, Any], name: str, limit: int = _NAME_CHARS) -> str:
    value = item.get(name, "")
    return " ".join(value.split())[:limit] if isinstance(value, str) else ""


def _strength(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return _USUAL_STRENGTH
    return min(max(float(value), _STRENGTHS[0]), _STRENGTHS[1])


def _of_slug(slug: str) -> Entity:
    """`feature:auth` is the entity auth, a feature."""
    kind, _, name = slug.partition(":")
    return Entity(name or kind, kind if name else "concept")


def _linked(memory: Memory) -> tuple[Entity, ...]:
    """A note under the name of its file and under its id, and the notes that it links to."""
    if memory.source != "note" or memory.source_ref.get("chunk"):  # the first piece stands for the note
        return ()
    fields = memory.extra.get("note")
    fields = fields if isinstance(fields, Mapping) else {}
    links = [*_strings(fields.get("links")), *_strings(fields.get("related"))]
    own = [*_strings(memory.source_ref.get("path")), *_strings(memory.source_ref.get("note"))]
    return tuple(Entity(_stem(name), "note") for name in (*own, *links)[:MOST_MENTIONS])


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []


def _stem(path: str) -> str:
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return (name.removesuffix(".md") or path)[:_NAME_CHARS]


def _keyed(entities: Iterable[Entity], relations: Iterable[Relation]) -> dict[str, Entity]:
    """The first mention of every name; the ends of a relation are mentioned by it."""
    ends = (Entity(name) for relation in relations for name in (relation.source, relation.target))
    found: dict[str, Entity] = {}
    for entity in (*entities, *ends):
        key = canonical(entity.name)
        if key and key not in found and len(found) < MOST_MENTIONS:
            found[key] = entity
    return found


def _between(relations: Iterable[Relation], known: Mapping[str, Entity]) -> tuple[Relation, ...]:
    """The relations by canonical names, each once, none of a thing to itself."""
    found: dict[tuple[str, str, str], Relation] = {}
    for relation in relations:
        source, target = canonical(relation.source), canonical(relation.target)
        if source != target and source in known and target in known:
            found.setdefault((source, target, relation.kind), replace(relation, source=source, target=target))
    return tuple(found.values())
