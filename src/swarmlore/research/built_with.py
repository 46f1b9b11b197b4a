"""What the manifests and lock files say to a question that asks for a version, or for what something is done with."""

from __future__ import annotations

import re

from swarmlore.research.question import Question
from swarmlore.research.records import Finding
from swarmlore.workspace.stack import Stack, Technology

ASKED_FOR = 2.0  # the rank of what was asked for by its name
_KINDS = {
    "database": "database",
    "framework": "framework",
    "language": "language",
    "runtime": "runtime",
    "package manager": "packages",
    "test runner": "tests",
    "test framework": "tests",
    "build tool": "build",
}
_WHICH = re.compile(
    rf"\b(?:which|what)\s+(?:\w{{1,30}}\s+)??({'|'.join(sorted(_KINDS, key=len, reverse=True))})s?\b(?!\s+should)", re.I
)


def search_stack(stack: Stack, question: Question, limit: int) -> tuple[Finding, ...]:
    """The technologies whose version is asked for, or whose kind: `which database …`."""
    kinds = kinds_asked(question)
    asked = [item for item in stack.technologies if item.kind in kinds]
    if "version" in question.terms:
        asked += [item for item in named_in(question, stack) if item.version and item not in asked]
    spoken = [] if "language" not in kinds else [Finding(_shares(stack), "stack", "files", rank=ASKED_FOR)]
    return (*spoken, *(Finding(_said(item), "stack", item.place, rank=ASKED_FOR) for item in asked))[:limit]


def kinds_asked(question: Question) -> set[str]:
    """The kinds of technology that a question asks for: `which database …`."""
    return {_KINDS[found.lower()] for found in _WHICH.findall(question.text)}


def named_in(question: Question, stack: Stack) -> list[Technology]:
    """The technologies that a question names."""
    return [item for item in stack.technologies if item.name and _named(item.name, question.text)]


def _named(name: str, text: str) -> bool:
    """Whether a text names it; Node is Node.js. A short name is a word of everyday too (`go`, `make`), unless it is
    written as a name or its version is asked for."""
    short = re.escape(name.removesuffix(".js"))
    if len(name) > 4:
        return re.search(rf"(?<!\w){short}(?:\.js)?(?!\w)", text, re.I) is not None
    version = rf"(?<!\w)(?:{short} version|version of {short})(?!\w)"
    return re.search(rf"(?<!\w){short}(?!\w)", text) is not None or re.search(version, text, re.I) is not None


def _said(item: Technology) -> str:
    version = f"{item.version}{'' if item.locked else ' or what fits it'}" if item.version else ""
    via = f"through {item.package}" if item.package and not item.version else ""
    return " ".join(filter(None, (item.name, version, via)))


def _shares(stack: Stack) -> str:
    return ", ".join(f"{item.name} {round(100 * item.share)}%" for item in stack.languages[:6])
