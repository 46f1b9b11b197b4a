"""What an event teaches: corrections, fixes, LEARNED comments, memory files, and the transcript at the end.

Everything goes through the gate as a candidate that a rule found, with the situation in which it was learned.
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
from swarmlore.clients.transcripts import Tally, Turn, mapping_in, read_transcript, text_in, turns_in
from swarmlore.domain.extraction import summaries
from swarmlore.domain.extraction.lesson_text import CONFIDENCE_VALUES, Found
from swarmlore.domain.extraction.session_lessons import MOST_LESSONS, corrects, distinct, entities_of
from swarmlore.domain.extraction.summaries import MOST_CHARS, cut
from swarmlore.domain.extraction.task_reports import Account, account_of, confidence, lessons_in
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


TRANSCRIPT_BYTES = 8_000_000  # of its end
MOST_TRIES = 10  # where its owner is busy with it
FEW_LINES = 20  # of a client's own bookkeeping: a session may have no more than these
# Clients that do not say where a transcript is: one that is not there means that we look in the wrong place.
GUESSED = ("copilot", "opencode")


def read_session(lore: Lore, event: Event, session: Session, path: str) -> tuple[list[Turn], Changes]:
    """The turns of a session, and what it should know about the reading of them."""
    tally, root = Tally(), lore.project.root
    turns = [inside(turn, root) for turn in read_transcript(event.client, path, TRANSCRIPT_BYTES, tally=tally)]
    tries = _tries(session) + 1
    if tally.busy and tries < MOST_TRIES:
        return [], {UNREAD: tries, TRIED_AT: lore.now()}
    if why := _problem(tally, turns, event, session):
        _tell(lore, event, why)
    return turns, {UNREAD: 0} if UNREAD in session.extra else {}


def _tries(session: Session) -> int:
    found = session.extra.get(UNREAD, 0)
    return found if isinstance(found, int) else 0


def _problem(tally: Tally, turns: list[Turn], event: Event, session: Session) -> str:
    """What a person should know. Who never said anything may have no transcript, and some sessions are not kept."""
    asked = bool(session.extra.get("prompts"))
    if tally.missing:
        return tally.refused if asked and event.client in GUESSED else ""
    if not tally.refused and not turns and asked and tally.lines > FEW_LINES:
        return f"nothing was understood in {tally.lines} records"
    return tally.refused


def _tell(lore: Lore, event: Event, why: str) -> None:
    problem = {"at": round(time.time(), 3), "hook": f"{event.client} {event.name}"[:80]}
    with contextlib.suppress(OSError):
        spool.note_problem(spool_dir(lore.home), {**problem, "what": f"transcript not read: {why}"[:200]})


def inside(turn: Turn, root: str) -> Turn:
    """Paths as the project sees them: what lies above it says nothing about it."""
    return replace(turn, files=tuple(path.removeprefix(root.rstrip("/") + "/") for path in turn.files))


SITUATION_CHARS = 400
MOST_NAME = 128  # characters of an agent's
_RECORDED = (
    *("success", "task", "summary", "evaluation", "files", "errors", "retries", "duration_ms", "strategy"),
    "criteria",
)
_TOLD_AT_LEAST = ("success", "task", "session", "agent")
_BESIDE = ("tags", "entities", "situation", "situation_via")  # of a text, that it can do without
_KEPT = ("role", "text", "tool", "command", "files", "error", "failed")  # of a turn, in a job


# --- what a job holds


def session_body(turns: Sequence[Turn], **facts: Any) -> dict[str, Any]:
    """What a worker needs to know about a session: its turns, cut, and who reported it when."""
    return {**facts, "turns": [_plain(turn) for turn in cut(turns, MOST_CHARS)]}


def _plain(turn: Turn) -> dict[str, Any]:
    values = {name: getattr(turn, name) for name in _KEPT}
    kept = {name: value for name, value in values.items() if value not in ("", (), None)}
    return {**kept, "files": list(turn.files)} if turn.files else kept


# --- the handlers


def extract(lore: Lore, job: Job) -> None:
    """Keep what a session or a task teaches; of a task also how it ended, if that was said. Runs of schedulers and
    heartbeats say the same each time: of them only the outcome is recorded."""
    body = job.body
    told = mapping_in(body, "outcome")
    account = account_of(told or mapping_in(body, "figures"))
    turns = turns_in(body)
    if not lore.settings.knowledge.enabled:
        return
    ended = bool(told) and account.success is not None
    if ended and not body.get("recorded"):
        _record(lore, job, account)
    about = ": ".join(filter(None, (account.task, account.summary))) or summaries.first_prompt(turns)
    if summaries.is_unattended(about, account):
        return
    _keep_lessons(lore, job, _caught(lore, turns, account, 1 if _is_text(body) else 2), account)
    if ended:
        _keep_result(lore, job, account)


def summarise(lore: Lore, job: Job) -> None:
    """Keep a session as a whole, for some days; one that goes on later gets another summary in place of it."""
    turns = turns_in(job.body)
    if not lore.settings.knowledge.enabled:
        return
    text = _summary(lore, job, turns)
    if not text:
        return
    title = summaries.title_of("Session", summaries.first_prompt(turns))
    ref = {**_origin(job), "at": _ended_at(job.body)}
    facts = {"source": "session_summary", "kind": "workflow_note", "tier": "agent", "source_ref": ref}

    def keep() -> None:
        session = _of_session(lore, text_in(job.body, "session"))
        before = [item for item in session if item.source == "session_summary" and item.owner == lore.caller.agent]
        if ref["at"] and any(_ended_at(item.source_ref) > ref["at"] for item in before):
            return  # the session went on, and that has been summed up already
        for memory in before:
            lore.forget(memory.id)
        _store(lore, text, title=title, **facts)

    lore.once(job, keep, f"summary:{_name(job)}")


def _ended_at(values: Mapping[str, Any]) -> float:
    at = values.get("at")
    return float(at) if isinstance(at, (int, float)) else 0.0


# --- what is found


def _caught(lore: Lore, turns: Sequence[Turn], account: Account, trust: int) -> tuple[Found, ...]:
    """The lessons by rules; a language model may add to them, within what it may cost, and fails in silence."""
    by_rules = lessons_in(turns, account, trust)
    if lore.settings.writer.kind == "none" or not (turns or account.evaluation):
        return by_rules
    from swarmlore.models.llm import find_lessons

    try:
        added = find_lessons(lore.capped_writer(), turns, account)
    except StoreError:
        raise
    except SwarmloreError:
        return by_rules
    new = [item for item in added if not any(corrects(item, known) for known in by_rules)]
    return tuple(distinct([*by_rules, *new])[:MOST_LESSONS])


def _summary(lore: Lore, job: Job, turns: Sequence[Turn]) -> str:
    found = lessons_in(turns, Account())
    gone = _taken_back(lore, job, found)
    by_rules = summaries.without(summaries.summary_of(turns, found), gone)
    if lore.settings.writer.kind == "none" or not by_rules or gone:  # a model could say it again in other words
        return by_rules
    from swarmlore.models.llm import sum_up

    try:
        told = sum_up(lore.capped_writer(), turns)
    except StoreError:
        raise
    except SwarmloreError:
        return by_rules
    return by_rules if told is None else told


def _taken_back(lore: Lore, job: Job, found: Sequence[Found]) -> list[str]:
    """Lessons that this session taught and that are not there any more: a summary must not bring them back. One that
    was known from elsewhere is left out as well; it needs no summary."""
    session = text_in(job.body, "session")
    if not session:
        return []
    alive = {_mark(memory.text) for memory in _of_session(lore, session) if memory.live and not memory.raw}
    told = _told_before(lore, session)
    with lore.acting():
        return [
            item.text
            for item in found
            if (mark := _mark(item.text)) not in alive
            and (mark in told or lore.store.had_effect(job, f"told:{session}:{mark}"))
        ]


# --- what is kept


def _keep_lessons(lore: Lore, job: Job, found: Sequence[Found], account: Account) -> None:
    """Store lessons as candidates, each once for its session or task, and ten of those at most: the best are chosen,
    and stored in the order in which they were said, as the later of two may take back the earlier."""
    session = text_in(job.body, "session")
    stored = [item for item in _of_session(lore, session) if item.auto_generated and not item.raw]
    known = {*_told_before(lore, session), *(_mark(item.text) for item in stored)}
    new = [item for item in found if _mark(item.text) not in known][: max(0, MOST_LESSONS - len(stored))]
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
        key = f"told:{session or _name(job)}:{_mark(item.text)}"
        lore.once(job, partial(_store, lore, item.text, **facts), key)


def _mark(text: str) -> str:
    return f"{crc32(normalize(text).encode()):08x}"


def _store(lore: Lore, text: str, **facts: Any) -> None:
    """Store what the gate lets pass. What it refuses stands in its list of refusals; what nobody can read would not be
    read another time either: the text is tried without it, once, and is done with."""
    bare = {name: value for name, value in facts.items() if name not in _BESIDE}
    for said in (facts, bare):
        try:
            lore.remember(text, auto_generated=True, defer=True, **said)
        except InvalidInput:
            continue
        except Rejected:
            return
        return


def _name(job: Job) -> str:
    return job.key or job.id


def _told_before(lore: Lore, session: str) -> frozenset[str]:
    """Marks of what the session's own prompts and commands taught, as they were said."""
    if not session:
        return frozenset()
    with lore.acting():
        known = lore.store.session(lore.caller, session)
    told = known.extra.get("told", ()) if known else ()
    return frozenset(map(str, told)) if isinstance(told, (list, tuple)) else frozenset()


