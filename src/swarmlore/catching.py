"""The memory-catcher: takes lessons, results and summaries out of what happened, as jobs for which nobody waits.

A session comes as the turns that matter (`session_body`), the end of a task as what was told about it. Each thing that
is kept is one effect under a key of its own (`Lore.once`): a worker may be killed at any point and begin again, and
neither loses nor doubles anything. Nothing in a transcript or a report is followed: a text becomes a lesson by the
rules or, where a language model reads along, if people or agents of that session said as much themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from zlib import crc32

from swarmlore.clients.transcripts import Turn
from swarmlore.domain.extraction import summaries
from swarmlore.domain.extraction.session_lessons import MOST_LESSONS, corrects, distinct, entities_of
from swarmlore.domain.extraction.summaries import MOST_CHARS, cut
from swarmlore.domain.extraction.task_reports import Account, account_of, confidence, lessons_in
from swarmlore.domain.language.similarity import normalize
from swarmlore.domain.policy.outcomes import FAILURE_MODES
from swarmlore.errors import InvalidInput, Rejected, StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, replace

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.extraction.lesson_text import Found
    from swarmlore.domain.records import Job, Memory
    from swarmlore.lore import Lore

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


def turns_in(body: Mapping[str, Any]) -> list[Turn]:
    """The turns of a job; a transcript in plain text where it came by mail."""
    listed = body.get("turns")
    if isinstance(listed, list):
        return [turn for item in listed if (turn := _turn(item)) is not None]
    text = _text(body, "text") or _text(_mapping(body, "outcome"), "transcript")
    if not text:
        return []
    from swarmlore.clients.transcripts import turns_of

    return cut(turns_of(text), MOST_CHARS)


def _turn(item: Any) -> Turn | None:
    if not isinstance(item, Mapping) or item.get("role") not in ("user", "assistant", "tool"):
        return None
    texts: dict[str, Any] = {name: _text(item, name) for name in ("role", "text", "tool", "command", "error")}
    files = item.get("files")
    paths = tuple(path for path in files if isinstance(path, str)) if isinstance(files, list) else ()
    failed = item.get("failed")
    return Turn(**texts, files=paths, failed=failed if isinstance(failed, bool) else None)


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _mapping(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = values.get(name)
    return value if isinstance(value, Mapping) else {}


# --- the handlers


def extract(lore: Lore, job: Job) -> None:
    """Keep what a session or a task teaches; of a task also how it ended, if that was said. Runs of schedulers and
    heartbeats say the same each time: of them only the outcome is recorded."""
    body = job.body
    told = _mapping(body, "outcome")
    account = account_of(told or _mapping(body, "figures"))
    turns = turns_in(body)
    if not lore.settings.knowledge.enabled:
        return
    ended = bool(told) and account.success is not None
    if ended and not body.get("recorded"):
        _record(lore, job, account)
    about = ": ".join(filter(None, (account.task, account.summary))) or summaries.first_prompt(turns)
    if summaries.is_unattended(about, account):
        return
    _keep(lore, job, _caught(lore, turns, account, 1 if _is_text(body) else 2), account)
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
        session = _of_session(lore, _text(job.body, "session"))
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
    session = _text(job.body, "session")
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


def _keep(lore: Lore, job: Job, found: Sequence[Found], account: Account) -> None:
    """Store lessons as candidates, each once for its session or task, and ten of those at most: the best are chosen,
    and stored in the order in which they were said, as the later of two may take back the earlier."""
    session = _text(job.body, "session")
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
    named = {name: _text(job.body, name) for name in ("client", "session", "event", "mail", "from")}
    account = account_of(_mapping(job.body, "outcome"))
    told = {"task": account.task, "agent": account.agent, "outcome": _text(job.body, "recorded")}
    return {name: value[:200] for name, value in {**named, **told}.items() if value}


# --- tasks


def _record(lore: Lore, job: Job, account: Account) -> None:
    """Record how a task ended, once however often the same is reported, and credit what it was shown."""
    facts = {name: getattr(account, name) for name in _RECORDED}
    if account.failure_mode in FAILURE_MODES:
        facts["failure_mode"] = account.failure_mode
    facts |= {"session": _text(job.body, "session"), "agent": _whose(lore, account)}

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
