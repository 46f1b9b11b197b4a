"""What a tool answers: values for programs, and the same as a text for a model.

A memory is data. Wherever its words stand in an answer they are made harmless (`rules.block.neutralise`). Whole
memories stand inside a fence: nothing in them passes for an answer of ours, and our own capture leaves them alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swarmlore.codec import iso
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.records import Hit, Memory, Outcome, Remembered
from swarmlore.rules.block import HEADER, WHOLE_CHARS, neutralise
from swarmlore.rules.freshness import is_stale

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.errors import SwarmloreError
    from swarmlore.prime import Primed
    from swarmlore.records import Block, Proposal

_SHOWN_CHARS = 400  # of a memory among others; `get` has the rest
_OUTCOMES = {
    "added": "Remembered as [{}].",
    "linked": "Remembered as [{}], beside a known one that it touches.",
    "confirmed": "It was known already as [{}].",
    "updated": "Known as [{}]; its text says it all now.",
    "superseded": "Remembered as [{}]; it replaces what was known.",
    "quarantined": "Kept as [{}], where nobody is shown it.",
}


@frozen
class Answer:
    """What a tool gives back."""

    values: dict[str, Any]
    text: str
    failed: bool = False


def harmless(text: str, most: int = _SHOWN_CHARS) -> str:
    """Words from a memory as one line that nothing in it can make more of."""
    line = neutralise(text[: 2 * most], "")
    return line if len(line) <= most else line[:most] + "…"


def summary(hit: Hit) -> dict[str, Any]:
    """One hit in a list."""
    memory = hit.memory
    return {
        "id": memory.id,
        "handle": memory.handle,
        "text": harmless(memory.text),
        "kind": memory.kind,
        "category": harmless(memory.category, 60),
        "tags": [harmless(tag, 60) for tag in memory.tags],
        "tier": memory.tier,
        "trust": memory.trust,
        "confirmed": len(memory.confirmed_by),
        "score": round(hit.score, 4),
        "stale": is_stale(hit.cited),
    }


def found(hits: Sequence[Hit], block: Block, notes: Iterable[str]) -> Answer:
    """What recall found; what the fence refuses (trust 0) is in neither form."""
    shown = {item.memory for item in block.receipt.shown}
    listed = [summary(hit) for hit in hits if hit.memory.id in shown]
    values = {"note": HEADER, "hits": listed, "notes": list(notes)}
    return Answer(values, block.text or "Nothing is known about this.")


def whole(hit: Hit, block: Block) -> Answer:
    """One memory with its origin and evidence."""
    memory = hit.memory
    values = {**summary(hit), "text": harmless(memory.text, WHOLE_CHARS), "title": harmless(memory.title)}
    values |= {"status": "forgotten" if memory.forgotten_at is not None else memory.status, "scope": memory.scope}
    values |= {"source": memory.source, "by": harmless(memory.owner, 80), "confidence": memory.confidence}
    values |= {"created_at": iso(memory.created_at), "updated_at": iso(memory.updated_at)}
    values |= {"feedback_score": memory.feedback_score, "situations": [harmless(s.text) for s in memory.situations]}
    values |= {"citations": [harmless(cited.citation.path, 200) for cited in hit.cited]}
    facts = f"{memory.kind}, {values['category']}, {values['status']}, confidence {memory.confidence:g}"
    text = f"{block.text}\n{facts}" if block.text else "Its origin is unknown (trust 0); it is not shown."
    return Answer({"note": HEADER, **values} if block.text else {"handle": memory.handle, "text": ""}, text)


def remembered(told: Remembered) -> Answer:
    memory = told.memory
    lines = [_OUTCOMES[told.outcome].format(memory.handle)]
    if told.redacted:
        lines.append(f"Secrets were taken out: {', '.join(told.redacted)}.")
    lines += [f"Warning: {warning}." for warning in told.warnings]
    values = {"outcome": told.outcome, "id": memory.id, "handle": memory.handle, "operation": told.operation}
    more = {"related": list(told.related), "warnings": list(told.warnings), "redacted": list(told.redacted)}
    return Answer({**values, **more}, "\n".join(lines))


def forgotten(memory: Memory) -> Answer:
    return Answer({"id": memory.id, "handle": memory.handle, "forgotten": True}, f"Forgot [{memory.handle}].")


def rated(memory: Memory, helpful: bool) -> Answer:
    values = {"id": memory.id, "handle": memory.handle, "helpful": helpful}
    values |= {"feedback_score": memory.feedback_score, "feedback_count": memory.feedback_count}
    return Answer(values, f"Noted: [{memory.handle}] {'helped' if helpful else 'misled'}.")


def recorded(outcome: Outcome) -> Answer:
    used = sorted({*outcome.cited, *outcome.applied})
    values = {"id": outcome.id, "score": outcome.score, "verdict": outcome.verdict}
    values |= {"shown": list(outcome.shown), "used": used}
    credit = f"{len(outcome.shown)} notes were shown for it, {len(used)} used"
    return Answer(values, f"Recorded: {outcome.verdict} (score {outcome.score:g}); {credit}.")


def primed(begin: Primed, block: Block) -> Answer:
    shown = {item.memory for item in block.receipt.shown}
    sides = {"relevant": begin.relevant, "approaches": begin.approaches, "recent": begin.recent}
    listed = {name: [summary(hit) for hit in hits if hit.memory.id in shown] for name, hits in sides.items()}
    values = {"note": HEADER, "stacks": list(begin.stacks), "topic": harmless(begin.topic), **listed}
    stack = f"Stack: {', '.join(begin.stacks)}." if begin.stacks else "No known stack was found."
    return Answer(values, f"{stack}\n{block.text or 'Nothing is remembered yet.'}")


def proposed(proposals: Sequence[Proposal]) -> Answer:
    """Proposals by number; nothing of them is stored."""
    listed = [
        {
            "text": harmless(item.text),
            "kind": item.kind,
            "confidence": item.confidence,
            "outcome": item.outcome,
            "known_as": item.known_as,
            "reason": item.reason,
        }
        for item in proposals
    ]
    lines = [
        f"{number}. ({item['kind']}) «{item['text']}»" + (f" {_known(item)}" if _known(item) else "")
        for number, item in enumerate(listed, start=1)
    ]
    head = "Proposals; nothing is stored. Remember those that the user agrees to:" if lines else "No lesson was found."
    return Answer({"proposals": listed}, "\n".join([head, *lines]))


def _known(item: dict[str, Any]) -> str:
    if item["outcome"] == "confirmed":
        return f"is known as [{item['known_as']}]"
    if item["outcome"] == "rejected":
        return f"would be refused: {item['reason']}"
    return f"would change [{item['known_as']}]" if item["known_as"] else ""


def failed(error: SwarmloreError, code: str) -> Answer:
    """What went wrong, and what to do about it."""
    values = {"error": error.message, "hint": error.hint, "code": code}
    return Answer(values, f"{error.message}\nhint: {error.hint}" if error.hint else error.message, failed=True)
