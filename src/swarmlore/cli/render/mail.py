"""Text of `mail`, `worker` and `token`: messages, jobs and access tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swarmlore.cli.layout import Page, ago, clean, hang, many, one_line, say, table, when
from swarmlore.domain.language.display import did_you_mean
from swarmlore.domain.records import Agent, Delivery, Job, Message, Sent, Token
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.server.worker.supervisor import Tally


ABOUT = 200  # characters of the content of a job
SHOWN = 40  # characters of an agent's name in a list
_COLOURS = {"urgent": "red", "high": "yellow"}
CATCHER, EXTRACT = "memory-catcher", "memory-catcher-extract"  # built-in recipient, and the subject it reads


def registered(agent: Agent, page: Page) -> str:
    """Render that an agent has registered."""
    return f"{page.paint('bold', clean(agent.name))} can be written to."


def agents(found: Sequence[Agent], page: Page) -> str:
    """Render the registered agents of the project with their task and last activity."""
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
    """Render a message that was sent, with the number of redacted secrets and unknown recipients."""
    to = ", ".join(clean(name) for name in message.to)
    lines = [f"{page.paint('bold', message.handle)} sent to {to}."]
    if hidden:
        lines.append(
            say(f"{many(hidden, 'secret was', 'secrets were')} taken out before it was sent.", page, 0, "yellow")
        )
    if CATCHER in message.to and message.subject != EXTRACT:
        lines.append(say(f"{CATCHER} learns only from mail with the subject {EXTRACT}.", page, 0, "yellow"))
    for name in (name for name in message.to if name not in (*known, message.sender, CATCHER)):
        probably = did_you_mean(name, known)
        hint = f"; {probably}" if probably else ""
        lines.append(say(f"{name} has not registered yet{hint}. It waits for them.", page, 0, "dim"))
    return "\n".join(lines)


def inbox(found: Sequence[Message], total: int, urgent: int, page: Page) -> str:
    """Render a line per message, and how many more there are."""
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
    """Render sent messages with the state of each delivery; a single one with its body."""
    if not found:
        return "You have not written to anybody."
    if len(found) == 1 and found[0].message.body:
        return "\n".join([message(found[0].message, page), "", *_deliveries(found[0], page)])
    return "\n".join(line for item in found for line in (_sent_one(item, page), *_deliveries(item, page)))


def _sent_one(item: Sent, page: Page) -> str:
    head = f"{page.paint('bold', item.message.handle)}  "
    text = f"{one_line(item.message.subject, 0)}, {ago(item.message.sent_at, page.now)}"
    return hang(head, text, page, len(item.message.handle) + 2)


def _deliveries(item: Sent, page: Page) -> list[str]:
    return [say(f"{to.agent}: {_state(to, item.message, page)}", page, 8, "dim") for to in item.deliveries]


def _state(delivery: Delivery, message: Message, page: Page) -> str:
    if delivery.acked_at is not None:
        return f"acknowledged {ago(delivery.acked_at, page.now)}"
    asked = ", not acknowledged" if message.ack_required else ""
    read = f"read {ago(delivery.read_at, page.now)}" if delivery.read_at is not None else "not read"
    return read + asked


def message(found: Message, page: Page) -> str:
    """Render a message in full; its body is indented, so that none of its lines can imitate our output."""
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
    """Render jobs that were given up, and how to retry or discard them."""
    if not found:
        return "No job was given up."
    lines = [line for job in found for line in _job(job, page)]
    hint = "Once more: swarmlore mail retry ID. Never again: swarmlore mail discard ID"
    return "\n".join([*lines, page.paint("dim", hint)])


def _job(job: Job, page: Page) -> list[str]:
    """Render a job with its state, the beginning of its content and its last error."""
    tried = many(job.attempts, "try", "tries") if job.attempts else "not tried yet"
    now = ", at work" if job.state == "running" else ""
    head = f"{page.paint('bold', job.handle)}  "
    text = f"{job.kind} for {job.agent or 'nobody'}, {tried}, queued {ago(job.queued_at, page.now)}{now}"
    lines = [hang(head, text, page, len(job.handle) + 2)]
    lines += [say(one_line(about, ABOUT), page, 8)] if (about := _about(job)) else []
    return [*lines, say(job.error, page, 8, "dim")] if job.error else lines


def _about(job: Job) -> str:
    """Return the part of a job's body that names its content: a summary, a task, a text or a session."""
    reported = job.body.get("outcome")
    outcome = reported if isinstance(reported, Mapping) else {}
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
    """Render the jobs that wait or run."""
    if not found:
        return "Nothing waits."
    return "\n".join(line for job in found for line in _job(job, page))


def worked(tally: Tally, left: Mapping[str, int], page: Page) -> str:
    """Render how many jobs a worker did, and how many wait or were given up."""
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
    """Render a new token with its secret, which is shown only now."""
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
    """Render tokens as a table without their secrets."""
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
