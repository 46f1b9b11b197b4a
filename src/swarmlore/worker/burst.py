"""A worker for a moment: what is due now is done, then it is gone. For whoever leaves a process behind anyway."""

from __future__ import annotations

import os

from swarmlore import config
from swarmlore.clients.hook.home import spool_dir
from swarmlore.clients.hook.spool import locked
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.store.jobs import Terms
from swarmlore.worker.handlers import HANDLERS
from swarmlore.worker.running import Orders

if TYPE_CHECKING:
    from collections.abc import Callable

    from swarmlore.lore import Lore

LOCK = "burst.lock"
KINDS = tuple(kind for kind in HANDLERS if kind != "embed")  # loading the model is for those who stay


def new_owner() -> str:
    """The name under which a worker holds its leases."""
    return f"{os.getpid()}-{os.urandom(8).hex()}"


def is_due(lore: Lore, kinds: tuple[str, ...] = KINDS) -> bool:
    """Whether a job can be taken now; only reads."""
    with lore.acting():
        return lore.store.due_in(Terms("", kinds), lore.store.engine.now()) == 0


def burst(home: str, limit_s: float, outlive: Callable[[float], None]) -> None:
    """Take what is due, for so long at most, unless another process of this home is at it; the last job may take the
    time that jobs may take. This process must have one thread, and the store closed."""
    from swarmlore.worker.supervising import Worker

    fd = os.open(os.path.join(spool_dir(home), LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if locked(fd):
            orders = Orders(home, new_owner(), KINDS, until_empty=True)
            settings = config.load(home, "", os.environ).worker
            outlive(settings.job_s + limit_s)
            Worker(orders, HANDLERS, settings).work(max(0.0, limit_s), settings.job_s)
    finally:
        os.close(fd)
