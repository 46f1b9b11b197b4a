"""Everything that a session holds, as one list: what it teaches by its corrections, fixes and findings, joined with the
signals in what was said. Pure.

A lesson that both found is one lesson: in the words of the rule that understood more of it, with the stronger level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise

from swarmlore.domain.extraction.agent_findings import Told, telling, weight
from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.extraction.corrections import (
    ENOUGH,
    ENOUGH_ACTED,
    ENOUGH_UNPROVEN,
    asks_for_work,
    denies,
    find_corrections,
    goes_on_about,
    is_of_compiling,
    is_rejection,
    is_report,
    is_tentative,
    is_trouble,
)
from swarmlore.domain.extraction.fixes import WRITING, Attempt, error_excerpt, find_fix
from swarmlore.domain.extraction.lesson_text import CONFIDENCES, Found, tidy
from swarmlore.domain.extraction.signal_phrases import LOW
from swarmlore.domain.extraction.signals import LEVELS, Signal, is_hearsay, scan, scan_turns
from swarmlore.domain.extraction.statement_score import open_sentence
from swarmlore.domain.extraction.topics import UNKNOWN, category_of
from swarmlore.domain.extraction.user_words import split_sentences
from swarmlore.domain.language.concepts import entities_from_path, entities_from_text
from swarmlore.domain.language.display import shortened
from swarmlore.domain.language.shell import Call, call_like, read_call
from swarmlore.domain.language.similarity import content_words, jaccard_bigram, normalize
from swarmlore.domain.policy.contradiction import differences
from swarmlore.domain.policy.deduplication import Neighbour, decide
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

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


MOST_LESSONS = 10
SITUATION_CHARS = 400
_NEAR = 8  # tool uses between a failure and the success that ends it
_SAME = 0.6
_NEVER = 1_000  # points
_STEM, _SHARED = 5, 2  # letters of a word, words
_FROM_USER, _FROM_FIX, _FROM_AGENT = 3, 2, 1  # what is heard first where there is too much

_CONFIG = (
    r"(?:^|/)(?:[^/]*\.(?:toml|ya?ml|ini|cfg|conf|env|properties)|Dockerfile|Makefile|package\.json"
    r"|tsconfig[^/]*\.json|[^/]*config[^/]*|setup[^/]*)$|(?:^|/)(?:configs?|configuration|setup)/"
)
_KINDS = (
    ("insight", r"\b(?:unexpected(?:ly)?|discovered|surpris\w+|turns out|turned out|it transpires)\b"),
    ("commitment", r"\b(?:always|never|prefer)\b"),
    ("gap", r"\b(?:missing|lacking|lacks?)\b"),
)


@frozen
class _Fix:
    """A failure that was overcome: the turn in which it showed, and what it teaches."""

    turn: Any
    found: Found


def lessons_of(turns: Iterable[Any]) -> tuple[Found, ...]:
    """At most ten lessons of a session, best first."""
    said = [turn for turn in turns if not is_foreign(turn)]
    fixes = _fixes(said)
    corrections = _corrections(said)
    findings = _findings(said, fixes, {place for place, _ in corrections})
    weighed = [(_FROM_USER, found) for _, found in corrections]
    weighed += [(_FROM_FIX, found) for found in _unexplained(fixes, findings)]
    weighed += [(_FROM_AGENT, found) for found in findings]
    weighed.sort(key=lambda item: (-item[0], -CONFIDENCES.index(item[1].confidence)))
    best = distinct([found for _, found in holding(weighed)])[:MOST_LESSONS]
    return tuple(placed(found, said) for found in best)


def kind_of(text: str, files: Sequence[str] = (), overcame: bool = False) -> str:
    """The kind of a lesson: by errors that were overcome, then by the files touched, then by its words."""
    if overcame:
        return "correction"
    if any(compiled(_CONFIG).search(path) for path in files):
        return "decision"
    low = text.lower()
    return next((kind for kind, pattern in _KINDS if compiled(pattern).search(low)), "learning")


def is_foreign(turn: Any) -> bool:
    """Whether nobody in this conversation said it: context of the client, summaries, the talk of other agents."""
    return bool(getattr(turn, "meta", "") or getattr(turn, "sidechain", False))


def _corrections(turns: Sequence[Any]) -> list[tuple[int, Found]]:
    """What the user put right, each with its place; the situation is what had been asked before."""
    found: list[tuple[int, Found]] = []
    asked = answer = ""
    for place, turn in enumerate(turns):
        if turn.role == "assistant" and turn.text:
            answer = turn.text
        elif turn.role == "user" and turn.text:
            under = (asked or turn.text)[:SITUATION_CHARS]
            told = find_corrections(turn.text, answer)
            found += [(place, replace(item, situation=under, place=place)) for item in told]
            asked = turn.text
    return found


def _fixes(turns: Sequence[Any]) -> list[_Fix]:
    """Failures of tools that a later, similar use overcame."""
    used = [(place, turn) for place, turn in enumerate(turns) if turn.tool]
    found: list[_Fix] = []
    for number, (place, turn) in enumerate(used):
        later = [other for _, other in used[number + 1 : number + 1 + _NEAR]]
        if turn.failed and turn.command and (fix := _overcome(_attempt(turn), later)):
            found.append(_Fix(turn, replace(fix, entities=entities_of(turn.files, ""), place=place)))
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


def _findings(turns: Sequence[Any], fixes: Sequence[_Fix], taught: set[int]) -> list[Found]:
    """Sentences in which the agent says what was wrong, what helped, what was decided, what is missing."""
    found: list[Found] = []
    stretch = _Stretch("")
    for place, turn in enumerate(turns):
        if turn.role == "user" and turn.text:
            found += stretch.findings(turn.text)
            stretch = _Stretch(turn.text) if place in taught else stretch.follow(turn.text)
        stretch.place = place
        stretch.see(turn, fixes)
    return [*found, *stretch.findings("")]


class _Stretch:
    """What happened since the user spoke: what an agent says then is about that, and the user's next words judge it.

    An explanation waits until the failure that it explains is overcome; where it fails once more, it explained nothing.
    Without a failure it answers a report of trouble; where nothing but its form tells that a prompt is one, an edit
    and a command that works afterwards are the proof.
    """

    def __init__(self, asked: str, trouble: bool = False) -> None:
        self.asked = asked
        self.place = 0  # of the turn that is looked at
        self.trouble = trouble or is_trouble(asked)
        self.reported = self.trouble or is_report(asked)
        self.said = ""
        self.error = ""
        self.overcame = self.edited = self.proved = False
        self.acted_on = 0  # how many of the explanations were there before something was changed
        self.broke: Call | None = None
        self.files: list[str] = []
        self.fixes: list[Found] = []
        self.sure: list[tuple[Told, Found]] = []
        self.explained: list[tuple[Told, Found]] = []
        self.tentative: list[tuple[Told, Found]] = []
        self.proven: list[Found] = []

    def follow(self, prompt: str) -> _Stretch:
        """The stretch that a prompt opens: of the same trouble, unless it thanks or asks for something else."""
        if self.reported and goes_on_about(prompt) and not is_trouble(prompt):
            return _Stretch(self.asked, self.trouble)
        return _Stretch(prompt)

    def see(self, turn: Any, fixes: Sequence[_Fix]) -> None:
        self.files += turn.files
        if turn.role == "assistant" and not turn.tool:
            self._hear(turn.text)
        elif turn.failed:
            self._fail(turn, [fix.found for fix in fixes if fix.turn is turn])
        elif turn.failed is False and turn.command:
            self._work(turn.command)
        if turn.tool == WRITING and (self.explained or self.tentative):
            self.edited, self.acted_on = True, len(self.explained)

    def _work(self, command: str) -> None:
        self.proved |= self.edited
        if self.error:
            self.overcame |= bool(self.fixes) or self.broke is None or _tries_again(command, self.broke)

    def _fail(self, turn: Any, fixes: Sequence[Found]) -> None:
        if self.error:
            self._settle()
        self.error, self.overcame = error_excerpt(turn.error or turn.output), False
        self.edited, self.proved, self.acted_on = False, False, 0
        self.fixes += fixes
        self.broke = read_call(turn.command) if turn.command else None

    def _hear(self, text: str) -> None:
        self.said = text
        under = (self.error, "error") if self.error else (self.asked[:SITUATION_CHARS], "prompt")
        kept = self.tentative if is_tentative(text) else self.explained
        for told in telling(text, self.reported or (bool(self.error) and not is_of_compiling(self.error))):
            found = replace(_finding(told, self.files, bool(self.error), under), place=self.place)
            if told.way != "explained":
                self.sure.append((told, found))
            elif self._is_news(told.text):
                kept.append((told, found))

    def _settle(self) -> None:
        """Of several explanations the one that explains most, of equal ones the last, if it was proven."""
        explained = [item for place, item in enumerate(self.explained) if weight(item[0]) >= self._least(place)]
        if explained:
            self.proven.append(_best(explained))
        elif self.tentative and (self.overcame or self.proved) and not self.sure:
            self.proven.append(_best(self.tentative))
        self.explained, self.tentative, self.acted_on = [], [], 0

    def _least(self, place: int) -> int:
        """How many points an explanation needs: the fewer, the better it is proven."""
        if self.overcame if self.error else self.proved:
            return ENOUGH_ACTED if place < self.acted_on else ENOUGH
        return ENOUGH_UNPROVEN if self.trouble and not self.error else _NEVER

    def findings(self, answer: str) -> list[Found]:
        """What was told; explanations that the user's answer rejects were none."""
        self._settle()
        denied = denies(answer)
        sure = [found for told, found in self.sure if not (denied and told.way == "named")]
        told = [found for found in self.proven if not any(_shares_words(found.text, other.text) for other in sure)]
        if told and (denied or (is_rejection(answer) and not self.said.rstrip().endswith("?"))):
            return sure
        return [*sure, *told]

    def _is_news(self, text: str) -> bool:
        """Whether it says more than the fix that stands beside it: it does where it names what made the difference."""
        return not self.fixes or any(_explains(text, fix) for fix in self.fixes)


