"""Extract lessons and metrics from events: corrections, fixes, LEARNED comments, memory files and transcripts.

Rules find candidate lessons, each with the situation in which it was learned; all pass the validation gate. Two job
handlers, `extract` and `summarise`, process whole sessions and reported tasks in the worker.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from zlib import crc32

from swarmlore.capture.session_state import TRIED_AT, UNREAD, attempts_of, is_unsummed, session_of
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.home import spool_dir
from swarmlore.clients.transcripts import Tally, Turn, mapping_in, read_transcript, text_in, turns_of_job
from swarmlore.domain.extraction import summaries
from swarmlore.domain.extraction.lesson_text import CONFIDENCE_VALUES, CandidateLesson
from swarmlore.domain.extraction.session_lessons import MOST_LESSONS, contradicts_lesson, deduplicate, entities_of
from swarmlore.domain.extraction.summaries import MOST_CHARS, shorten_transcript
from swarmlore.domain.extraction.task_reports import TaskReport, confidence, lessons_of_task, parse_report
from swarmlore.domain.language.similarity import normalize
from swarmlore.domain.policy.outcomes import FAILURE_MODES
from swarmlore.errors import InvalidInput, Rejected, StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, replace

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.clients.hook.event import Event
    from swarmlore.domain.extraction.fixes import Attempt
    from swarmlore.domain.records import Job, Memory, Receipt, Session
    from swarmlore.lore import Lore

    Changes = dict[str, Any]

TRANSCRIPT_BYTES = 8_000_000  # read from the end of a transcript
MOST_TRIES = 10  # while the client keeps its database busy
FEW_LINES = 20  # up to so many records may be the client's bookkeeping only
# Clients that do not report the transcript's path: a missing file means that our guess is wrong.
GUESSED = ("copilot", "opencode")


def read_session(lore: Lore, event: Event, session: Session, path: str) -> tuple[list[Turn], Changes]:
    """Return the turns of a session's transcript, and the changes to the session's `extra` about reading it."""
    tally, root = Tally(), lore.project.root
    turns = [
        relative_to_project(turn, root) for turn in read_transcript(event.client, path, TRANSCRIPT_BYTES, tally=tally)
    ]
    tries = _tries(session) + 1
    if tally.busy and tries < MOST_TRIES:
        return [], {UNREAD: tries, TRIED_AT: lore.now()}
    if why := _problem(tally, turns, event, session):
        _note_problem(lore, event, why)
    return turns, {UNREAD: 0} if UNREAD in session.extra else {}


def _tries(session: Session) -> int:
    tries = session.extra.get(UNREAD, 0)
    return tries if isinstance(tries, int) else 0


def _problem(tally: Tally, turns: list[Turn], event: Event, session: Session) -> str:
    """Return why a transcript could not be read, or ''. A missing or empty one is reported only after a prompt:
    without one, or for some sessions, clients write no file."""
    prompted = bool(session.extra.get("prompts"))
    if tally.missing:
        return tally.refused if prompted and event.client in GUESSED else ""
    if not tally.refused and not turns and prompted and tally.lines > FEW_LINES:
        return f"nothing was understood in {tally.lines} records"
    return tally.refused


def _note_problem(lore: Lore, event: Event, why: str) -> None:
    """Record that a transcript could not be read, which `doctor` reports."""
    problem = {"at": round(time.time(), 3), "hook": f"{event.client} {event.name}"[:80]}
    with contextlib.suppress(OSError):
        spool.note_problem(spool_dir(lore.home), {**problem, "what": f"transcript not read: {why}"[:200]})


def relative_to_project(turn: Turn, root: str) -> Turn:
    """Make the paths of a turn relative to the project's root."""
    return replace(turn, files=tuple(path.removeprefix(root.rstrip("/") + "/") for path in turn.files))


