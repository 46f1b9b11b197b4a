"""Sessions, receipts (which memories an agent was shown), task outcomes and rejected texts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from swarmlore.domain.records import Caller, Memory, Outcome, Receipt, Rejection, Session, Shown
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.store.database import Operation, place_of
from swarmlore.store.memories import from_json, to_row
from swarmlore.store.search import Search

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Row

REJECTIONS_KEPT = 20
SEEN_S = 14 * 86_400.0  # how long an event id is kept, to skip an event that is read twice
_OUTCOME = ("id", "at", "session", "task", "score", "verdict")
_USED = ("cited", "applied", "shown")
_OUTCOME_MORE = (
    *("duration_ms", "errors", "retries", "files", "summary", "evaluation", "strategy", "criteria", "failure_mode"),
    *_USED,
    "told_before",
)


@frozen
class Showings:
    """How often a memory was shown, in how many sessions, when last, and how often it was cut for space."""

    times: int = 0
    sessions: int = 0
    last_at: float | None = None
    cut: int = 0


class SessionStore(Search):
    """The methods of `Store` for rejections, sessions, receipts and outcomes."""

    def reject(self, caller: Caller, tier: str, rejection: Rejection, keep: int = REJECTIONS_KEPT) -> None:
        """Record a rejected text, keeping the newest of a partition; the same id is listed once."""
        with self.operation(Operation(rejection.id, rejection.at, caller, "reject")):
            partition = self.partition_at(place_of(tier, caller.project, caller.agent))
            values = {name: getattr(rejection, name) for name in ("id", "layer", "at")}
            # A text may be rejected for its characters; PostgreSQL cannot store a NUL.
            words = {name: getattr(rejection, name).replace("\0", "\ufffd") for name in ("text", "reason")}
            self.ask("put_rejection", partition=partition, **values, **words)
            self.ask("trim_rejections", partition=partition, keep=keep)

    def rejections(self, caller: Caller, limit: int = REJECTIONS_KEPT) -> list[Rejection]:
        """Return the newest rejections the caller may see."""
        found = self.ask("list_rejections", partitions=self.visible(caller), limit=limit)
        return [Rejection(*row) for row in found]

    def put_session(self, caller: Caller, session: Session) -> None:
        """Store a session of the caller, or update it."""
        self.act_for(caller)
        values = {name: getattr(session, name) for name in ("id", "client", "cwd", "started_at", "ended_at")}
        with self.engine.writing():
            extra = json.dumps(dict(session.extra), ensure_ascii=False)
            self.ask("put_session", **values, project=caller.project, agent=caller.agent, extra=extra)

    def session(self, caller: Caller, id: str) -> Session | None:
        """Return one of the caller's sessions by its id."""
        self.act_for(caller)
        rows = self.ask("get_session", project=caller.project, agent=caller.agent, id=id)
        return _session(rows[0]) if rows else None

    def session_of(self, caller: Caller, named: str = "") -> str:
        """Return the session a caller acts in: the named one or, for an agent that names none, its newest open one."""
        if named or caller.role == "person" or not caller.agent:
            return named
        self.act_for(caller)
        rows = self.ask("open_session_of", projects=self._own_names(caller.project), agent=caller.agent)
        return str(rows[0][0]) if rows else ""

    def sessions(self, caller: Caller, limit: int = 20) -> list[Session]:
        """Return the caller's own sessions; a lead or a person gets the project's."""
        found = self.ask("list_sessions", **self._whose(caller), limit=limit)
        return [_session(row) for row in found]

    def open_sessions(self, since: float, limit: int = 500) -> list[Session]:
        """Return open sessions of any project, newest first; on a server only those the caller may see."""
        return [_session(row) for row in self.ask("open_sessions", since=since, limit=limit)]

    def clients(self, caller: Caller) -> dict[str, tuple[int, float]]:
        """Return the number of sessions per client and the start of the newest, over all projects; on a server over the
        caller's own.

        Neither names nor projects are returned: that a client reports at all is no secret on its own machine.
        """
        self.act_for(caller)
        return {str(client): (int(count), float(newest)) for client, count, newest in self.ask("clients_seen")}

    def seen(self, caller: Caller, id: str, at: float, again_after_s: float) -> bool:
        """Return whether an event was processed: ever, or within `again_after_s` before or after `at`."""
        self.act_for(caller)
        found = self.ask("last_seen", id=id, project=caller.project, agent=caller.agent)
        return bool(found) and (not again_after_s or abs(at - float(found[0][0])) < again_after_s)

    def digested(self, caller: Caller, id: str, at: float, session: Session | None, now: float) -> None:
        """Record an event as processed, together with the session it changed, in one transaction."""
        old = min(at, now) - SEEN_S  # an event from a clock that is ahead must not expire the others
        with self.engine.writing():
            self.act_for(caller)
            self.ask("see_event", id=id, project=caller.project, agent=caller.agent, at=at)
            self.ask("forget_seen", project=caller.project, agent=caller.agent, before=old)
            if session is not None:
                self.put_session(caller, session)

    def put_receipt(self, caller: Caller, receipt: Receipt) -> None:
        """Record one context block, or why none was given. Agents wait for this, so it survives a crash of the process
        but not a power cut."""
        self.act_for(caller)
        names = ("id", "at", "session", "trigger", "cue", "chars", "tokens", "reason", "headroom")
        values = {name: getattr(receipt, name) for name in names}
        with self.engine.writing(durable=False):
            seq = self.ask("add_receipt", **values, project=caller.project, agent=caller.agent)[0][0]
            if receipt.shown:
                self.ask("count_shown", ids=[item.memory for item in receipt.shown])
            items = [(item, 0) for item in receipt.shown] + [(item, 1) for item in receipt.cut]
            fields = ("memory", "handle", "score", "why")
            rows = [
                {"receipt_seq": seq, "place": place, "cut": cut, **{name: getattr(item, name) for name in fields}}
                for place, (item, cut) in enumerate(items)
            ]
            self.ask_many("add_receipt_item", rows)

    def receipts(self, caller: Caller, session: str = "", limit: int = 20) -> list[Receipt]:
        """Return receipts, newest first: an agent's own, or all of the project for a lead or a person."""
        visible = {"partitions": self.visible(caller)}
        rows = self.ask("list_receipts", **self._whose(caller), **visible, session=session, limit=limit)
        items: dict[tuple[int, int], list[Shown]] = {}
        for seq, memory, handle, score, cut, why in self.ask(
            "receipt_items", seqs=[row[0] for row in rows], **visible, agent=caller.agent
        ):
            items.setdefault((seq, cut), []).append(Shown(memory, handle, score, why))
        return [_receipt(row, tuple(items.get((row[0], 0), ())), tuple(items.get((row[0], 1), ()))) for row in rows]

    def _whose(self, caller: Caller) -> dict[str, Any]:
        """Return the parameters that select an agent's own rows, or all of the project for a lead or a person."""
        self.act_for(caller)
        return {"projects": self.names_of(caller.project), "agent": caller.agent, "every": int(caller.leads)}

    def shown_in(self, caller: Caller, session: str) -> frozenset[str]:
        """Return the ids shown to the caller and its subagents in a session since its last compaction."""
        if not session:
            return frozenset()
        self.act_for(caller)
        rows = self.ask("shown_in_session", project=caller.project, session=session)
        return frozenset(str(id) for id, whose in rows if _family(whose) == _family(caller.agent))

    def showings(self, caller: Caller, session: str, agent: str | None = None) -> dict[str, dict[str, str]]:
        """Return, by memory, the cues it was shown for in a session and their triggers; with `agent`, only for that
        agent and its subagents."""
        if not session:
            return {}
        self.act_for(caller)
        found: dict[str, dict[str, str]] = {}
        rows = self.ask("showings_in_session", projects=self.names_of(caller.project), session=session)
        for id, cue, trigger, whose in rows:
            if agent is None or _family(whose) == _family(agent):
                found.setdefault(str(id), {})[str(cue)] = str(trigger)
        return found

    def showings_of(self, caller: Caller, id: str) -> Showings:
        """Return how often one memory was shown or cut, as far as the caller may see."""
        found = self.ask("showings_of_memory", **self._whose(caller), id=id)[0]
        return Showings(int(found[0] or 0), int(found[1] or 0), found[2], int(found[3] or 0))

    def shown_among(self, caller: Caller, ids: Sequence[str]) -> set[str]:
        """Return which of these memories were ever shown, as far as the caller may know."""
        self.act_for(caller)
        return {str(row[0]) for row in self.ask("shown_among", ids=list(ids))} if ids else set()

    def put_outcome(self, caller: Caller, outcome: Outcome, operation: Operation) -> None:
        """Record how a task ended, within the transaction that credits its memories."""
        self.tell(operation)
        values = {name: getattr(outcome, name) for name in _OUTCOME}
        more = json.dumps({name: getattr(outcome, name) for name in _OUTCOME_MORE}, ensure_ascii=False)
        who = {"project": caller.project, "agent": caller.agent}
        self.ask("add_outcome", **values, **who, success=int(outcome.success), more=more)

    def outcomes(self, caller: Caller, session: str = "", limit: int = 20) -> list[Outcome]:
        """Return outcomes, newest first: an agent's own, or all of the project for a lead or a person."""
        found = self.ask("list_outcomes", **self._whose(caller), session=session, limit=limit)
        return self._without_private(caller, [_outcome(row) for row in found])

    def outcome(self, caller: Caller, id: str) -> Outcome | None:
        """Return the outcome that an operation recorded, if the caller may see it."""
        found = self._without_private(
            caller, [_outcome(row) for row in self.ask("get_outcome", **self._whose(caller), id=id)]
        )
        return found[0] if found else None

    def _without_private(self, caller: Caller, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Remove the ids of memories that the caller may not see from the outcomes of other agents."""
        others = [item for item in outcomes if item.agent != caller.agent]
        ids = list({id for item in others for name in _USED for id in getattr(item, name)})
        rows = self.ask("seqs_of_ids", ids=ids, partitions=self.visible(caller)) if ids else ()
        visible = {str(row[1]) for row in rows}
        kept = {
            item.id: {name: tuple(id for id in getattr(item, name) if id in visible) for name in _USED}
            for item in others
        }
        return [replace(item, **kept.get(item.id, {})) for item in outcomes]

    def strategies(self, caller: Caller) -> list[str]:
        """Return the names of strategies in the outcomes the caller may see."""
        return [str(row[0]) for row in self.ask("strategies_told", **self._whose(caller)) if row[0]]

    def erase_strategy(self, caller: Caller, strategy: str) -> None:
        """Erase the name of a strategy from the outcomes the caller may see."""
        self.ask("erase_strategy", **self._whose(caller), strategy=strategy)

    def was_credited(self, caller: Caller, session: str, task: str) -> bool:
        """Return whether this task of this session was credited already; False if both are unnamed."""
        whose = {"projects": self.names_of(caller.project), "agent": caller.agent}
        return bool((session or task) and self.ask("outcome_credited", **whose, session=session, task=task))

    def count_outcomes(self, memory: Memory) -> None:
        """Store the outcome counters of a memory, without an audit row or a new version."""
        self.ask("set_more", id=memory.id, more=to_row(memory, 0)["more"])

    def counts(self, caller: Caller) -> list[tuple[str, str, str, str, str, int, int]]:
        """Count the visible rows per (tier, status, kind, category, source): all of them, then the forgotten ones."""
        return [tuple(row) for row in self.ask("count_by", partitions=self.visible(caller))]


def _family(agent: str) -> str:
    """Return the parent agent's name: `claude` for its subagent `claude/reviewer`."""
    return str(agent).partition("/")[0]


def _session(row: Row) -> Session:
    id, client, project, agent, started_at, ended_at, cwd, extra = row
    return Session(id, client, project, agent, started_at, ended_at, cwd, from_json(extra))


def _outcome(row: Row) -> Outcome:
    id, at, project, agent, session, task, success, score, verdict, more = row
    more_fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in from_json(more).items()
    }
    return Outcome(id, at, bool(success), score, verdict, project, agent, session, task, **more_fields)


def _receipt(row: Row, shown: tuple[Shown, ...], cut: tuple[Shown, ...]) -> Receipt:
    """Build a receipt from its row and the items the caller may see; what would reveal hidden items is left out."""
    _, id, at, project, agent, session, trigger, cue, chars, tokens, reason, headroom, shown_count, cut_count = row
    if len(shown) < shown_count:  # items hidden from this caller: scale the length, which would reveal them
        chars, tokens = chars * len(shown) // shown_count, tokens * len(shown) // shown_count
    if (len(shown), len(cut)) != (shown_count, cut_count):  # and hide the cue, which may name a hidden memory
        cue = ""
    return Receipt(id, at, project, agent, session, trigger, cue, shown, cut, chars, tokens, reason, headroom)
