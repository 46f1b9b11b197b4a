"""What one look at a session proposes, collected: each lesson by its route, nothing twice, the surest first."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from swarmlore.domain.extraction.user_words import split_sentences
from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.display import short_slug, slug
from swarmlore.domain.language.similarity import content_words, jaccard_bigram, normalize, word_bigrams
from swarmlore.domain.pages.drafting import NOT_SAID
from swarmlore.domain.pages.rule_conflicts import conflict_with, says_already
from swarmlore.domain.policy.contradiction import contradicts, differences
from swarmlore.domain.policy.gate import pass_gate
from swarmlore.domain.records import Draft, Edit, Proposal
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, NotFound, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.notes import instincts
from swarmlore.notes.locations import LEARNINGS as LEARNED
from swarmlore.notes.locations import SOLUTIONS
from swarmlore.notes.project_memory import memory_md
from swarmlore.notes.reflect import targets
from swarmlore.notes.reflect.targets import LEARNINGS, PROJECT, SKILLS, Places
from swarmlore.notes.yaml_edit import Unreadable

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.extraction.session_lessons import Lesson
    from swarmlore.domain.pages.drafting import InstinctDraft, MemoryDraft, NoteDraft, RuleDraft, SkillDraft
    from swarmlore.domain.records import Memory
    from swarmlore.lore import Lore
    from swarmlore.notes.reflect.collect import Heard
    from swarmlore.notes.reflect.llm_items import Item


SAME, NEAR = 0.85, 0.6  # cosine: add to the note that there is; name it in a new one
EXACT = 6  # places that a cosine has of vectors in single precision
SAME_WORDS, NEAR_WORDS = 0.6, 0.3  # where there are no vectors: share of word pairs; of those or of content words
LOOKED_AT = 8  # notes that recall finds for a text
COMPARED_CHARS = 600
EPISODES = "documents/episodes/"  # they tell where notes come from, and are none to add to


@frozen
class Kin:
    """A note that is like a text: where it lies, how alike, and whether it says otherwise."""

    path: str
    place: str
    title: str
    score: float
    same: bool
    against: str = ""


@frozen
class _Before:
    """A proposal with its words, so that it can be compared often."""

    item: Proposal
    words: str
    pairs: frozenset[tuple[str, str]]


class Known:
    """What one project knows, as its caller sees it."""

    def __init__(self, lore: Lore) -> None:
        self._lore = lore

    @cached_property
    def _proposals(self) -> Sequence[_Before]:
        with self._lore.acting():
            found = self._lore.store.proposals(self._lore.caller)
        return [_Before(item, normalize(item.text), word_bigrams(item.text)) for item in found]

    def was_proposed(self, text: str, route: str, target: str, fix: str = "") -> bool:
        """Whether the same waits, was written or was rejected, whichever session it came from. A rule may be for the
        files of several agents, and a cause may have another fix."""
        before = (item for item in self._like(text) if item.route == route and item.state != "failed")
        before = (item for item in before if not fix or normalize(fix) in normalize(item.edits[0].text))
        return any(route != "behavioral" or item.target == target for item in before)

    def times_met(self, text: str, session: str = "", quote: str = "") -> int:
        """In how many sessions the same was met, this one counted. A session or a text that is looked at once more is
        no other one: without a session, the very same words tell."""
        others = (item for item in self._like(text) if not quote or item.quote != quote)
        return 1 + len({item.reflection for item in others} - self._looks_at(session))

    def _looks_at(self, session: str) -> set[str]:
        if not session:
            return set()
        with self._lore.acting():
            return {one.id for one in self._lore.store.reflections(self._lore.caller, session)}

    def _like(self, text: str) -> list[Proposal]:
        """What was proposed and says the same."""
        words, pairs = normalize(text), word_bigrams(text)
        likely = (one for one in self._proposals if one.words == words or _overlap(one.pairs, pairs) >= SAME_WORDS)
        return [one.item for one in likely if one.words == words or not _differ(text, one.item.text)]

    def note_like(self, title: str, text: str) -> Kin | None:
        """The note that is most like a text, if one is."""
        said = f"{title}. {text}"[:COMPARED_CHARS]
        kin = [self._kin(said, memory) for memory in self._notes(said)]
        likely = sorted(
            (one for one in kin if one is not None), key=lambda one: (-round(one.score, 6), one.place != "project")
        )
        return likely[0] if likely else None

    def _notes(self, said: str) -> list[Memory]:
        """Likely notes: those of the project first, as of a note and its copy for every project one comes alone."""
        own = self._lore.recall(said, LOOKED_AT, sources=("note",), tiers=("swarm",))
        found = {hit.memory.id: hit.memory for hit in (*own, *self._lore.recall(said, LOOKED_AT, sources=("note",)))}
        paths = {id: str(memory.source_ref.get("path", "")) for id, memory in found.items()}
        return [found[id] for id, path in paths.items() if path and not path.startswith(EPISODES)]

    def _kin(self, said: str, memory: Memory) -> Kin | None:
        other = _words_of(memory)
        score, near, same = self._likeness(said, other)
        if not near:
            return None
        against = contradicts(said, other)
        is_same = same and not against
        ref = memory.source_ref
        return Kin(str(ref["path"]), str(ref.get("place", "project")), memory.title, score, is_same, against)

    def _likeness(self, one: str, other: str) -> tuple[float, bool, bool]:
        """How alike two texts are, whether that is near, and whether it is the same: by vectors, else by words. Two
        that are near and have one title are about the same thing."""
        titled = normalize(one.partition(". ")[0]) == normalize(other.partition(". ")[0])
        cosine = self._cosine(one, other)
        if cosine is not None:
            return cosine, cosine >= NEAR, cosine >= (NEAR if titled else SAME)
        words = content_words(one), content_words(other)
        shared = len(words[0] & words[1]) / max(1, len(words[0] | words[1]))
        pairs = jaccard_bigram(one, other)
        near = max(shared, pairs) >= NEAR_WORDS
        return max(shared, pairs), near, pairs >= SAME_WORDS or (near and titled)

    def _cosine(self, one: str, other: str) -> float | None:
        embedding = self._lore.embedding
        with self._lore.acting():
            here, there = embedding.query(one), embedding.query(other)
        return None if here is None or there is None else round(float(here.vector @ there.vector), EXACT)


def _overlap(pairs: frozenset[tuple[str, str]], others: frozenset[tuple[str, str]]) -> float:
    return len(pairs & others) / len(pairs | others) if pairs and others else 0.0


def _differ(text: str, other: str) -> bool:
    return bool(contradicts(text, other)) or bool(differences(text, other))


def _words_of(memory: Memory) -> str:
    fields = memory.extra.get("note")
    insight = fields.get("key_insight") if isinstance(fields, dict) else ""
    return f"{memory.title}. {insight or memory.text}"[:COMPARED_CHARS]


_CONTEXT = "context"  # where a lesson comes from is no news by itself


def news_for(body: str, note: str) -> str:
    """The parts of a body that a note lacks, with headings of a level that fits below another; '' where it has all."""
    said, known = normalize(note), note
    parts: list[str] = []
    heading, fresh = "", False
    for block in _blocks(body):
        if block.startswith("#"):
            heading = block
            continue
        title = heading.lstrip("#").strip().lower()
        left = _left(block, said, known)
        if not left:
            continue
        parts += [f"### {heading.lstrip('#').strip()}"] if heading else []
        parts.append(left)
        fresh = fresh or (title != _CONTEXT and not left.endswith(":"))
        heading = ""
    return "\n\n".join(_without_lonely(parts)) if fresh else ""


def _left(block: str, said: str, note: str) -> str:
    """A paragraph without the sentences that are known; code and quotations go or stay whole."""
    bare = block.lstrip("> ")
    if block in NOT_SAID or (words := normalize(bare)) == "" or words in said:
        return ""
    if block.startswith(("```", "~~~", ">", "|", "-", "*", "1.")) or "\n" in block:
        return block
    kept = [sentence for sentence in split_sentences(block) if not says_already(sentence, note)]
    return " ".join(kept)


def _without_lonely(parts: list[str]) -> list[str]:
    """Without a line that announces what is known already."""
    after = [*parts[1:], "###"]
    return [part for part, following in zip(parts, after, strict=True) if not _is_lonely(part, following)]


def _is_lonely(part: str, following: str) -> bool:
    return part.endswith(":") and not following.startswith(("```", "~~~", ">"))


def _blocks(body: str) -> list[str]:
    """Headings and paragraphs; a block of code is one, whatever lines it holds."""
    blocks: list[list[str]] = [[]]
    fence = ""
    for line in body.strip().splitlines():
        mark = line[: len(line) - len(line.lstrip("`~"))]
        if not fence and (not line.strip() or line.startswith("#")):
            blocks += [[line], []] if line.strip() else [[]]
            continue
        blocks[-1].append(line)
        if len(mark) >= 3:
            fence = "" if fence and mark.startswith(fence) else fence or mark
    return ["\n".join(block).strip() for block in blocks if block]


MEMORY = f"{memory_md.FOLDER}/{memory_md.FILE}"
INSTINCTS = f"{instincts.FOLDER}/{instincts.FILE}"
SLUG_CHARS = 60
SKILL_FOLDERS = {
    "claude": ".claude/skills/{}/SKILL.md",
    "copilot": ".github/skills/{}/SKILL.md",
    "gemini": ".gemini/skills/{}/SKILL.md",
}
# What a file of somebody's may be like: then there is no proposal for it, and the reason is told.
UNFIT = (Rejected, InvalidInput, NotAllowed, Conflict, NotFound, Unreadable)


@frozen
class About:
    """What a proposal says about where it comes from."""

    text: str
    level: str = "medium"
    category: str = ""
    quote: str = ""
    why: str = ""
    scope: str = "project"
    agent: str = ""
    fix: str = ""  # another one for what is known is news


class Proposing:
    """Makes proposals for one reflection. `client` had the session; `agent` is whose file is asked for, or ''."""

    def __init__(self, lore: Lore, places: Places, client: str, agent: str = "") -> None:
        self._lore = lore
        self._places = places
        self._client = client
        self.agent = agent
        self.known = Known(lore)

    def rule(self, draft: RuleDraft, about: About) -> Proposal | None:
        """A rule for an agent, in the file that this agent reads; None where it is said there."""
        place, path = self._agent_file(about.agent or self.agent)
        said = self._places.read(place, path) or ""
        if says_already(draft.rule, said):
            return None
        _check(draft.rule, "reflect")
        against = conflict_with(draft.rule, said)
        edit = Edit(place, path, targets.RULE, draft.line, f"## {targets.RULES_HEADING}")
        conflict = f"{self._places.shown(edit)}:{against.number}: {against.line.strip()}" if against else ""
        return self._proposal(
            "behavioral", draft.rule, about, [edit], conflict=conflict, action="add" if said else "new"
        )

    def rule_target(self) -> tuple[str, str]:
        """The file that rules go to; raises where the agent that was asked for has none."""
        return self._agent_file(self.agent)

    def _agent_file(self, agent: str) -> tuple[str, str]:
        if not agent:
            return PROJECT, self._places.instructions(self._client)
        found = self._places.agent_file(agent, self._client)
        if found is None:
            known = ", ".join(self._places.agents()[:20])
            raise NotFound(f"no agent {agent!r} has a file here", f"known: {known}" if known else "make its file first")
        return found

    def note(self, draft: NoteDraft, about: About, given: Mapping[str, Any] | None = None) -> Proposal | None:
        """A note for the project and, under the same id, for every project; or more text for one that there is."""
        _check(f"{draft.title}\n\n{draft.body}", "note")
        kin = self.known.note_like(draft.title, draft.key_insight or draft.body)
        if kin is not None and kin.same and (said := self._text_of(kin)) is not None:
            return self._update(draft, about, kin, said)
        fields = {**draft.fields, "created": self._day()}
        conflict = f"{kin.path}: {kin.against}" if kin is not None and kin.against else ""
        if kin is not None:
            fields["links"] = [kin.path]
        edits = self._note_files(draft, fields, given or {})
        more = {"action": "link" if kin else "new", "similar": kin.path if kin else "", "conflict": conflict}
        return self._proposal("knowledge", draft.title, about, edits, **more)

    def _text_of(self, kin: Kin) -> str | None:
        """The note as it is now; None where it cannot be added to."""
        where = PROJECT if kin.place == "project" else LEARNINGS
        return self._places.read(where, kin.path) if self._places.exists(where, kin.path) else None

    def _update(self, draft: NoteDraft, about: About, kin: Kin, said: str) -> Proposal | None:
        """More text at the end of a note that is there; None where it says all of it already."""

        news = news_for(draft.body, said)
        if not news:
            return None
        where = PROJECT if kin.place == "project" else LEARNINGS
        edit = Edit(where, kin.path, targets.SECTION, news, f"## Update {self._day()}")
        return self._proposal("knowledge", draft.title, about, [edit], action="update", similar=kin.path)

    def _note_files(self, draft: NoteDraft, fields: Mapping[str, Any], given: Mapping[str, Any]) -> list[Edit]:
        from swarmlore.notes.entities_sidecar import BY_RULES, Sidecar, sidecar_path, write_sidecar
        from swarmlore.notes.note_format import note_id, parse_note, write_note

        text = write_note(fields, f"\n{draft.body.strip()}\n")
        id = note_id(draft.title, parse_note(text).body)
        entities, relations = _graph(draft, given)
        by = "" if given.get("entities") else BY_RULES
        sidecar = write_sidecar(Sidecar(id, self._day(), entities, relations, extracted_by=by))
        path = self._free_path(draft, id)
        own = f"{LEARNED}/{id}.md"
        made = [(PROJECT, path, text), (PROJECT, sidecar_path(path), sidecar)]
        made += [(LEARNINGS, own, text), (LEARNINGS, sidecar_path(own), sidecar)]
        return [Edit(place, name, targets.CREATE, content) for place, name, content in made]

    def _free_path(self, draft: NoteDraft, id: str) -> str:
        folder = f"{SOLUTIONS}/{short_slug(draft.category, SLUG_CHARS) or 'patterns'}"
        name = short_slug(draft.title, SLUG_CHARS) or id
        taken = os.path.lexists(os.path.join(self._places.root(PROJECT), *folder.split("/"), f"{name}.md"))
        return f"{folder}/{name}-{id[-6:]}.md" if taken else f"{folder}/{name}.md"

    def instinct(self, draft: InstinctDraft, about: About) -> Proposal | None:
        """A rule of one sentence for `.agents/instincts.yaml`, by the rules of instincts."""
        facts = {"scope": draft.scope, "category": draft.category, "source": draft.source, "origin": draft.origin}
        outcome, fields, against = self._lore.instincts.foresee(draft.rule, **facts)
        if outcome == "reinforced":
            edit = Edit(PROJECT, INSTINCTS, targets.INSTINCT, draft.rule, facts={"set": dict(fields)})
            return self._proposal("instinct", draft.rule, about, [edit], action="update", similar=str(fields["id"]))
        lowered = {one.id: one.confidence for one in against}
        edit = Edit(PROJECT, INSTINCTS, targets.INSTINCT, draft.rule, facts={"add": dict(fields), "lower": lowered})
        conflict = "; ".join(f"{one.id}: {one.rule}" for one in against)
        return self._proposal("instinct", draft.rule, about, [edit], conflict=conflict, action="add")

    def memory(self, draft: MemoryDraft, about: About) -> Proposal | None:
        """A line for `.agents/MEMORY.md`; None where it stands there. A full file takes none."""
        said = self._places.read(PROJECT, MEMORY) or ""
        if says_already(draft.entry, said):
            return None
        _check(draft.entry, "reflect")
        edit = Edit(PROJECT, MEMORY, targets.ENTRY, draft.entry, draft.section)
        if _is_full(targets.done_to(said, edit)):
            return self._overflow(draft, about)
        against = conflict_with(draft.entry, said)
        conflict = f"{MEMORY}:{against.number}: {against.line.strip()}" if against else ""
        return self._proposal("memory", draft.entry, about, [edit], conflict=conflict, action="add" if said else "new")

    def _overflow(self, draft: MemoryDraft, about: About) -> Proposal | None:
        """MEMORY.md is full: what would have become a line becomes a note."""
        from swarmlore.domain.pages.drafting import NoteDraft

        confidence = {"high": 0.9, "medium": 0.6}.get(about.level, 0.3)
        note = NoteDraft(
            title=draft.entry[:150].rstrip(". "),
            category="patterns",
            tags=(),
            symptoms=(),
            root_cause="",
            key_insight=draft.entry,
            confidence=confidence,
            language="",
            framework="",
            body=f"## Context\n\n{draft.entry}\n",
        )
        found = self.note(note, replace(about, why=f"{MEMORY} has reached its 200 lines"))
        return found

    def reference(self) -> Proposal | None:
        """The line by which clients read MEMORY.md, where it is missing."""
        path = self._places.instructions(self._client)
        said = self._places.read(PROJECT, path) or ""
        from swarmlore.notes.project_memory.memory_md import reference_in

        text = f"{path} should read {MEMORY}"
        if reference_in(said):
            return None
        about = About(text, "medium", why="what stands in MEMORY.md is read only where this file names it")
        edit = Edit(PROJECT, path, targets.REFERENCE)
        return self._proposal("memory", text, about, [edit], action="add" if said else "new")

    def skill(self, draft: SkillDraft, about: About) -> Proposal | None:
        """A skill for what comes again and again; None where there is one of that name."""
        path = SKILL_FOLDERS.get(self._client, SKILLS).format(slug(draft.name) or "learned")
        if self._places.exists(PROJECT, path):
            return None
        _check(draft.body, "note")
        edit = Edit(PROJECT, path, targets.CREATE, draft.body)
        return self._proposal("skill", draft.description or draft.name, about, [edit])

    def _day(self) -> str:
        return (iso(self._lore.now()) or "")[:10]

    def _proposal(self, route: str, title: str, about: About, edits: Sequence[Edit], **facts: Any) -> Proposal | None:
        first = edits[0]
        made = Proposal(
            self._lore.new_id(),
            route=route,
            level=about.level,
            category=about.category,
            title=title,
            text=about.text,
            quote=about.quote,
            agent=about.agent or self.agent,
            target=self._places.shown(first),
            root=self._places.root(first.place) if first.place in (PROJECT, LEARNINGS) else "",
            edits=tuple(edits),
            why=about.why,
            scope=about.scope,
            **facts,
        )
        if self.known.was_proposed(made.text, route, made.target, about.fix if route == "knowledge" else ""):
            return None
        return replace(made, diff=diff_of(made, self._places))


def conflict_of(proposal: Proposal, places: Places) -> str:
    """The line of its file that a rule or an entry contradicts, as the file is now; as it was for anything else."""
    edit = proposal.edits[0]
    if edit.verb not in (targets.RULE, targets.ENTRY):
        return proposal.conflict
    against = conflict_with(proposal.title, places.read(edit.place, edit.path) or "")
    return f"{places.shown(edit)}:{against.number}: {against.line.strip()}" if against else ""


def diff_of(proposal: Proposal, places: Places) -> str:
    """What a proposal changes in the files as they are now; raises where one of them cannot be added to."""
    parts = []
    for edit in proposal.edits:
        before = places.read(edit.place, edit.path) or ""
        after = targets.done_to(before, edit)
        if not targets.only_adds(before, after, edit.verb):
            raise Conflict(f"{places.shown(edit)} would lose lines", "add it by hand")
        parts.append(targets.difference(before, after, places.shown(edit)))
    return "".join(parts)


def _check(text: str, source: str) -> None:
    """Refuse what the gate would not let into the store, or would hide there."""
    passed = pass_gate(Draft(text, source=source), profile="lane")  # files have room: only the texts themselves count
    if passed.quarantine:
        raise InvalidInput(passed.quarantine, "say it in other words")


def _is_full(text: str) -> bool:
    from swarmlore.notes.project_memory.memory_md import MAX_LINES, line_count

    return line_count(text) > MAX_LINES


def _graph(draft: NoteDraft, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Entities and relations: those that came with the note, else those that rules find in it."""
    if given.get("entities"):
        return tuple(given["entities"]), tuple(given.get("relations", ()))
    from swarmlore.domain.language.concepts import concepts_of

    return concepts_of(draft.title, draft.tags, draft.body)


