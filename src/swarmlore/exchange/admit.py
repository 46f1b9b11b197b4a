"""Admission of records from ledgers and imports: validation gate, trust limits, and merging by id.

A record was deduplicated where it was written, so it is not compared with other texts here. Otherwise two stores that
exchange lines could each drop the other's text and lose both.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache

from swarmlore.config import Settings
from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.gate import GateRejection, pass_gate, profile_of, scrub_text, scrub_value
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
from swarmlore.domain.policy.new_memory import without_reserved_keys
from swarmlore.domain.records import Caller, Citation, Confirmation, Draft, Memory, Situation
from swarmlore.errors import Conflict, InvalidInput, Rejected
from swarmlore.exchange.knowledge_format import derived_id
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.identity import PERSON, may_change

if TYPE_CHECKING:
    from typing import Any


RISEN = ("established", "promoted")
COUNTED = "retrieval_outcomes"


def as_sent_by(version: Version, caller: Caller) -> Version:
    """Limit a sent version to the trust and the owner that its sender may claim."""
    memory = version.memory
    memory = replace(memory, trust=min(memory.trust, caller.trust))
    if caller.leads:
        owner = caller.agent if memory.owner.rpartition("/")[2] == PERSON else memory.owner
        return replace(version, memory=replace(memory, owner=owner))
    return replace(version, memory=_by_worker(memory, caller))


def _by_worker(memory: Memory, caller: Caller) -> Memory:
    extra = {name: value for name, value in memory.extra.items() if name != COUNTED}
    filed = with_file_standing(memory, "import", caller.agent)
    return replace(filed, project="", max_phases=None, extra=extra)


def with_sender_id(version: Version, caller: Caller) -> Version:
    """Give a version whose id is taken by an invisible memory another id, derived from the sender and stable.

    A refusal would reveal that the id exists.
    """
    memory = version.memory
    place = f"{caller.project}\n{caller.agent}\n{memory.tier}"
    return replace(version, memory=replace(memory, id=derived_id(place, memory.id)))


def keep_known_standing(version: Version, known: Memory) -> Version:
    """Keep the stored values of fields that the sender of a version may not change."""
    if version.gone:
        return version
    memory = version.memory
    counted = {COUNTED: known.extra[COUNTED]} if COUNTED in known.extra else {}
    kept = {name: getattr(known, name) for name in (*STANDING, "max_phases", "project") if name != "status"}
    risen = memory.status == "candidate" and known.status in RISEN
    kept["status"] = known.status if risen else memory.status
    return replace(version, memory=replace(memory, **kept, extra={**memory.extra, **counted}))


def is_decided(local: Memory | None, version: Version) -> bool:
    """Return True if a memory was forgotten or quarantined, which sending it again must not revert."""
    if local is None or version.gone:
        return False
    return local.forgotten_at is not None or local.status == "quarantined"


SKEW_S = 300.0  # clock difference up to which a time does not count as future
REASON_CHARS = 500
PERSONS_TRUST = 3
WORD_CHARS = 64
NOT_YOURS = "only its author, a lead or a person can change this memory"
A_PERSONS = "a file does not change what a person said here"
FOREIGN_ID = "this id is not one of this project's shared memories"
NOT_OF_THE_HIVE = "this id belongs to a memory that is not one of the hive"
_BESIDE_THE_DRAFT = ("owner", "project", "superseded_by", "supersedes", "confirmed_by", "citations", "situations")
NUL = "holds NUL characters"
_UNCHECKED = ("owner", "project", "superseded_by", "supersedes", "key", "source_ref", "extra")  # gate layer 2 skips
_FROM_GATE = ("text", "title", "tags", "entities", "category", "key", "scope", "source_ref")


class Refused(Exception):
    """Raised if a record may not be imported, with the reason and the gate's rejection, if there is one."""

    def __init__(self, reason: str, by_gate: GateRejection | None = None) -> None:
        super().__init__(reason)
        self.by_gate = by_gate

    @property
    def reason(self) -> str:
        return str(self.args[0])


@frozen
class Admitted:
    """A version that may be imported, and how many secrets were redacted in it."""

    version: Version
    redacted: int = 0


