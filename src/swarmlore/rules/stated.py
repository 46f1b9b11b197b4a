"""The statements of a prompt that have none of the shapes of a rule, as lessons where enough speaks for them."""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.rules.clauses import (
    Clause,
    behind_preamble,
    lesson_of,
    open_sentence,
    ours_within,
    stands_alone,
)
from swarmlore.rules.correction_words import (
    FALSE_ALARMS,
    HYPOTHETICAL,
    LASTING_VERB,
    ONE_OFF,
    SYMPTOM,
    TASK_CLAUSE,
    compiled,
)
from swarmlore.rules.found import MAX_CHARS, Found
from swarmlore.rules.referents import name_subject
from swarmlore.rules.statements import Heard, behind_order, binds_all, chooses, holds_in_general, is_statement
from swarmlore.text.prose import QUOTED, Said

_CHOICE_WORDS = 4


def find_stated(said: Said, wrong: bool, after: Sequence[Said], heard: Heard) -> Found | None:
    """The lesson of a sentence that states how things are, where enough speaks for it."""
    clause = open_sentence(said.text, frozenset(("wrong",)) if wrong else frozenset())
    named = name_subject(clause.text, heard.before)
    clause = Clause(named, named.lower(), clause.marks)
    if lesson := _choice(clause, said, after, heard):
        return lesson
    behind = behind_order(clause.text)
    reason = open_sentence(behind, clause.marks | {"reversed"}) if behind else None
    parts = (_with_reason(clause, after), clause, behind_preamble(clause), reason, ours_within(clause))
    for whole in dict.fromkeys(parts):
        if whole and is_statement(whole.low) and _may_state(whole) and holds_in_general(whole.text, whole.marks, heard):
            return lesson_of(whole, said, _kind_of(whole, heard), "medium")
    return None


def _kind_of(clause: Clause, heard: Heard) -> str:
    if "wrong" not in clause.marks and binds_all(clause.text):
        return "commitment"
    return "correction" if heard.before and not heard.asked and "note" not in clause.marks else "learning"


def _choice(clause: Clause, said: Said, after: Sequence[Said], heard: Heard) -> Found | None:
    """One of the ways that the agent had offered, with the reason for it."""
    more = f". {after[0].text}" if after and len(clause.low.split()) <= _CHOICE_WORDS else ""
    whole = Clause(f"{clause.text}{more}".rstrip(" !."), f"{clause.low}{more.lower()}", clause.marks)
    fits = heard.before and chooses(whole.text, heard) and _may_state(whole)
    return lesson_of(Clause(f"Decided: {whole.text}", "", clause.marks), said, "decision", "medium") if fits else None


def _with_reason(clause: Clause, after: Sequence[Said]) -> Clause:
    """With the next sentence, where that says why: "You can't cast SKUs. They carry leading zeros."."""
    more = after[0].text.rstrip(" !.") if after else ""
    goes_on = compiled(r"(?:they|it|that|those|these|there) [^?]{8,200}$", 2).match(more) is not None
    longer = f"{clause.text}. {more}"
    return Clause(longer, longer.lower(), clause.marks) if goes_on and len(longer) < MAX_CHARS else clause


def _may_state(clause: Clause) -> bool:
    """Whether nothing speaks against a statement; its reason may well tell of a symptom."""
    low, text = clause.low, clause.text
    first = compiled(r"[,;:]\s|\. | because | due to ").split(low, maxsplit=1)[0]
    first = compiled(rf"\bstill (?={LASTING_VERB}\b)").sub("", first)  # "the tills still talk SOAP" is no complaint
    spoilt = any(compiled(pattern).search(low) for pattern in (HYPOTHETICAL, TASK_CLAUSE))
    spoilt = spoilt or any(compiled(pattern).search(first) for pattern in (ONE_OFF, SYMPTOM, FALSE_ALARMS))
    return not (spoilt or QUOTED in text or "?" in text) and stands_alone(low)
