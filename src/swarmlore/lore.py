"""Lore: everything the product does is a method of it.

    with Lore.open() as lore:
        lore.remember("Snapshot tests are recorded with make snap-record, never by hand")
        for hit in lore.recall("update the reference images"):
            print(hit.score, hit.memory.text)

A small command needs few of its parts, so each part is imported where it is first used.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from swarmlore import config
from swarmlore.errors import InvalidInput, NotAllowed, NotFound, StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.identity import find_caller, may_change
from swarmlore.project import find_project, stacks
from swarmlore.records import Draft, Query, Session
from swarmlore.store.base import Operation
from swarmlore.store.memories import Filter
from swarmlore.store.store import Store
from swarmlore.text.ids import uuid7
from swarmlore.typed import json_values, make

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.backups import Backup
    from swarmlore.config import Settings
    from swarmlore.doctor import Check, Doctor
    from swarmlore.embedding import Embedding, Progress
    from swarmlore.inject import Injector
    from swarmlore.project import Project
    from swarmlore.recall import Hits, Recaller
    from swarmlore.records import AuditRow, Block, Caller, Memory, Receipt, Rejection, Remembered
    from swarmlore.writing import Imported, Writing

MOST_LISTED = 10_000_000
CATCH_UP_AT_CLOSE = 64  # texts that a process with a loaded model embeds before it leaves


class Lore:
    """The service API over one store, for one caller."""

    def __init__(
        self,
        home: str,
        store: Store,
        caller: Caller,
        settings: Settings,
        project: Project,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.home = home
        self.caller = caller
        self.settings = settings
        self.project = project
        self.store = store
        store.hive = settings.knowledge.hive_enabled
        self._clock = clock
        self._guard = threading.RLock()
        self._closed = False

    @classmethod
    def open(
        cls,
        home: str | os.PathLike[str] | None = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
        caller: Caller | None = None,
        flags: Mapping[str, Any] | None = None,
        interactive: bool = False,
        client: str = "python",
        env: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Lore:
        """Open the memory of a home folder for the project that `cwd` lies in."""
        env = os.environ if env is None else env
        folder = os.path.abspath(os.fspath(home)) if home is not None else config.home_dir(env)
        project = find_project(os.fspath(cwd) if cwd is not None else os.getcwd())
        settings = config.load(folder, project.root, env, flags)
        who = caller or find_caller(
            env, env.get("SWARMLORE_PROJECT") or project.id, interactive=interactive, client=client
        )
        make_home(folder)
        return cls(folder, Store.open(folder, round(clock(), 3)), who, settings, project, clock)

    def __enter__(self) -> Lore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish what a loaded model can finish quickly, then let go of the file."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
            try:
                if "embedding" in self.__dict__ and self.embedding.loaded and not self.store.engine.readonly:
                    self.embedding.catch_up(CATCH_UP_AT_CLOSE)
                    self.writing.settle()
            except StoreError:
                pass  # what waits goes on waiting; nobody asked for it now
            finally:
                self.store.close()

    # Remember

    def remember(self, text: str, *, defer: bool = False, session: str = "", **facts: Any) -> Remembered:
        """Store one lesson or text through the gate. `facts` are the fields of `Draft`; `defer` leaves the vector."""
        draft = make(Draft, {**facts, "text": text}, "remember")
        with self._guard:
            return self.writing.remember(draft, defer=defer, session=session)

    def remember_many(self, drafts: Iterable[Draft], progress: Progress | None = None) -> Imported:
        """Store many drafts through the same gate, vectors later; the refused ones are counted and listed."""
        with self._guard:
            return self.writing.remember_many(drafts, progress)

    def rejected(self, limit: int = 20) -> tuple[Rejection, ...]:
        """What the gate refused lately, and why."""
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
        """The memories that answer a question, best first, each with its score and explanation."""
        asked = self._query(query, limit, profile, mode, filters)
        with self._guard:
            return self.recaller.recall(asked, self.now())

    def block(self, cue: str, **request: Any) -> Block:
        """The fenced lines an agent is given for a prompt, an error output or a path; empty when nothing fits."""
        with self._guard:
            request.setdefault("scopes", self.scopes(request.get("profile") or self.settings.recall.profile))
            return self.injector.block(cue, request, self.now())

    def get(self, ref: str) -> Memory:
        """One memory by id, handle or unique prefix, expired ones too; counts as an access."""
        with self._guard:
            memory = self._resolve(ref)
            now = self.now()
            try:
                self.store.touch(memory.id, now)
            except SwarmloreError:
                return memory  # a counter is not worth failing a read: the store may be read-only or busy
            return replace(memory, access_count=memory.access_count + 1, last_accessed_at=now)

    def list(self, **filter: Any) -> tuple[Memory, ...]:
        """Visible memories, newest first; `filter` are the fields of `Filter`."""
        with self._guard:
            return tuple(self.store.select(self.caller, _checked(make(Filter, filter, "list"))))

    # Forget and undo

    def forget(self, ref: str, *, erase: bool = False) -> Memory:
        """Hide one memory, or erase it for good."""
        with self._guard:
            memory = self._resolve(ref)
            self._check_change(memory)
            if erase:
                self._erase([memory])
                return replace(memory, text="", title="")
            with self.store.operation(self._operation("forget")) as operation:
                return self.store.forget(operation, memory)

    def forget_origin(self, *, session: str = "", source: str = "", erase: bool = False) -> tuple[Memory, ...]:
        """Forget everything that came from one session or source, with everything derived from it."""
        if bool(session) == bool(source):
            raise InvalidInput("name one origin", "swarmlore forget --session ID or --source NAME")
        with self._guard:
            memories = [m for m in self._from_origin(session, source, erase) if may_change(self.caller, m)]
            if erase:
                self._erase(memories)
                return tuple(replace(memory, text="", title="") for memory in memories)
            with self.store.operation(self._operation("forget", session or source)) as operation:
                return tuple(self.store.forget(operation, memory) for memory in memories)

    def backups_holding(self, id: str) -> tuple[str, ...]:
        """The backup files that still hold a memory; erasing does not reach them."""
        from swarmlore.backups import holding

        return tuple(holding(self.home, id))

    def history(self, ref: str) -> tuple[AuditRow, ...]:
        """Every change of one memory, oldest first."""
        with self._guard:
            return tuple(self.store.history(self.caller, self._resolve(ref).id))

    def undo(self, operation: str = "") -> tuple[Memory, ...]:
        """Take back the caller's last operation, or a named one, whole."""
        with self._guard:
            target = operation or self.store.last_operation(self.caller)
            if not target:
                raise NotFound("there is nothing to undo", "swarmlore history ID shows what happened to a memory")
            with self.store.operation(replace(self._operation("undo"), undoes=target)) as act:
                return tuple(self.store.undo(act, target))

    # Sessions and receipts

    def start_session(self, id: str, *, client: str = "", cwd: str = "", **extra: Any) -> Session:
        """Note that a session began; the same id again keeps its start."""
        from swarmlore.rules.gate import scrub_value

        given = {"id": id, "client": client, "cwd": cwd, "extra": json_values(extra)}
        asked: Session = make(Session, {name: scrub_value(value) for name, value in given.items()}, "start_session")
        with self._guard:
            known = self.store.session(self.caller, asked.id)
            began = known.started_at if known else self.now()
            who = {"project": self.caller.project, "agent": self.caller.agent}
            session = replace(asked, **who, started_at=began)
            self.store.put_session(self.caller, session)
            return session

    def end_session(self, id: str) -> Session:
        with self._guard:
            known = self.store.session(self.caller, id)
            if known is None:
                raise NotFound(f"no session {id!r}", "start it first")
            ended = replace(known, ended_at=self.now())
            self.store.put_session(self.caller, ended)
            return ended

    def sessions(self, limit: int = 20) -> tuple[Session, ...]:
        with self._guard:
            return tuple(self.store.sessions(self.caller, limit))

    def receipts(self, session: str = "", limit: int = 20) -> tuple[Receipt, ...]:
        """What was injected or not, newest first, and why."""
        with self._guard:
            return tuple(self.store.receipts(self.caller, session, limit))

    # Care

    def stats(self) -> dict[str, Any]:
        """Counts over what the caller may see, and what waits."""
        from swarmlore.stats import count

        with self._guard:
            return count(self.store, self.caller)

    def doctor(self) -> tuple[Check, ...]:
        """Check the store, its indexes, the embedder, settings and permissions."""
        with self._guard:
            return self._doctor.checks()

    def reindex(self, progress: Progress | None = None) -> dict[str, int]:
        """Build every derived index anew from the rows, and embed what has no vector of the current embedder."""
        with self._guard:
            rows = self.store.reindex_words()
            self.embedding.note_provider()
            embedded = self.embedding.catch_up(10**9, progress)
            settled = self.writing.settle()
            return {"rows": rows, "embedded": embedded, "settled": settled}

    def backup(self, path: str = "") -> Backup:
        """Write a checked copy of the store while it is in use."""
        from swarmlore.backups import back_up

        with self._guard:
            return back_up(self.store, self.home, path)

    @staticmethod
    def restore_backup(path: str, home: str | None = None) -> tuple[Backup, str]:
        """Put a backup in place of a home's store; returns it and where the former store was kept."""
        from swarmlore.backups import restore

        folder = home or config.home_dir(os.environ)
        make_home(folder)
        return restore(folder, path, round(time.time(), 3))

    # Parts

    @cached_property
    def embedding(self) -> Embedding:
        from swarmlore.embedding import Embedding

        return Embedding(self.store, self.settings.embedder, self.settings.recall.exact_rows)

    @cached_property
    def writing(self) -> Writing:
        from swarmlore.writing import Writing

        return Writing(self.store, self.caller, self.settings, lambda: self.embedding, self._operation, self.new_id)

    @cached_property
    def recaller(self) -> Recaller:
        from swarmlore.recall import Recaller

        return Recaller(self.store, self.caller, self.settings, self.embedding)

    @cached_property
    def injector(self) -> Injector:
        from swarmlore.inject import Injector

        return Injector(self.store, self.caller, self.settings, self.recaller, self.new_id)

    @cached_property
    def _doctor(self) -> Doctor:
        from swarmlore.doctor import Doctor

        return Doctor(self.home, self.store, self.caller, self.settings, self.embedding)

    def now(self) -> float:
        return round(self._clock(), 3)

    def new_id(self) -> str:
        return uuid7(self.now(), os.urandom(10))

    def _operation(self, verb: str, reason: str = "") -> Operation:
        return Operation(self.new_id(), self.now(), self.caller, verb, reason)

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

    def _resolve(self, ref: str) -> Memory:
        if not isinstance(ref, str) or not ref.strip() or len(ref) > 128:
            raise InvalidInput("that is not an id", "give a handle, an id or the beginning of one")
        return self.store.resolve(self.caller, ref.strip())

    def _check_change(self, memory: Memory) -> None:
        if not may_change(self.caller, memory):
            raise NotAllowed(
                f"memory {memory.handle} was shared by {memory.owner or 'somebody else'}",
                "only its author, a lead or a person can remove it",
            )

    def _from_origin(self, session: str, source: str, hidden: bool) -> Sequence[Memory]:
        """What came from an origin, with what was derived from it; erasing reaches what was only hidden before."""
        store, who = self.store, self.caller
        listed = (
            store.ids_of_session(who, session, hidden=hidden)
            if session
            else store.ids_of_source(who, source, hidden=hidden)
        )
        ids = list(listed)
        fresh = ids
        while fresh := [id for id in store.ids_derived_from(who, fresh, hidden=hidden) if id not in ids]:
            ids += fresh
        return [memory for id in ids if (memory := store.get(who, id)) is not None]

    def _erase(self, memories: Sequence[Memory]) -> None:
        """Erase memories with what they superseded: former wordings are the same text in another row."""
        with self.store.operation(self._operation("erase")) as operation:
            for memory in memories:
                for former in self.store.superseded_by(self.caller, memory.id):
                    self.store.erase(operation, former)
                self.store.erase(operation, memory)
        self.store.engine.scrub()


def make_home(folder: str) -> None:
    """The home folder, private to its user."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name that no file system can hold
        why = error.strerror if isinstance(error, OSError) else "the name holds a character that no path can"
        raise StoreError(
            f"{folder!a} cannot be made: {why}", "set SWARMLORE_HOME to a folder that you may write"
        ) from error


def _checked(filter: Filter) -> Filter:
    if not 1 <= filter.limit <= MOST_LISTED or filter.offset < 0:
        raise InvalidInput(f"limit {filter.limit}, offset {filter.offset}", f"a limit from 1 to {MOST_LISTED}")
    return filter
