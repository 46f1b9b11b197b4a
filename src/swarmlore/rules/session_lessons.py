"""The lessons of a whole session: what the user put right, what was overcome, what the agent found out.

Works on turns of any kind that have role, text, tool, command, files, output, error and failed. What a tool printed is
nobody's words: it counts only as the error that a fix was found for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.rules.correction_words import compiled
from swarmlore.rules.corrections import find_corrections, is_rejection
from swarmlore.rules.explanations import (
    ENOUGH,
    ENOUGH_ACTED,
    ENOUGH_UNPROVEN,
    denies,
    goes_on_about,
    is_of_compiling,
    is_report,
    is_tentative,
    is_trouble,
)
from swarmlore.rules.findings import Told, telling, weight
from swarmlore.rules.fixes import WRITING, Attempt, error_excerpt, find_fix
from swarmlore.rules.found import CONFIDENCES, Found
from swarmlore.rules.meaning import differences
from swarmlore.rules.placing import entities_of, holding, placed
from swarmlore.text.calls import Call, call_like, read_call
from swarmlore.text.similarity import content_words, jaccard_bigram, normalize

if TYPE_CHECKING:
    from typing import Any

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
