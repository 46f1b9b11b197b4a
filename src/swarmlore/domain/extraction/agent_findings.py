"""Find the findings in agent messages: causes, fixes, decisions, gaps, and explanations of a resolved failure.

Rules in an agent's own words ("you must always …") are advice, and reports of what it did, does or will do are work;
neither is a finding. A guess is no finding either: an explanation counts only if the success after it proves it.
"""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.domain.extraction.correction_patterns import TASK_VERBS, compiled, names_something
from swarmlore.domain.extraction.corrections import ENOUGH, ENOUGH_ACTED, explanation_points
from swarmlore.domain.extraction.lesson_text import MAX_CHARS, MIN_CHARS, tidy
from swarmlore.domain.extraction.message_text import QUOTED, sentences
from swarmlore.domain.extraction.signal_phrases import HIGH
from swarmlore.domain.extraction.signals import is_hypothetical, scan
from swarmlore.domain.language.similarity import content_words
from swarmlore.domain.policy.gate import is_vague
from swarmlore.frozen import frozen

_TELLING_WORDS = 4
_NAMED_WEIGHT = 100

_LABELS = (
    r"(?:lessons?(?: learned)?|learned|takeaways?|key (?:findings?|insights?|takeaways?|learnings?)|gotchas?"
    r"|for (?:future )?reference|worth (?:knowing|remembering|noting))"
)
_NAMED = (
    rf"^(?:{_LABELS}|cause|reason|problem):|^for future reference\b|the (?:actual|real|underlying|true) (?:issue|bug"
    r"|problem|culprit|cause|reason) (?:was|is)|root cause(?: (?:was|is)|:)|the (?:issue|problem|bug|culprit"
    r"|cause) (?:was|turned out)|fixed by|(?:the )?(?:fix|solution|workaround) (?:was|is)|resolved by|solved by"
    r"|turns out|turned out|the reason (?:was|is)|caused by|decided to|went with|chose [^,;.]{1,60} over|^found it:"
    r"|surprisingly|unexpectedly|to my surprise|^discovered that"
)
_MISSING = (
    r"\bthere(?:'s| is| are) (?:still |currently |yet )?no (?:\w+ ){0,2}(?:tests?|coverage|support|way|checks?|index"
    r"|validation|docs?|documentation|retry|limit|fallback|monitoring|alert|migration|type|types)\b|\b(?:one"
    r"|another) thing is (?:still )?(?:missing|lacking)\b|\b(?:coverage|support|validation|documentation|tests?"
    r"|checks?) (?:for [^,;]{2,60} )?(?:is|are) (?:still )?(?:missing|lacking)\b|\b(?:lacks|is lacking"
    r"|are lacking) (?:an? |any )?\w|\bso (?:that|it) is (?:still )?missing\b|\bwe (?:are missing|lack|have no"
    r"|don't have|do not have) (?:an? |any )?\w|\bnothing (?:covers|checks|tests|alerts|validates|guards|monitors"
    r"|prevents|enforces|cleans up)\b|\bno (?:\w+ )?(?:tests?|alerts?|checks?|specs?|validation) (?:covers?|exists?"
    r"|catches|guards?|exercises?)\b|\b(?:is|are)(?:n't| not) (?:yet |currently )?(?:covered|tested|documented"
    r"|monitored|backed up) (?:by|in|at|for|any)\b"
)
_ABOUT_THE_WORK = (
    r"^\w{3,}ed (?:the|an?|it|its|both|all|each|every|some|two|three|\d)\b|^(?:we|we'll|we've|here's|done|summary)\b"
    r"|\b(?:i(?!\.e|/o)|i'll|i've|i'm|we (?:can|could|should|need|will|may|might)|let me|next (?:i|step|up|is)|your"
    r"|you(?! (?:need|have|must|can't|cannot))|all tests|(?:see|as|listed|the) (?:above|below))\b|\bbelow:"
)
_STARTS_WORK = r"^(?:i|i'll|i've|i'm|we(?! (?:are missing|lack|have no|don't have|do not have)\b)|let me|your?)\b"
_FOR_A_REASON = r"\bbecause\b|, (?:so|since|as) [\w`]"
_OPENING = (
    rf"^(?:(?:{_LABELS}|important|note)[,:]\s*|(?:this|that|it) (?:happen(?:s|ed)|fail(?:s|ed)|broke|breaks|was|is) "
    r"(?:only )?because\s+)"
)
_FILLER = r"^(?:so|ah|ok(?:ay)?|great|found it|yes|indeed|actually|note that|right)\b[\s,:!.–—-]*"
# "Added with uv; this project uses uv": a report of finished work before the finding.
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
class AgentFinding:
    """A sentence with a finding: named as one, explaining a failure, or about something that is missing."""

    text: str
    way: str  # "named", "explained" or "missing"


