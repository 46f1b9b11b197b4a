"""Reflections, their proposals (additions to files), and what people approved."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from swarmlore.domain.language.similarity import normalize
from swarmlore.domain.records import Approval, Caller, Edit, Proposal, Reflection
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.store.mail import Mails
from swarmlore.store.memories import from_json

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Row

MOST_COMPARED = 2_000  # newest proposals of a project that a new one is compared with
FORGOTTEN = "forgotten by "
_ROW = ("id", "reflection", "number", "label", "route", "level", "state", "approval")
_REFLECTION = ("id", "at", "project", "agent", "session", "client", "source")
_EDIT = ("place", "path", "verb", "text", "heading", "facts")
_APPROVAL = ("id", "at", "project", "agent", "state")


class Proposals(Mails):
    """The methods of `Store` for reflections, proposals and approvals."""

    def put_reflection(self, reflection: Reflection) -> None:
        """Store a reflection with its proposals; part of a transaction."""
        self.ask("put_reflection", **{name: getattr(reflection, name) for name in _REFLECTION}, more=_more(reflection))
        for item in reflection.proposals:
            values = {name: getattr(item, name) for name in _ROW}
            who = {"project": reflection.project, "agent": reflection.agent}
            self.ask("put_proposal", **values, **who, more=_more(item))

    def reflections(self, caller: Caller, session: str = "", limit: int = 20, id: str = "") -> list[Reflection]:
        """Return reflections without their proposals, newest first."""
        found = self.ask("list_reflections", **self._whose(caller), session=session, limit=limit, id=id)
        return [_reflection(row) for row in found]

    def counted_reflection(self, caller: Caller, reflection: Reflection) -> None:
        """Mark a reflection as counted."""
        self.act_for(caller)
        with self.engine.writing():
            self.ask("change_reflection", id=reflection.id, more=_more(replace(reflection, counted=True)))

    def waiting_proposals(self, caller: Caller) -> int:
        """Return the number of proposals that wait for a decision, without those of low confidence."""
        return int(self.ask("waiting_proposals", **self._whose(caller))[0][0])

    def open_proposals(self, caller: Caller) -> list[Proposal]:
        """Return proposals that are undecided, or approved and not yet applied, by number."""
        return [_proposal(row) for row in self.ask("open_proposals", **self._whose(caller))]

    def proposals(
        self, caller: Caller, *, reflection: str = "", approval: str = "", limit: int = MOST_COMPARED
    ) -> list[Proposal]:
        """Return proposals in any state, newest first."""
        asked = {"reflection": reflection, "approval": approval, "limit": limit}
        return [_proposal(row) for row in self.ask("proposals_of", **self._whose(caller), **asked)]

    def change_proposals(self, changed: Iterable[Proposal]) -> None:
        """Store the new states of proposals; part of a transaction."""
        for item in changed:
            self._set(item)

    def count_proposals(self, caller: Caller) -> list[tuple[str, str, str, int]]:
        """Return (route, level, state, number of proposals)."""
        return [
            (str(a), str(b), str(c), int(many)) for a, b, c, many in self.ask("count_proposals", **self._whose(caller))
        ]

    # Approvals

    def put_approval(self, approval: Approval) -> None:
        """Store an approval or its progress; part of a transaction."""
        self.ask("put_approval", **{name: getattr(approval, name) for name in _APPROVAL}, more=_more(approval))

    def open_approvals(self, caller: Caller) -> list[Approval]:
        """Return approvals that are not fully applied, oldest first."""
        return [_approval(row) for row in self.ask("open_approvals", **self._whose(caller))]

    def approval(self, caller: Caller, id: str) -> Approval | None:
        """Return an approval by its id, or None."""
        found = self.ask("get_approval", **self._whose(caller), id=id)
        return _approval(found[0]) if found else None

    # Forgetting sessions

    def drop_origin(self, caller: Caller, origin: str, *, erase: bool) -> None:
        """Also erase what was proposed from a session, or mark open proposals as superseded."""
        super().drop_origin(caller, origin, erase=erase)
        asked = {**self._whose(caller), "session": origin}
        if erase:
            self.ask("drop_proposals_of_session", **asked)
            self.ask("drop_reflections_of_session", **asked)
            return
        for item in self.proposals_of(caller, origin):
            if item.state in ("pending", "prepared"):
                self._set(replace(item, state="superseded", reason=f"{FORGOTTEN}{item.state}"))

    def has_proposals(self, caller: Caller, session: str) -> bool:
        """Return whether anything was proposed from a session."""
        return bool(self.proposals_of(caller, session))

    def proposals_of(self, caller: Caller, session: str) -> list[Proposal]:
        """Return all proposals from a session, in any state."""
        return [_proposal(row) for row in self.ask("proposals_of_session", **self._whose(caller), session=session)]

    def offer_again_after(self, caller: Caller, forgetting: str) -> None:
        """Reopen the proposals that were superseded because their session was forgotten; part of a transaction."""
        rows = self.ask("get_operation", id=forgetting)
        session = str(rows[0][5]) if rows and rows[0][2] == "forget" else ""
        if not session:
            return
        for item in self.proposals_of(caller, session):
            if item.state == "superseded" and item.reason.startswith(FORGOTTEN):
                self._set(replace(item, state=item.reason.removeprefix(FORGOTTEN), reason=""))

    def _set(self, item: Proposal) -> None:
        state = {"state": item.state, "approval": item.approval}
        self.ask("change_proposal", id=item.id, **state, more=_more(item))

    def erase_words(self, caller: Caller, text: str) -> None:
        """Also delete whole proposals that contain the text, as their diffs and files contain it too."""
        super().erase_words(caller, text)
        words = normalize(text)
        if not words:
            return
        for item in self.proposals(caller):
            if words in normalize(f"{item.title}\n{item.text}\n{item.quote}\n{item.diff}"):
                self.ask("drop_proposal", id=item.id)


def _more(record: Any) -> str:
    """Encode the fields without a column of their own as JSON."""
    left_out = (*_ROW, *_REFLECTION, *_APPROVAL, "proposals") if not isinstance(record, Proposal) else _ROW
    values = {name: getattr(record, name) for name in record.__frozen_fields__ if name not in left_out}
    return json.dumps(_plain(values), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Edit):
        return {name: _plain(getattr(value, name)) for name in _EDIT}
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _proposal(row: Row) -> Proposal:
    values: dict[str, Any] = dict(zip(_ROW, row[:-1], strict=True))
    more = from_json(row[-1])
    edits = tuple(Edit(**edit) for edit in more.pop("edits", ()))
    return Proposal(**values, **more, edits=edits)


def _reflection(row: Row) -> Reflection:
    id, project, agent, session, client, at, source, more = row
    fields = from_json(more)
    fields["refused"] = tuple(fields.get("refused", ()))
    return Reflection(id, at, project, agent, session, client, source, **fields)


def _approval(row: Row) -> Approval:
    id, project, agent, at, state, more = row
    fields = from_json(more)
    fields["problems"] = tuple(fields.get("problems", ()))
    return Approval(id, at, project, agent, state, **fields)
