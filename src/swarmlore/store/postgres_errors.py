"""What a PostgreSQL server or its driver says, in our words: what happened, and what to do next."""

from __future__ import annotations

import psycopg
import psycopg.conninfo
from psycopg import errors as pg

from swarmlore import errors
from swarmlore.domain.language.display import is_ambiguous

ROLE = "swarmlore_app"


def check_address(url: str) -> None:
    """Raise for an address that cannot be read; none of it is repeated, as any part may belong to the password."""
    hint = "write @ : / # % of a password as %40 %3A %2F %23 %25"
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise errors.ConfigError("the address of the store cannot be read", hint) from None
    if is_ambiguous(url):
        raise errors.ConfigError("it is not clear where the password in the address of the store ends", hint)


_REASONS = {
    "password authentication failed": "the password was not accepted",
    "no password supplied": "it asks for a password",
    "does not exist": "there is no such database or role",
    "could not translate host name": "the host is not known",
    "refused": "nothing answers there",
    "No such file": "nothing answers there",
    "timeout": "it did not answer in time",
}


def why_unreachable(said: str) -> str:
    """The reason in our words; the driver's own may repeat what was typed."""
    return next((f": {why}" for words, why in _REASONS.items() if words in said), "")


def may_come_back(error: psycopg.OperationalError) -> bool:
    """Whether the server seems to be on its way up or down; the driver tells it in words only."""
    said = str(error)
    return any(words in said for words in ("starting up", "shutting down", "recovery", "refused", "No such file"))


LOST = ("the connection to the database broke; nothing was changed", "try again in a moment")


def translated(error: Exception, path: str) -> Exception:
    """What went wrong in our words, with what to do next; a mistake of ours stays as it is."""
    if isinstance(error, pg.UniqueViolation):
        return errors.Conflict("that id is taken", "give another one, or none")
    if isinstance(error, (pg.InsufficientPrivilege, pg.UndefinedTable, pg.InvalidSchemaName)):
        why = (error.diag.message_primary or "not permitted").strip()
        return errors.StoreError(f"{path}: {why}", f"ask its administrator: GRANT {ROLE} TO your role")
    for kinds, kind, message, hint in _MEANINGS:
        if isinstance(error, kinds):
            return kind(message.format(path=path), hint)
    return error


# A lone surrogate, a NUL, a number beyond 64 bits.
_ODD_VALUES: tuple[type[Exception], ...] = (UnicodeError, OverflowError, psycopg.DataError)
_MEANINGS: tuple[tuple[tuple[type[Exception], ...], type[errors.SwarmloreError], str, str], ...] = (
    (
        (*_ODD_VALUES, pg.IntegrityError),
        errors.InvalidInput,
        "a value was given that cannot be stored or looked for",
        "give Unicode text, and numbers of usual size",
    ),
    (
        (pg.LockNotAvailable, pg.TooManyConnections, pg.DeadlockDetected, pg.SerializationFailure),
        errors.StoreBusy,
        "others are using the store",
        "try again in a moment",
    ),
    ((pg.DiskFull,), errors.StoreFull, "no space left for {path}; nothing was changed", "free some space there"),
    ((pg.ReadOnlySqlTransaction,), errors.StoreReadOnly, "{path} cannot be written", "connect to the primary server"),
    (
        (pg.ProgramLimitExceeded,),
        errors.InvalidInput,
        "a value is too long for an index of the database",
        "give a shorter key, entity or name",
    ),
    ((pg.QueryCanceled,), errors.StoreBusy, "the database took too long and gave it up", "try again in a moment"),
    (
        (pg.InFailedSqlTransaction,),
        errors.StoreLost,
        "the transaction was given up before; nothing was changed",
        "try again in a moment",
    ),
    ((psycopg.OperationalError,), errors.StoreLost, *LOST),
)
