"""`swarmlore prime`: the start of a session, with code base, README, stack, relevant and recent lessons, and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from swarmlore.domain.language.similarity import NEGATIONS, jaccard_bigram
from swarmlore.domain.language.tokenizer import STOP_WORDS, split_words, stem_word
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.policy.new_memory import in_force
from swarmlore.domain.records import Caller, Hit, Memory, Query
from swarmlore.frozen import TYPE_CHECKING, field, frozen, replace
from swarmlore.retrieval.recall import REFLECTIONS, SAME, Recaller
from swarmlore.store.memories import Filter
from swarmlore.store.store import Store
from swarmlore.workspace.cited_code import Tree, Unreadable
from swarmlore.workspace.codebase import (
    Codebase,
    Listing,
    Readme,
    SourcedText,
    is_binary,
    is_readme,
    list_files,
    read_readme,
    survey,
)
from swarmlore.workspace.stack import Stack, Technology, read_stack

if TYPE_CHECKING:
    from swarmlore.retrieval.patterns import Patterns


RELEVANT = 5
RECENT = 5
LOOKED_AT = 100  # newest memories from which the recent lessons are chosen
NOTES = 5
NOTES_FOUND = 40  # hits from which the fitting notes are chosen
PATTERNS = 5
NOTES_LOOKED_AT = 500  # newest notes from which those for the stack, and critical patterns, are chosen
HIGH = 0.8  # lowest confidence of a critical pattern
CRITICAL = ("architecture-decisions", "patterns")
README_BYTES = 400_000
_LOADED = (".agents/MEMORY.md", ".agents/instincts.yaml", "CLAUDE.md", "AGENTS.md", "GEMINI.md")


@frozen
class Place:
    """Facts from a project's files: code base, README, stack, and memory files that clients load by themselves."""

    codebase: Codebase
    readme: Readme
    stack: Stack
    loaded: tuple[str, ...] = ()


@frozen
class Primed:
    """Result of `prime`.

    `relevant` fits the topic or, without one, ranks highest at session start; `recent` are the newest other lessons.
    `approaches` are proven ones and those to avoid. `notes` are about the topic or the stack, `patterns` are notes of
    high confidence for the stack. `loaded` are files that clients read anyway, so they are only named.
    """

    project: str
    stacks: tuple[str, ...]
    topic: str
    relevant: tuple[Hit, ...]
    recent: tuple[Hit, ...]
    approaches: tuple[Hit, ...] = ()
    notes: tuple[Hit, ...] = ()
    patterns: tuple[Hit, ...] = ()
    codebase: Codebase = field(default_factory=Codebase)
    readme: Readme = field(default_factory=Readme)
    stack: Stack = field(default_factory=Stack)
    loaded: tuple[str, ...] = ()


def survey_project(root: str) -> Place:
    """Survey the files of a project; unreadable or huge files neither fail nor delay it."""
    listing = list_files(root)
    return Place(survey(listing), _readme(root, listing), read_stack(root, listing), _loaded(root))


def _readme(root: str, listing: Listing) -> Readme:
    """Read purpose, setup and conventions from the README at the root, and missing ones from CONTRIBUTING."""
    top = [path for path in listing.paths if "/" not in path]
    pages = [path for path in top if is_readme(path)][:1]
    pages += [path for path in top if path.lower().startswith("contributing")][:1]
    read = [read_readme(text, path) for path in pages if (text := _page(root, path))]
    purpose = next((page.purpose for page in read if page.purpose), None)
    setup = next((page.setup for page in read if page.setup), ())
    conventions = next((page.conventions for page in read if page.conventions), ())
    return Readme(
        _scrubbed(purpose) if purpose else None, *(tuple(map(_scrubbed, said)) for said in (setup, conventions))
    )


def _page(root: str, path: str) -> str:
    try:
        data = Tree(root).content(path, README_BYTES)
    except Unreadable:
        return ""
    return "" if is_binary(data) else data.decode("utf-8", "replace")


def _scrubbed(said: SourcedText) -> SourcedText:
    return replace(said, text=scrub_text(said.text))


