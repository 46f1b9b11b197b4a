"""A whole note at the gate: piece by piece, for a page is longer than anything that is stored in one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.chunks import chunks
from swarmlore.domain.language.display import choices_hint
from swarmlore.domain.language.unicode import clean
from swarmlore.domain.policy.contradiction import is_vague
from swarmlore.domain.records import (
    CATEGORIES,
    ID_HINT,
    KINDS,
    LESSON_SOURCES,
    MAX_CITATIONS,
    SOURCES,
    STATUSES,
    TIERS,
    Caller,
    Citation,
    Confirmation,
    Draft,
    Memory,
    Situation,
    confidence_of,
    is_id,
)
from swarmlore.domain.security.redaction import redact, redact_under
from swarmlore.domain.security.safety import inspect_safety
from swarmlore.errors import InvalidInput, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any


MIN_LESSON = 15
MAX_LESSON = 280
MAX_CHARS = 65_536
MAX_TAGS = 20
MAX_WORD = 64
"""Characters of a tag and of a free category."""
MAX_NUMBER = 1e12
"""Seconds: thirty thousand years."""

_SCOPE = re.compile(r"global|stack:[a-zA-Z0-9_-]{1,64}")
_ENTITY = re.compile(r"(?:project|feature|agent|person|business|chore):[a-z0-9-]+")


def check_structure(draft: Draft, *, lesson: bool, max_chars: int = MAX_CHARS) -> None:
    """Raise Rejected for the first rule of layer 1 that the draft breaks, InvalidInput for a field nobody can read."""
    _check_length(draft.text, lesson, max_chars)
    _check_category(draft)
    check_sanity(draft, max_chars=max_chars)


def check_sanity(draft: Draft, *, max_chars: int = MAX_CHARS) -> None:
    """What has to hold even where validation is switched off: sizes, known words, ranges."""
    _check_length(draft.text, lesson=False, max_chars=max_chars)
    if draft.scope is not None and not _matches(_SCOPE, draft.scope):
        raise Rejected("invalid scope: must be 'global' or 'stack:<name>'", 1, "for example: --scope stack:python")
    _check_confidence(draft.confidence)
    _check_words(draft)
    _check_tags(draft.tags)
    _check_entities(draft.entities)
    _check_numbers(draft)


def _check_length(text: Any, lesson: bool, max_chars: int) -> None:
    length = len(text.strip()) if isinstance(text, str) else 0
    if not lesson:
        _check_long_form(length, max_chars)
    elif length < MIN_LESSON:
        raise Rejected(f"lesson too short (min {MIN_LESSON} chars)", 1, "say what to do, where and why")
    elif length > MAX_LESSON:
        hint = "say it in one or two sentences, or keep all of it: swarmlore remember --note"
        raise Rejected(f"lesson too long (max {MAX_LESSON} chars)", 1, hint)


def _check_long_form(length: int, max_chars: int) -> None:
    if not length:
        raise Rejected("text is empty", 1, "give the text to remember")
    if length > max_chars:
        raise Rejected(f"text too long (max {max_chars} chars)", 1, "split it, or keep it as a file")


def _check_category(draft: Draft) -> None:
    if draft.category is None or draft.category in CATEGORIES:
        return
    if draft.source == "note" and _is_word(draft.category):
        return
    raise Rejected(f"invalid category: {draft.category}", 1, choices_hint(str(draft.category), CATEGORIES))


def _check_confidence(confidence: Any) -> None:
    if confidence is None:
        return
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)):
        raise InvalidInput(f"confidence is not a number: {confidence!r}", "give a number from 0.0 to 1.0")
    if not 0.0 <= confidence <= 1.0:  # NaN fails here too
        raise Rejected("confidence out of range [0.0, 1.0]", 1, "give a number from 0.0 to 1.0")


def _check_words(draft: Draft) -> None:
    _choose("kind", draft.kind, KINDS)
    _choose("tier", draft.tier, TIERS)
    _choose("status", draft.status, (*STATUSES, "active"))
    _choose("source", draft.source, SOURCES)
    if draft.id and not (isinstance(draft.id, str) and is_id(draft.id)):
        raise InvalidInput(f"invalid id: {draft.id!r}", ID_HINT)


def _choose(field: str, value: Any, possible: tuple[str, ...]) -> None:
    if value is not None and value not in possible:
        raise InvalidInput(f"invalid {field}: {value}", choices_hint(str(value), possible))


def _check_tags(tags: Any) -> None:
    if not isinstance(tags, (tuple, list)):
        raise InvalidInput(f"tags are not a list: {tags!r}", "give each tag on its own")
    if len(tags) > MAX_TAGS:
        raise InvalidInput(f"too many tags: {len(tags)}", f"give at most {MAX_TAGS}")
    for tag in tags:
        if not _is_word(tag):
            raise InvalidInput(f"invalid tag: {tag!r}", f"1 to {MAX_WORD} printable characters")


def _check_entities(entities: Any) -> None:
    if not isinstance(entities, (tuple, list)):
        raise InvalidInput(f"entities are not a list: {entities!r}", "give each entity on its own")
    for entity in entities:
        if not _matches(_ENTITY, entity):
            hint = "type:slug, with a type of: project, feature, agent, person, business, chore; slug of a-z, 0-9 and -"
            raise InvalidInput(f"invalid entity: {entity!r}", hint)


def _check_numbers(draft: Draft) -> None:
    if draft.ttl_s is not None and not (_is_number(draft.ttl_s) and draft.ttl_s > 0):
        raise InvalidInput(f"invalid time to live: {draft.ttl_s!r}", "give a number of seconds above 0")
    if draft.created_at is not None and not _is_number(draft.created_at):
        raise InvalidInput(f"invalid time of creation: {draft.created_at!r}", "give seconds since 1970 in UTC")
    if draft.trust is not None and (isinstance(draft.trust, bool) or draft.trust not in (0, 1, 2, 3)):
        raise InvalidInput(f"invalid trust: {draft.trust!r}", "one of: 0, 1, 2, 3")


def _is_number(value: Any) -> bool:
    # A comparison, because math.isfinite raises for whole numbers beyond the range of a float.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < MAX_NUMBER


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_WORD and bool(value.strip()) and value.isprintable()


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


# Doors whose lessons may be longer than 280 characters.
LONG_SOURCES = ("learned_comment", "inject")
LONG_PROFILES = ("lane", "swarm")
# What came from programs that know no such limit says so in its `extra`.
LONG_ORIGINS = ("lane", "agent_swarm", "mcp_memory", "mem0")
_ORIGIN_OF = {"lane": "lane", "swarm": "agent_swarm"}  # the program whose tools let a profile's texts in
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
    from swarmlore.domain.policy.fence import strip_blocks

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
        from swarmlore.domain.language.citations import is_sound

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


DAY_S = 86_400.0
PATTERN = "pattern"  # where the memory of an approach carries its record
CLAIMS = "swarmlore_claims"  # where a memory keeps what its file claimed; see `rules.claims`
# What was derived from tool output, transcripts, the web or files of others is never worth more than this.
TRUST_CEILING = {"transcript": 1, "session_summary": 1, "import": 1, "ledger": 1, "migration": 1}


def birth(draft: Draft, caller: Caller, id: str, now: float, life_days: Mapping[str, float]) -> Memory:
    """The memory a draft becomes, with everything unsaid filled in."""
    tier = draft.tier or "swarm"
    created_at = now if draft.created_at is None else min(draft.created_at, now)
    confidence = confidence_of(0, draft.auto_generated) if draft.confidence is None else draft.confidence
    situation = (Situation(draft.situation, draft.situation_via, now),) if draft.situation else ()
    return Memory(
        id=id,
        text=draft.text,
        title=draft.title,
        kind=draft.kind or "learning",
        category=draft.category or "other",
        tags=tuple(dict.fromkeys(draft.tags)),
        entities=tuple(dict.fromkeys(draft.entities)),
        tier=tier,
        project=caller.project,
        owner=caller.agent,
        scope=draft.scope or "global",
        status="candidate" if draft.status in (None, "active") else draft.status,
        trust=trust_of(draft, caller),
        source=draft.source,
        source_ref=dict(draft.source_ref),
        key=draft.key,
        confidence=confidence,
        created_at=created_at,
        updated_at=created_at,
        expires_at=_expiry(draft, created_at, life_days),
        auto_generated=draft.auto_generated,
        situations=situation,
        citations=tuple(item for item in draft.citations if isinstance(item, Citation)),
        extra=without_record(draft.extra),
    )


def without_record(extra: Mapping[str, Any]) -> dict[str, Any]:
    """What is said beside a text, without the names that the product keeps its own records under."""
    return {name: value for name, value in extra.items() if name not in (PATTERN, CLAIMS)}


def trust_of(draft: Draft, caller: Caller) -> int:
    """The lowest of what the door claims, what the caller has, and what the source allows."""
    claimed = caller.trust if draft.trust is None else min(draft.trust, caller.trust)
    return max(0, min(claimed, TRUST_CEILING.get(draft.source, 3)))


def _expiry(draft: Draft, created_at: float, life_days: Mapping[str, float]) -> float | None:
    if draft.ttl_s is not None:
        return created_at + draft.ttl_s
    days = life_days.get(draft.source)
    return None if days is None else created_at + days * DAY_S


def in_force(memory: Memory, now: float) -> bool:
    """Whether a memory is neither expired nor outside of its time of validity."""
    if memory.expires_at is not None and memory.expires_at <= now:
        return False
    return (memory.valid_from or now) <= now and (memory.valid_until is None or memory.valid_until > now)


def sighting_place(memory: Memory, project: str, at: float) -> str:
    """Where a sighting counts once: a project for the hive, else a phase; unannounced phases are days."""
    if memory.tier == "hive":
        return project
    day = iso(at)
    return f"day:{day[:10]}" if day else ""


def birth_places(memory: Memory) -> frozenset[str]:
    """Where a memory was born: seen there again, it is not confirmed."""
    if memory.tier == "hive":
        return frozenset((memory.project,))
    day = sighting_place(memory, memory.project, memory.created_at)
    return frozenset((day, f"phase:{memory.born_in_phase}") if memory.born_in_phase else (day,))


def confirm(memory: Memory, caller: Caller, now: float, phase: str = "") -> Memory | None:
    """The memory with one more confirmation, or None where this sighting does not count. `phase` is where the project
    stands, where that is more than a day."""
    where = sighting_place(memory, caller.project, now)
    if phase and memory.tier != "hive":
        where = phase
    known = {confirmation.where for confirmation in memory.confirmed_by} | birth_places(memory)
    if where in known or not memory.live:
        return None
    confirmed_by = (*memory.confirmed_by, Confirmation(where, now, caller.agent))
    earned = confidence_of(len(confirmed_by), memory.auto_generated)
    return replace(memory, confirmed_by=confirmed_by, confidence=max(memory.confidence, earned), updated_at=now)


MAX_TITLE = 500


def refuse_unsafe(title: str, body: str) -> None:
    """Raises what the gate has against a note."""
    for piece in chunks(body) or (body.strip() or title,):
        passed = pass_gate(Draft(piece, source="note", title=title[:MAX_TITLE]), validate=True)
        if passed.quarantine:
            raise InvalidInput(passed.quarantine, "say what to do, without the dangerous text")
