"""Layer 1 of the gate: lengths, known words and ranges of a draft."""

from __future__ import annotations

import re

from swarmlore.errors import InvalidInput, Rejected
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.records import CATEGORIES, KINDS, SOURCES, STATUSES, TIERS, Draft
from swarmlore.text.choices import choices_hint
from swarmlore.text.ids import ID_HINT, is_id

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