class Admission:
    """Check records of one tier and merge them into the store, in the name of one caller."""

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
        """Set the rules: a `source` other than `ledger` has no known author and may not change others' memories.

        `raw` admits raw material too; `sent` means that the caller sent the lines and is accountable for them.
        """
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
    def _is_untrusted_sender(self) -> bool:
        """Whether the lines were sent by a caller who may not speak for other agents."""
        return self._sent and not self._caller.leads

    @property
    def _foreign(self) -> str:
        return NOT_OF_THE_HIVE if self._tier == "hive" else FOREIGN_ID

    def partitions(self) -> list[int]:
        """Return the partitions of this tier that the caller sees."""
        return self._store.visible(self._caller, (self._tier,))

    def told(self, memory: Memory, *, situations: bool = False) -> Version:
        """Convert a stored memory to the version that its line in the ledger would hold."""
        return published(memory, self._name, situations=situations)

    def admit(self, version: Version, now: float) -> Admitted:
        """Pass one version through the gate; raise Refused if it may not be imported."""
        memory = version.memory
        if memory.tier != self._tier:
            raise Refused(f"a memory of tier {memory.tier} does not belong here")
        if memory.raw and not self._raw:
            raise Refused("raw material does not belong here")
        if any(_holds_nul(getattr(memory, name)) for name in _UNCHECKED):
            raise Refused(NUL)
        version = _without_future_times(version, now)
        if self._sent:
            version = as_sent_by(version, self._caller)
        try:
            scrubbed = _scrubbed(version.memory)
            if version.gone:
                scrubbed = replace(scrubbed, tags=tuple(map(scrub_text, scrubbed.tags)))
                return Admitted(settled(replace(version, memory=ordered(scrubbed))))
            return self._through_the_gate(scrubbed)
        except (Rejected, InvalidInput) as refusal:
            raise Refused(refusal.message, refusal if isinstance(refusal, GateRejection) else None) from None

    def _through_the_gate(self, memory: Memory) -> Admitted:
        knowledge = self._settings.knowledge
        profile = profile_of(memory.extra, self._profile)
        passed = pass_gate(_draft(memory), profile=profile, validate=knowledge.validation_enabled)
        clean = {name: getattr(passed.draft, name) for name in _FROM_GATE}
        clean["extra"] = without_reserved_keys(scrub_value(memory.extra))
        if any(getattr(memory, name) != value for name, value in clean.items()):
            memory = ordered(replace(memory, **clean))
        if passed.quarantine and memory.status != "quarantined":
            memory = _quarantined(memory, passed.quarantine)
        return Admitted(Version(memory), len(passed.redacted) + ("[redacted:" in str(clean["extra"])))

    def known(self, ids: Sequence[str]) -> tuple[dict[str, Memory], set[str]]:
        """Return the rows with these ids in this tier, and the ids that are taken in other partitions."""
        mine = self.partitions()
        places = self._store.partitions_of(ids)
        foreign = {id for id, place in places.items() if place not in mine}
        return self._store.by_ids(mine, [id for id in places if id not in foreign]), foreign

    def take_in(
        self, operation: Operation, versions: Iterable[Version], anybodys: Container[str] = ()
    ) -> list[tuple[str, str]]:
        """Merge admitted versions into the store, inside a transaction.

        Return the outcome of each with a reason: added, updated, removed, known or refused. `anybodys` are ids of
        memories that may be changed for any owner.
        """
        versions = list(versions)
        ids = list(dict.fromkeys(version.memory.id for version in versions))
        rows, foreign = self.known(ids)
        erased = self._store.erased_at([id for id in ids if id not in rows])
        done = []
        for version in versions:
            id = version.memory.id
            if id in foreign:
                done.append(self._take_under_sender_id(operation, version))
                continue
            anyones = id in anybodys
            if self._is_untrusted_sender and not anyones and is_decided(rows.get(id), version):
                done.append(("known", ""))
                continue
            strict = self._strict and (not anyones or self._is_untrusted_sender)
            done.append(self._take_one(operation, version, rows, erased.get(id, 0.0), strict))
        return done

    def _take_under_sender_id(self, operation: Operation, version: Version) -> tuple[str, str]:
        """Store a sent version whose id is taken elsewhere under another id; refuse one from a file."""
        if not self._sent:
            return ("refused", self._foreign)
        other = with_sender_id(version, self._caller)
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
        """Add or merge one version; return its outcome and reason."""
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
                return self._take_under_sender_id(operation, version) if again else ("refused", self._foreign)
            self._store.arrived(id)
            return ("added", "")
        if local.raw and not self._raw:
            return ("refused", self._foreign)
        return self._merge_into(operation, local, version, rows, strict)

    def _merge_into(
        self, operation: Operation, local: Memory, version: Version, rows: dict[str, Memory], strict: bool
    ) -> tuple[str, str]:
        """Merge a version into a stored memory, unless the caller may not change that."""
        stored = self.told(local, situations=bool(version.memory.situations))
        merged = merge(stored, keep_known_standing(version, stored.memory) if self._is_untrusted_sender else version)
        if merged == stored:
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
        """Apply a merge with records of this source to a stored memory."""
        return applied(local, merged, self._source, self._owner)

    @property
    def _owner(self) -> str:
        """Owner of imported memories: the importing agent.

        Those of a ledger or a person's import have none, so that no file counts as a person's words.
        """
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


def _without_future_times(version: Version, now: float) -> Version:
    """Replace future times by now, or else a line dated in the year 9999 would win every merge."""
    memory = version.memory
    gathered = [item.at for item in memory.confirmed_by] + [item.at for item in memory.situations]
    if max(version.deleted_at, memory.created_at, memory.updated_at, *gathered) <= now:
        return version

    def limited(at: float) -> float:
        return at if at <= now + SKEW_S else now

    return replace(
        version,
        deleted_at=limited(version.deleted_at),
        memory=replace(
            memory,
            created_at=limited(memory.created_at),
            updated_at=limited(memory.updated_at),
            confirmed_by=tuple(replace(item, at=limited(item.at)) for item in memory.confirmed_by),
            situations=tuple(replace(item, at=limited(item.at)) for item in memory.situations),
        ),
    )


def _scrubbed(memory: Memory) -> Memory:
    """Redact the texts of a memory that are not part of a draft and so bypass the gate."""
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
    """Return True if a text in a value contains NUL, which PostgreSQL cannot store."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any("\0" in str(key) or _holds_nul(item) for key, item in value.items())
    return isinstance(value, (list, tuple)) and any(map(_holds_nul, value))


def _scrubbed_text(text: str) -> str:
    return _scrubbed_word(text) if len(text) <= WORD_CHARS else scrub_text(text)


@lru_cache(4096)
def _scrubbed_word(text: str) -> str:
    """Redact a short text; cached, since names repeat from line to line of a file."""
    return scrub_text(text)


def zero_counts() -> dict[str, Any]:
    """Return zero counts for the outcomes of an import."""
    names = ("added", "updated", "revived", "quarantined", "removed", "known", "forgotten", "refused", "redacted")
    return dict.fromkeys((*names, "linked", "private"), 0)
