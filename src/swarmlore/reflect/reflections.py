"""The verbs of reflecting: look at a session and propose, show what is open, take an answer, go on with what was begun.

Only a person's answer changes files. An agent's is kept as advice: what it approves is `prepared`, and a person
confirms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from swarmlore.domain.json_codec import iso
from swarmlore.domain.records import PROPOSAL_ROUTES, Memory, Proposal, Reflection
from swarmlore.errors import InvalidInput, NotAllowed, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.reflect import counting
from swarmlore.reflect.applying import Applied, Applying
from swarmlore.reflect.episodes import drop_episodes, keep_episode
from swarmlore.reflect.known import Known
from swarmlore.reflect.making import Making
from swarmlore.reflect.places import Places
from swarmlore.reflect.proposing import Proposing, conflict_of, diff_of
from swarmlore.reflect.scanning import Heard, hear_file, hear_session, hear_text, looks_at
from swarmlore.rules.approval import APPROVE, HOW, MODIFY, REJECT, no_answer, read_answer
from swarmlore.store.database import Operation

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore

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
        from swarmlore.reflect.older import older_state

        known = Known(self._lore)
        waiting = [text for text in older_state(self._env).pending if known.times_met(text) == 1]
        items = [{"route": "instinct", "text": text, "level": "low"} for text in waiting]
        return self._keep(self._from_items(items, "", "")) if items else None

    def _from_items(self, given: str | Sequence[Any], session: str, agent: str) -> Reflection:
        from swarmlore.reflect.items import read_items

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
            counting.count_reflection(self._places, reflection)
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
        from swarmlore.reflect.rewording import reworded

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
        from swarmlore.reflect.applying import commit_texts

        return commit_texts(root, changes, self._lore.new_id(), self._lore.now())

    def _of(self, reflection: Reflection) -> list[Proposal]:
        return self._lore.store.proposals(self._lore.caller, reflection=reflection.id)

    # How it stands

    def status(self) -> dict[str, Any]:
        """What was counted over all projects, what is open in this one, and whether sessions are looked at unasked."""
        from swarmlore.reflect.older import older_state

        with self._lore.acting():
            store, caller = self._lore.store, self._lore.caller
            counts = store.count_proposals(caller)
            last = store.reflections(caller, limit=1)
            unfinished = len(store.open_approvals(caller))
        older = older_state(self._env)
        told: dict[str, Any] = {"auto": self.auto, "metrics": counting.read_metrics(self._places)}
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
        from swarmlore.reflect.older import older_state

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
