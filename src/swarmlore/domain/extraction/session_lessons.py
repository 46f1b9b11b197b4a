"""Extract all lessons of a session: corrections, fixes and findings, merged with the signals in its messages.

A lesson found in both ways is kept once: in the text of the better rule, with the stronger level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise

from swarmlore.domain.extraction.agent_findings import AgentFinding, find_findings, finding_weight
from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.extraction.corrections import (
    ENOUGH,
    ENOUGH_ACTED,
    ENOUGH_UNPROVEN,
    asks_for_work,
    denies,
    find_corrections,
    is_compile_error,
    is_rejection,
    is_report,
    is_tentative,
    is_trouble,
    leaves_report_open,
)
from swarmlore.domain.extraction.fixes import WRITING, Attempt, error_excerpt, find_fix
from swarmlore.domain.extraction.lesson_text import CONFIDENCES, CandidateLesson, tidy
from swarmlore.domain.extraction.message_text import split_sentences
from swarmlore.domain.extraction.signal_phrases import LOW
from swarmlore.domain.extraction.signals import LEVELS, Signal, is_hearsay, scan, scan_turns
from swarmlore.domain.extraction.statement_score import open_sentence
from swarmlore.domain.extraction.topics import UNKNOWN, category_of
from swarmlore.domain.language.concepts import entities_from_path, entities_from_text
from swarmlore.domain.language.display import shortened
from swarmlore.domain.language.shell import Call, call_like, read_call
from swarmlore.domain.language.similarity import content_words, jaccard_bigram, normalize
from swarmlore.domain.policy.contradiction import differences
from swarmlore.domain.policy.deduplication import Neighbour, decide
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any

    Weighed = tuple[int, CandidateLesson]


MOST_ENTITIES = 5
MOST_COMPARED = 60  # candidate lessons compared pairwise, six times as many as are kept
MOST_READ = 2  # read files that tell the subject of a session without changed files
_WRITE, _TALK = "write", ("user", "assistant")


def without_overruled(weighed: Iterable[Weighed]) -> list[Weighed]:
    """Return the best lessons without the overruled ones: of two contradictory ones the later wins unless it weighs
    less."""
    best = list(weighed)[:MOST_COMPARED]
    in_order = sorted(best, key=lambda item: item[1].place)
    overruled = [
        item for place, item in enumerate(in_order) if _is_overruled(item, in_order[:place], in_order[place + 1 :])
    ]
    return [item for item in best if item not in overruled]


def _is_overruled(item: Weighed, earlier: Sequence[Weighed], later: Sequence[Weighed]) -> bool:
    """Tell whether another lesson of the session contradicts and outranks this one."""
    weight, found = item
    if any(other >= weight and contradicts_lesson(newer, found) for other, newer in later):
        return True
    return any(other > weight and contradicts_lesson(found, older) for other, older in earlier)


def contradicts_lesson(new: CandidateLesson, old: CandidateLesson) -> bool:
    """Tell whether a lesson contradicts another one about the same thing."""
    known = Neighbour("old", old.text, jaccard_bigram(new.text, old.text), trust=0)
    if decide(new.text, 3, [known], profile="default", measure="jaccard").operation == "DELETE":
        return True
    return _exclude_each_other(new.text.lower(), old.text.lower())


def _exclude_each_other(new: str, old: str) -> bool:
    """Tell whether two lessons exclude what the other wants: "yarn, not npm", "npm, not yarn"."""
    named = compiled(r"\b(?:not|never) (?:(?:against|use|to|with|in|for|the) )?([\w./@-]*\w)")
    against, before = named.findall(new), named.findall(old)
    alike = content_words(new) & content_words(old)
    return any(
        here != there and here in old and there in new and here not in before and there not in against
        for here in against
        for there in before
    ) and len(alike) > len({*against, *before})


def placed(found: CandidateLesson, turns: Sequence[Any]) -> CandidateLesson:
    """Return a lesson with entities taken from its text and from the files of the turns around it."""
    if found.entities:
        return found
    return replace(found, entities=entities_of(_related_files(found.place, turns), found.text))


def _related_files(place: int, turns: Sequence[Any]) -> list[str]:
    """Return the files changed around a turn; else any changed in the session; else some that were read."""
    if near := changed_near(place, turns):
        return near
    if changed := changed_files(turns):
        return changed
    begin, end, _ = _prompt_range(place, turns)
    return read_files(turns[begin:end]) or read_files(turns)


def changed_near(place: int, turns: Sequence[Any]) -> list[str]:
    """Return the files changed around a turn; a turn from a shortened session holds them itself."""
    begin, end, before = _prompt_range(place, turns)
    if place < len(turns) and turns[place].role in _TALK and turns[place].files:
        return list(turns[place].files)
    return changed_files(turns[begin:end]) or changed_files(turns[before:begin])


def _prompt_range(place: int, turns: Sequence[Any]) -> tuple[int, int, int]:
    """Return the turn indices of the last prompt up to here, of the next one, and of the previous one."""
    prompts = [number for number, turn in enumerate(turns) if turn.role == "user" and turn.text]
    begin = max((number for number in prompts if number <= place), default=0)
    end = min((number for number in prompts if number > place), default=len(turns))
    before = max((number for number in prompts if number < begin), default=0) if begin == place else begin
    return begin, end, before


def changed_files(turns: Iterable[Any]) -> list[str]:
    """Return the files that these turns changed, each once."""
    return _distinct_paths(path for turn in turns if turn.tool == _WRITE for path in turn.files)


def read_files(turns: Iterable[Any]) -> list[str]:
    """Return the first files that these turns touched."""
    return _distinct_paths(path for turn in turns for path in turn.files)[:MOST_READ]


def _distinct_paths(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))


def entities_of(paths: Sequence[str], text: str) -> tuple[str, ...]:
    """Return the graph entities named by a text and by paths."""
    found = [*entities_from_text(text), *(entity for path in paths for entity in entities_from_path(path))]
    return tuple(dict.fromkeys(found))[:MOST_ENTITIES]


MOST_LESSONS = 10
SITUATION_CHARS = 400
_NEAR = 8  # tool uses between a failure and the success that resolves it
_SAME = 0.6
_NEVER = 1_000  # points
_STEM, _SHARED = 5, 2  # letters of a word, words
_FROM_USER, _FROM_FIX, _FROM_AGENT = 3, 2, 1  # priorities of lessons by source

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
    """A resolved failure: the turn in which it occurred, and its lesson."""

    turn: Any
    found: CandidateLesson


def candidate_lessons(turns: Iterable[Any]) -> tuple[CandidateLesson, ...]:
    """Return at most ten candidate lessons of a session, best first."""
    own = [turn for turn in turns if not is_foreign(turn)]
    fixes = _fixes(own)
    corrections = _corrections(own)
    findings = _findings(own, fixes, {place for place, _ in corrections})
    weighed = [(_FROM_USER, found) for _, found in corrections]
    weighed += [(_FROM_FIX, found) for found in _unexplained(fixes, findings)]
    weighed += [(_FROM_AGENT, found) for found in findings]
    weighed.sort(key=lambda item: (-item[0], -CONFIDENCES.index(item[1].confidence)))
    best = deduplicate([found for _, found in without_overruled(weighed)])[:MOST_LESSONS]
    return tuple(placed(found, own) for found in best)


def kind_of(text: str, files: Sequence[str] = (), overcame: bool = False) -> str:
    """Return the kind of a lesson, by resolved errors, then by the files touched, then by its words."""
    if overcame:
        return "correction"
    if any(compiled(_CONFIG).search(path) for path in files):
        return "decision"
    low = text.lower()
    return next((kind for kind, pattern in _KINDS if compiled(pattern).search(low)), "learning")


def is_foreign(turn: Any) -> bool:
    """Tell whether neither the user nor this agent wrote a turn: client context, summaries, other agents."""
    return bool(getattr(turn, "meta", "") or getattr(turn, "sidechain", False))


def _corrections(turns: Sequence[Any]) -> list[tuple[int, CandidateLesson]]:
    """Return the user's corrections with their turn index; the previous prompt is their situation."""
    found: list[tuple[int, CandidateLesson]] = []
    request = answer = ""
    for place, turn in enumerate(turns):
        if turn.role == "assistant" and turn.text:
            answer = turn.text
        elif turn.role == "user" and turn.text:
            situation = (request or turn.text)[:SITUATION_CHARS]
            corrections = find_corrections(turn.text, answer)
            found += [(place, replace(item, situation=situation, place=place)) for item in corrections]
            request = turn.text
    return found


