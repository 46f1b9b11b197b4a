"""The notation of the secret tables, written out and compiled when it is first needed."""

from __future__ import annotations

import re
from functools import cache

from swarmlore.text.secret_rules import ALPHABETS

# What may join a name and its value, and two words of a name.
_ASSIGNED = r"""["'\])]{0,3}\s{0,3}(?:=>|:=|[=:,])\s{0,3}["'`]?"""
_NAME_JOINT = r"[_ .\-]?"
_UUID = "<H8>-<H4>-<H4>-<H4>-<H12>"


@cache
def compiled(shape: str, flags: int = 0) -> re.Pattern[str]:
    """Return the compiled expression of a shape."""
    return re.compile(expand(shape), flags | re.ASCII)


@cache
def at_other_lengths(shape: str, *, open_end: bool = False) -> str:
    """Return a shape whose runs may have 4 characters less and 8 more; one at its end, if open, any number more."""
    shape = shape.replace("<U>", _UUID)

    def other(run: re.Match[str]) -> str:
        is_open = run[4] or (open_end and run.end() == len(shape))
        return f"<{run[1]}{max(1, int(run[2]) - 4)}{'+' if is_open else f',{int(run[3] or run[2]) + 8}'}>"

    return re.sub(r"<([A-Za-z])(\d+)(?:,(\d+))?(\+)?>", other, shape)


def any_run(shape: str) -> str:
    """Return an expression of ten or more of the characters that a shape has."""
    plain = re.sub(r"\(\?[:=]", "", expand(shape))
    return rf"[\w\-{''.join(char for char in '+/=.:$%' if char in plain)}]{{10,}}(?<![.:])"


def expand(shape: str) -> str:
    """Write a shape out as a regular expression."""
    shape = shape.replace("<U>", _UUID).replace("<=>", _ASSIGNED).replace("<_>", _NAME_JOINT)
    return re.sub(r"<([A-Za-z])(\d+)(,\d+)?(\+)?>", _expand_run, shape)


def _expand_run(match: re.Match[str]) -> str:
    alphabet, least, most, open_end = match.groups()
    # Possessive, so that an open run is read once whatever follows.
    count = f"{{{least},}}+" if open_end else f"{{{least}{most or ''}}}"
    return f"[{ALPHABETS[alphabet]}]{count}"
