"""Context injection: build the fenced block of memories for an agent, and record a receipt, also of an empty one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from swarmlore.config import Settings
from swarmlore.domain.extraction.lesson_text import EVENT_SOURCES
from swarmlore.domain.policy.context_block import (
    TASK_HEADER,
    Allowance,
    Composed,
    allowance,
    compose,
    estimate_tokens,
    quote,
)
from swarmlore.domain.policy.fence import strip_blocks
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.records import PROFILES, Block, Caller, Hit, Query, Receipt, Shown, choose, make
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.retrieval.recall import Recaller
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.retrieval.patterns import Patterns


CUE_CHARS = 400
READ_CHARS = 20_000  # characters of a cue that are redacted, before it is cut further and could split a secret
RECEIPT_S = 2.0  # longest wait for other writers, since an agent waits for the block
COMPACTION = "compaction"
FLOOR_CHARS = 300
SHOWN_EARLIER = "shown earlier in this session"
SAID_HERE = "learned in this session"
TASK = "task"
WITH_APPROACHES = ("default", "lane")  # profiles of other systems show lessons only
APPROACHES = 1  # approaches shown before a task: proven ones, and as many to avoid
SPARE = 3  # hits fetched per place in the block, as trust, authors and earlier showings exclude some


@frozen
class BlockRequest:
    """Parameters of a context block. `trigger` names the moment: prompt, error, file, session-start, …

    Memories that cite `files`, paths in the project, come first. `standing` adds the best lessons for a session
    start; `skip` is a reason to give nothing; `until` is the deadline by the monotonic clock.
    """

    cue: str
    trigger: str = "prompt"
    session: str = ""
    headroom: float | None = None
    chars_left: int | None = None
    profile: str = ""
    scopes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    standing: bool = False
    skip: str = ""
    mode: str = ""
    until: float | None = None


class DeadlinePassed(Exception):
    """Raised if the deadline of a block has passed: nothing was given, so no receipt is recorded."""


class Injector:
    """Turn a cue into a fenced context block with a receipt."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        settings: Settings,
        recaller: Recaller,
        patterns: Patterns,
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._patterns = patterns
        self._caller = caller
        self._settings = settings
        self._recaller = recaller
        self._new_id = new_id

    def block(self, cue: str, facts: Mapping[str, Any], now: float) -> Block:
        """Return the block for a cue, possibly empty, and store its receipt; `facts` are fields of BlockRequest."""
        request = _request(cue, facts)
        room = self._allowance(request)
        if reason := self._reason_to_skip(request, room):
            return self._recorded(request, Composed(""), reason, now)
        hits, silence = self._found(request, self._query(request, room), now)
        in_context = self._in_context(request, hits)
        composed = self._compose([hit for hit in hits if hit.memory.id not in in_context], room, request, now)
        left_out = tuple((hit, in_context[hit.memory.id]) for hit in hits if hit.memory.id in in_context)
        composed = replace(composed, cut=(*composed.cut, *left_out))
        return self._recorded(request, composed, self._reason(composed, hits, silence, room), now)

    def quote(self, hits: Sequence[Hit], cue: str, facts: Mapping[str, Any], now: float) -> Block:
        """Return a block of memories that were asked for, whether they were shown before or not."""
        request = _request(cue, facts)
        whole = len(hits) == 1 and request.trigger == "get"
        composed = quote(hits, fence=os.urandom(8).hex(), now=now, project=self._caller.project, whole=whole)
        return self._recorded(request, composed, "asked for" if hits else "nothing was found", now)

    def _in_context(self, request: BlockRequest, hits: list[Hit]) -> dict[str, str]:
        """Return the ids of memories that were shown in this session or learned from it, each with that reason."""
        if request.trigger == COMPACTION:  # a compaction removed earlier blocks from the context
            return {}
        shown = self._store.shown_in(self._caller, request.session)
        lessons = (hit.memory for hit in hits if request.session and not hit.memory.raw)
        learned = {item.id: SAID_HERE for item in lessons if item.source_ref.get("session") == request.session}
        return dict.fromkeys(shown, SHOWN_EARLIER) | learned

    def _found(self, request: BlockRequest, query: Query, now: float) -> tuple[list[Hit], str]:
        """Return unique hits, and the reason if none fits the cue.

        In order: memories that cite the files, that fit the cue, approaches for a task, lessons for a session start.
        """
        hits, silence = self._recaller.relevant(query, now) if request.cue else ([], "")
        if request.files:
            hits = [*self._recaller.about(request.files, query, now), *hits]
        hits = self._patterns.told(hits, now)
        if (request.standing or request.trigger == TASK) and query.profile in WITH_APPROACHES:
            hits = [*hits, *self._patterns.listed(now, APPROACHES)]
        if request.standing:
            hits = [*hits, *self._recaller.standing(query, now)]
        by_id: dict[str, Hit] = {}
        for hit in hits:
            by_id.setdefault(hit.memory.id, hit)
        unique = list(by_id.values())
        if request.trigger != TASK:  # reports of events have many words and match much, so lessons come first
            unique.sort(key=lambda hit: hit.memory.source in EVENT_SOURCES)
        return unique, silence

    def _allowance(self, request: BlockRequest) -> Allowance:
        knowledge, own = self._settings.knowledge, self._settings.inject
        seeds = self._profile(request) == "knowledge"
        return allowance(
            request.headroom,
            request.chars_left,
            max_count=knowledge.max_inject_count if seeds else own.max_count,
            char_budget=knowledge.inject_char_budget if seeds else own.char_budget,
            floor_chars=knowledge.context_budget_threshold if seeds else FLOOR_CHARS,
        )

    def _reason_to_skip(self, request: BlockRequest, room: Allowance) -> str:
        if not self._settings.knowledge.enabled:
            return "switched off: knowledge.enabled = false"
        if request.skip:
            return request.skip
        if not (request.cue or request.files or request.standing):
            return "there is no cue"
        return "" if room.count else room.reason

    def _query(self, request: BlockRequest, room: Allowance) -> Query:
        mode = request.mode or self._settings.recall.mode
        return Query(
            request.cue, limit=room.count * SPARE, profile=self._profile(request), mode=mode, scopes=request.scopes
        )

    def _compose(self, hits: list[Hit], room: Allowance, request: BlockRequest, now: float) -> Composed:
        profile = self._profile(request)
        display = self._settings.knowledge.max_lesson_display_chars if profile == "knowledge" else None
        return compose(
            hits,
            room,
            fence=os.urandom(8).hex(),
            now=now,
            project=self._caller.project,
            profile=profile,
            display_chars=display,
            heading=TASK_HEADER if request.trigger == TASK else "",
        )

    def _profile(self, request: BlockRequest) -> str:
        return request.profile or self._settings.recall.profile

    def _reason(self, composed: Composed, hits: list[Hit], silence: str, room: Allowance) -> str:
        if composed.shown:
            return room.reason
        if not hits:
            return silence or "nothing relevant"
        return "everything relevant is in the context already, or did not fit"

    def _recorded(self, request: BlockRequest, composed: Composed, reason: str, now: float) -> Block:
        if request.until is not None and time.monotonic() > request.until:
            raise DeadlinePassed
        receipt = Receipt(
            id=self._new_id(),
            at=now,
            project=self._caller.project,
            agent=self._caller.agent,
            session=request.session,
            trigger=request.trigger,
            cue=" ".join(scrub_text(_beginning(request.cue)).split())[:CUE_CHARS],
            shown=tuple(_shown(hit, "") for hit in composed.shown),
            cut=tuple(_shown(hit, why) for hit, why in composed.cut),
            chars=composed.chars,
            tokens=estimate_tokens(composed.chars),
            reason=reason,
            headroom=request.headroom,
        )
        try:
            with self._store.engine.hurried(RECEIPT_S):
                self._store.put_receipt(self._caller, receipt)
        except SwarmloreError as error:  # a full or read-only disk must not keep an agent from its memories
            receipt = replace(receipt, reason=f"{reason}; the receipt was not stored: {error.message}")
        return Block(composed.text, receipt)


def _request(cue: str, facts: Mapping[str, Any]) -> BlockRequest:
    if not isinstance(cue, str):
        raise InvalidInput("a cue is a text", "give the prompt, the error output or the path")
    request: BlockRequest = make(BlockRequest, {**facts, "cue": strip_blocks(cue).strip()}, "block")
    if request.headroom is not None and not 0 <= request.headroom <= 1:  # NaN fails here too
        raise InvalidInput(f"headroom {request.headroom} is not a share", "from 0 to 1: 0.35 where 35% is free")
    if request.profile:
        choose("profile", [request.profile], PROFILES)
    return replace(request, trigger=scrub_text(request.trigger), session=scrub_text(request.session))


def _beginning(cue: str) -> str:
    """Return the first 20,000 characters of a cue, cut between words, as half a secret would not be redacted."""
    if len(cue) <= READ_CHARS:
        return cue
    kept = cue[:READ_CHARS]
    return kept[: len(kept) - len(kept.split()[-1])] if kept.split() and not cue[READ_CHARS].isspace() else kept


def _shown(hit: Hit, why: str) -> Shown:
    return Shown(hit.memory.id, hit.memory.handle, round(hit.score, 6), why)
