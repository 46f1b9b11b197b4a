"""The ledger: a project's shared lessons as lines of a file in its repository, in step with the store both ways."""

from __future__ import annotations

from collections.abc import Callable

from swarmlore.config import Settings
from swarmlore.domain.records import Caller
from swarmlore.errors import Conflict, NotAllowed, SwarmloreError
from swarmlore.frozen import replace
from swarmlore.sharing.admission import Admission
from swarmlore.sharing.founding import FOLDER, Step
from swarmlore.sharing.ledger_pass import Pass, Synced, too_much
from swarmlore.sharing.places import Place
from swarmlore.store.database import Operation
from swarmlore.store.ledgers import LedgerState
from swarmlore.store.store import Store
from swarmlore.workspace.files import Folder

TRIES = 3  # an editor or git may write while a file is read
AGENT = "ledger"  # in whose name lines come in: an undo of one's last act does not mean them
AUTOMATIC_BYTES = 64 * 1024 * 1024  # a larger file is read only when somebody asks for it


class Ledger:
    """One ledger and the store."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        settings: Settings,
        place: Place,
        operation: Callable[[Caller, str], Operation],
    ) -> None:
        self._store = store
        self._caller = replace(caller, agent=AGENT, role="worker", trust=2)
        self._settings = settings
        self._operation = operation
        self.place = place
        self._door = Admission(store, self._caller, settings, place.tier, place.project_name)

    def follow(self, *, changed: bool = False) -> Synced | None:
        """Take in what has changed in the files, and write them if the store has changed; cheap where nothing has.
        Never raises: what went wrong is kept for `doctor`."""
        try:
            self._store.act_for(self._caller)
            if not self._allowed() or not self.place.differs(self._store, changed=changed):
                return None
            with Folder(self.place.folder) as folder, folder.lock():
                self._check_size(folder)
                work = self._pass(folder)
                work.check_amount()
                return work.run(full=False) if changed else work.look()
        except (SwarmloreError, OSError) as error:
            self._note(error)
            return None

    def sync(self) -> Synced:
        """Bring both in step; every row is looked at, not only those that changed."""
        self.check_allowed()
        for _ in range(TRIES):
            try:
                with Folder(self.place.folder) as folder, folder.lock():
                    return self._pass(folder).run(full=True)
            except Conflict as error:
                busy = error
        raise busy

    def _pass(self, folder: Folder) -> Pass:
        return Pass(self._store, self._door, self.place, folder, self._operation(self._caller, "sync"))

    def planned(self) -> Step:
        """How many lessons the next pass would write that are not in the files yet."""
        self._store.act_for(self._caller)
        known = self._store.ledger_lines(self.place.key)
        rows = self._store.in_order(self._door.partitions())
        count = sum(not row.raw and row.forgotten_at is None and row.id not in known for row in rows)
        what = f"{FOLDER}/{self.place.main}"
        return Step(what, "would be shared", f"{count} {'lesson' if count == 1 else 'lessons'}")

    def problem(self) -> str:
        """What went wrong when the files were last followed, or ''."""
        state = self._store.ledger_state(self.place.key)
        return state.problem if state else ""

    def check_allowed(self) -> None:
        """Raise where nothing may be exchanged."""
        if not self._allowed():
            raise NotAllowed("memory is switched off here or cannot be written", "see: swarmlore doctor")

    def _allowed(self) -> bool:
        knowledge = self._settings.knowledge
        usable = knowledge.enabled and (self.place.tier != "hive" or knowledge.hive_enabled)
        return usable and not self._store.engine.readonly

    def _check_size(self, folder: Folder) -> None:
        place = self.place
        if place.stamp(folder) != (self._store.ledger_state(place.key) or LedgerState()).stamp:
            size = folder.size(place.main) + folder.size(place.quarantined)
            if size > AUTOMATIC_BYTES:
                raise too_much(place, f"{size // 2**20} MB")

    def _note(self, error: Exception) -> None:
        message = error.message if isinstance(error, SwarmloreError) else str(error)
        state = self._store.ledger_state(self.place.key) or LedgerState()
        if state.problem == message or self._store.engine.readonly:
            return
        try:
            self._store.put_ledger_state(self.place.key, self._caller.project, replace(state, problem=message))
        except SwarmloreError:
            return  # the store has worse to tell
