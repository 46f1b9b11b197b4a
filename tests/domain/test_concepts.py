"""What a text is about: one name for a thing and its variants, and entities by rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile import SCANNERS
from swarmlore.domain.language.concepts import MAX_ENTITIES, MAX_RELATIONS, canonical, concepts_of, named_in, type_of
from swarmlore.domain.records import Entity

SAME = (
    ("Tokio", "tokio", " TOKIO ", "`tokio`", "tokio 1.35", "tokio@1", "tokio v1"),
    ("postgres", "PostgreSQL", "Postgres 15", "postgresql-16", "pg"),
    ("k8s", "Kubernetes", "kube"),
    ("node.js", "Node", "nodejs", "Node.js 20", "Node JS"),
    ("js", "JavaScript", "ECMAScript"),
    ("block_on", "block_on()", "block-on", "Block on", "block_on(fut)"),
    ("nested runtime panics", "Nested Runtime Panic", "nested-runtime_panic"),
    ("python3", "Python 3.11", "python", "CPython"),
    ("environment variables", "env var", "env vars"),
    ("c++", "C++", "cpp"),
    ("golang", "Go"),
    ("dependencies", "dependency", "deps"),
    ("utf-8", "UTF_8"),
    ("CAFÉ", "Cafe\u0301"),
    ("zero\u200bwidth", "zerowidth"),
)
APART = (
    *("c", "c++", "c#", "go", "gopls", "http", "https", "http/2", "error 404", "error 500", "port 5432", "port 5433"),
    *("-c", ".env", "env", "ipv4", "ipv6", "sha256", "sha512", "app.js", "app", "r", "rust", "java", "javascript"),
    *("css", "status", "class", "redis", "日本語", "日本", "phase 1", "phase 2", "react", "react native"),
)


@pytest.mark.parametrize("names", SAME, ids=lambda names: names[0])
def test_a_name_and_its_variants_are_one(names: tuple[str, ...]) -> None:
    assert len({canonical(name) for name in names}) == 1


def test_what_differs_stays_apart() -> None:
    assert len({canonical(name) for name in APART}) == len(APART)


@given(st.text(max_size=200))
def test_the_canonical_name_of_any_text_is_a_short_name_of_itself(name: str) -> None:
    key = canonical(name)
    assert len(key) <= 130
    assert key == key.strip()
    assert canonical(name.swapcase().swapcase()) == canonical(name) or name.swapcase().swapcase() != name


@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("tokio", "technology"),
        ("npm", "tool"),
        ("PoolTimeoutError", "error"),
        ("block_on()", "function"),
        ("spawnAgent", "function"),
        ("--no-deps", "config"),
        ("DATABASE_URL", "config"),
        ("src/app/main.py", "artifact"),
        ("connection pool", "concept"),
    ],
)
def test_a_name_is_typed_by_its_looks(name: str, type: str) -> None:
    assert type_of(name) == type


NOTE = """## Problem
Calling `block_on` inside an async context panics:

    thread 'main' panicked at 'Cannot start a runtime from within a runtime'

We use Rust with tokio and sqlx against PostgreSQL. You should go and make it express.

## Solution
Use `spawn_blocking()`.
"""


def test_a_note_without_a_sidecar_gets_entities_of_every_source() -> None:
    entities, relations = concepts_of("Nested runtime panic", ("rust", "async"), NOTE)
    names = {entity.name: entity.type for entity in entities}
    assert names["Nested runtime panic"] == "concept"
    assert names["rust"] == names["tokio"] == "technology"
    assert names["block_on"] == "function"
    assert [type for type in names.values() if type == "error"] == ["error"]
    assert "go" not in names and "make" not in names and "express" not in names
    assert len(entities) <= MAX_ENTITIES and len(relations) <= MAX_RELATIONS
    kinds = {relation.kind for relation in relations if relation.source == "Nested runtime panic"}
    assert {"uses", "solves"} <= kinds


def test_everyday_words_count_only_where_they_are_names() -> None:
    assert named_in("You should go and make sure the rest is next in line") == ()
    assert Entity("go", "technology") in named_in("Services in Go talk to Redis")


def test_an_empty_text_is_about_nothing() -> None:
    assert concepts_of("", (), "") == ((), ())


@pytest.mark.parametrize("part", SCANNERS["concepts"].pieces)
def test_a_hostile_text_is_about_few_things_of_short_names(part: str) -> None:
    text = SCANNERS["concepts"].text(part, 1_000_000)
    entities, relations = concepts_of(text, (text,), text)
    assert len(entities) == {"`": 0, "\u200b": 0, "error: ": 2}.get(part, 1)
    assert len(relations) == (part == "error: ")
    assert [entity.type for entity in entities][1:] == (["error"] if part == "error: " else [])
    assert len(canonical(text)) <= 120


@pytest.mark.parametrize("one", "cookie size alias cache schema branch batch index status process canvas query".split())
def test_a_word_and_its_plural_are_one_name(one: str) -> None:
    plurals = {"index": "indices", "query": "queries", "canvas": "canvases"}
    ending = "es" if one.endswith(("s", "ch")) else "s"
    assert canonical(plurals.get(one, one + ending)) == canonical(one) == one


def test_a_long_title_is_no_name_but_what_it_names_is() -> None:
    title = "Use sqlx instead of diesel because the compile-time checks need no generated schema file"
    entities, _ = concepts_of(title, (), "Nothing else")
    assert {entity.name for entity in entities} == {"sqlx", "diesel"}


def test_a_framework_and_what_came_after_it_stay_apart() -> None:
    assert len({canonical(name) for name in ("angular", "AngularJS", "svelte", "SvelteKit")}) == 4