def _fixes(turns: Sequence[Any]) -> list[_Fix]:
    """Return the failures of tools that a later, similar use resolved."""
    used = [(place, turn) for place, turn in enumerate(turns) if turn.tool]
    found: list[_Fix] = []
    for number, (place, turn) in enumerate(used):
        later = [other for _, other in used[number + 1 : number + 1 + _NEAR]]
        if turn.failed and turn.command and (fix := _find_resolution(_attempt(turn), later)):
            found.append(_Fix(turn, replace(fix, entities=entities_of(turn.files, ""), place=place)))
    return found


def _find_resolution(failed: Attempt, later: Sequence[Any]) -> CandidateLesson | None:
    """Return the lesson of the first later use that resolved a failure, or None."""
    between: list[Attempt] = []
    for turn in later:
        attempt = _attempt(turn)
        if turn.failed is False and turn.command and (found := find_fix(failed, between, attempt)):
            return found
        between.append(attempt)
    return None


def _attempt(turn: Any) -> Attempt:
    """Convert a turn to a tool attempt."""
    error = (turn.error or turn.output or "failed") if turn.failed else ""
    return Attempt(turn.tool, turn.command, tuple(turn.files), error, "" if error else turn.output)


def _findings(turns: Sequence[Any], fixes: Sequence[_Fix], taught: set[int]) -> list[CandidateLesson]:
    """Return the agent's findings: causes, remedies, decisions, gaps."""
    found: list[CandidateLesson] = []
    turns_since = _PromptTurns("")
    for place, turn in enumerate(turns):
        if turn.role == "user" and turn.text:
            found += turns_since.findings(turn.text)
            turns_since = _PromptTurns(turn.text) if place in taught else turns_since.follow(turn.text)
        turns_since.place = place
        turns_since.record(turn, fixes)
    return [*found, *turns_since.findings("")]