def find_findings(text: str, overcame: bool) -> list[AgentFinding]:
    """Return the findings in an agent's message, in order; explanations only if a failure was resolved (`overcame`)."""
    text = text.replace("**", "")  # Markdown emphasis
    findings: list[AgentFinding] = []
    before = ""
    for sentence in sentences(text):
        statement = _without_opening(sentence.text)
        may = _may_be_finding(sentence.text, statement)
        way = _way_of(sentence.text, statement, overcame) if may else ""
        if way == "explained":
            statement = _with_antecedent(before, statement)
        if way and not any(statement == other.text for other in findings):
            findings.append(AgentFinding(statement, way))
        before = statement if may else ""
    return _keep_best(findings)


def has_finding(text: str) -> bool:
    """Tell whether an agent's message holds a named finding, a gap, or an explanation with enough points."""
    found = find_findings(text, overcame=True)
    return any(finding.way != "explained" or finding_weight(finding) >= ENOUGH for finding in found)


def _without_opening(sentence: str) -> str:
    """Return a sentence without filler, label or report of finished work at its start."""
    for opening in (_FILLER, _OPENING, _DONE_FIRST):
        sentence = compiled(opening, 2).sub("", sentence)
    return tidy(sentence)


def _with_antecedent(before: str, statement: str) -> str:
    """Prepend the previous sentence if this one refers back to it: "… ignores it", "they collide there"."""
    joined = f"{before} {statement}"
    return joined if before and compiled(_POINTS_BACK, 2).search(statement) and len(joined) <= MAX_CHARS else statement


def _way_of(sentence: str, statement: str, overcame: bool) -> str:
    """Return how a sentence states a finding (named, missing, explained), or ""."""
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
    stands = names_something(statement) or len(content_words(statement)) >= _TELLING_WORDS
    return "explained" if overcame and stands and explanation_points(sentence) >= ENOUGH_ACTED else ""


def _may_be_finding(sentence: str, statement: str) -> bool:
    """Tell whether a sentence can be a finding: right length, some content, no talk, no news about the work."""
    low = statement.lower().replace("’", "'")
    fits = MIN_CHARS <= len(statement) <= MAX_CHARS and not _says_little(statement)
    works = _STARTS_WORK if compiled(_MISSING).search(low) else _ABOUT_THE_WORK
    news = compiled(r"\bnow\b").search(low) is not None and compiled(_FOR_A_REASON).search(low) is None
    return fits and not news and not _is_talk(sentence) and not compiled(works).search(low)


def _is_talk(sentence: str) -> bool:
    """Tell whether a sentence asserts nothing: a question, a quotation, a thought, a plan, an order, a phrase."""
    low = sentence.lower().replace("’", "'")
    if compiled(rf"(?:please )?(?:{TASK_VERBS.replace(' ', '|')}) (?:an?|the|some|all|every|this|that|it)\b").match(
        low
    ):
        return True  # an order, which no agent gives together with a finding
    return low.endswith("?") or QUOTED in sentence or is_hypothetical(low) or compiled(_TALK).search(low) is not None


def _says_little(text: str) -> bool:
    """Tell whether a finding names neither a thing of the project nor, in plain words, what happens when."""
    return is_vague(text) and len(content_words(text)) < _TELLING_WORDS


def _keep_best(findings: Sequence[AgentFinding]) -> list[AgentFinding]:
    """Keep only the best explanation, and no explanation if another finding is named as one."""
    explained = [finding for finding in findings if finding.way == "explained"]
    best = [] if any(finding.way == "named" for finding in findings) else sorted(explained, key=finding_weight)[-1:]
    return [finding for finding in findings if finding.way != "explained" or finding in best]


def finding_weight(finding: AgentFinding) -> int:
    """Return the weight of a finding: fixed for a named one, else the explanation points of its text."""
    return _NAMED_WEIGHT if finding.way == "named" else explanation_points(finding.text)
