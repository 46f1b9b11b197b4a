"""Commands `migrate` and `swarm`: the commands of opencode-swarm, with its rules and its wording.

swarm knowledge                              list active entries
swarm knowledge migrate [folder]             take over .swarm/context.md
swarm knowledge quarantine <id> [reason]     hide an entry from queries
swarm knowledge restore <id>                 bring it back
swarm promote <text>                         write a new hive entry
swarm promote --from-swarm <id>              promote an entry of this project
swarm curate                                 review and promote
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence

from swarmlore.cli.console import Console
from swarmlore.cli.layout import Page, clean, many, one_line, say
from swarmlore.domain.json_codec import plain
from swarmlore.domain.language.display import choices_hint
from swarmlore.domain.policy.curation import MEET
from swarmlore.domain.records import Memory
from swarmlore.errors import Ambiguous, Conflict, InvalidInput, NotFound, Rejected
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Remembered
    from swarmlore.lore import Lore
    from swarmlore.memory.swarm_files import Migrated, Moved


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
    """Render active lessons as a Markdown table with unambiguous prefixes of their ids."""
    if not memories:
        return "No knowledge entries found."
    lines = [f"## Knowledge Entries ({len(memories)} total)", "", *_HEAD]
    for memory, prefix in zip(memories, prefixes([memory.id for memory in memories]), strict=True):
        cells = (f"{prefix}…", memory.category, f"{_percent(memory.confidence)}%", _shortened(memory.text))
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    hint = "To hide one: swarmlore swarm knowledge quarantine <id> [reason]; the prefix is enough."
    return "\n".join([*lines, "", hint])


def prefixes(ids: Sequence[str]) -> list[str]:
    """Return the shortest unambiguous prefix of each id, at least 12 characters.

    Ids begin with their time, so those made together begin alike.
    """
    ordered = sorted(set(ids))
    needed = {}
    for before, id, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        shared = max(_agree(id, before), _agree(id, after))
        needed[id] = id[: max(SHORTEST_PREFIX, shared + 1)]
    return [needed[id] for id in ids]


def _agree(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def _percent(share: float) -> int:
    return int(100 * share + 0.5)  # halves are rounded up, as opencode-swarm does


def _shortened(text: str) -> str:
    line = one_line(text, 0)
    return line if len(line) <= LESSON_CHARS else line[: LESSON_CHARS - 3] + "..."


def _cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table."""
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
    """Render the counts of a curation, and how many recommendations wait."""
    lines = ["📚 Curation complete", "", *(f"{name}: {counts[key]}" for key, name in _CURATED.items())]
    lines += [f"{name}: {counts[key]}" for key, name in _FROM_PLAN.items() if counts[key]]
    if waiting := counts["recommendations"]:
        told = many(waiting, "recommendation waits", "recommendations wait")
        lines += ["", f"{told} for you: swarmlore curate"]
    return "\n".join(lines)


def migrated(told: Migrated, page: Page) -> str:
    """Render the result of both migrations; dropped lines are listed with the reason."""
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


MIGRATE_EXAMPLES = ("swarmlore migrate", "swarmlore migrate ~/work/shop")


def migrate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="a folder of the project; else this one")


def run_migrate(console: Console) -> int:
    return migrate(console, console.args.path)


def migrate(console: Console, path: str) -> int:
    """Migrate the project of a folder and show the result; a project that was migrated before is no failure."""
    if path:
        folder = os.path.expanduser(path)
        if not os.path.isdir(folder):
            raise InvalidInput(f"{path} is not a folder", "name a folder of the project")
        console.args.project = folder
    with console.open() as lore:
        told = lore.migrate()
    return console.show(lambda: _document(told), lambda page: migrated(told, page))


def _document(told: Migrated) -> dict[str, Any]:
    return {"context": _moved_document(told.context), "hive": _moved_document(told.hive)}


def _moved_document(moved: Moved) -> dict[str, Any]:
    return {**plain(moved), "drops": [{"line": line, "reason": why} for line, why in moved.drops]}


SWARM_EXAMPLES = (
    "swarmlore swarm knowledge",
    'swarmlore swarm knowledge quarantine lesson-abc123 "false positive"',
    "swarmlore swarm knowledge restore lesson-abc123",
    'swarmlore swarm promote "Pin the base image by digest, tags move"',
    "swarmlore swarm promote --from-swarm lesson-abc123",
)
SWARM_MIXED = True
AREAS = ("knowledge", "promote", "curate")
PROFILE = "knowledge"
WITHOUT_REASON = "quarantined by swarm knowledge quarantine"
MOST = 100_000
LISTED = 20


def swarm_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("area", nargs="?", choices=AREAS, metavar="AREA", help="one of: " + ", ".join(AREAS))
    more = "after knowledge: migrate, quarantine ID [REASON] or restore ID; after promote: a text"
    parser.add_argument("words", nargs="*", metavar="WORD", help=more)
    parser.add_argument("--from-swarm", metavar="ID", help="promote: this entry of the project instead of a text")
    parser.add_argument("--category", metavar="TOPIC", help="promote: the topic of the text (process)")


def run_swarm(console: Console) -> int:
    console.args.profile = PROFILE  # these commands follow the rules of opencode-swarm
    words: list[str] = console.args.words
    if console.args.area is None:
        raise InvalidInput("say which of: " + ", ".join(AREAS), "list entries: swarmlore swarm knowledge")
    if console.args.area != "promote" and (console.args.from_swarm or console.args.category):
        raise InvalidInput("--from-swarm and --category belong to promote", "swarmlore swarm promote --help")
    if console.args.area == "promote":
        return _promote(console, " ".join(words))
    if console.args.area == "curate":
        return _curate(console, words)
    if not words:
        return _list(console)
    if words[0] not in _VERBS:
        raise InvalidInput(f"unknown: knowledge {words[0]}", choices_hint(words[0], tuple(_VERBS)))
    return _VERBS[words[0]](console, words[1:])


