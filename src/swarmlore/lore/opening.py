"""How a Lore is put together: opened for a folder and a caller, closed, and its parts, each imported on first use."""

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
from swarmlore.workspace.project import find_caller, find_project, stacks

if TYPE_CHECKING:
    from typing import Any, Self

    from swarmlore.config import Settings
    from swarmlore.domain.records import Caller
    from swarmlore.exchange.exchange import Exchange
    from swarmlore.memory.curation import Curating
    from swarmlore.memory.doctor import Doctor
    from swarmlore.memory.feedback import Learning
    from swarmlore.memory.lifecycle import Life, Phases
    from swarmlore.memory.mail import Mail
    from swarmlore.memory.project_names import Belonging
    from swarmlore.memory.promotion import Promoting
    from swarmlore.memory.quarantine import Aside
    from swarmlore.memory.tokens import Access
    from swarmlore.memory.write import Writing
    from swarmlore.models.embedding import Embedding
    from swarmlore.models.llm import Spending
    from swarmlore.models.providers import Writer
    from swarmlore.notes.locations import Versions
    from swarmlore.notes.memory_files import Indexing
    from swarmlore.retrieval.context import Injector
    from swarmlore.retrieval.patterns import Patterns
    from swarmlore.retrieval.recall import Recaller
    from swarmlore.workspace.cited_code import Budget, Look, Tree
    from swarmlore.workspace.project import Project


NOWHERE = os.path.join(os.devnull, "nowhere")  # no folder can be there
CATCH_UP_AT_CLOSE = 64  # texts that a process with a loaded model embeds before it leaves


class _Guard:
    """Lets one thread in at a time, as its caller, and none once the memory is closed."""

    def __init__(self, enter: Callable[[], None]) -> None:
        self.lock = threading.RLock()
        self._closed = False
        self._enter = enter
        self._owner: _Guard | None = None

    def join(self, owner: _Guard) -> None:
        """Share the lock of who opened the store, and end with it."""
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
        except BaseException:  # a server that is gone: whoever comes next must not wait for us forever
            self.lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        self.lock.release()


