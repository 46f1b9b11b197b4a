"""What a lead teaches a worker: how such a lesson is called and worded. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.records import Memory
from swarmlore.text.choices import choices_hint

if TYPE_CHECKING:
    from typing import Any

CATEGORIES = ("mistake-pattern", "best-practice", "codebase-knowledge", "preference")
ONLY_LEADS = "Only the lead agent can inject learnings into worker memory."
_TITLE_CHARS = 60


def check_category(category: str) -> None:
    if category not in CATEGORIES:
        raise InvalidInput(f"invalid category: {str(category)[:80]}", choices_hint(str(category), CATEGORIES))


def taught_draft(text: str, category: str, tags: Sequence[str]) -> dict[str, Any]:
    """What goes to the gate: the bare learning, so that nothing in it hides behind our words."""
    named = [category, *(tag for tag in tags if tag != category)]
    return {"text": text, "category": category, "tags": named, "tier": "swarm", "source": "inject"}


def taught(memory: Memory, owner: str) -> Memory:
    """The lesson that is stored: it belongs to whom it was taught, and all of the swarm see it."""
    beginning = "".join(" " if letter.isspace() else letter for letter in memory.text[:_TITLE_CHARS])
    return replace(
        memory,
        owner=owner,
        title=f"Lead feedback: {memory.category} — {beginning}",
        text=f"[Lead Feedback — {memory.category}]\n\n{memory.text}",
    )
