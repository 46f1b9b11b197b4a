"""A conversation as plain text: who says what, as far as the text tells."""

from __future__ import annotations

import re
from bisect import bisect_right

from swarmlore.domain.policy.context_block import strip_blocks
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.formats.transcripts.turns import Turn

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
    """Where somebody begins to speak. What is quoted inside of a turn, in a block of code or behind `>`, is no turn."""
    found = list(re.finditer(_MARK.format(who), text, re.IGNORECASE | re.MULTILINE))
    if not found:
        return found
    quoted = ">" in found[0][0]
    blocks = _blocks(text)
    return [mark for mark in found if (quoted or ">" not in mark[0]) and not _is_in(mark.start(), blocks)]


def _blocks(text: str) -> list[tuple[int, int]]:
    """Blocks of code, from fence to fence; none where one of them has no end, as then nobody knows which it is."""
    fences = [mark.start() for mark in re.finditer(r"^[ \t]{0,3}(?:```|~~~)", text, re.MULTILINE)]
    return list(zip(fences[::2], fences[1::2], strict=True)) if len(fences) % 2 == 0 else []


def _is_in(place: int, blocks: list[tuple[int, int]]) -> bool:
    at = bisect_right(blocks, (place, place))
    return at > 0 and place < blocks[at - 1][1]
