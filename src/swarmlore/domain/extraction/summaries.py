"""Summarise a session or a task by heuristics, shorten transcripts to a size limit, and render them for an LLM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from swarmlore.domain.extraction.agent_findings import find_findings, has_finding
from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.extraction.corrections import find_corrections
from swarmlore.domain.extraction.fixes import error_excerpt, error_line
from swarmlore.domain.extraction.lesson_text import FAILED_MARK, FAILED_NOTE, OUTPUT_MARK
from swarmlore.domain.extraction.session_lessons import changed_near
from swarmlore.domain.language.similarity import normalize
from swarmlore.frozen import TYPE_CHECKING, replace

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.extraction.lesson_text import CandidateLesson
    from swarmlore.domain.extraction.task_reports import TaskReport


MOST_TOKENS = 4_000
MOST_CHARS = 3 * MOST_TOKENS  # in code and logs a token has about three characters
HEAD_SHARE, TAIL_SHARE = 0.15, 0.35
TURN_CHARS = 60  # overhead of a turn beside its texts
_NEAR = 8  # tool uses that may belong to a failure
_USER, _AGENT = (1_500, 500), (400, 600)
_MIDDLE = 1_500  # characters of the findings kept from a long answer
_LEAST_TEXT = 40  # characters that a shortened turn must keep
_COMMAND, _ERROR, _FILES = 400, 400, 5
_TALK = ("user", "assistant")
_NEAR_FILES = 2  # files named with a message
_GAP = "\n…\n"


def shorten_transcript(turns: Iterable[Any], most_chars: int = MOST_CHARS) -> list[Any]:
    """Return the important turns of a transcript, each shortened, in order and within this many characters."""
    kept = [_shorten(turn) for turn in turns if not (turn.meta or turn.sidechain)]
    if sum(map(_size, kept)) <= most_chars:
        return kept
    head, tail = round(most_chars * HEAD_SHARE), round(most_chars * TAIL_SHARE)
    left = {}
    for place, share in ((_first_prompt(kept), head), (_last_message(kept), tail)):
        if place is not None and place not in left:
            kept[place] = _shorten_to(kept[place], share)
            left[place] = share - _size(kept[place])
    return _select(kept, most_chars, {place for place, room in left.items() if room >= 0}, (head, tail))


def _select(kept: Sequence[Any], most_chars: int, chosen: set[int], shares: tuple[int, int]) -> list[Any]:
    """Select turns within the limit: the chosen ones, the beginning, the end, then those with signals."""
    sizes = [_size(turn) for turn in kept]
    middle = len(kept) // 2
    used = [sum(sizes[place] for place in chosen if (place < middle) is early) for early in (True, False)]
    room = most_chars - sum(used)
    ways = ((range(len(kept)), shares[0] - used[0]), (range(len(kept) - 1, -1, -1), shares[1] - used[1]))
    for places, share in (*ways, (_by_signal(kept), most_chars)):
        left = min(room, share)
        for place in places:
            if place in chosen:
                continue
            if sizes[place] > left:
                if share < most_chars:
                    break  # keep the beginning and the end contiguous
                continue
            chosen.add(place)
            left, room = left - sizes[place], room - sizes[place]
    return [_with_files(place, kept) for place in sorted(chosen)]


def _with_files(place: int, turns: Sequence[Any]) -> Any:
    """Add the files changed nearby to a message, since the tool uses around it may be dropped."""
    turn = turns[place]
    near = changed_near(place, turns)[:_NEAR_FILES] if turn.role in _TALK else []
    return replace(turn, files=tuple(near)) if near else turn


def _first_prompt(turns: Sequence[Any]) -> int | None:
    """Return the index of the first prompt, or None."""
    return next((place for place, turn in enumerate(turns) if turn.role == "user" and turn.text), None)


def _last_message(turns: Sequence[Any]) -> int | None:
    """Return the index of the agent's last message, or None."""
    places = range(len(turns) - 1, -1, -1)
    return next((place for place in places if turns[place].role == "assistant" and turns[place].text), None)


