"""Shared parts of the tool sets of other systems: answers, state of a connection, receipts.

An answer is a JSON object in the format of the system that the agent comes from, as values and as text. The lines of a
memory in it are neutralised, and each shown memory has a receipt.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

from swarmlore.domain.policy.context_block import neutralise
from swarmlore.domain.records import Hit, Memory
from swarmlore.errors import InvalidInput, NotFound
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.server.mcp.answers import Answer

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.server.mcp.schema import Tool


SLICE = 20  # memories of one receipt: the size of a context block
MOST_REF = 128
HIDDEN = ("quarantined",)


class ConnectionState:
    """State that a connection keeps between its calls: session, mail name, acknowledgements."""

    def __init__(self, session: str = "") -> None:
        self.session = session
        self._is_given = bool(session)
        self._own = f"mcp-{os.urandom(6).hex()}"
        self.agent = ""  # its mail name
        self.bound = False  # whether the mail name is fixed by its token
        self.acknowledged: set[tuple[str, str]] = set()

    def find_session(self, lore: Lore) -> None:
        """If the client did not pass a session id, use the open session of its agent, else this connection's own, so
        that outcomes credit what was shown."""
        if not self._is_given:
            with lore.acting():
                self.session = lore.store.session_of(lore.caller) or self._own


def said(values: dict[str, Any], *, failed: bool | None = None) -> Answer:
    """Return an answer in JSON; `error` or `success: false` in it makes it a failed one."""
    wrong = failed if failed is not None else "error" in values or values.get("success") is False
    return Answer(values, json.dumps(values, ensure_ascii=False, indent=2), wrong)


def neutralised(text: str, most: int = 0) -> str:
    """Neutralise the text of a memory line by line, and cut it at `most` characters."""
    lines = (line[: len(line) - len(line.lstrip())] + neutralise(line, "") for line in text.splitlines())
    whole = "\n".join(lines)
    return whole if not most or len(whole) <= most else whole[:most] + "…"


def suited(tool: Tool, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments converted to the schema: other systems pass a list as words with commas, and 5.0 for 5."""
    given = dict(arguments or {})
    for name, value in given.items():
        kind = tool.takes.get(name, {}).get("type")
        if kind == "array" and isinstance(value, str):
            given[name] = words(value)
        elif kind == "string" and isinstance(value, list) and all(isinstance(item, str) for item in value):
            given[name] = ",".join(value)
        elif kind == "string" and isinstance(value, int) and not isinstance(value, bool):
            given[name] = str(value)
        elif kind == "integer" and isinstance(value, float) and value.is_integer():
            given[name] = int(value)
    return given


def words(text: str) -> list[str]:
    """Split a text at commas."""
    return [word for part in text.split(",") if (word := part.strip())]


def shown(
    lore: Lore, hits: Sequence[Hit], cue: str, talk: ConnectionState, trigger: str = "recall"
) -> tuple[list[Hit], str]:
    """Return the hits that may be shown, and the id of the first of their receipts."""
    known = [hit for hit in hits if hit.memory.trust > 0]
    slices = [known[at : at + SLICE] for at in range(0, len(known), SLICE)] or [[]]
    receipts = [lore.quote(part, cue, trigger=trigger, session=talk.session).receipt for part in slices]
    return known, receipts[0].id


def fetched(lore: Lore, ref: str, talk: ConnectionState) -> Memory | None:
    """Return a memory in full, with a receipt; counts as an access."""
    memory = found(lore, ref)
    hits, _ = shown(lore, [Hit(memory, 0.0)] if memory else [], ref, talk, "get")
    return lore.get(hits[0].memory.id) if hits else None


def found(lore: Lore, ref: str, tiers: Sequence[str] = ()) -> Memory | None:
    """Return the memory of an id; None if the caller may not see it or it is hidden. Not counted as an access."""
    if not ref.strip() or len(ref) > MOST_REF or not ref.isprintable():
        return None
    try:
        with lore.acting():
            memory = lore.store.resolve(lore.caller, ref.strip())
    except (NotFound, InvalidInput):
        return None
    gone = memory.forgotten_at is not None or memory.status in HIDDEN or (tiers and memory.tier not in tiers)
    return None if gone else memory
