"""Sentences that merely state how something is: worth little, and worth nothing without a known topic.

What is asked for, planned, done or broken at the moment is no observation.
"""

from __future__ import annotations

from swarmlore.rules.correction_words import FAILING, SYMPTOM, TASK_STARTS, compiled
from swarmlore.rules.signal_words import ONCE
from swarmlore.text.prose import QUOTED

_LEAST_WORDS = {"user": 4, "assistant": 5}
_STATES = (
    r"\b(?:is|are|isn't|aren't|has|have|had|takes?|needs?|uses?|lives?|runs?|writes?|reads?|returns?|expects?|keeps?"
    r"|holds?|stores?"
    r"|depends?|belongs?|means?|goes|comes|contains?|gets?|sends?|starts?|ends?|calls?|owns?|costs?|lasts?|expires?"
    r"|supports?|can"
    r"|cannot|can't|may|share[sd]?|counts?|covers?|builds?|ships?|points?|talks?|speaks?|listens?|treats?|handles?"
    r"|creates?|loads?"
    r"|requires?|consists?|includes?|differs?|stays?|sits?|maps?|links?|follows?|triggers?|generates?|publishes|wraps?"
    r"|exposes?"
    r"|became|becomes?|works?|does|doesn't|imports?|targets?|deploys?|rotates?|rotated|ignores?|drops?|overwrites?"
    r"|sorts?|stands|sees?|pays?|receives?|earns?|books?|buys?)\b"
)
_NO_STATEMENT = (
    r"^(?:decide|figure|determine|clarify|discuss|think|i|i'\w+|we'll|we will|let's|let|please|pls|can|could|would"
    r"|will|here|hi|hello|hey|thanks|thank|ok|okay|yes"
    r"|no|sure|go|try"
    r"|now|next|done|see|look|wait|also|then|first|same|use|using|yep|yeah|hm+|so|and|but|cool|sorry|at|about|what|why"
    r"|how|like"
    r"|you|your|you're|do|call|take|get|make|want|need|keep|leave|stop|start|this|that|these|those|it|it's|that's"
    r"|there's|he|she|exactly|perfect|great|good|nice|excellent|correct|right|indeed)\b"
)
_DOES = r"(?:the|our|each|every|an?) (?:[\w-]+ ){1,3}[a-z]{3,}(?:es|[^s]s) \w"
_HABIT = r"we (?!are\b|were\b|had\b|should|could|will|would|might|want|got\b|get\b|see\b|need)\w+ \w"
_DEFINES = r"^an? “…” is\b|\b(?:means?|stands for|refers to|is called|are called|we call)\b"
_OF_THE_MOMENT = (
    r"\b(?:now|pass|passes|passed|passing|green|done|ready|finished|fixed|updated|pushed|added|removed|created|renamed"
    r"|running"
    r"|waiting|in place|up to date|just|yet|currently|so far|again|above|below|attached|following|asked|told|plan|todo"
    r"|below:|open|fine"
    r"|summary|changes|i|i'll|i've|i'm|me|my|was|were|did|been|denied|times out|should be|would|wrong|stuck|theories"
    r"|commits)\b|\b(?:never|always) \w*[^s\W]s\b|:$"
)


def is_observation(low: str, speaker: str) -> bool:
    """Whether a masked sentence in lower case states how something is, for longer than this moment."""
    words = low.split()
    if len(words) < _LEAST_WORDS[speaker] or words[0].strip(",.:") in TASK_STARTS:
        return False
    if QUOTED in low and not compiled(_DEFINES).search(low):
        return False
    if compiled(_NO_STATEMENT).match(low) or compiled(_OF_THE_MOMENT).search(low):
        return False
    if any(compiled(pattern).search(low) for pattern in (ONCE, SYMPTOM, FAILING)):
        return False
    if speaker == "assistant" and compiled(r"\byou(?:r|'re)?\b").search(low):
        return False
    if compiled(_HABIT).match(low) or compiled(_DOES).match(low):
        return True
    return compiled(_STATES).search(low, len(words[0])) is not None  # a verb that comes first is an order
