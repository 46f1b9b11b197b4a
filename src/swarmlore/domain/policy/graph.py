"""Graph: the entities and relations that a memory mentions, and spreading activation from entities to memories.

No I/O: it works on names, relations and counts that the package `retrieval` reads from the store.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping

from swarmlore.domain.language.concepts import GUESSED_STRENGTH, canonical, concepts_of, named_in
from swarmlore.domain.records import Entity, Memory, Relation
from swarmlore.frozen import TYPE_CHECKING, field, frozen, replace

if TYPE_CHECKING:
    from typing import Any

SIDECAR, MODEL, RULES = "sidecar", "model", "guessed"  # origins of a note's graph
MOST_MENTIONS = 40  # of one memory: a sidecar comes with a repository and may hold thousands
MOST_RELATIONS = 60
GUESSED = 0.4  # weight of a mention found only by heuristics
_NAME_CHARS = 120
_ABOUT_CHARS = 400
_UNREAD = ("transcript",)  # too many, and lessons learned from them name the same entities
_STRENGTHS = (1.0, 10.0)
_USUAL_STRENGTH = 5.0


@frozen
class Mentions:
    """Entities by canonical name, and relations. `weights` is below 1 for mentions found only by heuristics."""

    entities: Mapping[str, Entity]
    relations: tuple[Relation, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)


def mentions_of(memory: Memory) -> Mentions:
    """Return the entities and relations that a memory adds to the graph.

    Episodes add none: community reports would reveal them to other projects.
    """
    if "episode" in memory.source_ref:
        return Mentions({})
    written = memory.extra.get("graph")
    if isinstance(written, Mapping):
        entities, relations = written_entities(written), written_relations(written)
        guessed = origin_of(written) == RULES
    else:
        entities, relations = _guessed_mentions(memory)
        guessed = True
    slugs, linked = tuple(_of_slug(slug) for slug in memory.entities), _linked(memory)
    stated = (*slugs, *linked)
    by_key = _keyed((*slugs, *entities[: MOST_MENTIONS - len(stated)], *linked), relations)
    sure = {canonical(entity.name) for entity in (stated if guessed else by_key.values())}
    weights = {name: 1.0 if name in sure else GUESSED for name in by_key}
    return Mentions(by_key, _between(relations, by_key), weights)


def origin_of(written: Mapping[str, Any]) -> str:
    """Return who stated the entities of a note: its sidecar, an LLM, or heuristics.

    Rows of older versions only mark guesses; the oldest only by the strength of their relations.
    """
    origin = written.get("origin")
    if origin in (SIDECAR, MODEL, RULES):
        return str(origin)
    strengths = {relation.strength for relation in written_relations(written)}
    return RULES if written.get("guessed") or strengths == {GUESSED_STRENGTH} else SIDECAR


def _guessed_mentions(memory: Memory) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    """Return the entities and relations that heuristics find in a memory's text."""
    if memory.source in _UNREAD:
        return (), ()
    if memory.source == "note" and not memory.source_ref.get("chunk"):
        return concepts_of(memory.title, memory.tags, memory.text)
    return named_in(memory.text), ()  # the entities of one lesson are connected by that lesson


def written_entities(written: Mapping[str, Any]) -> tuple[Entity, ...]:
    """Parse the entities stored with a note; malformed values are replaced or dropped."""
    return tuple(
        Entity(_text(item, "name"), _text(item, "type") or "concept", _text(item, "description", _ABOUT_CHARS))
        for item in _listed(written, "entities")[:MOST_MENTIONS]
    )


def written_relations(written: Mapping[str, Any]) -> tuple[Relation, ...]:
    """Parse the relations stored with a note; malformed values are replaced or dropped."""
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
    """Return the entity of a slug: `feature:auth` is the entity auth, of type feature."""
    kind, _, name = slug.partition(":")
    return Entity(name or kind, kind if name else "concept")