SITUATION_CHARS = 400
MOST_NAME = 128  # characters of an agent's name
_RECORDED = (
    *("success", "task", "summary", "evaluation", "files", "errors", "retries", "duration_ms", "strategy"),
    "criteria",
)
_REQUIRED = ("success", "task", "session", "agent")
_OPTIONAL = ("tags", "entities", "situation", "situation_via")  # facts that a lesson can do without
_KEPT = ("role", "text", "tool", "command", "files", "error", "failed")  # fields of a turn that a job keeps


def session_body(turns: Sequence[Turn], **facts: Any) -> dict[str, Any]:
    """Return the body of a job about a session: its turns, cut to size, and facts such as the client and the time."""
    return {**facts, "turns": [_plain(turn) for turn in shorten_transcript(turns, MOST_CHARS)]}


def _plain(turn: Turn) -> dict[str, Any]:
    values = {name: getattr(turn, name) for name in _KEPT}
    kept = {name: value for name, value in values.items() if value not in ("", (), None)}
    return {**kept, "files": list(turn.files)} if turn.files else kept


def extract(lore: Lore, job: Job) -> None:
    """Handle an `extract` job: store the lessons of a session or task, and record the task's outcome if reported.
    Runs of schedulers and heartbeats repeat themselves: only their outcome is recorded."""
    body = job.body
    outcome = mapping_in(body, "outcome")
    account = parse_report(outcome or mapping_in(body, "figures"))
    turns = turns_of_job(body)
    if not lore.settings.knowledge.enabled:
        return
    ended = bool(outcome) and account.success is not None
    if ended and not body.get("recorded"):
        _record(lore, job, account)
    about = ": ".join(filter(None, (account.task, account.summary))) or summaries.first_prompt(turns)
    if summaries.is_unattended(about, account):
        return
    trust = 2 if isinstance(body.get("turns"), list) else 1  # in plain text anyone may have written the speakers' names
    _keep_lessons(lore, job, _find_lessons(lore, turns, account, trust), account)
    if ended:
        _keep_result(lore, job, account)


def summarise(lore: Lore, job: Job) -> None:
    """Handle a `summarise` job: store a summary of a session, in place of an earlier summary of the same session."""
    turns = turns_of_job(job.body)
    if not lore.settings.knowledge.enabled:
        return
    text = _summary(lore, job, turns)
    if not text:
        return
    title = summaries.title_of("Session", summaries.first_prompt(turns))
    ref = {**_origin(job), "at": _ended_at(job.body)}
    facts = {"source": "session_summary", "kind": "workflow_note", "tier": "agent", "source_ref": ref}

    def keep() -> None:
        session = _memories_of(lore, text_in(job.body, "session"))
        before = [item for item in session if item.source == "session_summary" and item.owner == lore.caller.agent]
        if ref["at"] and any(_ended_at(item.source_ref) > ref["at"] for item in before):
            return  # the session continued, and a later summary is stored already
        for memory in before:
            lore.forget(memory.id)
        _store(lore, text, title=title, **facts)

    lore.once(job, keep, f"summary:{_job_name(job)}")


def _ended_at(values: Mapping[str, Any]) -> float:
    at = values.get("at")
    return float(at) if isinstance(at, (int, float)) else 0.0


def _find_lessons(lore: Lore, turns: Sequence[Turn], account: TaskReport, trust: int) -> tuple[CandidateLesson, ...]:
    """Find lessons by rules, plus those of the LLM within its budget; an error of the LLM is ignored."""
    by_rules = lessons_of_task(turns, account, trust)
    if lore.settings.writer.kind == "none" or not (turns or account.evaluation):
        return by_rules
    from swarmlore.models.llm import find_lessons

    try:
        added = find_lessons(lore.capped_writer(), turns, account)
    except StoreError:
        raise
    except SwarmloreError:
        return by_rules
    new = [item for item in added if not any(contradicts_lesson(item, known) for known in by_rules)]
    return tuple(deduplicate([*by_rules, *new])[:MOST_LESSONS])


