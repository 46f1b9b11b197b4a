"""Files that people write beside us: notes, sidecars, MEMORY.md, episodes, metrics. Read leniently, changed with care."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from typing import Any

import pytest

from swarmlore.domain.json_codec import from_iso
from swarmlore.domain.records import Entity, Relation
from swarmlore.errors import Conflict, InvalidInput
from swarmlore.notes import markdown
from swarmlore.notes.entities_sidecar import (
    PLACEHOLDER,
    Sidecar,
    from_graphrag,
    note_path,
    parse_sidecar,
    sidecar_path,
    sidecar_paths,
    to_graphrag,
    with_entity,
    with_relation,
    write_sidecar,
)
from swarmlore.notes.markdown import MAX_CHARS, read_page, with_added, with_field, with_item
from swarmlore.notes.note_format import Note, confidence_of, missing_for_add, note_id, parse_note, problems, write_note
from swarmlore.notes.project_memory import memory_md
from swarmlore.notes.reflect.metrics import Metrics, counted, parse_metrics
from swarmlore.notes.reflect.reflections import Episode, episode_id, episode_path, write_episode
from swarmlore.notes.yaml_edit import MAX_BYTES, Unreadable, read, with_value, without_items

NOTE = """\
---
title: "Tokio runtime panic"   # found on a Friday
category: debugging-sessions # or patterns, decisions, anti-patterns
tags: [rust, async, tokio]
symptoms:
  - "nested runtime panic on block_on"
root_cause: "Calling block_on inside an async context"
key_insight: >-
  Spawn a thread
  of its own
created: "2026-03-16"
confidence: HIGH
language: rust
framework: tokio
related: ["./other.md"]
type: learning
scope: domain:rust
---

## Problem
It panics.

```md
## Solution
```

## Solution
1. Use a thread.

