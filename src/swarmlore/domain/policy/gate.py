"""Validation gate: check, clean and redact a draft, and make a memory of one that passes.

Layer 1 checks structure (lengths, known words, ranges), layer 2 safety, layer 3 whether a lesson is too vague. Every
text in a draft is cleaned of invisible characters and has its secrets redacted, even where validation is switched off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from swarmlore.domain.language.chunks import chunks
from swarmlore.domain.language.display import choices_hint
from swarmlore.domain.language.unicode import clean
from swarmlore.domain.records import (
    CATEGORIES,
    ID_HINT,
    KINDS,
    LESSON_SOURCES,
    MAX_CITATIONS,
    SOURCES,
    STATUSES,
    TIERS,
    Citation,
    Draft,
    is_id,
)
from swarmlore.domain.security.redaction import redact, redact_json_value
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
"""Most characters of a tag and of a free category."""
MAX_NUMBER = 1e12
"""Largest number of seconds: thirty thousand years."""

_SCOPE = re.compile(r"global|stack:[a-zA-Z0-9_-]{1,64}")
_ENTITY = re.compile(r"(?:project|feature|agent|person|business|chore):[a-z0-9-]+")


def check_structure(draft: Draft, *, lesson: bool, max_chars: int = MAX_CHARS) -> None:
    """Raise Rejected for the first rule of layer 1 that the draft breaks, InvalidInput for a malformed field."""
    _check_length(draft.text, lesson, max_chars)
    _check_category(draft)
    check_sanity(draft, max_chars=max_chars)


def check_sanity(draft: Draft, *, max_chars: int = MAX_CHARS) -> None:
    """Raise if sizes, known words or ranges are wrong; these checks apply even with validation switched off."""
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
    if not lesson and not length:
        raise Rejected("text is empty", 1, "give the text to remember")
    if not lesson and length > max_chars:
        raise Rejected(f"text too long (max {max_chars} chars)", 1, "split it, or keep it as a file")
    if lesson and length < MIN_LESSON:
        raise Rejected(f"lesson too short (min {MIN_LESSON} chars)", 1, "say what to do, where and why")
    if lesson and length > MAX_LESSON:
        hint = "say it in one or two sentences, or keep all of it: swarmlore remember --note"
        raise Rejected(f"lesson too long (max {MAX_LESSON} chars)", 1, hint)


def _check_category(draft: Draft) -> None:
    """Raise Rejected for an unknown category; only notes may have free ones."""
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
    """Raise InvalidInput for an unknown kind, tier, status or source, or for an id of another form."""
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
    """Return whether a value is a printable text of 1 to 64 characters, as tags and free categories are."""
    return isinstance(value, str) and len(value) <= MAX_WORD and bool(value.strip()) and value.isprintable()


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


# Sources whose lessons may be longer than 280 characters.
LONG_SOURCES = ("learned_comment", "inject")
LONG_PROFILES = ("lane", "swarm")
# Programs without such a limit; their memories carry the name in `extra`.
LONG_ORIGINS = ("lane", "agent_swarm", "mcp_memory", "mem0")
_ORIGIN_OF = {"lane": "lane", "swarm": "agent_swarm"}  # profile: the program whose tools accept its texts
SITUATION_CHARS = 400
VAGUE = "lesson may be too vague (no tech reference or action verb)"


@frozen
class Passed:
    """A draft that may be stored, and the changes the gate made. `quarantine` is the reason to hide it, or ''."""

    draft: Draft
    redacted: tuple[str, ...] = ()
    stripped: int = 0
    warnings: tuple[str, ...] = ()
    quarantine: str = ""


class GateRejection(Rejected):
    """A rejection that carries the cleaned, redacted draft, so that it can be recorded."""

    def __init__(self, cause: Rejected, draft: Draft) -> None:
        super().__init__(cause.reason, cause.layer, cause.hint)
        self.draft = draft


def pass_gate(draft: Draft, *, profile: str = "default", validate: bool = True) -> Passed:
    """Check one draft; raises Rejected or InvalidInput. Unicode cleaning and redaction are never skipped."""
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
    """Record the origin of a text that is too long or short for a lesson of this product.

    With it the text passes again when it is restored or imported from a file.
    """
    origin = _ORIGIN_OF.get(profile, "")
    if not origin or not is_short_lesson(draft, "") or MIN_LESSON <= len(draft.text.strip()) <= MAX_LESSON:
        return draft
    return replace(draft, extra={origin: {}, **draft.extra})


def is_lesson(draft: Draft) -> bool:
    """Return whether a draft is a lesson, not raw material such as a transcript turn."""
    return draft.source in LESSON_SOURCES


def is_short_lesson(draft: Draft, profile: str) -> bool:
    """Return whether the limit of 15 to 280 characters applies to a draft."""
    return is_lesson(draft) and draft.source not in LONG_SOURCES and profile not in LONG_PROFILES


def profile_of(extra: Mapping[str, Any], profile: str) -> str:
    """Return the profile whose rules apply to a memory that is checked again: long texts of other programs may stay."""
    return "lane" if any(name in extra for name in LONG_ORIGINS) else profile


def _judge_safety(draft: Draft) -> tuple[tuple[str, ...], str]:
    """Return warnings and the reason for quarantine; raises Rejected. Titles and tags count, for they are shown too."""
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
    """Clean and redact every text of a draft; return it, the redaction rules that fired, and the characters removed."""
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
    """Remove our own context blocks, so that an agent does not learn again from memories it was shown."""
    if "=== swarmlore notes" not in text:
        return text
    from swarmlore.domain.policy.fence import strip_blocks

    return strip_blocks(text)


def scrub_value(value: Any) -> Any:
    """Return JSON values with every text in them cleaned and redacted."""
    return _Scrubber().value(value)


def scrub_text(text: str) -> str:
    """Return one text, cleaned and redacted: for cues and other texts stored with a memory."""
    return _Scrubber().text(text)


class _Scrubber:
    """Clean and redact the texts of one draft, and count the removals."""

    def __init__(self) -> None:
        self.redacted: list[str] = []
        self.stripped = 0

    def text(self, text: str, names: tuple[str, ...] = ()) -> str:
        """Clean and redact a text, or the values inside it if it is JSON; `names` are the keys above it."""
        if not isinstance(text, str):
            raise InvalidInput(f"expected a text, got {type(text).__name__}", "give every text as a string")
        if not text:
            return text
        cleaned, removed = clean(self._json_inside(text, names) if text[0] in "{[" else text)
        cleaned, rules = redact(cleaned)
        cleaned, named = redact_json_value(names, cleaned)
        self.stripped += removed
        self._count(rules + named)
        return cleaned

    def _json_inside(self, text: str, names: tuple[str, ...]) -> str:
        """Redact the secrets inside a text that is JSON; return any other text unchanged."""
        inside = _Scrubber()
        try:
            cleaned = inside.value(json.loads(text), names)
        except (ValueError, RecursionError):
            return text
        self._count(inside.redacted)
        return json.dumps(cleaned, ensure_ascii=False) if inside.redacted else text

    def _count(self, rules: Iterable[str]) -> None:
        self.redacted += [rule for rule in rules if rule not in self.redacted]

    def citations(self, given: Any) -> tuple[str | Citation, ...]:
        """Clean and redact citations, given as texts or as records; raises InvalidInput."""
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
        """Clean and redact every string inside JSON values: keys, and values by the keys above them."""
        if isinstance(value, str):
            return self.text(value, names)
        if isinstance(value, Mapping):
            return {self.text(str(key), names): self.value(item, (*names, str(key))) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item, names) for item in value]
        return value


MAX_TITLE = 500


def check_note(title: str, body: str) -> None:
    """Raise if the gate rejects or would quarantine any piece of a note."""
    for piece in chunks(body) or (body.strip() or title,):  # in pieces: a page exceeds the limit of one text
        passed = pass_gate(Draft(piece, source="note", title=title[:MAX_TITLE]), validate=True)
        if passed.quarantine:
            raise InvalidInput(passed.quarantine, "say what to do, without the dangerous text")


_CLEAR = """
    git docker typescript bun vitest node python react sql api hook test schema config file function class module import
    export use avoid prefer run check always never ensure call write add remove update set enable disable
"""
_CLEAR_WORDS = frozenset(_CLEAR.split())
# Numbers, identifiers, paths and quoted names count as technical too.
_TECHNICAL = r"\d|`|[a-z][A-Z]|\w_\w|\w[/.@:=-]\w"


def is_vague(text: str) -> bool:
    """Return whether a text names neither a technical thing nor an action."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    if any(word in _CLEAR_WORDS or word.removesuffix("s") in _CLEAR_WORDS for word in words):
        return False
    return re.search(_TECHNICAL, text) is None
