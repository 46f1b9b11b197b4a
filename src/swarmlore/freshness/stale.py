"""Memories whose cited code has changed, is gone or has moved: listed, explained, followed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from swarmlore.domain.policy.ranking import STALE, place
from swarmlore.domain.records import Citation, Cited, Memory, Stale
from swarmlore.errors import InvalidInput
from swarmlore.freshness.differences import with_difference
from swarmlore.frozen import replace
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.cited_code import Look, Tree
from swarmlore.workspace.project import may_change

Progress = Callable[[int, int], None]


def find_stale(
    memories: Iterable[Memory], look: Look, states: tuple[str, ...] = STALE, progress: Progress | None = None
) -> list[Stale]:
    """The memories that have citations in one of these states, with those citations and how they differ."""
    found = []
    for number, memory in enumerate(memories, start=1):
        if cited := tuple(item for item in look.cited(memory) if item.state in states):
            found.append(Stale(memory, tuple(with_difference(look.tree, item) for item in cited)))
        if progress:
            progress(number, 0)
    return found


def follow(store: Store, operation: Operation, moved: Iterable[Stale], tree: Tree) -> list[Memory]:
    """Record where moved code is now; only in memories that the caller may change."""
    return [
        store.revise(operation, item.memory, after, "followed", "its cited code has moved")
        for item in moved
        if may_change(operation.caller, item.memory)
        and (after := _followed(item, tree, operation.at)).citations != item.memory.citations
    ]


def _followed(item: Stale, tree: Tree, at: float) -> Memory:
    places = {cited.citation: _place_now(cited, tree) for cited in item.cited if cited.state == "moved"}
    citations = tuple(places.get(citation, citation) for citation in item.memory.citations)
    return replace(item.memory, citations=citations, updated_at=at)


def _place_now(cited: Cited, tree: Tree) -> Citation:
    try:
        return tree.cite(place(cited.citation.path, cited.first_line, cited.last_line))
    except InvalidInput:
        return cited.citation  # it was changed or removed just now
