"""What curating and explaining show to people."""

from __future__ import annotations

from swarmlore.domain.language.display import in_plain_words
from swarmlore.domain.policy.ranking import place_now
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.page import Page, ago, clean, hang, many, one_line, say, when
from swarmlore.workspace.project import PERSON

if TYPE_CHECKING:
    from swarmlore.domain.policy.curation import Evidence
    from swarmlore.memory.curation import Applied, Curated, Recommendation
    from swarmlore.memory.explain import Why

_ACTIONS = {
    "supersede": "let {0} take the place of {1}",
    "merge": "merge {1} into {0}",
    "archive": "archive {0}",
    "promote": "promote {0} to the hive",
    "meet": "count for {0} that this project knows it too",
    "decide": "yours to decide: forget one of them, or remember what is right",
}
_COLOURS = {"contradiction": "red", "low utility": "red", "stale": "yellow", "ready for the hive": "green"}
_REASON_ROOM = 200
PERSON_TRUST = 3
_DOORS = {
    "manual": "told by",
    "knowledge_add": "told by",
    "inject": "injected by",
    "learned_comment": "from a comment of",
    "reflect": "found in the words of",
    "instinct": "from an instinct of",
    "promotion": "promoted by",
    "migration": "migrated by",
    "import": "imported by",
    "ledger": "from the ledger of",
    "task_completion": "from a task of",
    "session_summary": "from a session of",
    "file_index": "read from a file by",
    "note": "noted by",
    "transcript": "from a transcript of",
    "outcome": "observed in tasks of",
}


# curate


def curated(found: Curated, page: Page) -> str:
    """Recommendations by number, and what became of the rest."""
    lines = [f"Looked at {many(found.scanned, 'lesson')}."]
    if found.promoted:
        lines.append(f"{many(len(found.promoted), 'lesson')} went to the hive, as this project's settings say.")
    if found.learned:
        lines.append(f"{many(len(found.learned), 'lesson')} of .swarm/plan.md came in.")
    if found.retracted:
        lines.append(f"{many(len(found.retracted), 'lesson')} went to quarantine, because the plan takes them back.")
    for item in found.recommendations:
        lines += ["", *_recommended(item, page)]
    left = [f"{count} more: {clean(what)}" for what, count in found.left_out.items()]
    notes = [clean(note) for note in found.notes]
    lines += ["", *left, *notes] if left or notes else []
    return "\n".join([*lines, "", page.paint("dim", _how_to_go_on(found))])


def _how_to_go_on(found: Curated) -> str:
    if not found.recommendations:
        return "There is nothing to decide."
    return "Nothing was applied. To accept some: swarmlore curate --apply 1,3"


def _recommended(item: Recommendation, page: Page) -> list[str]:
    number = f"{item.number}  ".rjust(4)
    handles = [clean(memory.handle) for memory in item.memories]
    what = page.paint(_COLOURS.get(item.what, "bold"), item.what)
    by = f" by {clean(item.by)}" if item.by else ""
    lines = [hang(f"{number}{what}", f"{by}: {one_line(item.reason, _REASON_ROOM)}", page, 6)]
    for memory in item.memories:
        head = f"      {page.paint('bold', clean(memory.handle))}  "
        lines.append(hang(head, memory.text, page, len(memory.handle) + 8))
        lines.append(say(_evidence(memory, page), page, len(memory.handle) + 8, "dim"))
    if item.text and item.text not in [memory.text for memory in item.memories]:
        lines.append(hang("      as  ", item.text, page, 10))
    return [*lines, hang("      → ", _ACTIONS[item.action].format(*handles), page, 8)]


def _evidence(memory: Evidence, page: Page) -> str:
    told = [
        f"{clean(memory.tier)}, trust {memory.trust}",
        f"confidence {memory.confidence:g}",
        f"confirmed {memory.confirmed}x",
    ]
    if memory.helped or memory.hurt:
        told.append(f"{memory.helped} of {many(memory.helped + memory.hurt, 'task')} went well")
    return " · ".join([*told, f"from {clean(memory.owner or memory.source)}", ago(memory.created_at, page.now)])


