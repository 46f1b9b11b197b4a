"""Text of lessons: the candidate lesson, tidying, redacted excerpts, one-line forms, and lessons taught by a lead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.language.display import choices_hint
from swarmlore.domain.records import Memory
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any


EVENT_SOURCES = ("task_completion", "session_summary", "transcript")  # sources of records of events, not of lessons
OUTPUT_MARK, FAILED_MARK = "\n\nOutput:\n", "\n\nFailure reason:\n"
FAILED_NOTE = "This task failed. Avoid what is described here when a similar one is begun."


MIN_CHARS = 15
MAX_CHARS = 280
CONFIDENCES = ("low", "medium", "high")
CONFIDENCE_VALUES = {"high": 0.9, "medium": 0.6, "low": 0.3}  # stored value of each confidence word


@frozen
class CandidateLesson:
    """A candidate lesson: one or two sentences, the source excerpt, kind, confidence, trust and situation."""

    text: str
    kind: str = "learning"
    confidence: str = "medium"
    excerpt: str = ""
    trust: int = 2
    entities: tuple[str, ...] = ()
    situation: str = ""
    situation_via: str = "prompt"
    place: int = 0  # index of its turn in the session: of two contradictory lessons the later one wins


def tidy(text: str) -> str:
    """Format a sentence to stand alone: one line, capitalised unless it opens with a name, with a full stop."""
    text = " ".join(text.split()).strip(" ,;:-–—!?.…")
    text = compiled(r"^(?:it's|it is|that's) (?!called|named|spelled)(?=.*[,\s](?:not|and not)\b)", 2).sub("", text)
    text = (
        compiled(r"(?:not (?:to )?|to not )(?=\w)").sub("do not ", text, count=1)
        if text.startswith(("not ", "to not "))
        else text
    )
    text = text.removeprefix("to ").removeprefix("that ")
    if len(text) >= MAX_CHARS:
        text = _shorten(text)
    first = text.split(" ", 1)[0]
    if first.rstrip(",:").replace("'", "").isalpha() and first.islower():
        text = text[0].upper() + text[1:]
    return f"{text}." if text else ""


def _shorten(text: str) -> str:
    """Cut a sentence at the last clause that fits; return it whole if no cut leaves a sentence."""
    cuts = [
        cut.start() for cut in compiled(r"[;,:] | [-–—] | because ").finditer(text) if 60 <= cut.start() < MAX_CHARS - 1
    ]
    return text[: cuts[-1]] if cuts else text


LESSON_CHARS = 280
RESULT_CHARS = 300  # longest result or summary after its title
READ_CHARS = 4_000  # characters read of a long text: a lesson line must be near its beginning
_LEAST_SENTENCE = 15  # characters: an earlier full stop belongs to an abbreviation


def lesson_line(memory: Memory, limit: int = LESSON_CHARS) -> str:
    """Return a lesson as one line: the whole text or, if it is too long, its title or first sentence."""
    if memory.source == "note" and memory.title.strip():
        return note_line(memory, limit)
    text = memory.text.strip()
    if len(text) <= limit:
        return text
    if memory.source == "inject":  # its title is cut off and its first line is the heading of the lead's feedback
        head, _, said = text[:READ_CHARS].partition("\n\n")
        return shorten(f"{head} {_first_sentence(said)}", limit - 1)
    title, sentence = memory.title.strip(), _first_sentence(text[:READ_CHARS])
    if len(title.split()) == 1:  # a file name alone has no content
        return shorten(f"{title}: {sentence}", limit - 1)
    return shorten(title or sentence, limit - 1)


def note_line(memory: Memory, limit: int = LESSON_CHARS) -> str:
    """Return a note as one line: its title and its key insight (the title alone gives no answer) or first sentence."""
    title = memory.title.strip()
    insight = insight_of(memory) or _first_sentence(memory.text.strip()[:READ_CHARS])
    return shorten(f"{title}: {insight}" if insight != title else title, limit - 1)


def insight_of(memory: Memory) -> str:
    """Return the key insight from the front matter of a note as one line, or ""."""
    head = memory.extra.get("note")
    insight = head.get("key_insight") if isinstance(head, Mapping) else ""
    return " ".join(insight.split()) if isinstance(insight, str) else ""


def result_line(memory: Memory, limit: int = RESULT_CHARS) -> str:
    """Return a task result as one line: the whole text or its title and beginning; for a failure the reason."""
    text, title = memory.text.strip(), memory.title.strip()
    if len(text) <= LESSON_CHARS:
        return text
    for mark in (FAILED_MARK, OUTPUT_MARK):
        before, found, reason = text.partition(mark)
        if found and before.startswith("Task:"):
            text = reason.removesuffix(FAILED_NOTE).strip()
            break
    return f"{title}: {shorten(text, limit)}" if title else shorten(text, limit)


def _first_sentence(text: str) -> str:
    """Return the first sentence of the first line with content."""
    lines = (line.strip(" \t#>*-") for line in text.splitlines())
    line = next((line for line in lines if any(map(str.isalnum, line))), text)
    end = re.search(rf"(?<=.{{{_LEAST_SENTENCE}}}[.!?])\s", line)
    return line[: end.start()] if end else line


def shorten(text: str, limit: int | None) -> str:
    """Cut a text after `limit` characters and add an ellipsis."""
    return text if limit is None or len(text) <= limit else text[:limit] + "…"


CATEGORIES = ("mistake-pattern", "best-practice", "codebase-knowledge", "preference")
ONLY_LEADS = "Only the lead agent can inject learnings into worker memory."
_TITLE_CHARS = 60


def check_category(category: str) -> None:
    """Raise `InvalidInput` if a lead's lesson has an unknown category."""
    if category not in CATEGORIES:
        raise InvalidInput(f"invalid category: {str(category)[:80]}", choices_hint(str(category), CATEGORIES))


def lead_lesson_draft(text: str, category: str, tags: Sequence[str]) -> dict[str, Any]:
    """Return the draft of a lead's lesson for the validation gate: its bare text, without our heading."""
    named = [category, *(tag for tag in tags if tag != category)]
    return {"text": text, "category": category, "tags": named, "tier": "swarm", "source": "inject"}


def lead_lesson(memory: Memory, owner: str) -> Memory:
    """Return the lesson to store: owned by the worker it was taught to and visible to the whole swarm."""
    beginning = "".join(" " if letter.isspace() else letter for letter in memory.text[:_TITLE_CHARS])
    return replace(
        memory,
        owner=owner,
        title=f"Lead feedback: {memory.category} — {beginning}",
        text=f"[Lead Feedback — {memory.category}]\n\n{memory.text}",
    )
