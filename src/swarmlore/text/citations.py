"""Places in code as people and tools write them: `src/auth.py:12-20`, `src/auth.py#L12`, `File "src/auth.py", line 12`.

Only paths that stay inside of a project count. What merely looks like a place (hosts with ports, times, versions,
addresses, drives) is told apart here as far as the text allows; whether a file is there is asked by `freshness`.
"""

from __future__ import annotations

import re
from functools import cache

from swarmlore.errors import InvalidInput
from swarmlore.records import Citation

MAX_PATH = 1024
MAX_PART_BYTES = 255
MAX_LINE = 9_999_999
HINT = "as in: src/auth.py, src/auth.py:12 or src/auth.py:12-20, from the project's root"

# Files that are known by their name alone.
_NAMES = frozenset(
    """
    makefile gnumakefile dockerfile containerfile justfile rakefile gemfile procfile jenkinsfile vagrantfile brewfile
    podfile fastfile caddyfile tiltfile earthfile build workspace license notice readme changelog codeowners
    """.split()
)
# Ends of host names; a file of such a name is cited by hand.
_HOSTS = frozenset(
    """
    com org net edu gov mil int io ai co app dev cloud online site tech xyz info biz local localhost internal lan home
    corp intranet localdomain test invalid example svc uk de fr nl eu us ca au jp cn br in it es se ch at be pl ru
    """.split()
)

_BEFORE_LINES = (":", ":L", "#L", "(", "line ", "lines ")


def clean_path(path: str) -> str:
    """A path relative to the project's root, in its shortest form; '' for one that could lead anywhere else."""
    path = path.replace("\\", "/")
    if not path.isprintable() or path.startswith("/") or len(path) > MAX_PATH or ":" in path:
        return ""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return "/".join(parts) if parts and all(map(_is_inside, parts)) and not parts[0].startswith("~") else ""


def _is_inside(part: str) -> bool:
    # Git's own folder holds addresses with credentials and is nobody's source code; Windows has more names for it.
    known = part == part.strip() and part != ".." and part.rstrip(".").lower() not in (".git", "git~1")
    return known and len(part.encode("utf-8", "replace")) <= MAX_PART_BYTES


def is_sound(citation: Citation) -> bool:
    """Whether a citation from elsewhere names a place inside of a project at all."""
    texts = (citation.path, citation.span_hash, citation.commit)
    lines = (citation.first_line, citation.last_line)
    if not all(isinstance(text, str) for text in texts) or not all(type(line) is int for line in lines):
        return False
    first, last = lines
    return clean_path(citation.path) == citation.path != "" and (first == last == 0 or 1 <= first <= last <= MAX_LINE)


def parse_citation(text: str) -> Citation:
    """The place that `PATH[:A[-B]]` names; raises InvalidInput. Without lines it is the whole file."""
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
    """The places with lines that a text names, in order, each once."""
    if not may_cite(text):
        return ()
    found = (_citation(match) for match in _written().finditer(text))
    return tuple(dict.fromkeys(place for place in found if place is not None))


def may_cite(text: str) -> bool:
    """Asked first because it is cheap: most lessons cite nothing, and the pattern takes a while to be made."""
    return any(before in text and any(before + digit in text for digit in "123456789") for before in _BEFORE_LINES)


def _citation(match: re.Match[str]) -> Citation | None:
    """The place of one match; of its groups those of one form are filled."""
    groups = {name.rstrip("_"): value for name, value in match.groupdict().items() if value is not None}
    path, lines = clean_path(groups["path"]), _lines(groups["first"], groups.get("last"))
    if not path or not lines or not (match["path"] or _looks_like_a_file(path)):
        return None
    return Citation(path, *lines)


def _lines(first: str, last: str | None) -> tuple[int, int] | tuple[()]:
    begin, end = int(first), int(last or first)
    return (begin, end) if 1 <= begin <= end <= MAX_LINE else ()


def _looks_like_a_file(path: str) -> bool:
    """A name with an extension, a known name, or a path; no host, number, version or time."""
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
    """The path is short, so that what can be lines at the end are lines."""
    return re.compile(r"(?P<path>.+?)(?:[:#]L?(?P<first>[0-9]{1,9})(?::[0-9]{1,5}|-L?(?P<last>[0-9]{1,9}))?)?", re.S)


@cache
def _written() -> re.Pattern[str]:
    """The forms that people and tools write; names that end in underscores are the same thing in another form."""
    begins = r"(?<![\w.@+$/\\:~%%-])"
    path = begins + r"(?P<path%s>[\w.@$](?:\[[\w.]+\]|\([\w.]+\)|[\w.@+$/\\-])*)"
    # "see lines 3-5 of" is no file called "see". Only looked for where a path begins: else a long word would be read
    # from each of its letters.
    named = begins.replace("%%", "%") + r"(?=[\w@$+-]*[./\\])"
    first, last = r"L?(?P<first%s>[0-9]{1,7})", r"(?:[-–]L?(?P<last%s>[0-9]{1,7}))?"
    column = r":[0-9]{1,5}(?:-[0-9]{1,7}(?::[0-9]{1,5})?)?"
    forms = (
        r'"(?P<path>[^"\n]{1,400})", line (?P<first>[0-9]{1,7})',  # Python's tracebacks; the name may hold spaces
        path % "_" + f":{first % '_'}(?:{column}|{last % '_'})",
        path % "__" + f"#L(?P<first__>[0-9]{{1,7}})(?:C[0-9]{{1,5}})?{last % '__'}(?:C[0-9]{{1,5}})?",
        path % "___" + r"\((?P<first___>[0-9]{1,7})(?:, ?[0-9]{1,5})?\)",
        named + path % "____" + rf"[`'\"]?,? \(?(?:at |on )?lines? {first % '____'}{last % '____'}",
        rf"\blines? {first % '_____'}{last % '_____'} (?:of|in) [`'\"]?" + path % "_____",
    )
    ends = r"(?!\w|\.\w|-\w|/)"  # `python:3.11-slim` has no line 3
    return re.compile("|".join(form if "of|in" in form else form + ends for form in forms))
