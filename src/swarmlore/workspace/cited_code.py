"""Check cited code against the working tree: is a cited span unchanged, moved, changed or gone?

A citation is checked each time its memory is about to be shown, so a check must be cheap: a file is read only if it
changed since the last check. Paths come from texts and from other people's files, so none may leave the project's
folder, and no symbolic link is followed.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from swarmlore.domain.language.citations import (
    HINT,
    Found,
    Lines,
    find_citations,
    find_span,
    fingerprint_span,
    is_fingerprint,
    is_sound,
    parse_citation,
)
from swarmlore.domain.records import MAX_CITATIONS, Citation, Cited, Memory
from swarmlore.errors import InvalidInput
from swarmlore.frozen import frozen, replace
from swarmlore.workspace.git import head_commit

MAX_FILE_BYTES = 1_000_000
MAX_TRIED = 32
KEPT_FILES = 512  # files whose findings are cached
OPEN_FILES = 64  # files whose lines one look keeps in memory
SETTLED_NS = 1_000_000_000  # a file changed more recently may change again without a new timestamp
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FILE = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_BY_STEPS = os.open in os.supports_dir_fd

Stamp = tuple[int, int, int, int, int]  # device, inode, size, mtime, ctime
Findings = dict[tuple[str, int, int], Found | None]


@frozen
class Budget:
    """Limits of one look; citations beyond them stay unchecked."""

    citations: int = 64
    bytes: int = 2_000_000


UNLIMITED = Budget(10**9, 10**15)


class Unreadable(Exception):
    """Raised if a file cannot be read: why, and the state of its citations."""

    def __init__(self, note: str, state: str = "gone") -> None:
        super().__init__(note)
        self.note = note
        self.state = state


class Tree:
    """Working tree of a project: makes citations, and caches findings per file, keyed by the file's stamp."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._known: OrderedDict[str, tuple[Stamp, Findings]] = OrderedDict()

    def cite(self, named: str) -> Citation:
        """Return the citation of `PATH[:A[-B]]` as it stands now; raise InvalidInput if it cannot be cited."""
        place = parse_citation(self._relative(named))
        first, last = place.first_line, place.last_line
        try:
            lines, _ = self.read(place.path)
        except Unreadable as problem:
            raise InvalidInput(f"{place.path} cannot be cited: {problem.note}", HINT) from None
        mark = fingerprint_span(lines, first, last)
        if not mark:
            raise InvalidInput(f"{place.path} has {len(lines)} lines, not {last}", HINT)
        if first and not lines.count_characters(first, last):
            raise InvalidInput(f"there is nothing in line {first} of {place.path}", "cite lines with code")
        return replace(place, span_hash=mark, commit=head_commit(self.root))

    def named_in(self, text: str, room: int = MAX_CITATIONS) -> tuple[Citation, ...]:
        """Return citations of the existing places that a text names; never fail."""
        found: list[Citation] = []
        for place in find_citations(self._relative(text))[:MAX_TRIED]:
            try:
                citation = self.cite(f"{place.path}:{place.first_line}-{place.last_line}")
            except InvalidInput:
                continue  # the text names something else, or another project's file
            if len(found) < room:
                found.append(citation)
        return tuple(found)

    def _relative(self, text: str) -> str:
        """Strip the tree's folder from the paths in a text, since tools print absolute paths."""
        return text.replace(self.root + os.sep, "") if len(self.root) > 1 else text

    def stamp(self, path: str) -> Stamp:
        """Return a file's stamp, which identifies its content without reading it; raise Unreadable if that fails."""
        with self._opened(path) as file:
            return _stamp(file)

    def read(self, path: str, room: int = MAX_FILE_BYTES) -> tuple[Lines, int]:
        """Return a file's lines and its size in bytes; raise Unreadable if that fails."""
        with self._opened(path) as file:
            data = _content(file, _stamp(file)[2], room)
        return Lines(data), len(data)

    def content(self, path: str, most: int) -> bytes:
        """Return a file's bytes; raise Unreadable if that fails, or if they are more than `most`."""
        with self._opened(path) as file:
            size = _stamp(file)[2]
            if size > most:
                raise Unreadable(f"it is larger than {most:,} bytes", "unchecked")
            return _bytes(file, size + 1)[:most]

    @contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        try:
            file = _open(self.root, path)
        except (OSError, ValueError) as error:
            raise Unreadable(_reason(self.root, path, error)) from None
        try:
            yield file
        finally:
            os.close(file)

    def findings(self, path: str, stamp: Stamp) -> Findings:
        """Return the cached findings for this content of a file, to which the caller adds."""
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            known = (stamp, {})
        if abs(time.time_ns() - stamp[4]) >= SETTLED_NS:
            self._known[path] = known
            self._known.move_to_end(path)
        while len(self._known) > KEPT_FILES:
            self._known.popitem(last=False)
        return known[1]


