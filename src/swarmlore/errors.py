"""Every error a caller can see, with its exit code and HTTP status.

Each says what happened (`message`) and what to type next (`hint`). The command line exits with `exit_code`, a server
answers with `http_status`.

    SwarmloreError
    ├── InvalidInput          2  400   the call itself is wrong
    │   └── Ambiguous         2  409   a prefix or a word fits several things
    ├── Rejected              3  422   the validation gate refused a text (layer, reason)
    ├── NotFound              4  404   no such memory, operation or file for this caller
    ├── NotAllowed            5  403   visible, but this caller may not change it
    ├── Conflict              6  409   a newer version exists
    ├── Unavailable           7  503   a provider or package is missing, or did not answer
    ├── StoreError            8  500   the store cannot be opened or used
    │   ├── StoreBusy         8  503   another process kept the store too long
    │   │   └── StoreLost     8  503   the connection to the database broke before anything was changed
    │   ├── StoreFull         8  507   no space left
    │   ├── StoreReadOnly     8  500   the file or folder cannot be written
    │   ├── StoreCorrupt      8  500   the file is damaged; it is left as it is
    │   └── StoreTooNew       8  500   written by a newer program; it is left as it is
    └── ConfigError           9  500   a setting cannot be read or used
"""

from __future__ import annotations


class SwarmloreError(Exception):
    """An error that a user can act on."""

    exit_code = 1
    http_status = 500

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without calling __init__, whose arguments differ by class, so that errors cross processes."""
        return _restored, (type(self), self.args, dict(self.__dict__))


def _restored(kind: type[SwarmloreError], args: tuple[object, ...], facts: dict[str, object]) -> SwarmloreError:
    made = kind.__new__(kind, *args)
    made.args = args
    made.__dict__.update(facts)
    return made


class InvalidInput(SwarmloreError):
    exit_code = 2
    http_status = 400


class Ambiguous(InvalidInput):
    """Several things fit; `candidates` names those that the caller may see."""

    http_status = 409

    def __init__(self, message: str, hint: str = "", candidates: tuple[str, ...] = (), code: str = "AMBIGUOUS") -> None:
        super().__init__(message, hint)
        self.candidates = candidates
        self.code = code


class Rejected(SwarmloreError):
    """The validation gate refused a text; `layer` is 1 structure, 2 safety, 3 meaning."""

    exit_code = 3
    http_status = 422

    def __init__(self, reason: str, layer: int, hint: str = "") -> None:
        super().__init__(reason, hint)
        self.reason = reason
        self.layer = layer


class NotFound(SwarmloreError):
    exit_code = 4
    http_status = 404


class NotAllowed(SwarmloreError):
    exit_code = 5
    http_status = 403


class Conflict(SwarmloreError):
    exit_code = 6
    http_status = 409


class Unavailable(SwarmloreError):
    exit_code = 7
    http_status = 503


class StoreError(SwarmloreError):
    exit_code = 8
    http_status = 500


class StoreBusy(StoreError):
    http_status = 503


class StoreLost(StoreBusy):
    """The connection to the database broke before anything was changed."""


class StoreFull(StoreError):
    http_status = 507


class StoreReadOnly(StoreError):
    """The file or folder of the store cannot be written."""


class StoreCorrupt(StoreError):
    """The file of the store is damaged; it is left as it is."""


class StoreTooNew(StoreError):
    """The store was written by a newer program; it is left as it is."""


class ConfigError(SwarmloreError):
    exit_code = 9