## Context
- tokio 1.x
"""
BODY = NOTE.split("---\n", 2)[2]


# Notes


def test_a_note_is_read_with_all_it_says() -> None:
    note = parse_note(NOTE)
    assert note == Note(
        id=f"tokio-runtime-panic-{sha256(('Tokio runtime panic' + chr(10) + BODY).encode()).hexdigest()[:6]}",
        title="Tokio runtime panic",
        created="2026-03-16",
        confidence=0.9,
        category="debugging-sessions",
        tags=("rust", "async", "tokio"),
        symptoms=("nested runtime panic on block_on",),
        root_cause="Calling block_on inside an async context",
        key_insight="Spawn a thread of its own",
        language="rust",
        framework="tokio",
        links=("./other.md",),
        body=BODY,
        fields=note.fields,
    )
    assert (note.label, note.created_at) == ("high", from_iso("2026-03-16"))
    assert {"type": "learning", "scope": "domain:rust", "confidence": "HIGH"}.items() <= note.fields.items()


@pytest.mark.parametrize(
    ("said", "number", "label"),
    [
        ("high", 0.9, "high"),
        ("Medium", 0.6, "medium"),
        ("LOW", 0.3, "low"),
        ("0.85", 0.85, "high"),
        ("0.5", 0.5, "medium"),
        ("0.49", 0.49, "low"),
        ("85", 1.0, "high"),
        ("-1", 0.0, "low"),
        ("certain", 0.6, "unknown"),
        ("", 0.6, "unknown"),
        ("~", 0.6, "unknown"),
        (".nan", 0.6, "unknown"),
        ("nan", 0.6, "unknown"),
        ("[high]", 0.6, "unknown"),
    ],
)
def test_confidence_is_a_word_or_a_number(said: str, number: float, label: str) -> None:
    note = parse_note(f"---\ntitle: x\nconfidence: {said}\n---\n")
    assert (note.confidence, note.label) == (number, label)
    assert parse_note("---\ntitle: x\n---\n").label == "unknown"
    assert confidence_of("high") == 0.9


@pytest.mark.parametrize(
    ("head", "name", "value"),
    [
        ("tags: rust, tokio,", "tags", ("rust", "tokio")),
        ("tags: '[rust, tokio]'", "tags", ("rust", "tokio")),
        ("tags:\n- rust\n-  tokio\n- rust", "tags", ("rust", "tokio")),
        ("tags: {a: b}", "tags", ()),
        ("tags:", "tags", ()),
        ("symptoms: it hangs, then dies", "symptoms", ("it hangs, then dies",)),
        ("symptoms: [a, {b: c}, [d], '']", "symptoms", ("a",)),
        ("links: x.md\nrelated: [y.md, x.md]", "links", ("x.md", "y.md")),
        ("title: ' a '", "title", "a"),
        ("title: [a]", "title", ""),
        ("title: 2026", "title", "2026"),
        ("title: null", "title", ""),
        ("created: 2026-03-16T10:00:00+02:00", "created_at", from_iso("2026-03-16T08:00:00Z")),
        ("created: 2026-03-16 10:00", "created_at", from_iso("2026-03-16T10:00:00Z")),
        ("created: soon", "created_at", None),
        ("id: lrn-x-abc123", "own_id", "lrn-x-abc123"),
        ("id: ../../etc", "own_id", ""),
    ],
)
def test_fields_are_read_in_the_ways_people_write_them(head: str, name: str, value: Any) -> None:
    assert getattr(parse_note(f"---\n{head}\n---\nbody\n"), name) == value


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        ("", {}, ""),
        ("# Only a body\n", {}, "# Only a body\n"),
        ("---\n---\n", {}, ""),
        ("---\n# nothing\n---\nx", {}, "x"),
        ("---\ntitle: x\n...\nbody\n", {"title": "x"}, "body\n"),
        ("---  \r\ntitle: x\r\n---\t\r\nbody\r\n", {"title": "x"}, "body\r\n"),
        ("\ufeff---\ntitle: x\n---\nbody", {"title": "x"}, "body"),
        ("---\ntitle: x\n---", {"title": "x"}, ""),
        ("---\n\nwords between two rules\n\n---\n", {}, "---\n\nwords between two rules\n\n---\n"),
        ("---\nand a text that goes on\n", {}, "---\nand a text that goes on\n"),
        ("---\na: |\n  ---\n  b\n---\n\n---\nc\n", {"a": "---\nb\n"}, "\n---\nc\n"),
        (" ---\ntitle: x\n---\n", {}, " ---\ntitle: x\n---\n"),
    ],
)
def test_a_page_has_a_head_or_is_a_body(text: str, fields: dict[str, Any], body: str) -> None:
    page = read_page(text)
    assert (page.fields, page.body, page.text) == (fields, body, text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\ntitle: x\ntags: [a\n---\n", r"no YAML \(line [34]\)"),
        ("---\ntitle: x\n\tb: c\n---\n", r"no YAML \(line 3\)"),
        ("---\ntitle: x\nbody without an end\n", r"no end \(line 1\)"),
        ("---\na: &x b\n---\n", r"an anchor \(line 2\)"),
        ("x" * (MAX_CHARS + 1), "larger than 1 MB"),
        ("---\na: '" + "x" * MAX_BYTES + "'\n---\n", "larger than 256 KB"),
    ],
)
def test_a_broken_head_is_told_with_its_line(text: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        parse_note(text)


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Tokio runtime panic", "tokio-runtime-panic"),
        ("  C++ / Rust:  FFI (unsafe)!", "c-rust-ffi-unsafe"),
        ("../../etc/passwd", "etcpasswd"),
        ("..", "note"),
        ("", "note"),
        ("東京", "note"),
        ("a" * 49 + " b", "a" * 49 + "-"),
        ("x" * 80, "x" * 50),
        ("well-known", "wellknown"),
        ("con\x00fig\n", "config"),
    ],
)
def test_an_id_is_a_plain_file_name_of_the_title_and_a_part_of_the_hash(title: str, slug: str) -> None:
    assert note_id(title, "b") == f"{slug}-{sha256(f'{title}{chr(10)}b'.encode()).hexdigest()[:6]}"
    assert note_id(title, "b") != note_id(title, "c")


def test_a_new_note_has_its_fields_in_order_and_its_body_as_it_came() -> None:
    body = "\n## Problem\n\nIt panics.\n"
    fields = {
        "severity": "high",
        "confidence": 0.9,
        "created": "2026-03-16",
        "title": 'A "nested" runtime',
        "tags": ("rust", "async io"),
        "symptoms": ["it hangs for a minute"],
        "root_cause": "",
        "links": (),
        "language": None,
    }
    text = write_note(fields, body)
    assert text == (
        '---\ntitle: "A \\"nested\\" runtime"\ntags: [rust, "async io"]\nsymptoms:\n  - "it hangs for a minute"\n'
        'created: "2026-03-16"\nconfidence: high\nseverity: high\n---\n' + body
    )
    note = parse_note(text)
    assert (note.id, problems(note)) == (note_id('A "nested" runtime', body), ())
    assert "confidence: low\n" in write_note({"confidence": "LOW"}, "")


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("title: x\ncreated: 2026-03-16\nconfidence: high", ()),
        ("created: 2026-03-16\nconfidence: high", ("title is missing",)),
        ("title: x\nconfidence: low", ("created is missing",)),
        ("title: x\ncreated: 16.3.2026\nconfidence: low", ("created is no day such as 2026-03-16",)),
        ("title: x\ncreated: 2026-02-30\nconfidence: low", ("created is no day such as 2026-03-16",)),
        ("title: x\ncreated: 2026-03-16\nconfidence: HIGH", ("confidence is none of high, medium, low",)),
        ("title: x\ncreated: 2026-03-16\nconfidence: high\ntags: [a, a]", ("tags has the same tag twice",)),
        ("", ("title is missing", "created is missing", "confidence is missing")),
    ],
)
def test_what_a_note_lacks_is_said(head: str, found: tuple[str, ...]) -> None:
    assert problems(parse_note(f"---\n{head}\n---\n")) == found


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, ()),
        ({"title": "too short"}, ("title is shorter than 10 characters",)),
        ({"title": "x" * 151}, ("title is longer than 150 characters",)),
        ({"category": "patterns"}, ("category is none of build-errors",)),
        ({"category": ""}, ("category is missing",)),
        ({"tags": []}, ("tags has not 1 to 10 tags",)),
        ({"tags": list("abcdefghijk")}, ("tags has not 1 to 10 tags",)),
        ({"symptoms": []}, ("symptoms is missing",)),
        ({"root_cause": "short"}, ("root_cause is shorter than 10 characters",)),
        ({"key_insight": "x" * 501}, ("key_insight is longer than 500 characters",)),
        ({"environment": "laptop"}, ("environment is none of development",)),
        ({"environment": "ci", "severity": "critical"}, ()),
        ({"severity": "bad"}, ("severity is none of critical",)),
    ],
)
def test_the_template_asks_for_more(change: dict[str, Any], found: tuple[str, ...]) -> None:
    good = {
        "title": "Nested runtime panic", "created": "2026-03-16", "confidence": "high", "category": "build-errors",
        "tags": ["a"], "symptoms": ["it hangs"], "root_cause": "ten characters", "key_insight": "ten characters",
    }  # fmt: skip
    told = problems(parse_note(write_note({**good, **change}, "")), strict=True)
    assert len(told) == len(found) and all(one.startswith(start) for one, start in zip(told, found, strict=True))


def test_learnings_need_a_title_a_category_and_an_insight() -> None:
    assert missing_for_add(parse_note("# x\n")) == ("title", "category", "key_insight")
    assert missing_for_add(parse_note("---\ntitle: a\ncategory: b\nkey_insight: c\n---\n")) == ()


# Changing a page


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (lambda page: with_field(page, "confidence", "low"), "confidence: HIGH\n", "confidence: low\n"),
        (lambda page: with_field(page, "severity", "high"), "domain:rust\n", "domain:rust\nseverity: high\n"),
        (lambda page: with_field(page, "key_insight", "Use a thread"), ">-\n  Spawn a thread\n  of its own\n", ">-\n  Use a thread\n"),
        (lambda page: with_field(page, "title", "New: words"), '"Tokio runtime panic"', '"New: words"'),
        (lambda page: with_field(page, "tags", ["a"]), "[rust, async, tokio]", "[a]"),
        (lambda page: with_item(page, "tags", "thread"), "tokio]", "tokio, thread]"),
        (lambda page: with_item(page, "tags", "rust"), "", ""),
        (lambda page: with_item(page, "symptoms", "it hangs"), "block_on\"\n", "block_on\"\n  - \"it hangs\"\n"),
        (lambda page: with_item(page, "links", "./a.md"), "domain:rust\n", 'domain:rust\nlinks: ["./a.md"]\n'),
        (lambda page: with_item(page, "category", "b"), "debugging-sessions #", "[debugging-sessions, b] #"),
        (lambda page: with_added(page, "Problem", "And again."), "```\n\n## S", "```\n\nAnd again.\n\n## S"),
        (lambda page: with_added(page, "## solution ", "2. Or not."), "thread.\n", "thread.\n\n2. Or not.\n"),
        (lambda page: with_added(page, "Context", "- async-std"), "1.x\n", "1.x\n- async-std\n"),
        (lambda page: with_added(page, "### Links", "See x\n"), "1.x\n", "1.x\n\n### Links\n\nSee x\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_one_thing_of_a_page_changes_and_nothing_else(change: Any, before: str, after: str, ends: str) -> None:
    text = NOTE.replace("\n", ends)
    before, after = before.replace("\n", ends), after.replace("\n", ends)
    assert before in text
    assert change(read_page(text)) == text.replace(before, after, 1)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", "---\ntitle: x\n---\n"),
        ("# Body\n", "---\ntitle: x\n---\n# Body\n"),
        ("\ufeffBody\r\n", "\ufeff---\r\ntitle: x\r\n---\r\nBody\r\n"),
        ("---\n---\nBody", "---\ntitle: x\n---\nBody"),
        ("---\n# c\n---\nBody", "---\n# c\ntitle: x\n---\nBody"),
        ("---\n{}\n---\nBody", "---\n{title: x}\n---\nBody"),
        ("---\ntitle:\n---\n", "---\ntitle: x\n---\n"),
        ("---\ntitle: |+\n\n---\n", "---\ntitle: x\n\n---\n"),
        ("---\ntitle: ~ # to do\n---\n", "---\ntitle: x # to do\n---\n"),
    ],
)
def test_a_field_finds_its_place_in_any_head(text: str, after: str) -> None:
    assert with_field(read_page(text), "title", "x") == after
    assert parse_note(after).title == "x"


def test_nothing_is_added_below_code_without_an_end() -> None:
    page = read_page("# A\n\n```\ncode\n")
    with pytest.raises(Conflict, match=r"has no end \(line 3\)"):
        with_added(page, "A", "more")
    with pytest.raises(Conflict, match=r"has no end \(line 3\)"):
        with_added(page, "B", "more")


# Sidecars


SIDECAR = """\
document_id: tokio-runtime-panic-abc123
entities:
  - name: "tokio"
    type: technology   # technology | error | pattern | function | concept | tool
    description: "Async runtime for Rust"
    since: 1.0
  - block_on