def _list(console: Console) -> int:
    with console.open() as lore:
        memories = _lessons(lore, "swarm")
    return console.show(lambda: {"entries": plain(memories)}, lambda page: entries(memories, page), whole=True)


def _migrate(console: Console, words: Sequence[str]) -> int:
    if len(words) > 1:
        raise _usage("knowledge migrate [folder]")
    return migrate(console, *(words or [""]))


def _quarantine(console: Console, words: Sequence[str]) -> int:
    if not words:
        raise _usage("knowledge quarantine <id> [reason]")
    with console.open() as lore:
        ref = _named(lore, words[0], otherwise=("quarantined", "is in quarantine already"))
        memory = lore.quarantine(ref, " ".join(words[1:]) or WITHOUT_REASON)
    return console.show(lambda: plain(memory), lambda page: hidden(memory, page))


def _restore(console: Console, words: Sequence[str]) -> int:
    if len(words) != 1:
        raise _usage("knowledge restore <id>")
    with console.open() as lore:
        memory = lore.restore(_named(lore, words[0], "quarantined", ("", "is active, not in quarantine")))
    return console.show(lambda: plain(memory), lambda page: shown_again(memory, page))


def _promote(console: Console, text: str) -> int:
    args = console.args
    if bool(text.strip()) == bool(args.from_swarm):
        raise _usage('promote "<lesson text>", or promote --from-swarm <id>')
    with console.open() as lore:
        told = _carry(lore, text, args.from_swarm or "", args.category or "")

    def result(page: Page) -> str:
        if told.outcome == "confirmed":
            return known_in_hive(page)
        if args.from_swarm:
            return promoted_from_swarm(args.from_swarm, told.memory, page)
        return promoted(told.memory, page)

    for warning in told.warnings:
        console.note(warning)
    return console.show(lambda: plain(told), result)


def _carry(lore: Lore, text: str, ref: str, category: str) -> Remembered:
    """Promote a lesson to the hive; errors use the wording of opencode-swarm."""
    try:
        if ref:
            return lore.promote(_named(lore, ref), from_swarm=True)
        return lore.promote(text, category=category or None)
    except Rejected as refusal:
        raise Rejected(f"Lesson rejected by validator: {refusal.reason}", refusal.layer, refusal.hint) from None
    except NotFound as missing:
        raise NotFound(f"Lesson {ref} not found in .swarm/knowledge.jsonl", missing.hint) from None


def _curate(console: Console, words: Sequence[str]) -> int:
    if words:
        raise _usage("curate")
    with console.open() as lore:
        before = {memory.id: memory for memory in _lessons(lore, "hive")}
        told = lore.curate()
        if meetings := [item.number for item in told.recommendations if item.action == MEET]:
            lore.apply(meetings)
        after = _lessons(lore, "hive")
    known = [(before[memory.id], memory) for memory in after if memory.id in before]
    counts = {
        "promotions": len(told.promoted),
        "encounters": sum(now.encounter_score > then.encounter_score for then, now in known),
        "advancements": sum((then.status, now.status) == ("candidate", "established") for then, now in known),
        "hive": len(after),
        "learned": len(told.learned),
        "retracted": len(told.retracted),
        "recommendations": len(told.recommendations) - len(meetings),
    }
    return console.show(lambda: counts, lambda page: curated(counts, page))


def _lessons(lore: Lore, tier: str, status: str = "") -> list[Memory]:
    """Return the lessons of a tier, oldest first; without a status the active ones."""
    return [memory for memory in lore.list(tier=tier, status=status, limit=MOST) if not memory.raw][::-1]


def _named(lore: Lore, ref: str, status: str = "", otherwise: tuple[str, str] = ("", "")) -> str:
    """Return the id of the entry that an id, a handle or a prefix of one names.

    `otherwise` is another status with a message: if only an entry of that status fits, Conflict says so.
    """
    ref = ref.removesuffix("…").removesuffix("...")  # the table ends a prefix so
    fits = _fitting(lore, ref, status)
    if not fits:
        if otherwise[1] and len(there := _fitting(lore, ref, otherwise[0])) == 1:
            raise Conflict(f"Entry {there[0]} {otherwise[1]}.", "list entries: swarmlore swarm knowledge")
        raise NotFound(f"No entry found matching '{ref}'.", "list them: swarmlore swarm knowledge")
    if len(fits) > 1:
        listed = "".join(f"\n  {id}" for id in fits[:LISTED])
        more = f"\n  and {len(fits) - LISTED} more" if len(fits) > LISTED else ""
        message = f"Ambiguous prefix '{ref}' matches {len(fits)} entries:{listed}{more}"
        raise Ambiguous(message, "give more characters", tuple(fits[:LISTED]))
    return fits[0]


def _fitting(lore: Lore, ref: str, status: str) -> list[str]:
    entries = _lessons(lore, "swarm", status) if ref else []
    exact = [memory.id for memory in entries if ref in (memory.id, memory.handle)]
    return exact or [memory.id for memory in entries if memory.id.startswith(ref) or memory.handle.startswith(ref)]


def _usage(form: str) -> InvalidInput:
    return InvalidInput(f"Usage: swarmlore swarm {form}", "list entries: swarmlore swarm knowledge")


_VERBS: dict[str, Callable[[Console, Sequence[str]], int]] = {
    "migrate": _migrate,
    "quarantine": _quarantine,
    "restore": _restore,
}
