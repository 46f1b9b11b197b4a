"""What a person writes in an editor in place of what a proposal would add."""

from __future__ import annotations

from swarmlore.domain.policy.gate import pass_gate
from swarmlore.domain.records import Draft, Edit, Proposal
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.reflect import editing

if TYPE_CHECKING:
    from typing import Any


def editable(item: Proposal) -> str:
    """The words of a proposal as they are given to a person to change: the addition to its first file."""
    return item.edits[0].text.rstrip("\n") + "\n"


def reworded(item: Proposal, text: str) -> Proposal:
    """The proposal with other words, past the gate; raises where they cannot stand there."""
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
    line = words if edit.verb in (editing.CREATE, editing.SECTION) else " ".join(words.split())
    changed = replace(edit, text=_shaped(edit, line), facts=_facts(edit, line))
    title = line.removeprefix("- ") if edit.verb in (editing.RULE, editing.ENTRY, editing.INSTINCT) else item.title
    return replace(item, edits=(changed, *item.edits[1:]), title=title[:300])


def _shaped(edit: Edit, line: str) -> str:
    if edit.verb == editing.RULE:
        return line if line.startswith("- ") else f"- {line}"
    if edit.verb == editing.ENTRY:
        return line.removeprefix("- ")
    return line + "\n" if edit.verb == editing.CREATE else line


def _facts(edit: Edit, line: str) -> dict[str, Any]:
    facts = dict(edit.facts)
    if edit.verb == editing.INSTINCT and "add" in facts:
        facts["add"] = {**facts["add"], "rule": line}
    return facts


def _note(item: Proposal, text: str) -> Proposal:
    """A note goes to two places under one id, which its title and body make: both follow."""
    from swarmlore.formats.notes import note_id, parse_note
    from swarmlore.formats.sidecar import sidecar_path
    from swarmlore.note_places import LEARNINGS as LEARNED
    from swarmlore.reflect.places import LEARNINGS

    note = parse_note(text)
    if not note.title:
        raise InvalidInput("the note has lost its title", "keep the lines between --- and --- as they are")
    former = parse_note(item.edits[0].text)
    old, new = note_id(former.title, former.body), note_id(note.title, note.body)
    own = f"{LEARNED}/{new}.md"
    edits = []
    for edit in item.edits:
        beside = not edit.path.endswith(".md")
        path = edit.path if edit.place != LEARNINGS else sidecar_path(own) if beside else own
        edits.append(replace(edit, path=path, text=edit.text.replace(old, new) if beside else text))
    return replace(item, edits=tuple(edits), title=note.title)
