"""The telling lines of a long output: what failed and why, without what changes from run to run.

Two runs that fail for the same reason give the same excerpt: times, addresses and names of temporary folders are taken
out, so that it can be compared and searched.
"""

from __future__ import annotations

import re
from functools import cache

READ_CHARS = 65_536  # at either end of an output; what went wrong stands in one of them
_LINE_CHARS = 400
_LAST_LINES = 2  # where nothing looks like an error

# Pattern and what takes its place.
_VOLATILE = (
    (r"\x1b(?:\[[0-9;?]{0,20}[ -/]{0,3}[@-~]|\][^\x07\x1b]{0,200}\x07?)", ""),
    (r"^\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?\s*", ""),
    (r"^\s*\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?\s*", ""),
    (r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s:'\")\]>]{1,200}", "<tmp>"),
    (r"[A-Za-z]:\\Users\\[^\\\s]{1,60}\\AppData\\Local\\Temp\\[^\s:'\")]{1,200}", "<tmp>"),
    (r"\b0x[0-9a-fA-F]{4,16}\b", "0x…"),
    (r"\s*\(?\bin \d{1,6}(?:\.\d{1,6})? ?(?:ms|s|sec|seconds|minutes)\b\)?", ""),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?Z?\b", "<time>"),
    (r"\bpid[ =:]\d{1,10}\b", "pid"),
    (r"^E\s{2,}", ""),
    (r"^\s*Exit code \d{1,3}\s*$", ""),  # said of every failure, by a client
    (r"^(?:/\S{1,40}/)?(?:ba|da|k|z)?sh: line \d{1,6}: ", ""),
)
# By rank: what is thrown, what a compiler or command says first, what merely sounds like trouble.
_THROWN = (
    r"\s{0,12}(?:Uncaught |Unhandled |Caused by: |thread '[^']{1,40}' panicked at |panic: )?[\w.$]{0,120}(?:Error"
    r"|Exception|Failure|Panic)\b(?::|\s*$)"
)
_SAID = (
    r"(?:^|\s|\[)(?:error|fatal|fatal error|ERR!|ERROR|FATAL)(?:\[\w{1,12}\]|\s?\w{0,10}\d{1,6})?\]?\s?(?:[:!]|\s)"
    r"|^\S{1,80}: (?:\S{1,60}: )?(?:command not found|No such file|Permission denied|cannot )"
)
_TROUBLE = (
    r"\b(?:not found|no such|cannot|can't|could not|couldn't|failed|failure|denied|refused|unsupported|not supported"
    r"|missing|required"
    r"|undefined|unable|invalid|unknown|panic|externally-managed|not configured|not installed|too old"
    r"|unauthori[sz]ed|forbidden|timed out)\b"
)
_NOISE = (
    r"\s*(?:at \S|File \"|\^|~|-{3,}|={3,}|make(?:\[\d\])?: \*\*\*|npm ERR! (?:code|errno|path|A complete log)|npm"
    r" error (?:code|errno|path|A complete log)|Traceback|\d+ (?:failed|passed|error)|note:|help:|warning:)"
)


def error_excerpt(output: str, limit: int = 300) -> str:
    """The telling lines of an output in the order they stand, within `limit` characters; stable from run to run."""
    lines = _lines(output)
    kept: set[int] = set()
    room = limit
    for place in _by_rank(lines):
        if room > len(lines[place]) or not kept:
            kept.add(place)
            room -= len(lines[place]) + 1
    return "\n".join(lines[place] for place in sorted(kept))[:limit]


def stable_lines(output: str) -> str:
    """All of an output that says something, each line once."""
    return "\n".join(_lines(output))


def error_line(output: str, limit: int = 120) -> str:
    """The one line that tells most."""
    lines = _lines(output)
    line = lines[_by_rank(lines)[0]] if lines else ""
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _lines(output: str) -> list[str]:
    """Every line once, without what changes."""
    if len(output) > 2 * READ_CHARS:
        output = f"{output[:READ_CHARS]}\n{output[-READ_CHARS:]}"
    lines: dict[str, None] = {}
    for line in output.splitlines():
        line = line[:_LINE_CHARS]
        for pattern, put in _VOLATILE:
            line = _compiled(pattern).sub(put, line)
        if line.strip():
            lines[" ".join(line.split())] = None
    return list(lines)


def _by_rank(lines: list[str]) -> list[int]:
    """Places of the telling lines, most telling first; of a plain output its last lines."""
    thrown = _places(lines, _THROWN)[::-1]  # what was raised last is what the program died of
    said = _places(lines, _SAID)
    trouble = _places(lines, _TROUBLE)
    ranked = list(dict.fromkeys([*thrown[:1], *said, *trouble, *thrown[1:]]))
    return ranked or list(range(len(lines)))[-_LAST_LINES:][::-1]


def _places(lines: list[str], pattern: str) -> list[int]:
    telling, noise = _compiled(pattern), _compiled(_NOISE)
    return [place for place, line in enumerate(lines) if telling.search(line) and not noise.match(line)]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
