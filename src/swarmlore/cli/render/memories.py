"""Text of commands on memories, receipts, settings, checks and errors; the other `render` modules have the rest.

Stored text may hold anything: all of it passes `clean` before it is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from swarmlore.cli.layout import Page, age, ago, amount, clean, hang, many, one_line, say, size, table, when
from swarmlore.domain.language.citations import CHANGED, STALE, place, place_now
from swarmlore.domain.language.display import place_name, project_name, readable_reason
from swarmlore.domain.records import Cited, Memory, Stale
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.config import Value
    from swarmlore.domain.records import AuditRow, Check, Hit, Receipt, Remembered
    from swarmlore.memory.project_names import Identity
    from swarmlore.retrieval.recall import Hits
    from swarmlore.store.backup import Backup


_DIFF = {"+": "green", "-": "red", "@": "cyan"}
_STILL_HOLD = {
    "backups": "These backups still hold it; delete them if it must be gone:",
    "commits": "Git's history of .swarm/knowledge.jsonl still holds it, since:",
    "files": "These notes still say it, and bring it back when they change; edit them if it must be gone:",
}
_STATES = {"ok": "green", "warn": "yellow", "fail": "red"}
ROOM_FOR_TEXT = 24
LISTED = 20
USUAL_KIND = "learning"
_FOUND_BY = {
    "origin": "the address of its remote",
    "marker": "the marker that lies in it",
    "git": "the place of its git folder",
    "folder": "its path",
}
_GROUPS = {"by_status": "by status, also what is not live any more"}
_TRUST = ("unknown", "derived", "an agent", "a person")


# Errors, notes, progress and the overview


def failure(error: SwarmloreError, page: Page) -> str:
    """Render an error with its hint."""
    lines = [hang(page.paint("red", "error: "), error.message, page, 7)]
    if error.hint:
        lines.append(hang(page.paint("cyan", "hint: "), error.hint, page, 6))
    return "\n".join(lines)


def note(text: str, page: Page) -> str:
    """Render a remark beside the answer."""
    return say(text, page, style="dim")


def progress(doing: str, done: int, total: int, *, bar: bool) -> str:
    """Render progress: a bar of twenty marks, or counts without `bar` or without a known total."""
    if total <= 0:
        return f"{doing} {done}"
    if not bar:
        return f"{doing} {done} of {total}"
    full = min(20, 20 * done // total)
    return f"{doing} [{'#' * full}{'.' * (20 - full)}] {done}/{total}"


def overview(groups: Sequence[tuple[str, Sequence[str]]], summaries: Mapping[str, str], page: Page) -> str:
    """Render the list of all commands, which `swarmlore` shows without arguments."""
    lines = ["Swarmlore: the memory that coding agents share.", "", page.paint("bold", "Try")]
    lines += [
        '  swarmlore remember "Snapshots are recorded with make snap-record, not by hand"',
        '  swarmlore recall "update the reference images"',
        "  swarmlore doctor",
    ]
    width = max(map(len, summaries)) + 2
    for title, names in groups:
        lines += ["", page.paint("bold", title)]
        lines += [
            hang(f"  {page.paint('cyan', name.ljust(width))}", summaries[name], page, width + 2) for name in names
        ]
    more = "swarmlore COMMAND --help says more; --json gives every answer to programs."
    return "\n".join([*lines, "", hang("", more, page, 0)])


# Citations


def _citation_text(cited: Cited) -> str:
    """Describe one citation and the state of the code it cites."""
    citation = cited.citation
    where = place(citation.path, citation.first_line, citation.last_line)
    why = f" ({cited.note})" if cited.note else ""
    return {
        "unchanged": f"{where}, unchanged",
        "moved": f"{place_now(cited)}, moved from {where}",
        "changed": f"{where}: {CHANGED}{why}",
        "gone": f"{where}: {CHANGED}, it is gone{why}",
    }.get(cited.state, f"{where}, not checked{why}")


def _citations_line(memory: Memory) -> str:
    """List the code that a memory cites, in one line."""
    return clean("cites " + ", ".join(place(item.path, item.first_line, item.last_line) for item in memory.citations))


def _citation_lines(found: Sequence[Cited], page: Page, indent: int) -> list[str]:
    """Render the citations of a memory below it, stale ones in yellow."""
    return [
        say(f"cites {_citation_text(cited)}", page, indent, "yellow" if cited.state in STALE else "dim")
        for cited in found
    ]


def stale(found: Sequence[Stale], page: Page) -> str:
    """Render memories with the state of the code they cite, and its diff."""
    if not found:
        return "All cited code is as it was."
    lines: list[str] = []
    for item in found:
        handle = clean(item.memory.handle)
        lines.append(hang(page.paint("bold", handle) + "  ", item.memory.text, page, len(handle) + 2))
        for cited in item.cited:
            lines += [*_citation_lines([cited], page, 4), *_diff(cited.diff, page)]
    return "\n".join(lines)


def _diff(text: str, page: Page) -> list[str]:
    return ["      " + _painted(clean(line), page) for line in text.splitlines()]


def _painted(line: str, page: Page) -> str:
    style = _DIFF.get(line[:1])
    return page.paint(style, line) if style else line


def followed(memories: Sequence[Memory], page: Page) -> str:
    """Render whose citations were moved to the new lines of their code."""
    if not memories:
        return "No cited code has moved."
    names = ", ".join(page.paint("bold", clean(memory.handle)) for memory in memories)
    return f"Followed the code of {many(len(memories), 'memory', 'memories')}: {names}. swarmlore undo takes it back."


# Memories


def _handle(memory: Memory, page: Page) -> str:
    return page.paint("bold", clean(memory.handle))


def _about(memory: Memory, page: Page) -> str:
    """Describe a memory in a few words: tier, kind and age; category, status and confirmations if they are unusual."""
    words = [memory.tier, _kind(memory), *([memory.category] if memory.category != "other" else [])]
    words += [_status(memory)] if not memory.live else []
    words.append(ago(memory.created_at, page.now))
    if memory.confirmed_by:
        words.append(f"confirmed {many(len(memory.confirmed_by), 'time')}")
    return clean(" · ".join(words))


def _kind(memory: Memory) -> str:
    return "strategy" if memory.strategy else memory.kind


def _status(memory: Memory) -> str:
    return "forgotten" if memory.forgotten_at is not None else memory.status


def remembered(result: Remembered, former: Sequence[tuple[str, str]], page: Page) -> str:
    """Render the result of `remember`; `former` holds handle and text of the memories it replaced."""
    memory = result.memory
    heads = {
        "added": "Remembered {}",
        "linked": "Remembered {}, linked to a memory that it touches",
        "confirmed": "Already known as {}",
        "updated": "Updated {}",
        "superseded": "Remembered {}; it replaces " + (", ".join(clean(handle) for handle, _ in former) or "another"),
        "quarantined": "Kept {} in quarantine, where nobody is shown it",
    }
    lines = [heads[result.outcome].format(_handle(memory, page)) + _because(result)]
    lines += [hang(page.paint("red", "  - "), text, page, 4) for _, text in former]
    lines.append(hang(page.paint("green", "  + ") if former else "    ", memory.text, page, 4))
    lines.append(say(_about(memory, page), page, 4, "dim"))
    if memory.citations:
        lines.append(say(_citations_line(memory), page, 4, "dim"))
    return "\n".join([*lines, *_gate_notes(result, page)])


def _because(result: Remembered) -> str:
    """Return the reason of an outcome that does not explain itself."""
    if result.outcome not in ("linked", "quarantined", "confirmed"):
        return ""
    reason = result.reason.removeprefix("already known").removeprefix("; ")
    return f": {clean(readable_reason(reason))}" if reason else ""


def _gate_notes(result: Remembered, page: Page) -> list[str]:
    """Render what the validation gate redacted or removed, and its warnings."""
    lines = []
    if result.redacted:
        what = many(len(result.redacted), "secret was", "kinds of secrets were")
        lines.append(say(f"{what} redacted: {', '.join(result.redacted)}", page, style="yellow"))
    if result.stripped:
        lines.append(f"{many(result.stripped, 'invisible character was', 'invisible characters were')} removed")
    return lines + [hang(page.paint("yellow", "warning: "), warning, page, 9) for warning in result.warnings]


def remembered_lines(
    outcomes: Mapping[str, int],
    refused: Sequence[tuple[int, str]],
    replaced: Sequence[tuple[int, str, str]],
    page: Page,
) -> str:
    """Render the result of `remember --each-line`: counts by outcome, then refused and replacing lines by number."""
    counts = [f"{count} {outcome}" for outcome, count in outcomes.items() if count]
    lines = [", ".join(counts) or "nothing was stored"]
    lines += _some([hang(page.paint("yellow", f"  line {number}"), f": {why}", page, 4) for number, why in refused])
    heads = [(f"  line {number}", f" replaces {handle}: {text}") for number, handle, text in replaced]
    lines += _some([hang(page.paint("yellow", head), text, page, 4) for head, text in heads])
    return "\n".join(lines)


def migrated(written: int, known: int, digest: str, where: str, page: Page) -> str:
    """Render the result of `migrate-store`."""
    what = "1 memory" if written == 1 else f"{written} memories"
    lines = [f"{what} copied to {clean(where)}" + (f", {known} were there already" if known else "")]
    lines.append(page.paint("dim", f"  both sides compared, sha256 {digest[:16]}…"))
    if "://" in where:
        lines.append(f"  to use it from now on, with your password in it: swarmlore config store {clean(where)}")
    return "\n".join(lines)


def _some(lines: Sequence[str]) -> list[str]:
    """Return at most 20 lines, and how many more there are."""
    more = [f"  and {len(lines) - LISTED} more; --json lists all"] if len(lines) > LISTED else []
    return [*lines[:LISTED], *more]


def found(hits: Hits, page: Page, where: Callable[[Memory], str], *, explain: bool = False) -> str:
    """Render community reports, if any, then the hits. `where` returns the path of a note."""
    return "\n".join([*reports(hits.reports, page), _hits(hits, page, where, explain=explain)])


def reports(texts: Sequence[str], page: Page) -> list[str]:
    """Render community reports, with an empty line below them."""
    return [*(hang(page.paint("bold", "» "), text, page, 2) for text in texts), *([""] if texts else [])]


def _hits(found: Sequence[Hit], page: Page, where: Callable[[Memory], str], *, explain: bool) -> str:
    """Render hits with rank and score, with `explain` also the parts of the score; notes with key insight and path."""
    if not found:
        return "Nothing was found."
    left = len(str(len(found))) + 2
    lines = []
    for rank, hit in enumerate(found, start=1):
        handle = clean(hit.memory.handle)
        indent = left + len(handle) + 2
        head = f"{rank}".ljust(left) + page.paint("bold", handle) + "  "
        lines.append(hang(head, _summary(hit.memory), page, indent))
        about = f"{_about(hit.memory, page)} · score {amount(hit.score)}"
        lines.append(say(about, page, indent, "dim"))
        if hit.memory.source == "note" and (place := where(hit.memory)):
            lines.append(say(place, page, indent, "dim"))
        lines += _citation_lines(hit.cited, page, indent)
        if explain:
            lines += _parts(hit, page, indent)
    return "\n".join(lines)


def _summary(memory: Memory) -> str:
    if memory.source != "note":
        return _lesson(memory)
    from swarmlore.domain.extraction.lesson_text import lesson_line

    return lesson_line(memory)


def _lesson(memory: Memory) -> str:
    return f"{memory.title}: {memory.text}" if memory.title else memory.text


def _parts(hit: Hit, page: Page, indent: int) -> list[str]:
    width = max((len(part.name) for part in hit.explanation), default=0)
    heads = [f"{' ' * indent}  {clean(part.name).ljust(width)}  {part.value:7.3f}  " for part in hit.explanation]
    return [
        hang(head, readable_reason(part.note), page, indent + width + 13, "dim")
        for head, part in zip(heads, hit.explanation, strict=True)
    ]


def rows(memories: Sequence[Memory], page: Page) -> str:
    """Render a line per memory: handle, tier, age, and as much text as fits.

    The status is added if one is not live, the kind if it is not the usual one.
    """
    if not memories:
        return "Nothing is stored that fits."
    facts: list[Callable[[Memory], str]] = [lambda m: m.tier, lambda m: age(m.created_at, page.now)]
    if not all(memory.live for memory in memories):
        facts.append(lambda m: "" if m.live else _status(m))
    handles = _column([memory.handle for memory in memories])
    abouts = ["".join(cells) for cells in zip(*(_column([tell(m) for m in memories]) for tell in facts), strict=True)]
    lines = zip(memories, handles, abouts, strict=True)
    return "\n".join(page.paint("bold", handle) + _row(m, about, len(handle), page) for m, handle, about in lines)


def _row(memory: Memory, about: str, taken: int, page: Page) -> str:
    kind = "" if memory.kind == USUAL_KIND and not memory.strategy else f"{clean(_kind(memory))}: "
    room = page.width - taken - len(about) - len(kind) if page.width else 0
    if page.width and room < ROOM_FOR_TEXT:  # on a very narrow terminal only the text is shown
        about, kind, room = "", "", max(ROOM_FOR_TEXT, page.width - taken)
    return page.paint("dim", about + kind) + one_line(_lesson(memory), room)


def _column(values: Sequence[str]) -> list[str]:
    """Pad values to the width of the widest one plus two spaces."""
    safe = [clean(value) for value in values]
    width = max(map(len, safe)) + 2
    return [value.ljust(width) for value in safe]


def more(shown: int, total: int | None, offset: int) -> str:
    """Render the note of `list` that more memories follow; the total may be unknown."""
    last = offset + shown
    which = f"{offset + 1} to {last}" if offset else f"{last}"
    range_shown = f"{which} of {total:,}" if total is not None else f"{which} of more"
    return f"{range_shown}. The rest: --offset {last}, or --limit {max(100, 5 * shown)}"


def card(memory: Memory, page: Page, cited: Sequence[Cited] = ()) -> str:
    """Render all fields of one memory, with the state of the code it cites."""
    lines = [hang(f"{_handle(memory, page)}  ", memory.text, page, len(memory.handle) + 2), ""]
    cites = [("cites", "\n".join(map(_citation_text, cited)))]
    return "\n".join(lines + table([*_facts(memory), *_life(memory, page), *_evidence(memory, page), *cites], page))


def _facts(memory: Memory) -> list[tuple[str, str]]:
    return [
        ("title", memory.title),
        ("id", memory.id),
        ("tier", f"{memory.tier} of {project_name(memory.project)}" if memory.tier != "hive" else "hive"),
        ("kind", _kind(memory)),
        ("category", memory.category),
        ("tags", ", ".join(memory.tags)),
        ("about", ", ".join(memory.entities)),
        ("scope", memory.scope),
        ("status", _status(memory)),
        ("source", " ".join((memory.source, *(f"{key}={value}" for key, value in memory.source_ref.items())))),
        ("key", memory.key),
        ("by", f"{memory.owner or 'nobody named'} (trust {memory.trust}, {_TRUST[min(3, max(0, memory.trust))]})"),
    ]


def _life(memory: Memory, page: Page) -> list[tuple[str, str]]:
    moments = (
        ("created", memory.created_at),
        ("changed", memory.updated_at if memory.updated_at != memory.created_at else None),
        ("expires", memory.expires_at),
        ("forgotten", memory.forgotten_at),
    )
    return [(name, when(at, page.now)) for name, at in moments if at is not None]


def _evidence(memory: Memory, page: Page) -> list[tuple[str, str]]:
    confirmed = "\n".join(f"{place_name(c.where)}, {c.by}, {when(c.at, page.now)}" for c in memory.confirmed_by)
    counts = memory.outcomes
    return [
        ("confidence", f"{memory.confidence:.2f}"),
        ("confirmed", confirmed),
        ("read", many(memory.access_count, "time")),
        (
            "shown",
            f"{many(counts.shown, 'time')}, cited {counts.cited}, applied {counts.applied}" if counts.shown else "",
        ),
        ("needed when", "\n".join(situation.text for situation in memory.situations)),
        ("replaces", ", ".join(memory.supersedes)),
        ("replaced by", memory.superseded_by),
    ]


# Changes and receipts


def forgotten(
    gone: Sequence[Memory], left: Mapping[str, Sequence[str]], page: Page, *, erased: bool, proposals: int = 0
) -> str:
    """Render what was forgotten or erased; `left` lists backups, commits and files that still hold an erased text."""
    named = [_handle(memory, page) for memory in gone] + ([many(proposals, "proposal")] if proposals else [])
    if not named:
        return "There was nothing to forget."
    names = ", ".join(named)
    if not erased:
        return f"Forgot {names}. swarmlore undo brings {'it' if len(gone) + proposals == 1 else 'them'} back."
    lines = [f"Erased {names} for good."]
    for name, head in _STILL_HOLD.items():
        if held := left.get(name):
            lines.append(say(head, page, style="yellow"))
            lines += _some([f"  {clean(place[:12] if name == 'commits' else place)}" for place in held])
    return "\n".join(lines)


def history(changes: Sequence[AuditRow], page: Page) -> str:
    """Render the changes of a memory with its text before and after, oldest first."""
    return "\n".join(line for row in changes for line in _change(row, page))


def _change(row: AuditRow, page: Page) -> list[str]:
    before, after = (str(side["text"]) if side else "" for side in (row.before, row.after))
    why = f": {readable_reason(row.reason)}" if row.reason else ""
    lines = [hang(page.paint("bold", clean(row.action)), why, page, 2)]
    if before != after:
        lines += [hang(page.paint("red", "  - "), before, page, 4)] if before else []
        lines += [hang(page.paint("green", "  + "), after, page, 4)] if after else []
    by = f"{when(row.at, page.now)} by {row.by or 'nobody named'}, operation {row.operation}"
    return [*lines, say(by, page, 4, "dim")]


def undone(reverted: Sequence[Memory], operation: str, page: Page) -> str:
    lines = [f"Took it back: {many(len(reverted), 'memory', 'memories')} changed."]
    for memory in reverted:
        head = f"  {_handle(memory, page)}  {page.paint('dim', clean(_status(memory)))}  "
        lines.append(hang(head, one_line(memory.text, 80), page, len(memory.handle) + 4))
    lines.append(say(f"To bring it back: swarmlore undo {operation}", page, style="dim"))
    return "\n".join(lines)


def receipts(found: Sequence[Receipt], texts: Mapping[str, str], page: Page) -> str:
    """Render receipts, newest first; `texts` maps ids of memories to their texts."""
    if not found:
        return "Nothing was given yet, and nothing was left out."
    return "\n".join(line for receipt in found for line in _receipt(receipt, texts, page))


def _receipt(receipt: Receipt, texts: Mapping[str, str], page: Page) -> list[str]:
    given = many(len(receipt.shown), "memory", "memories") if receipt.shown else "nothing"
    cut = f", {len(receipt.cut)} left out" if receipt.cut else ""
    cost = f", {receipt.chars} characters, about {receipt.tokens} tokens" if receipt.shown else ""
    lines = [
        hang(page.paint("bold", given), f"{cut}{cost}: {receipt.reason}", page, 4),
        say(f"{when(receipt.at, page.now)} · {receipt.trigger} · {_who(receipt)}", page, 4, "dim"),
    ]
    if receipt.cue:
        lines.append(hang("    cue: ", one_line(receipt.cue, 160), page, 9))
    items = [("green", "+", item, amount(item.score)) for item in receipt.shown]
    items += [("dim", "-", item, clean(item.why)) for item in receipt.cut]
    for colour, sign, item, why in items:
        head = f"    {page.paint(colour, sign)} {clean(item.handle)}  "
        room = page.width - len(item.handle) - 8
        lines.append(head + one_line(" · ".join(part for part in (why, texts.get(item.memory, "")) if part), room))
    return lines


def _who(receipt: Receipt) -> str:
    return " · ".join(part for part in (receipt.agent, receipt.session) if part) or "nobody named"


# Maintenance


def project(known: Identity, page: Page) -> str:
    """Render the identity of a project and how it was found."""
    former = [name for name in known.aliases if name not in known.names and name != known.id]
    facts = [
        ("id", known.id),
        ("found by", _FOUND_BY[known.found_by]),
        ("names", "\n".join(known.names)),
        ("formerly", "\n".join(former)),
        ("folder", known.root),
        ("marker", known.marker or "none yet"),
        ("stacks", ", ".join(known.stacks)),
    ]
    lines = [page.paint("bold", clean(known.name)), *table(facts, page)]
    for name in known.unclaimed:
        text = f"there are memories of {name}. If they are this project's: swarmlore project --was {name}"
        lines.append(hang(page.paint("yellow", "note: "), text, page, 6))
    return "\n".join(lines)


def stats(counts: Mapping[str, Any], page: Page) -> str:
    """Render the counts of the store, single ones first, then each group."""
    groups = {name: value for name, value in counts.items() if isinstance(value, Mapping) and "limit" not in value}
    plain = ((name.replace("_", " "), _plain(name, value)) for name, value in counts.items() if name not in groups)
    lines = table(plain, page, indent=0)
    for name, group in groups.items():
        if group:
            lines += ["", page.paint("bold", _GROUPS.get(name, name.replace("_", " ")))]
            lines += table(((str(key), str(value)) for key, value in group.items()), page)
    return "\n".join(lines)


def _plain(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{value['used']} of {value['limit']}"
    return size(value) if name == "bytes" else str(value)


def checks(found: Sequence[Check], page: Page) -> str:
    """Render the checks of `doctor` with their hints and a tally."""
    width = max((len(check.name) for check in found), default=0) + 2
    lines = []
    for check in found:
        head = page.paint(_STATES[check.state], check.state.ljust(6)) + clean(check.name).ljust(width)
        lines.append(hang(head, check.message, page, 6 + width))
        if check.hint:
            lines.append(hang(" " * (6 + width) + page.paint("cyan", "hint: "), check.hint, page, 12 + width))
    tally = [f"{count} {state}" for state in _STATES if (count := sum(check.state == state for check in found))]
    return "\n".join([*lines, "", ", ".join(tally)])


def settings(values: Sequence[Value], page: Page) -> str:
    """Render all settings with help; those that are not the default show their origin."""
    lines = []
    for value in values:
        origin = "" if value.origin == "default" else page.paint("yellow", f"  ({clean(value.origin)})")
        lines.append(f"{page.paint('bold', value.name)} = {clean(_toml(value.value))}{origin}")
        lines.append(say(value.help, page, 4, "dim"))
    return "\n".join(lines)


def setting(value: Value, page: Page) -> str:
    """Render one setting with its help and origin."""
    about = say(f"{value.help}; from {value.origin}", page, 4, "dim")
    return f"{page.paint('bold', value.name)} = {clean(_toml(value.value))}\n{about}"


def setting_written(value: Value, path: str, page: Page) -> str:
    """Render a setting that was written, and the file."""
    return f"{page.paint('bold', value.name)} = {clean(_toml(value.value))}\n    written to {clean(path)}"


def _toml(value: Any) -> str:
    import json

    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def reindexed(counts: Mapping[str, int], page: Page) -> str:
    return f"Indexed {many(counts['rows'], 'memory', 'memories')}, computed {many(counts['embedded'], 'vector')}."


def backed_up(made: Backup, page: Page) -> str:
    content = f"{many(made.memories, 'memory', 'memories')}, {size(made.bytes)}"
    return f"Wrote {page.paint('bold', clean(made.path))}: {content}."


def restored(backup: Backup, kept: str, page: Page) -> str:
    lines = [f"Restored {many(backup.memories, 'memory', 'memories')} from {page.paint('bold', clean(backup.path))}."]
    return "\n".join([*lines, *([f"What was there is kept in {clean(kept)}."] if kept else [])])
