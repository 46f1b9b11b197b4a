"""Detect signals: sentences worth keeping, with strength and way; skip sentences that only sound like it.

HIGH are rules, repeated corrections, causes, fixes and decisions; MEDIUM are praise, effort and caveats; LOW are
guesses, changes and observations about a known topic. A sentence gives at most one signal, the strongest. Questions,
quotations, code, logs and our own context block give none. The speaker matters: a person's "always" is a rule, an
agent's is advice, and tool output gives no signal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from swarmlore.domain.extraction import signal_phrases as phrases
from swarmlore.domain.extraction.correction_patterns import FAILING, SYMPTOM, TASK_STARTS, compiled
from swarmlore.domain.extraction.corrections import is_trouble
from swarmlore.domain.extraction.message_text import QUOTED, sentences, without_context_block
from swarmlore.domain.extraction.signal_phrases import HIGH, LOW, MEDIUM, OBSERVATION, ONCE
from swarmlore.domain.extraction.statement_score import EXCERPT_CHARS, open_sentence, plain
from swarmlore.domain.extraction.topics import CATEGORIES, UNKNOWN, category_of
from swarmlore.domain.language.display import shortened
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    import re
    from typing import Any


_START = r"^(?:(?:please|and|also|but|so|ok|okay|btw|hey|pls|just|again|no|yes|next|then),? )*"
# Verbs of orders that are rarely a task by themselves.
_ORDERS = (
    r"(?:use|prefer|keep|put|name|call|ask|tell|log|return|throw|raise|store|pin|wrap|pass|inject|import|export|commit"
    r"|push|rebase|squash|tag|sign|encrypt|mask|hash|escape|quote|validate|saniti[sz]e|mock|cover|measure|treat|think"
    r"|assume|double-check|verify|confirm|propose|wait|leave|touch|edit|stick|follow|go|stay|group|format|sort|order"
    r"|indent|capitali[sz]e|spell|round|show|explain|write|say|reference|mention|link|include|start|end|begin|finish"
    r"|run|check|limit|cap|bind|target|read|look|save|back up|expose|load|cite|label|rotate|request|declare|handle"
    r"|catch|close|open)"
)
_ALL = (
    r"(?:every|each|any(?!thing else| of (?:this|that|it))|always|only|whenever|everywhere|anywhere|unless|per \w+"
    r"|at (?:least|most)|by default|no (?:more|longer|other|matter)|nowhere|nothing (?:else|but)|exactly one"
    r"|one \w+ (?:per|at a time)|(?:not|never|no|without) (?:an?|the|any|in|on|to|via|by|from|\w+s)\b|in (?:production"
    r"|prod|ci|tests)\b|all (?!of (?:it|this|that)\b|the (?:way|usages|files|tests)\b)\w+)"
)
_SAYING = (
    r"(?:say|saying|claim|claiming|report|reporting|tell|telling|declare|call|commit|committing|push|pushing|merge"
    r"|merging|open|opening|touch|touching|change|changing|edit|editing|delete|deleting|start|starting|write|writing"
    r"|add|adding|ship|shipping|deploy|deploying|move|propose|finish|hand|assume|answer|ask|run|running|release"
    r"|releasing|land|landing|code|coding|fix|fixing)"
)
# Things of the work itself: a statement about each of them is a rule; one about each patient is a fact.
_WORK = (
    r"(?:commits?|commit (?:titles?|messages?)|prs?|pull requests?|branch(?:es)?|branch names?|tests?|test cases?"
    r"|functions?|methods?|class(?:es)?|files?|modules?|endpoints?|migrations?|tickets?|changes?|releases?|packages?"
    r"|components?|handlers?|queries|routes?|variables?|constants?|scripts?|exceptions?|errors?|log lines?|messages?"
    r"|secrets?|configs?|dependenc(?:y|ies)|imports?|hooks?|controllers?|services?|jobs?|images?|fixtures?|docs?|pages?"
    r"|answers?|replies|steps?|features?|fix(?:es)?|refactors?)"
)
_NO_CAN = (
    r"(?!be (?:sure|right|the|true)|see\b|find\b|reproduce|tell\b|say\b|remember|log in|connect|reach\b|open\b"
    r"|believe|wait\b|get (?:it|this|that|past|in)\b"
    r"|figure|understand|imagine|make it\b|build\b|run (?:it|this|that)\b|access\b|install\b)"
)
_STANDING_ORDERS = (
    rf"{_START}(?!make sure|be sure)[a-z-]{{2,}}\b[^?]{{2,100}} (?:whenever|every time|each time) (?:the|an?|you|we"
    rf"|something|it)\b",
    r"^(?!.*\b(?:is|are|was|has|have|i)\b).*\b(?:in |for |after |with )?(?:every|each) (?:single )?(?:session|time"
    r"|change|commit|pr|task|conversation)\b[.!]*$",
    rf"{_START}{_ORDERS}\b(?! (?:it|that|this|me|them)\b(?! only| always))[^?]{{1,120}}\b{_ALL}",
    rf"{_START}[a-z-]{{2,}}\b[^?]{{2,100}} (?:before|after|until|unless) (?:you(?:'ve| have)?|we|any|every|each|a"
    rf"|the)? ?{_SAYING}\b",
    rf"{_START}(?:only|just) (?:ever )?(?!show|include|return|explain|read|open|load|write){_ORDERS}\b(?! (?:it|that"
    rf"|this|me|a|an|one)\b)",
    r"you (?:only|just) (?:ever )?\w+ |(?:is|are) (?:mine|ours|my job|my call|yours|your job) to \w+|hands off\b"
    r"|(?:stay|keep) (?:away from|out of)\b",
    r"^[\w .'/-]{2,40} (?:in|for|on) [\w .'/-]{2,40}, [\w .'/-]{2,40} (?:everywhere(?: else)?|elsewhere|for the rest"
    r"|otherwise)\W*$",
    rf"(?:^|, |; |so |because |since )(?:you|we|one|agents?) (?:can't|cannot|can not|may not|aren't allowed to"
    rf"|are not allowed to) {_NO_CAN}\w+",
    rf"^(?:every|each|all(?: (?:our|of our|the|new|public|private))?|any|new"
    rf"|our) (?:[\w-]+ ){{0,3}}{_WORK}(?: [\w-]+){{0,3}} (?:[a-z]+s|go|start|end|carry|live|need|have"
    r"|get|use|come|follow|stay|include|take|belong|pass)\b(?! (?:fail|broke|missing|slow|red|green))",
    r"(?:^|\. )(?:it's|we're on|this is|we use|we're using) [\w.`-]+(?: (?:here|in this \w+"
    r"|for this))?,? (?:and )?not [\w.`-]+|^first (?:the|an?|you|we) [^,;?]{2,60}, then\b|^[\w' -]{2,50}s (?:start|end"
    r"|live|go|use|have|are|get|come|carry|follow|stay|belong|return|take|begin|need)\b[^?]{2,80}(?:in this (?:code"
    r" ?base|repo\w*|project|team|app)|around here|here)[.!]*$|^(?!the |that |this |it )[\w .-]{2,40} only[,.;!]"
    r"|^(?:unacceptable|not acceptable|not ok(?:ay)?|no way|absolutely not)[.!]*$|^[a-z]+ing [^,;?]{3,80} is (?:an?"
    r" )?(?:hole|smell|mess|pain|bad idea|mistake|crime|anti-?pattern|no-no|code smell|danger\w*|risky|cheating|sloppy"
    r"|lazy|bad (?:style|practice)|not (?:ok|fine|enough))\b|\b(?:drives?|makes?) me (?:nuts|mad|crazy|cringe)\b"
    r"|\bi (?:hate|can't stand|despise) (?:it when|seeing|(?!this\b)\w+s\b|\w+ing\b)|\bpet peeve\b"
    r"|^(?:no,? )?[\w.`…-]+, not [\w.`…-]+[.!]*$|^(?:[\w ]{2,40}, )?[\w.`…-]+ over [\w.`…-]+[.!]*$"
    r"|\bwherever possible\b|^forget (?:about )?[\w.`…-]+, (?:it's|we|use|this)\b|\bis (?:the one to use|what we use"
    r"|the way to go)\b|^(?:please )?(?:respect|honou?r|obey|mind) (?:the|our)\b|knows? nothing (?:about|of)\b"
    r"|\bleave [^,;?]{2,50} alone\b|, not (?:only|just) \w|belongs? (?:in|to|into|on|under|at|with)\b[^?]{2,60}\bnot\b"
    r"|^(?!see |until )[a-z][\w' ]{2,60} next time[.!]*$|\bi (?:don't|do not) (?:ever )?want (?:to see|you to|any"
    r"|another)\b|^(?:we|we're|it's|this is|our)\b[^?]{2,80}, not [\w`…]+|\b(?:and|to|with) nothing else\b"
    r"|\bnowhere else\b|^we (?:write|name|spell|format|indent|prefix|suffix|squash|tag|sort|wrap|group|capitali[sz]e"
    r"|document|review|version)\b"
    rf"|^(?:[\w-]+ ){{0,2}}{_WORK}(?: [\w-]+){{0,2}} (?:stay|stays|needs? (?!to be (?:fixed|changed|updated)|work"
    rf"|help|some|more|another)|are kept|get their own|carry)\b"
    r"|^we \w+ [^,;?]{2,80}, (?:no|not|never) \w+|^we (?:pin|lock|freeze|forbid|ban|refuse|require|insist)\b",
    r"^(?:and |but |also )?i (?:expect|insist)\b(?! (?:this|that|it) (?:to be|is|will|was))|\bi (?:want|like"
    r"|need) (?:to see )?[^?]{3,100}\b(?:every|each|all|always|before|whenever)\b",
    rf"{_START}(?:one|two|three|\d+)(?: [\w-]+){{1,3}} (?:per|at a time|in|for each|max)\b(?! (?:total"
    rf"|all)\b)[^?]{{0,60}}$|^(?:[\w-]+ ){{1,4}}(?:come|comes|go|goes) (?:first|last|before|through|into|under)\b",
    rf"{_START}(?:small|short|plain|clear|simple|boring|explicit|tiny|fewer|shorter|smaller"
    rf"|one) (?:[\w-]+ ){{0,2}}[\w-]+s? (?:over|before|instead of|rather than|please|first)\b",
)
_FOR_TASKS = (0, 1, 3)  # indices of patterns that say when an order applies, so that even a task is a rule
_NEVER = (
    r"\b(?:i'll|i will|i'm|let me (?:know|see|check|think|look)|we'll|we will|let's|this (?:one|file|test|pr|function"
    r"|time)|for now|right now|today|yet|now|again\?|the (?:first|second|last|other) one|(?:push|merge|commit|deploy"
    r"|change|send|ship) (?:this|it|that)|written by|made by|owned by|line \d+|below|above|following|attached"
    r"|i (?:tried|got|see|saw|did|have|had|was|think|guess)|would|maybe|perhaps|could|might|if (?:possible|needed"
    r"|you (?:can|want|like)))\b|\?\s*$|:$|\"|“"
)


# A kind of things and what they do: "public methods get a doc comment".
_KIND = (
    r"^(?!(?:the|this|that|these|those|an?|my|your|his|her|its?|they|there|i|you|he|she|some|two|three|both|most|here"
    r"|users?|customers?|people|still|what|yes|nothing|something|looks|seems|works|tests?|checks|builds?"
    r"|\d+)\b)(?:[\w/-]+ ){0,3}[\w/-]+[^s\W]s (?:(?:only|all|just|also) )?(?:are|have|get|go|come|live|stay|need|use"
    r"|start|end|carry|belong|follow|return|take|explain|describe|contain|include|read|talk|know|depend|run|own|pass"
    r"|throw|raise|write|keep|hold|say|wear|begin|name|state|match|sit|reside|import|call|do)\b"
)
# Durations, frequencies and actors: facts, even about a kind of things.
_MEASURED = (
    r"\b(?:for|every|after|within) (?:\d+|an?|one|two|three|five|ten|fifteen|thirty|sixty)? ?(?:seconds?|minutes?"
    r"|hours?|days?|weeks?|months?)\b|\bare \w+ed (?:straight )?(?:from|by|every|on|at)\b"
)
RULED = ("Code Style", "Process", "Security", "Architecture")


def is_convention(low: str, category: str) -> bool:
    """Tell whether a statement about all things of a kind is a convention of the work, not a fact of the business."""
    specific = compiled(_NEVER).search(low) or compiled(_MEASURED).search(low)
    return category in RULED and compiled(_KIND).match(low) is not None and not specific


def standing_order_in(low: str, task: bool) -> str:
    """Return the words that make a sentence a standing order, or ""; a task is one only if it says when it applies."""
    if compiled(_NEVER).search(low):
        return ""
    for place, pattern in enumerate(_STANDING_ORDERS):
        if task and place not in _FOR_TASKS:
            continue
        if found := compiled(pattern).search(low):
            return found[0].strip(" ,;:")[:60]
    return ""


_LEAST_WORDS = {"user": 4, "assistant": 5}
_STATES = (
    r"\b(?:is|are|isn't|aren't|has|have|had|takes?|needs?|uses?|lives?|runs?|writes?|reads?|returns?|expects?|keeps?"
    r"|holds?|stores?|depends?|belongs?|means?|goes|comes|contains?|gets?|sends?|starts?|ends?|calls?|owns?|costs?"
    r"|lasts?|expires?|supports?|can|cannot|can't|may|share[sd]?|counts?|covers?|builds?|ships?|points?|talks?|speaks?"
    r"|listens?|treats?|handles?|creates?|loads?|requires?|consists?|includes?|differs?|stays?|sits?|maps?|links?"
    r"|follows?|triggers?|generates?|publishes|wraps?|exposes?|became|becomes?|works?|does|doesn't|imports?|targets?"
    r"|deploys?|rotates?|rotated|ignores?|drops?|overwrites?|sorts?|stands|sees?|pays?|receives?|earns?|books?|buys?"
    r"|explains?|describes?|bills?|charges?|sells?)\b"
)
_NO_STATEMENT = (
    r"^(?:there (?:are|is) (?:two|three|four|several|a few|some|\d+) |haha|lol|reading |looking |(?:two|three|a few"
    r"|some|one|several) (?:things?|points?|notes?|options?|changes|issues|files|places)\b)|^(?:decide|figure|determine"
    r"|clarify|discuss|think|i|i'\w+|we'll|we will|let's|let|please|pls|can|could|would|will|here|hi|hello|hey|thanks"
    r"|thank|ok|okay|yes|no|sure|go|try|now|next|done|see|look|wait|also|then|first|same|use|using|yep|yeah|hm+|so|and"
    r"|but|cool|sorry|at|about|what|why|how|like|you|your|you're|do|call|take|get|make|want|need|keep|leave|stop|start"
    r"|this|that|these|those|it|it's|that's|there's|he|she|exactly|perfect|great|good|nice|excellent|correct|right"
    r"|indeed)\b"
)
_DOES = r"(?:the|our|each|every|an?) (?:[\w-]+ ){1,3}[a-z]{3,}(?:es|[^s]s) \w"
_HABIT = r"we (?!are\b|were\b|had\b|should|could|will|would|might|want|got\b|get\b|see\b|need)\w+ \w"
_DEFINES = r"^an? “…” is\b|\b(?:means?|stands for|refers to|is called|are called|we call)\b"
# An agent's remarks about the code at hand, about things in general, or to its user.
_OF_CODE = (
    r"^(?:each|every|both) |^(?:the|this) (?:change|fix|patch|diff|edit|update|implementation|pr) |^an? |\byou(?:r"
    r"|'re)?\b|^(?:the|this|each) (?:[\w`…-]+ )?(?:function|method|class|file|code|snippet|loop|variable|constructor"
    r"|tests?|query|regex|helper|type|interface|callback|parameter|argument|endpoint|worker|line) (?:takes?|returns?|is"
    r"|does|accepts?|calls?|has|gets?|checks?|loops?|reads?)\b"
)
_FOLLOWS = (
    r"[,;] so (?!far\b|much\b|on\b|please\b|i\b|let's|can\b|could\b|what\b|hurry)\w|[,;]? so (?:that )?(?:the|you|we"
    r"|it|all|our|every\w*|any\w*|no\w*|they|there|only|an?|be|never|don't|\d+"
    r"|\w+s)\b|\bbecause\b|\botherwise\b|\bwhich is why\b|, that's why\b"
)
_LIMIT = (
    r"\b(?:only|not|at (?:most|least)|(?:older|younger|more|less|longer|fewer) than|(?:after|within|up to|until) \d+"
    r"|minimum|maximum|expires?|unless|except|excludes?|but|no)\b|n't\b"
)
_OF_THE_MOMENT = (
    r"\bby (?:\w+day|tomorrow|tonight|eod|noon|then|next week)\b|\b(?:finish|do|fix|get|ship) (?:this|it|that)\b"
    r"|^(?:the|our|a) (?:client|customer|boss|user|pm|designer|manager|team)s? wants?\b|^(?:the|this|that) (?:last"
    r"|latest|new|current|previous) \w+ (?!is\b|has\b|needs?\b)|\bkeeps? \w+ing\b|\busers? (?:can't|cannot|don't|get"
    r"|see|complain)\b|\b(?:now|today|tomorrow|tonight|broke|failed|crashed|went|happened|worked|pass|passes|passed"
    r"|passing|green|done|ready|finished|fixed|updated|pushed|added|removed|created|renamed|running|waiting|in place"
    r"|up to date|just|yet|currently|so far|again|(?:above|below)(?=[.:]?$)|attached|following|asked|told|plan|todo"
    r"|below:|(?:is|are|still|stays) open|fine|summary|changes|i|i'll|i've|i'm|me|my(?! (?:machine|laptop|box|mac))|was"
    r"|were|did|been|denied|times out|should be|would|wrong|stuck|theories|commits)\b|\b(?:never|always) \w*[^s\W]s\b"
    r"|:$"
)


def _is_order(low: str, first: str) -> bool:
    """Tell whether a sentence opens with a task; "port 5432 is taken" and "test names are …" do not."""
    return first.strip(",.:") in TASK_STARTS and not compiled(
        r"\w+ (?:\d+|[\w-]+s?) (?:is|are|has|have|takes?|runs?|live)\b"
    ).match(low)


def is_explained(low: str, category: str) -> bool:
    """Tell whether an observation states a consequence or, about the business, a limit."""
    return compiled(_FOLLOWS).search(low) is not None or (
        category == "Domain" and compiled(_LIMIT).search(low) is not None
    )


def is_observation(low: str, speaker: str) -> bool:
    """Tell whether a masked lower-case sentence states a lasting fact."""
    words = low.split()
    if len(words) < _LEAST_WORDS[speaker] or _is_order(low, words[0]):
        return False
    if QUOTED in low and not compiled(_DEFINES).search(low):
        return False
    if compiled(_NO_STATEMENT).match(low) or compiled(_OF_THE_MOMENT).search(low):
        return False
    stated = low.partition(" so ")[0] if speaker == "user" else low  # its consequence may mention a failure
    if compiled(ONCE).search(low) or any(compiled(pattern).search(stated) for pattern in (SYMPTOM, FAILING)):
        return False
    if speaker == "assistant" and compiled(_OF_CODE).search(low):
        return False
    if compiled(_HABIT).match(low) or compiled(_DOES).match(low):
        return True
    return compiled(_STATES).search(low, len(words[0])) is not None  # a verb as first word is an order


__all__ = ["CATEGORIES", "HIGH", "LEVELS", "LOW", "MEDIUM", "Signal", "category_of", "is_hypothetical", "scan"]
LEVELS = (HIGH, MEDIUM, LOW)
SPEAKERS = ("user", "assistant")
MAX_SIGNALS = 200
QUOTE_CHARS = 100
CORRECTION = "correction"
_TOLD_WORDS = 10
_BARE_WORDS = 4  # praise or blame with at most this many words has no topic
_MODAL = ("must", "should", "shall", "may", "has to", "have to", "need", "is ", "are ")
_STATED = ("rule", "note", "caveat")
# An agent's remarks during its work: its next step, an excluded cause, a bare answer.
_AT_WORK = (
    r"[;,.–—-] (?:checking|looking|investigating|verifying|testing|starting|fixing|let me|i'll|i'm)\b|^because\b"
    r"|^it (?:seems|looks like|appears) (?:that )?(?:the|everything) [^.]{0,40}(?:succeeded|worked|passed|is fine|ran"
    r"|finished)\b|\bi think (?:the|we|it) (?:cleanest|best|simplest|easiest|right|better|should|could|would)\b"
    r"|\b(?:that|this|it)(?:'s| is| was)(?:n't| not) it\b|\bi decided to (?:look|check|start|read|run|try|see|inspect"
    r"|go|skip|leave|begin|first)\b"
)
_NEVER_BEFORE = r"never (?:seen|saw|heard|had|happened|worked|been|tried|noticed)\b|never ?mind\b|nvm\b"
# Openings of a guess, which is a signal although it is hypothetical.
_WONDERS = (
    r"(?:(?:hm+|so|btw|and|but),? )?(?:i(?: was|'m)? wonder|i (?:think|believe|guess)\b|maybe|perhaps|possibly"
    r"|probably|thinking (?:out loud|aloud))"
)
# A wished behaviour with the order to implement it: a task.
_ASKED_FOR = (
    r"^(?!(?:before|after|when|if|never|always|don't|do not)\b).*(?:,|;|\bso) (?:find out|(?:remove|delete|implement"
    r"|fix|change|add) (?:it|that|this|them)\b)|\blooks? like (?:an? )?(?:bug|regression)\b|(?:,|;|\band) (?:add|build"
    r"|create|implement) (?:an?|it|that|this) (?!.{0,60}\binstead\b)|(?:,|\band|;|-) (?:please|can you|could you"
    r"|pls) (?:implement|add|build|fix|change|make|wire|write|adjust|enforce|show) (?:it|this|that|the|an?)\b"
)
_MASK = "…"
_NAMES = r"`[^`]{0,200}`"
_QUOTES = r"“[^”]{0,600}”|\"[^\"]{0,600}\"|«[^»]{0,600}»|(?<![\w'])'(?=\w)[^'\n]{2,200}\w[.!?]?'(?!\w)"
_THINKING = (
    r"\b(?:what if|if (?:we|you|it|i) (?:never|always|had|were)|suppose|would (?:it|that|be|have)|hypothetically"
    r"|imagine)\b"
)
# An agent's statements about its own work: plans, reports, apologies.
_OF_ITSELF = (
    r"^(?:(?:ok|okay|great|perfect|good|now|so|next|then|first|and|but|yes|sure|right|alright|here"
    r"|you're (?:absolutely )?right)[,.!:–—-]* )*(?:i(?:'ll| will|'m| am| should| shouldn't| must| could| can| need"
    r"| want| would|'d| was about)|let me|let's|shall i|next,? i|we(?:'ll| will| should| need)|i (?:always|never)"
    r"|you(?:'re)? (?:should|must|need|can|could|may|absolutely|right))\b"
)


@frozen
class Signal:
    """One sentence with a signal: its level, the words that gave it, topic, speaker, turn index and way."""

    level: str
    sentence: str
    cue: str
    category: str = UNKNOWN
    speaker: str = "user"
    place: int = 0
    way: str = ""

    @property
    def quote(self) -> str:
        """Return the sentence, shortened at a word if it is long."""
        return shortened(self.sentence, QUOTE_CHARS)


def scan(text: str, speaker: str = "user") -> tuple[Signal, ...]:
    """Return the signals in a text of a speaker, in order, each sentence once."""
    if speaker not in SPEAKERS:
        return ()
    found: dict[str, Signal] = {}
    text = _without_marks(without_context_block(text))
    trouble = speaker == "user" and is_trouble(text)
    corrected = _correction_kinds(text) if speaker == "user" else {}
    own = list(_own_sentences(text))
    for place, sentence in enumerate(own):
        if len(found) >= MAX_SIGNALS:
            break
        signal = _signal(sentence, speaker)
        if signal and signal.way == OBSERVATION and trouble:
            signal = None  # a symptom is no lasting fact
        if (kind := corrected.get(sentence[:EXCERPT_CHARS])) and _may_correct(sentence, kind, signal):
            signal = Signal(HIGH, sentence, CORRECTION, category_of(sentence), speaker, way=CORRECTION)
        if signal:
            signal = _in_context(signal, own, place, found)
            found.setdefault(signal.sentence.lower(), signal)
    return tuple(found.values())


def _in_context(signal: Signal, own: Sequence[str], place: int, found: dict[str, Signal]) -> Signal:
    """Add the previous sentence to a signal that refers to it ("… Keep that in mind."); take a missing topic from
    its neighbours."""
    before = own[place - 1] if place else ""
    points = before and compiled(phrases.POINTS_BACK).match(plain(signal.sentence).lower()) is not None
    if points and not _asserts_nothing(masked(plain(before).lower())):
        weaker = found.pop(before.lower(), None)
        signal = replace(signal, sentence=f"{before} {signal.sentence}", category=category_of(before, way=signal.way))
        if weaker and LEVELS.index(weaker.level) <= LEVELS.index(signal.level):
            signal = replace(weaker, sentence=signal.sentence)
    bare = signal.way in ("praise", CORRECTION) and len(signal.sentence.split()) <= _BARE_WORDS
    if signal.category == UNKNOWN and len(own) > 1 and not bare:
        around = " ".join(own[max(0, place - 1) : place + 2])
        signal = replace(signal, category=category_of(around, way=signal.way))
    return signal


def _may_correct(sentence: str, kind: str, signal: Signal | None) -> bool:
    """Tell whether a correction may replace the weaker signal of the same sentence."""
    if signal is None:
        low = masked(plain(sentence).lower())
        return not _asserts_nothing(low) and compiled(_NEVER_BEFORE).match(low) is None
    if signal.way == OBSERVATION:
        return kind == CORRECTION or bool(open_sentence(sentence, frozenset()).marks - {"idle"})
    return signal.way == "praise"


def _own_sentences(text: str) -> Iterator[str]:
    """Yield the speaker's own sentences: none from a prompt for an agent or from another author's list."""
    found = sentences(text)
    if found and compiled(phrases.FOR_AN_AGENT).match(found[0].text.lower()):
        return
    for sentence in found:
        if not (sentence.listed and compiled(phrases.FOREIGN_LIST).search(sentence.heading.lower())):
            yield sentence.text


def _correction_kinds(text: str) -> dict[str, str]:
    """Return the sentences in which a user corrects something, in any words, with the kind of each."""
    from swarmlore.domain.extraction.corrections import find_corrections  # deferred: only users' texts need it

    return {found.excerpt: found.kind for found in find_corrections(text)}


def scan_turns(turns: Iterable[Any]) -> tuple[Signal, ...]:
    """Return the signals of a whole session, each once; tools, client context and other agents give none."""
    found: dict[str, Signal] = {}
    for place, turn in enumerate(turns):
        foreign = getattr(turn, "meta", "") or getattr(turn, "sidechain", False) or turn.tool
        if foreign or not turn.text or len(found) >= MAX_SIGNALS:
            continue
        for signal in scan(turn.text, turn.role):
            found.setdefault(signal.sentence.lower(), replace(signal, place=place))
    return tuple(found.values())[:MAX_SIGNALS]


def is_hearsay(sentence: str) -> bool:
    """Tell whether a sentence reports what others say, or only that something is new."""
    low = masked(plain(sentence).lower())
    return _is_reported(low) or compiled(_NEVER_BEFORE).match(low) is not None


def is_hypothetical(low: str) -> bool:
    """Tell whether a lower-case sentence thinks aloud."""
    return compiled(_THINKING).search(low) is not None


def _without_marks(text: str) -> str:
    """Remove the Markdown marks of emphasis and headings."""
    text = text.replace("**", "").replace("__", "") if "**" in text or "__" in text else text
    return compiled(r"^#{1,6}[ \t]+", 8).sub("", text) if "#" in text else text


def _signal(sentence: str, speaker: str) -> Signal | None:
    """Return the signal of one sentence, or None."""
    low = masked(plain(sentence).lower())
    if _asserts_nothing(low):
        return None
    bare = compiled(phrases.FALSE_ALARMS).sub(_MASK, low)
    if speaker == "assistant":
        bare = compiled(phrases.POLITE).sub(_MASK, bare)
    if bare.startswith(_MASK) and low.startswith(("never", "nvm")) and " but " not in low:
        return None  # the rest of the sentence is retracted
    if speaker == "assistant" and compiled(_AT_WORK).search(bare):
        return None
    if task := _is_task(bare):
        bare = compiled(phrases.TASK_CLAUSE).sub(_MASK, bare)
    found = _strongest_cue(bare, speaker, task)
    if found and not (found[1] == "caveat" and speaker == "user" and standing_order_in(bare, task)):
        category = category_of(sentence, speaker == "user" and found[1] in _STATED, found[1])
        if category == UNKNOWN and speaker == "assistant" and found[1] == "guess" and len(low.split()) >= _TOLD_WORDS:
            category = "New Skill"  # an agent's guess about its work hints at a solution
        return Signal(found[0], sentence, found[2], category, speaker, way=found[1])
    if compiled(_ASKED_FOR).search(low):
        return None
    if speaker == "user" and (cue := standing_order_in(bare, task)) and not compiled(phrases.ONCE).search(low):
        return Signal(HIGH, sentence, cue, category_of(sentence, stated=True), speaker, way="rule")
    if bare == low and is_observation(low, speaker) and (category := _observed_topic(sentence, speaker)) != UNKNOWN:
        if speaker == "user" and is_convention(low, category):
            return Signal(HIGH, sentence, OBSERVATION, category, speaker, way="rule")
        if speaker == "user" and is_explained(low, category):
            return Signal(MEDIUM, sentence, OBSERVATION, category, speaker, way="note")
        return Signal(LOW, sentence, OBSERVATION, category, speaker, way=OBSERVATION)
    return None


def _observed_topic(sentence: str, speaker: str) -> str:
    """Return the topic of an observation; a user's general statement may be about the business domain."""
    general = compiled(r"(?:an?|each|every) [a-z]", 2).match(sentence) is not None
    return category_of(sentence, stated=speaker == "user" and general)


