"""Doing one thing while another is waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class Meanwhile:
    """Something computed in a thread. For work that lets go of the interpreter: the model, a matrix product."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute = compute
        self._value: Any = None
        self._error: BaseException | None = None
        # In the same context: for whom it is done goes with it.
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._compute()
        except BaseException as error:  # noqa: BLE001  # raised again where the result is asked for
            self._error = error

    def is_done(self, wait_s: float) -> bool:
        """Whether the result is there, or is within a moment."""
        self._thread.join(wait_s)
        return not self._thread.is_alive()

    def result(self) -> Any:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._value


class InTurn:
    """The same without a thread, computed when it is wanted: where others want the processors."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute = compute

    def result(self) -> Any:
        return self._compute()
