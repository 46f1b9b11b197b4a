"""`Lore`: the Python API; every feature of the product is a method of this class.

    with Lore.open() as lore:
        lore.remember("Snapshot tests are recorded with make snap-record, never by hand")
        for hit in lore.recall("update the reference images"):
            print(hit.score, hit.memory.text)

Imports stand inside the methods, so that a short command loads only the modules it uses.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from swarmlore import config
from swarmlore.domain.records import (
    KINDS,
    LISTED_STATUSES,
    SOURCES,
    STRATEGY_SOURCE,
    TIERS,
    Draft,
    Session,
    choose,
    json_values,
    make,
)
from swarmlore.errors import InvalidInput, NotAllowed, NotFound, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.lore.methods import ImportMethods, LifecycleMethods, NoteMethods, QueueMethods
from swarmlore.lore.opening import make_home
from swarmlore.store.memories import Filter
from swarmlore.workspace.identity import may_change

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.policy.outcomes import Criterion
    from swarmlore.domain.records import (
        AuditRow,
        Block,
        Check,
        Cited,
        Hit,
        Memory,
        Outcome,
        Receipt,
        Rejection,
        Remembered,
        Stale,
    )
    from swarmlore.exchange.exchange import Agreed, Founded
    from swarmlore.exchange.import_files import Brought
    from swarmlore.exchange.ledger import Synced
    from swarmlore.memory.curation import Applied, Curated
    from swarmlore.memory.explain import Why
    from swarmlore.memory.project_names import Identity
    from swarmlore.memory.quarantine import Undone
    from swarmlore.memory.report import Report
    from swarmlore.memory.swarm_files import Migrated
    from swarmlore.memory.write import Imported
    from swarmlore.models.embedding import Progress
    from swarmlore.notes.memory_files import IndexedFile
    from swarmlore.retrieval.patterns import Pattern
    from swarmlore.retrieval.recall import Hits
    from swarmlore.store.backup import Backup
    from swarmlore.store.copy import Copied
    from swarmlore.store.database import Operation


MOST_LISTED = 10_000_000
COUNTER_S = 2.0  # wait for other writers; after that a read goes on without counting the access
MOST_DAYS = 36_500
INDEXED_SOURCES = ("manual", "file_index", "session_summary", "task_completion")


class Lore(NoteMethods, LifecycleMethods, QueueMethods, ImportMethods):
    """The service API over one store, for one caller."""

    # Remember

    def remember(self, text: str, *, defer: bool = False, session: str = "", **facts: Any) -> Remembered:
        """Store one lesson or text through the validation gate. `facts` are the fields of `Draft`; `defer` leaves the
        embedding to the worker."""
        draft = make(Draft, {**facts, "text": text}, "remember")
        with self._changing():
            phase = self._follow_phases()
            session = self.store.look(lambda: self.store.session_of(self.caller, session))
            remembered = self.writing.remember(draft, defer=defer, session=session, phase=phase)
            self._let_live(remembered, session)
            self._keep_names()
            if defer:
                self.embed_later()
            return remembered

    def remember_many(self, drafts: Iterable[Draft], progress: Progress | None = None) -> Imported:
        """Store many drafts through the same gate and embed them later. Return counts and the refused drafts."""
        with self._changing():
            self._follow_phases()
            imported = self.writing.remember_many(drafts, progress)
            self._keep_names()
            self.embed_later()
            return imported

    def rejected(self, limit: int = 20) -> tuple[Rejection, ...]:
        """Return the texts that the gate refused lately, and why."""
        with self._guard:
            return tuple(self.store.rejections(self.caller, limit))

    # Recall

    def recall(
        self,
        query: str,
        limit: int | None = None,
        profile: str | None = None,
        mode: str | None = None,
        **filters: Any,
    ) -> Hits:
        """Return the memories that answer a question, best first, each with its score and explanation."""
        parsed = self._query(query, limit, profile, mode, filters)
        self._follow_notes()
        with self._looking():
            return self.recaller.recall(parsed, self.now())

    def block(self, cue: str, **request: Any) -> Block:
        """Return the context block for a prompt, an error output or a path; empty when nothing fits."""
        with self._looking():
            request.setdefault("scopes", self.scopes(request.get("profile") or self.settings.recall.profile))
            return self.injector.block(cue, request, self.now())

    def quote(self, hits: Sequence[Hit], cue: str = "", *, trigger: str = "recall", session: str = "") -> Block:
        """Return a context block of the memories that an agent asked for, with a receipt."""
        with self._guard:
            facts = {"trigger": trigger, "session": session}
            return self.injector.quote(hits, cue, facts, self.now())

    def before_task(self, task: str, *, session: str = "", headroom: float | None = None) -> Block:
        """Return what the memory knows about a task that is about to begin, as a block "Relevant Past Knowledge"."""
        return self.block(task, trigger="task", session=session, headroom=headroom)

    def get(self, ref: str) -> Memory:
        """Return one memory by id, handle or unique prefix, expired ones too; counts as an access."""
        with self._looking():
            memory = self._resolve(ref)
            now = self.now()
            try:
                with self.store.engine.hurried(COUNTER_S):
                    self.store.touch(memory.id, now)
            except SwarmloreError:
                return memory  # a failed counter must not fail the read: the store may be read-only or busy
            return replace(memory, access_count=memory.access_count + 1, last_accessed_at=now)

    def list(self, **filter: Any) -> tuple[Memory, ...]:
        """List visible memories, newest first; `filter` are the fields of `Filter`. Strategies are listed only if a
        source, a kind or a status is asked for."""
        with self._looking():
            return tuple(self.store.select(self.caller, _checked(make(Filter, filter, "list"))))

    def count(self, **filter: Any) -> int | None:
        """Count the memories that `list` would return without a limit; None if only listing them would tell."""
        from swarmlore.memory.report import count_listed

        with self._looking():
            return count_listed(self.store, self.caller, _checked(make(Filter, filter, "count")))

    # Freshness

    def cited(self, memory: Memory) -> tuple[Cited, ...]:
        """Compare the citations of a memory with the working tree."""
        if not memory.citations:
            return ()
        from swarmlore.workspace.cited_code import UNLIMITED

        with self._guard:
            return self._look(UNLIMITED).cited(memory)

    def stale(self, *, moved: bool = False, progress: Progress | None = None) -> tuple[Stale, ...]:
        """Return memories of this project whose cited code has changed or is gone, with a diff; with `moved`, also
        memories whose code only moved."""
        from swarmlore.domain.language.citations import STALE
        from swarmlore.memory.stale_citations import find_stale
        from swarmlore.workspace.cited_code import UNLIMITED

        with self._guard:
            states = (*STALE, "moved") if moved else STALE
            return tuple(find_stale(self.store.citing(self.caller), self._look(UNLIMITED), states, progress))

    def follow(self) -> tuple[Memory, ...]:
        """Record the new line numbers of cited code that has moved, in one operation."""
        from swarmlore.memory.stale_citations import find_stale, follow
        from swarmlore.workspace.cited_code import UNLIMITED

        with self._changing():
            found = find_stale(self.store.citing(self.caller), self._look(UNLIMITED), ("moved",))
            with self.store.operation(self._operation("follow")) as operation:
                return tuple(follow(self.store, operation, found, self._tree))

    # Learning

    def rate(self, ref: str, helpful: bool) -> Memory:
        """Record that a memory helped or did harm; its score rises slowly and falls quickly."""
        with self._changing():
            return self.learning.rate(self._resolve(ref), helpful)

    def outcome(self, success: bool, **facts: Any) -> Outcome:
        """Record how a task ended and credit the memories shown for it; the worker extracts its lessons later. `facts`
        are the fields of `Report`."""
        with self._changing():
            return self.learning.record({**facts, "success": success}, self._resolve, self._extract_later)

    def outcomes(self, session: str = "", limit: int = 20) -> tuple[Outcome, ...]:
        """Return how tasks ended, newest first."""
        with self._guard:
            return tuple(self.store.outcomes(self.caller, session, limit))

    def patterns(self) -> tuple[Pattern, ...]:
        """Return how approaches to tasks fared in this project: the best first, those to avoid last."""
        with self._looking():
            return self._patterns.all(self.now())

    def criteria(self) -> tuple[Criterion, ...]:
        """Return how reliable each evaluation criterion was, from the outcomes that the caller may see."""
        with self._guard:
            return self.learning.criteria(self.now())

    def curate(self) -> Curated:
        """Review all lessons and recommend, by number, what to do with contradicting, repeated, outdated and unused
        ones."""
        with self._looking(), self._changing():
            learned, retracted = self._look_back() if self.settings.recall.profile == "knowledge" else ((), ())
            return replace(self._curating.curate(self.now()), learned=learned, retracted=retracted)

    def apply(self, numbers: Sequence[int]) -> Applied:
        """Carry out recommendations of `curate` by number, as one operation; refused if anything changed."""
        with self._looking(), self._changing():
            return self._curating.apply(numbers)

    # Forget and undo

    def forget(self, ref: str, *, erase: bool = False) -> Memory:
        """Hide one memory, or erase it for good."""
        with self._changing():
            memory = self._resolve(ref)
            self._check_change(memory)
            repeats = [*self._summaries_with(memory), *self._of_same_note(memory, hidden=erase)]
            if erase:
                self._erase([memory, *repeats])
                return replace(memory, text="", title="")
            with self.store.operation(self._operation("forget")) as operation:
                for repeat in repeats:
                    self.store.forget(operation, repeat)
                return self.store.forget(operation, memory)

    def _summaries_with(self, memory: Memory) -> Sequence[Memory]:
        """Return the summaries of the session that repeat this memory, so that they are forgotten with it."""
        session = memory.source_ref.get("session")
        if not isinstance(session, str) or not session or memory.source == "session_summary":
            return ()
        from swarmlore.domain.language.similarity import normalize

        ids, words = self.store.ids_of_session(self.caller, session), normalize(memory.text)
        found = [item for id in ids if (item := self.store.get(self.caller, id)) is not None]
        summaries = (item for item in found if item.source == "session_summary" and may_change(self.caller, item))
        return [item for item in summaries if words and words in normalize(item.text)]

    def _of_same_note(self, memory: Memory, *, hidden: bool) -> Sequence[Memory]:
        """Return the other memories of the same note, which are forgotten with it; `hidden` includes forgotten ones."""
        if memory.source != "note":
            return ()
        others = (m for m in self.notes.same(memory) if m.id != memory.id and may_change(self.caller, m))
        return [other for other in others if hidden or other.forgotten_at is None]

    def forget_origin(self, *, session: str = "", source: str = "", erase: bool = False) -> tuple[Memory, ...]:
        """Forget everything that came from one session or source, with everything derived from it."""
        if bool(session) == bool(source):
            raise InvalidInput("name one origin", "swarmlore forget --session ID or --source NAME")
        with self._changing():
            memories = [m for m in self._from_origin(session, source, erase) if may_change(self.caller, m)]
            if erase:
                memories += self.reflections.drop_episodes(session) if session else []
                self._erase(memories, session or source)
                return tuple(replace(memory, text="", title="") for memory in memories)
            act = self._operation("forget", session or source)
            return self.store.perform(act, lambda act: self._forget_all(act, memories))

    def _forget_all(self, act: Operation, memories: Sequence[Memory]) -> tuple[Memory, ...]:
        """Forget these memories and drop the pending proposals and jobs of the same origin."""
        if self.store.has_proposals(self.caller, act.reason):
            self.store.tell(act)  # record it even if no memory is affected, so that it can be undone
        self.store.drop_origin(self.caller, act.reason, erase=False)
        return tuple(self.store.forget(act, memory) for memory in memories)

    def backups_holding(self, id: str) -> tuple[str, ...]:
        """Return the backup files that still hold a memory; erasing does not reach them."""
        from swarmlore.store.backup import holding

        with self._guard:
            return tuple(holding(self.home, id))

    def commits_holding(self, id: str) -> tuple[str, ...]:
        """Return the commits whose ledger names a memory; erasing does not reach git's history."""
        from swarmlore.workspace.git import commits_naming

        with self._guard:
            ledger = os.path.join(".swarm", "knowledge.jsonl")
            if not os.path.exists(os.path.join(self.project.root, ledger)):
                return ()
            return tuple(commits_naming(self.project.root, f'"{id}"', ledger))

    def why(self, ref: str) -> Why:
        """Explain where a memory comes from, what it did, why it ranks as it does, and what would remove it."""
        from swarmlore.memory.explain import explain

        with self._looking():
            memory = self._resolve(ref)
            return explain(self.store, self.caller, self.settings, memory, self.cited(memory), self.now())

    def history(self, ref: str) -> tuple[AuditRow, ...]:
        """Return every change of one memory, oldest first."""
        with self._guard:
            return tuple(self.store.history(self.caller, self._resolve(ref).id))

    def undo(self, operation: str = "") -> Undone:
        """Undo the caller's last operation, or a named one, completely. The answer's id can undo the undo."""
        from swarmlore.memory.quarantine import Undone, last_undoable

        with self._changing():
            target = operation or last_undoable(self.store, self.caller)
            act = replace(self._operation("undo"), undoes=target)
            return self.store.perform(act, lambda act: Undone(self._take_back(act, target), act.id))

    def _take_back(self, act: Operation, target: str) -> Sequence[Memory]:
        self.learning.recount(target)
        derived = self._from_origin("", target, False)  # lessons that were extracted from an outcome
        reverted = [*self.store.undo(act, target)]
        self.store.drop_origin(self.caller, target, erase=False)
        self.store.offer_again_after(self.caller, target)
        reverted += [self.store.forget(act, memory) for memory in derived if may_change(self.caller, memory)]
        self.store.accept_again(self.caller, [memory.id for memory in reverted if memory.live])
        return reverted

    # Files

    def init(self, *, dry_run: bool = False) -> Founded:
        """Share this project's lessons through files in its repository: create the folder, agree, exchange."""
        with self._guard:
            return self.exchange.init(dry_run=dry_run)

    def trust(self, *, on: bool = True, hive: bool = False) -> Agreed:
        """Agree to exchange memories with the files of this project or of the hive, or withdraw that agreement."""
        with self._guard:
            return self.exchange.trust(on=on, hive=hive)

    def sync(self) -> dict[str, Synced]:
        """Synchronise the agreed files and the store completely; return what was done, by file."""
        with self._guard:
            return self.exchange.sync()

    def import_file(self, path: str, format: str = "auto", progress: Progress | None = None) -> Brought:
        """Import a file of lessons and resume an interrupted import of it; also notes, instincts, a memory file or the
        files in which a client remembers."""
        from swarmlore.notes.project_memory.transfer import kind_of

        with self._changing():
            if kind := kind_of(path, format):
                brought = self._bringing().bring(path, kind, progress)
                self._index_notes()
                return brought
            brought = self.exchange.bring(path, format, progress)
            self._keep_names()
            return brought

    def export_lines(self, format: str = "knowledge", *, private: bool = False) -> Iterator[bytes]:
        """Yield the shared memories of the project, or of the hive, as lines of text in a stable order; or the
        project's instincts or memory file as they are."""
        from swarmlore.notes.project_memory.transfer import TEXTS, refuse_lines

        refuse_lines(format)
        _check_private(format, private)
        if format in TEXTS:
            with self._guard:
                yield from self._giving().text(format).encode("utf-8").splitlines(keepends=True)
            return
        yield from self.exchange.export(format, self._guard, private=private).lines()

    def export_file(
        self, path: str, format: str = "knowledge", *, overwrite: bool = False, private: bool = False
    ) -> int:
        """Write an export to a file, completely or not at all, and return the number of memories. An existing file
        stays unless `overwrite`. The format `notes` writes memories and notes as files of a folder; `auto-memory`
        writes what was taken over from clients. `private` adds the caller's own private memories, for formats that mark
        them as private."""
        from swarmlore.notes.project_memory.transfer import FOLDERS, TEXTS

        _check_private(format, private)
        if format in FOLDERS:
            return self._export_folder(path, format, overwrite=overwrite)
        if format in TEXTS:
            from swarmlore.exchange.import_files import write_lines

            write_lines(path, lambda: self.export_lines(format), overwrite=overwrite)
            return self._giving().count(format)
        return self.exchange.export(format, self._guard, private=private).write(path, overwrite=overwrite)

    def migrate(self) -> Migrated:
        """Take over `.swarm/context.md` of this project and the old hive file of opencode-swarm, each once."""
        from swarmlore.exchange import compat
        from swarmlore.memory.swarm_files import Migrated

        swarm = compat("opencode_swarm")
        with self._changing():
            parts = (self.store, self.caller, self.settings, self.writing, self.new_id)
            moving = swarm.Migrating(self.project.root, *parts)
            context = moving.context(self._operation("migrate"))
            bring = lambda path: self.exchange.bring(path, "legacy-hive", None)  # noqa: E731 - read once, here
            hive = moving.hive(swarm.data_dir(self._env), bring, self.now())
            self._keep_names()
            self._life.trim()
            return Migrated(context, hive)

    def index_file(self, path: str) -> IndexedFile:
        """Import a notes file from a watched folder, or its changes; if the file is gone, forget its memories."""
        if not isinstance(path, str):
            raise InvalidInput("a path is a text", "name the file of notes")
        with self._changing():
            indexed = self.indexing.index(os.path.abspath(path))
            if indexed.operation:
                self._keep_names()
            return indexed

    def index_text(
        self,
        text: str,
        *,
        title: str = "",
        tier: str = "agent",
        source: str = "manual",
        path: str = "",
        task: str = "",
        tags: Sequence[str] = (),
    ) -> tuple[Memory, ...]:
        """Store a text from elsewhere, split into pieces if it is long. A text from a file (`file_index` and its
        `path`) replaces the earlier memories of that file."""
        from swarmlore.notes.memory_files import pieces_of

        choose("source", [source], INDEXED_SOURCES)
        choose("tier", [tier], ("agent", "swarm"))
        with self._changing():
            if source == "file_index" and path:
                return tuple(self.indexing.take(path, text, tier=tier, title=title, tags=tags))
            parts = pieces_of(text)
            ref = {name: value for name, value in (("task", task), ("path", path)) if value}
            facts: dict[str, Any] = {"title": title, "tier": tier, "source": source, "tags": tuple(tags)}
            many = {"chunks": len(parts)} if len(parts) > 1 else {}
            numbered = [{**ref, **many, **({"chunk": number} if many else {})} for number in range(len(parts))]
            with self.store.engine.writing():  # all pieces or none
                return tuple(
                    self.remember(part, defer=True, source_ref=place, **facts).memory
                    for part, place in zip(parts, numbered, strict=True)
                )

    def index_changed(self) -> tuple[IndexedFile, ...]:
        """Index all changed notes files, both known ones and those in a client's own folder."""
        with self._changing():
            found = self.indexing.changed()
            if any(indexed.operation for indexed in found):
                self._keep_names()
            self._follow_notes()
            return found

    # Sessions and receipts

    def start_session(self, id: str, *, client: str = "", cwd: str = "", **extra: Any) -> Session:
        """Record that a session began; a repeated id keeps its first start time."""
        from swarmlore.domain.policy.gate import scrub_value

        given = {"id": id, "client": client, "cwd": cwd, "extra": json_values(extra)}
        session: Session = make(Session, {name: scrub_value(value) for name, value in given.items()}, "start_session")
        with self._guard:
            known = self.store.session(self.caller, session.id)
            began = known.started_at if known else self.now()
            session = replace(session, project=self.caller.project, agent=self.caller.agent, started_at=began)
            self.store.put_session(self.caller, session)
            return session

    def end_session(self, id: str) -> Session:
        """Record that a session ended."""
        with self._guard:
            known = self.store.session(self.caller, id)
            if known is None:
                raise NotFound(f"no session {id!r}", "start it first")
            ended = replace(known, ended_at=self.now())
            self.store.put_session(self.caller, ended)
            return ended

    def sessions(self, limit: int = 20) -> tuple[Session, ...]:
        """Return the caller's sessions, newest first; for a lead or a person also the figures of others in the
        project."""
        with self._guard:
            found = self.store.sessions(self.caller, limit)
        return tuple(session if session.agent == self.caller.agent else _figures_of(session) for session in found)

    def clients(self) -> dict[str, tuple[int, float]]:
        """Count the sessions of each client over all projects, and return when the newest began."""
        with self._guard:
            return self.store.clients(self.caller)

    def receipts(self, session: str = "", limit: int = 20) -> tuple[Receipt, ...]:
        """Return what was injected or not, and why, newest first."""
        with self._guard:
            return tuple(self.store.receipts(self.caller, session, limit))

    def report(self, days: float = 0.0, *, all_projects: bool = False) -> Report:
        """Report what the memory did, per memory, by project and over time, and whether a team's limits for junk are
        kept.

        `days` limits how far it looks back; only a person may ask for all projects.
        """
        from swarmlore.memory.report import Reports

        if not isinstance(days, (int, float)) or not 0 <= days <= MOST_DAYS:  # NaN fails here too
            raise InvalidInput(f"{days!r} is no number of days", f"from 0 (all of the time) to {MOST_DAYS}")
        if all_projects and self.caller.role != "person":
            raise NotAllowed("only a person can see all projects", "leave out all_projects")
        with self._looking():
            reporting = Reports(self.store, self.caller, self.settings, self._look)
            return reporting.report(days, self.now(), all_projects=all_projects)

    # The project

    def identity(self) -> Identity:
        """Return how the project of this folder is known: its id, its current and former names, how it was found."""
        with self._guard:
            return self._place().identity(self.caller)

    def join(self, name: str) -> Identity:
        """Declare that this project was formerly known by a folder, an address or an id; for a person or a lead."""
        with self._guard:
            self._move(self._place().join(name, self._operation("join")))
            return self._place().identity(self.caller)

    def part(self, name: str) -> Identity:
        """Remove a name that `join` declared."""
        with self._guard:
            self._move(self._place().part(name, self._operation("part")))
            return self._place().identity(self.caller)

    # Care

    def stats(self) -> dict[str, Any]:
        """Count what the caller may see, and what waits in queues."""
        from swarmlore.memory.report import count

        with self._guard:
            return count(self.store, self.caller) | {"notes": self.notes.counts()} | self._spent()

    def doctor(self) -> tuple[Check, ...]:
        """Check the store, its indexes, the embedder, settings, permissions, and whether hooks close the loop."""
        from swarmlore.memory.doctor import HookChecks
        from swarmlore.memory.doctor import checks as queue_checks

        with self._guard:
            loop = HookChecks(self.home, self.store, self.caller)
            life = self._life.checks()
            queue = queue_checks(self.store, self.mail, self.settings.worker.queue_limit)
            files = (*self.exchange.checks(), *self.notes.checks())
            return (*self._doctor.checks(), *files, *life, *loop.checks(self.now()), *queue)

    def reindex(self, progress: Progress | None = None, indexing: Progress | None = None) -> dict[str, int]:
        """Rebuild every derived index from the rows, and those of notes from their files; embed all texts without a
        vector of the current embedder. Other threads and processes may go on meanwhile."""
        from swarmlore.memory.doctor import Reindex

        notes = sum(synced.read for synced in self.notes.reindex())
        with self._guard:
            parts = (self.store, self.caller, self.embedding, self.writing)
        counts = Reindex(*parts, lambda: self._guard).run(progress, indexing)
        with self._changing():  # publish the results to the agreed files as well
            return {"notes": notes, **counts}

    def catch_up(self, most: int = 64) -> int:
        """Embed some of the pending texts without blocking readers, then deduplicate them by embedding. Return how many
        got a vector; 0 also after a failure, so that the caller does not retry at once."""
        done = 0
        for batch, vectors in self.embedding.made(most, lambda: self._guard):
            with self._guard:
                done += self.embedding.keep(batch, vectors)
                self.writing.settle()
            if vectors is None:
                return 0
        with self._guard:
            self.writing.settle()  # even if no text waits
        return done

    def migrate_store(self, target: str, progress: Progress | None = None) -> Copied:
        """Copy everything that the caller may see into another store (postgresql://… or a folder), and compare both."""
        from swarmlore.store.copy import move

        with self._guard:
            return move(self.store, self.caller, target, self.now(), progress)

    def backup(self, path: str = "") -> Backup:
        """Write a checked copy of the store while it is in use."""
        from swarmlore.store.backup import back_up

        with self._guard:
            return back_up(self.store, self.home, path)

    @staticmethod
    def restore_backup(path: str, home: str | None = None) -> tuple[Backup, str]:
        """Replace a home's store by a backup; return the backup and where the former store was kept."""
        from swarmlore.store.backup import inspect, restore

        folder = home or config.home_dir(os.environ)
        if config.uses_server(folder, os.environ):
            hint = "go back to the file first: swarmlore config store ''"
            raise InvalidInput("a server's store is in use here", hint)
        found = inspect(path)  # before the home is created: a wrong name changes nothing
        make_home(folder)
        return found, restore(folder, found, round(time.time(), 3))

    def _spent(self) -> dict[str, Any]:
        """Return the calls and tokens of the language model used today, and their limits."""
        own, spent = self.settings.writer, self.spending.today()
        if own.kind == "none" and not spent.calls:
            return {}
        calls = {"used": spent.calls, "limit": own.calls_per_day}
        return {"writer_calls_today": calls, "writer_tokens_today": {"used": spent.tokens, "limit": own.tokens_per_day}}

    def _extract_later(self, outcome: Outcome, kept: Mapping[str, Any]) -> None:
        """Queue the extraction of lessons from an outcome, in the same transaction as the outcome."""
        if not self.settings.knowledge.enabled:
            return
        names = ("success", "task", "summary", "evaluation", "errors", "retries", "duration_ms", "strategy")
        facts = {name: getattr(outcome, name) for name in (*names, "failure_mode", "agent")} | {**kept}
        facts |= {"files": list(outcome.files), "criteria": list(outcome.criteria)}
        body = {"outcome": facts, "recorded": outcome.id, "session": outcome.session}
        if outcome.summary or outcome.evaluation or kept["failure_details"]:
            self.mail.enqueue("extract", body, f"outcome:{outcome.id}")

    def _check_change(self, memory: Memory) -> None:
        """Raise NotAllowed if the caller may not remove this memory."""
        if not may_change(self.caller, memory):
            raise NotAllowed(
                f"memory {memory.handle} was shared by {memory.owner or 'somebody else'}",
                "only its author, a lead or a person can remove it",
            )

    def _from_origin(self, session: str, source: str, hidden: bool) -> Sequence[Memory]:
        """Return the memories of an origin and everything derived from them; `hidden` includes forgotten ones."""
        store, who = self.store, self.caller
        listed = (
            store.ids_of_session(who, session, hidden=hidden)
            if session
            else store.ids_of_source(who, source, hidden=hidden)
        )
        ids = dict.fromkeys(listed)
        fresh = list(ids)
        while fresh := [id for id in store.ids_derived_from(who, fresh, hidden=hidden) if id not in ids]:
            ids |= dict.fromkeys(fresh)
        return [memory for id in ids if (memory := store.get(who, id)) is not None]

    def _erase(self, memories: Sequence[Memory], origin: str = "") -> None:
        """Erase memories and the rows that they superseded: former wordings hold the same text."""
        from swarmlore.memory.curation import drop as drop_recommendations
        from swarmlore.retrieval.graph import drop as drop_reports
        from swarmlore.store.vectors import remove as remove_vectors

        with self.store.operation(self._operation("erase")) as operation:
            self.store.owe_scrub(operation)
            if origin:
                self.store.drop_origin(self.caller, origin, erase=True)
            for memory in memories:
                for former in self.store.superseded_by(self.caller, memory.id):
                    self.store.erase(operation, former)
                    self.store.erase_words(self.caller, former.text)
                if self.store.get(self.caller, memory.id) is not None:  # not erased yet together with another memory
                    self._patterns.erase(operation, memory)
                    self.store.erase(operation, memory)
                self.store.erase_words(self.caller, memory.text)
            self.store.forget_lonely_names()
        self.store.afterwards("scrub", self.store.scrub)  # a file cannot be rewritten inside a group commit
        remove_vectors(self.home)
        drop_recommendations(self.home)
        drop_reports(self.home)
        if self._shares:
            self.exchange.erase_retractions(memories)


def _figures_of(session: Session) -> Session:
    """Return a session with only the numbers of its `extra` field, without any text."""
    figures = {name: value for name, value in session.extra.items() if isinstance(value, (int, float))}
    return replace(session, extra=figures)


def _check_private(format: str, private: bool) -> None:
    """Raise if this format cannot mark private memories as private."""
    if private:
        from swarmlore.exchange.export import check_private

        check_private(format)


def _checked(wanted: Filter) -> Filter:
    """Return the filter with its values checked; strategies are left out unless something specific is asked for."""
    if not 1 <= wanted.limit <= MOST_LISTED or wanted.offset < 0:
        raise InvalidInput(f"limit {wanted.limit}, offset {wanted.offset}", f"a limit from 1 to {MOST_LISTED}")
    choose("tier", wanted.every_tier, TIERS)
    choose("source", wanted.every_source, SOURCES)
    choose("kind", {wanted.kind} - {""}, KINDS)
    choose("status", {wanted.status} - {""}, LISTED_STATUSES)
    choose("without", {wanted.without} - {""}, SOURCES)
    asked = wanted.every_source or wanted.kind or wanted.status or wanted.without
    return wanted if asked else replace(wanted, without=STRATEGY_SOURCE)
