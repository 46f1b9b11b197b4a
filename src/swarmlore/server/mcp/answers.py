"""Answers of the MCP tools: structured values for programs, and the same as text for a model.

Memories are data. Their text is neutralised wherever it stands in an answer (`neutralise`), and whole memories stand in
a fence, so that nothing in them passes for an answer of ours and our own capture skips them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.citations import is_stale
from swarmlore.domain.policy.context_block import WHOLE_CHARS, neutralise, notice
from swarmlore.domain.policy.fence import HEADER
from swarmlore.domain.records import Hit, Memory, Outcome, Remembered
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Block, Proposal, Reflection
    from swarmlore.errors import SwarmloreError
    from swarmlore.notes.reflect.reflections import Decided
    from swarmlore.retrieval.prime import Primed


_ROW_CHARS = 600  # of one fact from the project's files
PERSON_DECIDES = "A person decides: show these differences to the user and ask which to keep."
_MOST_LINES = 400  # of a diff
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
    """The answer of a tool: values, text, and whether it is an error."""

    values: dict[str, Any]
    text: str
    failed: bool = False


def harmless(text: str, most: int = _SHOWN_CHARS) -> str:
    """Return the text of a memory as one neutralised, shortened line."""
    line = neutralise(text[: 2 * most], "")
    return line if len(line) <= most else line[:most] + "…"


def summary(hit: Hit) -> dict[str, Any]:
    """Return one hit of a list as values."""
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
    """Return the hits of a recall; memories that the fence refuses (trust 0) are in neither form."""
    shown = {item.memory for item in block.receipt.shown}
    listed = [summary(hit) for hit in hits if hit.memory.id in shown]
    values = {"note": HEADER, "hits": listed, "notes": list(notes)}
    return Answer(values, block.text or "Nothing is known about this.")


def whole(hit: Hit, block: Block) -> Answer:
    """Return one memory with its origin and evidence."""
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


def remembered(result: Remembered) -> Answer:
    """Return what became of a text: outcome, redactions and warnings."""
    memory = result.memory
    lines = [_OUTCOMES[result.outcome].format(memory.handle)]
    if result.redacted:
        lines.append(f"Secrets were taken out: {', '.join(result.redacted)}.")
    lines += [f"Warning: {warning}." for warning in result.warnings]
    values = {"outcome": result.outcome, "id": memory.id, "handle": memory.handle, "operation": result.operation}
    more = {"related": list(result.related), "warnings": list(result.warnings), "redacted": list(result.redacted)}
    return Answer({**values, **more}, "\n".join(lines))


def forgotten(memory: Memory) -> Answer:
    """Return which memory was forgotten."""
    return Answer({"id": memory.id, "handle": memory.handle, "forgotten": True}, f"Forgot [{memory.handle}].")


def rated(memory: Memory, helpful: bool) -> Answer:
    """Return the new score of a rated memory."""
    values = {"id": memory.id, "handle": memory.handle, "helpful": helpful}
    values |= {"feedback_score": memory.feedback_score, "feedback_count": memory.feedback_count}
    return Answer(values, f"Noted: [{memory.handle}] {'helped' if helpful else 'misled'}.")


def recorded(outcome: Outcome) -> Answer:
    """Return the score and verdict of a recorded outcome."""
    used = sorted({*outcome.cited, *outcome.applied})
    values = {"id": outcome.id, "score": outcome.score, "verdict": outcome.verdict}
    values |= {"shown": list(outcome.shown), "used": used}
    credit = f"{len(outcome.shown)} notes were shown for it, {len(used)} used"
    return Answer(values, f"Recorded: {outcome.verdict} (score {outcome.score:g}); {credit}.")


def primed(begin: Primed, block: Block) -> Answer:
    """Return the project in a fence, then the memories in theirs: neither a README nor a memory is an instruction."""
    shown = {item.memory for item in block.receipt.shown}
    sides = {"relevant": begin.relevant, "approaches": begin.approaches, "recent": begin.recent}
    sides |= {"notes": begin.notes, "patterns": begin.patterns}
    listed = {name: [summary(hit) for hit in hits if hit.memory.id in shown] for name, hits in sides.items()}
    rows = _project(begin)
    values = {"note": HEADER, "stacks": list(begin.stacks), "topic": harmless(begin.topic), "project": dict(rows)}
    place = notice("\n".join([HEADER, *(f"{name}: {text}" for name, text in rows)]), os.urandom(8).hex())
    stack = f"Stack: {', '.join(begin.stacks)}." if begin.stacks else "No known stack was found."
    return Answer({**values, **listed}, "\n".join([stack, place, block.text or "Nothing is remembered yet."]))


def _project(begin: Primed) -> list[tuple[str, str]]:
    """Return the facts from the project's files as short neutralised lines."""
    from swarmlore.retrieval.prime import codebase_rows, stack_rows

    purpose = [("purpose", begin.readme.purpose.text)] if begin.readme.purpose else []
    sections = {"set-up": begin.readme.setup, "conventions": begin.readme.conventions}
    lines = [
        (name, " · ".join(f"{item.text} ({item.path}:{item.line})" for item in items))
        for name, items in sections.items()
    ]
    loaded = [("loaded by clients", ", ".join(begin.loaded))]
    rows = [
        *purpose,
        *codebase_rows(begin.codebase),
        *((f"stack, {name}", text) for name, text in stack_rows(begin.stack)),
        *lines,
    ]
    return [(name, harmless(text, _ROW_CHARS)) for name, text in (*rows, *loaded) if text]


