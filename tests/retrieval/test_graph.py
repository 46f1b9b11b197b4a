"""The graph: what memories mention follows them everywhere, leads from one to another, and shows nobody anything else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import ALICE, BOB, OTHER, a_memory, an_operation, engine_env, quick_env
from counting import calls
from swarmlore.domain.policy.graph import GUESSED, MOST_MENTIONS, Way, mentions_of, rarity, row_scores, share, step
from swarmlore.domain.records import Caller, Memory
from swarmlore.lore import Lore
from swarmlore.retrieval import graph as graph_communities
from swarmlore.retrieval.candidates import Neighbourhood, names_in
from swarmlore.store.graph import Graphs
from swarmlore.store.store import Store

SIDECAR = {
    "entities": [
        {"name": "Tokio", "type": "technology", "description": "Async runtime for Rust"},
        {"name": "block_on()", "type": "function", "description": ""},
    ],
    "relations": [
        {"source": "block_on", "target": "nested runtime panics", "type": "caused_by", "description": "", "strength": 9}
    ],
}


def a_note(title: str, text: str, graph: dict[str, Any] | None = None, **fields: Any) -> Memory:
    extra = {"graph": graph} if graph is not None else {}
    ref = {"path": f"docs/solutions/{title.lower().replace(' ', '-')}.md"}
    return a_memory(text, title=title, source="note", source_ref=ref, extra=extra, **fields)


def related(source: str, kind: str, target: str, strength: int = 9) -> dict[str, Any]:
    return {"source": source, "type": kind, "target": target, "strength": strength, "description": ""}


def put(store: Store, *memories: Memory) -> None:
    for memory in memories:
        caller = Caller(memory.project, memory.owner, "worker", 2)
        with store.operation(an_operation(caller)) as operation:
            store.put(operation, memory)


def names(store: Store, caller: Caller = ALICE) -> set[str]:
    return {mention.name for mention in store.every_mention(store.visible(caller))}


# What a memory mentions


def test_a_sidecar_says_what_a_note_mentions_under_canonical_names() -> None:
    found = mentions_of(a_note("Panic", "Text about something else, in `python`", SIDECAR))
    assert set(found.entities) == {"tokio", "block on", "nested runtime panic", "panic"}
    assert [(r.source, r.kind, r.target, r.strength) for r in found.relations] == [
        ("block on", "caused_by", "nested runtime panic", 9.0)
    ]
    assert set(found.weights.values()) == {1.0}


def test_what_only_rules_saw_weighs_less() -> None:
    found = mentions_of(a_memory("Start Redis before the tests", entities=("feature:billing",)))
    assert found.weights == {"billing": 1.0, "redis": GUESSED}


def test_notes_that_link_to_each_other_mention_each_other() -> None:
    one = mentions_of(a_note("First note", "Nothing", {"entities": []}))
    other = a_note("Second note", "Nothing", {"entities": []})
    other = mentions_of(Memory(**{**_fields(other), "extra": {**other.extra, "note": {"links": ["./first-note.md"]}}}))
    assert set(one.entities) & set(other.entities) == {"first note"}


def _fields(memory: Memory) -> dict[str, Any]:
    return {name: getattr(memory, name) for name in ("id", "text", "title", "source", "source_ref", "extra")}


@pytest.mark.parametrize(
    "graph",
    [
        {"entities": "no list", "relations": 7},
        {"entities": [1, None, {"name": 5}, {"name": "x" * 9_999, "type": []}], "relations": [{"source": None}]},
        {
            "relations": [
                related("a", "x", "a"),
                related("a", "", "b", 10**30),
                {**related("a", "k", "c"), "strength": "nan"},
            ]
        },
        {"entities": [{"name": f"n{number}"} for number in range(10_000)]},
    ],
)
def test_a_hostile_sidecar_is_read_as_far_as_it_makes_sense(graph: dict[str, Any]) -> None:
    found = mentions_of(a_note("T", "Text", graph))
    assert len(found.entities) <= MOST_MENTIONS
    assert all(1 <= relation.strength <= 10 and relation.source != relation.target for relation in found.relations)


# How far one thing leads to another


@pytest.mark.parametrize(("count", "size", "expected"), [(0, 10, 0.0), (1, 1, 1.0), (1, 100, 1.0), (100, 100, 0.15)])
def test_what_few_mention_says_more(count: int, size: int, expected: float) -> None:
    assert rarity(count, size) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("kind", "strength", "expected"),
    [("caused_by", 10, 0.6), ("solves", 5, 0.3), ("requires", 10, 0.54), ("relates_to", 10, 0.42), ("x", 99, 0.42)],
)
def test_a_relation_hands_on_by_kind_and_strength(kind: str, strength: float, expected: float) -> None:
    assert share(kind, strength) == pytest.approx(expected)


def test_a_step_takes_the_strongest_way_and_names_it() -> None:
    edges = [("a", "b", "solves", 10.0), ("a", "b", "relates_to", 1.0), ("c", "a", "caused_by", 10.0)]
    reached = step({"a": Way(1.0, "a", True)}, edges)
    assert reached == {"b": Way(0.6, "a —solves→ b", True), "c": Way(0.6, "a ←caused_by— c", True)}


def test_rows_gain_by_their_best_names_and_sources_only_by_named_ones() -> None:
    ways = {"a": Way(0.5, "a"), "b": Way(0.2, "b", True)}
    found = row_scores(ways, {"a": {1: 1.0, 2: 1.0}, "b": {1: 1.0}}, 100, sources=(2,))
    assert set(found) == {1}
    assert found[1].path == "a"


def test_names_are_looked_for_in_every_run_of_words() -> None:
    assert {"nested runtime panic", "tokio", "block on"} <= set(
        names_in("Why the nested runtime panics in Tokio at block_on()?")
    )
    assert "the" not in names_in("What is the way?")


# In the store


def test_what_is_mentioned_follows_the_memory(store: Store) -> None:
    note = a_note("Panic", "Text", SIDECAR)
    put(store, note)
    assert names(store) == {"tokio", "block on", "nested runtime panic", "panic"}
    memory = store.resolve(ALICE, note.id)
    with store.operation(an_operation()) as operation:
        changed = store.revise(operation, memory, _with(memory, {"entities": [{"name": "Redis"}]}), "changed")
    assert names(store) == {"redis", "panic"}
    with store.operation(an_operation()) as hide:
        store.forget(hide, changed)
    assert names(store) == set()
    with store.operation(an_operation()) as operation:
        store.undo(operation, hide.id)
    assert names(store) == {"redis", "panic"}


def _with(memory: Memory, graph: dict[str, Any]) -> Memory:
    from swarmlore.frozen import replace

    return replace(memory, extra={"graph": graph})


def test_a_rebuilt_graph_is_the_same_graph(store: Store) -> None:
    put(store, a_note("Panic", "Text", SIDECAR), a_memory("Docker needs `make up` before Redis starts"))
    places = store.visible(ALICE)
    before = (sorted(map(str, store.every_mention(places))), sorted(map(str, store.every_edge(places))))
    store.reindex_words()
    assert (sorted(map(str, store.every_mention(places))), sorted(map(str, store.every_edge(places)))) == before


def test_nobody_sees_what_private_memories_mention(store: Store) -> None:
    put(store, a_note("Secret plan", "Text", {"entities": [{"name": "zephyr engine"}]}, tier="agent"))
    assert "zephyr engine" in names(store, ALICE)
    for other in (BOB, Caller(OTHER.project, "bob")):
        assert names(store, other) == set()
        assert Neighbourhood(store).around("zephyr engine", store.visible(other)).named == ()


def test_an_erased_name_is_nowhere_in_the_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Lore.open(home, cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        kept = lore.remember("Redis keeps sessions for the quillfeather service", source="note")
        gone = lore.remember("Use `xylograph_marker` with Redis only", source="note", title="Xylograph marker")
        lore.recall("redis", mode="global")
        lore.forget(gone.memory.id, erase=True)
        assert lore.graph.about("redis") is not None
        assert kept.memory.live
    for file in home.rglob("*"):
        if file.is_file():
            assert b"xylograph" not in file.read_bytes().lower(), file


# Recall


@pytest.fixture
def linked(tmp_path: Path, engine_name: str) -> Iterator[Lore]:
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=engine_env(engine_name)) as lore:
        symptom = {"relations": [related("checkout timeout", "caused_by", "connection starvation")]}
        cure = {"relations": [related("pgbouncer", "solves", "connection starvation")]}
        lore.remember(
            "The shop stops answering on Mondays", title="Monday hang", source="note", extra={"graph": symptom}
        )
        lore.remember("Batch work has a small pool", title="Own pool", source="note", extra={"graph": cure})
        for number in range(8):
            lore.remember(f"Page {number} of the handbook explains holiday rule {number * 7}", source="note")
        yield lore


def titles(hits: Any) -> list[str]:
    return [hit.memory.title for hit in hits]


def test_local_follows_relations_and_says_which(linked: Lore) -> None:
    hits = linked.recall("what causes the checkout timeouts", mode="local")
    assert {"Monday hang", "Own pool"} <= set(titles(hits))
    paths = [part.note for hit in hits for part in hit.explanation if part.name == "graph"]
    assert "checkout timeout —caused_by→ connection starvation" in paths


def test_local_without_a_known_name_says_that_it_looked_otherwise(linked: Lore) -> None:
    hits = linked.recall("holiday rule", mode="local")
    assert any("names nothing" in note for note in hits.notes)


def test_hybrid_brings_what_a_hit_leads_to(linked: Lore) -> None:
    hits = linked.recall("the shop stops answering on Mondays")
    assert titles(hits)[0] == "Monday hang"
    assert "Own pool" in titles(hits)


@pytest.mark.parametrize("question", ["checkout timeout", "Checkout Timeouts", "why a checkout-timeout?"])
def test_profile_learnings_joins_what_a_name_and_its_variants_lead_to(linked: Lore, question: str) -> None:
    hits = linked.recall(question, profile="learnings")
    assert titles(hits)[:2] == ["Monday hang", "Own pool"]  # neither says a word of the question


def test_the_plain_modes_do_not_follow(linked: Lore) -> None:
    assert "Own pool" not in titles(linked.recall("the shop stops answering on Mondays", mode="keyword"))


def test_global_answers_with_communities_and_their_reports(linked: Lore) -> None:
    hits = linked.recall("the shop stops answering", mode="global")
    assert {"Monday hang", "Own pool"} <= set(titles(hits))
    assert any("connection starvation" in note and "Monday hang" in note for note in hits.reports)


def test_what_a_block_shows_unasked_is_not_widened(linked: Lore) -> None:
    assert "small pool" not in linked.block("the shop stops answering on Mondays").text


# Communities


def test_communities_are_what_is_mentioned_together_and_always_the_same() -> None:
    pairs = [
        (f"{topic}{number % 6}", 10 * topic + row)
        for topic in range(5)
        for row in range(6)
        for number in range(row, row + 3)
    ]
    pairs += [("everywhere", row) for row in {row for _, row in pairs}]
    found = graph_communities.find(pairs)
    assert found == graph_communities.find(list(reversed(pairs)))
    groups = {topic: {found[name] for name, row in pairs if name in found and row // 10 == topic} for topic in range(5)}
    assert "everywhere" not in found
    assert all(len(group) == 1 for group in groups.values())
    assert len(set.union(*groups.values())) == 5


def test_what_everybody_mentions_does_not_make_communities_be_found_anew(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = [{"name": f"tool {number}"} for number in range(30)]
    put(store, *(a_note(f"Note {n}", "Text", {"entities": tools}) for n in range(20)))
    put(store, *(a_note(f"Other {n}", "Text", {"entities": [{"name": f"own {n}"}]}) for n in range(5)))
    places = store.visible(ALICE)
    graph_communities.ensure(store, places)
    found = store.communities_of(places, ["tool 1", "own 1", "never seen"])
    assert {name: number < 0 for (_, name), number in found.items()} == {"tool 1": True, "own 1": False}
    monkeypatch.setattr(graph_communities, "find", None)  # asking again must not need it
    assert graph_communities.ensure(store, places) == {}
    assert graph_communities.ensure_any(store, places) == {}


def test_private_memories_are_in_no_report_that_others_see(tmp_path: Path) -> None:
    def open_as(caller: Caller) -> Lore:
        return Lore.open(tmp_path / "home", cwd=tmp_path, caller=caller, env=quick_env())

    with open_as(ALICE) as lore:
        lore.remember("Redis is restarted on Fridays", source="note", title="Redis restart")
        lore.remember(
            "Redis password rotation is done by quillfeather", source="note", title="Private plan", tier="agent"
        )
        assert any("Private plan" in report.report for report in lore.graph.communities())
    with open_as(BOB) as lore:
        said = " ".join(report.report for report in lore.graph.communities())
        assert "Redis restart" in said
        assert "Private plan" not in said
        assert "Private plan" not in str(lore.recall("redis", mode="global").reports)


def test_an_entity_can_be_asked_for_under_any_of_its_names(linked: Lore) -> None:
    known = linked.graph.about("Checkout-Timeouts")
    assert known is not None
    assert [relation.target for relation in known.relations] == ["connection starvation"]
    assert len(known.memories) == 1
    assert linked.graph.about("nobody knows this") is None


def test_the_graph_is_a_small_part_of_the_work_of_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in calls inside of the write; `bench/graph.py --cost` measures the time."""

    def write(lore: Lore, numbers: range) -> None:
        for number in numbers:
            lore.remember(
                f"Run `make step{number}` before Redis {number} is deployed by Docker from module m{number % 7}"
            )

    def without(self: Graphs, *args: Any) -> None:
        pass

    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        write(lore, range(60))
        whole = calls(lambda: write(lore, range(60, 120)))
        monkeypatch.setattr(Graphs, "index_graph", without)
        assert whole < 1.15 * calls(lambda: write(lore, range(120, 180)))