def _of_session(lore: Lore, session: str) -> list[Memory]:
    if not session:
        return []
    with lore.acting():
        store, caller = lore.store, lore.caller
        return [memory for id in store.ids_of_session(caller, session) if (memory := store.get(caller, id)) is not None]


def count_lessons(lore: Lore, session: str) -> int:
    """How many lessons rules or a model took from a session; what an agent kept there itself does not count."""
    return sum(memory.auto_generated and not memory.raw for memory in _of_session(lore, session))


def _is_text(body: Mapping[str, Any]) -> bool:
    """Whether a conversation came as a mere text: what it says about who speaks in it, anybody may have written."""
    return not isinstance(body.get("turns"), list)


def _origin(job: Job) -> dict[str, Any]:
    """Where something comes from, as far as the job says it."""
    named = {name: text_in(job.body, name) for name in ("client", "session", "event", "mail", "from")}
    account = account_of(mapping_in(job.body, "outcome"))
    told = {"task": account.task, "agent": account.agent, "outcome": text_in(job.body, "recorded")}
    return {name: value[:200] for name, value in {**named, **told}.items() if value}


# --- tasks


def _record(lore: Lore, job: Job, account: Account) -> None:
    """Record how a task ended, once however often the same is reported, and credit what it was shown."""
    facts = {name: getattr(account, name) for name in _RECORDED}
    if account.failure_mode in FAILURE_MODES:
        facts["failure_mode"] = account.failure_mode
    facts |= {"session": text_in(job.body, "session"), "agent": _whose(lore, account)}

    def record() -> bool:
        try:
            return bool(lore.learning.record(facts, lore.get))
        except InvalidInput:
            least = {name: facts[name] for name in _TOLD_AT_LEAST}
            return bool(lore.learning.record(least, lore.get))

    same = f"{facts['agent']}:{account.task}:{_mark(repr(facts))}" if account.task else _name(job)
    lore.once(job, record, f"recorded:{same}")


