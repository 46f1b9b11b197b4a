"""Memories that come from files: each passes the gate as an import and is merged with what is known under its id.

A line is a record with an identity of its own, and it was compared with its neighbours where it was written. So it is
not compared with other texts here: two stores that exchange lines would each decide otherwise, and lose both texts.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache

from swarmlore.config import Settings
from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.gate import GateRejection, pass_gate, profile_of, scrub_text, scrub_value, without_record
from swarmlore.domain.policy.merge import (
    FILE_TRUST,
    QUARANTINE,
    STANDING,
    Version,
    applied,
    merge,
    ordered,
    published,
    settled,
    with_claims,
    with_file_standing,
)
from swarmlore.domain.records import Caller, Citation, Confirmation, Draft, Memory, Situation
from swarmlore.errors import Conflict, InvalidInput, Rejected
from swarmlore.exchange.knowledge_format import derived_id
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.project import PERSON, may_change

if TYPE_CHECKING:
    from typing import Any


RISEN = ("established", "promoted")
COUNTED = "retrieval_outcomes"


def as_own(version: Version, caller: Caller) -> Version:
    """A version as its sender may say it."""
    memory = version.memory
    memory = replace(memory, trust=min(memory.trust, caller.trust))
    if caller.leads:
        owner = caller.agent if memory.owner.rpartition("/")[2] == PERSON else memory.owner
        return replace(version, memory=replace(memory, owner=owner))
    return replace(version, memory=_of_a_worker(memory, caller))


def _of_a_worker(memory: Memory, caller: Caller) -> Memory:
    extra = {name: value for name, value in memory.extra.items() if name != COUNTED}
    filed = with_file_standing(memory, "import", caller.agent)
    return replace(filed, project="", max_phases=None, extra=extra)


def under_another_id(version: Version, caller: Caller) -> Version:
    """What was sent under an id that is taken where its sender cannot see. That it is taken is nobody's business, so it
    is not refused; the same line has the same other id each time."""
    memory = version.memory
    place = f"{caller.project}\n{caller.agent}\n{memory.tier}"
    return replace(version, memory=replace(memory, id=derived_id(place, memory.id)))


def keeping(version: Version, known: Memory) -> Version:
    """The same about a memory that is there: what its sender could not say stays as it is known."""
    if version.gone:
        return version
    memory = version.memory
    counted = {COUNTED: known.extra[COUNTED]} if COUNTED in known.extra else {}
    kept = {name: getattr(known, name) for name in (*STANDING, "max_phases", "project") if name != "status"}
    risen = memory.status == "candidate" and known.status in RISEN
    kept["status"] = known.status if risen else memory.status
    return replace(version, memory=replace(memory, **kept, extra={**memory.extra, **counted}))


def is_settled(local: Memory | None, version: Version) -> bool:
    """Whether somebody decided about a memory what its sender cannot take back by sending it once more."""
    if local is None or version.gone:
        return False
    return local.forgotten_at is not None or local.status == "quarantined"


SKEW_S = 300.0  # how far two clocks may differ before a time counts as one of the future
REASON_CHARS = 500
PERSONS_TRUST = 3
WORD_CHARS = 64
NOT_YOURS = "only its author, a lead or a person can change this memory"
A_PERSONS = "a file does not change what a person said here"
FOREIGN_ID = "this id is not one of this project's shared memories"
NOT_OF_THE_HIVE = "this id belongs to a memory that is not one of the hive"
_BESIDE_THE_DRAFT = ("owner", "project", "superseded_by", "supersedes", "confirmed_by", "citations", "situations")
NUL = "holds NUL characters"
_UNCHECKED = ("owner", "project", "superseded_by", "supersedes", "key", "source_ref", "extra")  # by layer 2 of the gate
_FROM_GATE = ("text", "title", "tags", "entities", "category", "key", "scope", "source_ref")


class Refused(Exception):
    """A record that may not come in; its words say why, and what the gate said, if it was the gate."""

    def __init__(self, reason: str, by_gate: GateRejection | None = None) -> None:
        super().__init__(reason)
        self.by_gate = by_gate

    @property
    def reason(self) -> str:
        return str(self.args[0])


@frozen
class Admitted:
    """A version that may be taken in, and how many secrets had to be taken out of it."""

    version: Version
    redacted: int = 0


class Admission:
    """The door for records of one tier, in the name of one caller."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        settings: Settings,
        tier: str,
        project_name: str,
        *,
        source: str = "ledger",
        raw: bool = False,
        sent: bool = False,
    ) -> None:
        """`source` is where the records come from. A ledger is written by all who may push to it; an import, by nobody
        known, does not change the memories of others. `raw` lets in raw material, too. `sent`: the caller sent the
        lines and answers for them."""
        self._source = source
        self._strict = source != "ledger"
        self._sent = sent
        self._profile = settings.recall.profile
        self._raw = raw
        self._store = store
        self._caller = caller
        self._settings = settings
        self._tier = tier
        self._name = project_name

    @property
    def rejections_kept(self) -> int:
        return self._settings.knowledge.rejected_max_entries

    @property
    def _is_own_alone(self) -> bool:
        """Whether the lines are words of somebody who may say nothing in the name of others."""
        return self._sent and not self._caller.leads

    @property
    def _foreign(self) -> str:
        return NOT_OF_THE_HIVE if self._tier == "hive" else FOREIGN_ID

    def partitions(self) -> list[int]:
        """Where its rows are."""
        return self._store.visible(self._caller, (self._tier,))

    def told(self, memory: Memory, *, situations: bool = False) -> Version:
        """A stored memory as its line says it."""
        return published(memory, self._name, situations=situations)

    def admit(self, version: Version, now: float) -> Admitted:
        """Pass one version through the gate; raises Refused."""
        memory = version.memory
        if memory.tier != self._tier:
            raise Refused(f"a memory of tier {memory.tier} does not belong here")
        if memory.raw and not self._raw:
            raise Refused("raw material does not belong here")
        if any(_holds_nul(getattr(memory, name)) for name in _UNCHECKED):
            raise Refused(NUL)
        version = _not_of_the_future(version, now)
        if self._sent:
            version = as_own(version, self._caller)
        try:
            gathered = _scrubbed(version.memory)
            if version.gone:
                gathered = replace(gathered, tags=tuple(map(scrub_text, gathered.tags)))
                return Admitted(settled(replace(version, memory=ordered(gathered))))
            return self._through_the_gate(gathered)
        except (Rejected, InvalidInput) as refusal:
            raise Refused(refusal.message, refusal if isinstance(refusal, GateRejection) else None) from None

    def _through_the_gate(self, memory: Memory) -> Admitted:
        knowledge = self._settings.knowledge
        profile = profile_of(memory.extra, self._profile)
        passed = pass_gate(_draft(memory), profile=profile, validate=knowledge.validation_enabled)
        clean = {name: getattr(passed.draft, name) for name in _FROM_GATE}
        clean["extra"] = without_record(scrub_value(memory.extra))
        if any(getattr(memory, name) != value for name, value in clean.items()):
            memory = ordered(replace(memory, **clean))
        if passed.quarantine and memory.status != "quarantined":
            memory = _quarantined(memory, passed.quarantine)
        return Admitted(Version(memory), len(passed.redacted) + ("[redacted:" in str(clean["extra"])))

    def known(self, ids: Sequence[str]) -> tuple[dict[str, Memory], set[str]]:
        """The rows that have these ids, and those of the ids that belong elsewhere."""
        mine = self.partitions()
        places = self._store.partitions_of(ids)
        foreign = {id for id, place in places.items() if place not in mine}
        return self._store.by_ids(mine, [id for id in places if id not in foreign]), foreign

    def take_in(
        self, operation: Operation, versions: Iterable[Version], anybodys: Container[str] = ()
    ) -> list[tuple[str, str]]:
        """Merge admitted versions with what is stored, inside a transaction; returns what became of each: added,
        updated, removed, known, or why it was refused (with a mark in front). `anybodys` are ids that also a strict
        door may change."""
        several = list(versions)
        ids = list(dict.fromkeys(version.memory.id for version in several))
        rows, foreign = self.known(ids)
        erased = self._store.erased_at([id for id in ids if id not in rows])
        done = []
        for version in several:
            id = version.memory.id
            if id in foreign:
                done.append(self._take_elsewhere(operation, version))
                continue
            anyones = id in anybodys
            if self._is_own_alone and not anyones and is_settled(rows.get(id), version):
                done.append(("known", ""))
                continue
            strict = self._strict and (not anyones or self._is_own_alone)
            done.append(self._take_one(operation, version, rows, erased.get(id, 0.0), strict))
        return done

    def _take_elsewhere(self, operation: Operation, version: Version) -> tuple[str, str]:
        """What comes under an id that belongs to another place."""
        if not self._sent:
            return ("refused", self._foreign)
        other = under_another_id(version, self._caller)
        rows, foreign = self.known([other.memory.id])
        if foreign:
            return ("refused", self._foreign)
        return self._take_one(operation, other, rows, 0.0, self._strict, again=False)

    def _take_one(
        self,
        operation: Operation,
        version: Version,
        rows: dict[str, Memory],
        erased_at: float,
        strict: bool,
        *,
        again: bool = True,
    ) -> tuple[str, str]:
        id = version.memory.id
        local = rows.get(id)
        if local is None:
            if version.gone or (erased_at and erased_at >= version.memory.updated_at):
                return ("known", "deleted")
            try:
                rows[id] = self._store.put(
                    operation, self._fresh(version.memory, operation.at), reason=operation.reason
                )
            except Conflict:
                return self._take_elsewhere(operation, version) if again else ("refused", self._foreign)
            self._store.arrived(id)
            return ("added", "")
        if local.raw and not self._raw:
            return ("refused", self._foreign)
        return self._merge_into(operation, local, version, rows, strict)

    def _merge_into(
        self, operation: Operation, local: Memory, version: Version, rows: dict[str, Memory], strict: bool
    ) -> tuple[str, str]:
        told = self.told(local, situations=bool(version.memory.situations))
        merged = merge(told, keeping(version, told.memory) if self._is_own_alone else version)
        if merged == told:
            return ("known", "")
        after = self.settle(local, merged)
        if after == local:
            return ("known", "")
        protected = local.owner or local.trust > FILE_TRUST
        if strict and protected and not may_change(self._caller, local):
            return ("refused", NOT_YOURS)
        if strict and local.trust >= PERSONS_TRUST:
            return ("refused", A_PERSONS)
        gone = merged.gone and local.forgotten_at is None
        action = "forgotten" if gone else "merged"
        rows[local.id] = self._store.revise(operation, local, after, action, operation.reason)
        return ("removed" if gone else "updated", "")

    def settle(self, local: Memory, merged: Version) -> Memory:
        """A stored memory after a merge with records of this source."""
        return applied(local, merged, self._source, self._owner)

    @property
    def _owner(self) -> str:
        """Who may change what comes in: the agent that brings it. A ledger and a person's import belong to nobody, so
        that no file is shown as a person's words."""
        return "" if self._source == "ledger" or self._caller.role == PERSON else self._caller.agent

    def _fresh(self, memory: Memory, now: float) -> Memory:
        created_at = memory.created_at or now
        filed = with_file_standing(memory, self._source, self._owner)
        return replace(
            with_claims(filed, memory),
            project=(memory.project if self._tier == "hive" else "") or self._caller.project,
            created_at=created_at,
            updated_at=memory.updated_at or created_at,
        )


