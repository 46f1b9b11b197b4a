"""What a program printed for a terminal is not what it said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.domain.extraction.excerpts import plain


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("plain\ttext\r\n", "plain\ttext\r\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[01;31m\x1b[Kghp_\x1b[m\x1b[Kabc", "ghp_abc"),
        ("\x1b[?25lhidden cursor\x1b[?25h", "hidden cursor"),
        ("\x1b]0;a title\x07after", "after"),
        ("\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bcharset", "charset"),
        ("\x1bMup", "up"),
        ("a\x08b\x00c\x7fd", "abcd"),
        ("cut \x1b", "cut "),
        ("[31m is no sequence", "[31m is no sequence"),
    ],
)
def test_control_sequences_and_characters_go(text: str, kept: str) -> None:
    assert plain(text) == kept


@given(st.text(alphabet="\x1b[]0;mK\x07\\ab\n"))
def test_nothing_is_left_of_them_and_a_second_look_finds_no_more(text: str) -> None:
    kept = plain(text)
    assert "\x1b" not in kept
    assert "\x07" not in kept
    assert plain(kept) == kept
