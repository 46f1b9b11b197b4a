"""The one thing that is written unasked: what a session was about and which signals it held, so that what is learned
from it can be traced back."""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.display import shortened
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.records import Edit, Proposal, Reflection
from swarmlore.errors import StoreError
from swarmlore.formats.notes import parse_note
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.note_places import LEARNINGS as LEARNED
from swarmlore.reflect.places import LEARNINGS, Places
from swarmlore.reflect.proposing import UNFIT
from swarmlore.workspace.episodes import Episode, episode_path, write_episode

if TYPE_CHECKING:
    from swarmlore.domain.extraction.session_lessons import Lesson
    from swarmlore.domain.records import Memory
    from swarmlore.lore import Lore

EPISODES = "documents/episodes"
MOST_SIGNALS = 60
MOST_LOOKS = 1_000
_TITLE_CHARS = 100


def keep_episode(places: Places, reflection: Reflection, lessons: Sequence[Lesson], project: str) -> str:
    """Write the episode of a reflection, unless it is there; returns its path below the learnings, '' if it cannot."""
    episode = _episode(reflection, lessons, project)
    edit = Edit(LEARNINGS, f"{EPISODES}/{episode_path(episode)}", "create", scrub_text(write_episode(episode)))
    try:
        with places.changing(edit) as (folder, name):
            if not folder.size(name):
                folder.replace(name, [edit.text.encode()])
    except (*UNFIT, StoreError, OSError):
        return ""
    return edit.path


def drop_episodes(lore: Lore, places: Places, session: str) -> list[Memory]:
    """Remove the episodes of a session, which nobody asked for; returns what was indexed of them."""
    found = lore.store.reflections(lore.caller, session, limit=MOST_LOOKS)
    paths = {one.episode for one in found if one.episode}
    for path in paths:
        with places.changing(Edit(LEARNINGS, path, "")) as (folder, name):
            if folder.has(name):
                folder.remove(name)
    ids = lore.store.ids_of_source(lore.caller, "note", hidden=True) if paths else []
    kept = (lore.store.get(lore.caller, id) for id in ids)
    return [memory for memory in kept if memory is not None and memory.source_ref.get("path") in paths]


def _episode(reflection: Reflection, lessons: Sequence[Lesson], project: str) -> Episode:
    counts = ", ".join(f"{count} {level}" for level, count in reflection.signals.items())
    about = [f"Session {reflection.session}" if reflection.session else "A text without a session"]
    about += [f"client {reflection.client}"] if reflection.client else []
    levels = [lesson.level for lesson in lessons]
    return Episode(
        created=(iso(reflection.at) or "")[:10],
        title=f"Session in {project}: {shortened(lessons[0].text, _TITLE_CHARS)}",
        key_insight=lessons[0].text,
        agent=reflection.client or reflection.agent,
        project=project,
        context=f"{', '.join(about)}. {sum(reflection.signals.values())} signals ({counts}).",
        signals=tuple(f"{one.level} ({one.category}): {one.quote or one.text}" for one in lessons[:MOST_SIGNALS]),
        learnings=tuple(f"{item.route}: {item.title}" for item in reflection.proposals),
        extracted_learnings=tuple(filter(None, map(_note_id, reflection.proposals))),
        tags=_tags(lessons),
        confidence="high" if "high" in levels else "medium" if "medium" in levels else "low",
    )


def _tags(lessons: Sequence[Lesson]) -> tuple[str, ...]:
    named = (lesson.category for lesson in lessons if lesson.category not in ("", "Unknown"))
    return tuple(dict.fromkeys(name.lower().replace(" ", "-") for name in named))[:8]


def _note_id(item: Proposal) -> str:
    own = [edit for edit in item.edits if edit.place == LEARNINGS and edit.path.startswith(f"{LEARNED}/")]
    return parse_note(own[0].text).id if own and own[0].path.endswith(".md") and own[0].text else ""
