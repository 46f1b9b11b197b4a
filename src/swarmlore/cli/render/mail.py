"""What tokens look like to people. A token itself is shown once, when it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swarmlore.cli.layout import Page, ago, clean, hang, many, one_line, say, table, when
from swarmlore.domain.language.display import meant
from swarmlore.domain.records import Agent, Delivery, Job, Message, Sent, Token
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.server.worker.supervisor import Tally


ABOUT = 200  # characters of what a job is about
SHOWN = 40  # characters of an agent's name in a list
_COLOURS = {"urgent": "red", "high": "yellow"}
CATCHER, EXTRACT = "memory-catcher", "memory-catcher-extract"  # who listens always, and to what


def registered(agent: Agent, page: Page) -> str:
    return f"{page.paint('bold', clean(agent.name))} can be written to."


def agents(found: Sequence[Agent], page: Page) -> str:
    if not found:
        return "Nobody has registered in this project yet: swarmlore mail register"
    names = _column([one_line(agent.name, SHOWN) for agent in found])
    return "\n".join(_agent(agent, name, page) for agent, name in zip(found, names, strict=True))


def _agent(agent: Agent, name: str, page: Page) -> str:
    about = ", ".join(part for part in (agent.program, agent.model, agent.task) if part)
    active = f"active {ago(agent.active_at, page.now)}"
    return hang(f"{page.paint('cyan', name)}  ", f"{about}, {active}" if about else active, page, len(name) + 2)


def _column(texts: Sequence[str]) -> list[str]:
    width = max(map(len, texts), default=0)
    return [text.ljust(width) for text in texts]


def sent(message: Message, known: Sequence[str], hidden: int, page: Page) -> str:
    to = ", ".join(clean(name) for name in message.to)
    lines = [f"{page.paint('bold', message.handle)} sent to {to}."]
    if hidden:
        lines.append(
            say(f"{many(hidden, 'secret was', 'secrets were')} taken out before it was sent.", page, 0, "yellow")
        )
    if CATCHER in message.to and message.subject != EXTRACT:
        lines.append(say(f"{CATCHER} learns only from mail with the subject {EXTRACT}.", page, 0, "yellow"))
    strange = [name for name in message.to if name not in (*known, message.sender, CATCHER)]
    for name in strange:
        probably = meant(name, known)
        hint = f"; {probably}" if probably else ""
        lines.append(say(f"{name} has not registered yet{hint}. It waits for them.", page, 0, "dim"))
    return "\n".join(lines)


def inbox(found: Sequence[Message], total: int, urgent: int, page: Page) -> str:
    if not found:
        return "Nothing here."
    senders = _column([one_line(message.sender, SHOWN) for message in found])
    lines = [_entry(message, who, page) for message, who in zip(found, senders, strict=True)]
    if left := total - len(found):
        shown = sum(message.importance == "urgent" and message.read_at is None for message in found)
        some = f", {urgent - shown} of them urgent and not read" if urgent > shown else ""
        lines.append(say(f"{left} more{some}: --limit {total}", page, 0, "dim"))
    return "\n".join(lines)


def _entry(message: Message, who: str, page: Page) -> str:
    mark = " " if message.read_at else "*"
    importance = f"{message.importance}: " if message.importance in _COLOURS else ""
    thread = f" [{one_line(message.thread, SHOWN)}]" if message.thread else ""
    waits = " (asks for an ack)" if _wants_ack(message) else ""
    head = f"{mark} {page.paint('bold', message.handle)}  {page.paint('cyan', who)}  "
    text = f"{importance}{one_line(message.subject, 0)}{thread}{waits}, {ago(message.sent_at, page.now)}"
    return hang(head, text, page, len(message.handle) + len(who) + 6, _COLOURS.get(message.importance, ""))


def sent_ones(found: Sequence[Sent], page: Page) -> str:
    """What was written, and what became of it."""
    if not found:
        return "You have not written to anybody."
    if len(found) == 1 and found[0].message.body:
        return "\n".join([message(found[0].message, page), "", *_became(found[0], page)])
    return "\n".join(line for item in found for line in (_sent_one(item, page), *_became(item, page)))


def _sent_one(item: Sent, page: Page) -> str:
    head = f"{page.paint('bold', item.message.handle)}  "
    text = f"{one_line(item.message.subject, 0)}, {ago(item.message.sent_at, page.now)}"
    return hang(head, text, page, len(item.message.handle) + 2)


def _became(item: Sent, page: Page) -> list[str]:
    return [say(f"{one.agent}: {_state(one, item.message, page)}", page, 8, "dim") for one in item.deliveries]


def _state(one: Delivery, message: Message, page: Page) -> str:
    if one.acked_at is not None:
        return f"acknowledged {ago(one.acked_at, page.now)}"
    asked = ", not acknowledged" if message.ack_required else ""
    return f"read {ago(one.read_at, page.now)}{asked}" if one.read_at is not None else f"not read{asked}"


def message(found: Message, page: Page) -> str:
    """A whole message; its text is indented, so that none of its lines can pass for ours."""
    facts = [
        ("from", clean(found.sender)),
        ("to", clean(", ".join(found.to))),
        ("sent", when(found.sent_at, page.now)),
        ("thread", clean(found.thread)),
        ("importance", found.importance if found.importance != "normal" else ""),
        ("asks", f"to be acknowledged: swarmlore mail ack {found.handle}" if _wants_ack(found) else ""),
    ]
    lines = [page.paint("bold", clean(found.subject)), *table(facts, page)]
    return "\n".join([*lines, "", hang("    ", found.body, page, 4)] if found.body else lines)


def _wants_ack(message: Message) -> bool:
    return message.ack_required and message.acked_at is None


def deleted(found: Message, page: Page) -> str:
    return f"{page.paint('bold', found.handle)} is gone: {one_line(found.subject, 0)}"


def acked(found: Message, page: Page) -> str:
    return f"{page.paint('bold', found.handle)} is taken care of: {one_line(found.subject, 0)}"


def dead(found: Sequence[Job], page: Page) -> str:
    """Jobs that were given up, and how to go on."""
    if not found:
        return "No job was given up."
    lines = [line for job in found for line in _job(job, page)]
    hint = "Once more: swarmlore mail retry ID. Never again: swarmlore mail discard ID"
    return "\n".join([*lines, page.paint("dim", hint)])


def _job(job: Job, page: Page) -> list[str]:
    """Which job it is, what is in it as far as one may know, and what went wrong the last time."""
    tried = many(job.attempts, "try", "tries") if job.attempts else "not tried yet"
    now = ", at work" if job.state == "running" else ""
    head = f"{page.paint('bold', job.handle)}  "
    text = f"{job.kind} for {job.agent or 'nobody'}, {tried}, queued {ago(job.queued_at, page.now)}{now}"
    about = [say(one_line(what, ABOUT), page, 8) for what in (_about(job),) if what]
    return [
        hang(head, text, page, len(job.handle) + 2),
        *about,
        *([say(job.error, page, 8, "dim")] if job.error else []),
    ]


def _about(job: Job) -> str:
    """What would be lost with it."""
    told = job.body.get("outcome")
    outcome = told if isinstance(told, Mapping) else {}
    named = (outcome.get("summary"), outcome.get("bead_id"), outcome.get("task"), job.body.get("text"))
    session = job.body.get("session")
    listed = (*named, f"session {session}" if session else "")
    return next((text for text in listed if isinstance(text, str) and text.strip()), "")


def queued(job: Job, page: Page) -> str:
    return f"{page.paint('bold', job.handle)} waits for the worker: {clean(job.kind)}"


def retried(job: Job, page: Page) -> str:
    return f"{page.paint('bold', job.handle)} waits for the worker again."


def discarded(job: Job, page: Page) -> str:
    return f"{page.paint('bold', job.handle)} is gone."


def jobs(found: Sequence[Job], page: Page) -> str:
    if not found:
        return "Nothing waits."
    return "\n".join(line for job in found for line in _job(job, page))


def worked(tally: Tally, left: Mapping[str, int], page: Page) -> str:
    failed = f", {many(tally.failed, 'try', 'tries')} failed" if tally.failed else ""
    lines = [f"{many(tally.done, 'job')} done{failed}."]
    if waiting := left.get("waiting", 0) + left.get("running", 0):
        lines.append(
            say(f"{many(waiting, 'job waits', 'jobs wait')} for a later try: swarmlore mail jobs", page, 0, "dim")
        )
    if dead := left.get("dead", 0):
        lines.append(say(f"{many(dead, 'job was', 'jobs were')} given up: swarmlore mail dead", page, 0, "dim"))
    return "\n".join(lines)


def created(token: Token, secret: str, page: Page) -> str:
    until = f", until {when(token.expires_at, page.now)}" if token.expires_at is not None else ""
    who = f"{clean(token.agent)} ({token.role}) of {clean(token.project)}"
    return "\n".join(
        (
            f"Token {page.paint('bold', token.id)} for {who}{until}.",
            "",
            page.paint("bold", secret),
            "",
            "It is shown this once and kept nowhere. Its holder sends it with each request:",
            "  Authorization: Bearer swl_…",
        )
    )


def listed(found: Sequence[Token], now: float, page: Page) -> str:
    if not found:
        return "There are no tokens: swarmlore token create --agent NAME"
    rows = [_row(token, now) for token in found]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(_line(row, widths, page) for row in rows)


def _line(row: tuple[str, ...], widths: Sequence[int], page: Page) -> str:
    id, *rest = (text.ljust(width) for text, width in zip(row, widths, strict=True))
    return f"{page.paint('cyan', id)}  {'  '.join(rest)}".rstrip()


def _row(token: Token, now: float) -> tuple[str, ...]:
    used = f"used {ago(token.used_at, now)}" if token.used_at is not None else "never used"
    made = f"made {ago(token.created_at, now)}"
    names = (one_line(token.agent, SHOWN), token.role, one_line(token.project, SHOWN))
    return (token.id, *names, made, used, _state_of_token(token, now))


def _state_of_token(token: Token, now: float) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "" if token.holds(now) else "expired"


def revoked(token: Token, page: Page) -> str:
    return f"Token {page.paint('bold', token.id)} of {clean(token.agent)} lets nobody in any more."
