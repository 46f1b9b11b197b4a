"""Curation: findings about stored lessons with a recommended action, and the limits of the junk report.

| finding | recommended action |
|---|---|
| contradiction | supersede the less proven lesson; across tiers or scopes a person decides |
| low utility | archive: it was followed often and tasks failed, or its readers were misled |
| stale | archive: the code it cites has changed or is gone |
| duplicate | merge both into one text |
| ready for the hive | promote |
| known in the hive | count the encounter |
| never shown | archive: no agent was given it for a month, and no person wrote it |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from swarmlore.domain.language.citations import STALE, place_now
from swarmlore.domain.language.similarity import content_words, jaccard_bigram, shingles
from swarmlore.domain.policy.contradiction import compare, contradicts
from swarmlore.domain.policy.lifecycle import LifeTerms, is_evergreen, is_low_utility, utility
from swarmlore.domain.policy.ranking import age_days, preferred
from swarmlore.domain.records import Cited, Memory
from swarmlore.frozen import frozen

DAY_S = 86_400.0
WORDS = ("stale", "duplicate", "harmful", "unused")
LEAST_MOMENTS = 20  # fewer moments are not judged


@frozen
class JunkEvidence:
    """Facts about one lesson for the junk report: state of cited code, duplicate, ratings, showings, age."""

    code: str = ""
    twin: str = ""
    helped: int = 0
    hurt: int = 0
    shown: int = 0
    age_s: float = 0.0


@frozen
class Limits:
    """Shares of junk among its lessons that a team accepts; 1 accepts everything. `min_given` is a share of moments."""

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
    """Result of one limit: `count` of `of` lessons or moments, as `share`, against the allowed `limit`."""

    name: str
    setting: str
    count: int
    of: int
    share: float
    limit: float
    kept: bool
    note: str = ""


def junk(evidence: JunkEvidence, *, unused_after_days: float, watched: bool) -> tuple[str, ...]:
    """Return the faults of a lesson as words; with `watched` False (no block was ever requested), none is unused."""
    old = evidence.age_s >= unused_after_days * DAY_S
    found = {
        "stale": evidence.code in STALE,
        "duplicate": bool(evidence.twin),
        "harmful": evidence.hurt > evidence.helped,
        "unused": watched and old and not evidence.shown,
    }
    return tuple(word for word in WORDS if found[word])


def check(found: Sequence[tuple[str, ...]], moments: int, given: int, limits: Limits) -> tuple[Limit, ...]:
    """Compare the findings of all lessons with every limit; `found` has the words of each lesson from `junk`."""
    counts = {word: sum(word in words for words in found) for word in WORDS}
    counted = [
        ("stale", "max_stale", limits.max_stale, counts["stale"]),
        ("duplicate", "max_duplicates", limits.max_duplicates, counts["duplicate"]),
        ("harmful", "max_harmful", limits.max_harmful, counts["harmful"]),
        ("unused", "max_unused", limits.max_unused, counts["unused"]),
        ("junk", "max_junk", limits.max_junk, sum(map(bool, found))),
    ]
    checked = (_most(*row, len(found), limits.min_lessons) for row in counted)
    return (*checked, _given(moments, given, limits.min_given))


def _most(name: str, setting: str, limit: float, count: int, of: int, least: int) -> Limit:
    """Check one limit on a share of lessons; with few lessons it always holds."""
    share = count / of if of else 0.0
    few = of < least
    note = f"fewer than {least} lessons are not judged" if few else ""
    return Limit(name, f"report.{setting}", count, of, share, limit, few or share <= limit, note)


def _given(moments: int, given: int, least: float) -> Limit:
    """Check the least share of moments at which an agent was given something."""
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
CROWD = 20  # newest texts compared per shared phrase; a phrase in more texts says little
MOST_PAIRS = 50_000
LEAST_SHARED = 0.5  # share of the content words of the shorter text


@frozen
class Finding:
    """A curation finding and its recommended action. The first memory is the one that stays or is concerned."""

    what: str
    action: str
    memories: tuple[Memory, ...]
    reason: str
    text: str = ""
    by: str = ""


@frozen
class Evidence:
    """The evidence for a memory, as it is shown with its text."""

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
    """Return the evidence for a memory: confirmations, outcomes, ratings, origin."""
    names = ("id", "handle", "text", "tier", "source", "owner", "trust", "confidence", "feedback_score", "created_at")
    counted = memory.outcomes
    return Evidence(
        confirmed=len(memory.confirmed_by),
        shown=counted.shown,
        helped=counted.succeeded_after,
        hurt=counted.failed_after,
        **{name: getattr(memory, name) for name in names},
    )


def pairs(memories: Sequence[Memory], known: Iterable[tuple[str, str]] = ()) -> Iterator[tuple[Memory, Memory]]:
    """Return pairs of lessons that may agree or contradict: linked ones, and those that share phrases."""
    by_id = {memory.id: memory for memory in memories}
    linked = {tuple(sorted(pair)) for pair in known if pair[0] != pair[1]}
    yield from ((by_id[one], by_id[other]) for one, other in sorted(linked) if one in by_id and other in by_id)
    for one, other in _similar_pairs(memories):
        if tuple(sorted((one.id, other.id))) not in linked and _shares_words(one, other):
            yield one, other


def _similar_pairs(memories: Sequence[Memory]) -> Iterator[tuple[Memory, Memory]]:
    """Return pairs of lessons by the number of phrases they share, most first."""
    crowds: dict[int, list[int]] = {}
    for number, memory in enumerate(memories):
        for key in shingles(memory.text):
            crowds.setdefault(key, []).append(number)
    shared = Counter(pair for crowd in crowds.values() for pair in combinations(crowd[-CROWD:], 2))
    for (one, other), _ in shared.most_common(MOST_PAIRS):
        yield memories[one], memories[other]


def _shares_words(one: Memory, other: Memory) -> bool:
    """Return whether two lessons share half of the content words of the shorter one."""
    words, others = content_words(one.text), content_words(other.text)
    return len(words & others) >= max(1, LEAST_SHARED * min(len(words), len(others)))


def judged(one: Memory, other: Memory, names: frozenset[str] = frozenset()) -> Finding | None:
    """Return the finding about two similar lessons, or None; `names` are the names of the current project."""
    stays = preferred(one, other)
    goes = other if stays is one else one
    entity = bool(set(one.entities) & set(other.entities))
    if reason := contradicts(stays.text, goes.text, shared_entity=entity):
        same_place = place_of(one) == place_of(other) and one.scope == other.scope
        return Finding(CONTRADICTION, SUPERSEDE if same_place else DECIDE, (stays, goes), reason)
    if jaccard_bigram(one.text, other.text) < SAME:
        return None
    return _duplicate(stays, goes, names)


def _duplicate(stays: Memory, goes: Memory, names: frozenset[str]) -> Finding | None:
    """Return the finding about two equal lessons: merge them, or count a hive lesson as encountered here."""
    if place_of(stays) == place_of(goes):
        text = merged_text(stays, goes) if stays.scope == goes.scope else ""
        return Finding(DUPLICATE, MERGE, (stays, goes), "both say the same", text) if text else None
    if {stays.tier, goes.tier} != {"hive", "swarm"}:
        return None  # an agent's private lesson is no duplicate of a shared one
    hive, own = (stays, goes) if stays.tier == "hive" else (goes, stays)
    if compare(own.text, hive.text).reasons or not names.isdisjoint(
        (hive.project, *(item.where for item in hive.confirmed_by))
    ):
        return None
    return Finding(MET, MEET, (hive, own), "this project has learned the same")


def merged_text(stays: Memory, goes: Memory) -> str:
    """Return the text that covers both lessons; '' if neither does, or if a less trusted one would change the other."""
    difference = compare(goes.text, stays.text)
    if difference.slots or difference.corrects:
        return ""
    if not difference.added:
        return stays.text
    return goes.text if goes.trust >= stays.trust else ""


def place_of(memory: Memory) -> tuple[str, str, str]:
    """Return the partition of a lesson: owner's, project's or the hive's."""
    project = "" if memory.tier == "hive" else memory.project
    return memory.tier, project, memory.owner if memory.tier == "agent" else ""


