"""What a client's memory file becomes as a note: its title, what kind of learning it is, what of it is kept. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from swarmlore.domain.language.display import slug
from swarmlore.frozen import frozen

TYPES = ("feedback", "user", "project", "reference")
CATEGORIES = {
    "correction": "patterns",
    "pattern": "patterns",
    "preference": "preferences",
    "decision": "decisions",
    "reference": "references",
}
MAX_TITLE = 150
MAX_INSIGHT = 500
MOST_HEAD = 100  # lines
FIELDS = ("name", "description", "type")
_FIELD = re.compile(r"([ \t]{0,20})([A-Za-z_-]{1,40}):(?:[ \t]+(.*)|)$")
_FOLDED = ("", ">", ">-", "|", "|-")
_CORRECTED = re.compile(
    r"\b(?:do not|don't|never|stop|wrong|instead of|must not|mustn't|should not|shouldn't|avoid|corrected)\b",
    re.IGNORECASE,
)
_DECIDED = re.compile(r"\b(?:decided|decision|chose|chosen|went with|we use|moved to|switched to)\b", re.IGNORECASE)
_IMPORT = re.compile(r"[-*]?\s*@[^\s@]+")
_LINK = re.compile(r"[-*]\s+\[[^\]]{0,300}\]\([^()\s]{1,300}\.md\)")
_FENCE = ("```", "~~~")


@frozen
class Told:
    """What a file says: fields of its note, and the text."""

    title: str
    key_insight: str
    learning_type: str
    body: str

    @property
    def category(self) -> str:
        return CATEGORIES[self.learning_type]


def head_of(text: str) -> tuple[dict[str, str], str]:
    """The few fields that clients write above a memory, and the text below them.

    Line by line and not as YAML: what clients write is often none (`description: use make: it is faster`), and newer
    ones put the type below another name.
    """
    lines = text.split("\n")
    end = next((place for place, line in enumerate(lines[1:MOST_HEAD], 1) if line.rstrip() == "---"), 0)
    if lines[0].rstrip() != "---" or not end:
        return {}, text
    fields: dict[str, str] = {}
    name = ""
    for line in lines[1:end]:
        found = _FIELD.match(line)
        if found:
            name, value = found[2], (found[3] or "").strip()
            if name in FIELDS and name not in fields:
                fields[name] = "" if value in _FOLDED else _unquoted(value)
        elif name in FIELDS and line[:1] in (" ", "\t"):
            fields[name] = f"{fields.get(name, '')} {line.strip()}".strip()
    return fields, "\n".join(lines[end + 1 :])


def _unquoted(value: str) -> str:
    mark = value[:1]
    if len(value) > 1 and mark in "\"'" and value.endswith(mark):
        return value[1:-1].replace('\\"', '"') if mark == '"' else value[1:-1].replace("''", "'")
    return value


def told_by(fields: Mapping[str, str], body: str, name: str) -> Told:
    """The note that a file makes; `name` is the file's, without its ending."""
    body = without_imports(body).strip("\n")
    title = _title(fields.get("name", ""), body, name)
    insight = " ".join(fields.get("description", "").split()) or first_statement(body) or title
    return Told(title, insight[:MAX_INSIGHT], learning_type(fields.get("type", ""), f"{insight}\n{body}"), body)


def learning_type(kind: str, text: str) -> str:
    """A client's word for a memory as one of ours; where it can be either of two, the words of the text decide."""
    kind = kind.strip().lower()
    if kind == "user":
        return "preference"
    if kind == "reference":
        return "reference"
    if kind == "feedback":
        return "correction" if _CORRECTED.search(text) else "pattern"
    return "decision" if kind == "project" and _DECIDED.search(text) else "pattern"


def _title(said: str, body: str, name: str) -> str:
    said = " ".join(said.split())
    if " " in said:
        return said[:MAX_TITLE]
    heading = next((line.lstrip("# ").strip() for line in body.split("\n") if line.startswith("# ")), "")
    title = _spoken(said) or heading or _spoken(name)
    return title[:MAX_TITLE] or "Memory"


def _spoken(name: str) -> str:
    """`feedback_db-tests` as words."""
    words = " ".join(name.replace("_", " ").replace("-", " ").split())
    return words[:1].upper() + words[1:]


def first_statement(body: str) -> str:
    """The first line that says something."""
    for line in body.split("\n"):
        line = line.strip()
        if line and not line.startswith(("#", *_FENCE, "<!--", "---", "|")):
            return line.lstrip("-*> ").strip()
    return ""


def without_imports(text: str) -> str:
    """A text without the lines that only name another file to be read (`@docs/x.md`)."""
    kept, fenced = [], False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith(_FENCE)
        if fenced or not _IMPORT.fullmatch(line.strip()):
            kept.append(line)
    return "\n".join(kept)


def is_index(body: str) -> bool:
    """Whether a text only lists other files: each of its lines is a heading or begins with a link to one."""
    lines = [line.strip() for line in body.split("\n") if line.strip()]
    listed = [line for line in lines if not line.startswith("#")]
    return bool(listed) and all(_LINK.match(line) for line in listed)


def memory_id(project: str, name: str, digest: str) -> str:
    """`lrn-mem-{project}-{file}-{hash6}`, in letters that a file's name can have."""
    parts = (slug(project)[:40] or "project", slug(name)[:50] or "memory", digest[:6])
    return "lrn-mem-" + "-".join(parts)
