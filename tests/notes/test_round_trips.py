"""Read, change one thing, write: in every file that a person could write, that thing changed and nothing else did."""

from __future__ import annotations

import itertools
import json
import re
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given, note
from hypothesis import strategies as st

from handwritten import (
    ANY_TEXT,
    ENDS,
    NAMES,
    SENTENCES,
    Written,
    between,
    items,
    lists,
    nothings,
    numbers,
    scalars,
    tables,
)
from swarmlore.domain.records import Entity, Relation
from swarmlore.errors import Conflict, SwarmloreError
from swarmlore.notes import instincts
from swarmlore.notes.entities_sidecar import (
    Sidecar,
    from_graphrag,
    parse_sidecar,
    to_graphrag,
    with_entity,
    with_relation,
    write_sidecar,
)
from swarmlore.notes.markdown import outline, read_page, with_added, with_field, with_item
from swarmlore.notes.note_format import parse_note, problems, write_note
from swarmlore.notes.project_memory import memory_md
from swarmlore.notes.reflect.metrics import Metrics, counted, parse_metrics
from swarmlore.notes.reflect.reflections import Episode, write_episode
from swarmlore.notes.yaml_edit import plain, read, with_value, without_items

BODIES = st.sampled_from(["", "\n## Problem\n\nIt broke.\n", "words", "\n---\nnot a head\n---\n", "# A\r\n\r\nb\r\n"])


def told(text: str) -> Any:
    """What a reader of YAML that is not ours says; all values are texts."""
    return yaml.load(text, Loader=yaml.BaseLoader)


