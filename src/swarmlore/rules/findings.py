"""What an agent says it found out: causes, fixes and choices it names as such, what explains a failure that was
overcome, and what it says is missing.

Rules in an agent's own words ("you must always …") are advice, and what it did, does or will do is its work: neither is
a finding. A guess is none either: an explanation counts only behind the success that proves it.
"""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.frozen import frozen
from swarmlore.rules.correction_shapes import names_something
from swarmlore.rules.correction_words import compiled
from swarmlore.rules.found import MAX_CHARS, MIN_CHARS
from swarmlore.rules.signals import HIGH, is_idle, scan
from swarmlore.rules.vague import is_vague
from swarmlore.rules.wording import tidy
from swarmlore.text.prose import sentences
from swarmlore.text.similarity import content_words

# What holds beyond the case at hand.
_RULES = r"\b(?:ha(?:s|ve) to|must|needs?|requires?|cannot|can't|only|never|until|otherwise|unless|by default)\b"
_TELLING_WORDS = 4

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
# Sentences that say how something is, not what was done: what it needs, allows, refuses, where it comes from.
_EXPLAINS = (
    r"\b(?:ha(?:s|ve|d) to|must|needs?|needed|requires?|required|cannot|can't|neither|because|until|otherwise|unless"
    r"|deprecated|defaults? to|by default"
    r"|(?:may|can|must) only|only (?:accepts?|lets?|works?|allows?|runs?|supports?|reads?|takes?|changes?|applies"
    r"|exists?)"
    r"|(?:came|comes) from|expects?|rejects?|ignores?|is (?:pinned|partitioned|generated|case-sensitive|read-only)"
    r"|(?:is|are) not \w+(?:ed|en|t)|(?:will|does|do|did) not|doesn't|don't|never)\b"
    r"|, so [\w`]|, and [^,;]{3,80} before [^,;]{3,60}$"
    r"|\b\w[^,;]{1,80}, (?:and )?not (?:per |by |in |on |at |the |an? )?\w"
    r"|\b(?:could|can|may) [^,;]{3,80} (?:at the same time|concurrently|in parallel|twice)\b"
    r"|\b(?:each|every) \w+ (?:triggers?|creates?|opens?|makes?|sends?|starts?|runs?)\b"
)
# How things behave, where the same sentence holds two of them against each other.
_BEHAVES = (
    r"\b(?:insists? on|refuses?|demands?|assumes?|treats?|falls? back|blocks?|limits?|strips?|drops?|swallows?|caches?"
    r"|overrides?|shadows?|expires?|truncates?|buffers?|retries|reuses?|locks?|waits?|belongs? to|is part of|served?"
    r"|removes?|keeps?|sends?|returns?|throws?|stores?|reads?|looks? for)\b"
)
_AGAINST = r"\b(?:but|while|whereas|although|even though|instead of)\b|, and "
_MISSING = (
    r"\bthere (?:is|are) (?:still |currently |yet )?no (?:\w+ ){0,2}(?:tests?|coverage|support|way|checks?|index"
    r"|validation|docs?|documentation|retry|limit|fallback|monitoring|alert|migration|type|types)\b"
    r"|\b(?:one|another) thing is (?:still )?(?:missing|lacking)\b"
    r"|\b(?:coverage|support|validation|documentation|tests?|checks?) (?:for [^,;]{2,60} )?(?:is|are) (?:still )?"
    r"(?:missing|lacking)\b|\b(?:lacks|is lacking|are lacking) (?:an? |any )?\w"
    r"|\bso (?:that|it) is (?:still )?missing\b"
)
_TROUBLE_CHARS = 600  # of a prompt: what follows is pasted
_TROUBLE = (
    r"\b(?:why|fail(?:s|ed|ing)?|errors?|crash\w*|broken|breaks|hangs?|slow\w*|lag|leaks?|loop|twice|times? out"
    r"|timeouts?"
    r"|takes? (?:about |over )?\d+ |bottleneck|killed|oom\w*|but not (?:on|in|for|when|if|with)|full|eating"
    r"|out of (?:memory|space|disk)|again"
    r"|sometimes|randomly|flaky|wrong|misses|lost|loses?|too (?:long|slow|many|much)|doesn't|does not|not working|stuck"
    r"|in the logs?|shows? up|instead of|since (?:we|the|last|yesterday|this|\w{2,6}day)|every few|investigate|find out"
    r"|debug|cause|reason|\d{3} (?:error|from)|restarts?|shifted|off by|one cent off)\b"
)
_COMPILING = (
    r"\berror ts\d|\berror\[e\d|\bsyntaxerror\b|\bmismatched types\b|\bundefined reference\b"
    r"|\bcompilation (?:failed|error)"
    r"|\bis not assignable to\b|\bcannot find symbol\b|\bundeclared\b"
)
_ABOUT_THE_WORK = (
    r"^\w{3,}ed (?:the|an?|it|its|both|all|each|every|some|two|three|\d)\b|\b(?:i|i'll|i've|i'm|we|let me"
    r"|next (?:i|step|up|is)"
    r"|your|you(?! (?:need|have|must|can't|cannot))|here's|done|all tests"
    r"|above|below|below:|summary)\b"
)
_STARTS_WORK = r"^(?:i|i'll|i've|i'm|we|let me|your?)\b"
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
_OF_THE_RUN = r"\b(?:first|second|next|last) (?:try|attempt|run)\b|\bthis time\b|^(?:all|both) \d+\b"


