"""What a question asks for beyond its words: what is needed to begin, how a task is run, which variables are set, how
much of something there is. Pure; a question that is none of these is left to the search."""

from __future__ import annotations

import re

from swarmlore.domain.language.tokenizer import STOP_WORDS, split_words, stem_word
from swarmlore.frozen import frozen

NEEDS, SYSTEM, STEPS = "needs", "system", "steps"

# A task by the words that people and files use for it.
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
_WEAK = ("start", "setup", "check")  # to run, or to check, something is about that
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
    """`needs`: '', or which kind of list is wanted; `tasks`: which tasks it asks to run; `variables` and `amount`:
    whether it asks for those; `number`: whether only a number can answer it, and of which `kinds`; `rest`: stems that
    say what it is about besides."""

    needs: str = ""
    tasks: tuple[str, ...] = ()
    variables: bool = False
    amount: bool = False
    number: bool = False
    kinds: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        return not (self.needs or self.tasks or self.variables)


def read_asked(text: str) -> Asked:
    """What a question asks for. One about an error, or why, asks for none of it."""
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
    """The tasks that are named; to run or start something else is not a task of its own."""
    named = [_GROUPS[word] for word in words if word in _GROUPS]
    telling = [name for name in named if name not in _WEAK]
    return tuple(dict.fromkeys(telling or named))


def _kinds(line: str) -> tuple[str, ...]:
    """Which kinds of amount can answer; () where any can."""
    return next((kinds for said, kinds in _KINDS.items() if re.search(rf"\b{said}\b", line, re.I)), ())


def task_group(words: list[str]) -> set[str]:
    """The tasks that a name or a command stands for."""
    return set(_tasks([stem_word(word) for word in words]))