def _loaded(root: str) -> tuple[str, ...]:
    tree = Tree(root)
    existing = []
    for path in _LOADED:
        try:
            tree.stamp(path)
        except Unreadable:
            continue
        existing.append(path)
    return tuple(existing)


def prime(
    store: Store,
    caller: Caller,
    recaller: Recaller,
    patterns: Patterns,
    query: Query,
    stacks: Sequence[str],
    now: float,
    place: Place,
) -> Primed:
    """Choose the memories to begin a session with; the query holds topic, scopes and limit."""
    approaches = patterns.listed(now)
    listed = {hit.memory.id for hit in approaches}
    hits = patterns.told(recaller.recall(query, now) if query.text else recaller.standing(query, now), now)
    # Notes have a list of their own.
    relevant = [hit for hit in hits if hit.memory.id not in listed and hit.memory.source != "note"]
    scopes = ("global", *query.scopes)
    lately = [memory for memory in store.select(caller, Filter(limit=LOOKED_AT)) if memory.scope in scopes]
    recent = newest(lately, now, [hit.memory for hit in relevant])
    new = tuple(Hit(item, 0.0) for item in recent)
    words = place.stack.words or tuple(stacks)

    def notes_of(category: str) -> list[Memory]:
        newest_notes = Filter(source="note", category=category, limit=NOTES_LOOKED_AT)
        return recaller.versions.only(store.select(caller, newest_notes))

    critical = critical_patterns(notes_of, words, now)
    fitting = _notes_about(recaller, query, now) if query.text else _notes_for(notes_of(""), words, now)
    notes = _first(fitting, {hit.memory.id for hit in critical})
    begin = Primed(caller.project, tuple(stacks), query.text, tuple(relevant), new, tuple(approaches), notes, critical)
    return replace(begin, codebase=place.codebase, readme=place.readme, stack=place.stack, loaded=place.loaded)


def _notes_about(recaller: Recaller, query: Query, now: float) -> Iterator[Hit]:
    """Yield the notes about a topic: relevant enough to be shown unasked, or with a word of it in their subject."""
    asked = replace(query, sources=("note",), limit=NOTES_FOUND)
    near = {hit.memory.id for hit in recaller.relevant(asked, now)[0]}
    wanted = _stems(query.text)
    for hit in recaller.recall(asked, now):
        if hit.memory.id in near or _stems(_subject(hit.memory)) & wanted:
            yield hit


def _notes_for(notes: Iterable[Memory], words: Sequence[str], now: float) -> Iterator[Hit]:
    """Return notes that name a technology of the stack, by number of matches, then confidence, then age."""
    known = {*words}
    ranked = []
    for memory in notes:
        shared = len(_technologies(memory) & known)
        if shared and memory.live and in_force(memory, now) and memory.category != REFLECTIONS:
            ranked.append(((-shared, -memory.confidence, -memory.created_at, memory.id), Hit(memory, 0.0)))
    return (hit for _, hit in sorted(ranked, key=lambda item: item[0]))


def _first(notes: Iterable[Hit], listed: set[str]) -> tuple[Hit, ...]:
    """Return the first five notes, without listed ones and duplicates; pieces of one note share a key."""
    best: dict[str, Hit] = {}
    for hit in notes:
        if hit.memory.id not in listed:
            best.setdefault(hit.memory.key or hit.memory.id, hit)
    return tuple(best.values())[:NOTES]


def _stems(text: str) -> set[str]:
    return {stem_word(word) for word in split_words(text[:2_000]) if word not in STOP_WORDS}


def _subject(memory: Memory) -> str:
    """Return title, key insight and tags of a note."""
    return " ".join((memory.title, _field(memory, "key_insight"), *memory.tags))


def _technologies(memory: Memory) -> set[str]:
    """Return the language, framework and tags of a note."""
    return {_field(memory, "language"), _field(memory, "framework"), *(tag.lower() for tag in memory.tags)} - {""}


