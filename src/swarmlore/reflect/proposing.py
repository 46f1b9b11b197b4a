"""From a lesson to what is proposed: which files get which additions, with what is known beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.display import short_slug, slug
from swarmlore.domain.pages.rule_conflicts import conflict_with, says_already
from swarmlore.domain.policy.gate import pass_gate
from swarmlore.domain.records import Draft, Edit, Proposal
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, NotFound, Rejected
from swarmlore.formats import instincts, memory_md
from swarmlore.formats.yaml_text import Unreadable
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.note_places import LEARNINGS as LEARNED
from swarmlore.note_places import SOLUTIONS
from swarmlore.reflect import editing
from swarmlore.reflect.known import Kin, Known
from swarmlore.reflect.places import LEARNINGS, PROJECT, SKILLS, Places

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.pages.drafting import InstinctDraft, MemoryDraft, NoteDraft, RuleDraft, SkillDraft
    from swarmlore.lore import Lore

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
        edit = Edit(place, path, editing.RULE, draft.line, f"## {editing.RULES_HEADING}")
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
        from swarmlore.reflect.updating import news_for

        news = news_for(draft.body, said)
        if not news:
            return None
        where = PROJECT if kin.place == "project" else LEARNINGS
        edit = Edit(where, kin.path, editing.SECTION, news, f"## Update {self._day()}")
        return self._proposal("knowledge", draft.title, about, [edit], action="update", similar=kin.path)

    def _note_files(self, draft: NoteDraft, fields: Mapping[str, Any], given: Mapping[str, Any]) -> list[Edit]:
        from swarmlore.formats.notes import note_id, parse_note, write_note
        from swarmlore.formats.sidecar import BY_RULES, Sidecar, sidecar_path, write_sidecar

        text = write_note(fields, f"\n{draft.body.strip()}\n")
        id = note_id(draft.title, parse_note(text).body)
        entities, relations = _graph(draft, given)
        by = "" if given.get("entities") else BY_RULES
        sidecar = write_sidecar(Sidecar(id, self._day(), entities, relations, extracted_by=by))
        path = self._free_path(draft, id)
        own = f"{LEARNED}/{id}.md"
        made = [(PROJECT, path, text), (PROJECT, sidecar_path(path), sidecar)]
        made += [(LEARNINGS, own, text), (LEARNINGS, sidecar_path(own), sidecar)]
        return [Edit(place, name, editing.CREATE, content) for place, name, content in made]

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
            edit = Edit(PROJECT, INSTINCTS, editing.INSTINCT, draft.rule, facts={"set": dict(fields)})
            return self._proposal("instinct", draft.rule, about, [edit], action="update", similar=str(fields["id"]))
        lowered = {one.id: one.confidence for one in against}
        edit = Edit(PROJECT, INSTINCTS, editing.INSTINCT, draft.rule, facts={"add": dict(fields), "lower": lowered})
        conflict = "; ".join(f"{one.id}: {one.rule}" for one in against)
        return self._proposal("instinct", draft.rule, about, [edit], conflict=conflict, action="add")

    def memory(self, draft: MemoryDraft, about: About) -> Proposal | None:
        """A line for `.agents/MEMORY.md`; None where it stands there. A full file takes none."""
        said = self._places.read(PROJECT, MEMORY) or ""
        if says_already(draft.entry, said):
            return None
        _check(draft.entry, "reflect")
        edit = Edit(PROJECT, MEMORY, editing.ENTRY, draft.entry, draft.section)
        if _is_full(editing.done_to(said, edit)):
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
        from swarmlore.formats.memory_md import reference_in

        text = f"{path} should read {MEMORY}"
        if reference_in(said):
            return None
        about = About(text, "medium", why="what stands in MEMORY.md is read only where this file names it")
        edit = Edit(PROJECT, path, editing.REFERENCE)
        return self._proposal("memory", text, about, [edit], action="add" if said else "new")

    def skill(self, draft: SkillDraft, about: About) -> Proposal | None:
        """A skill for what comes again and again; None where there is one of that name."""
        path = SKILL_FOLDERS.get(self._client, SKILLS).format(slug(draft.name) or "learned")
        if self._places.exists(PROJECT, path):
            return None
        _check(draft.body, "note")
        edit = Edit(PROJECT, path, editing.CREATE, draft.body)
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
    if edit.verb not in (editing.RULE, editing.ENTRY):
        return proposal.conflict
    against = conflict_with(proposal.title, places.read(edit.place, edit.path) or "")
    return f"{places.shown(edit)}:{against.number}: {against.line.strip()}" if against else ""


def diff_of(proposal: Proposal, places: Places) -> str:
    """What a proposal changes in the files as they are now; raises where one of them cannot be added to."""
    parts = []
    for edit in proposal.edits:
        before = places.read(edit.place, edit.path) or ""
        after = editing.done_to(before, edit)
        if not editing.only_adds(before, after, edit.verb):
            raise Conflict(f"{places.shown(edit)} would lose lines", "add it by hand")
        parts.append(editing.difference(before, after, places.shown(edit)))
    return "".join(parts)


def _check(text: str, source: str) -> None:
    """Refuse what the gate would not let into the store, or would hide there."""
    passed = pass_gate(Draft(text, source=source), profile="lane")  # files have room: only the texts themselves count
    if passed.quarantine:
        raise InvalidInput(passed.quarantine, "say it in other words")


def _is_full(text: str) -> bool:
    from swarmlore.formats.memory_md import MAX_LINES, line_count

    return line_count(text) > MAX_LINES


def _graph(draft: NoteDraft, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Entities and relations: those that came with the note, else those that rules find in it."""
    if given.get("entities"):
        return tuple(given["entities"]), tuple(given.get("relations", ()))
    from swarmlore.domain.language.concepts import concepts_of

    return concepts_of(draft.title, draft.tags, draft.body)