def _keep_result(lore: Lore, job: Job, account: Account) -> None:
    """Keep how a task ended, for some days: for its agent and, where others asked for it, for the swarm. What is told
    about the same task later takes its place."""
    text = summaries.task_result(account)
    if not text:
        return
    agent = _whose(lore, account)
    own = lore.acting_as(replace(lore.caller, agent=agent, role="worker"), job.folder) if agent else lore
    name = own.caller.agent
    facts: dict[str, Any] = {"source": "task_completion", "source_ref": _origin(job), "trust": 2, "tags": account.tags}
    facts |= {"entities": entities_of(account.files, ""), "key": f"result:{name}:{account.task or _mark(text)}"[:200]}
    copies = [("agent", "Task" if account.success else "Failed task")] if name else []
    if summaries.is_shared(account):
        copies.append(("swarm", "Shared"))
    about = account.summary or account.task
    for tier, head in copies:
        store = partial(_store, own, text, title=summaries.title_of(head, about), tier=tier, **facts)
        lore.once(job, store, f"result:{tier}:{_name(job)}")


def _whose(lore: Lore, account: Account) -> str:
    """The agent whose task it was, where somebody who leads reports it for another; else nothing is said about that."""
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
QUICK_BYTES = 600_000  # of a transcript that is read while somebody waits: a third of a second
_HANDLE = r"\b[0-9a-f]{6,32}\b"