class _PromptTurns:
    """The turns after one prompt: collects the agent's findings and the events that prove or refute them.

    An explanation counts once the failure that it explains is resolved; a second failure refutes it. Without a
    failure it may answer a trouble report. If only its form shows that a prompt is a report, an edit and a later
    successful command are the proof. The user's next prompt may reject the findings.
    """

    def __init__(self, asked: str, trouble: bool = False) -> None:
        self.asked = asked
        self.place = 0  # index of the current turn
        self.trouble = trouble or is_trouble(asked)
        self.reported = self.trouble or is_report(asked)
        self.said = ""
        self.error = ""
        self.overcame = self.edited = self.proved = False
        self.acted_on = 0  # number of explanations given before the last edit
        self.broke: Call | None = None
        self.files: list[str] = []
        self.fixes: list[CandidateLesson] = []
        self.sure: list[tuple[AgentFinding, CandidateLesson]] = []
        self.explained: list[tuple[AgentFinding, CandidateLesson]] = []
        self.tentative: list[tuple[AgentFinding, CandidateLesson]] = []
        self.proven: list[CandidateLesson] = []

    def follow(self, prompt: str) -> _PromptTurns:
        """Return the state for the next prompt; it keeps an open trouble report unless a new task begins."""
        if self.reported and leaves_report_open(prompt) and not is_trouble(prompt):
            return _PromptTurns(self.asked, self.trouble)
        return _PromptTurns(prompt)

    def record(self, turn: Any, fixes: Sequence[_Fix]) -> None:
        """Record one turn."""
        self.files += turn.files
        if turn.role == "assistant" and not turn.tool:
            self._record_message(turn.text)
        elif turn.failed:
            self._record_failure(turn, [fix.found for fix in fixes if fix.turn is turn])
        elif turn.failed is False and turn.command:
            self._record_success(turn.command)
        if turn.tool == WRITING and (self.explained or self.tentative):
            self.edited, self.acted_on = True, len(self.explained)

    def _record_success(self, command: str) -> None:
        """Record a successful command."""
        self.proved |= self.edited
        if self.error:
            self.overcame |= bool(self.fixes) or self.broke is None or _tries_again(command, self.broke)

    def _record_failure(self, turn: Any, fixes: Sequence[CandidateLesson]) -> None:
        """Record a failure."""
        if self.error:
            self._keep_explanation()
        self.error, self.overcame = error_excerpt(turn.error or turn.output), False
        self.edited, self.proved, self.acted_on = False, False, 0
        self.fixes += fixes
        self.broke = read_call(turn.command) if turn.command else None

    def _record_message(self, text: str) -> None:
        """Record the findings in a message of the agent."""
        self.said = text
        situation = (self.error, "error") if self.error else (self.asked[:SITUATION_CHARS], "prompt")
        kept = self.tentative if is_tentative(text) else self.explained
        for finding in find_findings(text, self.reported or (bool(self.error) and not is_compile_error(self.error))):
            lesson = replace(_finding(finding, self.files, bool(self.error), situation), place=self.place)
            if finding.way != "explained":
                self.sure.append((finding, lesson))
            elif self._adds_to_fixes(finding.text):
                kept.append((finding, lesson))

    def _keep_explanation(self) -> None:
        """Keep the explanation with the most points, of equal ones the last, if it has enough proof."""
        explained = [
            item for place, item in enumerate(self.explained) if finding_weight(item[0]) >= self._points_needed(place)
        ]
        if explained:
            self.proven.append(_best(explained))
        elif self.tentative and (self.overcame or self.proved) and not self.sure:
            self.proven.append(_best(self.tentative))
        self.explained, self.tentative, self.acted_on = [], [], 0

    def _points_needed(self, place: int) -> int:
        """Return the points that an explanation needs: fewer with better proof."""
        if self.overcame if self.error else self.proved:
            return ENOUGH_ACTED if place < self.acted_on else ENOUGH
        return ENOUGH_UNPROVEN if self.trouble and not self.error else _NEVER

    def findings(self, answer: str) -> list[CandidateLesson]:
        """Return the findings, without the explanations that the user's answer rejects."""
        self._keep_explanation()
        denied = denies(answer)
        sure = [found for finding, found in self.sure if not (denied and finding.way == "named")]
        proven = [found for found in self.proven if not any(_shares_words(found.text, other.text) for other in sure)]
        if proven and (denied or (is_rejection(answer) and not self.said.rstrip().endswith("?"))):
            return sure
        return [*sure, *proven]

    def _adds_to_fixes(self, text: str) -> bool:
        """Tell whether an explanation adds to the fixes found: it must name what made the difference."""
        return not self.fixes or any(_explains(text, fix) for fix in self.fixes)


