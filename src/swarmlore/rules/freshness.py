"""What became of cited code, in words and in rank. Pure.

| state | the cited lines are |
|---|---|
| unchanged | where they were, as they were: the memory is verified |
| moved | as they were, elsewhere in the file: the citation is followed |
| changed | not in the file any more as they were |
| gone | in a file that is not there any more, or cannot be read |
| unchecked | not looked at: another project's, too large, or over the budget of one recall |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from swarmlore.frozen import replace
from swarmlore.records import Cited, Hit, Memory
from swarmlore.rules.priors import default_priors

STATES = ("unchanged", "moved", "changed", "gone", "unchecked")
STALE = ("changed", "gone")
CHANGED = "cited code has changed"


def is_stale(cited: Iterable[Cited]) -> bool:
    """Whether any cited code has changed or is gone; one changed place may be the one that the memory speaks of."""
    return any(item.state in STALE for item in cited)


def rank_down(hit: Hit, now: float) -> Hit:
    """The hit of profile `default` as its priors make it when its cited code has changed."""
    fresh, stale = default_priors(hit.memory, now), default_priors(hit.memory, now, stale=True)
    parts = hit.explanation[: len(hit.explanation) - len(fresh.parts)]
    return replace(hit, score=hit.score / fresh.score * stale.score, explanation=(*parts, *stale.parts))


def with_citations(hits: Iterable[Hit], check: Callable[[Memory], tuple[Cited, ...]]) -> Iterator[Hit]:
    """The hits with their citations checked, each when its turn comes: what is not asked for costs nothing."""
    for hit in hits:
        yield replace(hit, cited=check(hit.memory)) if hit.memory.citations else hit


def stale_later(hits: Iterable[Hit], now: float) -> Iterator[Hit]:
    """The descending hits with those ranked down whose cited code has changed; only as many are taken as needed."""
    waiting: list[Hit] = []
    for hit in hits:
        while waiting and waiting[0].score >= hit.score:
            yield waiting.pop(0)
        if is_stale(hit.cited):
            waiting = sorted((*waiting, rank_down(hit, now)), key=lambda item: -item.score)
        else:
            yield hit
    yield from waiting


def place(path: str, first: int, last: int) -> str:
    """A place as people write it."""
    return path if not first else f"{path}:{first}" if first == last else f"{path}:{first}-{last}"


def place_now(cited: Cited) -> str:
    """Where cited code is now, as far as that is known."""
    if cited.state == "moved":
        return place(cited.citation.path, cited.first_line, cited.last_line)
    return place(cited.citation.path, cited.citation.first_line, cited.citation.last_line)