relationships:
  - source: "block_on"
    target: "nested runtime panic"
    type: caused_by
    description: "Calling block_on inside async context triggers panic"
    strength: 9        # 1-10
"""
PANIC = Relation(
    "block_on", "nested runtime panic", "caused_by", "Calling block_on inside async context triggers panic", 9.0
)


def test_a_sidecar_is_read() -> None:
    assert parse_sidecar(SIDECAR) == Sidecar(
        "tokio-runtime-panic-abc123",
        "",
        (Entity("tokio", "technology", "Async runtime for Rust"), Entity("block_on")),
        (PANIC,),
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "entities:\n", "entities: []\nrelationships: ~\n"])
def test_an_empty_sidecar_names_nothing(text: str) -> None:
    assert parse_sidecar(text) == Sidecar()


@pytest.mark.parametrize(
    ("text", "entities", "relations"),
    [
        ("entities: [a, b]", (Entity("a"), Entity("b")), ()),
        ("entities: [{name: a, type: Platform}]", (Entity("a", "Platform"),), ()),
        ("relations: [{source: a, target: b, kind: uses}]", (), (Relation("a", "b", "uses"),)),
        ("relationships: [{source: a, target: b, strength: 99}]", (), (Relation("a", "b", strength=10.0),)),
        ("relationships: [{source: a, target: b, strength: -1}]", (), (Relation("a", "b", strength=1.0),)),
        ("relationships: [{source: a, target: b, strength: strong}]", (), (Relation("a", "b"),)),
        ("relationships: [{source: a, target: b, strength: nan}]", (), (Relation("a", "b"),)),
        (
            "relationships: [{source: a, target: b}]\nrelations: [{source: c, target: d}]",
            (),
            (Relation("a", "b"), Relation("c", "d")),
        ),
    ],
)
def test_sidecars_are_read_leniently(text: str, entities: tuple[Entity, ...], relations: tuple[Relation, ...]) -> None:
    found = parse_sidecar(text)
    assert (found.entities, found.relations, found.problems) == (entities, relations, ())


def test_what_is_no_entity_is_told_with_its_line() -> None:
    found = parse_sidecar("entities:\n- type: tool\n- a\n- []\nrelations:\n- source: a\n- b\n")
    assert found.entities == (Entity("a"),)
    assert [line for line, _ in found.problems] == [2, 4, 6, 7]
    for text in ("- a", "entities: a", "relations: {a: b}", "entities: [", "entities: &x []"):
        with pytest.raises(Unreadable):
            parse_sidecar(text)


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (lambda text: with_entity(text, Entity("Tokio", "technology", "A runtime")), '"Async runtime for Rust"', '"A runtime"'),
        (lambda text: with_entity(text, Entity("tokio", "technology")), "", ""),
        (lambda text: with_entity(text, Entity("block_on")), "", ""),
        (lambda text: with_entity(text, Entity("block_on", "function")), "- block_on\n", "- {name: block_on, type: function}\n"),
        (
            lambda text: with_entity(text, Entity("smol", "tool", "Small one")),
            "- block_on\n",
            '- block_on\n  - name: smol\n    type: tool\n    description: "Small one"\n',
        ),
        (lambda text: with_relation(text, PANIC), "", ""),
        (lambda text: with_relation(text, Relation(*PANIC.__reduce__()[1][:4], 3)), "strength: 9 ", "strength: 3 "),
        (
            lambda text: with_relation(text, Relation("a", "b", "uses")),
            "# 1-10\n",
            "# 1-10\n  - source: a\n    target: b\n    type: uses\n    strength: 5\n",
        ),
    ],
)  # fmt: skip
def test_one_thing_of_a_sidecar_changes_and_nothing_else(change: Any, before: str, after: str) -> None:
    assert before in SIDECAR
    assert change(SIDECAR) == SIDECAR.replace(before, after, 1)


def test_a_sidecar_is_written_and_read_again() -> None:
    sidecar = Sidecar("x-1", "2026-03-16T10:00:00Z", (Entity("a b", "tool", "one: two"),), (PANIC,))
    assert parse_sidecar(write_sidecar(sidecar)) == sidecar
    assert parse_sidecar(write_sidecar(Sidecar())) == Sidecar()
    assert with_relation("relations: []\n", Relation("a", "b")).startswith("relations:\n  - source: a\n")


@pytest.mark.parametrize(
    ("note", "paths"),
    [
        ("docs/a.md", ("docs/a.entities.yaml", "docs/a.md.entities.yaml")),
        ("a.b.MD", ("a.b.entities.yaml", "a.b.md.entities.yaml")),
    ],
)
def test_a_sidecar_stands_beside_its_note(note: str, paths: tuple[str, str]) -> None:
    assert (sidecar_paths(note), sidecar_path(note)) == (paths, paths[0])
    assert {note_path(path).lower() for path in paths} == {note.lower()}
    assert note_path("a.yaml") == ""


def test_graphrag_reads_what_a_sidecar_says_and_back() -> None:
    sidecar = Sidecar(
        entities=(Entity("tokio", "technology", 'A "runtime"'),),
        relations=(Relation("a", "b", description="d", strength=9),),
    )
    text = to_graphrag(sidecar)
    assert text == (
        '("entity"<|>"tokio"<|>"technology"<|>"A "runtime"")\n##\n("relationship"<|>"a"<|>"b"<|>"d"<|>9)<|COMPLETE|>'
    )
    assert from_graphrag(text) == sidecar
    assert to_graphrag(Sidecar()) == "<|COMPLETE|>"
    assert f'"{PLACEHOLDER.name}"' in to_graphrag(None)
    assert from_graphrag(to_graphrag(None)) == from_graphrag("") == from_graphrag("(((<|>") == Sidecar()
    assert from_graphrag('("relationship"<|>x<|>y)') == Sidecar(relations=(Relation("x", "y"),))
    hostile = Sidecar(entities=(Entity('a"<|>"b\n##\n("entity"<|>"c', "x", "<|COMPLETE|>"),))
    assert len(from_graphrag(to_graphrag(hostile)).entities) == 1


# MEMORY.md


MEMORY = """\
# Project Memory

