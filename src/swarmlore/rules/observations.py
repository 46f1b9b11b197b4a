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
    r"|requires?|consists?|includes?|differs?|stays?|sits?|maps?|links?|follows?|triggers?|generates?|publishes"
    r"|wraps?"
    r"|exposes?"
    r"|became|becomes?|works?|does|doesn't|imports?|targets?|deploys?|rotates?|rotated|ignores?|drops?|overwrites?"
    r"|sorts?|stands|sees?|pays?|receives?|earns?|books?|buys?|explains?|describes?|bills?|charges?|sells?)\b"
)
_NO_STATEMENT = (
    r"^(?:there (?:are|is) (?:two|three|four|several|a few|some|\d+) |haha|lol|reading |looking |(?:two|three|a few"
    r"|some|one|several) (?:things?|points?|notes?|options?|changes|issues|files|places)\b)|^(?:decide|figure"
    r"|determine|clarify|discuss|think|i|i'\w+|we'll|we will|let's|let|please|pls|can|could|would"
    r"|will|here|hi|hello|hey|thanks|thank|ok|okay|yes"
    r"|no|sure|go|try"
    r"|now|next|done|see|look|wait|also|then|first|same|use|using|yep|yeah|hm+|so|and|but|cool|sorry|at|about|what"
    r"|why"
    r"|how|like"
    r"|you|your|you're|do|call|take|get|make|want|need|keep|leave|stop|start|this|that|these|those|it|it's|that's"
    r"|there's|he|she|exactly|perfect|great|good|nice|excellent|correct|right|indeed)\b"
)
_DOES = r"(?:the|our|each|every|an?) (?:[\w-]+ ){1,3}[a-z]{3,}(?:es|[^s]s) \w"
_HABIT = r"we (?!are\b|were\b|had\b|should|could|will|would|might|want|got\b|get\b|see\b|need)\w+ \w"
_DEFINES = r"^an? “…” is\b|\b(?:means?|stands for|refers to|is called|are called|we call)\b"
# What an agent says of the code before it, of anything in general, or to its user.
_OF_CODE = (
    r"^(?:each|every|both) |"
    r"^(?:the|this) (?:change|fix|patch|diff|edit|update|implementation|pr) |"
    r"^an? |\byou(?:r|'re)?\b|^(?:the|this|each) (?:[\w`…-]+ )?(?:function|method|class|file|code|snippet|loop"
    r"|variable|constructor|tests?|query|regex|helper|type"
    r"|interface|callback|parameter|argument|endpoint|worker|line) (?:takes?|returns?|is|does|accepts?|calls?|has"
    r"|gets?|checks?|loops?|reads?)\b"
)
_FOLLOWS = (
    r"[,;] so (?!far\b|much\b|on\b|please\b|i\b|let's|can\b|could\b|what\b|hurry)\w|[,;]? so (?:that )?(?:the|you|we"
    r"|it|all|our|every\w*|any\w*|no\w*|they|there|only|an?|be|never|don't|\d+"
    r"|\w+s)\b|\bbecause\b|\botherwise\b|\bwhich is why\b|, that's why\b"
)
_LIMIT = (
    r"\b(?:only|not|at (?:most|least)|(?:older|younger|more|less|longer|fewer) than|(?:after|within|up to|until) \d+"
    r"|minimum|maximum|expires?"
    r"|unless|except|excludes?|but|no)\b|n't\b"
)
_OF_THE_MOMENT = (
    r"\bby (?:\w+day|tomorrow|tonight|eod|noon|then|next week)\b|\b(?:finish|do|fix|get|ship) (?:this|it|that)\b"
    r"|^(?:the|our|a) (?:client|customer|boss|user|pm|designer|manager|team)s? wants?\b"
    r"|^(?:the|this|that) (?:last|latest|new|current|previous) \w+ (?!is\b|has\b|needs?\b)|\bkeeps? \w+ing\b"
    r"|\busers? (?:can't|cannot"
    r"|don't|get|see|complain)\b|\b(?:now|today|tomorrow|tonight|broke|failed"
    r"|crashed|went|happened|worked|pass|passes|passed|passing|green|done|ready|finished|fixed|updated|pushed|added"
    r"|removed|created|renamed"
    r"|running"
    r"|waiting|in place|up to date|just|yet|currently|so far|again|(?:above|below)(?=[.:]?$)|attached|following"
    r"|asked|told|plan|todo"
    r"|below:|(?:is|are|still|stays) open|fine"
    r"|summary|changes|i|i'll|i've|i'm|me|my(?! (?:machine|laptop|box|mac))|was|were|did|been|denied|times out"
    r"|should be|would|wrong|stuck|theories"
    r"|commits)\b|\b(?:never|always) \w*[^s\W]s\b|:$"
)


def _is_order(low: str, first: str) -> bool:
    """Whether it opens with a task; "port 5432 is taken" and "test names are …" do not."""
    return first.strip(",.:") in TASK_STARTS and not compiled(
        r"\w+ (?:\d+|[\w-]+s?) (?:is|are|has|have|takes?|runs?|live)\b"
    ).match(low)


def is_explained(low: str, category: str) -> bool:
    """Whether an observation says what follows from it, or sets a limit of the business: more than a mere fact."""
    return compiled(_FOLLOWS).search(low) is not None or (
        category == "Domain" and compiled(_LIMIT).search(low) is not None
    )


def is_observation(low: str, speaker: str) -> bool:
    """Whether a masked sentence in lower case states how something is, for longer than this moment."""
    words = low.split()
    if len(words) < _LEAST_WORDS[speaker] or _is_order(low, words[0]):
        return False
    if QUOTED in low and not compiled(_DEFINES).search(low):
        return False
    if compiled(_NO_STATEMENT).match(low) or compiled(_OF_THE_MOMENT).search(low):
        return False
    stated = low.partition(" so ")[0] if speaker == "user" else low  # what follows from it may tell of a failure
    if compiled(ONCE).search(low) or any(compiled(pattern).search(stated) for pattern in (SYMPTOM, FAILING)):
        return False
    if speaker == "assistant" and compiled(_OF_CODE).search(low):
        return False
    if compiled(_HABIT).match(low) or compiled(_DOES).match(low):
        return True
    return compiled(_STATES).search(low, len(words[0])) is not None  # a verb that comes first is an order
