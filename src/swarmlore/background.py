"""Background computation: run a function in a thread or later, and collect its result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class BackgroundResult:
    """A result computed in a thread, for work that releases the GIL: the model, a matrix product."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute = compute
        self._value: Any = None
        self._error: BaseException | None = None
        # In the same context, so that context variables such as the caller are kept.
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._compute()
        except BaseException as error:  # noqa: BLE001  # raised again by result()
            self._error = error

    def is_done(self, wait_s: float) -> bool:
        """Return whether the result is available, waiting at most `wait_s` seconds."""
        self._thread.join(wait_s)
        return not self._thread.is_alive()

    def result(self) -> Any:
        """Wait for the result and return it, or raise the error of the computation."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._value


class DeferredResult:
    """The interface of `Meanwhile` without a thread: computed on demand, where others need the processors."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute = compute

    def result(self) -> Any:
        """Compute the result and return it."""
        return self._compute()
