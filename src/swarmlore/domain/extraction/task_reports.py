"""Parse reports about a finished task and turn them, with the transcript, into candidate lessons.

A transcript yields corrections, resolved failures and findings. The worker's own report yields lessons whose kind
follows from the outcome of the task, then from the files it touched, then from its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.extraction.lesson_text import MAX_CHARS, MIN_CHARS, CandidateLesson, tidy
from swarmlore.domain.extraction.message_text import sentences
from swarmlore.domain.extraction.session_lessons import (
    MOST_LESSONS,
    candidate_lessons,
    deduplicate,
    entities_of,
    kind_of,
)
from swarmlore.domain.language.similarity import content_words
from swarmlore.domain.policy.gate import MAX_TAGS, MAX_WORD, is_vague
from swarmlore.domain.records import extraction_confidence
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any


@frozen
class TaskReport:
    """A worker's or hook's report about the end of a task. `success` is None if the outcome is unknown."""

    success: bool | None = None
    task: str = ""
    summary: str = ""
    evaluation: str = ""
    details: str = ""  # details of a failure
    files: tuple[str, ...] = ()
    errors: int = 0
    retries: int = 0
    duration_ms: float | None = None
    agent: str = ""
    strategy: str = ""
    failure_mode: str = ""
    criteria: tuple[str, ...] = ()
    sort: str = ""  # kind of task: research, scheduled, …
    tags: tuple[str, ...] = ()
    persist: bool = False

    @property
    def duration_s(self) -> float | None:
        """Return the duration in seconds, or None."""
        return None if self.duration_ms is None else self.duration_ms / 1000

    @property
    def recovered(self) -> bool:
        """Tell whether the task succeeded in spite of errors."""
        return bool(self.success) and self.errors > 0


# Field names in reports of other systems; the first one present counts.
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
_FLAGS = ("success", "persist")
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")
_MOST_TEXT = 16_000
_MOST_ITEMS = 100
_MOST_COUNT = 1e12


def parse_report(values: Mapping[str, Any]) -> TaskReport:
    """Parse a report: a failure without an outcome means that the task failed; a success has no failure mode."""
    defaults = TaskReport()
    found: dict[str, Any] = {}
    for name, keys in _NAMES.items():
        typed = (_typed(name, getattr(defaults, name), values.get(key)) for key in keys)
        value = next((value for value in typed if value is not None), None)
        if value is not None:
            found[name] = value
    account = replace(defaults, **found)
    if account.success is None and (account.failure_mode or account.details):
        return replace(account, success=False)
    return replace(account, failure_mode="") if account.success else account


def parse_bool(value: Any) -> bool | None:
    """Parse yes or no as programs and agents write it; None if it is neither."""
    word = str(value).strip().lower() if isinstance(value, (bool, int, str)) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def parse_count(value: Any) -> float | None:
    """Return a number that can be a count; None for anything else, NaN and infinities included."""
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _MOST_COUNT
    return value if usable else None


def usable_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tags that a memory can have."""
    kept = (tag for tag in tags if len(tag) <= MAX_WORD and tag.isprintable())
    return tuple(dict.fromkeys(kept))[:MAX_TAGS]


def _typed(name: str, default: Any, value: Any) -> Any:
    """Convert a value to the type of its field, or None."""
    if name in _FLAGS:
        return parse_bool(value)
    if isinstance(default, str):
        return value[:_MOST_TEXT] if isinstance(value, str) and value.strip() else None
    if isinstance(default, tuple):
        listed = _listed(value)
        return usable_tags(listed) if name == "tags" and listed else listed
    number = parse_count(value)
    return number if number is None else float(number) if default is None else int(number)


def _listed(value: Any) -> tuple[str, ...] | None:
    """Convert a list or a comma-separated string to a tuple of strings, or None."""
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)):
        return None
    return tuple(item.strip()[:400] for item in listed[:_MOST_ITEMS] if isinstance(item, str) and item.strip())


