"""What an agent should know before it begins: the code base, its README and stack, the notes and critical patterns for
them, what fits the topic or stands for itself, what is new."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from swarmlore.domain.language.similarity import NEGATIONS, jaccard_bigram
from swarmlore.domain.language.tokenizer import STOP_WORDS, split_words, stem_word
from swarmlore.domain.policy.gate import in_force, scrub_text
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
    Said,
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
LOOKED_AT = 100  # newest memories among which the recent lessons are sought
NOTES = 5
NOTES_FOUND = 40  # among which those that fit are chosen
PATTERNS = 5
NOTES_LOOKED_AT = 500  # newest notes among which those for the stack, and critical patterns, are sought
HIGH = 0.8  # confidence of a critical pattern
CRITICAL = ("architecture-decisions", "patterns")
README_BYTES = 400_000
_LOADED = (".agents/MEMORY.md", ".agents/instincts.yaml", "CLAUDE.md", "AGENTS.md", "GEMINI.md")


@frozen
class Place:
    """What a project's files tell without any memory: its code base, its README, what it is built with, and which
    files of memory a client loads by itself."""

    codebase: Codebase
    readme: Readme
    stack: Stack
    loaded: tuple[str, ...] = ()


@frozen
class Primed:
    """`relevant` fits the topic or, without one, has earned to be known; `recent` are the newest others; `approaches`
    are those that are proven, and those to avoid; `notes` are written about the topic or the stack, `patterns` are
    those of high confidence for it. `loaded` are files that clients read by themselves: named, not repeated."""

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


def look_at(root: str) -> Place:
    """The project in a folder, as its files tell it; nothing in it can fail or hold up the look."""
    listing = list_files(root)
    return Place(survey(listing), _readme(root, listing), read_stack(root, listing), _loaded(root))


def _readme(root: str, listing: Listing) -> Readme:
    """The README at the root; what it does not say about working here, CONTRIBUTING may."""
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


def _scrubbed(said: Said) -> Said:
    return replace(said, text=scrub_text(said.text))


def _loaded(root: str) -> tuple[str, ...]:
    tree = Tree(root)
    found = []
    for path in _LOADED:
        try:
            tree.stamp(path)
        except Unreadable:
            continue
        found.append(path)
    return tuple(found)


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
    """The few memories to begin with; the query says for which topic, within which scopes, and how many."""
    approaches = patterns.listed(now)
    told = {hit.memory.id for hit in approaches}
    found = recaller.recall(query, now) if query.text else recaller.standing(query, now)
    relevant = [
        hit for hit in patterns.told(found, now) if hit.memory.id not in told and hit.memory.source != "note"
    ]  # notes have a list of their own
    scopes = ("global", *query.scopes)
    lately = [memory for memory in store.select(caller, Filter(limit=LOOKED_AT)) if memory.scope in scopes]
    recent = newest(lately, now, [hit.memory for hit in relevant])
    new = tuple(Hit(item, 0.0) for item in recent)
    words = place.stack.words or tuple(stacks)

    def notes_of(category: str) -> list[Memory]:
        return recaller.versions.only(_notes(store, caller, category))

    critical = critical_patterns(notes_of, words, now)
    fitting = _notes_about(recaller, query, now) if query.text else _notes_for(notes_of(""), words, now)
    notes = _first(fitting, {hit.memory.id for hit in critical})
    begin = Primed(caller.project, tuple(stacks), query.text, tuple(relevant), new, tuple(approaches), notes, critical)
    return replace(begin, codebase=place.codebase, readme=place.readme, stack=place.stack, loaded=place.loaded)


def _notes_about(recaller: Recaller, query: Query, now: float) -> Iterator[Hit]:
    """The notes that fit a topic: near enough to be shown unasked, or of that name."""
    asked = replace(query, sources=("note",), limit=NOTES_FOUND)
    near = {hit.memory.id for hit in recaller.relevant(asked, now)[0]}
    wanted = _stems(query.text)
    for hit in recaller.recall(asked, now):
        if hit.memory.id in near or _stems(_subject(hit.memory)) & wanted:
            yield hit


def _notes(store: Store, caller: Caller, category: str) -> list[Memory]:
    return store.select(caller, Filter(source="note", category=category, limit=NOTES_LOOKED_AT))


def _notes_for(notes: Iterable[Memory], words: Sequence[str], now: float) -> Iterator[Hit]:
    """The notes that name something of the stack: those that name most first, then the surest, the newest."""
    known = {*words}
    found = []
    for memory in notes:
        shared = len(_technologies(memory) & known)
        if shared and memory.live and in_force(memory, now) and memory.category != REFLECTIONS:
            found.append(((-shared, -memory.confidence, -memory.created_at, memory.id), Hit(memory, 0.0)))
    return (hit for _, hit in sorted(found, key=lambda item: item[0]))


def _first(notes: Iterable[Hit], told: set[str]) -> tuple[Hit, ...]:
    """The first of them, each once (pieces of a note share a key), without those that were named already."""
    best: dict[str, Hit] = {}
    for hit in notes:
        if hit.memory.id not in told:
            best.setdefault(hit.memory.key or hit.memory.id, hit)
    return tuple(best.values())[:NOTES]


def _stems(text: str) -> set[str]:
    return {stem_word(word) for word in split_words(text[:2_000]) if word not in STOP_WORDS}


def _subject(memory: Memory) -> str:
    """What a note is about, in few words."""
    return " ".join((memory.title, _field(memory, "key_insight"), *memory.tags))


def _technologies(memory: Memory) -> set[str]:
    """What of a stack a note names: its language, its framework, its tags."""
    return {_field(memory, "language"), _field(memory, "framework"), *(tag.lower() for tag in memory.tags)} - {""}


def critical_patterns(notes_of: Callable[[str], Iterable[Memory]], words: Sequence[str], now: float) -> tuple[Hit, ...]:
    """Notes of high confidence about architecture or patterns, whose language or tags name something of the stack."""
    known = {*words}
    found: dict[str, Hit] = {}
    for category in CRITICAL:
        for memory in notes_of(category):
            fits = _technologies(memory) & known
            if memory.confidence >= HIGH and memory.live and in_force(memory, now) and fits:
                found.setdefault(memory.key or memory.id, Hit(memory, memory.confidence))
    return tuple(sorted(found.values(), key=lambda hit: (-hit.score, hit.memory.title, hit.memory.id))[:PATTERNS])


def _field(memory: Memory, name: str) -> str:
    note = memory.extra.get("note")
    return str(note.get(name) or "").lower() if isinstance(note, Mapping) else ""


def newest(memories: Iterable[Memory], now: float, known: Sequence[Memory] = (), limit: int = RECENT) -> list[Memory]:
    """The newest lessons, each said once, without what is known already."""
    fit = [memory for memory in memories if not memory.raw and memory.live and in_force(memory, now)]
    kept: list[Memory] = []
    for memory in sorted(fit, key=lambda memory: (memory.updated_at, memory.id), reverse=True):
        if len(kept) < limit and not any(_says_the_same(memory, other) for other in (*known, *kept)):
            kept.append(memory)
    return kept


def _says_the_same(one: Memory, other: Memory) -> bool:
    same_key = bool(one.key) and one.key == other.key
    if one.id == other.id or same_key or jaccard_bigram(one.text, other.text) >= SAME:
        return True
    return _told(one.text) == _told(other.text)


def _told(text: str) -> set[str]:
    """The stems of a lesson; what it denies is part of it."""
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
    """What the list of files tells, as names and values."""
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
    """The technologies by kind, as names and values; those of one file stand together."""
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
    """A file with the lines in which these are named, as editors and terminals take it: pyproject.toml:4,9."""
    lines = sorted({item.line for item in found if item.line})
    return f"{path}:{','.join(map(str, lines))}" if lines else path


def _technology(item: Technology) -> str:
    """A name with what is known of its version: 18.2.0 is locked, 18.2+ is asked for, `via` is another's version."""
    if item.version:
        return f"{item.name} {item.version}{'' if item.locked else '+'}"
    via = f" via {item.package}" if item.package and item.kind == "database" else ""
    return f"{item.name}{via}"
