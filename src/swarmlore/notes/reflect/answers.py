"""Parse a person's answer to shown proposals, and apply a person's rewording to a proposal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from swarmlore.domain.policy.gate import pass_gate
from swarmlore.domain.records import Draft, Edit, Proposal
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.notes.reflect import targets

if TYPE_CHECKING:
    from typing import Any


APPROVE, REJECT, MODIFY = "approve", "reject", "modify"
_VERBS = {"y": APPROVE, "yes": APPROVE, "n": REJECT, "no": REJECT, "m": MODIFY, "modify": MODIFY, "edit": MODIFY}
_GROUPS = {
    "all": (),
    "all-behavioral": ("behavioral",),
    "all-behavioural": ("behavioral",),
    "all-knowledge": ("knowledge", "skill"),
}
_NAME = re.compile(r"([bkmis]?)([0-9]{1,6})(?:-([bkmis]?)([0-9]{1,6}))?")
MOST_CHARS = 2_000
MOST_LABELS = 12  # listed in the error message
HOW = "Y all, N none, modify, 1,3 or 1-3, k2, all-knowledge, all-behavioral"


@frozen
class Answer:
    """A decision and the ids of its proposals."""

    verb: str
    ids: tuple[str, ...]


def read_answer(text: str, shown: Sequence[Proposal]) -> Answer | None:
    """Parse an answer to the shown proposals; None if it is not understood, nothing is guessed."""
    said = text[: MOST_CHARS + 1].strip().lower()
    if not said or len(said) > MOST_CHARS or not shown:
        return None
    first, _, rest = said.partition(" ")
    if (verb := _VERBS.get(first)) and not rest.strip():
        return Answer(verb, tuple(item.id for item in shown))
    ids = _named(rest if verb else said, shown)
    return Answer(verb or APPROVE, ids) if ids else None


def no_answer(text: str, shown: Sequence[Proposal]) -> str:
    """Return an error message for an answer that was not understood, with the names of open proposals."""
    names = ", ".join(f"{item.number} ({item.label})" for item in shown[:MOST_LABELS])
    more = ", …" if len(shown) > MOST_LABELS else ""
    return f"{text.strip()[:60]!r} decides nothing; open: {names}{more}"


def _named(words: str, shown: Sequence[Proposal]) -> tuple[str, ...]:
    """Return the ids that numbers, labels, ranges and groups select, in order; () if a word selects nothing."""
    chosen: set[str] = set()
    for word in filter(None, re.split(r"[,;\s]+", re.sub(r"\s*-\s*(?=\w)", "-", words))):
        found = _of(word, shown)
        if not found:
            return ()
        chosen |= found
    return tuple(item.id for item in shown if item.id in chosen)


def _of(word: str, shown: Sequence[Proposal]) -> set[str]:
    if word in _GROUPS:
        return {item.id for item in shown if not _GROUPS[word] or item.route in _GROUPS[word]}
    named = _NAME.fullmatch(word)
    if named is None:
        return set()
    letter, first, other, last = named[1], int(named[2]), named[3], int(named[4] or named[2])
    if last < first or (other and other != letter):
        return set()
    places = {_place(item, letter): item.id for item in shown if _place(item, letter)}
    # Both ends must exist: a typo must not select fewer than intended.
    if first not in places or last not in places:
        return set()
    return {id for number, id in places.items() if first <= number <= last}


def _place(item: Proposal, letter: str) -> int:
    if not letter:
        return item.number
    return int(item.label[1:]) if item.label[:1] == letter and item.label[1:].isdigit() else 0


def editable(item: Proposal) -> str:
    """Return the text of a proposal for a person to edit: the addition to its first file."""
    return item.edits[0].text.rstrip("\n") + "\n"


def reworded(item: Proposal, text: str) -> Proposal:
    """Return a proposal with a new wording that passed the validation gate; raise if it does not fit."""
    words = text.strip("\n")
    if not words.strip():
        raise InvalidInput("nothing is left of it", "to leave it out, answer N and its number")
    source = "note" if item.route in ("knowledge", "skill") else "reflect"
    passed = pass_gate(Draft(words, source=source), profile="lane")
    if passed.quarantine:
        raise InvalidInput(f"it cannot stand there: {passed.quarantine}", "say it in other words")
    words = passed.draft.text
    if item.route == "knowledge" and item.action != "update":
        return _note(item, words + "\n")
    edit = item.edits[0]
    line = words if edit.verb in (targets.CREATE, targets.SECTION) else " ".join(words.split())
    changed = replace(edit, text=_shaped(edit, line), facts=_facts(edit, line))
    title = line.removeprefix("- ") if edit.verb in (targets.RULE, targets.ENTRY, targets.INSTINCT) else item.title
    return replace(item, edits=(changed, *item.edits[1:]), title=title[:300])


def _shaped(edit: Edit, line: str) -> str:
    if edit.verb == targets.RULE:
        return line if line.startswith("- ") else f"- {line}"
    if edit.verb == targets.ENTRY:
        return line.removeprefix("- ")
    return line + "\n" if edit.verb == targets.CREATE else line


def _facts(edit: Edit, line: str) -> dict[str, Any]:
    facts = dict(edit.facts)
    if edit.verb == targets.INSTINCT and "add" in facts:
        facts["add"] = {**facts["add"], "rule": line}
    return facts


def _note(item: Proposal, text: str) -> Proposal:
    """Reword a note in both its files; its id is made of title and body, so path and sidecar change too."""
    from swarmlore.notes.entities_sidecar import sidecar_path
    from swarmlore.notes.locations import LEARNINGS as LEARNED
    from swarmlore.notes.note_format import note_id, parse_note

    note = parse_note(text)
    if not note.title:
        raise InvalidInput("the note has lost its title", "keep the lines between --- and --- as they are")
    former = parse_note(item.edits[0].text)
    old, new = note_id(former.title, former.body), note_id(note.title, note.body)
    own = f"{LEARNED}/{new}.md"
    edits = []
    for edit in item.edits:
        is_sidecar = not edit.path.endswith(".md")
        path = edit.path if edit.place != targets.LEARNINGS else sidecar_path(own) if is_sidecar else own
        edits.append(replace(edit, path=path, text=edit.text.replace(old, new) if is_sidecar else text))
    return replace(item, edits=tuple(edits), title=note.title)
