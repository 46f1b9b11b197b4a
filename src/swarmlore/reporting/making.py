"""A report for one caller: the working tree is looked at first, then the rows are read once."""

from __future__ import annotations

from collections.abc import Callable

from swarmlore.config import Settings
from swarmlore.domain.policy.curation import Limits
from swarmlore.domain.records import Caller
from swarmlore.frozen import fields
from swarmlore.reporting.figures import Report
from swarmlore.reporting.gathering import Gathering, Order
from swarmlore.store.report_queries import Figures
from swarmlore.store.store import Store
from swarmlore.workspace.cited_code import WHOLE, Budget, Look


class Reporting:
    """Reports over one store, for one caller; `look` looks at the working tree of its project."""

    def __init__(self, store: Store, caller: Caller, settings: Settings, look: Callable[[Budget], Look]) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._look = look

    def report(self, days: float, at: float, *, all_projects: bool = False) -> Report:
        """Everything the caller may know about what the memory did, up to `at`."""
        look = self._look(WHOLE)
        code = {memory.id: [cited.state for cited in look.cited(memory)] for memory in self._store.citing(self._caller)}
        rows = Figures(self._store, self._caller, all_projects=all_projects)
        order = Order(at, self._caller.project, days, self._limits(), self._settings.knowledge.dedup_threshold)
        return Gathering(rows, order, code).report()

    def _limits(self) -> Limits:
        return Limits(**{spec.name: getattr(self._settings.report, spec.name) for spec in fields(Limits)})
