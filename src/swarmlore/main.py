"""The composition root: from words on the command line to one command, and from a failure to words and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from swarmlore.errors import StoreFull, SwarmloreError
from swarmlore.surfaces.cli.desk import Desk

INTERRUPTED = 130  # as a shell reports SIGINT
PIPE_CLOSED = 141  # as a shell reports SIGPIPE
DEBUG = "SWARMLORE_DEBUG"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code."""
    desk = Desk(list(sys.argv[1:] if argv is None else argv))
    try:
        code = desk.serve()
        desk.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = _leave_quietly()
    except Exception as error:  # noqa: BLE001 - the last door: a user gets words, not a traceback
        code = _fail(desk, error)
    return code


def _fail(desk: Desk, error: Exception) -> int:
    """Say what went wrong; a reader who left meanwhile is no second failure."""
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exception(error)
    try:
        return desk.fail(_in_our_words(error))
    except BrokenPipeError:
        return _leave_quietly()


def _in_our_words(error: Exception) -> SwarmloreError:
    if isinstance(error, SwarmloreError):
        return error
    if isinstance(error, OSError):
        return _of_the_system(error)
    # Neither the message nor the traceback: both can hold the text of a memory.
    return SwarmloreError(
        f"something unforeseen happened ({type(error).__name__})",
        f"please report it; {DEBUG}=1 shows where",
    )


def _of_the_system(error: OSError) -> SwarmloreError:
    import errno

    said = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or type(error).__name__
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"there is no space left ({said})", "free some space and try again")
    return SwarmloreError(said, f"check the path and its permissions; {DEBUG}=1 shows more")


def _leave_quietly() -> int:
    """Point the standard streams away from the closed pipe, so that the interpreter's last flush is silent."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError, AttributeError):
            continue  # replaced or closed: nothing of ours is left to flush there
    os.close(nowhere)
    return PIPE_CLOSED
