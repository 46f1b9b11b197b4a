"""What a lead teaches a worker: how such a lesson is called and worded. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.language.display import choices_hint
from swarmlore.domain.records import Memory
from swarmlore.domain.security.redaction import redact
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any


HAPPENED = ("task_completion", "session_summary", "transcript")  # what happened rather than what to know
OUTPUT_MARK, FAILED_MARK = "\n\nOutput:\n", "\n\nFailure reason:\n"
FAILED_NOTE = "This task failed. Avoid what is described here when a similar one is begun."


MIN_CHARS = 15
MAX_CHARS = 280
CONFIDENCES = ("low", "medium", "high")
CONFIDENCE_VALUES = {"high": 0.9, "medium": 0.6, "low": 0.3}  # the scale on which words for confidence are stored


@frozen
class Found:
    """A lesson in one or two sentences, the words it was taken from, and how sure the rule is of it."""

    text: str
    kind: str = "learning"
    confidence: str = "medium"
    excerpt: str = ""
    trust: int = 2
    entities: tuple[str, ...] = ()
    situation: str = ""
    situation_via: str = "prompt"
    place: int = 0  # among the turns of its session: of two that contradict each other the later holds


# Sequences with parameters, with a text up to their end, and of two characters.
_SEQUENCE = r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|[\]PX^_][^\x07\x1b]{0,400}(?:\x07|\x1b\\)?|[ -/]{0,2}[0-~]|$)"
_UNSEEN = {code: None for code in (*range(32), 127) if chr(code) not in "\t\n\r"}


def plain(text: str) -> str:
    """The text without control sequences and control characters; tabs and ends of lines stay."""
    if "\x1b" in text:
        text = re.sub(_SEQUENCE, "", text)
    return text.translate(_UNSEEN)


# Secrets are looked for in this much more than is kept, so that none is cut in half where no rule would know it.
MARGIN = 12_000
_OUR_MARKS = ("=== swarmlore", "» (from ")


def excerpt(text: str, head: int, tail: int) -> str:
    """The beginning and the end of a text, without secrets and without what came from our own memory."""
    if not text:
        return ""
    text = visible(text)
    if len(text) <= head + tail + MARGIN:
        text = redact(text)[0]
        return text if len(text) <= head + tail else f"{text[:head]}\n…\n{text[-tail:]}"
    first, last = redact(text[: head + MARGIN])[0], redact(text[-tail - MARGIN :])[0]
    return f"{first[:head]}\n…\n{last[-tail:]}"


def visible(text: str) -> str:
    """Without characters that hide a secret or break a line, and without blocks of ours."""
    if not text.isascii():
        from swarmlore.domain.language.unicode import clean

        text = clean(text)[0]
    text = plain(text)
    if any(mark in text for mark in _OUR_MARKS):
        from swarmlore.domain.policy.fence import strip_blocks

        text = strip_blocks(text)
    return text


def path(text: str) -> str:
    """A path as it is, unless it holds a secret, maybe between characters that nobody sees."""
    text = text.encode("utf-8", "replace").decode()
    told, secrets = redact(visible(text))
    return told if secrets else text


def tidy(text: str) -> str:
    """A sentence as it should stand alone: one line, a capital letter unless it opens with a name, a full stop."""
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
    """Cut at the last clause that still fits, if what remains is a sentence."""
    cuts = [
        cut.start() for cut in compiled(r"[;,:] | [-–—] | because ").finditer(text) if 60 <= cut.start() < MAX_CHARS - 1
    ]
    return text[: cuts[-1]] if cuts else text


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


CATEGORIES = ("mistake-pattern", "best-practice", "codebase-knowledge", "preference")
ONLY_LEADS = "Only the lead agent can inject learnings into worker memory."
_TITLE_CHARS = 60


def check_category(category: str) -> None:
    if category not in CATEGORIES:
        raise InvalidInput(f"invalid category: {str(category)[:80]}", choices_hint(str(category), CATEGORIES))


def taught_draft(text: str, category: str, tags: Sequence[str]) -> dict[str, Any]:
    """What goes to the gate: the bare learning, so that nothing in it hides behind our words."""
    named = [category, *(tag for tag in tags if tag != category)]
    return {"text": text, "category": category, "tags": named, "tier": "swarm", "source": "inject"}


def taught(memory: Memory, owner: str) -> Memory:
    """The lesson that is stored: it belongs to whom it was taught, and all of the swarm see it."""
    beginning = "".join(" " if letter.isspace() else letter for letter in memory.text[:_TITLE_CHARS])
    return replace(
        memory,
        owner=owner,
        title=f"Lead feedback: {memory.category} — {beginning}",
        text=f"[Lead Feedback — {memory.category}]\n\n{memory.text}",
    )
