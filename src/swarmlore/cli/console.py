"""Runs one command line: parses it, opens the store or server, and prints answers, notes, errors and questions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from swarmlore.cli.command_table import ALIASES, COMMANDS, GROUPS, URL, is_for_server, load_command, refusal
from swarmlore.cli.layout import Page, clean, fold, json_text
from swarmlore.cli.render import memories
from swarmlore.domain.language.display import did_you_mean
from swarmlore.errors import InvalidInput, StoreError, SwarmloreError, Unavailable
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TextIO

    from swarmlore.cli.terminal import Progress
    from swarmlore.domain.records import Block
    from swarmlore.lore import Lore
    from swarmlore.server.client.remote_lore import CheckoutLore


YES = ("y", "yes")
WRITER_S = 2.0  # to wait for another writer, before a command goes on without the spooled hook events
DRAIN_S = 20.0  # to digest spooled hook events: enough for a hundred sessions, not for a year of them
HOW_TO_LIST = "swarmlore --help lists the commands"


class Declined(Exception):
    """Raised when a person answers no to a question; not an error, and nothing was changed."""


class Console:
    """One run of the command line: its arguments, its output streams and the memory it works on."""

    args: Any  # the argparse namespace of the command

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.command = ""
        options = self.words[: self.words.index("--")] if "--" in self.words else self.words
        self.json = "--json" in options
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # a terminal may lack UTF-8

    def serve(self) -> int:
        """Run the command that the words name and return its exit code."""
        from swarmlore.cli.arguments import parse, split_command

        name, rest = split_command(self.words)
        if name == "help":
            name, rest = (rest[0], ["--help"]) if rest else ("", [])
        if not name:
            return self._without_command(rest)
        verb, others = split_command(rest)
        if (name, verb) in ALIASES:
            name, rest = ALIASES[name, verb], others
        if name not in COMMANDS:
            raise InvalidInput(f"unknown command: {name}", did_you_mean(name, COMMANDS) or HOW_TO_LIST)
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
        from swarmlore.cli.arguments import suggest_flag

        if "--version" in words or "-V" in words:
            return self.show(lambda: {"version": swarmlore.__version__}, lambda _: f"swarmlore {swarmlore.__version__}")
        unknown = [word for word in words if word not in ("-h", "--help", "--json")]
        if unknown:
            hint = suggest_flag(unknown[0], ("--help", "--json", "--version")) or HOW_TO_LIST
            raise InvalidInput(f"no command was given with {unknown[0]}", hint)
        return self.show(lambda: {"commands": COMMANDS}, lambda page: memories.overview(GROUPS, COMMANDS, page))

    def open(self) -> Lore:
        """Open the memory of the chosen home for the project of the chosen folder, or the server's memory if this
        command goes to one."""
        if self.asks_server:
            return self.ask_server()  # type: ignore[return-value]  # has every method of `Lore` that commands call
        from swarmlore.lore import Lore

        profile = getattr(self.args, "profile", None)
        lore = Lore.open(
            self.home,
            cwd=self.folder,
            flags={"recall.profile": profile} if profile else None,
            interactive=_is_terminal(sys.stdin) or _is_terminal(sys.stdout),  # `list | less` is still a person
            client="cli",
        )
        if problem := _drain_spool(lore):
            self.note(problem)
        return _writing_through_server(lore, profile or "")

    @property
    def asks_server(self) -> bool:
        """Whether the server in SWARMLORE_URL answers this command."""
        return is_for_server(self.command, self.args.home, os.environ)

    def ask_server(self) -> CheckoutLore:
        """Connect to the server in SWARMLORE_URL, after sending the hook events in the outbox."""
        from swarmlore.config import home_dir
        from swarmlore.server.client.remote_lore import CheckoutLore

        if self.args.project:
            raise InvalidInput("a token is for one project", f"leave out --project, or: env -u {URL} swarmlore …")
        home = home_dir(os.environ)
        _send_outbox(home)
        return CheckoutLore(os.environ, home, self.folder, getattr(self.args, "profile", None) or "")

    @property
    def home(self) -> str | None:
        """The folder given with --home, or None if there was none."""
        return os.path.expanduser(self.args.home) if self.args.home else None

    @property
    def home_folder(self) -> str:
        """The absolute path of the folder given with --home, else of the default home."""
        from swarmlore.config import home_dir

        return os.path.abspath(self.home or home_dir(os.environ))

    @property
    def folder(self) -> str:
        """The folder whose project the command works on: --project, else the current folder."""
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
        """Print the JSON document with --json, else the text, and return exit code 0.

        The text is wrapped to the terminal unless `whole` is set, for scripts, code and tables.
        """
        if self.json:
            _write(sys.stdout, json_text(document()))
        elif words := text(page := _page(sys.stdout)):
            _write(sys.stdout, (words if whole else fold(words, page)) + "\n")
        return 0

    def give(self, block: Block) -> int:
        """Print a context block unchanged to standard output; if it is empty, print the reason to standard error."""
        from swarmlore.domain.json_codec import plain

        document = {"block": block.text, "receipt": plain(block.receipt)}
        self.show(lambda: document, lambda _: clean(block.text), whole=True)
        if not block.text and not self.json:
            self.note(f"nothing is given: {block.receipt.reason}")
        return 0

    def note(self, text: str) -> None:
        """Print a remark to standard error, so that it stays out of pipes."""
        _write(sys.stderr, memories.note(text, _page(sys.stderr)) + "\n")

    def fail(self, error: SwarmloreError) -> None:
        """Print an error with its hint: to standard error, or as JSON to standard output."""
        if self.json:
            from swarmlore.domain.json_codec import failure

            _write(sys.stdout, json_text(failure(error)))
        else:
            _write(sys.stderr, memories.failure(error, _page(sys.stderr)) + "\n")
        self.flush()

    def flush(self) -> None:
        """Flush both streams now, so that a full disk or a closed pipe can still be reported."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()

    # Questions

    def confirm(self, question: str) -> None:
        """Return if --yes was given or a person answers yes; raise Declined on a no."""
        if self.args.yes:
            return
        if not self.can_ask:
            raise InvalidInput("this needs a yes, and nobody can be asked", "add --yes")
        if _asked(f"{question} [y/N]").strip().lower() not in YES:
            raise Declined

    def ask(self, question: str) -> str | None:
        """Ask a person and return the line they type; return None at end of input (Ctrl-D)."""
        reply = _asked(question)
        return reply.strip() if reply.endswith("\n") else reply.strip() or None

    @property
    def can_ask(self) -> bool:
        """Whether standard input and standard error are terminals, so that a person can answer."""
        return _is_terminal(sys.stdin) and _is_terminal(sys.stderr)

    @property
    def is_seen(self) -> bool:
        """Whether standard output is a terminal: a person can only agree to changes they see."""
        return _is_terminal(sys.stdout)

    def progress(self, doing: str) -> Progress:
        """Return a progress display on standard error for the named work."""
        from swarmlore.cli.terminal import Progress

        return Progress(doing, sys.stderr, terminal=_is_terminal(sys.stderr))