def only_added(before: str, after: str) -> bool:
    """Whether one text is the other with something put in at one place."""
    start = next(
        (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    return len(after) >= len(before) and after.endswith(before[start:])


@st.composite
def heads(draw: Any) -> tuple[Written, str, str]:
    """A head with a title, tags and more, the ends of its lines, and a body below it."""
    own = NAMES.filter(lambda name: name not in ("title", "tags"))
    names = draw(st.lists(st.one_of(own, st.just("confidence")), max_size=3, unique=True))
    return draw(tables([*names, "title", "tags"], 0, {"title": scalars(), "tags": lists()})), draw(ENDS), draw(BODIES)


def page_of(head: tuple[Written, str, str], mark: str = "") -> str:
    written, ends, body = head
    close = "..." if len(written.lines) % 3 == 0 else "---"
    return mark + ends.join(["---", *written.lines, close, ""]) + body


# Notes


@given(heads(), st.sampled_from(["", "\ufeff"]))
def test_a_head_says_to_us_what_it_says_to_others(head: tuple[Written, str, str], mark: str) -> None:
    text = page_of(head, mark)
    page = read_page(text)
    assert page.fields == told(head[1].join([*head[0].lines, ""]))
    assert (page.body, page.text) == (head[2], text)
    assert parse_note(text).fields == page.fields


@given(heads(), st.data())
def test_a_field_changes_in_its_own_lines(head: tuple[Written, str, str], data: st.DataObject) -> None:
    text = page_of(head)
    before = read_page(text).fields
    name = data.draw(st.sampled_from([name for name, value in before.items() if isinstance(value, str)]))
    value = data.draw(st.one_of(ANY_TEXT, SENTENCES, st.floats(0, 1).map(lambda number: round(number, 3))))
    after = with_field(read_page(text), name, value)
    note(after)
    start, end = head[0].spans[name]
    lines = text.split(head[1])
    assert after.startswith(head[1].join([*lines[: start + 1], ""]))
    assert after.endswith(head[1].join(["", *lines[end + 1 :]]))
    fields = read_page(after).fields
    said = f"{value:g}" if isinstance(value, float) else value
    assert fields.pop(name).rstrip("\n") == said
    assert fields == {other: text for other, text in before.items() if other != name}


@given(
    heads(), NAMES, st.one_of(ANY_TEXT, st.lists(SENTENCES, min_size=1, max_size=3)), st.sampled_from(["", "\ufeff"])
)
def test_a_new_field_stands_below_the_others(head: tuple[Written, str, str], name: str, value: Any, mark: str) -> None:
    text = page_of(head, mark)
    page = read_page(text)
    assume(name not in page.fields)
    after = with_field(page, name, value)
    assert only_added(text, after)
    assert read_page(after).fields == {**page.fields, name: value}
    assert read_page(after).body == page.body


@given(heads(), st.data())
def test_an_item_is_added_to_its_list_alone(head: tuple[Written, str, str], data: st.DataObject) -> None:
    text = page_of(head)
    before = read_page(text).fields
    name = data.draw(st.sampled_from([*(name for name, value in before.items() if isinstance(value, list)), "links"]))
    known = before.get(name, [])
    assume(isinstance(known, list))
    item = data.draw(st.one_of(ANY_TEXT, SENTENCES))
    assume(item not in known)
    after = with_item(read_page(text), name, item)
    note(after)
    assert only_added(text, after)
    assert read_page(after).fields == {**before, name: [*known, item]}


@given(heads(), st.data())
def test_an_item_goes_without_its_neighbours(head: tuple[Written, str, str], data: st.DataObject) -> None:
    text = head[1].join([*head[0].lines, ""])
    before = told(text)
    name = data.draw(st.sampled_from([name for name, value in before.items() if isinstance(value, list)]))
    number = data.draw(st.integers(0, len(before[name]) - 1))
    try:
        after = without_items(read(text), (name,), [number])
    except Conflict:
        start, end = head[0].spans[name]
        assert any("#" in line for line in head[0].lines[start:end])  # a comment between brackets
        return
    left = before[name][:number] + before[name][number + 1 :]
    said = told(after)
    assert (said.pop(name) or []) == left
    assert said == {other: value for other, value in before.items() if other != name}
    assert all(line in after.split(head[1]) for line in head[0].lines if line.lstrip().startswith("#"))


@given(heads(), st.sampled_from(["Problem", "A", "Context"]), SENTENCES)
def test_more_in_a_section_leaves_the_rest_of_the_page(head: tuple[Written, str, str], title: str, text: str) -> None:
    page = read_page(page_of(head))
    after = with_added(page, title, text)
    assert only_added(page.text, after)
    assert read_page(after).fields == page.fields
    assert text in read_page(after).body


@given(
    st.dictionaries(NAMES, st.one_of(ANY_TEXT, st.lists(ANY_TEXT, min_size=1, max_size=3)), max_size=4),
    ANY_TEXT,
    BODIES,
)
def test_a_new_note_says_what_it_was_told(fields: dict[str, Any], title: str, body: str) -> None:
    said = {**fields, "title": title, "created": "2026-03-16", "confidence": "low"}
    text = write_note(said, body)
    assert (read_page(text).fields, read_page(text).body) == (said, body)
    assert problems(parse_note(text)) == (() if title.strip() not in ("", "~", "null") else ("title is missing",))


# Instincts


@st.composite
def instinct_files(draw: Any) -> tuple[str, str, list[list[str]]]:
    """A file, the ends of its lines, and the lines of each instinct."""
    column, ends = draw(st.sampled_from([2, 4])), draw(ENDS)
    count = draw(st.integers(1, 3))
    written = []
    for number in range(count):
        more = draw(st.lists(NAMES.filter(lambda name: name not in KNOWN), max_size=2, unique=True))
        names = ["id", "rule", *draw(st.sampled_from([[], ["confidence"]])), *more]
        kinds = {"id": scalar_id(number), "rule": scalars(column), "confidence": numbers()}
        written.append(draw(tables(names, column, kinds)))
    lines, starts = draw(items(written, column))
    head = [
        *between(draw, []),
        "version: 1",
        *between(draw, []),
        "instincts:" + draw(st.sampled_from(["", "  # ours"])),
    ]
    tail = draw(st.sampled_from([[], ["# the end"], ["owner: us"]]))
    edges = [*starts, len(lines)]
    own = [lines[start:end] for start, end in itertools.pairwise(edges)]
    return ends.join([*head, *lines, *tail, *draw(st.sampled_from([[""], [""], []]))]), ends, own


KNOWN = ("id", "rule", "confidence", "tags", "scope", "promoted", "created", "source", "category")


def scalar_id(number: int) -> Any:
    return st.sampled_from([f"i-{number}", f'"i-{number}"', f"'i-{number}'  # {number}"]).map(lambda text: [text])


@given(instinct_files(), st.data())
def test_an_instinct_changes_in_one_field(file: tuple[str, str, list[list[str]]], data: st.DataObject) -> None:
    text, ends, own = file
    before = told(text)
    number = data.draw(st.integers(0, len(own) - 1))
    changes = data.draw(st.sampled_from([{"confidence": 0.8}, {"promoted": True}, {"rule": "Use it: always"}]))
    after = instincts.changed(instincts.parse(text), f"i-{number}", changes)
    note(after)
    ((name, value),) = changes.items()
    said = told(after)["instincts"]
    assert said[number].pop(name).rstrip("\n") == {"promoted": "true", "confidence": "0.8"}.get(name, value)
    before["instincts"][number].pop(name, None)
    if text.endswith(ends):
        assert (said, {**told(after), "instincts": 0}) == (before["instincts"], {**before, "instincts": 0})
    gone = [line for line in text.split(ends) if line not in after.split(ends)]
    assert all(line in own[number] for line in gone)


@given(instinct_files(), SENTENCES)
def test_an_instinct_comes_and_goes_and_the_text_is_as_before(
    file: tuple[str, str, list[list[str]]], rule: str
) -> None:
    text, ends, _ = file
    after = instincts.added(instincts.parse(text), {"id": "new", "rule": rule, "tags": ["a b"]})
    assert only_added(text, after)
    assert told(after)["instincts"][-1] == {"id": "new", "rule": rule, "tags": ["a b"]}
    again = instincts.removed(instincts.parse(after), ["new"])
    assert again in (text, text + ends)


# Sidecars


@st.composite
def sidecars(draw: Any) -> tuple[str, str]:
    """A sidecar and the ends of its lines."""
    column, ends = draw(st.sampled_from([2, 4, 6])), draw(ENDS)
    entities = [
        draw(tables(["name", *draw(st.sampled_from([[], ["type"], ["type", "description"], ["since"]]))], column, {
            "name": st.just([f"e{number}"]), "type": scalars(column), "description": scalars(column),
        }))
        for number in range(draw(st.integers(0, 3)))
    ]  # fmt: skip
    relations = [
        draw(tables(["source", "target", *draw(st.sampled_from([[], ["strength"], ["type", "tvalid"]]))], column, {
            "source": st.just([f"e{number}"]), "target": st.just(["'the end'"]), "type": st.just(["uses"]),
            "strength": st.sampled_from([["9"], ['"3"  # of 10']]),
        }))
        for number in range(draw(st.integers(0, 2)))
    ]  # fmt: skip
    plain_names = draw(st.sampled_from([[], [" " * (column - 2) + "- other"]])) if entities else []
    named = draw(st.sampled_from(["relationships", "relations"]))
    parts = [
        ["document_id:  x-1 # id"],
        [f"entities:{'' if entities else draw(nothings())[0].replace('~', ' ~').replace('null', ' null')}", *draw(items(entities, column))[0], *plain_names],
        [f"{named}:{'' if relations else ' []'}", *draw(items(relations, column))[0]],
    ]  # fmt: skip
    lines = [line for part in draw(st.permutations(parts)) for line in (*between(draw, ["a: |"]), *part)]
    return ends.join([*lines, ""]), ends


@given(sidecars(), st.sampled_from(["e0", "E1", "other", "new"]), st.one_of(SENTENCES, ANY_TEXT))
def test_an_entity_is_added_or_changed_alone(file: tuple[str, str], name: str, description: str) -> None:
    text, ends = file
    before, description = parse_sidecar(text), description.strip()
    assume(description)
    after = with_entity(text, Entity(name, "tool", description))
    note(after)
    found = parse_sidecar(after)
    known = [entity for entity in before.entities if entity.name.casefold() == name.casefold()]
    others = [entity for entity in before.entities if entity not in known]
    assert [entity for entity in found.entities if entity.name.casefold() != name.casefold()] == others
    changed = next(entity for entity in found.entities if entity.name.casefold() == name.casefold())
    assert (changed.type, changed.description) == ("tool", description)
    assert found.relations == before.relations
    assert known or only_added_or_filled(text, after)
    assert comments(text, ends) == comments(after, ends)
    assert with_entity(after, Entity(name, "tool", description)) == after


def only_added_or_filled(before: str, after: str) -> bool:
    """Something was put in, or took the place of a word for nothing."""
    words = (" []", " ~", " null", "~", "null")
    places = ((word, match.start()) for word in words for match in re.finditer(re.escape(word), before))
    without = (before[:place] + before[place + len(word) :] for word, place in places)
    return only_added(before, after) or any(only_added(text, after) for text in without)


def comments(text: str, ends: str) -> list[str]:
    """The comments on lines of their own."""
    return [line for line in text.split(ends) if line.lstrip().startswith("#")]


@given(sidecars(), st.sampled_from(["e0", "e1", "new"]), st.sampled_from(["uses", "relates_to"]), st.integers(1, 10))
def test_a_relation_is_added_or_changed_alone(file: tuple[str, str], source: str, kind: str, strength: int) -> None:
    text, ends = file
    before = parse_sidecar(text)
    after = with_relation(text, Relation(source, "the end", kind, strength=strength))
    note(after)
    found = parse_sidecar(after)
    assert found.entities == before.entities
    ours = [relation for relation in found.relations if (relation.source, relation.kind) == (source, kind)]
    assert [relation.strength for relation in ours] == [strength]
    assert [relation for relation in found.relations if relation not in ours] == [
        relation for relation in before.relations if (relation.source, relation.kind) != (source, kind)
    ]
    assert comments(text, ends) == comments(after, ends)
    told_before, told_after = told(text), told(after)
    assert {name: value for name, value in told_before.items() if name not in ("relations", "relationships")} == {
        name: value for name, value in told_after.items() if name not in ("relations", "relationships")
    }


RECORDS = st.builds(Entity, ANY_TEXT, ANY_TEXT, ANY_TEXT)
LINKS = st.builds(Relation, ANY_TEXT, ANY_TEXT, ANY_TEXT, ANY_TEXT, st.integers(1, 10).map(float))


@given(st.lists(RECORDS, max_size=3), st.lists(LINKS, max_size=3))
def test_a_new_sidecar_says_what_it_was_told(entities: list[Entity], relations: list[Relation]) -> None:
    texts = [getattr(one, name) for one in (*entities, *relations) for name in ("name", "source") if hasattr(one, name)]
    assume(
        all(
            text == text.strip()
            for one in (*entities, *relations)
            for text in one.__reduce__()[1]
            if isinstance(text, str)
        )
    )
    sidecar = Sidecar("x", "", tuple(entities), tuple(relations))
    assert all(texts)
    assert parse_sidecar(write_sidecar(sidecar)) == sidecar
    found = from_graphrag(to_graphrag(sidecar))
    assert (len(found.entities), len(found.relations)) == (len(entities), len(relations))


# MEMORY.md


BLOCKS = st.sampled_from(
    [["- an entry"], ["* one", "  that goes on"], ["A paragraph.", "Of two lines."], ["```sh", "## Testing", "", "- x", "```"],
     ["<!-- ## Testing", "- not an entry", "-->"], ["1. first", "2. second"], ["~~~~", "```", "~~~~"], ["### A part"], [""], ["| a | b |"],
     ["- [ ] to do  "], ["\t- below"]]
)  # fmt: skip
TITLES = st.sampled_from(
    [
        *memory_md.SECTIONS,
        "build and deploy",
        "TESTING ##",
        "Our own",
        "Gotchas & Workarounds ",
        "Environment &  Config",
    ]
)


@st.composite
def memory_files(draw: Any) -> str:
    ends, level = draw(ENDS), draw(st.sampled_from(["##", "##", "#", " ###"]))
    lines = draw(st.sampled_from([[], ["# Project Memory", ""], ["---", "# name: x", "a: b", "---"], ["Words first."]]))
    for title in draw(st.lists(TITLES, max_size=4, unique_by=memory_md.section_name)):
        lines = [*lines, f"{level} {title}", *(line for block in draw(st.lists(BLOCKS, max_size=3)) for line in block)]
        lines += draw(st.sampled_from([[], [""], ["", ""]]))
    return draw(st.sampled_from(["", "", "\ufeff"])) + ends.join(lines) + draw(st.sampled_from([ends, ends, ""]))


@given(memory_files(), st.sampled_from([*memory_md.SECTIONS, "Our own", "Glossary"]), st.one_of(SENTENCES, ANY_TEXT))
def test_an_entry_comes_to_its_section_and_all_others_stay(text: str, section: str, entry: str) -> None:
    entry = " ".join(entry.split())
    assume(entry and entry[0].isalnum() and not entry[0].isdigit())
    before = memory_md.parse(text)
    after = memory_md.with_entry(text, section, entry)
    note(after)
    assert only_added(text, after)
    assert after.count("\r\n") == (after.count("\n") if "\r\n" in text else 0)
    found = memory_md.parse(after)
    name = memory_md.section_name(section)
    known = next((one for one in before if one.name == name), None)
    mine = next(one for one in found if one.name == name)
    assert [one.text for one in mine.entries] == [*(one.text for one in (known.entries if known else ())), entry]
    rest = [(one.title, [entry.text for entry in one.entries]) for one in found if one is not mine]
    old = [(one.title, [entry.text for entry in one.entries]) for one in before if one is not known]
    assert [one for one in rest if one[0] != "Project Memory"] == [one for one in old if one[0] != "Project Memory"]
    assert memory_md.with_entry(after, section, entry) == after


# Metrics and episodes


@given(
    tables(
        ["total_sessions_analyzed", "mine", "skills_created"],
        kinds={"total_sessions_analyzed": st.sampled_from([["4  # few"], ['"4"'], ["4"]])},
    ),
    ENDS,
)
def test_metrics_of_a_person_stay(written: Written, ends: str) -> None:
    text = ends.join([*written.lines, ""])
    assume(not isinstance(told(text)["skills_created"], list))
    more = Metrics("2026-03-16", sessions=1, agents={"a b": 1}, confidence={"high": 2})
    after = counted(text, more)
    note(after)
    assert (parse_metrics(after).sessions, parse_metrics(after).agents) == (5, {"a b": 1})
    assert told(after)["mine"] == told(text)["mine"]
    assert comments(text, ends) == comments(after, ends)
    assert parse_metrics(counted(after, more)).confidence == {"high": 4, "medium": 0, "low": 0}


@given(ANY_TEXT, st.text(max_size=60), st.lists(ANY_TEXT, max_size=3))
def test_an_episode_has_three_sections_whatever_was_said(title: str, context: str, signals: list[str]) -> None:
    text = write_episode(Episode("2026-03-16", title, "k", context=context, signals=tuple(signals)))
    found = outline(text, read_page(text).body_at)
    assert [heading.title for heading in found.headings] == [
        "Session Context",
        "Signals Detected",
        "Learnings Extracted",
    ]
    assert found.open_line == 0


# Anything at all


ANYTHING = st.one_of(
    st.text(max_size=80),
    st.text(st.sampled_from("ab:-[]{}#'\"|>&*!% \n\r\t,?~0.`<@+\ufeff\u2028"), max_size=60),
    st.text(st.sampled_from("ab:-[]{}#'\"|> \n,~0"), max_size=40).map(lambda text: f"---\n{text}\n---\n# A\n"),
    st.text(st.sampled_from("ab:-[]{} \n,~|>'"), max_size=40).map(lambda text: f"entities:{text}\nrelations:{text}"),
    st.binary(max_size=80).map(lambda data: data.decode("utf-8", "surrogateescape")),
    st.binary(max_size=80).map(lambda data: data.decode("latin-1")),
)


@pytest.mark.parametrize(
    "read_it",
    [parse_note, parse_sidecar, memory_md.parse, memory_md.overflowing, memory_md.reference_in, parse_metrics, from_graphrag,
     instincts.parse, outline],
)  # fmt: skip
@given(text=ANYTHING)
def test_any_text_is_read_or_refused(read_it: Any, text: str) -> None:
    with suppress(SwarmloreError):
        read_it(text)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: with_field(read_page(text), "a", "b"),
        lambda text: with_field(read_page(text), "a", ["b c d"]),
        lambda text: with_item(read_page(text), "a", "b"),
        lambda text: with_added(read_page(text), "A", "b"),
        lambda text: with_entity(text, Entity("a", "b")),
        lambda text: with_relation(text, Relation("a", "b")),
        lambda text: memory_md.with_entry(text, "Testing", "a"),
        memory_md.with_reference,
        lambda text: counted(text, Metrics("2026-03-16", 1, agents={"a": 1})),
        lambda text: with_value(read(text), ("a", "b"), {"c": [1]}),
        lambda text: without_items(read(text), ("a",), [0]),
    ],
)  # fmt: skip
@given(text=ANYTHING)
@example(text="\ufeff---\na:\n---\n")
@example(text="a: {\n}")
@example(text="- a\n- b")
def test_any_text_is_changed_or_refused_and_read_again(change: Any, text: str) -> None:
    with suppress(SwarmloreError):
        after = change(text)
        assert len(after) + 1 >= len(text) or "a" in text
        change(after)


@given(heads())
def test_our_own_tree_and_another_reader_agree(head: tuple[Written, str, str]) -> None:
    text = head[1].join([*head[0].lines, ""])
    assert plain(read(text).root) == told(text)
    assert json.dumps(plain(read(text).root)) == json.dumps(told(text))