def _shares_words(one: str, other: str) -> bool:
    """Whether two findings of one stretch speak of the same things: then they tell the same."""
    stems = [{word[:_STEM] for word in content_words(text)} for text in (one, other)]
    return len(stems[0] & stems[1]) >= _SHARED


def _best(explained: Sequence[tuple[Told, Found]]) -> Found:
    return sorted(explained, key=lambda item: weight(item[0]))[-1][1]


def _tries_again(command: str, broke: Call) -> bool:
    """Whether a command does what another one could not: the same call, or one that works on the same file."""
    if call_like(command, broke) is not None:
        return True
    worked = read_call(command)
    files = {word for word in broke.operands if "." in word or "/" in word}
    return worked is not None and not files.isdisjoint(worked.operands)


def _unexplained(fixes: Sequence[_Fix], findings: Sequence[Found]) -> list[Found]:
    """Fixes that nobody put into words: where somebody did, the words are the lesson."""
    return [fix.found for fix in fixes if not any(_explains(found.text, fix.found) for found in findings)]


def _explains(text: str, fix: Found) -> bool:
    """Whether a text names what the command that worked has and the one that failed has not."""
    commands = compiled(r"`([^`]{1,300})`").findall(fix.text)
    if len(commands) < 2 or compiled(r"(?:the (?:script|tool|command|program|tests?|build)|it|this|that)\b", 2).match(
        text
    ):
        return False  # a fix names what "the script" is
    new = set(commands[-1].split()) - set(commands[0].split())
    words = set(compiled(r"[\w@./=:-]*\w").findall(text))
    return any(part in words for token in new for part in (token, token.partition("=")[0]) if len(part) > 1)


def _finding(told: Told, files: Sequence[str], overcame: bool, under: tuple[str, str]) -> Found:
    text = told.text
    named = [path for path in files if path.rpartition("/")[2] in text]
    kind = "gap" if told.way == "missing" else kind_of(text, named, overcame)
    if kind == "commitment" and not compiled(r"(?:always|never|prefer)\b").match(text.lower()):
        kind = "learning"  # "the cache never hits" tells, it binds nobody
    return Found(text, kind, "medium", text, situation=under[0], situation_via=under[1])


def distinct(found: Sequence[Found]) -> list[Found]:
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


MOST = 60
QUOTE_CHARS = 100
_MOST_FILES = 5
_KINDS_OF_LESSON = {
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
        kind=_KINDS_OF_LESSON.get(signal.way, "learning"),
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
