"""What is kept of a text from a session: its beginning and its end, without secrets and without our own words.

Light to import: a hook needs it.
"""

from __future__ import annotations

from swarmlore.text.secrets import redact
from swarmlore.text.terminal import plain

# Secrets are looked for in this much more than is kept, so that none is cut in half where no rule would know it.
MARGIN = 12_000
_OUR_MARKS = ("=== swarmlore", "» (from ")


def excerpt(text: str, head: int, tail: int) -> str:
    """The beginning and the end of a text, without secrets and without what came from our own memory."""
    if not text:
        return ""
    text = visible(text)
    if len(text) <= head + tail + MARGIN:
        text = redact(text)[0]
        return text if len(text) <= head + tail else f"{text[:head]}\n…\n{text[-tail:]}"
    first, last = redact(text[: head + MARGIN])[0], redact(text[-tail - MARGIN :])[0]
    return f"{first[:head]}\n…\n{last[-tail:]}"


def visible(text: str) -> str:
    """Without characters that hide a secret or break a line, and without blocks of ours."""
    if not text.isascii():
        from swarmlore.text.clean import clean

        text = clean(text)[0]
    text = plain(text)
    if any(mark in text for mark in _OUR_MARKS):
        from swarmlore.rules.block import strip_blocks

        text = strip_blocks(text)
    return text


def path(text: str) -> str:
    """A path as it is, unless it holds a secret, maybe between characters that nobody sees."""
    text = text.encode("utf-8", "replace").decode()
    told, secrets = redact(visible(text))
    return told if secrets else text
