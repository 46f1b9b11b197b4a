"""A server's memory as the commands of this machine use it: what concerns files is looked at here."""

from __future__ import annotations

import os
from functools import cached_property

from swarmlore.domain.language.citations import may_cite
from swarmlore.errors import NotAllowed, Rejected
from swarmlore.frozen import TYPE_CHECKING, fields, replace
from swarmlore.memory.write import Imported
from swarmlore.remote.line import PLAIN
from swarmlore.remote.lore import RemoteLore
from swarmlore.remote.named import URL, token_in
from swarmlore.retrieval.recall import Hits
from swarmlore.workspace.project import find_project, stacks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from swarmlore.domain.records import Caller, Cited, Draft, Hit, Memory, Remembered, Stale
    from swarmlore.models.embedding import Progress
    from swarmlore.retrieval.prime import Primed
    from swarmlore.workspace.cited_code import Look, Tree


MOST_CITING = 10_000_000
LOOKED_AT = 1_000


class AwayLore(RemoteLore):
    """The verbs, asked of a server, and the few other things that commands want of a memory."""

    def __init__(self, env: Mapping[str, str], home: str, folder: str, profile: str = "") -> None:
        self.home = home
        self.project = find_project(folder)
        self.notes = _Notes(self.project.root)
        how = {"profile": profile, "stacks": ",".join(stacks(self.project.root))}
        super().__init__(env[URL], token_in(env), plain=env.get(PLAIN) == "1", how=how)

    @property
    def url(self) -> str:
        return self._line.name

    @cached_property
    def caller(self) -> Caller:
        """Who the token says that we are."""
        found: Caller = self.whoami()
        return found

    # What has to be looked at in the checkout here

    def remember(self, text: str, **facts: Any) -> Remembered:
        """As `Lore` says it; what it cites is looked up in this checkout, as the server may have none."""
        told: Remembered = self._ask("remember", (text,), {**facts, "citations": self._cite(text, facts)})
        return told

    def _cite(self, text: str, facts: Mapping[str, Any]) -> tuple[Any, ...]:
        from swarmlore.domain.records import MAX_CITATIONS

        found = tuple(self._tree.cite(item) if isinstance(item, str) else item for item in facts.get("citations", ()))
        if not may_cite(text) or facts.get("source", "manual") != "manual":
            return found
        cited = {(item.path, item.first_line, item.last_line) for item in found}
        named = (item for item in self._tree.named_in(text))
        more = tuple(item for item in named if (item.path, item.first_line, item.last_line) not in cited)
        return (*found, *more)[: max(MAX_CITATIONS, len(found))]

    def remember_many(self, drafts: Iterable[Draft], progress: Progress | None = None) -> Imported:
        """One after the other; each is an operation of its own."""
        outcomes: dict[str, int] = {}
        rejected, replaced = [], []
        for number, draft in enumerate(drafts, start=1):
            try:
                told = self.remember(draft.text, defer=True, **_said(draft))
            except Rejected as refusal:
                rejected.append((number, refusal.message))
                outcome = "rejected"
            else:
                outcome = told.outcome
                replaced += [(number, id) for id in told.related if outcome in ("updated", "superseded")]
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            if progress is not None:
                progress(number, 0)
        return Imported(outcomes, tuple(rejected), "", tuple(replaced))

    def recall(self, *args: Any, **given: Any) -> Hits:
        """As `Lore` says it; whether cited code has changed is seen here."""
        hits: Hits = self._ask("recall", args, given)
        return Hits(self._held(hits), hits.notes, hits.reports)

    def _held(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        look = self._look()
        return tuple(replace(hit, cited=look.cited(hit.memory)) if hit.cited else hit for hit in hits)

    def cited(self, memory: Memory) -> tuple[Cited, ...]:
        """The citations of a memory, held against the checkout here."""
        return self._look().cited(memory)

    def stale(self, *, moved: bool = False, progress: Progress | None = None) -> tuple[Stale, ...]:
        """As `Lore` says it, of the checkout here."""
        from swarmlore.domain.policy.ranking import STALE
        from swarmlore.memory.stale_citations import find_stale

        citing = [memory for memory in self.list(limit=MOST_CITING)[::-1] if memory.citations]
        return tuple(find_stale(citing, self._look(), (*STALE, "moved") if moved else STALE, progress))

    def prime(self, topic: str = "") -> Primed:
        """As `Lore` says it; what files tell is read here."""
        from swarmlore.retrieval.prime import look_at

        told: Primed = self._ask("prime", (topic,), {})
        place = look_at(self.project.root)
        lists = ("relevant", "recent", "approaches", "notes", "patterns")
        told = replace(told, **{name: self._held(getattr(told, name)) for name in lists})
        return replace(told, codebase=place.codebase, readme=place.readme, stack=place.stack, loaded=place.loaded)

    @cached_property
    def _tree(self) -> Tree:
        from swarmlore.workspace.cited_code import Tree

        return Tree(self.project.root)

    def _look(self) -> Look:
        from swarmlore.workspace.cited_code import WHOLE, Look

        return Look(self._tree, lambda memory: memory.project == self.caller.project, WHOLE)

    # What is of the server's machine

    def backups_holding(self, _: str) -> tuple[str, ...]:
        return ()

    def commits_holding(self, _: str) -> tuple[str, ...]:
        return ()

    def stats(self) -> dict[str, Any]:
        told: dict[str, Any] = self._ask("stats", (), {})
        return {**told, "store": self.url}

    def clients(self) -> dict[str, tuple[int, float]]:
        """How many sessions each client had in this project, and when the newest began."""
        found: dict[str, tuple[int, float]] = {}
        for session in self.sessions(LOOKED_AT):
            many, newest = found.get(session.client, (0, 0.0))
            found[session.client] = (many + 1, max(newest, session.started_at))
        return found


class _Notes:
    """Where pages lie in the checkout here."""

    def __init__(self, root: str) -> None:
        self._root = root

    def path_of(self, memory: Memory) -> str:
        place, path = (str(memory.source_ref.get(name, "")) for name in ("place", "path"))
        if memory.source != "note" or not path:
            return ""
        return os.path.join(self._root, *path.split("/")) if place == "project" else path

    def files_of(self, memory: Memory) -> tuple[str, ...]:
        path = self.path_of(memory)
        return (path,) if path and os.path.lexists(path) else ()

    def write(self, *_: Any, **__: Any) -> Any:
        raise NotAllowed("pages are written by a person at a terminal of the memory itself", "leave out --note")


def _said(draft: Draft) -> dict[str, Any]:
    """What a draft says beside its text."""
    empty = type(draft)("")
    names = [spec.name for spec in fields(type(draft)) if spec.name != "text"]
    return {name: getattr(draft, name) for name in names if getattr(draft, name) != getattr(empty, name)}
