"""What a memory file has no room for, drafted as notes; each with the one line that may stand in its place."""

from __future__ import annotations

import os
from collections.abc import Sequence

from swarmlore.domain.language.display import slug, whole_words
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.formats.memory_md import Bundle, Entry, Overflow, words_of
from swarmlore.frozen import frozen
from swarmlore.workspace.files import Change

TITLE_CHARS = 100
NAME_CHARS = 60
INSIGHT_CHARS = 500
MOST_NAMES = 1_000
MOST_DRAFTS = 20  # that anybody will look at
CATEGORIES = {
    "Architecture & Patterns": "architecture-decisions",
    "Build & Deploy": "deployment-fixes",
    "Gotchas & Workarounds": "debugging-sessions",
    "Testing": "testing-patterns",
    "Environment & Config": "tooling-setup",
}


@frozen
class Drafted:
    """A note for some entries, and the line that may stand in their place once it is there."""

    bundle: Bundle
    title: str
    pointer: str
    change: Change


def draft_notes(root: str, text: str, found: Overflow, today: str) -> list[Drafted]:
    """A note for each bundle of entries, under a name that is free."""
    lines, taken = text.split("\n"), set[str]()
    return [_drafted(root, lines, bundle, today, taken) for bundle in found.bundles[:MOST_DRAFTS]]


def _drafted(root: str, lines: Sequence[str], bundle: Bundle, today: str, taken: set[str]) -> Drafted:
    from swarmlore.formats.notes import write_note

    alone = bundle.entries[0] if len(bundle.entries) == 1 else None
    title = headline(scrub_text(alone.text)) if alone else f"{bundle.section} of this project"
    category = CATEGORIES.get(bundle.section, "patterns")
    path = _free_path(root, f"docs/solutions/{category}/{slug(title)[:NAME_CHARS].strip('-') or 'note'}", taken)
    fields = {
        "title": title,
        "category": category,
        "tags": [part for part in slug(bundle.section).split("-") if len(part) > 2],
        "key_insight": scrub_text(alone.text if alone else _what(bundle))[:INSIGHT_CHARS],
        "created": today,
        "confidence": "medium",
    }
    whole = write_note(fields, f"\n## Context\n\n{scrub_text(_body(lines, bundle.entries))}\n")
    pointer = f"- {title}: see [{os.path.basename(path)}](../{path})"
    return Drafted(bundle, title, pointer, Change(root, path, "", whole))


def _what(bundle: Bundle) -> str:
    return f"{len(bundle.entries)} things to know about {bundle.section}: {bundle.entries[0].text}"


def _body(lines: Sequence[str], entries: Sequence[Entry]) -> str:
    """What the entries say, line by line as it stands there."""
    said = [words_of(lines, entry) for entry in entries]
    return said[0] if len(said) == 1 else "\n".join(f"- {one}" for one in said)


def _free_path(root: str, stem: str, taken: set[str]) -> str:
    names = (f"{stem}.md", *(f"{stem}-{number}.md" for number in range(2, MOST_NAMES)))
    free = (name for name in names if name not in taken and not os.path.lexists(os.path.join(root, *name.split("/"))))
    path = next(free, names[0])
    taken.add(path)
    return path


def headline(text: str) -> str:
    """The first sentence of an entry, without marks, short enough for a title."""
    plain = " ".join(text.replace("**", "").replace("`", "").split())
    first = plain.partition(". ")[0].partition(": ")[0] if len(plain) > TITLE_CHARS else plain.rstrip(".")
    return whole_words(first, TITLE_CHARS)
