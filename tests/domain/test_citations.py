"""Places in code as people and tools write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.domain.language.citations import clean_path, find_citations, is_sound, parse_citation
from swarmlore.domain.records import Citation
from swarmlore.errors import InvalidInput


def places(text: str) -> list[tuple[str, int, int]]:
    return [(found.path, found.first_line, found.last_line) for found in find_citations(text)]


@pytest.mark.parametrize(
    ("text", "path", "first", "last"),
    [
        ("see src/auth.py:12", "src/auth.py", 12, 12),
        ("It is in src/auth.py:12-20.", "src/auth.py", 12, 20),
        ("`src/auth.py:12–20`", "src/auth.py", 12, 20),
        ("src/auth.py:L12-L20", "src/auth.py", 12, 20),
        ("src/auth.py#L12", "src/auth.py", 12, 12),
        ("(src/auth.py#L12-L20)", "src/auth.py", 12, 20),
        ("src/auth.py#L12C3-L20C7", "src/auth.py", 12, 20),
        ("src/main.c:12:5: error: expected ';'", "src/main.c", 12, 12),
        ("  --> src/main.rs:4:7", "src/main.rs", 4, 4),
        ("at run (src/x.js:10:5)", "src/x.js", 10, 10),
        ("src/app.ts(12,5): error TS2345", "src/app.ts", 12, 12),
        ('File "src/my auth.py", line 12, in login', "src/my auth.py", 12, 12),
        ("lib/a.rb:12:in 'call'", "lib/a.rb", 12, 12),
        ("src/a.py:12:def login():", "src/a.py", 12, 12),
        ("src/auth.py, line 12", "src/auth.py", 12, 12),
        ("`src/auth.py` at line 12", "src/auth.py", 12, 12),
        ("src/auth.py, lines 12-20", "src/auth.py", 12, 20),
        ("see lines 12-20 of src/auth.py, too", "src/auth.py", 12, 20),
        ("src\\win\\auth.cs:7", "src/win/auth.cs", 7, 7),
        ("./src/./auth.py:3", "src/auth.py", 3, 3),
        ("app/[id]/page.tsx:3", "app/[id]/page.tsx", 3, 3),
        (".github/workflows/ci.yml:9", ".github/workflows/ci.yml", 9, 9),
        ("Makefile:12: missing separator", "Makefile", 12, 12),
        ("path=src/a.py:4", "src/a.py", 4, 4),
        ("köln/straße.py:3", "köln/straße.py", 3, 3),
    ],
)
def test_places_are_found_in_the_forms_that_people_and_tools_write(text: str, path: str, first: int, last: int) -> None:
    assert places(text) == [(path, first, last)]


@pytest.mark.parametrize(
    "text",
    [
        *("localhost:8080", "db.internal:5432", "api.example.com:443/v1", "10.0.0.1:80", "user@host.org:22"),
        *("at 12:30 today", "10:15:30", "16:9", "version v1.2:3", "1.2.3:4", "python:3.11-slim", "redis:7"),
        *("http://x:80", "https://e.org/a.py:12", "file:///src/a.py:3", "git@github.com:22/x.git"),
        *("C:12", r"C:\src\a.py:3", "/etc/a.py:3", "~/a.py:3", "../a.py:3", "a/../../b.py:3", ".git/config:3"),
        *("a.py:0", "a.py:9-3", "a.py:12345678901", "a.py", "src/a.py: twelve", "key: value 12", "", "12"),
        *("ghcr.io/team/image:3", "std::vec::3", 'File "<stdin>", in 3'),
    ],
)
def test_what_only_looks_like_a_place_is_none(text: str) -> None:
    assert places(text) == []


def test_each_place_counts_once_in_its_order() -> None:
    assert places("b.py:2, a.py:1, b.py:2 and a.py:1-3") == [("b.py", 2, 2), ("a.py", 1, 1), ("a.py", 1, 3)]


@pytest.mark.parametrize(
    ("asked", "citation"),
    [
        ("src/auth.py", Citation("src/auth.py")),
        ("src/auth.py:12", Citation("src/auth.py", 12, 12)),
        ("src/auth.py:12-20", Citation("src/auth.py", 12, 20)),
        ("src/auth.py:12:7", Citation("src/auth.py", 12, 12)),
        ("src/auth.py#L12-L20", Citation("src/auth.py", 12, 20)),
        (" my folder/a#b.py:3 ", Citation("my folder/a#b.py", 3, 3)),
        ("src\\a.py:3", Citation("src/a.py", 3, 3)),
        ("LICENSE", Citation("LICENSE")),
    ],
)
def test_what_is_asked_to_be_cited_is_read(asked: str, citation: Citation) -> None:
    assert parse_citation(asked) == citation


@pytest.mark.parametrize(
    "asked",
    [
        *("", " ", ":3", "/etc/passwd", "/etc/passwd:1", "../x.py:1", "a/../../x", "~/x", "C:\\x.py", "c:/x.py:3"),
        *(
            "a\0b",
            "a\nb",
            "a:b",
            "a.py:",
            "a.py:x",
            "a.py:0",
            "a.py:4-3",
            "a.py:-3",
            ".git/config",
            "x/.GIT/config",
            ".git./x",
        ),
        *("x" * 2000, "é" * 200, "\ud800.py", "//server/share/x.py", "\\\\server\\x.py", ".", "./"),
    ],
)
def test_nonsense_and_what_lies_outside_cannot_be_cited(asked: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_citation(asked)
    assert refused.value.hint


@given(st.text(alphabet="a./\\:~C\0 -\u202e", max_size=30) | st.text(max_size=30))
def test_a_clean_path_never_leads_out_and_stays_as_it_is(path: str) -> None:
    cleaned = clean_path(path)
    assert not cleaned.startswith(("/", "~")) and "\\" not in cleaned and ":" not in cleaned
    assert not {"..", ".", ".git"} & set(cleaned.split("/"))
    assert clean_path(cleaned) == cleaned
    if cleaned:
        assert is_sound(parse_citation(f"{cleaned}:3-9"))


@given(st.text(max_size=300))
def test_any_text_can_be_searched(text: str) -> None:
    assert all(is_sound(found) for found in find_citations(text))


@pytest.mark.parametrize(
    "text",
    [
        "a" * 65_000 + ":1",
        "a(" * 32_000 + "1",
        '"' * 65_000 + ":1",
        "line 1 of " * 6_500,
        "[a]" * 20_000 + ":1",
        ("a" * 65_000 + ":1") * 4,
    ],
)
def test_no_citation_is_found_in_a_hostile_text(text: str) -> None:
    assert find_citations(text) == ()


@pytest.mark.parametrize(
    "citation",
    [
        *(Citation(""), Citation("../x"), Citation("a//b"), Citation("/x"), Citation("x", 3, 2), Citation("x", 0, 2)),
        *(Citation("x", -1, -1), Citation("x", 1, 10**9), Citation("x", True, True)),
        *(Citation("x", "1", "1"), Citation(None), Citation("x", 1, 1, None)),  # type: ignore[arg-type]
    ],
)
def test_a_citation_from_elsewhere_must_name_a_place(citation: Citation) -> None:
    assert not is_sound(citation)
