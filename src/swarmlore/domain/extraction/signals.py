"""Words that show that something worth keeping is being said, by strength, and what only sounds like it.

HIGH are rules, repeated corrections, causes, fixes and decisions; MEDIUM praise, effort and caveats; LOW guesses,
changes and what is merely observed about a known topic. One signal a sentence: the strongest. Questions, quotations,
code, logs and our own block give none. Who speaks matters: a person's "always" is a rule, an agent's is advice, and
what a tool printed is nobody's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from swarmlore.domain.extraction import signal_phrases as phrases
from swarmlore.domain.extraction.correction_patterns import FAILING, SYMPTOM, TASK_STARTS, compiled
from swarmlore.domain.extraction.corrections import is_trouble
from swarmlore.domain.extraction.signal_phrases import HIGH, LOW, MEDIUM, OBSERVATION, ONCE
from swarmlore.domain.extraction.statement_score import EXCERPT_CHARS, open_sentence, plain
from swarmlore.domain.extraction.topics import CATEGORIES, UNKNOWN, category_of
from swarmlore.domain.extraction.user_words import QUOTED, sentences
from swarmlore.domain.language.display import shortened
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    import re
    from typing import Any


_START = r"^(?:(?:please|and|also|but|so|ok|okay|btw|hey|pls|just|again|no|yes|next|then),? )*"
# Orders that are rarely a task by themselves.
_ORDERS = (
    r"(?:use|prefer|keep|put|name|call|ask|tell|log|return|throw|raise|store|pin|wrap|pass|inject|import|export"
    r"|commit|push"
    r"|rebase|squash|tag|sign|encrypt|mask|hash|escape|quote|validate|saniti[sz]e|mock|cover|measure|treat|think"
    r"|assume"
    r"|double-check|verify|confirm|propose|wait|leave|touch|edit|stick|follow|go|stay|group|format|sort|order|indent"
    r"|capitali[sz]e|spell|round|show|explain|write|say|reference|mention|link|include|start|end|begin|finish|run"
    r"|check"
    r"|limit|cap|bind|target|read|look|save|back up|expose|load|cite|label|rotate|request|declare|handle|catch|close"
    r"|open)"
)
_ALL = (
    r"(?:every|each|any(?!thing else| of (?:this|that|it))|always|only|whenever|everywhere|anywhere|unless|per \w+"
    r"|at (?:least|most)|by default|no (?:more|longer|other|matter)|nowhere|nothing (?:else|but)|exactly one"
    r"|one \w+ (?:per|at a time)"
    r"|(?:not|never|no|without) (?:an?|the|any|in|on|to|via|by|from|\w+s)\b|in (?:production|prod|ci|tests)\b"
    r"|all (?!of (?:it|this|that)\b|the (?:way|usages|files|tests)\b)\w+)"
)
_SAYING = (
    r"(?:say|saying|claim|claiming|report|reporting|tell|telling|declare|call|commit|committing|push|pushing|merge"
    r"|merging|open"
    r"|opening|touch|touching|change|changing|edit|editing|delete|deleting|start|starting|write|writing|add|adding"
    r"|ship|shipping"
    r"|deploy|deploying|move|propose|finish|hand|assume|answer|ask|run|running|release|releasing|land|landing|code"
    r"|coding|fix|fixing)"
)
# Things of the work itself: what holds for each of them is a rule; what holds for each patient is a fact.
_WORK = (
    r"(?:commits?|commit (?:titles?|messages?)|prs?|pull requests?|branch(?:es)?|branch names?|tests?|test cases?"
    r"|functions?|methods?"
    r"|class(?:es)?|files?|modules?|endpoints?|migrations?|tickets?|changes?|releases?|packages?|components?"
    r"|handlers?|queries|routes?"
    r"|variables?|constants?|scripts?|exceptions?|errors?|log lines?|messages?|secrets?|configs?|dependenc(?:y|ies)"
    r"|imports?|hooks?"
    r"|controllers?|services?|jobs?|images?|fixtures?|docs?|pages?|answers?|replies|steps?|features?|fix(?:es)?"
    r"|refactors?)"
)
_NO_CAN = (
    r"(?!be (?:sure|right|the|true)|see\b|find\b|reproduce|tell\b|say\b|remember|log in|connect|reach\b|open\b"
    r"|believe|wait\b|get (?:it|this|that|past|in)\b"
    r"|figure|understand|imagine|make it\b|build\b|run (?:it|this|that)\b|access\b|install\b)"
)
_NORMS = (
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
    r"|for this))?,? (?:and )?not [\w.`-]+|^first (?:the|an?|you|we) [^,;?]{2,60}, then\b"
    r"|^[\w' -]{2,50}s (?:start|end|live|go|use|have|are|get|come|carry|follow|stay|belong|return|take|begin"
    r"|need)\b[^?]{2,80}(?:in this (?:code ?base|repo\w*|project|team|app)|around here|here)[.!]*$"
    r"|^(?!the |that |this |it )[\w .-]{2,40} only[,.;!]|^(?:unacceptable|not acceptable|not ok(?:ay)?|no way"
    r"|absolutely not)[.!]*$"
    r"|^[a-z]+ing [^,;?]{3,80} is (?:an? )?(?:hole|smell|mess|pain|bad idea|mistake|crime|anti-?pattern|no-no"
    r"|code smell|danger\w*|risky|cheating|sloppy|lazy|bad (?:style|practice)|not (?:ok|fine|enough))\b"
    r"|\b(?:drives?|makes?) me (?:nuts|mad|crazy|cringe)\b|\bi (?:hate|can't stand|despise) (?:it when|seeing"
    r"|(?!this\b)\w+s\b|\w+ing\b)|\bpet peeve\b"
    r"|^(?:no,? )?[\w.`…-]+, not [\w.`…-]+[.!]*$|^(?:[\w ]{2,40}, )?[\w.`…-]+ over [\w.`…-]+[.!]*$|\bwherever"
    r" possible\b|^forget (?:about )?[\w.`…-]+, (?:it's|we|use|this)\b|\bis (?:the one to use|what we use|the way to"
    r" go)\b|^(?:please )?(?:respect|honou?r|obey|mind) (?:the|our)\b|knows?"
    r" nothing (?:about|of)\b|\bleave [^,;?]{2,50} alone\b|, not (?:only|just) \w|belongs? (?:in|to|into|on|under|at"
    r"|with)\b[^?]{2,60}\bnot\b|^(?!see |until )[a-z][\w' ]{2,60} next time[.!]*$"
    r"|\bi (?:don't|do not) (?:ever )?want (?:to see|you to|any|another)\b"
    r"|^(?:we|we're|it's|this is|our)\b[^?]{2,80}, not [\w`…]+|\b(?:and|to|with) nothing else\b|\bnowhere else\b"
    r"|^we (?:write|name|spell|format|indent|prefix|suffix|squash|tag|sort|wrap|group|capitali[sz]e|document|review"
    r"|version)\b"
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
_FOR_TASKS = (0, 1, 3)  # what says when it holds is a rule, though it could be a task
_NEVER = (
    r"\b(?:i'll|i will|i'm|let me (?:know|see|check|think|look)|we'll|we will|let's|this (?:one|file|test|pr"
    r"|function|time)|for now|right now|today|yet|now|again\?"
    r"|the (?:first|second|last|other) one|(?:push|merge|commit|deploy|change|send|ship) (?:this|it|that)|written by"
    r"|made by|owned by|line \d+|below|above|following|attached"
    r"|i (?:tried|got|see|saw|did|have|had|was|think|guess)|would|maybe|perhaps"
    r"|could|might|if (?:possible|needed|you (?:can|want|like)))\b|\?\s*$|:$|\"|“"
)


# Things of a kind, and what they do: "public methods get a doc comment".
_KIND = (
    r"^(?!(?:the|this|that|these|those|an?|my|your|his|her|its?|they|there|i|you|he|she|some|two|three|both|most"
    r"|here|users?|customers?|people|still|what|yes|nothing"
    r"|something|looks|seems|works|tests?|checks|builds?|\d+)\b)(?:[\w/-]+ ){0,3}[\w/-]+[^s\W]s (?:(?:only|all|just"
    r"|also) )?(?:are|have|get|go|come|live|stay|need|use|start|end|carry|belong"
    r"|follow|return|take|explain|describe|contain|include|read|talk|know|depend|run|own|pass|throw|raise|write|keep"
    r"|hold|say|wear|begin|name|state|match|sit|reside|import|call|do)\b"
)
# How long, how often, by whom: a fact, though of things of a kind.
_MEASURED = (
    r"\b(?:for|every|after|within) (?:\d+|an?|one|two|three|five|ten|fifteen|thirty|sixty)? ?(?:seconds?|minutes?"
    r"|hours?|days?|weeks?|months?)\b|\bare \w+ed (?:straight )?(?:from|by|every|on|at)\b"
)
RULED = ("Code Style", "Process", "Security", "Architecture")


def is_of_a_kind(low: str, category: str) -> bool:
    """Whether a statement says how all things of a kind of the work are: a convention. Of the business it is a fact."""
    told = compiled(_NEVER).search(low) or compiled(_MEASURED).search(low)
    return category in RULED and compiled(_KIND).match(low) is not None and not told


def norm_in(low: str, task: bool) -> str:
    """The words by which a sentence is a standing order, or nothing; a task is none unless it says when."""
    if compiled(_NEVER).search(low):
        return ""
    for place, pattern in enumerate(_NORMS):
        if task and place not in _FOR_TASKS:
            continue
        if found := compiled(pattern).search(low):
            return found[0].strip(" ,;:")[:60]
    return ""


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


__all__ = ["CATEGORIES", "HIGH", "LEVELS", "LOW", "MEDIUM", "Signal", "category_of", "is_hypothetical", "scan"]
LEVELS = (HIGH, MEDIUM, LOW)
SPEAKERS = ("user", "assistant")
MAX_SIGNALS = 200
QUOTE_CHARS = 100
CORRECTION = "correction"
_TOLD_WORDS = 10
_BARE_WORDS = 4  # of praise and blame that are about nothing
_MODAL = ("must", "should", "shall", "may", "has to", "have to", "need", "is ", "are ")
_STATED = ("rule", "note", "caveat")
# An agent in the middle of its work: what it looks at next, what it rules out, a bare answer.
_AT_WORK = (
    r"[;,.–—-] (?:checking|looking|investigating|verifying|testing|starting|fixing|let me|i'll|i'm)\b|^because\b|^it"
    r" (?:seems|looks like|appears) (?:that )?(?:the|everything) [^.]{0,40}(?:succeeded|worked|passed|is fine|ran"
    r"|finished)\b|\bi"
    r" think (?:the|we|it) (?:cleanest|best|simplest|easiest|right|better|should|could|would)\b|\b(?:that|this"
    r"|it)(?:'s| is| was)(?:n't| not) it\b"
    r"|\bi decided to (?:look|check|start|read|run|try|see|inspect|go|skip|leave|begin|first)\b"
)
_NEVER_BEFORE = r"never (?:seen|saw|heard|had|happened|worked|been|tried|noticed)\b|never ?mind\b|nvm\b"
# Who thinks aloud about what may be so says something, though in the conditional.
_WONDERS = (
    r"(?:(?:hm+|so|btw|and|but),? )?(?:i(?: was|'m)? wonder|i (?:think|believe|guess)\b|maybe|perhaps|possibly"
    r"|probably|thinking (?:out loud|aloud))"
)
# What a program should do, and an order to make it so: a task.
_ASKED_FOR = (
    r"^(?!(?:before|after|when|if|never|always|don't|do not)\b).*(?:,|;|\bso) (?:find out|(?:remove|delete|implement"
    r"|fix|change|add) (?:it|that|this|them)\b)|\blooks? like (?:an? )?(?:bug|regression)\b|(?:,|;|\band) (?:add"
    r"|build|create|implement) (?:an?|it|that|this) (?!.{0,60}\binstead\b)|(?:,|\band|;|-)"
    r" (?:please|can you|could you|pls) (?:implement|add|build|fix|change|make|wire|write|adjust|enforce|show) (?:it"
    r"|this|that|the|an?)\b"
)
_BLOCK_MARK = "=== swarmlore notes"
_MASK = "…"
_NAMES = r"`[^`]{0,200}`"
_QUOTES = r"“[^”]{0,600}”|\"[^\"]{0,600}\"|«[^»]{0,600}»|(?<![\w'])'(?=\w)[^'\n]{2,200}\w[.!?]?'(?!\w)"
_THINKING = (
    r"\b(?:what if|if (?:we|you|it|i) (?:never|always|had|were)|suppose|would (?:it|that|be|have)|hypothetically"
    r"|imagine)\b"
)
# What an agent says about its own work: it is going to, it did, it is sorry.
_OF_ITSELF = (
    r"^(?:(?:ok|okay|great|perfect|good|now|so|next|then|first|and|but|yes|sure|right|alright|here"
    r"|you're (?:absolutely )?right)"
    r"[,.!:–—-]* )*(?:i(?:'ll| will|'m| am| should| shouldn't| must| could| can| need| want| would|'d| was about)"
    r"|let me|let's|shall i"
    r"|next,? i|we(?:'ll| will| should| need)|i (?:always|never)|you(?:'re)? (?:should|must|need|can|could|may"
    r"|absolutely|right))\b"
)


@frozen
class Signal:
    """One sentence, the words in it that gave the signal, how strong that is, what it is about, who said it when."""

    level: str
    sentence: str
    cue: str
    category: str = UNKNOWN
    speaker: str = "user"
    place: int = 0
    way: str = ""

    @property
    def quote(self) -> str:
        """The sentence, shortened at a word where it is long."""
        return shortened(self.sentence, QUOTE_CHARS)


def scan(text: str, speaker: str = "user") -> tuple[Signal, ...]:
    """The signals in what somebody says, in the order they stand, each sentence once."""
    if speaker not in SPEAKERS:
        return ()
    if _BLOCK_MARK in text:
        from swarmlore.domain.policy.fence import strip_blocks  # rarely needed

        text = strip_blocks(text)
    found: dict[str, Signal] = {}
    text = _without_marks(text)
    trouble = speaker == "user" and is_trouble(text)
    corrected = _corrected(text) if speaker == "user" else {}
    own = list(_own(text))
    for place, said in enumerate(own):
        if len(found) >= MAX_SIGNALS:
            break
        signal = _signal(said, speaker)
        if signal and signal.way == OBSERVATION and trouble:
            signal = None  # what goes wrong is no state of things
        if (kind := corrected.get(said[:EXCERPT_CHARS])) and _may_correct(said, kind, signal):
            signal = Signal(HIGH, said, CORRECTION, category_of(said), speaker, way=CORRECTION)
        if signal:
            signal = _in_context(signal, own, place, found)
            found.setdefault(signal.sentence.lower(), signal)
    return tuple(found.values())


def _in_context(signal: Signal, own: Sequence[str], place: int, found: dict[str, Signal]) -> Signal:
    """A signal with what it points at: "… Keep that in mind." is about the sentence before, and so may its topic be."""
    before = own[place - 1] if place else ""
    points = before and compiled(phrases.POINTS_BACK).match(plain(signal.sentence).lower()) is not None
    if points and not _is_idle(masked(plain(before).lower())):
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
    """Whether a sentence is more than the signal in it; how things are is none, unless it says that they are so."""
    if signal is None:
        low = masked(plain(sentence).lower())
        return not _is_idle(low) and compiled(_NEVER_BEFORE).match(low) is None
    if signal.way == OBSERVATION:
        return kind == CORRECTION or bool(open_sentence(sentence, frozenset()).marks - {"idle"})
    return signal.way == "praise"


def _own(text: str) -> Iterator[str]:
    """The sentences that somebody says on their own behalf: no prompt for an agent, no list of somebody else's."""
    said = sentences(text)
    if said and compiled(phrases.FOR_AN_AGENT).match(said[0].text.lower()):
        return
    for sentence in said:
        if not (sentence.listed and compiled(phrases.FOREIGN_LIST).search(sentence.heading.lower())):
            yield sentence.text