def proposed(made: Reflection, shown: Sequence[Proposal]) -> Answer:
    """Return the proposals of a reflection; none of them is carried out."""
    signals = {level: int(count) for level, count in made.signals.items()}
    values: dict[str, Any] = {"id": made.id, "signals": signals, "known": made.known, "decides": PERSON_DECIDES}
    values |= {"proposals": [_proposal(item) for item in shown], "refused": [harmless(why) for why in made.refused]}
    counts = ", ".join(f"{count} {level}" for level, count in signals.items())
    lines = [f"Reflection {made.id}: {sum(signals.values())} signals ({counts}); {made.known} known already."]
    lines += [part for item in shown for part in _proposal_lines(item)]
    lines.append(PERSON_DECIDES if shown else "Nothing is proposed.")
    return Answer(values, "\n".join(lines))


def decided(done: Decided) -> Answer:
    """Return what an answer to proposals did."""
    listed = [{"label": item.label, "state": item.state, "reason": harmless(item.reason)} for item in done.proposals]
    names = ", ".join(item.label for item in done.proposals) or "nothing"
    values = {"verb": done.verb, "proposals": listed, "decides": PERSON_DECIDES}
    if done.verb == "prepare":
        return Answer(values, f"Kept as advice: {names}. Nothing is written yet: the user confirms it with "
                      "`swarmlore reflect --review` in a terminal.")  # fmt: skip
    return Answer(values, f"{done.verb}: {names}")


def _proposal(item: Proposal) -> dict[str, Any]:
    return {
        "label": item.label,
        "number": item.number,
        "route": item.route,
        "level": item.level,
        "action": item.action,
        "title": harmless(item.title),
        "target": harmless(item.target),
        "quote": harmless(item.quote, 100),
        "conflict": harmless(item.conflict),
        "similar": harmless(item.similar),
        "state": item.state,
        "diff": _diff(item),
    }


def _diff(item: Proposal) -> list[str]:
    """Return the neutralised lines of a diff, 400 at most."""
    return [line[:1] + harmless(line[1:]) for line in item.diff.splitlines()[:_MOST_LINES]]


def _proposal_lines(item: Proposal) -> list[str]:
    head = f"{item.number}. [{item.label}] {item.route}, {item.level}, {item.action} {harmless(item.target)}"
    conflict = [f"   conflict: {harmless(item.conflict)}"] if item.conflict else []
    return [head, *conflict, *(f"   {line}" for line in _diff(item))]


def failed(error: SwarmloreError, code: str) -> Answer:
    """Return an error with its hint."""
    values = {"error": error.message, "hint": error.hint, "code": code}
    return Answer(values, f"{error.message}\nhint: {error.hint}" if error.hint else error.message, failed=True)
