"""Parse a question: its search terms, and which kind of answer it asks for; then scan a project's files for the terms.

The scan searches bytes for the beginnings of words, which takes about a second for ten thousand files. Large and binary
files and links are skipped; a scan that takes too long is cut short, and the report says so.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from math import log

from swarmlore.domain.language.tokenizer import STOP_WORDS, split_words, stem_word
from swarmlore.frozen import frozen
from swarmlore.workspace.cited_code import Tree, Unreadable
from swarmlore.workspace.codebase import Listing, is_binary, is_text

NEEDS, SYSTEM, STEPS = "needs", "system", "steps"

# The words that people and files use for each task.
TASKS = {
    "test": "test tests testing spec specs tested unittest pytest nextest jest vitest rspec",
    "lint": "lint linter linting clippy eslint ruff golangci rubocop",
    "format": "format formatter formatting fmt prettier gofmt rustfmt",
    "types": "typecheck tsc mypy pyright",
    "build": "build compile compiled built building",
    "start": "start run serve server dev launch started up",
    "deploy": "deploy deployed deployment ship rollout",
    "release": "release publish released published",
    "migrate": "migrate migration migrations migrated",
    "seed": "seed seeds fixtures populate fill",
    "docs": "docs documentation",
    "bench": "bench benchmark benchmarks",
    "coverage": "coverage",
    "check": "check verify",
    "clean": "clean",
    "setup": "setup bootstrap install",
    "generate": "generate codegen",
}
_WEAK = ("start", "setup", "check")  # tasks of little meaning: "run the tests" is about tests
_GROUPS = {stem_word(word): name for name, words in TASKS.items() for word in words.split()}
_VERBS = (
    r"(?:run|start|execute|launch|serve|build|compile|deploy|lint|format|test|migrate|release|publish|ship|check|apply|perform|reset|load|"
    r"typecheck|seed|fill|populate|generate|clean|bench(?:mark)?|use|begin|get)"
)
_TASK = re.compile(
    rf"\bhow\s+(?:do|can|could|should|would|to|must)\s+(?:(?:i|we|you|one|people)\s+)?(?:\w{{1,20}}ly\s+)?{_VERBS}\b"
    rf"|\bhow\s+(?:is|are|does|do)\s+(?:it|this|the|they|everything|we|things)\b.{{0,60}}?"
    r"\b(?:deploy|deployed|built|released|started|tested|linted|formatted|migrated|run|published)\b"
    r"|\b(?:which|what)\b.{0,40}\b(?:command|commands|task|script|target)\b|\bcommand\s+(?:to|for)\b",
    re.I,
)
_NEED = re.compile(
    r"\b(?:prerequisites?|pre-requisites?)\b"
    r"|\b(?:what|which)\b.{0,60}\b(?:needs?|needed|requires?|required|must|have\s+to|should|has\s+to)\b.{0,60}"
    r"\b(?:install(?:ed)?|run|start|build|compile|develop|work|begin|set\s?-?up|have|hack|contribute)\b"
    r"|\b(?:what|which)\b.{0,40}\b(?:install|installed)\b"
    r"|\bwhat\s+(?:does\s+(?:it|this)|do\s+(?:i|we))\b.{0,40}\b(?:need|require)\b"
    r"|\bwhat\s+(?:are|is)\s+the\b.{0,30}\brequirements?\b",
    re.I,
)
_STEPS = re.compile(
    r"\b(?:how|what)\b.{0,50}\b(?:install|installation|set\s?-?up|set\s+(?:\w{1,12}\s+){1,2}up|get\s+(?:it\s+|this\s+)?(?:started|running|going)|"
    r"getting\s+started|bootstrap|run\s+(?:it|this)(?:\s+(?:locally|here|project|app|service))?\s*\??$|run\s+locally)\b",
    re.I,
)
_SYSTEM = re.compile(
    r"\b(?:system|os|operating|native|apt|debian|ubuntu|linux|brew)\b.{0,30}\b(?:packages?|librar|dep)", re.I
)
_WHY = re.compile(r"\s*why\b|\b(?:error|fails?|failed|failing|crash\w*|exception)\b", re.I)
_VARIABLES = re.compile(
    r"\b(?:environment|env)[\s-]+(?:variables?|vars?)\b|\benv\s?vars?\b|\benvironment\b.{0,30}\bset\b", re.I
)
_NUMBER = re.compile(
    r"\bhow\s+(?:many|much|long|often|large|big|old|frequently)\b|\bport\b|\bwhat(?:'s|\s+is|\s+are)\s+the\b.{0,40}"
    r"\b(?:limits?|timeout|time-out|maximum|minimum|interval|threshold|delay|retention)\b",
    re.I,
)
_KINDS = {
    r"how\s+many": ("count",),
    r"how\s+(?:long|old|soon|late)": ("time",),
    r"how\s+(?:often|frequently)": ("count", "time"),
    r"how\s+(?:large|big)": ("size", "count"),
    "port": ("port",),
}
_AMOUNT = re.compile(
    r"\bhow\s+(?:many|much|long|often|large|big|fast|old|far|high|deep|small|frequently|soon|late)\b"
    r"|\b(?:limit|timeout|time-out|port|maximum|minimum|max|min|default|interval|threshold|size|rate|ttl|retention|delay)s?\b"
    r"|\bwhen\b.{0,60}\b(?:expires?|deleted|dropped|removed|times?\s+out)\b",
    re.I,
)
_WORDS = (
    "install installed installation need needed require required requirement requirements prerequisite prerequisites "
    "run running start build system package packages library libraries locally local set setup begin get started tool "
    "tools machine computer work dependency dependencies software develop development compile app application service "
    "environment variable variables env command commands order first everything suite suites task script thing "
    "things level"
)
_PLAIN = frozenset(map(stem_word, _WORDS.split()))


@frozen
class Asked:
    """The kind of answer a question asks for. `needs`: which list of requirements, or ''; `tasks`: which tasks to run;
    `variables`, `amount`: whether it asks for those; `number`: whether only a number can answer it, of one of these
    `kinds`; `rest`: stems of its other content words."""

    needs: str = ""
    tasks: tuple[str, ...] = ()
    variables: bool = False
    amount: bool = False
    number: bool = False
    kinds: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Return whether it asks for none of requirements, tasks and variables."""
        return not (self.needs or self.tasks or self.variables)


