"""Notes found by reading their files: what fits, in which order, and heads read with and without a parser."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.notes.file_search import _parsed_head, _simple_fields, scan
from swarmlore.notes.note_format import parse_note

SEED = """---
title: "tokio runtime panic"
category: debugging-sessions
tags: [rust, tokio]
symptoms:
  - "nested runtime panic"
key_insight: "spawn_blocking"
---
Text.
"""


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_example_of_the_described_tool_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, "debugging-sessions/tokio.md", SEED)
    (found,) = scan(str(tmp_path), "tokio panic")
    assert (found.title, found.category, found.key_insight, found.path, found.tags) == (
        *("tokio runtime panic", "debugging-sessions", "spawn_blocking", path),
        ("rust", "tokio"),
    )
    assert found.score == 100 + 80 + 40


@pytest.mark.parametrize(
    ("field", "score"),
    [
        ("title: zebra", 100),
        ("title: t\nsymptoms: [a zebra]", 80),
        ("title: t\nkey_insight: the zebra", 60),
        ("title: t\ntags: [zebra]", 40),
        ("title: t\n---\nzebra\n\n", 20),
    ],
)
def test_each_field_has_its_weight(tmp_path: Path, field: str, score: int) -> None:
    write(tmp_path, "a.md", f"---\n{field}\n---\n")
    assert [note.score for note in scan(str(tmp_path), "zebra")] == [score]


def test_the_best_come_first_and_so_many_at_most(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "---\ntitle: one\n---\nzebra\n")
    write(tmp_path, "b.md", "---\ntitle: zebra two\n---\n\n")
    write(tmp_path, "c.md", "---\ntitle: zebra three\ntags: [zebra]\n---\n\n")
    assert [note.title for note in scan(str(tmp_path), "zebra")] == ["zebra three", "zebra two", "one"]
    assert [note.title for note in scan(str(tmp_path), "zebra", limit=1)] == ["zebra three"]
    assert scan(str(tmp_path), "zebra two")[0].title == "zebra three"  # more fields count for more


def test_a_category_is_a_folder_or_a_field_and_all_tags_have_to_be_there(tmp_path: Path) -> None:
    write(tmp_path, "patterns/a.md", "---\ntitle: zebra a\ntags: [x, Y]\n---\n")
    write(tmp_path, "b.md", "---\ntitle: zebra b\ncategory: patterns\ntags: x\n---\n")
    write(tmp_path, "other/c.md", "---\ntitle: zebra c\n---\n")
    titles = lambda *tags, category="": {note.title for note in scan(str(tmp_path), "zebra", category, tags)}  # noqa: E731
    assert titles(category="patterns") == {"zebra a", "zebra b"}
    assert titles(category="other") == {"zebra c"}
    assert titles("x") == {"zebra a", "zebra b"}
    assert titles("x", "y") == {"zebra a"}
    assert titles("pattern", category="patterns") == set()


def test_what_is_no_note_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "README.md", "---\ntitle: zebra\n---\n")
    write(tmp_path, "plain.md", "zebra\n")
    write(tmp_path, "broken.md", "---\ntitle: [zebra\n---\n")
    write(tmp_path, "a.txt", "---\ntitle: zebra\n---\n")
    write(tmp_path, "binary.md", "---\ntitle: zebra\n---\n\0")
    target = write(tmp_path.parent, f"{tmp_path.name}-outside/x.md", "---\ntitle: zebra\n---\n")
    (tmp_path / "link.md").symlink_to(target)
    (tmp_path / "folder").symlink_to(os.path.dirname(target))
    os.mkfifo(tmp_path / "fifo.md")
    assert scan(str(tmp_path), "zebra") == []


HEADS = [
    "title: a",
    "title: 'a b'",
    'title: "a: b"',
    "title: a # comment",
    "title: |\n  a\n  b",
    "title: >-\n  a\n  b",
    "title: a\ntags: [x, 'y', \"z\"]",
    "title: a\ntags: [x, y]",
    "title: a\ntags: x, y",
    "title: a\ntags:\n- x\n- y",
    "title: a\ntags:\n    - x\n    - 'y z'",
    "title: a\nsymptoms: one text",
    'title: a\nsymptoms:\n  - "it\'s"\n  - plain',
    "title: a\nsymptoms:\n  - a: b",
    "title: a\nkey_insight: see https://x.example/y",
    "title: a\nkey_insight: 'it''s'",
    'title: a\nkey_insight: "a\\nb"',
    "title: a\ncategory:\ntags: []",
    "title: ~\ncategory: x",
    "title: a\nlinks: {a: b}",
    "title: a\nsymptoms:\n  - one\n    two",
    "title: a\n\n# comment\ntags: [x]",
    "title: a\ncreated: 2026-03-16\nconfidence: 0.9",
    "title: a\ntags: [x,]",
    "title: a\ntags: [a b, c-d]",
    "title: @a",
    "title: a\ntitle: b",
    "title:a",
    "title: a\r\ntags: [x, y]\r",
    "- a",
]


@pytest.mark.parametrize("head", HEADS)
def test_a_head_is_read_as_a_parser_reads_it_or_left_to_one(head: str) -> None:
    compare(f"---\n{head}\n---\nBody.\n")


_values = st.one_of(
    st.text("abc :#-'\"[],{}&*!|>\\~%@?\t", max_size=12),
    st.sampled_from(["plain", "'quoted'", '"quoted"', "[a, b]", "[a, 'b']", "", "x: y", "- z", "it's", 'a "b" c']),
)
_lines = st.one_of(
    st.builds(lambda name, value: f"{name}: {value}", st.sampled_from(["title", "tags", "symptoms", "x"]), _values),
    st.builds(lambda indent, value: f"{' ' * indent}- {value}", st.integers(0, 4), _values),
    st.sampled_from(["", "# c", "---x", "  more"]),
)


@given(st.lists(_lines, max_size=6))
def test_any_head_is_read_as_a_parser_reads_it_or_left_to_one(lines: list[str]) -> None:
    compare("---\ntitle: t\n" + "\n".join(lines) + "\n---\nBody.\n")


def compare(text: str) -> None:
    """What is read without a parser has to be what the parser reads."""
    if _simple_fields(text) is None:
        return
    from swarmlore.errors import SwarmloreError
    from swarmlore.notes.file_search import _head

    try:
        note = parse_note(text)
    except SwarmloreError:
        pytest.fail(f"no parser can read it: {text!r}")
    assert _head(text) == _parsed_head(text), note
