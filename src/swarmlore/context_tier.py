"""What is always in an agent's context: the memory file of a project, and what clients remember by themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from swarmlore.domain.records import Caller
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.note_places import learnings_root
from swarmlore.project_memory import Checked, Planned, ProjectMemory, Shown
from swarmlore.workspace.files import Change

if TYPE_CHECKING:
    from swarmlore.config import Settings
    from swarmlore.consolidating import Consolidating, Consolidation
    from swarmlore.ingesting import Ingested, Ingesting
    from swarmlore.instincts import Instincts
    from swarmlore.models.embedding import Progress


class Context:
    """The context tier of one project and one user, for one caller."""

    def __init__(
        self,
        root: str,
        name: str,
        caller: Caller,
        settings: Settings,
        env: Mapping[str, str],
        now: Callable[[], float],
        folders: Callable[[], Sequence[str]],
        instincts: Callable[[str], Instincts],
        index: Callable[[], None],
    ) -> None:
        self._root = root
        self._name = name
        self._caller = caller
        self._settings = settings
        self._env = env
        self._now = now
        self._folders = folders
        self._instincts = instincts
        self._index = index

    @property
    def _home(self) -> str:
        return self._env.get("HOME") or os.path.expanduser("~")

    # The memory file

    @property
    def _memory(self) -> ProjectMemory:
        return ProjectMemory(self._root, self._caller, self._now)

    def show(self) -> Shown:
        """`.agents/MEMORY.md` as it is."""
        return self._memory.show()

    def check(self) -> Checked:
        """What a person should look at in it."""
        return self._memory.check()

    def plan(self, section: str, text: str) -> Planned:
        """What would become of an entry. Nothing is changed."""
        return self._memory.plan(section, text)

    def plan_entry(self, section: str, text: str) -> tuple[str, str, str]:
        """The file's path in the project, and its text before and after an entry was added to it; the same twice where
        it is known or there is no room."""
        return self._memory.plan_entry(section, text)

    def add(self, section: str, text: str) -> Planned:
        """Add an entry, if it is new and there is room. A person's: for an agent it is only planned."""
        return self._memory.add(section, text)

    def plan_reference(self) -> tuple[Change, ...]:
        """CLAUDE.md and AGENTS.md with a line that names the file, where neither names it."""
        return self._memory.plan_reference()

    def refer(self) -> tuple[Change, ...]:
        """Let them name it. A person's."""
        return self._memory.refer()

    # What clients remember

    def ingest(
        self,
        clients: Sequence[str] = (),
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        only: str = "",
    ) -> Ingested:
        """Take over what clients remember as notes for every project; `only` names one folder of theirs. A person's: an
        agent may look, with `dry_run`."""
        from swarmlore.exchange.import_files import check_switches

        check_switches(self._settings, hive=True)
        told = self._ingesting.run(clients, dry_run=dry_run, progress=progress, only=only, now=self._now)
        if told.count("added") + told.count("updated") and not dry_run:
            self._index()
        return told

    def copies(self) -> Iterator[tuple[str, str]]:
        """What was taken over about this project: names of files and their texts."""
        return self._ingesting.copies(self._name)

    @property
    def _ingesting(self) -> Ingesting:
        from swarmlore.ingesting import Ingesting

        root = learnings_root(self._env, self._home)
        return Ingesting(root, self._home, self._env, self._root, self._name, self._caller)

    # Other work trees

    def plan_consolidation(self) -> Consolidation:
        """What other work trees of the repository know and its main one does not. Nothing is changed."""
        return self._consolidating.plan()

    def consolidate(self) -> Consolidation:
        """Bring it into the main one: additions only, nothing is deleted. A person's."""
        return self._consolidating.apply()

    @property
    def _consolidating(self) -> Consolidating:
        from swarmlore.consolidating import Consolidating

        return Consolidating(
            self._root,
            self._home,
            self._env,
            self._folders(),
            lambda root: ProjectMemory(root, self._caller, self._now),
            self._instincts,
            by_person=self._caller.role == "person",
        )
