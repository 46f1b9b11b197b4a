"""What an event teaches: corrections, fixes, LEARNED comments, memory files, and the transcript at the end.

Everything goes through the gate as a candidate that a rule found, with the situation in which it was learned.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from zlib import crc32

from swarmlore.capture.state import attempts_of, is_unsummed, session_of
from swarmlore.clients.hook import event as e
from swarmlore.domain.extraction.lesson_text import CONFIDENCE_VALUES, Found
from swarmlore.domain.language.similarity import normalize
from swarmlore.errors import Rejected
from swarmlore.frozen import TYPE_CHECKING, replace

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.clients.hook.event import Event
    from swarmlore.clients.transcripts import Turn
    from swarmlore.domain.extraction.fixes import Attempt
    from swarmlore.domain.records import Receipt, Session
    from swarmlore.lore import Lore

    Changes = dict[str, Any]

MOST_A_SESSION = 10
TOLD_KEPT = 40
SITUATION_CHARS = 400
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
    from swarmlore.formats.beads import capture_learned

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
    from swarmlore.capture.transcript import read_session

    turns, told = read_session(lore, event, session, path)
    if turns:
        body = _leave(lore, event, session, turns)
        _look_back_later(lore, event, {**body, "transcript": path})
    return told | _cited_in(lore, event, session, "\n".join(turn.text for turn in turns if turn.role == "assistant"))


def _sent_transcript(lore: Lore, event: Event, session: Session) -> Changes:
    """The same of a session on another machine, which was read there."""
    from swarmlore.catching import turns_in

    turns = turns_in({"turns": event.extra.get("turns", [])})
    if turns:
        _leave(lore, event, session, turns)
    return _cited_in(lore, event, session, "\n".join(turn.text for turn in turns if turn.role == "assistant"))


def _leave(lore: Lore, event: Event, session: Session, turns: Sequence[Turn]) -> Changes:
    """Leave a session to the memory-catcher, before its event is done with: the queue keeps it from here on.

    The same event again is the same job; a session that is resumed ends at another time.
    """
    from swarmlore.catching import session_body

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
    from swarmlore.catching import count_lessons

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