def _shares_words(first: str, second: str) -> bool:
    """Tell whether two findings share enough word stems to be about the same thing."""
    stems = [{word[:_STEM] for word in content_words(text)} for text in (first, second)]
    return len(stems[0] & stems[1]) >= _SHARED


def _best(explained: Sequence[tuple[AgentFinding, CandidateLesson]]) -> CandidateLesson:
    """Return the explanation with the most points, of equal ones the last."""
    return sorted(explained, key=lambda item: finding_weight(item[0]))[-1][1]


def _tries_again(command: str, broke: Call) -> bool:
    """Tell whether a command repeats a failed call, or works on one of its files."""
    if call_like(command, broke) is not None:
        return True
    worked = read_call(command)
    files = {word for word in broke.operands if "." in word or "/" in word}
    return worked is not None and not files.isdisjoint(worked.operands)


def _unexplained(fixes: Sequence[_Fix], findings: Sequence[CandidateLesson]) -> list[CandidateLesson]:
    """Return the lessons of fixes that no finding explains; a finding replaces the fix it explains."""
    return [fix.found for fix in fixes if not any(_explains(found.text, fix.found) for found in findings)]


def _explains(text: str, fix: CandidateLesson) -> bool:
    """Tell whether a text names what the successful command has and the failed one has not."""
    commands = compiled(r"`([^`]{1,300})`").findall(fix.text)
    if len(commands) < 2 or compiled(r"(?:the (?:script|tool|command|program|tests?|build)|it|this|that)\b", 2).match(
        text
    ):
        return False  # "the script" refers to the command that a fix names
    new = set(commands[-1].split()) - set(commands[0].split())
    words = set(compiled(r"[\w@./=:-]*\w").findall(text))
    return any(part in words for token in new for part in (token, token.partition("=")[0]) if len(part) > 1)


