"""Reflect on sessions: propose what to learn, list and decide proposals, write episodes, and run the reflect job."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256

from swarmlore.clients.transcripts import read_transcript, turns_of_job
from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.display import shortened
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.records import PROPOSAL_ROUTES, Edit, Memory, Proposal, Reflection
from swarmlore.errors import InvalidInput, NotAllowed, StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.notes.locations import EPISODES
from swarmlore.notes.locations import LEARNINGS as LEARNED
from swarmlore.notes.note_format import parse_note, write_note
from swarmlore.notes.reflect import metrics
from swarmlore.notes.reflect.answers import APPROVE, HOW, MODIFY, REJECT, no_answer, read_answer, reworded
from swarmlore.notes.reflect.apply import Applied, ApprovalRunner, commit_texts
from swarmlore.notes.reflect.collect import (
    MOST_BYTES,
    Conversation,
    earlier_reflections,
    home_of,
    load_file,
    load_session,
    load_text,
)
from swarmlore.notes.reflect.propose import UNFIT, Known, ProposalCollector, ProposalDrafter, conflict_of, diff_of
from swarmlore.notes.reflect.targets import LEARNINGS, Places
from swarmlore.notes.yaml_edit import Unreadable, plain, read
from swarmlore.store.database import Operation
from swarmlore.workspace.files import open_own

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.extraction.session_lessons import Lesson
    from swarmlore.domain.records import Job
    from swarmlore.lore import Lore


CATEGORY = "session-reflections"
CONTEXT_HEADING, SIGNALS_HEADING, LEARNED_HEADING = "Session Context", "Signals Detected", "Learnings Extracted"


@frozen
class Episode:
    """Record of one reflected session; `created` is a date or time in ISO 8601."""

    created: str
    title: str
    key_insight: str
    agent: str = ""
    project: str = ""
    context: str = ""
    signals: tuple[str, ...] = ()
    learnings: tuple[str, ...] = ()
    """One line per learning."""
    extracted_learnings: tuple[str, ...] = ()
    """Ids of the notes made from it."""
    tags: tuple[str, ...] = ()
    confidence: str = "medium"


def episode_id(episode: Episode) -> str:
    """Return `ep-YYYYMMDD-hash6`, which depends only on the content of the episode."""
    parts = (episode.created, episode.agent, episode.project, episode.context, *episode.signals)
    digest = sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"ep-{_day(episode).replace('-', '')}-{digest[:6]}"


def episode_path(episode: Episode) -> str:
    """Return the path of an episode below the episodes folder."""
    return f"{_day(episode)}/{episode_id(episode)}.md"


def write_episode(episode: Episode) -> str:
    """Return the Markdown text of an episode."""
    fields = {
        "title": episode.title,
        "category": CATEGORY,
        "tags": episode.tags,
        "key_insight": episode.key_insight,
        "created": _day(episode),
        "confidence": episode.confidence,
        "type": "episode",
        "id": episode_id(episode),
        "agent": episode.agent,
        "project": episode.project,
        "extracted_learnings": episode.extracted_learnings,
    }
    context = "\n".join(map(_no_heading, episode.context.strip().splitlines())) or "Nothing more is known."
    sections = (
        (CONTEXT_HEADING, context),
        (SIGNALS_HEADING, _items(episode.signals)),
        (LEARNED_HEADING, _items(episode.learnings)),
    )
    return write_note(fields, "".join(f"\n## {title}\n\n{text}\n" for title, text in sections))


def _day(episode: Episode) -> str:
    """Return the date as YYYY-MM-DD from its digits only, so that input cannot name another folder."""
    digits = "".join(letter for letter in episode.created[:10] if letter in "0123456789")[:8].ljust(8, "0")
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"


def _items(texts: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(text.split())}" for text in texts) or "None."


def _no_heading(line: str) -> str:
    """Escape a line that would start a heading, code block or comment."""
    return "\\" + line.lstrip() if line.lstrip().startswith(("#", "```", "~~~", "<!--")) else line


FILE = "reflect-state.yaml"
MOST_STATE_BYTES = 262_144
MOST_PENDING = 200
_LISTS = ("pending_low_confidence", "pending_reviews")
_WORDS = ("learning", "text", "rule", "title", "quote", "signal")


@frozen
class OlderState:
    """State of the older reflect tool: whether it reflected automatically, and its pending learnings."""

    auto: bool = False
    pending: tuple[str, ...] = ()


def older_state(env: Mapping[str, str]) -> OlderState:
    """Read the state file of the older reflect tool; empty if it is missing or unreadable."""
    folder = env.get("REFLECT_STATE_DIR") or os.path.join(home_of(env), ".reflect")
    file, _ = open_own(os.path.join(os.path.abspath(os.path.expanduser(folder)), FILE))
    if file is None:
        return OlderState()
    with file:
        data = file.read(MOST_STATE_BYTES + 1)
    try:
        state: Any = plain(read(data.decode("utf-8")).root) if len(data) <= MOST_STATE_BYTES else {}
    except (Unreadable, UnicodeDecodeError):
        return OlderState()
    if not isinstance(state, dict):
        return OlderState()
    auto = str(state.get("auto_reflect", "")).strip().lower() in ("true", "yes", "on", "1")
    lists: list[Any] = [state.get(name) for name in _LISTS]
    waiting = [item for listed in lists if isinstance(listed, list) for item in listed]
    return OlderState(auto, tuple(filter(None, map(_words, waiting[:MOST_PENDING]))))


def _words(item: Any) -> str:
    if isinstance(item, dict):
        item = next((item[name] for name in _WORDS if isinstance(item.get(name), str)), "")
    return scrub_text(" ".join(item.split()))[:400] if isinstance(item, str) else ""


MOST_SIGNALS = 60
MOST_LOOKS = 1_000
_TITLE_CHARS = 100


def keep_episode(places: Places, reflection: Reflection, lessons: Sequence[Lesson], project: str) -> str:
    """Write the episode of a reflection unless it exists; return its path below the learnings, '' on failure."""
    episode = _episode(reflection, lessons, project)
    edit = Edit(LEARNINGS, f"{EPISODES}/{episode_path(episode)}", "create", scrub_text(write_episode(episode)))
    try:
        with places.changing(edit) as (folder, name):
            if not folder.size(name):
                folder.replace(name, [edit.text.encode()])
    except (*UNFIT, StoreError, OSError):
        return ""
    return edit.path


def drop_episodes(lore: Lore, places: Places, session: str) -> list[Memory]:
    """Delete the episode files of a session; return the memories that were indexed from them."""
    found = lore.store.reflections(lore.caller, session, limit=MOST_LOOKS)
    paths = {one.episode for one in found if one.episode}
    for path in paths:
        with places.changing(Edit(LEARNINGS, path, "")) as (folder, name):
            if folder.has(name):
                folder.remove(name)
    ids = lore.store.ids_of_source(lore.caller, "note", hidden=True) if paths else []
    kept = (lore.store.get(lore.caller, id) for id in ids)
    return [memory for memory in kept if memory is not None and memory.source_ref.get("path") in paths]


def _episode(reflection: Reflection, lessons: Sequence[Lesson], project: str) -> Episode:
    counts = ", ".join(f"{count} {level}" for level, count in reflection.signals.items())
    about = [f"Session {reflection.session}" if reflection.session else "A text without a session"]
    about += [f"client {reflection.client}"] if reflection.client else []
    levels = [lesson.level for lesson in lessons]
    return Episode(
        created=(iso(reflection.at) or "")[:10],
        title=f"Session in {project}: {shortened(lessons[0].text, _TITLE_CHARS)}",
        key_insight=lessons[0].text,
        agent=reflection.client or reflection.agent,
        project=project,
        context=f"{', '.join(about)}. {sum(reflection.signals.values())} signals ({counts}).",
        signals=tuple(f"{one.level} ({one.category}): {one.quote or one.text}" for one in lessons[:MOST_SIGNALS]),
        learnings=tuple(f"{item.route}: {item.title}" for item in reflection.proposals),
        extracted_learnings=tuple(filter(None, map(_note_id, reflection.proposals))),
        tags=_tags(lessons),
        confidence="high" if "high" in levels else "medium" if "medium" in levels else "low",
    )


def _tags(lessons: Sequence[Lesson]) -> tuple[str, ...]:
    named = (lesson.category for lesson in lessons if lesson.category not in ("", "Unknown"))
    return tuple(dict.fromkeys(name.lower().replace(" ", "-") for name in named))[:8]


def _note_id(item: Proposal) -> str:
    own = [edit for edit in item.edits if edit.place == LEARNINGS and edit.path.startswith(f"{LEARNED}/")]
    return parse_note(own[0].text).id if own and own[0].path.endswith(".md") and own[0].text else ""


BEHAVIORAL, KNOWLEDGE = ("behavioral",), ("knowledge", "skill")
MOST_PROPOSALS = 40  # stored per reflection


@frozen
class Decided:
    """Result of an answer: the proposals in their new state; `applied` is None if nothing was written."""

    verb: str
    proposals: tuple[Proposal, ...] = ()
    applied: Applied | None = None


class Reflections:
    """The reflections and proposals of one project, for one caller."""

    def __init__(self, lore: Lore, env: Mapping[str, str], operate: Callable[[str], Operation]) -> None:
        self._lore = lore
        self._env = env
        self._operate = operate
        self._places = Places.of(lore.project.root, env)
        self._applying = ApprovalRunner(lore, self._places, operate)

    def reflect(
        self, text: str = "", *, session: str = "", path: str = "", items: str | Sequence[Any] = "", agent: str = ""
    ) -> Reflection:
        """Propose what a text, file, session or list of LLM-prepared items teaches; by default the newest session not
        yet reflected on. With `agent`, propose only rules for that agent's file."""
        ProposalDrafter(self._lore, self._places, "", agent).rule_target()  # fail before reading the session
        if items:
            return self._keep(self._from_items(items, session, agent))
        if path or text:
            return self.reflect_on(load_file(path, text) if path else load_text(text), agent)
        return self.reflect_on(load_session(self._lore, self._env, session), agent)

    def reflect_on(self, conversation: Conversation, agent: str = "") -> Reflection:
        """Propose what a conversation that was already read teaches."""
        from swarmlore.domain.extraction.session_lessons import count_by_level, extract_lessons

        earlier = [] if agent else earlier_reflections(self._lore, conversation.session)
        lessons = extract_lessons(conversation.turns, max((one.told_to for one in earlier), default=0.0))
        drafter = ProposalDrafter(self._lore, self._places, conversation.client, agent)
        collector = ProposalCollector(self._lore, drafter, conversation)
        for lesson in lessons:
            collector.take(lesson, BEHAVIORAL if agent else ())
        collector.close()
        facts = conversation.facts(whole=not agent, again=bool(earlier))
        reflection = self._reflection(collector, count_by_level(lessons), facts)
        if lessons and self._lore.settings.knowledge.enabled:
            episode = keep_episode(self._places, reflection, lessons, self._lore.project.name)
            reflection = replace(reflection, episode=episode)
        kept = self._keep(reflection)
        if kept.episode:
            self._lore.index_changed()
        return kept

    def take_over(self) -> Reflection | None:
        """Propose the pending learnings of the older reflect tool; None if none is new."""
        known = Known(self._lore)
        waiting = [text for text in older_state(self._env).pending if known.times_met(text) == 1]
        items = [{"route": "instinct", "text": text, "level": "low"} for text in waiting]
        return self._keep(self._from_items(items, "", "")) if items else None

    def _from_items(self, given: str | Sequence[Any], session: str, agent: str) -> Reflection:
        from swarmlore.notes.reflect.llm_items import read_items

        drafter = ProposalDrafter(self._lore, self._places, self._lore.caller.agent.partition("/")[0], agent)
        collector = ProposalCollector(self._lore, drafter, Conversation((), "items", session))
        items = read_items(given)
        for item in items:
            collector.take_item(item)
        collector.close()
        levels = [item.level for item in items]
        signals = {level: levels.count(level) for level in ("high", "medium", "low")}
        return self._reflection(collector, signals, {"session": session, "source": "items"})

    def _reflection(self, made: ProposalCollector, signals: Mapping[str, int], facts: Mapping[str, Any]) -> Reflection:
        lore = self._lore
        return Reflection(
            lore.new_id(),
            lore.now(),
            lore.caller.project,
            lore.caller.agent,
            signals=dict(signals),
            known=made.known,
            improved=made.improved,
            refused=tuple(made.refused),
            proposals=tuple(made.proposals[:MOST_PROPOSALS]),
            **facts,
        )

    def _keep(self, reflection: Reflection) -> Reflection:
        """Store a reflection; its proposals get numbers that no open proposal has."""
        lore = self._lore
        with lore.acting(), lore.store.operation(self._operate("reflect")):
            numbered = _numbered(reflection.proposals, lore.store.open_proposals(lore.caller))
            kept = [replace(item, reflection=reflection.id) for item in numbered]
            reflection = replace(reflection, proposals=tuple(kept))
            lore.store.put_reflection(reflection)
        self._count(reflection)
        return reflection

    def _count(self, reflection: Reflection) -> None:
        try:
            metrics.count_reflection(self._places, reflection)
        except (SwarmloreError, OSError):
            return  # `finish` retries it
        with self._lore.acting():
            self._lore.store.counted_reflection(self._lore.caller, reflection)

    def open(self, routes: Sequence[str] = (), *, low: bool = False, reflection: str = "") -> tuple[Proposal, ...]:
        """Return the open proposals by number, each with its current diff; those of low confidence only with `low`."""
        with self._lore.acting():
            found = self._lore.store.open_proposals(self._lore.caller)
        wanted = [item for item in found if item.state != "approved" and (not routes or item.route in routes)]
        wanted = [item for item in wanted if not reflection or item.reflection.startswith(reflection)]
        return tuple(self._with_diff(item) for item in wanted if low or item.level != "low")

    def _with_diff(self, item: Proposal) -> Proposal:
        try:
            return replace(item, diff=diff_of(item, self._places))
        except SwarmloreError as problem:
            return replace(item, reason=problem.message)

    def answer(self, said: str, shown: Sequence[Proposal]) -> Decided:
        """Apply an answer (Y, N, numbers, labels, groups) to the shown proposals; raise InvalidInput if it is none."""
        answer = read_answer(said, shown)
        if answer is None:
            if not shown:
                raise InvalidInput("nothing is open", "look back first: swarmlore reflect")
            raise InvalidInput(no_answer(said, shown), HOW)
        if answer.verb == MODIFY:
            raise InvalidInput("a wording is changed at a terminal", "swarmlore reflect --review")
        chosen = [item for item in shown if item.id in answer.ids]
        if self._lore.caller.role != "person":
            return self._prepare(chosen, answer.verb)
        return self.reject(chosen) if answer.verb == REJECT else self.approve(chosen)

    def approve(self, chosen: Sequence[Proposal]) -> Decided:
        """Write approved proposals and commit them, one commit per repository. Only a person may."""
        approval = self._applying.approve(chosen, self._signals_of(chosen))
        applied = self._applying.finish(approval)
        return Decided(APPROVE, applied.proposals, applied)

    def reject(self, chosen: Sequence[Proposal]) -> Decided:
        """Reject proposals, which are not proposed again. Only a person may."""
        if self._lore.caller.role != "person":
            raise NotAllowed("a person rejects", "show it to your user")
        return Decided(REJECT, self._settle(chosen, "rejected"))

    def _prepare(self, chosen: Sequence[Proposal], verb: str) -> Decided:
        """Store an agent's answer as advice with its name; a person decides."""
        advice = "advises to approve" if verb == APPROVE else "advises to reject"
        state = "prepared" if verb == APPROVE else "pending"
        return Decided("prepare", self._settle(chosen, state, f"{self._lore.caller.agent} {advice}"))

    def _settle(self, chosen: Sequence[Proposal], state: str, reason: str = "") -> tuple[Proposal, ...]:
        lore = self._lore
        decided = {"state": state, "by": lore.caller.agent, "decided_at": lore.now(), "reason": reason}
        with lore.acting(), lore.store.operation(self._operate(state if state != "pending" else "advise")):
            open_ids = {item.id for item in lore.store.open_proposals(lore.caller) if item.state != "approved"}
            changed = tuple(replace(item, **decided) for item in chosen if item.id in open_ids)
            lore.store.change_proposals(changed)
        return changed

    def reword(self, item: Proposal, text: str) -> Proposal:
        """Replace the text that a proposal adds by a person's wording, which passes the validation gate again."""
        if self._lore.caller.role != "person":
            raise NotAllowed("a person changes the wording", "show it to your user")
        changed = reworded(item, text)
        changed = self._with_diff(replace(changed, conflict=conflict_of(changed, self._places)))
        with self._lore.acting(), self._lore.store.operation(self._operate("reword")):
            self._applying.check_open([item])
            self._lore.store.change_proposals([changed])
        return changed

    def count_of(self, session: str, *, erase: bool) -> int:
        """Count the proposals deleted with a session: open ones when it is forgotten, all when it is erased."""
        with self._lore.acting():
            found = self._lore.store.proposals_of(self._lore.caller, session)
        return sum(erase or item.state in ("pending", "prepared") for item in found)

    def drop_episodes(self, session: str) -> list[Memory]:
        """Delete the automatically written episodes of an erased session."""
        return drop_episodes(self._lore, self._places, session)

    def _signals_of(self, chosen: Sequence[Proposal]) -> dict[str, int]:
        """Sum the signal counts of the reflections behind these proposals."""
        sums: dict[str, int] = {}
        for id in dict.fromkeys(item.reflection for item in chosen):
            with self._lore.acting():
                found = self._lore.store.reflections(self._lore.caller, id=id, limit=1)
            for level, count in (found[0].signals if found else {}).items():
                sums[level] = sums.get(level, 0) + count
        return sums

    def finish(self) -> tuple[Applied, ...]:
        """Resume approvals that were interrupted, and count reflections that were not counted."""
        with self._lore.acting():
            begun = self._lore.store.open_approvals(self._lore.caller)
            uncounted = [one for one in self._lore.store.reflections(self._lore.caller) if not one.counted]
            proposals = [self._lore.store.proposals(self._lore.caller, reflection=one.id) for one in uncounted]
        for reflection, own in zip(uncounted, proposals, strict=True):
            self._count(replace(reflection, proposals=tuple(own)))
        return tuple(self._applying.finish(approval) for approval in begun)

    def commit_changes(self, root: str, changes: Sequence[Any]) -> list[str]:
        """Commit files that a consolidation of worktrees changed; return messages about the result."""
        return commit_texts(root, changes, self._lore.new_id(), self._lore.now())

    def status(self) -> dict[str, Any]:
        """Return metrics over all projects, open proposals of this one, and whether reflection is automatic."""
        with self._lore.acting():
            store, caller = self._lore.store, self._lore.caller
            counts = store.count_proposals(caller)
            last = store.reflections(caller, limit=1)
            unfinished = len(store.open_approvals(caller))
        older = older_state(self._env)
        status: dict[str, Any] = {"auto": self.auto, "metrics": metrics.read_metrics(self._places)}
        status["last_here"] = iso(last[0].at) if last else None
        status["unfinished"] = unfinished
        status["proposals"] = _sums(counts, 2)
        status["open"] = _sums([row for row in counts if row[2] in ("pending", "prepared")], 0)
        status["open_low"] = sum(row[3] for row in counts if row[2] in ("pending", "prepared") and row[1] == "low")
        status["older_pending"] = len(older.pending)
        return status

    @property
    def auto(self) -> bool:
        """Whether sessions are reflected on automatically: this project's setting, else that of the older tool."""
        own = self._lore.settings
        return own.reflect.auto if "reflect.auto" in own.origins else older_state(self._env).auto


