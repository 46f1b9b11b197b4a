"""Text of `prime` and `research`."""

from __future__ import annotations

from swarmlore.cli.layout import Page, clean, hang, many, say, table
from swarmlore.domain.language.display import project_name
from swarmlore.domain.records import Hit
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.research.report import HEADS, NOTHING, SOURCES, quoted
from swarmlore.retrieval.prime import codebase_rows, stack_rows

if TYPE_CHECKING:
    from swarmlore.research.report import Finding, Report
    from swarmlore.retrieval.prime import Primed
    from swarmlore.workspace.codebase import SourcedText


def primed(begin: Primed, comments: str, page: Page) -> str:
    """Render what a session should know first: code base, stack, memories and the newest comments on beads."""
    lines = [page.paint("bold", clean(project_name(begin.project)))]
    if begin.readme.purpose:
        lines.append(say(_sourced(begin.readme.purpose), page))
    lines += ["", page.paint("bold", "code base"), *table(codebase_rows(begin.codebase), page)]
    found = stack_rows(begin.stack)
    lines += ["", page.paint("bold", "stack"), *(table(found, page) if found else ["  no known stack"])]
    for head, items in (("set-up", begin.readme.setup), ("conventions", begin.readme.conventions)):
        if items:
            lines += ["", page.paint("bold", head), *(say(_sourced(item), page, 2) for item in items)]
    lines += _memories(begin, comments, page)
    if begin.loaded:
        lines += ["", say("Clients load these by themselves: " + ", ".join(begin.loaded), page, 0, "dim")]
    return "\n".join(lines)


def _memories(begin: Primed, comments: str, page: Page) -> list[str]:
    heads = (
        ("critical patterns", begin.patterns),
        ("notes", begin.notes),
        ("about this" if begin.topic else "worth knowing", begin.relevant),
        ("how to go about it", begin.approaches),
        ("learned lately", begin.recent),
    )
    lines: list[str] = []
    for head, hits in heads:
        if hits:
            lines += ["", page.paint("bold", head), *(_line(hit, page) for hit in hits)]
    if comments:
        lines += ["", *map(clean, comments.splitlines())]
    return lines or ["", "Nothing that is remembered fits here yet."]


def _line(hit: Hit, page: Page) -> str:
    from swarmlore.domain.extraction.lesson_text import lesson_line
    from swarmlore.domain.language.citations import CHANGED, is_stale

    memory = hit.memory
    head = f"  {page.paint('bold', clean(memory.handle))}  "
    changed = f" ({CHANGED})" if is_stale(hit.cited) else ""
    place = f" ({memory.source_ref['path']})" if memory.source == "note" and memory.source_ref.get("path") else ""
    return hang(head, lesson_line(memory) + changed + place, page, len(memory.handle) + 4)


def _sourced(item: SourcedText) -> str:
    return f"{item.text}  ({item.path}:{item.line})"


# research

HINTS = (
    "Ask with other words, or with the name of a function, a file or a tool.",
    "Nothing was saved; --save keeps the report all the same, --web asks the web too.",
)
SHOWN = 5  # findings of each source; the report file has all of them


def report(found: Report, page: Page) -> str:
    """Render a research report: answer, conflicts, findings by source, and what was not found."""
    lines = [page.paint("bold", clean(found.question)), ""]
    if found.synthesis:
        lines += [say(quoted(found.synthesis, 4_000), page), ""]
    lines += [_finding(item, page) for item in found.answer] or [NOTHING]
    if found.conflicts:
        lines += ["", page.paint("yellow", many(len(found.conflicts), "conflict"))]
        for item in found.conflicts:
            lines.append(say(quoted(item.what, 160), page, 2))
            lines += [
                hang("    ", f"{side.place}  «{quoted(side.text, 200)}»", page, 6) for side in (item.one, item.other)
            ]
    shown = {(item.place, item.text) for item in found.answer}
    for source in SOURCES:
        rest = [item for item in found.of(source) if (item.place, item.text) not in shown]
        if rest:
            lines += ["", page.paint("bold", HEADS[source].lower()), *(_finding(item, page) for item in rest[:SHOWN])]
            if len(rest) > SHOWN:
                lines.append(page.paint("dim", f"  and {len(rest) - SHOWN} more"))
    return "\n".join([*lines, *_end(found, page)])


def _end(found: Report, page: Page) -> list[str]:
    lines = (
        ["", page.paint("bold", "not found"), *(say(line, page, 2) for line in found.missing)] if found.missing else []
    )
    searched = " · ".join(f"{name}: {_plain(value)}" for name, value in found.searched.items())
    lines += ["", say(searched, page, 0, "dim")]
    if found.file:
        return [*lines, say(f"Saved to {found.file}", page)]
    return lines if found.answer else [*lines, "", *(say(line, page) for line in HINTS)]


def _finding(item: Finding, page: Page) -> str:
    title = f"{quoted(item.title, 80)}: " if item.title and item.source in ("docs", "setup", "learnings", "web") else ""
    text = hang("  ", f"{title}{quoted(item.text)}", page, 2)
    how = f"  {quoted(item.how, 300)}" if item.how else ""
    return text + "\n" + say(f"{item.place}{how}", page, 4, "dim")


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