def _linked(memory: Memory) -> tuple[Entity, ...]:
    """Return a note as an entity, by file name and by id, and the notes that it links to."""
    if memory.source != "note" or memory.source_ref.get("chunk"):  # the first chunk represents the note
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
    """Return entities by canonical name, first mention first; the ends of relations count as mentioned."""
    ends = (Entity(name) for relation in relations for name in (relation.source, relation.target))
    found: dict[str, Entity] = {}
    for entity in (*entities, *ends):
        key = canonical(entity.name)
        if key and key not in found and len(found) < MOST_MENTIONS:
            found[key] = entity
    return found


def _between(relations: Iterable[Relation], known: Mapping[str, Entity]) -> tuple[Relation, ...]:
    """Return the relations between known entities by canonical names, each once and without self-loops."""
    found: dict[tuple[str, str, str], Relation] = {}
    for relation in relations:
        source, target = canonical(relation.source), canonical(relation.target)
        if source != target and source in known and target in known:
            found.setdefault((source, target, relation.kind), replace(relation, source=source, target=target))
    return tuple(found.values())


@frozen
class Spread:
    """Constants of spreading activation, chosen on the linked notes of `bench/graph.py`; all optima are flat."""

    # Share of strength passed on per relation kind: cause and cure lead to each other, other relations less.
    caused_by: float = 1.0
    solves: float = 1.0
    requires: float = 0.9
    other: float = 0.7
    strongest: float = 10.0
    per_hop: float = 0.6
    hops: int = 2
    # Entities mentioned by the best hits start at half strength, as the query did not name them.
    mentioned: float = 0.5
    sharpness: float = 4.0  # a hit at three quarters of the best counts a third: unrelated texts reach that
    # Entities counted per memory; a text that lists everything must not win.
    counted: int = 3


DEFAULT = Spread()


@frozen
class Way:
    """The strongest path by which an entity was reached. `named`: the query itself named the first entity of it."""

    strength: float
    path: str
    named: bool = False


def rarity(count: int, size: int) -> float:
    """Return the weight of an entity by the memories that mention it: 1 for one of many, towards 0 for all."""
    if count <= 0 or size <= 0:
        return 0.0
    return math.log(1 + size / count) / math.log(1 + size) if size > 1 else 1.0


def share(kind: str, strength: float, rules: Spread = DEFAULT) -> float:
    """Return the share of strength that one relation passes on."""
    weights = {"caused_by": rules.caused_by, "solves": rules.solves, "requires": rules.requires}
    return rules.per_hop * weights.get(kind, rules.other) * min(max(strength, 1.0), rules.strongest) / rules.strongest


def step(
    ways: Mapping[str, Way], edges: Iterable[tuple[str, str, str, float]], rules: Spread = DEFAULT
) -> dict[str, Way]:
    """Spread activation one hop, in both directions; return newly reached entities with the strongest way to each."""
    reached: dict[str, Way] = {}
    for source, target, kind, strength in edges:
        for here, there, arrow in ((source, target, f"—{kind}→"), (target, source, f"←{kind}—")):
            way = ways.get(here)
            if way is None or there in ways:
                continue
            found = Way(way.strength * share(kind, strength, rules), f"{way.path} {arrow} {there}", way.named)
            if there not in reached or found.strength > reached[there].strength:
                reached[there] = found
    return reached


def row_scores(
    ways: Mapping[str, Way],
    mentioning: Mapping[str, Mapping[int, float]],
    size: int,
    sources: Container[int] = (),
    rules: Spread = DEFAULT,
) -> dict[int, Way]:
    """Score each memory by its most strongly reached entities, rare ones more; the best way gives the path.

    The rows in `sources` supplied their entities to the search, so they gain only by entities that the query names.
    """
    ways_by_row: dict[int, list[Way]] = {}
    for name, rows in mentioning.items():
        worth = ways[name].strength * rarity(len(rows), size)
        for row, weight in rows.items():
            if ways[name].named or row not in sources:
                ways_by_row.setdefault(row, []).append(Way(worth * weight, ways[name].path, ways[name].named))
    scores: dict[int, Way] = {}
    for row, reached in ways_by_row.items():
        best = sorted(reached, key=lambda way: (-way.strength, way.path))[: rules.counted]
        strength = min(1.0, sum(way.strength / place for place, way in enumerate(best, start=1)))
        scores[row] = Way(strength, best[0].path, best[0].named)
    return scores
