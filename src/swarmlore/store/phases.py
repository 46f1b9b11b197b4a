"""Phases of projects, and the memories they affect: queries over all rows find them, and only those are loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from swarmlore.domain.json_codec import memory_to_dict
from swarmlore.domain.records import RAW_SOURCES, Caller, Memory
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.database import Operation
from swarmlore.store.ledgers import Ledgers
from swarmlore.store.memories import shingle_rows

if TYPE_CHECKING:
    from typing import Any

PHASES_KEPT = 10_001  # most completed phases that an age is counted over
PAGE = 500
MANY = 1_000  # above this, index keys are deleted in one scan


@frozen
class PhaseRow:
    """A stored phase of a project; `ended` is 0 while it is open."""

    seq: int
    project: str
    number: int
    name: str
    kind: str
    started_at: float
    completed_at: float | None = None
    ended: int = 0
    note: str = ""
    by: str = ""


class PhaseStore(Ledgers):
    """The methods of `Store` for phases and for ageing, promotion and retirement of memories."""

    # Phases

    def open_phase(self, caller: Caller) -> PhaseRow | None:
        """Return the open phase of a project, or None."""
        rows = self.ask("open_phase", projects=self._own_names(caller.project))
        return PhaseRow(*rows[0]) if rows else None

    def phases(self, caller: Caller, limit: int = 20) -> list[PhaseRow]:
        """Return the phases of a project, newest first."""
        self.act_for(caller)
        return [PhaseRow(*row) for row in self.ask("list_phases", projects=self.names_of(caller.project), limit=limit)]

    def phases_like(self, caller: Caller, number: int, name: str) -> list[PhaseRow]:
        """Return the phases of a project with this number or name, newest first."""
        found = self.ask("phases_named", projects=self.names_of(caller.project), number=number, name=name)
        return [PhaseRow(*row) for row in found]

    def last_phase_number(self, caller: Caller) -> int:
        """Return the highest phase number of a project."""
        return int(self.ask("last_phase_number", projects=self.names_of(caller.project))[0][0])

    def announces_phases(self, caller: Caller, since: float) -> bool:
        """Return whether a phase longer than a day is open, or was completed since this time."""
        return bool(self.ask("announced_since", projects=self.names_of(caller.project), since=since))

    def add_phase(self, caller: Caller, number: int, name: str, kind: str, at: float) -> None:
        """Open a phase."""
        values = {"number": number, "name": name, "kind": kind, "started_at": at, "by": caller.agent}
        self.ask("add_phase", project=caller.project, **values)

    def end_phase(self, phase: PhaseRow, at: float) -> None:
        """Complete a phase; all memories created before age by one phase."""
        self.ask("end_phase", seq=phase.seq, at=at)

    def announce_phase(self, phase: PhaseRow) -> None:
        """Mark a phase from the plan as announced, so that the plan no longer ends it."""
        self.ask("announce_phase", seq=phase.seq)

    def drop_phase(self, phase: PhaseRow) -> None:
        """Delete an open phase; no memory has aged by it."""
        self.ask("drop_phase", seq=phase.seq)

    def note_refusal(self, caller: Caller, note: str) -> None:
        """Record for `doctor` why a sweep was refused; '' deletes the note."""
        projects = self.names_of(caller.project)
        self.ask("clear_phase_notes", projects=projects)
        if note:
            self.ask("note_phase", projects=projects, note=note)

    def refused_sweep(self, caller: Caller) -> str:
        """Return why the last sweep was refused, or ''."""
        self.act_for(caller)
        rows = self.ask("phase_notes", projects=self.names_of(caller.project))
        return str(rows[0][0]) if rows else ""

    # Memories

    def completed_phases(self, caller: Caller) -> list[int]:
        """Return the thresholds (`ended` numbers) of a project's completed phases, newest first."""
        projects = self.names_of(caller.project)
        return [int(row[0]) for row in self.ask("completed_phases", projects=projects, limit=PHASES_KEPT)]

    def count_lessons(self, partitions: Sequence[int]) -> int:
        """Return the number of live lessons."""
        return int(self.ask("count_lessons", partitions=list(partitions), raw=RAW_SOURCES)[0][0])

    def aged(
        self, partitions: Sequence[int], completed: Sequence[int], usual: int, todo: int
    ) -> list[tuple[int, int, float]]:
        """Return lessons that outlived their phases: (row, last renewal, confidence)."""
        asked = {"partitions": list(partitions), "raw": RAW_SOURCES, "thresholds": json.dumps(list(completed))}
        found = self.ask("aged_memories", **asked, usual=usual, todo=todo)
        return [(int(seq), int(renewed), float(confidence)) for seq, renewed, confidence in found]

    def rising(self, partitions: Sequence[int], sightings: int, born_before: float) -> list[Memory]:
        """Return lessons with enough sightings, or old enough, to be considered for promotion."""
        asked = {"partitions": list(partitions), "raw": RAW_SOURCES}
        return self.in_pages(self.ask("rising_memories", **asked, sightings=sightings, born_before=born_before))

    def oldest(self, partitions: Sequence[int], limit: int) -> list[Memory]:
        """Return the oldest live lessons that are not promoted."""
        return self.in_pages(self.ask("oldest_lessons", partitions=list(partitions), raw=RAW_SOURCES, limit=limit))

    def hive_bound(self, partitions: Sequence[int], born_before: float, limit: int) -> list[Memory]:
        """Return lessons that may be promoted to the hive and were not yet, newest first."""
        asked = {"partitions": list(partitions), "raw": RAW_SOURCES, "born_before": born_before, "limit": limit}
        return self.in_pages(self.ask("hive_bound", **asked))

    def came_by_file(self, ids: Sequence[str]) -> frozenset[str]:
        """Return those of the ids that a file added or changed; what these say about themselves is a claim."""
        return frozenset(str(row[0]) for row in self.ask("touched_by_files", ids=list(ids))) if ids else frozenset()

    def retire(self, operation: Operation, leaving: Sequence[tuple[Memory, str, str]]) -> None:
        """Archive or remove many memories, each given as read in this transaction, with action and reason."""
        if not leaving:
            return
        self.tell(operation)
        found = self.ask("rows_of_ids", ids=[before.id for before, *_ in leaving])
        rows = {str(id): int(seq) for seq, id in found}
        partitions = {before.id: self.partition_of(before) for before, *_ in leaving}
        archived = [rows[before.id] for before, action, _ in leaving if action == "archived"]
        removed = [rows[before.id] for before, action, _ in leaving if action != "archived"]
        self.ask("archive_memories", seqs=archived, at=operation.at)
        self.ask("hide_memories", seqs=removed, at=operation.at)
        self._drop_keys([before for before, *_ in leaving], rows, partitions)
        self._unindex_many(rows, partitions)
        self.ask_many("add_audit", [_audit_row(operation, item, partitions[item[0].id]) for item in leaving])

    def _drop_keys(self, leaving: Sequence[Memory], rows: Mapping[str, int], places: Mapping[str, int]) -> None:
        if len(leaving) > MANY:  # one scan of all keys is faster than computing the keys of each text
            self.ask("delete_shingles_of", partitions=sorted(set(places.values())), seqs=list(rows.values()))
            return
        keys = (shingle_rows(rows[memory.id], places[memory.id], memory) for memory in leaving)
        self.ask_many("delete_shingle", [key for listed in keys for key in listed])

    def _unindex_many(self, rows: Mapping[str, int], places: Mapping[str, int]) -> None:
        """Remove many memories from full text, entities, graph and situations, and mark their vectors as not live."""
        seqs = list(rows.values())
        self.ask("unindex_words", seqs=seqs)
        self.ask("delete_entities_of", seqs=seqs)
        self.unindex_graph(seqs)
        self.ask("unindex_cue", seqs=[int(row[-1]) for row in self.ask("situations_of", seqs=seqs)])
        for place in set(places.values()):
            mine = [row for id, row in rows.items() if places[id] == place]
            self.ask("turn_embeddings", seqs=mine, live=0, partition=place)

    def in_pages(self, rows: Sequence[tuple[int, ...]]) -> list[Memory]:
        """Load the memories of these rows, in their order."""
        seqs = [int(row[0]) for row in rows]
        found = self.by_row(seqs)
        return [found[seq] for seq in seqs if seq in found]

    def by_row(self, seqs: Sequence[int]) -> dict[int, Memory]:
        """Return memories by row number, loading any number of them in pages."""
        found: dict[int, Memory] = {}
        for start in range(0, len(seqs), PAGE):
            found |= self.by_seqs(seqs[start : start + PAGE])
        return found

    def accept_again(self, caller: Caller, ids: Sequence[str]) -> None:
        """Remove restored memories from the list of rejections."""
        self.ask("drop_rejections", ids=list(ids), partitions=self.visible(caller))


def _audit_row(operation: Operation, leaving: tuple[Memory, str, str], partition: int) -> dict[str, Any]:
    before, action, reason = leaving
    former = json.dumps(memory_to_dict(before), ensure_ascii=False)
    change = {"action": action, "reason": reason, "version": before.version + 1, "before": former}
    return {"operation": operation.id, "memory": before.id, "partition": partition, **change}
