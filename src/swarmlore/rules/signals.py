"""Words that show that something worth keeping is being said, by strength, and what only sounds like it.

HIGH are rules, repeated corrections, causes, fixes and decisions; MEDIUM praise, effort and caveats; LOW guesses,
changes and what is merely observed about a known topic. One signal a sentence: the strongest. Questions, quotations,
code, logs and our own block give none. Who speaks matters: a person's "always" is a rule, an agent's is advice, and
what a tool printed is nobody's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.rules import signal_phrases as phrases
from swarmlore.rules import signal_tongues as tongues
from swarmlore.rules import signal_words as words
from swarmlore.rules.clauses import EXCERPT_CHARS, open_sentence, plain
from swarmlore.rules.correction_words import FAILING, TASK_STARTS, compiled
from swarmlore.rules.explanations import is_trouble
from swarmlore.rules.norms import is_of_a_kind, norm_in
from swarmlore.rules.observations import is_explained, is_observation
from swarmlore.rules.signal_words import HIGH, LOW, MEDIUM, OBSERVATION
from swarmlore.rules.topics import CATEGORIES, UNKNOWN, category_of
from swarmlore.text.prose import QUOTED, sentences
from swarmlore.text.shorten import shortened

if TYPE_CHECKING:
    import re
    from typing import Any

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
        from swarmlore.rules.block import strip_blocks  # rarely needed

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
    if said and compiled(words.FOR_AN_AGENT).match(said[0].text.lower()):
        return
    for sentence in said:
        if not (sentence.listed and compiled(words.FOREIGN_LIST).search(sentence.heading.lower())):
            yield sentence.text


def _corrected(text: str) -> dict[str, str]:
    """The sentences in which a person puts something right, in whichever words, and the kind of each."""
    from swarmlore.rules.corrections import find_corrections  # heavy, and an agent's words do without

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
    bare = compiled(words.FALSE_ALARMS).sub(_MASK, low)
    if speaker == "assistant":
        bare = compiled(words.POLITE).sub(_MASK, bare)
    if bare.startswith(_MASK) and low.startswith(("never", "nvm")) and " but " not in low:
        return None  # whatever else is said, it is taken back
    if speaker == "assistant" and compiled(_AT_WORK).search(bare):
        return None
    if task := _is_task(bare):
        bare = compiled(words.TASK_CLAUSE).sub(_MASK, bare)
    found = _cue(bare, speaker, task)
    if found and not (found[1] == "caveat" and speaker == "user" and norm_in(bare, task)):
        category = category_of(sentence, speaker == "user" and found[1] in _STATED, found[1])
        if category == UNKNOWN and speaker == "assistant" and found[1] == "guess" and len(low.split()) >= _TOLD_WORDS:
            category = "New Skill"  # what an agent suspects about its work is how something may be solved
        return Signal(found[0], sentence, found[2], category, speaker, way=found[1])
    if compiled(_ASKED_FOR).search(low):
        return None
    if speaker == "user" and (cue := norm_in(bare, task)) and not compiled(words.ONCE).search(low):
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
    asked = compiled(words.ASKED).search(low) and not (
        low.endswith("?") and "again" in low and compiled(words.NO_REPROACH).match(low)
    )
    if not asked and _is_question(low):
        return True
    wonders = compiled(_WONDERS).match(low) is not None
    if compiled(words.HYPOTHETICAL).search(low) and not wonders:
        return True
    if any(compiled(pattern).search(low) for pattern in (words.CODE, phrases.FOREIGN)):
        return True
    return _is_reported(low)


def _is_reported(low: str) -> bool:
    """Whether it tells what others say, and does not go on to say how it is."""
    reported = compiled(words.REPORTED).search(low) is not None
    return reported and not compiled(
        r"\b(?:but|yet|though|in fact|actually|in practice|in reality|it isn't|it doesn't|isn't true|not true)\b"
    ).search(low)


def _is_question(low: str) -> bool:
    if compiled(words.ASKED_TAIL).search(low):
        return False
    opened = compiled(rf"{words.QUESTION}|{tongues.QUESTION}").match(low) is not None
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
    for level, way, patterns in words.CUES:
        if agent and (way in words.PERSONAL or (itself and way not in ("cause", "fix", "decision", "found"))):
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
    return compiled(words.FOR_THE_TASK).search(low) is not None


def _is_no_rule(low: str, cue: re.Match[str], task: bool) -> bool:
    """Whether an order holds for this once, or is a part of what is asked for, or tells what happens."""
    if compiled(words.ONCE).search(low) or compiled(_ASKED_FOR).search(low):
        return True
    if task and compiled(r"(?:please )?\w+ (?:it|this|that)\b.*\b(?:don't|do not)$").match(low[: cue.end()]):
        return True  # "fix it, and don't break the tests"
    if cue[0].startswith("whenever") and compiled(r"(?:please )?(?:be|make) sure\b").match(low):
        return True  # a reminder, and only that
    if compiled(words.MANNERS).search(low):
        return False
    if compiled(words.HEDGED).match(low):
        return True
    if _is_for_the_task(low, cue):
        return True
    if task and not compiled(words.OWN_CLAUSE).search(low[: cue.start()]):
        return cue.start() > 0 and not cue[0].startswith(_MODAL)  # "test names must …" asks for no test
    if cue[0] in ("never", "always") and compiled(FAILING).search(low[: cue.start()]):
        return True
    happens = cue[0] in ("never", "always") and compiled(r" \w*[^s\W]s\b(?! \w+s\b)").match(low, cue.end()) is not None
    return happens and category_of(low) != "Domain"
