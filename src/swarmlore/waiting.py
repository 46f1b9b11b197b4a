"""Whether jobs are done: how many wait and for how long, which were given up, who works."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from swarmlore.doctor import Check
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.mail import Mail
    from swarmlore.store.store import Store

STUCK_S = 3_600.0  # a job that waits for longer than this is not being looked after


def checks(store: Store, mail: Mail, queue_limit: int) -> Iterator[Check]:
    """What `doctor` says about the queue."""
    now = mail.now()
    counts = store.job_counts()
    yield _queue([row for row in counts if row[0] != "dead"], queue_limit, now)
    if dead := sum(many for state, _, many, _ in counts if state == "dead"):
        own = mail.dead_letters(1, all_projects=False)
        said = f"; the last: {own[0].error}" if own else ", none of them in this project or yours"
        hint = "swarmlore mail dead" if own else "swarmlore mail dead --all, at a terminal"
        yield Check("dead letters", "warn", f"{_jobs(dead)} given up{said}", hint)
    seen = store.workers(1)
    said = f"last seen {_long(now - seen[0].seen_at)} ago on {seen[0].host}" if seen else "none in the last day"
    yield Check("worker", "ok", said)


def _queue(counts: Sequence[tuple[str, str, int, float]], limit: int, now: float) -> Check:
    """Vectors that wait have a check of their own: they are also made when somebody asks."""
    counts = [row for row in counts if row[1] != "embed"]
    total = sum(many for _, _, many, _ in counts)
    running = sum(many for state, _, many, _ in counts if state == "running")
    oldest = min((since for *_, since in counts), default=now)
    at_work = f", {running} of them at work" if running else ""
    said = f"{_jobs(total)} waiting{at_work}, the oldest for {_long(now - oldest)}" if total else "nothing waits"
    if total >= limit:
        return Check("queue", "warn", f"full, {said}; what hooks report stays in the spool", "swarmlore worker")
    if now - oldest > STUCK_S:
        return Check("queue", "warn", said, "swarmlore worker does what waits")
    return Check("queue", "ok", said)


def _jobs(number: int) -> str:
    return "1 job" if number == 1 else f"{number} jobs"


def _long(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