Some words before.

## Build & Deploy
- Build with make
* Deploy from main only,
  never from a branch

<!-- ## Testing -->
## Gotchas and workarounds

Paths are case-sensitive.

```sh
## Testing

```

### Details
- The cache is warm

## Our own
1. First
"""


@pytest.mark.parametrize(
    ("section", "entry", "before", "after"),
    [
        ("Build & Deploy", "Use docker", "a branch\n", "a branch\n* Use docker\n"),
        ("build and deploy", "Use docker", "a branch\n", "a branch\n* Use docker\n"),
        ("Build & Deploy", "build  with\nmake", "", ""),
        ("Gotchas & Workarounds", "- A new one", "```\n\n### D", "```\n\n- A new one\n\n### D"),
        ("Details", "Or cold", "is warm\n", "is warm\n- Or cold\n"),
        ("Our own", "Second", "1. First\n", "1. First\n- Second\n"),
        ("Testing", "Run it", "1. First\n", "1. First\n\n## Testing\n\n- Run it\n"),
        ("Architecture & Patterns", "Layers", "before.\n", "before.\n\n## Architecture & Patterns\n\n- Layers\n"),
        ("Glossary", "Term", "1. First\n", "1. First\n\n## Glossary\n\n- Term\n"),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_an_entry_goes_to_the_end_of_its_section_and_nothing_else_changes(
    section: str, entry: str, before: str, after: str, ends: str
) -> None:
    text = MEMORY.replace("\n", ends)
    before, after = before.replace("\n", ends), after.replace("\n", ends)
    assert memory_md.with_entry(text, section, entry) == text.replace(before, after, 1)
    again = memory_md.with_entry(text, section, entry)
    assert memory_md.with_entry(again, section, entry) == again


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_sections_come_in_their_order_whatever_comes_first(order: tuple[int, ...], start: str) -> None:
    text = start
    for number in order:
        text = memory_md.with_entry(text, memory_md.SECTIONS[number], f"entry {number}")
    sections = "".join(f"\n## {name}\n\n- entry {n}\n" for n, name in enumerate(memory_md.SECTIONS))
    assert text == start + "# Project Memory\n" + sections


@pytest.mark.parametrize(
    ("entry", "written"),
    [
        ("See @/etc/passwd and @~/.ssh/id_rsa first", "See `@/etc/passwd` and `@~/.ssh/id_rsa` first"),
        ("@../../secrets.md", "`@../../secrets.md`"),
        ("Run `cat @/x` or ` @./y", "Run `cat @/x` or ` `@./y`"),
        ("Ask ana@example.com/x or @ana", "Ask ana@example.com/x or @ana"),
        ("Pin @types/node", "Pin `@types/node`"),
    ],
)
def test_an_entry_speaks_of_files_and_loads_none(entry: str, written: str) -> None:
    text = memory_md.with_entry("", "Testing", entry)
    assert text.endswith(f"\n- {written}\n")
    assert memory_md.with_entry(text, "Testing", entry) == text


def test_entries_are_told_with_their_lines() -> None:
    found = {section.name: section.entries for section in memory_md.parse(MEMORY)}
    assert list(found) == ["Project Memory", "Build & Deploy", "Gotchas & Workarounds", "Details", "Our own"]
    assert [(entry.text, entry.first_line, entry.last_line) for entry in found["Build & Deploy"]] == [
        ("Build with make", 6, 6),
        ("Deploy from main only, never from a branch", 7, 8),
    ]
    assert [(entry.text, entry.lines) for entry in found["Gotchas & Workarounds"]] == [
        ("Paths are case-sensitive.", 1),
        ("```sh ## Testing ```", 4),
    ]


def test_a_file_of_more_than_200_lines_names_its_longest_entries() -> None:
    text = (
        "# Project Memory\n\n## Testing\n"
        + "- short\n" * 190
        + "- long\n"
        + "  more\n" * 6
        + "- longer\n"
        + "  more\n" * 9
    )
    assert memory_md.line_count(text) == 210
    found = memory_md.overflowing(text)
    assert found is not None
    lines = [[entry.lines for entry in bundle.entries] for bundle in found.bundles]
    assert (found.lines, found.over, lines) == (210, 10, [[10], [7]])  # each leaves one line behind
    assert memory_md.overflowing("x\n" * 200) is None
    assert [memory_md.line_count(one) for one in ("", "a", "a\n", "a\n\nb")] == [0, 1, 1, 3]


@pytest.mark.parametrize(
    ("sections", "more", "taken"),
    [
        ({"Testing": [1] * 199}, 0, None),  # with its heading 200 lines
        ({"Testing": [1] * 199}, 1, [("Testing", 2)]),  # two entries for one line that points to both
        ({"Testing": [1] * 299}, 0, [("Testing", 101)]),
        ({"Testing": [1] * 100, "Our own": [1] * 120}, 0, [("Our own", 23)]),
        ({"Testing": [1] * 190, "Our own": [4, 9, 2]}, 0, [("Our own", 1)]),
        ({"Testing": [1] * 190, "Our own": [4, 9, 4]}, 6, [("Our own", 1), ("Our own", 1), ("Our own", 1), ("Testing", 2)]),
        ({str(number): [1] for number in range(150)}, 0, []),  # nothing is gained by any note
    ],
)  # fmt: skip
def test_notes_are_proposed_for_as_many_entries_as_make_room(
    sections: dict[str, list[int]], more: int, taken: list[tuple[str, int]] | None
) -> None:
    text = "".join(
        f"## {name}\n" + "".join(f"- entry {number}\n" + "  more\n" * (size - 1) for number, size in enumerate(sizes))
        for name, sizes in sections.items()
    )
    found = memory_md.overflowing(text, more=more)
    assert (found and [(bundle.section, len(bundle.entries)) for bundle in found.bundles]) == taken
    if found and found.bundles:
        saved = sum(sum(entry.lines for entry in bundle.entries) - 1 for bundle in found.bundles)
        assert memory_md.line_count(text) + more - saved <= memory_md.MAX_LINES


def test_what_only_points_to_a_note_is_not_proposed_as_one() -> None:
    text = "## Testing\n" + "- Snapshots: see [snapshots.md](../docs/solutions/testing-patterns/snapshots.md)\n" * 300
    found = memory_md.overflowing(text)
    assert found is not None and found.bundles == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("## T\n- one line\n", "one line"),
        ("## T\r\n1. first\r\n   second\r\n", "first\nsecond"),
        ("## T\n* how:\n  ```sh\n    make x\n  ```\n", "how:\n```sh\n  make x\n```"),
        ("## T\nA paragraph\nof two lines\n", "A paragraph\nof two lines"),
    ],
)
def test_an_entry_keeps_its_lines(text: str, said: str) -> None:
    [section] = memory_md.parse(text)
    assert memory_md.words_of(text.split("\n"), section.entries[0]) == said


@pytest.mark.parametrize(("section", "entry"), [("Testing", " \n"), ("", "words"), ("&", "words"), ("Testing", "")])
def test_an_entry_has_words_and_a_section(section: str, entry: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        memory_md.with_entry("", section, entry)
    assert "Testing" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("@.agents/MEMORY.md", True),
        ("See @./.agents/MEMORY.md.", True),
        ("- @.agents/MEMORY.md\n", True),
        ("`@.agents/MEMORY.md`", False),
        ("```\n@.agents/MEMORY.md\n```\n", False),
        ("mail me@.agents/MEMORY.md", False),
        ("@.agents/MEMORY.mdx", False),
        (".agents/MEMORY.md", False),
        ("", False),
    ],
)
def test_a_reference_loads_the_file_only_outside_of_code(text: str, known: bool) -> None:
    assert memory_md.reference_in(text) == known
    after = memory_md.with_reference(text)
    assert memory_md.reference_in(after)
    assert after.startswith(text)
    assert (after == text) == known
    assert memory_md.with_reference(after) == after


def test_a_reference_stands_on_a_line_of_its_own_at_the_end() -> None:
    assert memory_md.with_reference("# Rules\r\n- a") == "# Rules\r\n- a\r\n\r\n@.agents/MEMORY.md\r\n"
    assert memory_md.with_reference("") == "@.agents/MEMORY.md\n"
    with pytest.raises(Conflict):
        memory_md.with_reference("```\ncode")


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# A", (1, "A")),
        ("   ###### A b ##", (6, "A b")),
        ("## C#", (2, "C#")),
        ("#", (1, "")),
        ("##\tx", (2, "x")),
        ("#hash", None),
        ("####### x", None),
        ("    # code", None),
        ("- # x", None),
    ],
)
def test_headings_are_those_of_markdown(line: str, heading: tuple[int, str] | None) -> None:
    found = markdown.outline(line + "\n").headings
    assert [(one.level, one.title) for one in found] == ([heading] if heading else [])


# Episodes and metrics


EPISODE = Episode(
    created="2026-03-16T10:00:00Z",
    title="Nested runtimes",
    key_insight="Do not nest them",
    agent="claude",
    project="swarmlore",
    context="We looked at:\n## Signals Detected\n```",
    signals=("HIGH: never\nnest", "LOW: maybe"),
    extracted_learnings=("a-1",),
    tags=("rust",),
)


def test_an_episode_is_a_note_with_three_sections() -> None:
    text = write_episode(EPISODE)
    note = parse_note(text)
    assert problems(note) == missing_for_add(note) == ()
    assert note.fields == {
        "title": "Nested runtimes", "category": "session-reflections", "tags": ["rust"], "key_insight": "Do not nest them",
        "created": "2026-03-16", "confidence": "medium", "type": "episode", "id": episode_id(EPISODE),
        "agent": "claude", "project": "swarmlore", "extracted_learnings": ["a-1"],
    }  # fmt: skip
    titles = [heading.title for heading in markdown.outline(note.body).headings]
    assert titles == ["Session Context", "Signals Detected", "Learnings Extracted"]
    assert "- HIGH: never nest\n- LOW: maybe\n" in note.body


def test_an_episode_stands_in_the_folder_of_its_day() -> None:
    assert episode_path(EPISODE) == f"2026-03-16/{episode_id(EPISODE)}.md"
    assert episode_id(EPISODE).startswith("ep-20260316-")
    assert len(episode_id(EPISODE)) == 18
    assert episode_path(Episode("../../etc", "t", "k")).startswith("0000-00-00/ep-00000000-")


def test_metrics_are_counted_where_they_stand_and_the_rest_stays() -> None:
    text = (
        "# ours\ntotal_sessions_analyzed:   4  # a few\nmine: {a: 1}\nmost_updated_agents: {}\n"
        "confidence_breakdown: {high: 1}\nestimated_time_saved: ~2 hours\n"
    )
    more = Metrics("2026-03-16", 1, 7, 3, 2, 0, 30, {"reviewer": 2}, {"low": 3}, {"pattern": 1}, {"project": 1})
    after = counted(text, more)
    assert after == (
        "# ours\ntotal_sessions_analyzed:   5  # a few\nmine: {a: 1}\nmost_updated_agents:\n  reviewer: 2\n"
        'confidence_breakdown: {high: 1, medium: 0, low: 3}\nestimated_time_saved: "150 minutes"\n'
        "last_reflection: 2026-03-16\ntotal_signals_detected: 7\ntotal_changes_proposed: 3\ntotal_changes_accepted: 2\n"
        "acceptance_rate: 0.67\nskills_created: 0\ntype_breakdown:\n  pattern: 1\nscope_breakdown:\n  project: 1\n"
    )
    told = parse_metrics(after)
    assert (told.sessions, told.signals, told.acceptance_rate, told.minutes_saved) == (5, 7, 0.67, 150)
    assert told.confidence == {"high": 1, "medium": 0, "low": 3}
    assert parse_metrics(counted("", more)) == Metrics(
        "2026-03-16", 1, 7, 3, 2, 0, 30, {"reviewer": 2}, {"high": 0, "medium": 0, "low": 3}, {"pattern": 1}, {"project": 1}
    )  # fmt: skip


def test_a_time_that_somebody_wrote_in_words_is_left_alone() -> None:
    text = "estimated_time_saved: a lot\ntotal_sessions_analyzed: many\n"
    assert counted(text, Metrics(sessions=1, minutes_saved=9)).startswith(
        "estimated_time_saved: a lot\ntotal_sessions_analyzed: 1\n"
    )
    with pytest.raises(Unreadable):
        parse_metrics("- a")


# Hostile texts


@pytest.mark.parametrize(
    "text",
    [
        "#" * 900_000,
        "# " + " #" * 400_000,
        "```\n" * 200_000,
        "~" * 900_000,
        "<!--\n" * 150_000,
        "- " * 400_000,
        "-\n" * 150_000,
        "\n" * 300_000,
        " " * 900_000,
        "@.agents/" * 90_000,
        "## Testing\n- " + "@" * 400_000,
        "---\n" + "\n" * 60_000 + "---\n" + "## A\n" * 40_000,
        "## Testing\n" + "- a\n\n  b\n" * 30_000,
        "\r" * 900_000,
    ],
)  # fmt: skip
def test_a_hostile_page_is_read_and_changed_or_refused(text: str) -> None:
    parse_note(text)
    memory_md.parse(text)
    memory_md.overflowing(text)
    memory_md.reference_in(text)
    with suppress(Conflict):
        changed = memory_md.with_entry(text, "Testing", "x")
        assert len(changed) > len(text)
        assert memory_md.with_entry(changed, "Testing", "x") == changed
    with suppress(Conflict):
        assert len(with_added(read_page(text), "A", "x")) > len(text)


# YAML


@pytest.mark.parametrize(
    ("text", "numbers", "after"),
    [
        ("a: [b,c ,  d]\n", [0], "a: [c ,  d]\n"),
        ("a: [b,c ,  d]\n", [1], "a: [b ,  d]\n"),
        ("a: [b,c ,  d]\n", [2], "a: [b,c]\n"),
        ("a: [b,c ,  d]\n", [0, 1], "a: [d]\n"),
        ("a: [b,c ,  d]\n", [1, 2], "a: [b]\n"),
        ("a: [b,c ,  d]\n", [0, 2], "a: [c]\n"),
        ("a: [ b,c ,  d ,] # x\n", [0, 1, 2], "a: [ ] # x\n"),
        ("a: [b, 'x#y']\n", [0], "a: ['x#y']\n"),
        ("a: [\n  b, # x\n  c\n]\n", [1], None),
        ("a:\n- b # x\n# y\n- |\n  c\n\n- d\nz: 1\n", [1], "a:\n- b # x\n# y\n\n- d\nz: 1\n"),
        ("a:\n- b\n-\n  c: d\n  e: f\n", [1], "a:\n- b\n"),
        ("a:\n- b\nc: d\n", [0], "a:\nc: d\n"),
        ("a:\n- - b\n  - c\n", [0], "a:\n"),
        ("a: b\n", [0], None),
        ("a: [b]\n", [1], None),
        ("a: [b]\n", [], "a: [b]\n"),
    ],
)
def test_items_go_and_what_stands_between_the_others_stays(text: str, numbers: list[int], after: str | None) -> None:
    if after is None:
        with pytest.raises(Conflict):
            without_items(read(text), ("a",), numbers)
    else:
        assert without_items(read(text), ("a",), numbers) == after


@pytest.mark.parametrize(
    ("text", "path", "value", "after"),
    [
        ("a: |  # x\n  b\n\n\n", ("a",), "c\n\nd", "a: |  # x\n  c\n\n  d\n\n\n"),
        ("a: >\n    b\n    c\nd: e\n", ("a",), "f\ng", "a: >\n    f\n\n    g\nd: e\n"),
        ("a: >-\n  b\nd: e\n", ("a",), " f", 'a: " f"\nd: e\n'),
        ("a: |2-  # x\n    b\nd: e\n", ("a",), "f g", 'a: "f g"  # x\nd: e\n'),
        ("a: |+\n  b\n\nd: e\n", ("a",), "f", "a: |+\n  f\n\nd: e\n"),
        ("a: |+\n  b\n\n", ("d",), "e", "a: |+\n  b\n\nd: e\n"),
        ("a: |\n b\n  \nd: e\n", ("a",), "f g", 'a: "f g"\n  \nd: e\n'),
        ("a: |\n  b", ("d",), "e", "a: |\n  b\nd: e\n"),
        ("a: 'b' # x\n", ("a",), "it's", "a: 'it''s' # x\n"),
        ("a: 'b'\n", ("a",), "c\nd", 'a: "c\\nd"\n'),
        ("a: 'b'\n", ("a",), "c\u2028d\x85\ufeff", 'a: "c\\u2028d\\u0085\\ufeff"\n'),
        ("a: b c\n  d e # x\nf: g\n", ("a",), "h", "a: h # x\nf: g\n"),
        ("a:\n  b: c # x\n", ("a", "d"), "e", "a:\n  b: c # x\n  d: e\n"),
        ("a: {b: c, }\n", ("a", "d"), "e", "a: {b: c, d: e }\n"),
        ("a: {}\n", ("a", "b", "c"), 1, "a: {b: {c: 1}}\n"),
        ("a: # x\nd: e\n", ("a", "b"), 1, "a: # x\n  b: 1\nd: e\n"),
        ("", ("a", "b"), True, "a:\n  b: true\n"),
        ("a: [b, {c: d}]\n", ("a", 1, "c"), None, "a: [b, {c: null}]\n"),
        ("a: yes\n", ("a",), "no", 'a: "no"\n'),
        ("a: yes\n", ("on",), "1_000", 'a: yes\n"on": "1_000"\n'),
        ("a: [b]\n", ("a", 1), "c", None),
        ("a: b\n", ("a", "c"), "d", None),
        ("a:\n- b\n", ("a",), ["c"], None),
        ("a:\n- b\n", ("a",), "c", None),
    ],
)
def test_a_value_is_written_in_the_way_of_the_one_before_it(
    text: str, path: tuple[Any, ...], value: Any, after: str | None
) -> None:
    if after is None:
        with pytest.raises(Conflict):
            with_value(read(text), path, value)
    else:
        assert with_value(read(text), path, value) == after
        assert with_value(read(text.replace("\n", "\r\n")), path, value) == after.replace("\n", "\r\n") or not text
