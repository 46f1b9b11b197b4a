"""Search the sources other than code: the web, docs, commit history, memories and notes."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from swarmlore.domain.extraction.lesson_text import lesson_line
from swarmlore.domain.language.citations import CHANGED, is_stale
from swarmlore.domain.policy.ranking import field_score, fuse
from swarmlore.domain.records import MODES, Memory
from swarmlore.domain.security.safety import INJECTION, OVERRIDE, inspect_safety
from swarmlore.errors import ConfigError, SwarmloreError, Unavailable
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.notes.locations import SOLUTIONS
from swarmlore.notes.note_format import parse_note
from swarmlore.research.conflicts import has_number
from swarmlore.research.question import Holding, Question, Weights, text_of
from swarmlore.research.report import Finding
from swarmlore.workspace.cited_code import Tree
from swarmlore.workspace.codebase import is_binary, is_doc, is_readme, parts_of
from swarmlore.workspace.git import messages

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Hit

    Ask = Callable[[str, str, int], Sequence[Hit]]

MOST_BYTES = 400_000
MOST_FOUND = 200
TEXT_CHARS = 420
FROM = "from the web, nobody vouches for it"
TICK_S = 0.2  # poll interval for a command that ended but left its output open
_URL = re.compile(r"https?://[^\s\x00-\x1f\x7f<>\"'`)\]}]{3,300}")
_CONTROL = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
HOW = "name a command that searches: swarmlore config research.web_command 'COMMAND {question}'"


class Web:
    """One run of the configured web search command; it can be stopped."""

    def __init__(self, command: str, timeout_s: float) -> None:
        self._words = _words(command)
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self.notes: list[str] = []

    def search(self, question: str, limit: int) -> tuple[Finding, ...]:
        """Run the command and return its findings, without prompt injections; raise Unavailable if it failed. `notes`
        then says what is incomplete."""
        data = self._run(question)
        if is_binary(data):
            raise Unavailable("the web command printed something that is no text", HOW)
        found = list(islice(_findings(data.decode("utf-8", "replace")), MOST_FOUND))
        kept = [item for item in found if not _gives_orders(item)]
        if len(kept) < len(found):
            self.notes.append(f"{len(found) - len(kept)} of the web's findings gave orders to agents and were left out")
        return tuple(kept[:limit])

    def _run(self, question: str) -> bytes:
        filled = [word.replace("{question}", question) for word in self._words]
        command = filled if filled != self._words else [*filled, question]
        try:
            # Its own process group, so that its children can be killed with it.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "a NUL in it"
            raise Unavailable(f"the web command could not be started: {why}", HOW) from error
        with self._process as process:
            data, late = self._read(process)
            self.stop()
        self._process = None  # its process id may be reused from now on
        if late and not data:
            raise Unavailable(f"the web command said nothing within {self._timeout_s:g} seconds", HOW)
        if process.returncode and not data:
            raise Unavailable(f"the web command ended with {process.returncode} and found nothing", HOW)
        if late:
            self.notes.append(f"the web command was ended after {self._timeout_s:g} seconds: it may have found more")
        elif len(data) >= MOST_BYTES:
            self.notes.append(f"the web command printed more than {MOST_BYTES:,} bytes: the rest was not read")
        elif process.returncode > 0:
            self.notes.append(f"the web command ended with {process.returncode}: it may have found more")
        return data

    def _read(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bool]:
        """Read the output until it ends, is long enough, or time is up; return it and whether time was up. A child of
        the command may keep the pipe open longer than the command lives."""
        ends_at = time.monotonic() + self._timeout_s
        data = b""
        while process.stdout and len(data) < MOST_BYTES:
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, min(TICK_S, ends_at - time.monotonic())))
            part = os.read(process.stdout.fileno(), MOST_BYTES - len(data)) if ready else b""
            if not part and (ready or process.poll() is not None):
                break
            if time.monotonic() >= ends_at:
                return data + part, True
            data += part
        with suppress(subprocess.TimeoutExpired):  # wait briefly for the exit code after the end of the output
            process.wait(max(0.0, min(TICK_S, ends_at - time.monotonic())))
        return data, False

    def stop(self) -> None:
        """Kill the command and its children if it is still running."""
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"research.web_command cannot be read: {error}", HOW) from error
    if not words:
        raise ConfigError("no command for the web is configured", HOW)
    return words


def _findings(text: str) -> Iterator[Finding]:
    """Yield the findings of the command's output: JSON objects, or paragraphs with a URL."""
    items = _listed(text)
    if items is not None:
        for item in items:
            shown = str(item.get("text") or item.get("snippet") or item.get("description") or item.get("title") or "")
            place = str(item.get("url") or item.get("link") or "web")
            if shown.strip():
                yield _web_finding(shown, place, str(item.get("title") or ""))
        return
    place = "web"
    for part in re.split(r"\n\s*\n", text):
        named = _URL.search(part)
        place = named[0].rstrip(".,;") if named else place
        shown = _URL.sub("", part).strip(" -*\n\t")
        if len(shown.split()) >= 3:
            yield _web_finding(shown, place, "")


