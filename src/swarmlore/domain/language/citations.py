"""Citations: parse and find places in files, and locate a cited span again by its fingerprint after the file changed.

The fingerprint of a span is four digests in one text: its first line (to search for), all its lines (to be sure), and
the nearest non-blank lines on both sides (to tell copies apart). Trailing white space and the kind of line break do not
count. No text is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from swarmlore.domain.records import Citation, Cited
from swarmlore.errors import InvalidInput
from swarmlore.frozen import frozen

MAX_PATH = 1024
MAX_PART_BYTES = 255
MAX_LINE = 9_999_999
HINT = "as in: src/auth.py, src/auth.py:12 or src/auth.py:12-20, from the project's root"

# Names of files that need no extension.
_NAMES = frozenset(
    """
    makefile gnumakefile dockerfile containerfile justfile rakefile gemfile procfile jenkinsfile vagrantfile brewfile
    podfile fastfile caddyfile tiltfile earthfile build workspace license notice readme changelog codeowners
    """.split()
)
# Top-level domains; a file with such an ending can only be cited by hand.
_HOSTS = frozenset(
    """
    com org net edu gov mil int io ai co app dev cloud online site tech xyz info biz local localhost internal lan home
    corp intranet localdomain test invalid example svc uk de fr nl eu us ca au jp cn br in it es se ch at be pl ru
    """.split()
)

_BEFORE_LINES = (":", ":L", "#L", "(", "line ", "lines ")


def clean_path(path: str) -> str:
    """Return a path relative to the project's root in its shortest form; '' if it could lead outside."""
    path = path.replace("\\", "/")
    if not path.isprintable() or path.startswith("/") or len(path) > MAX_PATH or ":" in path:
        return ""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return "/".join(parts) if parts and all(map(_is_inside, parts)) and not parts[0].startswith("~") else ""


def _is_inside(part: str) -> bool:
    # Git's folder holds addresses with credentials and no source code; Windows has more names for it.
    known = part == part.strip() and part != ".." and part.rstrip(".").lower() not in (".git", "git~1")
    return known and len(part.encode("utf-8", "replace")) <= MAX_PART_BYTES


def is_sound(citation: Citation) -> bool:
    """Return whether an imported citation names a valid place inside a project."""
    texts = (citation.path, citation.span_hash, citation.commit)
    lines = (citation.first_line, citation.last_line)
    if not all(isinstance(text, str) for text in texts) or not all(type(line) is int for line in lines):
        return False
    first, last = lines
    return clean_path(citation.path) == citation.path != "" and (first == last == 0 or 1 <= first <= last <= MAX_LINE)


def parse_citation(text: str) -> Citation:
    """Parse `PATH[:A[-B]]`; raises InvalidInput. Without lines the citation is the whole file."""
    match = _asked().fullmatch(text.strip())
    path = clean_path(match["path"]) if match else ""
    if match is None or not path:
        raise InvalidInput(f"{text[:200]!r} cites nothing inside of the project", HINT)
    if match["first"] is None:
        return Citation(path)
    lines = _lines(match["first"], match["last"])
    if not lines:
        raise InvalidInput(f"{text[:200]!r} names no lines", HINT)
    return Citation(path, *lines)


def find_citations(text: str) -> tuple[Citation, ...]:
    """Find the places with line numbers that a text names, in order, each once."""
    if not may_cite(text):
        return ()
    found = (_citation(match) for match in _written().finditer(text))
    return tuple(dict.fromkeys(place for place in found if place is not None))


def may_cite(text: str) -> bool:
    """Return whether a text could name lines: a cheap check before the pattern is compiled."""
    return any(before in text and any(before + digit in text for digit in "123456789") for before in _BEFORE_LINES)


def _citation(match: re.Match[str]) -> Citation | None:
    """Return the citation of one match, or None if its path or lines are invalid."""
    groups = {name.rstrip("_"): value for name, value in match.groupdict().items() if value is not None}
    path, lines = clean_path(groups["path"]), _lines(groups["first"], groups.get("last"))
    if not path or not lines or not (match["path"] or _looks_like_a_file(path)):
        return None
    return Citation(path, *lines)


def _lines(first: str, last: str | None) -> tuple[int, int] | tuple[()]:
    begin, end = int(first), int(last or first)
    return (begin, end) if 1 <= begin <= end <= MAX_LINE else ()


