"""Methods of `Lore` by topic: mail, job queue and tokens; lifecycle; notes, research and reflection; streamed
imports."""

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
from swarmlore.workspace.identity import may_change

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from swarmlore.domain.policy.lifecycle import Phase
    from swarmlore.domain.records import Agent, Caller, Job, Memory, Message, Reflection, Remembered, Sent, Token
    from swarmlore.exchange.import_files import Brought
    from swarmlore.memory.lifecycle import Begun, Swept
    from swarmlore.memory.promotion import Promotion
    from swarmlore.notes.exchange import NoteFile
    from swarmlore.notes.instincts import Instincts, KeptNote, NoteProposal
    from swarmlore.notes.notes import Notes
    from swarmlore.notes.project_memory.transfer import ContextTier, FileExporter, FileImporter
    from swarmlore.notes.reflect.reflections import Reflections
    from swarmlore.research.report import Report
    from swarmlore.research.run import Means
    from swarmlore.retrieval.graph import GraphView
    from swarmlore.retrieval.prime import Primed
    from swarmlore.retrieval.recall import Hits

    T = TypeVar("T")


CONNECT_KEY = "connect"  # one job extracts entities from all notes that the language model has not read
INDEX_KEY = "index"
EMBED_KEY = "embed"  # one job per project and agent is enough: it embeds all pending texts