def _summary(lore: Lore, job: Job, turns: Sequence[Turn]) -> str:
    """Summarise a session by rules or by the LLM, without lessons that were forgotten meanwhile."""
    found = lessons_of_task(turns, TaskReport())
    gone = _forgotten(lore, job, found)
    by_rules = summaries.without(summaries.summary_of(turns, found), gone)
    if lore.settings.writer.kind == "none" or not by_rules or gone:  # an LLM might rephrase a forgotten lesson
        return by_rules
    from swarmlore.models.llm import summarise

    try:
        by_llm = summarise(lore.capped_writer(), turns)
    except StoreError:
        raise
    except SwarmloreError:
        return by_rules
    return by_rules if by_llm is None else by_llm


def _forgotten(lore: Lore, job: Job, found: Sequence[CandidateLesson]) -> list[str]:
    """Return the texts of lessons that this session taught and that were removed since; a summary must not repeat
    them. One that was known from another session counts too: it needs no summary."""
    session = text_in(job.body, "session")
    if not session:
        return []
    alive = {_digest(memory.text) for memory in _memories_of(lore, session) if memory.live and not memory.raw}
    told = _already_found(lore, session)
    with lore.acting():
        return [
            item.text
            for item in found
            if (mark := _digest(item.text)) not in alive
            and (mark in told or lore.store.had_effect(job, f"told:{session}:{mark}"))
        ]


def _keep_lessons(lore: Lore, job: Job, found: Sequence[CandidateLesson], account: TaskReport) -> None:
    """Store lessons as candidates, each once per session or task, and MOST_LESSONS of a session at most. The best
    are chosen, then stored in the order of the conversation, since a later one may retract an earlier one."""
    session = text_in(job.body, "session")
    stored = [item for item in _memories_of(lore, session) if item.auto_generated and not item.raw]
    known = {*_already_found(lore, session), *(_digest(item.text) for item in stored)}
    new = [item for item in found if _digest(item.text) not in known][: max(0, MOST_LESSONS - len(stored))]
    for item in sorted(new, key=lambda item: item.place):
        facts = {
            "kind": item.kind,
            "confidence": confidence(item, account),
            "trust": min(item.trust, 2),
            "entities": item.entities,
            "source": "reflect",
            "source_ref": _origin(job),
            "situation": item.situation[:SITUATION_CHARS],
            "situation_via": item.situation_via,
            "session": session,
        }
        key = f"told:{session or _job_name(job)}:{_digest(item.text)}"
        lore.once(job, partial(_store, lore, item.text, **facts), key)


def _digest(text: str) -> str:
    """Return a short hash of a normalised text, to recognise the same lesson."""
    return f"{crc32(normalize(text).encode()):08x}"


def _store(lore: Lore, text: str, **facts: Any) -> None:
    """Store a lesson if the gate accepts it; refusals are in the gate's own list. If an optional fact is invalid,
    the text is tried once more without those facts."""
    bare = {name: value for name, value in facts.items() if name not in _OPTIONAL}
    for tried in (facts, bare):
        try:
            lore.remember(text, auto_generated=True, defer=True, **tried)
        except InvalidInput:
            continue
        except Rejected:
            return
        return


def _job_name(job: Job) -> str:
    return job.key or job.id


def _already_found(lore: Lore, session: str) -> frozenset[str]:
    """Return the fingerprints of lessons found in the session's own prompts and commands."""
    if not session:
        return frozenset()
    with lore.acting():
        known = lore.store.session(lore.caller, session)
    marks = known.extra.get("told", ()) if known else ()
    return frozenset(map(str, marks)) if isinstance(marks, (list, tuple)) else frozenset()


def _memories_of(lore: Lore, session: str) -> list[Memory]:
    """Return the memories stored in a session."""
    if not session:
        return []
    with lore.acting():
        store, caller = lore.store, lore.caller
        return [memory for id in store.ids_of_session(caller, session) if (memory := store.get(caller, id)) is not None]


