"""Find and parse the memory files of agent clients, and the project folder that each is about.

| client | files |
|---|---|
| Claude Code | `projects/<slug of a folder>/memory/*.md` in its configuration folder |
| Codex | `memories/*.md` and `memories/rollout_summaries/*.md` |
| Copilot | `AGENTS.md` |
| Gemini | `GEMINI.md` |
| OpenCode | `AGENTS.md` in its configuration folder |
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from swarmlore.clients.claude import transcript as claude
from swarmlore.clients.codex import transcript as codex
from swarmlore.clients.copilot import transcript as copilot
from swarmlore.clients.gemini import transcript as gemini
from swarmlore.domain.language.display import slug
from swarmlore.frozen import frozen
from swarmlore.notes import memory_files
from swarmlore.workspace.files import open_own

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
class MemoryNote:
    """The note made from a memory file: title, key insight, learning type and text."""

    title: str
    key_insight: str
    learning_type: str
    body: str

    @property
    def category(self) -> str:
        """The note category of the learning type."""
        return CATEGORIES[self.learning_type]


def head_of(text: str) -> tuple[dict[str, str], str]:
    """Parse the front matter fields that clients write, and return them with the text below.

    It is parsed by line: clients often write invalid YAML (`description: use make: it is faster`), and newer ones nest
    the type below another key.
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


def parse_memory(fields: Mapping[str, str], body: str, name: str) -> MemoryNote:
    """Return the note for a memory file; `name` is the file name without suffix."""
    body = without_imports(body).strip("\n")
    title = _title(fields.get("name", ""), body, name)
    insight = " ".join(fields.get("description", "").split()) or first_statement(body) or title
    return MemoryNote(title, insight[:MAX_INSIGHT], learning_type(fields.get("type", ""), f"{insight}\n{body}"), body)


def learning_type(kind: str, text: str) -> str:
    """Map a client's memory type to a learning type; ambiguous ones are decided by words in the text."""
    kind = kind.strip().lower()
    if kind == "user":
        return "preference"
    if kind == "reference":
        return "reference"
    if kind == "feedback":
        return "correction" if _CORRECTED.search(text) else "pattern"
    return "decision" if kind == "project" and _DECIDED.search(text) else "pattern"


def _title(name_field: str, body: str, name: str) -> str:
    name_field = " ".join(name_field.split())
    if " " in name_field:
        return name_field[:MAX_TITLE]
    heading = next((line.lstrip("# ").strip() for line in body.split("\n") if line.startswith("# ")), "")
    title = _as_words(name_field) or heading or _as_words(name)
    return title[:MAX_TITLE] or "Memory"


def _as_words(name: str) -> str:
    """Turn a file name such as `feedback_db-tests` into words."""
    words = " ".join(name.replace("_", " ").replace("-", " ").split())
    return words[:1].upper() + words[1:]


def first_statement(body: str) -> str:
    """Return the first line of prose."""
    for line in body.split("\n"):
        line = line.strip()
        if line and not line.startswith(("#", *_FENCE, "<!--", "---", "|")):
            return line.lstrip("-*> ").strip()
    return ""


def without_imports(text: str) -> str:
    """Remove lines that only import another file (`@docs/x.md`), outside of code."""
    kept, fenced = [], False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith(_FENCE)
        if fenced or not _IMPORT.fullmatch(line.strip()):
            kept.append(line)
    return "\n".join(kept)


def is_index(body: str) -> bool:
    """Return whether a text only links to other files: each line is a heading or starts with a link."""
    lines = [line.strip() for line in body.split("\n") if line.strip()]
    listed = [line for line in lines if not line.startswith("#")]
    return bool(listed) and all(_LINK.match(line) for line in listed)


def memory_id(project: str, name: str, digest: str) -> str:
    """Return `lrn-mem-{project}-{file}-{hash6}`, usable as a file name."""
    parts = (slug(project)[:40] or "project", slug(name)[:50] or "memory", digest[:6])
    return "lrn-mem-" + "-".join(parts)


GEMINI = "GEMINI.md"
MOST_FOLDERS = 2_000
_HEAD_BYTES = 65_536
_MOST_TRANSCRIPTS = 5
_MARKS = ("/.worktrees/", "/.claude/worktrees/")  # folders for worktrees inside of a repository


