"""Exchange with files for one project: its ledger and the hive's, which a person has to trust, imports and exports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from swarmlore.config import Settings
from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import ConfigError, NotAllowed, NotFound, SwarmloreError
from swarmlore.exchange import ledger_setup
from swarmlore.exchange.ledger_files import Place
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.project import Project

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

    from swarmlore.domain.records import Check
    from swarmlore.exchange.export import Export
    from swarmlore.exchange.import_files import Brought
    from swarmlore.exchange.ledger import Ledger, Synced
    from swarmlore.exchange.ledger_setup import Step
    from swarmlore.memory.quarantine import Retraction
    from swarmlore.models.embedding import Progress


@frozen
class Founded:
    """Result of `init`: its steps and its first sync."""

    root: str
    steps: tuple[Step, ...]
    synced: Synced | None = None


@frozen
class Agreed:
    """Result of `trust`: whether it changed anything, the sync, and what is wrong with git's merge driver."""

    changed: bool
    synced: Synced | None = None
    driver: str = ""

    def __bool__(self) -> bool:
        return self.changed


class Exchange:
    """Sync ledgers, import and export files, for one caller in one project."""

    def __init__(
        self,
        home: str,
        project: Project,
        store: Store,
        caller: Caller,
        settings: Settings,
        operation: Callable[[Caller, str], Operation],
    ) -> None:
        self._home = home
        self._root = project.root
        self._name = os.path.basename(caller.project.rstrip("/").removesuffix("/.git")) or project.name
        self._store = store
        self._caller = caller
        self._settings = settings
        self._operation = operation

    # Automatic

    def arrive(self) -> None:
        """Read changed ledger files without writing them; cheap if nothing changed."""
        self._follow(changed=False)

    def publish(self) -> dict[str, Synced]:
        """Write changes of the store to the ledgers; return the syncs by tier. Problems are stored for `doctor`."""
        return self._follow(changed=True)

    def _follow(self, *, changed: bool) -> dict[str, Synced]:
        done: dict[str, Synced] = {}
        try:
            for place in self._places():
                if self._may_differ(place, changed) and (synced := self._ledger(place).follow(changed=changed)):
                    done[place.tier] = synced
        except ConfigError:
            pass  # without a readable agreement nothing is exchanged; `doctor` reports it
        return done

    def tell_retraction(self, retraction: Retraction, id: str) -> None:
        """Add a retraction to the file in the folder of the project's ledger."""
        from swarmlore.exchange.ledger_files import add_retraction

        if folder := self.own_folder():
            add_retraction(folder, retraction, id)

    def erase_retractions(self, memories: Sequence[Memory]) -> None:
        """Remove the retractions of erased memories from that file."""
        from swarmlore.domain.language.similarity import normalize
        from swarmlore.exchange.ledger_files import drop_retractions

        if folder := self.own_folder():
            texts = {normalize(memory.text) for memory in memories}
            drop_retractions(folder, {memory.id for memory in memories}, texts)

    def own_folder(self) -> str:
        """Return the folder of the project's ledger, '' if it is not trusted."""
        return next((place.folder for place in self._places() if place.tier == "swarm"), "")

    def _may_differ(self, place: Place, changed: bool) -> bool:
        """Return True if a ledger may be out of sync, before the sync code is loaded; it reports errors itself."""
        try:
            self._store.act_for(self._caller)
            return place.differs(self._store, changed=changed)
        except SwarmloreError:
            return True

    # On request

    def init(self, *, dry_run: bool = False) -> Founded:
        """Create the folder of the project's ledger, trust it, and sync for the first time."""
        from swarmlore.exchange.ledger_setup import Step, set_up, write_recall_script

        self._ledger(self._project_place()).check_allowed()
        steps = set_up(self._root, dry_run=dry_run)
        steps += write_recall_script(self._root, dry_run=dry_run)
        known = any(place.tier == "swarm" for place in self._places())
        if dry_run:
            steps.append(Step("your agreement", "there already" if known else "would be noted"))
            steps.append(self._ledger(self._project_place()).planned())
            return Founded(self._root, tuple(steps))
        if not known:
            self._agree(self._root)
        steps.append(Step("your agreement", "there already" if known else "noted"))
        return Founded(self._root, tuple(steps), self._ledger(self._project_place()).sync())

    def trust(self, *, on: bool = True, hive: bool = False) -> Agreed:
        """Agree to exchange memories with a repository and sync, or withdraw the agreement."""
        from swarmlore.exchange.ledger_setup import missing_driver

        changed = self._change_trust(on=on, hive=hive)
        if not on:
            return Agreed(changed)
        synced = self.publish().get("hive" if hive else "swarm")
        return Agreed(changed, synced, "" if hive else missing_driver(self._root))

    def _change_trust(self, *, on: bool, hive: bool) -> bool:
        root = ledger_setup.HIVE if hive else self._root
        if on and not hive and not os.path.isdir(os.path.join(root, ledger_setup.FOLDER)):
            raise NotFound(f"there is no folder {ledger_setup.FOLDER} in {root}", "make it: swarmlore init")
        if on:
            fresh = not any((place.tier == "hive") == hive for place in self._places())
            if fresh:
                self._agree(root)
            return fresh
        self._store.act_for(self._caller)
        place = ledger_setup.place_of(self._home, self._hive_name() if hive else root)
        withdrawn = ledger_setup.withdraw(self._home, root)
        if withdrawn and not self._store.engine.readonly:
            self._store.drop_ledger(place)
        return withdrawn

    def _agree(self, root: str) -> None:
        at = self._operation(self._caller, "trust").at
        ledger_setup.agree(self._home, ledger_setup.Trusted(root, self._caller.project, self._caller.agent, at))

    def sync(self) -> dict[str, Synced]:
        """Sync every trusted ledger completely; return the results by the path of the file."""
        ledgers = list(self._ledgers())
        if not ledgers:
            raise NotAllowed(f"nobody agreed to exchange memories with {self._root}", "swarmlore init, or trust")
        return {os.path.join(ledger.place.folder, ledger.place.main): ledger.sync() for ledger in ledgers}

    def bring(self, path: str, format: str, progress: Progress | None) -> Brought:
        """Import a file."""
        from swarmlore.exchange.import_files import Importer

        importing = Importer(self._store, self._caller, self._settings, self._name)
        return importing.run(path, format, self._operation(self._caller, "import"), progress)

    def take(self, texts: Iterable[bytes], format: str, first: int, so_far: Brought | None) -> Brought:
        """Store lines that the caller sent, in one transaction that is repeated if the connection broke."""
        from swarmlore.exchange.import_files import Importer
        from swarmlore.exchange.import_stream import lines_of, take
        from swarmlore.frozen import replace

        importing = Importer(self._store, self._caller, self._settings, self._name)
        act, lines = self._operation(self._caller, "import"), lines_of(texts, first)
        if so_far is not None and so_far.operation:
            act = replace(act, id=so_far.operation)
        return self._store.look(lambda: take(importing, lines, format, act, so_far))

    def export(self, format: str, guard: AbstractContextManager[Any], *, private: bool = False) -> Export:
        """Return an export in a format, to be read or written to a file."""
        from swarmlore.exchange.export import Export

        return Export(self._store, self._caller, self._name, format, guard, private=private)

    def checks(self) -> Iterator[Check]:
        """Yield the checks of `doctor` for beads files, ledgers and the merge driver."""
        from swarmlore.domain.records import Check
        from swarmlore.exchange.beads import problem as problem_of_beads
        from swarmlore.exchange.ledger_files import count_aside
        from swarmlore.workspace.files import Folder

        if beads := problem_of_beads(self._root):
            yield Check("beads", "warn", beads, "mend it, or move it away; new lessons are remembered all the same")
        try:
            ledgers = list(self._ledgers())
        except ConfigError as error:
            yield Check("ledger", "fail", error.message, error.hint)
            return
        for ledger in ledgers:
            place = ledger.place
            try:
                with Folder(place.folder) as folder:
                    aside = count_aside(folder, place.unreadable)
            except (SwarmloreError, OSError) as error:
                yield Check("ledger", "warn", str(error), "swarmlore init makes it again")
                continue
            if problem := ledger.problem():
                yield Check("ledger", "warn", f"{place.main} does not follow: {problem}", "swarmlore sync")
            elif aside:
                message = f"{aside} {'line' if aside == 1 else 'lines'} of {place.main} set aside"
                yield Check("ledger", "warn", message, f"see {os.path.join(place.folder, place.unreadable)}")
            else:
                yield Check("ledger", "ok", f"{place.main} is followed")
        yield from self._driver_checks(ledgers)
        if not any(ledger.place.tier == "swarm" for ledger in ledgers) and self._is_shared():
            message = "this repository shares lessons; nothing is read until you say: swarmlore trust"
            yield Check("ledger", "warn", message, "swarmlore trust; swarmlore init sets git's merge driver too")
        elif not ledgers:
            yield Check("ledger", "ok", "not shared through files here; swarmlore init does that")

    def _driver_checks(self, ledgers: list[Ledger]) -> Iterator[Check]:
        from swarmlore.domain.records import Check
        from swarmlore.exchange.ledger_setup import missing_driver

        if any(ledger.place.tier == "swarm" for ledger in ledgers) and (missing := missing_driver(self._root)):
            yield Check("merge driver", "warn", missing, "swarmlore init sets it")

    def _is_shared(self) -> bool:
        """Return True if the repository has a ledger, trusted or not."""
        place = self._project_place()
        return os.path.lexists(os.path.join(place.folder, place.main))

    # Places

    def _ledgers(self) -> Iterator[Ledger]:
        yield from map(self._ledger, self._places())

    def _places(self) -> Iterator[Place]:
        """Yield the places of the trusted ledgers of this project and of the hive."""
        if not os.path.exists(os.path.join(self._home, ledger_setup.FILE)):
            return
        agreed = ledger_setup.agreed(self._home)
        if self._root in agreed and self._is_own(agreed[self._root].project):
            yield self._project_place()
        if ledger_setup.HIVE in agreed:
            yield self._hive_place()

    def _hive_name(self) -> str:
        """Return the key of the hive's ledger state, one per project, since a server shows each only its own."""
        return f"{ledger_setup.HIVE}\n{self._caller.project}"

    def _is_own(self, project: str) -> bool:
        """Return True if a name is the caller's project; one named by `--project` has no lessons for this ledger."""
        mine = self._caller.project
        return project == mine or project in self._store.names_of(mine)

    def _ledger(self, place: Place) -> Ledger:
        from swarmlore.exchange.ledger import Ledger

        return Ledger(self._store, self._caller, self._settings, place, self._operation)

    def _project_place(self) -> Place:
        key = ledger_setup.place_of(self._home, self._root)
        return Place(key, os.path.join(self._root, ledger_setup.FOLDER), "knowledge", "swarm", self._name)

    def _hive_place(self) -> Place:
        key = ledger_setup.place_of(self._home, self._hive_name())
        return Place(key, os.path.realpath(self._home), "shared-learnings", "hive", "")