# Routine statements about a successful task.
_ROUTINE = (
    r"^(?:all |the )?(?:tests?|checks?|builds?|everything|it|this|that|ci|lint|types?|task|work"
    r"|changes?)\b[^,;]{0,40}\b(?:pass(?:es|ed)?|green|works?|worked|went well|done|complete[d]?|succeeded|fine|clean"
    r"|as expected|in place)\b|^(?:done|completed?|finished|implemented|no (?:issues|problems|errors|surprises)"
    r"|as expected|straightforward|went (?:well|smoothly)|nothing (?:special|unusual|to add|notable)|looks good|lgtm"
    r"|ready for review)\b[^,;]{0,40}$"
)
# Reasons, requirements, limits and choices, which are useful beyond the task.
_TELLS = (
    r"\b(?:because|due to|caused by|root cause|fixed by|resolved by|solved by|turns? out|turned out|discovered"
    r"|unexpected\w*|surprising\w*|always|never|prefer|must|ha(?:s|ve|d) to|needs?|needed|requires?|required|cannot"
    r"|can't|only|unless|until|otherwise|by default|instead of|rather than|does not|doesn't|do not|don't|did not"
    r"|didn't|missing|lacks?|lacking|limited to|fails? (?:with|if|when|on)|ignores?|decided|works? around)\b"
    r"|\b(?:to|so as to) (?:prevent|avoid|keep|work around|stop|survive|guard)\b|\bchose [^,;]{1,80} over\b"
    r"|\bsince (?:the|it|they|an?|each|every|we|\w+ (?:is|are|does|do|has|have))\b|\b\w+, not (?:per|by|in|on|the)\b"
    r"|, so [\w`]|\bthere (?:is|are) no\b|\bpinned\b|\bby \w+ing\b|\b(?:used|with) [^,;]{2,60} against \w"
)
_DONE = r"(?:\w{2,}ed|wrote|built|made|did|took|had|went|got|kept|put|set up|ran|came|shipped|left|split|cut)"
_WORK = (
    rf"^(?:(?:then|also|and|finally|first|next|overall|mostly),? )?(?:(?:i|we)(?:'ve| have)? )?(?:also |then |just "
    rf"|successfully )?{_DONE}\b"
    rf"|\b(?:was|were|has been|have been|are|is) (?:\w+ly )?(?:{_DONE}|written)(?: (?:and|too|as well)\b|[,;.]|$)"
    r"|^(?:the |this |all |my |our |both )?(?:requirements?|pull request|pr|ticket|task|result|diff|commits?|branch"
    r"|implementation|feature|solution|subtasks?|code|change|changes|refactoring|work|approach|plan)\b"
    r"|^(?:i|we) (?:think|believe|am|are|feel)\b|^(?:this|that|it) (?:was|is|came)\b|^(?:overall|minor|small|mostly)\b"
    r"|\bat first\b|\b\d+ passed\b|\bnow\W*$"
)
# Self-assessments of the work, good or bad.
_PRAISE = (
    r"\b(?:readable|type-?safe|well[ -](?:tested|documented|structured|written)|reusable|nicely|smoothly|easy to"
    r"|fully typed|consistent with|descriptive|maintainable|robust|elegant|production[ -]ready|ready to (?:merge|ship)"
    r"|(?:clean|solid|complete|generic|accessible|consistent|straightforward)(?: (?:implementation|solution|code|task"
    r"|work|and)\b|\W*$|[,;])|works? (?:well|fine|great|correctly|as)|worked (?:well|fine|as)|follow(?:s|ed"
    r"|ing)? (?:the |all |our )?(?:existing |project |same |established )?(?:style|conventions?|patterns?|guidelines?"
    r"|best practices)|patterns? match|no bugs|acceptance criteria|criteria met|as (?:requested|planned|expected"
    r"|specified)|(?:test|code|\d%|%) coverage|on time|could be better|(?:high|code) quality|quality:|complexity:"
    r"|no follow-ups?|nothing surprising|behaviou?r (?:is )?unchanged|all (?:checks|tests))(?!\w)"
)
_TIME = r"^(?:it |this |that |the task |which )?took (?:much |a bit |a little )?(?:longer|more|less|about|\d)"
_LABEL = r"^(?:good|bad|pros?|cons?|well|positive|negative|result|evaluation|self-evaluation)\s*:\s*"
_NOTHING = r"\bno(?:thing)? (?:[\w-]+ )?(?:needed|required|unexpected|surprising|missing)\b"


