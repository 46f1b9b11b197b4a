"""Where a command meets its user: words in, answers and questions out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from swarmlore.cli.command_table import COMMANDS, GROUPS, SAME, URL, is_asked, load_command, refusal
from swarmlore.cli.layout import Page, clean, fold, json_text
from swarmlore.cli.render import memories
from swarmlore.domain.language.display import meant
from swarmlore.errors import InvalidInput, StoreError, SwarmloreError, Unavailable
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TextIO

    from swarmlore.cli.terminal import Progress
    from swarmlore.domain.records import Block
    from swarmlore.lore import Lore
    from swarmlore.server.client.remote_lore import AwayLore


YES = ("y", "yes")
WRITER_S = 2.0  # for another writer, before a command goes on without what hooks left behind
TAKE_IN_S = 20.0  # for what hooks left behind: a hundred sessions, not a year of them
HOW_TO_LIST = "swarmlore --help lists the commands"


class Declined(Exception):
    """A person was asked, and does not want it: no error, and nothing was changed."""


class Desk:
    """One command line: its arguments, its streams, and the memory it works on."""

    args: Any  # the argparse namespace of the command

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.command = ""
        options = self.words[: self.words.index("--")] if "--" in self.words else self.words
        self.json = "--json" in options
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # no terminal is too old for a memory

    def serve(self) -> int:
        """Run the command that the words name; returns its exit code."""
        from swarmlore.cli.arguments import parse, split_command

        name, rest = split_command(self.words)
        if name == "help":
            name, rest = (rest[0], ["--help"]) if rest else ("", [])
        if not name:
            return self._without_command(rest)
        verb, others = split_command(rest)
        if (name, verb) in SAME:
            name, rest = SAME[name, verb], others
        if name not in COMMANDS:
            raise InvalidInput(f"unknown command: {name}", meant(name, COMMANDS) or HOW_TO_LIST)
        self.command = name
        try:
            self.args = parse(name, rest, _page(sys.stdout).width)
        except SystemExit as stop:  # argparse printed the help
            return int(stop.code or 0)
        if refused := refusal(name, self.args.home, os.environ):
            raise Unavailable(*refused)
        try:
            return int(load_command(name).run(self))
        except Declined:
            return self.show(lambda: {"changed": False}, lambda _: "Nothing was changed.")

    def _without_command(self, words: Sequence[str]) -> int:
        import swarmlore
        from swarmlore.cli.arguments import flag_meant

        if "--version" in words or "-V" in words:
            return self.show(lambda: {"version": swarmlore.__version__}, lambda _: f"swarmlore {swarmlore.__version__}")
        strange = [word for word in words if word not in ("-h", "--help", "--json")]
        if strange:
            hint = flag_meant(strange[0], ("--help", "--json", "--version")) or HOW_TO_LIST
            raise InvalidInput(f"no command was given with {strange[0]}", hint)
        return self.show(lambda: {"commands": COMMANDS}, lambda page: memories.overview(GROUPS, COMMANDS, page))

    def open(self) -> Lore:
        """The memory of the chosen home, for the project of the chosen folder; where the environment names a server
        and the command is one for it, the memory there."""
        if self.asks_server:
            return self.ask_server()  # type: ignore[return-value]  # what commands want of a memory, it has
        from swarmlore.lore import Lore

        profile = getattr(self.args, "profile", None)
        lore = Lore.open(
            self.home,
            cwd=self.folder,
            flags={"recall.profile": profile} if profile else None,
            interactive=_is_terminal(sys.stdin) or _is_terminal(sys.stdout),  # `list | less` is still a person
            client="cli",
        )
        if problem := _take_in(lore):
            self.note(problem)
        return _through_server(lore, profile or "")

    @property
    def asks_server(self) -> bool:
        """Whether this command is answered by a server on another machine."""
        return is_asked(self.command, self.args.home, os.environ)

    def ask_server(self) -> AwayLore:
        from swarmlore.config import home_dir
        from swarmlore.server.client.remote_lore import AwayLore

        if self.args.project:
            raise InvalidInput("a token is for one project", f"leave out --project, or: env -u {URL} swarmlore …")
        home = home_dir(os.environ)
        _send_off(home)
        return AwayLore(os.environ, home, self.folder, getattr(self.args, "profile", None) or "")

    @property
    def home(self) -> str | None:
        """The home folder that was asked for, or None for the usual one."""
        return os.path.expanduser(self.args.home) if self.args.home else None

    @property
    def folder(self) -> str:
        """The folder whose project is meant."""
        chosen: str | None = self.args.project
        if chosen:
            if not os.path.isdir(chosen):
                raise InvalidInput(f"{chosen} is not a folder", "--project takes a folder of the project")
            return os.path.abspath(chosen)
        try:
            return os.getcwd()
        except OSError:
            raise InvalidInput("the current folder is gone", "cd to one that exists, or use --project PATH") from None

    # Answers

    def show(self, document: Callable[[], Any], text: Callable[[Page], str], *, whole: bool = False) -> int:
        """Answer with a document for programs or a text for people, which is wrapped unless its lines must stay whole:
        scripts, code, tables. Always succeeds."""
        if self.json:
            _write(sys.stdout, json_text(document()))
        elif words := text(page := _page(sys.stdout)):
            _write(sys.stdout, (words if whole else fold(words, page)) + "\n")
        return 0

    def give(self, block: Block) -> int:
        """A block goes to standard output as it is; why there is none, to standard error."""
        from swarmlore.domain.json_codec import plain

        document = {"block": block.text, "receipt": plain(block.receipt)}
        self.show(lambda: document, lambda _: clean(block.text), whole=True)
        if not block.text and not self.json:
            self.note(f"nothing is given: {block.receipt.reason}")
        return 0

    def note(self, text: str) -> None:
        """Something beside the answer, where it does not get into a pipe."""
        _write(sys.stderr, memories.note(text, _page(sys.stderr)) + "\n")

    def fail(self, error: SwarmloreError) -> None:
        """Say what happened and what to type."""
        if self.json:
            from swarmlore.domain.json_codec import failure

            _write(sys.stdout, json_text(failure(error)))
        else:
            _write(sys.stderr, memories.failure(error, _page(sys.stderr)) + "\n")
        self.flush()

    def flush(self) -> None:
        """Let a full disk or a closed pipe be noticed while it can still be reported."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()

    # Questions

    def confirm(self, question: str) -> None:
        """Go on only after a yes: from the flag, else from a person. A no ends the command, without being an error."""
        if self.args.yes:
            return
        if not self.can_ask:
            raise InvalidInput("this needs a yes, and nobody can be asked", "add --yes")
        _write(sys.stderr, fold(clean(question) + " [y/N]", _page(sys.stderr)) + " ")
        sys.stderr.flush()
        try:
            said = sys.stdin.readline()
        except KeyboardInterrupt:
            _write(sys.stderr, "\n")  # the next prompt stands on a line of its own
            raise
        if not said.endswith("\n"):  # Ctrl-D
            _write(sys.stderr, "\n")
        if said.strip().lower() not in YES:
            raise Declined

    def ask(self, question: str) -> str | None:
        """What a person types; None where the line ends (Ctrl-D)."""
        _write(sys.stderr, fold(clean(question), _page(sys.stderr)) + " ")
        sys.stderr.flush()
        try:
            said = sys.stdin.readline()
        except KeyboardInterrupt:
            _write(sys.stderr, "\n")
            raise
        if said.endswith("\n"):
            return said.strip()
        _write(sys.stderr, "\n")
        return said.strip() or None

    @property
    def can_ask(self) -> bool:
        """Whether a person is there to answer."""
        return _is_terminal(sys.stdin) and _is_terminal(sys.stderr)

    @property
    def is_seen(self) -> bool:
        """Whether the answer is before a person's eyes, and not in a pipe or a file: nobody agrees to what is not."""
        return _is_terminal(sys.stdout)

    def progress(self, doing: str) -> Progress:
        from swarmlore.cli.terminal import Progress

        return Progress(doing, sys.stderr, terminal=_is_terminal(sys.stderr))


