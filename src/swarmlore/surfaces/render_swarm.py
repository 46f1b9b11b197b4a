"""What the command lines of opencode-swarm print, as its users know it: tables and sentences for a chat window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swarmlore.domain.records import Memory
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.page import Page, clean, many, one_line, say

if TYPE_CHECKING:
    from swarmlore.migrating import Migrated, Moved

SHORTEST_PREFIX = 12
LESSON_CHARS = 60
_HEAD = (
    "| ID (prefix) | Category | Confidence | Lesson (truncated) |",
    "|--------------|----------|------------|---------------------|",
)
_SKIPPED = {
    "sentinel-exists": "Context migration already completed. Delete .swarm/.knowledge-migrated to re-run.",
    "no-context-file": "No .swarm/context.md found: nothing to migrate.",
    "empty-context": ".swarm/context.md is empty: nothing to migrate.",
}
_HIVE_SKIPPED = {
    "sentinel-exists": "Hive legacy migration already completed. Delete {} to re-run.",
    "no-context-file": "No legacy hive-knowledge.jsonl found: nothing to migrate.",
    "hive-disabled": "The hive is switched off here: its legacy file was not migrated.",
}
_CURATED = {
    "promotions": "New promotions",
    "encounters": "Encounters incremented",
    "advancements": "Advancements",
    "hive": "Total hive entries",
}
_FROM_PLAN = {"learned": "Lessons from the plan", "retracted": "Lessons the plan takes back"}


def entries(memories: Sequence[Memory], page: Page) -> str:
    """The table of active lessons; the prefixes are long enough to be typed."""
    if not memories:
        return "No knowledge entries found."
    lines = [f"## Knowledge Entries ({len(memories)} total)", "", *_HEAD]
    for memory, prefix in zip(memories, prefixes([memory.id for memory in memories]), strict=True):
        cells = (f"{prefix}…", memory.category, f"{_percent(memory.confidence)}%", _shortened(memory.text))
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    hint = "To hide one: swarmlore swarm knowledge quarantine <id> [reason]; the prefix is enough."
    return "\n".join([*lines, "", hint])


def prefixes(ids: Sequence[str]) -> list[str]:
    """The beginnings of ids by which each is known among the others: of 12 characters, of more where they agree.

    Ids that carry their time begin alike where they were made together.
    """
    ordered = sorted(set(ids))
    needed = {}
    for before, id, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        shared = max(_agree(id, before), _agree(id, after))
        needed[id] = id[: max(SHORTEST_PREFIX, shared + 1)]
    return [needed[id] for id in ids]


def _agree(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def _percent(share: float) -> int:
    return int(100 * share + 0.5)  # halves go up, as the table always had it


def _shortened(text: str) -> str:
    line = one_line(text, 0)
    return line if len(line) <= LESSON_CHARS else line[: LESSON_CHARS - 3] + "..."


def _cell(text: str) -> str:
    """Text that does not end its cell."""
    return clean(text).replace("|", "\\|").replace("\n", " ")


def hidden(memory: Memory, page: Page) -> str:
    return f"✅ Entry {clean(memory.id)} quarantined successfully."


def shown_again(memory: Memory, page: Page) -> str:
    return f"✅ Entry {clean(memory.id)} restored successfully."


def promoted(memory: Memory, page: Page) -> str:
    return f'Promoted to hive: "{_excerpt(memory.text)}" (confidence: {memory.confidence:.1f}, source: manual)'


def promoted_from_swarm(ref: str, memory: Memory, page: Page) -> str:
    return f'Promoted lesson {clean(ref)} from swarm to hive: "{_excerpt(memory.text)}"'


def known_in_hive(page: Page) -> str:
    return "Lesson already exists in hive (near-duplicate)."


def _excerpt(text: str) -> str:
    line = one_line(text, 0)
    return line if len(line) <= 50 else line[:50] + "..."


def curated(counts: Mapping[str, int], page: Page) -> str:
    """What a look over all lessons did, counted; what it recommends is asked for elsewhere."""
    lines = ["📚 Curation complete", "", *(f"{name}: {counts[key]}" for key, name in _CURATED.items())]
    lines += [f"{name}: {counts[key]}" for key, name in _FROM_PLAN.items() if counts[key]]
    if waiting := counts["recommendations"]:
        told = many(waiting, "recommendation waits", "recommendations wait")
        lines += ["", f"{told} for you: swarmlore curate"]
    return "\n".join(lines)


def migrated(told: Migrated, page: Page) -> str:
    """Both migrations, each in a sentence; what was dropped is listed with its line."""
    lines = [_moved("Context migration", told.context, _SKIPPED)]
    lines += _drops(told.context, "context.md", page)
    lines.append(_moved("Hive legacy migration", told.hive, _HIVE_SKIPPED))
    return "\n".join([*lines, *_drops(told.hive, "hive-knowledge.jsonl", page)])


def _moved(name: str, moved: Moved, skipped: dict[str, str]) -> str:
    if moved.skipped:
        sentinel = moved.path.replace("hive-knowledge.jsonl", ".hive-knowledge-migrated")
        return skipped[moved.skipped].format(clean(sentinel))
    known = f", {moved.known} known already" if moved.known else ""
    return f"✅ {name}: {many(moved.migrated, 'entry', 'entries')} added, {moved.dropped} dropped{known}"


def _drops(moved: Moved, name: str, page: Page) -> list[str]:
    told = [say(f"line {line} of {name}: {why}", page, 3, "dim") for line, why in moved.drops[:20]]
    rest = len(moved.drops) - len(told)
    return [*told, *([page.paint("dim", f"   and {rest} more")] if rest > 0 else [])]
