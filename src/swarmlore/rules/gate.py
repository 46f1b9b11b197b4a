"""The gate: every text that is to be stored passes here, whatever its door.

Order: clean Unicode → redact secrets → structure → safety → meaning. Duplicates are decided next, inside the write
transaction (`rules.upsert`), because only there nobody else can add the same thing meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from swarmlore.errors import InvalidInput, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.records import LESSON_SOURCES, MAX_CITATIONS, Citation, Draft
from swarmlore.rules.safety import inspect_safety
from swarmlore.rules.structure import MAX_LESSON, MIN_LESSON, check_sanity, check_structure
from swarmlore.rules.vague import is_vague
from swarmlore.text.clean import clean
from swarmlore.text.secrets import redact, redact_under

if TYPE_CHECKING:
    from typing import Any

# Doors whose lessons may be longer than 280 characters.
LONG_SOURCES = ("learned_comment", "inject")
LONG_PROFILES = ("lane", "swarm")
# What came from programs that know no such limit says so in its `extra`.
LONG_ORIGINS = ("lane", "agent_swarm", "mcp_memory", "mem0")
_ORIGIN_OF = {"lane": "lane", "swarm": "agent_swarm"}  # the program whose tools let a profile's texts in
MAX_CHARS = 65_536
SITUATION_CHARS = 400
VAGUE = "lesson may be too vague (no tech reference or action verb)"


@frozen
class Passed:
    """A draft that may be stored, and what the gate did to it. `quarantine` is the reason to hide it, or ''."""

    draft: Draft
    redacted: tuple[str, ...] = ()
    stripped: int = 0
    warnings: tuple[str, ...] = ()
    quarantine: str = ""


class GateRejection(Rejected):
    """A rejection that still carries the cleaned, redacted draft, so that it can be listed."""

    def __init__(self, cause: Rejected, draft: Draft) -> None:
        super().__init__(cause.reason, cause.layer, cause.hint)
        self.draft = draft


def pass_gate(draft: Draft, *, profile: str = "default", validate: bool = True) -> Passed:
    """Check one draft; raises Rejected or InvalidInput. Unicode and secrets are never skipped."""
    draft, redacted, stripped = scrub(draft)
    if not draft.text:
        raise InvalidInput("there is no text to remember", 'say it: swarmlore remember "TEXT"')
    if not validate:
        check_sanity(draft, max_chars=MAX_CHARS)
        return Passed(draft, redacted, stripped)
    try:
        check_structure(draft, lesson=is_short_lesson(draft, profile), max_chars=MAX_CHARS)
        warnings, quarantine = _judge_safety(draft)
    except Rejected as cause:
        raise GateRejection(cause, draft) from None
    if is_lesson(draft) and is_vague(draft.text):
        warnings = (*warnings, VAGUE)
    return Passed(_with_origin(draft, profile), redacted, stripped, warnings, quarantine)


def _with_origin(draft: Draft, profile: str) -> Draft:
    """A text that only the rules of another program let in says so: it has to pass again when it is restored, or comes
    with a file."""
    origin = _ORIGIN_OF.get(profile, "")
    if not origin or not is_short_lesson(draft, "") or MIN_LESSON <= len(draft.text.strip()) <= MAX_LESSON:
        return draft
    return replace(draft, extra={origin: {}, **draft.extra})


def is_lesson(draft: Draft) -> bool:
    return draft.source in LESSON_SOURCES


def is_short_lesson(draft: Draft, profile: str) -> bool:
    """Whether the 15–280 characters of a lesson apply."""
    return is_lesson(draft) and draft.source not in LONG_SOURCES and profile not in LONG_PROFILES


def profile_of(extra: Mapping[str, Any], profile: str) -> str:
    """The rules for a memory that passes once more: what came in long from another program may stay so."""
    return "lane" if any(name in extra for name in LONG_ORIGINS) else profile


def _judge_safety(draft: Draft) -> tuple[tuple[str, ...], str]:
    """Warnings, and the reason for quarantine; raises Rejected. Titles and tags are shown too, so they count."""
    warnings: list[str] = []
    quarantine = ""
    texts = (draft.text, draft.title, " ".join(draft.tags))
    for finding in (finding for text in texts if text for finding in inspect_safety(text)):
        if finding.action == "reject":
            raise Rejected(finding.reason, 2, "say what to do instead, without the dangerous text itself")
        if finding.action == "quarantine":
            quarantine = quarantine or finding.reason
        else:
            warnings.append(finding.reason)
    return tuple(dict.fromkeys(warnings)), quarantine


def scrub(draft: Draft) -> tuple[Draft, tuple[str, ...], int]:
    """The draft with every text in it cleaned and redacted; the rules that fired; how many characters were removed."""
    scrubber = _Scrubber()
    clean_draft = replace(
        draft,
        text=_without_our_blocks(scrubber.text(draft.text)).strip(),
        title=_without_our_blocks(scrubber.text(draft.title)).strip(),
        tags=tuple(scrubber.text(tag).strip() for tag in draft.tags),
        entities=tuple(scrubber.text(entity).strip() for entity in draft.entities),
        category=None if draft.category is None else scrubber.text(draft.category).strip(),
        key=scrubber.text(draft.key),
        situation=" ".join(_without_our_blocks(scrubber.text(draft.situation)).split())[:SITUATION_CHARS],
        situation_via=scrubber.text(draft.situation_via)[:SITUATION_CHARS] if draft.situation else "",
        scope=None if draft.scope is None else scrubber.text(draft.scope),
        id=scrubber.text(draft.id),
        source_ref=scrubber.value(draft.source_ref),
        citations=scrubber.citations(draft.citations),
        extra=scrubber.value(draft.extra),
    )
    return clean_draft, tuple(scrubber.redacted), scrubber.stripped


def _without_our_blocks(text: str) -> str:
    """What an agent was shown is not learnt again from it."""
    if "=== swarmlore notes" not in text:
        return text
    from swarmlore.rules.block import strip_blocks

    return strip_blocks(text)


def scrub_value(value: Any) -> Any:
    """JSON values with every text in them cleaned and redacted."""
    return _Scrubber().value(value)


def scrub_text(text: str) -> str:
    """One text, cleaned and redacted: for cues and anything else that is stored beside a memory."""
    return _Scrubber().text(text)


class _Scrubber:
    """Counts what it removes on its way through the texts of one draft."""

    def __init__(self) -> None:
        self.redacted: list[str] = []
        self.stripped = 0

    def text(self, text: str, names: tuple[str, ...] = ()) -> str:
        """A text, which may be JSON itself, below the keys that name it."""
        if not isinstance(text, str):
            raise InvalidInput(f"expected a text, got {type(text).__name__}", "give every text as a string")
        if not text:
            return text
        cleaned, removed = clean(self._values_inside(text, names) if text[0] in "{[" else text)
        cleaned, rules = redact(cleaned)
        cleaned, named = redact_under(names, cleaned)
        self.stripped += removed
        self._count(rules + named)
        return cleaned

    def _values_inside(self, text: str, names: tuple[str, ...]) -> str:
        """A text whose JSON holds secrets, written anew without them; any other text as it is."""
        inside = _Scrubber()
        try:
            held = inside.value(json.loads(text), names)
        except (ValueError, RecursionError):
            return text
        self._count(inside.redacted)
        return json.dumps(held, ensure_ascii=False) if inside.redacted else text

    def _count(self, rules: Iterable[str]) -> None:
        self.redacted += [rule for rule in rules if rule not in self.redacted]

    def citations(self, given: Any) -> tuple[str | Citation, ...]:
        """Places that a door cites as texts, or citations that were made elsewhere."""
        if not isinstance(given, (tuple, list)) or not all(isinstance(item, (str, Citation)) for item in given):
            raise InvalidInput("citations are a list of texts", 'as in: citations=["src/auth.py:12-20"]')
        if len(given) > MAX_CITATIONS:
            raise InvalidInput(f"too many citations: {len(given)}", f"cite at most {MAX_CITATIONS} places")
        return tuple(self.text(item) if isinstance(item, str) else self._citation(item) for item in given)

    def _citation(self, citation: Citation) -> Citation:
        from swarmlore.text.citations import is_sound

        if not is_sound(citation):
            raise InvalidInput("a citation names no place in the project", "cite PATH or PATH:A-B from its root")
        texts = {name: self.text(getattr(citation, name)) for name in ("path", "span_hash", "commit")}
        return replace(citation, **texts)

    def value(self, value: Any, names: tuple[str, ...] = ()) -> Any:
        """The same for every string inside JSON values: keys, values, and values as the keys above them name them."""
        if isinstance(value, str):
            return self.text(value, names)
        if isinstance(value, Mapping):
            return {self.text(str(key), names): self.value(item, (*names, str(key))) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item, names) for item in value]
        return value
