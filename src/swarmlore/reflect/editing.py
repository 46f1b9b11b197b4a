"""One addition, done to the text of a file. Pure: the same text and the same addition give the same result, and a text
that has the addition stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from swarmlore.domain.records import Edit
from swarmlore.errors import Conflict
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

CREATE, RULE, SECTION, ENTRY, REFERENCE, INSTINCT = "create", "rule", "section", "entry", "reference", "instinct"
RULES_HEADING = "Learned rules"
_AROUND = 3
# Of an instinct that is confirmed or contradicted, its figures change; everywhere else lines are only added.
_FIGURES = re.compile(r"\s*(?:-\s+)?(?:confidence|last_reinforced|reinforcement_count)\s*:.*")


def done_to(text: str, edit: Edit) -> str:
    """The text of a file with an addition; '' stands for a file that is not there."""
    if edit.verb == CREATE:
        return _created(text, edit)
    if edit.verb in (RULE, SECTION):
        return _below_heading(text, edit)
    if edit.verb == ENTRY:
        return _entered(text, edit)
    if edit.verb == REFERENCE:
        from swarmlore.formats.memory_md import reference_in, with_reference

        return text if reference_in(text) else with_reference(text)
    return _instinct(text, edit)


def all_done_to(text: str, edits: Iterable[Edit]) -> str:
    for edit in edits:
        text = done_to(text, edit)
    return text


def _created(text: str, edit: Edit) -> str:
    if text and text != edit.text:
        raise Conflict(f"{edit.path} was written by somebody else meanwhile", "look at it, then reflect once more")
    return edit.text


def _below_heading(text: str, edit: Edit) -> str:
    if _has_lines(text, edit.text):
        return text
    if edit.verb == RULE:
        from swarmlore.formats.agent_file import with_line

        return with_line(text, edit.path, edit.heading, edit.text)
    from swarmlore.formats.frontmatter import read_page, with_added

    return with_added(read_page(text), edit.heading, edit.text)


def _has_lines(text: str, wanted: str) -> bool:
    """Whether all lines of an addition stand in a text, one after the other."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    sought = [line.strip() for line in wanted.splitlines() if line.strip()]
    return any(lines[at : at + len(sought)] == sought for at, line in enumerate(lines) if line == sought[0])


def _entered(text: str, edit: Edit) -> str:
    from swarmlore.formats.memory_md import with_entry

    said = {line.strip().lstrip("-*+ ").strip() for line in text.splitlines()}
    return text if edit.text.strip() in said else with_entry(text, edit.heading, edit.text)


def _instinct(text: str, edit: Edit) -> str:
    from swarmlore.formats.instincts import added, all_changed, parse

    sheet, facts = parse(text), edit.facts
    known = {one.id: one for one in sheet.instincts}
    if values := facts.get("set"):
        return _figures(sheet, known, dict(values)) if values.get("id") in known else text
    fresh = dict(facts["add"])
    if fresh["id"] in known or any(one.rule == fresh["rule"] for one in known.values()):
        return text
    lowered = {id: float(value) for id, value in facts.get("lower", {}).items() if id in known}
    if lowered:
        sheet = parse(all_changed(sheet, "confidence", lowered))
    return added(sheet, fresh)


def _figures(sheet: Any, known: dict[str, Any], values: dict[str, Any]) -> str:
    from swarmlore.formats.instincts import changed

    one = known[values.pop("id")]
    values.pop("rule", None)
    if one.reinforcements >= int(values.get("reinforcement_count", 0)):
        return str(sheet.text)  # it was confirmed since, or this is done
    return changed(sheet, one.id, values)


def only_adds(before: str, after: str, verb: str = "") -> bool:
    """Whether every line of a text is still there, in its order."""
    kept = iter(_lines(after))
    lines = _lines(before)
    if verb == INSTINCT:
        kept = iter([line for line in _lines(after) if not _FIGURES.fullmatch(line)])
        lines = [line for line in lines if not _FIGURES.fullmatch(line)]
    return all(any(line == other for other in kept) for line in lines)


def _lines(text: str) -> list[str]:
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def difference(before: str, after: str, name: str) -> str:
    """What an addition changes, as a unified diff with the usual three lines around it."""
    from difflib import unified_diff

    old, new = _lines(before), _lines(after)
    head, tail = _shared(old, new)
    skipped = max(0, head - _AROUND)
    old, new = (lines[skipped : len(lines) - max(0, tail - _AROUND)] for lines in (old, new))
    names = (f"a/{name}" if before else "/dev/null", f"b/{name}")
    lines = [line.rstrip("\n") for line in unified_diff(old, new, *names, lineterm="")]
    return "".join(f"{_moved(line, skipped)}\n" for line in lines)


def _shared(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines two texts share at their beginning and at their end: what lies between is compared."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
    return head, tail


def _moved(line: str, by: int) -> str:
    """The head of a hunk with the numbers that its lines have in the whole file."""
    if not by or not (found := re.fullmatch(r"@@ -(\d+)(.*?) \+(\d+)(.*?) @@", line)):
        return line
    return f"@@ -{int(found[1]) + by}{found[2]} +{int(found[3]) + by}{found[4]} @@"
