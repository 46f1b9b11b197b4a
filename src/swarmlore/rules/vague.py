"""Layer 3 of the gate: whether a lesson says anything."""

from __future__ import annotations

import re

_CLEAR = """
    git docker typescript bun vitest node python react sql api hook test schema config file function class module import
    export use avoid prefer run check always never ensure call write add remove update set enable disable
"""
_CLEAR_WORDS = frozenset(_CLEAR.split())
# A number, an identifier, a path or a quoted name is as technical as any word of the list.
_TECHNICAL = r"\d|`|[a-z][A-Z]|\w_\w|\w[/.@:=-]\w"


def is_vague(text: str) -> bool:
    """Whether a text names neither a technical thing nor an action."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    if any(word in _CLEAR_WORDS or word.removesuffix("s") in _CLEAR_WORDS for word in words):
        return False
    return re.search(_TECHNICAL, text) is None
