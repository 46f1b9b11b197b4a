"""Write path of memories: validation gate, citations, embedding, deduplication, and one transaction per text.

Imports store many drafts in short transactions; new vectors are compared with their neighbours in batches ("settled").
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial

from swarmlore.background import BackgroundResult
from swarmlore.config import Settings
from swarmlore.domain.language.citations import may_cite
from swarmlore.domain.language.concepts import entities_from_text, resolve_entities
from swarmlore.domain.language.display import learned_key
from swarmlore.domain.policy.gate import GateRejection, Passed, pass_gate, scrub_text
from swarmlore.domain.policy.lifecycle import REASON_CHARS
from swarmlore.domain.policy.new_memory import in_force, memory_from_draft
from swarmlore.domain.records import (
    ID_HINT,
    LESSON_SOURCES,
    MAX_CITATIONS,
    Caller,
    Draft,
    Memory,
    Rejection,
    Remembered,
    is_id,
)
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, Rejected, StoreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.memory.decide import Stored, Terms, as_neighbour, neighbours_of, settle, store_new
from swarmlore.store.database import Operation
from swarmlore.store.search import embedded_text
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.policy.deduplication import Decision
    from swarmlore.domain.policy.lifecycle import Phase
    from swarmlore.models.embedding import Embedding, Progress
    from swarmlore.workspace.cited_code import Tree


FROM_ELSEWHERE = ("import", "ledger", "migration")  # code cited by these may have changed since they were written
REPLACING = ("updated", "superseded")
CHUNK_ROWS = 800
CHUNK_S = 0.4  # longest transaction of an import, for which other writers wait
SETTLE_AT_ONCE_ROWS = 10_000  # comparing with this many vectors costs one or two milliseconds
SETTLE_BATCH = 16
SETTLE_AT_ONCE = 4  # memories settled in one transaction
LIKELY_SAME = 0.8  # below the lowest cosine that a deduplication rule acts on


@frozen
class Imported:
    """Result of storing many drafts: the count of each outcome, and details by the number of the draft.

    `rejected` has the reasons of refusals, `replaced` the memories that were rewritten or superseded.
    """

    outcomes: dict[str, int]
    rejected: tuple[tuple[int, str], ...]
    operation: str
    replaced: tuple[tuple[int, str], ...] = ()

    @property
    def stored(self) -> int:
        return sum(count for outcome, count in self.outcomes.items() if outcome != "rejected")


class _Tally:
    """Collect the outcomes of the drafts of an import."""

    def __init__(self) -> None:
        self.outcomes: dict[str, int] = {}
        self.rejected: list[tuple[int, str]] = []
        self.replaced: list[tuple[int, str]] = []

    def add(self, number: int, result: Remembered) -> None:
        self.outcomes[result.outcome] = self.outcomes.get(result.outcome, 0) + 1
        if result.outcome in REPLACING:
            self.replaced += [(number, id) for id in result.related]

    def take(self, other: _Tally) -> None:
        for outcome, count in other.outcomes.items():
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + count
        self.rejected += other.rejected
        self.replaced += other.replaced

    def imported(self, operation: Operation) -> Imported:
        outcomes = {**self.outcomes, "rejected": len(self.rejected)}
        return Imported(outcomes, tuple(sorted(self.rejected)), operation.id, tuple(self.replaced))


class MemoryWriter:
    """Store drafts as memories, with the same validation gate and deduplication for every entry point."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        settings: Settings,
        embedding: Callable[[], Embedding],
        operation: Callable[[str], Operation],
        new_id: Callable[[], str],
        tree: Callable[[], Tree],
        phase: Callable[[], Phase | None] = lambda: None,
    ) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._load_embedding = embedding
        self._operation = operation
        self._new_id = new_id
        self._tree = tree
        self._find_phase = phase
        self._phase: Phase | None = None  # the phase in which the current texts are stored
        life = settings.life
        self._life_days = {
            "task_completion": life.task_completion_days,
            "session_summary": life.session_summary_days,
            "transcript": life.transcript_days,
            "file_index": life.file_index_days,
        }

    def remember(
        self,
        draft: Draft,
        *,
        defer: bool = False,
        session: str = "",
        phase: Phase | None = None,
        form: Callable[[Memory], Memory] | None = None,
    ) -> Remembered:
        """Store one draft durably and return what became of it.

        `phase` is the open phase, if the caller knows it; `form` adapts the memory after it passed the gate.
        """
        operation = self._operation("remember")
        self._phase = phase or self._store.look(self._find_phase)
        passed = self._pass(draft, operation)
        memory = self._born(passed.draft, operation)
        memory = form(memory) if form else memory
        vectors = None if defer or passed.quarantine else BackgroundResult(lambda: self._vectors(memory))
        terms = self._store.look(lambda: self._terms(memory, session))
        try:
            result = self._store.perform(operation, lambda act: store_new(self._store, act, memory, passed, terms))
        except Rejected as refusal:
            self._list_rejected(passed.draft, refusal, operation.at)
            raise
        try:
            if vectors is not None and self._keep_vectors(result.memory, vectors.result()):
                return self._settle_now(result, operation, terms)
        except StoreError as error:  # the text is stored; its vector stays queued
            return replace(result, warnings=(*result.warnings, f"its vector is not stored yet: {error.message}"))
        return result

    def rewrite(self, memory: Memory, text: str, reason: str = "") -> Memory:
        """Replace the text of a memory, through the same gate; the former text stays in its history."""
        operation = self._operation("edit")
        names = ("title", "kind", "category", "tags", "entities", "tier", "scope", "source")
        passed = self._pass(Draft(text, **{name: getattr(memory, name) for name in names}), operation)
        if passed.quarantine:
            raise Rejected(passed.quarantine, 2, "say it without that")
        trust = min(memory.trust, self._caller.trust)
        extra = {**passed.draft.extra, **memory.extra}
        after = replace(memory, text=passed.draft.text, trust=trust, updated_at=operation.at, extra=extra)
        reason = scrub_text(reason)[:REASON_CHARS]
        after = self._store.perform(operation, lambda act: self._store.revise(act, memory, after, "edited", reason))
        with suppress(StoreError):  # the text is stored; its vector stays queued
            self._keep_vectors(after, self._vectors(after))
        return after

    def prepare(self, draft: Draft, operation: Operation) -> Memory:
        """Return the memory that a draft would become, quarantined if the gate says so, without storing it."""
        passed = self._pass(draft, operation)
        memory = self._born(passed.draft, operation)
        return replace(memory, status="quarantined") if passed.quarantine else memory

    def remember_many(self, drafts: Iterable[Draft], progress: Progress | None = None) -> Imported:
        """Store many drafts in short transactions of one operation; their vectors are made later."""
        if not isinstance(drafts, Iterable):
            raise InvalidInput(f"expected drafts, got {type(drafts).__name__}", "give a list or generator of Draft")
        with self._store.engine.roomy():
            return self._remember_all(drafts, progress)

    def _remember_all(self, drafts: Iterable[Draft], progress: Progress | None) -> Imported:
        operation, tally = self._operation("import"), _Tally()
        self._phase = self._store.look(self._find_phase)
        chunks = self._chunks(drafts, operation, tally)
        done, chunk = next(chunks, (0, []))
        while done:
            next_done, next_chunk = next(chunks, (0, []))
            while chunk:  # only the last transaction waits for the fsync, which makes the earlier ones durable too
                chunk = self._store_chunk(chunk, operation, tally, durable=not next_done)
            if progress:
                progress(done, 0)
            done, chunk = next_done, next_chunk
        return tally.imported(operation)

    def _chunks(
        self, drafts: Iterable[Draft], operation: Operation, tally: _Tally
    ) -> Iterator[tuple[int, list[tuple[int, Passed]]]]:
        """Yield chunks of drafts that passed the gate, each with the number of the last draft read."""
        number = 0
        chunk: list[tuple[int, Passed]] = []
        for number, draft in enumerate(drafts, start=1):
            try:
                chunk.append((number, self._pass(draft, operation)))
            except (Rejected, InvalidInput) as refusal:
                tally.rejected.append((number, refusal.message))
            if len(chunk) >= CHUNK_ROWS:
                yield number, chunk
                chunk = []
        if chunk:
            yield number, chunk

    def _store_chunk(
        self, chunk: list[tuple[int, Passed]], operation: Operation, tally: _Tally, *, durable: bool
    ) -> list[tuple[int, Passed]]:
        """Store as many drafts as fit into one short transaction; return the rest."""
        stored, rest = self._store.perform(operation, lambda act: self._store_some(chunk, act), durable=durable)
        tally.take(stored)
        return rest

    def _store_some(
        self, chunk: list[tuple[int, Passed]], operation: Operation
    ) -> tuple[_Tally, list[tuple[int, Passed]]]:
        tally, terms = _Tally(), self.plain_terms()
        deadline = time.monotonic() + CHUNK_S
        rest = iter(chunk)
        for number, passed in rest:
            try:
                memory = self._born(passed.draft, operation)
                tally.add(number, store_new(self._store, operation, memory, passed, terms))
            except Rejected as refusal:
                tally.rejected.append((number, refusal.reason))
                self._list_rejected(passed.draft, refusal, operation.at)
            except Conflict as taken:
                tally.rejected.append((number, taken.message))
            if time.monotonic() > deadline:
                break
        return tally, list(rest)

    @property
    def _embedding(self) -> Embedding:
        """Load the embedder on first use, since a deferred write needs none."""
        return self._load_embedding()

    # Before the transaction

    def _pass(self, draft: Draft, operation: Operation) -> Passed:
        if not isinstance(draft, Draft):
            raise InvalidInput(f"expected a Draft, got {type(draft).__name__}", "from swarmlore import Draft")
        self._check_allowed(draft)
        entities = tuple(word.strip().lower() for word in draft.entities if isinstance(word, str))
        if any(":" not in word for word in entities):
            entities = resolve_entities(entities, self._store.known_entities(self._caller))
        if entities != draft.entities:
            draft = replace(draft, entities=entities)
        knowledge = self._settings.knowledge
        try:
            return self._with_citations(pass_gate(draft, profile=self._profile, validate=knowledge.validation_enabled))
        except GateRejection as refusal:
            self._list_rejected(refusal.draft, refusal, operation.at)
            raise

    def _with_citations(self, passed: Passed) -> Passed:
        """Resolve the citations of a draft in the working tree, and add the places that its text names."""
        draft = passed.draft
        found = tuple(self._tree().cite(item) if isinstance(item, str) else item for item in draft.citations)
        room = MAX_CITATIONS - len(found)
        if room and _cites_working_tree(draft) and may_cite(draft.text):
            cited = {(item.path, item.first_line, item.last_line) for item in found}
            named = self._tree().named_in(draft.text)
            found += tuple(item for item in named if (item.path, item.first_line, item.last_line) not in cited)[:room]
        return replace(passed, draft=replace(draft, citations=found)) if found else passed

    def _check_allowed(self, draft: Draft) -> None:
        knowledge = self._settings.knowledge
        if not knowledge.enabled:
            raise NotAllowed("memory is switched off here", "turn it on: swarmlore config knowledge.enabled true")
        if draft.tier == "hive" and not knowledge.hive_enabled:
            raise NotAllowed(
                "the hive is switched off here", "turn it on: swarmlore config knowledge.hive_enabled true"
            )
        if draft.tier == "agent" and not self._caller.agent:
            raise NotAllowed("a private memory needs an owner", "name the agent: SWARMLORE_AGENT=NAME")
        if draft.id and not is_id(draft.id):
            raise InvalidInput("that id cannot be kept", ID_HINT)

    def _born(self, draft: Draft, operation: Operation) -> Memory:
        if named := entities_from_text(draft.text):
            draft = replace(draft, entities=(*draft.entities, *named))
        if draft.source == "learned_comment" and not draft.key:
            draft = replace(draft, key=learned_key(draft.text))
        if origins := draft.source_ref.get("derived_from"):
            draft = replace(draft, trust=self._trust_of_origins(origins, draft.trust))
        born = memory_from_draft(draft, self._caller, draft.id or self._new_id(), operation.at, self._life_days)
        phase = self._phase
        if phase is None or not phase.number or born.raw or born.created_at < (phase.started_at or 0.0):
            return born
        return replace(born, born_in_phase=phase.number)

    def _trust_of_origins(self, ids: Any, claimed: int | None) -> int:
        """Return the lowest trust of the memories a draft is derived from; an unknown one counts as 0."""
        listed = ids if isinstance(ids, (list, tuple)) else [ids]
        found = [self._store.get(self._caller, str(id)) for id in listed]
        lowest = min((memory.trust if memory else 0 for memory in found), default=self._caller.trust)
        return lowest if claimed is None else min(lowest, claimed)

    def _vectors(self, memory: Memory) -> dict[str, dict[str, Any]]:
        """Embed a memory's text and situations; return the vector rows by text, none if the embedder fails."""
        texts = [embedded_text(memory.title, memory.text), *(situation.text for situation in memory.situations)]
        rows = self._embedding.rows(list(dict.fromkeys(texts)))
        return {row["text"]: row for row in rows or ()}

    def plain_terms(self) -> Terms:
        """Return the deduplication terms; the thresholds of [knowledge] apply in profile `knowledge` only."""
        knowledge = self._settings.knowledge
        if self._profile != "knowledge":
            return Terms(self._profile, phase=self._phase)
        judged = knowledge.validation_enabled
        return Terms(self._profile, knowledge.dedup_threshold, judge_meaning=judged, phase=self._phase)

    def _terms(self, memory: Memory, session: str) -> Terms:
        shown = frozenset(self._store.showings(self._caller, session))  # including what a compaction removed since
        terms = replace(self.plain_terms(), shown=shown)
        if memory.tier == "hive":
            from swarmlore.domain.policy.lifecycle import encounter_terms

            terms = replace(terms, encounters=encounter_terms(self._settings.knowledge))
        if self._settings.writer.kind == "none" or self._profile == "knowledge" or memory.raw:
            return terms
        if memory.auto_generated:  # many come at once and nobody waits: LLM calls are for texts a caller wrote
            return terms
        return self._advised(memory, terms)

    def _advised(self, memory: Memory, terms: Terms) -> Terms:
        """Ask the LLM about near-duplicates before the transaction; its advice counts only if none changed since."""
        from swarmlore.domain.language.similarity import jaccard_bigram

        near = neighbours_of(self._store, memory, memory.created_at)
        alike = [as_neighbour(memory, other, jaccard_bigram(memory.text, other.text)) for other in near]
        if not alike:
            return terms
        from swarmlore.models.llm import advise, budgeted_llm

        writer = partial(budgeted_llm, self._store, self._settings.writer, memory.created_at)
        advice: Decision | None = advise(writer, memory.text, memory.trust, alike)
        return replace(terms, advice=advice, advised_on=frozenset((other.id, other.version) for other in near))

    def _list_rejected(self, draft: Draft, refusal: Rejected, at: float) -> None:
        tier = draft.tier if draft.tier in ("agent", "swarm", "hive") else "swarm"
        rejection = Rejection(self._new_id(), draft.text[:2000], refusal.reason, refusal.layer, at)
        keep = self._settings.knowledge.rejected_max_entries
        self._store.reject(self._caller, tier, rejection, keep)

    @property
    def _profile(self) -> str:
        return self._settings.recall.profile

    # Vectors

    def _keep_vectors(self, memory: Memory, vectors: dict[str, dict[str, Any]]) -> bool:
        """Store the vectors that a memory waits for; return True if its text must now be compared with others.

        No fsync is needed: a vector lost in a power cut is still queued.
        """
        compare = False
        with self._store.engine.writing(durable=False):
            for seq, cue in self._store.waiting_of(memory.id):
                waiting = self._store.text_of(seq, cue)
                vector = vectors.get(waiting[0]) if waiting else None
                if vector is not None and self._store.put_vector(seq, cue, vector) and not cue and not memory.raw:
                    self._store.settle_later(seq)
                    compare = True
        return compare

    def _settle_now(self, result: Remembered, operation: Operation, terms: Terms) -> Remembered:
        """Compare a new memory with its neighbours at once if that is cheap, else leave it for a batch."""
        index = self._embedding.index()
        waiting = self._store.count_pending().get("settle", (0, 0))[0]
        if index is None or (len(index) > SETTLE_AT_ONCE_ROWS and waiting < SETTLE_BATCH):
            return result
        stored = self._settle(terms, {result.memory.id: operation}).get(result.memory.id)
        if stored is None or stored.outcome == "added":
            return result
        outcome, related = stored.outcome, stored.related
        return replace(result, outcome=outcome, memory=stored.memory, related=related, reason=stored.reason)

    def settle(self, acting: Callable[[], AbstractContextManager[object]] = nullcontext) -> int:
        """Compare every new vector with its neighbours; return how many. Other threads may run between batches."""
        total, count = 0, 1
        while count:
            with acting():
                count = len(self._settle(self.plain_terms(), {}))
            total += count
        return total

    def _settle(self, terms: Terms, own: Mapping[str, Operation]) -> dict[str, Stored]:
        """Compare a batch of new vectors and apply the decisions; return them by memory id.

        A memory without an entry in `own` gets an operation of its own, in the name of its author.
        """
        index = self._embedding.index()
        seqs = [row[0] for row in self._store.pending("settle", SETTLE_BATCH)]
        if index is None or not seqs:
            return {}
        near = self._nearest(seqs)
        results: dict[str, Stored] = {}
        durable = bool(own)  # a batch without a waiting caller is settled again if it is lost
        for start in range(0, len(seqs), SETTLE_AT_ONCE):  # other writers get their turn in between
            with self._store.engine.writing(durable=durable):
                waiting = self._unsettled()
                for seq in seqs[start : start + SETTLE_AT_ONCE]:
                    if (memory := self._take(seq) if seq in waiting else None) is not None:
                        with self._store.operation(own.get(memory.id) or self._settling(memory)) as operation:
                            results[memory.id] = self._settle_one(operation, seq, memory, near.get(seq, ()), terms)
        return results

    def _unsettled(self) -> set[int]:
        return {row[0] for row in self._store.pending("settle", 10 * SETTLE_BATCH)}

    def _take(self, seq: int) -> Memory | None:
        """Remove a row from the queue of vectors to compare, and return its memory."""
        self._store.settled(seq)
        return self._store.by_seqs([seq]).get(seq)

    def _settling(self, memory: Memory) -> Operation:
        author = Caller(memory.project, memory.owner, "worker", memory.trust)
        return replace(self._operation("settle"), caller=author)

    def _settle_one(
        self, operation: Operation, seq: int, memory: Memory, near: Sequence[tuple[int, float]], terms: Terms
    ) -> Stored:
        """Decide about a memory and its similar neighbours, where the newer of two texts corrects the older.

        Newer neighbours that were settled before this memory had its vector are applied to it afterwards.
        """
        if memory.raw or not memory.live or terms.profile == "knowledge":
            return Stored("added", memory)
        memories = self._store.by_seqs([other for other, _ in near])
        alike = [(place, memories[place], cosine) for place, cosine in near if place in memories]
        alike = [item for item in alike if item[1].live and not item[1].raw and in_force(item[1], operation.at)]
        older = [(other, cosine) for place, other, cosine in alike if place < seq]
        stored = settle(self._store, operation, memory, older, self._with_shown(operation.caller, memory, terms))
        waiting = self._unsettled()
        for place, newer, cosine in alike:
            now = self._store.by_seqs([seq]).get(seq)
            if place > seq and place not in waiting and now is not None and now.live:
                settle(self._store, operation, newer, [(now, cosine)], terms)
        return stored

    def _with_shown(self, caller: Caller, memory: Memory, terms: Terms) -> Terms:
        """Add the memories shown to the session a lesson was extracted from: repeating those confirms nothing."""
        session = memory.source_ref.get("session")
        if terms.shown or not memory.auto_generated or not isinstance(session, str):
            return terms
        return replace(terms, shown=frozenset(self._store.showings(caller, session)))

    def _nearest(self, seqs: Sequence[int]) -> dict[int, list[tuple[int, float]]]:
        """Return the most similar rows in each row's partition, with one matrix product per partition."""
        import numpy as np

        index = self._embedding.index()
        if index is None:
            return {}
        groups: dict[int, list[int]] = {}
        for seq in seqs:
            place = index.partition_of(seq)
            if place is not None:
                groups.setdefault(place, []).append(seq)
        found: dict[int, list[tuple[int, float]]] = {}
        for place, members in groups.items():
            queries = np.stack([vector for seq in members if (vector := index.vector(seq)) is not None])
            for seq, best in zip(members, index.similar(queries, place, LIKELY_SAME), strict=True):
                found[seq] = [(other, cosine) for other, cosine in best if other != seq]
        return found


def _cites_working_tree(draft: Draft) -> bool:
    """Return True for a lesson written now in this project, so that its text refers to the current working tree."""
    return draft.created_at is None and draft.source in LESSON_SOURCES and draft.source not in FROM_ELSEWHERE