class QueueMethods(Parts):
    """Methods for mail, the job queue and tokens."""

    def register(self, *, program: str = "", model: str = "", task: str = "") -> Agent:
        """Register this agent, so that others can write to it; repeating it updates its program, model and task."""
        with self._guard:
            self._keep_names()
            return self.mail.register(program, model, task)

    def agents(self) -> tuple[Agent, ...]:
        """Return the agents of this project that can be written to, the most active first."""
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
        """Write to other agents of the project. The message is in their inboxes, on disk, when this returns."""
        facts = {"thread": thread, "importance": importance, "ack_required": ack_required}
        with self._guard:
            self._keep_names()
            return self.mail.send(to, subject, body, facts)

    def inbox(
        self, limit: int = 5, *, urgent_only: bool = False, unread_only: bool = False, thread: str = ""
    ) -> tuple[Message, ...]:
        """Return this agent's messages without their bodies, newest first. `unread_only` also keeps messages that wait
        for an acknowledgement."""
        wanted = {"urgent_only": urgent_only, "unread_only": unread_only, "thread": thread}
        with self._guard:
            return tuple(self.mail.inbox(limit, wanted))

    def count_inbox(self, *, urgent_only: bool = False, unread_only: bool = False, thread: str = "") -> tuple[int, int]:
        """Count the messages that `inbox` could list, and how many of them are urgent and unread."""
        wanted = {"urgent_only": urgent_only, "unread_only": unread_only, "thread": thread}
        with self._guard:
            return self.mail.count_inbox(wanted)

    def mail_notice(self) -> str:
        """Return one line for an agent with unread mail; empty if there is none."""
        many, urgent = self.count_inbox(unread_only=True) if self.caller.agent else (0, 0)
        if not many:
            return ""
        some = f" ({urgent} urgent)" if urgent else ""
        wait = "message waits" if many == 1 else "messages wait"
        return f"{many} {wait} for you{some}, from other agents of this project. To see them: swarmlore mail inbox"

    def proposals_notice(self) -> str:
        """Return one line if reflection proposals wait for a person; empty if none do."""
        with self._guard:
            many = self.store.waiting_proposals(self.caller)
        if not many:
            return ""
        wait = "learning waits" if many == 1 else "learnings wait"
        return f"{many} {wait} for a decision of your user, who sees them with: swarmlore reflect --review"

    def sent(self, limit: int = 20, ref: str = "") -> tuple[Sent, ...]:
        """Return what this agent wrote and who read and acknowledged it, newest first; with `ref`, one and its body."""
        with self._guard:
            return tuple(self.mail.sent(limit, ref))

    def read(self, ref: str) -> Message:
        """Return one message of this agent's inbox, with its body; it counts as read."""
        with self._guard:
            return self.mail.read(ref)

    def ack(self, ref: str) -> Message:
        """Acknowledge a message: it was taken care of."""
        with self._guard:
            return self.mail.read(ref, ack=True)

    def enqueue(self, kind: str, body: Mapping[str, Any] | None = None, key: str = "", *, again: bool = False) -> Job:
        """Queue a job for the worker. A known key adds nothing; `again` lets that job run once more."""
        with self._guard:
            self._keep_names()
            return self.mail.enqueue(kind, body or {}, key, again=again)

    def once(self, job: Job, work: Callable[[], T], key: str = "", *, last: bool = False) -> T | None:
        """Run `work` for a job in one transaction with the check of its lease; return None if it was done before.
        `last` completes the job in the same transaction."""
        with self._changing():
            return self.mail.once(job, work, key, last=last)

    def queue_full(self) -> bool:
        """Tell whether so many jobs wait that hooks should keep spooling."""
        with self._guard:
            return self.mail.full()

    def delete_mail(self, ref: str) -> Message:
        """Remove a message from this agent's inbox or, if it sent the message, from every inbox."""
        with self._guard:
            return self.mail.delete(ref)

    def jobs(self, limit: int = 20) -> tuple[Job, ...]:
        """Return jobs that wait or run, oldest first, each with its last error."""
        with self._guard:
            return tuple(self.mail.jobs(limit))

    def waiting_jobs(self) -> dict[str, int]:
        """Count the jobs that wait, run or were given up, in the whole store, without owners or contents."""
        with self._guard:
            counts: dict[str, int] = {}
            for state, _, many, _ in self.store.job_counts():
                counts[state] = counts.get(state, 0) + many
            return counts

    def dead_letters(self, limit: int = 20, *, all_projects: bool = False) -> tuple[Job, ...]:
        """Return jobs that used up their attempts, each with its last error; only a person may ask for all projects."""
        with self._guard:
            return tuple(self.mail.dead_letters(limit, all_projects=all_projects))

    def retry(self, ref: str) -> Job:
        """Queue a job that was given up again, with all its attempts."""
        with self._guard:
            return self.mail.retry(ref)

    def discard(self, ref: str) -> Job:
        """Remove a job that was given up, for good."""
        with self._guard:
            return self.mail.discard(ref)

    def connect_later(self, *, read: bool = True) -> None:
        """Queue the extraction of entities by a language model for changed notes, if one is configured and allowed;
        else for notes left over from another day."""
        own = self.settings
        if own.writer.kind == "none" or not (own.notes.ask_writer and own.knowledge.enabled):
            return
        with contextlib.suppress(StoreError):  # the next change queues it again
            left = self.spending.was_left(self.caller.project)
            if left:
                self.spending.leave(self.caller.project, left=True)  # at most once a day, even if it fails
            if left or read:
                self.mail.ask_for("connect", CONNECT_KEY)

    # Tokens

    def create_token(
        self, agent: str, *, role: str = "worker", folder: str = "", days: float = 0.0
    ) -> tuple[Token, str]:
        """Create a token for an agent of this project to use a server; return it with its secret, which is stored
        nowhere. For a lead or a person. `folder` is where the project lies on the server's machine, `days` how long the
        token is valid."""
        with self._guard:
            self._keep_names()
            return self._access.create(agent, role, folder, days)

    def tokens(self, *, all_projects: bool = False) -> tuple[Token, ...]:
        """Return the tokens of this project, newest first, also expired ones; only a person may ask for all
        projects."""
        with self._guard:
            return tuple(self._access.tokens(all_projects=all_projects))

    def revoke_token(self, ref: str) -> Token:
        """Revoke a token, effective at once."""
        with self._guard:
            return self._access.revoke(ref)

    def index_later(self) -> None:
        """Queue a build of the vector index file if there are many vectors and the file is missing or far behind."""
        with contextlib.suppress(StoreError), self._guard:  # the next embedding run queues it again
            if self.embedding.is_index_due():
                self.mail.ask_for("index", INDEX_KEY)

    def embed_later(self) -> None:
        """Queue the embedding of pending texts, unless this process has the model and will embed them itself."""
        embeds_here = "embedding" in self.__dict__ and self.embedding.makes_the_rest
        if embeds_here or self.settings.embedder.kind == "none":
            return
        with contextlib.suppress(StoreError):  # the text is stored as pending; the next write queues the job again
            self.mail.ask_for("embed", EMBED_KEY)