def _asked(question: str) -> str:
    """Print a question to standard error and read one line; without its newline at end of input (Ctrl-D)."""
    _write(sys.stderr, fold(clean(question), _page(sys.stderr)) + " ")
    sys.stderr.flush()
    try:
        reply = sys.stdin.readline()
    except KeyboardInterrupt:
        _write(sys.stderr, "\n")  # the next prompt stands on a line of its own
        raise
    if not reply.endswith("\n"):
        _write(sys.stderr, "\n")
    return reply


def _writing_through_server(lore: Lore, profile: str) -> Lore:
    """Wrap `lore` so that a server running on its home makes the changes. PostgreSQL needs no wrapper: it orders its
    writers itself."""
    if lore.store.engine.remote or not os.path.exists(os.path.join(lore.home, "serve.lock")):
        return lore
    from swarmlore.server.client.local_server import ServerWriteLore

    return ServerWriteLore(lore, profile)  # type: ignore[return-value]  # delegates every method of `Lore`


def _drain_spool(lore: Lore) -> str:
    """Digest spooled hook events before the command runs; an empty spool costs one look at a folder.

    Return a warning if that failed: the events stay in the spool, and the command runs without them.
    """
    from swarmlore.clients.hook.home import socket_path, spool_dir
    from swarmlore.clients.hook.spool import has_events

    try:
        if os.path.lexists(socket_path(lore.home)):
            from swarmlore.server.daemon_lock import tidy

            tidy(lore.home)
        if has_events(spool_dir(lore.home)) and not lore.store.engine.readonly:
            from swarmlore.capture.pipeline import SpoolReader

            with lore.store.engine.hurried(WRITER_S):
                SpoolReader(lore).drain(DRAIN_S)
    except (StoreError, OSError) as error:
        why = error.message if isinstance(error, StoreError) else error.strerror or type(error).__name__
        return f"what hooks reported could not be taken in yet: {why}"
    return ""


def _send_outbox(home: str) -> None:
    """Send hook events in the outbox to the server before the command runs; an empty outbox costs one look."""
    from swarmlore.clients.hook.home import outbox_dir
    from swarmlore.clients.hook.spool import has_events

    if has_events(outbox_dir(home)):
        from swarmlore.server.client.outbox import send_waiting

        send_waiting(home, os.environ, DRAIN_S)


def _is_terminal(stream: TextIO | None) -> bool:
    # A stream is None if the process was started without it.
    return stream is not None and not stream.closed and stream.isatty()


def _page(stream: TextIO | None) -> Page:
    terminal = _is_terminal(stream)
    bare = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "")
    return Page(_width(stream, terminal), colour=terminal and not bare)


def _width(stream: TextIO | None, terminal: bool) -> int:
    """Return the columns to wrap at; 0 if the stream is no terminal, so that lines stay whole for grep and agents."""
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
