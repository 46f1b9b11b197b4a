"""Mail between agents, and jobs for the worker: what is left for others, on disk before anybody is told so.

What a message or a job says is data: cleaned, redacted and bounded here, whatever its door; nothing in it is followed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence

from swarmlore.clients.transcripts import Turn, names_speakers, turns_of
from swarmlore.config import WorkerSettings
from swarmlore.domain.extraction.agent_findings import telling
from swarmlore.domain.extraction.summaries import MOST_CHARS, cut
from swarmlore.domain.policy.gate import scrub_text, scrub_value
from swarmlore.domain.records import IMPORTANCES, JOB_KINDS, Agent, Caller, Job, Message, Sent, choose, json_values
from swarmlore.errors import Ambiguous, InvalidInput, NotAllowed, NotFound
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")


MOST_READ = 4_000_000  # characters of a report
MOST_TRANSCRIPT = 16_000  # a longer one is cut
_HEAD, _TAIL = 60_000, 240_000  # of one that is too long to be read whole


def readable(body: str) -> str:
    """The same report in JSON, redacted, its transcript cut; any other text as it is."""
    try:
        said = json.loads(body, parse_constant=lambda _: None, parse_float=_finite) if len(body) <= MOST_READ else None
        if not isinstance(said, dict):
            return body
        if isinstance(text := said.get("transcript"), str):
            said["transcript"] = cut_transcript(text)
        return _written(scrub_value(said))
    except (ValueError, RecursionError):
        return body


def _finite(digits: str) -> float | None:
    return number if math.isfinite(number := float(digits)) else None


def _written(said: dict[str, Any]) -> str:
    text = json.dumps(said, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, that JSON can name
        return json.dumps(said)
    return text


def cut_transcript(text: str) -> str:
    """A conversation as a text, cut to its beginning, its end and what tells something."""
    if len(text) <= MOST_TRANSCRIPT:
        return text
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n…\n{text[-_TAIL:]}"
    if not names_speakers(text):
        lines = (line for line in text.splitlines() if line.strip())
        parts = [Turn("assistant" if telling(line, overcame=True) else "user", line) for line in lines]
        return "\n".join(turn.text for turn in cut(parts, MOST_CHARS))
    names = {"user": "User", "assistant": "Assistant"}
    return "\n".join(f"{names[turn.role]}: {turn.text}" for turn in cut(turns_of(text), MOST_CHARS))


CATCHER, EXTRACT = "memory-catcher", "memory-catcher-extract"
MOST_BODY = 65_536  # bytes of a message
MOST_JOB = 262_144  # bytes of a job: a cut transcript with what is said about it
MOST_SUBJECT = 500
MOST_NAME = 128
MOST_TO = 50
MOST_LISTED = 1_000
MOST_DEPTH = 32
MOST_REF = 64
INBOX, SENT, DEAD = "swarmlore mail inbox", "swarmlore mail sent", "swarmlore mail dead"


class Mail:
    """The mail and the jobs of one caller."""

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
        """Let the others of the project know that this agent is there; what it does not say again stays."""
        name = self._own_name()
        known = self._known(name) or Agent(name)
        said = {"program": _line("program", program), "model": _line("model", model), "task": _line("task", task)}
        self._store.put_agent(
            self._caller, replace(known, **{key: text for key, text in said.items() if text}), self.now()
        )
        return self._known(name) or known

    def _known(self, name: str) -> Agent | None:
        return next((agent for agent in self._store.agents(self._caller) if agent.name == name), None)

    def agents(self) -> list[Agent]:
        return self._store.agents(self._caller)

    def send(self, to: Sequence[str], subject: str, body: str, facts: Mapping[str, Any]) -> Message:
        """Put a message into inboxes; one that asks for an extraction puts that job with it, or neither."""
        message = self._message(to, subject, body, facts)
        self._store.act_for(self._caller)
        with self._store.queueing():
            self._store.add_message(self._caller, message)
            self._store.prune_mail(self._caller, message.sent_at, self._settings.mail_days)
            if CATCHER in message.to and message.subject == EXTRACT:
                self.enqueue("extract", _asked(message), f"mail:{message.id}")
        return message

    def _message(self, to: Sequence[str], subject: str, body: str, facts: Mapping[str, Any]) -> Message:
        names = (to,) if isinstance(to, str) else to
        if not isinstance(names, Sequence) or not 1 <= len(names) <= MOST_TO:
            raise InvalidInput("a message goes to one or more agents", f"name 1 to {MOST_TO} of them")
        importance, wants_ack = facts.get("importance", "normal"), facts.get("ack_required", False)
        if not isinstance(wants_ack, bool):
            raise InvalidInput(f"ack_required is {wants_ack!r}", "true or false")
        choose("importance", [importance], IMPORTANCES)
        text = scrub_text(_text("body", _report(names, subject, body), MOST_BODY))
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
        """The full name of a recipient: in a team an agent of the same login may be called without that."""
        given = _line("name of an agent", name, MOST_NAME)
        if not given:
            raise InvalidInput("the name of an agent is empty", "swarmlore mail agents lists who can be written to")
        login, slash, _ = self._caller.agent.partition("/")
        full = f"{login}/{given}" if slash and self._store.engine.remote and given != CATCHER else given
        if known := next((one for one in (name, given, full) if self._known(one) is not None), ""):
            return known
        if "*" in given or " " in given:
            raise InvalidInput(
                f"no agent is called {given!r}", "name each of them; swarmlore mail agents lists who can be written to"
            )
        return given if "/" in given else full

    def inbox(self, limit: int, wanted: Mapping[str, Any]) -> list[Message]:
        _check_limit(limit)
        self._own_name()
        return self._store.inbox(self._caller, limit, **_sorted_out(wanted))

    def count_inbox(self, wanted: Mapping[str, Any]) -> tuple[int, int]:
        self._own_name()
        return self._store.count_inbox(self._caller, **_sorted_out(wanted))

    def sent(self, limit: int, ref: str) -> list[Sent]:
        """What this agent wrote, and whether it was read; with a reference only that one."""
        _check_limit(limit)
        self._own_name()
        if not ref:
            return [
                replace(item, message=replace(item.message, body="")) for item in self._store.sent(self._caller, limit)
            ]
        found = self._store.sent(self._caller, 2, _ref(ref, SENT))
        return [self._one(found, ref, "message that you sent", SENT, lambda item: item.message.id)]

    def read(self, ref: str, *, ack: bool = False) -> Message:
        """A message of one's own inbox with its body; it counts as read, or as taken care of."""
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
        """Leave a job for the worker; the same key is not taken twice."""
        choose("kind", [kind], JOB_KINDS)
        if not isinstance(body, Mapping):
            raise InvalidInput("the body of a job is a mapping", "give texts, numbers, lists and mappings by name")
        _check_depth(body)
        said = scrub_value(json_values(body))
        size = len(json.dumps(said, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        if size > MOST_JOB:
            raise InvalidInput(f"the job is too large: {size} bytes", f"at most {MOST_JOB}; cut its longest text")
        who = {name: getattr(self._caller, name) for name in ("project", "agent", "role", "trust")}
        now = self.now()
        job = Job(self._new_id(), kind, said, _line("key", key), **who, folder=self._folder, queued_at=now)
        return self._store.put_job(job, now, again=again)

    def ask_for(self, kind: str, key: str) -> None:
        """Leave a job that says nothing but what to do, unless it waits already: a hundred agents ask for vectors all
        the time."""
        if not self._store.job_waits(self._caller, key, self._folder):
            self.enqueue(kind, {}, key, again=True)

    def once(self, job: Job, work: Callable[[], T], key: str, *, last: bool) -> T | None:
        """Do something for a job at most once, in one transaction with the check of its lease."""
        own = key or f"{job.id}@{job.queued_at:.3f}"
        return self._store.once(job, own, work, self._store.engine.now, self._settings.lease_s, last=last)

    def full(self) -> bool:
        """Whether so much waits that nothing should be added unasked."""
        most = self._settings.queue_limit
        return self._store.queue_length(most) >= most

    def delete(self, ref: str) -> Message:
        """Take a message out of one's own inbox or, where one sent it, out of everybody's."""
        name = self._own_name()
        sent = [item.message for item in self._store.sent(self._caller, 2, _ref(ref, INBOX))]
        got = self._store.messages_like(self._caller, _ref(ref, INBOX))
        found = self._one(list({item.id: item for item in (*sent, *got)}.values()), ref, "message", INBOX, _id)
        self._store.delete_message(self._caller, found.id, everywhere=found.sender == name)
        return found

    def jobs(self, limit: int) -> list[Job]:
        """Jobs that wait or run, oldest first."""
        _check_limit(limit)
        return [self._shown(job) for job in self._store.open_jobs(self._caller, limit)]

    def dead_letters(self, limit: int, *, all_projects: bool) -> list[Job]:
        """Jobs that were given up, newest first."""
        _check_limit(limit)
        if all_projects and self._caller.role != "person":
            raise NotAllowed("only a person can see all projects", "leave it to the person at the terminal")
        found = self._store.dead_jobs(self._caller, limit, everywhere=all_projects)
        return [self._shown(job) for job in found]

    def _shown(self, job: Job) -> Job:
        """What a job holds, and what its error may quote from that, is shown to whoever put it there only."""
        own = job.agent == self._caller.agent and job.project in self._store.names_of(self._caller.project)
        return job if own else replace(job, body={}, key="", error=job.error.partition(":")[0])

    def retry(self, ref: str) -> Job:
        """Let a job that was given up be tried from the beginning."""
        job = self._dead(ref)
        self._store.retry_job(self._caller, job.id, self.now())
        return replace(job, state="waiting", attempts=0)

    def discard(self, ref: str) -> Job:
        """Remove a job that was given up, for good."""
        job = self._dead(ref)
        self._store.discard_job(self._caller, job.id)
        return job

    def _dead(self, ref: str) -> Job:
        found = self._store.dead_like(self._caller, _ref(ref, DEAD))
        return self._shown(self._one(found, ref, "dead letter", DEAD, _id))

    @staticmethod
    def _one(found: Sequence[T], ref: str, what: str, list_them: str, id_of: Callable[[T], str]) -> T:
        if not found:
            raise NotFound(f"no {what} {ref!r}", f"{list_them} lists yours")
        exact = [item for item in found if id_of(item) == ref]
        if len(found) > 1 and not exact:
            fits = tuple(map(id_of, found))
            raise Ambiguous(f"{ref!r} fits several", f"give more of the id; {list_them} lists them", fits)
        return (exact or list(found))[0]


def _report(names: Sequence[str], subject: object, body: str) -> str:
    """A body; the report of a task is cut and redacted in its parts before its size is judged."""
    to = [name.strip() for name in names if isinstance(name, str)]
    if not isinstance(body, str) or CATCHER not in to or str(subject).split() != [EXTRACT]:
        return body

    return readable(body)


def _asked(message: Message) -> dict[str, Any]:
    """What a message to the memory-catcher asks for: the outcome of a task as JSON, or plain words."""
    job: dict[str, Any] = {"mail": message.id, "from": message.sender, "outcome": {}}
    try:
        said = json.loads(message.body)
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict) and _depth(said) <= MOST_DEPTH:
        return {**job, "outcome": said}
    return {**job, "text": message.body}


def _id(item: Message | Job) -> str:
    return item.id


def _sorted_out(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Which messages are wanted, in the words of the store."""
    thread = _line("thread", wanted.get("thread", ""))
    return {"urgent": bool(wanted["urgent_only"]), "unread": bool(wanted["unread_only"]), "thread": thread}


def _ref(ref: str, list_them: str) -> str:
    """An id, its beginning or its end. Ids are of digits, some letters and hyphens: nothing else is looked for."""
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


# A terminal obeys them and PostgreSQL stores no NUL; a text loses nothing without them.
_CONTROLS = dict.fromkeys(code for code in (*range(32), 127) if chr(code) not in "\t\n\r")


def _line(name: str, value: object, most: int = MOST_SUBJECT) -> str:
    """A text of one line, cleaned and redacted."""
    return scrub_text(" ".join(_text(name, value, most).split()))


def _check_limit(limit: int) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_LISTED:
        raise InvalidInput(f"limit {limit!r}", f"a whole number from 1 to {MOST_LISTED}")


def _check_depth(body: Mapping[str, Any]) -> None:
    if _depth(body) > MOST_DEPTH:
        raise InvalidInput("the body of the job is nested too deeply", f"at most {MOST_DEPTH} levels")


def _depth(value: object) -> int:
    """How deeply lists and mappings lie in each other; counted by layers, as a call for each would overflow."""
    layer, depth = [value], 0
    while layer and depth <= MOST_DEPTH:
        inner = [item for item in layer if isinstance(item, (Mapping, list, tuple))]
        layer = [part for item in inner for part in (item.values() if isinstance(item, Mapping) else item)]
        depth += bool(inner)
    return depth
