"""The figures of a report, as frozen records."""

from __future__ import annotations

from swarmlore.domain.policy.curation import Limit
from swarmlore.frozen import field, frozen


@frozen
class MemoryFigures:
    """What one live memory did. `tokens` is its share of the blocks it was shown in; `cut` how often it was found
    and left out, `cut_reason` mostly why; `code` the state of what it cites, the worst first; `duplicate_of` the
    handle of the older lesson that says the same; `junk` what is wrong with it. `raw` material and a `strategy` are no
    lessons."""

    id: str
    handle: str
    text: str
    project: str
    tier: str
    kind: str
    source: str
    status: str
    created_at: float
    shown: int = 0
    cited: int = 0
    applied: int = 0
    helped: int = 0
    hurt: int = 0
    succeeded_after: int = 0
    failed_after: int = 0
    tokens: int = 0
    last_shown_at: float | None = None
    cut: int = 0
    cut_reason: str = ""
    raw: bool = False
    strategy: bool = False
    code: str = ""
    duplicate_of: str = ""
    junk: tuple[str, ...] = ()

    @property
    def lesson(self) -> bool:
        return not (self.raw or self.strategy)


@frozen
class Counts:
    """Events, counted: of a period, of a project, or of all."""

    added: int = 0
    ended: int = 0
    moments: int = 0
    given: int = 0
    shown: int = 0
    used: int = 0
    helped: int = 0
    hurt: int = 0
    tokens: int = 0
    tasks_helpful: int = 0
    tasks_neutral: int = 0
    tasks_harmful: int = 0


@frozen
class Standing:
    """Live lessons, and what is wrong with some of them; beside them raw material and strategies."""

    lessons: int = 0
    raw: int = 0
    strategies: int = 0
    never_shown: int = 0
    cited_code: int = 0
    stale: int = 0
    moved: int = 0
    duplicate: int = 0
    harmful: int = 0
    unused: int = 0
    junk: int = 0


@frozen
class Period:
    """One stretch of time: what happened in it, how many memories were live at its end, and of the lessons learned in
    it that cite code, how many are stale today."""

    started_at: float
    counts: Counts
    live: int = 0
    cited_code: int = 0
    stale: int = 0


@frozen
class ProjectFigures:
    """One project, or the hive; `live` and `tokens` by period."""

    project: str
    standing: Standing
    counts: Counts
    live: tuple[int, ...] = ()
    tokens: tuple[int, ...] = ()


@frozen
class Silence:
    """Moments at which nothing was given, for one reason."""

    trigger: str
    reason: str
    count: int


@frozen
class Cut:
    """Memories that were found and not shown, for one reason."""

    reason: str
    count: int


@frozen
class Report:
    """Everything a report says. Figures are of what its reader may see. Of very many memories, `memories` has those
    about which there is something to tell and the newest; `memories_left_out` is how many there are besides."""

    at: float
    project: str
    since: float
    period_s: float
    all_projects: bool
    standing: Standing
    counts: Counts
    sessions: int
    sessions_without_moment: int
    last_given_at: float | None
    periods: tuple[Period, ...] = ()
    projects: tuple[ProjectFigures, ...] = ()
    silences: tuple[Silence, ...] = ()
    cuts: tuple[Cut, ...] = ()
    limits: tuple[Limit, ...] = ()
    memories: tuple[MemoryFigures, ...] = field(default_factory=tuple)
    memories_left_out: int = 0

    @property
    def kept(self) -> bool:
        """Whether every limit is kept."""
        return all(limit.kept for limit in self.limits)
