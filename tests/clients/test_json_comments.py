"""JSON with comments: what we put in and take out leaves every comment, comma and space where it was."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.clients.install.edit_json import JsonSheet, blanked, undone

ENTRY = {"type": "local", "command": ["/bin/swarmlore", "mcp"]}
COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|(//[^\r\n]*|/\*[\s\S]*?\*/)')


def comments(text: str) -> list[str]:
    return [found[1] for found in COMMENT.finditer(text) if found[1]]


def put(text: str) -> JsonSheet:
    sheet = JsonSheet(text, comments=True, commas=True)
    sheet.ensure(("mcp",), {})
    sheet.put(("mcp", "swarmlore"), ENTRY)
    return sheet


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('{"a": 1} // end', '{"a": 1}       '),
        ('{/* x */"a": 1}', '{       "a": 1}'),
        ('{"a": "// no /* comment */"}', '{"a": "// no /* comment */"}'),
        ('{"a": [1, 2,],}', '{"a": [1, 2 ] }'),
        ('{"a": ",}"}', '{"a": ",}"}'),
        ('{"a": 1, // b\n}', '{"a": 1      \n}'),
        ('{"u": "http://x", "b": "\\""}', '{"u": "http://x", "b": "\\""}'),
    ],
)
def test_what_is_looked_through_becomes_spaces(text: str, plain: str) -> None:
    assert blanked(text) == plain


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{\n  // mine\n  "a": 1\n}\n', '{\n  // mine\n  "a": 1,\n  "mcp": {\n    "swarmlore": @\n  }\n}\n'),
        ('{\n  "a": 1, // one\n}\n', '{\n  "a": 1, // one\n  "mcp": {\n    "swarmlore": @\n  },\n}\n'),
        ('{\n  "a": 1 // one\n}\n', '{\n  "a": 1, // one\n  "mcp": {\n    "swarmlore": @\n  }\n}\n'),
        ('{\n  "a": 1,\n}\n', '{\n  "a": 1,\n  "mcp": {\n    "swarmlore": @\n  },\n}\n'),
        ('{\n  // nothing yet\n}\n', '{\n  // nothing yet\n  "mcp": {\n    "swarmlore": @\n  }\n}\n'),
        ('{"mcp": {"x": 1}} // one line', '{"mcp": {"x": 1, "swarmlore": @}} // one line'),
    ],
)  # fmt: skip
def test_an_entry_goes_behind_the_others_and_their_remarks(before: str, after: str) -> None:
    text = put(before).checked()
    spread, flat = json.dumps(ENTRY, indent=2).replace("\n", "\n    "), json.dumps(ENTRY)
    assert text == after.replace("@", spread if "\n" in after else flat)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text('ab/*",\\', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "//", "mcp"]), inner, max_size=3)
    ),
    max_leaves=6,
)
remarks = st.sampled_from(["", " ", "\n", " // note\n", "/* x, */", "\n  /* [ */\n", "\r\n", '// " ,\n'])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """An object with remarks at every place where one may be, and maybe a comma too many."""

    def written(value: object) -> str:
        if isinstance(value, dict):
            items = [f"{gap()}{json.dumps(key)}{gap()}:{gap()}{written(item)}{gap()}" for key, item in value.items()]
            return "{" + joined(items) + "}"
        if isinstance(value, list):
            return "[" + joined([f"{gap()}{written(item)}{gap()}" for item in value]) + "]"
        return json.dumps(value)

    def gap() -> str:
        return draw(remarks)

    def joined(items: list[str]) -> str:
        last = "," + gap() if items and draw(st.booleans()) else ""
        return ",".join(items) + last if items else gap()

    held = draw(st.dictionaries(st.sampled_from(["a", "b", "//"]), values, max_size=3))
    if draw(st.booleans()):
        held["mcp"] = draw(st.dictionaries(st.sampled_from(["x", "y"]), values, max_size=2))
    return gap() + written(held) + gap()


@given(documents())
def test_what_was_put_in_comes_out_again_to_the_byte(text: str) -> None:
    sheet = put(text)
    assert json.loads(blanked(sheet.checked()))["mcp"]["swarmlore"] == ENTRY
    assert undone(sheet.text, sheet.undo) == text


@given(documents())
def test_taking_an_entry_out_of_a_changed_file_leaves_every_comment(text: str) -> None:
    held = put(text).text
    sheet = JsonSheet(held, comments=True, commas=True)
    sheet.remove(("mcp", "swarmlore"))
    assert "swarmlore" not in json.loads(blanked(sheet.checked()))["mcp"]
    assert comments(sheet.text) == comments(text)


def test_without_comments_a_strict_reader_refuses_them() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        JsonSheet('{"a": 1, // one\n}')


@pytest.mark.parametrize(
    "text", ["/* " * 300_000, '"' + '\\"' * 300_000, '"' + "\\\n" * 300_000, ", " * 300_000, "/" * 300_000]
)
def test_a_broken_file_is_looked_through_once(text: str) -> None:
    assert blanked(text) == (text if text[:2] != "//" else " " * len(text))
