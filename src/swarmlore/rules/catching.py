"""What the memory-catcher makes of the end of a task or a session. Pure.

A transcript teaches what was put right, overcome or found out in it. What a worker says about its task becomes lessons
whose kind follows from how the task went, from the files it touched, and from the words it chose, in this order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.rules.confidence import extraction_confidence
from swarmlore.rules.evaluations import says_something
from swarmlore.rules.found import MAX_CHARS, MIN_CHARS, Found
from swarmlore.rules.placing import entities_of
from swarmlore.rules.session_lessons import MOST_LESSONS, distinct, kind_of, lessons_of
from swarmlore.rules.wording import tidy
from swarmlore.text.prose import sentences

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.rules.accounts import Account

AT_THE_END = 1_000_000  # the place of what is said when all turns are over


def lessons_in(turns: Sequence[Any], account: Account, trust: int = 2) -> tuple[Found, ...]:
    """At most ten lessons of a task: what somebody wrote about it as its lesson, then what its transcript teaches,
    trusted so much."""
    heard = [replace(item, trust=min(item.trust, trust)) for item in lessons_of(turns)]
    found = distinct([*lessons_told(account), *heard])[:MOST_LESSONS]
    if account.files:
        named = entities_of(account.files, "")
        found = [item if item.entities else replace(item, entities=named) for item in found]
    return tuple(found)


def confidence(found: Found, account: Account) -> float:
    """How sure a lesson of the catcher is."""
    return extraction_confidence(found.kind, account.duration_s, account.evaluation)


def lessons_told(account: Account) -> tuple[Found, ...]:
    """What a worker says about its task, in lessons of one sentence or of two that stand together."""
    said = [_plain(item.text) for item in sentences(account.evaluation)]
    if account.recovered and not said:
        said = [_plain(item.text) for item in sentences(account.summary)]  # how it recovered stands there, if anywhere
        account = replace(account, summary="")
    pieces = [(kind_told(text, account), text) for text in said if says_something(text)]
    under = account.summary or account.task
    texts = [(kind, _headed(text, kind, account.summary)) for kind, text in _joined(pieces)]
    return tuple(
        Found(
            tidy(text), kind, "medium", text, entities=entities_of(account.files, text), situation=under[:400],
            place=AT_THE_END,
        )
        for kind, text in texts
        if MIN_CHARS <= len(tidy(text)) <= MAX_CHARS
    )[:MOST_LESSONS]  # fmt: skip


def kind_told(text: str, account: Account) -> str:
    """The kind of what is said about a task: by its errors, its files, its words."""
    return kind_of(text, account.files, overcame=account.recovered)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _joined(pieces: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Two neighbours of one kind as one text, within the length of a lesson; no lesson has more than two sentences."""
    joined: list[tuple[str, str]] = []
    alone = False
    for kind, text in pieces:
        longer = f"{joined[-1][1]} {text}" if alone and joined[-1][0] == kind else ""
        if longer and len(longer) < MAX_CHARS:
            joined[-1] = (kind, longer)
        else:
            joined.append((kind, text))
        alone = text == joined[-1][1]
    return joined


def _headed(text: str, kind: str, summary: str) -> str:
    """With what it was about in front, where it needs that: a rule or a gap speaks for itself."""
    headed = f"{_plain(summary).rstrip(' .!:;')}: {text}"
    return headed if summary and kind in ("correction", "learning") and len(headed) < MAX_CHARS else text