def read_asked(text: str) -> Asked:
    """Classify what a question asks for. One about an error, or why, asks for no requirements or tasks."""
    line = " ".join(text[:500].split())
    amount, number = _AMOUNT.search(line) is not None, _NUMBER.search(line) is not None
    if _WHY.search(line):
        return Asked(amount=amount, number=number, kinds=_kinds(line))
    words = [stem_word(word) for word in split_words(line) if word not in STOP_WORDS]
    needs = SYSTEM if _SYSTEM.search(line) else NEEDS if _NEED.search(line) else STEPS if _STEPS.search(line) else ""
    tasks = _tasks(words) if _TASK.search(line) or needs else ()
    variables = _VARIABLES.search(line) is not None
    groups = {word for word in words if _GROUPS.get(word) in tasks}
    rest = tuple(dict.fromkeys(word for word in words if word not in _PLAIN and word not in groups))
    return Asked("" if variables else needs, () if variables else tasks, variables, amount, number, _kinds(line), rest)


def _tasks(words: list[str]) -> tuple[str, ...]:
    """Return the tasks these stems name; "run" or "start" with another task is not a task of its own."""
    named = [_GROUPS[word] for word in words if word in _GROUPS]
    telling = [name for name in named if name not in _WEAK]
    return tuple(dict.fromkeys(telling or named))


def _kinds(line: str) -> tuple[str, ...]:
    """Return the kinds of amount that can answer, () for any."""
    return next((kinds for said, kinds in _KINDS.items() if re.search(rf"\b{said}\b", line, re.I)), ())


def task_group(words: list[str]) -> set[str]:
    """Return the tasks that the words of a name or command stand for."""
    return set(_tasks([stem_word(word) for word in words]))


MOST_TERMS = 16
MOST_NAMES = 8
LEAST_NEEDLE = 3
# Question words without content.
_ASKING = frozenset(
    "work works use uses used using happen happens mean means want wants make makes made find explain describe tell "
    "show question best better good right wrong correct currently exactly actually project code codebase repository "
    "repo handle handled handles many long kind sort part place able often frequently large big times".split()
)
SAME = {"attempt": "retri", "tri": "retri"}
# Synonyms that a file may use instead of a needle.
ALSO = {b"retr": (b"attempt",), b"attempt": (b"retr",)}
_NAME = re.compile(r"`([^`\n]{2,80})`|\b([A-Za-z_][\w]*(?:(?:\.|::|->)[A-Za-z_]\w*)*)(\(\))?")


@frozen
class Question:
    """A question as search terms. `terms` are stems in order of appearance; `needles` are lower-case prefixes shared by
    all forms of each term; `names` are identifiers as written."""

    text: str
    terms: tuple[str, ...]
    needles: tuple[bytes, ...]
    names: tuple[str, ...] = ()


def read_question(text: str) -> Question:
    """Parse the search terms of a question. Question words count only if there are no others."""
    words = [word for word in split_words(text) if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())]
    telling = [word for word in words if word not in _ASKING] or words
    kept: dict[str, bytes] = {}
    for word in telling:
        if len(kept) < MOST_TERMS:
            kept.setdefault(root(word), _needle(word))
    return Question(text, tuple(kept), tuple(kept.values()), _names(text))