def _through_server(lore: Lore, profile: str) -> Lore:
    """The same memory; where a server runs on its home, changes are made by that. A database orders its writers
    itself."""
    if lore.store.engine.remote or not os.path.exists(os.path.join(lore.home, "serve.lock")):
        return lore
    from swarmlore.server.client.local_server import Nearby

    return Nearby(lore, profile)  # type: ignore[return-value]  # all that a memory has, it has


def _take_in(lore: Lore) -> str:
    """Digest what hooks left behind, so that a command sees it; one look at a folder where there is nothing.

    Returns what is to be said where that failed: the events go on waiting, and the command goes on without them.
    """
    from swarmlore.clients.hook.home import socket_path, spool_dir
    from swarmlore.clients.hook.spool import waits

    try:
        if os.path.lexists(socket_path(lore.home)):
            from swarmlore.server.daemon_lock import tidy

            tidy(lore.home)
        if waits(spool_dir(lore.home)) and not lore.store.engine.readonly:
            from swarmlore.capture.pipeline import Digester

            with lore.store.engine.hurried(WRITER_S):
                Digester(lore).drain(TAKE_IN_S)
    except (StoreError, OSError) as error:
        why = error.message if isinstance(error, StoreError) else error.strerror or type(error).__name__
        return f"what hooks reported could not be taken in yet: {why}"
    return ""


def _send_off(home: str) -> None:
    """Send what hooks left for the server, so that a command sees it; one look at a folder where there is nothing."""
    from swarmlore.clients.hook.home import outbox_dir
    from swarmlore.clients.hook.spool import waits

    if waits(outbox_dir(home)):
        from swarmlore.server.client.outbox import send_waiting

        send_waiting(home, os.environ, TAKE_IN_S)


def _is_terminal(stream: TextIO | None) -> bool:
    # A stream is None where the process was started without it.
    return stream is not None and not stream.closed and stream.isatty()


def _page(stream: TextIO | None) -> Page:
    terminal = _is_terminal(stream)
    bare = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "")
    return Page(_width(stream, terminal), colour=terminal and not bare)


def _width(stream: TextIO | None, terminal: bool) -> int:
    """Columns to wrap at; 0, where nobody looks: lines then stay whole, for grep and for agents."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    if not terminal or stream is None:
        return 0
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except OSError:
        return 80


def _write(stream: TextIO | None, text: str) -> None:
    if stream is not None:
        stream.write(text)