@frozen
class Kept:
    """A memory file of a client. `slug` is the client's name for the folder that it is about."""

    path: str
    client: str
    slug: str = ""

    @property
    def name(self) -> str:
        """The file name."""
        return os.path.basename(self.path)

    @property
    def stem(self) -> str:
        """The file name without suffix; a global file is named after its client."""
        name = os.path.splitext(self.name)[0]
        return f"{self.client} memories" if name in ("AGENTS", "GEMINI") else name

    @property
    def source(self) -> str:
        """Name of the file that is the same on every machine of its user."""
        return "/".join(part for part in (self.client, self.slug, self.name) if part)


def kept_by(clients: Sequence[str], home: str, env: Mapping[str, str]) -> Iterator[Kept]:
    """Yield every memory file of these clients, in a stable order."""
    for client in clients:
        for path, folder in _FILES[client](home, env):
            yield Kept(path, client, folder)


def kept_in(folder: str) -> Iterator[Kept]:
    """Yield the memory files of one folder, which may be a copy of a client's folder."""
    parent, last = os.path.split(os.path.realpath(folder))
    slug = os.path.basename(parent) if last == memory_files.FOLDER else last
    for path in sorted(memory_files.notes_in(folder)):
        yield Kept(path, "claude", slug)


def kept_as(path: str, home: str, env: Mapping[str, str]) -> Kept:
    """Return the memory file at a path, with the client and slug of its location, guessed for a copy."""
    real = os.path.realpath(path)
    kept = next((kept for kept in kept_by(CLIENTS, home, env) if os.path.realpath(kept.path) == real), None)
    client = "gemini" if os.path.basename(real) == GEMINI else "claude"
    slug = os.path.basename(os.path.dirname(real)) if client == "claude" else ""
    return kept or Kept(real, client, slug)


def slugs(home: str, env: Mapping[str, str]) -> list[str]:
    """Return the slugs of all folders for which Claude Code keeps data."""
    try:
        return sorted(os.listdir(os.path.join(claude.folder(home, env), "projects")))[:MOST_FOLDERS]
    except OSError:
        return []


def folder_of_slug(slug: str, home: str, env: Mapping[str, str]) -> str:
    """Return the folder of Claude Code's memories for a slug."""
    return os.path.join(claude.folder(home, env), "projects", slug, memory_files.FOLDER)


def _of_claude(home: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for folder in slugs(home, env):
        for path in sorted(memory_files.notes_in(folder_of_slug(folder, home, env))):
            yield path, folder


def _of_codex(home: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    memories = os.path.join(codex.folder(home, env), "memories")
    for folder in (memories, os.path.join(memories, memory_files.SUMMARIES)):
        for path in sorted(memory_files.notes_in(folder)):
            if os.path.basename(path) != memory_files.MERGED:
                yield path, ""


def _of_opencode(home: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    settings = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return _global_file(settings, "opencode", "AGENTS.md")


def _global_file(*parts: str) -> Iterator[tuple[str, str]]:
    path = os.path.join(*parts)
    if os.path.lexists(path):
        yield path, ""


_FILES: dict[str, Callable[[str, Mapping[str, str]], Iterator[tuple[str, str]]]] = {
    "claude": _of_claude,
    "codex": _of_codex,
    "copilot": lambda home, env: _global_file(copilot.folder(home, env), "AGENTS.md"),
    "gemini": lambda home, env: _global_file(gemini.folder(home, env), GEMINI),
    "opencode": _of_opencode,
}
CLIENTS = tuple(_FILES)


def subject_of(kept: Kept) -> str:
    """Return the folder that a memory file is about; '' if unknown."""
    if kept.client == "codex":
        return memory_files.folder_in(kept.path)
    if kept.client != "claude":
        return ""
    folder = os.path.dirname(os.path.dirname(kept.path))
    return folder_in_transcripts(folder, kept.slug)


def folder_in_transcripts(folder: str, slug: str) -> str:
    """Return the working directory in transcripts beside the memories, since a slug does not tell `/` from `-`."""
    try:
        names = sorted((name for name in os.listdir(folder) if name.endswith(claude.SUFFIX)), reverse=True)
    except OSError:
        return ""
    for name in names[:_MOST_TRANSCRIPTS]:
        for cwd in _folders_in(os.path.join(folder, name)):
            if memory_files.slug_of(cwd) == slug:
                return cwd
    return ""


def _folders_in(path: str) -> Iterator[str]:
    file, _ = open_own(path)
    if file is None:
        return
    with file:
        lines = file.read(_HEAD_BYTES).split(b"\n")[:-1]
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("cwd"), str):
            yield record["cwd"]


def without_worktree(folder: str) -> str:
    """Return the repository folder if a path is in a worktree kept inside of it."""
    for mark in _MARKS:
        root, found, _ = folder.partition(mark)
        if found:
            return root
    return folder
