"""Spans recognised again by their marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.domain.language.citations import Found, Lines, find_span, fingerprint_span, is_fingerprint

BODY = b"".join(b"def f%d(x):\n    return x + %d\n\n" % (n, n) for n in range(20))


def found(before: bytes, after: bytes, first: int, last: int) -> Found | None:
    mark = fingerprint_span(Lines(before), first, last)
    assert is_fingerprint(mark)
    return find_span(Lines(after), mark, first, last)


@pytest.mark.parametrize(
    ("name", "after", "expected"),
    [
        ("nothing", BODY, Found(10, 11, same=True)),
        ("windows line ends", BODY.replace(b"\n", b"\r\n"), Found(10, 11, same=True)),
        ("white space at the ends", BODY.replace(b"\n", b" \t\n"), Found(10, 11, same=True)),
        ("a byte order mark", b"\xef\xbb\xbf" + BODY, Found(10, 11, same=True)),
        ("no last line end", BODY.rstrip(b"\n"), Found(10, 11, same=True)),
        ("a change elsewhere", BODY.replace(b"f9", b"g9"), Found(10, 11, same=True)),
        ("lines above", b"import os\n\n" + BODY, Found(12, 13, same=False)),
        ("fewer lines above", BODY.split(b"\n", 3)[3], Found(7, 8, same=False)),
        ("moved to the end", BODY.replace(b"def f3(x):\n    return x + 3\n\n", b"") + b"def f3(x):\n    return x + 3\n",
         Found(58, 59, same=False)),
        ("changed", BODY.replace(b"x + 3\n", b"x - 3\n"), None),
        ("indented", BODY.replace(b"    return x + 3\n", b"\treturn x + 3\n"), None),
        ("a line in between", BODY.replace(b"f3(x):\n", b"f3(x):\n    x += 1\n"), None),
        ("emptied", b"", None),
        ("cut off inside", BODY[: BODY.index(b"    return x + 3")], None),
    ],
)  # fmt: skip
def test_a_span_is_found_where_it_is(name: str, after: bytes, expected: Found | None) -> None:
    assert found(BODY, after, 10, 11) == expected


def test_a_whole_file_is_the_same_or_changed() -> None:
    assert found(BODY, BODY.replace(b"\n", b"\r\n"), 0, 0) == Found(0, 0, same=True)
    assert found(BODY, BODY + b"more\n", 0, 0) is None
    assert found(b"", b"", 0, 0) == Found(0, 0, same=True)
    assert found(b"", b"x", 0, 0) is None


@pytest.mark.parametrize(("first", "last"), [(61, 61), (60, 62), (3, 2), (-1, 2)])
def test_lines_that_are_not_there_have_no_mark(first: int, last: int) -> None:
    assert fingerprint_span(Lines(BODY), first, last) == ""


def test_of_copies_the_one_with_its_neighbours_is_taken_else_the_nearest() -> None:
    loop = b"for item in items:\n    item.close()\n"
    before = b"one()\n" + loop + b"two()\n" + b"pad()\n" * 10 + b"three()\n" + loop + b"four()\n"
    after = b"new()\n" * 11 + before
    assert found(before, after, 2, 3) == Found(13, 14, same=False)
    assert found(before, after, 16, 17) == Found(27, 28, same=False)
    bare = b"x()\n" * 3 + loop + b"y()\n" * 20 + loop
    assert found(before, bare, 2, 3) == Found(4, 5, same=False)


def test_a_brace_without_its_neighbours_is_another_brace() -> None:
    before = b"if (a) {\n  run();\n}\nend();\n"
    assert found(before, b"while (b) {\n  stop();\n  wait();\n}\nover();\n", 3, 3) is None
    assert found(before, b"// new\n" + before, 3, 3) == Found(4, 4, same=False)


def test_a_short_line_at_its_old_place_gives_way_to_the_one_with_its_neighbours() -> None:
    before = b"a1()\nb1()\nreturn\nc1()\nd1()\n"
    after = b"x1()\ny1()\nreturn\nz1()\n" + before
    assert found(before, after, 3, 3) == Found(7, 7, same=False)


@pytest.mark.parametrize("text", ["", "sha256:abc", "0" * 64, "g" * 16 + "-" + "0" * 32 + "-" + "0" * 24])
def test_other_hashes_are_no_marks(text: str) -> None:
    assert not is_fingerprint(text)


@given(
    st.lists(st.integers(0, 10**6), min_size=3, max_size=40, unique=True),
    st.data(),
    st.lists(st.integers(10**7, 10**8), max_size=10),
)
def test_whatever_is_added_above_or_below_a_span_is_followed(
    numbers: list[int], data: st.DataObject, added: list[int]
) -> None:
    lines = [b"value = %016d" % number for number in numbers]
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    more = [b"other = %016d" % number for number in added]
    cut = data.draw(st.sampled_from([place for place in range(len(lines) + 1) if place < first or place >= last]))
    after = [*lines[:cut], *more, *lines[cut:]]
    shift = len(more) if cut < first else 0
    expected = Found(first + shift, last + shift, same=not shift)
    assert found(b"\n".join(lines), b"\n".join(after), first, last) == expected


@given(st.binary(max_size=400), st.binary(max_size=400), st.integers(0, 30), st.integers(0, 30))
def test_any_bytes_are_lines(before: bytes, after: bytes, first: int, size: int) -> None:
    last = first + size if first else 0
    if mark := fingerprint_span(Lines(before), first, last):
        assert find_span(Lines(before), mark, first, last) is not None
        find_span(Lines(after), mark, first, last)


def test_a_span_in_a_file_of_equal_lines_is_where_it_was() -> None:
    lines = Lines(b"a\n" * 400_000)
    found = find_span(lines, fingerprint_span(lines, 5, 500), 399_300, 399_795)
    assert found == Found(399_300, 399_795, same=True)
