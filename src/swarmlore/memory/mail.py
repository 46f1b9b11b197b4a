"""Mail between agents and jobs for the worker: validate, redact and store them durably.

Messages and jobs are untrusted data: control characters and secrets are removed, sizes are limited, and no instruction
in them is followed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence

from swarmlore.clients.transcripts import Turn, names_speakers, turns_of_text
from swarmlore.config import WorkerSettings
from swarmlore.domain.extraction.agent_findings import find_findings
from swarmlore.domain.extraction.summaries import MOST_CHARS, shorten_transcript
from swarmlore.domain.policy.gate import scrub_text, scrub_value
from swarmlore.domain.records import IMPORTANCES, JOB_KINDS, Agent, Caller, Job, Message, Sent, choose, json_values
from swarmlore.errors import Ambiguous, InvalidInput, NotAllowed, NotFound
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")


MOST_READ = 4_000_000  # characters of a report
MOST_TRANSCRIPT = 16_000  # characters; a longer one is cut
_HEAD, _TAIL = 60_000, 240_000  # characters read at both ends of a longer transcript


def readable(body: str) -> str:
    """Return a JSON task report redacted and with its transcript cut; return any other text unchanged."""
    try:
        report = (
            json.loads(body, parse_constant=lambda _: None, parse_float=_finite) if len(body) <= MOST_READ else None
        )
        if not isinstance(report, dict):
            return body
        if isinstance(text := report.get("transcript"), str):
            report["transcript"] = cut_transcript(text)
        return _to_json(scrub_value(report))
    except (ValueError, RecursionError):
        return body


def _finite(digits: str) -> float | None:
    return number if math.isfinite(number := float(digits)) else None


def _to_json(report: dict[str, Any]) -> str:
    text = json.dumps(report, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which only escaped JSON can hold
        return json.dumps(report)
    return text


def cut_transcript(text: str) -> str:
    """Cut the text of a transcript to its beginning, its end and the turns that may hold a lesson."""
    if len(text) <= MOST_TRANSCRIPT:
        return text
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n…\n{text[-_TAIL:]}"
    if not names_speakers(text):
        lines = (line for line in text.splitlines() if line.strip())
        parts = [Turn("assistant" if find_findings(line, overcame=True) else "user", line) for line in lines]
        return "\n".join(turn.text for turn in shorten_transcript(parts, MOST_CHARS))
    names = {"user": "User", "assistant": "Assistant"}
    return "\n".join(f"{names[turn.role]}: {turn.text}" for turn in shorten_transcript(turns_of_text(text), MOST_CHARS))


CATCHER, EXTRACT = "memory-catcher", "memory-catcher-extract"
MOST_BODY = 65_536  # bytes of a message
MOST_JOB = 262_144  # bytes of a job: a cut transcript and the facts about it
MOST_SUBJECT = 500
MOST_NAME = 128
MOST_TO = 50
MOST_LISTED = 1_000
MOST_DEPTH = 32
MOST_REF = 64
INBOX, SENT, DEAD = "swarmlore mail inbox", "swarmlore mail sent", "swarmlore mail dead"


class Mail:
    """Send and read mail, and queue, retry and discard jobs, for one caller."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        settings: WorkerSettings,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        folder: str,
    ) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._clock = clock
        self._new_id = new_id
        self._folder = folder

    def now(self) -> float:
        return round(self._clock(), 3)

    # Messages

    def register(self, program: str, model: str, task: str) -> Agent:
        """Register this agent with the project's other agents; empty fields keep their former value."""
        name = self._own_name()
        known = self._known(name) or Agent(name)
        facts = {"program": _line("program", program), "model": _line("model", model), "task": _line("task", task)}
        agent = replace(known, **{key: text for key, text in facts.items() if text})
        self._store.put_agent(self._caller, agent, self.now())
        return self._known(name) or known

    def _known(self, name: str) -> Agent | None:
        return next((agent for agent in self._store.agents(self._caller) if agent.name == name), None)

    def agents(self) -> list[Agent]:
        """Return the registered agents of the project."""
        return self._store.agents(self._caller)

    def send(self, to: Sequence[str], subject: str, body: str, facts: Mapping[str, Any]) -> Message:
        """Send a message; one to the memory-catcher queues its extraction job in the same transaction."""
        message = self._message(to, subject, body, facts)
        self._store.act_for(self._caller)
        with self._store.queueing():
            self._store.add_message(self._caller, message)
            self._store.prune_mail(self._caller, message.sent_at, self._settings.mail_days)
            if CATCHER in message.to and message.subject == EXTRACT:
                self.enqueue("extract", _extraction_job(message), f"mail:{message.id}")
        return message

    def _message(self, to: Sequence[str], subject: str, body: str, facts: Mapping[str, Any]) -> Message:
        names = (to,) if isinstance(to, str) else to
        if not isinstance(names, Sequence) or not 1 <= len(names) <= MOST_TO:
            raise InvalidInput("a message goes to one or more agents", f"name 1 to {MOST_TO} of them")
        importance, wants_ack = facts.get("importance", "normal"), facts.get("ack_required", False)
        if not isinstance(wants_ack, bool):
            raise InvalidInput(f"ack_required is {wants_ack!r}", "true or false")
        choose("importance", [importance], IMPORTANCES)
        text = scrub_text(_text("body", _shortened_report(names, subject, body), MOST_BODY))
        title = _line("subject", subject)
        if not (text.strip() or title):
            raise InvalidInput("the message is empty", "give it a subject or a text")
        return Message(
            self._new_id(),
            self._own_name(),
            tuple(dict.fromkeys(self.address(name) for name in names)),
            title or "(no subject)",
            text,
            _line("thread", facts.get("thread", "")),
            importance,
            wants_ack,
            self.now(),
        )

    def address(self, name: str) -> str:
        """Return the full name of a recipient; on a server, an agent of the same login needs no `LOGIN/` prefix."""
        given = _line("name of an agent", name, MOST_NAME)
        if not given:
            raise InvalidInput("the name of an agent is empty", "swarmlore mail agents lists who can be written to")
        login, slash, _ = self._caller.agent.partition("/")
        full = f"{login}/{given}" if slash and self._store.engine.remote and given != CATCHER else given
        if known := next((candidate for candidate in (name, given, full) if self._known(candidate) is not None), ""):
            return known
        if "*" in given or " " in given:
            raise InvalidInput(
                f"no agent is called {given!r}", "name each of them; swarmlore mail agents lists who can be written to"
            )
        return given if "/" in given else full

    def inbox(self, limit: int, wanted: Mapping[str, Any]) -> list[Message]:
        """Return messages to this agent that match the filters of `wanted`."""
        _check_limit(limit)
        self._own_name()
        return self._store.inbox(self._caller, limit, **_filters(wanted))

    def count_inbox(self, wanted: Mapping[str, Any]) -> tuple[int, int]:
        """Return how many messages match the filters of `wanted`, and how many of them are urgent and unread."""
        self._own_name()
        return self._store.count_inbox(self._caller, **_filters(wanted))

    def sent(self, limit: int, ref: str) -> list[Sent]:
        """Return the messages that this agent sent, without bodies, and who read them; with `ref`, only that one."""
        _check_limit(limit)
        self._own_name()
        if not ref:
            return [
                replace(item, message=replace(item.message, body="")) for item in self._store.sent(self._caller, limit)
            ]
        found = self._store.sent(self._caller, 2, _ref(ref, SENT))
        return [self._one(found, ref, "message that you sent", SENT, lambda item: item.message.id)]

    def read(self, ref: str, *, ack: bool = False) -> Message:
        """Return a message of the own inbox with its body, and mark it as read or, with `ack`, as acknowledged."""
        self._own_name()
        found = self._one(self._store.messages_like(self._caller, _ref(ref, INBOX)), ref, "message", INBOX, _id)
        self._store.read_message(self._caller, found.id, self.now(), ack=ack)
        return self._store.messages_like(self._caller, found.id)[0]

    def _own_name(self) -> str:
        if not self._caller.agent:
            raise NotAllowed("mail needs a name", "set SWARMLORE_AGENT to the name of the agent")
        return self._caller.agent

    # Jobs

    def enqueue(self, kind: str, body: Mapping[str, Any], key: str, *, again: bool = False) -> Job:
        """Queue a job for the worker; a key that was queued before is ignored unless `again` is set."""
        choose("kind", [kind], JOB_KINDS)
        if not isinstance(body, Mapping):
            raise InvalidInput("the body of a job is a mapping", "give texts, numbers, lists and mappings by name")
        if _depth(body) > MOST_DEPTH:
            raise InvalidInput("the body of the job is nested too deeply", f"at most {MOST_DEPTH} levels")
        clean = scrub_value(json_values(body))
        size = len(json.dumps(clean, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        if size > MOST_JOB:
            raise InvalidInput(f"the job is too large: {size} bytes", f"at most {MOST_JOB}; cut its longest text")
        who = {name: getattr(self._caller, name) for name in ("project", "agent", "role", "trust")}
        now = self.now()
        job = Job(self._new_id(), kind, clean, _line("key", key), **who, folder=self._folder, queued_at=now)
        return self._store.put_job(job, now, again=again)

    def ask_for(self, kind: str, key: str) -> None:
        """Queue a job without a body unless it waits already, as a hundred agents may ask for vectors all the time."""
        if not self._store.job_waits(self._caller, key, self._folder):
            self.enqueue(kind, {}, key, again=True)

    def once(self, job: Job, work: Callable[[], T], key: str, *, last: bool) -> T | None:
        """Run `work` for a job at most once, in one transaction with the check of its lease."""
        own = key or f"{job.id}@{job.queued_at:.3f}"
        return self._store.once(job, own, work, self._store.engine.now, self._settings.lease_s, last=last)

    def full(self) -> bool:
        """Return True if the queue reached its limit, so that no automatic job should be added."""
        most = self._settings.queue_limit
        return self._store.queue_length(most) >= most

    def delete(self, ref: str) -> Message:
        """Delete a message from the own inbox or, if this agent sent it, from every inbox."""
        name = self._own_name()
        sent = [item.message for item in self._store.sent(self._caller, 2, _ref(ref, INBOX))]
        got = self._store.messages_like(self._caller, _ref(ref, INBOX))
        found = self._one(list({item.id: item for item in (*sent, *got)}.values()), ref, "message", INBOX, _id)
        self._store.delete_message(self._caller, found.id, everywhere=found.sender == name)
        return found

    def jobs(self, limit: int) -> list[Job]:
        """Return waiting and running jobs, oldest first."""
        _check_limit(limit)
        return [self._shown(job) for job in self._store.open_jobs(self._caller, limit)]

    def dead_letters(self, limit: int, *, all_projects: bool) -> list[Job]:
        """Return jobs that were given up, newest first; those of all projects only for a person."""
        _check_limit(limit)
        if all_projects and self._caller.role != "person":
            raise NotAllowed("only a person can see all projects", "leave it to the person at the terminal")
        return [self._shown(job) for job in self._store.dead_jobs(self._caller, limit, everywhere=all_projects)]

    def _shown(self, job: Job) -> Job:
        """Remove body, key and quoted details of the error from a job that another agent queued."""
        own = job.agent == self._caller.agent and job.project in self._store.names_of(self._caller.project)
        return job if own else replace(job, body={}, key="", error=job.error.partition(":")[0])

    def retry(self, ref: str) -> Job:
        """Queue a given-up job again with a fresh count of attempts."""
        job = self._dead(ref)
        self._store.retry_job(self._caller, job.id, self.now())
        return replace(job, state="waiting", attempts=0)

    def discard(self, ref: str) -> Job:
        """Delete a given-up job for good."""
        job = self._dead(ref)
        self._store.discard_job(self._caller, job.id)
        return job

    def _dead(self, ref: str) -> Job:
        found = self._store.dead_like(self._caller, _ref(ref, DEAD))
        return self._shown(self._one(found, ref, "dead letter", DEAD, _id))

    @staticmethod
    def _one(found: Sequence[T], ref: str, what: str, list_them: str, id_of: Callable[[T], str]) -> T:
        """Return the only match of a reference, or the exact one; raise NotFound or Ambiguous otherwise."""
        if not found:
            raise NotFound(f"no {what} {ref!r}", f"{list_them} lists yours")
        exact = [item for item in found if id_of(item) == ref]
        if len(found) > 1 and not exact:
            fits = tuple(map(id_of, found))
            raise Ambiguous(f"{ref!r} fits several", f"give more of the id; {list_them} lists them", fits)
        return (exact or list(found))[0]


def _shortened_report(names: Sequence[str], subject: object, body: str) -> str:
    """Cut and redact a task report to the memory-catcher before its size is checked; return other bodies as is."""
    to = [name.strip() for name in names if isinstance(name, str)]
    if not isinstance(body, str) or CATCHER not in to or str(subject).split() != [EXTRACT]:
        return body
    return readable(body)


def _extraction_job(message: Message) -> dict[str, Any]:
    """Return the job body for a message to the memory-catcher: a task outcome if it is JSON, else plain text."""
    job: dict[str, Any] = {"mail": message.id, "from": message.sender, "outcome": {}}
    try:
        outcome = json.loads(message.body)
    except (ValueError, RecursionError):
        outcome = None
    if isinstance(outcome, dict) and _depth(outcome) <= MOST_DEPTH:
        return {**job, "outcome": outcome}
    return {**job, "text": message.body}


def _id(item: Message | Job) -> str:
    return item.id


def _filters(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filters of an inbox as arguments of the store."""
    thread = _line("thread", wanted.get("thread", ""))
    return {"urgent": bool(wanted["urgent_only"]), "unread": bool(wanted["unread_only"]), "thread": thread}


def _ref(ref: str, list_them: str) -> str:
    """Return a normalised id, or its beginning or end; raise InvalidInput unless it has letters, digits, hyphens."""
    if not isinstance(ref, str) or not ref.strip():
        raise InvalidInput("no id was given", f"{list_them} lists them")
    plain = ref.strip().lower()
    if len(plain) > MOST_REF or not plain.isascii() or not plain.replace("-", "").isalnum():
        raise InvalidInput(f"that is not an id: {plain[:MOST_REF]!r}", f"{list_them} lists them")
    return plain


def _text(name: str, value: object, most: int) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a text, not {type(value).__name__}", f"give the {name} as a string")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the {name} holds half a character", "give Unicode text") from error
    if size > most:
        way = "; put it into a file and name that" if name == "body" else ""
        raise InvalidInput(f"the {name} is too long: {size} bytes", f"at most {most}{way}")
    return value.translate(_CONTROLS)


# Control characters: a terminal obeys them, PostgreSQL cannot store NUL, and texts lose nothing without them.
_CONTROLS = dict.fromkeys(code for code in (*range(32), 127) if chr(code) not in "\t\n\r")


def _line(name: str, value: object, most: int = MOST_SUBJECT) -> str:
    """Return a text as one line, without control characters and secrets."""
    return scrub_text(" ".join(_text(name, value, most).split()))


def _check_limit(limit: int) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_LISTED:
        raise InvalidInput(f"limit {limit!r}", f"a whole number from 1 to {MOST_LISTED}")


def _depth(value: object) -> int:
    """Return the nesting depth of lists and mappings, counted layer by layer because recursion could overflow."""
    layer, depth = [value], 0
    while layer and depth <= MOST_DEPTH:
        inner = [item for item in layer if isinstance(item, (Mapping, list, tuple))]
        layer = [part for item in inner for part in (item.values() if isinstance(item, Mapping) else item)]
        depth += bool(inner)
    return depth
