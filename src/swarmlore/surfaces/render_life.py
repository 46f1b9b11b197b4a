"""What the life of memories shows to people: phases, sweeps, promotions, quarantine."""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.domain.language.display import place_name
from swarmlore.domain.records import Memory, Remembered
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.page import Page, ago, clean, hang, many, one_line

if TYPE_CHECKING:
    from swarmlore.memory.lifecycle import Begun, Change, Phase, Swept
    from swarmlore.memory.promotion import Promotion

PAST = 5  # phases listed
SHOWN = 20  # changes and proposals listed; --json has all
_COLOURS = {"archived": "yellow", "removed": "yellow", "established": "green", "promoted": "green"}
_UNDO = "To take it back: swarmlore undo"


def confirmed(told: Remembered, page: Page) -> str:
    memory = told.memory
    head = f"{_handle(memory, page)} "
    if not told.operation:
        return hang(head, f"is not confirmed by that: {told.reason}.", page, len(memory.handle) + 1)
    seen = many(len(memory.confirmed_by), "time")
    lines = [f"{head}confirmed {seen}, confidence {memory.confidence:.2g}."]
    return "\n".join([*lines, page.paint("dim", _UNDO)])


def begun(told: Begun, page: Page) -> str:
    """What the end of the former phase did, then the new one."""
    before = [swept(told.completed, page), ""] if told.completed else []
    return "\n".join([*before, phase(told.phase, (), page)])


def phase(now: Phase, before: Sequence[Phase], page: Page) -> str:
    """The phase at work and those before it."""
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
    """What became of which memories, and why."""
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
    word = page.paint(_COLOURS.get(change.action, "cyan"), change.action)
    room = page.width - 2 if page.width else 0
    text = "    " + one_line(memory.text, max(20, room - 4) if room else 0)
    return f"  {_handle(memory, page)}  {word}: {clean(change.reason)}\n{page.paint('dim', text)}"


def proposed(found: Sequence[Promotion], page: Page) -> str:
    """Lessons with a route to the hive, and what each waits for."""
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


def promoted(told: Remembered, page: Page) -> str:
    memory = told.memory
    if told.outcome == "confirmed":
        lines = [f"Nothing to do: {clean(told.reason)} It is {_handle(memory, page)}."]
    else:
        where = "the hive: every project will see it" if memory.tier == "hive" else "the swarm"
        lines = [f"{_handle(memory, page)} is in {where}."]
    lines.append(hang("    ", memory.text, page, 4))
    lines += [page.paint("yellow", "warning: ") + clean(warning) for warning in told.warnings]
    return "\n".join(lines if told.outcome == "confirmed" else [*lines, page.paint("dim", _UNDO)])


def injected(told: Remembered, page: Page) -> str:
    memory = told.memory
    said = {"confirmed": "Known already as {}.", "quarantined": "Kept {} in quarantine, where nobody is shown it."}
    usual = "Taught " + clean(memory.owner) + ", and every agent of this project sees it: {}."
    lines = [said.get(told.outcome, usual).format(_handle(memory, page)), hang("    ", memory.text, page, 4)]
    if told.redacted:
        lines.append(page.paint("yellow", "secrets were taken out: ") + clean(", ".join(told.redacted)))
    lines += [page.paint("yellow", "warning: ") + clean(warning) for warning in told.warnings]
    return "\n".join(lines if told.outcome == "confirmed" else [*lines, page.paint("dim", _UNDO)])


def put_aside(memory: Memory, page: Page) -> str:
    reason = clean(str(memory.extra.get("quarantine_reason", "")))
    lines = [f"{_handle(memory, page)} is in quarantine, where nobody is shown it: {reason}."]
    return "\n".join([*lines, page.paint("dim", f"To bring it back: swarmlore restore {clean(memory.handle)}")])


def all_put_aside(memories: Sequence[Memory], page: Page) -> str:
    lines = [f"{many(len(memories), 'memory is', 'memories are')} in quarantine, where nobody is shown them:"]
    lines += [hang(f"  {_handle(memory, page)} {memory.tier}  ", memory.text, page, 4) for memory in memories]
    return "\n".join([*lines, page.paint("dim", "To bring one back: swarmlore restore, all of them: swarmlore undo")])


def restored(memory: Memory, page: Page) -> str:
    return hang(f"{_handle(memory, page)} is back, {memory.status}: ", memory.text, page, 4)


def _handle(memory: Memory, page: Page) -> str:
    return page.paint("bold", clean(memory.handle))
