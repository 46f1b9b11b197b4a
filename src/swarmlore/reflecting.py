"""Lessons in a text, proposed and not stored: whoever reads them decides."""

from __future__ import annotations

import re
from collections.abc import Callable

from swarmlore.config import Settings
from swarmlore.errors import InvalidInput, Rejected
from swarmlore.formats.transcripts.turns import Turn
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.records import Caller, Draft, Proposal
from swarmlore.remember import Terms, foresee
from swarmlore.rules.birth import birth
from swarmlore.rules.block import strip_blocks
from swarmlore.rules.gate import pass_gate, scrub_text
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from swarmlore.rules.found import Found

MAX_CHARS = 1_000_000
MOST_PROPOSALS = 10
# Who speaks, where a text says so at the beginning of a line.
_SPEAKERS = r"user|human|person|me|assistant|agent|ai|claude|codex|model"
_TOOLS = (
    r"tool(?:[ _-]?(?:use|call|result|output|response))?|system|(?:std)?out(?:put)?|stderr|results?|bash|shell|terminal"
    r"|console|function(?:[ _-]?(?:call|result|output))?|command|observation|environment"
)
_MARK = r"^[ \t>*_#]{{0,8}}({})(?:[ \t]?[(\[][^\n()\[\]]{{0,60}}[)\]])?[ *_]{{0,4}}:[ *_]{{0,4}}"
_PEOPLE = ("user", "human", "person", "me")


def lessons_in(text: str) -> tuple[Found, ...]:
    """What a text teaches, best first, each once."""
    if not isinstance(text, str):
        raise InvalidInput("a text is needed", "give what was said, as one text")
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"the text has {len(text)} characters", f"{MAX_CHARS} at most: give the newest part")
    from swarmlore.rules.session_lessons import lessons_of

    once = {found.text: found for found in reversed(lessons_of(turns_of(text)))}
    return tuple(reversed(once.values()))[:MOST_PROPOSALS]


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


class Reflection:
    """Says what would become of a lesson, for one caller."""

    def __init__(self, store: Store, caller: Caller, settings: Settings, new_id: Callable[[], str]) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._new_id = new_id

    def propose(self, found: Found, now: float) -> Proposal:
        """A lesson as a proposal; the store is only looked at."""
        profile = self._settings.recall.profile
        about = {"kind": found.kind, "confidence": found.confidence, "excerpt": found.excerpt}
        draft = Draft(found.text, kind=found.kind, source="reflect", situation=found.situation, trust=found.trust)
        try:
            passed = pass_gate(draft, profile=profile)
        except Rejected as refusal:
            return Proposal(scrub_text(found.text), **about, outcome="rejected", reason=refusal.reason)
        memory = birth(passed.draft, self._caller, self._new_id(), now, {})
        if passed.quarantine:
            return Proposal(memory.text, **about, outcome="quarantined", reason=passed.quarantine)
        outcome, target, reason = foresee(self._store, memory, now, Terms(profile))
        known = target.handle if target else ""
        return Proposal(memory.text, **about, outcome=outcome, known_as=known, reason=reason, situation=found.situation)
