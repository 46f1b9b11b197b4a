"""The composition root: from words on the command line to one command, and from a failure to words and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.cli.console import Desk
    from swarmlore.clients.hook.event import Event
    from swarmlore.clients.hook.main import Places
    from swarmlore.errors import SwarmloreError

INTERRUPTED = 130  # as a shell reports SIGINT
PIPE_CLOSED = 141  # as a shell reports SIGPIPE
DEBUG = "SWARMLORE_DEBUG"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code, or ends the process with it where that is all it is for."""
    words = list(sys.argv[1:] if argv is None else argv)
    is_hook = words[:1] == ["hook"] and not {"-h", "--help"} & set(words)
    code = _hook(words[1:]) if is_hook else _command(words)
    if argv is None:
        _leave_at_once(code)
    return code


def learnings() -> int:
    """`learnings …` is `swarmlore learnings …`."""
    return _under("learnings")


def search_learnings() -> int:
    """`search-learnings …` is `swarmlore search-learnings …`."""
    return _under("search-learnings")


def _under(name: str) -> int:
    code = _command([name, *sys.argv[1:]])
    _leave_at_once(code)
    return code


def _command(words: list[str]) -> int:
    from swarmlore.cli.console import Desk

    desk = Desk(words)
    try:
        code = desk.serve()
        desk.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 - the last door: a user gets words, not a traceback
        code = _fail(desk, error)
    _drop_broken_streams()
    return code


def _hook(words: list[str]) -> int:
    """A client waits: nothing is imported that a hook does not need."""
    if "--lines" in words:
        from swarmlore.clients.hook.stream import run
    else:
        from swarmlore.clients.hook.main import run
    return run(words, _answer_alone, _digest_afterwards)


def _leave_at_once(code: int) -> None:
    """Somebody waits for the end of the process, and taking an interpreter apart takes longer than starting one. By now
    everything is written and closed."""
    _drop_broken_streams()
    os._exit(code)


def _answer_alone(event: Event, places: Places) -> str:
    from swarmlore.server.hook_fallback import answer

    return answer(event, places)


def _digest_afterwards(places: Places) -> None:
    from swarmlore.server.hook_fallback import digest_afterwards

    digest_afterwards(places)


def _fail(desk: Desk, error: Exception) -> int:
    """Say what went wrong, where there is still a place to say it."""
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exception(error)
    ours = _in_our_words(error)
    _drop_broken_streams()
    try:
        desk.fail(ours)
    except BrokenPipeError:
        return PIPE_CLOSED
    except OSError:
        return ours.exit_code  # nobody can be told; the exit code says it
    return ours.exit_code


def _in_our_words(error: Exception) -> SwarmloreError:
    from swarmlore.errors import SwarmloreError

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

    from swarmlore.errors import StoreFull, SwarmloreError

    said = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or type(error).__name__
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"there is no space left ({said})", "free some space and try again")
    return SwarmloreError(said, f"check the path and its permissions; {DEBUG}=1 shows more")


def _drop_broken_streams() -> None:
    """Point a stream that cannot be written any more away, so that the interpreter's own last flush is silent."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
