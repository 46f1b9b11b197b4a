"""What an agent says it found out: causes, fixes and choices it names as such, what explains a failure that was
overcome, and what it says is missing.

Rules in an agent's own words ("you must always …") are advice, and what it did, does or will do is its work: neither is
a finding. A guess is none either: an explanation counts only behind the success that proves it.
"""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.domain.extraction.correction_patterns import TASK_VERBS, compiled, names_something
from swarmlore.domain.extraction.corrections import ENOUGH, ENOUGH_ACTED, explanation_points
from swarmlore.domain.extraction.lesson_text import MAX_CHARS, MIN_CHARS, tidy
from swarmlore.domain.extraction.signal_phrases import HIGH
from swarmlore.domain.extraction.signals import is_hypothetical, scan
from swarmlore.domain.extraction.user_words import QUOTED, sentences
from swarmlore.domain.language.similarity import content_words
from swarmlore.domain.policy.contradiction import is_vague
from swarmlore.frozen import frozen

_TELLING_WORDS = 4
_NAMED_WEIGHT = 100

_LABELS = (
    r"(?:lessons?(?: learned)?|learned|takeaways?|key (?:findings?|insights?|takeaways?|learnings?)|gotchas?"
    r"|for (?:future )?reference|worth (?:knowing|remembering|noting))"
)
_NAMED = (
    rf"^(?:{_LABELS}|cause|reason|problem):|^for future reference\b|the (?:actual|real|underlying|true) (?:issue|bug"
    r"|problem|culprit|cause|reason) (?:was|is)"
    r"|root cause(?: (?:was|is)|:)|the (?:issue|problem|bug|culprit|cause) (?:was|turned out)|fixed by|(?:the )?(?:fix"
    r"|solution|workaround) (?:was|is)"
    r"|resolved by|solved by|turns out|turned out|the reason (?:was|is)|caused by|decided to|went with|chose"
    r" [^,;.]{1,60} over|^found it:|surprisingly|unexpectedly|to my surprise|^discovered that"
)
_MISSING = (
    r"\bthere(?:'s| is| are) (?:still |currently |yet )?no (?:\w+ ){0,2}(?:tests?|coverage|support|way|checks?|index"
    r"|validation|docs?|documentation|retry|limit|fallback|monitoring|alert|migration|type|types)\b"
    r"|\b(?:one|another) thing is (?:still )?(?:missing|lacking)\b"
    r"|\b(?:coverage|support|validation|documentation|tests?|checks?) (?:for [^,;]{2,60} )?(?:is|are) (?:still )?"
    r"(?:missing|lacking)\b|\b(?:lacks|is lacking|are lacking) (?:an? |any )?\w"
    r"|\bso (?:that|it) is (?:still )?missing\b"
    r"|\bwe (?:are missing|lack|have no|don't have|do not have) (?:an? |any )?\w"
    r"|\bnothing (?:covers|checks|tests|alerts|validates|guards|monitors|prevents|enforces|cleans up)\b"
    r"|\bno (?:\w+ )?(?:tests?|alerts?|checks?|specs?|validation) (?:covers?|exists?|catches|guards?|exercises?)\b"
    r"|\b(?:is|are)(?:n't| not) (?:yet |currently )?(?:covered|tested|documented|monitored|backed up) (?:by|in|at|for"
    r"|any)\b"
)
_ABOUT_THE_WORK = (
    r"^\w{3,}ed (?:the|an?|it|its|both|all|each|every|some|two|three|\d)\b|^(?:we|we'll|we've|here's|done"
    r"|summary)\b|\b(?:i(?!\.e|/o)|i'll|i've|i'm|we (?:can|could|should|need|will|may|might)|let me"
    r"|next (?:i|step|up|is)|your|you(?! (?:need|have|must|can't|cannot))|all tests|(?:see|as|listed|the) (?:above"
    r"|below))\b"
    r"|\bbelow:"
)
_STARTS_WORK = r"^(?:i|i'll|i've|i'm|we(?! (?:are missing|lack|have no|don't have|do not have)\b)|let me|your?)\b"
_FOR_A_REASON = r"\bbecause\b|, (?:so|since|as) [\w`]"
_OPENING = (
    rf"^(?:(?:{_LABELS}|important|note)[,:]\s*|(?:this|that|it) (?:happen(?:s|ed)|fail(?:s|ed)|broke|breaks|was|is) "
    r"(?:only )?because\s+)"
)
_FILLER = r"^(?:so|ah|ok(?:ay)?|great|found it|yes|indeed|actually|note that|right)\b[\s,:!.–—-]*"
# "Added with uv; this project uses uv": what was done, before what holds.
_DONE_FIRST = (
    r"^(?:added|fixed|renamed|migrated|switched|updated|changed|recorded|regenerated|rolled out|removed|moved|done"
    r"|(?:it|that|this|everything|all of it) (?:runs?|works?|pass(?:es)?|builds?|is (?:fixed|green|done)))\b"
    r"[^;:.]{0,60}[;:–—]\s+"
)
_POINTS_BACK = r"^(?:it|they|this|that|there)\b|\b(?:ignores?|drops?|needs?|skips?|uses?) (?:it|them)\b|\bthere\W*$"
_GUESSING = (
    r"\b(?:probably|maybe|perhaps|possibl[ey]|likely|might|may be|could be|suspect|seems?|looks like|appears? to)\b"
)
_TALK = (
    r"\bnever ?mind\b|\bi don't\b|\bdon't (?:worry|mind|bother)\b|\bmust (?:be|have been) (?:a|an|the|some)\b"
    r"|\bas always\b|\blooks? like (?:you|i|we)\b|\bnext,? i\b|\bi(?:'ll| will| am going to|'m going to)\b|\blet me\b"
)
_OF_THE_RUN = r"\b(?:first|second|next|last) (?:try|attempt|run)\b|\bthis time\b|^(?:all|both) \d+\b"


