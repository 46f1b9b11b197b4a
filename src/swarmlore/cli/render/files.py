"""Text of `init`, `trust`, `sync`, `import` and `export`."""

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


def document(synced: Synced | None) -> dict[str, Any] | None:
    """Return the sync of one file as a JSON document."""
    if synced is None:
        return None
    names = ("read", "added", "updated", "removed", "restored", "redacted", "lines", "written")
    aside = [{"file": item.file, "line": item.line, "reason": item.reason} for item in synced.set_aside]
    return {**{name: getattr(synced, name) for name in names}, "set_aside": aside}


def founded(done: Founded, page: Page) -> str:
    """Render the steps of `init` and the first sync."""
    lines = [f"{page.paint('bold', step.state.ljust(15))} {clean(step.what)}{_note(step.note)}" for step in done.steps]
    if done.synced is not None:
        lines += _sync("knowledge.jsonl", done.synced, page)
        lines.append(
            page.paint("dim", "Commit the folder .swarm to share it; from now on it is kept in step by itself.")
        )
    return "\n".join(lines)


def _note(note: str) -> str:
    return f"  ({clean(note)})" if note else ""


def trusted(root: str, page: Page, done: Agreed, *, on: bool) -> str:
    """Render that a repository is trusted, or no longer."""
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
    """Render the sync of each file."""
    return "\n".join(line for path, result in done.items() for line in _sync(path, result, page))


def _sync(path: str, result: Synced, page: Page) -> list[str]:
    counts = {
        "read": result.read,
        "added": result.added,
        "updated": result.updated,
        "removed": result.removed,
        "put back": result.restored,
        "set aside": len(result.set_aside),
    }
    parts = [f"{count} {name}" for name, count in counts.items() if count] or ["nothing new"]
    state = "written" if result.written else "unchanged"
    lines = [f"{page.paint('bold', clean(path))}: {', '.join(parts)}; {many(result.lines, 'line')}, {state}"]
    if result.redacted:
        what = many(result.redacted, "line held", "lines held")
        lines.append(page.paint("yellow", f"  {what} secrets; git still has them in its history"))
    return lines + _some([(f"{item.file} line {item.line}", item.reason) for item in result.set_aside], page)


def brought(result: Brought, page: Page, unit: str = "line") -> str:
    """Render the result of an import; `unit` names one record of the file."""
    names = ("added", "updated", "revived", "quarantined", "removed", "known", "forgotten", "refused")
    counts = [f"{getattr(result, name)} {name}" for name in names if getattr(result, name)]
    kind = f" of {result.format}" if result.format in FOREIGN else ""
    lines = [f"{many(result.read, unit)}{kind} read: {', '.join(counts) or 'nothing to take in'}"]
    if result.resumed_at:
        lines.append(page.paint("dim", f"  went on after line {result.resumed_at}"))
    if result.redacted:
        lines.append(page.paint("yellow", f"  secrets were redacted in {many(result.redacted, unit)}"))
    if result.quarantined:
        what = many(result.quarantined, "line is", "lines are")
        lines.append(
            page.paint("yellow", f"  {what} in quarantine, shown to nobody: swarmlore list --status quarantined")
        )
    lines += [page.paint("dim", f"  {remark}") for remark in _remarks(result)]
    for operation, count in result.hidden_by[:LISTED]:
        words = "is forgotten here; bring it back" if count == 1 else "are forgotten here; bring them back"
        lines.append(page.paint("yellow", f"  {count} {words}: swarmlore undo {operation}"))
    return "\n".join(lines + _some([_refusal(number, why, unit) for number, why in result.refusals], page))


def _refusal(number: int, why: str, unit: str) -> tuple[str, str]:
    """Return place and reason of a refused record; links are numbered apart."""
    if not number and why.startswith("link "):
        where, _, why = why.partition(": ")
        return where, why
    return f"{unit} {number}".removesuffix(" 0"), why


def _remarks(result: Brought) -> Iterator[str]:
    """Yield what an import from another program did beside adding memories."""
    if result.linked:
        yield f"{many(result.linked, 'link')} between memories drawn"
    if result.private:
        words = "of the added is private to another agent, which" if result.private == 1 else None
        yield f"{result.private} {words or 'of the added are private to other agents, who'} alone can see and undo that"
    if result.added and result.format in DATABASES:
        yield "vectors of other programs are left out; ours are made when they are needed"


def exported(path: str, count: int, page: Page, unit: str = "") -> str:
    """Render the result of an export; without a unit it counts memories."""
    amount = many(count, unit, f"{unit}s") if unit else many(count, "memory", "memories")
    return f"Wrote {page.paint('bold', clean(path))}: {amount}."


def _some(items: Sequence[tuple[str, str]], page: Page) -> list[str]:
    lines = [hang(f"  {page.paint('yellow', clean(where))}", f": {why}", page, 4) for where, why in items[:LISTED]]
    return lines + ([f"  and {len(items) - LISTED} more; --json lists all"] if len(items) > LISTED else [])