def learn(lore: Lore, event: Event, session: Session, *, far: bool = False) -> Changes:
    """Store what an event teaches; returns what its session should know about that. From afar: nothing is read or
    written by a path that another machine named."""
    found: Changes = {}
    for way in (_FAR_WAYS if far else _WAYS).get(event.moment, ()):
        found |= way(lore, event, session)
    return found


def takes_long(event: Event) -> bool:
    """Whether an event is too much for a process that a client waits for: files or a long transcript come with it."""
    if event.moment == e.SESSION_START:
        return True
    if _transcript not in _WAYS.get(event.moment, ()):
        return False
    if "#" in event.transcript:
        return True  # one session in a database of many: nobody knows how long it is
    try:
        return os.path.getsize(event.transcript) > QUICK_BYTES
    except (OSError, ValueError):
        return False


def _corrections(lore: Lore, event: Event, session: Session) -> Changes:
    """What the user puts right in a prompt: needed where the task before was asked, not where it was said."""
    from swarmlore.domain.extraction.corrections import find_corrections

    if event.agent:
        return {}  # whoever prompts a sub-agent is an agent
    found = find_corrections(event.prompt, str(session.extra.get("last_said", "")))
    before = str(session.extra.get("last_prompt", "")) or event.prompt
    under = {"correction": before}  # what holds in general was not asked for by the task before
    return _keep(lore, event, session, (_under(item, under.get(item.kind, event.prompt), "prompt") for item in found))


def _comments(lore: Lore, event: Event, session: Session) -> Changes:
    """LEARNED comments, by the words of the agent itself."""
    if "LEARNED" not in event.command.upper() and "INVESTIGATION" not in event.command.upper():
        return {}
    from swarmlore.exchange.beads import capture_learned

    capture_learned(lore.project.root, event.cwd, event.command, event.at)
    return _said_comments(lore, event, session)


def _said_comments(lore: Lore, event: Event, session: Session) -> Changes:
    from swarmlore.domain.extraction.learned_comments import find_learned

    for said in find_learned(event.command, event.cwd, event.at):  # also what stands in the file from a try before
        _remember(
            lore,
            event,
            said.content,
            source="learned_comment",
            key=said.key,
            tags=said.tags,
            source_ref={"bead": said.bead, "author": said.source, "client": event.client, "session": event.session},
            **_situation(session),
        )
    return {}


def _fixes(lore: Lore, event: Event, session: Session) -> Changes:
    """A command that failed, then one that did the same and did not."""
    tried = attempts_of(session.extra)
    failures = [place for place, item in enumerate(tried) if item.get("error") and item.get("tool") == e.SHELL]
    if event.tool != e.SHELL or not failures:
        return {}
    from swarmlore.domain.extraction.fixes import find_fix

    failed, *between = [_attempt(item) for item in tried[failures[-1] :]]
    now = _attempt({"tool": event.tool, "command": event.command, "output": event.output, "at": event.at})
    found = find_fix(failed, between, now)
    return _keep(lore, event, session, [_under(found, failed.error, "error")] if found else [])


