"""What is reflected on: a session of any client by its transcript, a file, a text. Nothing in it is followed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from swarmlore.clients.transcripts import MAX_CHARS, turns_of
from swarmlore.errors import InvalidInput, NotFound
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.clients.transcripts import Turn
    from swarmlore.domain.records import Reflection, Session
    from swarmlore.lore import Lore


LOOKED_AT = 200  # newest sessions of a project
MOST_BYTES = 32_000_000
HEAD_CHARS = 20_000  # of a transcript, in which its session is named
_IDS = {
    **dict.fromkeys(("claude", "copilot", "gemini"), r'"sessionId"\s?:\s?"([\w-]{8,128})"'),
    "opencode": r'"id"\s?:\s?"(ses_[\w-]{4,124})"',
}
_HOW = "give a transcript or a text: swarmlore reflect FILE, or - for standard input"


def home_of(env: Mapping[str, str]) -> str:
    return env.get("HOME") or os.path.expanduser("~")


@frozen
class Heard:
    """The turns of a conversation, where they come from, and when the last of them was."""

    turns: tuple[Turn, ...]
    source: str
    session: str = ""
    client: str = ""
    at: float = 0.0

    def facts(self, *, whole: bool, again: bool) -> dict[str, Any]:
        """What a reflection on it keeps; a look for one agent's file has not read it for anybody else."""
        named = {"session": self.session, "client": self.client, "source": self.source, "again": again}
        told_to = max((turn.at for turn in self.turns), default=0.0)
        return {**named, "read_to": self.at, "told_to": told_to} if whole else named


def hear_text(text: str) -> Heard:
    """A conversation in plain text, with speakers or without."""
    if not isinstance(text, str):
        raise InvalidInput("a text is needed", "give what was said, as one text")
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"the text has {len(text)} characters", f"{MAX_CHARS} at most: give the newest part")
    return Heard(tuple(turns_of(text)), "text")


def hear_file(path: str, text: str) -> Heard:
    """A transcript of whichever client can read it best, else a plain text."""
    from swarmlore.clients.transcripts import CLIENTS, read_transcript

    full = os.path.realpath(path)
    best: tuple[str, Sequence[Turn]] = ("", ())
    if full.endswith((".jsonl", ".json")):
        for client in CLIENTS:
            turns = _told(tuple(read_transcript(client, full, MOST_BYTES)))
            if len(turns) > len(best[1]):
                best = (client, turns)
    if not best[0]:
        return hear_text(text)
    return _heard(best[1], "transcript", session_in(best[0], full, text[:HEAD_CHARS]), best[0])


def _told(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The turns, where somebody says something in them: a reader may take another client's records for results."""
    return turns if any(turn.text for turn in turns) else ()


def session_in(client: str, path: str, head: str) -> str:
    """The id by which hooks know the session of a transcript, so that it is one session however it is given: from its
    name, its first lines or where it lies. A sub-agent's record is named after its file."""
    stem = os.path.basename(path).rpartition(".")[0]
    if stem.startswith("agent-"):
        return stem[:128]
    if told := re.search(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", stem):
        return told[0]
    if client in _IDS and (found := re.search(_IDS[client], head)):
        return found[1]
    return stem[:128] if stem not in ("events", "") else os.path.basename(os.path.dirname(path))[:128]


def hear_session(lore: Lore, env: Mapping[str, str], named: str = "") -> Heard:
    """The turns of a session by its id or the beginning of it; else of the newest that nobody reflected on yet."""
    known = lore.sessions(LOOKED_AT)
    if named:
        fits = [one for one in known if one.id == named] or [one for one in known if one.id.startswith(named)]
        if fits:
            return _of_session(fits[0], env)
        return _elsewhere(named, env)
    for session in known:
        if _is_new(lore, session) and (path := _path_of(session, env)):
            heard = _read(session, path)
            if heard.turns:
                return heard
    raise NotFound("there is no session of this project that was not reflected on", _HOW)


def looks_at(lore: Lore, session: str) -> list[Reflection]:
    """The earlier looks at a whole session; those for one agent's file only are none."""
    if not session:
        return []
    with lore.acting():
        found = lore.store.reflections(lore.caller, session)
    return [one for one in found if one.source == "transcript" and one.read_to]


def _is_new(lore: Lore, session: Session) -> bool:
    """Whether something was said since it was last reflected on."""
    return all(_last_at(session) > before.read_to for before in looks_at(lore, session.id))


def _last_at(session: Session) -> float:
    last = session.extra.get("last_at")
    return float(last) if isinstance(last, (int, float)) else session.ended_at or session.started_at


def _of_session(session: Session, env: Mapping[str, str]) -> Heard:
    path = _path_of(session, env)
    if not path:
        raise NotFound(f"the transcript of session {session.id} is not there", _HOW)
    return _read(session, path)


def _path_of(session: Session, env: Mapping[str, str]) -> str:
    from swarmlore.clients.transcripts import find_transcript

    known = str(session.extra.get("transcript", ""))
    if known and os.path.exists(known.partition("#")[0]):
        return known
    return find_transcript(session.client, session.id, home_of(env), env)


def _elsewhere(named: str, env: Mapping[str, str]) -> Heard:
    """A session that no hook told us of, by its id, wherever a client keeps it."""
    from swarmlore.clients.transcripts import CLIENTS, find_transcript, read_transcript

    for client in CLIENTS:
        if path := find_transcript(client, named, home_of(env), env):
            return _heard(tuple(read_transcript(client, path, MOST_BYTES)), "transcript", named, client)
    raise NotFound(f"no session {named!r} is known here", _HOW)


def _read(session: Session, path: str) -> Heard:
    from swarmlore.clients.transcripts import read_transcript

    turns = tuple(read_transcript(session.client, path, MOST_BYTES))
    heard = _heard(turns, "transcript", session.id, session.client)
    at = max(heard.at, _last_at(session))
    return Heard(heard.turns, heard.source, heard.session, heard.client, at)


def _heard(turns: Sequence[Turn], source: str, session: str, client: str) -> Heard:
    return Heard(tuple(turns), source, session, client, max((turn.at for turn in turns), default=0.0))