def says_something(sentence: str) -> bool:
    """Tell whether a sentence about a task is useful beyond that task."""
    low = compiled(_LABEL).sub("", sentence.lower().replace("’", "'"))
    if low.endswith("?") or compiled(_ROUTINE).search(low) or compiled(_TIME).search(low):
        return False
    if compiled(_TELLS).search(low):
        return not compiled(_NOTHING).search(low)
    if compiled(_PRAISE).search(low) or compiled(_WORK).search(low):
        return False
    return not is_vague(sentence) or len(content_words(sentence)) > 3


AT_THE_END = 1_000_000  # index of statements made after the last turn


def lessons_of_task(turns: Sequence[Any], account: TaskReport, trust: int = 2) -> tuple[CandidateLesson, ...]:
    """Return at most ten lessons of a task: first those of its report, then those of its transcript with this trust."""
    from_turns = [replace(item, trust=min(item.trust, trust)) for item in candidate_lessons(turns)]
    found = deduplicate([*lessons_told(account), *from_turns])[:MOST_LESSONS]
    if account.files:
        named = entities_of(account.files, "")
        found = [item if item.entities else replace(item, entities=named) for item in found]
    return tuple(found)


def confidence(found: CandidateLesson, account: TaskReport) -> float:
    """Return the confidence of an extracted lesson."""
    return extraction_confidence(found.kind, account.duration_s, account.evaluation)


def lessons_told(account: TaskReport) -> tuple[CandidateLesson, ...]:
    """Return the lessons in a worker's report, each of one sentence or of two that belong together."""
    parts = [_plain(item.text) for item in sentences(account.evaluation)]
    if account.recovered and not parts:
        # Only the summary may tell how the task recovered.
        parts = [_plain(item.text) for item in sentences(account.summary)]
        account = replace(account, summary="")
    pieces = [(kind_told(text, account), text) for text in parts if says_something(text)]
    situation = account.summary or account.task
    texts = [(kind, _headed(text, kind, account.summary)) for kind, text in _joined(pieces)]
    return tuple(
        CandidateLesson(
            tidy(text), kind, "medium", text, entities=entities_of(account.files, text), situation=situation[:400],
            place=AT_THE_END,
        )
        for kind, text in texts
        if MIN_CHARS <= len(tidy(text)) <= MAX_CHARS
    )[:MOST_LESSONS]  # fmt: skip


def kind_told(text: str, account: TaskReport) -> str:
    """Return the kind of a statement about a task, by its errors, files and words."""
    return kind_of(text, account.files, overcame=account.recovered)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _joined(pieces: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Join two neighbouring sentences of one kind within the length of a lesson; never more than two."""
    joined: list[tuple[str, str]] = []
    alone = False
    for kind, text in pieces:
        longer = f"{joined[-1][1]} {text}" if alone and joined[-1][0] == kind else ""
        if longer and len(longer) < MAX_CHARS:
            joined[-1] = (kind, longer)
        else:
            joined.append((kind, text))
        alone = text == joined[-1][1]
    return joined


def _headed(text: str, kind: str, summary: str) -> str:
    """Prepend the task summary to a correction or learning; rules and gaps make sense without it."""
    headed = f"{_plain(summary).rstrip(' .!:;')}: {text}"
    return headed if summary and kind in ("correction", "learning") and len(headed) < MAX_CHARS else text