def _attempt(values: Mapping[str, Any]) -> Attempt:
    from swarmlore.domain.extraction.fixes import Attempt

    said = {name: str(values.get(name, "")) for name in ("tool", "command", "error", "output")}
    return Attempt(**said, files=tuple(map(str, values.get("files", ()))), at=float(values.get("at", 0.0)))


def _files(lore: Lore, event: Event, session: Session) -> Changes:
    """A file written where memories are kept is a memory itself."""
    if event.tool == e.WRITE:
        for path in event.files:
            lore.index_file(path)
    return {}


def _changed_files(lore: Lore, event: Event, session: Session) -> Changes:
    """Notes that a client or a person wrote meanwhile."""
    lore.index_changed()
    return {}


def _transcript(lore: Lore, event: Event, session: Session) -> Changes:
    """The whole session once more, at its end or before it is cut: what no single event showed."""
    path = event.transcript or str(session.extra.get("transcript", ""))
    if not path:
        return {}

    turns, told = read_session(lore, event, session, path)
    if turns:
        body = _leave(lore, event, session, turns)
        _look_back_later(lore, event, {**body, "transcript": path})
    return told | _cited_in(lore, event, session, "\n".join(turn.text for turn in turns if turn.role == "assistant"))


def _sent_transcript(lore: Lore, event: Event, session: Session) -> Changes:
    """The same of a session on another machine, which was read there."""

    turns = turns_in({"turns": event.extra.get("turns", [])})
    if turns:
        _leave(lore, event, session, turns)
    return _cited_in(lore, event, session, "\n".join(turn.text for turn in turns if turn.role == "assistant"))


def _leave(lore: Lore, event: Event, session: Session, turns: Sequence[Turn]) -> Changes:
    """Leave a session to the memory-catcher, before its event is done with: the queue keeps it from here on.

    The same event again is the same job; a session that is resumed ends at another time.
    """

    extra = session.extra
    figures = {name: extra[name] for name in ("errors", "retries") if isinstance(extra.get(name), int)}
    if (took := _lasted(event, session, turns)) > 0:
        figures["duration_ms"] = round(1000 * took)
    facts = {"client": event.client, "session": event.session, "event": event.name, "at": event.at, "figures": figures}
    body, key = session_body(turns, **facts), f"{event.id}:{event.at:.3f}"
    lore.enqueue("extract", body, f"session:{key}")
    if event.moment == e.SESSION_END and not is_unsummed(event):
        lore.enqueue("summarise", body, f"summary:{key}")
    return body


def _look_back_later(lore: Lore, event: Event, body: Mapping[str, Any]) -> None:
    """Leave it to the worker to propose what the session teaches, where that is wanted; one job per session."""
    if event.session and not event.agent and not is_unsummed(event) and lore.reflections.auto:
        lore.enqueue("reflect", body, f"reflect:{event.session}", again=True)


def _lasted(event: Event, session: Session, turns: Sequence[Turn]) -> float:
    """How many seconds a session took, by its records, else since hooks saw it begin; 0 where nobody knows."""
    times = [turn.at for turn in turns if turn.at > 0]
    known = max(times) - min(times) if times else 0.0
    return max(known, event.at - session.started_at if session.started_at else 0.0)


def _outcome(lore: Lore, event: Event, session: Session) -> Changes:
    """How a task of a swarm ended, as its worker reported it: recorded and learned from later, nobody waits."""
    told = event.extra.get("outcome")
    if isinstance(told, Mapping) and told:
        facts = {"client": event.client, "session": session_of(event), "event": event.name}
        lore.enqueue("extract", {**facts, "outcome": dict(told)}, f"outcome:{event.id}")
    return {}


def _cited(lore: Lore, event: Event, session: Session) -> Changes:
    """Handles that turn up in the agent's words."""
    return _cited_in(lore, event, session, event.said)


