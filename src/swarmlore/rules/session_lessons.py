"""The lessons of a whole session: what the user put right, what was overcome, what the agent found out.

Works on turns of any kind that have role, text, tool, command, files, output, error and failed. What a tool printed is
nobody's words: it counts only as the error that a fix was found for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.rules.correction_words import compiled
from swarmlore.rules.corrections import find_corrections, tidy
from swarmlore.rules.fixes import Attempt, error_excerpt, find_fix
from swarmlore.rules.found import CONFIDENCES, MAX_CHARS, MIN_CHARS, Found
from swarmlore.rules.meaning import differences
from swarmlore.rules.signals import HIGH, scan
from swarmlore.rules.vague import is_vague
from swarmlore.text.entities import entities_from_path, entities_from_text
from swarmlore.text.similarity import content_words, jaccard_bigram, normalize

if TYPE_CHECKING:
    from typing import Any

MOST_LESSONS = 10
MOST_ENTITIES = 5
SITUATION_CHARS = 400
_NEAR = 8  # tool uses between a failure and the success that ends it
_SAME = 0.6
_TELLING_WORDS = 6
_FROM_USER, _FROM_FIX, _FROM_AGENT = 3, 2, 1  # what is heard first where there is too much

# What the agent says it found out. Rules in its own words ("you must always …") are advice, not findings.
_FINDING = (
    r"root cause (?:was|is)|the (?:issue|problem|bug|culprit|cause) (?:was|turned out)|fixed by|(?:the )?(?:fix"
    r"|solution|workaround) (?:was|is)"
    r"|resolved by|solved by|turns out|turned out|the reason (?:was|is)|caused by|decided to|went with|chose"
    r" [^,;.]{1,60} over"
)
_ABOUT_THE_WORK = (
    r"\b(?:i|i'll|i've|i'm|we|let me|now|next|your|you(?! (?:need|have|must|can't|cannot))|here's|done|all tests"
    r"|above|below|below:|summary)\b"
)
_CONFIG = (
    r"(?:^|/)(?:[^/]*\.(?:toml|ya?ml|ini|cfg|conf|env|properties)|Dockerfile|Makefile|package\.json"
    r"|tsconfig[^/]*\.json|[^/]*config[^/]*|setup\.\w+)$"
)
_KINDS = (
    ("insight", r"\b(?:unexpected(?:ly)?|discovered|surpris\w+|turns out|turned out|it transpires)\b"),
    ("commitment", r"\b(?:always|never|prefer)\b"),
    ("gap", r"\b(?:missing|lacking|lacks?)\b"),
)


def lessons_of(turns: Iterable[Any]) -> tuple[Found, ...]:
    """At most ten lessons of a session, best first."""
    said = [turn for turn in turns if not _is_foreign(turn)]
    entities = _entities(said)
    weighed = [(_FROM_USER, found) for found in _corrections(said)]
    weighed += [(_FROM_FIX, found) for found in _fixes(said)]
    weighed += [(_FROM_AGENT, found) for found in _findings(said)]
    weighed.sort(key=lambda item: (-item[0], -CONFIDENCES.index(item[1].confidence)))
    best = _distinct([found for _, found in weighed])[:MOST_LESSONS]
    return tuple(found if found.entities else replace(found, entities=entities) for found in best)


def kind_of(text: str, files: Sequence[str] = (), overcame: bool = False) -> str:
    """The kind of a lesson: by errors that were overcome, then by the files touched, then by its words."""
    if overcame:
        return "correction"
    if any(compiled(_CONFIG).search(path) for path in files):
        return "decision"
    low = text.lower()
    return next((kind for kind, pattern in _KINDS if compiled(pattern).search(low)), "learning")


def _is_foreign(turn: Any) -> bool:
    """Whether nobody in this conversation said it: context of the client, summaries, the talk of other agents."""
    return bool(getattr(turn, "meta", "") or getattr(turn, "sidechain", False))


def _corrections(turns: Sequence[Any]) -> list[Found]:
    """What the user put right; the situation is what had been asked before."""
    found: list[Found] = []
    asked = answer = ""
    for turn in turns:
        if turn.role == "assistant" and turn.text:
            answer = turn.text
        elif turn.role == "user" and turn.text:
            under = (asked or turn.text)[:SITUATION_CHARS]
            found += [replace(item, situation=under) for item in find_corrections(turn.text, answer)]
            asked = turn.text
    return found


def _fixes(turns: Sequence[Any]) -> list[Found]:
    """Failures of tools that a later, similar use overcame."""
    used = [turn for turn in turns if turn.tool]
    found: list[Found] = []
    for place, turn in enumerate(used):
        if turn.failed and turn.command and (fix := _overcome(_attempt(turn), used[place + 1 : place + 1 + _NEAR])):
            found.append(replace(fix, entities=_entities([turn])))
    return found


def _overcome(failed: Attempt, later: Sequence[Any]) -> Found | None:
    between: list[Attempt] = []
    for turn in later:
        attempt = _attempt(turn)
        if turn.failed is False and turn.command and (found := find_fix(failed, between, attempt)):
            return found
        between.append(attempt)
    return None


def _attempt(turn: Any) -> Attempt:
    error = (turn.error or turn.output or "failed") if turn.failed else ""
    return Attempt(turn.tool, turn.command, tuple(turn.files), error, "" if error else turn.output)


def _findings(turns: Sequence[Any]) -> list[Found]:
    """Sentences in which the agent says what was wrong, what helped, what was decided."""
    found: list[Found] = []
    asked = error = ""
    files: list[str] = []
    overcame = False
    for turn in turns:
        files += turn.files
        if turn.failed:
            error, overcame = error_excerpt(turn.error or turn.output), False
        elif turn.tool and error:
            overcame = True
        if turn.role == "user" and turn.text:
            asked, error, files = turn.text, "", []
        elif turn.role == "assistant":
            under = (error, "error") if error else (asked[:SITUATION_CHARS], "prompt")
            found += [_finding(text, files, overcame and bool(error), under) for text in _telling(turn.text)]
    return found


def _telling(text: str) -> list[str]:
    """Sentences that tell a finding and can stand alone."""
    kept = []
    for signal in scan(text):
        low = signal.sentence.lower().replace("’", "'")
        told = tidy(
            compiled(r"^(?:so|ah|ok(?:ay)?|great|found it|yes|indeed|actually)\b[\s,:!.–—-]*", 2).sub(
                "", signal.sentence
            )
        )
        fits = MIN_CHARS <= len(told) <= MAX_CHARS and not _says_little(told)
        if (
            signal.level == HIGH
            and fits
            and compiled(_FINDING).search(low)
            and not compiled(_ABOUT_THE_WORK).search(low)
        ):
            kept.append(told)
    return kept


def _says_little(text: str) -> bool:
    """Whether a finding names nothing: neither a thing of the project nor, in plain words, what happens when."""
    return is_vague(text) and len(content_words(text)) < _TELLING_WORDS


def _finding(text: str, files: Sequence[str], overcame: bool, under: tuple[str, str]) -> Found:
    named = [path for path in files if path.rpartition("/")[2] in text]
    kind = kind_of(text, named, overcame)
    return Found(
        text, kind, "medium", text, situation=under[0], situation_via=under[1], entities=_of_paths(files, text)
    )


def _entities(turns: Sequence[Any]) -> tuple[str, ...]:
    return _of_paths([path for turn in turns for path in turn.files], "")


def _of_paths(paths: Sequence[str], text: str) -> tuple[str, ...]:
    found = [*entities_from_text(text), *(entity for path in paths for entity in entities_from_path(path))]
    return tuple(dict.fromkeys(found))[:MOST_ENTITIES]


def _distinct(found: Sequence[Found]) -> list[Found]:
    """Each thing once, in the words that were heard first."""
    kept: list[Found] = []
    for item in found:
        if not any(_is_same(item.text, other.text) for other in kept):
            kept.append(item)
        if len(kept) == MOST_LESSONS:
            break
    return kept


def _is_same(new: str, old: str) -> bool:
    return normalize(new) == normalize(old) or (jaccard_bigram(new, old) >= _SAME and not differences(new, old))
