"""Episodes: what happened in one session, kept beside the notes that were made of it so that they can be traced back.

`episodes/YYYY-MM-DD/ep-YYYYMMDD-hash6.md`, below the folder of the learnings' documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from swarmlore.frozen import frozen
from swarmlore.notes.note_format import write_note

CATEGORY = "session-reflections"
CONTEXT, SIGNALS, LEARNINGS = "Session Context", "Signals Detected", "Learnings Extracted"


@frozen
class Episode:
    """One session that was looked back upon; `created` is a day or a moment in ISO 8601."""

    created: str
    title: str
    key_insight: str
    agent: str = ""
    project: str = ""
    context: str = ""
    signals: tuple[str, ...] = ()
    learnings: tuple[str, ...] = ()
    """What was learned, a line each."""
    extracted_learnings: tuple[str, ...] = ()
    """The ids of the notes that were made of it."""
    tags: tuple[str, ...] = ()
    confidence: str = "medium"


def episode_id(episode: Episode) -> str:
    """`ep-YYYYMMDD-hash6`, the same for the same session."""
    said = (episode.created, episode.agent, episode.project, episode.context, *episode.signals)
    digest = sha256("\n".join(said).encode("utf-8", "surrogatepass")).hexdigest()
    return f"ep-{_day(episode).replace('-', '')}-{digest[:6]}"


def episode_path(episode: Episode) -> str:
    """Where it stands below the folder of episodes."""
    return f"{_day(episode)}/{episode_id(episode)}.md"


def write_episode(episode: Episode) -> str:
    """The text of an episode."""
    fields = {
        "title": episode.title,
        "category": CATEGORY,
        "tags": episode.tags,
        "key_insight": episode.key_insight,
        "created": _day(episode),
        "confidence": episode.confidence,
        "type": "episode",
        "id": episode_id(episode),
        "agent": episode.agent,
        "project": episode.project,
        "extracted_learnings": episode.extracted_learnings,
    }
    context = "\n".join(map(_no_heading, episode.context.strip().splitlines())) or "Nothing more is known."
    sections = ((CONTEXT, context), (SIGNALS, _items(episode.signals)), (LEARNINGS, _items(episode.learnings)))
    return write_note(fields, "".join(f"\n## {title}\n\n{text}\n" for title, text in sections))


def _day(episode: Episode) -> str:
    """The day as its digits say it; what comes in must not name another folder."""
    digits = "".join(letter for letter in episode.created[:10] if letter in "0123456789")[:8].ljust(8, "0")
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"


def _items(texts: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(text.split())}" for text in texts) or "None."


def _no_heading(line: str) -> str:
    """A line that begins no section of its own, and no code that would hold the sections below."""
    return "\\" + line.lstrip() if line.lstrip().startswith(("#", "```", "~~~", "<!--")) else line