def _gives_orders(item: Finding) -> bool:
    """Return whether a text is a prompt injection; text about commands is not."""
    return any(found.reason in (OVERRIDE, INJECTION) for found in inspect_safety(f"{item.title}: {item.text}"))


def _web_finding(text: str, place: str, title: str) -> Finding:
    address = place if _URL.fullmatch(place) else "web"
    bare = _CONTROL.sub(" ", text[: 8 * TEXT_CHARS])  # a command may print colour codes
    return Finding(" ".join(bare.split())[:TEXT_CHARS], "web", address, title=title[:120], how=FROM, trust=1)


def _listed(text: str) -> list[dict[str, Any]] | None:
    """Return the JSON objects of the output, or None if it is not JSON."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict):
        data = data.get("results", [data])
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else None


MOST_PAGES = 60
MOST_CHARS = 300_000
LEAST = 0.25  # least share of the question that a passage covers
PER_PAGE = 2
MEMORY = ".agents/MEMORY.md"
NO_NUMBER = 0.75
_OWN = ("research/", "docs/solutions/")  # our own reports, and notes, which are a source of their own
_LESS = ("changelog", "history", "news", "license", "licence")
_SHARES = {"prose": 1.0, "item": 1.0, "row": 0.95, "code": 0.6}


def search_docs(
    tree: Tree, holdings: Sequence[Holding], question: Question, weights: Weights, limit: int, number: bool = False
) -> tuple[Finding, ...]:
    """Return the passages that cover most of a question; with `number`, prefer those that contain a number."""
    pages = [item for item in holdings if is_doc(item.path) and not item.path.startswith(_OWN)]
    held = {item.path: weights.of([question.terms[number] for number in item.terms]) for item in pages}
    best = sorted(held, key=lambda path: (-held[path], path.count("/"), path))[:MOST_PAGES]
    found = [passage for path in best for passage in _passages(path, text_of(tree, path)[:MOST_CHARS], weights, number)]
    return tuple(sorted(found, key=lambda item: (-item.rank, item.place))[:limit])


def _passages(path: str, text: str, weights: Weights, number: bool) -> Iterator[Finding]:
    """Yield the best passages of one page."""
    share = 0.6 if path.rpartition("/")[2].lower().startswith(_LESS) else 1.1 if is_readme(path) else 1.0
    found = []
    for part in parts_of(text):
        covers = weights.coverage(part.text, part.heading)
        if covers >= LEAST:
            own = Finding(part.text[:TEXT_CHARS], "docs", f"{path}:{part.line}", title=part.heading)
            source = "learnings" if path == MEMORY else "docs"
            how = "an example" if part.kind == "code" else ""
            telling = NO_NUMBER if number and not has_number(part.text) else 1.0
            found.append(replace(own, source=source, how=how, rank=covers * share * telling * _SHARES[part.kind]))
    yield from sorted(found, key=lambda item: (-item.rank, item.place))[:PER_PAGE]


def page_parts(tree: Tree, paths: Sequence[str], most: int) -> Iterator[Finding]:
    """Yield every passage of the project's pages, top level first, to be compared with other sources."""
    pages = [path for path in paths if is_doc(path) and not path.startswith(_OWN)]
    pages = [path for path in pages if not path.rpartition("/")[2].lower().startswith(_LESS)]
    for path in sorted(pages, key=lambda path: (path.count("/"), path))[:most]:
        for part in parts_of(text_of(tree, path)[:MOST_CHARS]):
            yield Finding(part.text[:TEXT_CHARS], "docs", f"{path}:{part.line}", title=part.heading)


LEAST_OF_HISTORY = 0.4
MESSAGE_CHARS = 300


def search_history(root: str, weights: Weights, limit: int) -> tuple[Finding, ...]:
    """Return the commits that match best, newer ones first among equals."""
    found = []
    for age, (commit, day, subject, body) in enumerate(messages(root)):
        covers = weights.coverage(f"{subject}\n{body}")
        if covers >= LEAST_OF_HISTORY:
            text = f"{subject} — {' '.join(body.split())}" if body.strip() else subject
            rank = covers - age / 1_000_000
            found.append(Finding(text[:MESSAGE_CHARS], "history", f"commit {commit}", how=day, rank=rank))
    return tuple(sorted(found, key=lambda item: -item.rank)[:limit])


ENGINES = ("hybrid", "local", "global")
ABOUT_CHARS = 1_000
MOST_NOTES = 2_000
LEAST_NOTE = 0.3  # least share of the question that a note covers
K = 60


