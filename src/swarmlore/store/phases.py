"""Phases of projects, and which memories they concern: found by statements over all rows, loaded only where due."""

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


PHASES_KEPT = 10_001  # completions that an age is counted over
PAGE = 500
MANY = 1_000  # memories that leave at once


@frozen
class PhaseRow:
    """One phase of a project as it is stored. `ended` is 0 while it goes on."""

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


class Lives(Ledgers):
    """What the life of memories needs from the rows."""

    # Phases

    def open_phase(self, caller: Caller) -> PhaseRow | None:
        """The phase that goes on in a project, if one does."""
        rows = self.ask("open_phase", projects=self._own_names(caller.project))
        return PhaseRow(*rows[0]) if rows else None

    def phases(self, caller: Caller, limit: int = 20) -> list[PhaseRow]:
        """The phases of a project, newest first."""
        self.act_for(caller)
        return [PhaseRow(*row) for row in self.ask("list_phases", projects=self.names_of(caller.project), limit=limit)]

    def phases_like(self, caller: Caller, number: int, name: str) -> list[PhaseRow]:
        """The phases of a project that have this number or this name, newest first."""
        found = self.ask("phases_named", projects=self.names_of(caller.project), number=number, name=name)
        return [PhaseRow(*row) for row in found]

    def last_phase_number(self, caller: Caller) -> int:
        return int(self.ask("last_phase_number", projects=self.names_of(caller.project))[0][0])

    def announces_phases(self, caller: Caller, since: float) -> bool:
        """Whether a phase that is more than a day goes on, or was completed since then."""
        return bool(self.ask("announced_since", projects=self.names_of(caller.project), since=since))

    def add_phase(self, caller: Caller, number: int, name: str, kind: str, at: float) -> None:
        values = {"number": number, "name": name, "kind": kind, "started_at": at, "by": caller.agent}
        self.ask("add_phase", project=caller.project, **values)

    def end_phase(self, phase: PhaseRow, at: float) -> None:
        """Complete a phase; all that was born before is one phase older."""
        self.ask("end_phase", seq=phase.seq, at=at)

    def announce_phase(self, phase: PhaseRow) -> None:
        """Let a phase of the plan count as announced: the plan does not end it any more."""
        self.ask("announce_phase", seq=phase.seq)

    def drop_phase(self, phase: PhaseRow) -> None:
        """Forget a phase that goes on; nothing has become older by it."""
        self.ask("drop_phase", seq=phase.seq)

    def note_refusal(self, caller: Caller, note: str) -> None:
        """Keep in mind, for `doctor`, that a sweep was refused; '' forgets it."""
        projects = self.names_of(caller.project)
        self.ask("clear_phase_notes", projects=projects)
        if note:
            self.ask("note_phase", projects=projects, note=note)

    def refused_sweep(self, caller: Caller) -> str:
        """Why the last sweep was refused, or ''."""
        self.act_for(caller)
        rows = self.ask("phase_notes", projects=self.names_of(caller.project))
        return str(rows[0][0]) if rows else ""

    # Memories

    def completed_phases(self, caller: Caller) -> list[int]:
        """The marks of a project's completed phases, newest first."""
        projects = self.names_of(caller.project)
        return [int(row[0]) for row in self.ask("completed_phases", projects=projects, limit=PHASES_KEPT)]

    def count_lessons(self, partitions: Sequence[int]) -> int:
        """How many live lessons there are."""
        return int(self.ask("count_lessons", partitions=list(partitions), raw=RAW_SOURCES)[0][0])

    def aged(
        self, partitions: Sequence[int], completed: Sequence[int], usual: int, todo: int
    ) -> list[tuple[int, int, float]]:
        """Lessons that outlived their phases: their rows, when they were last renewed, and how sure they are."""
        asked = {"partitions": list(partitions), "raw": RAW_SOURCES, "thresholds": json.dumps(list(completed))}
        found = self.ask("aged_memories", **asked, usual=usual, todo=todo)
        return [(int(seq), int(mark), float(sure)) for seq, mark, sure in found]

    def rising(self, partitions: Sequence[int], sightings: int, born_before: float) -> list[Memory]:
        """Lessons that were seen often enough, or are old enough, to be looked at for a step up."""
        asked = {"partitions": list(partitions), "raw": RAW_SOURCES}
        return self.in_pages(self.ask("rising_memories", **asked, sightings=sightings, born_before=born_before))

    def oldest(self, partitions: Sequence[int], limit: int) -> list[Memory]:
        """The oldest live lessons that are not promoted."""
        return self.in_pages(self.ask("oldest_lessons", partitions=list(partitions), raw=RAW_SOURCES, limit=limit))

    def hive_bound(self, partitions: Sequence[int], born_before: float, limit: int) -> list[Memory]:
        """Lessons that may have a route to the hive and were not carried there yet, the youngest first."""
        asked = {"partitions": list(partitions), "raw": RAW_SOURCES, "born_before": born_before, "limit": limit}
        return self.in_pages(self.ask("hive_bound", **asked))

    def came_by_file(self, ids: Sequence[str]) -> frozenset[str]:
        """Those that came in through a file or were changed by one: what they say of themselves is a claim."""
        return frozenset(str(row[0]) for row in self.ask("touched_by_files", ids=list(ids))) if ids else frozenset()

    def retire(self, operation: Operation, leaving: Sequence[tuple[Memory, str, str]]) -> None:
        """Take memories out of sight, many at once: each as it was read in this transaction, what becomes of it
        (archived or removed) and the reason."""
        if not leaving:
            return
        self._tell(operation)
        rows = self._rows_of([before for before, *_ in leaving])
        places = {before.id: self.partition_of(before) for before, *_ in leaving}
        archived = [rows[before.id] for before, action, _ in leaving if action == "archived"]
        removed = [rows[before.id] for before, action, _ in leaving if action != "archived"]
        self.ask("archive_memories", seqs=archived, at=operation.at)
        self.ask("hide_memories", seqs=removed, at=operation.at)
        self._drop_keys([before for before, *_ in leaving], rows, places)
        self._leave_indexes(rows, places)
        self.ask_many("add_audit", [_audit_row(operation, item, places[item[0].id]) for item in leaving])

    def _drop_keys(self, leaving: Sequence[Memory], rows: Mapping[str, int], places: Mapping[str, int]) -> None:
        if len(leaving) > MANY:  # one look at all keys is quicker than working out those of each text
            self.ask("delete_shingles_of", partitions=sorted(set(places.values())), seqs=list(rows.values()))
            return
        keys = (shingle_rows(rows[memory.id], places[memory.id], memory) for memory in leaving)
        self.ask_many("delete_shingle", [key for listed in keys for key in listed])

    def _leave_indexes(self, rows: Mapping[str, int], places: Mapping[str, int]) -> None:
        seqs = list(rows.values())
        self.ask("unindex_words", seqs=seqs)
        self.ask("delete_entities_of", seqs=seqs)
        self.unindex_graph(seqs)
        self.ask("unindex_cue", seqs=[int(row[-1]) for row in self.ask("situations_of", seqs=seqs)])
        for place in set(places.values()):
            mine = [row for id, row in rows.items() if places[id] == place]
            self.ask("turn_embeddings", seqs=mine, live=0, partition=place)

    def _rows_of(self, memories: Sequence[Memory]) -> dict[str, int]:
        found = self.ask("rows_of_ids", ids=[memory.id for memory in memories])
        return {str(id): int(seq) for seq, id in found}

    def in_pages(self, rows: Sequence[tuple[int, ...]]) -> list[Memory]:
        """The memories of these row numbers, in their order."""
        seqs = [int(row[0]) for row in rows]
        found = self.by_row(seqs)
        return [found[seq] for seq in seqs if seq in found]

    def by_row(self, seqs: Sequence[int]) -> dict[int, Memory]:
        """The same by their row numbers, however many they are."""
        found: dict[int, Memory] = {}
        for start in range(0, len(seqs), PAGE):
            found |= self.by_seqs(seqs[start : start + PAGE])
        return found

    def accept_again(self, caller: Caller, ids: Sequence[str]) -> None:
        """Take memories that came back off the list of what was refused."""
        self.ask("drop_rejections", ids=list(ids), partitions=self.visible(caller))


def _audit_row(operation: Operation, leaving: tuple[Memory, str, str], partition: int) -> dict[str, Any]:
    before, action, reason = leaving
    return {
        "operation": operation.id,
        "memory": before.id,
        "partition": partition,
        "action": action,
        "reason": reason,
        "version": before.version + 1,
        "before": json.dumps(memory_to_dict(before), ensure_ascii=False),
    }