def _shorten_to(turn: Any, most: int) -> Any:
    """Shorten the text of a turn to a size, if enough of it remains."""
    room = most - (_size(turn) - len(turn.text)) - len(_GAP)
    return turn if room < _LEAST_TEXT else replace(turn, text=_ends(turn.text, room - room // 4, room // 4))


def _shorten(turn: Any) -> Any:
    """Shorten one turn by its role."""
    if turn.role == "user":
        return replace(turn, text=_ends(turn.text, *_USER))
    if turn.role == "assistant":
        return replace(turn, text=_essence(turn.text))
    error = error_excerpt(turn.error or turn.output, _ERROR) if turn.failed else ""
    return replace(turn, text="", command=turn.command[:_COMMAND], error=error, output="", files=turn.files[:_FILES])


def _ends(text: str, head: int, tail: int) -> str:
    """Return the beginning and the end of a text."""
    return text if len(text) <= head + tail else f"{text[:head]}{_GAP}{text[-tail:]}"


def _essence(text: str) -> str:
    """Shorten a long agent message to its beginning, its findings and its end."""
    if len(text) <= sum(_AGENT):
        return text
    head, tail = text[: _AGENT[0]], text[-_AGENT[1] :]
    findings = [item.text for item in find_findings(text, overcame=True) if item.text.rstrip(".") not in head + tail]
    while len("\n".join(findings)) > _MIDDLE:
        findings.pop()
    return "\n".join([head, "…", *findings, "…", tail])


def _size(turn: Any) -> int:
    """Return the number of characters that a turn takes."""
    return TURN_CHARS + sum(map(len, (turn.text, turn.command, turn.error, *turn.files)))


def _by_signal(turns: Sequence[Any]) -> list[int]:
    """Return the indices of turns with a signal, strongest first, later ones first among equals."""
    ranks: dict[int, int] = {}
    answer = ""
    for place, turn in enumerate(turns):
        if turn.role == "user":
            ranks[place] = 0 if find_corrections(turn.text, answer) else 3
        elif turn.role == "assistant":
            answer = turn.text
            ranks[place] = 1 if has_finding(turn.text) else 4
        elif turn.failed:
            for near in _failure_span(turns, place):
                ranks[near] = min(ranks.get(near, 9), 2)
    return sorted(ranks, key=lambda place: (ranks[place], -place))


def _failure_span(turns: Sequence[Any], place: int) -> list[int]:
    """Return the indices of a failure and the tool uses after it, up to the first successful command."""
    found = [place]
    for near in range(place + 1, min(len(turns), place + 1 + 3 * _NEAR)):
        if turns[near].role in _TALK:
            continue
        found.append(near)
        if (turns[near].failed is False and turns[near].command) or len(found) > _NEAR:
            break
    return found


LEAST_TRANSCRIPT = 100  # characters of a session that is worth a summary
LEAST_SUMMARY = 20
LEAST_RESULT = 30
MOST_SUMMARY = 2_000
MOST_RESULT = 8_000
READ_CHARS = 20_000  # characters at the end of a session that an LLM reads
NOTHING = "no significant learnings"
MOST_NOTHING = 120  # longest answer of which NOTHING is the whole message; in a longer one it is about a part
SHARED_SORTS, SHARED_TAGS = ("research",), ("knowledge", "shared")
_MOST_ASKED, _MOST_FILES, _MOST_FAILED = 5, 10, 3
_ASKED_CHARS, _END_CHARS, _TITLE_CHARS = 160, 400, 60

# Names of scheduled runs, which repeat with the same content.
_UNATTENDED = (
    r"(?:automated |automatic |recurring )?(?:heart-?beats?(?:_ok)?|scheduled?|cron)"
    r"(?:[ _-]?(?:tasks?|jobs?|runs?|checks?|pings?|messages?|prompts?|ticks?|triggers?))?"
)
# Such a prompt says so in brackets, on a line of its own or in its first sentence; "Schedule: add a page" is work.
_OPENS_UNATTENDED = (
    rf"\s*(?:[\[(<][ ]*{_UNATTENDED}\b[^\])>\n]{{0,80}}[\])>]|[#*_\s]*{_UNATTENDED}[*_.!:]*[ ]*(?:\n|$)"
    rf"|(?:this is|you are(?: running as| running in)?|running as) (?:an?|the|your) {_UNATTENDED}[ ]*(?:[.,;:!\n–—]|$)"
    r"|(?:read|check) heartbeat\.md)"
)


def is_unattended(prompt: str, account: TaskReport | None = None) -> bool:
    """Tell whether a scheduler or a heartbeat started a run, unless its report asks to be kept."""
    if account is not None and account.persist:
        return False
    sorts = (account.sort, *account.tags) if account is not None else ()
    if any(compiled(rf"(?:{_UNATTENDED})").fullmatch(name.strip().lower()) for name in sorts):
        return True
    return compiled(_OPENS_UNATTENDED, 2).match(prompt[:200]) is not None


# --- sessions


def summary_of(turns: Sequence[Any], lessons: Sequence[CandidateLesson]) -> str:
    """Summarise a session in a few lines by heuristics; "" if it yielded nothing."""
    text = "".join(turn.text for turn in turns)
    if len(text) <= LEAST_TRANSCRIPT or is_unattended(first_prompt(turns)):
        return ""
    files = list(dict.fromkeys(path for turn in turns if turn.tool == "write" for path in turn.files))
    failed = _failures(turns)
    if not (files or lessons or failed):
        return ""  # only questions and answers: nothing for the next session
    parts = [
        *_listed("Asked", [_line(turn.text, _ASKED_CHARS) for turn in turns if turn.role == "user"][:_MOST_ASKED]),
        *_listed(
            "Changed", [", ".join(files[:_MOST_FILES]) + (" …" if len(files) > _MOST_FILES else "")] if files else []
        ),
        *_listed("Did not work", failed),
        *_listed("Learned", [item.text for item in lessons]),
        *_listed("Ended with", [_line(last, _END_CHARS)] if (last := _last_message_text(turns)) else []),
    ]
    return usable_summary("\n".join(parts))


def without(text: str, others: Sequence[str]) -> str:
    """Remove the lines of a summary that contain any of these texts; "" if nothing else is left."""
    words = [normalize(item) for item in others]
    lines = text.split("\n")
    kept = [line for line in lines if not any(item and item in normalize(line) for item in words)]
    bare = [line for at, line in enumerate(kept) if not line.endswith(":") or kept[at + 1 : at + 2 or None]]
    return text if kept == lines else usable_summary("\n".join(bare))


def usable_summary(text: str) -> str:
    """Return a summary cut to its maximum length; "" if it is too short."""
    plain = text.strip()
    if len(plain) <= LEAST_SUMMARY:
        return ""
    return plain if len(plain) <= MOST_SUMMARY else plain[: MOST_SUMMARY - 1].rstrip() + "…"


def says_nothing(answer: str) -> bool:
    """Tell whether an LLM's whole answer is that there is nothing to learn."""
    plain = " ".join(answer.split())
    return len(plain) <= LEAST_SUMMARY or (NOTHING in plain.lower() and len(plain) <= MOST_NOTHING)


def first_prompt(turns: Sequence[Any]) -> str:
    """Return the text of the first prompt, or ""."""
    return next((turn.text for turn in turns if turn.role == "user" and turn.text), "")


def _last_message_text(turns: Sequence[Any]) -> str:
    """Return the text of the agent's last message, or ""."""
    return next((turn.text for turn in reversed(turns) if turn.role == "assistant" and turn.text), "")


def _failures(turns: Sequence[Any]) -> list[str]:
    """Return the commands that failed and never succeeded afterwards, with their errors."""
    worked = {turn.command for turn in turns if turn.failed is False}
    failed = {turn.command: turn.error or turn.output for turn in turns if turn.failed and turn.command}
    left = [(command, error) for command, error in failed.items() if command not in worked]
    return [f"`{_line(command, 120)}`: {error_line(error)}" for command, error in left[-_MOST_FAILED:]]


def _listed(head: str, items: Sequence[str]) -> list[str]:
    """Return a heading with its items as lines; a single item goes on the line of the heading."""
    kept = [item for item in items if item]
    if len(kept) <= 1:
        return [f"{head}: {item}" for item in kept]
    return [f"{head}:", *(f"- {item}" for item in kept)]


def _line(text: str, most: int) -> str:
    """Return a text on one line, cut to a length."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def title_of(head: str, text: str) -> str:
    """Return a title for a summary or a result: its type and its beginning."""
    return f"{head}: {_line(text, _TITLE_CHARS)}" if text.strip() else head


# --- tasks


def task_result(account: TaskReport) -> str:
    """Return the outcome of a task as text; "" if it is too short or the outcome is unknown."""
    outcome = "\n".join(filter(None, (account.summary, account.evaluation)))
    if account.success:
        text = f"Task: {account.task or account.summary}{OUTPUT_MARK}{outcome}"
    else:
        why = "\n".join(filter(None, (account.failure_mode, account.details, account.evaluation)))
        about = " ".join(filter(None, (account.task, account.summary)))
        text = f"Task: {about}{FAILED_MARK}{why or 'not told'}\n\n{FAILED_NOTE}"
        outcome = f"{account.summary}\n{why}"
    return "" if account.success is None or len(outcome) < LEAST_RESULT else text[:MOST_RESULT]


def is_shared(account: TaskReport) -> bool:
    """Tell whether the whole swarm gets a copy of a task result."""
    return account.sort.lower() in SHARED_SORTS or any(tag.lower() in SHARED_TAGS for tag in account.tags)


def transcript_text(turns: Sequence[Any], most: int = READ_CHARS) -> str:
    """Render a session for an LLM: messages, commands and their outcome; of a long one only the end."""
    lines = [_render_turn(turn) for turn in turns]
    text = "\n".join(line for line in lines if line)
    return text if len(text) <= most else "…" + text[-most:]


def _render_turn(turn: Any) -> str:
    """Render one turn as a line."""
    if turn.role in ("user", "assistant"):
        return f"{turn.role}: {turn.text}" if turn.text else ""
    ended = {True: f"failed: {turn.error}", False: "worked", None: "not known"}[turn.failed]
    return f"tool: {turn.command or turn.tool_name} {' '.join(turn.files)} -> {ended}"


def authored_text(turns: Sequence[Any], accounts: Mapping[str, str] | None = None) -> str:
    """Return all text that people and agents wrote or ran, without the output of tools."""
    texts = [f"{turn.text} {turn.command} {' '.join(turn.files)}" for turn in turns]
    return " ".join([*texts, *(accounts or {}).values()])
