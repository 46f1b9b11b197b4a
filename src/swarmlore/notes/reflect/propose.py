"""Turn lessons of a session into proposals: choose the target file, skip duplicates, find conflicts, draft the edit."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from swarmlore.domain.extraction.message_text import split_sentences
from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.display import short_slug, slug
from swarmlore.domain.language.similarity import content_words, jaccard_bigram, normalize, word_bigrams
from swarmlore.domain.pages.drafting import NOT_SAID, NoteDraft, draft
from swarmlore.domain.pages.rule_conflicts import conflict_with, says_already
from swarmlore.domain.policy.contradiction import contradicts, differences
from swarmlore.domain.policy.gate import pass_gate
from swarmlore.domain.records import Draft, Edit, Proposal
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, NotFound, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.notes import instincts
from swarmlore.notes.locations import EPISODES, SOLUTIONS
from swarmlore.notes.locations import LEARNINGS as LEARNED
from swarmlore.notes.project_memory import memory_md
from swarmlore.notes.reflect import targets
from swarmlore.notes.reflect.targets import LEARNINGS, PROJECT, SKILLS, Places
from swarmlore.notes.yaml_edit import Unreadable

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.extraction.session_lessons import Lesson
    from swarmlore.domain.pages.drafting import InstinctDraft, MemoryDraft, RuleDraft, SkillDraft
    from swarmlore.domain.records import Memory
    from swarmlore.lore import Lore
    from swarmlore.notes.reflect.collect import Conversation
    from swarmlore.notes.reflect.llm_items import Item


SAME, NEAR = 0.85, 0.6  # cosine from which a note is updated, from which a new note links to it
EXACT = 6  # reliable decimals of a cosine of single-precision vectors
SAME_WORDS, NEAR_WORDS = 0.6, 0.3  # without vectors: shared word pairs; shared pairs or content words
LOOKED_AT = 8  # notes that are recalled for a text
COMPARED_CHARS = 600


@frozen
class SimilarNote:
    """A similar note: its file, its similarity, whether it is the same, and what contradicts the text."""

    path: str
    place: str
    title: str
    score: float
    same: bool
    against: str = ""


@frozen
class _Before:
    """An earlier proposal with its normalised words, for repeated comparison."""

    item: Proposal
    words: str
    pairs: frozenset[tuple[str, str]]


class Known:
    """Earlier proposals and notes of a project, to recognise what is already known."""

    def __init__(self, lore: Lore) -> None:
        self._lore = lore

    @cached_property
    def _proposals(self) -> Sequence[_Before]:
        with self._lore.acting():
            found = self._lore.store.proposals(self._lore.caller)
        return [_Before(item, normalize(item.text), word_bigrams(item.text)) for item in found]

    def was_proposed(self, text: str, route: str, target: str, fix: str = "") -> bool:
        """Return whether the proposal is open, applied or rejected already, per target file for rules; a new fix is
        new."""
        before = (item for item in self._like(text) if item.route == route and item.state != "failed")
        before = (item for item in before if not fix or normalize(fix) in normalize(item.edits[0].text))
        return any(route != "behavioral" or item.target == target for item in before)

    def times_met(self, text: str, session: str = "", quote: str = "") -> int:
        """Return in how many sessions a lesson occurred, this one included; repeated reflection on a session counts
        once. Without a session, an identical quote is the same text."""
        others = (item for item in self._like(text) if not quote or item.quote != quote)
        return 1 + len({item.reflection for item in others} - self._reflections_on(session))

    def _reflections_on(self, session: str) -> set[str]:
        if not session:
            return set()
        with self._lore.acting():
            return {one.id for one in self._lore.store.reflections(self._lore.caller, session)}

    def _like(self, text: str) -> list[Proposal]:
        """Return earlier proposals with the same meaning."""
        words, pairs = normalize(text), word_bigrams(text)
        likely = (one for one in self._proposals if one.words == words or _overlap(one.pairs, pairs) >= SAME_WORDS)
        return [one.item for one in likely if one.words == words or not _differs(text, one.item.text)]

    def note_like(self, title: str, text: str) -> SimilarNote | None:
        """Return the most similar note, or None."""
        summary = f"{title}. {text}"[:COMPARED_CHARS]
        kin = [self._similar(summary, memory) for memory in self._notes(summary)]
        likely = sorted(
            (one for one in kin if one is not None), key=lambda one: (-round(one.score, 6), one.place != "project")
        )
        return likely[0] if likely else None

    def _notes(self, text: str) -> list[Memory]:
        """Recall similar notes, the project's first: of a note and its shared copy, recall returns only one."""
        own = self._lore.recall(text, LOOKED_AT, sources=("note",), tiers=("swarm",))
        found = {hit.memory.id: hit.memory for hit in (*own, *self._lore.recall(text, LOOKED_AT, sources=("note",)))}
        paths = {id: str(memory.source_ref.get("path", "")) for id, memory in found.items()}
        # Episodes are session records, which are never updated.
        return [found[id] for id, path in paths.items() if path and not path.startswith(f"{EPISODES}/")]

    def _similar(self, text: str, memory: Memory) -> SimilarNote | None:
        other = _words_of(memory)
        score, near, same = self._likeness(text, other)
        if not near:
            return None
        against = contradicts(text, other)
        is_same = same and not against
        ref = memory.source_ref
        return SimilarNote(str(ref["path"]), str(ref.get("place", "project")), memory.title, score, is_same, against)

    def _likeness(self, one: str, other: str) -> tuple[float, bool, bool]:
        """Return the similarity of two texts, whether they are near, and whether they are the same. Uses embeddings, or
        words without them. Near texts with the same title count as the same."""
        same_title = normalize(one.partition(". ")[0]) == normalize(other.partition(". ")[0])
        cosine = self._cosine(one, other)
        if cosine is not None:
            return cosine, cosine >= NEAR, cosine >= (NEAR if same_title else SAME)
        words = content_words(one), content_words(other)
        shared = len(words[0] & words[1]) / max(1, len(words[0] | words[1]))
        pairs = jaccard_bigram(one, other)
        near = max(shared, pairs) >= NEAR_WORDS
        return max(shared, pairs), near, pairs >= SAME_WORDS or (near and same_title)

    def _cosine(self, one: str, other: str) -> float | None:
        embedding = self._lore.embedding
        with self._lore.acting():
            here, there = embedding.query(one), embedding.query(other)
        return None if here is None or there is None else round(float(here.vector @ there.vector), EXACT)