def masked(low: str) -> str:
    """Replace names and quotations by placeholders, so that no cue is found in them."""
    low = compiled(_NAMES).sub(f"`{_MASK}`", low)
    return compiled(_QUOTES).sub(QUOTED, low)


def _asserts_nothing(low: str) -> bool:
    """Tell whether a sentence asserts nothing: a question, a quotation, a thought, code."""
    asked = compiled(phrases.ASKED).search(low) and not (
        low.endswith("?") and "again" in low and compiled(phrases.NO_REPROACH).match(low)
    )
    if not asked and _is_question(low):
        return True
    wonders = compiled(_WONDERS).match(low) is not None
    if compiled(phrases.HYPOTHETICAL).search(low) and not wonders:
        return True
    if any(compiled(pattern).search(low) for pattern in (phrases.CODE, phrases.FOREIGN)):
        return True
    return _is_reported(low)


def _is_reported(low: str) -> bool:
    """Tell whether a sentence reports what others say without a contrary statement of the speaker."""
    reported = compiled(phrases.REPORTED).search(low) is not None
    return reported and not compiled(
        r"\b(?:but|yet|though|in fact|actually|in practice|in reality|it isn't|it doesn't|isn't true|not true)\b"
    ).search(low)


def _is_question(low: str) -> bool:
    """Tell whether a sentence is a question, with or without a question mark."""
    if compiled(phrases.ASKED_TAIL).search(low):
        return False
    opened = compiled(rf"{phrases.QUESTION}|{phrases.FOREIGN_QUESTION}").match(low) is not None
    asserted = compiled(r"what (?:[\w'-]+ ){1,8}(?:was|is|were) ").match(low) is not None  # "what broke it was …"
    return low.rstrip(" )\"'”").endswith("?") or (opened and ":" not in low and not asserted)


