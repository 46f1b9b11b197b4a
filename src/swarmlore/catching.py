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

from swarmlore.errors import Rejected, StoreError, SwarmloreError
from swarmlore.formats.transcripts.turns import Turn
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.rules import summaries
from swarmlore.rules.catching import MOST_CHARS, Account, account_of, confidence, cut, lessons_in
from swarmlore.rules.outcomes import FAILURE_MODES
from swarmlore.rules.session_lessons import MOST_LESSONS, distinct
from swarmlore.text.similarity import normalize

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.records import Job, Memory
    from swarmlore.rules.found import Found

SITUATION_CHARS = 400
_RECORDED = (
    *("success", "task", "summary", "evaluation", "files", "errors", "retries", "duration_ms", "strategy"),
    "criteria",
)
_KEPT = ("role", "text", "tool", "command", "files", "error", "failed")  # of a turn, in a job


# --- what a job holds


def session_body(turns: Sequence[Turn], **facts: Any) -> dict[str, Any]:
    """What a worker needs to know about a session: its turns, cut, and who reported it when."""
    return {**facts, "turns": [_plain(turn) for turn in cut(turns, MOST_CHARS)]}


def _plain(turn: Turn) -> dict[str, Any]:
    values = {name: getattr(turn, name) for name in _KEPT}
    kept = {name: value for name, value in values.items() if value not in ("", (), None)}
    return {**kept, "files": list(turn.files)} if turn.files else kept


def _turns(body: Mapping[str, Any]) -> list[Turn]:
    """The turns of a job; a transcript in plain text where it came by mail."""
    listed = body.get("turns")
    if isinstance(listed, list):
        return [turn for item in listed if (turn := _turn(item)) is not None]
    text = _text(body, "text") or _text(_mapping(body, "outcome"), "transcript")
    if not text:
        return []
    from swarmlore.reflecting import turns_of

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
    """Keep what a session or a task teaches; of a task also how it ended."""
    body = job.body
    told = _mapping(body, "outcome")
    account = account_of(told or _mapping(body, "figures"))
    turns = _turns(body)
    if not lore.settings.knowledge.enabled:
        return
    if told and not body.get("recorded"):
        _record(lore, job, account)
    found = _caught(lore, turns, account)
    _keep(lore, job, found, account)
    if told:
        _keep_result(lore, job, account)


def summarise(lore: Lore, job: Job) -> None:
    """Keep a session as a whole, for some days; one that goes on later gets another summary in place of it."""
    turns = _turns(job.body)
    if not lore.settings.knowledge.enabled:
        return
    text = _summary(lore, turns)
    if not text:
        return
    title = summaries.title_of("Session", summaries.first_prompt(turns))
    facts = {"source": "session_summary", "kind": "workflow_note", "tier": "agent", "source_ref": _origin(job)}

    def keep() -> None:
        for memory in _of_session(lore, _text(job.body, "session")):
            if memory.source == "session_summary" and memory.owner == lore.caller.agent:
                lore.forget(memory.id)
        _store(lore, text, title=title, **facts)

    lore.once(job, keep, f"summary:{_name(job)}")


# --- what is found


def _caught(lore: Lore, turns: Sequence[Turn], account: Account) -> tuple[Found, ...]:
    """The lessons by rules; a language model may add to them, within what it may cost, and fails in silence."""
    by_rules = lessons_in(turns, account)
    if lore.settings.writer.kind == "none" or not (turns or account.evaluation):
        return by_rules
    from swarmlore.reading import find_lessons

    try:
        added = find_lessons(lore.capped_writer(), turns, account)
    except StoreError:
        raise
    except SwarmloreError:
        return by_rules
    return tuple(distinct([*by_rules, *added])[:MOST_LESSONS])


def _summary(lore: Lore, turns: Sequence[Turn]) -> str:
    by_rules = summaries.summary_of(turns, lessons_in(turns, Account()))
    if lore.settings.writer.kind == "none" or not by_rules:  # what is not worth a summary is not worth a question
        return by_rules
    from swarmlore.reading import sum_up

    try:
        return sum_up(lore.capped_writer(), turns) or by_rules
    except StoreError:
        raise
    except SwarmloreError:
        return by_rules


# --- what is kept


def _keep(lore: Lore, job: Job, found: Sequence[Found], account: Account) -> None:
    """Store lessons as candidates, each once for its session or task, and ten of those at most."""
    session = _text(job.body, "session")
    where = session or _name(job)
    told = _told_before(lore, session)
    least = 1 if _is_unnamed(job.body) else 2
    room = MOST_LESSONS - count_lessons(lore, session)
    for item in found:
        if room <= 0:
            return
        mark = f"{crc32(normalize(item.text).encode()):08x}"
        if mark in told:
            continue
        facts = {
            "kind": item.kind,
            "confidence": confidence(item, account),
            "trust": min(item.trust, least),
            "entities": item.entities,
            "source": "reflect",
            "source_ref": _origin(job),
            "situation": item.situation[:SITUATION_CHARS],
            "situation_via": item.situation_via,
            "session": session,
        }
        room -= bool(lore.once(job, partial(_store, lore, item.text, **facts), f"told:{where}:{mark}"))


def _store(lore: Lore, text: str, **facts: Any) -> bool:
    """Whether something new was stored. What the gate refuses stands in its list of refusals, and is done with."""
    try:
        told = lore.remember(text, auto_generated=True, defer=True, **facts)
    except Rejected:
        return False
    return told.outcome not in ("confirmed", "quarantined")


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


def _is_unnamed(body: Mapping[str, Any]) -> bool:
    """Whether a text came without saying who speaks in it: then it may be anybody's, or a tool's."""
    from swarmlore.reflecting import names_speakers

    text = _text(body, "text") or _text(_mapping(body, "outcome"), "transcript")
    return bool(text) and not names_speakers(text)


def _origin(job: Job) -> dict[str, Any]:
    """Where something comes from, as far as the job says it."""
    named = {name: _text(job.body, name) for name in ("client", "session", "event", "mail", "from")}
    account = account_of(_mapping(job.body, "outcome"))
    told = {"task": account.task, "agent": account.agent, "outcome": _text(job.body, "recorded")}
    return {name: value[:200] for name, value in {**named, **told}.items() if value}


# --- tasks


def _record(lore: Lore, job: Job, account: Account) -> None:
    """Record how a task ended, once, and credit what it was shown."""
    facts = {name: getattr(account, name) for name in _RECORDED}
    if account.failure_mode in FAILURE_MODES:
        facts["failure_mode"] = account.failure_mode
    facts["session"] = _text(job.body, "session")
    lore.once(job, lambda: bool(lore.learning.record(facts, lore.get)), f"recorded:{_name(job)}")


def _keep_result(lore: Lore, job: Job, account: Account) -> None:
    """Keep how a task ended, for some days: for its agent and, where others asked for it, for the swarm."""
    text = summaries.task_result(account)
    if not text or summaries.is_unattended(account.task or account.summary, account):
        return
    about = account.summary or account.task
    facts = {"source": "task_completion", "source_ref": _origin(job), "trust": 2, "tags": account.tags}
    copies = [("agent", "Task" if account.success else "Failed task")]
    if summaries.is_shared(account):
        copies.append(("swarm", "Shared"))
    for tier, head in copies:
        store = partial(_store, lore, text, title=summaries.title_of(head, about), tier=tier, **facts)
        lore.once(job, store, f"result:{tier}:{_name(job)}")