def _corrected(text: str) -> dict[str, str]:
    """The sentences in which a person puts something right, in whichever words, and the kind of each."""
    from swarmlore.domain.extraction.corrections import find_corrections  # heavy, and an agent's words do without

    return {found.excerpt: found.kind for found in find_corrections(text)}


def scan_turns(turns: Iterable[Any]) -> tuple[Signal, ...]:
    """The signals of a whole session, each once; what tools, clients and other agents said gives none."""
    found: dict[str, Signal] = {}
    for place, turn in enumerate(turns):
        foreign = getattr(turn, "meta", "") or getattr(turn, "sidechain", False) or turn.tool
        if foreign or not turn.text or len(found) >= MAX_SIGNALS:
            continue
        for signal in scan(turn.text, turn.role):
            found.setdefault(signal.sentence.lower(), replace(signal, place=place))
    return tuple(found.values())[:MAX_SIGNALS]


def is_hearsay(sentence: str) -> bool:
    """Whether a sentence tells what somebody else says, or only that something is new: no word of its speaker's."""
    low = masked(plain(sentence).lower())
    return _is_reported(low) or compiled(_NEVER_BEFORE).match(low) is not None


def is_hypothetical(low: str) -> bool:
    """Whether a sentence in lower case thinks aloud."""
    return compiled(_THINKING).search(low) is not None


