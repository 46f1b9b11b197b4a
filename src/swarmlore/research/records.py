"""What research finds, as records."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.frozen import TYPE_CHECKING, field, frozen

if TYPE_CHECKING:
    from typing import Any

SOURCES = ("learnings", "docs", "setup", "stack", "definitions", "code", "history", "web")


@frozen
class Finding:
    """One statement and where it stands: a place (path:line, handle, commit or address) of one of the sources. `fit` is
    how well it answers, 0 to 1; `how` by which engines or in which part of the code it was found; `about` are further
    words that it is found by, and does not show."""

    text: str
    source: str
    place: str
    fit: float = 0.0
    title: str = ""
    how: str = ""
    trust: int = 1
    rank: float = 0.0
    about: str = ""


@frozen
class Conflict:
    """Two places that cannot both be right, and in what they differ."""

    what: str
    one: Finding
    other: Finding


@frozen
class Report:
    """The answer first: statements with their sources and, with a language model, a text that rests on them. Then all
    findings by source, conflicts between them, and what was not found. `file` is where it was saved, or ''."""

    question: str
    made_at: float
    project: str = ""
    answer: tuple[Finding, ...] = ()
    synthesis: str = ""
    findings: tuple[Finding, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    missing: tuple[str, ...] = ()
    searched: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""

    def of(self, source: str) -> tuple[Finding, ...]:
        return tuple(item for item in self.findings if item.source == source)