def search_learnings(ask: Ask, text: str, limit: int) -> tuple[tuple[Finding, ...], list[str]]:
    """Return the memories and notes that answer a text, fused over all engines, and the engines that answered."""
    found: dict[str, Hit] = {}
    rankings: dict[str, list[str]] = {}
    for engine in (mode for mode in ENGINES if mode in MODES):
        try:
            hits = ask(text, engine, limit)
        except SwarmloreError:
            continue  # an engine that fails leaves the others
        rankings[engine] = [_key(hit.memory) for hit in hits]
        for hit in hits:
            found.setdefault(_key(hit.memory), hit)
    scores = fuse(*rankings.values())
    ways = {key: "+".join(name for name, keys in rankings.items() if key in keys) for key in found}
    best = sorted(found, key=lambda key: (-scores[key], key))[:limit]
    return tuple(_finding(found[key], scores[key], ways[key]) for key in best), list(rankings)


def _key(memory: Memory) -> str:
    """Return what identifies a learning: pieces of one note are one learning."""
    return memory.key if memory.source == "note" and memory.key else memory.id


def _finding(hit: Hit, score: float, way: str) -> Finding:
    memory = hit.memory
    stale = f"; {CHANGED}" if is_stale(hit.cited) else ""
    how = f"{memory.tier}, {memory.source}, trust {memory.trust}, by {way}{stale}"
    title = memory.title if memory.source == "note" else ""
    return Finding(statement(memory), "learnings", _place(memory), 0.0, title, how, memory.trust, score, _about(memory))


def _about(memory: Memory) -> str:
    """Return further text that a memory is found by: its situations, the note's root cause, and tags."""
    note = memory.extra.get("note")
    cause = str(note.get("root_cause") or "") if isinstance(note, dict) else ""
    return " ".join((*(item.text for item in memory.situations), cause, *memory.tags))[:ABOUT_CHARS]


def _place(memory: Memory) -> str:
    """Return the path of a note inside the project, else the handle of the memory."""
    path = str(memory.source_ref.get("path") or "") if memory.source == "note" else ""
    return path if path and memory.source_ref.get("place") != "global" else f"{memory.handle} {path}".strip()


def statement(memory: Memory) -> str:
    """Return the statement of a learning: a note's key insight, else the lesson."""
    note = memory.extra.get("note")
    insight = str(note.get("key_insight") or "") if isinstance(note, dict) else ""
    if memory.source == "note" and insight:
        return insight[:TEXT_CHARS]
    return lesson_line(memory, TEXT_CHARS) if memory.source != "note" else memory.text[:TEXT_CHARS]


def search_notes(tree: Tree, paths: Sequence[str], question: str, weights: Weights, limit: int) -> tuple[Finding, ...]:
    """Return the project's notes that match, by field: title, symptoms, insight, tags, content."""
    found = []
    for path in [path for path in paths if path.startswith(f"{SOLUTIONS}/") and path.endswith(".md")][:MOST_NOTES]:
        note = parse_note(text_of(tree, path))
        fields = (note.title, note.symptoms, note.key_insight, note.tags, note.body)
        text_of_note = " ".join((note.key_insight, note.root_cause, *note.symptoms, *note.tags))
        if note.title and weights.coverage(f"{note.title} {text_of_note} {note.body}") >= LEAST_NOTE:
            text = note.key_insight or next(
                (line for line in note.body.split("\n") if len(line.split()) > 3), note.title
            )
            score = field_score(question, *fields)
            how = "note, by fields"
            about = text_of_note[:ABOUT_CHARS]
            found.append(Finding(text[:TEXT_CHARS], "learnings", path, 0.0, note.title, how, 2, score, about))
    best = sorted(found, key=lambda item: (-item.rank, item.place))[:limit]
    return tuple(replace(item, rank=1 / (K + place)) for place, item in enumerate(best, start=1))


def merged(remembered: Sequence[Finding], notes: Sequence[Finding]) -> tuple[Finding, ...]:
    """Merge memories and notes; a note found by both gets both scores."""
    known = {item.place: item for item in remembered}
    for item in notes:
        other = known.get(item.place)
        both = replace(other, rank=other.rank + item.rank, how=f"{other.how}+fields") if other is not None else item
        known[item.place] = both
    return tuple(sorted(known.values(), key=lambda item: (-item.rank, item.place)))


def rules_found(rules: Iterable[tuple[str, str]], weights: Weights, least: float) -> tuple[Finding, ...]:
    """Return the project's instincts that match; `rules` are (text, place) pairs."""
    scored = [(weights.coverage(text), text, place) for text, place in rules]
    return tuple(
        Finding(text, "learnings", place, how="instinct", trust=2, rank=covers / K)
        for covers, text, place in scored
        if covers >= least
    )