def _without_marks(text: str) -> str:
    """A text without the marks of emphasis and headings: they are no words."""
    text = text.replace("**", "").replace("__", "") if "**" in text or "__" in text else text
    return compiled(r"^#{1,6}[ \t]+", 8).sub("", text) if "#" in text else text


def _signal(sentence: str, speaker: str) -> Signal | None:
    low = masked(plain(sentence).lower())
    if _is_idle(low):
        return None
    bare = compiled(phrases.FALSE_ALARMS).sub(_MASK, low)
    if speaker == "assistant":
        bare = compiled(phrases.POLITE).sub(_MASK, bare)
    if bare.startswith(_MASK) and low.startswith(("never", "nvm")) and " but " not in low:
        return None  # whatever else is said, it is taken back
    if speaker == "assistant" and compiled(_AT_WORK).search(bare):
        return None
    if task := _is_task(bare):
        bare = compiled(phrases.TASK_CLAUSE).sub(_MASK, bare)
    found = _cue(bare, speaker, task)
    if found and not (found[1] == "caveat" and speaker == "user" and norm_in(bare, task)):
        category = category_of(sentence, speaker == "user" and found[1] in _STATED, found[1])
        if category == UNKNOWN and speaker == "assistant" and found[1] == "guess" and len(low.split()) >= _TOLD_WORDS:
            category = "New Skill"  # what an agent suspects about its work is how something may be solved
        return Signal(found[0], sentence, found[2], category, speaker, way=found[1])
    if compiled(_ASKED_FOR).search(low):
        return None
    if speaker == "user" and (cue := norm_in(bare, task)) and not compiled(phrases.ONCE).search(low):
        return Signal(HIGH, sentence, cue, category_of(sentence, stated=True), speaker, way="rule")
    if bare == low and is_observation(low, speaker) and (category := _observed(sentence, speaker)) != UNKNOWN:
        if speaker == "user" and is_of_a_kind(low, category):
            return Signal(HIGH, sentence, OBSERVATION, category, speaker, way="rule")
        if speaker == "user" and is_explained(low, category):
            return Signal(MEDIUM, sentence, OBSERVATION, category, speaker, way="note")
        return Signal(LOW, sentence, OBSERVATION, category, speaker, way=OBSERVATION)
    return None


