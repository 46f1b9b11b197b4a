"""Find memories whose cited code changed, disappeared or moved; show the difference; update citations of moved code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from swarmlore.domain.language.citations import STALE, Lines, find_span, is_fingerprint, place
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.records import Citation, Cited, Memory, Stale
from swarmlore.errors import InvalidInput
from swarmlore.frozen import frozen, replace
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.cited_code import MAX_FILE_BYTES, CitationCheck, Tree, Unreadable
from swarmlore.workspace.git import commits_of, file_at
from swarmlore.workspace.identity import may_change

UNKNOWN = "what it was is not known: git has no version of the file with these lines"
SHOWN_LINES = 120
SHOWN_CHARS = 300
THOROUGH_LINES = 3_000  # longer files are compared with difflib's autojunk, which skips frequent lines


@frozen
class Former:
    """A version of a file that contains the cited lines."""

    commit: str
    lines: list[bytes]
    first: int
    last: int

    @property
    def span(self) -> list[bytes]:
        return self.lines[self.first - 1 : self.last]


def with_difference(tree: Tree, cited: Cited) -> Cited:
    """Add a diff to a citation whose code changed or is gone, or a note if git has no version with those lines."""
    if cited.state not in STALE or not is_fingerprint(cited.citation.span_hash):
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
    """Return the first version of the file with the cited lines: the cited commit's, else the oldest in git."""
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
    """Return the current first and last line at the place of the cited ones; (n, 0) if they were removed."""
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
    """Return a shortened unified diff in which secrets are redacted, as in a memory."""
    from difflib import unified_diff

    before, after = ([line.decode("utf-8", "replace") for line in side] for side in (old, new))
    lines = [line[:SHOWN_CHARS] for line in unified_diff(before, after, old_name, new_name, lineterm="")]
    if len(lines) > SHOWN_LINES:
        lines[SHOWN_LINES:] = [f"… {len(lines) - SHOWN_LINES} more lines"]
    return scrub_text("\n".join(lines))


Progress = Callable[[int, int], None]


def find_stale(
    memories: Iterable[Memory], look: CitationCheck, states: tuple[str, ...] = STALE, progress: Progress | None = None
) -> list[Stale]:
    """Return the memories with citations in one of these states, with those citations and their diffs."""
    stale = []
    for number, memory in enumerate(memories, start=1):
        if cited := tuple(item for item in look.cited(memory) if item.state in states):
            stale.append(Stale(memory, tuple(with_difference(look.tree, item) for item in cited)))
        if progress:
            progress(number, 0)
    return stale


def follow(store: Store, operation: Operation, moved: Iterable[Stale], tree: Tree) -> list[Memory]:
    """Update the citations of moved code, in memories that the caller may change; return the changed ones."""
    return [
        store.revise(operation, item.memory, after, "followed", "its cited code has moved")
        for item in moved
        if may_change(operation.caller, item.memory)
        and (after := _with_new_places(item, tree, operation.at)).citations != item.memory.citations
    ]


def _with_new_places(item: Stale, tree: Tree, at: float) -> Memory:
    places = {cited.citation: _place_now(cited, tree) for cited in item.cited if cited.state == "moved"}
    citations = tuple(places.get(citation, citation) for citation in item.memory.citations)
    return replace(item.memory, citations=citations, updated_at=at)


def _place_now(cited: Cited, tree: Tree) -> Citation:
    try:
        return tree.cite(place(cited.citation.path, cited.first_line, cited.last_line))
    except InvalidInput:
        return cited.citation  # the file changed since it was checked