def _looks_like_a_file(path: str) -> bool:
    """Return whether a path has an extension, a known name or folders, and is no host, number or time."""
    *folders, name = path.lower().split("/")
    if _is_host((folders or [name])[0]) or not any(map(str.isalpha, name)):
        return False
    stem, dot, extension = name.rpartition(".")
    if not dot:
        return name in _NAMES or (bool(folders) and any(map(str.isalpha, folders[0])))
    return any(map(str.isalpha, extension)) and (bool(stem) or bool(folders))


def _is_host(name: str) -> bool:
    stem, _, end = name.rpartition(".")
    return name == "localhost" or (bool(stem) and end in _HOSTS)


@cache
def _asked() -> re.Pattern[str]:
    """Return the pattern of a citation that was typed; its path is short, so that digits at the end are lines."""
    return re.compile(r"(?P<path>.+?)(?:[:#]L?(?P<first>[0-9]{1,9})(?::[0-9]{1,5}|-L?(?P<last>[0-9]{1,9}))?)?", re.S)


@cache
def _written() -> re.Pattern[str]:
    """Return the pattern of citations in text; trailing underscores tell equal groups of several forms apart."""
    begins = r"(?<![\w.@+$/\\:~%%-])"
    path = begins + r"(?P<path%s>[\w.@$](?:\[[\w.]+\]|\([\w.]+\)|[\w.@+$/\\-])*)"
    # "see lines 3-5 of" names no file "see". Anchored at the start of a path, for a long word would otherwise be tried
    # from each of its letters.
    named = begins.replace("%%", "%") + r"(?=[\w@$+-]*[./\\])"
    first, last = r"L?(?P<first%s>[0-9]{1,7})", r"(?:[-–]L?(?P<last%s>[0-9]{1,7}))?"
    column = r":[0-9]{1,5}(?:-[0-9]{1,7}(?::[0-9]{1,5})?)?"
    forms = (
        r'"(?P<path>[^"\n]{1,400})", line (?P<first>[0-9]{1,7})',  # Python's tracebacks; the path may hold spaces
        path % "_" + f":{first % '_'}(?:{column}|{last % '_'})",
        path % "__" + f"#L(?P<first__>[0-9]{{1,7}})(?:C[0-9]{{1,5}})?{last % '__'}(?:C[0-9]{{1,5}})?",
        path % "___" + r"\((?P<first___>[0-9]{1,7})(?:, ?[0-9]{1,5})?\)",
        named + path % "____" + rf"[`'\"]?,? \(?(?:at |on )?lines? {first % '____'}{last % '____'}",
        rf"\blines? {first % '_____'}{last % '_____'} (?:of|in) [`'\"]?" + path % "_____",
    )
    ends = r"(?!\w|\.\w|-\w|/)"  # `python:3.11-slim` has no line 3
    return re.compile("|".join(form if "of|in" in form else form + ends for form in forms))


DIGEST = 8  # bytes of a line's digest
CONTEXT = 2  # bytes kept of a neighbour's digest
NEIGHBOURS = 3  # on each side
REACH = 9  # lines searched for neighbours
MOST_COPIES = 2_000  # places tried in a file of equal lines
DISTINCT = 15  # characters that identify a span even without its old neighbours
_SIDE = NEIGHBOURS * CONTEXT


class Lines:
    """The lines of a file. Digests are computed on demand: a span that has not moved needs few of them."""

    def __init__(self, data: bytes) -> None:
        self._lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        if not self._lines[-1]:
            self._lines.pop()
        self._all = b""

    def __len__(self) -> int:
        return len(self._lines)

    def text(self, first: int, last: int) -> list[bytes]:
        """Return the lines `first` to `last`, counted from 1, without trailing white space."""
        return [line.rstrip() for line in self._lines[first - 1 : last]]

    def digests(self, first: int, last: int) -> bytes:
        """Return the digests of the lines `first` to `last`, one after the other."""
        if self._all:
            return self._all[(first - 1) * DIGEST : last * DIGEST]
        from hashlib import blake2b  # loads OpenSSL: only a checked citation pays for it

        return b"".join([blake2b(line, digest_size=DIGEST).digest() for line in self.text(first, last)])

    def all_digests(self) -> bytes:
        """Return the digests of all lines, computed once."""
        self._all = self._all or self.digests(1, len(self))
        return self._all

    def count_characters(self, first: int, last: int) -> int:
        """Count the visible characters in the lines `first` to `last`."""
        return sum(len(line.strip()) for line in self._lines[first - 1 : last])


@frozen
class Found:
    """The present place of a span. `same` is False if it has moved."""

    first: int
    last: int
    same: bool