def _observed(sentence: str, speaker: str) -> str:
    """What an observation is about; what a person says of every such thing is of their business."""
    general = compiled(r"(?:an?|each|every) [a-z]", 2).match(sentence) is not None
    return category_of(sentence, stated=speaker == "user" and general)


def masked(low: str) -> str:
    """A sentence in which names and quotations are only marks: a name is no cue, and a quotation nobody's word."""
    low = compiled(_NAMES).sub(f"`{_MASK}`", low)
    return compiled(_QUOTES).sub(QUOTED, low)


def _is_idle(low: str) -> bool:
    """Whether a sentence states nothing by which its speaker stands: a question, a quotation, a thought."""
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
    """Whether it tells what others say, and does not go on to say how it is."""
    reported = compiled(phrases.REPORTED).search(low) is not None
    return reported and not compiled(
        r"\b(?:but|yet|though|in fact|actually|in practice|in reality|it isn't|it doesn't|isn't true|not true)\b"
    ).search(low)


def _is_question(low: str) -> bool:
    if compiled(phrases.ASKED_TAIL).search(low):
        return False
    opened = compiled(rf"{phrases.QUESTION}|{phrases.FOREIGN_QUESTION}").match(low) is not None
    told = compiled(r"what (?:[\w'-]+ ){1,8}(?:was|is|were) ").match(low) is not None  # "what broke it was …"
    return low.rstrip(" )\"'”").endswith("?") or (opened and ":" not in low and not told)


