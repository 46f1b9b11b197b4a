"""What a look over all lessons finds, and what would be done about it. Pure.

| finding | what is recommended |
|---|---|
| contradiction | the better proven one takes the place of the other; across tiers or scopes a person decides |
| low utility | archive: it was followed often and tasks went wrong, or those who used it were misled |
| stale | archive: the code it cites has changed or is gone |
| duplicate | one text for both |
| ready for the hive | promote |
| known in the hive | count the meeting |
| never shown | archive: nobody was given it for a month, and no person wrote it |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from swarmlore.domain.language.similarity import content_words, jaccard_bigram, shingles
from swarmlore.domain.policy.contradiction import compare, contradicts
from swarmlore.domain.policy.lifecycle import LifeTerms, is_evergreen, is_low_utility, utility
from swarmlore.domain.policy.ranking import STALE, age_days, place, preferred
from swarmlore.domain.records import Cited, Memory
from swarmlore.frozen import frozen

DAY_S = 86_400.0
WORDS = ("stale", "duplicate", "harmful", "unused")
LEAST_MOMENTS = 20  # fewer say nothing about whether agents are given anything


@frozen
class JunkEvidence:
    """What is known about one lesson: the state of the code it cites, its twin, its ratings, its showings, its age."""

    code: str = ""
    twin: str = ""
    helped: int = 0
    hurt: int = 0
    shown: int = 0
    age_s: float = 0.0


@frozen
class Limits:
    """How much a team accepts, as shares of its lessons; 1 accepts everything. `min_given` is a share of moments."""

    max_stale: float = 0.25
    max_duplicates: float = 0.1
    max_harmful: float = 0.1
    max_unused: float = 0.75
    max_junk: float = 0.8
    min_given: float = 0.01
    unused_after_days: float = 60.0
    min_lessons: int = 20


@frozen
class Limit:
    """One limit held against what was found: `of` such things, a share of `share`, `limit` allowed."""

    name: str
    setting: str
    count: int
    of: int
    share: float
    limit: float
    kept: bool
    note: str = ""


def junk(evidence: JunkEvidence, *, unused_after_days: float, watched: bool) -> tuple[str, ...]:
    """The words for what is wrong with a lesson. Where nobody was ever asked for a block, nothing counts as unused."""
    old = evidence.age_s >= unused_after_days * DAY_S
    found = {
        "stale": evidence.code in STALE,
        "duplicate": bool(evidence.twin),
        "harmful": evidence.hurt > evidence.helped,
        "unused": watched and old and not evidence.shown,
    }
    return tuple(word for word in WORDS if found[word])


def check(found: Sequence[tuple[str, ...]], moments: int, given: int, limits: Limits) -> tuple[Limit, ...]:
    """Every limit, kept or not; `found` has the words of each lesson."""
    counts = {word: sum(word in words for words in found) for word in WORDS}
    most = {
        "stale": ("max_stale", limits.max_stale),
        "duplicate": ("max_duplicates", limits.max_duplicates),
        "harmful": ("max_harmful", limits.max_harmful),
        "unused": ("max_unused", limits.max_unused),
    }
    of = len(found)
    told = [_most(word, *most[word], counts[word], of, limits.min_lessons) for word in WORDS]
    told.append(_most("junk", "max_junk", limits.max_junk, sum(map(bool, found)), of, limits.min_lessons))
    return (*told, _given(moments, given, limits.min_given))


def _most(name: str, setting: str, limit: float, count: int, of: int, least: int) -> Limit:
    share = count / of if of else 0.0
    few = of < least
    note = f"fewer than {least} lessons are not judged" if few else ""
    return Limit(name, f"report.{setting}", count, of, share, limit, few or share <= limit, note)


def _given(moments: int, given: int, least: float) -> Limit:
    share = given / moments if moments else 0.0
    few = moments < LEAST_MOMENTS
    note = f"fewer than {LEAST_MOMENTS} moments are not judged" if few else ""
    return Limit("given", "report.min_given", given, moments, share, least, few or share >= least, note)


CONTRADICTION, DUPLICATE, LOW_UTILITY, OUTDATED = "contradiction", "duplicate", "low utility", "stale"
READY, MET, UNUSED, ADVICE = "ready for the hive", "known in the hive", "never shown", "advice"
ORDER = (CONTRADICTION, LOW_UTILITY, OUTDATED, DUPLICATE, READY, MET, ADVICE, UNUSED)
SUPERSEDE, MERGE, ARCHIVE, PROMOTE, MEET, DECIDE = "supersede", "merge", "archive", "promote", "meet", "decide"
SAME = 0.6
UNUSED_DAYS = 30.0
LEAST_RATINGS = 2
HARMFUL_SCORE = 0.5
CROWD = 20  # newest texts that share one phrase: a phrase in more of them says little
MOST_PAIRS = 50_000
LEAST_SHARED = 0.5  # of the content words of the shorter text


@frozen
class Finding:
    """Something that somebody should know, and what could be done. The first memory is the one that stays, or the one
    that it is about."""

    what: str
    action: str
    memories: tuple[Memory, ...]
    reason: str
    text: str = ""
    by: str = ""


@frozen
class Evidence:
    """What speaks for a memory, beside its words."""

    id: str
    handle: str
    text: str
    tier: str
    source: str
    owner: str
    trust: int
    confidence: float
    confirmed: int
    shown: int
    helped: int
    hurt: int
    feedback_score: float
    created_at: float


def evidence_of(memory: Memory) -> Evidence:
    names = ("id", "handle", "text", "tier", "source", "owner", "trust", "confidence", "feedback_score", "created_at")
    counted = memory.outcomes
    return Evidence(
        confirmed=len(memory.confirmed_by),
        shown=counted.shown,
        helped=counted.succeeded_after,
        hurt=counted.failed_after,
        **{name: getattr(memory, name) for name in names},
    )


# Two that belong together


def pairs(memories: Sequence[Memory], known: Iterable[tuple[str, str]] = ()) -> Iterator[tuple[Memory, Memory]]:
    """Lessons that may say the same or the opposite: those that are linked, and those that share phrases."""
    by_id = {memory.id: memory for memory in memories}
    linked = {tuple(sorted(pair)) for pair in known if pair[0] != pair[1]}
    told = ((by_id[one], by_id[other]) for one, other in sorted(linked) if one in by_id and other in by_id)
    yield from told
    for one, other in _alike(memories):
        if tuple(sorted((one.id, other.id))) not in linked and _shares_words(one, other):
            yield one, other


def _alike(memories: Sequence[Memory]) -> Iterator[tuple[Memory, Memory]]:
    """Pairs by how many phrases they share, most first."""
    crowds: dict[int, list[int]] = {}
    for number, memory in enumerate(memories):
        for key in shingles(memory.text):
            crowds.setdefault(key, []).append(number)
    shared = Counter(pair for crowd in crowds.values() for pair in combinations(crowd[-CROWD:], 2))
    for (one, other), _ in shared.most_common(MOST_PAIRS):
        yield memories[one], memories[other]


def _shares_words(one: Memory, other: Memory) -> bool:
    words, others = content_words(one.text), content_words(other.text)
    return len(words & others) >= max(1, LEAST_SHARED * min(len(words), len(others)))


def judged(one: Memory, other: Memory, names: frozenset[str] = frozenset()) -> Finding | None:
    """What two lessons that resemble each other are to each other, or None; `names` are those of the own project."""
    stays = preferred(one, other)
    goes = other if stays is one else one
    entity = bool(set(one.entities) & set(other.entities))
    if against := contradicts(stays.text, goes.text, shared_entity=entity):
        beside = place_of(one) == place_of(other) and one.scope == other.scope
        return Finding(CONTRADICTION, SUPERSEDE if beside else DECIDE, (stays, goes), against)
    if jaccard_bigram(one.text, other.text) < SAME:
        return None
    return _same(stays, goes, names)


def _same(stays: Memory, goes: Memory, names: frozenset[str]) -> Finding | None:
    """Two that say the same: one text for both, or a meeting of the hive with what a project learned."""
    if place_of(stays) == place_of(goes):
        text = merged_text(stays, goes) if stays.scope == goes.scope else ""
        return Finding(DUPLICATE, MERGE, (stays, goes), "both say the same", text) if text else None
    if {stays.tier, goes.tier} != {"hive", "swarm"}:
        return None  # what is private stays beside what is shared
    hive, own = (stays, goes) if stays.tier == "hive" else (goes, stays)
    if compare(own.text, hive.text).reasons or not names.isdisjoint(
        (hive.project, *(item.where for item in hive.confirmed_by))
    ):
        return None
    return Finding(MET, MEET, (hive, own), "this project has learned the same")


def merged_text(stays: Memory, goes: Memory) -> str:
    """The text that says all that both say; '' where neither does, or the less trusted one would change the other."""
    difference = compare(goes.text, stays.text)
    if difference.slots or difference.corrects:
        return ""
    if not difference.added:
        return stays.text
    return goes.text if goes.trust >= stays.trust else ""


def place_of(memory: Memory) -> tuple[str, str, str]:
    """Which lessons stand side by side: an owner's, a project's, the hive's."""
    return (
        memory.tier,
        "" if memory.tier == "hive" else memory.project,
        memory.owner if memory.tier == "agent" else "",
    )