def _draft(memory: Memory) -> Draft:
    names = ("text", "title", "kind", "category", "tags", "entities", "tier", "scope", "confidence", "status")
    more = ("source", "source_ref", "key", "trust", "id", "auto_generated")
    return Draft(**{name: getattr(memory, name) for name in (*names, *more)})


def _quarantined(memory: Memory, reason: str) -> Memory:
    marks = {"original_status": memory.status, "quarantine_reason": reason[:REASON_CHARS]}
    extra = {**memory.extra, **QUARANTINE, **marks, "quarantined_at": iso(memory.updated_at)}
    return replace(memory, status="quarantined", extra=extra)


def _not_of_the_future(version: Version, now: float) -> Version:
    """Times to come are taken for now: else a line of the year 9999 would win for ever."""

    memory = version.memory
    gathered = [item.at for item in memory.confirmed_by] + [item.at for item in memory.situations]
    if max(version.deleted_at, memory.created_at, memory.updated_at, *gathered) <= now:
        return version

    def held(at: float) -> float:
        return at if at <= now + SKEW_S else now

    return replace(
        version,
        deleted_at=held(version.deleted_at),
        memory=replace(
            memory,
            created_at=held(memory.created_at),
            updated_at=held(memory.updated_at),
            confirmed_by=tuple(replace(item, at=held(item.at)) for item in memory.confirmed_by),
            situations=tuple(replace(item, at=held(item.at)) for item in memory.situations),
        ),
    )