class LifecycleMethods(Parts):
    """Methods for the lifecycle of memories: phases, promotion, editing, quarantine, retraction."""

    def confirm(self, ref: str, session: str = "") -> Remembered:
        """Count an independent confirmation of a memory; a session that was shown the memory does not count."""
        with self._changing():
            return self._life.confirm(self._resolve(ref), session)

    def phase(self) -> Phase:
        """Return the current phase of the project: announced, from its plan, or the day."""
        with self._guard:
            return self._phases.current(self.now())

    def phases(self, limit: int = 20) -> tuple[Phase, ...]:
        """Return the phases of the project so far, newest first."""
        with self._guard:
            return tuple(self._phases.newest(limit))

    def start_phase(self, name: str) -> Begun:
        """Begin a phase; this completes the previous one."""
        with self._changing():
            return self._life.start_phase(name)

    def complete_phase(self) -> Swept:
        """End the current phase: memories change status, leave, and go to the hive as the rules say."""
        with self._changing():
            return self._life.complete_phase()

    def sweep(self, *, dry_run: bool = False, force: bool = False) -> Swept:
        """Promote and remove memories according to their phases; a dry run changes nothing."""
        if dry_run:
            with self._looking():
                return self._life.sweep(dry_run=True)
        with self._changing():
            return self._life.sweep(force=force)

    def promote(self, text: str, *, from_swarm: bool = False, to: str = "hive", **facts: Any) -> Remembered:
        """Write a lesson into the hive; with `from_swarm` or `to="swarm"`, promote the memory that `text` names."""
        choose("tier", [to], ("hive", "swarm"))
        with self._changing():
            if to == "swarm":
                return self._promoting.share(self._resolve(text))
            if from_swarm:
                return self._promoting.promote_from_swarm(self._resolve(text))
            promoted = self._promoting.promote(make(Draft, {**facts, "text": text}, "promote"))
            self._life.trim()
            return promoted

    def inject(self, agent: str, text: str, category: str, *, tags: Sequence[str] = ()) -> Remembered:
        """Teach an agent, and with it the whole swarm, a lesson; for a lead or a person."""
        from swarmlore.domain.extraction.lesson_text import ONLY_LEADS, check_category, lead_lesson, lead_lesson_draft

        check_category(category)
        if not self.caller.leads:
            raise NotAllowed(ONLY_LEADS, "ask the lead of the swarm, or use remember: the swarm sees that too")
        draft: Draft = make(Draft, lead_lesson_draft(text, category, tags), "inject")
        with self._changing():
            self._follow_phases()
            owner = self.mail.address(agent)
            remembered = self.writing.remember(draft, form=lambda memory: lead_lesson(memory, owner))
            self._let_live(remembered, "")
            self._keep_names()
            return remembered

    def edit(self, ref: str, text: str, *, version: int | None = None, reason: str = "") -> Memory:
        """Replace the text of a memory; refused if its version differs from the one the caller saw."""
        with self._changing():
            memory = self._resolve(ref)
            if not may_change(self.caller, memory):
                who = memory.owner or "somebody else"
                raise NotAllowed(f"memory {memory.handle} was shared by {who}", "only its author or a lead can edit it")
            self._check_editable(memory, version)
            return self.writing.rewrite(memory, text, reason)

    @staticmethod
    def _check_editable(memory: Memory, version: int | None) -> None:
        """Raise if the memory has another version, is out of use, or follows a file."""
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
        """Archive a memory, with the reason; `restore` brings it back."""
        with self._changing():
            return self._aside.archive(self._resolve(ref), reason)

    def promotions(self) -> tuple[Promotion, ...]:
        """Return lessons that qualify for the hive and are not there yet, each with what it waits for."""
        with self._looking():
            return tuple(self._promoting.candidates(self.now()))

    def quarantine(self, ref: str, reason: str = "") -> Memory:
        """Hide a memory from all agents, with the reason."""
        with self._changing():
            return self._aside.quarantine(self._resolve(ref), reason)

    def restore(self, ref: str) -> Memory:
        """Bring back a memory from quarantine or the archive, if its text passes the gate."""
        with self._changing():
            return self._aside.restore(self._resolve(ref))

    def retract(self, text: str) -> tuple[Memory, ...]:
        """Quarantine every lesson with exactly this text, in the project and in the hive."""
        with self._changing():
            return self._retract(text)

    def _retract(self, text: str, *, again: bool = True) -> tuple[Memory, ...]:
        """Quarantine lessons with this text and record the retraction in the agreed files."""
        retracted = self._aside.retract(text, again=again)
        if retracted.memories and self._shares:
            with suppress(SwarmloreError):  # the memories are hidden; `doctor` reports an unwritable folder
                self.exchange.tell_retraction(retracted.record, self.new_id())
        return retracted.memories

    def _look_back(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Store the lessons in the project's plan and retract the rules that it calls bad; return the ids of both. The
        plan comes with the repository, so a person must have agreed to its files."""
        if not self._shares or not self.exchange.own_folder():
            return (), ()
        from swarmlore.exchange import compat

        parts = (self.store, self.caller, self.settings, self.writing, self.new_id)
        learned, bad = compat("opencode_swarm").Migrating(self.project.root, *parts).plan(self._operation("curate"))
        gone = [memory.id for text in bad for memory in self._retract(text, again=False)]
        return learned, tuple(gone)

    def _follow_phases(self) -> Phase | None:
        """Follow the plan and the calendar before a memory is stored; a failure does not fail the write. Return the
        current phase, if it did not change."""
        try:
            phase = self._phases.going_on(self.now())
            if phase is None and not self.store.engine.readonly and self._phases.is_due(self.now()):
                self._life.follow()
        except StoreError:
            return None  # the next write tries again
        return phase

    def _let_live(self, remembered: Remembered, session: str) -> None:
        """Count an encounter of hive lessons with the new text, and trim the oldest memories to the limit."""
        try:
            if remembered.memory.live and self.store.visible(self.caller, ("hive",)):
                shown = frozenset(self.store.showings(self.caller, session))
                self._promoting.meet(remembered.memory, remembered.operation, shown)
            if self.settings.recall.profile == "knowledge" and remembered.outcome in ("added", "linked"):
                self._life.trim()
        except (Conflict, StoreError):
            return  # the text is stored; another writer changed the lessons that it meets

    def _resolve(self, ref: str) -> Memory:
        """Return the memory for a handle, an id or the beginning of one."""
        if not isinstance(ref, str) or not ref.strip() or len(ref) > 128:
            raise InvalidInput("that is not an id", "give a handle, an id or the beginning of one")
        return self.store.resolve(self.caller, ref.strip())


SESSIONS = 500  # newest sessions whose folders are searched


class NoteMethods(Parts):
    """Methods for priming, research, reflection, notes, instincts and the graph."""

    if TYPE_CHECKING:

        def remember(self, text: str, **facts: Any) -> Remembered:
            """See `Lore.remember`."""

        def recall(self, query: str, limit: int | None = None, profile: str | None = None, **how: Any) -> Hits:
            """See `Lore.recall`."""

        def embed_later(self) -> None:
            """See `QueueMethods.embed_later`."""

        def connect_later(self, *, read: bool = True) -> None:
            """See `QueueMethods.connect_later`."""

    def whoami(self) -> Caller:
        """Return the caller: agent, role and project."""
        return self.caller

    def lesson_lines(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the lesson lines of the memories that the caller may see, by id; not counted as an access."""
        from swarmlore.domain.extraction.lesson_text import lesson_line

        with self._guard:
            memories = (self.store.get(self.caller, id) for id in dict.fromkeys(ids))
            return {memory.id: lesson_line(memory) for memory in memories if memory}

    def count_proposals(self, session: str, *, erase: bool = False) -> int:
        """Count the proposals that go with a session that is forgotten: the open ones, or all if it is erased."""
        return self.reflections.count_of(session, erase=erase)

    def prime(self, topic: str = "") -> Primed:
        """Return what to know before beginning: code base, README and stack; notes and critical patterns for them;
        memories that fit the topic or rank high, and recent lessons."""
        from swarmlore.retrieval.prime import RELEVANT, prime, survey_project

        if not isinstance(topic, str):
            raise InvalidInput("a topic is a text", "say what the work is about, or nothing")
        query = self._query(topic.strip(), RELEVANT, "default", None, {})
        place = survey_project(self.project.root)  # outside the store guard: other threads may use the store meanwhile
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
        """Research a question in memories, notes, code, docs, history and, if asked, the web; return one report with a
        source for every statement, saved to `research/`. A report without an answer is saved only with `save`;
        `save=False` never saves."""
        from swarmlore.research.report import page
        from swarmlore.research.report import save as save_page
        from swarmlore.research.run import Research

        run = Research(self.project.root, self._means(web), limit, progress)
        report = run.run(question, self.project.name, self.now())  # the name: the id may be a path of this machine
        if save is False or (save is None and not report.answer):
            return report
        return replace(report, file=save_page(self.project.root, report.question, report.made_at, page(report)))

    def _means(self, web: bool) -> Means:
        """Return the sources that a research run may use."""
        from swarmlore.research.run import Means
        from swarmlore.research.sources import Web

        own = self.settings.research
        searching = Web(own.web_command, own.web_timeout_s) if web else None
        ask = lambda text, mode, limit: self.recall(text, limit, "default", mode=mode)  # noqa: E731 - a one-line adapter
        return Means(ask, self._rules, self._closeness, self.capped_writer, searching)

    def _rules(self) -> list[tuple[str, str]]:
        """Return the project's instincts with their file; empty if the file cannot be read."""
        try:
            shelf = self.instincts.show()
        except SwarmloreError:
            return []
        return [(held.instinct.rule, shelf.path) for held in shelf.held]

    def _closeness(self, question: str, texts: Sequence[str]) -> list[float] | None:
        """Return the similarity of texts to a question by embedding; None without an embedder."""
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
        """Reflect on a text, a file, a session or items prepared by a model, and propose lessons; by default on the
        newest session without a reflection."""
        return self.reflections.reflect(text, session=session, path=path, items=items, agent=agent)

    @property
    def reflections(self) -> Reflections:
        """Reflection proposals: list open ones, answer them, read their state."""
        from swarmlore.notes.reflect.reflections import Reflections

        return Reflections(self, self._env, self._operation)  # type: ignore[arg-type]  # `Lore` is the only one

    @property
    def graph(self) -> GraphView:
        """The graph of entities that memories mention: communities, neighbours of a name, a picture."""
        from swarmlore.retrieval.graph import GraphView

        return GraphView(self.store, self.caller, self.now, self._looking, self.home, self._versions.holds)

    @property
    def instincts(self) -> Instincts:
        """The rules of one sentence in this project's `.agents/instincts.yaml`."""
        return self._instincts_of(self.project.root)

    def _instincts_of(self, root: str) -> Instincts:
        from swarmlore.notes.instincts import Instincts

        return Instincts(root, self.caller, self.settings.instincts, self.now, self._keep_note)

    def _keep_note(self, note: NoteProposal) -> KeptNote:
        """Write the note of an instinct to the user's notes for all projects; an existing one is not written again."""
        from swarmlore.notes.instincts import KeptNote

        facts = {"title": note.title, "category": note.category, "tags": list(note.tags), "confidence": note.confidence}
        facts |= {"key_insight": note.instinct.rule, "type": "learning", "scope": "universal"}
        facts |= {"learning_type": "pattern", "source": note.instinct.id}
        kept = self.notes.write(note.text, everywhere=True, once=True, **facts)
        return KeptNote("known" if kept.replaced else "added", kept.path, kept.id, kept.memory)

    @property
    def context(self) -> ContextTier:
        """The always-loaded context of an agent: `.agents/MEMORY.md` and the clients' own memory files."""
        from swarmlore.notes.project_memory.transfer import ContextTier

        return ContextTier(
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

    def _bringing(self) -> FileImporter:
        from swarmlore.notes.locations import learnings_root
        from swarmlore.notes.project_memory.memory_file import ProjectMemory
        from swarmlore.notes.project_memory.transfer import FileImporter

        context = self.context
        return FileImporter(
            self.caller,
            self.settings,
            ProjectMemory(self.project.root, self.caller, self.now),
            self.instincts,
            learnings_root(self._env, self._env.get("HOME") or os.path.expanduser("~")),
            lambda folder, progress: context.ingest(progress=progress, only=folder),
        )

    def _giving(self) -> FileExporter:
        from swarmlore.notes.project_memory.memory_file import ProjectMemory
        from swarmlore.notes.project_memory.transfer import FileExporter

        memory = ProjectMemory(self.project.root, self.caller, self.now)
        return FileExporter(memory, self.instincts, self.context.copies)

    def _export_folder(self, folder: str, format: str, *, overwrite: bool) -> int:
        from swarmlore.notes.exchange import export_notes, lesson_paper

        with self._looking():
            if format == "auto-memory":
                papers = list(self._giving().papers())  # before the folder is created
                return export_notes(papers, folder, overwrite=overwrite)
            found = self.store.in_order(self.store.visible(self.caller, ("swarm",)))
            lessons = (lesson_paper(memory) for memory in found if memory.live and not memory.raw)
            return export_notes((*self._own_notes(), *lessons), folder, overwrite=overwrite)

    def _own_notes(self) -> Iterator[NoteFile]:
        """Yield all notes as files for an export."""
        from swarmlore.notes.exchange import outgoing

        for note in self.notes.all():
            if paper := outgoing(note.path, note.category):
                yield paper

    def _folders_of_sessions(self) -> tuple[str, ...]:
        """Return the folders in which sessions of this project ran, newest first."""
        with self._guard:
            found = self.store.sessions(self.caller, SESSIONS)
        return tuple(dict.fromkeys(session.cwd for session in found if session.cwd))

    def _index_notes(self) -> None:
        """Index new and changed notes, so that recall finds them."""
        self.notes.refresh()

    @property
    def notes(self) -> Notes:
        """The notes in `docs/solutions` of this project and in the user's folder for all projects."""
        from swarmlore.notes.notes import Notes
        from swarmlore.notes.sync import NoteIndex

        parts = (self.store, self.caller, self.settings, self.writing, self._operation)
        index = NoteIndex(self.home, *parts, self.project.root, self._env)
        return Notes(
            index, lambda: self._guard, self._changing, self.recall, self._follow_up, self.now, self.home, self._env
        )

    def _follow_up(self, *, new: bool, read: bool) -> None:
        """Queue embeddings for new texts and entity extraction for changed notes."""
        if new:
            self.embed_later()
        self.connect_later(read=read)

    def _follow_notes(self) -> None:
        """Index changed notes before a recall; without note folders nothing is loaded."""
        from swarmlore.notes.locations import SOLUTIONS, learnings_root

        user = self._env.get("HOME") or os.path.expanduser("~")
        folders = (os.path.join(self.project.root, SOLUTIONS), learnings_root(self._env, user))
        if any(os.path.isdir(folder) for folder in (*folders, os.path.join(self.home, "notes"))):
            with self._guard:
                self.notes.follow()

    def _query(
        self, text: str, limit: int | None, profile: str | None, mode: str | None, filters: Mapping[str, Any]
    ) -> Query:
        """Build a checked query from the arguments and the settings."""
        own = self.settings.recall
        options = {"limit": limit, "profile": profile, "mode": mode}
        given = {name: value for name, value in options.items() if value is not None}
        query: Query = make(Query, {**filters, **given, "text": text}, "recall")
        return replace(
            query,
            limit=own.limit if limit is None else limit,
            profile=profile or own.profile,
            mode=mode or own.mode,
            scopes=query.scopes or self.scopes(profile or own.profile),
        )

    def scopes(self, profile: str) -> tuple[str, ...]:
        """Return the scopes to search: the configured ones and, in `default`, the project's stacks."""
        chosen = self.settings.knowledge.scope_filter
        if profile != "default":
            return chosen
        return (*chosen, *(f"stack:{name}" for name in self._stacks()))


AT_ONCE = 100  # lines of one transaction, for which other writers wait


class ImportMethods(Parts):
    """Methods for streamed imports."""

    if TYPE_CHECKING:

        def embed_later(self) -> None:
            """See `QueueMethods.embed_later`."""

    def import_lines(
        self,
        lines: Iterable[bytes],
        format: str = "auto",
        *,
        first: int = 1,
        so_far: Brought | None = None,
        more: bool = False,
    ) -> Brought:
        """Import lines that the caller sends, 100 per transaction. A long stream can come in pieces: `first` is the
        number of the first line, `so_far` the result of the previous piece, and `more` says that others follow."""
        from swarmlore.exchange.import_stream import check_sent

        check_sent(format)
        source, result = iter(lines), so_far
        while piece := list(islice(source, AT_ONCE)):
            with self._guard:
                result = self.exchange.take(piece, format, first, result)
            first += len(piece)
        if more and result is not None:
            return result
        with self._changing():  # publish to the agreed files once, at the end
            result = result or self.exchange.take([], format, first, None)
            self._keep_names()
            self.embed_later()
            return result
