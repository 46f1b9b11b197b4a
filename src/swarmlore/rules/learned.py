"""Everything that a session holds, as one list: what it teaches by its corrections, fixes and findings, joined with the
signals in what was said. Pure.

A lesson that both found is one lesson: in the words of the rule that understood more of it, with the stronger level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise

from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.rules.clauses import open_sentence
from swarmlore.rules.correction_words import compiled
from swarmlore.rules.corrections import is_rejection
from swarmlore.rules.explanations import asks_for_work, is_trouble
from swarmlore.rules.found import Found
from swarmlore.rules.placing import changed_near, entities_of
from swarmlore.rules.session_lessons import SITUATION_CHARS, is_foreign, lessons_of
from swarmlore.rules.signals import LEVELS, LOW, Signal, is_hearsay, scan, scan_turns
from swarmlore.rules.topics import UNKNOWN, category_of
from swarmlore.rules.wording import tidy
from swarmlore.text.prose import split_sentences
from swarmlore.text.shorten import shortened
from swarmlore.text.similarity import jaccard_bigram, normalize

if TYPE_CHECKING:
    from typing import Any

MOST = 60
QUOTE_CHARS = 100
_SAME = 0.6
_MOST_FILES = 5
_KINDS = {
    **dict.fromkeys(("rule", "keep", "advice"), "commitment"),
    **dict.fromkeys(("correction", "fix"), "correction"),
    **dict.fromkeys(("cause", "caveat", "effort", "change", "observation", "note"), "learning"),
    **{"decision": "decision", "found": "insight", "praise": "confidence", "guess": "insight", "insight": "insight"},
}
# What a sentence of praise or a repeated order opens with, once more than `open_sentence` takes off.
_PRAISED = (
    r"^(?:(?:yes|yeah|yep|ok|okay|that's|this is|it's|looks?|very|really|so)[,.! ]+){0,2}(?:perfect(?:ly)?"
    r"|exactly(?: right)?|excellent"
    r"|great(?: (?:job|work))?|nice(?: (?:job|work))?|good(?: (?:job|work))?|correct|right|well done)[,.!:;–— -]+"
)


_WEAK = ("observation", "praise", "guess", "change")  # says less than the rule that found it
_LOOKED_BACK = 5  # prompts
_KEY_CHARS = 40  # that tell a sentence
_TYPED_CHARS = 3_000
_AND_A_RULE = r",? (?:and|but) (?=(?:please )?(?:always|never|don't|do not|stop) \w)"
_LEAST_WORDS = 3
# What helped, after a cause was told: what was done, and what it did.
_HELPED = (
    r"^(?:[a-z-]+ing|with|by|after|once|i|we|so i|so we|now|it|this|that|the (?:fix|solution|workaround))\b.*\b(?:fixed"
    r"|fixes|solved|solves|resolved|resolves|cured|cures|helped|works|worked|brought|brings|went away|is gone|are gone"
    r"|gone now|stopped|avoids|removed the|no longer|(?:is|was) (?:enough|solved"
    r"|fixed|resolved)|green|passes?|passed)\b"
)
_TAKEN_BACK = (
    r"[,.;!?… -]\s*(?:(?:oh|ah|er|hm+|no|wait|actually|sorry)[,. ]+){0,3}(?:scratch (?:that|this)|strike that"
    r"|(?:no,? )wait\b|forget (?:that|it|what i (?:just )?said)|i take (?:that|it) back"
    r"|ignore (?:that|what i (?:just )?said)"
    r"|never ?mind(?:,? that)?(?=[.,!?]|$)|on second thought)"
)
_ASKED = r"^(?:can|could|would|will) (?:we|you) (?:please )?(?=not|stop|avoid|always|never)"


@frozen
class Lesson:
    """One thing that a session may teach: what to keep, how strong it is, and where it comes from."""

    text: str
    level: str = "medium"
    category: str = UNKNOWN
    kind: str = "learning"
    speaker: str = "user"
    cue: str = ""
    quote: str = ""
    situation: str = ""
    situation_via: str = "prompt"
    entities: tuple[str, ...] = ()
    trust: int = 2
    place: int = 0
    files: tuple[str, ...] = ()
    way: str = ""
    fix: str = ""  # what helped, where a cause and its fix were told one after the other


def learned(turns: Iterable[Any], since: float = 0.0) -> tuple[Lesson, ...]:
    """The lessons of a session, the strongest first, each once; of a session that went on, what was said since."""
    said = list(turns)
    heard = [turn for turn in said if not is_foreign(turn)]
    told = [found for found in lessons_of(said) if _speaker(found, heard) != "user" or not is_hearsay(found.excerpt)]
    lessons = [_placed(lesson_from(found, speaker=_speaker(found, heard)), heard) for found in told]
    rejected = _rejected(heard)
    for signal in scan_turns(heard):
        if signal.speaker == "assistant" and signal.place in rejected:
            continue
        twin = next((place for place, lesson in enumerate(lessons) if _is_of(lesson, signal)), None)
        if twin is None:
            lessons.append(_placed(lesson_from(signal), heard))
        else:
            lessons[twin] = _joined(lessons[twin], signal)
    lessons = [lesson for lesson in _with_fixes(_settled(lessons), heard) if not _taken_back(lesson, heard)]
    lessons = [part for lesson in lessons for part in _parts(lesson) if _is_since(lesson, heard, since)]
    lessons.sort(key=lambda lesson: (LEVELS.index(lesson.level), lesson.place))
    return tuple(lessons[:MOST])


def _is_since(lesson: Lesson, turns: Sequence[Any], since: float) -> bool:
    """Whether something was said after a moment; what has no time of its own may have been."""
    at = getattr(turns[lesson.place], "at", 0.0) if since and lesson.place < len(turns) else 0.0
    return not at or at > since


def lesson_from(item: Signal | Found, files: Sequence[str] = (), speaker: str = "") -> Lesson:
    """One signal, or one finding, as a lesson. Who told a finding may be said; else its words tell."""
    lesson = _of_signal(item) if isinstance(item, Signal) else _of_found(item, speaker)
    return replace(lesson, files=tuple(files)[:_MOST_FILES]) if files else lesson


def counts(items: Iterable[Signal | Lesson]) -> dict[str, int]:
    """How many there are of each level."""
    counted = Counter(item.level for item in items)
    return {level: counted[level] for level in LEVELS}


def _of_signal(signal: Signal) -> Lesson:
    said = open_sentence(signal.sentence, frozenset()).text if signal.speaker == "user" else signal.sentence
    said = compiled(_ASKED, 2).sub("", said)
    if signal.way in ("praise", "keep"):
        said = compiled(_PRAISED, 2).sub("", said)
    return Lesson(
        text=tidy(said) or tidy(signal.sentence),
        level=signal.level,
        category=signal.category,
        kind=_KINDS.get(signal.way, "learning"),
        speaker=signal.speaker,
        cue=signal.cue,
        quote=signal.quote,
        place=signal.place,
        way=signal.way,
    )


def _speaker(found: Found, turns: Sequence[Any]) -> str:
    return str(turns[found.place].role) if found.place < len(turns) else ""


def _of_found(found: Found, speaker: str = "") -> Lesson:
    """A finding; how strong its own words are counts, if they say more than the rule that found it."""
    tool = found.trust < 2 and found.situation_via == "error"
    speaker = "tool" if tool else speaker or ("user" if found.excerpt != found.text else "assistant")
    heard = scan(found.excerpt or found.text, "user" if tool else speaker)
    strongest = min(heard, key=lambda signal: LEVELS.index(signal.level), default=None)
    level = found.confidence if found.confidence in LEVELS else LOW
    return Lesson(
        text=found.text,
        level=min((level, strongest.level if strongest else level), key=LEVELS.index),
        category=category_of(found.text),
        kind=found.kind,
        speaker=speaker,
        cue=strongest.cue if strongest else "",
        quote=shortened(found.excerpt or found.text, QUOTE_CHARS),
        situation=found.situation,
        situation_via=found.situation_via,
        entities=found.entities,
        trust=found.trust,
        place=found.place,
        way="fix" if tool else strongest.way if strongest and strongest.way not in _WEAK else _way_of(found, speaker),
    )


def _way_of(found: Found, speaker: str) -> str:
    if found.kind == "decision":
        return "decision"
    if speaker == "assistant":
        return "caveat" if found.kind == "gap" else "cause"
    return "rule" if found.kind == "commitment" else "correction"


def _is_of(lesson: Lesson, signal: Signal) -> bool:
    """Whether a signal is in the words that a lesson was taken from."""
    if lesson.place == signal.place and lesson.quote.rstrip("…") in signal.sentence:
        return True
    if normalize(lesson.text) in normalize(signal.sentence):
        return True
    return lesson.place == signal.place and jaccard_bigram(lesson.text, signal.sentence) >= _SAME


def _rejected(turns: Sequence[Any]) -> set[int]:
    """The places of what an agent said and a person called wrong right afterwards."""
    found: set[int] = set()
    said: list[int] = []
    for place, turn in enumerate(turns):
        if turn.role == "user" and turn.text:
            found.update(said if is_rejection(turn.text) else ())
            said = []
        elif turn.role == "assistant":
            said.append(place)
    return found


def _parts(lesson: Lesson) -> list[Lesson]:
    """Two rules in one sentence are two lessons: "never …, and stop …"."""
    parts = compiled(_AND_A_RULE, 2).split(lesson.text) if lesson.way == "rule" and lesson.speaker == "user" else []
    if len(parts) < 2 or any(len(part.split()) < _LEAST_WORDS for part in parts):
        return [lesson]
    return [replace(lesson, text=tidy(part), category=category_of(part, stated=True)) for part in parts]


def _with_fixes(lessons: Sequence[Lesson], turns: Sequence[Any] = ()) -> list[Lesson]:
    """A cause and the fix that was told in the same breath are one lesson."""
    told: dict[int, Lesson] = {}
    for lesson in lessons:
        if lesson.way == "fix" and lesson.speaker != "tool":
            told.setdefault(lesson.place, lesson)
    places = {lesson.place for lesson in lessons if lesson.way in ("cause", "found")}
    helped = {place: _helpers(turns[place]) for place in places if place < len(turns)}
    kept = []
    for lesson in lessons:
        if lesson.way in ("cause", "found"):
            known = told.pop(lesson.place, None)
            lesson = replace(lesson, fix=known.text if known else _helper(lesson, helped.get(lesson.place, {})))
        kept.append(lesson)
    joined = {lesson.fix for lesson in kept if lesson.fix}
    return [lesson for lesson in kept if lesson.way != "fix" or lesson.text not in joined]


def _settled(lessons: Sequence[Lesson]) -> list[Lesson]:
    """Without what an agent supposed on its way to a cause that it found."""
    found = max((one.place for one in lessons if one.way in ("cause", "found", "fix")), default=-1)
    return [one for one in lessons if one.way != "guess" or one.speaker != "assistant" or one.place >= found]


def _helpers(turn: Any) -> dict[str, str]:
    """By both ends of a sentence, what the one after it says that helped: "Setting it to true brought …"."""
    said = split_sentences(" ".join(str(turn.text).split()))
    pairs = [(normalize(one), tidy(other)) for one, other in pairwise(said) if compiled(_HELPED, 2).search(other)]
    return {key: other for one, other in pairs for key in (one[:_KEY_CHARS], one[-_KEY_CHARS:])}


def _helper(lesson: Lesson, helped: Mapping[str, str]) -> str:
    """What helped against a cause: its quotation may lack the opening of the sentence, or the end."""
    words = normalize(lesson.quote.rstrip("…"))
    return helped.get(words[-_KEY_CHARS:]) or helped.get(words[:_KEY_CHARS], "")


def _taken_back(lesson: Lesson, turns: Sequence[Any]) -> bool:
    """Whether a person said something and took it back in the same breath."""
    if lesson.speaker != "user" or lesson.place >= len(turns):
        return False
    said = " ".join(str(turns[lesson.place].text)[:_TYPED_CHARS].split())
    start = said.find(" ".join(lesson.quote.rstrip("…").split())[:_KEY_CHARS])
    return bool(compiled(_TAKEN_BACK, 2).search(said, max(0, start)))


def _joined(lesson: Lesson, signal: Signal) -> Lesson:
    level = min((lesson.level, signal.level), key=LEVELS.index)
    return replace(lesson, level=level, speaker=signal.speaker if lesson.speaker != "tool" else "tool")


def _placed(lesson: Lesson, turns: Sequence[Any]) -> Lesson:
    """A lesson with the files that were changed around it and what was asked for then."""
    files = tuple(changed_near(lesson.place, turns))[:_MOST_FILES]
    asked = lesson.situation or _asked(lesson.place, turns)
    entities = lesson.entities or entities_of(files, lesson.text)
    return replace(lesson, files=lesson.files or files, situation=asked, entities=entities)


def _asked(place: int, turns: Sequence[Any]) -> str:
    """What the person had asked for before this turn: the last trouble or task that they told, else the last words."""
    before = (turn for turn in reversed(turns[:place]) if turn.role == "user" and turn.text)
    said = [str(turn.text)[:SITUATION_CHARS] for turn in islice(before, _LOOKED_BACK)]
    return next((text for text in said if is_trouble(text) or asks_for_work(text)), said[0] if said else "")
