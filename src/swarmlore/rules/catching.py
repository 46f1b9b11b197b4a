"""What the memory-catcher makes of the end of a task or a session. Pure.

A transcript is cut to what a small model could read: its beginning, its end, and in between the turns in which
something was put right, overcome or found out. What a worker says about its task becomes lessons whose kind follows
from how the task went, from the files it touched, and from the words it chose, in this order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.rules.confidence import extraction_confidence
from swarmlore.rules.correction_words import compiled
from swarmlore.rules.corrections import find_corrections
from swarmlore.rules.findings import telling, tells
from swarmlore.rules.found import MAX_CHARS, MIN_CHARS, Found
from swarmlore.rules.session_lessons import MOST_LESSONS, distinct, entities_of, kind_of, lessons_of
from swarmlore.rules.vague import is_vague
from swarmlore.rules.wording import tidy
from swarmlore.text.error_lines import error_excerpt
from swarmlore.text.prose import sentences
from swarmlore.text.similarity import content_words

if TYPE_CHECKING:
    from typing import Any

MOST_TOKENS = 4_000
MOST_CHARS = 3 * MOST_TOKENS  # about three characters make a token in code and logs
HEAD_SHARE, TAIL_SHARE = 0.15, 0.35
TURN_CHARS = 60  # that a turn takes beside its texts
_NEAR = 8  # tool uses that may belong to a failure
_USER, _AGENT = (1_500, 500), (400, 600)
_COMMAND, _ERROR, _FILES = 400, 400, 5
_TALK = ("user", "assistant")
# What is said of every task that went well.
_ROUTINE = (
    r"^(?:all |the )?(?:tests?|checks?|builds?|everything|it|this|that|ci|lint|types?|task|work"
    r"|changes?)\b[^,;]{0,40}\b"
    r"(?:pass(?:es|ed)?|green|works?|worked|went well|done|complete[d]?|succeeded|fine|clean|as expected|in place)\b"
    r"|^(?:done|completed?|finished|implemented|no (?:issues|problems|errors|surprises)|as expected|straightforward"
    r"|went (?:well|smoothly)|nothing (?:special|unusual|to add|notable)|looks good|lgtm"
    r"|ready for review)\b[^,;]{0,40}$"
)


@frozen
class Account:
    """What a worker or a hook tells about the end of a task."""

    success: bool = True
    task: str = ""
    summary: str = ""
    evaluation: str = ""
    details: str = ""  # of a failure
    files: tuple[str, ...] = ()
    errors: int = 0
    retries: int = 0
    duration_ms: float | None = None
    agent: str = ""
    strategy: str = ""
    failure_mode: str = ""
    criteria: tuple[str, ...] = ()
    sort: str = ""  # of task: research, scheduled, …
    tags: tuple[str, ...] = ()
    persist: bool = False

    @property
    def duration_s(self) -> float | None:
        return None if self.duration_ms is None else self.duration_ms / 1000

    @property
    def recovered(self) -> bool:
        """Whether errors were overcome."""
        return self.success and self.errors > 0


# By the names that the systems we come from use; the first that is there counts.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "success": ("success",),
    "task": ("task", "bead_id", "task_id", "taskId"),
    "summary": ("summary", "output", "result"),
    "evaluation": ("evaluation",),
    "details": ("failure_details", "failure_reason", "failureReason", "error"),
    "files": ("files_touched", "files"),
    "errors": ("error_count", "errors"),
    "retries": ("retry_count", "retries"),
    "duration_ms": ("duration_ms",),
    "agent": ("agent_name", "agent"),
    "strategy": ("strategy",),
    "failure_mode": ("failure_mode",),
    "criteria": ("criteria",),
    "sort": ("task_type", "taskType", "type"),
    "tags": ("tags",),
    "persist": ("persist", "persistMemory", "persist_memory"),
}
_MOST_TEXT = 16_000
_MOST_ITEMS = 100
_MOST_COUNT = 1e12


def account_of(values: Mapping[str, Any]) -> Account:
    """The account in a report from anywhere; what is of another type than it should be was not said."""
    nothing = Account()
    found: dict[str, Any] = {}
    for name, keys in _NAMES.items():
        typed = (_typed(getattr(nothing, name), values.get(key)) for key in keys)
        value = next((value for value in typed if value is not None), None)
        if value is not None:
            found[name] = value
    return replace(nothing, **found)


def _typed(default: Any, value: Any) -> Any:
    """A value in the type of its field, or nothing."""
    if isinstance(default, bool):
        return value if isinstance(value, bool) else None
    if isinstance(default, str):
        return value[:_MOST_TEXT] if isinstance(value, str) and value.strip() else None
    if isinstance(default, tuple):
        listed = value.split(",") if isinstance(value, str) else value
        if not isinstance(listed, (list, tuple)):
            return None
        return tuple(item.strip()[:400] for item in listed[:_MOST_ITEMS] if isinstance(item, str) and item.strip())
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _MOST_COUNT
    if not usable:
        return None
    return float(value) if default is None else int(value)


# --- lessons


def lessons_in(turns: Sequence[Any], account: Account) -> tuple[Found, ...]:
    """At most ten lessons of a task: what its transcript teaches, then what is said about it."""
    found = distinct([*lessons_of(turns), *lessons_told(account)])[:MOST_LESSONS]
    if account.files:
        named = entities_of(account.files, "")
        found = [item if item.entities else replace(item, entities=named) for item in found]
    return tuple(found)


def confidence(found: Found, account: Account) -> float:
    """How sure a lesson of the catcher is."""
    return extraction_confidence(found.kind, account.duration_s, account.evaluation)


def lessons_told(account: Account) -> tuple[Found, ...]:
    """What a worker says about its task, in lessons: sentences of one kind together, as far as they fit."""
    said = [_plain(item.text) for item in sentences(account.evaluation)]
    if account.recovered and not said:
        said = [_plain(item.text) for item in sentences(account.summary)]  # how it recovered stands there, if anywhere
        account = replace(account, summary="")
    pieces = [(kind_told(text, account), text) for text in said if _says_something(text)]
    under = account.summary or account.task
    texts = [(kind, _headed(text, kind, account.summary)) for kind, text in _joined(pieces)]
    return tuple(
        Found(
            tidy(text), kind, "medium", text, entities=entities_of(account.files, text), situation=under[:400],
            situation_via="prompt",
        )
        for kind, text in texts
        if MIN_CHARS <= len(tidy(text)) <= MAX_CHARS
    )[:MOST_LESSONS]  # fmt: skip


def kind_told(text: str, account: Account) -> str:
    """The kind of what is said about a task: by its errors, its files, its words."""
    return kind_of(text, account.files, overcame=account.recovered)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _says_something(text: str) -> bool:
    low = text.lower()
    if low.endswith("?") or compiled(_ROUTINE).search(low):
        return False
    return not is_vague(text) or len(content_words(text)) > 3


def _joined(pieces: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Neighbours of one kind as one text, within the length of a lesson."""
    joined: list[tuple[str, str]] = []
    for kind, text in pieces:
        longer = f"{joined[-1][1]} {text}" if joined and joined[-1][0] == kind else ""
        if longer and len(longer) < MAX_CHARS:
            joined[-1] = (kind, longer)
        else:
            joined.append((kind, text))
    return joined