def _scrubbed(memory: Memory) -> Memory:
    """The texts that a draft does not carry, cleaned and redacted like all others."""
    if not any(getattr(memory, name) for name in _BESIDE_THE_DRAFT):
        return memory
    scrubbed = replace(
        memory,
        owner=_scrubbed_text(memory.owner)[:128],
        project=_scrubbed_text(memory.project),
        superseded_by=_scrubbed_text(memory.superseded_by)[:128],
        supersedes=tuple(_scrubbed_text(id)[:128] for id in memory.supersedes),
        confirmed_by=tuple(
            Confirmation(_scrubbed_text(c.where), c.at, _scrubbed_text(c.by)) for c in memory.confirmed_by
        ),
        citations=tuple(map(_scrubbed_citation, memory.citations)),
        situations=tuple(Situation(scrub_text(s.text), _scrubbed_text(s.via), s.at) for s in memory.situations),
    )
    return memory if scrubbed == memory else ordered(scrubbed)


def _scrubbed_citation(item: Citation) -> Citation:
    path, span_hash, commit = map(_scrubbed_text, (item.path, item.span_hash, item.commit))
    return Citation(path, item.first_line, item.last_line, span_hash, commit)


def _holds_nul(value: Any) -> bool:
    """Whether a text in there has a character that no database of a team can hold."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any("\0" in str(key) or _holds_nul(item) for key, item in value.items())
    return isinstance(value, (list, tuple)) and any(map(_holds_nul, value))


def _scrubbed_text(text: str) -> str:
    return _scrubbed_word(text) if len(text) <= WORD_CHARS else scrub_text(text)


@lru_cache(4096)
def _scrubbed_word(text: str) -> str:
    """Names repeat from line to line of a file; each is looked at once."""
    return scrub_text(text)


def nothing() -> dict[str, Any]:
    names = ("added", "updated", "revived", "quarantined", "removed", "known", "forgotten", "refused", "redacted")
    return dict.fromkeys((*names, "linked", "private"), 0)
