"""How a `Lore` is opened, closed and assembled: its parts are imported and built on first use."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property

from swarmlore import config
from swarmlore.domain.records import uuid7
from swarmlore.errors import InvalidInput, StoreError
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.identity import find_caller
from swarmlore.workspace.project import find_project, stacks

if TYPE_CHECKING:
    from typing import Any, Self

    from swarmlore.config import Settings
    from swarmlore.domain.records import Caller
    from swarmlore.exchange.exchange import Exchange
    from swarmlore.memory.curation import Curation
    from swarmlore.memory.doctor import Doctor
    from swarmlore.memory.feedback import Feedback
    from swarmlore.memory.lifecycle import Lifecycle, Phases
    from swarmlore.memory.mail import Mail
    from swarmlore.memory.project_names import ProjectNames
    from swarmlore.memory.promotion import Promoter
    from swarmlore.memory.quarantine import Quarantine
    from swarmlore.memory.tokens import Tokens
    from swarmlore.memory.write import MemoryWriter
    from swarmlore.models.embedding import Embedding
    from swarmlore.models.llm import LLMBudget
    from swarmlore.models.providers import Writer
    from swarmlore.notes.locations import Versions
    from swarmlore.notes.memory_files import FileIndexer
    from swarmlore.retrieval.context import Injector
    from swarmlore.retrieval.patterns import Patterns
    from swarmlore.retrieval.recall import Recaller
    from swarmlore.workspace.cited_code import Budget, CitationCheck, Tree
    from swarmlore.workspace.project import Project


NOWHERE = os.path.join(os.devnull, "nowhere")  # a path that cannot exist
CATCH_UP_AT_CLOSE = 64  # texts that a process with a loaded model embeds before it exits


class _Guard:
    """Reentrant lock of a store: one thread at a time, acting for its caller; raises InvalidInput once closed."""

    def __init__(self, enter: Callable[[], None]) -> None:
        self.lock = threading.RLock()
        self._closed = False
        self._enter = enter
        self._owner: _Guard | None = None

    def join(self, owner: _Guard) -> None:
        """Share the lock of the `Lore` that opened the store, and close with it."""
        self.lock, self._owner = owner.lock, owner

    @property
    def closed(self) -> bool:
        return self._closed or (self._owner is not None and self._owner.closed)

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> None:
        self.lock.acquire()
        if self.closed:
            self.lock.release()
            raise InvalidInput("this memory is closed", "open it again: Lore.open()")
        try:
            self._enter()
        except BaseException:  # the database is gone: the next thread must not wait for this lock forever
            self.lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        self.lock.release()


class Parts:
    """The store, the caller and the components of a `Lore`."""

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
        self._clock = clock
        self._guard = _Guard(self._take_over)
        self._owns_store = True
        self._has_tree = True  # whether the project's files lie on this machine
        self._given_stacks: tuple[str, ...] = ()  # from a client that has the files
        self._changes = 0  # nesting depth of writes
        self._env: Mapping[str, str] = os.environ
        self._take_over()
        self._named = True  # the project was named, not found from the folder

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
    ) -> Self:
        """Open the memory of a home folder for the project that `cwd` lies in."""
        env = os.environ if env is None else env
        folder = os.path.abspath(os.fspath(home)) if home is not None else config.home_dir(env)
        project = find_project(os.fspath(cwd) if cwd is not None else os.getcwd())
        settings = config.load(folder, project.root, env, flags)
        acting = caller or find_caller(
            env, env.get("SWARMLORE_PROJECT") or project.id, interactive=interactive, client=client
        )
        make_home(folder)
        store = open_store(folder, settings, round(clock(), 3))
        if caller is None and store.engine.remote:
            acting = replace(acting, agent=_team_name(settings.store.url, acting.agent))
        lore = cls(folder, store, acting, settings, project, clock)
        lore._env = env
        if caller is None and not env.get("SWARMLORE_PROJECT"):
            lore._settle()
        return lore

    def beside(self, project: Project, client: str, env: Mapping[str, str], profile: str = "") -> Self:
        """Return a `Lore` on the same store for another folder, client or profile; `env` gives its identity and
        folders. Both share one store, one model and one lock."""
        with self._guard:
            who = find_caller(env, env.get("SWARMLORE_PROJECT") or project.id, interactive=False, client=client)
            if self.store.engine.remote:
                who = replace(who, agent=_team_name(self.settings.store.url, who.agent))
            flags = {"recall.profile": profile} if profile else None
            settings = config.load(self.home, project.root, self._env, flags)
            other = type(self)(self.home, self.store, who, settings, project, self._clock)
            other._env = {**self._env, **env}
            other._guard.join(self._guard)
            other._owns_store = False
            other.__dict__["embedding"] = self.embedding
            if not env.get("SWARMLORE_PROJECT"):
                other._settle()
            return other

    def acting_as(self, caller: Caller, folder: str, profile: str = "", built_with: tuple[str, ...] = ()) -> Self:
        """Return a `Lore` on the same store for a known caller or a profile; both share one store, one model and one
        lock. Without a folder the project has no files here; `built_with` names its stacks."""
        with self._guard:
            project = find_project(folder or self.home)
            flags = {"recall.profile": profile} if profile else None
            settings = config.load(self.home, project.root, self._env, flags)
            other = type(self)(self.home, self.store, caller, settings, project, self._clock)
            other._env = self._env
            other._has_tree, other._given_stacks = bool(folder), built_with
            other._guard.join(self._guard)
            other._owns_store = False
            other.__dict__["embedding"] = self.embedding
            return other

    def _take_over(self) -> None:
        """Set the caller of the shared store; called whenever the guard is entered."""
        self.store.hive = self.settings.knowledge.hive_enabled
        self.store.act_for(self.caller)

    def _settle(self) -> None:
        """Switch to the project id under which the store knows this folder."""
        self._named = False
        try:
            found = self.project
            self._move(self._belonging.root if found.place else self.store.join_projects(found.names, self.now()))
        except BaseException:
            if self._owns_store:
                self.store.close()
            raise

    def __enter__(self) -> Self:
        with self._guard:
            return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Embed pending texts if the model is loaded (64 at most), then close the store."""
        with self._guard.lock:
            if self._guard.closed:
                return
            self._guard.close()
            if not self._owns_store:
                return
            try:
                if "embedding" in self.__dict__ and self.embedding.makes_the_rest and not self.store.engine.readonly:
                    self.embedding.catch_up(CATCH_UP_AT_CLOSE)
                    self.writing.settle()
            except StoreError:
                pass  # the texts stay pending
            finally:
                if "embedding" in self.__dict__:
                    self.embedding.close()
                self.store.close()

    def acting(self) -> _Guard:
        """Return the lock of this store, for several reads that belong together."""
        return self._guard

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """Enter the guard for a read, after importing news from agreed files."""
        with self._guard:
            if self._shares:
                self.exchange.arrive()
            yield

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Enter the guard for a write, then publish to the agreed files; their failure does not fail the write. Of
        nested writes only the outermost publishes, because none is committed before."""
        with self._guard:
            self._changes += 1
            try:
                yield
            finally:
                self._changes -= 1
            if self._shares and not self._changes:
                self.store.afterwards(self.exchange, self.exchange.publish)

    @property
    def _shares(self) -> bool:
        """Tell whether files were ever agreed to; if not, the exchange modules are not loaded."""
        return os.path.exists(os.path.join(self.home, "trusted.json"))

    def _keep_names(self) -> None:
        """Store the names of the project, so that it is found again when its folder or its remote changes."""
        if not self._named and self.project.marker and not self.project.marked:
            self.project = self._belonging.keep(self._operation("join"))

    def _place(self) -> ProjectNames:
        """Return the project registry; raise if the project was named explicitly."""
        if self._named:
            raise InvalidInput("the project was named, not found", "leave out SWARMLORE_PROJECT, or `caller`")
        return self._belonging

    def _move(self, project: str) -> None:
        """Continue under another id of the same project; the parts that hold the old id are rebuilt."""
        self.caller = replace(self.caller, project=project)
        self.store.act_for(self.caller)
        for part in ("_phases", "_promoting", "_life", "_aside"):
            self.__dict__.pop(part, None)
        for part in ("writing", "recaller", "injector", "learning", "_patterns", "indexing", "exchange", "_doctor"):
            self.__dict__.pop(part, None)

    @cached_property
    def embedding(self) -> Embedding:
        from swarmlore.models.embedding import Embedding

        return Embedding(self.store, self.settings.embedder, self.settings.recall, self.home)

    @cached_property
    def writing(self) -> MemoryWriter:
        from swarmlore.memory.write import MemoryWriter

        return MemoryWriter(
            self.store,
            self.caller,
            self.settings,
            lambda: self.embedding,
            self._operation,
            self.new_id,
            lambda: self._tree,
            lambda: self._phases.current(self.now()),
        )

    @cached_property
    def _phases(self) -> Phases:
        from swarmlore.memory.lifecycle import Phases

        return Phases(self.store, self.caller, self.project.root)

    @cached_property
    def _promoting(self) -> Promoter:
        from swarmlore.memory.promotion import Promoter

        name = self.project.name
        parts = (self._operation, lambda: self.writing, self.new_id)
        return Promoter(self.store, self.caller, self.settings, *parts, name)

    @cached_property
    def _life(self) -> Lifecycle:
        from swarmlore.memory.lifecycle import Lifecycle

        return Lifecycle(self.store, self.caller, self.settings, self._operation, self._phases, self._promoting)

    @cached_property
    def _aside(self) -> Quarantine:
        from swarmlore.memory.quarantine import Quarantine

        return Quarantine(self.store, self.caller, self.settings, self._operation, lambda: self.writing.plain_terms())

    @cached_property
    def recaller(self) -> Recaller:
        from swarmlore.retrieval.recall import Recaller

        return Recaller(self.store, self.caller, self.settings, self.embedding, self._look, self._versions, self.home)

    @property
    def _versions(self) -> Versions:
        from swarmlore.notes.locations import Versions

        return Versions(self.project.root, self.store, self.caller)

    @cached_property
    def injector(self) -> Injector:
        from swarmlore.retrieval.context import Injector

        return Injector(self.store, self.caller, self.settings, self.recaller, self._patterns, self.new_id)

    @cached_property
    def learning(self) -> Feedback:
        from swarmlore.memory.feedback import Feedback

        return Feedback(self.store, self.caller, self._operation, self._patterns)

    @cached_property
    def _patterns(self) -> Patterns:
        from swarmlore.retrieval.patterns import Patterns

        return Patterns(self.store, self.caller, lambda draft, act: self.writing.prepare(draft, act))

    @property
    def _curating(self) -> Curation:
        from swarmlore.memory.curation import Curation
        from swarmlore.workspace.cited_code import UNLIMITED

        return Curation(
            self.home,
            self.store,
            self.caller,
            self.settings,
            self._promoting,
            self._operation,
            self._look(UNLIMITED),
        )

    @cached_property
    def indexing(self) -> FileIndexer:
        from swarmlore.notes.memory_files import FileIndexer

        return FileIndexer(
            self.home,
            self.store,
            self.caller,
            self.settings,
            self.writing,
            self._operation,
            self.project.root,
            self._env,
        )

    @cached_property
    def exchange(self) -> Exchange:
        from swarmlore.exchange.exchange import Exchange

        def operation(caller: Caller, verb: str) -> Operation:
            return replace(self._operation(verb), caller=caller)

        return Exchange(self.home, self.project, self.store, self.caller, self.settings, operation)

    @cached_property
    def _tree(self) -> Tree:
        from swarmlore.workspace.cited_code import Tree

        return Tree(self.project.root if self._has_tree else NOWHERE)

    def _stacks(self) -> tuple[str, ...]:
        """Return the technologies of the project."""
        return stacks(self.project.root) if self._has_tree else self._given_stacks

    def _look(self, budget: Budget | None = None) -> CitationCheck:
        """Return a comparison of citations with the working tree, for the memories of its project."""
        from swarmlore.workspace.cited_code import CitationCheck

        names = cache(lambda: frozenset(self.store.names_of(self.caller.project)))
        own = self.caller.project
        if not self._has_tree:
            return CitationCheck(self._tree, lambda _: False, budget, "its code is not on this machine")
        return CitationCheck(self._tree, lambda memory: memory.project == own or memory.project in names(), budget)

    @cached_property
    def _belonging(self) -> ProjectNames:
        from swarmlore.memory.project_names import ProjectNames

        return ProjectNames(self.store, self.project, self.now())

    @property
    def spending(self) -> LLMBudget:
        from swarmlore.models.llm import LLMBudget

        return LLMBudget(self.store, self.settings.writer, self.now)

    def capped_writer(self) -> Writer | None:
        """Return the configured language model with its daily cost limit; None if there is none."""
        from swarmlore.models.llm import budgeted_llm

        return budgeted_llm(self.store, self.settings.writer, self.now())

    @property
    def mail(self) -> Mail:
        from swarmlore.memory.mail import Mail

        clock = self.store.engine.now if self._clock is time.time else self._clock
        return Mail(self.store, self.caller, self.settings.worker, clock, self.new_id, self.project.root)

    @property
    def _access(self) -> Tokens:
        from swarmlore.memory.tokens import Tokens

        return Tokens(self.store, self.caller, self.now)

    @cached_property
    def _doctor(self) -> Doctor:
        from swarmlore.memory.doctor import Doctor

        return Doctor(self.home, self.store, self.caller, self.settings, self.embedding, self.now)

    def now(self) -> float:
        """Return the current time, to the millisecond."""
        return round(self._clock(), 3)

    def new_id(self) -> str:
        """Return a new UUIDv7."""
        return uuid7(self.now(), os.urandom(10))

    def _operation(self, verb: str, reason: str = "") -> Operation:
        return Operation(self.new_id(), self.now(), self.caller, verb, reason)


def open_store(folder: str, settings: Settings, now: float) -> Store:
    """Open the store that the settings of a home name."""
    wait = settings.store.lock_timeout_s
    if settings.store.url:
        return Store.connect(settings.store.url, now, lock_timeout_s=wait)
    return Store.open(folder, now, lock_timeout_s=wait)


def _team_name(url: str, agent: str) -> str:
    """Return `user/agent` for a team database: several people may run an agent of the same name, and their private
    memories stay separate."""
    from swarmlore.domain.language.display import user_of

    user = user_of(url) or os.environ.get("PGUSER", "")
    return f"{user}/{agent}" if user and agent else agent


def make_home(folder: str) -> None:
    """Create the home folder, private to its user."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name that no file system can hold
        why = error.strerror if isinstance(error, OSError) else "the name holds a character that no path can"
        raise StoreError(
            f"{folder!a} cannot be made: {why}", "set SWARMLORE_HOME to a folder that you may write"
        ) from error