class CitationCheck:
    """One check of several citations: each file is read about once, and no more than the budget allows."""

    def __init__(
        self,
        tree: Tree,
        is_own: Callable[[Memory], bool],
        budget: Budget | None = None,
        otherwise: str = "of another project",
    ) -> None:
        self.tree = tree
        self._is_own = is_own
        self._otherwise = otherwise  # note for memories whose citations are not checked
        budget = budget or Budget()
        self._citations, self._bytes = budget.citations, budget.bytes
        self._stamps: dict[str, Stamp | Unreadable] = {}
        self._files: dict[str, Lines] = {}

    def cited(self, memory: Memory) -> tuple[Cited, ...]:
        """Return the citations of a memory with their states."""
        if memory.citations and not self._is_own(memory):
            return tuple(Cited(item, "unchecked", note=self._otherwise) for item in memory.citations)
        return tuple(self.check(item) for item in memory.citations)

    def check(self, citation: Citation) -> Cited:
        """Return one citation with its state."""
        if not is_sound(citation) or not is_fingerprint(citation.span_hash):
            return Cited(citation, "unchecked", note="not a citation of a file in the project")
        if self._citations <= 0:
            return Cited(citation, "unchecked", note="more than one recall looks at")
        self._citations -= 1
        try:
            found = self._find(citation)
        except Unreadable as problem:
            return Cited(citation, problem.state, note=problem.note)
        if found is None:
            return Cited(citation, "changed")
        return Cited(citation, "unchanged" if found.same else "moved", found.first, found.last)

    def _find(self, citation: Citation) -> Found | None:
        span = (citation.span_hash, citation.first_line, citation.last_line)
        findings = self.tree.findings(citation.path, self._stamp(citation.path))
        if span not in findings:
            findings[span] = find_span(self._lines(citation.path), *span)
        return findings[span]

    def _stamp(self, path: str) -> Stamp:
        if path not in self._stamps:
            try:
                self._stamps[path] = self.tree.stamp(path)
            except Unreadable as problem:
                self._stamps[path] = problem
        stamp = self._stamps[path]
        if isinstance(stamp, Unreadable):
            raise stamp
        return stamp

    def _lines(self, path: str) -> Lines:
        if path not in self._files:
            if len(self._files) >= OPEN_FILES:
                self._files.clear()  # a look at all citations must not keep all files in memory
            self._files[path], read = self.tree.read(path, min(self._bytes, MAX_FILE_BYTES))
            self._bytes -= read
        return self._files[path]


def _open(root: str, path: str) -> int:
    """Open a file below a folder component by component, so that no link is followed; raise OSError if that fails."""
    parts = path.split("/")
    if not _BY_STEPS:
        return _open_checked(root, parts)
    folder = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _open_checked(root: str, parts: list[str]) -> int:
    """Open a file after checking each component for links, for systems that cannot open by steps."""
    if any(_is_link(place) for place in _prefixes(root, parts)):
        raise OSError(errno.ELOOP, "a symbolic link")
    return os.open(os.path.join(root, *parts), _FILE | getattr(os, "O_BINARY", 0))


def _prefixes(root: str, parts: list[str]) -> Iterator[str]:
    for count in range(1, len(parts) + 1):
        yield os.path.join(root, *parts[:count])


def _is_link(place: str) -> bool:
    return os.path.islink(place) or (hasattr(os.path, "isjunction") and os.path.isjunction(place))


def _reason(root: str, path: str, error: OSError | ValueError) -> str:
    """Return in words why a file could not be opened."""
    if any(_is_link(place) for place in _prefixes(root, path.split("/"))):
        return "a symbolic link leads there"
    if isinstance(error, PermissionError):
        return "it cannot be read"
    return "there is no such file"


def _stamp(file: int) -> Stamp:
    """Return the stamp of an open file; raise Unreadable if it is not a regular file."""
    facts = os.fstat(file)
    if not stat.S_ISREG(facts.st_mode):
        raise Unreadable("it is not a file")
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _content(file: int, size: int, room: int) -> bytes:
    if size > MAX_FILE_BYTES:
        raise Unreadable(f"it is larger than {MAX_FILE_BYTES // 1_000_000} MB", "unchecked")
    if size > room:
        raise Unreadable("more than one recall looks at", "unchecked")
    return _bytes(file, size + 1)


def _bytes(file: int, most: int) -> bytes:
    parts, left = [], most
    try:
        while left > 0 and (part := os.read(file, left)):
            parts.append(part)
            left -= len(part)
    except OSError:
        raise Unreadable("it cannot be read") from None
    return b"".join(parts)
