"""The report of a task as it comes by mail: read before its size is judged, as most of it may be a conversation.

Texts are redacted one by one: in JSON a line break is two characters of one word, and whatever stands behind it would
count as part of a secret. A number that is none was not said.
"""

from __future__ import annotations

import json
import math

from swarmlore.clients.transcripts import Turn, names_speakers, turns_of
from swarmlore.domain.extraction.agent_findings import telling
from swarmlore.domain.extraction.summaries import MOST_CHARS, cut
from swarmlore.domain.policy.gate import scrub_value
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

MOST_READ = 4_000_000  # characters of a report
MOST_TRANSCRIPT = 16_000  # a longer one is cut
_HEAD, _TAIL = 60_000, 240_000  # of one that is too long to be read whole


def readable(body: str) -> str:
    """The same report in JSON, redacted, its transcript cut; any other text as it is."""
    try:
        said = json.loads(body, parse_constant=lambda _: None, parse_float=_finite) if len(body) <= MOST_READ else None
        if not isinstance(said, dict):
            return body
        if isinstance(text := said.get("transcript"), str):
            said["transcript"] = cut_transcript(text)
        return _written(scrub_value(said))
    except (ValueError, RecursionError):
        return body


def _finite(digits: str) -> float | None:
    return number if math.isfinite(number := float(digits)) else None


def _written(said: dict[str, Any]) -> str:
    text = json.dumps(said, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, that JSON can name
        return json.dumps(said)
    return text


def cut_transcript(text: str) -> str:
    """A conversation as a text, cut to its beginning, its end and what tells something."""
    if len(text) <= MOST_TRANSCRIPT:
        return text
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n…\n{text[-_TAIL:]}"
    if not names_speakers(text):
        lines = (line for line in text.splitlines() if line.strip())
        parts = [Turn("assistant" if telling(line, overcame=True) else "user", line) for line in lines]
        return "\n".join(turn.text for turn in cut(parts, MOST_CHARS))
    names = {"user": "User", "assistant": "Assistant"}
    return "\n".join(f"{names[turn.role]}: {turn.text}" for turn in cut(turns_of(text), MOST_CHARS))