def count_lessons(lore: Lore, session: str) -> int:
    """Count the lessons that rules or an LLM took from a session; those an agent stored itself do not count."""
    return sum(memory.auto_generated and not memory.raw for memory in _memories_of(lore, session))


def _origin(job: Job) -> dict[str, Any]:
    """Return the client, session, event, mail and task that a job names, as a `source_ref`."""
    named = {name: text_in(job.body, name) for name in ("client", "session", "event", "mail", "from")}
    account = parse_report(mapping_in(job.body, "outcome"))
    task = {"task": account.task, "agent": account.agent, "outcome": text_in(job.body, "recorded")}
    return {name: value[:200] for name, value in {**named, **task}.items() if value}


def _record(lore: Lore, job: Job, account: TaskReport) -> None:
    """Record a task's outcome once, even if it is reported repeatedly, and credit the memories it was shown."""
    facts = {name: getattr(account, name) for name in _RECORDED}
    if account.failure_mode in FAILURE_MODES:
        facts["failure_mode"] = account.failure_mode
    facts |= {"session": text_in(job.body, "session"), "agent": _agent_of(lore, account)}

    def record() -> bool:
        try:
            return bool(lore.learning.record(facts, lore.get))
        except InvalidInput:
            least = {name: facts[name] for name in _REQUIRED}
            return bool(lore.learning.record(least, lore.get))

    same = f"{facts['agent']}:{account.task}:{_digest(repr(facts))}" if account.task else _job_name(job)
    lore.once(job, record, f"recorded:{same}")


def _keep_result(lore: Lore, job: Job, account: TaskReport) -> None:
    """Store a task's result for its agent and, if it asked for sharing, for the swarm; later reports replace it."""
    text = summaries.task_result(account)
    if not text:
        return
    agent = _agent_of(lore, account)
    own = lore.acting_as(replace(lore.caller, agent=agent, role="worker"), job.folder) if agent else lore
    name = own.caller.agent
    facts: dict[str, Any] = {"source": "task_completion", "source_ref": _origin(job), "trust": 2, "tags": account.tags}
    facts |= {"entities": entities_of(account.files, ""), "key": f"result:{name}:{account.task or _digest(text)}"[:200]}
    copies = [("agent", "Task" if account.success else "Failed task")] if name else []
    if summaries.is_shared(account):
        copies.append(("swarm", "Shared"))
    about = account.summary or account.task
    for tier, head in copies:
        store = partial(_store, own, text, title=summaries.title_of(head, about), tier=tier, **facts)
        lore.once(job, store, f"result:{tier}:{_job_name(job)}")


def _agent_of(lore: Lore, account: TaskReport) -> str:
    """Return the agent whose task was reported, if a lead reports for another agent; else ''."""
    name, caller = " ".join(account.agent.split())[:MOST_NAME], lore.caller
    if not name or not caller.leads:
        return ""
    if lore.store.engine.remote and "/" in caller.agent:  # in a team an agent is named after its login
        login = caller.agent.partition("/")[0]
        name = name if "/" in name else f"{login}/{name}"
        if not name.startswith(f"{login}/"):
            return ""
    return "" if name == caller.agent else name


MOST_A_SESSION = 10
TOLD_KEPT = 40
RECENT_ATTEMPTS = 3
QUICK_BYTES = 600_000  # of a transcript that is read while a client waits: a third of a second
_HANDLE = r"\b[0-9a-f]{6,32}\b"


def learn(lore: Lore, event: Event, session: Session, *, far: bool = False) -> Changes:
    """Store what an event teaches and return the changes for its session. With `far` the event comes from another
    machine, and nothing is read or written by a path in it."""
    changes: Changes = {}
    for extractor in (_FAR_EXTRACTORS if far else _EXTRACTORS).get(event.moment, ()):
        changes |= extractor(lore, event, session)
    return changes