# One alone


def useless(memory: Memory, terms: LifeTerms) -> Finding | None:
    """A lesson that was followed or rated often enough to know that it does not help."""
    if not is_low_utility(memory, terms):
        return _harmful(memory)
    share = utility(memory, terms.showings) or 0.0
    ended = memory.outcomes.succeeded_after + memory.outcomes.failed_after
    reason = f"{share:.0%} of {ended} tasks went well; it was followed {memory.outcomes.applied} times"
    return Finding(LOW_UTILITY, ARCHIVE, (memory,), reason)


def _harmful(memory: Memory) -> Finding | None:
    """One that led those who used it astray. A harmful rating halves the score, a helpful one lifts it by a tenth."""
    if memory.feedback_count < LEAST_RATINGS or memory.feedback_score > HARMFUL_SCORE:
        return None
    reason = f"it misled those who used it: rated {memory.feedback_count} times, score {memory.feedback_score:.2g}"
    return Finding(LOW_UTILITY, ARCHIVE, (memory,), reason)


def outdated(memory: Memory, cited: Iterable[Cited]) -> Finding | None:
    """A lesson whose cited code has changed or is gone."""
    changed = [item for item in cited if item.state in STALE]
    if not changed:
        return None
    places = (
        f"{place(item.citation.path, item.citation.first_line, item.citation.last_line)} {_became(item.state)}"
        for item in changed
    )
    return Finding(OUTDATED, ARCHIVE, (memory,), ", ".join(places))


