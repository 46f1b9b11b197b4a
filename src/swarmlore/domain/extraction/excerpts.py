"""Excerpts of session texts: the beginning and the end, without secrets, terminal sequences and our own marks."""

from __future__ import annotations

import re

from swarmlore.domain.security.redaction import redact

# Escape sequences: with parameters, with a text up to a terminator, and of two characters.
_SEQUENCE = r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|[\]PX^_][^\x07\x1b]{0,400}(?:\x07|\x1b\\)?|[ -/]{0,2}[0-~]|$)"
_UNSEEN = {code: None for code in (*range(32), 127) if chr(code) not in "\t\n\r"}


def plain(text: str) -> str:
    """Remove terminal control sequences and control characters; tabs and line ends stay."""
    if "\x1b" in text:
        text = re.sub(_SEQUENCE, "", text)
    return text.translate(_UNSEEN)


# Extra characters searched for secrets beyond an excerpt: a rule would miss a secret that the cut splits.
MARGIN = 12_000
_OUR_MARKS = ("=== swarmlore", "» (from ")


def excerpt(text: str, head: int, tail: int) -> str:
    """Return the beginning and the end of a text, redacted and without our own context blocks."""
    if not text:
        return ""
    text = without_invisible(text)
    if len(text) <= head + tail + MARGIN:
        text = redact(text)[0]
        return text if len(text) <= head + tail else f"{text[:head]}\n…\n{text[-tail:]}"
    first, last = redact(text[: head + MARGIN])[0], redact(text[-tail - MARGIN :])[0]
    return f"{first[:head]}\n…\n{last[-tail:]}"


def without_invisible(text: str) -> str:
    """Remove invisible characters, which could hide a secret or break a line, and our own context blocks."""
    if not text.isascii():
        from swarmlore.domain.language.unicode import clean

        text = clean(text)[0]
    text = plain(text)
    if any(mark in text for mark in _OUR_MARKS):
        from swarmlore.domain.policy.fence import strip_blocks

        text = strip_blocks(text)
    return text


def redacted_path(text: str) -> str:
    """Return a path unchanged, or redacted if it contains a secret, even between invisible characters."""
    text = text.encode("utf-8", "replace").decode()
    redacted, secrets = redact(without_invisible(text))
    return redacted if secrets else text