def _finding(
    finding: AgentFinding, files: Sequence[str], overcame: bool, situation: tuple[str, str]
) -> CandidateLesson:
    """Convert an agent's finding to a candidate lesson."""
    text = finding.text
    named = [path for path in files if path.rpartition("/")[2] in text]
    kind = "gap" if finding.way == "missing" else kind_of(text, named, overcame)
    if kind == "commitment" and not compiled(r"(?:always|never|prefer)\b").match(text.lower()):
        kind = "learning"  # "the cache never hits" is a fact, not a rule
    return CandidateLesson(text, kind, "medium", text, situation=situation[0], situation_via=situation[1])


def deduplicate(found: Sequence[CandidateLesson]) -> list[CandidateLesson]:
    """Remove duplicate lessons; the first text wins. At most ten are kept."""
    kept: list[CandidateLesson] = []
    for item in found:
        if not any(_is_same(item.text, other.text) for other in kept):
            kept.append(item)
        if len(kept) == MOST_LESSONS:
            break
    return kept


def _is_same(new: str, old: str) -> bool:
    """Tell whether two texts say the same, without a difference that matters."""
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
# Openings of praise or of a repeated order that `open_sentence` does not remove.
_PRAISED = (
    r"^(?:(?:yes|yeah|yep|ok|okay|that's|this is|it's|looks?|very|really|so)[,.! ]+){0,2}(?:perfect(?:ly)?"
    r"|exactly(?: right)?|excellent"
    r"|great(?: (?:job|work))?|nice(?: (?:job|work))?|good(?: (?:job|work))?|correct|right|well done)[,.!:;–— -]+"
)


_WEAK = ("observation", "praise", "guess", "change")  # ways that say less than the rule that found the lesson
_LOOKED_BACK = 5  # prompts
_KEY_CHARS = 40  # characters that identify a sentence
_TYPED_CHARS = 3_000
_AND_A_RULE = r",? (?:and|but) (?=(?:please )?(?:always|never|don't|do not|stop) \w)"
_LEAST_WORDS = 3
# A remedy named after a cause: the action and its effect.
_HELPED = (
    r"^(?:[a-z-]+ing|with|by|after|once|i|we|so i|so we|now|it|this|that|the (?:fix|solution|workaround))\b.*\b(?:fixed"
    r"|fixes|solved|solves|resolved|resolves|cured|cures|helped|works|worked|brought|brings|went away|is gone|are gone"
    r"|gone now|stopped|avoids|removed the|no longer|(?:is|was) (?:enough|solved"
    r"|fixed|resolved)|green|passes?|passed)\b"
)
_TAKEN_BACK = (
    r"[,.;!?… -]\s*(?:(?:oh|ah|er|hm+|no|wait|actually|sorry)[,. ]+){0,3}(?:scratch (?:that|this)|strike that"
    r"|(?:no,? )wait\b|forget (?:that|it|what i (?:just )?said)|i take (?:that|it) back|ignore (?:that"
    r"|what i (?:just )?said)|never ?mind(?:,? that)?(?=[.,!?]|$)|on second thought)"
)
_ASKED = r"^(?:can|could|would|will) (?:we|you) (?:please )?(?=not|stop|avoid|always|never)"


@frozen
class Lesson:
    """One lesson of a session: its text, strength, topic, kind, speaker and source."""

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
    fix: str = ""  # the remedy, if it was named right after the cause


def extract_lessons(turns: Iterable[Any], since: float = 0.0) -> tuple[Lesson, ...]:
    """Return the lessons of a session, each once, strongest first; `since` leaves out earlier statements."""
    turns = list(turns)
    own = [turn for turn in turns if not is_foreign(turn)]
    found = [item for item in candidate_lessons(turns) if _speaker(item, own) != "user" or not is_hearsay(item.excerpt)]
    lessons = [_with_context(lesson_from(item, speaker=_speaker(item, own)), own) for item in found]
    rejected = _rejected(own)
    for signal in scan_turns(own):
        if signal.speaker == "assistant" and signal.place in rejected:
            continue
        twin = next((place for place, lesson in enumerate(lessons) if _has_same_source(lesson, signal)), None)
        if twin is None:
            lessons.append(_with_context(lesson_from(signal), own))
        else:
            lessons[twin] = _with_signal(lessons[twin], signal)
    lessons = [lesson for lesson in _with_fixes(_without_guesses(lessons), own) if not _taken_back(lesson, own)]
    lessons = [part for lesson in lessons for part in _parts(lesson) if _is_since(lesson, own, since)]
    lessons.sort(key=lambda lesson: (LEVELS.index(lesson.level), lesson.place))
    return tuple(lessons[:MOST])


