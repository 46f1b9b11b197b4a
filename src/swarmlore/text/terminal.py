"""What a program printed, without what it printed for a terminal: colours, titles, and characters that show nothing.

They cut words in two, secrets too: `grep --color` paints the part that it was asked for.
"""

from __future__ import annotations

import re

# Sequences with parameters, with a text up to their end, and of two characters.
_SEQUENCE = r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|[\]PX^_][^\x07\x1b]{0,400}(?:\x07|\x1b\\)?|[ -/]{0,2}[0-~]|$)"
_UNSEEN = {code: None for code in (*range(32), 127) if chr(code) not in "\t\n\r"}


def plain(text: str) -> str:
    """The text without control sequences and control characters; tabs and ends of lines stay."""
    if "\x1b" in text:
        text = re.sub(_SEQUENCE, "", text)
    return text.translate(_UNSEEN)
