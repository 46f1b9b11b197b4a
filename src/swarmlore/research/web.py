"""The user's own command that searches the web: run without a shell, for a limited time, its output as data.

Only the user's configuration can name it, never a project's. It gets the question as its last word, or where {question}
stands. What it prints is text with addresses in it, or JSON: a list of objects with `url`, `title` and `text`.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from swarmlore.domain.security.safety import INJECTION, OVERRIDE, inspect_safety
from swarmlore.errors import ConfigError, Unavailable
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.research.records import Finding
from swarmlore.workspace.codebase import is_binary

if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 400_000
MOST_FOUND = 200
TEXT_CHARS = 420
FROM = "from the web, nobody vouches for it"
TICK_S = 0.2  # how soon it is seen that a command has ended and left its output open
_URL = re.compile(r"https?://[^\s\x00-\x1f\x7f<>\"'`)\]}]{3,300}")
_CONTROL = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
HOW = "name a command that searches: swarmlore config research.web_command 'COMMAND {question}'"


class Web:
    """One search of the web, which can be stopped."""

    def __init__(self, command: str, timeout_s: float) -> None:
        self._words = _words(command)
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self.notes: list[str] = []

    def search(self, question: str, limit: int) -> tuple[Finding, ...]:
        """What the command found, without what gives orders to a model; raises Unavailable where it failed. `notes`
        tell afterwards what a reader should not take for whole."""
        data = self._run(question)
        if is_binary(data):
            raise Unavailable("the web command printed something that is no text", HOW)
        found = list(islice(_findings(data.decode("utf-8", "replace")), MOST_FOUND))
        kept = [item for item in found if not _gives_orders(item)]
        if len(kept) < len(found):
            self.notes.append(f"{len(found) - len(kept)} of the web's findings gave orders to agents and were left out")
        return tuple(kept[:limit])

    def _run(self, question: str) -> bytes:
        filled = [word.replace("{question}", question) for word in self._words]
        command = filled if filled != self._words else [*filled, question]
        try:
            # A session of its own: what the command started in turn ends with it.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "a NUL in it"
            raise Unavailable(f"the web command could not be started: {why}", HOW) from error
        with self._process as process:
            data, late = self._read(process)
            self.stop()
        self._process = None  # its number may be another's from now on
        if late and not data:
            raise Unavailable(f"the web command said nothing within {self._timeout_s:g} seconds", HOW)
        if process.returncode and not data:
            raise Unavailable(f"the web command ended with {process.returncode} and found nothing", HOW)
        if late:
            self.notes.append(f"the web command was ended after {self._timeout_s:g} seconds: it may have found more")
        elif len(data) >= MOST_BYTES:
            self.notes.append(f"the web command printed more than {MOST_BYTES:,} bytes: the rest was not read")
        elif process.returncode > 0:
            self.notes.append(f"the web command ended with {process.returncode}: it may have found more")
        return data

    def _read(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bool]:
        """What it prints, until it ends, has printed enough or its time is over; and whether it was. The pipe may
        stay open longer than the command lives: a child that it left behind holds it."""
        ends_at = time.monotonic() + self._timeout_s
        data = b""
        while process.stdout and len(data) < MOST_BYTES:
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, min(TICK_S, ends_at - time.monotonic())))
            part = os.read(process.stdout.fileno(), MOST_BYTES - len(data)) if ready else b""
            if not part and (ready or process.poll() is not None):
                break
            if time.monotonic() >= ends_at:
                return data + part, True
            data += part
        self._wait(process, ends_at)
        return data, False

    def _wait(self, process: subprocess.Popen[bytes], ends_at: float) -> None:
        """Its exit code, where it has closed its output and is about to end."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, min(TICK_S, ends_at - time.monotonic())))

    def stop(self) -> None:
        """End the command and what it started, if it is still at work."""
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"research.web_command cannot be read: {error}", HOW) from error
    if not words:
        raise ConfigError("no command for the web is configured", HOW)
    return words


def _findings(text: str) -> Iterator[Finding]:
    listed = _listed(text)
    if listed is not None:
        for item in listed:
            said = str(item.get("text") or item.get("snippet") or item.get("description") or item.get("title") or "")
            place = str(item.get("url") or item.get("link") or "web")
            if said.strip():
                yield _finding(said, place, str(item.get("title") or ""))
        return
    place = "web"
    for part in re.split(r"\n\s*\n", text):
        named = _URL.search(part)
        place = named[0].rstrip(".,;") if named else place
        said = _URL.sub("", part).strip(" -*\n\t")
        if len(said.split()) >= 3:
            yield _finding(said, place, "")


def _gives_orders(item: Finding) -> bool:
    """Whether a text speaks to the model that will read it; what it says about commands is its own business."""
    return any(found.reason in (OVERRIDE, INJECTION) for found in inspect_safety(f"{item.title}: {item.text}"))


def _finding(said: str, place: str, title: str) -> Finding:
    address = place if _URL.fullmatch(place) else "web"
    bare = _CONTROL.sub(" ", said[: 8 * TEXT_CHARS])  # a command may print in colours
    return Finding(" ".join(bare.split())[:TEXT_CHARS], "web", address, title=title[:120], how=FROM, trust=1)


def _listed(text: str) -> list[dict[str, Any]] | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict):
        data = data.get("results", [data])
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else None