def takes_long(event: Event) -> bool:
    """Return whether an event takes too long while a client waits: it has files or a long transcript to read."""
    if event.moment == e.SESSION_START:
        return True
    if _transcript not in _EXTRACTORS.get(event.moment, ()):
        return False
    if "#" in event.transcript:
        return True  # one session in a database of many: its size is unknown
    try:
        return os.path.getsize(event.transcript) > QUICK_BYTES
    except (OSError, ValueError):
        return False


def _corrections(lore: Lore, event: Event, session: Session) -> Changes:
    """Store the corrections in a user's prompt; the situation is the prompt before, where the lesson was needed."""
    from swarmlore.domain.extraction.corrections import find_corrections

    if event.agent:
        return {}  # a sub-agent is prompted by an agent, not by a person
    found = find_corrections(event.prompt, str(session.extra.get("last_said", "")))
    before = str(session.extra.get("last_prompt", "")) or event.prompt
    tasks = {"correction": before}  # a general rule has nothing to do with the task before
    situated = (_situated(item, tasks.get(item.kind, event.prompt), "prompt") for item in found)
    return _keep(lore, event, session, situated)


def _comments(lore: Lore, event: Event, session: Session) -> Changes:
    """Store LEARNED comments that the agent wrote with a command, also in the bead file of the project."""
    if "LEARNED" not in event.command.upper() and "INVESTIGATION" not in event.command.upper():
        return {}
    from swarmlore.exchange.beads import capture_learned

    capture_learned(lore.project.root, event.cwd, event.command, event.at)
    return _learned_comments(lore, event, session)


def _learned_comments(lore: Lore, event: Event, session: Session) -> Changes:
    """Store the LEARNED comments in a command."""
    from swarmlore.domain.extraction.learned_comments import find_bead_lessons

    for item in find_bead_lessons(event.command, event.cwd, event.at):  # also those an earlier attempt left in the file
        _remember(
            lore,
            event,
            item.content,
            source="learned_comment",
            key=item.key,
            tags=item.tags,
            source_ref={"bead": item.bead, "author": item.source, "client": event.client, "session": event.session},
            **_situation(session),
        )
    return {}


def _fixes(lore: Lore, event: Event, session: Session) -> Changes:
    """Store a fix: a shell command that failed, and the similar one that then succeeded."""
    attempts = attempts_of(session.extra)
    failures = [place for place, item in enumerate(attempts) if item.get("error") and item.get("tool") == e.SHELL]
    if event.tool != e.SHELL or not failures:
        return {}
    from swarmlore.domain.extraction.fixes import find_fix

    failed, *between = [_attempt(item) for item in attempts[failures[-1] :]]
    now = _attempt({"tool": event.tool, "command": event.command, "output": event.output, "at": event.at})
    found = find_fix(failed, between, now)
    return _keep(lore, event, session, [_situated(found, failed.error, "error")] if found else [])


def _attempt(values: Mapping[str, Any]) -> Attempt:
    from swarmlore.domain.extraction.fixes import Attempt

    texts = {name: str(values.get(name, "")) for name in ("tool", "command", "error", "output")}
    return Attempt(**texts, files=tuple(map(str, values.get("files", ()))), at=float(values.get("at", 0.0)))


def _files(lore: Lore, event: Event, session: Session) -> Changes:
    """Index a file that was written into a folder of memory files."""
    if event.tool == e.WRITE:
        for path in event.files:
            lore.index_file(path)
    return {}


def _changed_files(lore: Lore, event: Event, session: Session) -> Changes:
    """Index memory files that a client or a person changed meanwhile."""
    lore.index_changed()
    return {}


