"""swarm: the command lines of opencode-swarm, with its rules and its words.

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
from collections.abc import Callable, Sequence

from swarmlore.domain.json_codec import plain
from swarmlore.domain.language.display import choices_hint
from swarmlore.domain.policy.curation import MEET
from swarmlore.errors import Ambiguous, Conflict, InvalidInput, NotFound, Rejected
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_swarm
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.migrate import migrate

if TYPE_CHECKING:
    from swarmlore.domain.records import Memory, Remembered
    from swarmlore.lore import Lore
    from swarmlore.surfaces.page import Page

EXAMPLES = (
    "swarmlore swarm knowledge",
    'swarmlore swarm knowledge quarantine lesson-abc123 "false positive"',
    "swarmlore swarm knowledge restore lesson-abc123",
    'swarmlore swarm promote "Pin the base image by digest, tags move"',
    "swarmlore swarm promote --from-swarm lesson-abc123",
)
MIXED = True
AREAS = ("knowledge", "promote", "curate")
PROFILE = "knowledge"
WITHOUT_REASON = "quarantined by swarm knowledge quarantine"
MOST = 100_000
LISTED = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("area", nargs="?", choices=AREAS, metavar="AREA", help="one of: " + ", ".join(AREAS))
    more = "after knowledge: migrate, quarantine ID [REASON] or restore ID; after promote: a text"
    parser.add_argument("words", nargs="*", metavar="WORD", help=more)
    parser.add_argument("--from-swarm", metavar="ID", help="promote: this entry of the project instead of a text")
    parser.add_argument("--category", metavar="TOPIC", help="promote: the topic of the text (process)")


def run(desk: Desk) -> int:
    desk.args.profile = PROFILE  # whoever comes through this door means its rules
    words: list[str] = desk.args.words
    if desk.args.area is None:
        raise InvalidInput("say which of: " + ", ".join(AREAS), "list entries: swarmlore swarm knowledge")
    if desk.args.area != "promote" and (desk.args.from_swarm or desk.args.category):
        raise InvalidInput("--from-swarm and --category belong to promote", "swarmlore swarm promote --help")
    if desk.args.area == "promote":
        return _promote(desk, " ".join(words))
    if desk.args.area == "curate":
        return _curate(desk, words)
    if not words:
        return _list(desk)
    if words[0] not in _VERBS:
        raise InvalidInput(f"unknown: knowledge {words[0]}", choices_hint(words[0], tuple(_VERBS)))
    return _VERBS[words[0]](desk, words[1:])


def _list(desk: Desk) -> int:
    with desk.open() as lore:
        memories = _lessons(lore, "swarm")
    return desk.show(
        lambda: {"entries": plain(memories)}, lambda page: render_swarm.entries(memories, page), whole=True
    )


def _migrate(desk: Desk, words: Sequence[str]) -> int:
    if len(words) > 1:
        raise _usage("knowledge migrate [folder]")
    return migrate(desk, *(words or [""]))


def _quarantine(desk: Desk, words: Sequence[str]) -> int:
    if not words:
        raise _usage("knowledge quarantine <id> [reason]")
    with desk.open() as lore:
        ref = _named(lore, words[0], otherwise=("quarantined", "is in quarantine already"))
        memory = lore.quarantine(ref, " ".join(words[1:]) or WITHOUT_REASON)
    return desk.show(lambda: plain(memory), lambda page: render_swarm.hidden(memory, page))


def _restore(desk: Desk, words: Sequence[str]) -> int:
    if len(words) != 1:
        raise _usage("knowledge restore <id>")
    with desk.open() as lore:
        memory = lore.restore(_named(lore, words[0], "quarantined", ("", "is active, not in quarantine")))
    return desk.show(lambda: plain(memory), lambda page: render_swarm.shown_again(memory, page))


def _promote(desk: Desk, text: str) -> int:
    args = desk.args
    if bool(text.strip()) == bool(args.from_swarm):
        raise _usage('promote "<lesson text>", or promote --from-swarm <id>')
    with desk.open() as lore:
        told = _carry(lore, text, args.from_swarm or "", args.category or "")

    def said(page: Page) -> str:
        if told.outcome == "confirmed":
            return render_swarm.known_in_hive(page)
        if args.from_swarm:
            return render_swarm.promoted_from_swarm(args.from_swarm, told.memory, page)
        return render_swarm.promoted(told.memory, page)

    for warning in told.warnings:
        desk.note(warning)
    return desk.show(lambda: plain(told), said)


def _carry(lore: Lore, text: str, ref: str, category: str) -> Remembered:
    """Write into the hive; what goes wrong is said in opencode-swarm's words."""
    try:
        if ref:
            return lore.promote(_named(lore, ref), from_swarm=True)
        return lore.promote(text, category=category or None)
    except Rejected as refusal:
        raise Rejected(f"Lesson rejected by validator: {refusal.reason}", refusal.layer, refusal.hint) from None
    except NotFound as missing:
        raise NotFound(f"Lesson {ref} not found in .swarm/knowledge.jsonl", missing.hint) from None


def _curate(desk: Desk, words: Sequence[str]) -> int:
    if words:
        raise _usage("curate")
    with desk.open() as lore:
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
    return desk.show(lambda: counts, lambda page: render_swarm.curated(counts, page))


def _lessons(lore: Lore, tier: str, status: str = "") -> list[Memory]:
    """The lessons of a tier, oldest first; what is active where no status is asked for."""
    return [memory for memory in lore.list(tier=tier, status=status, limit=MOST) if not memory.raw][::-1]


def _named(lore: Lore, ref: str, status: str = "", otherwise: tuple[str, str] = ("", "")) -> str:
    """The id of the one entry that an id, a handle or the beginning of one names. Where none of this status has it, but
    one of the status `otherwise`, that is said in its words."""
    ref = ref.removesuffix("…").removesuffix("...")  # as the table shows the beginning of an id
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


_VERBS: dict[str, Callable[[Desk, Sequence[str]], int]] = {
    "migrate": _migrate,
    "quarantine": _quarantine,
    "restore": _restore,
}
