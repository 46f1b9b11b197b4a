"""What `Lore` can say about lines that are sent to it, instead of a file that it reads."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from swarmlore.domain.records import Draft, Query, choose, make
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.lore.opening import Parts
from swarmlore.workspace.project import may_change

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from swarmlore.domain.policy.lifecycle import Phase
    from swarmlore.domain.records import Agent, Caller, Job, Memory, Message, Reflection, Remembered, Sent, Token
    from swarmlore.exchange.import_files import Brought
    from swarmlore.memory.lifecycle import Begun, Swept
    from swarmlore.memory.promotion import Promotion
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

    T = TypeVar("T")


CONNECT_KEY = "connect"  # one such job reads all notes that a language model has not read
INDEX_KEY = "index"
EMBED_KEY = "embed"  # one such job per project and agent is enough: it makes all vectors that are missing


class Errands(Parts):
    """The verbs of mail and of the queue."""

    def register(self, *, program: str = "", model: str = "", task: str = "") -> Agent:
        """Say that this agent is there and can be written to; again changes what it said."""
        with self._guard:
            self._keep_names()
            return self.mail.register(program, model, task)

    def agents(self) -> tuple[Agent, ...]:
        """Who of this project can be written to, the most active first."""
        with self._guard:
            return tuple(self.mail.agents())

    def send(
        self,
        to: Sequence[str],
        subject: str,
        body: str = "",
        *,
        thread: str = "",
        importance: str = "normal",
        ack_required: bool = False,
    ) -> Message:
        """Write to other agents of the project. It is in their inboxes, on disk, when this returns."""
        facts = {"thread": thread, "importance": importance, "ack_required": ack_required}
        with self._guard:
            self._keep_names()
            return self.mail.send(to, subject, body, facts)

    def inbox(
        self, limit: int = 5, *, urgent_only: bool = False, unread_only: bool = False, thread: str = ""
    ) -> tuple[Message, ...]:
        """This agent's messages without their bodies, newest first. `unread_only`: also what still wants an ack."""
        wanted = {"urgent_only": urgent_only, "unread_only": unread_only, "thread": thread}
        with self._guard:
            return tuple(self.mail.inbox(limit, wanted))

    def count_inbox(self, *, urgent_only: bool = False, unread_only: bool = False, thread: str = "") -> tuple[int, int]:
        """How many messages `inbox` could list, and how many of them are urgent and were not read."""
        wanted = {"urgent_only": urgent_only, "unread_only": unread_only, "thread": thread}
        with self._guard:
            return self.mail.count_inbox(wanted)

    def mail_notice(self) -> str:
        """One line for an agent whose mail waits; empty where none does."""
        many, urgent = self.count_inbox(unread_only=True) if self.caller.agent else (0, 0)
        if not many:
            return ""
        some = f" ({urgent} urgent)" if urgent else ""
        wait = "message waits" if many == 1 else "messages wait"
        return f"{many} {wait} for you{some}, from other agents of this project. To see them: swarmlore mail inbox"

    def proposals_notice(self) -> str:
        """One line where proposals of reflecting wait for a person; empty where none do."""
        with self._guard:
            many = self.store.waiting_proposals(self.caller)
        if not many:
            return ""
        wait = "learning waits" if many == 1 else "learnings wait"
        return f"{many} {wait} for a decision of your user, who sees them with: swarmlore reflect --review"

    def sent(self, limit: int = 20, ref: str = "") -> tuple[Sent, ...]:
        """What this agent wrote, newest first, and who read and acknowledged it; with `ref` that one and its body."""
        with self._guard:
            return tuple(self.mail.sent(limit, ref))

    def read(self, ref: str) -> Message:
        """One message of this agent's inbox, with its body; it counts as read."""
        with self._guard:
            return self.mail.read(ref)

    def ack(self, ref: str) -> Message:
        """Say that a message was taken care of."""
        with self._guard:
            return self.mail.read(ref, ack=True)

    def enqueue(self, kind: str, body: Mapping[str, Any] | None = None, key: str = "", *, again: bool = False) -> Job:
        """Leave a job for the worker. A key that is known already adds nothing; `again` lets that job run once more."""
        with self._guard:
            self._keep_names()
            return self.mail.enqueue(kind, body or {}, key, again=again)

    def once(self, job: Job, work: Callable[[], T], key: str = "", *, last: bool = False) -> T | None:
        """Do something for a job in one transaction with the check of its lease; None where it was done before. With
        `last` the job is done in the same transaction."""
        with self._changing():
            return self.mail.once(job, work, key, last=last)

    def queue_full(self) -> bool:
        """Whether so many jobs wait that hooks had better go on spooling."""
        with self._guard:
            return self.mail.full()

    def delete_mail(self, ref: str) -> Message:
        """Take a message out of this agent's inbox or, where it sent it, out of everybody's."""
        with self._guard:
            return self.mail.delete(ref)

    def jobs(self, limit: int = 20) -> tuple[Job, ...]:
        """Jobs that wait or run, oldest first, each with what went wrong the last time."""
        with self._guard:
            return tuple(self.mail.jobs(limit))

    def waiting_jobs(self) -> dict[str, int]:
        """How many jobs wait, run or were given up, in the whole store; neither whose nor what."""
        with self._guard:
            counts: dict[str, int] = {}
            for state, _, many, _ in self.store.job_counts():
                counts[state] = counts.get(state, 0) + many
            return counts

    def dead_letters(self, limit: int = 20, *, all_projects: bool = False) -> tuple[Job, ...]:
        """Jobs that were tried often enough, each with its last error; all projects are for a person."""
        with self._guard:
            return tuple(self.mail.dead_letters(limit, all_projects=all_projects))

    def retry(self, ref: str) -> Job:
        """Let a job that was given up be tried from the beginning."""
        with self._guard:
            return self.mail.retry(ref)

    def discard(self, ref: str) -> Job:
        """Remove a job that was given up, for good."""
        with self._guard:
            return self.mail.discard(ref)

    def connect_later(self, *, read: bool = True) -> None:
        """Leave notes that were read anew to a language model, if there is one and it may read them; else those that
        it did not come to on another day."""
        own = self.settings
        if own.writer.kind == "none" or not (own.notes.ask_writer and own.knowledge.enabled):
            return
        with contextlib.suppress(StoreError):  # the next change asks again
            left = self.spending.was_left(self.caller.project)
            if left:
                self.spending.leave(self.caller.project, left=True)  # once a day, whatever becomes of it
            if left or read:
                self.mail.ask_for("connect", CONNECT_KEY)

    # Tokens

    def create_token(
        self, agent: str, *, role: str = "worker", folder: str = "", days: float = 0.0
    ) -> tuple[Token, str]:
        """A token with which an agent of this project asks a server, and what has to be shown: that is kept nowhere.
        For a lead or a person. `folder` is where the project lies on the server's machine, `days` how long it holds."""
        with self._guard:
            self._keep_names()
            return self._access.create(agent, role, folder, days)

    def tokens(self, *, all_projects: bool = False) -> tuple[Token, ...]:
        """The tokens of this project, newest first, those that hold no more too; all projects are for a person."""
        with self._guard:
            return tuple(self._access.tokens(all_projects=all_projects))

    def revoke_token(self, ref: str) -> Token:
        """Let nobody in with a token any more, from now on."""
        with self._guard:
            return self._access.revoke(ref)

    def index_later(self) -> None:
        """Leave it to the worker to make the file of vectors, where there are many and it is missing or far behind."""
        with contextlib.suppress(StoreError), self._guard:  # whoever makes vectors next asks again
            if self.embedding.is_index_due():
                self.mail.ask_for("index", INDEX_KEY)

    def embed_later(self) -> None:
        """Leave the vectors to the worker, unless this process has the model and makes them itself before it ends."""
        ourselves = "embedding" in self.__dict__ and self.embedding.makes_the_rest
        if ourselves or self.settings.embedder.kind == "none":
            return
        with contextlib.suppress(StoreError):  # the text is stored and counts as waiting; the next one asks again
            self.mail.ask_for("embed", EMBED_KEY)