def _transcript(lore: Lore, event: Event, session: Session) -> Changes:
    """Read the whole transcript at the end of a session or before a compaction, and queue it for extraction."""
    path = event.transcript or str(session.extra.get("transcript", ""))
    if not path:
        return {}
    turns, changes = read_session(lore, event, session, path)
    if turns:
        body = _enqueue(lore, event, session, turns)
        _enqueue_reflection(lore, event, {**body, "transcript": path})
    return changes | _cited_in(lore, event, session, "\n".join(turn.text for turn in turns if turn.role == "assistant"))


def _sent_transcript(lore: Lore, event: Event, session: Session) -> Changes:
    """Queue the transcript of a session on another machine, which was read there and sent with the event."""
    turns = turns_of_job({"turns": event.extra.get("turns", [])})
    if turns:
        _enqueue(lore, event, session, turns)
    return _cited_in(lore, event, session, "\n".join(turn.text for turn in turns if turn.role == "assistant"))


def _enqueue(lore: Lore, event: Event, session: Session, turns: Sequence[Turn]) -> Changes:
    """Queue the jobs that extract lessons from a session and summarise it; the queue owns the turns from here on.
    The same event is the same job again; a session that is resumed ends at another time, so it gets another job."""

    extra = session.extra
    figures = {name: extra[name] for name in ("errors", "retries") if isinstance(extra.get(name), int)}
    if (duration_s := _duration_s(event, session, turns)) > 0:
        figures["duration_ms"] = round(1000 * duration_s)
    facts = {"client": event.client, "session": event.session, "event": event.name, "at": event.at, "figures": figures}
    body, key = session_body(turns, **facts), f"{event.id}:{event.at:.3f}"
    lore.enqueue("extract", body, f"session:{key}")
    if event.moment == e.SESSION_END and not is_unsummed(event):
        lore.enqueue("summarise", body, f"summary:{key}")
    return body


def _enqueue_reflection(lore: Lore, event: Event, body: Mapping[str, Any]) -> None:
    """Queue a `reflect` job that proposes what the session teaches, if reflection is on; one job per session."""
    if event.session and not event.agent and not is_unsummed(event) and lore.reflections.auto:
        lore.enqueue("reflect", body, f"reflect:{event.session}", again=True)


def _duration_s(event: Event, session: Session, turns: Sequence[Turn]) -> float:
    """Return how many seconds a session took, by its turns or its hooks, whichever is longer; 0 if unknown."""
    times = [turn.at for turn in turns if turn.at > 0]
    known = max(times) - min(times) if times else 0.0
    return max(known, event.at - session.started_at if session.started_at else 0.0)


def _outcome(lore: Lore, event: Event, session: Session) -> Changes:
    """Queue the outcome of a swarm task that its worker reported, to be recorded by the worker process."""
    outcome = event.extra.get("outcome")
    if isinstance(outcome, Mapping) and outcome:
        facts = {"client": event.client, "session": session_of(event), "event": event.name}
        lore.enqueue("extract", {**facts, "outcome": dict(outcome)}, f"outcome:{event.id}")
    return {}


def _cited(lore: Lore, event: Event, session: Session) -> Changes:
    """Count memories whose handles the agent cites in its last message."""
    return _cited_in(lore, event, session, event.said)


def _cited_in(lore: Lore, event: Event, session: Session, words: str) -> Changes:
    """Count memories whose handles appear in `words` and that the session was shown, once per session."""
    if not (handles := set(re.findall(_HANDLE, words))):
        return {}
    before = [str(handle) for handle in session.extra.get("cited", ())]
    store, caller = lore.store, lore.caller
    new = []
    with lore.acting(), store.engine.writing():  # other processes change these counters too
        for receipt in _receipts(lore, event, session):
            new += [item for item in receipt.shown if item.handle in handles and item.handle not in before]
        for item in {item.handle: item for item in new}.values():
            if memory := store.get(caller, item.memory):
                outcomes = replace(memory.outcomes, cited=memory.outcomes.cited + 1)
                store.count_outcomes(replace(memory, outcomes=outcomes))
    return {"cited": [*before, *dict.fromkeys(item.handle for item in new)]} if new else {}