class Parts:
    """One store, one caller, and what works for them."""

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
        self._has_tree = True  # whether the files of its project lie on this machine
        self._stacks_told: tuple[str, ...] = ()  # what it is built with, by whoever has its files
        self._changes = 0  # that are going on, one inside the other
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
        who = caller or find_caller(
            env, env.get("SWARMLORE_PROJECT") or project.id, interactive=interactive, client=client
        )
        make_home(folder)
        store = open_store(folder, settings, round(clock(), 3))
        if caller is None and store.engine.remote:
            who = replace(who, agent=_team_name(settings.store.url, who.agent))
        lore = cls(folder, store, who, settings, project, clock)
        lore._env = env
        if caller is None and not env.get("SWARMLORE_PROJECT"):
            lore._settle()
        return lore

    def beside(self, project: Project, client: str, env: Mapping[str, str], profile: str = "") -> Self:
        """The same memory for another folder or client, whose identity and folders `env` tells, or by the rules of a
        profile: one store, one model, one thread at a time."""
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
        """The same memory for another caller, who is known already, or by the rules of a profile: one store, one model,
        one thread at a time. Without a folder its project has no files here; `built_with` names its technologies."""
        with self._guard:
            project = find_project(folder or self.home)
            flags = {"recall.profile": profile} if profile else None
            settings = config.load(self.home, project.root, self._env, flags)
            other = type(self)(self.home, self.store, caller, settings, project, self._clock)
            other._env = self._env
            other._has_tree, other._stacks_told = bool(folder), built_with
            other._guard.join(self._guard)
            other._owns_store = False
            other.__dict__["embedding"] = self.embedding
            return other

    def _take_over(self) -> None:
        """Several may share a store: whoever enters acts for its own caller."""
        self.store.hive = self.settings.knowledge.hive_enabled
        self.store.act_for(self.caller)

    def _settle(self) -> None:
        """Work for the project that the store knows this folder as."""
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
        """Finish what a loaded model can finish quickly, then let go of the file."""
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
                pass  # what waits goes on waiting; nobody asked for it now
            finally:
                if "embedding" in self.__dict__:
                    self.embedding.close()
                self.store.close()

    def acting(self) -> _Guard:
        """A context in which no other thread uses this store: for several looks at it that belong together."""
        return self._guard

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """One thread at a time, after what came in through files a person agreed to."""
        with self._guard:
            if self._shares:
                self.exchange.arrive()
            yield

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One thread at a time; those files follow afterwards, and their failure is no failure of the change. Of
        changes inside each other the outermost is followed: before it ends, none of them is certain."""
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
        """Whether anything was ever agreed to; else the parts that know about files are not even loaded."""
        return os.path.exists(os.path.join(self.home, "trusted.json"))

    def _keep_names(self) -> None:
        """Let the project be found again when its folder or its remote changes."""
        if not self._named and self.project.marker and not self.project.marked:
            self.project = self._belonging.keep(self._operation("join"))

    def _place(self) -> Belonging:
        if self._named:
            raise InvalidInput("the project was named, not found", "leave out SWARMLORE_PROJECT, or `caller`")
        return self._belonging

    def _move(self, project: str) -> None:
        """Go on under another id of the same project; the parts that know the old one are made anew."""
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
    def writing(self) -> Writing:
        from swarmlore.memory.write import Writing

        return Writing(
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
    def _promoting(self) -> Promoting:
        from swarmlore.memory.promotion import Promoting

        name = self.project.name
        parts = (self._operation, lambda: self.writing, self.new_id)
        return Promoting(self.store, self.caller, self.settings, *parts, name)

    @cached_property
    def _life(self) -> Life:
        from swarmlore.memory.lifecycle import Life

        return Life(self.store, self.caller, self.settings, self._operation, self._phases, self._promoting)

    @cached_property
    def _aside(self) -> Aside:
        from swarmlore.memory.quarantine import Aside

        return Aside(self.store, self.caller, self.settings, self._operation, lambda: self.writing.plain_terms())

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
    def learning(self) -> Learning:
        from swarmlore.memory.feedback import Learning

        return Learning(self.store, self.caller, self._operation, self._patterns)

    @cached_property
    def _patterns(self) -> Patterns:
        from swarmlore.retrieval.patterns import Patterns

        return Patterns(self.store, self.caller, lambda draft, act: self.writing.prepare(draft, act))

    @property
    def _curating(self) -> Curating:
        from swarmlore.memory.curation import Curating
        from swarmlore.workspace.cited_code import WHOLE

        return Curating(
            self.home,
            self.store,
            self.caller,
            self.settings,
            self._promoting,
            self._operation,
            self._look(WHOLE),
        )

    @cached_property
    def indexing(self) -> Indexing:
        from swarmlore.notes.memory_files import Indexing

        return Indexing(
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
        """The technologies of the project."""
        return stacks(self.project.root) if self._has_tree else self._stacks_told

    def _look(self, budget: Budget | None = None) -> Look:
        """A look at the working tree, for the memories of its project."""
        from swarmlore.workspace.cited_code import Look

        names = cache(lambda: frozenset(self.store.names_of(self.caller.project)))
        own = self.caller.project
        if not self._has_tree:
            return Look(self._tree, lambda _: False, budget, "its code is not on this machine")
        return Look(self._tree, lambda memory: memory.project == own or memory.project in names(), budget)

    @cached_property
    def _belonging(self) -> Belonging:
        from swarmlore.memory.project_names import Belonging

        return Belonging(self.store, self.project, self.now())

    @property
    def spending(self) -> Spending:
        from swarmlore.models.llm import Spending

        return Spending(self.store, self.settings.writer, self.now)

    def capped_writer(self) -> Writer | None:
        """The configured language model, within what it may cost a day; None where there is none."""
        from swarmlore.models.llm import capped_writer

        return capped_writer(self.store, self.settings.writer, self.now())

    @property
    def mail(self) -> Mail:
        from swarmlore.memory.mail import Mail

        clock = self.store.engine.now if self._clock is time.time else self._clock
        return Mail(self.store, self.caller, self.settings.worker, clock, self.new_id, self.project.root)

    @property
    def _access(self) -> Access:
        from swarmlore.memory.tokens import Access

        return Access(self.store, self.caller, self.now)

    @cached_property
    def _doctor(self) -> Doctor:
        from swarmlore.memory.doctor import Doctor

        return Doctor(self.home, self.store, self.caller, self.settings, self.embedding, self.now)

    def now(self) -> float:
        return round(self._clock(), 3)

    def new_id(self) -> str:
        return uuid7(self.now(), os.urandom(10))

    def _operation(self, verb: str, reason: str = "") -> Operation:
        return Operation(self.new_id(), self.now(), self.caller, verb, reason)


def open_store(folder: str, settings: Settings, now: float) -> Store:
    """The store that the settings of a home name."""
    wait = settings.store.lock_timeout_s
    if settings.store.url:
        return Store.connect(settings.store.url, now, lock_timeout_s=wait)
    return Store.open(folder, now, lock_timeout_s=wait)


def _team_name(url: str, agent: str) -> str:
    """In a team several people run an agent of the same name; what is private to one is not to the others."""
    from swarmlore.domain.language.display import user_of

    user = user_of(url) or os.environ.get("PGUSER", "")
    return f"{user}/{agent}" if user and agent else agent


def make_home(folder: str) -> None:
    """The home folder, private to its user."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name that no file system can hold
        why = error.strerror if isinstance(error, OSError) else "the name holds a character that no path can"
        raise StoreError(
            f"{folder!a} cannot be made: {why}", "set SWARMLORE_HOME to a folder that you may write"
        ) from error
