"""Freshness: cited code held against the working tree.

A citation is checked whenever its memory is about to be shown, so a check has to cost little: a file is opened, and
read only if it is not the one that was read before. Citations come from texts and from other people's files, so a path
never leaves the project's folder, and no symbolic link is followed on its way.
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
    is_mark,
    is_sound,
    mark_span,
    parse_citation,
)
from swarmlore.domain.records import MAX_CITATIONS, Citation, Cited, Memory
from swarmlore.errors import InvalidInput
from swarmlore.frozen import frozen, replace
from swarmlore.workspace.git import head_commit

MAX_FILE_BYTES = 1_000_000
MAX_TRIED = 32
KEPT_FILES = 512  # whose findings are remembered
OPEN_FILES = 64  # whose lines are held by one look
SETTLED_NS = 1_000_000_000  # a file changed this lately may change again within one tick of its clock
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FILE = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_BY_STEPS = os.open in os.supports_dir_fd

Stamp = tuple[int, int, int, int, int]  # device, number, size, and when content and state changed
Findings = dict[tuple[str, int, int], Found | None]


@frozen
class Budget:
    """What one look may cost. Beyond it citations stay unchecked."""

    citations: int = 64
    bytes: int = 2_000_000


WHOLE = Budget(10**9, 10**15)


class Unreadable(Exception):
    """Why a file was not read, and which state that is."""

    def __init__(self, note: str, state: str = "gone") -> None:
        super().__init__(note)
        self.note = note
        self.state = state


class Tree:
    """The working tree of a project: cites places in it, and remembers the files it has read by their stamps."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._known: OrderedDict[str, tuple[Stamp, Findings]] = OrderedDict()

    def cite(self, asked: str) -> Citation:
        """The citation of `PATH[:A[-B]]` as it stands now; raises InvalidInput."""
        place = parse_citation(self._relative(asked))
        first, last = place.first_line, place.last_line
        try:
            lines, _ = self.read(place.path)
        except Unreadable as problem:
            raise InvalidInput(f"{place.path} cannot be cited: {problem.note}", HINT) from None
        mark = mark_span(lines, first, last)
        if not mark:
            raise InvalidInput(f"{place.path} has {len(lines)} lines, not {last}", HINT)
        if first and not lines.count_characters(first, last):
            raise InvalidInput(f"there is nothing in line {first} of {place.path}", "cite lines with code")
        return replace(place, span_hash=mark, commit=head_commit(self.root))

    def named_in(self, text: str, room: int = MAX_CITATIONS) -> tuple[Citation, ...]:
        """Citations of the places a text names that are really there; never fails."""
        found: list[Citation] = []
        for place in find_citations(self._relative(text))[:MAX_TRIED]:
            try:
                citation = self.cite(f"{place.path}:{place.first_line}-{place.last_line}")
            except InvalidInput:
                continue  # it names something else, or another project's file
            if len(found) < room:
                found.append(citation)
        return tuple(found)

    def _relative(self, text: str) -> str:
        """Paths into this tree without its folder: tools print whole paths."""
        return text.replace(self.root + os.sep, "") if len(self.root) > 1 else text

    def stamp(self, path: str) -> Stamp:
        """Which content a file has, without reading it; raises Unreadable."""
        with self._opened(path) as file:
            return _stamp(file)

    def read(self, path: str, room: int = MAX_FILE_BYTES) -> tuple[Lines, int]:
        """A file's lines and how many bytes they are; raises Unreadable."""
        with self._opened(path) as file:
            data = _content(file, _stamp(file)[2], room)
        return Lines(data), len(data)

    def content(self, path: str, most: int) -> bytes:
        """A file's bytes, whole; raises Unreadable, also where they are more than `most`."""
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
            raise Unreadable(_why(self.root, path, error)) from None
        try:
            yield file
        finally:
            os.close(file)

    def findings(self, path: str, stamp: Stamp) -> Findings:
        """What was found in this content of a file, to be added to."""
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            known = (stamp, {})
        if abs(time.time_ns() - stamp[4]) >= SETTLED_NS:
            self._known[path] = known
            self._known.move_to_end(path)
        while len(self._known) > KEPT_FILES:
            self._known.popitem(last=False)
        return known[1]


class Look:
    """One look at the working tree: a file is hardly read twice, and no more is read than the budget allows."""

    def __init__(
        self,
        tree: Tree,
        is_own: Callable[[Memory], bool],
        budget: Budget | None = None,
        otherwise: str = "of another project",
    ) -> None:
        self.tree = tree
        self._is_own = is_own
        self._otherwise = otherwise  # why nothing is said about what is not our own
        budget = budget or Budget()
        self._citations, self._bytes = budget.citations, budget.bytes
        self._stamps: dict[str, Stamp | Unreadable] = {}
        self._files: dict[str, Lines] = {}

    def cited(self, memory: Memory) -> tuple[Cited, ...]:
        """The citations of a memory with their states."""
        if memory.citations and not self._is_own(memory):
            return tuple(Cited(item, "unchecked", note=self._otherwise) for item in memory.citations)
        return tuple(self.check(item) for item in memory.citations)

    def check(self, citation: Citation) -> Cited:
        """One citation with its state."""
        if not is_sound(citation) or not is_mark(citation.span_hash):
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
        place = (citation.span_hash, citation.first_line, citation.last_line)
        findings = self.tree.findings(citation.path, self._stamp(citation.path))
        if place not in findings:
            findings[place] = find_span(self._lines(citation.path), *place)
        return findings[place]

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
                self._files.clear()  # a look at everything must not hold everything
            self._files[path], read = self.tree.read(path, min(self._bytes, MAX_FILE_BYTES))
            self._bytes -= read
        return self._files[path]


# Files


def _open(root: str, path: str) -> int:
    """A file below a folder, opened step by step so that no part of the way is a link; raises OSError."""
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
    """The same where a system cannot open by steps: every part of the way is looked at first."""
    if any(_is_link(place) for place in _way(root, parts)):
        raise OSError(errno.ELOOP, "a symbolic link")
    return os.open(os.path.join(root, *parts), _FILE | getattr(os, "O_BINARY", 0))


def _way(root: str, parts: list[str]) -> Iterator[str]:
    for count in range(1, len(parts) + 1):
        yield os.path.join(root, *parts[:count])


def _is_link(place: str) -> bool:
    return os.path.islink(place) or (hasattr(os.path, "isjunction") and os.path.isjunction(place))


def _why(root: str, path: str, error: OSError | ValueError) -> str:
    """What stood in the way, in words."""
    if any(_is_link(place) for place in _way(root, path.split("/"))):
        return "a symbolic link leads there"
    if isinstance(error, PermissionError):
        return "it cannot be read"
    return "there is no such file"


def _stamp(file: int) -> Stamp:
    """Which file this is, and which content of it; raises Unreadable for what is no file."""
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
