"""Memories whose cited code has changed, is gone or has moved: listed, explained, followed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from swarmlore.domain.language.citations import Lines, find_span, is_mark
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.policy.ranking import STALE, place
from swarmlore.domain.records import Citation, Cited, Memory, Stale
from swarmlore.errors import InvalidInput
from swarmlore.frozen import frozen, replace
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.cited_code import MAX_FILE_BYTES, Look, Tree, Unreadable
from swarmlore.workspace.git import commits_of, file_at
from swarmlore.workspace.project import may_change

UNKNOWN = "what it was is not known: git has no version of the file with these lines"
SHOWN_LINES = 120
SHOWN_CHARS = 300
THOROUGH_LINES = 3_000  # longer files are compared by the quicker method that ignores popular lines


@frozen
class Former:
    """A version of a file that has the cited lines."""

    commit: str
    lines: list[bytes]
    first: int
    last: int

    @property
    def span(self) -> list[bytes]:
        return self.lines[self.first - 1 : self.last]


def with_difference(tree: Tree, cited: Cited) -> Cited:
    """The same, where the code is changed or gone with a diff of its lines, or with a note that it cannot be told."""
    if cited.state not in STALE or not is_mark(cited.citation.span_hash):
        return cited
    former = _former(tree.root, cited.citation)
    if former is None:
        return replace(cited, note="; ".join(part for part in (cited.note, UNKNOWN) if part))
    try:
        lines, _ = tree.read(cited.citation.path)
        now = lines.text(1, len(lines))
    except Unreadable:
        now = []
    first, last = _range_now(former, now) if cited.citation.first_line else (1, len(now))
    path = cited.citation.path
    old = f"{place(path, former.first, former.last)} at {former.commit[:10]}"
    diff = _diff(former.span, now[first - 1 : last], old, f"{place(path, first, last)} now" if last else "nothing now")
    return replace(cited, diff=diff, first_line=first if last else 0, last_line=last)


def _former(root: str, citation: Citation) -> Former | None:
    """The oldest known version of the file in which the cited lines are."""
    for commit in _versions(root, citation):
        data = file_at(root, commit, citation.path, MAX_FILE_BYTES)
        if data is None:
            continue
        lines = Lines(data)
        found = find_span(lines, citation.span_hash, citation.first_line, citation.last_line)
        if found is not None:
            return Former(commit, lines.text(1, len(lines)), found.first or 1, found.last or len(lines))
    return None


def _versions(root: str, citation: Citation) -> Iterator[str]:
    if citation.commit:
        yield citation.commit
    yield from commits_of(root, citation.commit, citation.path)


def _range_now(former: Former, now: Sequence[bytes]) -> tuple[int, int]:
    """Which lines stand now where the cited ones stood; (n, 0) where there are none."""
    from difflib import SequenceMatcher

    if not now:
        return 0, 0
    thorough = max(len(former.lines), len(now)) <= THOROUGH_LINES
    first, last = 0, 0
    for tag, old, old_end, new, new_end in SequenceMatcher(
        None, former.lines, now, autojunk=not thorough
    ).get_opcodes():
        if old <= former.first - 1 < old_end:
            first = new + 1 + (former.first - 1 - old if tag == "equal" else 0)
        if old < former.last <= old_end:
            last = new + former.last - old if tag == "equal" else new_end
    return (first, last) if first <= last else (first, 0)


def _diff(old: Sequence[bytes], new: Sequence[bytes], old_name: str, new_name: str) -> str:
    """A unified diff, shortened; secrets in the code are no more to be shown than secrets in a memory."""
    from difflib import unified_diff

    before, after = ([line.decode("utf-8", "replace") for line in side] for side in (old, new))
    lines = [line[:SHOWN_CHARS] for line in unified_diff(before, after, old_name, new_name, lineterm="")]
    if len(lines) > SHOWN_LINES:
        lines[SHOWN_LINES:] = [f"… {len(lines) - SHOWN_LINES} more lines"]
    return scrub_text("\n".join(lines))


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
