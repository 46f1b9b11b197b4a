"""Jobs of reflecting, for which nobody waits: a session that ended is looked at, an approval is carried to its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256

from swarmlore.clients.transcripts import turns_in
from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.display import shortened
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.records import PROPOSAL_ROUTES, Edit, Memory, Proposal, Reflection
from swarmlore.errors import InvalidInput, NotAllowed, StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.notes.locations import LEARNINGS as LEARNED
from swarmlore.notes.note_format import parse_note, write_note
from swarmlore.notes.reflect import metrics
from swarmlore.notes.reflect.answers import APPROVE, HOW, MODIFY, REJECT, no_answer, read_answer
from swarmlore.notes.reflect.apply import Applied, Applying
from swarmlore.notes.reflect.collect import MOST_BYTES, Heard, hear_file, hear_session, hear_text, home_of, looks_at
from swarmlore.notes.reflect.propose import UNFIT, Known, Making, Proposing, conflict_of, diff_of
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
    """One session that was looked back upon; `created` is a day or a moment in ISO 8601."""

    created: str
    title: str
    key_insight: str
    agent: str = ""
    project: str = ""
    context: str = ""
    signals: tuple[str, ...] = ()
    learnings: tuple[str, ...] = ()
    """What was learned, a line each."""
    extracted_learnings: tuple[str, ...] = ()
    """The ids of the notes that were made of it."""
    tags: tuple[str, ...] = ()
    confidence: str = "medium"


def episode_id(episode: Episode) -> str:
    """`ep-YYYYMMDD-hash6`, the same for the same session."""
    said = (episode.created, episode.agent, episode.project, episode.context, *episode.signals)
    digest = sha256("\n".join(said).encode("utf-8", "surrogatepass")).hexdigest()
    return f"ep-{_day(episode).replace('-', '')}-{digest[:6]}"


def episode_path(episode: Episode) -> str:
    """Where it stands below the folder of episodes."""
    return f"{_day(episode)}/{episode_id(episode)}.md"


def write_episode(episode: Episode) -> str:
    """The text of an episode."""
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
    """The day as its digits say it; what comes in must not name another folder."""
    digits = "".join(letter for letter in episode.created[:10] if letter in "0123456789")[:8].ljust(8, "0")
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"


def _items(texts: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(text.split())}" for text in texts) or "None."


def _no_heading(line: str) -> str:
    """A line that begins no section of its own, and no code that would hold the sections below."""
    return "\\" + line.lstrip() if line.lstrip().startswith(("#", "```", "~~~", "<!--")) else line


FILE = "reflect-state.yaml"
MOST_STATE_BYTES = 262_144
MOST_PENDING = 200
_LISTS = ("pending_low_confidence", "pending_reviews")
_WORDS = ("learning", "text", "rule", "title", "quote", "signal")


@frozen
class Older:
    """Whether it was told to reflect unasked, and the learnings that wait there."""

    auto: bool = False
    pending: tuple[str, ...] = ()


def older_state(env: Mapping[str, str]) -> Older:
    """What stands there; nothing where there is no such file or it cannot be read."""
    folder = env.get("REFLECT_STATE_DIR") or os.path.join(home_of(env), ".reflect")
    file, _ = open_own(os.path.join(os.path.abspath(os.path.expanduser(folder)), FILE))
    if file is None:
        return Older()
    with file:
        data = file.read(MOST_STATE_BYTES + 1)
    try:
        said: Any = plain(read(data.decode("utf-8")).root) if len(data) <= MOST_STATE_BYTES else {}
    except (Unreadable, UnicodeDecodeError):
        return Older()
    if not isinstance(said, dict):
        return Older()
    auto = str(said.get("auto_reflect", "")).strip().lower() in ("true", "yes", "on", "1")
    lists: list[Any] = [said.get(name) for name in _LISTS]
    waiting = [item for listed in lists if isinstance(listed, list) for item in listed]
    return Older(auto, tuple(filter(None, map(_words, waiting[:MOST_PENDING]))))


def _words(item: Any) -> str:
    if isinstance(item, dict):
        item = next((item[name] for name in _WORDS if isinstance(item.get(name), str)), "")
    return scrub_text(" ".join(item.split()))[:400] if isinstance(item, str) else ""


EPISODES = "documents/episodes"
MOST_SIGNALS = 60
MOST_LOOKS = 1_000
_TITLE_CHARS = 100


def keep_episode(places: Places, reflection: Reflection, lessons: Sequence[Lesson], project: str) -> str:
    """Write the episode of a reflection, unless it is there; returns its path below the learnings, '' if it cannot."""
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
    """Remove the episodes of a session, which nobody asked for; returns what was indexed of them."""
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
MOST_PROPOSALS = 40  # of one reflection


@frozen
class Decided:
    """What an answer did: proposals as they are now, and what there is to say. `applied` is None where nobody may."""

    verb: str
    proposals: tuple[Proposal, ...] = ()
    applied: Applied | None = None


class Reflections:
    """What one project should learn, for one caller."""

    def __init__(self, lore: Lore, env: Mapping[str, str], operate: Callable[[str], Operation]) -> None:
        self._lore = lore
        self._env = env
        self._operate = operate
        self._places = Places.of(lore.project.root, env)
        self._applying = Applying(lore, self._places, operate)

    # Looking back

    def reflect(
        self, text: str = "", *, session: str = "", path: str = "", items: str | Sequence[Any] = "", agent: str = ""
    ) -> Reflection:
        """Propose what a text, a file, a session or a model's list teaches; without any of them the newest session that
        nobody reflected on. `agent` asks for rules in the file of that agent only."""
        Proposing(self._lore, self._places, "", agent).rule_target()  # better now than after all the reading
        if items:
            return self._keep(self._from_items(items, session, agent))
        heard = (
            hear_file(path, text) if path else hear_text(text) if text else hear_session(self._lore, self._env, session)
        )
        return self.reflect_on(heard, agent)

    def reflect_on(self, heard: Heard, agent: str = "") -> Reflection:
        """The same for turns that were read already."""
        from swarmlore.domain.extraction.session_lessons import counts, learned

        before = [] if agent else looks_at(self._lore, heard.session)
        lessons = learned(heard.turns, max((one.told_to for one in before), default=0.0))
        proposing = Proposing(self._lore, self._places, heard.client, agent)
        made = Making(self._lore, proposing, heard)
        for lesson in lessons:
            made.take(lesson, BEHAVIORAL if agent else ())
        made.close()
        reflection = self._reflection(made, counts(lessons), heard.facts(whole=not agent, again=bool(before)))
        if lessons and self._lore.settings.knowledge.enabled:
            reflection = replace(
                reflection, episode=keep_episode(self._places, reflection, lessons, self._lore.project.name)
            )
        kept = self._keep(reflection)
        if kept.episode:
            self._lore.index_changed()
        return kept

    def take_over(self) -> Reflection | None:
        """Propose what an older tool left for a review, what is new of it; None where nothing is."""

        known = Known(self._lore)
        waiting = [text for text in older_state(self._env).pending if known.times_met(text) == 1]
        items = [{"route": "instinct", "text": text, "level": "low"} for text in waiting]
        return self._keep(self._from_items(items, "", "")) if items else None

    def _from_items(self, given: str | Sequence[Any], session: str, agent: str) -> Reflection:
        from swarmlore.notes.reflect.llm_items import read_items

        proposing = Proposing(self._lore, self._places, self._lore.caller.agent.partition("/")[0], agent)
        made = Making(self._lore, proposing, Heard((), "items", session))
        items = read_items(given)
        for item in items:
            made.take_item(item)
        made.close()
        levels = [item.level for item in items]
        signals = {level: levels.count(level) for level in ("high", "medium", "low")}
        return self._reflection(made, signals, {"session": session, "source": "items"})

    def _reflection(self, made: Making, signals: Mapping[str, int], facts: Mapping[str, Any]) -> Reflection:
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
        """Store a reflection; its proposals get numbers that no open one has."""
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
            return  # figures are not worth failing for; they are tried again
        with self._lore.acting():
            self._lore.store.counted_reflection(self._lore.caller, reflection)

    # What is open

    def open(self, routes: Sequence[str] = (), *, low: bool = False, reflection: str = "") -> tuple[Proposal, ...]:
        """What waits for a decision, by number, each with the difference that it would make now; those of low
        confidence only where they are asked for."""
        with self._lore.acting():
            found = self._lore.store.open_proposals(self._lore.caller)
        wanted = [item for item in found if item.state != "approved" and (not routes or item.route in routes)]
        wanted = [item for item in wanted if not reflection or item.reflection.startswith(reflection)]
        return tuple(self._fresh(item) for item in wanted if low or item.level != "low")

    def _fresh(self, item: Proposal) -> Proposal:
        try:
            return replace(item, diff=diff_of(item, self._places))
        except SwarmloreError as problem:
            return replace(item, reason=problem.message)

    # Deciding

    def answer(self, said: str, shown: Sequence[Proposal]) -> Decided:
        """Take an answer to what was shown: Y, N, numbers, labels, groups. One that is none changes nothing."""
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
        """Write what a person wants, in one commit per repository."""
        approval = self._applying.approve(chosen, self._signals_of(chosen))
        applied = self._applying.finish(approval)
        return Decided(APPROVE, applied.proposals, applied)

    def reject(self, chosen: Sequence[Proposal]) -> Decided:
        """A person does not want these; they are not proposed again."""
        if self._lore.caller.role != "person":
            raise NotAllowed("a person rejects", "show it to your user")
        return Decided(REJECT, self._settle(chosen, "rejected"))

    def _prepare(self, chosen: Sequence[Proposal], verb: str) -> Decided:
        """Keep what an agent answered, with who and when; a person decides."""
        advice = "advises to approve" if verb == APPROVE else "advises to reject"
        state = "prepared" if verb == APPROVE else "pending"
        return Decided("prepare", self._settle(chosen, state, f"{self._lore.caller.agent} {advice}"))

    def _settle(self, chosen: Sequence[Proposal], state: str, reason: str = "") -> tuple[Proposal, ...]:
        lore = self._lore
        decided = {"state": state, "by": lore.caller.agent, "decided_at": lore.now(), "reason": reason}
        with lore.acting(), lore.store.operation(self._operate(state if state != "pending" else "advise")):
            still = {item.id for item in lore.store.open_proposals(lore.caller) if item.state != "approved"}
            changed = tuple(replace(item, **decided) for item in chosen if item.id in still)
            lore.store.change_proposals(changed)
        return changed

    def reword(self, item: Proposal, text: str) -> Proposal:
        """The same proposal with what a person wrote in place of what would be added; through the gate again."""
        from swarmlore.notes.reflect.answers import reworded

        if self._lore.caller.role != "person":
            raise NotAllowed("a person changes the wording", "show it to your user")
        changed = reworded(item, text)
        changed = self._fresh(replace(changed, conflict=conflict_of(changed, self._places)))
        with self._lore.acting(), self._lore.store.operation(self._operate("reword")):
            self._applying.check_open([item])
            self._lore.store.change_proposals([changed])
        return changed

    def count_of(self, session: str, *, erase: bool) -> int:
        """How many proposals go with a session that is forgotten: those that wait; where it is erased, all."""
        with self._lore.acting():
            found = self._lore.store.proposals_of(self._lore.caller, session)
        return sum(erase or item.state in ("pending", "prepared") for item in found)

    def drop_episodes(self, session: str) -> list[Memory]:
        """Remove what was written unasked about a session that is erased."""
        return drop_episodes(self._lore, self._places, session)

    def _signals_of(self, chosen: Sequence[Proposal]) -> dict[str, int]:
        """The signals of the reflections that these came from."""
        sums: dict[str, int] = {}
        for id in dict.fromkeys(item.reflection for item in chosen):
            with self._lore.acting():
                found = self._lore.store.reflections(self._lore.caller, id=id, limit=1)
            for level, count in (found[0].signals if found else {}).items():
                sums[level] = sums.get(level, 0) + count
        return sums

    def finish(self) -> tuple[Applied, ...]:
        """Go on with what a person approved and what was not finished."""
        with self._lore.acting():
            begun = self._lore.store.open_approvals(self._lore.caller)
            uncounted = [one for one in self._lore.store.reflections(self._lore.caller) if not one.counted]
            whole = [replace(one, proposals=tuple(self._of(one))) for one in uncounted]
        for reflection in whole:
            self._count(reflection)
        return tuple(self._applying.finish(approval) for approval in begun)

    def commit_changes(self, root: str, changes: Sequence[Any]) -> list[str]:
        """Commit what was brought together from other work trees: files with a text before and after; tells what it
        did."""
        from swarmlore.notes.reflect.apply import commit_texts

        return commit_texts(root, changes, self._lore.new_id(), self._lore.now())

    def _of(self, reflection: Reflection) -> list[Proposal]:
        return self._lore.store.proposals(self._lore.caller, reflection=reflection.id)

    # How it stands

    def status(self) -> dict[str, Any]:
        """What was counted over all projects, what is open in this one, and whether sessions are looked at unasked."""

        with self._lore.acting():
            store, caller = self._lore.store, self._lore.caller
            counts = store.count_proposals(caller)
            last = store.reflections(caller, limit=1)
            unfinished = len(store.open_approvals(caller))
        older = older_state(self._env)
        told: dict[str, Any] = {"auto": self.auto, "metrics": metrics.read_metrics(self._places)}
        told["last_here"] = iso(last[0].at) if last else None
        told["unfinished"] = unfinished
        told["proposals"] = _sums(counts, 2)
        told["open"] = _sums([row for row in counts if row[2] in ("pending", "prepared")], 0)
        told["open_low"] = sum(row[3] for row in counts if row[2] in ("pending", "prepared") and row[1] == "low")
        told["older_pending"] = len(older.pending)
        return told

    @property
    def auto(self) -> bool:
        """Whether a session is looked at unasked when it ends or is cut: as set here, else as an older tool has it."""

        own = self._lore.settings
        return own.reflect.auto if "reflect.auto" in own.origins else older_state(self._env).auto


def _numbered(proposals: Sequence[Proposal], taken: Sequence[Proposal]) -> list[Proposal]:
    """Proposals with the next free numbers, over all and per letter."""
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


def look_back(lore: Lore, job: Job) -> None:
    """Propose what a session teaches, or go on with what a person approved. Doing it again changes nothing: what was
    read is not read again, and what was proposed is not proposed again."""
    reflections = lore.reflections
    reflections.finish()
    if not lore.settings.knowledge.enabled or not job.body.get("session"):
        return
    heard = _heard(job)
    if heard.turns and all(_is_news(heard, before) for before in looks_at(lore, heard.session)):
        reflections.reflect_on(heard)


def _is_news(heard: Heard, before: Reflection) -> bool:
    """Whether something was said since an earlier look: a session that is cut and then ends may have nothing new."""
    since = before.told_to
    told = not since or any(turn.at > since or not turn.at for turn in heard.turns)
    return told and before.read_to < heard.at


def _heard(job: Job) -> Heard:
    """The whole session from its transcript, where that is still there; else the turns that were kept of it."""
    from swarmlore.clients.transcripts import read_transcript

    body = job.body
    session, client, path = (str(body.get(name) or "") for name in ("session", "client", "transcript"))
    turns = tuple(read_transcript(client, path, MOST_BYTES)) if path else ()
    at = body.get("at")
    ended = float(at) if isinstance(at, (int, float)) else 0.0
    return Heard(turns or tuple(turns_in(body)), "transcript", session, client, ended)
