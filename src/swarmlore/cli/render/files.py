"""What people read about files: ledgers, imports, exports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from swarmlore.cli.layout import Page, clean, hang, many
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.exchange.exchange import Agreed, Founded
    from swarmlore.exchange.import_files import Brought
    from swarmlore.exchange.ledger import Synced


LISTED = 20
DATABASES = ("lane-db", "agent-swarm")
FOREIGN = (*DATABASES, "lane", "mcp-memory", "mem0")


def document(told: Synced | None) -> dict[str, Any] | None:
    """A pass over a file for programs."""
    if told is None:
        return None
    names = ("read", "added", "updated", "removed", "restored", "redacted", "lines", "written")
    aside = [{"file": item.file, "line": item.line, "reason": item.reason} for item in told.set_aside]
    return {**{name: getattr(told, name) for name in names}, "set_aside": aside}


def founded(done: Founded, page: Page) -> str:
    lines = [f"{page.paint('bold', step.state.ljust(15))} {clean(step.what)}{_note(step.note)}" for step in done.steps]
    if done.synced is not None:
        lines += _pass("knowledge.jsonl", done.synced, page)
        lines.append(
            page.paint("dim", "Commit the folder .swarm to share it; from now on it is kept in step by itself.")
        )
    return "\n".join(lines)


def _note(note: str) -> str:
    return f"  ({clean(note)})" if note else ""


def trusted(root: str, page: Page, done: Agreed, *, on: bool) -> str:
    if on:
        word = "From now on" if done.changed else "As before,"
        lines = [f"{word} memories are exchanged with the files of {page.paint('bold', clean(root))}."]
        if done.synced is not None:
            lines.append(f"{many(done.synced.added, 'lesson')} came in; {many(done.synced.lines, 'line')} in the file.")
        elif done.changed:
            lines.append("Nothing came in yet; swarmlore sync takes it in, or says why not.")
        if done.driver:
            lines.append(page.paint("yellow", f"{clean(done.driver)}; swarmlore init sets the merge driver."))
        return "\n".join(lines)
    if not done.changed:
        return f"Nothing was agreed for {clean(root)}."
    return f"Memories are no longer exchanged with the files of {page.paint('bold', clean(root))}; all stays as it is."


def synced(done: Mapping[str, Synced], page: Page) -> str:
    return "\n".join(line for path, told in done.items() for line in _pass(path, told, page))


def _pass(path: str, told: Synced, page: Page) -> list[str]:
    counts = {
        "read": told.read,
        "added": told.added,
        "updated": told.updated,
        "removed": told.removed,
        "put back": told.restored,
        "set aside": len(told.set_aside),
    }
    said = [f"{count} {name}" for name, count in counts.items() if count] or ["nothing new"]
    state = "written" if told.written else "unchanged"
    lines = [f"{page.paint('bold', clean(path))}: {', '.join(said)}; {many(told.lines, 'line')}, {state}"]
    if told.redacted:
        what = many(told.redacted, "line held", "lines held")
        lines.append(page.paint("yellow", f"  {what} secrets; git still has them in its history"))
    return lines + _some([(f"{item.file} line {item.line}", item.reason) for item in told.set_aside], page)


def brought(told: Brought, page: Page, unit: str = "line") -> str:
    """What an import did; `unit` is what was read one by one."""
    names = ("added", "updated", "revived", "quarantined", "removed", "known", "forgotten", "refused")
    counts = [f"{getattr(told, name)} {name}" for name in names if getattr(told, name)]
    kind = f" of {told.format}" if told.format in FOREIGN else ""
    lines = [f"{many(told.read, unit)}{kind} read: {', '.join(counts) or 'nothing to take in'}"]
    if told.resumed_at:
        lines.append(page.paint("dim", f"  went on after line {told.resumed_at}"))
    if told.redacted:
        lines.append(page.paint("yellow", f"  secrets were redacted in {many(told.redacted, unit)}"))
    if told.quarantined:
        what = many(told.quarantined, "line is", "lines are")
        lines.append(
            page.paint("yellow", f"  {what} in quarantine, shown to nobody: swarmlore list --status quarantined")
        )
    lines += [page.paint("dim", f"  {said}") for said in _beside(told)]
    for operation, count in told.hidden_by[:LISTED]:
        words = "is forgotten here; bring it back" if count == 1 else "are forgotten here; bring them back"
        lines.append(page.paint("yellow", f"  {count} {words}: swarmlore undo {operation}"))
    return "\n".join(lines + _some([_refusal(number, why, unit) for number, why in told.refusals], page))


def _refusal(number: int, why: str, unit: str) -> tuple[str, str]:
    """Where something was refused, and why; links have numbers of their own."""
    if not number and why.startswith("link "):
        where, _, why = why.partition(": ")
        return where, why
    return f"{unit} {number}".removesuffix(" 0"), why


def _beside(told: Brought) -> Iterator[str]:
    """What an import from another program did beside adding memories."""
    if told.linked:
        yield f"{many(told.linked, 'link')} between memories drawn"
    if told.private:
        words = "of the added is private to another agent, which" if told.private == 1 else None
        yield f"{told.private} {words or 'of the added are private to other agents, who'} alone can see and undo that"
    if told.added and told.format in DATABASES:
        yield "vectors of other programs are left out; ours are made when they are needed"


def exported(path: str, count: int, page: Page, unit: str = "") -> str:
    """Where it was written, and how much of it there is; without a unit it is memories."""
    told = many(count, unit, f"{unit}s") if unit else many(count, "memory", "memories")
    return f"Wrote {page.paint('bold', clean(path))}: {told}."


def _some(items: Sequence[tuple[str, str]], page: Page) -> list[str]:
    lines = [hang(f"  {page.paint('yellow', clean(where))}", f": {why}", page, 4) for where, why in items[:LISTED]]
    return lines + ([f"  and {len(items) - LISTED} more; --json lists all"] if len(items) > LISTED else [])
