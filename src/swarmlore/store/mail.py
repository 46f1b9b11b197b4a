"""Messages between the agents of a project, and who can be written to. An inbox is its agent's alone."""

from __future__ import annotations

import json

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.records import Agent, Caller, Message
from swarmlore.store.jobs import Jobs
from swarmlore.store.rows import from_json

if TYPE_CHECKING:
    from swarmlore.store.engine import Row


ERASED = "[erased]"


class Mails(Jobs):
    """Agents and messages."""

    def put_agent(self, caller: Caller, agent: Agent, now: float) -> None:
        """Let an agent be known to the others of its project."""
        self.act_for(caller)
        told = {name: getattr(agent, name) for name in ("name", "program", "model", "task")}
        with self.engine.queueing():
            self.ask("put_agent", project=caller.project, **told, at=now)

    def agents(self, caller: Caller) -> list[Agent]:
        """Who can be written to, the most active first."""
        self.act_for(caller)
        return [Agent(*row) for row in self.ask("list_agents", projects=self.names_of(caller.project))]

    def add_message(self, caller: Caller, message: Message) -> None:
        """Put a message into the inbox of each to whom it goes; part of a transaction."""
        row = {name: getattr(message, name) for name in _ROW}
        row |= {"addressed": json.dumps(message.to, ensure_ascii=False), "ack_required": int(message.ack_required)}
        self.ask("add_message", project=caller.project, **row)
        common = {"message": message.id, "project": caller.project, "sender": message.sender}
        self.ask_many("add_recipient", [{**common, "agent": name} for name in message.to])
        self.ask("touch_agent", projects=[caller.project], name=caller.agent, at=message.sent_at)

    def inbox(self, caller: Caller, *, urgent: bool, unread: bool, limit: int) -> list[Message]:
        """An agent's own messages without their bodies, newest first."""
        self.act_for(caller)
        asked = {"projects": self.names_of(caller.project), "agent": caller.agent}
        found = self.ask("list_inbox", **asked, urgent=int(urgent), unread=int(unread), limit=limit)
        return [_message(row) for row in found]

    def messages_like(self, caller: Caller, ref: str) -> list[Message]:
        """The one or two in an agent's inbox whose id begins like this."""
        self.act_for(caller)
        asked = {"projects": self.names_of(caller.project), "agent": caller.agent}
        return [_message(row) for row in self.ask("get_message", **asked, first=ref, last=ref + "~")]

    def read_message(self, caller: Caller, id: str, now: float, *, ack: bool = False) -> None:
        """Note that an agent has read a message, or that it has taken care of it."""
        self.act_for(caller)
        with self.engine.queueing():
            self.ask("ack_message" if ack else "read_message", id=id, agent=caller.agent, at=now)

    def erase_words(self, caller: Caller, text: str) -> None:
        """Take a text that is erased out of jobs that hold it, so that it is not learned again, and out of mail that
        the caller sees; part of a transaction."""
        if not text:
            return
        self.act_for(caller)
        self.ask("erase_from_mail", text=text, mark=ERASED)
        with self.working():
            self.ask("erase_from_jobs", text=json.dumps(text, ensure_ascii=False)[1:-1], mark=ERASED)

    def count_mail(self, caller: Caller) -> tuple[int, int]:
        """How many messages an agent has, and how many of them it has not read."""
        self.act_for(caller)
        found = self.ask("count_mail", projects=self.names_of(caller.project), agent=caller.agent)[0]
        return int(found[0]), int(found[1])


_ROW = ("id", "sender", "subject", "body", "thread", "importance", "sent_at")


def _message(row: Row) -> Message:
    id, sender, to, subject, body, thread, importance, ack_required, *times = row
    return Message(id, sender, tuple(from_json(to)), subject, body, thread, importance, bool(ack_required), *times)
