"""Words that show that something worth keeping is being said, by strength, and what only sounds like it.

HIGH are rules, repeated corrections, causes, fixes and decisions; MEDIUM praise, effort and caveats; LOW guesses and
observations. One signal a sentence: the strongest. Questions, quotations, code, logs and our own block give none.
"""

from __future__ import annotations

from swarmlore.frozen import frozen
from swarmlore.rules.correction_words import compiled
from swarmlore.text.prose import QUOTED, sentences

HIGH = "high"
MEDIUM = "medium"
LOW = "low"
LEVELS = (HIGH, MEDIUM, LOW)
MAX_SIGNALS = 200
_BLOCK_MARK = "=== swarmlore notes"


@frozen
class Signal:
    """One sentence, the words in it that gave the signal, how strong that is, and what it is about."""

    level: str
    sentence: str
    cue: str
    category: str = ""


_CUES = (
    (
        HIGH,
        (
            r"root cause(?: (?:was|is)|:)|the (?:issue|problem|bug|culprit|cause) (?:was|is|turned out)|caused by",
            r"(?:was|is|were|got|can be|be) (?:fixed|resolved|solved) by|fixed by|the (?:fix|solution|trick"
            r"|workaround) (?:was|is)|resolved by|solved by",
            r"decided (?:to|on|that)|chose [^,;.]{1,60} over|went with|opted for|settled on",
            r"turns out|turned out|it transpires|figured out|found it\b|the reason (?:was|is)",
            r"the rule is|the correct way|you should know|remember that|don't forget|keep in mind",
            r"i(?:'ve| have)? (?:already )?told you|not again|how many times|as i said",
            r"(?:must|should|may|can) (?:not|never|always)|mustn't|shouldn't",
            r"never|don't|do not|stop (?:doing|using|adding|writing)|always|must|required",
            r"(?:that's|this is|it's|you're) (?:wrong|incorrect|not right)|not like that|incorrect",
        ),
    ),
    (
        MEDIUM,
        (
            r"(?:spent|took|wasted|lost|cost)(?: me| us)?(?: about| over| almost| nearly)? (?:\d+|an?|two|three"
            r"|several|half an?|half a) (?:hours?|minutes?|mins?|days?)",
            r"the docs? (?:say|says|claim)[^.;]{1,80}\bbut\b|undocumented|misleading error",
            r"make sure to|requires? [^,;.]{1,40} installed|only works (?:with|if|when|on)|has to be run",
            r"perfect|exactly(?: right| that)?|that's right|yes,? like that|keep doing|continue with|stick with",
            r"great job|well done|excellent|good job|nice work",
        ),
    ),
    (
        LOW,
        (
            r"maybe|perhaps|might want to|consider|could work|good idea|interesting",
            r"seems? (?:like|to)|appears? to|looks? like",
            r"discovered|noticed that|switched (?:to|from)|replaced [^,;.]{1,60} with",
        ),
    ),
)
# Where a cue is only a manner of speaking.
_FALSE_ALARMS = (
    r"\bnever ?mind\b|\bnot wrong\b|\bnothing wrong\b|\bnot (?:always|never|required)\b|\bdon't (?:worry|mind|know"
    r"|think|care|see|have|need|bother)\b"
    r"|\bi don't\b|\bdoesn't\b|\bmust (?:be|have been) (?:a|an|the|some|kidding)\b|\bnot exactly\b|\bnot perfect\b"
    r"|\bas always\b|\balways welcome\b"
    r"|\bno longer required\b|\bwould never\b|\blooks? like (?:you|i|we)\b|\bnext,? i\b|\bi(?:'ll| will| am going to"
    r"|'m going to)\b|\blet me\b"
)
_HYPOTHETICAL = (
    r"\b(?:what if|if (?:we|you|it|i) (?:never|always|had|were)|suppose|would (?:it|that|be|have)|hypothetically"
    r"|imagine)\b"
)
_CATEGORIES = (
    ("Code Style", r"naming|format(?:ting)?|indent|comments?|docstrings?|lint|style|semicolons?|imports?|tabs|spaces"),
    ("Architecture", r"architecture|layers?|module|pattern|service|schema|dependency|interface|database|queue|api"),
    ("Process", r"commit|branch|merge|rebase|pr|pull request|review|deploy|release|ci|pipeline|changelog|tests?"),
    ("Domain", r"customer|invoice|order|tenant|tax|price|currency|business|domain"),
    ("Tools", r"npm|pnpm|yarn|pip|uv|docker|make|git|cargo|gradle|cli|command|flag|config|editor|tool"),
    ("Security", r"security|secret|token|password|auth|encrypt|permission|vulnerab\w+|xss|csrf"),
    ("New Skill", r"skill|workflow|recipe|how to|step by step|procedure"),
)


def scan(text: str) -> tuple[Signal, ...]:
    """The signals in a text, in the order they stand, each sentence once."""
    if _BLOCK_MARK in text:
        from swarmlore.rules.block import strip_blocks  # rarely needed

        text = strip_blocks(text)
    found: dict[str, Signal] = {}
    for said in sentences(text):
        if len(found) < MAX_SIGNALS and (signal := _signal(said.text)):
            found.setdefault(signal.sentence.lower(), signal)
    return tuple(found.values())


def is_idle(sentence: str) -> bool:
    """Whether a sentence states nothing by which anybody stands: a question, a quotation, a thought, a manner."""
    low = sentence.lower().replace("’", "'")
    if low.endswith("?") or QUOTED in sentence or is_hypothetical(low):
        return True
    return compiled(_FALSE_ALARMS).search(low) is not None


def is_hypothetical(low: str) -> bool:
    """Whether a sentence in lower case thinks aloud."""
    return compiled(_HYPOTHETICAL).search(low) is not None


def _signal(sentence: str) -> Signal | None:
    low = sentence.lower().replace("’", "'")
    if is_idle(sentence):
        return None
    bare = compiled(r"`[^`]{0,200}`").sub("`…`", low)  # a name is no cue: `always_on`
    for level, patterns in _CUES:
        for pattern in patterns:
            if cue := compiled(rf"(?<![\w-])(?:{pattern})(?![\w-])").search(bare):
                return Signal(level, sentence, cue[0], category_of(low))
    return None


def category_of(low: str) -> str:
    """What a sentence in lower case is about; the first that fits, or nothing."""
    for name, pattern in _CATEGORIES:
        if compiled(rf"\b(?:{pattern})\b").search(low):
            return name
    return ""
