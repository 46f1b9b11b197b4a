"""A sentence without its opening, and the clauses in it, each with the marks that its own opening left."""

from __future__ import annotations

from swarmlore.frozen import frozen
from swarmlore.rules import correction_shapes as shape
from swarmlore.rules.correction_words import (
    ADDED_TASK,
    HOUSE_RULE,
    POINTING,
    STANDING,
    TASK_STARTS,
    compiled,
    openings,
)
from swarmlore.rules.found import MAX_CHARS, MIN_CHARS, Found
from swarmlore.rules.wording import tidy
from swarmlore.text.prose import Said
from swarmlore.text.words import STOP_WORDS, split_words

EXCERPT_CHARS = 300
MOST_OPENINGS = 8
# What is typed in haste, and what belongs to the task behind a fact: "…, so don't bother cleaning up".
_HASTE = r"\b(do|does|did|ca|is|are|wo|was|were|should|must|could|would|has|have)nt\b"
_NO_TROUBLE = r"(?<=.{15}),?\s+(?:so|and) (?:please )?(?:don't|no need to) (?:bother|worry)\b.*$"
_PREAMBLE = r"[^,;:`/.]{6,90}:\s+(?=\S)"
_OURS_WITHIN = (
    r"(?<=.{15})\b(?:since|because|as|and|but)\s+(?=(?:we (?:are|can't|cannot|must|have to)|nobody|no one)\b)"
)
_APOSTROPHES = str.maketrans("’‘´", "'''")


@frozen
class Clause:
    """A sentence without its opening, as written and in lower case, and the marks that the opening left."""

    text: str
    low: str
    marks: frozenset[str]


def open_sentence(sentence: str, marks: frozenset[str]) -> Clause:
    """Take off what a sentence opens with."""
    text = plain(sentence)
    for _ in range(MOST_OPENINGS):
        low = text.lower()
        for name, pattern in openings():
            if taken := pattern.match(low):
                text, marks = text[taken.end() :], marks | {name}
                break
        else:
            break
    return close_sentence(text, marks)


def plain(sentence: str) -> str:
    """A sentence with the apostrophes that it should have."""
    text = sentence.translate(_APOSTROPHES)
    return compiled(_HASTE, 2).sub(r"\1n't", text) if "nt" in text.lower() else text


def close_sentence(text: str, marks: frozenset[str]) -> Clause:
    """Take off what it ends with: thanks, marks, "in the future"."""
    text = compiled(r",? (?:got it|ok|okay|right|understood|please|alright)\?$", 2).sub("", text)
    text = compiled(r"[\s,]+(?:please|pls|thanks|thank you|thx|ok|okay|danke|merci|gracias|bitte)$", 2).sub(
        "", text.rstrip(" !.…,;:")
    )
    if "bother" in text or "worry" in text:
        text = compiled(_NO_TROUBLE, 2).sub("", text)
    ended = compiled(rf"[\s,]+(?:{STANDING}|{HOUSE_RULE})$").search(text.lower())
    if ended:
        text, marks = text[: ended.start()], marks | {"standing"}
    return Clause(text, text.lower(), marks)


def clauses_of(clause: Clause) -> list[Clause]:
    """The whole, then what follows each comma, each with its own opening."""
    found = [clause]
    task = first_word(clause.low) in TASK_STARTS
    for cut in compiled(r"[,;:–—]\s+|\s-\s+|\s(?:and|but|so)\s+").finditer(clause.text):
        if task and cut[0][0] == ":":
            break  # "translate: never push to main"
        rest = open_sentence(clause.text[cut.end() :], frozenset())
        if rest.low:
            found.append(rest)
    return found[:MOST_OPENINGS]


def behind_preamble(clause: Clause) -> Clause | None:
    """What stands behind the colon of a sentence that only announces it: "One remark though: …"."""
    opened = compiled(_PREAMBLE).match(clause.text)
    if opened is None or first_word(clause.low) in TASK_STARTS:
        return None
    rest = open_sentence(clause.text[opened.end() :], clause.marks | {"preamble"})
    return rest if rest.low else None


def ours_within(clause: Clause) -> Clause | None:
    """The clause inside of a sentence that speaks of what "we" may or do: "… since we are bound by contract to …"."""
    opened = compiled(_OURS_WITHIN, 2).search(clause.text)
    return Clause(clause.text[opened.end() :], clause.low[opened.end() :], clause.marks) if opened else None


def first_word(low: str) -> str:
    return low.split(None, 1)[0].rstrip(",:") if low.strip() else ""


def stands_alone(low: str) -> bool:
    """Whether a text says something without what it points at."""
    content = content_of(low)
    points = compiled(
        r" (?:it|that|this|these|those|them|so)(?=$|[,;.]| (?:here|anymore|any more|again|ever|instead|either|too|in"
        r"|at|the)\b)"
    )
    if points.search(low) and len(content) < 3:
        return False
    return len(content) > 1 or (len(content) == 1 and (shape.names_something(low) or shape.is_named_tool(low)))


def content_of(low: str) -> list[str]:
    """The words that say something by themselves."""
    return [word for word in split_words(low) if word not in STOP_WORDS and word not in POINTING and len(word) > 1]


def lesson_of(clause: Clause, said: Said, kind: str, confidence: str) -> Found | None:
    """A clause as it is written down, if it has the length of a lesson."""
    text = tidy(compiled(ADDED_TASK, 2).sub("", clause.text))
    if not MIN_CHARS <= len(text) <= MAX_CHARS:
        return None
    return Found(text, kind, confidence, said.text[:EXCERPT_CHARS])
