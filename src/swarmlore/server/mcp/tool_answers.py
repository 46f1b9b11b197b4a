"""What the tools of all sets have in common: how they answer, what they keep in mind, what they show.

An answer is the JSON object of the system that the agent comes from, as values and as a text. A memory in it is a
value: each of its lines is made harmless, as everywhere, and what was shown has a receipt.
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


SLICE = 20  # memories of one receipt: as many lessons as a block holds
MOST_REF = 128
HIDDEN = ("quarantined",)


class Talk:
    """What one connection keeps in mind between its calls."""

    def __init__(self, session: str = "") -> None:
        self.session = session
        self._told = bool(session)
        self._own = f"mcp-{os.urandom(6).hex()}"
        self.agent = ""  # the name under which it writes and gets mail
        self.bound = False  # whether that can only be the name that its token says
        self.acknowledged: set[tuple[str, str]] = set()

    def find_session(self, lore: Lore) -> None:
        """Where the client does not say in which session it is: the open one of its agent, else this connection, so
        that what is shown in it is credited with how its tasks end."""
        if not self._told:
            with lore.acting():
                self.session = lore.store.session_of(lore.caller) or self._own


def said(values: dict[str, Any], *, failed: bool | None = None) -> Answer:
    """An answer in JSON; one that speaks of an error or of no success is one."""
    wrong = failed if failed is not None else "error" in values or values.get("success") is False
    return Answer(values, json.dumps(values, ensure_ascii=False, indent=2), wrong)


def tame(text: str, most: int = 0) -> str:
    """The words of a memory, line by line, so that nothing in them works; cut where a length is given."""
    lines = (line[: len(line) - len(line.lstrip())] + neutralise(line, "") for line in text.splitlines())
    whole = "\n".join(lines)
    return whole if not most or len(whole) <= most else whole[:most] + "…"


def suited(tool: Tool, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments as the schema writes them: other systems take a list for words with commas, and 5.0 for 5."""
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
    """What stands between commas."""
    return [word for part in text.split(",") if (word := part.strip())]


def shown(lore: Lore, hits: Sequence[Hit], cue: str, talk: Talk, trigger: str = "recall") -> tuple[list[Hit], str]:
    """Those of the hits that may be shown, with receipts, and the id of the first of these."""
    known = [hit for hit in hits if hit.memory.trust > 0]
    slices = [known[at : at + SLICE] for at in range(0, len(known), SLICE)] or [[]]
    receipts = [lore.quote(part, cue, trigger=trigger, session=talk.session).receipt for part in slices]
    return known, receipts[0].id


def fetched(lore: Lore, ref: str, talk: Talk) -> Memory | None:
    """The same in full, with a receipt; it counts as an access."""
    memory = found(lore, ref)
    hits, _ = shown(lore, [Hit(memory, 0.0)] if memory else [], ref, talk, "get")
    return lore.get(hits[0].memory.id) if hits else None


def found(lore: Lore, ref: str, tiers: Sequence[str] = ()) -> Memory | None:
    """The memory of a name, if the caller may see it and it is neither forgotten nor hidden. It does not count as an
    access: `lore.get` does."""
    if not ref.strip() or len(ref) > MOST_REF or not ref.isprintable():
        return None
    try:
        with lore.acting():
            memory = lore.store.resolve(lore.caller, ref.strip())
    except (NotFound, InvalidInput):
        return None
    gone = memory.forgotten_at is not None or memory.status in HIDDEN or (tiers and memory.tier not in tiers)
    return None if gone else memory
