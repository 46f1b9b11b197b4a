"""Read, check, extend and merge `.agents/MEMORY.md`; when it is full, draft notes that replace its longest entries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.display import slug, whole_words
from swarmlore.domain.pages.routing import SECTIONS
from swarmlore.domain.pages.rule_conflicts import RuleIndex
from swarmlore.domain.policy.gate import pass_gate, scrub_text
from swarmlore.domain.records import Caller, Draft
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, SwarmloreError
from swarmlore.frozen import frozen, replace
from swarmlore.notes.project_memory import memory_md
from swarmlore.notes.project_memory.memory_md import FILE, FOLDER, MAX_LINES, Bundle, Entry, Overflow, words_of
from swarmlore.workspace.files import Change, Folder

TITLE_CHARS = 100
NAME_CHARS = 60
INSIGHT_CHARS = 500
MOST_NAMES = 1_000
MOST_DRAFTS = 20  # per file; a person would not read more
CATEGORIES = {
    "Architecture & Patterns": "architecture-decisions",
    "Build & Deploy": "deployment-fixes",
    "Gotchas & Workarounds": "debugging-sessions",
    "Testing": "testing-patterns",
    "Environment & Config": "tooling-setup",
}


@frozen
class Drafted:
    """A note drafted for some entries, and the line that may replace them."""

    bundle: Bundle
    title: str
    pointer: str
    change: Change


def draft_notes(root: str, text: str, found: Overflow, today: str) -> list[Drafted]:
    """Draft a note for each bundle of entries, under a free file name."""
    lines, taken = text.split("\n"), set[str]()
    return [_drafted(root, lines, bundle, today, taken) for bundle in found.bundles[:MOST_DRAFTS]]


def _drafted(root: str, lines: Sequence[str], bundle: Bundle, today: str, taken: set[str]) -> Drafted:
    from swarmlore.notes.note_format import write_note

    single = bundle.entries[0] if len(bundle.entries) == 1 else None
    title = headline(scrub_text(single.text)) if single else f"{bundle.section} of this project"
    summary = f"{len(bundle.entries)} things to know about {bundle.section}: {bundle.entries[0].text}"
    category = CATEGORIES.get(bundle.section, "patterns")
    path = _free_path(root, f"docs/solutions/{category}/{slug(title)[:NAME_CHARS].strip('-') or 'note'}", taken)
    fields = {
        "title": title,
        "category": category,
        "tags": [part for part in slug(bundle.section).split("-") if len(part) > 2],
        "key_insight": scrub_text(single.text if single else summary)[:INSIGHT_CHARS],
        "created": today,
        "confidence": "medium",
    }
    content = write_note(fields, f"\n## Context\n\n{scrub_text(_body(lines, bundle.entries))}\n")
    pointer = f"- {title}: see [{os.path.basename(path)}](../{path})"
    return Drafted(bundle, title, pointer, Change(root, path, "", content))


def _body(lines: Sequence[str], entries: Sequence[Entry]) -> str:
    """Return the entries as Markdown, in their own lines."""
    texts = [words_of(lines, entry) for entry in entries]
    return texts[0] if len(texts) == 1 else "\n".join(f"- {text}" for text in texts)


def _free_path(root: str, stem: str, taken: set[str]) -> str:
    names = (f"{stem}.md", *(f"{stem}-{number}.md" for number in range(2, MOST_NAMES)))
    free = (name for name in names if name not in taken and not os.path.lexists(os.path.join(root, *name.split("/"))))
    path = next(free, names[0])
    taken.add(path)
    return path


def headline(text: str) -> str:
    """Return a title for an entry: its first sentence without Markdown marks."""
    plain = " ".join(text.replace("**", "").replace("`", "").split())
    first = plain.partition(". ")[0].partition(": ")[0] if len(plain) > TITLE_CHARS else plain.rstrip(".")
    return whole_words(first, TITLE_CHARS)


PATH = f"{FOLDER}/{FILE}"
INSTRUCTIONS = ("CLAUDE.md", "AGENTS.md")
NEW = "AGENTS.md"  # created if no instruction file exists
MAX_BYTES = 262_144
MOST_ENTRIES = 500  # entries of a file that are compared with a new one


@frozen
class Line:
    """An entry with its file and line number."""

    path: str
    line: int
    section: str
    text: str


@frozen
class NoteDraft:
    """A note that could replace some entries, and the line that would then point to it."""

    entries: tuple[Line, ...]
    title: str
    pointer: str
    change: Change


@frozen
class Shown:
    """State of the file: its size and limit, its entries, and the instruction files that reference it."""

    path: str
    there: bool
    lines: int
    most: int = MAX_LINES
    entries: tuple[Line, ...] = ()
    named_in: tuple[str, ...] = ()


@frozen
class Planned:
    """Result of planning an entry: `added`, `known` (as which lines) or `full` (with notes that would make room).
    `against` are the lines that it contradicts."""

    outcome: str
    section: str
    text: str
    change: Change
    known: tuple[Line, ...] = ()
    against: tuple[Line, ...] = ()
    drafts: tuple[NoteDraft, ...] = ()
    redacted: tuple[str, ...] = ()
    written: bool = False


@frozen
class Checked:
    """Problems of the file: duplicate and contradicting lines, rules of detected secrets, notes that would bring it
    below its limit, and whether an instruction file references it."""

    path: str
    there: bool
    lines: int
    most: int = MAX_LINES
    named_in: tuple[str, ...] = ()
    twice: tuple[tuple[Line, Line], ...] = ()
    against: tuple[tuple[Line, Line], ...] = ()
    secrets: tuple[str, ...] = ()
    drafts: tuple[NoteDraft, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether the file has no problem."""
        return not (self.twice or self.against or self.secrets or self.lines > self.most) and bool(
            self.named_in or not self.there
        )