def _receipts(lore: Lore, event: Event, session: Session) -> list[Receipt]:
    """Return the receipts of a session and, if a sub-agent speaks, those of the sub-agent."""
    ids = dict.fromkeys((session.id, session_of(event)))
    lead = replace(lore.caller, role="lead")  # a session and its sub-agents act under several names
    return [receipt for id in ids if id for receipt in lore.store.receipts(lead, id, limit=200)]


_EXTRACTORS: Mapping[str, tuple[Callable[[Lore, Event, Session], Changes], ...]] = {
    e.SESSION_START: (_changed_files,),
    e.PROMPT: (_corrections,),
    e.AFTER_TOOL: (_comments, _fixes, _files, _outcome),
    e.TOOL_FAILED: (_comments,),
    e.TURN_END: (_cited,),
    e.AGENT_STOP: (_cited,),
    e.BEFORE_COMPACTION: (_transcript,),
    e.SESSION_END: (_transcript, _changed_files),
}
_FAR_EXTRACTORS: Mapping[str, tuple[Callable[[Lore, Event, Session], Changes], ...]] = {
    e.PROMPT: (_corrections,),
    e.AFTER_TOOL: (_learned_comments, _fixes, _outcome),
    e.TOOL_FAILED: (_learned_comments,),
    e.TURN_END: (_cited,),
    e.AGENT_STOP: (_cited,),
    e.BEFORE_COMPACTION: (_sent_transcript,),
    e.SESSION_END: (_sent_transcript,),
}


def _keep(lore: Lore, event: Event, session: Session, found: Iterable[CandidateLesson]) -> Changes:
    """Store lessons that a rule found, up to MOST_A_SESSION, each once per session. The transcript holds the same
    prompts again, and is read again when the session is resumed; repeating a lesson there does not confirm it."""
    found = list(found)
    kept = max(int(session.extra.get("lessons", 0)), count_lessons(lore, event.session) if found else 0)
    before = [str(mark) for mark in session.extra.get("told", ())]
    marks = list(before)
    for item in found:
        if (mark := _digest(item.text)) in marks:
            continue
        if kept >= MOST_A_SESSION:
            break
        marks.append(mark)
        ref = {"client": event.client, "session": event.session, "event": event.name}
        kept += _remember(
            lore,
            event,
            item.text,
            kind=item.kind,
            confidence=CONFIDENCE_VALUES[item.confidence],
            trust=min(2, item.trust),
            entities=item.entities,
            source="reflect",
            source_ref=ref,
            situation=item.situation[:SITUATION_CHARS],
            situation_via=item.situation_via,
        )
    return {"lessons": kept, "told": marks[-TOLD_KEPT:]} if marks != before else {}


def _remember(lore: Lore, event: Event, text: str, **facts: Any) -> bool:
    """Store a text; return whether something new was stored. Refusals are in the gate's own list."""
    try:
        result = lore.remember(text, defer=True, session=session_of(event), auto_generated=True, **facts)
    except Rejected:
        return False
    return result.outcome not in ("confirmed", "quarantined")


def _situated(item: CandidateLesson, text: str, via: str) -> CandidateLesson:
    """Return the lesson with this situation, unless it has one."""
    return item if item.situation else replace(item, situation=text, situation_via=via)


def _situation(session: Session) -> Changes:
    """Return the situation in which something was learned: the last error, else the last prompt."""
    errors = [item["error"] for item in attempts_of(session.extra)[-RECENT_ATTEMPTS:] if item.get("error")]
    if errors:
        return {"situation": str(errors[-1])[-SITUATION_CHARS:], "situation_via": "error"}
    return {"situation": str(session.extra.get("last_prompt", ""))[:SITUATION_CHARS]}
