"""Jobs of reflecting, for which nobody waits: a session that ended is looked at, an approval is carried to its end."""

from __future__ import annotations

from swarmlore.catching import turns_in
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.reflect.scanning import MOST_BYTES, Heard, looks_at

if TYPE_CHECKING:
    from swarmlore.domain.records import Job, Reflection
    from swarmlore.lore import Lore


def look_back(lore: Lore, job: Job) -> None:
    """Propose what a session teaches, or go on with what a person approved. Doing it again changes nothing: what was
    read is not read again, and what was proposed is not proposed again."""
    reflections = lore.reflections
    reflections.finish()
    if not lore.settings.knowledge.enabled or not job.body.get("session"):
        return
    heard = _heard(job)
    if heard.turns and all(_is_news(heard, before) for before in looks_at(lore, heard.session)):
        reflections.reflect_on(heard)


def _is_news(heard: Heard, before: Reflection) -> bool:
    """Whether something was said since an earlier look: a session that is cut and then ends may have nothing new."""
    since = before.told_to
    told = not since or any(turn.at > since or not turn.at for turn in heard.turns)
    return told and before.read_to < heard.at


def _heard(job: Job) -> Heard:
    """The whole session from its transcript, where that is still there; else the turns that were kept of it."""
    from swarmlore.clients.transcripts import read_transcript

    body = job.body
    session, client, path = (str(body.get(name) or "") for name in ("session", "client", "transcript"))
    turns = tuple(read_transcript(client, path, MOST_BYTES)) if path else ()
    at = body.get("at")
    ended = float(at) if isinstance(at, (int, float)) else 0.0
    return Heard(turns or tuple(turns_in(body)), "transcript", session, client, ended)
