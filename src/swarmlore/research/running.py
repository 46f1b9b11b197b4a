"""One research: everything is asked side by side, then chosen, compared and put into one report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from swarmlore.domain.language.tokenizer import split_words, stem_word
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.errors import InvalidInput, Unavailable
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.meanwhile import Meanwhile
from swarmlore.research.answer import choose, judged, related, synthesise, without_repeats
from swarmlore.research.built_with import search_stack
from swarmlore.research.code import best_files, search_code
from swarmlore.research.conflicts import SPOKEN, find_conflicts
from swarmlore.research.constants import Placed, read_constants, search_constants, told_otherwise
from swarmlore.research.docs import LEAST, page_parts, search_docs
from swarmlore.research.history import search_history
from swarmlore.research.learnings import merged, rules_found, search_learnings, search_notes
from swarmlore.research.question import Question, Weights, read_question
from swarmlore.research.records import SOURCES, Conflict, Finding, Report
from swarmlore.research.scan import Scan, scan
from swarmlore.research.setup import Project, search_setup
from swarmlore.research.syntax import search_syntax
from swarmlore.rules.amounts import has_number
from swarmlore.rules.asking import Asked, read_asked
from swarmlore.workspace.cited_code import Tree
from swarmlore.workspace.codebase import language_of, list_files
from swarmlore.workspace.stack import Stack, read_stack

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.models.providers import Writer
    from swarmlore.research.learnings import Ask
    from swarmlore.research.web import Web

    Progress = Callable[[int, int], None]

MOST_QUESTION = 2_000
MOST_LIMIT = 50
EMBEDDED = 60  # findings whose meaning is compared with the question's
COMPARED_PAGES = 60
MOST_CONFLICTS = 8
UNSOUGHT = 0.5  # fit of what only a conflict found
_STEPS = 8
_WORDS = {
    "learnings": "no memory or note speaks of it",
    "docs": "no page of the docs speaks of it",
    "definitions": "no definition that a parser sees is named or described so",
    "code": "no line of the code holds enough of these words",
    "history": "no commit message speaks of it",
    "web": "the web command found nothing",
}


@frozen
class Means:
    """With what a research is done: how memories are asked, the project's rules, closeness of texts to the question,
    a language model, a search of the web; each but the first may be missing."""

    ask: Ask
    rules: Callable[[], Iterable[tuple[str, str]]] = lambda: ()
    closeness: Callable[[str, Sequence[str]], Sequence[float] | None] = lambda question, texts: None
    writer: Callable[[], Writer | None] = lambda: None
    web: Web | None = None


class Research:
    """One question to one project."""

    def __init__(self, root: str, means: Means, limit: int, progress: Progress | None = None) -> None:
        if not isinstance(limit, int) or not 1 <= limit <= MOST_LIMIT:
            raise InvalidInput(f"limit {limit!r} is out of range", f"from 1 to {MOST_LIMIT} findings of each source")
        self._root = root
        self._tree = Tree(root)
        self._means = means
        self._limit = limit
        self._progress = progress
        self._done = 0
        self._notes: list[str] = []
        self._web_failed = False
        self._asked = Asked()
        self._constants: Sequence[Placed] = ()

    def run(self, text: str, project: str, now: float) -> Report:
        """Search, choose, compare. Nothing is stored or written."""
        began = time.monotonic()
        question = read_question(_checked(text))
        self._asked = read_asked(question.text)
        try:
            findings, weights, stack, searched = self._search(question)
        finally:
            if self._means.web is not None:
                self._means.web.stop()
        pages = [_scrubbed(item) for item in page_parts(self._tree, self._listing.paths, COMPARED_PAGES)]
        findings, otherwise = self._compared(related(self._judged(findings, question, weights)), pages, weights)
        opposed = find_conflicts(findings, pages, question, stack, self._asked)
        conflicts = (*otherwise, *opposed)[:MOST_CONFLICTS]
        synthesis, note = synthesise(self._means.writer(), question.text, findings)
        self._step()
        missing = (*self._missing(findings, weights), *filter(None, (note, *self._notes)))
        searched["seconds"] = round(time.monotonic() - began, 2)
        shown = tuple(replace(item, rank=round(item.rank, 4), about="") for item in findings)
        return Report(question.text, now, project, choose(shown), synthesis, shown, conflicts, missing, searched)

    def _compared(
        self, findings: Sequence[Finding], pages: Sequence[Finding], weights: Weights
    ) -> tuple[list[Finding], tuple[Conflict, ...]]:
        """All findings, and where the code holds another amount than a sentence tells; what it holds stands before the
        sentence then: it is what happens. A page may say it in words that the search did not look for."""
        spoken = [item for item in findings if item.source in SPOKEN and item.source != "history"]
        found = {item.place for item in findings}
        more = [replace(item, fit=UNSOUGHT) for item in pages if item.place not in found and has_number(item.text)]
        conflicts: dict[tuple[str, str], Conflict] = {}
        for conflict in islice(told_otherwise([*spoken, *more], self._constants, weights, self._asked), MOST_CONFLICTS):
            other = replace(_scrubbed(conflict.other), fit=min(1.0, round(conflict.one.fit + 0.001, 3)))
            conflicts.setdefault((conflict.one.place, other.place), replace(conflict, other=other))
        told = {item.other.place: item.other for item in reversed(conflicts.values())}
        new = {item.one.place: item.one for item in conflicts.values() if item.one.place not in found}
        rest = [item for item in findings if item.place not in told]
        return sorted((*told.values(), *rest, *new.values()), key=lambda item: -item.fit), tuple(conflicts.values())

    def _search(self, question: Question) -> tuple[list[Finding], Weights, Stack, dict[str, Any]]:
        """Everything that is asked, at the same time where one does not need the other."""
        limit, means = self._limit, self._means
        learned = Meanwhile(lambda: search_learnings(means.ask, question.text, limit))
        web = Meanwhile(lambda: self._web(question))
        self._listing = list_files(self._root)
        looked = Meanwhile(lambda: read_stack(self._root, self._listing))
        scanned = scan(self._tree, self._listing, question)
        self._step()
        weights = Weights(question, scanned.counts, scanned.read)
        files = best_files(scanned.files, question, weights)
        commits = Meanwhile(lambda: search_history(self._root, weights, limit))
        numbers = Meanwhile(lambda: read_constants(self._tree, files))
        docs = Meanwhile(lambda: search_docs(self._tree, scanned.files, question, weights, limit, self._asked.number))
        parsed = Meanwhile(lambda: self._parsed(files, question, scanned))
        notes = Meanwhile(lambda: search_notes(self._tree, self._listing.paths, question.text, weights, limit))
        found = list(search_code(self._tree, files, question, weights, limit))
        for part in (docs, commits, web):
            self._step()
            found += part.result()
        definitions, count = parsed.result()
        self._step()
        memories, engines = learned.result()
        self._step()
        found += [*definitions, *merged(memories, notes.result()), *rules_found(means.rules(), weights, LEAST)]
        stack = looked.result()
        found += search_stack(stack, question, limit)
        self._constants = numbers.result()
        found += search_constants(self._constants, question, weights, limit) if self._asked.amount else ()
        found += search_setup(Project(self._tree, self._listing.paths, stack), self._asked, limit)
        return (
            [_scrubbed(item) for item in without_repeats(found)],
            weights,
            stack,
            self._searched(scanned, count, [*engines, "fields"]),
        )

    def _parsed(
        self, files: Sequence[tuple[float, str]], question: Question, scanned: Scan
    ) -> tuple[Sequence[Finding], int]:
        try:
            paths = [path for _, path in files if language_of(path)]
            return search_syntax(self._root, paths, question.text, (scanned.counts, scanned.read), self._limit)
        except Unavailable as error:
            self._notes.append(error.message)
            return (), 0

    def _web(self, question: Question) -> Sequence[Finding]:
        if self._means.web is None:
            return ()
        try:
            found = self._means.web.search(scrub_text(question.text), self._limit)
            self._notes += self._means.web.notes
            return found
        except Unavailable as error:
            self._web_failed = True
            self._notes.append(error.message)
            return ()

    @property
    def _web_was_silent(self) -> bool:
        """Whether it was asked and had nothing to say; where it failed, that is said already."""
        return self._means.web is not None and not self._web_failed

    def _judged(self, findings: Sequence[Finding], question: Question, weights: Weights) -> list[Finding]:
        """All findings by how well they fit; the meaning is asked where words say that it is worth it."""
        first = judged(findings, weights, None, self._asked.number)
        near, far = first[:EMBEDDED], first[EMBEDDED:]
        told = (
            self._means.closeness(question.text, [f"{item.title}: {item.text} {item.about[:200]}" for item in near])
            if near
            else None
        )
        self._step()
        return judged(near, weights, told, self._asked.number) + far if told is not None else first

    def _searched(self, scanned: Scan, parsed: int, engines: Sequence[str]) -> dict[str, Any]:
        if scanned.cut:
            self._notes.append(f"not everything was searched: {scanned.cut}")
        listed = len(self._listing.paths)
        facts: dict[str, Any] = {"files": f"{scanned.read:,} of {listed:,} read, {parsed:,} parsed"}
        return {**facts, "memory": list(engines), "web": "asked" if self._means.web is not None else "not asked"}

    def _missing(self, findings: Sequence[Finding], weights: Weights) -> list[str]:
        """What a reader should not take for searched and found: silent sources, words that stand nowhere."""
        silent = [source for source in SOURCES if not any(item.source == source for item in findings)]
        lines = [_WORDS[source] for source in silent if source in _WORDS and (source != "web" or self._web_was_silent)]
        words = weights.missing([f"{item.text} {item.title} {item.place} {item.how}" for item in findings])
        if words and findings:
            written = {stem_word(word): word for word in reversed(split_words(weights.asked))}
            lines.append("none of the findings holds: " + ", ".join(written.get(term, term) for term in words))
        return lines

    def _step(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(min(self._done, _STEPS), _STEPS)


def _checked(text: str) -> str:
    if not isinstance(text, str) or not any(map(str.isalnum, text)):
        raise InvalidInput("there is no question", 'ask something: swarmlore research "QUESTION"')
    return scrub_text(" ".join(text.split()))[:MOST_QUESTION]


def _scrubbed(item: Finding) -> Finding:
    """A finding without secrets, and with a place that is one line whatever the file is called."""
    place = "".join(char if char.isprintable() and char != "`" else ascii(char)[1:-1] for char in item.place)
    return replace(item, text=scrub_text(item.text), title=scrub_text(item.title), place=place[:400])
