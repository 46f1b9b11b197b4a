"""What mail and the worker show to people."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.records import Agent, Job, Message
from swarmlore.surfaces.page import Page, ago, clean, hang, many, one_line, table, when

if TYPE_CHECKING:
    from swarmlore.worker.supervising import Tally

SHOWN = 40  # characters of an agent's name in a list
_COLOURS = {"urgent": "red", "high": "yellow"}
CATCHER = "memory-catcher"  # listens always


def registered(agent: Agent, page: Page) -> str:
    return f"{page.paint('bold', clean(agent.name))} can be written to."


def agents(found: Sequence[Agent], page: Page) -> str:
    if not found:
        return "Nobody has registered in this project yet: swarmlore mail register"
    lines = []
    for agent in found:
        about = ", ".join(clean(part) for part in (agent.program, agent.model, agent.task) if part)
        said = f"{about}  " if about else ""
        lines.append(f"{page.paint('cyan', clean(agent.name))}  {said}" + page.paint("dim", _active(agent, page)))
    return "\n".join(lines)


def _active(agent: Agent, page: Page) -> str:
    return f"active {ago(agent.active_at, page.now)}"


def sent(message: Message, known: Collection[str], page: Page) -> str:
    to = ", ".join(clean(name) for name in message.to)
    lines = [f"{page.paint('bold', message.id)} sent to {to}."]
    if strange := [name for name in message.to if name not in known and name != CATCHER]:
        words = ", ".join(clean(name) for name in strange)
        lines.append(page.paint("dim", f"Not registered yet: {words}. It waits for them."))
    return "\n".join(lines)


def inbox(found: Sequence[Message], page: Page) -> str:
    if not found:
        return "Nothing here."
    return "\n".join(_entry(message, page) for message in found)


def _entry(message: Message, page: Page) -> str:
    mark = " " if message.read_at else "*"
    importance = message.importance
    urgent = f" {page.paint(_COLOURS[importance], importance)}" if importance in _COLOURS else ""
    waits = " (asks for an ack)" if message.ack_required and message.acked_at is None else ""
    who = one_line(message.sender, SHOWN)
    head = f"{mark} {page.paint('cyan', message.id)}{urgent} {who}: "
    dim = page.paint("dim", f"  {ago(message.sent_at, page.now)}")
    return head + one_line(message.subject, 0) + waits + dim


def message(found: Message, page: Page) -> str:
    """A whole message; its text is indented, so that none of its lines can pass for ours."""
    facts = [
        ("from", clean(found.sender)),
        ("to", clean(", ".join(found.to))),
        ("sent", when(found.sent_at, page.now)),
        ("thread", clean(found.thread)),
        ("importance", found.importance if found.importance != "normal" else ""),
        ("asks", f"to be acknowledged: swarmlore mail ack {found.id}" if _wants_ack(found) else ""),
    ]
    lines = [page.paint("bold", clean(found.subject)), *table(facts, page)]
    return "\n".join([*lines, "", hang("    ", found.body, page, 4)] if found.body else lines)


def _wants_ack(message: Message) -> bool:
    return message.ack_required and message.acked_at is None


def acked(found: Message, page: Page) -> str:
    return f"{page.paint('bold', found.id)} is taken care of: {one_line(found.subject, 0)}"


def dead(found: Sequence[Job], page: Page) -> str:
    """Jobs that were given up, and how to go on."""
    if not found:
        return "No job was given up."
    lines = []
    for job in found:
        about = page.paint("dim", f"  {many(job.attempts, 'try', 'tries')}, queued {ago(job.queued_at, page.now)}")
        lines.append(f"{page.paint('cyan', job.id)}  {clean(job.kind)} for {clean(job.agent or 'nobody')}{about}")
        lines.append(hang("    ", job.error or "nothing was said", page, 4))
    hint = "Once more: swarmlore mail retry ID. Never again: swarmlore mail discard ID"
    return "\n".join([*lines, page.paint("dim", hint)])


def queued(job: Job, page: Page) -> str:
    return f"{page.paint('bold', job.id)} waits for the worker: {clean(job.kind)}"


def retried(job: Job, page: Page) -> str:
    return f"{page.paint('bold', job.id)} waits for the worker again."


def discarded(job: Job, page: Page) -> str:
    return f"{page.paint('bold', job.id)} is gone."


def worked(tally: Tally, _: Page) -> str:
    failed = f", {many(tally.failed, 'try', 'tries')} failed: swarmlore mail dead" if tally.failed else ""
    return f"{many(tally.done, 'job')} done{failed}."
