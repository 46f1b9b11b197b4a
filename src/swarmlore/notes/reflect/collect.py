"""Read the conversation to reflect on: a session's transcript of any client, a transcript file, or plain text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from swarmlore.clients.transcripts import CLIENTS, MAX_CHARS, find_transcript, read_transcript, turns_of_text
from swarmlore.errors import InvalidInput, NotFound
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.clients.transcripts import Turn
    from swarmlore.domain.records import Reflection, Session
    from swarmlore.lore import Lore


LOOKED_AT = 200  # newest sessions of a project that are searched
MOST_BYTES = 32_000_000
HEAD_CHARS = 20_000  # start of a transcript, searched for the session id
_IDS = {
    **dict.fromkeys(("claude", "copilot", "gemini"), r'"sessionId"\s?:\s?"([\w-]{8,128})"'),
    "opencode": r'"id"\s?:\s?"(ses_[\w-]{4,124})"',
}
_HOW = "give a transcript or a text: swarmlore reflect FILE, or - for standard input"


def home_of(env: Mapping[str, str]) -> str:
    """Return the user's home folder."""
    return env.get("HOME") or os.path.expanduser("~")


@frozen
class Conversation:
    """The turns of a conversation, their source, and the time of the last one."""

    turns: tuple[Turn, ...]
    source: str
    session: str = ""
    client: str = ""
    at: float = 0.0

    def facts(self, *, whole: bool, again: bool) -> dict[str, Any]:
        """Return the reflection's fields; a reflection for a single agent's file does not mark the session as read."""
        named = {"session": self.session, "client": self.client, "source": self.source, "again": again}
        told_to = max((turn.at for turn in self.turns), default=0.0)
        return {**named, "read_to": self.at, "told_to": told_to} if whole else named


def load_text(text: str) -> Conversation:
    """Parse a conversation in plain text, with or without speaker labels."""
    if not isinstance(text, str):
        raise InvalidInput("a text is needed", "give what was said, as one text")
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"the text has {len(text)} characters", f"{MAX_CHARS} at most: give the newest part")
    return Conversation(tuple(turns_of_text(text)), "text")


def load_file(path: str, text: str) -> Conversation:
    """Parse a transcript file with the client reader that finds most turns, else as plain text."""
    full = os.path.realpath(path)
    best: tuple[str, Sequence[Turn]] = ("", ())
    if full.endswith((".jsonl", ".json")):
        for client in CLIENTS:
            turns = _non_empty(tuple(read_transcript(client, full, MOST_BYTES)))
            if len(turns) > len(best[1]):
                best = (client, turns)
    if not best[0]:
        return load_text(text)
    return _from_transcript(best[1], session_in(best[0], full, text[:HEAD_CHARS]), best[0])


def _non_empty(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Return the turns if any has text, else (): a reader may take another client's records for tool results."""
    return turns if any(turn.text for turn in turns) else ()


def session_in(client: str, path: str, head: str) -> str:
    """Return the session id of a transcript, as hooks report it: from the file name, the first lines or the folder. A
    subagent's transcript is named after its file."""
    stem = os.path.basename(path).rpartition(".")[0]
    if stem.startswith("agent-"):
        return stem[:128]
    if match := re.search(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", stem):
        return match[0]
    if client in _IDS and (found := re.search(_IDS[client], head)):
        return found[1]
    return stem[:128] if stem not in ("events", "") else os.path.basename(os.path.dirname(path))[:128]


def load_session(lore: Lore, env: Mapping[str, str], named: str = "") -> Conversation:
    """Return the turns of a session by id or id prefix; by default of the newest one not yet reflected on."""
    sessions = lore.sessions(LOOKED_AT)
    if named:
        fits = [one for one in sessions if one.id == named] or [one for one in sessions if one.id.startswith(named)]
        if fits:
            return _of_session(fits[0], env)
        return _unreported(named, env)
    for session in sessions:
        if _is_new(lore, session) and (path := _path_of(session, env)):
            conversation = _read(session, path)
            if conversation.turns:
                return conversation
    raise NotFound("there is no session of this project that was not reflected on", _HOW)


def earlier_reflections(lore: Lore, session: str) -> list[Reflection]:
    """Return earlier reflections on a whole session, without those for a single agent's file."""
    if not session:
        return []
    with lore.acting():
        found = lore.store.reflections(lore.caller, session)
    return [one for one in found if one.source == "transcript" and one.read_to]


def _is_new(lore: Lore, session: Session) -> bool:
    """Return whether a session has turns since the last reflection on it."""
    return all(_last_at(session) > before.read_to for before in earlier_reflections(lore, session.id))


def _last_at(session: Session) -> float:
    last = session.extra.get("last_at")
    return float(last) if isinstance(last, (int, float)) else session.ended_at or session.started_at


def _of_session(session: Session, env: Mapping[str, str]) -> Conversation:
    path = _path_of(session, env)
    if not path:
        raise NotFound(f"the transcript of session {session.id} is not there", _HOW)
    return _read(session, path)


def _path_of(session: Session, env: Mapping[str, str]) -> str:
    known = str(session.extra.get("transcript", ""))
    if known and os.path.exists(known.partition("#")[0]):
        return known
    return find_transcript(session.client, session.id, home_of(env), env)


def _unreported(named: str, env: Mapping[str, str]) -> Conversation:
    """Find a session that no hook reported, by its id, in the transcript folders of all clients."""
    for client in CLIENTS:
        if path := find_transcript(client, named, home_of(env), env):
            return _from_transcript(read_transcript(client, path, MOST_BYTES), named, client)
    raise NotFound(f"no session {named!r} is known here", _HOW)


def _read(session: Session, path: str) -> Conversation:
    conversation = _from_transcript(read_transcript(session.client, path, MOST_BYTES), session.id, session.client)
    return replace(conversation, at=max(conversation.at, _last_at(session)))


def _from_transcript(turns: Iterable[Turn], session: str, client: str) -> Conversation:
    turns = tuple(turns)
    return Conversation(turns, "transcript", session, client, max((turn.at for turn in turns), default=0.0))
