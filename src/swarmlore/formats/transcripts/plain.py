"""A conversation as plain text: who says what, as far as the text tells."""

from __future__ import annotations

import re

from swarmlore.formats.transcripts.turns import Turn
from swarmlore.rules.block import strip_blocks
from swarmlore.rules.gate import scrub_text

MAX_CHARS = 1_000_000
# Who speaks, where a text says so at the beginning of a line.
_SPEAKERS = r"user|human|person|me|assistant|agent|ai|claude|codex|model"
_TOOLS = (
    r"tool(?:[ _-]?(?:use|call|result|output|response))?|system|(?:std)?out(?:put)?|stderr|results?|bash|shell|terminal"
    r"|console|function(?:[ _-]?(?:call|result|output))?|command|observation|environment"
)
_MARK = r"^[ \t>*_#]{{0,8}}({})(?:[ \t]?[(\[][^\n()\[\]]{{0,60}}[)\]])?[ *_]{{0,4}}:[ *_]{{0,4}}"
_PEOPLE = ("user", "human", "person", "me")


def names_speakers(text: str) -> bool:
    """Whether a text says who speaks in it."""
    return bool(_marks(_SPEAKERS, text[:MAX_CHARS]))


def turns_of(text: str) -> list[Turn]:
    """A text as turns of a conversation, without what tools said in it; where nobody is named, both a person and an
    agent may have said it."""
    text = scrub_text(strip_blocks(text))
    if not _marks(_SPEAKERS, text):
        return [Turn("user", text), Turn("assistant", text)]
    marks = _marks(f"{_SPEAKERS}|{_TOOLS}", text)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    said = [(mark[1].lower(), text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    spoken = [(who, words) for who, words in said if words and re.fullmatch(_SPEAKERS, who)]
    return [Turn("user" if who in _PEOPLE else "assistant", words) for who, words in spoken]


def _marks(who: str, text: str) -> list[re.Match[str]]:
    return list(re.finditer(_MARK.format(who), text, re.IGNORECASE | re.MULTILINE))
