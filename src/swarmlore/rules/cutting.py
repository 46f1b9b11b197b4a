"""A session cut to what a small model could read: its beginning, its end, and between them what tells something. Pure.

The first prompt and the last answer are always there, shortened if need be: they say what the session was about and how
it ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.rules.corrections import find_corrections
from swarmlore.rules.findings import telling, tells
from swarmlore.rules.placing import changed_near
from swarmlore.text.error_lines import error_excerpt

if TYPE_CHECKING:
    from typing import Any

MOST_TOKENS = 4_000
MOST_CHARS = 3 * MOST_TOKENS  # about three characters make a token in code and logs
HEAD_SHARE, TAIL_SHARE = 0.15, 0.35
TURN_CHARS = 60  # that a turn takes beside its texts
_NEAR = 8  # tool uses that may belong to a failure
_USER, _AGENT = (1_500, 500), (400, 600)
_MIDDLE = 1_500  # of what a long answer found out
_LEAST_TEXT = 40  # of a turn that is shortened to fit
_COMMAND, _ERROR, _FILES = 400, 400, 5
_TALK = ("user", "assistant")
_NEAR_FILES = 2  # that are named beside what was said
_GAP = "\n…\n"


def cut(turns: Iterable[Any], most_chars: int = MOST_CHARS) -> list[Any]:
    """The turns that matter, each shortened, in their order and within so many characters."""
    kept = [_short(turn) for turn in turns if not (turn.meta or turn.sidechain)]
    if sum(map(_size, kept)) <= most_chars:
        return kept
    head, tail = round(most_chars * HEAD_SHARE), round(most_chars * TAIL_SHARE)
    left = {}
    for place, share in ((_first_prompt(kept), head), (_last_words(kept), tail)):
        if place is not None and place not in left:
            kept[place] = _fitted(kept[place], share)
            left[place] = share - _size(kept[place])
    return _chosen(kept, most_chars, {place for place, room in left.items() if room >= 0}, (head, tail))


def _chosen(kept: Sequence[Any], most_chars: int, chosen: set[int], shares: tuple[int, int]) -> list[Any]:
    """What begins and ends a session and what tells in between, beside what was chosen before."""
    sizes = [_size(turn) for turn in kept]
    middle = len(kept) // 2
    used = [sum(sizes[place] for place in chosen if (place < middle) is early) for early in (True, False)]
    room = most_chars - sum(used)
    ways = ((range(len(kept)), shares[0] - used[0]), (range(len(kept) - 1, -1, -1), shares[1] - used[1]))
    for places, share in (*ways, (_telling_places(kept), most_chars)):
        left = min(room, share)
        for place in places:
            if place in chosen:
                continue
            if sizes[place] > left:
                if share < most_chars:
                    break  # a beginning and an end are whole
                continue
            chosen.add(place)
            left, room = left - sizes[place], room - sizes[place]
    return [_with_files(place, kept) for place in sorted(chosen)]


def _with_files(place: int, turns: Sequence[Any]) -> Any:
    """What was said, with what was changed then: the uses of tools beside it may not be kept."""
    turn = turns[place]
    near = changed_near(place, turns)[:_NEAR_FILES] if turn.role in _TALK else []
    return replace(turn, files=tuple(near)) if near else turn


def _first_prompt(turns: Sequence[Any]) -> int | None:
    return next((place for place, turn in enumerate(turns) if turn.role == "user" and turn.text), None)


def _last_words(turns: Sequence[Any]) -> int | None:
    places = range(len(turns) - 1, -1, -1)
    return next((place for place in places if turns[place].role == "assistant" and turns[place].text), None)


def _fitted(turn: Any, most: int) -> Any:
    """A turn whose text is shortened until it fits, if it can be."""
    room = most - (_size(turn) - len(turn.text)) - len(_GAP)
    return turn if room < _LEAST_TEXT else replace(turn, text=_ends(turn.text, room - room // 4, room // 4))


def _short(turn: Any) -> Any:
    """A turn with what is needed of it."""
    if turn.role == "user":
        return replace(turn, text=_ends(turn.text, *_USER))
    if turn.role == "assistant":
        return replace(turn, text=_essence(turn.text))
    error = error_excerpt(turn.error or turn.output, _ERROR) if turn.failed else ""
    return replace(turn, text="", command=turn.command[:_COMMAND], error=error, output="", files=turn.files[:_FILES])


def _ends(text: str, head: int, tail: int) -> str:
    return text if len(text) <= head + tail else f"{text[:head]}{_GAP}{text[-tail:]}"


def _essence(text: str) -> str:
    """Of a long answer its beginning, what it found out, and its end."""
    if len(text) <= sum(_AGENT):
        return text
    head, tail = text[: _AGENT[0]], text[-_AGENT[1] :]
    told = [item.text for item in telling(text, overcame=True) if item.text.rstrip(".") not in head + tail]
    while len("\n".join(told)) > _MIDDLE:
        told.pop()
    return "\n".join([head, "…", *told, "…", tail])


def _size(turn: Any) -> int:
    return TURN_CHARS + sum(map(len, (turn.text, turn.command, turn.error, *turn.files)))


def _telling_places(turns: Sequence[Any]) -> list[int]:
    """Places of turns that bear a signal, the strongest first, of equal ones the later: what was settled last holds."""
    ranks: dict[int, int] = {}
    answer = ""
    for place, turn in enumerate(turns):
        if turn.role == "user":
            ranks[place] = 0 if find_corrections(turn.text, answer) else 3
        elif turn.role == "assistant":
            answer = turn.text
            ranks[place] = 1 if tells(turn.text) else 4
        elif turn.failed:
            for near in _belonging(turns, place):
                ranks[near] = min(ranks.get(near, 9), 2)
    return sorted(ranks, key=lambda place: (ranks[place], -place))


def _belonging(turns: Sequence[Any], place: int) -> list[int]:
    """A failure and the uses of tools that follow it, up to the first success of a command."""
    found = [place]
    for near in range(place + 1, min(len(turns), place + 1 + 3 * _NEAR)):
        if turns[near].role in _TALK:
            continue
        found.append(near)
        if (turns[near].failed is False and turns[near].command) or len(found) > _NEAR:
            break
    return found
