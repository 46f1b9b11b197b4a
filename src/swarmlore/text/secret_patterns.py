"""The notation of the secret tables, written out and compiled when it is first needed."""

from __future__ import annotations

import re
from functools import cache

from swarmlore.text.secret_rules import ALPHABETS

# What may join a name and its value, and two words of a name.
_ASSIGNED = r"""["'\])]{0,3}\s{0,3}(?:=>|:=|[=:,])\s{0,3}["'`]?"""
_NAME_JOINT = r"[_ .\-]?"


@cache
def compiled(shape: str, flags: int = 0) -> re.Pattern[str]:
    """Return the compiled expression of a shape."""
    return re.compile(expand(shape), flags | re.ASCII)


def expand(shape: str) -> str:
    """Write a shape out as a regular expression."""
    shape = shape.replace("<U>", "<H8>-<H4>-<H4>-<H4>-<H12>").replace("<=>", _ASSIGNED).replace("<_>", _NAME_JOINT)
    return re.sub(r"<([A-Za-z])(\d+)(,\d+)?(\+)?>", _expand_run, shape)


def _expand_run(match: re.Match[str]) -> str:
    alphabet, least, most, open_end = match.groups()
    # Possessive, so that an open run is read once whatever follows.
    count = f"{{{least},}}+" if open_end else f"{{{least}{most or ''}}}"
    return f"[{ALPHABETS[alphabet]}]{count}"
