"""Where in a session a lesson was learned, and what follows: which of two holds, and what it is about. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.rules.correction_words import compiled
from swarmlore.rules.found import Found
from swarmlore.rules.upsert import Neighbour, decide
from swarmlore.text.entities import entities_from_path, entities_from_text
from swarmlore.text.similarity import content_words, jaccard_bigram

if TYPE_CHECKING:
    from typing import Any

    Weighed = tuple[int, Found]

MOST_ENTITIES = 5
MOST_COMPARED = 60  # lessons of a session, six times as many as are kept: each is held against each
MOST_READ = 2  # files that say what a session is about, where none was changed
_WRITE, _TALK = "write", ("user", "assistant")


def holding(weighed: Iterable[Weighed]) -> list[Weighed]:
    """What of the best still holds at the end: of two that contradict each other the later, if it weighs as much."""
    best = list(weighed)[:MOST_COMPARED]
    said = sorted(best, key=lambda item: item[1].place)
    gone = [item for place, item in enumerate(said) if _is_overruled(item, said[:place], said[place + 1 :])]
    return [item for item in best if item not in gone]


def _is_overruled(item: Weighed, earlier: Sequence[Weighed], later: Sequence[Weighed]) -> bool:
    weight, found = item
    if any(other >= weight and corrects(newer, found) for other, newer in later):
        return True
    return any(other > weight and corrects(found, older) for other, older in earlier)


def corrects(new: Found, old: Found) -> bool:
    """Whether a lesson says something else about the same thing."""
    known = Neighbour("old", old.text, jaccard_bigram(new.text, old.text), trust=0)
    if decide(new.text, 3, [known], profile="default", measure="jaccard").operation == "DELETE":
        return True
    return _swaps(new.text.lower(), old.text.lower())


def _swaps(new: str, old: str) -> bool:
    """Whether what one excludes is what the other wants, and the other way round: "yarn, not npm", "npm, not yarn"."""
    named = compiled(r"\b(?:not|never) (?:(?:against|use|to|with|in|for|the) )?([\w./@-]*\w)")
    against, before = named.findall(new), named.findall(old)
    alike = content_words(new) & content_words(old)
    return any(
        here != there and here in old and there in new and here not in before and there not in against
        for here in against
        for there in before
    ) and len(alike) > len({*against, *before})


def placed(found: Found, turns: Sequence[Any]) -> Found:
    """A lesson with what it is about, by the files of the turns around it."""
    if found.entities:
        return found
    return replace(found, entities=entities_of(_files_near(found.place, turns), found.text))


def _files_near(place: int, turns: Sequence[Any]) -> list[str]:
    """Files that were changed since the user spoke, and before where a user's words changed nothing; else any of the
    session; only where none was changed, some that were read."""
    if near := changed_near(place, turns):
        return near
    if changed := changed_files(turns):
        return changed
    begin, end, _ = _stretch(place, turns)
    return read_files(turns[begin:end]) or read_files(turns)


def changed_near(place: int, turns: Sequence[Any]) -> list[str]:
    """Files that were changed around a turn; where it was cut out of a long session, those that it kept of them."""
    begin, end, before = _stretch(place, turns)
    if place < len(turns) and turns[place].role in _TALK and turns[place].files:
        return list(turns[place].files)
    return changed_files(turns[begin:end]) or changed_files(turns[before:begin])


def _stretch(place: int, turns: Sequence[Any]) -> tuple[int, int, int]:
    """Where the user spoke last, where next, and where before, if it is the user who speaks here."""
    prompts = [number for number, turn in enumerate(turns) if turn.role == "user" and turn.text]
    begin = max((number for number in prompts if number <= place), default=0)
    end = min((number for number in prompts if number > place), default=len(turns))
    before = max((number for number in prompts if number < begin), default=0) if begin == place else begin
    return begin, end, before


def changed_files(turns: Iterable[Any]) -> list[str]:
    return _once(path for turn in turns if turn.tool == _WRITE for path in turn.files)


def read_files(turns: Iterable[Any]) -> list[str]:
    return _once(path for turn in turns for path in turn.files)[:MOST_READ]


def _once(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))


def entities_of(paths: Sequence[str], text: str) -> tuple[str, ...]:
    """What paths and a text are about."""
    found = [*entities_from_text(text), *(entity for path in paths for entity in entities_from_path(path))]
    return tuple(dict.fromkeys(found))[:MOST_ENTITIES]