def fingerprint_span(lines: Lines, first: int, last: int) -> str:
    """Return the fingerprint of some lines (`first` 0: of the whole file); '' if there are no such lines."""
    if not first:
        return f"{bytes(DIGEST).hex()}-{_body(lines.all_digests())}-{bytes(2 * _SIDE).hex()}"
    if not 1 <= first <= last <= len(lines):
        return ""
    span = lines.digests(first, last)
    return f"{span[:DIGEST].hex()}-{_body(span)}-{_around(lines, first, last).hex()}"


def is_fingerprint(text: str) -> bool:
    """Return whether a text is a fingerprint of ours; imported citations may carry other hashes."""
    return re.fullmatch(r"[0-9a-f]{16}-[0-9a-f]{32}-[0-9a-f]{24}", text) is not None


def find_span(lines: Lines, mark: str, first: int, last: int) -> Found | None:
    """Locate a fingerprinted span: at its old place, else at the likeliest other one, else None."""
    anchor, body, around = mark.split("-")
    if not first:
        return Found(0, 0, same=True) if _body(lines.all_digests()) == body else None
    count, context = last - first + 1, bytes.fromhex(around)
    here = _is_at(lines, first, count, body)
    if here and (_is_distinct(lines, first, last) or _shared(_around(lines, first, last), context)):
        return Found(first, last, same=True)
    places = [at for at in _starts(lines, bytes.fromhex(anchor)) if _is_at(lines, at, count, body)]
    shared = {at: _shared(_around(lines, at, at + count - 1), context) for at in places}
    best = min(places, key=lambda at: (-shared[at], abs(at - first)), default=0)
    if not best or not (here or shared[best] or _is_distinct(lines, best, best + count - 1)):
        return None  # a brace or a bare return without its old neighbours is another one
    return Found(best, best + count - 1, same=best == first)


def _body(digests: bytes) -> str:
    from hashlib import blake2b

    return blake2b(digests, digest_size=16).hexdigest()


def _is_at(lines: Lines, first: int, count: int, body: str) -> bool:
    span = lines.digests(first, first - 1 + count)
    return len(span) == count * DIGEST and _body(span) == body


def _is_distinct(lines: Lines, first: int, last: int) -> bool:
    return lines.count_characters(first, last) >= DISTINCT


def _starts(lines: Lines, anchor: bytes) -> list[int]:
    """Return the numbers of the lines that equal the first line of a span."""
    found: list[int] = []
    digests = lines.all_digests()
    at = digests.find(anchor)
    while at >= 0 and len(found) < MOST_COPIES:
        if at % DIGEST == 0:
            found.append(at // DIGEST + 1)
        at = digests.find(anchor, at + 1)
    return found


def _around(lines: Lines, first: int, last: int) -> bytes:
    """Return digest prefixes of the nearest non-blank lines before and after a span."""
    before = range(first - 1, max(0, first - 1 - REACH), -1)
    after = range(last + 1, min(len(lines), last + REACH) + 1)
    return _nearest(lines, before) + _nearest(lines, after)


def _nearest(lines: Lines, numbers: range) -> bytes:
    """Return digest prefixes of the nearest non-blank lines of one side, padded with zeros."""
    filled = [number for number in numbers if lines.count_characters(number, number)][:NEIGHBOURS]
    return b"".join(lines.digests(number, number)[:CONTEXT] for number in filled).ljust(_SIDE, b"\0")


def _shared(one: bytes, other: bytes) -> int:
    """Count the equal neighbours, on each side up to the first that differs."""
    return _run(one[:_SIDE], other[:_SIDE]) + _run(one[_SIDE:], other[_SIDE:])


def _run(one: bytes, other: bytes) -> int:
    for place in range(0, _SIDE, CONTEXT):
        mine = one[place : place + CONTEXT]
        if mine != other[place : place + CONTEXT] or not any(mine):
            return place // CONTEXT
    return NEIGHBOURS


STATES = ("unchanged", "moved", "changed", "gone", "unchecked")
STALE = ("changed", "gone")
CHANGED = "cited code has changed"


def is_stale(cited: Iterable[Cited]) -> bool:
    """Return whether any cited code has changed or is gone; a single changed place is enough."""
    return any(item.state in STALE for item in cited)


def place(path: str, first: int, last: int) -> str:
    """Format a place in a file: `path`, `path:12` or `path:12-20`."""
    return path if not first else f"{path}:{first}" if first == last else f"{path}:{first}-{last}"


def place_now(cited: Cited) -> str:
    """Format where cited code is now, as far as that is known."""
    lines = cited if cited.state == "moved" else cited.citation
    return place(cited.citation.path, lines.first_line, lines.last_line)