def _numbered(proposals: Sequence[Proposal], taken: Sequence[Proposal]) -> list[Proposal]:
    """Give proposals the next free numbers, overall and per route letter."""
    number = max((item.number for item in taken), default=0)
    letters = dict.fromkeys(PROPOSAL_ROUTES.values(), 0)
    for item in taken:
        letters[item.label[:1]] = max(letters.get(item.label[:1], 0), int(item.label[1:] or 0))
    named = []
    for item in proposals:
        letter = PROPOSAL_ROUTES[item.route]
        letters[letter] += 1
        number += 1
        named.append(replace(item, number=number, label=f"{letter}{letters[letter]}"))
    return named


def _sums(counts: Sequence[tuple[str, str, str, int]], by: int) -> dict[str, int]:
    sums: dict[str, int] = {}
    for row in counts:
        sums[str(row[by])] = sums.get(str(row[by]), 0) + row[3]
    return sums


def run_reflection_job(lore: Lore, job: Job) -> None:
    """Job handler: reflect on an ended session, and resume interrupted approvals. Running it again changes nothing."""
    reflections = lore.reflections
    reflections.finish()
    if not lore.settings.knowledge.enabled or not job.body.get("session"):
        return
    conversation = _conversation(job)
    earlier = earlier_reflections(lore, conversation.session) if conversation.turns else []
    if conversation.turns and all(_is_news(conversation, before) for before in earlier):
        reflections.reflect_on(conversation)


def _is_news(conversation: Conversation, before: Reflection) -> bool:
    """Return whether a session has turns newer than an earlier reflection; a session may be compacted and then end."""
    since = before.told_to
    has_new_turns = not since or any(turn.at > since or not turn.at for turn in conversation.turns)
    return has_new_turns and before.read_to < conversation.at


def _conversation(job: Job) -> Conversation:
    """Return the session from its transcript if that exists, else from the turns stored in the job."""
    body = job.body
    session, client, path = (str(body.get(name) or "") for name in ("session", "client", "transcript"))
    turns = tuple(read_transcript(client, path, MOST_BYTES)) if path else ()
    at = body.get("at")
    ended = float(at) if isinstance(at, (int, float)) else 0.0
    return Conversation(turns or tuple(turns_of_job(body)), "transcript", session, client, ended)
