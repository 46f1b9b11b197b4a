"""Notes: pages that people read, review and commit; what a page says is read leniently and never rewritten.

`docs/solutions/**.md` and `~/.learnings/documents/**` hold them. Texts of the head are read as they stand; a confidence
is `high`, `medium`, `low` in any case, or a number.
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
"""Those of the strict template; any other text is a category too."""
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
"""The known fields in the order in which a new note has them."""
_SLUG_CHARS = 50
_HASH_CHARS = 6
_NAMELESS = "note"
_OTHER = re.compile(r"[^a-z0-9 ]+")
_OWN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@frozen
class Note:
    """What a note says. `fields` holds the whole head, also what is not known here."""

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
        """The confidence as a word: high, medium, low, or unknown where the note says none that is one."""
        said = _text(self.fields.get("confidence")).lower()
        return confidence_label(self.confidence) if said in CONFIDENCES or _number(said) is not None else "unknown"

    @property
    def created_at(self) -> float | None:
        """When it was made, in seconds since the epoch; None where it does not say so."""
        try:
            return from_iso(self.created)
        except (ValueError, OverflowError):
            return None

    @property
    def own_id(self) -> str:
        """The id that its head claims, where it could be the name of a file."""
        said = _text(self.fields.get("id"))
        return said if _OWN_ID.fullmatch(said) else ""


def parse_note(text: str) -> Note:
    """The note in a text; raises Unreadable where its head is broken."""
    page = read_page(text)
    said = page.fields
    title = _text(said.get("title"))
    return Note(
        id=note_id(title, page.body),
        title=title,
        created=_text(said.get("created")),
        confidence=confidence_of(_text(said.get("confidence"))),
        category=_text(said.get("category")),
        tags=_once(texts_of(said.get("tags"), commas=True)),
        symptoms=_once(texts_of(said.get("symptoms"))),
        root_cause=_text(said.get("root_cause")),
        key_insight=_text(said.get("key_insight")),
        language=_text(said.get("language")),
        framework=_text(said.get("framework")),
        links=_once((*texts_of(said.get("links")), *texts_of(said.get("related")))),
        body=page.body,
        fields=said,
    )


def note_id(title: str, body: str) -> str:
    """The id of a note: a slug of its title and a part of the hash of title and body; always a plain file name.

    The slug is the title in lower case with nothing kept but a-z, 0-9 and spaces, its words joined by hyphens, cut
    after 50 characters wherever that is; a title that leaves nothing gets the slug `note`.
    """
    words = "-".join(_OTHER.sub("", title.lower()).split())[:_SLUG_CHARS]
    digest = sha256(f"{title}\n{body}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{words or _NAMELESS}-{digest[:_HASH_CHARS]}"


def confidence_of(said: str) -> float:
    """A confidence as a number between 0 and 1: words by the table, numbers as they are, anything else unknown."""
    number = CONFIDENCES.get(said.lower(), _number(said))
    return UNKNOWN if number is None else min(1.0, max(0.0, number))


def confidence_label(confidence: float) -> str:
    """The word for a number."""
    return "high" if confidence >= 0.8 else "medium" if confidence >= 0.5 else "low"


def write_note(fields: Mapping[str, Any], body: str) -> str:
    """A new note: known fields in their order, then the others; what is empty is left out, the body kept as it is."""
    said = {**{name: fields[name] for name in FIELDS if name in fields}, **fields}
    lines = [line for name, value in said.items() if not _is_empty(value) for line in _lines(name, value)]
    return "---\n" + "".join(line + "\n" for line in lines) + "---\n" + body


def _lines(name: str, value: Any) -> list[str]:
    if name == "confidence":
        value = confidence_label(value) if isinstance(value, (int, float)) else str(value).lower()
    # A bare day is a date to some readers, and the schema wants a text.
    return [f"{name}: {quoted(str(value))}"] if name == "created" else entry_lines(name, value, 0)


# What is wrong with it


def problems(note: Note, *, strict: bool = False) -> tuple[str, ...]:
    """What a note lacks, in the words of its author; `strict` holds it against the template of `docs/solutions`."""
    said = note.fields
    found = [f"{name} is missing" for name in ("title", "created", "confidence") if not _text(said.get(name))]
    if note.created and not (_DAY.fullmatch(note.created) and note.created_at is not None):
        found.append("created is no day such as 2026-03-16")
    if _text(said.get("confidence")) not in ("", *CONFIDENCES):
        found.append("confidence is none of high, medium, low")
    if len(note.tags) < len(texts_of(said.get("tags"), commas=True)):
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
        return "" if name == "title" else f"{name} is missing"  # a title is asked for in any case
    if len(text) < least:
        return f"{name} is shorter than {least} characters"
    return f"{name} is longer than {most} characters" if most is not None and len(text) > most else ""


def _choice(note: Note, name: str, known: tuple[str, ...], *, required: bool = False) -> str:
    said = note.fields.get(name)
    if said is None or said == "":
        return f"{name} is missing" if required else ""
    return "" if said in known else f"{name} is none of {', '.join(known)}"


def missing_for_add(note: Note) -> tuple[str, ...]:
    """The fields that a note must have before it is added to the learnings."""
    return tuple(name for name in ("title", "category", "key_insight") if not getattr(note, name))


def _text(value: Any) -> str:
    """A value as one text; a list or table is none."""
    said = value.strip() if isinstance(value, str) else ""
    return "" if said in ("~", "null") else said


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