def _became(state: str) -> str:
    return "is gone" if state == "gone" else "has changed"


def may_be_unused(memory: Memory, now: float, terms: LifeTerms) -> bool:
    """Whether a lesson can be called unused if nobody was shown it: old, never read, and not written by a person."""
    by_hand = memory.source == "manual" or memory.trust >= 3
    spared = by_hand or memory.status == "promoted" or is_evergreen(memory, terms)
    counted = memory.outcomes
    read = memory.access_count or counted.shown or counted.cited or counted.applied or memory.confirmed_by
    return not spared and not read and age_days(memory.updated_at, now) >= UNUSED_DAYS


def unused(memory: Memory, now: float) -> Finding:
    days = age_days(memory.created_at, now)
    return Finding(UNUSED, ARCHIVE, (memory,), f"{days:.0f} days old, and nobody was ever shown it")


# All of them


def in_order(findings: Iterable[Finding], most: int) -> tuple[list[Finding], dict[str, int]]:
    """The findings by urgency, each memory in one of them, at most so many of a kind; and how many of each were left
    out. A memory that is to go needs no second reason."""
    kept: list[Finding] = []
    left: Counter[str] = Counter()
    seen: set[str] = set()
    count: Counter[str] = Counter()
    for finding in sorted(findings, key=lambda item: ORDER.index(item.what)):
        ids = {memory.id for memory in finding.memories}
        if finding.action != DECIDE and ids & seen:
            continue
        if count[finding.what] >= most:
            left[finding.what] += 1
            continue
        seen |= ids if finding.action != DECIDE else set()
        count[finding.what] += 1
        kept.append(finding)
    return kept, dict(left)