def _is_since(lesson: Lesson, turns: Sequence[Any], since: float) -> bool:
    """Tell whether a lesson is later than a time; turns without a time count as later."""
    at = getattr(turns[lesson.place], "at", 0.0) if since and lesson.place < len(turns) else 0.0
    return not at or at > since


def lesson_from(item: Signal | CandidateLesson, files: Sequence[str] = (), speaker: str = "") -> Lesson:
    """Convert a signal or a candidate lesson to a lesson; without `speaker` it is derived from the text."""
    lesson = _of_signal(item) if isinstance(item, Signal) else _of_found(item, speaker)
    return replace(lesson, files=tuple(files)[:_MOST_FILES]) if files else lesson


def count_by_level(items: Iterable[Signal | Lesson]) -> dict[str, int]:
    """Count the items of each level."""
    counted = Counter(item.level for item in items)
    return {level: counted[level] for level in LEVELS}


def _of_signal(signal: Signal) -> Lesson:
    text = open_sentence(signal.sentence, frozenset()).text if signal.speaker == "user" else signal.sentence
    text = compiled(_ASKED, 2).sub("", text)
    if signal.way in ("praise", "keep"):
        text = compiled(_PRAISED, 2).sub("", text)
    return Lesson(
        text=tidy(text) or tidy(signal.sentence),
        level=signal.level,
        category=signal.category,
        kind=_KINDS_OF_LESSON.get(signal.way, "learning"),
        speaker=signal.speaker,
        cue=signal.cue,
        quote=signal.quote,
        place=signal.place,
        way=signal.way,
    )


def _speaker(found: CandidateLesson, turns: Sequence[Any]) -> str:
    return str(turns[found.place].role) if found.place < len(turns) else ""


def _of_found(found: CandidateLesson, speaker: str = "") -> Lesson:
    """Convert a candidate lesson; the signal in its own words may raise its level."""
    tool = found.trust < 2 and found.situation_via == "error"
    speaker = "tool" if tool else speaker or ("user" if found.excerpt != found.text else "assistant")
    signals = scan(found.excerpt or found.text, "user" if tool else speaker)
    strongest = min(signals, key=lambda signal: LEVELS.index(signal.level), default=None)
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


def _way_of(found: CandidateLesson, speaker: str) -> str:
    """Return the way of a candidate lesson whose words give no signal."""
    if found.kind == "decision":
        return "decision"
    if speaker == "assistant":
        return "caveat" if found.kind == "gap" else "cause"
    return "rule" if found.kind == "commitment" else "correction"


def _has_same_source(lesson: Lesson, signal: Signal) -> bool:
    """Tell whether a signal and a lesson come from the same words."""
    if lesson.place == signal.place and lesson.quote.rstrip("…") in signal.sentence:
        return True
    if normalize(lesson.text) in normalize(signal.sentence):
        return True
    return lesson.place == signal.place and jaccard_bigram(lesson.text, signal.sentence) >= _SAME


def _rejected(turns: Sequence[Any]) -> set[int]:
    """Return the indices of agent messages that the user called wrong in the next prompt."""
    rejected: set[int] = set()
    messages: list[int] = []
    for place, turn in enumerate(turns):
        if turn.role == "user" and turn.text:
            rejected.update(messages if is_rejection(turn.text) else ())
            messages = []
        elif turn.role == "assistant":
            messages.append(place)
    return rejected