def _headed(text: str, kind: str, summary: str) -> str:
    """With what it was about in front, where it needs that: a rule or a gap speaks for itself."""
    headed = f"{_plain(summary).rstrip(' .!:;')}: {text}"
    return headed if summary and kind in ("correction", "learning") and len(headed) < MAX_CHARS else text


# --- the cut


def cut(turns: Iterable[Any], most_chars: int = MOST_CHARS) -> list[Any]:
    """The turns that matter, each shortened, in their order and within so many characters."""
    kept = [_short(turn) for turn in turns if not (turn.meta or turn.sidechain)]
    sizes = [_size(turn) for turn in kept]
    if sum(sizes) <= most_chars:
        return kept
    chosen: set[int] = set()
    room = most_chars
    tail = list(range(len(kept)))[::-1]
    for places, share in ((range(len(kept)), HEAD_SHARE), (tail, TAIL_SHARE), (_telling_places(kept), 1.0)):
        left = min(room, round(most_chars * share))
        for place in places:
            if place in chosen or sizes[place] > left:
                if share < 1.0:
                    break  # a beginning and an end are whole
                continue
            chosen.add(place)
            left, room = left - sizes[place], room - sizes[place]
    return [kept[place] for place in sorted(chosen)]


def _short(turn: Any) -> Any:
    """A turn with what is needed of it."""
    if turn.role == "user":
        return replace(turn, text=_ends(turn.text, *_USER))
    if turn.role == "assistant":
        return replace(turn, text=_essence(turn.text))
    error = error_excerpt(turn.error or turn.output, _ERROR) if turn.failed else ""
    return replace(turn, text="", command=turn.command[:_COMMAND], error=error, output="", files=turn.files[:_FILES])


def _ends(text: str, head: int, tail: int) -> str:
    return text if len(text) <= head + tail else f"{text[:head]}\n…\n{text[-tail:]}"


def _essence(text: str) -> str:
    """Of a long answer its beginning, what it found out, and its end."""
    if len(text) <= sum(_AGENT):
        return text
    head, tail = text[: _AGENT[0]], text[-_AGENT[1] :]
    middle = [told.text for told in telling(text, overcame=True) if told.text.rstrip(".") not in head + tail]
    return "\n".join([head, "…", *middle, "…", tail])


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