def _needle(word: str) -> bytes:
    """Return the prefix that all forms of a word share: `memor` for `memories` and `memory`."""
    root = stem_word(word)
    same = next((at for at, (a, b) in enumerate(zip(word, root, strict=False)) if a != b), min(len(word), len(root)))
    begin = root[:same]
    if begin.endswith("i") and len(begin) > LEAST_NEEDLE:
        begin = begin[:-1]
    return (begin if len(begin) >= LEAST_NEEDLE else word).encode()


def _names(text: str) -> tuple[str, ...]:
    """Return the identifiers of a text: in back-ticks, with call brackets, or written like snake_case."""
    found: dict[str, None] = {}
    for quoted, word, called in _NAME.findall(text):
        name = quoted.strip().removesuffix("()") or word
        inner = any(part.isupper() for part in name[1:]) and not name.isupper()
        if quoted or called or "_" in name.strip("_") or inner or "::" in name:
            found[re.split(r"\.|::|->", name)[-1]] = None
    return tuple(list(found)[:MOST_NAMES])


class Weights:
    """Weights of the question's terms: the more files contain a term, the less it weighs."""

    def __init__(self, question: Question, holding: Sequence[int], files: int) -> None:
        self.terms = question.terms
        self.asked = question.text
        self._weight = {
            term: log(1 + (files + 1) / (count + 0.5)) for term, count in zip(question.terms, holding, strict=True)
        }
        self.whole = sum(self._weight.values()) or 1.0
        known = [self._weight[term] for term, count in zip(question.terms, holding, strict=True) if count]
        self._known = sum(known) or self.whole

    def of(self, terms: Sequence[str] | set[str]) -> float:
        """Return the total weight of some terms."""
        return sum(self._weight.get(term, 0.0) for term in terms)

    def coverage(self, text: str, title: str = "") -> float:
        """Return the share of the question that a text covers, 0 to 1; terms found only in its title count half."""
        said = stems(text) & self._weight.keys()
        above = (stems(title) & self._weight.keys()) - said
        return (self.of(said) + self.of(above) / 2) / self.whole

    def held(self, text: str, title: str = "") -> float:
        """Return the same share of only those terms that occur in any file, as no sentence can have the others."""
        return self.coverage(text, title) * self.whole / self._known

    def missing(self, texts: Sequence[str]) -> list[str]:
        """Return the terms that none of the texts contains."""
        said = set().union(*map(stems, texts)) if texts else set()
        return [term for term in self.terms if term not in said]


def stems(text: str) -> set[str]:
    """Return the stems of a text's words."""
    return {root(word) for word in split_words(text[:4_000])}


def root(word: str) -> str:
    """Return the stem of a word; synonyms of code and docs, such as attempt and retry, share one."""
    found = stem_word(word)
    return SAME.get(found, found)


MOST_BYTES = 400_000_000
MOST_SECONDS = 20.0
FILE_BYTES = 1_000_000


@frozen
class Holding:
    """A file that contains some terms, as indexes into the question's terms."""

    path: str
    terms: tuple[int, ...]


@frozen
class Scan:
    """The result of a scan: files with hits, number of files per term, number read, and why it was cut short."""

    files: tuple[Holding, ...]
    counts: tuple[int, ...]
    read: int
    cut: str = ""


def scan(tree: Tree, listing: Listing, question: Question, stop: Callable[[], bool] = lambda: False) -> Scan:
    """Search every text file of a project once for the question's terms."""
    found: list[Holding] = []
    counts = [0] * len(question.needles)
    read = size = 0
    ends_at = time.monotonic() + MOST_SECONDS
    cut = "the list of files was cut" if listing.cut else ""
    for path in listing.paths:
        if time.monotonic() > ends_at or size > MOST_BYTES or stop():
            cut = f"only {read:,} of {len(listing.paths):,} files were read"
            break
        data = low_bytes(tree, path) if is_text(path) else b""
        read += bool(data)
        size += len(data)
        held = tuple(
            number
            for number, needle in enumerate(question.needles)
            if needle in data or any(other in data for other in ALSO.get(needle, ()))
        )
        for number in held:
            counts[number] += 1
        if held:
            found.append(Holding(path, held))
    return Scan(tuple(found), tuple(counts), read, cut)


def low_bytes(tree: Tree, path: str) -> bytes:
    """Return a text file's bytes in lower case; empty if it is unreadable or binary."""
    try:
        data = tree.content(path, FILE_BYTES)
    except Unreadable:
        return b""
    return b"" if is_binary(data) else data.lower()


def text_of(tree: Tree, path: str) -> str:
    """Return a text file's content; '' if it is unreadable or binary."""
    try:
        data = tree.content(path, FILE_BYTES)
    except Unreadable:
        return ""
    return "" if is_binary(data) else data.decode("utf-8", "replace")