def _parts(lesson: Lesson) -> list[Lesson]:
    """Split a lesson with two rules into two: "never …, and stop …"."""
    parts = compiled(_AND_A_RULE, 2).split(lesson.text) if lesson.way == "rule" and lesson.speaker == "user" else []
    if len(parts) < 2 or any(len(part.split()) < _LEAST_WORDS for part in parts):
        return [lesson]
    return [replace(lesson, text=tidy(part), category=category_of(part, stated=True)) for part in parts]


def _with_fixes(lessons: Sequence[Lesson], turns: Sequence[Any] = ()) -> list[Lesson]:
    """Merge each cause with the fix that the same message names."""
    fixes: dict[int, Lesson] = {}
    for lesson in lessons:
        if lesson.way == "fix" and lesson.speaker != "tool":
            fixes.setdefault(lesson.place, lesson)
    places = {lesson.place for lesson in lessons if lesson.way in ("cause", "found")}
    helped = {place: _remedies(turns[place]) for place in places if place < len(turns)}
    kept = []
    for lesson in lessons:
        if lesson.way in ("cause", "found"):
            known = fixes.pop(lesson.place, None)
            lesson = replace(lesson, fix=known.text if known else _remedy(lesson, helped.get(lesson.place, {})))
        kept.append(lesson)
    joined = {lesson.fix for lesson in kept if lesson.fix}
    return [lesson for lesson in kept if lesson.way != "fix" or lesson.text not in joined]


def _without_guesses(lessons: Sequence[Lesson]) -> list[Lesson]:
    """Remove the agent's guesses that precede a cause it found."""
    last_cause = max((lesson.place for lesson in lessons if lesson.way in ("cause", "found", "fix")), default=-1)
    return [
        lesson
        for lesson in lessons
        if lesson.way != "guess" or lesson.speaker != "assistant" or lesson.place >= last_cause
    ]


def _remedies(turn: Any) -> dict[str, str]:
    """Map both ends of each sentence to the next sentence, if that names a remedy: "Setting it to true brought …"."""
    parts = split_sentences(" ".join(str(turn.text).split()))
    pairs = [(normalize(one), tidy(other)) for one, other in pairwise(parts) if compiled(_HELPED, 2).search(other)]
    return {key: other for one, other in pairs for key in (one[:_KEY_CHARS], one[-_KEY_CHARS:])}


def _remedy(lesson: Lesson, helped: Mapping[str, str]) -> str:
    """Return the remedy for a cause, matched by either end of its quotation, which may be cut."""
    words = normalize(lesson.quote.rstrip("…"))
    return helped.get(words[-_KEY_CHARS:]) or helped.get(words[:_KEY_CHARS], "")


def _taken_back(lesson: Lesson, turns: Sequence[Any]) -> bool:
    """Tell whether a user retracted a statement in the same message."""
    if lesson.speaker != "user" or lesson.place >= len(turns):
        return False
    message = " ".join(str(turns[lesson.place].text)[:_TYPED_CHARS].split())
    start = message.find(" ".join(lesson.quote.rstrip("…").split())[:_KEY_CHARS])
    return bool(compiled(_TAKEN_BACK, 2).search(message, max(0, start)))


def _with_signal(lesson: Lesson, signal: Signal) -> Lesson:
    """Merge a signal into a lesson: the stronger level wins."""
    level = min((lesson.level, signal.level), key=LEVELS.index)
    return replace(lesson, level=level, speaker=signal.speaker if lesson.speaker != "tool" else "tool")


def _with_context(lesson: Lesson, turns: Sequence[Any]) -> Lesson:
    """Return a lesson with the files changed around it, its entities and the request at that time."""
    files = tuple(changed_near(lesson.place, turns))[:_MOST_FILES]
    request = lesson.situation or _request_before(lesson.place, turns)
    entities = lesson.entities or entities_of(files, lesson.text)
    return replace(lesson, files=lesson.files or files, situation=request, entities=entities)


def _request_before(place: int, turns: Sequence[Any]) -> str:
    """Return the request before a turn: the last trouble report or task, else the last prompt."""
    before = (turn for turn in reversed(turns[:place]) if turn.role == "user" and turn.text)
    prompts = [str(turn.text)[:SITUATION_CHARS] for turn in islice(before, _LOOKED_BACK)]
    return next((text for text in prompts if is_trouble(text) or asks_for_work(text)), prompts[0] if prompts else "")