def critical_patterns(notes_of: Callable[[str], Iterable[Memory]], words: Sequence[str], now: float) -> tuple[Hit, ...]:
    """Return notes of high confidence about architecture or patterns that name a technology of the stack."""
    known = {*words}
    hits: dict[str, Hit] = {}
    for category in CRITICAL:
        for memory in notes_of(category):
            fits = _technologies(memory) & known
            if memory.confidence >= HIGH and memory.live and in_force(memory, now) and fits:
                hits.setdefault(memory.key or memory.id, Hit(memory, memory.confidence))
    return tuple(sorted(hits.values(), key=lambda hit: (-hit.score, hit.memory.title, hit.memory.id))[:PATTERNS])


def _field(memory: Memory, name: str) -> str:
    note = memory.extra.get("note")
    return str(note.get(name) or "").lower() if isinstance(note, Mapping) else ""


def newest(memories: Iterable[Memory], now: float, known: Sequence[Memory] = (), limit: int = RECENT) -> list[Memory]:
    """Return the newest lessons without duplicates of each other or of `known`."""
    fit = [memory for memory in memories if not memory.raw and memory.live and in_force(memory, now)]
    kept: list[Memory] = []
    for memory in sorted(fit, key=lambda memory: (memory.updated_at, memory.id), reverse=True):
        if len(kept) < limit and not any(_is_duplicate(memory, other) for other in (*known, *kept)):
            kept.append(memory)
    return kept


def _is_duplicate(one: Memory, other: Memory) -> bool:
    same_key = bool(one.key) and one.key == other.key
    if one.id == other.id or same_key or jaccard_bigram(one.text, other.text) >= SAME:
        return True
    return _stems_with_negations(one.text) == _stems_with_negations(other.text)


def _stems_with_negations(text: str) -> set[str]:
    """Return the stems of a lesson's words, including negations, which reverse its meaning."""
    return {stem_word(word) for word in split_words(text[:2_000]) if word not in STOP_WORDS or word in NEGATIONS}


_KINDS = (
    ("runtime", ("runtime",)),
    ("frameworks", ("framework",)),
    ("databases", ("database",)),
    ("tests", ("tests",)),
    ("packages", ("packages",)),
    ("tools", ("build", "container", "ci")),
)


def codebase_rows(found: Codebase) -> list[tuple[str, str]]:
    """Return the survey of a code base as rows of a name and a value."""
    more = " and more" if found.cut else ""
    folders = " · ".join(f"{folder.path} {folder.files}{_of(folder.languages)}" for folder in found.folders)
    listed = ", ".join(f"{item.name} {item.share:.0%}" for item in found.languages)
    counted = "1 file" if found.tests == 1 else f"{found.tests:,} files"
    tests = f"{counted} in {', '.join(found.test_folders) or 'the root'}" if found.tests else ""
    return [
        ("files", f"{found.files:,}{more}{', as git lists them' if found.origin == 'git' else ''}"),
        ("languages", listed),
        ("folders", folders),
        ("begins at", ", ".join(found.entries)),
        ("tests", tests),
        ("docs", ", ".join(found.docs)),
    ]


def stack_rows(found: Stack) -> list[tuple[str, str]]:
    """Return the technologies of a stack as rows of a kind and a text, those of one file together."""
    rows = [(head, _named(found.of(*kinds))) for head, kinds in _KINDS]
    return [(head, text) for head, text in rows if text]


def _of(languages: Sequence[str]) -> str:
    named = [name for name in languages if name != "other"]
    return f" ({', '.join(named)})" if named else ""


def _named(found: Iterable[Technology]) -> str:
    places: dict[str, list[Technology]] = {}
    for item in found:
        places.setdefault(item.path, []).append(item)
    return " · ".join(f"{', '.join(map(_technology, of))} ({_place(path, of)})" for path, of in places.items())


def _place(path: str, found: Iterable[Technology]) -> str:
    """Return a file with the lines that name these technologies, as in `pyproject.toml:4,9`."""
    lines = sorted({item.line for item in found if item.line})
    return f"{path}:{','.join(map(str, lines))}" if lines else path


def _technology(item: Technology) -> str:
    """Format a technology: `18.2.0` is a locked version, `18.2+` a required one, `via` names the client package."""
    if item.version:
        return f"{item.name} {item.version}{'' if item.locked else '+'}"
    via = f" via {item.package}" if item.package and item.kind == "database" else ""
    return f"{item.name}{via}"
