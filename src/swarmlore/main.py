"""Entry points of the installed commands: run a command line or a hook, and report failures with an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.cli.console import Console
    from swarmlore.clients.hook.event import Event
    from swarmlore.clients.hook.main import Places
    from swarmlore.errors import SwarmloreError

INTERRUPTED = 130  # as a shell reports SIGINT
PIPE_CLOSED = 141  # as a shell reports SIGPIPE
DEBUG = "SWARMLORE_DEBUG"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code, or ends the process with it when called as a program."""
    words = list(sys.argv[1:] if argv is None else argv)
    is_hook = words[:1] == ["hook"] and not {"-h", "--help"} & set(words)
    code = _hook(words[1:]) if is_hook else _command(words)
    if argv is None:
        _leave_at_once(code)
    return code


def learnings() -> int:
    """Run the command `learnings …`, an alias of `swarmlore learnings …`."""
    return _under("learnings")


def search_learnings() -> int:
    """Run the command `search-learnings …`, an alias of `swarmlore search-learnings …`."""
    return _under("search-learnings")


def _under(name: str) -> int:
    code = _command([name, *sys.argv[1:]])
    _leave_at_once(code)
    return code


def _command(words: list[str]) -> int:
    from swarmlore.cli.console import Console

    console = Console(words)
    try:
        code = console.serve()
        console.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 - the last resort: a user gets a message, not a traceback
        code = _fail(console, error)
    _drop_broken_streams()
    return code


def _hook(words: list[str]) -> int:
    """Run a hook for a client that waits; only modules that a hook needs are imported."""
    if "--lines" in words:
        from swarmlore.clients.hook.stream import run
    else:
        from swarmlore.clients.hook.main import run
    return run(words, _answer_alone, _digest_afterwards)


def _leave_at_once(code: int) -> None:
    """Exit without interpreter teardown, which takes longer than start-up; everything is written and closed by now."""
    _drop_broken_streams()
    os._exit(code)


def _answer_alone(event: Event, places: Places) -> str:
    from swarmlore.server.hook_fallback import answer

    return answer(event, places)


def _digest_afterwards(places: Places) -> None:
    from swarmlore.server.hook_fallback import digest_afterwards

    digest_afterwards(places)


def _fail(console: Console, error: Exception) -> int:
    """Print an error, if an output stream is still open, and return its exit code."""
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exception(error)
    ours = _in_our_words(error)
    _drop_broken_streams()
    try:
        console.fail(ours)
    except BrokenPipeError:
        return PIPE_CLOSED
    except OSError:
        return ours.exit_code  # no stream is left to print to
    return ours.exit_code


def _in_our_words(error: Exception) -> SwarmloreError:
    """Return the error of our own tree for any exception."""
    from swarmlore.errors import SwarmloreError

    if isinstance(error, SwarmloreError):
        return error
    if isinstance(error, OSError):
        return _of_the_system(error)
    # Show neither message nor traceback, for both can hold the text of a memory.
    return SwarmloreError(
        f"something unforeseen happened ({type(error).__name__})",
        f"please report it; {DEBUG}=1 shows where",
    )


def _of_the_system(error: OSError) -> SwarmloreError:
    """Return our error for an OSError, with the path and a hint."""
    import errno

    from swarmlore.errors import StoreFull, SwarmloreError

    said = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or type(error).__name__
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"there is no space left ({said})", "free some space and try again")
    return SwarmloreError(said, f"check the path and its permissions; {DEBUG}=1 shows more")


def _drop_broken_streams() -> None:
    """Redirect streams that cannot be written to the null device, so that the final flush is silent."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