MOST_NAMES = 60


class Making:
    """Collects what one look proposes; nothing twice."""

    def __init__(self, lore: Lore, proposing: Proposing, heard: Heard) -> None:
        self._lore = lore
        self._proposing = proposing
        self._heard = heard
        self._notes: list[tuple[Any, About]] = []
        self.proposals: list[Proposal] = []
        self.refused: list[str] = []
        self.known = 0
        self.improved = 0

    def take(self, lesson: Lesson, only: Sequence[str]) -> None:
        """Propose what a lesson leads to."""
        from swarmlore.domain.pages.drafting import draft
        from swarmlore.domain.pages.routing import Context, route

        times = self._proposing.known.times_met(lesson.text, self._heard.session, lesson.quote)
        project = self._lore.project
        context = Context(project.name, _names(project.root), lesson.files, times, self._proposing.agent)
        found = route(lesson, context)
        for target in found.targets:
            target = "instinct" if target == "review" else target  # at the lowest confidence that there is
            target = "behavioral" if only and target == "instinct" else target
            if target == "none" or (only and target not in only):
                continue
            made = draft(lesson, target, context, found.section)
            about = About(
                lesson.text, lesson.level, lesson.category, lesson.quote, found.reason, found.scope, fix=lesson.fix
            )
            if made is not None:
                self._add(target, made, about)

    def take_item(self, item: Item) -> None:
        about = About(item.text, item.level, item.category, item.quote, "prepared by a model", agent=item.agent)
        self._propose(item.route, item.draft, about, item.graph)

    def _add(self, target: str, made: Any, about: About) -> None:
        if target == "knowledge":
            self._notes.append((made, about))
        else:
            self._propose(target, made, about)

    def _propose(self, target: str, made: Any, about: About, graph: Mapping[str, Any] | None = None) -> None:
        ways: dict[str, Callable[[Any, About], Proposal | None]] = {
            "behavioral": self._proposing.rule,
            "instinct": self._proposing.instinct,
            "memory": self._proposing.memory,
            "skill": self._proposing.skill,
        }
        try:
            found = self._proposing.note(made, about, graph) if target == "knowledge" else ways[target](made, about)
        except UNFIT as problem:
            self.refused.append(f"{about.text[:100]}: {problem.message}")
            return
        if found is None or any(_is_again(found, one) for one in self.proposals):
            self.known += 1
        else:
            self.proposals.append(found)

    def close(self) -> None:
        """Word the notes, propose them, and what goes with a first line of MEMORY.md."""
        from swarmlore.notes.reflect.llm_items import better

        drafts = [made for made, _ in self._notes]
        writer = self._lore.capped_writer() if drafts and self._lore.settings.writer.kind != "none" else None
        worded, self.improved = better(writer, drafts, self._heard.turns)
        for made, (_, about) in zip(worded, self._notes, strict=True):
            self._propose("knowledge", made, about)
        self._refer()
        order = {level: place for place, level in enumerate(("high", "medium", "low"))}
        self.proposals.sort(key=lambda item: order.get(item.level, 1))

    def _refer(self) -> None:
        if not any(item.route == "memory" and item.level != "low" for item in self.proposals):
            return
        try:
            if (found := self._proposing.reference()) is not None:
                self.proposals.append(found)
        except UNFIT as problem:
            self.refused.append(problem.message)


def _is_again(item: Proposal, other: Proposal) -> bool:
    return (item.route, item.title, item.target) == (other.route, other.title, other.target)


def _names(root: str) -> tuple[str, ...]:
    """Words that only this project has: what its folders are called."""
    try:
        with os.scandir(root) as entries:
            found = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return ()
    return tuple(name for name in found if not name.startswith(".") and name.isprintable())[:MOST_NAMES]
