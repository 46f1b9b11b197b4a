"""What agent clients remember by themselves: which files they keep it in, and which folder each is about.

| client | files |
|---|---|
| Claude Code | `projects/<a folder's path as a name>/memory/*.md` of its own folder |
| Codex | `memories/*.md` and `memories/rollout_summaries/*.md` |
| Copilot | `AGENTS.md` |
| Gemini | `GEMINI.md` |
| OpenCode | `AGENTS.md` of its settings |
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


GEMINI = "GEMINI.md"
MOST_FOLDERS = 2_000
_HEAD_BYTES = 65_536
_MOST_TRANSCRIPTS = 5
_MARKS = ("/.worktrees/", "/.claude/worktrees/")  # folders in which work trees of a repository are kept inside of it


@frozen
class Kept:
    """A file of a client. `slug` is the folder it is about, as the client names it, and `name` the file's own name."""

    path: str
    client: str
    slug: str = ""

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def stem(self) -> str:
        """The file's name for people; one that a client has for everything is named after the client."""
        name = os.path.splitext(self.name)[0]
        return f"{self.client} memories" if name in ("AGENTS", "GEMINI") else name

    @property
    def source(self) -> str:
        """A name for the file that is the same on every machine of its user."""
        return "/".join(part for part in (self.client, self.slug, self.name) if part)


def kept_by(clients: Sequence[str], home: str, env: Mapping[str, str]) -> Iterator[Kept]:
    """Every file that these clients keep, in a stable order."""
    for client in clients:
        for path, folder in _FILES[client](home, env):
            yield Kept(path, client, folder)


def kept_in(folder: str) -> Iterator[Kept]:
    """The files of one folder that a client filled, wherever it lies now."""
    parent, last = os.path.split(os.path.realpath(folder))
    slug = os.path.basename(parent) if last == memory_files.FOLDER else last
    for path in sorted(memory_files.notes_in(folder)):
        yield Kept(path, "claude", slug)


def kept_as(path: str, home: str, env: Mapping[str, str]) -> Kept:
    """One file that a client filled: as that client's where it lies in its place, else as one that was copied."""
    own = os.path.realpath(path)
    kept = next((kept for kept in kept_by(CLIENTS, home, env) if os.path.realpath(kept.path) == own), None)
    client = "gemini" if os.path.basename(own) == GEMINI else "claude"
    slug = os.path.basename(os.path.dirname(own)) if client == "claude" else ""
    return kept or Kept(own, client, slug)


def slugs(home: str, env: Mapping[str, str]) -> list[str]:
    """The folders for which Claude Code keeps something, as it names them."""
    try:
        return sorted(os.listdir(os.path.join(claude.folder(home, env), "projects")))[:MOST_FOLDERS]
    except OSError:
        return []


def folder_of_slug(slug: str, home: str, env: Mapping[str, str]) -> str:
    """Where Claude Code keeps notes about a folder."""
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


def _of_copilot(home: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from _one(os.path.join(copilot.folder(home, env), "AGENTS.md"))


def _of_gemini(home: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from _one(os.path.join(gemini.folder(home, env), GEMINI))


def _of_opencode(home: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    settings = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    yield from _one(os.path.join(settings, "opencode", "AGENTS.md"))


def _one(path: str) -> Iterator[tuple[str, str]]:
    if os.path.lexists(path):
        yield path, ""


_FILES: dict[str, Callable[[str, Mapping[str, str]], Iterator[tuple[str, str]]]] = {
    "claude": _of_claude,
    "codex": _of_codex,
    "copilot": _of_copilot,
    "gemini": _of_gemini,
    "opencode": _of_opencode,
}
CLIENTS = tuple(_FILES)


# Which folder


def subject_of(kept: Kept) -> str:
    """The folder that a file is about, or '' where nothing tells."""
    if kept.client == "codex":
        return memory_files.folder_in(kept.path)
    if kept.client != "claude":
        return ""
    folder = os.path.dirname(os.path.dirname(kept.path))
    return folder_told_in(folder, kept.slug)


def folder_told_in(folder: str, slug: str) -> str:
    """The folder that transcripts beside the notes were made in; its name does not tell which hyphen was a slash."""
    try:
        names = sorted((name for name in os.listdir(folder) if name.endswith(claude.SUFFIX)), reverse=True)
    except OSError:
        return ""
    for name in names[:_MOST_TRANSCRIPTS]:
        for told in _folders_in(os.path.join(folder, name)):
            if memory_files.slug_of(told) == slug:
                return told
    return ""


def _folders_in(path: str) -> Iterator[str]:
    file, _ = open_own(path)
    if file is None:
        return
    with file:
        lines = file.read(_HEAD_BYTES).split(b"\n")[:-1]
    for line in lines:
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(told, dict) and isinstance(told.get("cwd"), str):
            yield told["cwd"]


def without_worktree(folder: str) -> str:
    """The repository's folder, where a path leads to a work tree that is kept inside of it."""
    for mark in _MARKS:
        root, found, _ = folder.partition(mark)
        if found:
            return root
    return folder