@frozen
class Told:
    """A sentence that tells a finding: named as one, explaining what failed, or about what is missing."""

    text: str
    way: str  # named, explained or missing


def telling(text: str, overcame: bool) -> list[Told]:
    """The findings in what an agent says, in their order; explanations only where a failure was overcome."""
    text = text.replace("**", "")  # emphasis
    named = {signal.sentence for signal in scan(text) if signal.level == HIGH}
    found: list[Told] = []
    before = ""
    for said in sentences(text):
        told = _bare(said.text)
        may = _may_tell(said.text, told)
        way = _way(said.text, told, said.text in named, overcame) if may else ""
        if way == "explained":
            told = _with_before(before, told)
        if way and not any(told == other.text for other in found):
            found.append(Told(told, way))
        before = told if may else ""
    return _few(found)


def _bare(sentence: str) -> str:
    """A sentence without what it opens with."""
    for opening in (_FILLER, _OPENING, _DONE_FIRST):
        sentence = compiled(opening, 2).sub("", sentence)
    return tidy(sentence)


def _with_before(before: str, told: str) -> str:
    """With the sentence before it, where it points back at that: "… ignores it", "they collide there"."""
    joined = f"{before} {told}"
    return joined if before and compiled(_POINTS_BACK, 2).search(told) and len(joined) <= MAX_CHARS else told


def is_of_compiling(error: str) -> bool:
    """Whether code that is being written does not compile yet: why not is over as soon as it does."""
    return compiled(_COMPILING).search(error.lower()) is not None


def is_trouble(prompt: str) -> bool:
    """Whether a prompt reports something that goes wrong, and asks for its reason: then an explanation answers it."""
    low = prompt.lower().replace("’", "'")[:_TROUBLE_CHARS]
    asks = compiled(r"^(?:how|what|is|are|does|do|can|could|would|should|which|where|when)\b").match(low)
    return asks is None and compiled(_TROUBLE).search(low) is not None


def _way(sentence: str, told: str, named: bool, overcame: bool) -> str:
    low = sentence.lower().replace("’", "'")
    if compiled(_NAMED).search(low) and (named or not compiled(_GUESSING).search(low)):
        return "named"
    if compiled(_GUESSING).search(low) or compiled(_OF_THE_RUN).search(low):
        return ""
    if compiled(_MISSING).search(low):
        return "missing"
    stands = names_something(told) or len(content_words(told)) >= _TELLING_WORDS
    behaves = compiled(_BEHAVES).search(low) is not None and compiled(_AGAINST).search(low) is not None
    explains = behaves or compiled(_EXPLAINS).search(low) is not None
    return "explained" if overcame and stands and explains else ""


def _may_tell(sentence: str, told: str) -> bool:
    low = told.lower().replace("’", "'")
    fits = MIN_CHARS <= len(told) <= MAX_CHARS and not _says_little(told)
    works = _STARTS_WORK if compiled(_MISSING).search(low) else _ABOUT_THE_WORK
    news = compiled(r"\bnow\b").search(low) is not None and compiled(_FOR_A_REASON).search(low) is None
    return fits and not news and not is_idle(sentence) and not compiled(works).search(low)


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
    return told.way == "named" or compiled(_RULES).search(told.text.lower()) is not None