class ProjectMemory:
    """`.agents/MEMORY.md` of one project, for one caller."""

    def __init__(self, root: str, caller: Caller, now: Callable[[], float]) -> None:
        self._root = root
        self._caller = caller
        self._now = now

    def show(self) -> Shown:
        """Return the entries and the size of the file."""
        text = self.read()
        entries = tuple(lines_of(PATH, text or ""))
        named = tuple(self._referencing())
        return Shown(self._full, text is not None, memory_md.line_count(text or ""), MAX_LINES, entries, named)

    def check(self) -> Checked:
        """Return the problems of the file."""
        from swarmlore.domain.security.redaction import redact

        text = self.read() or ""
        shown = self.show()
        twice, against = _pairs(shown.entries, list(self._instruction_lines()))
        return Checked(
            shown.path,
            shown.there,
            shown.lines,
            shown.most,
            shown.named_in,
            twice,
            against,
            tuple(dict.fromkeys(redact(text)[1])),
            self._drafts(text),
        )

    def plan(self, section: str, text: str) -> Planned:
        """Preview `add`. Nothing is changed."""
        entry, redacted = pass_entry(text)
        return replace(self._plan(self.read() or "", section, entry), redacted=redacted)

    def plan_entry(self, section: str, text: str) -> tuple[str, str, str]:
        """Return the file's path in the project and its text before and after adding an entry; equal if it is not
        added."""
        change = self.plan(section, text).change
        return change.path, change.before, change.after

    def plan_reference(self) -> tuple[Change, ...]:
        """Return the changes that reference MEMORY.md in the instruction files; () if one does already."""
        if any(self._referencing()):
            return ()
        with Folder(self._root) as root:
            there = [name for name in INSTRUCTIONS if root.stamp(name) != "-"]
            real = [name for name in there if not os.path.islink(os.path.join(self._root, name))]
            if there and not real:
                hint = f"write {memory_md.REFERENCE} on a line of its own into the file it leads to"
                raise NotAllowed(f"{' and '.join(there)} is a symbolic link; what it leads to is not read", hint)
            return tuple(self._with_reference(root, name) for name in real or [NEW])

    def add(self, section: str, text: str) -> Planned:
        """Add an entry if it is new and there is room. Only a person may; for an agent it is only planned."""
        entry, redacted = pass_entry(text)
        if self._caller.role != "person":
            return replace(self._plan(self.read() or "", section, entry), redacted=redacted)
        with self._changing() as (folder, before):
            planned = self._plan(before, section, entry)
            if planned.change.changes:
                folder.replace(FILE, [planned.change.after.encode()])
            return replace(planned, redacted=redacted, written=planned.change.changes)

    def refer(self) -> tuple[Change, ...]:
        """Add the reference to MEMORY.md to the instruction files. Only a person may."""
        if self._caller.role != "person":
            raise NotAllowed("instructions are a person's to change", "show the line: swarmlore context reference")
        changes = self.plan_reference()
        with Folder(self._root) as root, root.lock():
            for change in changes:
                if self._with_reference(root, change.path) == change:
                    root.replace(change.path, [change.after.encode()])
        return changes

    def write(self, change: Change) -> None:
        """Replace the file by a planned text; raise Conflict if it changed meanwhile."""
        with self._changing() as (folder, before):
            if before == change.after:
                return
            if before != change.before:
                raise Conflict(f"{self._full} was changed meanwhile", "look again, then decide")
            folder.replace(FILE, [change.after.encode()])

    def _plan(self, before: str, section: str, entry: str) -> Planned:
        own = list(lines_of(PATH, before))
        section = section_of(section, [line.section for line in own])
        lines = own + list(self._instruction_lines())
        known = RuleIndex(line.text for line in lines)
        same = known.same(entry)
        after = before if same is not None else memory_md.with_entry(before, section, entry)
        full = memory_md.line_count(after) > MAX_LINES
        outcome = "known" if after == before else "full" if full else "added"
        against = () if same is not None else tuple(lines[place] for place in known.against(entry))
        more = memory_md.line_count(after) - memory_md.line_count(before)
        drafts = self._drafts(before, more) if outcome == "full" else ()
        change = Change(self._root, PATH, before, after if outcome == "added" else before)
        return Planned(outcome, section, entry, change, () if same is None else (lines[same],), against, drafts)

    def _drafts(self, text: str, more: int = 0) -> tuple[NoteDraft, ...]:
        """Draft notes that would make room for so many more lines."""
        found = memory_md.overflowing(text, more=more)
        if found is None:
            return ()
        return tuple(
            NoteDraft(
                tuple(_line(PATH, one.bundle.section, entry) for entry in one.bundle.entries),
                one.title,
                one.pointer,
                one.change,
            )
            for one in draft_notes(self._root, text, found, str(iso(self._now()))[:10])
        )

    def _instruction_lines(self) -> Iterator[Line]:
        for name, text in self._instruction_files():
            with suppress(InvalidInput):  # skip files with invalid YAML front matter
                yield from lines_of(name, text)

    def _referencing(self) -> Iterator[str]:
        """Yield the instruction files that reference MEMORY.md."""
        yield from (name for name, text in self._instruction_files() if memory_md.reference_in(text))

    def _instruction_files(self) -> Iterator[tuple[str, str]]:
        """Yield name and text of the instruction files; links are skipped, since one is often a link to the other."""
        with Folder(self._root) as root:
            for name in INSTRUCTIONS:
                with suppress(InvalidInput, NotAllowed):
                    yield name, _text(root, name) or ""

    def _with_reference(self, root: Folder, name: str) -> Change:
        before = _text(root, name) or ""
        return Change(self._root, name, before, memory_md.with_reference(before))

    @property
    def _full(self) -> str:
        return f"{self._root}/{PATH}"

    def read(self) -> str | None:
        """Return the text of the file; None without one."""
        with Folder(self._root) as root:
            folder = root.inside(FOLDER)
            if folder is None:
                return None
            with folder:
                return _text(folder, FILE)

    @contextmanager
    def _changing(self) -> Iterator[tuple[Folder, str]]:
        with Folder(self._root) as root:
            folder = root.inside(FOLDER, make=True)
            assert folder is not None  # make=True creates it
            with folder, folder.lock():
                yield folder, _text(folder, FILE) or ""