def useless(memory: Memory, terms: LifeTerms) -> Finding | None:
    """Return a finding if a lesson was followed or rated often enough to know that it does not help."""
    if not is_low_utility(memory, terms):
        return _harmful(memory)
    share = utility(memory, terms.showings) or 0.0
    ended = memory.outcomes.succeeded_after + memory.outcomes.failed_after
    reason = f"{share:.0%} of {ended} tasks went well; it was followed {memory.outcomes.applied} times"
    return Finding(LOW_UTILITY, ARCHIVE, (memory,), reason)


def _harmful(memory: Memory) -> Finding | None:
    """Return a finding if ratings are bad. A harmful rating halves the score, a helpful one adds a tenth."""
    if memory.feedback_count < LEAST_RATINGS or memory.feedback_score > HARMFUL_SCORE:
        return None
    reason = f"it misled those who used it: rated {memory.feedback_count} times, score {memory.feedback_score:.2g}"
    return Finding(LOW_UTILITY, ARCHIVE, (memory,), reason)


def outdated(memory: Memory, cited: Iterable[Cited]) -> Finding | None:
    """Return a finding if code that a lesson cites has changed or is gone."""
    changed = [item for item in cited if item.state in STALE]
    if not changed:
        return None
    places = (f"{place_now(item)} {'is gone' if item.state == 'gone' else 'has changed'}" for item in changed)
    return Finding(OUTDATED, ARCHIVE, (memory,), ", ".join(places))


def may_be_unused(memory: Memory, now: float, terms: LifeTerms) -> bool:
    """Return whether a never shown lesson counts as unused: old, never read, not written by a person."""
    by_hand = memory.source == "manual" or memory.trust >= 3
    spared = by_hand or memory.status == "promoted" or is_evergreen(memory, terms)
    counted = memory.outcomes
    read = memory.access_count or counted.shown or counted.cited or counted.applied or memory.confirmed_by
    return not spared and not read and age_days(memory.updated_at, now) >= UNUSED_DAYS


def unused(memory: Memory, now: float) -> Finding:
    """Return the finding that a lesson was never shown."""
    days = age_days(memory.created_at, now)
    return Finding(UNUSED, ARCHIVE, (memory,), f"{days:.0f} days old, and nobody was ever shown it")


def in_order(findings: Iterable[Finding], most: int) -> tuple[list[Finding], dict[str, int]]:
    """Sort findings by urgency, keep at most `most` of a kind, and count those left out by kind.

    A memory that one finding already removes is in no other, except findings that a person decides.
    """
    kept: list[Finding] = []
    seen: set[str] = set()
    left: Counter[str] = Counter()
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
