"""A report of research, for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swarmlore.cli.layout import Page, clean, hang, many, say, table
from swarmlore.domain.language.display import project_name
from swarmlore.domain.records import Hit
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.research.report import HEADS, NOTHING, SOURCES, quoted

if TYPE_CHECKING:
    from swarmlore.research.report import Finding, Report
    from swarmlore.retrieval.prime import Primed
    from swarmlore.workspace.codebase import Codebase, Said
    from swarmlore.workspace.stack import Stack, Technology


_KINDS = (
    ("runtime", ("runtime",)),
    ("frameworks", ("framework",)),
    ("databases", ("database",)),
    ("tests", ("tests",)),
    ("packages", ("packages",)),
    ("tools", ("build", "container", "ci")),
)


def primed(begin: Primed, comments: str, page: Page) -> str:
    """The project, then the memories to begin with, then the newest comments on beads."""
    lines = [page.paint("bold", clean(project_name(begin.project)))]
    if begin.readme.purpose:
        lines.append(say(_said(begin.readme.purpose), page))
    lines += ["", page.paint("bold", "code base"), *table(codebase(begin.codebase), page)]
    found = stack(begin.stack)
    lines += ["", page.paint("bold", "stack"), *(table(found, page) if found else ["  no known stack"])]
    for head, said in (("set-up", begin.readme.setup), ("conventions", begin.readme.conventions)):
        if said:
            lines += ["", page.paint("bold", head), *(say(_said(item), page, 2) for item in said)]
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
    from swarmlore.domain.policy.ranking import CHANGED, is_stale

    memory = hit.memory
    head = f"  {page.paint('bold', clean(memory.handle))}  "
    changed = f" ({CHANGED})" if is_stale(hit.cited) else ""
    place = f" ({memory.source_ref['path']})" if memory.source == "note" and memory.source_ref.get("path") else ""
    return hang(head, lesson_line(memory) + changed + place, page, len(memory.handle) + 4)


def codebase(found: Codebase) -> list[tuple[str, str]]:
    """What the list of files tells, as names and values."""
    more = " and more" if found.cut else ""
    folders = " · ".join(f"{folder.path} {folder.files}{_of(folder.languages)}" for folder in found.folders)
    listed = ", ".join(f"{item.name} {item.share:.0%}" for item in found.languages)
    tests = f"{many(found.tests, 'file')} in {', '.join(found.test_folders) or 'the root'}" if found.tests else ""
    return [
        ("files", f"{found.files:,}{more}{', as git lists them' if found.origin == 'git' else ''}"),
        ("languages", listed),
        ("folders", folders),
        ("begins at", ", ".join(found.entries)),
        ("tests", tests),
        ("docs", ", ".join(found.docs)),
    ]


def _of(languages: Sequence[str]) -> str:
    named = [name for name in languages if name != "other"]
    return f" ({', '.join(named)})" if named else ""


def stack(found: Stack) -> list[tuple[str, str]]:
    """The technologies by kind, as names and values; those of one file stand together."""
    rows = [(head, _technologies(found.of(*kinds))) for head, kinds in _KINDS]
    return [(head, text) for head, text in rows if text]


def _technologies(found: Iterable[Technology]) -> str:
    places: dict[str, list[Technology]] = {}
    for item in found:
        places.setdefault(item.path, []).append(item)
    return " · ".join(f"{', '.join(map(technology, of))} ({_place(path, of)})" for path, of in places.items())


def _place(path: str, found: Iterable[Technology]) -> str:
    """A file with the lines in which these are named, as editors and terminals take it: pyproject.toml:4,9."""
    lines = sorted({item.line for item in found if item.line})
    return f"{path}:{','.join(map(str, lines))}" if lines else path


def technology(item: Technology) -> str:
    """A name with what is known of its version: 18.2.0 is locked, 18.2+ is asked for, `via` is another's version."""
    if item.version:
        return f"{item.name} {item.version}{'' if item.locked else '+'}"
    via = f" via {item.package}" if item.package and item.kind == "database" else ""
    return f"{item.name}{via}"


def _said(item: Said) -> str:
    return f"{item.text}  ({item.path}:{item.line})"


HINTS = (
    "Ask with other words, or with the name of a function, a file or a tool.",
    "Nothing was saved; --save keeps the report all the same, --web asks the web too.",
)
SHOWN = 5  # findings of each source; the file has all


def report(found: Report, page: Page) -> str:
    """The answer, then conflicts, then what was found by source, and what was not."""
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
    told = " · ".join(f"{name}: {_plain(value)}" for name, value in found.searched.items())
    lines += ["", say(told, page, 0, "dim")]
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
