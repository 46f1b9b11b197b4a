"""Command `mail`: messages between the agents of a project, and jobs that wait or were given up."""

from __future__ import annotations

import argparse

from swarmlore.cli.arguments import count, items
from swarmlore.cli.console import Console
from swarmlore.cli.render import mail
from swarmlore.cli.terminal import given_text
from swarmlore.domain.json_codec import plain
from swarmlore.domain.records import IMPORTANCES
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from swarmlore.lore import Lore


REDACTED = "[redacted:"
MAIL_EXAMPLES = (
    "swarmlore mail register --task 'the importer'",
    "swarmlore mail send --to bob --subject 'New schema' 'Run make schema first'",
    "swarmlore mail inbox",
    "swarmlore mail read 3f9c1e",
    "swarmlore mail dead",
)
MAIL_MIXED = True


def mail_arguments(parser: argparse.ArgumentParser) -> None:
    words = ", ".join(_ACTIONS)
    parser.add_argument("action", choices=tuple(_ACTIONS), metavar="ACTION", help=f"one of: {words}")
    parser.add_argument("what", nargs="?", default="", metavar="WHAT", help="the text of a message (- reads it from standard input), or an id")  # fmt: skip  # noqa: E501
    parser.add_argument("--to", action="append", metavar="AGENT", help="send: who gets it; may be repeated")
    parser.add_argument("--subject", metavar="TEXT", help="send: what it is about")
    parser.add_argument("--thread", metavar="NAME", help="send, inbox: the conversation it belongs to")
    parser.add_argument("--importance", choices=IMPORTANCES, metavar="WORD", help="send: " + ", ".join(IMPORTANCES))
    parser.add_argument("--ack-required", action="store_true", help="send: it asks to be acknowledged")
    parser.add_argument("--urgent", action="store_true", help="inbox: urgent ones only")
    parser.add_argument("--unread", action="store_true", help="inbox: what was not read, or not acknowledged as asked")
    parser.add_argument("--limit", type=count, metavar="N", help="inbox, sent, jobs, dead: at most so many")
    parser.add_argument("--all", action="store_true", help="dead: of all projects, for a person")
    parser.add_argument("--program", metavar="NAME", help="register: the program that the agent runs in")
    parser.add_argument("--model", metavar="NAME", help="register: its language model")
    parser.add_argument("--task", metavar="TEXT", help="register: what it is working on")


def run_mail(console: Console) -> int:
    action, options = _ACTIONS[console.args.action]
    _refuse_others(console.args, console.args.action, options)
    with console.open() as lore:
        return action(console, lore)


def _refuse_others(args: argparse.Namespace, action: str, options: tuple[str, ...]) -> None:
    """Raise InvalidInput if an option belongs to another action: ignored, it would look like a filter."""
    given = [name for name in _OPTIONS if getattr(args, name) and name not in options]
    if given and given[0] == "what":
        raise InvalidInput(f"mail {action} takes no word: {args.what[:80]!r}", f"as in: swarmlore mail {action}")
    if given:
        flag = "--" + given[0].replace("_", "-")
        known = ", ".join("--" + name.replace("_", "-") for name in options if name != "what") or "none"
        raise InvalidInput(f"mail {action} has no {flag}", f"its options: {known}")


def _register(console: Console, lore: Lore) -> int:
    own = console.args
    agent = lore.register(program=own.program or "", model=own.model or "", task=own.task or "")
    return console.show(lambda: {"agent": plain(agent)}, lambda page: mail.registered(agent, page))


def _agents(console: Console, lore: Lore) -> int:
    found = lore.agents()
    return console.show(lambda: {"agents": plain(found)}, lambda page: mail.agents(found, page))


def _send(console: Console, lore: Lore) -> int:
    own = console.args
    if not own.to:
        raise InvalidInput("nobody is named who should get it", "swarmlore mail send --to AGENT --subject TEXT TEXT")
    body = given_text([own.what])
    if not body.strip():
        raise InvalidInput("the message has no text", "swarmlore mail send --to AGENT --subject TEXT TEXT")
    facts = {"thread": own.thread or "", "importance": own.importance or "normal", "ack_required": own.ack_required}
    sent = lore.send(items(own.to), own.subject or "", body, **facts)
    hidden = max(0, (sent.subject + sent.body).count(REDACTED) - f"{own.subject}{body}".count(REDACTED))
    known = [agent.name for agent in lore.agents()]
    return console.show(
        lambda: {"message": plain(sent), "redacted": hidden}, lambda page: mail.sent(sent, known, hidden, page)
    )


def _inbox(console: Console, lore: Lore) -> int:
    own = console.args
    wanted = {"urgent_only": own.urgent, "unread_only": own.unread, "thread": own.thread or ""}
    found = lore.inbox(own.limit or 5, **wanted)
    total, urgent = lore.count_inbox(**wanted)
    return console.show(
        lambda: {"messages": plain(found), "total": total, "urgent": urgent},
        lambda page: mail.inbox(found, total, urgent, page),
    )


def _sent(console: Console, lore: Lore) -> int:
    found = lore.sent(console.args.limit or 20, console.args.what)
    return console.show(lambda: {"sent": plain(found)}, lambda page: mail.sent_ones(found, page))


def _read(console: Console, lore: Lore) -> int:
    found = lore.read(console.args.what)
    return console.show(lambda: {"message": plain(found)}, lambda page: mail.message(found, page))


def _ack(console: Console, lore: Lore) -> int:
    found = lore.ack(console.args.what)
    return console.show(lambda: {"message": plain(found)}, lambda page: mail.acked(found, page))


def _delete(console: Console, lore: Lore) -> int:
    found = lore.delete_mail(console.args.what)
    return console.show(lambda: {"message": plain(found)}, lambda page: mail.deleted(found, page))


def _jobs(console: Console, lore: Lore) -> int:
    found = lore.jobs(console.args.limit or 20)
    return console.show(lambda: {"jobs": plain(found)}, lambda page: mail.jobs(found, page))


def _dead(console: Console, lore: Lore) -> int:
    found = lore.dead_letters(console.args.limit or 20, all_projects=console.args.all)
    return console.show(lambda: {"dead_letters": plain(found)}, lambda page: mail.dead(found, page))


def _retry(console: Console, lore: Lore) -> int:
    job = lore.retry(console.args.what)
    return console.show(lambda: {"job": plain(job)}, lambda page: mail.retried(job, page))


def _discard(console: Console, lore: Lore) -> int:
    job = lore.discard(console.args.what)
    return console.show(lambda: {"job": plain(job)}, lambda page: mail.discarded(job, page))


_OPTIONS = (
    *("what", "to", "subject", "thread", "importance", "ack_required", "urgent", "unread", "limit"),
    *("program", "model", "task", "all"),
)
# Each action with its function and its options.
_ACTIONS: dict[str, tuple[Callable[[Console, Lore], int], tuple[str, ...]]] = {
    "register": (_register, ("program", "model", "task")),
    "agents": (_agents, ()),
    "send": (_send, ("what", "to", "subject", "thread", "importance", "ack_required")),
    "inbox": (_inbox, ("urgent", "unread", "thread", "limit")),
    "read": (_read, ("what",)),
    "ack": (_ack, ("what",)),
    "sent": (_sent, ("what", "limit")),
    "delete": (_delete, ("what",)),
    "jobs": (_jobs, ("limit",)),
    "dead": (_dead, ("limit", "all")),
    "retry": (_retry, ("what",)),
    "discard": (_discard, ("what",)),
}
