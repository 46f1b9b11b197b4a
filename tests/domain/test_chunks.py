"""A text in pieces: limits kept, nothing lost, the way to each piece in front of it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.domain.language.chunks import LEAST, MOST, OVERLAP, chunks

LONG = "The deploy needs the staging token and a warm cache. "
SENTENCE = "Run the seed script before the browser tests, they need users."  # 62 characters

CASES = {
    "shorter than the least": ("Use pnpm.", ()),
    "one below the least": ("x" * (LEAST - 1), ()),
    "just the least": ("x" * LEAST, ("x" * LEAST,)),
    "white space does not count": (" \n" * 200 + "short", ()),
    "a heading leads to its text": (f"# Testing\n{SENTENCE}", (f"Testing\n\n{SENTENCE}",)),
    "headings of three levels are a way": (
        f"# A\n## B\n### C\n{SENTENCE}",
        (f"A > B > C\n\n{SENTENCE}",),
    ),
    "the fourth level is text": (f"# A\n#### D\n{SENTENCE}", (f"A\n\n#### D\n{SENTENCE}",)),
    "a sibling takes the place of a sibling": (
        f"# A\n## B\n{SENTENCE}\n## C\n{SENTENCE}\n# D\n{SENTENCE}",
        (f"A > B\n\n{SENTENCE}", f"A > C\n\n{SENTENCE}", f"D\n\n{SENTENCE}"),
    ),
    "a level may be skipped": (f"# A\n### C\n{SENTENCE}", (f"A > C\n\n{SENTENCE}",)),
    "text before the first heading has no way": (f"{SENTENCE}\n# A\n{SENTENCE}", (SENTENCE, f"A\n\n{SENTENCE}")),
    "a small section goes with the next": (
        f"# A\nUse pnpm.\n# B\n{SENTENCE}",
        (f"A\n\nUse pnpm.\n\nB\n\n{SENTENCE}",),
    ),
    "a small section at the end goes with the last": (
        f"# A\n{SENTENCE}\n# B\nUse pnpm.",
        (f"A\n\n{SENTENCE}\n\nB\n\nUse pnpm.",),
    ),
    "a heading without text is kept": (f"# A\n# B\n{SENTENCE}", (f"A\n\nB\n\n{SENTENCE}",)),
    "code keeps its hashes": (
        f"# A\n```sh\n# not a heading\n```\n{SENTENCE}",
        (f"A\n\n```sh\n# not a heading\n```\n{SENTENCE}",),
    ),
    "a hash without a space is text": (f"#1 {SENTENCE}", (f"#1 {SENTENCE}",)),
    "line ends of Windows": (f"# A\r\n{SENTENCE}\r\n", (f"A\n\n{SENTENCE}",)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_text_is_cut_as_the_table_says(name: str) -> None:
    text, expected = CASES[name]
    assert chunks(text) == expected


def test_a_long_section_is_cut_between_sentences_and_each_piece_knows_its_heading() -> None:
    made = chunks(f"# Deploying\n{LONG * 100}")
    assert len(made) == 3
    assert all(piece.startswith("Deploying\n\n") and len(piece) <= MOST for piece in made)
    assert all(piece.endswith("warm cache.") for piece in made)


def test_paragraphs_are_a_better_place_to_cut_than_sentences() -> None:
    first, second = (LONG * 25).strip(), (LONG * 25).strip()
    made = chunks(f"{first}\n\n{second}")
    assert made[0] == first
    assert made[1].endswith(second)


def test_pieces_overlap_by_at_most_a_hundred_characters_and_begin_with_a_word() -> None:
    words = " ".join(f"word{number}" for number in range(1000))
    made = chunks(words)
    for last, following in pairwise(made):
        shared = next(size for size in range(OVERLAP, 0, -1) if last.endswith(following[:size].rstrip()))
        assert LEAST <= shared <= OVERLAP
        assert following.startswith("word")


def test_a_word_without_end_is_cut_where_the_room_ends() -> None:
    made = chunks("x" * 5000)
    assert [len(piece) for piece in made] == [2000, 2000, 1200]


def test_what_is_left_over_after_a_full_piece_stands_after_its_end() -> None:
    made = chunks(f"# A\n{'y' * 1990}\n# B\nend")
    assert made[-1] == f"{'y' * 100}\n\nB\n\nend"


lines = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Zs", "Zl", "Zp")), max_size=50),
    st.sampled_from(["# One", "## Two", "### Three", "#### Four", "", "```", "~~~", "   ", "\t", SENTENCE, LONG * 30]),
    st.lists(st.sampled_from(["alpha", "beta", "gamma.", "   ", "#", "\r"]), max_size=400).map(" ".join),
)


@given(st.lists(lines, max_size=40).map("\n".join))
def test_limits_are_kept_and_no_word_is_lost(text: str) -> None:
    made = chunks(text)
    assert all(LEAST <= len(piece) <= MOST for piece in made)
    if not made:
        assert len(" ".join(text.split())) < LEAST + text.count("\n") + 9 * text.count("  ") + text.count("#")
        return
    everything = "\n".join(made)
    marks = {"#", "##", "###"}
    assert [word for word in text.split() if len(word) <= LEAST and word not in marks and word not in everything] == []


@given(st.text(max_size=6000))
def test_any_text_is_cut_within_the_limits(text: str) -> None:
    assert all(LEAST <= len(piece) <= MOST for piece in chunks(text))


@given(st.lists(lines, max_size=20).map("\n".join))
def test_the_same_text_is_cut_the_same_way(text: str) -> None:
    assert chunks(text) == chunks(text) == chunks(f"\n{text}\n\n")