def pass_entry(text: str) -> tuple[str, tuple[str, ...]]:
    """Return an entry after the validation gate, on one line, and the rules of redacted secrets."""
    gate = pass_gate(Draft(text, source="manual"), validate=True)
    if gate.quarantine:
        raise InvalidInput(f"this is no entry: {gate.quarantine}", "say what holds in this project, in one sentence")
    return " ".join(gate.draft.text.split()), gate.redacted


def section_of(said: str, others: Iterable[str] = ()) -> str:
    """Return the section with this name, or with a word that starts so; raise InvalidInput if it is ambiguous."""
    if not isinstance(said, str) or not said.strip():
        raise InvalidInput("an entry needs a section", "one of: " + ", ".join(SECTIONS))
    name = memory_md.section_name(said)
    names = tuple(dict.fromkeys((*SECTIONS, *others)))
    if name in names:
        return name
    fits = [known for known in names if any(word.startswith(said.strip().lower()) for word in known.lower().split())]
    if len(fits) != 1:
        raise InvalidInput(f"no section {said!r}", "one of: " + ", ".join(names))
    return fits[0]


def lines_of(path: str, text: str) -> Iterator[Line]:
    """Yield the entries of a file, at most 500."""
    left = MOST_ENTRIES
    for section in memory_md.parse(text):
        for entry in section.entries[:left]:
            left -= 1
            yield _line(path, section.name, entry)


