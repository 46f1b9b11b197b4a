"""`swarmlore curate`: recommend duplicates to merge, contradictions to decide and useless lessons to archive.

Recommendations are numbered and saved with a fingerprint of their memories. `apply` carries one out only if that
fingerprint still holds. Listing changes nothing, except that it promotes lessons that the project's policy sends to
the hive without asking.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b

from swarmlore.config import Settings
from swarmlore.domain.policy import curation
from swarmlore.domain.policy.curation import Evidence, Finding, evidence_of
from swarmlore.domain.policy.lifecycle import LifeTerms, encounter_terms, encountered, terms_of
from swarmlore.domain.policy.new_memory import in_force
from swarmlore.domain.records import Caller, Link, Memory
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, NotFound, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, fields, frozen, replace
from swarmlore.memory.decide import add_link, joined_citations
from swarmlore.memory.promotion import Promoter, Promotion
from swarmlore.store.database import Operation
from swarmlore.store.memories import Filter
from swarmlore.store.store import Store
from swarmlore.workspace.files import Folder
from swarmlore.workspace.identity import may_change

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.workspace.cited_code import CitationCheck


BEGINNING, ENDING = "curated-", ".json"
MOST_BYTES = 1 << 20


@frozen
class Kept:
    """A saved recommendation, with the ids of its memories and a fingerprint (`mark`) of their state."""

    number: int
    what: str
    action: str
    ids: tuple[str, ...]
    mark: str
    text: str = ""
    by: str = ""
    operation: str = ""


def write(home: str, whose: tuple[str, str], kept: Sequence[Kept]) -> None:
    """Save the recommendations of one caller, replacing the former ones."""
    plain = [{spec.name: getattr(item, spec.name) for spec in fields(Kept)} for item in kept]
    with Folder(os.path.realpath(home)) as folder, folder.lock():
        folder.replace(_name(whose), [json.dumps(plain, ensure_ascii=True, indent=1).encode("ascii")], mode=0o600)


def read(home: str, whose: tuple[str, str]) -> tuple[Kept, ...]:
    """Return the saved recommendations of one caller; none if the file is missing or malformed."""
    try:
        with open(os.path.join(home, _name(whose)), "rb") as file:
            return tuple(_kept(item) for item in json.loads(file.read(MOST_BYTES)))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return ()


def drop(home: str) -> None:
    """Remove the saved recommendations of all callers, so that none keeps an erased text."""
    for name in os.listdir(home):
        if name.startswith(BEGINNING) and name.endswith(ENDING):
            os.unlink(os.path.join(home, name))


def _name(whose: tuple[str, str]) -> str:
    key = blake2b("\0".join(whose).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return f"{BEGINNING}{key}{ENDING}"


def _kept(item: dict[str, Any]) -> Kept:
    texts = {name: str(item[name]) for name in ("what", "action", "mark", "text", "by", "operation")}
    return Kept(number=int(item["number"]), ids=tuple(map(str, item["ids"])), **texts)


LOOKED_AT = 20_000  # newest lessons that are examined
MOST_OF_A_KIND = 10
PAGE = 500
REDO = "look again: swarmlore curate"


@frozen
class Recommendation:
    """One numbered recommendation.

    `action` is what `apply` does: supersede, merge, archive, promote or meet; `decide` is left to a person. The first
    of `memories` is the one that stays or that it is about; `text` is the merged text.
    """

    number: int
    what: str
    action: str
    reason: str
    memories: tuple[Evidence, ...]
    text: str = ""
    by: str = ""


@frozen
class Curated:
    """Result of `curate`: recommendations, and in `left_out` how many of each kind are not listed.

    `promoted`, `learned` and `retracted` (both from the plan file) are ids of changes that are done already.
    """

    at: float
    scanned: int
    recommendations: tuple[Recommendation, ...]
    left_out: Mapping[str, int]
    promoted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    retracted: tuple[str, ...] = ()


@frozen
class Applied:
    """Recommendations that were carried out, their operation, and the changed memories."""

    operation: str
    numbers: tuple[int, ...]
    memories: tuple[Memory, ...]


class Curation:
    """Make and apply recommendations for the memories that one caller may see."""

    def __init__(
        self,
        home: str,
        store: Store,
        caller: Caller,
        settings: Settings,
        promoting: Promoter,
        operation: Callable[[str], Operation],
        look: CitationCheck,
    ) -> None:
        self._home = home
        self._store = store
        self._caller = caller
        self._settings = settings
        self._promoting = promoting
        self._operation = operation
        self._look = look

    # Recommending

    def curate(self, now: float) -> Curated:
        """Find and save recommendations; lessons that the policy promotes to the hive by itself are promoted."""
        candidates = self._promoting.candidates(now)
        promoted = self._promote_automatic(candidates)
        lessons = self._lessons(now)
        findings = self._findings(lessons, now)
        unused = {memory.id for item in findings if item.what == curation.UNUSED for memory in item.memories}
        ready = [_ready(item) for item in candidates if item.waits and item.memory.id not in unused]
        kept, left = curation.in_order([*findings, *ready], MOST_OF_A_KIND)
        advised, note = self._advice(lessons, kept)
        listed = [*kept, *advised]
        self._save(listed)
        recommended = tuple(_recommendation(number, item) for number, item in enumerate(listed, start=1))
        notes = [note] if note else []
        if len(lessons) >= LOOKED_AT:
            notes.append(f"only the newest {LOOKED_AT} lessons were looked at")
        return Curated(now, len(lessons), recommended, left, promoted, tuple(notes))

    def _promote_automatic(self, candidates: Sequence[Promotion]) -> tuple[str, ...]:
        """Promote the candidates that need no request, as the end of a phase does; return the new ids."""
        going = [candidate for candidate in candidates if not candidate.waits]
        if not going:
            return ()
        carried = self._store.perform(self._operation("curate"), lambda act: self._promoting.carry_all(act, going))
        return tuple(memory.id for memory, _ in carried)

    def _lessons(self, now: float) -> list[Memory]:
        """Return the lessons in force, oldest first."""
        newest = self._store.select(self._caller, Filter(limit=LOOKED_AT))
        return [memory for memory in reversed(newest) if not memory.raw and in_force(memory, now)]

    def _findings(self, lessons: Sequence[Memory], now: float) -> list[Finding]:
        terms = terms_of(self._settings.knowledge)
        single = [finding for memory in lessons if (finding := self._judge_single(memory, terms)) is not None]
        return [*self._pairs(lessons), *single, *self._unused(lessons, now, terms)]

    def _pairs(self, lessons: Sequence[Memory]) -> list[Finding]:
        linked = [(link.source, link.target) for link in self._links(lessons) if link.kind == "contradicts"]
        names = frozenset(self._store.names_of(self._caller.project))
        judged = (curation.judged(one, other, names) for one, other in curation.pairs(lessons, linked))
        return [finding for finding in judged if finding is not None]

    def _links(self, lessons: Sequence[Memory]) -> list[Link]:
        ids = [memory.id for memory in lessons]
        return [
            link for at in range(0, len(ids), PAGE) for link in self._store.links_of(self._caller, ids[at : at + PAGE])
        ]

    def _judge_single(self, memory: Memory, terms: LifeTerms) -> Finding | None:
        """Return a finding about one lesson by itself: useless, or outdated by its cited code."""
        useless = curation.useless(memory, terms)
        if useless is not None or not memory.citations:
            return useless
        return curation.outdated(memory, self._look.cited(memory))

    def _unused(self, lessons: Sequence[Memory], now: float, terms: LifeTerms) -> list[Finding]:
        old = [memory for memory in lessons if curation.may_be_unused(memory, now, terms)]
        shown = self._shown([memory.id for memory in old])
        return [curation.unused(memory, now) for memory in old if memory.id not in shown]

    def _shown(self, ids: Sequence[str]) -> set[str]:
        """Return those of these ids that any agent was shown, as far as the caller may know."""
        pages = (list(ids[at : at + PAGE]) for at in range(0, len(ids), PAGE))
        return {id for page in pages for id in self._store.shown_among(self._caller, page)}

    def _advice(self, lessons: Sequence[Memory], known: Sequence[Finding]) -> tuple[list[Finding], str]:
        """Return the recommendations of the LLM about memories without a finding, and a note if it failed."""
        if self._settings.writer.kind == "none":
            return [], ""
        from swarmlore.models.llm import budgeted_llm, recommend

        taken = {memory.id for finding in known for memory in finding.memories}
        free = [memory for memory in lessons if memory.id not in taken]
        try:
            writer = budgeted_llm(self._store, self._settings.writer, self._operation("curate").at)
            return recommend(writer, free), ""
        except SwarmloreError as error:
            return [], f"the language model added nothing: {error.message}"

    # Saving

    def _save(self, listed: Sequence[Finding]) -> None:
        kept = [
            Kept(
                number,
                item.what,
                item.action,
                tuple(memory.id for memory in item.memories),
                self._mark(item),
                text=item.text if item.by else "",
                by=item.by,
            )
            for number, item in enumerate(listed, start=1)
        ]
        write(self._home, self._whose, kept)

    @property
    def _whose(self) -> tuple[str, str]:
        return (self._caller.project, self._caller.agent)

    def _mark(self, finding: Finding) -> str:
        """Return the fingerprint of the evidence behind a finding; if it changed, the recommendation is outdated."""
        facts: list[object] = [(m.id, m.version, m.status, m.forgotten_at) for m in finding.memories]
        if finding.what in (curation.LOW_UTILITY, curation.UNUSED):  # further showings alone change no verdict
            facts += [repr(replace(memory.outcomes, shown=0)) for memory in finding.memories]
        if finding.what == curation.UNUSED:
            facts.append(sorted(self._shown([memory.id for memory in finding.memories])))
        if finding.what == curation.OUTDATED:
            facts += [item.state for memory in finding.memories for item in self._look.cited(memory)]
        return blake2b(repr(facts).encode("utf-8", "replace"), digest_size=12).hexdigest()

    # Applying

    def apply(self, numbers: Sequence[int]) -> Applied:
        """Carry out the recommendations with these numbers, all of them or none."""
        kept = {item.number: item for item in read(self._home, self._whose)}
        kept = {number: self._unapplied(item) for number, item in kept.items()}
        chosen = _chosen(numbers, kept)
        act = self._operation("curate")
        changed = self._store.perform(act, lambda act: [self._carry_out(act, item) for item in chosen])
        done = {item.number for item in chosen}
        left = [replace(item, operation=act.id) if item.number in done else item for item in kept.values()]
        write(self._home, self._whose, left)
        return Applied(act.id, tuple(item.number for item in chosen), tuple(changed))

    def _unapplied(self, kept: Kept) -> Kept:
        """Reopen a recommendation whose operation was undone; `apply` still checks its fingerprint."""
        return replace(kept, operation="") if kept.operation and self._store.was_undone(kept.operation) else kept

    def _carry_out(self, act: Operation, kept: Kept) -> Memory:
        finding = self._current_finding(kept)
        ways: dict[str, Callable[[Operation, Finding], Memory]] = {
            curation.SUPERSEDE: self._supersede,
            curation.MERGE: self._merge,
            curation.ARCHIVE: self._archive,
            curation.MEET: self._meet,
            curation.PROMOTE: self._promote,
        }
        if finding.action in (curation.SUPERSEDE, curation.MERGE, curation.ARCHIVE):
            self._check_change(finding.memories)
        return ways[finding.action](act, finding)

    def _current_finding(self, kept: Kept) -> Finding:
        """Rebuild a saved recommendation from the current memories; raise Conflict if their fingerprint changed."""
        memories = tuple(memory for id in kept.ids if (memory := self._store.get(self._caller, id)) is not None)
        text = kept.text
        if kept.action == curation.MERGE and not kept.by and len(memories) == 2:
            text = curation.merged_text(*memories)
        finding = Finding(kept.what, kept.action, memories, kept.what, text, kept.by)
        if len(memories) < len(kept.ids) or self._mark(finding) != kept.mark:
            raise Conflict(f"what recommendation {kept.number} is about has changed meanwhile", REDO)
        return finding

    def _check_change(self, memories: Iterable[Memory]) -> None:
        for memory in memories:
            if not may_change(self._caller, memory):
                raise NotAllowed(
                    f"memory {memory.handle} was shared by {memory.owner or 'somebody else'}",
                    "only its author, a lead or a person can decide about it",
                )

    def _archive(self, act: Operation, finding: Finding) -> Memory:
        memory = finding.memories[0]
        after = replace(memory, status="archived", updated_at=act.at)
        return self._store.revise(act, memory, after, "archived", f"curated: {finding.what}")

    def _supersede(self, act: Operation, finding: Finding) -> Memory:
        stays, goes = finding.memories
        return self._replace(act, goes, stays, replace(stays, updated_at=act.at), finding.what)

    def _merge(self, act: Operation, finding: Finding) -> Memory:
        stays, goes = finding.memories
        joined = finding.text not in (stays.text, goes.text)
        after = replace(
            stays,
            text=finding.text,
            trust=min(stays.trust, goes.trust) if joined else stays.trust,
            confidence=max(stays.confidence, goes.confidence),
            tags=_both(stays.tags, goes.tags),
            entities=_both(stays.entities, goes.entities),
            situations=_both(stays.situations, goes.situations),
            citations=joined_citations(goes.citations, stays.citations),
            confirmed_by=_both(stays.confirmed_by, goes.confirmed_by),
            updated_at=act.at,
        )
        return self._replace(act, goes, stays, after, finding.what)

    def _replace(self, act: Operation, goes: Memory, stays: Memory, after: Memory, why: str) -> Memory:
        """Mark the memory `goes` as superseded by `stays`, and store `stays` as changed."""
        hidden = replace(goes, status="superseded", superseded_by=stays.id, valid_until=act.at, updated_at=act.at)
        self._store.revise(act, goes, hidden, "superseded", f"curated: {why}")
        add_link(self._store, act, Link(stays.id, goes.id, "supersedes", act.at))
        after = replace(after, supersedes=_both(stays.supersedes, (goes.id,)))
        return self._store.revise(act, stays, after, "superseded another", f"curated: {why}")

    def _promote(self, act: Operation, finding: Finding) -> Memory:
        """Promote a lesson to the hive with the start values of an automatic promotion, not of one by hand."""
        self._promoting.check_allowed()
        carried = self._promoting.carry_all(act, [Promotion(finding.memories[0], "curator's advice")])
        if not carried:
            raise Conflict(
                f"the hive knows or refuses what {finding.memories[0].handle} says",
                "swarmlore recall shows what it knows",
            )
        return carried[0][0]

    def _meet(self, act: Operation, finding: Finding) -> Memory:
        hive = finding.memories[0]
        terms = encounter_terms(self._settings.knowledge)
        after = encountered(hive, self._caller.project, self._caller.agent, act.at, terms)
        if after is None:
            return hive
        return self._store.revise(act, hive, after, "confirmed", "another project has learned the same")


def _ready(candidate: Promotion) -> Finding:
    reason = f"{candidate.route}; {candidate.waits}"
    return Finding(curation.READY, curation.PROMOTE, (candidate.memory,), reason)


def _recommendation(number: int, finding: Finding) -> Recommendation:
    evidence = tuple(evidence_of(memory) for memory in finding.memories)
    return Recommendation(number, finding.what, finding.action, finding.reason, evidence, finding.text, finding.by)


def _chosen(numbers: Sequence[int], kept: Mapping[int, Kept]) -> list[Kept]:
    """Return the recommendations with these numbers in listed order; raise if one cannot be applied."""
    if not kept:
        raise NotFound("nothing was recommended here", "look first: swarmlore curate")
    if not numbers:
        raise InvalidInput("no recommendation was named", "give their numbers: swarmlore curate --apply 1,3")
    for number in numbers:
        if not isinstance(number, int) or isinstance(number, bool) or number not in kept:
            raise InvalidInput(f"there is no recommendation {number!r}", f"from 1 to {max(kept)}, or {REDO}")
        if kept[number].operation:
            raise Conflict(
                f"recommendation {number} was applied", f"to take it back: swarmlore undo {kept[number].operation}"
            )
        if kept[number].action == curation.DECIDE:
            hint = "say which one holds: swarmlore forget REF, or remember the right one"
            raise InvalidInput(f"recommendation {number} is yours to decide", hint)
    return [kept[number] for number in sorted(set(numbers))]


def _both(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys((*one, *other)))