def _is_task(low: str) -> bool:
    first = compiled(r"(?:(?:please|now|then|ok|okay|and|also|so|can you|could you|let's),? )*([a-z']+)").match(low)
    if first is None or first[1] not in TASK_STARTS or low[first.end() :].startswith(":"):
        return False
    return not compiled(r"make (?:sure|certain)\b|see to it\b").match(low, first.start(1))


def _cue(low: str, speaker: str, task: bool) -> tuple[str, str, str] | None:
    """Level, way and words of the strongest cue."""
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
    """Whether an order ends with the work at hand; one about any such thing does not: "don't open a PR until …"."""
    ordered = compiled(r"(?:.{0,12} )?(?:don't|do not|remember to|avoid)").match(cue[0]) is not None
    if not ordered or compiled(r" \w+ (?:an?|any|anything) ").match(low, cue.end()):
        return False
    return compiled(phrases.FOR_THE_TASK).search(low) is not None


def _is_no_rule(low: str, cue: re.Match[str], task: bool) -> bool:
    """Whether an order holds for this once, or is a part of what is asked for, or tells what happens."""
    if compiled(phrases.ONCE).search(low) or compiled(_ASKED_FOR).search(low):
        return True
    if task and compiled(r"(?:please )?\w+ (?:it|this|that)\b.*\b(?:don't|do not)$").match(low[: cue.end()]):
        return True  # "fix it, and don't break the tests"
    if cue[0].startswith("whenever") and compiled(r"(?:please )?(?:be|make) sure\b").match(low):
        return True  # a reminder, and only that
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
