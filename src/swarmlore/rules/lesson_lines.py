"""The one line that a memory comes down to, where there is no room for all of it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from swarmlore.records import Memory
from swarmlore.rules.results import FAILED_MARK, FAILED_NOTE, OUTPUT_MARK

LESSON_CHARS = 280
RESULT_CHARS = 300  # of a result or a summary, behind its title
READ_CHARS = 4_000  # of a long text; a lesson line is found in its beginning or not at all
_LEAST_SENTENCE = 15  # shorter ones end at an abbreviation


def lesson_line(memory: Memory, limit: int = LESSON_CHARS) -> str:
    """The whole lesson or, where a text is too long for one, its title or first sentence."""
    if memory.source == "note" and memory.title.strip():
        return note_line(memory, limit)
    text = memory.text.strip()
    if len(text) <= limit:
        return text
    if memory.source == "inject":  # its title holds the beginning only, and its first line says who taught it
        head, _, said = text[:READ_CHARS].partition("\n\n")
        return shorten(f"{head} {_first_sentence(said)}", limit - 1)
    title, sentence = memory.title.strip(), _first_sentence(text[:READ_CHARS])
    if title and len(title.split()) == 1:  # a file name alone tells nothing
        return shorten(f"{title}: {sentence}", limit - 1)
    return shorten(title or sentence, limit - 1)


def note_line(memory: Memory, limit: int = LESSON_CHARS) -> str:
    """What a note comes down to: its title and its key insight or, where it names none, how it begins. The title alone
    would tell that there is an answer, and not which."""
    title = memory.title.strip()
    said = insight_of(memory) or _first_sentence(memory.text.strip()[:READ_CHARS])
    return shorten(f"{title}: {said}" if said != title else title, limit - 1)


def insight_of(memory: Memory) -> str:
    """The key insight that the head of a note names, as one line; '' where there is none."""
    head = memory.extra.get("note")
    said = head.get("key_insight") if isinstance(head, Mapping) else ""
    return " ".join(said.split()) if isinstance(said, str) else ""


def result_line(memory: Memory, limit: int = RESULT_CHARS) -> str:
    """How something ended: the whole text or, where it is too long, its title and how it begins; of a failure the
    reason, as that is what the next one needs."""
    text, title = memory.text.strip(), memory.title.strip()
    if len(text) <= LESSON_CHARS:
        return text
    for mark in (FAILED_MARK, OUTPUT_MARK):
        before, found, told = text.partition(mark)
        if found and before.startswith("Task:"):
            text = told.removesuffix(FAILED_NOTE).strip()
            break
    return f"{title}: {shorten(text, limit)}" if title else shorten(text, limit)


def _first_sentence(text: str) -> str:
    lines = (line.strip(" \t#>*-") for line in text.splitlines())
    line = next((line for line in lines if any(map(str.isalnum, line))), text)
    end = re.search(rf"(?<=.{{{_LEAST_SENTENCE}}}[.!?])\s", line)
    return line[: end.start()] if end else line


def shorten(text: str, limit: int | None) -> str:
    return text if limit is None or len(text) <= limit else text[:limit] + "…"
