"""Where the sources of a report cannot all be right: statements that speak against each other, versions, package
managers and servers in the docs that are not those of the manifests. Only what belongs to the question is named: a page
that is wrong about something else is another question's business."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from swarmlore.domain.language.similarity import content_words
from swarmlore.domain.language.tokenizer import STOP_WORDS, stem_word
from swarmlore.domain.policy.contradiction import compare, contradicts, same_subject
from swarmlore.research.built_with import kinds_asked, named_in
from swarmlore.research.question import Question, stems
from swarmlore.research.records import Conflict, Finding
from swarmlore.rules.asking import NEEDS, Asked
from swarmlore.workspace.stack import NAMES, RIVALS, Stack, Technology

MOST = 8
COMPARED = 30  # findings of which every two are held against each other
SENTENCES = 4  # of one finding
LEAST_SHARED = 0.5  # of the shorter one's words
SHORT = 200  # characters of sentences whose values are compared
SHORT_NAME = 4
MOST_ADDED = 4  # words that only one of them has
SPOKEN = ("learnings", "docs", "setup", "web", "history")
NEEDED = ("runtime", "database", "packages", "queue")  # what has to be there before anything runs
TOUCHED = 0.5  # of the question's words, that a sentence holds which is wrong about something
_LATER = re.compile(r"\s*(?:\+|or (?:newer|later|higher|above)|and (?:newer|later|up|above)|\bminimum)", re.I)
_BEFORE = re.compile(r"(?:>=?|at least|minimum|since|from)\s*$", re.I)
_COMMAND = re.compile(r"\b(npm|pnpm|yarn|bun)\s+(?:install|i|ci|run|add|test|exec|start|build|dev|dlx)\b", re.I)
_FIGURE = re.compile(r"\b([A-Za-z]{3,30})(?:\s+(?:is|was|of|to)\s+|\s*[:=]\s*|\s+)(\d{1,9})\b(?![.%]\d)")
_LEFT = re.compile(
    r"\b(?:instead of|moved (?:away )?from|migrat\w{1,6} (?:away )?from|replac\w{1,4}|unlike|used to|formerly|"
    r"no longer|switched from|"
    r"or|either|also supports?|alternativ\w{1,5}|optional\w{0,2}|compatible|like|such as|e\.g\.|import|export)\b",
    re.I,
)
_WITH = re.compile(r"\b(?:with|using)\s+`?([A-Za-z][\w.+-]{2,30}?)`?[.!]?$")
_DENIED = re.compile(r"(?:\bnot|\bnever|don'?t use|do not use|instead of|\bno|\bavoid|rather than)\W{1,3}$", re.I)


def find_conflicts(
    findings: Sequence[Finding], pages: Iterable[Finding], question: Question, stack: Stack, asked: Asked
) -> tuple[Conflict, ...]:
    """The conflicts among findings, and between the docs and what is locked, as far as the question touches it."""
    spoken = [item for item in findings if item.source in SPOKEN]
    passages = [*pages]
    found = [*_opposed(spoken[:COMPARED], question)]
    found += _means([item for item in findings if item.source != "code"], question)
    known = {(item.one.place, item.other.place) for item in found}
    found += [item for item in _figures(spoken, question) if (item.one.place, item.other.place) not in known]
    every = asked.needs == NEEDS and not asked.rest
    found += _versions(spoken, passages, question, stack, every)
    found += _rivals(spoken, passages, question, stack, every)
    found += _managers([*spoken, *(item for item in passages if every or _touches(item, question))], stack)
    once: dict[tuple[str, str, str], Conflict] = {}
    for item in found:
        once.setdefault((item.what, item.one.place, item.other.place), item)
    return tuple(once.values())[:MOST]


def _opposed(findings: Sequence[Finding], question: Question) -> Iterator[Conflict]:
    """Every two findings of different places that cannot both be followed in what the question is about."""
    terms = set(question.terms)
    for one, other in combinations(findings, 2):
        if one.place == other.place or _is_later(one, other):
            continue
        if why := next(_against(one.text, other.text, terms), ""):
            yield Conflict(why, one, other)


def _means(findings: Sequence[Finding], question: Question) -> Iterator[Conflict]:
    """The same thing done with something else: `passwords are hashed with bcrypt`, `hash a password with argon2id`."""
    told = [(item, *said) for item in findings[:COMPARED] for said in _done_with(item.text, question)]
    for (one, name, words), (other, another, others) in combinations(told, 2):
        alike = name.startswith(another) or another.startswith(name)
        if one.place != other.place and not alike and words == others and not _is_later(one, other):
            yield Conflict(f"{name} here, {another} there", one, other)


def _done_with(text: str, question: Question) -> Iterator[tuple[str, set[str]]]:
    """What is used at the end of a sentence that holds what was asked, and the stems of the rest of it."""
    for sentence in _sentences(text):
        if found := _WITH.search(sentence[:SHORT]):
            words = {stem_word(word) for word in content_words(sentence[: found.start()])}
            if len(words) > 1 and len(words & set(question.terms)) > 1 and found[1].lower() not in STOP_WORDS:
                yield found[1].lower(), words


def _is_later(one: Finding, other: Finding) -> bool:
    """Two commits tell how things went, not how they are."""
    return one.source == other.source == "history"


def _against(one: str, other: str, terms: set[str]) -> Iterator[str]:
    for a in _sentences(one):
        words = content_words(a)
        if not stems(a) & terms:
            continue
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
            if stem_word(word.lower()) in words:
                yield word.lower(), number, words


def _touches(item: Finding, question: Question) -> bool:
    return bool(stems(f"{item.text} {item.title}") & set(question.terms))


def _versions(
    findings: Sequence[Finding], passages: Sequence[Finding], question: Question, stack: Stack, every: bool
) -> Iterator[Conflict]:
    """Versions that are written beside a technology's name and are not the one in use: of what the question names, of
    all where it asks for versions or for what is needed, else in sentences that are about what is asked."""
    named = named_in(question, stack)
    all_asked = "version" in question.terms and not named
    for item in stack.technologies:
        if not item.version or not item.name:
            continue
        asked = all_asked or item in named or (every and item.kind in NEEDED)
        for said in [*findings, *(passages if asked else ())]:
            listed = said.source == "setup" and item.kind in NEEDED  # it is part of what was asked for
            if written := _written(said.text, item, question, asked or listed):
                held = Finding(f"{item.name} {item.version}", "code", item.place, title=item.package)
                yield Conflict(f"{item.name}: {written} here, {item.version} there", said, held)


def _rivals(
    findings: Sequence[Finding], passages: Sequence[Finding], question: Question, stack: Stack, every: bool
) -> Iterator[Conflict]:
    """Servers and tools that a page says are used where the manifests have another one of that sort and not this."""
    have = {item.name: item for item in stack.technologies}
    kinds = kinds_asked(question)
    for family, names in RIVALS.items():
        used = [have[name] for name in names if name in have]
        named = any(re.search(rf"(?<![\w-]){_written_as(name)}(?![\w-])", question.text, re.I) for name in names)
        asked = named or family in kinds or (every and family in NEEDED)
        for said in [*findings, *(passages if asked else ())] if used else ():
            listed = said.source == "setup" and family in NEEDED
            if told := _other(said.text, [name for name in names if name not in have], question, asked or listed):
                via = f" through {used[0].package}" if used[0].package and not used[0].version else ""
                held = Finding(f"{used[0].name} {used[0].version}".strip() + via, "code", used[0].place)
                yield Conflict(f"{told} here, {used[0].name} there", said, held)


def _other(text: str, names: Sequence[str], question: Question, asked: bool) -> str:
    """The first of these names that a text speaks of as used; one that is denied, or was left, is not."""
    for name in names:
        for sentence in re.split(r"(?<=[.!?;])\s+", text[:2_000]):
            found = re.search(rf"(?<![\w-]){_written_as(name)}(?![\w-])", sentence, re.I)
            left = found and (_DENIED.search(sentence[: found.start()]) or _LEFT.search(sentence))
            if found and not left and (asked or _is_about(sentence, question)):
                return name
    return ""


def _written_as(name: str) -> str:
    return f"(?:{NAMES.get(name, re.escape(name))})"


def _is_about(sentence: str, question: Question) -> bool:
    return len(stems(sentence) & set(question.terms)) >= TOUCHED * max(1, len(question.terms))


def _written(text: str, item: Technology, question: Question, asked: bool) -> str:
    """A version of a technology that a text names and that is not the one in use; '' where there is none. Where the
    technology was not asked for, the sentence has to be about the question."""
    name = f"(?:{re.escape(item.name.removesuffix('.js'))}|{_written_as(item.name)})"
    case = re.NOFLAG if len(item.name) <= SHORT_NAME else re.I  # go is a word of everyday
    for found in re.finditer(rf"(?<![\w-]){name}(?:\.js)?\s+v?(\d+(?:\.\d+){{0,3}})\b", text[:2_000], case):
        said = found[1]
        begin, end = text.rfind(". ", 0, found.start()) + 1, text.find(". ", found.end())
        if not asked and not _is_about(text[begin : end if end > 0 else len(text)], question):
            continue
        least = _LATER.match(text, found.end()) or _BEFORE.search(text[: found.start()])
        newer = _numbers(said) > _numbers(item.version)
        # What is asked for is the least: an older one does not do, and a newer one may be what somebody has.
        if _differs(said, item.version) and (newer if least else item.locked or not newer):
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
