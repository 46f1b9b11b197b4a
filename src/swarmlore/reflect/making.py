"""What one look at a session proposes, collected: each lesson by its route, nothing twice, the surest first."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from swarmlore.domain.records import Proposal
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.reflect.proposing import UNFIT, About, Proposing

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.extraction.session_lessons import Lesson
    from swarmlore.lore import Lore
    from swarmlore.reflect.items import Item
    from swarmlore.reflect.scanning import Heard

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
        from swarmlore.reflect.wording import better

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