def _overlap(pairs: frozenset[tuple[str, str]], others: frozenset[tuple[str, str]]) -> float:
    return len(pairs & others) / len(pairs | others) if pairs and others else 0.0


def _differs(text: str, other: str) -> bool:
    return bool(contradicts(text, other)) or bool(differences(text, other))


def _words_of(memory: Memory) -> str:
    fields = memory.extra.get("note")
    insight = fields.get("key_insight") if isinstance(fields, dict) else ""
    return f"{memory.title}. {insight or memory.text}"[:COMPARED_CHARS]


_CONTEXT = "context"  # a section with the origin of a lesson is no news by itself


def news_for(body: str, note: str) -> str:
    """Return the parts of a body that a note lacks, with headings one level lower; '' if it lacks nothing."""
    normalized, known = normalize(note), note
    parts: list[str] = []
    heading, fresh = "", False
    for block in _blocks(body):
        if block.startswith("#"):
            heading = block
            continue
        title = heading.lstrip("#").strip().lower()
        left = _unknown_part(block, normalized, known)
        if not left:
            continue
        parts += [f"### {heading.lstrip('#').strip()}"] if heading else []
        parts.append(left)
        fresh = fresh or (title != _CONTEXT and not left.endswith(":"))
        heading = ""
    return "\n\n".join(_without_lonely(parts)) if fresh else ""


def _unknown_part(block: str, normalized: str, note: str) -> str:
    """Return a paragraph without known sentences; code, lists and quotations are kept or dropped whole."""
    if block in NOT_SAID or (words := normalize(block.lstrip("> "))) == "" or words in normalized:
        return ""
    if block.startswith(("```", "~~~", ">", "|", "-", "*", "1.")) or "\n" in block:
        return block
    return " ".join(sentence for sentence in split_sentences(block) if not says_already(sentence, note))


def _without_lonely(parts: list[str]) -> list[str]:
    """Drop lines that end in a colon but introduce nothing."""
    after = [*parts[1:], "###"]
    pairs = zip(parts, after, strict=True)
    return [part for part, below in pairs if not part.endswith(":") or below.startswith(("```", "~~~", ">"))]


def _blocks(body: str) -> list[str]:
    """Split a text into headings and paragraphs; a code block is one paragraph."""
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
# Errors of an unsuitable target file: the proposal is refused and the reason reported.
UNFIT = (Rejected, InvalidInput, NotAllowed, Conflict, NotFound, Unreadable)


@frozen
class About:
    """Origin of a proposal: lesson text, level, category, quote, reason, scope and agent."""

    text: str
    level: str = "medium"
    category: str = ""
    quote: str = ""
    why: str = ""
    scope: str = "project"
    agent: str = ""
    fix: str = ""  # a known problem with another fix is proposed again