class Living(Parts):
    """The verbs of a memory's life."""

    def confirm(self, ref: str, session: str = "") -> Remembered:
        """Count that somebody has seen for themselves that a memory holds; what the session was shown does not."""
        with self._changing():
            return self._life.confirm(self._resolve(ref), session)

    def phase(self) -> Phase:
        """The phase that the project is in: announced, from its plan, or the day."""
        with self._guard:
            return self._phases.current(self.now())

    def phases(self, limit: int = 20) -> tuple[Phase, ...]:
        """The phases of the project so far, newest first."""
        with self._guard:
            return tuple(self._phases.newest(limit))

    def start_phase(self, name: str) -> Begun:
        """Begin a phase; the one before it is complete with that."""
        with self._changing():
            return self._life.start_phase(name)

    def complete_phase(self) -> Swept:
        """End the phase that goes on: memories rise, leave, and go to the hive as the rules say."""
        with self._changing():
            return self._life.complete_phase()

    def sweep(self, *, dry_run: bool = False, force: bool = False) -> Swept:
        """Let memories rise and leave as their phases say; a trial changes nothing."""
        if dry_run:
            with self._looking():
                return self._life.sweep(dry_run=True)
        with self._changing():
            return self._life.sweep(force=force)

    def promote(self, text: str, *, from_swarm: bool = False, to: str = "hive", **facts: Any) -> Remembered:
        """Write a lesson into the hive; with `from_swarm` or `to="swarm"` the memory that `text` names."""
        choose("tier", [to], ("hive", "swarm"))
        with self._changing():
            if to == "swarm":
                return self._promoting.share(self._resolve(text))
            if from_swarm:
                return self._promoting.promote_from_swarm(self._resolve(text))
            told = self._promoting.promote(make(Draft, {**facts, "text": text}, "promote"))
            self._life.trim()
            return told

    def inject(self, agent: str, text: str, category: str, *, tags: Sequence[str] = ()) -> Remembered:
        """Teach an agent, and with it the whole swarm, what it has to know; for a lead or a person."""
        from swarmlore.domain.extraction.lesson_text import ONLY_LEADS, check_category, taught, taught_draft

        check_category(category)
        if not self.caller.leads:
            raise NotAllowed(ONLY_LEADS, "ask the lead of the swarm, or use remember: the swarm sees that too")
        draft: Draft = make(Draft, taught_draft(text, category, tags), "inject")
        with self._changing():
            self._follow_phases()
            owner = self.mail.address(agent)
            told = self.writing.remember(draft, form=lambda memory: taught(memory, owner))
            self._let_live(told, "")
            self._keep_names()
            return told

    def edit(self, ref: str, text: str, *, version: int | None = None, reason: str = "") -> Memory:
        """Put another text in the place of a memory's; refused where it is not of the version that was seen."""
        with self._changing():
            memory = self._resolve(ref)
            if not may_change(self.caller, memory):
                who = memory.owner or "somebody else"
                raise NotAllowed(f"memory {memory.handle} was shared by {who}", "only its author or a lead can edit it")
            self._check_editable(memory, version)
            return self.writing.rewrite(memory, text, reason)

    @staticmethod
    def _check_editable(memory: Memory, version: int | None) -> None:
        look = f"swarmlore get {memory.handle}"
        if version is not None and version != memory.version:
            raise Conflict(f"memory {memory.handle} is at version {memory.version}, not {version}", f"see it: {look}")
        if not memory.live:
            raise Conflict(f"memory {memory.handle} is not in use any more", f"see it: {look}")
        if memory.source in ("note", "file_index"):
            raise NotAllowed(f"memory {memory.handle} follows a file", "change the file: the memory follows")

    def acknowledge(self, ref: str, how: str) -> Memory:
        """Count what an agent did with a memory that it was shown: applied, ignored, violated or contradicted."""
        with self._changing():
            return self.learning.acknowledge(self._resolve(ref), how)

    def archive(self, ref: str, reason: str = "") -> Memory:
        """Take a memory out of use, with the reason; `restore` brings it back."""
        with self._changing():
            return self._aside.archive(self._resolve(ref), reason)

    def promotions(self) -> tuple[Promotion, ...]:
        """Lessons of this project that have a route to the hive and are not there, each with what it waits for."""
        with self._looking():
            return tuple(self._promoting.candidates(self.now()))

    def quarantine(self, ref: str, reason: str = "") -> Memory:
        """Hide a memory from everybody, with the reason."""
        with self._changing():
            return self._aside.quarantine(self._resolve(ref), reason)

    def restore(self, ref: str) -> Memory:
        """Bring back a memory from quarantine or the archive, if its text passes the gate."""
        with self._changing():
            return self._aside.restore(self._resolve(ref))

    def retract(self, text: str) -> tuple[Memory, ...]:
        """Quarantine every lesson that says exactly this, in the project and in the hive."""
        with self._changing():
            return self._retract(text)

    def _retract(self, text: str, *, again: bool = True) -> tuple[Memory, ...]:
        told = self._aside.retract(text, again=again)
        if told.memories and self._shares:
            with suppress(SwarmloreError):  # the memories are hidden; `doctor` tells of a folder that cannot be written
                self.exchange.tell_retraction(told.record, self.new_id())
        return told.memories

    def _look_back(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Take in what the project's plan says was learned, and take back what it calls a bad rule: the ids of both.
        A plan comes with the repository, so a person must have agreed to its files."""
        if not self._shares or not self.exchange.own_folder():
            return (), ()
        from swarmlore.exchange.foreign import compat

        parts = (self.store, self.caller, self.settings, self.writing, self.new_id)
        learned, bad = compat("opencode_swarm").Migrating(self.project.root, *parts).plan(self._operation("curate"))
        gone = [memory.id for text in bad for memory in self._retract(text, again=False)]
        return learned, tuple(gone)

    def _follow_phases(self) -> Phase | None:
        """Follow the plan and the calendar before something is remembered; their failure is no failure of that. Returns
        the phase that goes on, where there was nothing to follow."""
        try:
            phase = self._phases.going_on(self.now())
            if phase is None and not self.store.engine.readonly and self._phases.is_due(self.now()):
                self._life.follow()
        except StoreError:
            return None  # what is due is due at the next time as well
        return phase

    def _let_live(self, told: Remembered, session: str) -> None:
        """What a lesson means for those that are there: the hive meets it again, and the oldest may have to go."""
        try:
            if told.memory.live and self.store.visible(self.caller, ("hive",)):
                shown = frozenset(self.store.showings(self.caller, session))
                self._promoting.meet(told.memory, told.operation, shown)
            if self.settings.recall.profile == "knowledge" and told.outcome in ("added", "linked"):
                self._life.trim()
        except (Conflict, StoreError):
            return  # the text is stored; somebody else has changed what it meets

    def _resolve(self, ref: str) -> Memory:
        if not isinstance(ref, str) or not ref.strip() or len(ref) > 128:
            raise InvalidInput("that is not an id", "give a handle, an id or the beginning of one")
        return self.store.resolve(self.caller, ref.strip())


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


AT_ONCE = 100  # lines of one transaction: other writers wait for it


class Receiving(Parts):
    """The verbs of lines that come in."""

    if TYPE_CHECKING:

        def embed_later(self) -> None:
            """As `Errands` says it."""

    def import_lines(
        self,
        lines: Iterable[bytes],
        format: str = "auto",
        *,
        first: int = 1,
        so_far: Brought | None = None,
        more: bool = False,
    ) -> Brought:
        """Take in lines that the caller answers for, a hundred in a transaction. Many can come in pieces: `first` is
        the number of the first line, `so_far` what the piece before told, and `more` says that others follow."""
        from swarmlore.exchange.import_stream import check_sent

        check_sent(format)
        source, told = iter(lines), so_far
        while piece := list(islice(source, AT_ONCE)):
            with self._guard:
                told = self.exchange.take(piece, format, first, told)
            first += len(piece)
        if more and told is not None:
            return told
        with self._changing():  # files follow once, at the end
            told = told or self.exchange.take([], format, first, None)
            self._keep_names()
            self.embed_later()
            return told
