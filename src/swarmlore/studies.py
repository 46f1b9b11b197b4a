"""What `Lore` can say about what is to be learned and looked up: what to begin with, lessons in a text, instincts."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.parts import Parts
from swarmlore.project import stacks
from swarmlore.records import Query
from swarmlore.typed import make

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.instincts import Instincts
    from swarmlore.prime import Primed
    from swarmlore.records import Proposal, Remembered


class Studies(Parts):
    """The verbs of reading, reflecting and looking up."""

    if TYPE_CHECKING:

        def remember(self, text: str, **facts: Any) -> Remembered:
            """As `Lore` says it."""

    def prime(self, topic: str = "") -> Primed:
        """What to know before beginning: the stack, what fits the topic or has earned it, what was learned lately."""
        from swarmlore.prime import RELEVANT, prime

        if not isinstance(topic, str):
            raise InvalidInput("a topic is a text", "say what the work is about, or nothing")
        query = self._query(topic.strip(), RELEVANT, "default", None, {})
        with self._looking():
            names = stacks(self.project.root)
            return prime(self.store, self.caller, self.recaller, self._patterns, query, names, self.now())

    def reflect(self, text: str) -> tuple[Proposal, ...]:
        """Lessons that a text holds, each with whether it is known already. Nothing is stored."""
        from swarmlore.reflecting import Reflection, lessons_in

        found = lessons_in(text)
        with self._looking():
            reflection = Reflection(self.store, self.caller, self.settings, self.new_id)
            return tuple(reflection.propose(lesson, self.now()) for lesson in found)

    @property
    def instincts(self) -> Instincts:
        """The rules of one sentence in this project's `.agents/instincts.yaml`."""
        from swarmlore.instincts import Instincts

        return Instincts(self.project.root, self.caller, self.settings.instincts, self.now, self.remember)

    def _query(
        self, text: str, limit: int | None, profile: str | None, mode: str | None, filters: Mapping[str, Any]
    ) -> Query:
        own = self.settings.recall
        said = {"limit": limit, "profile": profile, "mode": mode}
        given = {name: value for name, value in said.items() if value is not None}
        query: Query = make(Query, {**filters, **given, "text": text}, "recall")
        return replace(
            query,
            limit=own.limit if limit is None else limit,
            profile=profile or own.profile,
            mode=mode or own.mode,
            scopes=query.scopes or self.scopes(profile or own.profile),
        )

    def scopes(self, profile: str) -> tuple[str, ...]:
        """Where memories apply that are looked at: the configured scopes and, in `default`, the project's stacks."""
        chosen = self.settings.knowledge.scope_filter
        if profile != "default":
            return chosen
        return (*chosen, *(f"stack:{name}" for name in stacks(self.project.root)))