def _is_task(low: str) -> bool:
    first = compiled(r"(?:(?:please|now|then|ok|okay|and|also|so|can you|could you|let's),? )*([a-z']+)").match(low)
    if first is None or first[1] not in TASK_STARTS or low[first.end() :].startswith(":"):
        return False
    return not compiled(r"make (?:sure|certain)\b|see to it\b").match(low, first.start(1))


def _strongest_cue(low: str, speaker: str, task: bool) -> tuple[str, str, str] | None:
    """Return level, way and words of the strongest cue in a sentence, or None."""
    if all(compiled(pattern).search(low) for pattern in (phrases.RECURRING, phrases.HELPS)) and not task:
        return HIGH, "fix", compiled(phrases.HELPS).findall(low)[0]
    agent = speaker == "assistant"
    itself = agent and compiled(_OF_ITSELF).match(low) is not None
    for level, way, patterns in phrases.CUES:
        if agent and (way in phrases.PERSONAL or (itself and way not in ("cause", "fix", "decision", "found"))):
            continue
        if task and way in ("praise", "keep") and "continue" not in low[:20]:
            continue  # "make the footer always stick to the bottom"
        if way == "praise" and compiled(r"(?:maybe|perhaps|possibly|probably)\b").match(low):
            continue
        for pattern in patterns:
            cue = compiled(rf"(?<![\w-])(?:{pattern})(?![\w-])").search(low)
            if cue and not (way == "rule" and _is_no_rule(low, cue, task)):
                return level, way, cue[0].strip(" ,;:–—-")
    return None


