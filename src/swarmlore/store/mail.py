"""Messages between the agents of a project. Only its own agent reads an inbox."""

from __future__ import annotations

import contextlib
import json

from swarmlore.domain.language.similarity import normalize
from swarmlore.domain.records import Agent, Caller, Delivery, Message, Sent
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.store.jobs import Jobs
from swarmlore.store.memories import from_json

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Row

ERASED = "[erased]"
DAY_S = 86_400.0
UNREAD_TIMES = 4  # unread messages are kept this many times longer than read ones


class Mails(Jobs):
    """The methods of `Store` for agents and messages."""

    def put_agent(self, caller: Caller, agent: Agent, now: float) -> None:
        """Register an agent, so that others of its project can write to it."""
        self.act_for(caller)
        values = {name: getattr(agent, name) for name in ("name", "program", "model", "task")}
        with self.queueing():
            self.ask("put_agent", project=caller.project, **values, at=now)

    def agents(self, caller: Caller) -> list[Agent]:
        """Return the registered agents of the project, the most active first."""
        self.act_for(caller)
        return [Agent(*row) for row in self.ask("list_agents", projects=self.names_of(caller.project))]

    def add_message(self, caller: Caller, message: Message) -> None:
        """Put a message into each recipient's inbox; part of a transaction."""
        row = {name: getattr(message, name) for name in _ROW}
        row |= {"addressed": json.dumps(message.to, ensure_ascii=False), "ack_required": int(message.ack_required)}
        self.ask("add_message", project=caller.project, **row)
        self.prove("proof_message", id=message.id)
        common = {"message": message.id, "project": caller.project, "sender": message.sender}
        self.ask_many("add_recipient", [{**common, "agent": name} for name in message.to])
        self.ask("touch_agent", projects=[caller.project], name=caller.agent, at=message.sent_at)

    def inbox(self, caller: Caller, limit: int, *, urgent: bool, unread: bool, thread: str) -> list[Message]:
        """Return an agent's messages without their bodies, newest first."""
        found = self.ask("list_inbox", **self._wanted(caller, urgent, unread, thread), limit=limit)
        return [_message(row) for row in found]

    def count_inbox(self, caller: Caller, *, urgent: bool, unread: bool, thread: str) -> tuple[int, int]:
        """Return the number of matching messages, and how many of them are urgent and unread."""
        total, urgent_unread = self.ask("count_inbox", **self._wanted(caller, urgent, unread, thread))[0]
        return int(total), int(urgent_unread)

    def _wanted(self, caller: Caller, urgent: bool, unread: bool, thread: str) -> dict[str, Any]:
        return {**self._mail_of(caller), "urgent": int(urgent), "unread": int(unread), "thread": thread}

    def _mail_of(self, caller: Caller) -> dict[str, Any]:
        self.act_for(caller)
        return {"projects": self.names_of(caller.project), "agent": caller.agent}

    def messages_like(self, caller: Caller, ref: str) -> list[Message]:
        """Return up to two messages of an agent's inbox whose id starts or ends with `ref`."""
        return [_message(row) for row in self.ask("get_message", **self._mail_of(caller), ref=ref, last=ref + "~")]

    def sent(self, caller: Caller, limit: int, ref: str = "") -> list[Sent]:
        """Return the messages an agent sent, newest first, with their deliveries."""
        rows = self.ask("list_sent", **self._mail_of(caller), ref=ref, last=ref + "~", limit=limit)
        messages = [_message((*row, None, None)) for row in rows]
        by_message: dict[str, list[Delivery]] = {}
        for id, *rest in self.ask("deliveries", messages=[message.id for message in messages]) if messages else ():
            by_message.setdefault(id, []).append(Delivery(*rest))
        return [Sent(message, tuple(by_message.get(message.id, ()))) for message in messages]

    def read_message(self, caller: Caller, id: str, now: float, *, ack: bool = False) -> None:
        """Mark a message as read by an agent or, with `ack`, as acknowledged."""
        self.act_for(caller)
        with self.engine.queueing():
            self.ask("ack_message" if ack else "read_message", id=id, agent=caller.agent, at=now)

    def erase_words(self, caller: Caller, text: str) -> None:
        """Erase a text from waiting jobs, so that it is not learned again, and from the caller's mail and outcomes;
        part of a transaction. It is matched by its words, as a lesson is not stored as it was said."""
        words = normalize(text)
        if not words:
            return
        self.act_for(caller)
        with self.working():
            for id, body, error in self.ask("held_by_jobs", **self._whose_jobs(caller)):
                held = from_json(body)
                kept, kept_error = _without(held, text, words), _without(error, text, words)
                if (kept, kept_error) != (held, error):
                    self.ask("change_job", id=id, body=json.dumps(kept, ensure_ascii=False), error=kept_error)
        for id, *texts in self.ask("held_by_mail", **self._mail_of(caller)):
            kept = [_without(part, text, words) for part in texts]
            if kept != texts:
                self.ask("change_message", id=id, **dict(zip(("subject", "body", "thread"), kept, strict=True)))

        for id, task, more in self.ask("held_by_outcomes", **self._whose_jobs(caller)):
            fields = from_json(more)
            kept = _without({"task": task, "more": fields}, text, words)
            if kept != {"task": task, "more": fields}:
                self.ask("change_outcome", id=id, task=kept["task"], more=json.dumps(kept["more"], ensure_ascii=False))

    def prune_mail(self, caller: Caller, now: float, days: float) -> None:
        """Delete this agent's old sent messages, read ones sooner than unread ones; part of a transaction."""
        before, long_before = now - days * DAY_S, now - UNREAD_TIMES * days * DAY_S
        self.ask("prune_mail", **self._mail_of(caller), before=before, long_before=long_before)

    def delete_message(self, caller: Caller, id: str, *, everywhere: bool) -> None:
        """Delete a message from one inbox, or with `everywhere` from all."""
        self.act_for(caller)
        with self.engine.queueing():
            self.ask("drop_message", id=id) if everywhere else self.ask("drop_received", id=id, agent=caller.agent)

    def drop_origin(self, caller: Caller, origin: str, *, erase: bool) -> None:
        """Delete the jobs that would learn from a session, message or outcome that is taken back; with `erase` also the
        message. Part of a transaction."""
        self.act_for(caller)
        with self.working():
            for id, body, _ in self.ask("held_by_jobs", **self._whose_jobs(caller)):
                held = from_json(body)
                if origin in (held.get("session"), held.get("mail"), held.get("recorded")):
                    self.ask("drop_job", id=id)
        if erase:
            found = self.ask("held_by_mail", **self._mail_of(caller))
            for id in [id for id, *_ in found if id == origin]:
                self.ask("drop_message", id=id)

    def count_mail(self, caller: Caller) -> tuple[int, int]:
        """Return the number of an agent's messages, and how many of them are unread."""
        found = self.ask("count_mail", **self._mail_of(caller))[0]
        return int(found[0]), int(found[1])


def _without(value: Any, text: str, words: str) -> Any:
    """Return a JSON value without a text: replace literal occurrences, erase lines with its normalised words."""
    if isinstance(value, dict):
        return {name: _without(item, text, words) for name, item in value.items()}
    if isinstance(value, list):
        return [_without(item, text, words) for item in value]
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            held = json.loads(value)
            kept = _without(held, text, words)
            return value if kept == held else json.dumps(kept, ensure_ascii=False)
    if words not in normalize(value):
        return value
    lines = value.replace(text, ERASED).split("\n")
    left = "\n".join(ERASED if words in normalize(line) else line for line in lines)
    return ERASED if words in normalize(left) else left


_ROW = ("id", "sender", "subject", "body", "thread", "importance", "sent_at")


def _message(row: Row) -> Message:
    id, sender, to, subject, body, thread, importance, ack_required, *times = row
    return Message(id, sender, tuple(from_json(to)), subject, body, thread, importance, bool(ack_required), *times)
