"""A whole note at the gate: piece by piece, for a page is longer than anything that is stored in one."""

from __future__ import annotations

from swarmlore.errors import InvalidInput
from swarmlore.records import Draft
from swarmlore.rules.gate import pass_gate
from swarmlore.text.chunks import chunks

MAX_TITLE = 500


def refuse_unsafe(title: str, body: str) -> None:
    """Raises what the gate has against a note."""
    for piece in chunks(body) or (body.strip() or title,):
        passed = pass_gate(Draft(piece, source="note", title=title[:MAX_TITLE]), validate=True)
        if passed.quarantine:
            raise InvalidInput(passed.quarantine, "say what to do, without the dangerous text")