def _is_for_the_task(low: str, cue: re.Match[str]) -> bool:
    """Tell whether an order ends with the current task, unlike a general one: "don't open a PR until …"."""
    ordered = compiled(r"(?:.{0,12} )?(?:don't|do not|remember to|avoid)").match(cue[0]) is not None
    if not ordered or compiled(r" \w+ (?:an?|any|anything) ").match(low, cue.end()):
        return False
    return compiled(phrases.FOR_THE_TASK).search(low) is not None


def _is_no_rule(low: str, cue: re.Match[str], task: bool) -> bool:
    """Tell whether an order holds only once, is part of a request, or describes an event."""
    if compiled(phrases.ONCE).search(low) or compiled(_ASKED_FOR).search(low):
        return True
    if task and compiled(r"(?:please )?\w+ (?:it|this|that)\b.*\b(?:don't|do not)$").match(low[: cue.end()]):
        return True  # "fix it, and don't break the tests"
    if cue[0].startswith("whenever") and compiled(r"(?:please )?(?:be|make) sure\b").match(low):
        return True  # only a reminder
    if compiled(phrases.MANNERS).search(low):
        return False
    if compiled(phrases.HEDGED).match(low):
        return True
    if _is_for_the_task(low, cue):
        return True
    if task and not compiled(phrases.OWN_CLAUSE).search(low[: cue.start()]):
        return cue.start() > 0 and not cue[0].startswith(_MODAL)  # "test names must …" asks for no test
    if cue[0] in ("never", "always") and compiled(FAILING).search(low[: cue.start()]):
        return True
    happens = cue[0] in ("never", "always") and compiled(r" \w*[^s\W]s\b(?! \w+s\b)").match(low, cue.end()) is not None
    return happens and category_of(low) != "Domain"
