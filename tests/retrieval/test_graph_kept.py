"""What the graph keeps: communities that follow every change, and nothing that is gone, over, or another's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import Run
from conftest import ALICE, NOW, a_memory, an_operation, engine_env, quick_env
from swarmlore.domain.policy.graph import GUESSED, mentions_of
from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import Conflict
from swarmlore.frozen import replace
from swarmlore.lore import Lore
from swarmlore.notes.sync import graph_of
from swarmlore.retrieval import graph as graph_communities
from swarmlore.retrieval.graph import GraphView
from swarmlore.store.store import Store

ELSEWHERE = Caller("git.example/customer", "alice", "worker", 2)


def about(*names: str) -> dict[str, Any]:
    return {"graph": {"entities": [{"name": name} for name in names]}}


def put(store: Store, *memories: Memory) -> None:
    with store.operation(an_operation(ALICE)) as operation:
        for memory in memories:
            store.put(operation, memory)


def numbers(store: Store, *names: str) -> list[int | None]:
    places = store.visible(ALICE)
    graph_communities.ensure(store, places)
    found = store.communities_of(places, names)
    return [next((number for (_, name), number in found.items() if name == asked), None) for asked in names]


# Communities


def test_what_is_new_in_a_small_store_has_a_community_at_once(store: Store) -> None:
    put(store, a_memory("One", extra=about("redis", "docker")))
    assert None not in numbers(store, "redis", "docker")
    put(store, a_memory("Two", extra=about("celery", "acks late")))
    one, other = numbers(store, "celery", "acks late")
    assert one is not None
    assert one == other


def test_a_few_new_names_join_a_large_store_and_move_nothing(store: Store) -> None:
    put(store, *(a_memory(f"Text {n}", extra=about(f"topic {n}", f"a{n} part", f"b{n} part")) for n in range(170)))
    put(store, *(a_memory(f"More {n}", extra=about(f"topic {n}", f"c{n} part")) for n in range(20)))
    before = numbers(store, *(f"topic {n}" for n in range(170)))
    put(store, a_memory("New", extra=about("topic 7", "fresh part")), a_memory("Lone", extra=about("lone x", "lone y")))
    fresh, lone, other = numbers(store, "fresh part", "lone x", "lone y")
    assert numbers(store, *(f"topic {n}" for n in range(170))) == before
    assert fresh == before[7]
    assert lone == other
    assert lone not in before


def test_what_one_memory_alone_mentions_parts_no_topic() -> None:
    pairs = [("cause", 1), ("cause", 2), ("cause", 3), *((f"only {row}", row) for row in (1, 2, 3))]
    relations = [(f"only {row}", "cause", 9.0) for row in (1, 2, 3)]
    assert len(set(graph_communities.find(pairs, relations).values())) == 1


def test_names_of_one_note_each_do_not_make_each_note_a_community_of_its_own() -> None:
    parts = [(note, (note // 10 + step) % 5) for note in range(100) for step in (0, 1 + note // 50)]
    pairs = [(f"topic {note % 10} part {part}", note) for note, part in parts]
    pairs += [(f"title {note}", note) for note in range(100)] + [(f"file {note}", note) for note in range(100)]
    assert len(set(graph_communities.find(pairs).values())) <= 20


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=14))
def test_any_way_of_changing_gives_the_graph_that_a_rebuild_gives(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, int]]
) -> None:
    store = Store.open(str(tmp_path_factory.mktemp("store")), NOW)
    undoable: list[str] = []
    for step in steps:
        _change(store, undoable, *step)
    before = _tables(store)
    store.reindex_words()
    assert _tables(store) == before
    store.engine.close()


def _change(store: Store, undoable: list[str], what: int, one: int, other: int) -> None:
    """Add, reword, forget, erase or move one of six memories, or undo."""
    names = ("Redis", "`block_on()`", "panics", "Kubernetes", "c++", "naïve times")
    memory = store.get(ALICE, f"m{one}")
    with store.operation(an_operation(ALICE)) as operation:
        if memory is None:
            text = f"Note {one} on {names[one]} and `{names[other]}`"
            store.put(operation, a_memory(text, id=f"m{one}", source="note", title=f"Note {one}"))
        elif what == 0:
            extra = about(names[other], names[one])
            store.revise(operation, memory, replace(memory, text=f"On {names[other]}", extra=extra), "changed")
        elif what == 1:
            store.forget(operation, memory)
        elif what == 2:
            store.erase(operation, memory)
            undoable.clear()
        elif what == 3:
            tier = "agent" if memory.tier == "swarm" else "swarm"
            store.revise(operation, memory, replace(memory, tier=tier), "changed")
        elif undoable:
            with suppress(Conflict):  # something else changed it since
                store.undo(operation, undoable.pop())
            return
    if what != 2:
        undoable.append(operation.id)


def _tables(store: Store) -> tuple[list[str], list[str]]:
    places = store.visible(ALICE)
    mentions = [str((place, item)) for place in places for item in store.every_mention([place])]
    return sorted(mentions), sorted(map(str, store.every_edge(places)))


# What is gone, over, or another's


def test_a_name_of_a_former_wording_is_erased_with_its_memory(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Lore.open(home, cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        memory = lore.remember("Use `xylograph_marker` with Redis only", source="note").memory
        lore.recall("redis", mode="global")
        with lore.store.operation(an_operation(ALICE)) as operation:
            lore.store.revise(operation, memory, replace(memory, text="Use Kafka only", tier="agent"), "changed")
        lore.forget(memory.id, erase=True)
    for file in home.rglob("*"):
        if file.is_file():
            assert b"xylograph" not in file.read_bytes().lower(), file


@pytest.fixture
def two_projects(tmp_path: Path, engine_name: str) -> Iterator[Lore]:
    """One agent in two projects; what was kept of a session in the other one is private to it."""
    env = engine_env(engine_name)
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ELSEWHERE, env=env) as lore:
        secret = "The customer `zephyrcorp` moves its Redis on Friday"
        lore.remember(secret, source="session_summary", tier="agent", extra=about("zephyrcorp", "redis"))
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=env) as lore:
        lore.remember("My Redis notes are in the drawer", tier="agent", extra=about("redis", "drawer"))
        yield lore


def test_what_a_session_of_another_project_said_is_in_no_report_and_no_picture(two_projects: Lore) -> None:
    graph = two_projects.graph
    reports = (*graph.communities(), *two_projects.recall("redis friday", mode="global").reports)
    assert all("drawer" in str(report) for report in reports)
    assert "zephyr" not in str(reports).lower()
    assert "zephyr" not in str(graph.picture()).lower()
    assert graph.about("zephyrcorp") is None
    known = graph.about("redis")
    assert known is not None
    assert len(known.memories) == 1


def test_what_is_over_is_in_no_report_and_no_picture(store: Store) -> None:
    put(store, a_memory("The `sprint_freeze` holds for Redis", expires_at=NOW + 10), a_memory("Redis is restarted"))
    for now, names in ((NOW, {"redis", "sprint_freeze"}), (NOW + 20, {"redis"})):
        view = GraphView(store, ALICE, lambda now=now: now, nullcontext)  # type: ignore[misc]
        assert {node.name for node in view.picture().nodes} == names
        assert ("freeze" in str(view.communities())) == (len(names) == 2)
        assert (view.about("sprint_freeze") is None) == (len(names) == 1)


def test_episodes_are_in_no_report_and_no_picture(store: Store) -> None:
    put(store, a_memory("We fixed `quill_feather`", source="note", source_ref={"episode": ALICE.project}))
    view = GraphView(store, ALICE, lambda: NOW, nullcontext)
    assert view.picture().nodes == ()
    assert view.communities() == ()


def test_reports_speak_only_of_what_was_asked_for(two_projects: Lore) -> None:
    two_projects.remember("Redis is spoken of in a lesson")
    two_projects.remember("Redis is spoken of in a page", source="note", title="A page")
    asked = two_projects.recall("redis", mode="global", sources=("note",))
    assert "lesson" not in str(asked.reports)
    assert "A page" in str(asked.reports)


def test_a_guess_of_one_name_is_a_guess_too() -> None:
    from swarmlore.notes.note_format import parse_note

    graph, _ = graph_of(parse_note("---\ntitle: Short\n---\nNothing else\n"), b"")
    assert graph.origin == "guessed"
    memory = a_memory("x", source="note", extra={"graph": {"guessed": True, "entities": [{"name": "short"}]}})
    assert set(mentions_of(memory).weights.values()) == {GUESSED}


# The answer


def test_reports_are_part_of_a_global_answer_and_stand_first(run: Run) -> None:
    run("remember", "Redis keeps the sessions that Docker loses")
    run("remember", "Docker volumes keep what Redis writes")
    told = run("recall", "redis docker", "--mode", "global")
    assert "(2 memories)" in told.out.splitlines()[0]
    assert "volumes" not in told.err
    assert "(2 memories)" in run("recall", "redis docker", "--mode", "global", "--json").json["reports"][0]


def test_what_the_hive_and_the_project_both_say_is_reported_once(run: Run, world: Path) -> None:
    page = "---\ntitle: Nested runtimes\ncreated: 2026-01-02\nconfidence: high\ntags: [tokio]\n---\nTokio panics\n"
    for folder in (world / "project/docs/solutions", world / "user/.learnings/documents/learnings"):
        folder.mkdir(parents=True)
        (folder / "nested.md").write_text(page)
    run("learnings", "reindex")
    told = run("learnings", "search", "tokio", "--mode", "global", "--format", "json").json
    assert len(told["reports"]) == 1
    assert told["context"].startswith(told["reports"][0])
