"""What `Lore` can say about what is to be learned and looked up: what to begin with, lessons in a text, instincts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from swarmlore.domain.records import Query, make
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.parts import Parts

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Caller, Reflection, Remembered
    from swarmlore.notes.exchange import Paper
    from swarmlore.notes.instincts import Instincts, KeptNote, NoteProposal
    from swarmlore.notes.notes import Notes
    from swarmlore.notes.project_memory.transfer import Bringing, Context, Giving
    from swarmlore.notes.reflect.reflections import Reflections
    from swarmlore.research.report import Report
    from swarmlore.research.run import Means
    from swarmlore.retrieval.graph_picture import GraphView
    from swarmlore.retrieval.prime import Primed
    from swarmlore.retrieval.recall import Hits


SESSIONS = 500  # whose folders are looked at


class Studies(Parts):
    """The verbs of reading, reflecting and looking up."""

    if TYPE_CHECKING:

        def remember(self, text: str, **facts: Any) -> Remembered:
            """As `Lore` says it."""

        def recall(self, query: str, limit: int | None = None, profile: str | None = None, **how: Any) -> Hits:
            """As `Lore` says it."""

        def embed_later(self) -> None:
            """As `Errands` says it."""

        def connect_later(self, *, read: bool = True) -> None:
            """As `Errands` says it."""

    def whoami(self) -> Caller:
        """Who acts here, in which role and for which project."""
        return self.caller

    def lesson_lines(self, ids: Sequence[str]) -> dict[str, str]:
        """The lesson lines of those memories that the caller may see, by id. Looking at them here is no use of them,
        and is not counted."""
        from swarmlore.domain.extraction.lesson_text import lesson_line

        with self._guard:
            memories = (self.store.get(self.caller, id) for id in dict.fromkeys(ids))
            return {memory.id: lesson_line(memory) for memory in memories if memory}

    def count_proposals(self, session: str, *, erase: bool = False) -> int:
        """How many proposals go with a session that is forgotten: those that wait; where it is erased, all."""
        return self.reflections.count_of(session, erase=erase)

    def prime(self, topic: str = "") -> Primed:
        """What to know before beginning: code base, README and stack; notes and critical patterns for them; what fits
        the topic or has earned it, what was learned lately."""
        from swarmlore.retrieval.prime import RELEVANT, look_at, prime

        if not isinstance(topic, str):
            raise InvalidInput("a topic is a text", "say what the work is about, or nothing")
        query = self._query(topic.strip(), RELEVANT, "default", None, {})
        place = look_at(self.project.root)  # before the store is entered: others may use it meanwhile
        self._follow_notes()
        with self._looking():
            names = self._stacks()
            return prime(self.store, self.caller, self.recaller, self._patterns, query, names, self.now(), place)

    def research(
        self,
        question: str,
        *,
        limit: int = 8,
        web: bool = False,
        save: bool | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Report:
        """All that is known here about a question: memories, notes, code, docs, history, the web if asked; one report
        with a source for every statement, saved to `research/`. Where nothing answers it is saved only with `save`;
        with `save=False` it never is."""
        from swarmlore.research.report import page
        from swarmlore.research.report import save as save_page
        from swarmlore.research.run import Research

        asked = Research(self.project.root, self._means(web), limit, progress)
        report = asked.run(question, self.project.name, self.now())  # the id may be a path of this machine
        if save is False or (save is None and not report.answer):
            return report
        return replace(report, file=save_page(self.project.root, report.question, report.made_at, page(report)))

    def _means(self, web: bool) -> Means:
        from swarmlore.research.run import Means
        from swarmlore.research.sources import Web

        own = self.settings.research
        searching = Web(own.web_command, own.web_timeout_s) if web else None
        ask = lambda text, mode, limit: self.recall(text, limit, "default", mode=mode)  # noqa: E731 - one line says it
        return Means(ask, self._rules, self._closeness, self.capped_writer, searching)

    def _rules(self) -> list[tuple[str, str]]:
        """The project's instincts with their place; none where the file cannot be read."""
        try:
            shelf = self.instincts.show()
        except SwarmloreError:
            return []
        return [(held.instinct.rule, shelf.path) for held in shelf.held]

    def _closeness(self, question: str, texts: Sequence[str]) -> list[float] | None:
        """How close texts are to a question by meaning; None without an embedder."""
        with self._guard:
            embedder = self.embedding.embedder()
        if embedder is None:
            return None
        try:
            vectors = embedder.embed([question, *texts])
        except SwarmloreError:
            return None
        return [float(value) for value in vectors[1:] @ vectors[0]]

    def reflect(
        self, text: str = "", *, session: str = "", path: str = "", items: str | Sequence[Any] = "", agent: str = ""
    ) -> Reflection:
        """Look back at a text, a file, a session or what a model prepared, and propose what to learn from it; without
        any of them at the newest session that nobody reflected on."""
        return self.reflections.reflect(text, session=session, path=path, items=items, agent=agent)

    @property
    def reflections(self) -> Reflections:
        """What was proposed by looking back: what is open, a person's answer to it, how it stands."""
        from swarmlore.notes.reflect.reflections import Reflections

        return Reflections(self, self._env, self._operation)  # type: ignore[arg-type]  # `Lore` is the only one

    @property
    def graph(self) -> GraphView:
        """What memories mention and how that hangs together: communities, what is around a name, a picture of all."""
        from swarmlore.retrieval.graph_picture import GraphView

        return GraphView(self.store, self.caller, self.now, self._looking, self.home, self._versions.holds)

    @property
    def instincts(self) -> Instincts:
        """The rules of one sentence in this project's `.agents/instincts.yaml`."""
        return self._instincts_of(self.project.root)

    def _instincts_of(self, root: str) -> Instincts:
        from swarmlore.notes.instincts import Instincts

        return Instincts(root, self.caller, self.settings.instincts, self.now, self._keep_note)

    def _keep_note(self, note: NoteProposal) -> KeptNote:
        """The note of an instinct among the notes for every project; one that is there is not written again."""
        from swarmlore.notes.instincts import KeptNote

        said = {"title": note.title, "category": note.category, "tags": list(note.tags), "confidence": note.confidence}
        said |= {"key_insight": note.instinct.rule, "type": "learning", "scope": "universal"}
        said |= {"learning_type": "pattern", "source": note.instinct.id}
        kept = self.notes.write(note.text, everywhere=True, once=True, **said)
        return KeptNote("known" if kept.replaced else "added", kept.path, kept.id, kept.memory)

    @property
    def context(self) -> Context:
        """What is always in an agent's context: `.agents/MEMORY.md`, and what clients remember by themselves."""
        from swarmlore.notes.project_memory.transfer import Context

        return Context(
            self.project.root,
            self.project.name,
            self.caller,
            self.settings,
            self._env,
            self.now,
            self._folders_of_sessions,
            self._instincts_of,
            self._index_notes,
        )

    def _bringing(self) -> Bringing:
        from swarmlore.notes.locations import learnings_root
        from swarmlore.notes.project_memory.memory_file import ProjectMemory
        from swarmlore.notes.project_memory.transfer import Bringing

        context = self.context
        return Bringing(
            self.caller,
            self.settings,
            ProjectMemory(self.project.root, self.caller, self.now),
            self.instincts,
            learnings_root(self._env, self._env.get("HOME") or os.path.expanduser("~")),
            lambda folder, progress: context.ingest(progress=progress, only=folder),
        )

    def _giving(self) -> Giving:
        from swarmlore.notes.project_memory.memory_file import ProjectMemory
        from swarmlore.notes.project_memory.transfer import Giving

        memory = ProjectMemory(self.project.root, self.caller, self.now)
        return Giving(memory, self.instincts, self.context.copies)

    def _export_folder(self, folder: str, format: str, *, overwrite: bool) -> int:
        from swarmlore.notes.exchange import export_notes, lesson_paper

        with self._looking():
            if format == "auto-memory":
                papers = list(self._giving().papers())  # before a folder is made
                return export_notes(papers, folder, overwrite=overwrite)
            found = self.store.in_order(self.store.visible(self.caller, ("swarm",)))
            lessons = (lesson_paper(memory) for memory in found if memory.live and not memory.raw)
            return export_notes((*self._own_notes(), *lessons), folder, overwrite=overwrite)

    def _own_notes(self) -> Iterator[Paper]:
        """The files of all notes that there are."""
        from swarmlore.notes.exchange import outgoing

        for note in self.notes.all():
            if paper := outgoing(note.path, note.category):
                yield paper

    def _folders_of_sessions(self) -> tuple[str, ...]:
        """Where sessions of this project ran, newest first."""
        with self._guard:
            found = self.store.sessions(self.caller, SESSIONS)
        return tuple(dict.fromkeys(session.cwd for session in found if session.cwd))

    def _index_notes(self) -> None:
        """Let what was written as notes be found."""
        self.notes.refresh()

    @property
    def notes(self) -> Notes:
        """The notes in `docs/solutions` of this project and in its user's folder for every project."""
        from swarmlore.notes.notes import Notes
        from swarmlore.notes.sync import NoteIndex

        parts = (self.store, self.caller, self.settings, self.writing, self._operation)
        index = NoteIndex(self.home, *parts, self.project.root, self._env)
        return Notes(
            index, lambda: self._guard, self._changing, self.recall, self._follow_up, self.now, self.home, self._env
        )

    def _follow_up(self, *, new: bool, read: bool) -> None:
        """What is left to do once notes were looked at: vectors for new texts, and what a language model reads."""
        if new:
            self.embed_later()
        self.connect_later(read=read)

    def _follow_notes(self) -> None:
        """Take in notes that changed, on the way to something else; where there are none, nothing is loaded for it."""
        from swarmlore.notes.locations import SOLUTIONS, learnings_root

        user = self._env.get("HOME") or os.path.expanduser("~")
        folders = (os.path.join(self.project.root, SOLUTIONS), learnings_root(self._env, user))
        if any(os.path.isdir(folder) for folder in (*folders, os.path.join(self.home, "notes"))):
            with self._guard:
                self.notes.follow()

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
        return (*chosen, *(f"stack:{name}" for name in self._stacks()))
