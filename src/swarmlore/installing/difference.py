"""How a file would change, in lines that a person can read: no secrets, no endless lines."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator

from swarmlore.domain.security.redaction import redact
from swarmlore.installing.planning import Change

LONG = 400  # a line that nobody reads; the document is laid out then
AROUND = 2


def difference(change: Change) -> Iterator[str]:
    """Lines that start with a space, + or -; ... stands for lines that stay."""
    before, after = _lines(change.before), _lines(change.after)
    if change.before and change.after and max(map(len, (*before, *after)), default=0) > LONG:
        before, after = _laid_out(change.before), _laid_out(change.after)
    for line in list(difflib.unified_diff(before, after, lineterm="", n=AROUND))[2:]:
        if line.startswith("@@"):
            yield from (" ...",) if before and after else ()
        else:
            yield line[0] + redact(line[1:])[0][:LONG]


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines()


def _laid_out(content: bytes) -> list[str]:
    text = content.decode("utf-8", "replace")
    try:
        return json.dumps(json.loads(text.removeprefix("\ufeff")), indent=2, ensure_ascii=False).splitlines()
    except (ValueError, RecursionError):
        return text.splitlines()