def _line(path: str, section: str, entry: Entry) -> Line:
    return Line(path, entry.first_line, section, " ".join(entry.text.split()))


def _pairs(own: Sequence[Line], others: Sequence[Line]) -> tuple[tuple[tuple[Line, Line], ...], ...]:
    """Return the pairs of lines that say the same, and those that contradict each other."""
    twice: list[tuple[Line, Line]] = []
    against: list[tuple[Line, Line]] = []
    lines, known = list(others), RuleIndex(line.text for line in others)
    for line in own:
        same = known.same(line.text)
        if same is not None:
            twice.append((line, lines[same]))
        else:
            against += [(line, lines[place]) for place in known.against(line.text)]
        lines.append(line)
        known.add(line.text)
    return tuple(twice), tuple(against)


def _text(folder: Folder, name: str) -> str | None:
    """Return the text of a project file; None without one."""
    if folder.stamp(name) == "-":
        return None
    if folder.size(name) > MAX_BYTES:
        raise InvalidInput(f"{folder.path}/{name} is larger than {MAX_BYTES // 1024} KB", "shorten it by hand")
    data = folder.read(name)
    try:
        if b"\0" in data:
            raise UnicodeError
        return data.decode("utf-8")
    except UnicodeError:
        raise InvalidInput(f"{folder.path}/{name} is not UTF-8 text", "convert it: iconv -t UTF-8") from None


@frozen
class ForeignEntry:
    """An entry of another file: its source, section and text."""

    source: str
    section: str
    text: str


@frozen
class MergedEntries:
    """Result of a merge: the new text, entries that were added, known, without room, contradicting a line (`against`),
    or refused with the reason."""

    before: str
    after: str
    added: tuple[ForeignEntry, ...] = ()
    known: int = 0
    against: tuple[tuple[ForeignEntry, Line], ...] = ()
    no_room: tuple[ForeignEntry, ...] = ()
    refused: tuple[tuple[ForeignEntry, str], ...] = ()


def merge_entries(before: str, entries: Iterable[ForeignEntry]) -> MergedEntries:
    """Add the missing entries of other files to a memory file's text, each in its section. Nothing is removed."""
    work = _Merge(before)
    for entry in entries:
        work.take(entry)
    return work.result()


class _Merge:
    def __init__(self, before: str) -> None:
        self._before = self._after = before
        self._lines: list[Line] = list(lines_of(PATH, before))
        self._texts = RuleIndex(line.text for line in self._lines)
        self._added: list[ForeignEntry] = []
        self._against: list[tuple[ForeignEntry, Line]] = []
        self._no_room: list[ForeignEntry] = []
        self._refused: list[tuple[ForeignEntry, str]] = []
        self._known = 0

    def take(self, foreign: ForeignEntry) -> None:
        try:
            entry = ForeignEntry(foreign.source, foreign.section, pass_entry(foreign.text)[0])
        except SwarmloreError as refusal:
            shown = ForeignEntry(foreign.source, foreign.section, scrub_text(foreign.text)[:200])
            self._refused.append((shown, refusal.message))
            return
        if self._texts.same(entry.text) is not None:
            self._known += 1
        elif opposed := self._texts.against(entry.text):
            self._against.append((entry, self._lines[opposed[0]]))
        else:
            self._add(entry)

    def _add(self, entry: ForeignEntry) -> None:
        after = memory_md.with_entry(self._after, entry.section, entry.text)
        if memory_md.line_count(after) > memory_md.MAX_LINES:
            self._no_room.append(entry)
            return
        self._after = after
        self._added.append(entry)
        self._lines.append(Line(PATH, 0, entry.section, entry.text))
        self._texts.add(entry.text)

    def result(self) -> MergedEntries:
        return MergedEntries(
            self._before,
            self._after,
            tuple(self._added),
            self._known,
            tuple(self._against),
            tuple(self._no_room),
            tuple(self._refused),
        )