def _cited_in(lore: Lore, event: Event, session: Session, words: str) -> Changes:
    if not (said := set(re.findall(_HANDLE, words))):
        return {}
    before = [str(handle) for handle in session.extra.get("cited", ())]
    store, caller = lore.store, lore.caller
    new = []
    with lore.acting(), store.engine.writing():  # counters stand beside what others change
        for receipt in _receipts(lore, event, session):
            new += [item for item in receipt.shown if item.handle in said and item.handle not in before]
        for item in {item.handle: item for item in new}.values():
            if memory := store.get(caller, item.memory):
                outcomes = replace(memory.outcomes, cited=memory.outcomes.cited + 1)
                store.count_outcomes(replace(memory, outcomes=outcomes))
    return {"cited": [*before, *dict.fromkeys(item.handle for item in new)]} if new else {}


def _receipts(lore: Lore, event: Event, session: Session) -> list[Receipt]:
    """What the session was shown and, where a sub-agent speaks, what that was."""
    where = dict.fromkeys((session.id, session_of(event)))
    whole = replace(lore.caller, role="lead")  # a session and its sub-agents act under several names
    return [receipt for id in where if id for receipt in lore.store.receipts(whole, id, limit=200)]


_WAYS: Mapping[str, tuple[Callable[[Lore, Event, Session], Changes], ...]] = {
    e.SESSION_START: (_changed_files,),
    e.PROMPT: (_corrections,),
    e.AFTER_TOOL: (_comments, _fixes, _files, _outcome),
    e.TOOL_FAILED: (_comments,),
    e.TURN_END: (_cited,),
    e.AGENT_STOP: (_cited,),
    e.BEFORE_COMPACTION: (_transcript,),
    e.SESSION_END: (_transcript, _changed_files),
}
_FAR_WAYS: Mapping[str, tuple[Callable[[Lore, Event, Session], Changes], ...]] = {
    e.PROMPT: (_corrections,),
    e.AFTER_TOOL: (_said_comments, _fixes, _outcome),
    e.TOOL_FAILED: (_said_comments,),
    e.TURN_END: (_cited,),
    e.AGENT_STOP: (_cited,),
    e.BEFORE_COMPACTION: (_sent_transcript,),
    e.SESSION_END: (_sent_transcript,),
}


def _keep(lore: Lore, event: Event, session: Session, found: Iterable[Found]) -> Changes:
    """Store lessons that a rule found, up to ten a session.

    A session tells each once: its transcript holds what its prompts said, and is read again when it is resumed, maybe
    on another day. That is nobody's confirmation.
    """
    found = list(found)
    kept = max(int(session.extra.get("lessons", 0)), _kept_so_far(lore, event) if found else 0)
    before = [str(mark) for mark in session.extra.get("told", ())]
    told = list(before)
    for item in found:
        if (mark := f"{crc32(normalize(item.text).encode()):08x}") in told:
            continue
        if kept >= MOST_A_SESSION:
            break
        told.append(mark)
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
    return {"lessons": kept, "told": told[-TOLD_KEPT:]} if told != before else {}


def _kept_so_far(lore: Lore, event: Event) -> int:
    """Lessons that came of the session so far, those of the memory-catcher too."""

    return count_lessons(lore, event.session)


def _remember(lore: Lore, event: Event, text: str, **facts: Any) -> bool:
    """Whether something new was stored. What the gate refuses stands in its list of refusals."""
    try:
        told = lore.remember(text, defer=True, session=session_of(event), auto_generated=True, **facts)
    except Rejected:
        return False
    return told.outcome not in ("confirmed", "quarantined")


def _under(item: Found, text: str, via: str) -> Found:
    return item if item.situation else replace(item, situation=text, situation_via=via)


def _situation(session: Session) -> Changes:
    """Where something was learned: at the last error, else at the last prompt."""
    errors = [item["error"] for item in attempts_of(session.extra)[-RECENT_ATTEMPTS:] if item.get("error")]
    if errors:
        return {"situation": str(errors[-1])[-SITUATION_CHARS:], "situation_via": "error"}
    return {"situation": str(session.extra.get("last_prompt", ""))[:SITUATION_CHARS]}