def applied(done: Applied, page: Page) -> str:
    numbers = ", ".join(map(str, done.numbers))
    heads = [(memory, f"  {page.paint('bold', clean(memory.handle))}  ") for memory in done.memories]
    lines = [hang(head, memory.text, page, len(memory.handle) + 4) for memory, head in heads]
    return "\n".join(
        [f"Applied {numbers}.", *lines, page.paint("dim", f"To take it back: swarmlore undo {clean(done.operation)}")]
    )


# why


def why(found: Why, page: Page) -> str:
    """A few lines: where from, what it did, why it ranks as it does, what would remove it."""
    memory = found.memory
    head = f"{page.paint('bold', clean(memory.handle))}  "
    lines = [hang(head, one_line(memory.text, 400), page, len(memory.handle) + 2)]
    for name, told in (
        ("from", _origin(found, page)),
        ("changed", _changes(found, page)),
        ("did", _did(found, page)),
        ("ranks", _ranks(found)),
        ("code", _code(found)),
        ("linked", "; ".join(f"{kind} {', '.join(map(clean, ids))}" for kind, ids in found.links.items())),
        ("ends", "\n".join(map(clean, found.ends))),
    ):
        if told:
            lines.append(hang("  " + page.paint("dim", name.ljust(9)), told, page, 11))
    return "\n".join(lines)


def _origin(found: Why, page: Page) -> str:
    memory, origin = found.memory, found.origin
    who = "a person" if memory.owner == PERSON else clean(memory.owner) or "somebody"
    where = ", ".join(
        f"{name} {one_line(str(origin[name]), 60)}"
        for name in ("session", "task", "bead", "path", "file")
        if name in origin
    )
    door = "typed by" if memory.trust >= PERSON_TRUST and memory.source == "manual" else _DOORS.get(memory.source)
    said = f"{door} {who}" if door else f"{who} by {clean(memory.source)}"
    told = [said, f"trust {memory.trust}", when(memory.created_at, page.now)]
    return ", ".join([*told, where] if where else told)


def _changes(found: Why, page: Page) -> str:
    later = [item for item in found.changes if item.action != "added"]
    told = [f"{clean(item.action)} {ago(item.at, page.now)}{_because(item.reason)}" for item in later]
    return "; ".join(told)


def _because(reason: str) -> str:
    return f" ({one_line(in_plain_words(reason), 80)})" if reason else ""


def _did(found: Why, page: Page) -> str:
    shown, memory, counted = found.showings, found.memory, found.outcomes
    if shown.times:
        times = f"shown {many(shown.times, 'time')} in {many(shown.sessions, 'session')}"
        told = [f"{times}, last {ago(shown.last_at or 0.0, page.now)}"]
    else:  # who may not see the receipts of others still sees what the memory counted
        told = [f"shown in {many(counted['shown'], 'task')}" if "shown" in counted else "never shown"]
    if shown.cut:
        told.append(f"left out {many(shown.cut, 'time')}")
    told += [f"{name} {many(counted[name], 'time')}" for name in ("cited", "applied") if name in counted]
    good, bad = counted.get("succeeded_after", 0), counted.get("failed_after", 0)
    if good or bad:
        told.append(f"{good} of {many(good + bad, 'task')} with it went well")
    if memory.feedback_count:
        told.append(f"rated {many(memory.feedback_count, 'time')}, score {memory.feedback_score:.3g}")
    confirmed = len(memory.confirmed_by)
    return "; ".join([*told, f"confirmed {many(confirmed, 'time')}"] if confirmed else told)


def _ranks(found: Why) -> str:
    parts = [f"{part.name} ×{part.value:.3f}" + (f" ({clean(part.note)})" if part.note else "") for part in found.parts]
    told = f"relevance ×{found.factor:.3f}: {', '.join(parts) or 'nothing moves it'}"
    return told if found.memory.raw else f"{told}\nat the start of a session {found.standing:.2f} of 1"


def _code(found: Why) -> str:
    return ", ".join(f"{clean(place_now(item))} {item.state}" for item in found.cited)