class ProposalDrafter:
    """Drafts proposals for one reflection. `client` ran the session; `agent` restricts rules to that agent's file."""

    def __init__(self, lore: Lore, places: Places, client: str, agent: str = "") -> None:
        self._lore = lore
        self._places = places
        self._client = client
        self.agent = agent
        self.known = Known(lore)

    def rule(self, draft: RuleDraft, about: About) -> Proposal | None:
        """Propose a rule for the instruction file that an agent reads; None if the file already says it."""
        place, path = self._agent_file(about.agent or self.agent)
        text = self._places.read(place, path) or ""
        if says_already(draft.rule, text):
            return None
        _check(draft.rule, "reflect")
        against = conflict_with(draft.rule, text)
        edit = Edit(place, path, targets.RULE, draft.line, f"## {targets.RULES_HEADING}")
        conflict = f"{self._places.shown(edit)}:{against.number}: {against.line.strip()}" if against else ""
        return self._proposal(
            "behavioral", draft.rule, about, [edit], conflict=conflict, action="add" if text else "new"
        )

    def rule_target(self) -> tuple[str, str]:
        """Return place and path of the file for rules; raise NotFound if the requested agent has none."""
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
        """Propose a note for the project and, under the same id, for every project; or an update of a similar note."""
        _check(f"{draft.title}\n\n{draft.body}", "note")
        kin = self.known.note_like(draft.title, draft.key_insight or draft.body)
        if kin is not None and kin.same and (existing := self._text_of(kin)) is not None:
            return self._update(draft, about, kin, existing)
        fields = {**draft.fields, "created": self._day()}
        conflict = f"{kin.path}: {kin.against}" if kin is not None and kin.against else ""
        if kin is not None:
            fields["links"] = [kin.path]
        edits = self._note_files(draft, fields, given or {})
        more = {"action": "link" if kin else "new", "similar": kin.path if kin else "", "conflict": conflict}
        return self._proposal("knowledge", draft.title, about, edits, **more)

    def _text_of(self, kin: SimilarNote) -> str | None:
        """Return the current text of a similar note; None if it cannot be edited."""
        where = PROJECT if kin.place == "project" else LEARNINGS
        return self._places.read(where, kin.path) if self._places.exists(where, kin.path) else None

    def _update(self, draft: NoteDraft, about: About, kin: SimilarNote, existing: str) -> Proposal | None:
        """Propose an addition to an existing note; None if the note already contains everything."""
        news = news_for(draft.body, existing)
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
        """Propose an addition to `.agents/instincts.yaml`, or a reinforcement of a known instinct."""
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
        """Propose a line for `.agents/MEMORY.md`; None if it is there. If the file is full, propose a note."""
        text = self._places.read(PROJECT, MEMORY) or ""
        if says_already(draft.entry, text):
            return None
        _check(draft.entry, "reflect")
        edit = Edit(PROJECT, MEMORY, targets.ENTRY, draft.entry, draft.section)
        if memory_md.line_count(targets.apply_edit(text, edit)) > memory_md.MAX_LINES:
            return self._overflow(draft, about)
        against = conflict_with(draft.entry, text)
        conflict = f"{MEMORY}:{against.number}: {against.line.strip()}" if against else ""
        return self._proposal("memory", draft.entry, about, [edit], conflict=conflict, action="add" if text else "new")

    def _overflow(self, draft: MemoryDraft, about: About) -> Proposal | None:
        """Propose a note in place of a line, since MEMORY.md has reached its limit."""
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
        return self.note(note, replace(about, why=f"{MEMORY} has reached its 200 lines"))

    def reference(self) -> Proposal | None:
        """Propose the line that makes clients load MEMORY.md; None if the instruction file has it."""
        path = self._places.instructions(self._client)
        existing = self._places.read(PROJECT, path) or ""
        text = f"{path} should read {MEMORY}"
        if memory_md.reference_in(existing):
            return None
        about = About(text, "medium", why="what stands in MEMORY.md is read only where this file names it")
        edit = Edit(PROJECT, path, targets.REFERENCE)
        return self._proposal("memory", text, about, [edit], action="add" if existing else "new")

    def skill(self, draft: SkillDraft, about: About) -> Proposal | None:
        """Propose a skill for a recurring procedure; None if a skill of that name exists."""
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
    """Return the line that a rule or entry contradicts in the current file; for other routes the stored conflict."""
    edit = proposal.edits[0]
    if edit.verb not in (targets.RULE, targets.ENTRY):
        return proposal.conflict
    against = conflict_with(proposal.title, places.read(edit.place, edit.path) or "")
    return f"{places.shown(edit)}:{against.number}: {against.line.strip()}" if against else ""


