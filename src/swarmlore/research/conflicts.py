"""Where the sources of a report cannot all be right: statements that speak against each other, versions and package
managers in the docs that are not those of the lock files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from swarmlore.research.built_with import named_in
from swarmlore.research.question import Question, stems
from swarmlore.research.records import Conflict, Finding
from swarmlore.rules.difference import compare
from swarmlore.rules.meaning import contradicts, same_subject
from swarmlore.stack import Stack, Technology
from swarmlore.text.similarity import content_words
from swarmlore.text.words import stem

MOST = 8
COMPARED = 30  # findings of which every two are held against each other
SENTENCES = 4  # of one finding
LEAST_SHARED = 0.5  # of the shorter one's words
SHORT = 200  # characters of sentences whose values are compared
MOST_ADDED = 4  # words that only one of them has
_SPOKEN = ("learnings", "docs", "web", "history")
_LATER = re.compile(r"\s*(?:\+|or (?:newer|later|higher|above)|and (?:newer|later|up|above)|\bminimum)", re.I)
_BEFORE = re.compile(r"(?:>=?|at least|minimum|since|from)\s*$", re.I)
_COMMAND = re.compile(r"\b(npm|pnpm|yarn|bun)\s+(?:install|i|ci|run|add|test|exec|start|build|dev|dlx)\b", re.I)
_FIGURE = re.compile(r"\b([A-Za-z]{3,30})(?:\s+(?:is|was|of|to)\s+|\s*[:=]\s*|\s+)(\d{1,9})\b(?![.%]\d)")
_DENIED = re.compile(r"(?:\bnot|\bnever|don'?t use|do not use|instead of|\bno|\bavoid|rather than)\W{1,3}$", re.I)


def find_conflicts(
    findings: Sequence[Finding], pages: Iterable[Finding], question: Question, stack: Stack
) -> tuple[Conflict, ...]:
    """The conflicts among findings, and between the docs and what is locked, as far as the question touches it."""
    spoken = [item for item in findings if item.source in _SPOKEN]
    passages = [*pages]
    found = [*_opposed(spoken[:COMPARED])]
    known = {(item.one.place, item.other.place) for item in found}
    found += [item for item in _figures(spoken, question) if (item.one.place, item.other.place) not in known]
    found += _versions(spoken, passages, question, stack)
    found += _managers([*spoken, *(item for item in passages if _touches(item, question))], stack)
    once: dict[tuple[str, str, str], Conflict] = {}
    for item in found:
        once.setdefault((item.what, item.one.place, item.other.place), item)
    return tuple(once.values())[:MOST]


def _opposed(findings: Sequence[Finding]) -> Iterator[Conflict]:
    """Every two findings of different places that cannot both be followed."""
    for one, other in combinations(findings, 2):
        if one.place == other.place or _is_later(one, other):
            continue
        if why := next(_against(one.text, other.text), ""):
            yield Conflict(why, one, other)


def _is_later(one: Finding, other: Finding) -> bool:
    """Two commits tell how things went, not how they are."""
    return one.source == other.source == "history"


def _against(one: str, other: str) -> Iterator[str]:
    for a in _sentences(one):
        words = content_words(a)
        for b in _sentences(other):
            others = content_words(b)
            shared = len(words & others)
            if not shared or shared < LEAST_SHARED * min(len(words), len(others)):
                continue
            if why := contradicts(a, b):
                yield why
            elif max(len(a), len(b)) <= SHORT and same_subject(a, b) and (told := _values(a, b)):
                yield told


def _values(one: str, other: str) -> str:
    """In which value two sentences differ that say the same otherwise; '' where they differ in anything else."""
    found = compare(one, other)
    kinds = {slot.kind for slot in found.slots}
    if not kinds or kinds - {"value", "opposed"} or len(found.added) + len(found.removed) > MOST_ADDED:
        return ""
    return "; ".join(map(str, found.slots))


def _sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?;])\s+|\s⏎\s|\s—\s", text[:800])
    return [part for part in parts if len(part.split()) >= 3][:SENTENCES]


def _figures(findings: Sequence[Finding], question: Question) -> Iterator[Conflict]:
    """Different numbers beside one word that was asked for: `on port 8080`, `the default port is 9090`. Two sentences
    have to share a second word of the question, else they may speak of different things."""
    told = [(item, *figure) for item in findings[:COMPARED] for figure in _figured(item.text, question)]
    for (one, word, number, words), (other, same, another, others) in combinations(told, 2):
        apart = one.place != other.place and not _is_later(one, other)
        if apart and word == same and number != another and len(words & others) > 1:
            yield Conflict(f"{word} {number} here, {another} there", one, other)


def _figured(text: str, question: Question) -> Iterator[tuple[str, str, set[str]]]:
    """Words of the question with the number beside them, and which of its words the sentence holds."""
    for sentence in _sentences(text):
        words = stems(sentence) & set(question.terms)
        for word, number in _FIGURE.findall(sentence):
            if stem(word.lower()) in words:
                yield word.lower(), number, words


def _touches(item: Finding, question: Question) -> bool:
    return bool(stems(f"{item.text} {item.title}") & set(question.terms))


def _versions(
    findings: Sequence[Finding], passages: Sequence[Finding], question: Question, stack: Stack
) -> Iterator[Conflict]:
    """Versions that are written beside a technology's name and are not the one in use. Pages are asked about what the
    question names; findings about all."""
    named = named_in(question, stack)
    every = "version" in question.terms and not named
    for item in stack.technologies:
        if not item.version or not item.name:
            continue
        told = [*findings, *(passages if every or item in named else ())]
        for said in told:
            if written := _written(said.text, item):
                held = Finding(f"{item.name} {item.version}", "code", item.place, title=item.package)
                yield Conflict(f"{item.name}: {written} here, {item.version} there", said, held)


def _written(text: str, item: Technology) -> str:
    """A version of a technology that a text names and that is not the one in use; '' where there is none."""
    name = re.escape(item.name.removesuffix(".js"))
    for found in re.finditer(rf"\b{name}(?:\.js)?\s+v?(\d+(?:\.\d+){{0,3}})\b", text[:2_000], re.I):
        said = found[1]
        least = _LATER.match(text, found.end()) or _BEFORE.search(text[: found.start()])
        newer = _numbers(said) > _numbers(item.version)
        if _differs(said, item.version) and (newer or not least) and (item.locked or newer):
            return said
    return ""


def _differs(one: str, other: str) -> bool:
    """Whether two versions disagree as far as both go: 18 and 18.2 do not."""
    return any(a != b for a, b in zip(_numbers(one), _numbers(other), strict=False))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version)[:3])


def _managers(findings: Sequence[Finding], stack: Stack) -> Iterator[Conflict]:
    """Commands of a package manager where the lock file is another one's."""
    used = [item for item in stack.of("packages") if item.name.lower() in ("npm", "pnpm", "yarn", "bun")]
    names = {item.name.lower() for item in used}
    if len(names) != 1:
        return
    for item in findings:
        for found in _COMMAND.finditer(item.text):
            told = found[1].lower()
            if told not in names and not _DENIED.search(item.text[: found.start()]):
                held = Finding(f"the lock file is {used[0].name}'s", "code", used[0].place)
                yield Conflict(f"{told} here, {used[0].name} there", item, held)
                break