@frozen
class Told:
    """A sentence that tells a finding: named as one, explaining what failed, or about what is missing."""

    text: str
    way: str  # named, explained or missing


def telling(text: str, overcame: bool) -> list[Told]:
    """The findings in what an agent says, in their order; explanations only where a failure was overcome."""
    text = text.replace("**", "")  # emphasis
    found: list[Told] = []
    before = ""
    for said in sentences(text):
        told = _bare(said.text)
        may = _may_tell(said.text, told)
        way = _way(said.text, told, overcame) if may else ""
        if way == "explained":
            told = _with_before(before, told)
        if way and not any(told == other.text for other in found):
            found.append(Told(told, way))
        before = told if may else ""
    return _few(found)


def tells(text: str) -> bool:
    """Whether an answer holds a finding, or an explanation for which something speaks."""
    return any(told.way != "explained" or weight(told) >= ENOUGH for told in telling(text, overcame=True))


def _bare(sentence: str) -> str:
    """A sentence without what it opens with."""
    for opening in (_FILLER, _OPENING, _DONE_FIRST):
        sentence = compiled(opening, 2).sub("", sentence)
    return tidy(sentence)


def _with_before(before: str, told: str) -> str:
    """With the sentence before it, where it points back at that: "… ignores it", "they collide there"."""
    joined = f"{before} {told}"
    return joined if before and compiled(_POINTS_BACK, 2).search(told) and len(joined) <= MAX_CHARS else told


def _way(sentence: str, told: str, overcame: bool) -> str:
    low = sentence.lower().replace("’", "'")
    guesses = compiled(_GUESSING).search(low) is not None
    if compiled(_NAMED).search(low) and (
        not guesses or any(signal.level == HIGH for signal in scan(sentence, "assistant"))
    ):
        return "named"
    if guesses or compiled(_OF_THE_RUN).search(low):
        return ""
    if compiled(_MISSING).search(low):
        return "missing"
    stands = names_something(told) or len(content_words(told)) >= _TELLING_WORDS
    return "explained" if overcame and stands and explanation_points(sentence) >= ENOUGH_ACTED else ""


def _may_tell(sentence: str, told: str) -> bool:
    low = told.lower().replace("’", "'")
    fits = MIN_CHARS <= len(told) <= MAX_CHARS and not _says_little(told)
    works = _STARTS_WORK if compiled(_MISSING).search(low) else _ABOUT_THE_WORK
    news = compiled(r"\bnow\b").search(low) is not None and compiled(_FOR_A_REASON).search(low) is None
    return fits and not news and not _is_talk(sentence) and not compiled(works).search(low)


def _is_talk(sentence: str) -> bool:
    """Whether nobody stands by it: a question, a quotation, a thought, a plan, a manner of speaking."""
    low = sentence.lower().replace("’", "'")
    if compiled(rf"(?:please )?(?:{TASK_VERBS.replace(' ', '|')}) (?:an?|the|some|all|every|this|that|it)\b").match(
        low
    ):
        return True  # an order: an agent that found something out gives none
    return low.endswith("?") or QUOTED in sentence or is_hypothetical(low) or compiled(_TALK).search(low) is not None


def _says_little(text: str) -> bool:
    """Whether a finding names nothing: neither a thing of the project nor, in plain words, what happens when."""
    return is_vague(text) and len(content_words(text)) < _TELLING_WORDS


def _few(found: Sequence[Told]) -> list[Told]:
    """The one best explanation, and none where something was named."""
    explained = [told for told in found if told.way == "explained"]
    best = [] if any(told.way == "named" for told in found) else sorted(explained, key=weight)[-1:]
    return [told for told in found if told.way != "explained" or told in best]


def weight(told: Told) -> int:
    """How much an explanation holds beyond the case at hand."""
    return _NAMED_WEIGHT if told.way == "named" else explanation_points(told.text)
