"""What somebody says in their own words: a text without code, quotations, logs and other things that were pasted in.

Everything here reads each line once and looks no further than a bounded number of characters, so that a text of any
size and kind takes linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache

from swarmlore.frozen import frozen

LONGEST_SENTENCE = 600
OWN_WORDS = 4_000  # a person types no more; beyond it a document was pasted, and only its ends are theirs
END_WORDS = 1_000
QUOTED = "“…”"  # what is left of a quotation
_QUOTED_WORDS = 3  # shorter ones are names
_EXAMPLE = r"(?:\be\.?g\.?|\bfor example|\bsuch as|\bz\.?b\.?|\bp\. ?ex\.|,? like)[,:]? ?$"
_EXAMPLE_CHARS = 60


@frozen
class Said:
    """One sentence. `heading` is the line that opened the list it is an item of; `listed` says that it is an item."""

    text: str
    listed: bool = False
    heading: str = ""
    paragraph: int = 0


def sentences(text: str, typed: bool = False) -> list[Said]:
    """The sentences of a text that are its author's own words, in order. One that was `typed` cannot be a long one."""
    said: list[Said] = []
    paragraphs = own_paragraphs(text)
    for number, paragraph in enumerate(_own_ends(paragraphs) if typed else paragraphs):
        heading = ""
        for line in paragraph:
            if _compiled(r"\s{0,12}1[.)] .{4,400}\s2[.)] ").match(line):  # points of a reply, in one line
                line = _compiled(r"(?:^\s*|\s)\d[.)] ").sub(" ", line).strip()
            item = _compiled(_ITEM).match(line)
            if not item and line.endswith(":"):
                heading = line
            body = line[item.end() :] if item else line
            said += [Said(part, bool(item), heading if item else "", number) for part in split_sentences(body)]
    return said


def own_paragraphs(text: str) -> list[list[str]]:
    """Lines in groups, without code, quoted lines, markup and whatever looks like the output of a program."""
    paragraphs: list[list[str]] = [[]]
    pasted = False
    for line in _outside_of_markup(_outside_of_code(text.splitlines())):
        if not line.strip():
            pasted = False
            paragraphs.append([])
        elif pasted or _is_pasted(line):
            pasted = not line.lstrip().startswith(">")  # a quoted line is answered in the next one
        else:
            paragraphs[-1].append(line.strip())
    return [paragraph for paragraph in paragraphs if paragraph]


def split_sentences(line: str) -> list[str]:
    """The sentences of one line; full stops inside code, paths and numbers end none."""
    line = _compiled(r"[\"“„«]([^\"“”„«»\n]{1,600})[\"”«»]").sub(_shorten_quotation, line)
    parts, start, code = [], 0, False
    for mark in _compiled(r"`+|[.!?…]+(?=[\s)\"'*]|$)").finditer(line):
        if mark[0][0] == "`":
            code = not code
        elif not (code and line.find("`", mark.end(), mark.end() + 200) > 0) and not _goes_on(line, mark):
            parts.append(line[start : mark.end()].strip())
            start = mark.end()
    parts.append(line[start:].strip())
    return [part for part in parts if 0 < len(part) <= LONGEST_SENTENCE and any(map(str.isalpha, part))]


_ITEM = r"\s{0,12}(?:[-*•]|\d{1,2}[.)])\s+"
_PASTED = (
    r"\s{0,40}(?:>|\$ |>>> |@@ |\+|diff --git|---|=== |\||[\]{}]|\[\d|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL"
    r"|TRACE)\b"
    r"|\d{4}-\d\d-\d\d[T ]\d|\d\d:\d\d:\d\d|(?:[\w.]{0,80}(?:Error|Exception|Warning|Failure)|error(?:\[\w{1,9}\])?"
    r"|fatal"
    r"|warning|panic|npm ERR!|npm error)\s?[:!]|npm ERR!|(?:HINT|DETAIL|LINE \d+):|\w+(?:\.\w+)+: |Traceback \("
    r"|[\w.-]{2,40}\[\d{1,9}\]: |[\w./-]{3,120}[(:]\d+[,:]\d+\)?: ?(?:error|warning)"
    r"|Caused by:|File \"|at [\w.$<>]{1,80}\s?\("
    r"|<[/\w!?])"
    r"|(?: {4,}|\t)(?!\s*(?:[-*•]|\d{1,2}[.)])\s)\S|.{0,300}[;{]\s*$"
)


def _is_pasted(line: str) -> bool:
    return _compiled(_PASTED).match(line[:400]) is not None


def _outside_of_code(lines: list[str]) -> list[str]:
    """Lines that stand in no fenced block; one that is never closed goes on to the end."""
    kept, fence = [], ""
    for line in lines:
        mark = _compiled(r"\s{0,12}(?:[-*>]\s)?(`{3,}|~{3,}|\"{3}|'{3})").match(line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
                kept.append("")
        elif mark:
            fence = mark[1]
        else:
            kept.append(line)
    return kept


def _outside_of_markup(lines: list[str]) -> list[str]:
    """Lines that stand in no element: what clients and people wrap into <tags> was not typed as words."""
    closings: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        for found in _compiled(r"</([A-Za-z][\w:-]{0,40})>").finditer(line):
            closings.setdefault(found[1], []).append(number)
    kept, at = [], 0
    while at < len(lines):
        opened = _compiled(r"\s{0,12}<([A-Za-z][\w:-]{0,40})[\s>]").match(lines[at])
        ends = closings.get(opened[1], []) if opened else []
        place = bisect_right(ends, at - 1)
        if place < len(ends):
            at = ends[place]
            kept.append("")
        else:
            kept.append(lines[at])
        at += 1
    return kept


def _own_ends(paragraphs: list[list[str]]) -> list[list[str]]:
    """All paragraphs; of a text too long to be typed, the first and the last if they are short."""
    if sum(len(line) for paragraph in paragraphs for line in paragraph) <= OWN_WORDS:
        return paragraphs
    ends = (paragraphs[0], paragraphs[-1]) if len(paragraphs) > 1 else ()
    return [end for end in ends if sum(map(len, end)) <= END_WORDS]


def _shorten_quotation(quotation: re.Match[str]) -> str:
    """The mark of a quotation; a name, and what stands as an example of a form, stay as they are."""
    before = quotation.string[max(0, quotation.start() - 24) : quotation.start()].lower()
    long = len(quotation[1].split()) >= _QUOTED_WORDS
    return QUOTED if long and not (_compiled(_EXAMPLE).search(before) and _is_form(quotation[1])) else quotation[0]


def _is_form(quoted: str) -> bool:
    """Whether quoted words are no sentence that somebody said: short, and without the words of an order."""
    said = _compiled(r"\b(?:never|always|must|don't|do not|please|should|remember)\b|[.!?]\s").search(quoted.lower())
    return len(quoted) <= _EXAMPLE_CHARS and said is None


def _goes_on(line: str, mark: re.Match[str]) -> bool:
    """Whether a sentence goes on behind its dots: an abbreviation, words left out ("ALTER TYPE ... ADD")."""
    left_out = (
        mark[0] in ("...", "…") and line[mark.start() - 1 : mark.start()] == " " and bool(line[mark.end() :].strip())
    )
    return left_out or _is_abbreviated(line, mark.start())


def _is_abbreviated(line: str, end: int) -> bool:
    before = line[max(0, end - 5) : end].lower()
    return _compiled(r"(?:^|[\s(])(?:e\.?g|i\.?e|etc|vs|cf|z\.?b|bzw|p\.?ex|ca)$").search(before) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
