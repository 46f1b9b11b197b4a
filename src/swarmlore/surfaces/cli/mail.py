"""mail: messages between the agents of a project, and the jobs that were given up."""

from __future__ import annotations

import argparse

from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.records import IMPORTANCES
from swarmlore.surfaces import render_mail
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.documents import plain
from swarmlore.surfaces.cli.parsing import count, items
from swarmlore.surfaces.cli.reading import given_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from swarmlore.lore import Lore

EXAMPLES = (
    "swarmlore mail register --task 'the importer'",
    "swarmlore mail send --to bob --subject 'New schema' 'Run make schema first'",
    "swarmlore mail inbox",
    "swarmlore mail read 01a1e05b",
    "swarmlore mail dead",
)
MIXED = True


def arguments(parser: argparse.ArgumentParser) -> None:
    words = ", ".join(_ACTIONS)
    parser.add_argument("action", metavar="ACTION", help=f"one of: {words}")
    parser.add_argument("what", nargs="?", default="", metavar="WHAT", help="the text of a message (- reads it from standard input), or an id")  # fmt: skip  # noqa: E501
    parser.add_argument("--to", action="append", metavar="AGENT", help="send: who gets it; may be repeated")
    parser.add_argument("--subject", default="", metavar="TEXT", help="send: what it is about")
    parser.add_argument("--thread", default="", metavar="NAME", help="send: the conversation it belongs to")
    parser.add_argument("--importance", default="normal", metavar="WORD", help="send: " + ", ".join(IMPORTANCES))
    parser.add_argument("--ack-required", action="store_true", help="send: it asks to be acknowledged")
    parser.add_argument("--urgent", action="store_true", help="inbox: urgent ones only")
    parser.add_argument("--unread", action="store_true", help="inbox: what was not read, or not acknowledged as asked")
    parser.add_argument("--limit", type=count, default=None, metavar="N", help="inbox, dead: at most so many")
    parser.add_argument("--program", default="", metavar="NAME", help="register: the program that the agent runs in")
    parser.add_argument("--model", default="", metavar="NAME", help="register: its language model")
    parser.add_argument("--task", default="", metavar="TEXT", help="register: what it is working on")


def run(desk: Desk) -> int:
    action = _ACTIONS.get(desk.args.action)
    if action is None:
        raise InvalidInput(f"mail {desk.args.action}", "one of: " + ", ".join(_ACTIONS))
    with desk.open() as lore:
        return action(desk, lore)


def _register(desk: Desk, lore: Lore) -> int:
    own = desk.args
    agent = lore.register(program=own.program, model=own.model, task=own.task)
    return desk.show(lambda: {"agent": plain(agent)}, lambda page: render_mail.registered(agent, page))


def _agents(desk: Desk, lore: Lore) -> int:
    found = lore.agents()
    return desk.show(lambda: {"agents": plain(found)}, lambda page: render_mail.agents(found, page))


def _send(desk: Desk, lore: Lore) -> int:
    own = desk.args
    if not own.to:
        raise InvalidInput("nobody is named who should get it", "swarmlore mail send --to AGENT --subject TEXT TEXT")
    body = given_text([own.what])
    facts = {"thread": own.thread, "importance": own.importance, "ack_required": own.ack_required}
    sent = lore.send(items(own.to), own.subject, body, **facts)
    known = {agent.name for agent in lore.agents()}
    return desk.show(lambda: {"message": plain(sent)}, lambda page: render_mail.sent(sent, known, page))


def _inbox(desk: Desk, lore: Lore) -> int:
    own = desk.args
    found = lore.inbox(own.limit or 5, urgent_only=own.urgent, unread_only=own.unread)
    return desk.show(lambda: {"messages": plain(found)}, lambda page: render_mail.inbox(found, page))


def _read(desk: Desk, lore: Lore) -> int:
    found = lore.read(desk.args.what)
    return desk.show(lambda: {"message": plain(found)}, lambda page: render_mail.message(found, page))


def _ack(desk: Desk, lore: Lore) -> int:
    found = lore.ack(desk.args.what)
    return desk.show(lambda: {"message": plain(found)}, lambda page: render_mail.acked(found, page))


def _dead(desk: Desk, lore: Lore) -> int:
    found = lore.dead_letters(desk.args.limit or 20)
    return desk.show(lambda: {"dead_letters": plain(found)}, lambda page: render_mail.dead(found, page))


def _retry(desk: Desk, lore: Lore) -> int:
    job = lore.retry(desk.args.what)
    return desk.show(lambda: {"job": plain(job)}, lambda page: render_mail.retried(job, page))


def _discard(desk: Desk, lore: Lore) -> int:
    job = lore.discard(desk.args.what)
    return desk.show(lambda: {"job": plain(job)}, lambda page: render_mail.discarded(job, page))


_ACTIONS: dict[str, Callable[[Desk, Lore], int]] = {
    "register": _register,
    "agents": _agents,
    "send": _send,
    "inbox": _inbox,
    "read": _read,
    "ack": _ack,
    "dead": _dead,
    "retry": _retry,
    "discard": _discard,
}