def diff_of(proposal: Proposal, places: Places) -> str:
    """Return a proposal's diff against the current files; raise Conflict if a file would lose lines."""
    parts = []
    for edit in proposal.edits:
        before = places.read(edit.place, edit.path) or ""
        after = targets.apply_edit(before, edit)
        if not targets.only_adds(before, after, edit.verb):
            raise Conflict(f"{places.shown(edit)} would lose lines", "add it by hand")
        parts.append(targets.difference(before, after, places.shown(edit)))
    return "".join(parts)


def _check(text: str, source: str) -> None:
    """Raise if the validation gate would refuse or quarantine a text."""
    passed = pass_gate(Draft(text, source=source), profile="lane")  # profile `lane`: files have no size limits
    if passed.quarantine:
        raise InvalidInput(passed.quarantine, "say it in other words")


def _graph(draft: NoteDraft, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the given entities and relations of a note, else those that heuristics extract."""
    if given.get("entities"):
        return tuple(given["entities"]), tuple(given.get("relations", ()))
    from swarmlore.domain.language.concepts import concepts_of

    return concepts_of(draft.title, draft.tags, draft.body)


MOST_NAMES = 60


class ProposalCollector:
    """Collects the proposals of one reflection, without duplicates."""

    def __init__(self, lore: Lore, drafter: ProposalDrafter, conversation: Conversation) -> None:
        self._lore = lore
        self._drafter = drafter
        self._conversation = conversation
        self._notes: list[tuple[Any, About]] = []
        self.proposals: list[Proposal] = []
        self.refused: list[str] = []
        self.known = 0
        self.improved = 0

    def take(self, lesson: Lesson, only: Sequence[str]) -> None:
        """Route a lesson to its targets and propose an edit for each."""
        from swarmlore.domain.pages.routing import Context, route

        times = self._drafter.known.times_met(lesson.text, self._conversation.session, lesson.quote)
        project = self._lore.project
        context = Context(project.name, _folder_names(project.root), lesson.files, times, self._drafter.agent)
        found = route(lesson, context)
        for target in found.targets:
            target = "instinct" if target == "review" else target  # becomes an instinct of lowest confidence
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
        """Propose the edit of an item that an LLM prepared."""
        about = About(item.text, item.level, item.category, item.quote, "prepared by a model", agent=item.agent)
        self._propose(item.route, item.draft, about, item.graph)

    def _add(self, target: str, made: Any, about: About) -> None:
        if target == "knowledge":
            self._notes.append((made, about))
        else:
            self._propose(target, made, about)

    def _propose(self, target: str, made: Any, about: About, graph: Mapping[str, Any] | None = None) -> None:
        ways: dict[str, Callable[[Any, About], Proposal | None]] = {
            "behavioral": self._drafter.rule,
            "instinct": self._drafter.instinct,
            "memory": self._drafter.memory,
            "skill": self._drafter.skill,
        }
        try:
            found = self._drafter.note(made, about, graph) if target == "knowledge" else ways[target](made, about)
        except UNFIT as problem:
            self.refused.append(f"{about.text[:100]}: {problem.message}")
            return
        if found is None or any(_is_same(found, one) for one in self.proposals):
            self.known += 1
        else:
            self.proposals.append(found)

    def close(self) -> None:
        """Let the LLM reword the notes, propose them, add the MEMORY.md reference if needed, and sort by level."""
        from swarmlore.notes.reflect.llm_items import reword_notes

        drafts = [made for made, _ in self._notes]
        writer = self._lore.capped_writer() if drafts and self._lore.settings.writer.kind != "none" else None
        worded, self.improved = reword_notes(writer, drafts, self._conversation.turns)
        for made, (_, about) in zip(worded, self._notes, strict=True):
            self._propose("knowledge", made, about)
        self._propose_reference()
        order = {level: place for place, level in enumerate(("high", "medium", "low"))}
        self.proposals.sort(key=lambda item: order.get(item.level, 1))

    def _propose_reference(self) -> None:
        if not any(item.route == "memory" and item.level != "low" for item in self.proposals):
            return
        try:
            if (found := self._drafter.reference()) is not None:
                self.proposals.append(found)
        except UNFIT as problem:
            self.refused.append(problem.message)


def _is_same(item: Proposal, other: Proposal) -> bool:
    return (item.route, item.title, item.target) == (other.route, other.title, other.target)


def _folder_names(root: str) -> tuple[str, ...]:
    """Return the folder names of a project, as words that are specific to it."""
    try:
        with os.scandir(root) as entries:
            found = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return ()
    return tuple(name for name in found if not name.startswith(".") and name.isprintable())[:MOST_NAMES]
