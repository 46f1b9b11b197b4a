"""What is remembered about a question: every engine is asked, and what several of them find comes first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from swarmlore.domain.extraction.lesson_text import lesson_line
from swarmlore.domain.policy.ranking import CHANGED, field_score, fuse, is_stale
from swarmlore.domain.records import MODES, Memory
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.notes.locations import SOLUTIONS
from swarmlore.notes.note_format import parse_note
from swarmlore.research.question import Weights
from swarmlore.research.records import Finding
from swarmlore.research.scan import text_of
from swarmlore.workspace.cited_code import Tree

if TYPE_CHECKING:
    from swarmlore.domain.records import Hit

    Ask = Callable[[str, str, int], Sequence[Hit]]

ENGINES = ("hybrid", "local", "global")
TEXT_CHARS = 420
ABOUT_CHARS = 1_000
MOST_NOTES = 2_000
LEAST_NOTE = 0.3  # of the question that a note holds
K = 60


def search_learnings(ask: Ask, text: str, limit: int) -> tuple[tuple[Finding, ...], list[str]]:
    """The memories and notes that answer a text, from every engine there is; and which engines answered."""
    found: dict[str, Hit] = {}
    rankings: dict[str, list[str]] = {}
    for engine in (mode for mode in ENGINES if mode in MODES):
        try:
            hits = ask(text, engine, limit)
        except SwarmloreError:
            continue  # an engine that cannot answer leaves the others
        rankings[engine] = [_key(hit.memory) for hit in hits]
        for hit in hits:
            found.setdefault(_key(hit.memory), hit)
    scores = fuse(*rankings.values())
    ways = {key: "+".join(name for name, keys in rankings.items() if key in keys) for key in found}
    best = sorted(found, key=lambda key: (-scores[key], key))[:limit]
    return tuple(_finding(found[key], scores[key], ways[key]) for key in best), list(rankings)


def _key(memory: Memory) -> str:
    """Pieces of one note are one learning."""
    return memory.key if memory.source == "note" and memory.key else memory.id


def _finding(hit: Hit, score: float, way: str) -> Finding:
    memory = hit.memory
    stale = f"; {CHANGED}" if is_stale(hit.cited) else ""
    how = f"{memory.tier}, {memory.source}, trust {memory.trust}, by {way}{stale}"
    title = memory.title if memory.source == "note" else ""
    return Finding(told(memory), "learnings", _place(memory), 0.0, title, how, memory.trust, score, _about(memory))


def _about(memory: Memory) -> str:
    """When it was needed, and what else a note tells of: an error that is quoted is one of its symptoms."""
    note = memory.extra.get("note")
    cause = str(note.get("root_cause") or "") if isinstance(note, dict) else ""
    return " ".join((*(item.text for item in memory.situations), cause, *memory.tags))[:ABOUT_CHARS]


def _place(memory: Memory) -> str:
    """Where a note lies; of one that lies outside of the project, and of everything else, the handle."""
    path = str(memory.source_ref.get("path") or "") if memory.source == "note" else ""
    return path if path and memory.source_ref.get("place") != "global" else f"{memory.handle} {path}".strip()


def told(memory: Memory) -> str:
    """What a learning says: of a note the one thing to know, else the lesson."""
    note = memory.extra.get("note")
    insight = str(note.get("key_insight") or "") if isinstance(note, dict) else ""
    if memory.source == "note" and insight:
        return insight[:TEXT_CHARS]
    return lesson_line(memory, TEXT_CHARS) if memory.source != "note" else memory.text[:TEXT_CHARS]


def search_notes(tree: Tree, paths: Sequence[str], question: str, weights: Weights, limit: int) -> tuple[Finding, ...]:
    """The notes in the project's own folder whose fields hold words of the question: title, symptoms, insight, tags,
    content, in this order of weight."""
    found = []
    for path in [path for path in paths if path.startswith(f"{SOLUTIONS}/") and path.endswith(".md")][:MOST_NOTES]:
        note = parse_note(text_of(tree, path))
        fields = (note.title, note.symptoms, note.key_insight, note.tags, note.body)
        said = " ".join((note.key_insight, note.root_cause, *note.symptoms, *note.tags))
        if note.title and weights.coverage(f"{note.title} {said} {note.body}") >= LEAST_NOTE:
            text = note.key_insight or next(
                (line for line in note.body.split("\n") if len(line.split()) > 3), note.title
            )
            score = field_score(question, *fields)
            how = "note, by fields"
            about = said[:ABOUT_CHARS]
            found.append(Finding(text[:TEXT_CHARS], "learnings", path, 0.0, note.title, how, 2, score, about))
    best = sorted(found, key=lambda item: (-item.rank, item.place))[:limit]
    return tuple(replace(item, rank=1 / (K + place)) for place, item in enumerate(best, start=1))


def merged(remembered: Sequence[Finding], notes: Sequence[Finding]) -> tuple[Finding, ...]:
    """Both lists as one: a note that both found counts for both."""
    known = {item.place: item for item in remembered}
    for item in notes:
        other = known.get(item.place)
        both = replace(other, rank=other.rank + item.rank, how=f"{other.how}+fields") if other is not None else item
        known[item.place] = both
    return tuple(sorted(known.values(), key=lambda item: (-item.rank, item.place)))


def rules_found(rules: Iterable[tuple[str, str]], weights: Weights, least: float) -> tuple[Finding, ...]:
    """Instincts of the project that fit: text and place of each."""
    scored = [(weights.coverage(text), text, place) for text, place in rules]
    return tuple(
        Finding(text, "learnings", place, how="instinct", trust=2, rank=covers / K)
        for covers, text, place in scored
        if covers >= least
    )
