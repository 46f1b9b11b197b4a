"""Files as people write them, for Hypothesis: the same thing said in many ways, with comments and odd spaces between."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

LETTERS = st.characters(
    codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn", "Zl", "Zp"), exclude_characters="\ufeff"
)
ANY_TEXT = st.text(LETTERS, min_size=1, max_size=30)
WORDS = st.from_regex(r"[a-z][a-z0-9]{1,8}", fullmatch=True).filter(lambda word: word not in ("null", "on", "no"))
ODD_WORDS = st.sampled_from(["Don't", "über", "東京", "50%", "a:b", "x#y", "—", "🙂", "C++", '"so"'])
SENTENCES = (
    st.lists(st.one_of(WORDS, WORDS, ODD_WORDS), min_size=1, max_size=5)
    .map(" ".join)
    .filter(lambda text: text[0].isalnum())
)
NAMES = st.from_regex(r"[a-z][a-z_-]{0,10}[a-z0-9]", fullmatch=True)
ENDS = st.sampled_from(["\n", "\n", "\r\n"])
Lines = list[str]


class Written(NamedTuple):
    """A table as somebody wrote it, and from which to which of its lines each name reaches."""

    lines: Lines
    spans: dict[str, tuple[int, int]]


def beside(draw: Any) -> str:
    """A comment at the end of a line, or spaces, or nothing."""
    return str(draw(st.sampled_from(["", "", "", "  ", " # why", "   # a: [b", " #"])))


def between(draw: Any, before: Sequence[str]) -> Lines:
    """Empty lines and comments on lines of their own; below a text in lines only what is no part of it."""
    is_text = any(re.search(r"[:-] +[|>]", line) for line in before[-4:])
    kinds = ["", "", "# a word", "#"] + ([] if is_text else ["   # - id: x", "  "])
    return list(draw(st.lists(st.sampled_from(kinds), max_size=2)))


@st.composite
def scalars(draw: Any, column: int = 0, text: st.SearchStrategy[str] = SENTENCES) -> Lines:
    """A text in one of the styles of YAML; its first line belongs beside a name or a dash."""
    style = draw(st.sampled_from(["plain", "plain", "double", "single", "folded", "|", "|-", "|+", ">", ">-"]))
    said = draw(text)
    if style == "double":
        return [json.dumps(said, ensure_ascii=False) + beside(draw)]
    if style == "single":
        return ["'" + said.replace("'", "''") + "'" + beside(draw)]
    indent = " " * (column + draw(st.sampled_from([1, 2, 4])))
    if style[0] in "|>":
        return [style + beside(draw), *(indent + line for line in draw(st.lists(text, min_size=1, max_size=3)))]
    first, _, rest = said.partition(" ")
    if style == "folded" and rest[:1].isalnum():
        return [first, indent + rest + beside(draw)]
    return [said + beside(draw)]


@st.composite
def lists(draw: Any, column: int = 0) -> Lines:
    """A list of texts, in brackets or with dashes."""
    items = draw(st.lists(st.one_of(WORDS, SENTENCES), min_size=1, max_size=3, unique=True))
    shape = draw(st.sampled_from(["brackets", "brackets", "lines", "dashes", "dashes"]))
    if shape == "dashes":
        return dashes(draw, [draw(scalars(column + 4, st.just(item))) for item in items], column)
    shown = [item if item.isalnum() and item.isascii() else json.dumps(item, ensure_ascii=False) for item in items]
    if shape == "lines":
        inner = [f"{' ' * column}  {item},{beside(draw)}" for item in shown]
        return ["[" + beside(draw), *inner, " " * column + " ]" + beside(draw)]
    comma = draw(st.sampled_from([",", ", ", " ,  "])) if draw(st.booleans()) else ", "
    edges = draw(st.sampled_from([("[", "]"), ("[ ", " ]"), ("[", ",]"), ("[ ", ", ]")]))
    return [edges[0] + comma.join(shown) + edges[1] + beside(draw)]


def dashes(draw: Any, items: Sequence[Lines], column: int) -> Lines:
    """Items one below the other; the first line is what stands beside the name of the list."""
    pad = " " * (column + draw(st.sampled_from([0, 2, 4])))
    lines = [beside(draw)]
    for item in items:
        lines += between(draw, lines[1:])
        lines += [f"{pad}- {item[0]}", *item[1:]]
    return lines


@st.composite
def nothings(draw: Any) -> Lines:
    return [draw(st.sampled_from(["", "~", "null"])) + beside(draw)]


@st.composite
def numbers(draw: Any) -> Lines:
    return [draw(st.sampled_from(["0.7", ".5", "1", "0.70", '"0.9"', "'0.25'", "1.0"])) + beside(draw)]


@st.composite
def nested(draw: Any, column: int = 0) -> Lines:
    """A table below its name, or in braces."""
    names = draw(st.lists(NAMES, min_size=1, max_size=2, unique=True))
    if draw(st.booleans()):
        return ["{" + ", ".join(f"{name}: {draw(WORDS)}" for name in names) + "}" + beside(draw)]
    inner = column + draw(st.sampled_from([2, 4]))
    kinds = {name: st.one_of(scalars(inner), lists(inner), numbers()) for name in names}
    return [beside(draw), *draw(tables(names, inner, kinds)).lines]


def values(column: int = 0) -> st.SearchStrategy[Lines]:
    return st.one_of(scalars(column), scalars(column), lists(column), nothings(), numbers(), nested(column))


@st.composite
def tables(
    draw: Any, names: Sequence[str], column: int = 0, kinds: Mapping[str, st.SearchStrategy[Lines]] | None = None
) -> Written:
    """A table of these names in any order, each with a value of any kind where none is given."""
    lines: Lines = []
    spans: dict[str, tuple[int, int]] = {}
    for name in draw(st.permutations(names)):
        lines += between(draw, lines)
        first, *others = draw((kinds or {}).get(name, values(column)))
        gap = " " * draw(st.sampled_from([1, 1, 1, 3])) if first and not first.startswith(" ") else ""
        spans[name] = (len(lines), len(lines) + 1 + len(others))
        shown = draw(st.sampled_from([name, name, name, f'"{name}"', f"'{name}' "]))
        lines += [f"{' ' * column}{shown}:{gap}{first}", *others]
    return Written(lines, spans)


@st.composite
def items(draw: Any, tables_of_it: Sequence[Written], column: int) -> tuple[Lines, list[int]]:
    """Tables as the items of a list whose names stand in a column; also the line in which each item begins."""
    lines: Lines = []
    starts = []
    for one in tables_of_it:
        lines += between(draw, lines)
        first = next(number for number, line in enumerate(one.lines) if line.strip() and line.lstrip()[0] != "#")
        starts.append(len(lines))
        own = one.lines[first]
        lines += [" " * (column - 2) + "- " + own[column:], *one.lines[first + 1 :]]
    return lines, starts
