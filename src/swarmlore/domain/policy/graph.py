"""How far one thing leads to another: named entities wake their neighbours, and the memories that mention them.

Pure arithmetic over names, relations and counts; `graph` reads them from the store.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence

from swarmlore.domain.language.concepts import GUESSED_STRENGTH, canonical, concepts_of, named_in
from swarmlore.domain.records import Entity, Memory, Relation
from swarmlore.frozen import TYPE_CHECKING, field, frozen, replace

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


@frozen
class Spread:
    """The constants, chosen on the linked notes of `bench/graph.py`; all optima are flat."""

    # How much of what one entity has goes to the next: cause and cure lead to each other, mere kinship less.
    caused_by: float = 1.0
    solves: float = 1.0
    requires: float = 0.9
    other: float = 0.7
    strongest: float = 10.0
    per_hop: float = 0.6
    hops: int = 2
    # What the best hits mention counts as well, but the question did not say it.
    mentioned: float = 0.5
    sharpness: float = 4.0  # a hit at three quarters of the best counts a third: unrelated texts come that far
    # A memory gains from its best few entities; a list of everything must not win.
    counted: int = 3


DEFAULT = Spread()


@frozen
class Way:
    """How strongly an entity was reached, the steps that led there, and whether the question itself named the first."""

    strength: float
    path: str
    named: bool = False


def rarity(count: int, size: int) -> float:
    """1 for what one memory of many mentions, towards 0 for what all of them do."""
    if count <= 0 or size <= 0:
        return 0.0
    return math.log(1 + size / count) / math.log(1 + size) if size > 1 else 1.0


def share(kind: str, strength: float, rules: Spread = DEFAULT) -> float:
    """What one relation hands on."""
    weights = {"caused_by": rules.caused_by, "solves": rules.solves, "requires": rules.requires}
    return rules.per_hop * weights.get(kind, rules.other) * min(max(strength, 1.0), rules.strongest) / rules.strongest


def step(
    ways: Mapping[str, Way], edges: Iterable[tuple[str, str, str, float]], rules: Spread = DEFAULT
) -> dict[str, Way]:
    """What is reached from these names in one step, by the strongest way to each; edges lead both ways."""
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
    """How strongly each memory was reached: its best few entities, rare ones more; the best way names the path.

    The rows in `sources` gave what they mention to the search; they gain by what the question names only.
    """
    met: dict[int, list[Way]] = {}
    for name, rows in mentioning.items():
        worth = ways[name].strength * rarity(len(rows), size)
        for row, weight in rows.items():
            if ways[name].named or row not in sources:
                met.setdefault(row, []).append(Way(worth * weight, ways[name].path, ways[name].named))
    scores: dict[int, Way] = {}
    for row, found in met.items():
        best = sorted(found, key=lambda way: (-way.strength, way.path))[: rules.counted]
        scores[row] = Way(min(1.0, sum(way.strength / place for place, way in enumerate(best, start=1))), *_first(best))
    return scores


def _first(best: Sequence[Way]) -> tuple[str, bool]:
    return best[0].path, best[0].named
