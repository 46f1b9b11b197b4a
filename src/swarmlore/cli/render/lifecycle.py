"""Text of commands on the lifecycle of memories: `curate`, `why`, `rate`, `outcome`, `confirm`, `phase`, `sweep`,
`promote`, `inject`, `quarantine` and `restore`."""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.cli.layout import Page, ago, clean, hang, many, one_line, say, when
from swarmlore.domain.language.citations import place_now
from swarmlore.domain.language.display import place_name, readable_reason
from swarmlore.domain.records import Memory, Outcome, Remembered
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.workspace.identity import PERSON

if TYPE_CHECKING:
    from swarmlore.domain.policy.curation import Evidence
    from swarmlore.domain.policy.lifecycle import Phase
    from swarmlore.domain.policy.outcomes import Criterion
    from swarmlore.memory.curation import Applied, Curated, Recommendation
    from swarmlore.memory.explain import Why
    from swarmlore.memory.lifecycle import Begun, Change, Swept
    from swarmlore.memory.promotion import Promotion


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
_ORIGINS = {
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
    """Render what a curation changed by itself, and its recommendations by number."""
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
    parts = [
        f"{clean(memory.tier)}, trust {memory.trust}",
        f"confidence {memory.confidence:g}",
        f"confirmed {memory.confirmed}x",
    ]
    if memory.helped or memory.hurt:
        parts.append(f"{memory.helped} of {many(memory.helped + memory.hurt, 'task')} went well")
    return " · ".join([*parts, f"from {clean(memory.owner or memory.source)}", ago(memory.created_at, page.now)])


def applied(done: Applied, page: Page) -> str:
    """Render the recommendations that were applied, and how to undo them."""
    numbers = ", ".join(map(str, done.numbers))
    heads = [(memory, f"  {page.paint('bold', clean(memory.handle))}  ") for memory in done.memories]
    lines = [hang(head, memory.text, page, len(memory.handle) + 4) for memory, head in heads]
    return "\n".join(
        [f"Applied {numbers}.", *lines, page.paint("dim", f"To take it back: swarmlore undo {clean(done.operation)}")]
    )


# why


def why(found: Why, page: Page) -> str:
    """Explain a memory in a few lines: origin, changes, use, ranking, cited code, links, and what would end it."""
    memory = found.memory
    head = f"{page.paint('bold', clean(memory.handle))}  "
    lines = [hang(head, one_line(memory.text, 400), page, len(memory.handle) + 2)]
    for name, text in (
        ("from", _origin(found, page)),
        ("changed", _changes(found, page)),
        ("did", _did(found, page)),
        ("ranks", _ranks(found)),
        ("code", _code(found)),
        ("linked", "; ".join(f"{kind} {', '.join(map(clean, ids))}" for kind, ids in found.links.items())),
        ("ends", "\n".join(map(clean, found.ends))),
    ):
        if text:
            lines.append(hang("  " + page.paint("dim", name.ljust(9)), text, page, 11))
    return "\n".join(lines)


def _origin(found: Why, page: Page) -> str:
    memory, origin = found.memory, found.origin
    who = "a person" if memory.owner == PERSON else clean(memory.owner) or "somebody"
    where = ", ".join(
        f"{name} {one_line(str(origin[name]), 60)}"
        for name in ("session", "task", "bead", "path", "file")
        if name in origin
    )
    verb = "typed by" if memory.trust >= PERSON_TRUST and memory.source == "manual" else _ORIGINS.get(memory.source)
    first = f"{verb} {who}" if verb else f"{who} by {clean(memory.source)}"
    parts = [first, f"trust {memory.trust}", when(memory.created_at, page.now)]
    return ", ".join([*parts, where] if where else parts)


def _changes(found: Why, page: Page) -> str:
    later = [item for item in found.changes if item.action != "added"]
    return "; ".join(f"{clean(item.action)} {ago(item.at, page.now)}{_because(item.reason)}" for item in later)


def _because(reason: str) -> str:
    return f" ({one_line(readable_reason(reason), 80)})" if reason else ""


def _did(found: Why, page: Page) -> str:
    shown, memory, counted = found.showings, found.memory, found.outcomes
    if shown.times:
        times = f"shown {many(shown.times, 'time')} in {many(shown.sessions, 'session')}"
        parts = [f"{times}, last {ago(shown.last_at or 0.0, page.now)}"]
    else:  # counted with the memory, also for callers who may not see the receipts
        parts = [f"shown in {many(counted['shown'], 'task')}" if "shown" in counted else "never shown"]
    if shown.cut:
        parts.append(f"left out {many(shown.cut, 'time')}")
    parts += [f"{name} {many(counted[name], 'time')}" for name in ("cited", "applied") if name in counted]
    good, bad = counted.get("succeeded_after", 0), counted.get("failed_after", 0)
    if good or bad:
        parts.append(f"{good} of {many(good + bad, 'task')} with it went well")
    if memory.feedback_count:
        parts.append(f"rated {many(memory.feedback_count, 'time')}, score {memory.feedback_score:.3g}")
    confirmed = len(memory.confirmed_by)
    return "; ".join([*parts, f"confirmed {many(confirmed, 'time')}"] if confirmed else parts)


def _ranks(found: Why) -> str:
    parts = [f"{part.name} ×{part.value:.3f}" + (f" ({clean(part.note)})" if part.note else "") for part in found.parts]
    text = f"relevance ×{found.factor:.3f}: {', '.join(parts) or 'nothing moves it'}"
    return text if found.memory.raw else f"{text}\nat the start of a session {found.standing:.2f} of 1"


def _code(found: Why) -> str:
    return ", ".join(f"{clean(place_now(item))} {item.state}" for item in found.cited)


# rate and outcome

_COLOURS_OF_OUTCOMES = {"helpful": "green", "neutral": "dim", "harmful": "red"}


def rated(memory: Memory, helpful: bool, page: Page) -> str:
    """Render the feedback score of a memory after a rating."""
    word = page.paint("green", "helped") if helpful else page.paint("red", "did harm")
    score = f"rated {many(memory.feedback_count, 'time')}, feedback score {memory.feedback_score:.3g}"
    lines = [f"{page.paint('bold', clean(memory.handle))} {word}: {score}."]
    return "\n".join([*lines, page.paint("dim", "To take it back: swarmlore undo")])


def recorded(outcome: Outcome, criteria: Sequence[Criterion], page: Page) -> str:
    """Render the verdict on a task, how many memories were credited, and the weights of its criteria."""
    verdict = page.paint(_COLOURS_OF_OUTCOMES[outcome.verdict], outcome.verdict)
    lines = [f"{'Done' if outcome.success else 'Failed'}: {verdict}, score {outcome.score:.2f}."]
    used = {*outcome.cited, *outcome.applied}
    shown = many(len(outcome.shown), "memory was", "memories were")
    if outcome.told_before:
        lines.append("This task was told before: its memories have had their credit, and nothing changed.")
    elif outcome.verdict == "neutral":
        lines.append("Neutral: no memory changed. Errors and retries count: --errors N --retries N")
    elif outcome.shown or used:
        lines.append(f"{shown} shown for it, {len(used)} used.")
    else:
        lines.append(
            "No memory is known to have been shown for it, so none was credited; --session or --applied would tell"
        )
    if weights := [f"{clean(item.name)} {item.weight:.2f}{_given_up(item)}" for item in criteria]:
        lines.append("Weight of its criteria: " + ", ".join(weights))
    return "\n".join([*lines, page.paint("dim", f"To take it back: swarmlore undo {clean(outcome.id)}")])


def _given_up(criterion: Criterion) -> str:
    return " (misleads too often)" if criterion.deprecated else ""


# confirm, phase, sweep, promote, inject, quarantine and restore

PAST = 5  # phases listed
SHOWN = 20  # changes and proposals listed; --json has all
_COLOURS_OF_STATUS = {"archived": "yellow", "removed": "yellow", "established": "green", "promoted": "green"}
_UNDO = "To take it back: swarmlore undo"


def confirmed(result: Remembered, page: Page) -> str:
    """Render a confirmation, or why it did not count."""
    memory = result.memory
    head = f"{_handle(memory, page)} "
    if not result.operation:
        return hang(head, f"is not confirmed by that: {result.reason}.", page, len(memory.handle) + 1)
    seen = many(len(memory.confirmed_by), "time")
    lines = [f"{head}confirmed {seen}, confidence {memory.confidence:.2g}."]
    return "\n".join([*lines, page.paint("dim", _UNDO)])


def begun(start: Begun, page: Page) -> str:
    """Render the sweep at the end of the former phase, then the new phase."""
    before = [swept(start.completed, page), ""] if start.completed else []
    return "\n".join([*before, phase(start.phase, (), page)])


def phase(now: Phase, before: Sequence[Phase], page: Page) -> str:
    """Render the current phase and the five before it."""
    words = {"announced": "announced", "plan": "from .swarm/plan.md", "day": "nobody announced a phase: one a day"}
    if now.kind == "day" and now.number:
        words["day"] = "between phases: what is seen now counts for the last one"
    about = [words[now.kind], *([f"began {ago(now.started_at, page.now)}"] if now.started_at else [])]
    lines = [page.paint("bold", _name(now)) + "  " + page.paint("dim", ", ".join(about))]
    past = [item for item in before if item.completed_at is not None]
    return "\n".join([*lines, *(_past(item, page) for item in past[:PAST])])


def _name(item: Phase) -> str:
    return clean(place_name(item.name) if item.kind == "day" else item.name)


def _past(item: Phase, page: Page) -> str:
    return f"  {_name(item)}  " + page.paint("dim", f"complete {ago(item.completed_at or 0.0, page.now)}")


def swept(done: Swept, page: Page) -> str:
    """Render the result of a sweep: each changed memory with the reason."""
    lines = [f"{page.paint('bold', clean(done.phase.name))} is complete."] if done.phase else []
    would = "would be " if done.dry_run else ""
    actions = ("established", "promoted", "archived", "removed", "promoted to the hive")
    counts = [f"{done.count(action)} {would}{action}" for action in actions if done.count(action)]
    lines.append(f"{many(done.scanned, 'lesson')} looked at, {', '.join(counts) if counts else 'none changed'}.")
    lines += [_change(change, page) for change in done.changes[:SHOWN]]
    if len(done.changes) > SHOWN:
        lines.append(page.paint("dim", f"  and {len(done.changes) - SHOWN} more; --json lists them"))
    if done.refused:
        verb = "A sweep would be refused: " if done.dry_run else "No memory was taken: "
        lines.append(page.paint("yellow", verb) + clean(done.refused) + ".")
        lines.append("A person or a lead can have it done: swarmlore sweep --force")
    if done.proposed:
        waiting = many(len(done.proposed), "lesson has", "lessons have")
        lines.append(f"{waiting} a route to the hive: swarmlore promote --list")
    if done.operation:
        lines.append(page.paint("dim", f"To take it back: swarmlore undo {clean(done.operation)}"))
    return "\n".join(lines)


def _change(change: Change, page: Page) -> str:
    memory = change.memory
    word = page.paint(_COLOURS_OF_STATUS.get(change.action, "cyan"), change.action)
    room = page.width - 2 if page.width else 0
    text = "    " + one_line(memory.text, max(20, room - 4) if room else 0)
    return f"  {_handle(memory, page)}  {word}: {clean(change.reason)}\n{page.paint('dim', text)}"


def proposed(found: Sequence[Promotion], page: Page) -> str:
    """Render lessons that may be promoted to the hive, and what each waits for."""
    if not found:
        return "No lesson has a route to the hive."
    lines = []
    for item in found[:SHOWN]:
        lines.append(hang(f"{_handle(item.memory, page)}  ", item.memory.text, page, len(item.memory.handle) + 2))
        waits = f"; waits to be asked for: {item.waits}" if item.waits else "; goes when the phase is complete"
        lines.append(hang("  ", item.route + waits, page, 2))
    if len(found) > SHOWN:
        lines.append(page.paint("dim", f"and {len(found) - SHOWN} more; --json lists them"))
    return "\n".join([*lines, page.paint("dim", "To promote one: swarmlore promote --from-swarm HANDLE")])


def promoted(result: Remembered, page: Page) -> str:
    """Render a promotion, or the known lesson that it repeats."""
    memory = result.memory
    if result.outcome == "confirmed":
        lines = [f"Nothing to do: {clean(result.reason)} It is {_handle(memory, page)}."]
    else:
        where = "the hive: every project will see it" if memory.tier == "hive" else "the swarm"
        lines = [f"{_handle(memory, page)} is in {where}."]
    lines.append(hang("    ", memory.text, page, 4))
    lines += [page.paint("yellow", "warning: ") + clean(warning) for warning in result.warnings]
    return "\n".join(lines if result.outcome == "confirmed" else [*lines, page.paint("dim", _UNDO)])


def injected(result: Remembered, page: Page) -> str:
    """Render the lesson that was taught to an agent, and what the validation gate did to it."""
    memory = result.memory
    heads = {"confirmed": "Known already as {}.", "quarantined": "Kept {} in quarantine, where nobody is shown it."}
    usual = "Taught " + clean(memory.owner) + ", and every agent of this project sees it: {}."
    lines = [heads.get(result.outcome, usual).format(_handle(memory, page)), hang("    ", memory.text, page, 4)]
    if result.redacted:
        lines.append(page.paint("yellow", "secrets were taken out: ") + clean(", ".join(result.redacted)))
    lines += [page.paint("yellow", "warning: ") + clean(warning) for warning in result.warnings]
    return "\n".join(lines if result.outcome == "confirmed" else [*lines, page.paint("dim", _UNDO)])


def quarantined(memory: Memory, page: Page) -> str:
    reason = clean(str(memory.extra.get("quarantine_reason", "")))
    lines = [f"{_handle(memory, page)} is in quarantine, where nobody is shown it: {reason}."]
    return "\n".join([*lines, page.paint("dim", f"To bring it back: swarmlore restore {clean(memory.handle)}")])


def all_quarantined(memories: Sequence[Memory], page: Page) -> str:
    lines = [f"{many(len(memories), 'memory is', 'memories are')} in quarantine, where nobody is shown them:"]
    lines += [hang(f"  {_handle(memory, page)} {memory.tier}  ", memory.text, page, 4) for memory in memories]
    return "\n".join([*lines, page.paint("dim", "To bring one back: swarmlore restore, all of them: swarmlore undo")])


def restored(memory: Memory, page: Page) -> str:
    return hang(f"{_handle(memory, page)} is back, {memory.status}: ", memory.text, page, 4)


def _handle(memory: Memory, page: Page) -> str:
    return page.paint("bold", clean(memory.handle))
