"""Parse, write and validate notes: Markdown pages with front matter such as title, category, tags and confidence.

They are in `docs/solutions/**.md` and `~/.learnings/documents/**`, parsed leniently and never rewritten. A confidence
is `high`, `medium` or `low` in any case, or a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from hashlib import sha256

from swarmlore.domain.json_codec import from_iso
from swarmlore.frozen import TYPE_CHECKING, field, frozen
from swarmlore.notes.markdown import read_page, texts_of
from swarmlore.notes.yaml_edit import entry_lines, quoted

if TYPE_CHECKING:
    from typing import Any


CONFIDENCES = {"high": 0.9, "medium": 0.6, "low": 0.3}
UNKNOWN = 0.6
CATEGORIES = (
    "build-errors",
    "performance-issues",
    "security-fixes",
    "testing-patterns",
    "debugging-sessions",
    "architecture-decisions",
    "api-integrations",
    "dependency-issues",
    "deployment-fixes",
    "database-migrations",
    "ui-patterns",
    "tooling-setup",
)
"""Categories of the strict template; others are allowed in lenient notes."""
ENVIRONMENTS = ("development", "ci", "staging", "production", "all")
SEVERITIES = ("critical", "high", "medium", "low")
FIELDS = (
    "title",
    "category",
    "tags",
    "symptoms",
    "root_cause",
    "key_insight",
    "created",
    "confidence",
    "language",
    "framework",
    "links",
)
"""The known fields, in the order of a new note."""
_SLUG_CHARS = 50
_HASH_CHARS = 6
_NAMELESS = "note"
_OTHER = re.compile(r"[^a-z0-9 ]+")
_OWN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@frozen
class Note:
    """A parsed note; `fields` is its whole front matter, unknown fields included."""

    id: str
    title: str = ""
    created: str = ""
    confidence: float = UNKNOWN
    category: str = ""
    tags: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    root_cause: str = ""
    key_insight: str = ""
    language: str = ""
    framework: str = ""
    links: tuple[str, ...] = ()
    body: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The confidence as a word; `unknown` if the note has no valid one."""
        text = _text(self.fields.get("confidence")).lower()
        return confidence_label(self.confidence) if text in CONFIDENCES or _number(text) is not None else "unknown"

    @property
    def created_at(self) -> float | None:
        """The creation time in seconds since the epoch; None if missing or invalid."""
        try:
            return from_iso(self.created)
        except (ValueError, OverflowError):
            return None

    @property
    def own_id(self) -> str:
        """The id in the front matter, if it is a valid file name."""
        text = _text(self.fields.get("id"))
        return text if _OWN_ID.fullmatch(text) else ""


def parse_note(text: str) -> Note:
    """Parse a note; raise Unreadable if its front matter is invalid."""
    page = read_page(text)
    fields = page.fields
    title = _text(fields.get("title"))
    return Note(
        id=note_id(title, page.body),
        title=title,
        created=_text(fields.get("created")),
        confidence=confidence_of(_text(fields.get("confidence"))),
        category=_text(fields.get("category")),
        tags=_once(texts_of(fields.get("tags"), commas=True)),
        symptoms=_once(texts_of(fields.get("symptoms"))),
        root_cause=_text(fields.get("root_cause")),
        key_insight=_text(fields.get("key_insight")),
        language=_text(fields.get("language")),
        framework=_text(fields.get("framework")),
        links=_once((*texts_of(fields.get("links")), *texts_of(fields.get("related")))),
        body=page.body,
        fields=fields,
    )


def note_id(title: str, body: str) -> str:
    """Return the id of a note: a slug of its title and 6 digits of the hash of title and body; a plain file name.

    The slug is the title in lower case, reduced to a-z, 0-9 and spaces, words joined by hyphens, cut after 50
    characters. An empty slug becomes `note`.
    """
    words = "-".join(_OTHER.sub("", title.lower()).split())[:_SLUG_CHARS]
    digest = sha256(f"{title}\n{body}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{words or _NAMELESS}-{digest[:_HASH_CHARS]}"


def confidence_of(text: str) -> float:
    """Return a confidence between 0 and 1 from a word or number; 0.6 if it is neither."""
    number = CONFIDENCES.get(text.lower(), _number(text))
    return UNKNOWN if number is None else min(1.0, max(0.0, number))


def confidence_label(confidence: float) -> str:
    """Return a confidence as a word: high from 0.8, medium from 0.5, else low."""
    return "high" if confidence >= 0.8 else "medium" if confidence >= 0.5 else "low"


def write_note(fields: Mapping[str, Any], body: str) -> str:
    """Return a new note: known fields in their order, then others; empty ones are omitted."""
    ordered = {**{name: fields[name] for name in FIELDS if name in fields}, **fields}
    lines = [line for name, value in ordered.items() if not _is_empty(value) for line in _lines(name, value)]
    return "---\n" + "".join(line + "\n" for line in lines) + "---\n" + body


def _lines(name: str, value: Any) -> list[str]:
    if name == "confidence":
        value = confidence_label(value) if isinstance(value, (int, float)) else str(value).lower()
    # Unquoted, some YAML parsers read a date, but the schema requires a string.
    return [f"{name}: {quoted(str(value))}"] if name == "created" else entry_lines(name, value, 0)


def problems(note: Note, *, strict: bool = False) -> tuple[str, ...]:
    """Return what is missing or invalid in a note; `strict` checks the template of `docs/solutions`."""
    fields = note.fields
    found = [f"{name} is missing" for name in ("title", "created", "confidence") if not _text(fields.get(name))]
    if note.created and not (_DAY.fullmatch(note.created) and note.created_at is not None):
        found.append("created is no day such as 2026-03-16")
    if _text(fields.get("confidence")) not in ("", *CONFIDENCES):
        found.append("confidence is none of high, medium, low")
    if len(note.tags) < len(texts_of(fields.get("tags"), commas=True)):
        found.append("tags has the same tag twice")
    return (*found, *_template_problems(note)) if strict else tuple(found)


def _template_problems(note: Note) -> list[str]:
    found = [
        _length("title", note.title, 10, 150),
        _length("root_cause", note.root_cause, 10, None),
        _length("key_insight", note.key_insight, 10, 500),
        _choice(note, "category", CATEGORIES, required=True),
        _choice(note, "environment", ENVIRONMENTS),
        _choice(note, "severity", SEVERITIES),
        "" if 1 <= len(note.tags) <= 10 else "tags has not 1 to 10 tags",
        "" if note.symptoms else "symptoms is missing",
    ]
    return [problem for problem in found if problem]


def _length(name: str, text: str, least: int, most: int | None) -> str:
    if not text:
        return "" if name == "title" else f"{name} is missing"  # a missing title is reported by `problems`
    if len(text) < least:
        return f"{name} is shorter than {least} characters"
    return f"{name} is longer than {most} characters" if most is not None and len(text) > most else ""


def _choice(note: Note, name: str, known: tuple[str, ...], *, required: bool = False) -> str:
    value = note.fields.get(name)
    if value is None or value == "":
        return f"{name} is missing" if required else ""
    return "" if value in known else f"{name} is none of {', '.join(known)}"


def missing_for_add(note: Note) -> tuple[str, ...]:
    """Return the missing fields that `learnings add` requires."""
    return tuple(name for name in ("title", "category", "key_insight") if not getattr(note, name))


def _text(value: Any) -> str:
    """Return a scalar as text; '' for null, lists and tables."""
    text = value.strip() if isinstance(value, str) else ""
    return "" if text in ("~", "null") else text


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _once(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, (str, list, tuple, Mapping)) and not value)
