"""What is known already: notes, instincts, lines of files, and what was proposed before.

Difference is judged before sameness, as everywhere: two texts that contradict each other or differ in a number, a name
or an order are not the same however alike they look.
"""

from __future__ import annotations

from functools import cached_property

from swarmlore.domain.language.similarity import content_words, jaccard_bigram, normalize, word_bigrams
from swarmlore.domain.policy.contradiction import contradicts, differences
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from swarmlore.domain.records import Memory, Proposal
    from swarmlore.lore import Lore

SAME, NEAR = 0.85, 0.6  # cosine: add to the note that there is; name it in a new one
EXACT = 6  # places that a cosine has of vectors in single precision
SAME_WORDS, NEAR_WORDS = 0.6, 0.3  # where there are no vectors: share of word pairs; of those or of content words
LOOKED_AT = 8  # notes that recall finds for a text
COMPARED_CHARS = 600
EPISODES = "documents/episodes/"  # they tell where notes come from, and are none to add to


@frozen
class Kin:
    """A note that is like a text: where it lies, how alike, and whether it says otherwise."""

    path: str
    place: str
    title: str
    score: float
    same: bool
    against: str = ""


@frozen
class _Before:
    """A proposal with its words, so that it can be compared often."""

    item: Proposal
    words: str
    pairs: frozenset[tuple[str, str]]


class Known:
    """What one project knows, as its caller sees it."""

    def __init__(self, lore: Lore) -> None:
        self._lore = lore

    @cached_property
    def _proposals(self) -> Sequence[_Before]:
        with self._lore.acting():
            found = self._lore.store.proposals(self._lore.caller)
        return [_Before(item, normalize(item.text), word_bigrams(item.text)) for item in found]

    def was_proposed(self, text: str, route: str, target: str, fix: str = "") -> bool:
        """Whether the same waits, was written or was rejected, whichever session it came from. A rule may be for the
        files of several agents, and a cause may have another fix."""
        before = (item for item in self._like(text) if item.route == route and item.state != "failed")
        before = (item for item in before if not fix or normalize(fix) in normalize(item.edits[0].text))
        return any(route != "behavioral" or item.target == target for item in before)

    def times_met(self, text: str, session: str = "", quote: str = "") -> int:
        """In how many sessions the same was met, this one counted. A session or a text that is looked at once more is
        no other one: without a session, the very same words tell."""
        others = (item for item in self._like(text) if not quote or item.quote != quote)
        return 1 + len({item.reflection for item in others} - self._looks_at(session))

    def _looks_at(self, session: str) -> set[str]:
        if not session:
            return set()
        with self._lore.acting():
            return {one.id for one in self._lore.store.reflections(self._lore.caller, session)}

    def _like(self, text: str) -> list[Proposal]:
        """What was proposed and says the same."""
        words, pairs = normalize(text), word_bigrams(text)
        likely = (one for one in self._proposals if one.words == words or _overlap(one.pairs, pairs) >= SAME_WORDS)
        return [one.item for one in likely if one.words == words or not _differ(text, one.item.text)]

    def note_like(self, title: str, text: str) -> Kin | None:
        """The note that is most like a text, if one is."""
        said = f"{title}. {text}"[:COMPARED_CHARS]
        kin = [self._kin(said, memory) for memory in self._notes(said)]
        likely = sorted(
            (one for one in kin if one is not None), key=lambda one: (-round(one.score, 6), one.place != "project")
        )
        return likely[0] if likely else None

    def _notes(self, said: str) -> list[Memory]:
        """Likely notes: those of the project first, as of a note and its copy for every project one comes alone."""
        own = self._lore.recall(said, LOOKED_AT, sources=("note",), tiers=("swarm",))
        found = {hit.memory.id: hit.memory for hit in (*own, *self._lore.recall(said, LOOKED_AT, sources=("note",)))}
        paths = {id: str(memory.source_ref.get("path", "")) for id, memory in found.items()}
        return [found[id] for id, path in paths.items() if path and not path.startswith(EPISODES)]

    def _kin(self, said: str, memory: Memory) -> Kin | None:
        other = _words_of(memory)
        score, near, same = self._likeness(said, other)
        if not near:
            return None
        against = contradicts(said, other)
        is_same = same and not against
        ref = memory.source_ref
        return Kin(str(ref["path"]), str(ref.get("place", "project")), memory.title, score, is_same, against)

    def _likeness(self, one: str, other: str) -> tuple[float, bool, bool]:
        """How alike two texts are, whether that is near, and whether it is the same: by vectors, else by words. Two
        that are near and have one title are about the same thing."""
        titled = normalize(one.partition(". ")[0]) == normalize(other.partition(". ")[0])
        cosine = self._cosine(one, other)
        if cosine is not None:
            return cosine, cosine >= NEAR, cosine >= (NEAR if titled else SAME)
        words = content_words(one), content_words(other)
        shared = len(words[0] & words[1]) / max(1, len(words[0] | words[1]))
        pairs = jaccard_bigram(one, other)
        near = max(shared, pairs) >= NEAR_WORDS
        return max(shared, pairs), near, pairs >= SAME_WORDS or (near and titled)

    def _cosine(self, one: str, other: str) -> float | None:
        embedding = self._lore.embedding
        with self._lore.acting():
            here, there = embedding.query(one), embedding.query(other)
        return None if here is None or there is None else round(float(here.vector @ there.vector), EXACT)


def _overlap(pairs: frozenset[tuple[str, str]], others: frozenset[tuple[str, str]]) -> float:
    return len(pairs & others) / len(pairs | others) if pairs and others else 0.0


def _differ(text: str, other: str) -> bool:
    return bool(contradicts(text, other)) or bool(differences(text, other))


def _words_of(memory: Memory) -> str:
    fields = memory.extra.get("note")
    insight = fields.get("key_insight") if isinstance(fields, dict) else ""
    return f"{memory.title}. {insight or memory.text}"[:COMPARED_CHARS]
